"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

from xtrace.lax import bessel
from xtrace.lax import elementwise as el
from xtrace.scipy.stats.families import Family

_family = Family(
    "vonmises", "von Mises distribution, of density proportional to exp(kappa cos(x)) on the circle", ("kappa",),
    (0.5, 2.0), valid=lambda kappa: kappa >= 0, located=False,
)  # fmt: skip


def _log_density(x: Any, kappa: Any) -> Any:
    s = el.sin(0.5 * x)
    return -2 * kappa * (s * s) - math.log(2 * math.pi) - el.log(bessel.bessel_i0e(kappa))


logpdf, pdf = _family.densities(_log_density, "-0.9067", "0.4039")

__all__ = ["logpdf", "pdf"]
