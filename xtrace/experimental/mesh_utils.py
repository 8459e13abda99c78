"""Devices laid out as arrays, for meshes (jax.experimental.mesh_utils)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.runtime import backends

__all__ = ["create_device_mesh", "create_hybrid_device_mesh", "device_kind_handler_dict"]

#: Kind of device -> how to lay out such devices, in place of their order: (shape, devices, contiguous_submeshes=) -> an
#: array of them, or None to leave it to `create_device_mesh`. Programs may add to it.
device_kind_handler_dict: dict[str, Callable[..., np.ndarray | None]] = {}


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    allow_split_physical_axes: bool = False,
    contiguous_submeshes: bool = False,
) -> np.ndarray:
    """Devices in an array of the given shape, filled in their order, GPUs in that of their ids.

    Args:
      mesh_shape: size of each axis.
      devices: the devices; those of the default backend if None.
      contiguous_submeshes: told to the function of `device_kind_handler_dict`, if there is one for the devices.
      allow_split_physical_axes: accepted: no axes of the hardware are considered.

    Returns:
      A NumPy array of devices, for `Mesh`.

    Raises:
      ValueError: the shape is for another number of devices.

    Example:
      >>> import xtrace as xt
      >>> from xtrace.experimental import mesh_utils
      >>> xt.sharding.Mesh(mesh_utils.create_device_mesh((1, 1)), ("data", "model")).axis_names
      ('data', 'model')
    """
    found = list(backends.devices() if devices is None else devices)
    shape = tuple([int(n) for n in mesh_shape])
    if math.prod(shape) != len(found):
        raise ValueError(
            f"Number of devices {len(found)} must equal the product of mesh_shape {shape}. Pass a part of the devices, "
            "or use make_mesh, which takes the first ones."
        )
    handler = device_kind_handler_dict.get(found[-1].device_kind) if found else None
    laid_out = None if handler is None else handler(shape, found, contiguous_submeshes=contiguous_submeshes)
    if laid_out is not None:
        return laid_out
    if found and found[-1].platform == "gpu":
        found = sorted(found, key=lambda d: d.id)
    return _array(found).reshape(shape)


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    allow_split_physical_axes: bool = False,
    should_sort_granules_by_key: bool = True,
    process_is_granule: bool = False,
) -> np.ndarray:
    """Devices that fast networks join into groups, in an array in which each group is a block.

    Args:
      mesh_shape: shape of a group's devices.
      dcn_mesh_shape: shape of the array of groups, with as many axes.
      devices: the devices; those of the default backend if None.
      process_is_granule: whether the devices of a process are a group; else those of one `slice_index`.
      should_sort_granules_by_key: whether groups are in the order of their index; else in that of `devices`.
      allow_split_physical_axes: as for `create_device_mesh`.

    Returns:
      A NumPy array of devices, each axis as long as those of the two shapes multiplied.

    Raises:
      ValueError: the shapes are for other numbers of groups or devices, or devices don't say what group they are of.

    Example:
      >>> from xtrace.experimental import mesh_utils
      >>> mesh_utils.create_hybrid_device_mesh((1, 1), (1, 1), process_is_granule=True).shape
      (1, 1)
    """
    found = list(backends.devices() if devices is None else devices)
    inner, outer = tuple([int(n) for n in mesh_shape]), tuple([int(n) for n in dcn_mesh_shape])
    if len(inner) != len(outer):
        raise ValueError(f"mesh_shape and dcn_mesh_shape need as many axes, got {inner} and {outer}.")
    attribute = "process_index" if process_is_granule else "slice_index"
    groups: dict[Any, list[Any]] = {}
    for device in found:
        if not hasattr(device, attribute):
            raise ValueError(f"Device {device} does not have attribute {attribute}. See `process_is_granule` option.")
        groups.setdefault(getattr(device, attribute), []).append(device)
    if math.prod(outer) != len(groups):
        raise ValueError(f"Number of slices {len(groups)} must equal the product of dcn_mesh_shape {outer}")
    keys = sorted(groups) if should_sort_granules_by_key else list(groups)
    blocks = [create_device_mesh(inner, groups[k], allow_split_physical_axes=allow_split_physical_axes) for k in keys]
    # Axes of groups and axes within a group in turns, each pair then joined into one.
    n = len(inner)
    grid = _array([d for block in blocks for d in block.flat]).reshape(outer + inner)
    paired = grid.transpose([axis for i in range(n) for axis in (i, n + i)])
    return paired.reshape([a * b for a, b in zip(outer, inner)])


def _array(devices: Sequence[Any]) -> np.ndarray:
    found = np.empty(len(devices), dtype=object)
    found[:] = devices
    return found
