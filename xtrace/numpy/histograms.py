"""Counting: occurrences of integers, and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import bitwise, comparisons, creation, scatters, selection, shapes, slicing
from xtrace.lax import elementwise as el
from xtrace.numpy import promotion
from xtrace.numpy import reductions as red
from xtrace.numpy.sets import concrete
from xtrace.numpy.sorting import searchsorted
from xtrace.transforms.placement import held

_numbers = range  # (which is the name of a parameter below)


def bincount(
    x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None, out_sharding: Any = None
) -> Any:
    """How often each integer from 0 on occurs.

    Args:
      x: vector of integers; negative ones count as 0.
      weights: what each occurrence counts; 1 by default.
      minlength: least size of the result.
      length: size of the result; needed under a trace. Greater integers are left out.
      out_sharding: sharding of the result, if it should have a particular one.

    Returns:
      Counts: integers, or sums of the weights.

    Raises:
      TypeError: x isn't of integer dtype.
      ConcretizationTypeError: no length, under a trace.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.bincount(np.array([1, 2, 2])).tolist()
    [0, 1, 2]
    """
    x = red.operand("bincount", x)
    aval = shaped(x)
    if dtypes.kind(aval.dtype) not in "iub":
        raise TypeError(f"x argument to bincount must have an integer type; got {aval.dtype}")
    if aval.ndim != 1:
        raise ValueError(f"bincount needs a vector, got shape {aval.shape}")
    minlength = statics.integer(minlength, "minlength")
    if length is None:
        values = concrete("bincount", x, "length")
        length = max(minlength, int(values.max()) + 1 if values.size else 0)
    else:
        length = max(minlength, statics.integer(length, "length"))
    return held("bincount", _bincount(x, weights, length), out_sharding)


@composite(static_argnames=("length",))
def _bincount(x: Any, weights: Any, length: int) -> Any:
    n = shaped(x).shape[0]
    if shaped(x).dtype == dtypes.bool_:
        x = shapes.convert(x, dtypes.int32, False)
    if dtypes.kind(shaped(x).dtype) == "i":
        x = el.max(x, red.filled((n,), red.typed(0, shaped(x).dtype)))
    dtype = red.index_dtype()
    if weights is None:
        updates = red.filled((n,), red.typed(1, dtype))
    else:
        weights = red.operand("bincount", weights)
        if shaped(weights).shape != (n,):
            raise ValueError(f"bincount needs weights of the shape of x, ({n},); got {shaped(weights).shape}")
        updates = shapes.convert(weights, shaped(weights).dtype, False)
        dtype = shaped(updates).dtype
    start = shapes.full((length,), red.typed(0, dtype), dtype)
    return _add_at(start, x, updates)


def _add_at(x: Any, positions: Any, updates: Any) -> Any:
    """`x` with `updates` added at positions of a vector; those beyond its end are left out."""
    numbers = scatters.ScatterDimensionNumbers((), (0,), (0,))
    return scatters.scatter_add(x, shapes.expand_dims(positions, (1,)), updates, numbers, mode="drop")


def _span(a: Any, limits: Any) -> tuple[Any, Any]:
    """Where bins begin and end: the limits given, or the extrema; widened by 1/2 on either side if they are equal."""
    dtype = shaped(a).dtype
    if limits is None:
        if shaped(a).size == 0:
            low, high = red.typed(0, dtype), red.typed(1, dtype)
        else:
            low, high = red.reduce(red.MIN, a, None), red.reduce(red.MAX, a, None)
    else:
        try:
            low, high = limits
        except (TypeError, ValueError):
            raise ValueError(f"range must be two numbers, got {limits!r}") from None
        low, high = shapes.convert(low, dtype, False), shapes.convert(high, dtype, False)
    half = red.typed(0.5, dtype)
    same = comparisons.eq(low, high)
    return selection.select(same, el.sub(low, half), low), selection.select(same, el.add(high, half), high)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges that `histogram` uses.

    Args:
      a: array.
      bins: number of bins of equal width, or the edges themselves.
      range: (lowest edge, highest edge); the extrema of `a` by default.
      weights: has no effect.

    Returns:
      A vector of edges, one more than there are bins.

    Raises:
      NotImplementedError: the name of a rule as `bins`.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.histogram_bin_edges(np.array([0.0, 4.0]), 4).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    if isinstance(bins, str):
        raise NotImplementedError(f"string values for `bins` are not supported, got {bins!r}: give a number or edges.")
    if isinstance(bins, (list, tuple)):
        bins = np.asarray(bins)
    if shaped(red.operand("histogram_bin_edges", bins)).ndim == 1:
        (a,) = promotion.promote_args_inexact("histogram_bin_edges", a)
        return shapes.convert_element_type(bins, shaped(a).dtype)
    return _edges(a, range, statics.integer(bins, "bins"))


@composite(static_argnames=("bins",))
def _edges(a: Any, limits: Any, bins: int) -> Any:
    (a,) = promotion.promote_args_inexact("histogram_bin_edges", a)
    dtype = shaped(a).dtype
    low, high = _span(a, limits)
    steps = creation.broadcasted_iota(dtype, (bins + 1,), 0)
    share = el.div(steps, red.typed(bins, dtype))
    one = red.typed(1, dtype)
    # Exact at both ends.
    return el.add(el.mul(low, el.sub(one, share)), el.mul(high, share))


def _bin_of(x: Any, edges: Any) -> tuple[Any, Any]:
    """(bin of each element, whether it is in one); the last bin contains its upper edge."""
    n = shaped(edges).shape[0]
    last = slicing.index_in_dim(edges, n - 1, 0, False)
    place = searchsorted(edges, x, side="right")
    dtype = shaped(place).dtype
    place = el.sub(place, red.typed(1, dtype))
    at_end = comparisons.eq(x, last)
    place = selection.select(at_end, red.filled(shaped(place).shape, red.typed(n - 2, dtype)), place)
    inside = bitwise.bitwise_and(comparisons.ge(place, red.typed(0, dtype)), comparisons.le(x, last))
    return place, inside


def histogram(
    a: Any,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    weights: Any = None,
    density: bool | None = None,
    out_sharding: Any = None,
) -> tuple[Any, Any]:
    """How many elements fall into each bin.

    Args:
      a: array.
      bins: number of bins of equal width, or the edges themselves.
      range: (lowest edge, highest edge); the extrema of `a` by default.
      weights: what each element counts; 1 by default.
      density: whether to divide by the sum and the width, so that the integral is 1.
      out_sharding: sharding of the counts, if they should have a particular one.

    Returns:
      (counts, in floating point; edges).

    Raises:
      ValueError: the weights have another shape than `a`.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.histogram(np.array([1.0, 2.0, 2.0, 3.0]), 2)[0].tolist()
    [1.0, 3.0]
    """
    if weights is None:
        (a,) = promotion.promote_args_inexact("histogram", a)
    else:
        a, weights = promotion.promote_args_inexact("histogram", a, weights)
        if shaped(weights).shape != shaped(a).shape:
            raise ValueError(f"weights should have the same shape as a: {shaped(a).shape}, got {shaped(weights).shape}")
    edges = histogram_bin_edges(a, bins, range)
    return held("histogram", _histogram(a, edges, weights, bool(density)), out_sharding), edges


@composite(static_argnames=("density",))
def _histogram(a: Any, edges: Any, weights: Any, density: bool) -> Any:
    if weights is None:
        weights = red.filled(shaped(a).shape, red.typed(1, shaped(a).dtype))
    size, n = shaped(a).size, shaped(edges).shape[0] - 1
    a, weights = shapes.reshape(a, (size,)), shapes.reshape(weights, (size,))
    place, inside = _bin_of(a, edges)
    dtype = shaped(weights).dtype
    weights = selection.select(inside, weights, red.filled((size,), red.typed(0, dtype)))
    place = el.max(place, red.filled((size,), red.typed(0, shaped(place).dtype)))
    counts = _add_at(shapes.full((n,), red.typed(0, dtype), dtype), place, weights)
    if density:
        width = el.sub(slicing.slice_in_dim(edges, 1, n + 1), slicing.slice_in_dim(edges, 0, n))
        counts = el.div(el.div(counts, width), red.reduce(red.SUM, counts, None))
    return counts


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, Any, Any]:
    """A histogram of pairs of values.

    Args:
      x, y: vectors of the first and second coordinates.
      bins: number of bins or edges, for both or for each.
      range: lowest and highest edge for each.
      weights, density: as in `histogram`.

    Returns:
      (counts, of shape (bins of x, bins of y); edges of x; edges of y).

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.histogram2d(np.array([0.0, 1.0]), np.array([0.0, 1.0]), bins=2)[0].tolist()
    [[1, 0], [0, 1]]
    """
    x, y = promotion.promote_args_inexact("histogram2d", x, y)
    from xtrace.lax import joining

    sample = joining.concatenate([shapes.expand_dims(x, (1,)), shapes.expand_dims(y, (1,))], 1)
    if (
        not isinstance(bins, (int, np.integer))
        and len(statics.parts(bins, "bins", "a number, or two numbers or arrays")) != 2
    ):  # edges for both
        bins = [bins, bins]
    counts, (x_edges, y_edges) = histogramdd(sample, bins, range, weights, density)
    return counts, x_edges, y_edges


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, list[Any]]:
    """A histogram of points.

    Args:
      sample: shape (points, dimensions).
      bins: number of bins, for all dimensions or a sequence of them; or a sequence of vectors of edges.
      range: lowest and highest edge for each dimension.
      weights, density: as in `histogram`.

    Returns:
      (counts, one dimension for each; list of edges).

    Raises:
      ValueError: a sequence of bins or ranges of another length.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.histogramdd(np.array([[0.0, 0.0], [1.0, 1.0]]), bins=[2, 1])[0].tolist()
    [[1], [1]]
    """
    if isinstance(sample, (list, tuple)):
        raise TypeError("histogramdd needs an array of shape (points, dimensions), not a sequence of coordinates")
    (sample,) = promotion.promote_args_inexact("histogramdd", sample)
    if shaped(sample).ndim != 2:
        raise ValueError(f"histogramdd needs an array of shape (points, dimensions), got {shaped(sample).shape}")
    n, dims = shaped(sample).shape
    if isinstance(bins, (int, np.integer)):
        bins = [int(bins)] * dims
    if len(statics.parts(bins, "bins", "a number, or a number or array a dimension")) != dims:
        raise ValueError(f"should be a bin for each dimension: got {len(bins)} for {dims}")
    if range is not None and len(statics.parts(range, "range", "a pair of numbers a dimension")) != dims:
        raise ValueError(f"Expected {dims} ranges, got {len(range)}")
    columns = [slicing.index_in_dim(sample, d, 1, False) for d in _numbers(dims)]
    edges = [histogram_bin_edges(columns[d], bins[d], None if range is None else range[d]) for d in _numbers(dims)]
    return _histogramdd(tuple(columns), tuple(edges), weights, bool(density)), edges


@composite(static_argnames=("density",))
def _histogramdd(columns: tuple[Any, ...], edges: tuple[Any, ...], weights: Any, density: bool) -> Any:
    sizes = [shaped(e).shape[0] - 1 for e in edges]
    n = shaped(columns[0]).shape[0]
    index = red.index_dtype()
    flat, inside = red.filled((n,), red.typed(0, index)), red.filled((n,), np.True_)
    for x, e, size in zip(columns, edges, sizes):
        x, e = promotion.promote_dtypes_inexact(x, e)
        place, within = _bin_of(x, e)
        flat = el.add(el.mul(flat, red.typed(size, index)), shapes.convert(place, index, False))
        inside = bitwise.bitwise_and(inside, within)
    if weights is None:
        weights = red.filled((n,), red.typed(1, index))
    else:
        (weights,) = promotion.promote_args_inexact("histogramdd", weights)
    dtype = shaped(weights).dtype
    weights = selection.select(inside, weights, red.filled((n,), red.typed(0, dtype)))
    flat = selection.select(inside, flat, red.filled((n,), red.typed(0, index)))
    total = int(np.prod(sizes, dtype=int))
    counts = shapes.reshape(_add_at(shapes.full((total,), red.typed(0, dtype), dtype), flat, weights), sizes)
    if not density:
        return counts
    real = shaped(columns[0]).dtype
    counts = shapes.convert(counts, real, False)
    counts = el.div(counts, red.reduce(red.SUM, counts, None))
    for d, e in enumerate(edges):
        width = el.sub(slicing.slice_in_dim(e, 1, sizes[d] + 1), slicing.slice_in_dim(e, 0, sizes[d]))
        counts = el.div(counts, shapes.broadcast_in_dim(shapes.convert(width, real, False), sizes, (d,)))
    return counts
