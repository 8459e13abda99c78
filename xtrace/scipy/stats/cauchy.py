"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from xtrace.lax import elementwise as el
from xtrace.scipy.special.declare import full_like, where
from xtrace.scipy.stats.families import Family

_family = Family("cauchy", "Cauchy distribution, of density 1 / (pi (1 + x^2))")


def _tail(x: Any) -> Any:
    """The probability of values above x, by an angle, which is accurate where it is small."""
    return el.atan2(full_like(x, 1), x) * (1 / math.pi)


def _log_tail(x: Any) -> Any:
    return where(x < 0, el.log1p(-_tail(-x)), el.log(_tail(x)))


def _quantile(q: Any) -> Any:
    """-1 / tan(pi q), by the nearer end or the middle."""
    near = where(q < 0.5, q, 1 - q)
    central = near > 0.25
    end = 1 / el.tan(math.pi * where(central, 0.25, near))
    size = where(central, el.tan(math.pi * (0.5 - near)), end)
    return where(q < 0.5, -size, size)


logpdf, pdf = _family.densities(lambda x: -math.log(math.pi) - el.log1p(x * x), "-1.3679", "0.2546")
cdf = _family.declare("cdf", lambda x: _tail(-x), "0.6476")
logcdf = _family.declare("logcdf", lambda x: _log_tail(-x), "-0.4345")
sf = _family.declare("sf", _tail, "0.3524")
logsf = _family.declare("logsf", _log_tail, "-1.0429")
ppf = _family.declare("ppf", _quantile, "0.0000")
isf = _family.declare("isf", lambda q: 0.0 - _quantile(q), "0.0000")

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
