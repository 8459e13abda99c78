"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

from xtrace.lax import elementwise as el
from xtrace.scipy.special.declare import where
from xtrace.scipy.stats.families import Family

_family = Family("laplace", "Laplace distribution, of density exp(-|x|) / 2")


def _cdf(x: Any) -> Any:
    upper = x > 0
    return where(upper, 1 - 0.5 * el.exp(-where(upper, x, 0.0)), 0.5 * el.exp(where(upper, 0.0, x)))


logpdf, pdf = _family.densities(lambda x: -math.log(2) - el.abs(x), "-1.1931", "0.3033")
cdf = _family.declare("cdf", _cdf, "0.6967")

__all__ = ["cdf", "logpdf", "pdf"]
