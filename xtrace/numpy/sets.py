"""Sets of values: unique elements, membership, union and the like.

How many elements a result has depends on their values. Outside a trace that is no obstacle: numpy computes it. Inside,
`size` fixes it, and what is left over is filled.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from xtrace.core import dtypes, errors, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.core.trace import Tracer
from xtrace.lax import bitwise, comparisons, cumulative, joining, selection, shapes, slicing
from xtrace.lax import elementwise as el
from xtrace.lax import sorting as lax_sorting
from xtrace.numpy import promotion
from xtrace.numpy import reductions as red
from xtrace.numpy.arguments import canonical_axis, common_shape
from xtrace.numpy.sorting import _binary_search, sort, take_1d
from xtrace.runtime import transfers

#: Test elements up to which comparing with all of them beats a search.
_FEW = 64


def concrete(name: str, x: Any, option: str = "size") -> np.ndarray:
    """The values of an argument, which must be known. option: what to give the function where they aren't."""
    if isinstance(x, Tracer):
        known = x.to_concrete_value()
        if known is None:
            raise errors.ConcretizationTypeError(
                x,
                f"The size of the result of numpy.{name} depends on values: "
                f"give it one, numpy.{name}(..., {option}=...).",
            )
        x = known
    promotion.check_arraylike(name, x)
    return np.asarray(x)


def put(x: Any, dtype: Any) -> Any:
    """A numpy array on the default device."""
    x = np.asarray(x).astype(dtype, order="C")  # ascontiguousarray would add a dimension to a scalar
    return transfers.put(x, transfers.aval_of(x))


def _canonical(x: np.ndarray) -> Any:
    return put(x, dtypes.canonicalize(x.dtype))


def compact(keep: Any, values: Any, size: int, fill: Any) -> tuple[Any, Any]:
    """(the first `size` elements of a vector where `keep` holds, with `fill` behind; their positions)."""
    n = shaped(keep).shape[0]
    order = lax_sorting.argsort(bitwise.bitwise_not(keep), 0)  # stable: the kept ones come first
    if size > n:
        order = joining.concatenate([order, red.filled((size - n,), np.int32(0))], 0)
    order = slicing.slice_in_dim(order, 0, size)
    count = red.reduce(red.SUM, keep, 0, dtypes.int32)
    valid = comparisons.lt(iota(size), red.broadcast(count, (size,)))
    return selection.select(valid, take_1d(values, order), red.broadcast(fill, (size,))), order


def _compact_filled(keep: Any, values: Any, size: int, fill: Any) -> Any:
    """`compact` with a fill that has a say in the dtype; by default the first of the kept elements, or 0."""
    if fill is None:
        first, _ = compact(keep, values, min(size, 1), el.scalar_like(values, 0))
        fill = slicing.index_in_dim(first, 0, 0, False) if size else el.scalar_like(values, 0)
    values, fill = promotion.promote_dtypes(values, promotion.operand(fill))
    common_shape([(size,), shaped(fill).shape])
    return compact(keep, values, size, fill)[0]


def iota(n: int) -> Any:
    from xtrace.lax import creation

    return creation.broadcasted_iota(dtypes.int32, (n,), 0)


def _changes(columns: list[Any], equal_nan: bool) -> Any:
    """Where an element of sorted vectors differs from the one before; the first one does."""
    n = shaped(columns[0]).shape[0]
    differs = None
    for x in columns:
        before, after = slicing.slice_in_dim(x, 0, n - 1), slicing.slice_in_dim(x, 1, n)
        other = comparisons.ne(after, before)
        if equal_nan and dtypes.is_inexact(shaped(x).dtype):
            both = bitwise.bitwise_and(comparisons.ne(before, before), comparisons.ne(after, after))
            other = bitwise.bitwise_and(other, bitwise.bitwise_not(both))
        differs = other if differs is None else bitwise.bitwise_or(differs, other)
    return joining.concatenate([red.filled((1,), np.True_), differs], 0)


