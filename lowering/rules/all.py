"""Importing this module registers every lowering rule."""

from xtrace.lowering.rules import call, elementwise, placement, reductions, shapes

__all__ = ["call", "elementwise", "placement", "reductions", "shapes"]
