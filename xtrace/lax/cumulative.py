"""Cumulative sums, products, extrema and log-sum-exp along a dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import comparisons, joining, selection, shapes, slicing
from xtrace.lax import elementwise as el
from xtrace.lax.rules import accepted
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.jvp import jvp_flat, linear
from xtrace.transforms.zeros import Zero, zero_tangent

Arrays = Sequence[Any]


def prefix_scan(
    combine: Callable[[Arrays, Arrays], Arrays], arrays: Arrays, axis: int, reverse: bool = False
) -> list[Any]:
    """All prefixes along `axis` combined by an associative operation of lists of arrays, in O(log n) steps.

    Neighbours are combined, their prefixes found recursively, and the ones between filled in (Blelloch, Prefix Sums
    and Their Applications, 1990).
    """
    if reverse:
        flipped = prefix_scan(combine, [shapes.rev(x, (axis,)) for x in arrays], axis)
        return [shapes.rev(x, (axis,)) for x in flipped]
    n = shaped(arrays[0]).shape[axis]
    if n < 2:
        return list(arrays)

    def part(xs: Arrays, start: int, limit: int, stride: int = 1) -> list[Any]:
        return [slicing.slice_in_dim(x, start, limit, stride, axis) for x in xs]

    pairs = combine(part(arrays, 0, n - 1, 2), part(arrays, 1, n, 2))
    odd = prefix_scan(combine, pairs, axis)
    even = part(arrays, 0, 1)
    if n > 2:
        before = odd if n % 2 else part(odd, 0, n // 2 - 1)
        rest = combine(before, part(arrays, 2, n, 2))
        even = [joining.concatenate([e, r], axis) for e, r in zip(even, rest)]
    return [_interleave(e, o, axis) for e, o in zip(even, odd)]


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """The elements of `even` and `odd` along `axis` in turn; `even` may have one more."""
    shape = shaped(odd).shape
    last = None
    if shaped(even).shape[axis] > shape[axis]:
        last = slicing.slice_in_dim(even, shape[axis], shape[axis] + 1, 1, axis)
        even = slicing.slice_in_dim(even, 0, shape[axis], 1, axis)
    pair = joining.concatenate([shapes.expand_dims(even, (axis + 1,)), shapes.expand_dims(odd, (axis + 1,))], axis + 1)
    out = shapes.reshape(pair, (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]))
    return out if last is None else joining.concatenate([out, last], axis)


def _cumulative_aval(name: str, kinds: str) -> Callable[..., ShapedArray]:
    def rule(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        if not 0 <= axis < x.ndim:
            raise ValueError(f"{name}: axis {axis} is out of bounds for array of shape {x.shape}")
        if dtypes.kind(x.dtype) not in kinds:
            raise TypeError(f"{name} does not accept dtype {x.dtype}; it accepts {accepted(kinds)} dtypes.")
        return x

    return rule


def _cumulative(name: str, kinds: str) -> Primitive:
    primitive = Primitive(name, _cumulative_aval(name, kinds))

    def batch(mapped: MappedAxis, args: Any, dims: Any, *, axis: int, reverse: bool) -> Any:
        (d,) = dims
        return primitive.bind(args[0], axis=axis + (axis >= d), reverse=reverse), d

    primitive.batch = batch
    return primitive


cumsum_p = _cumulative("cumsum", "iufc")
cumprod_p = _cumulative("cumprod", "iufc")
cummax_p = _cumulative("cummax", "iufc")
cummin_p = _cumulative("cummin", "iufc")
cumlogsumexp_p = _cumulative("cumlogsumexp", "fc")


def _bind(primitive: Primitive, operand: Any, axis: int, reverse: bool) -> Any:
    axis = statics.integer(axis, "axis")
    if axis < 0:
        raise ValueError(
            f"lax.{primitive.name} takes axes from 0 on, got {axis}; numpy's functions count from the end too."
        )
    return primitive.bind(operand, axis=axis, reverse=bool(reverse))


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Sums of the elements up to each one along `axis`.

    Args:
      operand: array of numbers.
      axis: dimension, not negative.
      reverse: sum from each element to the end instead.

    Returns:
      An array of the shape and dtype of `operand`.

    Raises:
      ValueError: a dimension that doesn't exist.
      TypeError: a bool operand.

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.cumsum(np.array([1, 2, 3])).tolist()
    [1, 3, 6]
    """
    return _bind(cumsum_p, operand, axis, reverse)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Products of the elements up to each one along `axis`.

    Args:
      operand: array of numbers.
      axis: dimension, not negative.
      reverse: go from each element to the end instead.

    Returns:
      An array of the shape and dtype of `operand`.

    Raises:
      ValueError: a dimension that doesn't exist.
      TypeError: a bool operand.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.lax.cumprod(np.array([1, 2, 3])).tolist()
      [1, 2, 6]
    """
    return _bind(cumprod_p, operand, axis, reverse)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The maximum so far along `axis`; NaN after a NaN.

    Args:
      operand: array of numbers.
      axis: dimension, not negative.
      reverse: go from each element to the end instead.

    Returns:
      An array of the shape and dtype of `operand`.

    Raises:
      ValueError: a dimension that doesn't exist.
      TypeError: a bool operand.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.lax.cummax(np.array([1, 3, 2])).tolist()
      [1, 3, 3]
    """
    return _bind(cummax_p, operand, axis, reverse)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The minimum so far along `axis`; NaN after a NaN.

    Args:
      operand: array of numbers.
      axis: dimension, not negative.
      reverse: go from each element to the end instead.

    Returns:
      An array of the shape and dtype of `operand`.

    Raises:
      ValueError: a dimension that doesn't exist.
      TypeError: a bool operand.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.lax.cummin(np.array([2, 1, 3])).tolist()
      [2, 1, 1]
    """
    return _bind(cummin_p, operand, axis, reverse)


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """log of the sum of exponentials so far along `axis`, without overflow.

    Args:
      operand: array of floats or complex numbers.
      axis: dimension, not negative.
      reverse: go from each element to the end instead.

    Returns:
      An array of the shape and dtype of `operand`.

    Raises:
      ValueError: a dimension that doesn't exist.
      TypeError: an operand of integers or booleans.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.lax.cumlogsumexp(np.array([0.0, -np.inf])).tolist()
      [0.0, 0.0]
    """
    return _bind(cumlogsumexp_p, operand, axis, reverse)


# -- how two neighbouring parts combine --------------------------------------------------------------------------


def log_add_exp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)): the greater one plus log1p(exp(-|difference|)); complex numbers by their real parts."""
    dtype = shaped(x).dtype
    if dtypes.is_complex(dtype):
        first = comparisons.ge(el.real(x), el.real(y))
        high, low = selection.select(first, x, y), selection.select(first, y, x)
        equal = comparisons.eq(x, y)  # two infinities of one sign have no difference
        delta = selection.select(equal, shapes.full(shaped(x).shape, np.zeros((), dtype)[()]), el.sub(low, high))
        return el.add(high, el.log1p(el.exp(delta)))
    high, delta = el.max(x, y), el.sub(x, y)
    sum_ = el.add(high, el.log1p(el.exp(el.neg(el.abs(delta)))))
    # The difference of two infinities of one sign is NaN, and so is one with NaN: their sum is right for both.
    return selection.select(comparisons.ne(delta, delta), el.add(x, y), sum_)


