"""Polynomials from points, and their roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes, errors, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.core.trace import Tracer
from xtrace.numpy import elementwise as ew
from xtrace.numpy import reductions as red
from xtrace.numpy.arguments import as_array
from xtrace.numpy.creation import array
from xtrace.numpy.promotion import check_arraylike, promote
from xtrace.numpy.scalars import scalar


def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: bool | str = False
) -> Any:
    """The polynomial of least squared distance to points.

    Args:
      x: shape (n,).
      y: shape (n,), or (n, k) for k polynomials.
      deg: degree.
      rcond: singular values below this part of the greatest one count as 0; by default n times the epsilon of x.
      full: whether to return what the solver knows.
      w: weights of the points, shape (n,).
      cov: whether to return the covariances of the coefficients: True: scaled by the residuals, "unscaled": by 1.

    Returns:
      Coefficients, shape (deg + 1,) or (deg + 1, k), the highest power first. With `full`: (coefficients, residuals,
      rank, singular values, rcond). With `cov`: (coefficients, covariances).

    Raises:
      ValueError: a negative degree, too few points for `cov`.
      TypeError: shapes that don't fit.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.polyfit(np.array([0., 1., 2.]), np.array([1., 3., 5.]), 1).round(3).tolist()
    [2.0, 1.0]
    """
    check_arraylike("polyfit", x, y, *(() if w is None else (w,)))
    deg = statics.integer(deg, "deg")
    points, values = shaped(x), shaped(y)
    if deg < 0:
        raise ValueError(f"polyfit: expected deg >= 0, got {deg}")
    if points.ndim != 1:
        raise TypeError(f"polyfit: expected 1D vector for x, got shape {points.shape}")
    if not points.size:
        raise TypeError("polyfit: expected non-empty vector for x")
    if values.ndim not in (1, 2):
        raise TypeError(f"polyfit: expected 1D or 2D array for y, got shape {values.shape}")
    if values.shape[0] != points.shape[0]:
        raise TypeError(f"polyfit: expected x and y to have same length, got {points.shape} and {values.shape}")
    if w is not None and shaped(w).ndim != 1:
        raise TypeError(f"polyfit: expected a 1-d array for weights, got shape {shaped(w).shape}")
    if w is not None and shaped(w).shape[0] != points.shape[0]:
        raise TypeError(f"polyfit: expected w and y to have the same length, got {shaped(w).shape} and {values.shape}")
    if cov and not full and cov != "unscaled" and points.size <= deg + 1:
        raise ValueError("polyfit: the number of data points must exceed order to scale the covariance matrix")
    if rcond is None:
        dtype = dtypes.canonicalize(dtypes.to_inexact(points.dtype))
        rcond = points.size * float(dtypes.finfo(dtype).eps)
    return _polyfit(x, y, w, deg=deg, rcond=float(statics.number(rcond, "rcond")), full=bool(full), cov=cov)


@composite(static_argnames=("deg", "rcond", "full", "cov"))
def _polyfit(x: Any, y: Any, w: Any, *, deg: int, rcond: float, full: bool, cov: Any) -> Any:
    from xtrace.numpy import linalg
    from xtrace.numpy.ranges import vander

    x, y, *rest = promote("polyfit", (x, y) if w is None else (x, y, w), "inexact", ranks=False)
    lhs = vander(x, deg + 1)
    flat = shaped(y).ndim == 1
    rhs = lax.expand_dims(y, (1,)) if flat else y
    if rest:
        column = lax.expand_dims(rest[0], (1,))
        lhs, rhs = ew.multiply(lhs, column), ew.multiply(rhs, column)
    scale = ew.sqrt(red.sum(ew.multiply(lhs, lhs), axis=0))
    lhs = ew.true_divide(lhs, lax.expand_dims(scale, (0,)))
    c, residuals, rank, singular = linalg.lstsq(lhs, rhs, rcond)
    c = ew.true_divide(c, lax.expand_dims(scale, (1,)))
    c = lax.squeeze(c, (1,)) if flat else c
    if full:
        return c, residuals, rank, singular, lax.convert_element_type(rcond, shaped(c).dtype)
    if not cov:
        return c
    gram = lax.dot_general(lhs, lhs, (((0,), (0,)), ((), ())))
    base = ew.true_divide(linalg.inv(gram), ew.multiply(lax.expand_dims(scale, (1,)), lax.expand_dims(scale, (0,))))
    if cov == "unscaled":
        return c, base if flat else lax.expand_dims(base, (2,))
    factor = ew.true_divide(residuals, float(shaped(x).shape[0] - (deg + 1)))
    if flat:
        return c, ew.multiply(base, lax.expand_dims(factor, (0,)))
    return c, ew.multiply(lax.expand_dims(base, (2,)), lax.expand_dims(factor, (0, 1)))


def _complex(dtype: Any) -> Any:
    return dtypes.canonicalize(dtypes.to_complex(dtype))


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The roots of a polynomial: eigenvalues of its companion matrix.

    Args:
      p: coefficients, shape (n,), the highest power first.
      strip_zeros: whether to leave out zeros in front; their number must be known while tracing then. If not, as many
        roots at the end are NaN.

    Returns:
      The roots, complex, shape (n - 1,), or fewer.

    Raises:
      ValueError: coefficients of more than one dimension.
      ConcretizationTypeError: traced coefficients without strip_zeros=False.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.roots(np.array([1.0, -3.0, 2.0])).real.round(3).tolist()
    [2.0, 1.0]
    """
    p = as_array("roots", p)
    (p,) = promote("roots", (p,), "inexact")
    p = lax.reshape(p, (1,)) if not shaped(p).ndim else p
    if shaped(p).ndim != 1:
        raise ValueError(f"roots: Input must be a rank-1 array, got shape {shaped(p).shape}.")
    if shaped(p).size < 2:
        return array([], dtype=_complex(shaped(p).dtype))
    if not strip_zeros:
        return _roots_behind_zeros(p)
    if isinstance(p, Tracer):
        value = p.to_concrete_value()
        if value is None:
            raise errors.ConcretizationTypeError(
                p,
                "numpy.roots has to know how many coefficients in front are 0. Pass strip_zeros=False: roots that are "
                "missing are NaN then.",
            )
        p = as_array("roots", value)
    zeros = int(np.argmax(np.append(np.asarray(p) != 0, True)))
    p = lax.slice(p, (min(zeros, p.shape[0]),), p.shape)
    return _roots(p) if p.shape[0] > 1 else array([], dtype=_complex(p.dtype))


