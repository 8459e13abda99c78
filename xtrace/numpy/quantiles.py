"""Quantiles, percentiles and medians."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import bitwise, comparisons, cumulative, selection, shapes, slicing
from xtrace.lax import elementwise as el
from xtrace.lax import sorting as lax_sorting
from xtrace.numpy import promotion
from xtrace.numpy import reductions as red
from xtrace.numpy.nan_reductions import is_nan
from xtrace.transforms.placement import held

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def _quantile(
    name: str, a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, weights: Any, skip_nan: bool
) -> Any:
    """Sort along the reduced axes, then pick or interpolate."""
    if out is not None:
        raise ValueError(f"numpy.{name} does not support out={out!r}: arrays can't be written to. Use what it returns.")
    if method not in _METHODS:
        raise ValueError(
            f"method can only be 'linear', 'lower', 'higher', 'midpoint', 'nearest' or 'inverted_cdf', got {method!r}"
        )
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(f"{method} doesn't support weights. Only method 'inverted_cdf' supports weights.")
    promotion.check_arraylike(name, a, q)
    a, q = promotion.operand(a), promotion.operand(q)
    if shaped(q).ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {shaped(q).shape}")
    for x, argument in (a, "a"), (q, "q"):
        if dtypes.is_extended(shaped(x).dtype):
            statics.refuse(argument, x, "an array of numbers")
    if dtypes.is_complex(shaped(a).dtype):
        raise ValueError("quantile does not support complex input, as the operation is poorly defined.")
    # The elements decide about the dtype of the result, and positions among them are as precise as `q` makes them.
    dtype, share = (dtypes.canonicalize(dtypes.to_inexact(shaped(x).dtype)) for x in (a, q))
    used = np.promote_types(red.computation_dtype(dtype), red.computation_dtype(share))
    a, q = shapes.convert(a, used, False), shapes.convert(q, used, False)
    shape = shaped(a).shape
    axes = red.reduction_axes(axis, len(shape))
    rest = [i for i in range(len(shape)) if i not in axes]
    kept = [shape[i] for i in rest]

    def rows(x: Any) -> Any:
        """The reduced axes as one, behind the others."""
        return shapes.reshape(shapes.transpose(x, [*rest, *axes]), (*kept, -1 if not shape else _size(shape, axes)))

    rows_a = rows(a) if shape else shapes.reshape(a, (1,))
    n = shaped(rows_a).shape[-1]
    if n == 0 and not skip_nan:
        raise ValueError(f"numpy.{name} reduction axis must be non-empty, got shape {shape}")
    many = shaped(q).ndim == 1
    q = q if many else shapes.reshape(q, (1,))
    if n == 0 or 0 in kept:
        values = red.filled((*kept, shaped(q).shape[0]), red.typed(np.nan, used))
    elif weights is not None:
        w = promotion.operand(weights)
        if shaped(w).shape != shape:
            if axis is None or shaped(w).shape != tuple([shape[i] for i in axes]):
                raise ValueError(
                    f"weights of shape {shaped(w).shape} fit neither an array of shape {shape} nor its axes {axis}"
                )
            w = shapes.broadcast_in_dim(w, shape, axes)
        values = _weighted(rows_a, rows(shapes.convert(w, used, False)), q, skip_nan)
    else:
        values = _unweighted(rows_a, q, method, skip_nan)
    values = shapes.transpose(values, [len(kept), *range(len(kept))])  # q in front
    if keepdims:
        values = shapes.expand_dims(values, [1 + i for i in axes])
    if not many:
        values = shapes.squeeze(values, (0,))
    return shapes.convert(values, dtype, False)


def _size(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    size = 1
    for i in axes:
        size *= shape[i]
    return size


def _nan_rows(x: Any) -> Any:
    """All NaN in the rows that have one."""
    shape = shaped(x).shape
    any_nan = red.reduce(red.ANY, is_nan(x), -1, None, None, True)
    return selection.select(red.broadcast(any_nan, shape), red.filled(shape, el.scalar_like(x, np.nan)), x)


def _unweighted(x: Any, q: Any, method: str, skip_nan: bool) -> Any:
    """Quantiles of the last dimension of `x`, which `q` replaces."""
    *kept, n = shaped(x).shape
    k = shaped(q).shape[0]
    out = (*kept, k)
    dtype = shaped(x).dtype
    if not skip_nan:
        x = _nan_rows(x)
    (x,) = lax_sorting.sort_p.bind(x, dimension=len(kept), is_stable=False, num_keys=1)
    q = shapes.broadcast_in_dim(q, out, (len(kept),))
    one, zero = red.filled(out, red.typed(1, dtype)), red.filled(out, red.typed(0, dtype))
    if skip_nan:  # NaN is last: only the numbers in front count
        numbers = bitwise.bitwise_not(is_nan(x))
        count = red.broadcast(red.reduce(red.SUM, shapes.convert(numbers, dtype, False), -1, dtype, None, True), out)
    else:
        count = red.filled(out, red.typed(n, dtype))
    last = el.max(el.sub(count, one), zero)
    if method == "inverted_cdf":
        low = el.sub(el.ceil(el.mul(q, count)), one)
        low = high = selection.clamp(zero, low, last)
        weight = zero
    else:
        position = el.mul(q, last)
        low, high = el.floor(position), el.ceil(position)
        weight = el.sub(position, low)
        low, high = selection.clamp(zero, low, last), selection.clamp(zero, high, last)

    def at(position: Any) -> Any:
        return lax_sorting.take_along(x, shapes.convert(position, dtypes.int32, False), len(kept))

    if method == "linear":
        result = el.add(el.mul(at(low), el.sub(one, weight)), el.mul(at(high), weight))
        # A weight of 0 on an infinite neighbour gives NaN: where the position is whole, the element is the answer.
        result = selection.select(comparisons.eq(weight, zero), at(low), result)
    elif method in ("lower", "inverted_cdf"):
        result = at(low)
    elif method == "higher":
        result = at(high)
    elif method == "nearest":
        half = red.filled(out, red.typed(0.5, dtype))
        result = selection.select(comparisons.le(weight, half), at(low), at(high))
    else:
        result = el.mul(el.add(at(low), at(high)), red.filled(out, red.typed(0.5, dtype)))
    nan = red.filled(out, red.typed(np.nan, dtype))
    return selection.select(is_nan(q), nan, result)


def _weighted(x: Any, w: Any, q: Any, skip_nan: bool) -> Any:
    """The first elements in order whose cumulative weight reaches the share `q` of the whole."""
    *kept, n = shaped(x).shape
    rank = len(kept)
    dtype = shaped(x).dtype
    if skip_nan:
        w = selection.select(is_nan(x), red.filled(shaped(w).shape, red.typed(0, dtype)), w)
    else:
        x = _nan_rows(x)
    x, w = lax_sorting.sort_p.bind(x, w, dimension=rank, is_stable=True, num_keys=1)
    share = cumulative.cumsum(w, rank)
    whole = slicing.slice_in_dim(share, n - 1, n, 1, rank)
    wide = (*kept, shaped(q).shape[0], n)
    q = shapes.broadcast_in_dim(q, wide, (rank,))
    limit = el.mul(q, shapes.broadcast_in_dim(shapes.reshape(whole, kept), wide, range(rank)))
    below = comparisons.lt(shapes.broadcast_in_dim(share, wide, (*range(rank), rank + 1)), limit)
    # Elements of no weight at the front are never the answer.
    none = comparisons.le(share, red.filled(shaped(share).shape, red.typed(0, dtype)))
    below = bitwise.bitwise_or(below, shapes.broadcast_in_dim(none, wide, (*range(rank), rank + 1)))
    position = red.reduce(red.SUM, below, -1, dtypes.int32)
    position = el.min(position, red.filled(shaped(position).shape, red.typed(n - 1, dtypes.int32)))
    return lax_sorting.take_along(x, position, rank)


_STATIC = ("axis", "overwrite_input", "method", "keepdims")


@composite(static_argnames=_STATIC)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Quantiles over axes: the value that the share `q` of the elements lies below.

    Args:
      a: array of real numbers.
      q: a number from 0 to 1, or a vector of them.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      overwrite_input: has no effect.
      method: between two elements: "linear" interpolates, "lower" and "higher" take one, "nearest" the nearer one,
        "midpoint" the middle; "inverted_cdf" takes the first element whose share reaches `q`.
      keepdims: whether reduced axes stay, with size 1.
      weights: weights of the elements, for "inverted_cdf".

    Returns:
      The quantiles, with the dimension of `q` in front; NaN where there is one.

    Raises:
      ValueError: an unknown method, a q of rank above 1, complex elements.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.quantile(np.array([1.0, 2.0, 4.0]), 0.5))
    2.0
    """
    return _quantile("quantile", a, q, axis, out, method, keepdims, weights, False)


