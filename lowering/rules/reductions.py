"""Lowering of reductions."""

from __future__ import annotations

from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.lax import reductions
from xtrace.lowering.lower import Body


def reduce(ctx: Body, op: str, x: Any, aval: ShapedArray, initial: Any, axes: Any, out: ShapedArray) -> Any:
    """`stablehlo.reduce` of one operand with a reducer that is one operation."""
    scalar = ShapedArray((), aval.dtype)
    operation = ctx.ops(
        "stablehlo.reduce",
        [out],
        [x, ctx.constant(initial, scalar)],
        {"dimensions": ctx.mlir.i64_array(axes)},
        regions=1,
    )
    type_ = ctx.mlir.aval_type(scalar)
    body, (a, b) = ctx.region(operation, 0, [type_, type_])
    body.return_([body.op(op, scalar, [a, b])])
    return operation.results[0]


def _reduce_sum(ctx: Body, eqn: Any, x: Any) -> Any:
    return reduce(ctx, "stablehlo.add", x, eqn.invars[0].aval, 0, eqn.params["axes"], eqn.outvars[0].aval)


reductions.reduce_sum_p.lower = _reduce_sum
