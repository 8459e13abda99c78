"""The truncated normal distribution."""

from __future__ import annotations

import math
from typing import Any

from xtrace import numpy as xnp
from xtrace.lax import elementwise as el
from xtrace.scipy.special.normal import log_ndtr_of, ndtr_of
from xtrace.scipy.stats.families import Family, log1mexp


def _inside(a: Any, b: Any) -> Any:
    middle = 0.5 * (xnp.where(a > -math.inf, a, b - 2) + xnp.where(b < math.inf, b, a + 2))
    return xnp.where(el.abs(middle) < math.inf, middle, 0.0)


_family = Family(
    "truncnorm", "standard normal distribution restricted to [a, b]", ("a", "b"), (0.5, -1.0, 2.0),
    valid=lambda a, b: a < b, support=lambda a, b: (a, b), inside=_inside, ends_outside=True,
    strong=("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"),
)  # fmt: skip


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the normal probability between a and b: in a tail as a difference of logarithms."""
    tail = (a > 0) | (b <= 0)
    low, high = xnp.where(a > 0, -b, a), xnp.where(a > 0, -a, b)
    log_low = log_ndtr_of(xnp.where(tail, low, -2.0))
    log_high = log_ndtr_of(xnp.where(tail, high, -1.0))
    outer = log_high + log1mexp(log_high - log_low)
    central = el.log1p(-(ndtr_of(xnp.where(tail, -1.0, a)) + ndtr_of(xnp.where(tail, -1.0, -b))))
    return xnp.where(tail, outer, central)


def _log_density(x: Any, a: Any, b: Any) -> Any:
    return -0.5 * (x * x) - 0.5 * math.log(2 * math.pi) - _log_mass(a, b)


def _log_part(part: Any, rest: Any, whole: Any) -> Any:
    """log(part / whole) of logarithms: by the rest where the part is most of it."""
    value = part - whole
    most = value > -0.1
    return xnp.where(most, el.log1p(-el.exp(xnp.where(most, rest - whole, -1.0))), value)


def _log_cdf(x: Any, a: Any, b: Any) -> Any:
    return _log_part(_log_mass(a, x), _log_mass(x, b), _log_mass(a, b))


def _log_sf(x: Any, a: Any, b: Any) -> Any:
    return _log_part(_log_mass(x, b), _log_mass(a, x), _log_mass(a, b))


logpdf, pdf = _family.densities(_log_density, "-0.8438", "0.4301")
cdf = _family.declare("cdf", lambda *xs: el.exp(_log_cdf(*xs)), "0.6509")
logcdf = _family.declare("logcdf", _log_cdf, "-0.4294")
sf = _family.declare("sf", lambda *xs: el.exp(_log_sf(*xs)), "0.3491")
logsf = _family.declare("logsf", _log_sf, "-1.0523")

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]
