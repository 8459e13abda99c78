"""The Poisson distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtrace import numpy as xnp
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import special as lax_special
from xtrace.scipy import special
from xtrace.scipy.stats.families import Family, in_dtype, inexact

_family = Family(
    "poisson", "Poisson distribution of mean mu", ("mu",), (1, 2.0), valid=lambda mu: mu >= 0,
    support=(0, math.inf), discrete=True,
)  # fmt: skip


def _log_probability(k: Any, mu: Any) -> Any:
    return special.xlogy(k, mu) - lax_special.lgamma(k + 1) - mu


logpmf, pmf = _family.densities(_log_probability, "-1.3069", "0.2707")
cdf = _family.declare("cdf", lambda k, mu: special.gammaincc(k + 1, mu), "0.4060")

#: Below this mean the entropy is a sum over the probabilities, whose terms number TERMS; from it on a series.
_SERIES_FROM = 50.0
_TERMS = 160
#: -E log of the probability in powers of 1 / mu: Evans, Boersma, Blachman and Jagers, "The entropy of a Poisson
#: distribution", SIAM Review 30, 1988.
_SERIES = (-1 / 12, -1 / 24, -19 / 360, -9 / 80, -863 / 2520)


@composite
def entropy(mu: Any, loc: Any = 0) -> Any:
    """The entropy of the Poisson distribution of mean mu, in nats.

    Args:
      mu: array; nan where it is negative.
      loc: array that moves the distribution, which leaves the entropy as it is.

    Returns:
      An array of floating dtype, of the shape to which the arguments broadcast.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.stats.poisson.entropy(2.0):.4f}")
    1.7049
    """
    (mean, moved), dtype = inexact("poisson.entropy", mu, loc)
    few = mean < _SERIES_FROM
    low = xnp.where(few & (mean > 0), mean, 1.0)
    k = np.arange(_TERMS, dtype=shaped(mean).dtype)
    log_p = _log_probability(k, low[..., None])
    summed = -xnp.sum(el.exp(log_p) * log_p, axis=-1)
    high = xnp.where(few, _SERIES_FROM, mean)
    r = 1 / high
    series = 0.0
    for coefficient in reversed(_SERIES):
        series = r * (coefficient + series)
    value = xnp.where(few, summed, 0.5 * el.log(2 * math.pi * math.e * high) + series)
    value = xnp.where(mean == 0, 0.0, xnp.where(mean >= 0, value, math.nan))
    shape = np.broadcast_shapes(shaped(mean).shape, shaped(moved).shape)
    return in_dtype(xnp.broadcast_to(value, shape), dtype)


__all__ = ["cdf", "entropy", "logpmf", "pmf"]
