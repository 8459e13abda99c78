"""Importing this module registers every lowering rule."""

from xtrace.lowering.rules import call, elementwise, joining, placement, random_bits, reductions, shapes, slicing

__all__ = ["call", "elementwise", "joining", "placement", "random_bits", "reductions", "shapes", "slicing"]
