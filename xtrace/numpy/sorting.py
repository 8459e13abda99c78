"""Sorting, and searching in what is sorted."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import bitwise, comparisons, creation, gathers, joining, selection, shapes, slicing
from xtrace.lax import elementwise as el
from xtrace.lax import sorting as lax_sorting
from xtrace.numpy import promotion
from xtrace.numpy import reductions as red
from xtrace.numpy.arguments import as_array, canonical_axis


def _flat_or_axis(name: str, a: Any, axis: int | None) -> tuple[Any, int]:
    """(array, axis to sort along): the flattened array for None."""
    a = red.operand(name, a)
    aval = shaped(a)
    a = shapes.convert(a, aval.dtype, False)
    if axis is None:
        return shapes.reshape(a, (aval.size,)), 0
    return a, canonical_axis(axis, aval.ndim)


def _check_options(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(
            f"'kind' argument to {name} is not supported. Use stable=True or stable=False to specify sort stability."
        )
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported: arrays have no fields.")


@composite(static_argnames=("axis", "kind", "order", "stable", "descending"))
def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """A sorted copy; NaN comes last (first if descending).

    Args:
      a: array.
      axis: axis to sort along; None: the flattened array.
      kind, order: not supported.
      stable: whether equals keep their order.
      descending: whether the greatest comes first.

    Returns:
      The sorted array.

    Raises:
      ValueError: an axis that doesn't exist.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.sort(np.array([3, 1, 2])).tolist()
    [1, 2, 3]
    """
    _check_options("sort", kind, order)
    a, axis = _flat_or_axis("sort", a, axis)
    (out,) = lax_sorting.sort_p.bind(a, dimension=axis, is_stable=stable, num_keys=1)
    return shapes.rev(out, (axis,)) if descending else out


@composite(static_argnames=("axis", "kind", "order", "stable", "descending", "dtype"))
def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Any:
    """Positions in sorted order: `a[argsort(a)]` is sorted.

    Args:
      a: array.
      axis: axis to sort along; None: the flattened array.
      kind, order: not supported.
      stable: whether equals keep their order.
      descending: whether the greatest comes first.
      dtype: integer dtype of the positions; the default integer by default.

    Returns:
      Positions along the axis.

    Raises:
      ValueError: an axis that doesn't exist.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.argsort(np.array([30, 10, 20])).tolist()
    [1, 2, 0]
    """
    _check_options("argsort", kind, order)
    a, axis = _flat_or_axis("argsort", a, axis)
    used = red.index_dtype() if dtype is None else dtypes.canonical_dtype(dtype)
    positions = creation.broadcasted_iota(used, shaped(a).shape, axis)
    if descending and stable:  # equals keep their order if the reversed array's do
        a, positions = shapes.rev(a, (axis,)), shapes.rev(positions, (axis,))
    out = lax_sorting.sort_p.bind(a, positions, dimension=axis, is_stable=stable, num_keys=1)[1]
    return shapes.rev(out, (axis,)) if descending else out


def lexsort(keys: Any, axis: int = -1, *, batch_size: int = 16) -> Any:
    """Positions in the order of several keys, the last one counting most.

    Args:
      keys: sequence of arrays of one shape, or an array whose first dimension is that sequence.
      axis: axis to sort along.
      batch_size: accepted for compatibility.

    Returns:
      Positions along the axis.

    Raises:
      TypeError: no keys.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.lexsort((np.array([2, 1, 0]), np.array([1, 0, 1]))).tolist()
    [1, 2, 0]
    """
    if not isinstance(keys, (list, tuple)):
        keys = red.operand("lexsort", keys)
        if not shaped(keys).ndim:
            raise TypeError("need sequence of keys with len > 0 in lexsort, got a scalar")
        keys = [slicing.index_in_dim(keys, i, 0, False) for i in range(shaped(keys).shape[0])]
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    return _lexsort(tuple(keys), axis)


@composite(static_argnames=("axis",))
def _lexsort(keys: tuple[Any, ...], axis: int) -> Any:
    keys = tuple([red.operand("lexsort", k) for k in keys])
    shape = shaped(keys[0]).shape
    if any([shaped(k).shape != shape for k in keys]):
        raise ValueError(f"lexsort needs keys of one shape, got {', '.join([str(shaped(k).shape) for k in keys])}")
    if not shape:
        return shapes.full((), 0, red.index_dtype())
    place = canonical_axis(axis, len(shape))
    positions = creation.broadcasted_iota(red.index_dtype(), shape, place)
    return lax_sorting.sort_p.bind(*keys[::-1], positions, dimension=place, is_stable=True, num_keys=len(keys))[-1]


@composite
def sort_complex(a: Any) -> Any:
    """A sorted copy as complex numbers, by real part, then imaginary part, along the last axis.

    Args:
      a: array.

    Returns:
      An array of the shape of `a`, complex.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.sort_complex(np.array([2, 1])).tolist()
    [(1+0j), (2+0j)]
    """
    a = red.operand("sort_complex", a)
    dtype = dtypes.canonicalize(dtypes.to_complex(shaped(a).dtype))
    return sort(shapes.convert(a, dtype, False))


def _partition_index(name: str, a: Any, kth: Any, axis: int) -> tuple[Any, int, int]:
    a = red.operand(name, a)
    aval = shaped(a)
    if dtypes.is_complex(aval.dtype):
        raise NotImplementedError(f"{name} of complex numbers is not supported: sort them, with numpy.sort.")
    place = canonical_axis(axis, aval.ndim)
    return a, canonical_axis(statics.integer(kth, "kth"), aval.shape[place]), place


@composite(static_argnames=("kth", "axis"))
def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """A copy in which the element that belongs at position `kth` in sorted order is there, smaller ones before it.

    Args:
      a: array of real numbers.
      kth: position.
      axis: axis to partition along.

    Returns:
      The partitioned array; the order on either side is unspecified.

    Raises:
      ValueError: a position or axis that doesn't exist.

    >>> import numpy as np, xtrace as xt
    >>> int(xt.numpy.partition(np.array([5, 1, 4, 2]), 1)[1])
    2
    """
    a, k, place = _partition_index("partition", a, kth, axis)
    # Sorting is a partition, and the quickest on backends that have no selection.
    return sort(a, axis=place, stable=False)


@composite(static_argnames=("kth", "axis"))
def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """Positions in the order in which `partition` puts the elements.

    Args:
      a: array of real numbers.
      kth: position.
      axis: axis to partition along.

    Returns:
      Positions, of the default integer dtype.

    Raises:
      ValueError: a position or axis that doesn't exist.

    >>> import numpy as np, xtrace as xt
    >>> int(xt.numpy.argpartition(np.array([5, 1, 4, 2]), 1)[1])
    3
    """
    a, k, place = _partition_index("argpartition", a, kth, axis)
    return argsort(a, axis=place, dtype=dtypes.int32)


# -- searching -------------------------------------------------------------------------------------------------------


def take_1d(x: Any, indices: Any) -> Any:
    """Elements of a vector at positions that are clipped to it."""
    numbers = gathers.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
    indices = shapes.expand_dims(indices, (shaped(indices).ndim,))
    return gathers.gather(x, indices, numbers, (1,), mode="clip")


def _less(x: Any, y: Any) -> Any:
    """x < y elementwise in the order of sorting: NaN above all."""
    if dtypes.is_complex(shaped(x).dtype):
        raise TypeError("searching among complex numbers is not supported: they have no order but that of their parts")
    less = comparisons.lt(x, y)
    if not dtypes.is_inexact(shaped(x).dtype):
        return less
    return bitwise.bitwise_or(less, bitwise.bitwise_and(comparisons.ne(y, y), comparisons.eq(x, x)))


def _binary_search(a: Any, v: Any, right: bool, dtype: Any) -> Any:
    """Halve the interval of possible positions for all of `v` at once."""
    n, shape = shaped(a).shape[0], shaped(v).shape
    low, high = (red.filled(shape, red.typed(x, dtype)) for x in (0, n))
    one = red.typed(1, dtype)
    for _ in range(n.bit_length()):
        middle = bitwise.shift_right_logical(el.add(low, high), one)
        element = take_1d(a, middle)
        before = _less(v, element) if right else bitwise.bitwise_not(_less(element, v))  # the position is left of here
        open_ = comparisons.lt(low, high)
        new_high = selection.select(bitwise.bitwise_and(open_, before), middle, high)
        up = bitwise.bitwise_and(open_, bitwise.bitwise_not(before))
        low, high = selection.select(up, el.add(middle, one), low), new_high
    return low


def _compare_all(a: Any, v: Any, right: bool, dtype: Any) -> Any:
    """How many elements of `a` come before each of `v`."""
    shape = shaped(v).shape
    wide = (*shape, shaped(a).shape[0])
    queries = shapes.broadcast_in_dim(v, wide, range(len(shape)))
    elements = shapes.broadcast_in_dim(a, wide, (len(shape),))
    before = bitwise.bitwise_not(_less(queries, elements)) if right else _less(elements, queries)
    return red.reduce(red.SUM, before, len(shape), dtype)


def _by_sorting(a: Any, v: Any, right: bool, dtype: Any) -> Any:
    """Sort both together, and count elements of `a` in front of each of `v`."""
    from xtrace.lax import cumulative

    n, size = shaped(a).shape[0], shaped(v).size
    queries = shapes.reshape(v, (size,))
    both = joining.concatenate([a, queries] if right else [queries, a], 0)
    order = lax_sorting.argsort(both, 0)
    first = n if right else 0
    last = n + size if right else size
    is_element = (
        comparisons.lt(order, red.typed(n, dtypes.int32))
        if right
        else comparisons.ge(order, red.typed(size, dtypes.int32))
    )
    count = cumulative.cumsum(shapes.convert(is_element, dtype, False), 0)
    rank = lax_sorting.argsort(order, 0)
    return shapes.reshape(take_1d(count, slicing.slice_in_dim(rank, first, last)), shaped(v).shape)


_SEARCHES = {"scan": _binary_search, "scan_unrolled": _binary_search, "sort": _by_sorting, "compare_all": _compare_all}


@composite(static_argnames=("side", "method"))
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan") -> Any:
    """Where to insert values into a sorted vector so that it stays sorted.

    Args:
      a: vector, sorted (by `sorter` if given).
      v: values.
      side: "left": in front of equals; "right": behind them.
      sorter: positions that sort `a`.
      method: how to search: "scan" or "scan_unrolled" (binary search), "sort" (quick for many values on accelerators),
        "compare_all" (quick for short `a`).

    Returns:
      Positions, of the shape of `v`.

    Raises:
      ValueError: an `a` that is no vector; an unknown side or method.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.searchsorted(np.array([1, 3, 5]), np.array([0, 3, 9])).tolist()
    [0, 1, 3]
    """
    statics.option(side, "side", ("left", "right"))
    statics.option(method, "method", _SEARCHES)
    promotion.check_arraylike("searchsorted", a, v)
    a, v = promotion.promote_dtypes(promotion.operand(a), promotion.operand(v))
    if shaped(a).ndim != 1:
        raise ValueError(f"a should be 1-dimensional, got shape {shaped(a).shape}")
    if sorter is not None:
        sorter = red.operand("searchsorted", sorter)
        if shaped(sorter).shape != shaped(a).shape:
            raise ValueError(f"sorter must have the shape {shaped(a).shape} of a, got {shaped(sorter).shape}")
        a = take_1d(a, sorter)
    a, v = (shapes.convert(x, shaped(x).dtype, False) for x in (a, v))
    dtype = dtypes.int32 if shaped(a).shape[0] < 2**31 else dtypes.int64
    if shaped(a).shape[0] == 0:
        return red.filled(shaped(v).shape, red.typed(0, dtype))
    return _SEARCHES[method](a, v, side == "right", dtype)


@composite(static_argnames=("right", "method"))
def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """The number of the bin that each value falls into.

    Args:
      x: values.
      bins: edges, ascending or descending.
      right: whether a bin contains its upper edge rather than its lower one.
      method: as in `searchsorted`.

    Returns:
      Numbers: 0 below the first edge, len(bins) above the last.

    Raises:
      ValueError: bins that are no vector.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.digitize(np.array([0.5, 1.5]), np.array([0, 1, 2])).tolist()
    [1, 2]
    """
    promotion.check_arraylike("digitize", x, bins)
    bins = promotion.operand(bins)
    if shaped(bins).ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array, got shape {shaped(bins).shape}")
    x, bins = promotion.promote_dtypes(promotion.operand(x), bins)
    n = shaped(bins).shape[0]
    dtype = dtypes.int32  # as searchsorted gives
    if n == 0:
        return red.filled(shaped(x).shape, red.typed(0, dtype))
    side = "left" if right else "right"
    how = method or "scan"
    ascending = searchsorted(bins, x, side=side, method=how)
    if n == 1:
        return ascending
    flipped = searchsorted(shapes.rev(bins, (0,)), x, side=side, method=how)
    descending = el.sub(red.filled(shaped(flipped).shape, red.typed(n, dtype)), flipped)
    first, last = (slicing.index_in_dim(bins, i, 0, False) for i in (0, n - 1))
    return selection.select(comparisons.ge(last, first), ascending, descending)


def top_k(a: Any, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True) -> tuple[Any, Any]:
    """The k largest or smallest elements along an axis, the most extreme first, and their positions.

    Args:
      a: array of real numbers or booleans.
      k: how many.
      axis: along which axis.
      mode: "largest" or "smallest".
      sorted: without effect: they are always sorted.

    Returns:
      (values, positions): arrays with k elements along the axis; positions are int32.

    Raises:
      ValueError: complex numbers, another mode, a k greater than the axis is long.

    >>> import numpy as np, xtrace as xt
    >>> values, positions = xt.numpy.top_k(np.array([3, 1, 2]), 2, mode="smallest")
    >>> values.tolist(), positions.tolist()
    ([1, 2], [1, 2])
    """
    a = as_array("top_k", a)
    dtype = shaped(a).dtype
    if dtypes.is_complex(dtype):
        raise ValueError("top_k is not compatible with complex inputs.")
    if mode not in ("largest", "smallest"):
        raise ValueError(f"mode must be 'largest' or 'smallest', got {mode!r}")
    axis = canonical_axis(axis, shaped(a).ndim)
    if mode == "largest":
        return lax_sorting.top_k(a, k, axis=axis)
    # Turned round so that the smallest come first: ~x for integers, whose least value has no negative.
    turn = el.neg if dtypes.is_floating(dtype) else bitwise.bitwise_not
    values, positions = lax_sorting.top_k(turn(a), k, axis=axis)
    return [turn(values), positions]