@composite(static_argnames=("size", "equal_nan", "axis"))
def _unique_sized(ar: Any, fill_value: Any, size: int, equal_nan: bool, axis: int | None) -> tuple[Any, Any, Any, Any]:
    """(values, first positions, inverse, counts) of `size` unique elements, or slices along an axis."""
    aval = shaped(ar)
    ar = shapes.convert(ar, aval.dtype, False)
    if axis is None:
        rows, row_shape, place = shapes.reshape(ar, (aval.size, 1)), (), 0
    else:
        place = axis
        order = [place, *[i for i in range(aval.ndim) if i != place]]
        moved = shapes.transpose(ar, order)
        row_shape = shaped(moved).shape[1:]
        rows = shapes.reshape(moved, (aval.shape[place], math.prod(row_shape)))
        if 0 in row_shape:  # rows of nothing are all equal
            rows = red.filled((aval.shape[place], 1), aval.dtype.type(0))
    n, width = shaped(rows).shape
    columns = [shapes.reshape(slicing.slice_in_dim(rows, j, j + 1, 1, 1), (n,)) for j in range(width)]
    *ordered, order = lax_sorting.sort_p.bind(*columns, iota(n), dimension=0, is_stable=True, num_keys=width)
    new = _changes(ordered, equal_nan)
    # One more than wanted: the last of them ends where the next one starts.
    starts, _ = compact(new, iota(n), size + 1, np.int32(n))
    ends, starts = slicing.slice_in_dim(starts, 1, size + 1), slicing.slice_in_dim(starts, 0, size)
    valid = comparisons.lt(starts, red.filled((size,), np.int32(n)))
    values = []
    fills = None
    if fill_value is not None:
        fills = red.broadcast(shapes.convert(fill_value, aval.dtype, False), (size, *row_shape))
        fills = shapes.reshape(fills, (size, math.prod(row_shape)))
    for j, x in enumerate(ordered):
        if fills is None or 0 in row_shape:
            fill = slicing.index_in_dim(x, 0, 0, False)
        else:
            fill = slicing.index_in_dim(fills, j, 1, False)
        values.append(selection.select(valid, take_1d(x, starts), red.broadcast(fill, (size,))))
    out = joining.concatenate([shapes.reshape(v, (size, 1)) for v in values], 1)
    out = shapes.reshape(slicing.slice_in_dim(out, 0, math.prod(row_shape), 1, 1), (size, *row_shape))
    out = (
        shapes.transpose(out, [*range(1, place + 1), 0, *range(place + 1, len(row_shape) + 1)])
        if axis is not None
        else out
    )
    positions = take_1d(order, starts)
    first = red.broadcast(slicing.index_in_dim(positions, 0, 0, False), (size,)) if size else positions
    positions = selection.select(valid, positions, first)
    group = el.sub(cumulative.cumsum(shapes.convert(new, dtypes.int32, False), 0), red.filled((n,), np.int32(1)))
    inverse = take_1d(group, lax_sorting.argsort(order, 0))
    counts = selection.select(valid, el.sub(ends, starts), red.filled((size,), np.int32(0)))
    index = red.index_dtype()
    inverse, positions, counts = (shapes.convert(x, index, False) for x in (inverse, positions, counts))
    return out, positions, shapes.reshape(inverse, aval.shape) if axis is None else inverse, counts


def _unique(
    name: str, ar: Any, axis: Any, equal_nan: bool, size: int | None, fill_value: Any
) -> tuple[Any, Any, Any, Any]:
    """(values, first positions, inverse, counts)."""
    if size is None:
        x = concrete(name, ar)
        values, positions, inverse, counts = np.unique(
            x, return_index=True, return_inverse=True, return_counts=True, axis=axis, equal_nan=equal_nan
        )
        index = red.index_dtype()
        inverse = np.reshape(inverse, x.shape if axis is None else (-1,))
        return (_canonical(values), *[put(v, index) for v in (positions, inverse, counts)])
    ar = red.operand(name, ar)
    aval = shaped(ar)
    place = None if axis is None else canonical_axis(axis, aval.ndim)
    n = aval.size if place is None else aval.shape[place]
    size = statics.natural(size, "size")
    if fill_value is not None:
        row = () if place is None else (*aval.shape[:place], *aval.shape[place + 1 :])
        common_shape([(size, *row), shaped(promotion.operand(fill_value)).shape])
    if n == 0:
        return _unique_of_nothing(name, aval, place, size, fill_value)
    return _unique_sized(ar, fill_value, size, bool(equal_nan), place)  # type: ignore[no-any-return]


