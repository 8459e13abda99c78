"""Devices that need not be there, to compile for (jax.experimental.topologies)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.experimental.mesh_utils import create_device_mesh
from xtrace.runtime import backends, jaxlib_api, plugins, topologies
from xtrace.runtime.mesh import Mesh

__all__ = ["TopologyDescription", "get_attached_topology", "get_topology_desc", "make_mesh"]


class TopologyDescription:
    """A set of devices, there or not.

    Args:
      devices: the devices.
    """

    def __init__(self, devices: Sequence[Any]) -> None:
        self.devices = list(devices)

    def serialize(self) -> bytes:
        """The topology that the devices are of, as bytes."""
        return jaxlib_api.get_topology_for_devices(self.devices).serialize()  # type: ignore[no-any-return]

    @classmethod
    def deserialize(cls, serialized: bytes) -> TopologyDescription:
        """The devices, to compile for, of a topology written by `serialize`."""
        return cls(jaxlib_api.DeviceTopology.deserialize(serialized)._make_compile_only_devices())


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """The devices that are there.

    Args:
      platform: of which platform; None for the default one.

    >>> len(get_attached_topology("cpu").devices)
    1
    """
    return TopologyDescription(backends.devices(platform))


def get_topology_desc(topology_name: str = "", platform: str | None = None, **kwargs: Any) -> TopologyDescription:
    """Devices that need not be there: programs can be compiled for them, but not run.

    Args:
      topology_name: such as "v5e:2x2" for TPUs, "h100:8" for GPUs.
      platform: "tpu" (the default) or "cuda".
      **kwargs: options of the platform's plugin, with which `topology_name` is passed on as it is.

    Raises:
      ValueError: the plugin makes no such topology. PluginError: the plugin is not installed.
    """
    platform = platform or "tpu"
    if not kwargs:
        return TopologyDescription(topologies.compile_only_devices(platform, topology_name))
    return TopologyDescription(jaxlib_api.compile_only_devices(plugins.load(platform), topology_name, kwargs))


def make_mesh(
    topo: TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: tuple[str, ...],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """A mesh of the devices of a topology.

    Args:
      topo: the devices. mesh_shape, axis_names: sizes and names of the axes.
      contiguous_submeshes: whether the devices of each host lie together.

    Raises:
      ValueError: there are more or fewer devices than the mesh has places.

    >>> make_mesh(get_attached_topology("cpu"), (1, 1), ("x", "y")).devices.shape
    (1, 1)
    """
    devices = create_device_mesh(list(mesh_shape), list(topo.devices), contiguous_submeshes=contiguous_submeshes)
    return Mesh(devices, axis_names)
