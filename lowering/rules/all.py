"""Importing this module registers every lowering rule."""

from xtrace.lowering.rules import (
    call,
    conversions,
    creation,
    custom,
    dots,
    elementwise,
    gathers,
    identities,
    joining,
    placement,
    random_bits,
    reductions,
    scatters,
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
    "gathers",
    "identities",
    "joining",
    "placement",
    "random_bits",
    "reductions",
    "scatters",
    "selection",
    "shapes",
    "slicing",
]
