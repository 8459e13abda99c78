"""Reductions of the rows of an array by segment (jax.ops)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import xtrace.numpy as xnp
from xtrace.core import dtypes, statics
from xtrace.core.errors import ConcretizationTypeError
from xtrace.core.trace import Tracer
from xtrace.placement import device_put


def _lowest(dtype: Any) -> Any:
    if dtype == np.bool_:
        return False
    return dtypes.iinfo(dtype).min if dtypes.issubdtype(dtype, np.integer) else -np.inf


def _highest(dtype: Any) -> Any:
    if dtype == np.bool_:
        return True
    return dtypes.iinfo(dtype).max if dtypes.issubdtype(dtype, np.integer) else np.inf


#: Name -> (update of `x.at[...]`, what it starts from, the reduction over buckets).
_REDUCTIONS: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "segment_sum": ("add", lambda dtype: 0, "sum"),
    "segment_prod": ("multiply", lambda dtype: 1, "prod"),
    "segment_max": ("max", _lowest, "max"),
    "segment_min": ("min", _highest, "min"),
}


def _count(name: str, segment_ids: Any, num_segments: Any) -> int:
    if num_segments is None:
        if isinstance(segment_ids, Tracer) and segment_ids.to_concrete_value() is None:
            raise ConcretizationTypeError(
                segment_ids,
                f"{name} takes its number of segments from the values of segment_ids, which are traced here: "
                "give it as num_segments.",
            )
        num_segments = int(np.max(np.asarray(segment_ids), initial=-1)) + 1
    elif isinstance(num_segments, Tracer) and num_segments.to_concrete_value() is None:
        raise ConcretizationTypeError(
            num_segments, f"{name}() `num_segments` argument: it is a shape, so it must be known while tracing."
        )
    count = statics.integer(num_segments, "num_segments")
    if count < 0:
        raise ValueError(f"num_segments must be non-negative: {name} got {count}")
    return count


def _reduce(
    name: str,
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    bucket_size: int | None,
    mode: Any,
    out_sharding: Any,
) -> Any:
    update, identity, reduction = _REDUCTIONS[name]
    for argument, value in (("data", data), ("segment_ids", segment_ids)):
        if isinstance(value, (list, tuple, str)) or value is None:
            raise TypeError(
                f"{name} requires ndarray or scalar arguments, got {type(value)} for {argument}; "
                "convert it with numpy.asarray"
            )
    data, ids = xnp.asarray(data), xnp.asarray(segment_ids)
    if not dtypes.issubdtype(ids.dtype, np.integer):
        raise TypeError(f"{name}: segment_ids must be integers, got {ids.dtype}{list(ids.shape)}; convert with astype")
    count = _count(name, segment_ids, num_segments)
    dtype = data.dtype
    start, rows = identity(dtype), data.shape[ids.ndim :] if bucket_size is None else data.shape[1:]
    options = dict(
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode="drop" if mode is None else mode,
        wrap_negative_indices=False,
    )
    if not count:
        out = xnp.full((0, *rows), start, dtype)
    elif bucket_size is None:
        into = xnp.full((count, *rows), start, dtype)
        out = getattr(into.at[ids], update)(data, **options)
    else:
        if ids.ndim != 1:
            raise ValueError(f"{name} with bucket_size needs 1-D segment_ids, got shape {ids.shape}")
        if statics.integer(bucket_size, "bucket_size") < 1:
            raise ValueError(f"{name}: bucket_size must be positive, got {bucket_size}")
        size = ids.shape[0]
        buckets = np.arange(size, dtype=np.int32) // bucket_size
        into = xnp.full((-(-size // bucket_size), count, *rows), start, dtype)
        # Sorted within each bucket is sorted over (bucket, segment) too.
        parts = getattr(into.at[buckets, ids], update)(data, **options)
        out = getattr(xnp, reduction)(parts, axis=0).astype(dtype)
    return out if out_sharding is None else device_put(out, out_sharding)


_DOC = """{what} of the rows of `data` that belong to each segment.

    Args:
      data: array, shape (n, ...); `segment_ids` may have several axes, which are then the leading ones of `data`.
      segment_ids: integers, shape (n,): the segment of each row. Rows whose segment isn't in [0, num_segments) are left
        out, negative ones too.
      num_segments: how many segments there are; None: one more than the largest in `segment_ids`, whose values must
        then be known.
      indices_are_sorted: promise that `segment_ids` is sorted.
      unique_indices: promise that no segment has two rows.
      bucket_size: reduce so many rows at a time, then the results: rounding errors grow more slowly.
      mode: what becomes of rows out of range, a lax.GatherScatterMode or its name; None: they are dropped.
      out_sharding: where to put the result.

    Returns:
      An array of the type of `data`, shape (num_segments, ...); segments without rows have {empty}.

    Raises:
      ValueError: num_segments is negative, or shapes don't fit.
      TypeError: segment_ids aren't integers.
      ConcretizationTypeError: segment_ids is traced, and num_segments isn't given.

    Example:
      >>> import xtrace as xt
      >>> xt.ops.{name}(xt.numpy.array([5, 1, 2, 3]), xt.numpy.array([0, 0, 1, 1]))
      Array({result}, dtype=int32)
    """


def _function(name: str, what: str, empty: str, result: str) -> Callable[..., Any]:
    def function(
        data: Any,
        segment_ids: Any,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: Any = None,
        out_sharding: Any = None,
    ) -> Any:
        return _reduce(
            name,
            data,
            segment_ids,
            num_segments,
            indices_are_sorted,
            unique_indices,
            bucket_size,
            mode,
            out_sharding,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _DOC.format(what=what, empty=empty, name=name, result=result)
    return function


segment_sum = _function("segment_sum", "The sum", "0", "[6, 5]")
segment_prod = _function("segment_prod", "The product", "1", "[5, 6]")
segment_max = _function("segment_max", "The maximum", "the smallest value of the type", "[5, 3]")
segment_min = _function("segment_min", "The minimum", "the largest value of the type", "[1, 2]")

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