@composite
def _roots(p: Any) -> Any:
    return _eigenvalues(p)


def _eigenvalues(p: Any) -> Any:
    from xtrace.numpy import linalg

    n = shaped(p).shape[0] - 1
    row = ew.true_divide(ew.negative(lax.slice(p, (1,), (n + 1,))), lax.slice(p, (0,), (1,)))
    ones = lax.convert_element_type(np.eye(n - 1, n), shaped(p).dtype)
    return linalg.eigvals(lax.concatenate([lax.expand_dims(row, (0,)), ones], 0))


@composite
def _roots_behind_zeros(p: Any) -> Any:
    from xtrace.numpy.elementwise_logic import where
    from xtrace.numpy.manipulation import roll

    size = shaped(p).shape[0]
    zero = ew.equal(p, scalar(0, p))
    leading = lax.reduce_sum(
        lax.convert_element_type(lax.cumprod(lax.convert_element_type(zero, np.int32)), np.int32), (0,)
    )
    p = where(ew.equal(leading, size), scalar(1, p), p)
    found = _eigenvalues(roll(p, ew.negative(leading)))
    # The zeros, now at the end, make as many roots that are 0: they go behind the others.
    _, found = lax.sort_key_val(lax.convert_element_type(ew.equal(found, scalar(0, found)), np.int32), found)
    kept = ew.less(lax.iota(np.int32, size - 1), ew.subtract(np.int32(size - 1), leading))
    return where(kept, found, np.asarray(complex(np.nan, np.nan), shaped(found).dtype)[()])


__all__ = ["polyfit", "roots"]
