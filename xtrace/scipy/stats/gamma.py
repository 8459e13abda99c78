"""The gamma distribution."""

from __future__ import annotations

import math
from typing import Any

from xtrace.lax import elementwise as el
from xtrace.lax import special as lax_special
from xtrace.scipy import special
from xtrace.scipy.stats.families import Family

_family = Family(
    "gamma", "gamma distribution, of density proportional to x^(a - 1) exp(-x) on x >= 0", ("a",), (0.5, 2.0),
    valid=lambda a: a > 0, support=(0, math.inf),
)  # fmt: skip


def _log_density(x: Any, a: Any) -> Any:
    return special.xlogy(a - 1, x) - x - lax_special.lgamma(a)


def _cdf(x: Any, a: Any) -> Any:
    return special.gammainc(a, x)


def _sf(x: Any, a: Any) -> Any:
    return special.gammaincc(a, x)


logpdf, pdf = _family.densities(_log_density, "-1.1931", "0.3033")
cdf = _family.declare("cdf", _cdf, "0.0902")
logcdf = _family.declare("logcdf", lambda *xs: el.log(_cdf(*xs)), "-2.4057")
sf = _family.declare("sf", _sf, "0.9098")
logsf = _family.declare("logsf", lambda *xs: el.log(_sf(*xs)), "-0.0945")

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
