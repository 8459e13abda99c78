"""Shardings: how an array lies on devices. Methods set on jaxlib's C++ sharding classes.

Everything goes through one description, jaxlib's HloSharding: how many tiles each dimension has, and which
device holds which tile.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xtrace.runtime import jaxlib_api
from xtrace.runtime.mesh import AbstractMesh, Mesh, empty_mesh
from xtrace.runtime.partition_spec import UNCONSTRAINED, PartitionSpec

Sharding = jaxlib_api.Sharding
SingleDeviceSharding = jaxlib_api.SingleDeviceSharding
NamedSharding = jaxlib_api.NamedSharding
GSPMDSharding = jaxlib_api.GSPMDSharding
HloSharding = jaxlib_api.HloSharding
Device = jaxlib_api.Device

Shape = tuple[int, ...]
Index = tuple[slice, ...]


class DuplicateSpecError(Exception):
    """A PartitionSpec uses a mesh axis for more than one dimension."""

    def __init__(self, message: str, mesh: Any = None, pspec: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.mesh = mesh
        self.pspec = pspec


class IndivisibleError(ValueError):
    """A dimension doesn't divide into as many parts as its sharding asks for."""


# ---------------------------------------------------------------------------------------------------------------
# Specs against meshes.


def _entry_axes(entry: Any) -> tuple[Any, ...]:
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def check_spec(mesh: Any, spec: Any) -> None:
    """Check that `spec` uses axes of `mesh`, each at most once. C++ calls this for every new NamedSharding."""
    if not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(f"NamedSharding: `mesh` must be a Mesh or an AbstractMesh; got {mesh!r}")
    if not isinstance(spec, PartitionSpec):
        raise TypeError(
            f"NamedSharding: `spec` must be a PartitionSpec, for example PartitionSpec('x', None); got {spec!r}"
        )
    seen: set[Any] = set()
    names = mesh.axis_names
    for entry in spec.partitions:
        for axis in _entry_axes(entry):
            if axis not in names:
                raise ValueError(f"Resource axis: {axis} of {spec} is not found in mesh: {names}.")
            if axis in seen:
                raise DuplicateSpecError(
                    "A single NamedSharding spec specification can map every mesh axis to at most one positional "
                    f"dimension, but {spec} has duplicate entries for `{axis}`",
                    mesh,
                    spec,
                )
            seen.add(axis)
    for axis in (*spec.unreduced, *spec.reduced):
        if axis not in names:
            raise ValueError(f"Resource axis: {axis} of {spec} is not found in mesh: {names}.")


jaxlib_api.prime_shardings(check_spec, empty_mesh, PartitionSpec())


@functools.lru_cache(maxsize=4096)
def _named_hlo_sharding(mesh: Any, spec: PartitionSpec, ndim: int) -> Any:
    names, sizes = mesh.axis_names, mesh.axis_sizes
    if mesh.size == 1 and not spec.unreduced:
        return HloSharding.replicate()
    tiles = [1] * ndim
    order: list[int] = []
    for i, entry in enumerate(spec.partitions):
        for axis in _entry_axes(entry):
            position = names.index(axis)
            tiles[i] *= sizes[position]
            order.append(position)
    types = jaxlib_api.OpSharding.Type
    rest = [i for i in range(len(names)) if i not in order]
    groups = []
    for kind, axes in (
        (types.UNREDUCED, [i for i in rest if names[i] in spec.unreduced]),
        (types.REPLICATED, [i for i in rest if names[i] not in spec.unreduced]),
    ):
        size = math.prod(sizes[i] for i in axes)
        order.extend(axes)
        if size > 1:
            groups.append((kind, size))
    if all(t == 1 for t in tiles) and all(kind == types.REPLICATED for kind, _ in groups):
        return HloSharding.replicate()
    return HloSharding.iota_tile(
        (*tiles, *[size for _, size in groups]),
        reshape_dims=tuple(sizes),
        transpose_perm=tuple(order),
        subgroup_types=[kind for kind, _ in groups],
    )


