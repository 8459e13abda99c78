"""The Pareto distribution."""

from __future__ import annotations

import math

from xtrace.lax import elementwise as el
from xtrace.scipy.stats.families import Family, log1mexp

_family = Family(
    "pareto", "Pareto distribution, of density b / x^(b + 1) on x >= 1", ("b",), (1.5, 2.0),
    valid=lambda b: b > 0, support=(1, math.inf),
)  # fmt: skip

logpdf, pdf = _family.densities(lambda x, b: el.log(b) - (b + 1) * el.log(x), "-0.5232", "0.5926")
cdf = _family.declare("cdf", lambda x, b: -el.expm1(-b * el.log(x)), "0.5556")
logcdf = _family.declare("logcdf", lambda x, b: log1mexp(b * el.log(x)), "-0.5878")
sf = _family.declare("sf", lambda x, b: el.exp(-b * el.log(x)), "0.4444")
logsf = _family.declare("logsf", lambda x, b: -b * el.log(x), "-0.8109")
ppf = _family.declare("ppf", lambda q, b: el.exp(-el.log1p(-q) / b), "1.4142")

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
