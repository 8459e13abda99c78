"""Lowering of other views of the same numbers."""

from __future__ import annotations

from typing import Any

from xtrace.lax import conversions
from xtrace.lowering.lower import Body


def _bitcast(ctx: Body, eqn: Any, x: Any) -> Any:
    if eqn.invars[0].aval.dtype == eqn.outvars[0].aval.dtype:
        return x
    return ctx.op("stablehlo.bitcast_convert", eqn.outvars[0].aval, [x])


def _reduce_precision(ctx: Body, eqn: Any, x: Any) -> Any:
    bits = {name: ctx.mlir.i32(eqn.params[name]) for name in ("exponent_bits", "mantissa_bits")}
    return ctx.op("stablehlo.reduce_precision", eqn.outvars[0].aval, [x], bits)


conversions.bitcast_convert_type_p.lower = _bitcast
conversions.reduce_precision_p.lower = _reduce_precision
