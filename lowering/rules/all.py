"""Importing this module registers every lowering rule."""

from xtrace.lowering.rules import (
    call,
    conversions,
    creation,
    custom,
    dots,
    elementwise,
    identities,
    joining,
    placement,
    random_bits,
    reductions,
    selection,
    shapes,
    slicing,
)

__all__ = [
    "call",
    "conversions",
    "creation",
    "custom",
    "dots",
    "elementwise",
    "identities",
    "joining",
    "placement",
    "random_bits",
    "reductions",
    "selection",
    "shapes",
    "slicing",
]
