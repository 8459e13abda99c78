"""Lowering of operations on shapes."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.lax import shapes
from xtrace.lowering.lower import Body
from xtrace.lowering.rules.elementwise import compare


def _broadcast_in_dim(ctx: Body, eqn: Any, x: Any) -> Any:
    dims = ctx.mlir.i64_array(eqn.params["broadcast_dimensions"])
    return ctx.op("stablehlo.broadcast_in_dim", eqn.outvars[0].aval, [x], {"broadcast_dimensions": dims})


def _reshape(ctx: Body, eqn: Any, x: Any) -> Any:
    return ctx.op("stablehlo.reshape", eqn.outvars[0].aval, [x])


def _transpose(ctx: Body, eqn: Any, x: Any) -> Any:
    return ctx.op(
        "stablehlo.transpose", eqn.outvars[0].aval, [x], {"permutation": ctx.mlir.i64_array(eqn.params["permutation"])}
    )


def _convert(ctx: Body, eqn: Any, x: Any) -> Any:
    old, new = eqn.invars[0].aval, eqn.outvars[0].aval
    if old.dtype == new.dtype:
        return x
    if dtypes.is_complex(old.dtype) and not dtypes.is_complex(new.dtype):
        old = old.update(dtype=dtypes.to_real(old.dtype))
        x = ctx.op("stablehlo.real", old, [x])
    if dtypes.is_bool(new.dtype):
        return compare(ctx, "NE", x, ctx.full_like(0, old), old, new)
    return ctx.op("stablehlo.convert", new, [x])


shapes.broadcast_in_dim_p.lower = _broadcast_in_dim
shapes.reshape_p.lower = _reshape
shapes.transpose_p.lower = _transpose
shapes.convert_element_type_p.lower = _convert
