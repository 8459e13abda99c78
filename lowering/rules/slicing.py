"""Lowering of slices and updates of slices."""

from __future__ import annotations

from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.lax import slicing
from xtrace.lowering.lower import Body
from xtrace.lowering.physical import physical, trailing


def slice_value(ctx: Body, x: Any, aval: ShapedArray, starts: Any, limits: Any, strides: Any, out: ShapedArray) -> Any:
    """`stablehlo.slice` of `x`, an array of type `aval`."""
    extra = trailing(aval)
    i64 = ctx.mlir.i64_array
    attributes = {
        "start_indices": i64((*starts, *[0 for _ in extra])),
        "limit_indices": i64((*limits, *extra)),
        "strides": i64((*(strides or (1,) * aval.ndim), *[1 for _ in extra])),
    }
    return ctx.op("stablehlo.slice", out, [x], attributes)


def _slice(ctx: Body, eqn: Any, x: Any) -> Any:
    p = eqn.params
    return slice_value(
        ctx, x, eqn.invars[0].aval, p["start_indices"], p["limit_indices"], p["strides"], eqn.outvars[0].aval
    )


def _trailing_starts(ctx: Body, eqn: Any, first_start: int) -> list[Any]:
    """Zeros, the start indices along the trailing dimensions of an extended dtype."""
    extra = trailing(eqn.outvars[0].aval)
    starts = eqn.invars[first_start:]
    dtype = starts[0].aval.dtype if starts else "int32"
    return [ctx.constant(0, ShapedArray((), dtype)) for _ in extra]


def _dynamic_slice(ctx: Body, eqn: Any, x: Any, *starts: Any) -> Any:
    out = eqn.outvars[0].aval
    if not physical(out).ndim:
        return x
    sizes = ctx.mlir.i64_array(physical(out).shape)
    return ctx.op("stablehlo.dynamic_slice", out, [x, *starts, *_trailing_starts(ctx, eqn, 1)], {"slice_sizes": sizes})


def _dynamic_update_slice(ctx: Body, eqn: Any, x: Any, update: Any, *starts: Any) -> Any:
    out = eqn.outvars[0].aval
    if not physical(out).ndim:
        return update
    return ctx.op("stablehlo.dynamic_update_slice", out, [x, update, *starts, *_trailing_starts(ctx, eqn, 2)])


slicing.slice_p.lower = _slice
slicing.dynamic_slice_p.lower = _dynamic_slice
slicing.dynamic_update_slice_p.lower = _dynamic_update_slice
