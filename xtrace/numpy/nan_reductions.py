"""Reductions that skip NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import bitwise, comparisons, selection
from xtrace.lax import elementwise as el
from xtrace.lax import reductions as lax_reductions
from xtrace.lax.subgradients import sqrt_of_sum
from xtrace.numpy import reductions as red
from xtrace.numpy.extremal_positions import arg_extremum


def is_nan(x: Any) -> Any:
    """Where `x`, an inexact array, is NaN."""
    return comparisons.ne(x, x)


def without_nan(x: Any, value: Any) -> Any:
    """`x` with `value` in place of NaN."""
    return selection.select(is_nan(x), red.filled(shaped(x).shape, el.scalar_like(x, value)), x)


def _skipping(
    spec: red.Reduction, a: Any, value: float, axis: Any, dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    a = red.operand("nan" + spec.name, a)
    red.check_mask("nan" + spec.name, where)
    if dtypes.is_inexact(shaped(a).dtype):
        a = without_nan(a, value)
    return red.reduce(spec, a, axis, dtype, out, keepdims, initial, where)


@composite(static_argnames=("axis", "dtype", "keepdims"))
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Sum over axes of the elements that aren't NaN.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce, names of mapped axes among them; None: all dimensions.
      dtype: dtype to sum in and return.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.
      initial: scalar to begin with.
      where: boolean mask of elements to include, broadcast against `a`.

    Returns:
      The reduced array.

    Raises:
      ValueError: an axis that doesn't exist or repeats, an initial that is no scalar, a where that isn't boolean.
      NotImplementedError: `out` is given.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.nansum(np.array([1.0, np.nan, 2.0])))
    3.0
    """
    return _skipping(red.SUM, a, 0, axis, dtype, out, keepdims, initial, where)


@composite(static_argnames=("axis", "dtype", "keepdims"))
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Product over axes of the elements that aren't NaN.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce, names of mapped axes among them; None: all dimensions.
      dtype: dtype to multiply in and return.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.
      initial: scalar to begin with.
      where: boolean mask of elements to include, broadcast against `a`.

    Returns:
      The reduced array.

    Raises:
      ValueError: an axis that doesn't exist or repeats, an initial that is no scalar, a where that isn't boolean.
      NotImplementedError: `out` is given.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.nanprod(np.array([3.0, np.nan, 2.0])))
    6.0
    """
    return _skipping(red.PROD, a, 1, axis, dtype, out, keepdims, initial, where)


def _nan_extremum(
    spec: red.Reduction, a: Any, value: float, axis: Any, out: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    a = red.operand("nan" + spec.name, a)
    result = _skipping(spec, a, value, axis, None, out, keepdims, initial, where)
    if initial is not None or not dtypes.is_inexact(shaped(a).dtype):
        return result
    nothing = red.reduce(red.ALL, is_nan(a), axis, None, None, keepdims)
    nan = red.filled(shaped(result).shape, el.scalar_like(result, np.nan))
    return selection.select(nothing, nan, result)


@composite(static_argnames=("axis", "keepdims"))
def nanmax(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Maximum over axes of the elements that aren't NaN; NaN if all are.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.
      initial: scalar, the least result.
      where: boolean mask of elements to include; needs `initial`.

    Returns:
      The reduced array, of the dtype of `a`.

    Raises:
      ValueError: nothing to reduce and no initial; where without initial; an axis that doesn't exist or repeats.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.nanmax(np.array([1.0, np.nan])))
    1.0
    """
    return _nan_extremum(red.MAX, a, -np.inf, axis, out, keepdims, initial, where)


