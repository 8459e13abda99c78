"""Mode, ranks, and the standard error of the mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from xtrace import numpy as xnp
from xtrace.core import dtypes
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import cumulative
from xtrace.lax import elementwise as el
from xtrace.numpy import promotion


class ModeResult(NamedTuple):
    """The most frequent values and how often they occur."""

    mode: Any
    count: Any


def _check_nan_policy(name: str, nan_policy: str) -> None:
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(f"{name}: nan_policy must be 'propagate', 'omit' or 'raise', got {nan_policy!r}.")
    if nan_policy == "omit":
        raise NotImplementedError(f"{name}: nan_policy='omit' is not supported; drop the nans first.")
    if nan_policy == "raise":
        raise NotImplementedError(
            f"{name}: nan_policy='raise' cannot depend on values, which a compiled program does not know; "
            f"test them with isnan before {name}."
        )


def _starts_of_runs(ordered: Any) -> Any:
    """Where a sorted array's last axis has another value than before; nans are one value."""
    before, after = ordered[..., :-1], ordered[..., 1:]
    differs = after != before
    if shaped(ordered).dtype.kind not in "iub":
        differs = differs & ~(xnp.isnan(after) & xnp.isnan(before))
    return xnp.concatenate([xnp.ones((*shaped(ordered).shape[:-1], 1), bool), differs], axis=-1)


@composite(static_argnames=("axis", "nan_policy", "keepdims"))
def mode(a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The most frequent value along an axis, the smallest of several, and its count.

    Args:
      a: real array.
      axis: the axis, or None for all elements.
      nan_policy: only 'propagate': a nan is a value as others are.
      keepdims: keep the axis, of length 1.

    Returns:
      A tuple (mode, count). Without elements: (nan, 0).

    Raises:
      ValueError: an unknown `nan_policy`.
      NotImplementedError: `nan_policy` is 'omit' or 'raise'.

    >>> import numpy as np, xtrace as xt
    >>> int(xt.scipy.stats.mode(np.array([3, 1, 3, 2])).mode)
    3
    """
    _check_nan_policy("mode", nan_policy)
    x = xnp.atleast_1d(a)
    rank = shaped(x).ndim
    kept = (1,) * rank
    if axis is None:
        x = xnp.ravel(x)
    else:
        x = xnp.moveaxis(x, axis, -1)
        shape = shaped(x).shape[:-1]
        at = axis % rank
        kept = (*shape[:at], 1, *shape[at:])
    shape, length = shaped(x).shape[:-1], shaped(x).shape[-1]
    out_shape = kept if keepdims else shape
    if length == 0:
        dtype = dtypes.canonicalize(dtypes.float64)
        return ModeResult(xnp.full(out_shape, math.nan, dtype), xnp.zeros(out_shape, dtype))
    ordered = xnp.sort(x, axis=-1)
    place = xnp.broadcast_to(xnp.arange(length), shaped(x).shape)
    begin = cumulative.cummax(xnp.where(_starts_of_runs(ordered), place, 0), axis=rank_of(x) - 1)
    seen = place - begin + 1
    # The first of the longest runs is complete where its count is first reached.
    best = xnp.expand_dims(xnp.argmax(seen, axis=-1), -1)
    value, count = (xnp.take_along_axis(v, best, axis=-1) for v in (ordered, seen))
    return ModeResult(xnp.reshape(value, out_shape), xnp.reshape(count, out_shape))


def rank_of(x: Any) -> int:
    return shaped(x).ndim


@composite(static_argnames=("method", "axis", "nan_policy"))
def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Any:
    """The ranks of the elements, from 1 on.

    Args:
      a: real array.
      method: what equal elements get: the 'average' of their ranks, the 'min' or the 'max'; 'dense': their values'
        rank among distinct values; 'ordinal': distinct ranks in the order of their places.
      axis: rank along it; None: the flattened array.
      nan_policy: only 'propagate': with a nan among them, all ranks are nan.

    Returns:
      An array of the default floating dtype.

    Raises:
      ValueError: an unknown `method` or `nan_policy`.
      NotImplementedError: `nan_policy` is 'omit' or 'raise'.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.stats.rankdata(np.array([30, 10, 30])).tolist()
    [2.5, 1.0, 2.5]
    """
    _check_nan_policy("rankdata", nan_policy)
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f"rankdata: unknown method {method!r}; use 'average', 'min', 'max', 'dense' or 'ordinal'.")
    x = xnp.ravel(a) if axis is None else xnp.moveaxis(a, axis, -1)
    dtype = dtypes.canonicalize(dtypes.float64)
    shape, last = shaped(x).shape, rank_of(x) - 1
    length = shape[-1]
    if 0 in shape:
        ranks = xnp.zeros(shape, dtype)
    else:
        order = xnp.argsort(x, axis=-1, stable=True)
        place = xnp.broadcast_to(xnp.arange(length), shape)
        starts = _starts_of_runs(xnp.take_along_axis(x, order, axis=-1))
        low = cumulative.cummax(xnp.where(starts, place, 0), axis=last) + 1
        ends = xnp.concatenate([starts[..., 1:], xnp.ones((*shape[:-1], 1), bool)], axis=-1)
        high = cumulative.cummin(xnp.where(ends, place, length - 1), axis=last, reverse=True) + 1
        if method == "average":
            ranked = (xnp.astype(low, dtype) + xnp.astype(high, dtype)) * 0.5
        elif method == "dense":
            ranked = xnp.cumsum(starts, axis=-1)
        else:
            ranked = {"min": low, "max": high, "ordinal": place + 1}[method]
        ranks = xnp.astype(xnp.take_along_axis(ranked, xnp.argsort(order, axis=-1), axis=-1), dtype)
        if shaped(x).dtype.kind not in "iub":
            ranks = xnp.where(xnp.any(xnp.isnan(x), axis=-1, keepdims=True), math.nan, ranks)
    return ranks if axis is None else xnp.moveaxis(ranks, -1, axis)


@composite(static_argnames=("axis", "ddof", "nan_policy", "keepdims"))
def sem(a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """The standard error of the mean: the standard deviation over the root of the number of elements.

    Args:
      a: array.
      axis: the axis, or None for all elements.
      ddof: the number of elements less this is the divisor of the variance.
      nan_policy: 'propagate', or 'omit' to leave nans out.
      keepdims: keep the axis, of length 1.

    Returns:
      An array of inexact dtype.

    Raises:
      ValueError: another `nan_policy`.

    >>> import numpy as np, xtrace as xt
    >>> round(float(xt.scipy.stats.sem(np.array([1.0, 2.0, 3.0]))), 4)
    0.5774
    """
    if nan_policy not in ("propagate", "omit"):
        raise ValueError(f"sem: nan_policy must be 'propagate' or 'omit', got {nan_policy!r}.")
    (x,) = promotion.promote_args_inexact("sem", a)
    aval = shaped(x)
    if nan_policy == "omit":
        count = xnp.sum(~xnp.isnan(x), axis=axis, keepdims=keepdims)
        deviation = xnp.nanstd(x, axis=axis, ddof=ddof, keepdims=keepdims)
        return deviation / el.sqrt(xnp.astype(count, shaped(deviation).dtype))
    size = math.prod(aval.shape) if axis is None else aval.shape[axis]
    return xnp.std(x, axis=axis, ddof=ddof, keepdims=keepdims) / math.sqrt(size)
