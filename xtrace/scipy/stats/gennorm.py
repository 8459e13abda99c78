"""The generalized normal distribution."""

from __future__ import annotations

from typing import Any

from xtrace import numpy as xnp
from xtrace.lax import elementwise as el
from xtrace.lax import special as lax_special
from xtrace.scipy import special
from xtrace.scipy.stats.families import Family

_family = Family(
    "gennorm", "generalized normal distribution, of density proportional to exp(-|x|^beta)", ("beta",), (0.5, 1.5),
    valid=lambda beta: beta > 0, located=False,
)  # fmt: skip


def _log_density(x: Any, beta: Any) -> Any:
    return el.log(0.5 * beta) - lax_special.lgamma(1 / beta) - xnp.power(el.abs(x), beta)


def _cdf(x: Any, beta: Any) -> Any:
    half = 0.5 * el.sign(x)
    return (0.5 + half) - half * special.gammaincc(1 / beta, xnp.power(el.abs(x), beta))


logpdf, pdf = _family.densities(_log_density, "-0.9444", "0.3889")
cdf = _family.declare("cdf", _cdf, "0.7417")

__all__ = ["cdf", "logpdf", "pdf"]
