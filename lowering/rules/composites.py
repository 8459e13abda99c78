"""Lowering of composites: one operation that names the function of its decomposition."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from xtrace.core.effects import ordered_effects
from xtrace.lax import composites
from xtrace.lax.attributes import plain
from xtrace.lowering import custom_calls
from xtrace.lowering.lower import Body


def _written(value: Any) -> Any:
    """An attribute without what is None, which is not written out."""
    if isinstance(value, dict):
        return {k: _written(v) for k, v in value.items() if v is not None}
    return tuple([_written(v) for v in value if v is not None]) if isinstance(value, tuple) else value


def _composite(ctx: Body, eqn: Any, *operands: Any) -> Any:
    params = eqn.params
    jaxpr, name = params["jaxpr"], params["name"]
    # A composite passes no tokens on, and one that has to know its platform is no function of its own.
    if ordered_effects(jaxpr.effects) or ctx.builder.platform_index is not None:
        return ctx.call(jaxpr, name, operands)
    symbol = ctx.builder.function_of(jaxpr, name)
    attributes = {
        "name": ctx.mlir.string(name),
        "composite_attributes": custom_calls.attribute(ctx.mlir, _written(plain(params["attributes"]))),
        "decomposition": ir.FlatSymbolRefAttr.get(symbol, ctx.mlir.context),
        "version": ctx.mlir.i32(params["version"]),
    }
    return list(ctx.ops("stablehlo.composite", [v.aval for v in eqn.outvars], operands, attributes).results)


composites.composite_p.lower = _composite
