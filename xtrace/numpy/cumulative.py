"""Cumulative sums and products."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import cumulative, joining, shapes
from xtrace.lax import elementwise as el
from xtrace.numpy.arguments import canonical_axis
from xtrace.numpy.dtypes import canonical
from xtrace.numpy.nan_reductions import without_nan
from xtrace.numpy.reductions import default_integer, filled, operand, refuse_out


def _accumulate(
    name: str, primitive: Primitive, a: Any, axis: Any, dtype: Any, out: Any, in_place_of_nan: int | None = None
) -> Any:
    refuse_out(name, out)
    a = operand(name, a)
    aval = shaped(a)
    if axis is None:
        if aval.ndim != 1:
            a = shapes.reshape(a, (aval.size,))
        axis = 0
    else:
        if isinstance(axis, tuple):
            raise TypeError(f"{name} takes one axis, got {axis}")
        axis = canonical_axis(statics.integer(axis, "axis"), aval.ndim)
    if in_place_of_nan is not None and dtypes.is_inexact(aval.dtype):
        a = without_nan(a, in_place_of_nan)
    if dtype is not None:
        a = shapes.convert(a, canonical(dtype, name), False)
    elif aval.dtype == dtypes.bool_:
        a = shapes.convert(a, dtypes.canonicalize(dtypes.int64), False)
    else:
        a = shapes.convert(a, aval.dtype, False)
    if shaped(a).dtype == dtypes.bool_:  # asked for: in integers, then whether nonzero
        whole = shapes.convert(a, dtypes.canonicalize(dtypes.int64), False)
        return shapes.convert(primitive.bind(whole, axis=axis, reverse=False), dtypes.bool_, False)
    return primitive.bind(a, axis=axis, reverse=False)


@composite(static_argnames=("axis", "dtype"))
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Sums of the elements up to each one.

    Args:
      a: array.
      axis: axis to sum along; None: the flattened array.
      dtype: dtype to sum in and return; the default is that of `a`, and the default integer for bool.
      out: not supported.

    Returns:
      An array of the shape of `a`, or flat.

    Raises:
      ValueError: an axis that doesn't exist.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.cumsum(np.array([1, 2, 3])).tolist()
    [1, 3, 6]
    """
    return _accumulate("cumsum", cumulative.cumsum_p, a, axis, dtype, out)


@composite(static_argnames=("axis", "dtype"))
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Products of the elements up to each one.

    Args:
      a: array.
      axis: axis to multiply along; None: the flattened array.
      dtype: dtype to multiply in and return; the default is that of `a`, and the default integer for bool.
      out: not supported.

    Returns:
      An array of the shape of `a`, or flat.

    Raises:
      ValueError: an axis that doesn't exist.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.cumprod(np.array([1, 2, 3])).tolist()
    [1, 2, 6]
    """
    return _accumulate("cumprod", cumulative.cumprod_p, a, axis, dtype, out)


@composite(static_argnames=("axis", "dtype"))
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Sums of the elements up to each one, NaN counting as 0.

    Args:
      a: array.
      axis: axis to sum along; None: the flattened array.
      dtype: dtype to sum in and return; the default is that of `a`, and the default integer for bool.
      out: not supported.

    Returns:
      An array of the shape of `a`, or flat.

    Raises:
      ValueError: an axis that doesn't exist.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.nancumsum(np.array([1.0, np.nan, 2.0])).tolist()
    [1.0, 1.0, 3.0]
    """
    return _accumulate("nancumsum", cumulative.cumsum_p, a, axis, dtype, out, 0)


@composite(static_argnames=("axis", "dtype"))
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Products of the elements up to each one, NaN counting as 1.

    Args:
      a: array.
      axis: axis to multiply along; None: the flattened array.
      dtype: dtype to multiply in and return; the default is that of `a`, and the default integer for bool.
      out: not supported.

    Returns:
      An array of the shape of `a`, or flat.

    Raises:
      ValueError: an axis that doesn't exist.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.nancumprod(np.array([2.0, np.nan, 3.0])).tolist()
    [2.0, 2.0, 6.0]
    """
    return _accumulate("nancumprod", cumulative.cumprod_p, a, axis, dtype, out, 1)


def _with_initial(name: str, primitive: Primitive, x: Any, axis: Any, dtype: Any, include: bool, first: int) -> Any:
    x = operand(name, x)
    ndim = shaped(x).ndim
    what = "sum" if first == 0 else "product"
    if ndim == 0:
        raise ValueError(f"The input must be non-scalar to take a cumulative {what}, however a scalar was given.")
    if axis is None:
        if ndim > 1:
            raise ValueError(
                f"The input array has rank {ndim}, however axis was not set to an explicit value. The axis argument is "
                "only optional for one-dimensional arrays."
            )
        axis = 0
    if dtype is None and name == "cumulative_sum":  # which, as `sum` does, widens narrow integers
        dtype = default_integer(shaped(x).dtype)
    out = _accumulate(name, primitive, x, axis, dtype, None)
    if not include:
        return out
    axis = canonical_axis(axis, ndim)
    shape = list(shaped(out).shape)
    shape[axis] = 1
    return joining.concatenate([filled(tuple(shape), el.scalar_like(out, first)), out], axis)


@composite(static_argnames=("axis", "dtype", "include_initial"))
def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Sums of the elements up to each one along an axis.

    Args:
      x: array, not a scalar.
      axis: axis; may be left out for one-dimensional arrays.
      dtype: dtype to sum in and return.
      include_initial: whether a 0 comes first.

    Returns:
      An array of the shape of `x`, with one more element along the axis if `include_initial`.

    Raises:
      ValueError: a scalar; no axis for an array of several dimensions.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.cumulative_sum(np.array([1, 2, 3]), include_initial=True).tolist()
    [0, 1, 3, 6]
    """
    return _with_initial("cumulative_sum", cumulative.cumsum_p, x, axis, dtype, include_initial, 0)


@composite(static_argnames=("axis", "dtype", "include_initial"))
def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Products of the elements up to each one along an axis.

    Args:
      x: array, not a scalar.
      axis: axis; may be left out for one-dimensional arrays.
      dtype: dtype to multiply in and return.
      include_initial: whether a 1 comes first.

    Returns:
      An array of the shape of `x`, with one more element along the axis if `include_initial`.

    Raises:
      ValueError: a scalar; no axis for an array of several dimensions.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.cumulative_prod(np.array([1, 2, 3]), include_initial=True).tolist()
    [1, 1, 2, 6]
    """
    return _with_initial("cumulative_prod", cumulative.cumprod_p, x, axis, dtype, include_initial, 1)
