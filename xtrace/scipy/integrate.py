"""Integrals of sampled functions."""

from __future__ import annotations

from typing import Any

from xtrace import numpy as xnp


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
    return xnp.trapezoid(y, x, dx, axis)


__all__ = ["trapezoid"]
