"""The normal distribution."""

from __future__ import annotations

import math

from xtrace.scipy.special.normal import log_ndtr_of, ndtr_of, ndtri_of
from xtrace.scipy.stats.families import Family

_family = Family(
    "norm", "normal distribution, of density exp(-x^2 / 2) / sqrt(2 pi)",
    strong=("cdf", "logcdf", "sf", "logsf", "ppf", "isf"),
)  # fmt: skip
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)

logpdf, pdf = _family.densities(lambda x: -0.5 * (x * x) - _HALF_LOG_2PI, "-1.0439", "0.3521")
cdf = _family.declare("cdf", ndtr_of, "0.6915")
logcdf = _family.declare("logcdf", log_ndtr_of, "-0.3689")
sf = _family.declare("sf", lambda x: ndtr_of(-x), "0.3085")
logsf = _family.declare("logsf", lambda x: log_ndtr_of(-x), "-1.1759")
ppf = _family.declare("ppf", ndtri_of, "0.0000")
isf = _family.declare("isf", lambda q: 0.0 - ndtri_of(q), "0.0000")

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
