"""The binomial distribution."""

from __future__ import annotations

from typing import Any

from xtrace.lax import elementwise as el
from xtrace.scipy import special
from xtrace.scipy.stats.families import Family, is_integral

_family = Family(
    "binom", "binomial distribution: n trials of chance p", ("n", "p"), (1, 2, 0.25),
    valid=lambda n, p: (n >= 0) & is_integral(n) & (p >= 0) & (p <= 1), support=lambda n, p: (0, n), discrete=True,
)  # fmt: skip


def _log_probability(k: Any, n: Any, p: Any) -> Any:
    log_choices = -el.log1p(n) - special.betaln(n - k + 1, k + 1)
    return log_choices + special.xlogy(k, p) + special.xlog1py(n - k, -p)


logpmf, pmf = _family.densities(_log_probability, "-0.9808", "0.3750")

__all__ = ["logpmf", "pmf"]
