"""Integrals of sampled functions."""

from __future__ import annotations

from typing import Any

from xtrace import lax
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.numpy import elementwise as ew
from xtrace.numpy import reductions as red
from xtrace.numpy.arguments import canonical_axis
from xtrace.numpy.differences import diff
from xtrace.numpy.promotion import check_arraylike, promote


@composite(static_argnames=("axis",))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integral along an axis by the trapezoidal rule.

    Args:
      y: values.
      x: where they are: a vector, or an array that broadcasts with `y`.
      dx: their distance, if there is no `x`: a number, or distances along the last axis.
      axis: along which axis.

    Returns:
      The integrals, without the axis.

    Raises:
      ValueError: an axis that doesn't exist, shapes that don't broadcast.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.trapezoid(np.array([1., 2., 3.]), dx=0.5))
    2.0
    """
    check_arraylike("trapezoid", y, dx if x is None else x)
    y, *rest = promote("trapezoid", (y,) if x is None else (y, x), "inexact", ranks=False)

    def last(a: Any) -> Any:
        ndim = shaped(a).ndim
        i = canonical_axis(axis, ndim)
        return lax.transpose(a, [*[d for d in range(ndim) if d != i], i]) if i != ndim - 1 else a

    y = last(y)
    n = shaped(y).shape[-1]
    if rest:
        step = diff(rest[0] if shaped(rest[0]).ndim == 1 else last(rest[0]))
    elif shaped(dx).ndim:
        missing = shaped(y).ndim - shaped(dx).ndim
        step = last(lax.expand_dims(dx, range(missing)) if missing > 0 else dx)
    else:
        step = dx
    left = lax.slice_in_dim(y, 0, max(n - 1, 0), 1, -1)
    right = lax.slice_in_dim(y, min(1, n), n, 1, -1)
    return red.sum(ew.multiply(step, ew.multiply(ew.add(left, right), 0.5)), axis=-1)


__all__ = ["trapezoid"]
