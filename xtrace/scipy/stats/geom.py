"""The geometric distribution."""

from __future__ import annotations

import math
from typing import Any

from xtrace.lax import elementwise as el
from xtrace.scipy import special
from xtrace.scipy.stats.families import Family

_family = Family(
    "geom", "geometric distribution: the number of trials of chance p up to the first success", ("p",), (2, 0.25),
    valid=lambda p: (p > 0) & (p <= 1), support=(1, math.inf), discrete=True,
)  # fmt: skip


def _log_probability(k: Any, p: Any) -> Any:
    return special.xlog1py(k - 1, -p) + el.log(p)


logpmf, pmf = _family.densities(_log_probability, "-1.6740", "0.1875")

__all__ = ["logpmf", "pmf"]
