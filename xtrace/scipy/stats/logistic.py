"""The logistic distribution."""

from __future__ import annotations

from typing import Any

from xtrace.lax import elementwise as el
from xtrace.scipy import special
from xtrace.scipy.stats.families import Family

_family = Family("logistic", "logistic distribution, of integral 1 / (1 + exp(-x))")


def _log_density(x: Any) -> Any:
    size = el.abs(x)
    return -size - 2 * el.log1p(el.exp(-size))


logpdf, pdf = _family.densities(_log_density, "-1.4482", "0.2350")
cdf = _family.declare("cdf", el.logistic, "0.6225")
sf = _family.declare("sf", lambda x: el.logistic(-x), "0.3775")
ppf = _family.declare("ppf", special.logit, "0.0000", variable="x")
isf = _family.declare("isf", lambda q: 0.0 - special.logit(q), "0.0000", variable="x")

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]
