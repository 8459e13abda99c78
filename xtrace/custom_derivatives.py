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
from xtrace.transforms.optimized_forward import remat_opt_p

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
    "remat_opt_p",
    "zero_from_primal",
]
