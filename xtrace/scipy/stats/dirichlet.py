"""The Dirichlet distribution."""

from __future__ import annotations

import math
from typing import Any

from xtrace import numpy as xnp
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import special as lax_special
from xtrace.numpy import promotion
from xtrace.scipy import special
from xtrace.scipy.special.declare import arrays

#: How far from 1 the sum of the coordinates may be.
_TOLERANCE = 1e-6


@composite
def logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density of the Dirichlet distribution.

    Args:
      x: array [k or k - 1, ...]: points of the simplex along the first axis; a left-out last coordinate is what the
        others lack of 1.
      alpha: array [k], positive.

    Returns:
      An array [...] of floating dtype; -inf outside the simplex.

    Raises:
      ValueError: `alpha` is not a vector, or the lengths don't fit.

    >>> import numpy as np, xtrace as xt
    >>> print(f"{xt.scipy.stats.dirichlet.logpdf(np.array([0.25, 0.75]), np.array([2.0, 3.0])):.4f}")
    0.5232
    """
    x, alpha = arrays(*promotion.promote("dirichlet.logpdf", (x, alpha), "inexact", ranks=False))
    of_x, of_alpha = shaped(x).shape, shaped(alpha).shape
    if len(of_alpha) != 1:
        raise ValueError(f"dirichlet.logpdf: alpha must have one dimension, got shape {of_alpha}.")
    if not of_x or of_x[0] not in (of_alpha[0], of_alpha[0] - 1):
        raise ValueError(
            f"dirichlet.logpdf: the first axis of x must have the length of alpha or one less, got x of shape {of_x} "
            f"and alpha of shape {of_alpha}."
        )
    if of_x[0] != of_alpha[0]:
        x = xnp.concatenate([x, 1 - xnp.sum(x, axis=0, keepdims=True)], axis=0)
    norm = xnp.sum(lax_special.lgamma(alpha)) - lax_special.lgamma(xnp.sum(alpha))
    inside = xnp.all(x > 0, axis=0) & (el.abs(xnp.sum(x, axis=0) - 1) < _TOLERANCE)
    exponents = xnp.reshape(alpha - 1, (-1,) + (1,) * (len(of_x) - 1))
    value = xnp.sum(special.xlogy(exponents, xnp.where(x > 0, x, 1.0)), axis=0) - norm
    return xnp.where(inside, value, -math.inf)


@composite
def pdf(x: Any, alpha: Any) -> Any:
    """The density of the Dirichlet distribution.

    Args:
      x: array [k or k - 1, ...]: points of the simplex along the first axis; a left-out last coordinate is what the
        others lack of 1.
      alpha: array [k], positive.

    Returns:
      An array [...] of floating dtype; 0 outside the simplex.

    Raises:
      ValueError: `alpha` is not a vector, or the lengths don't fit.

    >>> import numpy as np, xtrace as xt
    >>> print(f"{xt.scipy.stats.dirichlet.pdf(np.array([0.25, 0.75]), np.array([2.0, 3.0])):.4f}")
    1.6875
    """
    return el.exp(logpdf(x, alpha))


__all__ = ["logpdf", "pdf"]
