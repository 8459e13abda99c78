"""The beta distribution."""

from __future__ import annotations

from typing import Any

from xtrace.lax import elementwise as el
from xtrace.scipy import special
from xtrace.scipy.stats.families import Family

_family = Family(
    "beta", "beta distribution, of density proportional to x^(a - 1) (1 - x)^(b - 1) on [0, 1]", ("a", "b"),
    (0.5, 2.0, 3.0), valid=lambda a, b: (a > 0) & (b > 0), support=(0, 1),
)  # fmt: skip


def _log_density(x: Any, a: Any, b: Any) -> Any:
    return special.xlogy(a - 1, x) + special.xlog1py(b - 1, -x) - special.betaln(a, b)


def _cdf(x: Any, a: Any, b: Any) -> Any:
    return special.betainc(a, b, x)


def _sf(x: Any, a: Any, b: Any) -> Any:
    return special.betainc(b, a, 1 - x)


logpdf, pdf = _family.densities(_log_density, "0.4055", "1.5000")
cdf = _family.declare("cdf", _cdf, "0.6875")
logcdf = _family.declare("logcdf", lambda *xs: el.log(_cdf(*xs)), "-0.3747")
sf = _family.declare("sf", _sf, "0.3125")
logsf = _family.declare("logsf", lambda *xs: el.log(_sf(*xs)), "-1.1632")

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