def _unique_of_nothing(name: str, aval: Any, axis: int | None, size: int, fill: Any) -> tuple[Any, Any, Any, Any]:
    if size and fill is None:
        raise ValueError(f"numpy.{name}: for zero-sized input with nonzero size argument, fill_value must be specified")
    shape = list(aval.shape) if axis is not None else [size]
    shape[axis or 0] = size
    value = shapes.convert(0 if fill is None else fill, aval.dtype, False)
    index = red.index_dtype()
    none = shapes.full((size,), 0, index)
    return red.broadcast(value, tuple(shape)), none, shapes.full(aval.shape if axis is None else (0,), 0, index), none


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """The distinct elements, sorted.

    Args:
      ar: array.
      return_index: whether to return the position of the first of each.
      return_inverse: whether to return which one each element is.
      return_counts: whether to return how often each occurs.
      axis: compare slices along this axis; None: elements.
      equal_nan: whether NaN counts as equal to NaN.
      size: how many to return; needed under a trace.
      fill_value: what fills up to `size`; the least element by default.
      sorted: has no effect: they are.

    Returns:
      The values, or a tuple of them and what else was asked for.

    Raises:
      ConcretizationTypeError: no size, under a trace.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.unique(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    values, *more = _unique("unique", ar, axis, equal_nan, size, fill_value)
    extra = [x for x, wanted in zip(more, (return_index, return_inverse, return_counts)) if wanted]
    return (values, *extra) if extra else values


class UniqueAll(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    values: Any
    inverse_indices: Any


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAll:
    """Distinct elements with first positions, inverse and counts; NaN equals nothing.

    Args:
      x: array of any shape.
      size: how many to return; needed under a trace.
      fill_value: what fills up to `size`; the least element by default.

    Returns:
      (values, indices, inverse_indices, counts), a named tuple.

    Raises:
      ConcretizationTypeError: no size, under a trace.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.unique_all(np.array([3, 1, 3])).counts.tolist()
    [1, 2]
    """
    return UniqueAll(*_unique("unique_all", x, None, False, size, fill_value))


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueCounts:
    """Distinct elements and how often each occurs; NaN equals nothing.

    Args:
      x: array of any shape.
      size: how many to return; needed under a trace.
      fill_value: what fills up to `size`; the least element by default.

    Returns:
      (values, counts), a named tuple.

    Raises:
      ConcretizationTypeError: no size, under a trace.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.numpy.unique_counts(np.array([3, 1, 3])).counts.tolist()
      [1, 2]
    """
    values, _, _, counts = _unique("unique_counts", x, None, False, size, fill_value)
    return UniqueCounts(values, counts)


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueInverse:
    """Distinct elements and which one each element is; NaN equals nothing.

    Args:
      x: array of any shape.
      size: how many to return; needed under a trace.
      fill_value: what fills up to `size`; the least element by default.

    Returns:
      (values, inverse_indices), a named tuple.

    Raises:
      ConcretizationTypeError: no size, under a trace.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.numpy.unique_inverse(np.array([3, 1, 3])).inverse_indices.tolist()
      [1, 0, 1]
    """
    values, _, inverse, _ = _unique("unique_inverse", x, None, False, size, fill_value)
    return UniqueInverse(values, inverse)


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Distinct elements, sorted; NaN equals nothing.

    Args:
      x: array of any shape.
      size: how many to return; needed under a trace.
      fill_value: what fills up to `size`; the least element by default.

    Returns:
      A vector.

    Raises:
      ConcretizationTypeError: no size, under a trace.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.numpy.unique_values(np.array([3, 1, 3])).tolist()
      [1, 3]
    """
    return _unique("unique_values", x, None, False, size, fill_value)[0]


# -- membership and combinations -----------------------------------------------------------------------------------