@composite(static_argnames=_STATIC)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Quantiles over axes of the elements that aren't NaN.

    Args:
      a: array of real numbers.
      q: a number from 0 to 1, or a vector of them.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      overwrite_input: has no effect.
      method: between two elements: "linear" interpolates, "lower" and "higher" take one, "nearest" the nearer one,
        "midpoint" the middle; "inverted_cdf" takes the first element whose share reaches `q`.
      keepdims: whether reduced axes stay, with size 1.
      weights: weights of the elements, for "inverted_cdf".

    Returns:
      The quantiles, with the dimension of `q` in front; NaN where all elements are.

    Raises:
      ValueError: an unknown method, a q of rank above 1, complex elements.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.nanquantile(np.array([1.0, np.nan, 4.0]), 0.5))
    2.5
    """
    return _quantile("nanquantile", a, q, axis, out, method, keepdims, weights, True)


def _share(q: Any) -> Any:
    """Percents as a share of 1."""
    (q,) = promotion.promote_args_inexact("percentile", q)
    return shapes.convert(el.div(q, el.scalar_like(q, 100)), shaped(q).dtype, shaped(q).weak_type)


@composite(static_argnames=(*_STATIC, "out_sharding"))
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Percentiles over axes: quantiles with `q` from 0 to 100.

    Args:
      a: array of real numbers.
      q: a number from 0 to 100, or a vector of them.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      overwrite_input: has no effect.
      method: between two elements: "linear" interpolates, "lower" and "higher" take one, "nearest" the nearer one,
        "midpoint" the middle; "inverted_cdf" takes the first element whose share reaches `q`.
      keepdims: whether reduced axes stay, with size 1.
      weights: weights of the elements, for "inverted_cdf".
      out_sharding: how the result is laid out over devices.

    Returns:
      The percentiles, with the dimension of `q` in front; NaN where there is one.

    Raises:
      ValueError: an unknown method, a q of rank above 1, complex elements.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.percentile(np.array([1.0, 2.0, 4.0]), 50))
    2.0
    """
    found = _quantile("percentile", a, _share(q), axis, out, method, keepdims, weights, False)
    return held("percentile", found, out_sharding)


