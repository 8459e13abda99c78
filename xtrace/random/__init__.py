"""Random numbers from explicit keys: the same key and arguments give the same numbers, on every device.

Make a key with `key(seed)`, split it with `split` for each use, and pass one to a distribution.
"""

from xtrace.random.continuous import (
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    normal,
    pareto,
    rayleigh,
    triangular,
    truncated_normal,
    uniform,
    wald,
    weibull_min,
)
from xtrace.random.discrete import (
    bernoulli,
    categorical,
    choice,
    geometric,
    permutation,
    rademacher,
    randint,
)
from xtrace.random.keys import (
    PRNGKey,
    bits,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)

__all__ = [
    "PRNGKey", "bernoulli", "bits", "categorical", "cauchy", "choice", "clone", "double_sided_maxwell", "exponential",
    "fold_in", "geometric", "gumbel", "key", "key_data", "key_dtype", "key_impl", "laplace", "logistic", "lognormal",
    "maxwell", "normal", "pareto", "permutation", "rademacher", "randint", "rayleigh", "split", "triangular",
    "truncated_normal", "uniform", "wald", "weibull_min", "wrap_key_data",
]  # fmt: skip
