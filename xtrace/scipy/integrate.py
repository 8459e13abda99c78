"""Integrals of sampled functions."""

from __future__ import annotations

from typing import Any

from xtrace import numpy as xnp
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.numpy import promotion


@composite(static_argnames=("axis",))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by the trapezoidal rule.

    Args:
      y: samples.
      x: where they were taken: of the shape of y, or along the axis alone.
      dx: how far apart they are, if x is None.
      axis: the axis.

    Returns:
      An array without that axis.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.scipy.integrate.trapezoid(np.array([0.0, 1.0, 2.0])))
    2.0
    """
    if x is None:
        y, dx = promotion.promote("trapezoid", (y, dx), "inexact", ranks=False)
        y = xnp.moveaxis(y, axis, -1)
        return xnp.sum(dx * (y[..., 1:] + y[..., :-1]), axis=-1) * 0.5
    y, x = promotion.promote("trapezoid", (y, x), "inexact", ranks=False)
    if shaped(x).ndim > 1:
        x = xnp.moveaxis(x, axis, -1)
    y = xnp.moveaxis(y, axis, -1)
    return xnp.sum(xnp.diff(x, axis=-1) * (y[..., 1:] + y[..., :-1]), axis=-1) * 0.5


__all__ = ["trapezoid"]
