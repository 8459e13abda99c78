"""Lowering of sorts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.lax import sorting
from xtrace.lowering.lower import Body
from xtrace.lowering.rules.elementwise import compare

_BOOL = ShapedArray((), dtypes.bool_)
#: The integers that floating numbers are compared as.
_BITS = {
    dtypes.float16: np.dtype("int16"),
    dtypes.bfloat16: np.dtype("int16"),
    dtypes.float32: np.dtype("int32"),
    dtypes.float64: np.dtype("int64"),
}


def _parts(ctx: Body, x: Any, aval: ShapedArray) -> list[tuple[Any, ShapedArray]]:
    """What decides the order: the value, or the real and imaginary parts."""
    if not dtypes.is_complex(aval.dtype):
        return [(x, aval)]
    part = aval.update(dtype=dtypes.to_real(aval.dtype))
    return [(ctx.op("stablehlo.real", part, [x]), part), (ctx.op("stablehlo.imag", part, [x]), part)]


def _canonical(ctx: Body, x: Any, aval: ShapedArray) -> Any:
    """Floating numbers with one zero and one NaN."""
    truth = aval.update(dtype=dtypes.bool_)
    zero, nan = ctx.full_like(0, aval), ctx.full_like(np.asarray(np.nan, aval.dtype), aval)
    x = ctx.op("stablehlo.select", aval, [compare(ctx, "EQ", x, zero, aval, truth), zero, x])
    return ctx.op("stablehlo.select", aval, [compare(ctx, "NE", x, x, aval, truth), nan, x])


def _as_integers(ctx: Body, x: Any, aval: ShapedArray) -> tuple[Any, ShapedArray]:
    """Integers in the order of floating numbers: the bits, those of the magnitude flipped for negative numbers."""
    bits = aval.update(dtype=_BITS[aval.dtype])
    width = 8 * bits.dtype.itemsize
    i = ctx.op("stablehlo.bitcast_convert", bits, [_canonical(ctx, x, aval)])
    sign = ctx.op("stablehlo.shift_right_arithmetic", bits, [i, ctx.full_like(width - 1, bits)])
    flip = ctx.op("stablehlo.and", bits, [sign, ctx.full_like(2 ** (width - 1) - 1, bits)])
    return ctx.op("stablehlo.xor", bits, [i, flip]), bits


def _less(body: Body, pairs: Sequence[tuple[Any, Any, ShapedArray]]) -> Any:
    """Whether the first of two elements comes before the other, by their keys, most important first."""
    result = None
    for x, y, aval in reversed(pairs):
        if dtypes.is_floating(aval.dtype):
            x, y = _canonical(body, x, aval), _canonical(body, y, aval)
        less = compare_total(body, "LT", x, y, aval)
        if result is not None:
            tied = body.op("stablehlo.and", _BOOL, [compare_total(body, "EQ", x, y, aval), result])
            less = body.op("stablehlo.or", _BOOL, [less, tied])
        result = less
    return result


def compare_total(body: Body, direction: str, x: Any, y: Any, aval: ShapedArray) -> Any:
    """A comparison of scalars in which NaN has a place: above inf."""
    if not dtypes.is_floating(aval.dtype):
        return compare(body, direction, x, y, aval, _BOOL)
    attributes = {
        "comparison_direction": body.mlir.parsed(f"#stablehlo<comparison_direction {direction}>"),
        "compare_type": body.mlir.parsed("#stablehlo<comparison_type TOTALORDER>"),
    }
    return body.op("stablehlo.compare", _BOOL, [x, y], attributes)


def _sort(ctx: Body, eqn: Any, operands: Sequence[Any], avals: Sequence[ShapedArray], num_keys: int) -> list[Any]:
    attributes = {
        "dimension": ctx.mlir.i64(eqn.params["dimension"]),
        "is_stable": ctx.mlir.boolean(eqn.params["is_stable"]),
    }
    operation = ctx.ops("stablehlo.sort", avals, operands, attributes, regions=1)
    scalars = [ShapedArray((), a.dtype) for a in avals]
    types = [ctx.mlir.aval_type(s) for s in scalars for _ in range(2)]
    body, arguments = ctx.region(operation, 0, types)
    pairs = []
    for k in range(num_keys):
        x, y = (_parts(body, v, scalars[k]) for v in arguments[2 * k : 2 * k + 2])
        pairs += [(a, b, aval) for (a, aval), (b, _) in zip(x, y)]
    body.return_([_less(body, pairs)])
    return list(operation.results)


def _sort_as_given(ctx: Body, eqn: Any, *operands: Any) -> list[Any]:
    return _sort(ctx, eqn, operands, [v.aval for v in eqn.invars], eqn.params["num_keys"])


def _sort_on_cpu(ctx: Body, eqn: Any, *operands: Any) -> list[Any]:
    """Floating keys go in front as integers, and the arrays come along.

    XLA:CPU calls the comparison as a function for each pair, and that of integers is short: 100,000 float32 take 9 ms
    instead of 24.
    """
    avals = [v.aval for v in eqn.invars]
    n = eqn.params["num_keys"]
    keys, floating = [], False
    for x, aval in zip(operands[:n], avals[:n]):
        for part, part_aval in _parts(ctx, x, aval):
            floating |= part_aval.dtype in _BITS
            keys.append(_as_integers(ctx, part, part_aval) if part_aval.dtype in _BITS else (part, part_aval))
    if not floating:
        return _sort_as_given(ctx, eqn, *operands)
    front = [k for k, _ in keys]
    outs = _sort(ctx, eqn, [*front, *operands], [*[a for _, a in keys], *avals], len(keys))
    return outs[len(keys) :]


sorting.sort_p.lower = _sort_as_given
sorting.sort_p.lower_on = {"cpu": _sort_on_cpu}


def _top_k(ctx: Body, eqn: Any, x: Any) -> list[Any]:
    aval = eqn.invars[0].aval
    values, positions = (v.aval for v in eqn.outvars)
    axis, last = eqn.params["axis"], aval.ndim - 1
    if dtypes.is_bool(aval.dtype):  # the operation takes numbers only
        aval, values = aval.update(dtype=np.dtype("int8")), values.update(dtype=np.dtype("int8"))
        x = ctx.op("stablehlo.convert", aval, [x])
    swap = list(range(aval.ndim))
    swap[axis], swap[last] = last, axis

    def swapped(aval: ShapedArray) -> ShapedArray:
        return aval.update(shape=tuple([aval.shape[d] for d in swap]))

    def transposed(x: Any, to: ShapedArray) -> Any:
        return ctx.op("stablehlo.transpose", to, [x], {"permutation": ctx.mlir.i64_array(swap)})

    attributes = {"k": ctx.mlir.i64(eqn.params["k"])}
    if axis == last:
        outs = list(ctx.ops("chlo.top_k", [values, positions], [x], attributes).results)
    else:
        x = transposed(x, swapped(aval))
        inner = ctx.ops("chlo.top_k", [swapped(values), swapped(positions)], [x], attributes).results
        outs = [transposed(o, a) for o, a in zip(inner, (values, positions))]
    if dtypes.is_bool(eqn.outvars[0].aval.dtype):
        outs[0] = compare(ctx, "NE", outs[0], ctx.full_like(0, values), values, eqn.outvars[0].aval)
    return outs


sorting.top_k_p.lower = _top_k
