"""Importing this module registers every lowering rule."""

from xtrace.lowering.rules import call, elementwise, joining, placement, reductions, shapes, slicing

__all__ = ["call", "elementwise", "joining", "placement", "reductions", "shapes", "slicing"]
