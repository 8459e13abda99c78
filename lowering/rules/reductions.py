"""Lowering of reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.lax import elementwise as el
from xtrace.lax import reductions
from xtrace.lowering.lower import Body
from xtrace.lowering.rules.elementwise import compare


def reduce(
    ctx: Body,
    operands: Sequence[Any],
    initial: Sequence[Any],
    avals: Sequence[ShapedArray],
    axes: Any,
    outs: Sequence[ShapedArray],
    fill: Callable[[Body, list[Any]], Sequence[Any]],
) -> Any:
    """`stablehlo.reduce`, the operation. `fill` writes its reducer: from (accumulators, elements) to accumulators."""
    operation = ctx.ops(
        "stablehlo.reduce", outs, [*operands, *initial], {"dimensions": ctx.mlir.i64_array(axes)}, regions=1
    )
    types = [ctx.mlir.tensor_type((), a.dtype) for a in avals]
    body, arguments = ctx.region(operation, 0, [*types, *types])
    body.return_(fill(body, arguments))
    return operation


def reduce_by(ctx: Body, op: str, x: Any, aval: ShapedArray, axes: Any, out: ShapedArray) -> Any:
    """A reduction by one operation, of one array: the first of a kind in a block is written, others are its copies."""
    key = (op, aval, out, axes)
    copied = ctx.copied(key, [x])
    if copied is not None:
        return copied.result
    computation, identity = _OPERATIONS[op]
    scalar = ShapedArray((), aval.dtype)

    def fill(body: Body, arguments: list[Any]) -> Sequence[Any]:
        if dtypes.is_complex(aval.dtype) and op in ("maximum", "minimum"):  # not one operation: by parts
            return body.inline(computation.bind, [scalar, scalar], *arguments)
        return [body.op("stablehlo." + op, scalar, arguments)]

    initial = ctx.constant(np.asarray(identity(aval.dtype)), scalar)
    made = ctx.templates[key] = reduce(ctx, [x], [initial], [aval], axes, [out], fill)
    return made.result


#: Operation -> the primitive that applies it to two values, and its identity by dtype.
_OPERATIONS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "add": (el.add_p, lambda dtype: 0),
    "multiply": (el.mul_p, lambda dtype: 1),
    "maximum": (el.max_p, reductions.lowest),
    "minimum": (el.min_p, reductions.highest),
    "and": (el.and_p, lambda dtype: True if dtypes.is_bool(dtype) else -1),
    "or": (el.or_p, lambda dtype: 0),
    "xor": (el.xor_p, lambda dtype: 0),
}


def _one_operation(op: str) -> Any:
    return lambda ctx, eqn, x: reduce_by(ctx, op, x, eqn.invars[0].aval, eqn.params["axes"], eqn.outvars[0].aval)


reductions.reduce_sum_p.lower = _one_operation("add")
reductions.reduce_prod_p.lower = _one_operation("multiply")
reductions.reduce_max_p.lower = _one_operation("maximum")
reductions.reduce_min_p.lower = _one_operation("minimum")
reductions.reduce_and_p.lower = _one_operation("and")
reductions.reduce_or_p.lower = _one_operation("or")
reductions.reduce_xor_p.lower = _one_operation("xor")


def _position_of(direction: str, identity: Callable[[Any], Any]) -> Any:
    """A reduction of pairs (value, position): the better value wins, NaN beats all, equals keep the first position."""

    def rule(ctx: Body, eqn: Any, x: Any) -> Any:
        aval, out = eqn.invars[0].aval, eqn.outvars[0].aval
        (axis,) = eqn.params["axes"]
        value, index, truth = ShapedArray((), aval.dtype), ShapedArray((), out.dtype), ShapedArray((), dtypes.bool_)
        positions = ctx.op(
            "stablehlo.iota", ShapedArray(aval.shape, out.dtype), [], {"iota_dimension": ctx.mlir.i64(axis)}
        )

        def fill(body: Body, arguments: list[Any]) -> Sequence[Any]:
            x, i, y, j = arguments

            def either(op: str, a: Any, b: Any) -> Any:
                return body.op("stablehlo." + op, truth, [a, b])

            better = compare(body, direction, x, y, value, truth)
            tied = compare(body, "EQ", x, y, value, truth)
            if dtypes.is_floating(aval.dtype):
                x_nan, y_nan = compare(body, "NE", x, x, value, truth), compare(body, "NE", y, y, value, truth)
                tied = either("or", tied, either("and", x_nan, y_nan))
                y_number = body.op("stablehlo.not", truth, [y_nan])
                better = either("or", better, either("and", x_nan, y_number))
            first = either("or", better, either("and", tied, compare(body, "LT", i, j, index, truth)))
            best = body.op("stablehlo.select", value, [better, x, y])
            return [best, body.op("stablehlo.select", index, [first, i, j])]

        # The start is a neutral value at the last position, so that any element ties with it and comes first.
        initial = [ctx.constant(np.asarray(identity(aval.dtype)), value), ctx.constant(aval.shape[axis] - 1, index)]
        outs = [out.update(dtype=aval.dtype), out]
        return reduce(ctx, [x, positions], initial, [aval, index], (axis,), outs, fill).results[1]

    return rule


reductions.argmax_p.lower = _position_of("GT", reductions.lowest)
reductions.argmin_p.lower = _position_of("LT", reductions.highest)


def _reduce(ctx: Body, eqn: Any, *values: Any) -> Any:
    n = len(values) // 2
    avals = [v.aval for v in eqn.invars[:n]]
    outs = [v.aval for v in eqn.outvars]
    jaxpr = eqn.params["jaxpr"]
    made = reduce(
        ctx, values[:n], values[n:], avals, eqn.params["dimensions"], outs, lambda body, args: body.jaxpr(jaxpr, args)
    )
    return list(made.results)


reductions.reduce_p.lower = _reduce