@composite(static_argnames=("assume_unique", "invert", "method"))
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, method: str = "auto"
) -> Any:
    """Whether each element is among the test elements.

    Args:
      element: array.
      test_elements: array of any shape.
      assume_unique: has no effect.
      invert: whether to return the opposite.
      method: "auto", "compare_all", "binary_search" or "sort".

    Returns:
      Booleans, of the shape of `element`.

    Raises:
      ValueError: there is no such method.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.isin(np.array([1, 2, 3]), np.array([3, 1])).tolist()
    [True, False, True]
    """
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(f"isin: method must be 'auto', 'compare_all', 'binary_search' or 'sort', got {method!r}")
    promotion.check_arraylike("isin", element, test_elements)
    x, tests = promotion.promote_dtypes(promotion.operand(element), promotion.operand(test_elements))
    dtype = shaped(x).dtype
    x, tests = shapes.convert(x, dtype, False), shapes.convert(tests, dtype, False)
    shape, n = shaped(x).shape, shaped(tests).size
    tests = shapes.reshape(tests, (n,))
    if n == 0:
        found = red.filled(shape, np.False_)
    elif method == "compare_all" or dtypes.is_complex(dtype) or (method == "auto" and n <= _FEW):
        wide = (*shape, n)
        each = shapes.broadcast_in_dim(x, wide, range(len(shape)))
        found = red.reduce(red.ANY, comparisons.eq(each, shapes.broadcast_in_dim(tests, wide, (len(shape),))), -1)
    else:
        tests = sort(tests)
        found = comparisons.eq(take_1d(tests, _binary_search(tests, x, False, dtypes.int32)), x)
    return bitwise.bitwise_not(found) if invert else found


def _vectors(name: str, ar1: Any, ar2: Any) -> tuple[Any, Any]:
    promotion.check_arraylike(name, ar1, ar2)
    a, b = promotion.promote_dtypes(promotion.operand(ar1), promotion.operand(ar2))
    a, b = (shapes.convert(x, shaped(x).dtype, False) for x in (a, b))
    return shapes.reshape(a, (shaped(a).size,)), shapes.reshape(b, (shaped(b).size,))


