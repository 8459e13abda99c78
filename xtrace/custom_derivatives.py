"""Derivative rules of one's own: custom_jvp, custom_vjp, and what their rules deal in."""

from xtrace.lax.closures import closure_convert, custom_gradient
from xtrace.lax.custom_functions import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_jvp,
    custom_vjp,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from xtrace.lax.linear_calls import linear_call
from xtrace.transforms.custom import custom_jvp_call_p, custom_vjp_call_p

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]
