"""The exponential distribution."""

from __future__ import annotations

import math

from xtrace.lax import elementwise as el
from xtrace.scipy.stats.families import Family, log1mexp

_family = Family("expon", "exponential distribution, of density exp(-x) on x >= 0", support=(0, math.inf))

logpdf, pdf = _family.densities(lambda x: -x, "-0.5000", "0.6065")
cdf = _family.declare("cdf", lambda x: -el.expm1(-x), "0.3935")
logcdf = _family.declare("logcdf", log1mexp, "-0.9328")
sf = _family.declare("sf", lambda x: el.exp(-x), "0.6065")
logsf = _family.declare("logsf", lambda x: -x, "-0.5000")
ppf = _family.declare("ppf", lambda q: -el.log1p(-q), "0.6931")

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
