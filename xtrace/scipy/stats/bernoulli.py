"""The Bernoulli distribution."""

from __future__ import annotations

from typing import Any

from xtrace import numpy as xnp
from xtrace.scipy import special
from xtrace.scipy.stats.families import Family

_family = Family(
    "bernoulli", "Bernoulli distribution, 1 with probability p and else 0", ("p",), (1, 0.25),
    valid=lambda p: (p >= 0) & (p <= 1), support=(0, 1), discrete=True,
)  # fmt: skip


def _log_probability(k: Any, p: Any) -> Any:
    return special.xlogy(k, p) + special.xlog1py(1 - k, -p)


logpmf, pmf = _family.densities(_log_probability, "-1.3863", "0.2500")
cdf = _family.declare("cdf", lambda k, p: xnp.where(k < 1, 1 - p, 1.0), "1.0000", located=False)
ppf = _family.declare("ppf", lambda q, p: xnp.where(q <= 1 - p, 0.0, 1.0) + 0 * q, "0.0000", located=False)

__all__ = ["cdf", "logpmf", "pmf", "ppf"]
