"""Meshes, partition specs and shardings: how arrays are split over devices."""

from xtrace.placement import reshard
from xtrace.runtime.mesh import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    Mesh,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_abstract_mesh,
)
from xtrace.runtime.partition_spec import PartitionSpec, UnreducedKind
from xtrace.runtime.shardings import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    make_single_device_sharding,
)

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "UnreducedKind",
    "get_abstract_mesh",
    "get_mesh",
    "make_single_device_sharding",
    "reshard",
    "set_mesh",
    "use_abstract_mesh",
]
