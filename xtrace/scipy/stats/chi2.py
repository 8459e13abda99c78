"""The chi-squared distribution."""

from __future__ import annotations

import math
from typing import Any

from xtrace.lax import elementwise as el
from xtrace.lax import special as lax_special
from xtrace.scipy import special
from xtrace.scipy.stats.families import Family

_family = Family(
    "chi2", "chi-squared distribution of df degrees of freedom", ("df",), (0.5, 3.0),
    valid=lambda df: df > 0, support=(0, math.inf),
)  # fmt: skip


def _log_density(x: Any, df: Any) -> Any:
    half = 0.5 * df
    return special.xlogy(half - 1, x) - 0.5 * x - math.log(2) * half - lax_special.lgamma(half)


def _cdf(x: Any, df: Any) -> Any:
    return special.gammainc(0.5 * df, 0.5 * x)


def _sf(x: Any, df: Any) -> Any:
    return special.gammaincc(0.5 * df, 0.5 * x)


logpdf, pdf = _family.densities(_log_density, "-1.5155", "0.2197")
cdf = _family.declare("cdf", _cdf, "0.0811")
logcdf = _family.declare("logcdf", lambda *xs: el.log(_cdf(*xs)), "-2.5120")
sf = _family.declare("sf", _sf, "0.9189")
logsf = _family.declare("logsf", lambda *xs: el.log(_sf(*xs)), "-0.0846")

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
