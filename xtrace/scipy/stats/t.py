"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from xtrace import numpy as xnp
from xtrace.lax import elementwise as el
from xtrace.scipy import special
from xtrace.scipy.stats.families import Family

_family = Family("t", "Student distribution of df degrees of freedom", ("df",), (0.5, 3.0), valid=lambda df: df > 0)


def _log_density(x: Any, df: Any) -> Any:
    limit = df == math.inf
    finite = xnp.where(limit, 1.0, df)
    square = x * x
    value = -0.5 * (finite + 1) * el.log1p(square / finite) - special.betaln(0.5 * finite, 0.5) - 0.5 * el.log(finite)
    return xnp.where(limit, -0.5 * (square + math.log(2 * math.pi)), value)


logpdf, pdf = _family.densities(_log_density, "-1.1610", "0.3132")

__all__ = ["logpdf", "pdf"]
