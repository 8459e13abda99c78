"""The Gumbel distribution of smallest values."""

from __future__ import annotations

import math

from xtrace.lax import elementwise as el
from xtrace.scipy.stats.families import Family, log1mexp

_family = Family(
    "gumbel_l", "Gumbel distribution of smallest values, of integral 1 - exp(-exp(x))", support=(-math.inf, math.inf)
)

logpdf, pdf = _family.densities(lambda x: x - el.exp(x), "-1.1487", "0.3170")
cdf = _family.declare("cdf", lambda x: -el.expm1(-el.exp(x)), "0.8077")
logcdf = _family.declare("logcdf", lambda x: log1mexp(el.exp(x)), "-0.2136")
sf = _family.declare("sf", lambda x: el.exp(-el.exp(x)), "0.1923")
logsf = _family.declare("logsf", lambda x: -el.exp(x), "-1.6487")
ppf = _family.declare("ppf", lambda q: el.log(-el.log1p(-q)), "-0.3665", variable="p")

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
