"""Importing this module registers every lowering rule."""

from xtrace.lowering.rules import call, elementwise, reductions, shapes

__all__ = ["call", "elementwise", "reductions", "shapes"]
