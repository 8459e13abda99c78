"""Shardings as XLA writes them (jax.extend.sharding)."""

from __future__ import annotations

from xtrace.runtime.jaxlib_api import GSPMDSharding, HloSharding, OpSharding


def get_op_sharding_from_serialized_proto(sharding: bytes) -> OpSharding:
    """The OpSharding of its serialized form."""
    proto = OpSharding()
    proto.ParseFromString(sharding)
    return proto


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> HloSharding:
    """The HloSharding of the serialized form of an OpSharding."""
    return HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: HloSharding) -> bytes:
    """The serialized OpSharding of an HloSharding."""
    return sharding.to_proto().SerializeToString()


__all__ = [
    "GSPMDSharding",
    "get_hlo_sharding_from_serialized_proto",
    "get_op_sharding_from_serialized_proto",
    "get_serialized_proto_from_hlo_sharding",
]
