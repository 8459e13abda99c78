"""Lowering of composites: one operation that names the function of its decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir

from xtrace.core.effects import ordered_effects
from xtrace.lax import composites
from xtrace.lowering.lower import Body


def _attribute(ctx: Body, value: Any) -> ir.Attribute:
    """A frozen Python value: integers have 64 bits, floats are doubles."""
    if isinstance(value, bool):
        return ctx.mlir.boolean(value)
    if isinstance(value, int):
        return ctx.mlir.i64(value)
    if isinstance(value, float):
        with ctx.mlir.context, ctx.mlir.unknown:  # jaxlibs differ in what they take as an argument
            return ir.FloatAttr.get_f64(value)
    if isinstance(value, str):
        return ctx.mlir.string(value)
    if isinstance(value, np.dtype):
        return ir.TypeAttr.get(ctx.mlir.element_type(value), ctx.mlir.context)
    if isinstance(value, composites.FrozenArray):
        return ctx.mlir.dense(value.array(), value.shape, value.dtype)
    kind, items = value
    if kind == "dict":
        return _dictionary(ctx, items)
    return ir.ArrayAttr.get([_attribute(ctx, v) for v in items if v is not None], ctx.mlir.context)


def _dictionary(ctx: Body, items: Any) -> ir.Attribute:
    return ir.DictAttr.get({k: _attribute(ctx, v) for k, v in items if v is not None}, ctx.mlir.context)


def _composite(ctx: Body, eqn: Any, *operands: Any) -> Any:
    params = eqn.params
    jaxpr, name = params["jaxpr"], params["name"]
    # A composite passes no tokens on, and one that has to know its platform is no function of its own.
    if ordered_effects(jaxpr.effects) or ctx.builder.platform_index is not None:
        return ctx.call(jaxpr, name, operands)
    symbol = ctx.builder.function_of(jaxpr, name)
    attributes = {
        "name": ctx.mlir.string(name),
        "composite_attributes": _dictionary(ctx, params["attributes"]),
        "decomposition": ir.FlatSymbolRefAttr.get(symbol, ctx.mlir.context),
        "version": ctx.mlir.i32(params["version"]),
    }
    return list(ctx.ops("stablehlo.composite", [v.aval for v in eqn.outvars], operands, attributes).results)


composites.composite_p.lower = _composite
