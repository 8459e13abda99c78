"""Derivative rules of one's own: custom_jvp, custom_vjp, and what their rules deal in."""

from xtrace.lax.custom_functions import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_jvp,
    custom_vjp,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from xtrace.transforms.custom import custom_jvp_call_p, custom_vjp_call_p

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "zero_from_primal",
]