COMBINE: dict[Primitive, Callable[[Any, Any], Any]] = {
    cumsum_p: el.add,
    cumprod_p: el.mul,
    cummax_p: el.max,
    cummin_p: el.min,
    cumlogsumexp_p: log_add_exp,
}


def by_prefix_scan(primitive: Primitive, x: Any, axis: int, reverse: bool) -> Any:
    """The cumulative operation as elementwise operations: what derivatives see, and backends with no better way."""
    combine = COMBINE[primitive]
    return prefix_scan(lambda a, b: [combine(a[0], b[0])], [x], axis, reverse)[0]


# -- derivatives -------------------------------------------------------------------------------------------------

linear(cumsum_p, lambda ct, x, *, axis, reverse: [cumsum_p.bind(ct, axis=axis, reverse=not reverse)])


def _jvp_by_scan(primitive: Primitive) -> Callable[..., Any]:
    def rule(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> Any:
        (x,), (t,) = primals, tangents
        out = primitive.bind(x, axis=axis, reverse=reverse)
        if type(t) is Zero or not dtypes.is_inexact(shaped(x).dtype):
            return out, zero_tangent(out)
        _, (tangent,) = jvp_flat(lambda x: [by_prefix_scan(primitive, x, axis, reverse)], [x], [t])
        return out, tangent

    return rule


cumprod_p.jvp = _jvp_by_scan(cumprod_p)
cummax_p.jvp = _jvp_by_scan(cummax_p)
cummin_p.jvp = _jvp_by_scan(cummin_p)


def _cumlogsumexp_jvp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> Any:
    """Tangents are averaged with the weights exp(part - whole), pair by pair, so that nothing overflows."""
    (x,), (t,) = primals, tangents
    out = cumlogsumexp_p.bind(x, axis=axis, reverse=reverse)
    if type(t) is Zero:
        return out, zero_tangent(out)

    def weight(part: Any, whole: Any) -> Any:
        # Equal: a part that is everything, infinite ones included. (-inf of -inf: no weight is right; both get 1.)
        equal = comparisons.eq(part, whole)
        one = shapes.full(shaped(part).shape, el.scalar_like(part, 1))
        zero = shapes.full(shaped(part).shape, el.scalar_like(part, 0))
        return selection.select(equal, one, el.exp(el.sub(part, selection.select(equal, zero, whole))))

    def combine(a: Arrays, b: Arrays) -> Arrays:
        whole = log_add_exp(a[0], b[0])
        return [whole, el.add(el.mul(weight(a[0], whole), a[1]), el.mul(weight(b[0], whole), b[1]))]

    return out, prefix_scan(combine, [x, t], axis, reverse)[1]


cumlogsumexp_p.jvp = _cumlogsumexp_jvp
