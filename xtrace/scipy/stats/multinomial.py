"""The multinomial distribution."""

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


@composite
def logpmf(x: Any, n: Any, p: Any) -> Any:
    """The logarithm of the probability of counts in the multinomial distribution.

    Args:
      x: integer array [..., k]: how often each of k outcomes occurs.
      n: integer array [...]: the number of trials.
      p: array [..., k]: the chances of the outcomes.

    Returns:
      An array [...] of floating dtype; -inf where the counts don't add up to n.

    Raises:
      ValueError: `x` or `n` is not of integers.

    >>> import numpy as np, xtrace as xt
    >>> print(f"{xt.scipy.stats.multinomial.logpmf(np.array([1, 1]), 2, np.array([0.25, 0.75])):.4f}")
    -0.9808
    """
    (p,) = arrays(*promotion.promote_args_inexact("multinomial.logpmf", p))
    x, n = xnp.asarray(x), xnp.asarray(n)
    for name, value in (("x", x), ("n", n)):
        if shaped(value).dtype.kind not in "iu":
            raise ValueError(
                f"multinomial.logpmf: {name} must be of integer dtype, got {shaped(value).dtype}: round it first."
            )
    complete = xnp.sum(x, axis=-1) == n
    counts, total = xnp.astype(x, shaped(p).dtype), xnp.astype(n, shaped(p).dtype)
    terms = special.xlogy(counts, p) - lax_special.lgamma(counts + 1)
    return xnp.where(complete, lax_special.lgamma(total + 1) + xnp.sum(terms, axis=-1), -math.inf)


@composite
def pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability of counts in the multinomial distribution.

    Args:
      x: integer array [..., k]: how often each of k outcomes occurs.
      n: integer array [...]: the number of trials.
      p: array [..., k]: the chances of the outcomes.

    Returns:
      An array [...] of floating dtype; 0 where the counts don't add up to n.

    Raises:
      ValueError: `x` or `n` is not of integers.

    >>> import numpy as np, xtrace as xt
    >>> print(f"{xt.scipy.stats.multinomial.pmf(np.array([1, 1]), 2, np.array([0.25, 0.75])):.4f}")
    0.3750
    """
    return el.exp(logpmf(x, n, p))


__all__ = ["logpmf", "pmf"]