def _both_concrete(name: str, ar1: Any, ar2: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both arguments as numpy arrays of their common dtype."""
    dtype = dtypes.promote((dtypes.of_value(ar1), dtypes.of_value(ar2)))[0]
    a, b = concrete(name, ar1), concrete(name, ar2)
    return a.astype(dtype), b.astype(dtype)


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The distinct elements of two arrays, sorted. `size` and `fill_value` as in `unique`.

    Args:
      ar1, ar2: arrays of any shape.
      size: how many to return; needed under a trace.
      fill_value: what fills up to `size`; the least element by default.

    Returns:
      A vector.

    Raises:
      ConcretizationTypeError: no size, under a trace.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.union1d(np.array([2, 1]), np.array([2, 3])).tolist()
    [1, 2, 3]
    """
    if size is None:
        return _canonical(np.union1d(*_both_concrete("union1d", ar1, ar2)))
    return _union_sized(ar1, ar2, fill_value, statics.natural(size, "size"))


@composite(static_argnames=("size",))
def _union_sized(ar1: Any, ar2: Any, fill_value: Any, size: int) -> Any:
    a, b = _vectors("union1d", ar1, ar2)
    return _unique("union1d", joining.concatenate([a, b], 0), None, True, size, fill_value)[0]


def setdiff1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """The distinct elements of `ar1` that aren't in `ar2`, sorted (in their order if `assume_unique`).

    `size` as in `unique`; `fill_value` is 0 by default.

    Args:
      ar1, ar2: arrays of any shape.
      assume_unique: whether the elements of each are distinct.
      size: how many to return; needed under a trace.
      fill_value: what fills up to `size`; 0 by default.

    Returns:
      A vector.

    Raises:
      ConcretizationTypeError: no size, under a trace.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.setdiff1d(np.array([3, 1, 2]), np.array([2])).tolist()
    [1, 3]
    """
    if size is None:
        a, b = concrete("setdiff1d", ar1), concrete("setdiff1d", ar2)
        a = a.ravel() if assume_unique else np.unique(a)
        common = dtypes.promote((dtypes.of_value(ar1), dtypes.of_value(ar2)))[0]
        return _canonical(a[~np.isin(a.astype(common), b.astype(common))])
    return _setdiff_sized(ar1, ar2, fill_value, bool(assume_unique), statics.natural(size, "size"))


@composite(static_argnames=("assume_unique", "size"))
def _setdiff_sized(ar1: Any, ar2: Any, fill_value: Any, assume_unique: bool, size: int) -> Any:
    _, b = _vectors("setdiff1d", ar1, ar2)
    a = promotion.operand(ar1)  # whose dtype the result has
    a = shapes.reshape(shapes.convert(a, shaped(a).dtype, False), (shaped(a).size,))
    fill = shapes.convert(0 if fill_value is None else fill_value, shaped(a).dtype, False)
    if shaped(a).size == 0:
        return red.broadcast(fill, (size,))
    keep = isin(a, b, invert=True)
    if not assume_unique:
        a, shuffled = lax_sorting.sort_p.bind(a, keep, dimension=0, is_stable=True, num_keys=1)
        keep = bitwise.bitwise_and(shuffled, _changes([a], True))
    return compact(keep, a, size, fill)[0]


def setxor1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """The distinct elements that are in one of two arrays, not both, sorted. `size` and `fill_value` as in `unique`.

    Args:
      ar1, ar2: arrays of any shape.
      assume_unique: whether the elements of each are distinct.
      size: how many to return; needed under a trace.
      fill_value: what fills up to `size`; the least element by default.

    Returns:
      A vector.

    Raises:
      ConcretizationTypeError: no size, under a trace.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.setxor1d(np.array([1, 2]), np.array([2, 3])).tolist()
    [1, 3]
    """
    if size is None:
        return _canonical(np.setxor1d(*_both_concrete("setxor1d", ar1, ar2), assume_unique))
    return _setxor_sized(ar1, ar2, fill_value, statics.natural(size, "size"))


@composite(static_argnames=("size",))
def _setxor_sized(ar1: Any, ar2: Any, fill_value: Any, size: int) -> Any:
    a, b = _vectors("setxor1d", ar1, ar2)
    both = joining.concatenate([a, b], 0)
    n = shaped(both).shape[0]
    if n == 0:
        return _compact_filled(red.filled((1,), np.False_), shapes.full((1,), 0, shaped(both).dtype), size, fill_value)
    keep = joining.concatenate([isin(a, b, invert=True), isin(b, a, invert=True)], 0)
    both, keep = lax_sorting.sort_p.bind(both, keep, dimension=0, is_stable=True, num_keys=1)
    keep = bitwise.bitwise_and(keep, _changes([both], True))
    return _compact_filled(keep, both, size, fill_value)


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The distinct elements that are in both arrays, sorted.

    Args:
      ar1, ar2: arrays, taken as flat.
      assume_unique: whether the elements of each are distinct already.
      return_indices: whether to return where each is in `ar1` and in `ar2`.
      size, fill_value: as in `unique`; positions that fill up are the arrays' sizes.

    Returns:
      The values, or (values, positions in ar1, positions in ar2).

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.intersect1d(np.array([3, 1, 2]), np.array([2, 3])).tolist()
    [2, 3]
    """
    index = red.index_dtype()
    if size is None:
        out = np.intersect1d(*_both_concrete("intersect1d", ar1, ar2), assume_unique, return_indices)
        if not return_indices:
            return _canonical(out)
        return (_canonical(out[0]), put(out[1], index), put(out[2], index))
    return _intersect_sized(ar1, ar2, fill_value, bool(return_indices), statics.natural(size, "size"))


@composite(static_argnames=("return_indices", "size"))
def _intersect_sized(ar1: Any, ar2: Any, fill_value: Any, return_indices: bool, size: int) -> Any:
    index = red.index_dtype()
    a, b = _vectors("intersect1d", ar1, ar2)
    n, m = shaped(a).shape[0], shaped(b).shape[0]
    if n == 0 or m == 0:
        none = shapes.full((1,), 0, shaped(a).dtype)
        values = _compact_filled(red.filled((1,), np.False_), none, size, fill_value)
        return (values, shapes.full((size,), n, index), shapes.full((size,), m, index)) if return_indices else values
    a, order = lax_sorting.sort_p.bind(a, iota(n), dimension=0, is_stable=True, num_keys=1)
    b, b_order = lax_sorting.sort_p.bind(b, iota(m), dimension=0, is_stable=True, num_keys=1)
    place = _binary_search(b, a, False, dtypes.int32)
    keep = bitwise.bitwise_and(comparisons.eq(take_1d(b, place), a), _changes([a], True))
    values = _compact_filled(keep, a, size, fill_value)
    if not return_indices:
        return values
    first, _ = compact(keep, order, size, np.int32(n))
    second, _ = compact(keep, take_1d(b_order, place), size, np.int32(m))
    return values, shapes.convert(first, index, False), shapes.convert(second, index, False)
