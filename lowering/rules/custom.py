"""Lowering of calls with custom derivative rules: derivatives are taken already, so the functions are written out."""

from __future__ import annotations

from typing import Any

from xtrace.lax import custom_vmap, linear_calls
from xtrace.lowering.lower import Body
from xtrace.transforms import custom, optimized_forward


def _call(ctx: Body, eqn: Any, *operands: Any) -> Any:
    return ctx.jaxpr(eqn.params["call_jaxpr"], operands)


def _custom_vmap(ctx: Body, eqn: Any, *operands: Any) -> Any:
    return ctx.jaxpr(eqn.params["call"], operands)


def _linear_call(ctx: Body, eqn: Any, *operands: Any) -> Any:
    own, others = eqn.params["num_consts"]
    return ctx.jaxpr(eqn.params["fun"], [*operands[:own], *operands[own + others :]])


def _optimized_forward(ctx: Body, eqn: Any, *operands: Any) -> Any:
    own, _ = eqn.params["num_consts"]
    return ctx.jaxpr(eqn.params["fwd_jaxpr"], operands[own:])


def _custom_lin(ctx: Body, eqn: Any, *operands: Any) -> Any:
    raise custom.no_forward_mode(eqn.params["name"])


custom.custom_jvp_call_p.lower = _call
custom.custom_vjp_call_p.lower = _call
custom.custom_lin_p.lower = _custom_lin
custom_vmap.custom_vmap_p.lower = _custom_vmap
optimized_forward.remat_opt_p.lower = _optimized_forward
linear_calls.linear_call_p.lower = _linear_call