def tiles_per_dimension(sharding: Any, ndim: int) -> tuple[int, ...]:
    """How many parts each of `ndim` dimensions is split into."""
    hlo = sharding._to_xla_hlo_sharding(ndim)
    if hlo.is_replicated() or hlo.is_maximal():
        return (1,) * ndim
    return tuple(hlo.tile_assignment_dimensions())[:ndim]


# ---------------------------------------------------------------------------------------------------------------
# What all shardings can do.


def _device_list(sharding: Any, what: str) -> Any:
    if type(sharding) is NamedSharding and isinstance(sharding.mesh, AbstractMesh):  # C++ has no list to give
        raise ValueError(
            f"{what} is not implemented for `jax.sharding.AbstractMesh`: {sharding} has no devices. "
            "Use a NamedSharding of a Mesh"
        )
    return sharding._internal_device_list


def _device_assignment(self: Any) -> tuple[Device, ...]:
    return tuple(_device_list(self, "_device_assignment"))


def _device_set(self: Any) -> set[Device]:
    """The devices that hold the array."""
    return set(_device_list(self, "device_set"))


def _addressable_devices(self: Any) -> set[Device]:
    """The devices of this process that hold the array."""
    return set(_device_list(self, "addressable_devices").addressable_device_list)


def _addressable_device_assignment(self: Any) -> tuple[Device, ...]:
    return tuple(_device_list(self, "_addressable_device_assignment").addressable_device_list)


def _num_devices(self: Any) -> int:
    """The number of devices that hold the array."""
    return len(self._internal_device_list)


def _named_num_devices(self: Any) -> int:
    """The number of devices that hold the array."""
    return self.mesh.size


def _is_fully_addressable(self: Any) -> bool:
    """Whether this process can address all the devices."""
    return bool(_device_list(self, "is_fully_addressable").is_fully_addressable)


def _has_addressable_devices(self: Any) -> bool:
    return len(_device_list(self, "has_addressable_devices").addressable_device_list) > 0


def _is_concrete(self: Any) -> bool:
    return not (type(self) is NamedSharding and isinstance(self.mesh, AbstractMesh))


def _memory_kind(self: Any) -> str | None:
    """The kind of memory on the devices: "device", "pinned_host", or None for an abstract mesh."""
    return self._memory_kind


def shard_shape(self: Any, global_shape: Sequence[int]) -> Shape:
    """Return the shape of one device's part of an array of `global_shape`.

    Raises:
      IndivisibleError: a dimension doesn't divide evenly.
      ValueError: the array has too few dimensions for the sharding.
    """
    return _shard_shape(self, tuple(global_shape))


