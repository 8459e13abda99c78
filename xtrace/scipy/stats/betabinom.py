"""The beta-binomial distribution."""

from __future__ import annotations

from typing import Any

from xtrace.lax import elementwise as el
from xtrace.scipy import special
from xtrace.scipy.stats.families import Family, is_integral

_family = Family(
    "betabinom", "beta-binomial distribution: n trials whose chance has the beta distribution of a and b",
    ("n", "a", "b"), (1, 2, 2.0, 3.0), valid=lambda n, a, b: (n >= 0) & is_integral(n) & (a > 0) & (b > 0),
    support=lambda n, a, b: (0, n), discrete=True,
)  # fmt: skip


def _log_probability(k: Any, n: Any, a: Any, b: Any) -> Any:
    log_choices = -el.log1p(n) - special.betaln(n - k + 1, k + 1)
    return log_choices + special.betaln(k + a, n - k + b) - special.betaln(a, b)


logpmf, pmf = _family.densities(_log_probability, "-0.9163", "0.4000")

__all__ = ["logpmf", "pmf"]
