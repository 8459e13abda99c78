"""The negative binomial distribution."""

from __future__ import annotations

import math
from typing import Any

from xtrace.lax import elementwise as el
from xtrace.scipy import special
from xtrace.scipy.stats.families import Family

_family = Family(
    "nbinom", "negative binomial distribution: the failures before n successes in trials of chance p", ("n", "p"),
    (1, 2, 0.25), valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1), support=(0, math.inf), discrete=True,
)  # fmt: skip


def _log_probability(k: Any, n: Any, p: Any) -> Any:
    log_choices = -el.log(n + k) - special.betaln(n, k + 1)
    return log_choices + special.xlogy(n, p) + special.xlog1py(k, -p)


logpmf, pmf = _family.densities(_log_probability, "-2.3671", "0.0938")

__all__ = ["logpmf", "pmf"]