@composite(static_argnames=("axis", "keepdims"))
def nanmin(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Minimum over axes of the elements that aren't NaN; NaN if all are.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.
      initial: scalar, the greatest result.
      where: boolean mask of elements to include; needs `initial`.

    Returns:
      The reduced array, of the dtype of `a`.

    Raises:
      ValueError: nothing to reduce and no initial; where without initial; an axis that doesn't exist or repeats.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.nanmin(np.array([1.0, np.nan])))
    1.0
    """
    return _nan_extremum(red.MIN, a, np.inf, axis, out, keepdims, initial, where)


def _numbers(a: Any, where: Any) -> Any:
    """The mask of elements that count: not NaN, and within `where`."""
    numbers = bitwise.bitwise_not(is_nan(a))
    if where is None:
        return numbers
    shape = red.common_shape((shaped(where).shape, shaped(a).shape))
    return bitwise.bitwise_and(red.broadcast(numbers, shape), red.broadcast(where, shape))


@composite(static_argnames=("axis", "dtype", "keepdims"))
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, where: Any = None
) -> Any:
    """Mean over axes of the elements that aren't NaN; NaN if all are.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      dtype: dtype of the result; the default is that of `a`, and the default float for integers.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.
      where: boolean mask of elements to include.

    Returns:
      The means; NaN where all elements are.

    Raises:
      ValueError: an axis that doesn't exist or repeats.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.nanmean(np.array([1.0, np.nan, 3.0])))
    2.0
    """
    red.refuse_out("nanmean", out)
    red.check_mask("nanmean", where)
    a = red.operand("nanmean", a)
    if not dtypes.is_inexact(shaped(a).dtype):
        return red.mean(a, axis, dtype, None, keepdims, where=where)
    return red.mean(a, axis, dtype, None, keepdims, where=_numbers(a, where))


def _nan_variance(
    name: str, a: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: bool, where: Any, mean: Any
) -> Any:
    red.refuse_out(name, out)
    red.check_mask(name, where)
    a = red.operand(name, a)
    if dtypes.is_inexact(shaped(a).dtype):
        where = _numbers(a, where)
        # The distance of NaN is masked, but its derivative would be NaN all the same.
        a = without_nan(a, 0)
    return red.var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean)


@composite(static_argnames=("axis", "dtype", "ddof", "keepdims"))
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """Variance over axes of the elements that aren't NaN.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      dtype: dtype of the computation; the default is that of `a`, and the default float for integers.
      out: not supported.
      ddof: degrees of freedom to take off the number of elements that the sum of squares is divided by.
      keepdims: whether reduced axes stay, with size 1.
      where: boolean mask of elements to include.
      mean: the mean if it is known, with reduced axes of size 1.

    Returns:
      The variances, real; NaN where there are no degrees of freedom.

    Raises:
      ValueError: a real dtype for complex elements.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.nanvar(np.array([1.0, np.nan, 3.0])))
    1.0
    """
    return _nan_variance("nanvar", a, axis, dtype, out, ddof, keepdims, where, mean)


@composite(static_argnames=("axis", "dtype", "ddof", "keepdims"))
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """Standard deviation over axes of the elements that aren't NaN.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      dtype: dtype of the computation; the default is that of `a`, and the default float for integers.
      out: not supported.
      ddof: degrees of freedom to take off the number of elements that the sum of squares is divided by.
      keepdims: whether reduced axes stay, with size 1.
      where: boolean mask of elements to include.
      mean: the mean if it is known, with reduced axes of size 1.

    Returns:
      The standard deviations, real; NaN where there are no degrees of freedom.

    Raises:
      ValueError: a real dtype for complex elements.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.nanstd(np.array([1.0, np.nan, 5.0])))
    2.0
    """
    return sqrt_of_sum(_nan_variance("nanstd", a, axis, dtype, out, ddof, keepdims, where, mean))


def _nan_position(name: str, primitive: Any, a: Any, value: float, axis: Any, out: Any, keepdims: Any) -> Any:
    red.refuse_out(name, out)
    a = red.operand(name, a)
    if not dtypes.is_inexact(shaped(a).dtype):
        return arg_extremum(name, primitive, a, axis, None, keepdims)
    result = arg_extremum(name, primitive, without_nan(a, value), axis, None, keepdims)
    nothing = red.reduce(red.ALL, is_nan(a), axis, None, None, bool(keepdims))
    return selection.select(nothing, red.filled(shaped(result).shape, el.scalar_like(result, -1)), result)


@composite(static_argnames=("axis", "keepdims"))
def nanargmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Position of the maximum of the elements that aren't NaN; -1 if all are.

    Args:
      a: array of real dtype.
      axis: axis; None: positions in the flattened array.
      out: not supported.
      keepdims: whether the axis stays, with size 1.

    Returns:
      Positions, of the default integer dtype.

    Raises:
      ValueError: an axis that doesn't exist or is empty.

    >>> import numpy as np, xtrace as xt
    >>> int(xt.numpy.nanargmax(np.array([np.nan, 1.0, 2.0])))
    2
    """
    return _nan_position("nanargmax", lax_reductions.argmax_p, a, -np.inf, axis, out, keepdims)


@composite(static_argnames=("axis", "keepdims"))
def nanargmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Position of the minimum of the elements that aren't NaN; -1 if all are.

    Args:
      a: array of real dtype.
      axis: axis; None: positions in the flattened array.
      out: not supported.
      keepdims: whether the axis stays, with size 1.

    Returns:
      Positions, of the default integer dtype.

    Raises:
      ValueError: an axis that doesn't exist or is empty.

    >>> import numpy as np, xtrace as xt
    >>> int(xt.numpy.nanargmin(np.array([np.nan, 1.0, 2.0])))
    1
    """
    return _nan_position("nanargmin", lax_reductions.argmin_p, a, np.inf, axis, out, keepdims)
