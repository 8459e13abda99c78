"""Lowering of operations on shapes."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.lax import shapes
from xtrace.lowering.lower import Body
from xtrace.lowering.physical import physical, trailing, with_trailing
from xtrace.lowering.rules import dot_forms
from xtrace.lowering.rules.elementwise import compare


def _broadcast_in_dim(ctx: Body, eqn: Any, x: Any) -> Any:
    out = eqn.outvars[0].aval
    dims = with_trailing(eqn.params["broadcast_dimensions"], out.ndim, trailing(out))
    return ctx.op("stablehlo.broadcast_in_dim", out, [x], {"broadcast_dimensions": ctx.mlir.i64_array(dims)})


def _reshape(ctx: Body, eqn: Any, x: Any) -> Any:
    return ctx.op("stablehlo.reshape", eqn.outvars[0].aval, [x])


def _transpose(ctx: Body, eqn: Any, x: Any) -> Any:
    out = eqn.outvars[0].aval
    permutation = with_trailing(eqn.params["permutation"], out.ndim, trailing(out))
    if ctx.outer_products and (product := dot_forms.transposed_outer(ctx, x, out, permutation)) is not None:
        return product
    return ctx.op("stablehlo.transpose", out, [x], {"permutation": ctx.mlir.i64_array(permutation)})


def _rev(ctx: Body, eqn: Any, x: Any) -> Any:
    return ctx.op(
        "stablehlo.reverse", eqn.outvars[0].aval, [x], {"dimensions": ctx.mlir.i64_array(eqn.params["dimensions"])}
    )


def _tile(ctx: Body, eqn: Any, x: Any) -> Any:
    old, out = physical(eqn.invars[0].aval), eqn.outvars[0].aval
    reps = (*eqn.params["reps"], *[1 for _ in trailing(out)])
    apart = tuple([n for pair in zip(reps, old.shape) for n in pair])
    dims = {"broadcast_dimensions": ctx.mlir.i64_array(range(1, 2 * old.ndim, 2))}
    wide = ctx.op("stablehlo.broadcast_in_dim", ctx.mlir.tensor_type(apart, old.dtype), [x], dims)
    return ctx.op("stablehlo.reshape", out, [wide])


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
shapes.squeeze_p.lower = _reshape
shapes.rev_p.lower = _rev
shapes.tile_p.lower = _tile
shapes.transpose_p.lower = _transpose
shapes.convert_element_type_p.lower = _convert
