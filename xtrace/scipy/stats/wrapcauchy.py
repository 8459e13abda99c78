"""The wrapped Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from xtrace.lax import elementwise as el
from xtrace.scipy.stats.families import Family

_family = Family(
    "wrapcauchy", "Cauchy distribution wrapped around the circle, on [0, 2 pi]", ("c",), (0.5, 0.25),
    valid=lambda c: (c > 0) & (c < 1), support=(0, 2 * math.pi), located=False,
)  # fmt: skip


def _log_density(x: Any, c: Any) -> Any:
    s, gap = el.sin(0.5 * x), 1 - c
    return el.log(gap * (1 + c)) - math.log(2 * math.pi) - el.log(gap * gap + 4 * c * (s * s))


logpdf, pdf = _family.densities(_log_density, "-1.4303", "0.2392")

__all__ = ["logpdf", "pdf"]