@composite(static_argnames=_STATIC)
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Percentiles over axes of the elements that aren't NaN.

    Args:
      a: array of real numbers.
      q: a number from 0 to 100, or a vector of them.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      overwrite_input: has no effect.
      method: between two elements: "linear" interpolates, "lower" and "higher" take one, "nearest" the nearer one,
        "midpoint" the middle; "inverted_cdf" takes the first element whose share reaches `q`.
      keepdims: whether reduced axes stay, with size 1.
      weights: weights of the elements, for "inverted_cdf".

    Returns:
      The percentiles, with the dimension of `q` in front; NaN where all elements are.

    Raises:
      ValueError: an unknown method, a q of rank above 1, complex elements.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.nanpercentile(np.array([1.0, np.nan, 4.0]), 50))
    2.5
    """
    return _quantile("nanpercentile", a, _share(q), axis, out, method, keepdims, weights, True)


@composite(static_argnames=("axis", "overwrite_input", "keepdims"))
def median(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """Median over axes: the middle element, or the mean of the two middle ones.

    Args:
      a: array of real numbers.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      overwrite_input: has no effect.
      keepdims: whether reduced axes stay, with size 1.

    Returns:
      The medians; NaN where there is one.

    Raises:
      ValueError: complex elements.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.median(np.array([3, 1, 2, 10])))
    2.5
    """
    return _quantile("median", a, 0.5, axis, out, "midpoint", keepdims, None, False)


@composite(static_argnames=("axis", "overwrite_input", "keepdims"))
def nanmedian(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """Median over axes of the elements that aren't NaN.

    Args:
      a: array of real numbers.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      overwrite_input: has no effect.
      keepdims: whether reduced axes stay, with size 1.

    Returns:
      The medians; NaN where all elements are.

    Raises:
      ValueError: complex elements.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.nanmedian(np.array([3, np.nan, 1])))
    2.0
    """
    return _quantile("nanmedian", a, 0.5, axis, out, "midpoint", keepdims, None, True)
