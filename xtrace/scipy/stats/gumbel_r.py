"""The Gumbel distribution of largest values."""

from __future__ import annotations

import math

from xtrace.lax import elementwise as el
from xtrace.scipy.stats.families import Family, log1mexp

_family = Family(
    "gumbel_r", "Gumbel distribution of largest values, of integral exp(-exp(-x))", support=(-math.inf, math.inf)
)

logpdf, pdf = _family.densities(lambda x: -x - el.exp(-x), "-1.1065", "0.3307")
cdf = _family.declare("cdf", lambda x: el.exp(-el.exp(-x)), "0.5452")
logcdf = _family.declare("logcdf", lambda x: -el.exp(-x), "-0.6065")
sf = _family.declare("sf", lambda x: -el.expm1(-el.exp(-x)), "0.4548")
logsf = _family.declare("logsf", lambda x: log1mexp(el.exp(-x)), "-0.7880")
ppf = _family.declare("ppf", lambda q: -el.log(-el.log(q)), "0.3665", variable="p")

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
