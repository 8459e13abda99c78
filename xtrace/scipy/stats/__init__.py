"""Statistics. Distributions are modules, which load at first use."""

from __future__ import annotations

import importlib
from typing import Any

from xtrace.scipy.stats.summaries import mode as mode
from xtrace.scipy.stats.summaries import rankdata as rankdata
from xtrace.scipy.stats.summaries import sem as sem

_MODULES = (
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "gennorm", "geom",
    "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial", "multivariate_normal", "nbinom", "norm", "pareto",
    "poisson", "t", "truncnorm", "uniform", "vonmises", "wrapcauchy",
)  # fmt: skip

__all__ = ["gaussian_kde", "mode", "rankdata", "sem", *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"xtrace.scipy.stats.{name}")
    if name == "gaussian_kde":
        return importlib.import_module("xtrace.scipy.stats.density").gaussian_kde
    raise AttributeError(f"module 'xtrace.scipy.stats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, "gaussian_kde"})
