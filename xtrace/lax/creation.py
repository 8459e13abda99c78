"""Arrays made from nothing but a shape, a dtype and a scalar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import shapes as _shapes
from xtrace.transforms.placement import held

# -- iota ------------------------------------------------------------------------------------------------------------


def _iota_aval(*, dtype: Any, shape: tuple[int, ...], dimension: int, sharding: Any) -> ShapedArray:
    if dtypes.kind(dtype) not in "iufc":
        raise TypeError(f"iota does not accept dtype {dtype}; it accepts integer, floating and complex dtypes")
    if any(d < 0 for d in shape):
        raise TypeError(f"iota shape must have every element be nonnegative, got {shape}.")
    if not 0 <= dimension < len(shape):
        raise ValueError(
            f"iota dimension must be between 0 and len(shape), got dimension={dimension} for shape={shape}"
        )
    return ShapedArray(shape, dtype)


iota_p = Primitive("iota", _iota_aval)


def iota(dtype: Any, size: int) -> Any:
    """The numbers 0, 1, …, size - 1.

    Args:
      dtype: integer, floating or complex dtype.
      size: how many.

    Returns:
      An array of shape (size,).

    Raises:
      TypeError: another dtype, or a negative size.

    Example:
      >>> import xtrace as xt
      >>> print(xt.lax.iota("int32", 3))
      [0 1 2]
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int, *, out_sharding: Any = None) -> Any:
    """An array of `shape` in which each element is its index along `dimension`.

    Args:
      dtype: integer, floating or complex dtype.
      shape: the result's shape.
      dimension: which index is counted, from 0.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of `shape`.

    Raises:
      TypeError: another dtype, or a negative size.
      ValueError: `dimension` is not one of the shape's.

    Example:
      >>> import xtrace as xt
      >>> print(xt.lax.broadcasted_iota("int32", (2, 3), 1))
      [[0 1 2]
       [0 1 2]]
    """
    shape = statics.integers(shape, "shape")
    dtype = dtypes.canonical_dtype(dtype)
    made = iota_p.bind(dtype=dtype, shape=shape, dimension=statics.integer(dimension, "dimension"), sharding=None)
    return held("broadcasted_iota", made, out_sharding)


# -- arrays of one value ------------------------------------------------------------------------------------------


def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: Sequence[int] | None = None, sharding: Any = None
) -> Any:
    """An array of one value with the shape and dtype of `x`, unless others are given.

    Args:
      x: array, or anything with a shape and a dtype.
      fill_value: scalar, converted to the result's dtype.
      dtype: the result's dtype instead of that of `x`.
      shape: the result's shape instead of that of `x`.
      sharding: how the result is laid out over devices.

    Returns:
      An array.

    Raises:
      TypeError: `fill_value` is not a scalar.

    Example:
      >>> import xtrace as xt
      >>> print(xt.lax.full_like(xt.lax.iota("float32", 3), 2))
      [2. 2. 2.]
    """
    aval = getattr(x, "aval", None)
    if aval is None:
        aval = x if hasattr(x, "shape") and hasattr(x, "dtype") else shaped(x)
    weak = dtype is None and bool(getattr(aval, "weak_type", False))
    dtype = dtypes.canonical_dtype(aval.dtype if dtype is None else dtype)
    if not weak:
        return _shapes.full(aval.shape if shape is None else shape, fill_value, dtype, sharding=sharding)
    value = _shapes.convert(fill_value, dtype, True)
    return _shapes.full(aval.shape if shape is None else shape, value, sharding=sharding)


def empty(shape: Sequence[int], dtype: Any, *, out_sharding: Any = None) -> Any:
    """An array whose values are not specified (zeros here).

    Args:
      shape: the result's shape.
      dtype: the result's dtype.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of `shape`.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.empty((2, 3), "float32").shape
      (2, 3)
    """
    return held("empty", _shapes.full(shape, 0, dtype), out_sharding)