@functools.lru_cache(maxsize=4096)
def _shard_shape(sharding: Any, shape: Shape) -> Shape:
    check_rank(sharding, len(shape))
    tiles = tiles_per_dimension(sharding, len(shape))
    for i, (size, parts) in enumerate(zip(shape, tiles, strict=True)):
        if size % parts:
            raise IndivisibleError(
                f"{sharding} implies that array axis {i} is partitioned {parts} times, but the dimension size is "
                f"{size} (full shape: {shape}, per-dimension tiling factors: {tiles} should evenly divide the shape)"
            )
    return tuple([size // parts for size, parts in zip(shape, tiles, strict=True)])


def check_rank(sharding: Any, ndim: int) -> None:
    """Raise ValueError if `sharding` splits more dimensions than `ndim`."""
    if isinstance(sharding, NamedSharding) and len(sharding.spec) > ndim:
        raise ValueError(
            f"Sharding {sharding} is only valid for values of rank at least {len(sharding.spec)}, "
            f"but was applied to a value of rank {ndim}."
        )


def _check_compatible_aval(self: Any, aval_shape: Sequence[int]) -> None:
    check_rank(self, len(aval_shape))


def indices(sharding: Any, shape: Shape) -> tuple[Index, ...]:
    """For each device, in the sharding's order, the slices of the array that it holds."""
    return _indices(sharding, tuple(shape))


@functools.lru_cache(maxsize=4096)
def _indices(sharding: Any, shape: Shape) -> tuple[Index, ...]:
    part = _shard_shape(sharding, shape)
    ndim = len(shape)
    count = sharding.num_devices
    hlo = sharding._to_xla_hlo_sharding(ndim)
    if hlo.is_replicated() or hlo.is_maximal():
        return ((slice(None),) * ndim,) * count
    dims = tuple(hlo.tile_assignment_dimensions())
    order = np.array(hlo.tile_assignment_devices()).reshape(dims)
    out: list[Index] = [()] * count
    for position in np.ndindex(*dims):
        out[order[position]] = tuple(
            [
                slice(None) if dims[i] == 1 else slice(position[i] * part[i], (position[i] + 1) * part[i])
                for i in range(ndim)
            ]
        )
    return tuple(out)


def _devices_indices_map(self: Any, global_shape: Sequence[int]) -> Mapping[Device, Index]:
    """Return, for each device, the slices of an array of `global_shape` that it holds."""
    return dict(zip(self._device_assignment, indices(self, tuple(global_shape)), strict=True))


def _addressable_devices_indices_map(self: Any, global_shape: Sequence[int]) -> Mapping[Device, Index]:
    """`devices_indices_map`, for the devices of this process only."""
    mine = self.addressable_devices
    return {d: index for d, index in self.devices_indices_map(global_shape).items() if d in mine}


def _is_equivalent_to(self: Any, other: Any, ndim: int) -> bool:
    """Return whether both lay out an array of rank `ndim` in the same way on the same devices."""
    if self is other:
        return True
    if not isinstance(other, Sharding):
        return False
    if not (self._is_concrete and other._is_concrete):
        return (
            self._is_concrete == other._is_concrete
            and self.mesh == other.mesh
            and self._to_xla_hlo_sharding(ndim) == other._to_xla_hlo_sharding(ndim)
        )
    return (
        self._internal_device_list == other._internal_device_list
        and self.memory_kind == other.memory_kind
        and self._to_xla_hlo_sharding(ndim) == other._to_xla_hlo_sharding(ndim)
    )


_SHARED = {
    "_device_assignment": property(_device_assignment),
    "_addressable_device_assignment": property(_addressable_device_assignment),
    "_is_concrete": property(_is_concrete),
    "device_set": property(_device_set),
    "addressable_devices": property(_addressable_devices),
    "num_devices": property(_num_devices),
    "is_fully_addressable": property(_is_fully_addressable),
    "has_addressable_devices": property(_has_addressable_devices),
    "memory_kind": property(_memory_kind),
    "shard_shape": shard_shape,
    "check_compatible_aval": _check_compatible_aval,
    "devices_indices_map": _devices_indices_map,
    "addressable_devices_indices_map": _addressable_devices_indices_map,
    "is_equivalent_to": _is_equivalent_to,
}
for _class in (Sharding, SingleDeviceSharding, NamedSharding, GSPMDSharding):
    for _name, _value in _SHARED.items():
        setattr(_class, _name, _value)


# ---------------------------------------------------------------------------------------------------------------
# SingleDeviceSharding.

_REPLICATED = HloSharding.replicate()


@functools.lru_cache(maxsize=1024)
def single_device_sharding(device: Device, memory_kind: str | None = None) -> Any:
    """The SingleDeviceSharding of `device`, one object per device and memory kind."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def make_single_device_sharding(device: Device, *, memory_kind: str | None = None) -> Any:
    """Return the sharding of arrays that lie whole on `device`.

    Args:
      device: where the array is.
      memory_kind: kind of memory on it; its default one if None.
    """
    return single_device_sharding(device, memory_kind)


def _single_repr(self: Any) -> str:
    kind = f", memory_kind={self._memory_kind}" if self._memory_kind is not None else ""
    return f"SingleDeviceSharding(device={self._device!r}{kind})"


def _single_eq(self: Any, other: Any) -> bool:
    if self is other:
        return True
    if not isinstance(other, SingleDeviceSharding):
        return False
    return self._device == other._device and self._memory_kind == other._memory_kind


SingleDeviceSharding._to_xla_hlo_sharding = lambda self, ndim: _REPLICATED
SingleDeviceSharding.is_fully_replicated = property(lambda self: True)
SingleDeviceSharding.with_memory_kind = lambda self, kind: SingleDeviceSharding(self._device, memory_kind=kind)
SingleDeviceSharding.__hash__ = lambda self: hash((self._device, self._memory_kind))
SingleDeviceSharding.__eq__ = _single_eq
SingleDeviceSharding.__repr__ = _single_repr


# ---------------------------------------------------------------------------------------------------------------
# NamedSharding.


def _named_hlo(self: Any, ndim: int) -> Any:
    check_rank(self, ndim)
    return _named_hlo_sharding(self.mesh, self.spec, ndim)


def _named_repr(self: Any) -> str:
    kind = f", memory_kind={self._memory_kind}" if self._memory_kind is not None else ""
    logical = f", logical_device_ids={self._logical_device_ids}" if self._logical_device_ids is not None else ""
    return f"NamedSharding(mesh={self.mesh}, spec={self.spec}{kind}{logical})"


def _named_replicated(self: Any) -> bool:
    """Whether every device holds the whole array."""
    if self.spec.unreduced:
        return False
    sizes = self.mesh.shape
    return all(sizes[axis] == 1 for entry in self.spec.partitions for axis in _entry_axes(entry))


def _replicated_axes(self: Any) -> frozenset[Any]:
    """Mesh axes that split no dimension and are not unreduced or reduced."""
    used = {axis for entry in self.spec.partitions for axis in _entry_axes(entry)}
    return frozenset(self.mesh.axis_names) - used - self.spec.unreduced - self.spec.reduced


def _named_update(self: Any, **changes: Any) -> Any:
    """A copy with mesh, spec or memory_kind replaced."""
    spec = changes.get("spec", self.spec)
    if not isinstance(spec, PartitionSpec):
        spec = PartitionSpec(*spec)
    return NamedSharding(
        changes.get("mesh", self.mesh), spec, memory_kind=changes.get("memory_kind", self._memory_kind)
    )


NamedSharding._to_xla_hlo_sharding = _named_hlo
NamedSharding.is_fully_replicated = property(_named_replicated)
NamedSharding.num_devices = property(_named_num_devices)
NamedSharding.with_memory_kind = lambda self, kind: NamedSharding(self.mesh, self.spec, memory_kind=kind)
NamedSharding.replicated_axes = property(_replicated_axes)
NamedSharding.update = _named_update
NamedSharding.__repr__ = _named_repr


# ---------------------------------------------------------------------------------------------------------------
# GSPMDSharding: what a compiled program reports when its sharding has no name.


def _gspmd_repr(self: Any) -> str:
    kind = f", memory_kind={self._memory_kind}" if self._memory_kind is not None else ""
    return f"GSPMDSharding({self._hlo_sharding!r}{kind})"


def _gspmd_eq(self: Any, other: Any) -> bool:
    if self is other:
        return True
    if not isinstance(other, GSPMDSharding):
        return False
    return (
        self._internal_device_list == other._internal_device_list
        and self._memory_kind == other._memory_kind
        and self._hlo_sharding == other._hlo_sharding
    )


def _gspmd_replicated(self: Any) -> bool:
    return self.num_devices == 1 or self._hlo_sharding.is_replicated()


GSPMDSharding._to_xla_hlo_sharding = lambda self, ndim: self._hlo_sharding
GSPMDSharding.is_fully_replicated = property(_gspmd_replicated)
GSPMDSharding.with_memory_kind = lambda self, kind: GSPMDSharding(
    self._internal_device_list, self._hlo_sharding, memory_kind=kind
)
GSPMDSharding.__hash__ = lambda self: hash((self._internal_device_list, self._memory_kind, hash(self._hlo_sharding)))
GSPMDSharding.__eq__ = _gspmd_eq
GSPMDSharding.__repr__ = _gspmd_repr
