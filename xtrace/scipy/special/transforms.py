"""The transformations of Box and Cox."""

from __future__ import annotations

import math
from typing import Any

from xtrace.core.composite import composite
from xtrace.lax import elementwise as el
from xtrace.scipy.special.declare import evaluate, polynomial, where, with_derivatives


def _curvature(u: Any) -> Any:
    """(u exp(u) - expm1(u)) / u^2, by its series near 0."""
    near = el.abs(u) < 0.5
    other = where(near, 1.0, u)
    series = polynomial(where(near, u, 0.0), *[(k - 1) / math.factorial(k) for k in range(2, 16)])
    return where(near, series, (other * el.exp(other) - el.expm1(other)) / (other * other))


@with_derivatives(
    lambda t, log, power: t * el.exp(power * log),
    lambda t, log, power: t * (log * log * _curvature(power * log)),
)
def _power_of_log(log: Any, power: Any) -> Any:
    zero = power == 0
    divisor = where(zero, 1.0, power)
    return where(zero, log, el.expm1(divisor * log) / divisor)


@composite
def boxcox(x: Any, lmbda: Any) -> Any:
    """(x^lmbda - 1) / lmbda, and log(x) where lmbda is 0.

    Args:
      x, lmbda: arrays, broadcast.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.boxcox(2.0, 3.0):.4f}")
    2.3333
    """
    return evaluate("boxcox", lambda x, power: _power_of_log(el.log(x), power), x, lmbda, keeps_weak=True)


@composite
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """((1 + x)^lmbda - 1) / lmbda, and log(1 + x) where lmbda is 0.

    Args:
      x, lmbda: arrays, broadcast.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.boxcox1p(1.0, 3.0):.4f}")
    2.3333
    """
    return evaluate("boxcox1p", lambda x, power: _power_of_log(el.log1p(x), power), x, lmbda, keeps_weak=True)
