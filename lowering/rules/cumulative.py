"""Lowering of cumulative operations: three ways, by platform.

CPU: a loop. Measured on XLA:CPU for float32, milliseconds, loop against reduce_window (which XLA turns into a tree):
1000x1000 along rows 0.5 and 3.3, along columns 2.5 and 2.5, 100,000 elements 0.3 and 0.4; log-sum-exp of 100,000
5.0 and 22.6. It costs nothing there to carry the sum in the next wider type, which makes it more exact than a tree.
Where the elements of one step crowd each other out of the cache, the axis is moved to the front first (1024x1024 along
rows: 11.7 in place, 3.1 moved, 4.5 by reduce_window; 65536x16: 5.9, 1.6 and 3.4).
TPU: reduce_window, which its compiler knows. Elsewhere: O(log n) elementwise steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive
from xtrace.lax import cumulative as cum
from xtrace.lax.reductions import highest, lowest
from xtrace.lax.windows import undilated
from xtrace.lowering.lower import Body
from xtrace.lowering.rules.elementwise import compare
from xtrace.lowering.rules.windows import reduce_window

_IDENTITY: dict[Primitive, Callable[[Any], Any]] = {
    cum.cumsum_p: lambda dtype: 0,
    cum.cumprod_p: lambda dtype: 1,
    cum.cummax_p: lowest,
    cum.cummin_p: highest,
    cum.cumlogsumexp_p: lambda dtype: -np.inf,
}
#: In what a loop carries sums and products.
_WIDER = {dtypes.float16: dtypes.float32, dtypes.bfloat16: dtypes.float32, dtypes.float32: dtypes.float64}
_WIDER[dtypes.complex64] = dtypes.complex128


#: Of the cache next to the core: bytes of a line, lines of a set, bytes after which addresses share their set again.
_LINE, _WAYS, _PERIOD = 64, 8, 4096


def _crowded(aval: ShapedArray, axis: int) -> bool:
    """Whether a step along `axis`, the innermost one, touches more lines than its part of the cache holds.

    The neighbours in a line are for later steps; a line that is thrown out before is read once for each of them.
    """
    if math.prod(aval.shape[axis + 1 :]) != 1:
        return False
    stride = aval.shape[axis] * aval.dtype.itemsize
    sets = _PERIOD // max(math.gcd(stride, _PERIOD), _LINE)
    return aval.size // aval.shape[axis] > sets * _WAYS


def _loop(primitive: Primitive) -> Callable[..., Any]:
    """`for i: carry = combine(carry, x[i]); x[i] = carry`: the array is overwritten as it is read."""

    def rule(ctx: Body, eqn: Any, x: Any) -> Any:
        aval, axis = eqn.invars[0].aval, eqn.params["axis"]
        if aval.size == 0 or aval.shape[axis] == 1:
            return x
        if not _crowded(aval, axis):
            return loop(ctx, aval, axis, eqn.params["reverse"], x)
        others = [d for d in range(aval.ndim) if d != axis]
        order, back = [axis, *others], [d + (d < axis) if d != axis else 0 for d in range(aval.ndim)]
        moved = aval.update(shape=tuple([aval.shape[d] for d in order]))
        x = ctx.op("stablehlo.transpose", moved, [x], {"permutation": ctx.mlir.i64_array(order)})
        x = loop(ctx, moved, 0, eqn.params["reverse"], x)
        return ctx.op("stablehlo.transpose", aval, [x], {"permutation": ctx.mlir.i64_array(back)})

    def loop(ctx: Body, aval: ShapedArray, axis: int, reverse: bool, x: Any) -> Any:
        n = aval.shape[axis]
        wide = aval.dtype
        if primitive in (cum.cumsum_p, cum.cumprod_p):
            wide = _WIDER.get(aval.dtype, aval.dtype)
        slice_ = ShapedArray((*aval.shape[:axis], 1, *aval.shape[axis + 1 :]), aval.dtype)
        carried = slice_.update(dtype=wide)
        index, truth = ShapedArray((), dtypes.int32), ShapedArray((), dtypes.bool_)
        start = ctx.constant(0, index)
        identity = ctx.constant(np.asarray(_IDENTITY[primitive](aval.dtype)), carried)
        operation = ctx.ops("stablehlo.while", [index, carried, aval], [start, identity, x], regions=2)
        types = [ctx.mlir.aval_type(a) for a in (index, carried, aval)]
        condition, (i, _, _) = ctx.region(operation, 0, types)
        condition.return_([compare(condition, "LT", i, condition.constant(n, index), index, truth)])
        body, (i, carry, array) = ctx.region(operation, 1, types)
        place = body.op("stablehlo.subtract", index, [body.constant(n - 1, index), i]) if reverse else i
        zero = body.constant(0, index)
        starts = [place if d == axis else zero for d in range(aval.ndim)]
        sizes = {"slice_sizes": ctx.mlir.i64_array(slice_.shape)}
        element = body.op("stablehlo.dynamic_slice", slice_, [array, *starts], sizes)
        if wide != aval.dtype:
            element = body.op("stablehlo.convert", carried, [element])
        carry = _step(body, primitive, carried, carry, element)
        kept = carry if wide == aval.dtype else body.op("stablehlo.convert", slice_, [carry])
        array = body.op("stablehlo.dynamic_update_slice", aval, [array, kept, *starts])
        body.return_([body.op("stablehlo.add", index, [i, body.constant(1, index)]), carry, array])
        return operation.results[2]

    return rule


_OPERATION = {cum.cumsum_p: "add", cum.cumprod_p: "multiply", cum.cummax_p: "maximum", cum.cummin_p: "minimum"}


def _step(body: Body, primitive: Primitive, aval: ShapedArray, x: Any, y: Any) -> Any:
    """Two values of type `aval` combined."""
    name = _OPERATION.get(primitive)
    if name is None or (dtypes.is_complex(aval.dtype) and name in ("maximum", "minimum")):
        return body.inline(cum.COMBINE[primitive], [aval, aval], x, y)[0]
    return body.op("stablehlo." + name, aval, [x, y])


def _window(primitive: Primitive) -> Callable[..., Any]:
    """A reduction over windows that begin (or end) before the array."""

    def rule(ctx: Body, eqn: Any, x: Any) -> Any:
        aval = eqn.invars[0].aval
        axis, reverse = eqn.params["axis"], eqn.params["reverse"]
        if aval.size == 0:
            return x
        n, scalar = aval.shape[axis], ShapedArray((), aval.dtype)
        before = (0, n - 1) if reverse else (n - 1, 0)
        dimensions = tuple([n if d == axis else 1 for d in range(aval.ndim)])
        padding = tuple([before if d == axis else (0, 0) for d in range(aval.ndim)])
        window = undilated(dimensions, (1,) * aval.ndim, padding)
        initial = ctx.constant(np.asarray(_IDENTITY[primitive](aval.dtype)), scalar)
        return reduce_window(
            ctx, [x], [initial], [aval], window, [aval], lambda body, args: [_step(body, primitive, scalar, *args)]
        )[0]

    return rule


def _elementwise(primitive: Primitive) -> Callable[..., Any]:
    def rule(ctx: Body, eqn: Any, x: Any) -> Any:
        axis, reverse = eqn.params["axis"], eqn.params["reverse"]
        return ctx.inline(lambda x: cum.by_prefix_scan(primitive, x, axis, reverse), [eqn.invars[0].aval], x)[0]

    return rule


for _primitive in cum.COMBINE:
    _primitive.lower = _elementwise(_primitive)
    _primitive.lower_on = {"cpu": _loop(_primitive), "tpu": _window(_primitive)}
