"""The uniform distribution."""

from __future__ import annotations

from xtrace.scipy.stats.families import Family

_family = Family("uniform", "uniform distribution on [0, 1]", support=(0, 1))

logpdf, pdf = _family.densities(lambda x: 0 * x, "0.0000", "1.0000")
cdf = _family.declare("cdf", lambda x: x, "0.5000")
ppf = _family.declare("ppf", lambda q: q, "0.5000")

__all__ = ["cdf", "logpdf", "pdf", "ppf"]
