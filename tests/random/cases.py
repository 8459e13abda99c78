"""Calls of random functions whose results are recorded from JAX: one table for the recording and for the tests.

Each case is a name and a function of the `random` module, a key and numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

F = np.float32
RISING = np.array([0.5, 1, 2], F)
LOGITS = np.outer(RISING, RISING)
GRID = np.arange(12, dtype=np.int32).reshape(3, 4)

Case = Callable[[Any, Any], Any]


def _plain() -> dict[str, Case]:
    """The distributions without parameters, with each dtype."""
    cases: dict[str, Case] = {}
    for name in ("uniform", "normal", "exponential", "laplace", "logistic", "cauchy", "maxwell", "gumbel"):
        for dtype in ("float32", "float16", "bfloat16", "float64"):
            cases[f"{name} {dtype}"] = lambda r, k, n=name, d=dtype: getattr(r, n)(k, (7,), d)
        cases[f"{name} scalar"] = lambda r, k, n=name: getattr(r, n)(k)
        cases[f"{name} matrix"] = lambda r, k, n=name: getattr(r, n)(k, (2, 3))
    for dtype in ("uint8", "uint16", "uint32", "uint64"):
        for shape in ((), (5,), (3, 3), (0,), (2, 0, 3)):
            cases[f"bits {dtype} {shape}"] = lambda r, k, d=dtype, s=shape: r.bits(k, s, d)
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"):
        cases[f"randint {dtype}"] = lambda r, k, d=dtype: r.randint(k, (6,), 3, 100, d)
    return cases


#: What needs only bits and exact arithmetic: equal to the last bit with every version of the compiler.
EXACT: dict[str, Case] = {
    "split": lambda r, k: r.key_data(r.split(k)) if k.ndim == 0 else r.split(k),
    "split 5": lambda r, k: r.key_data(r.split(k, 5)),
    "split (2, 3)": lambda r, k: r.key_data(r.split(k, (2, 3))),
    "split 0": lambda r, k: r.key_data(r.split(k, 0)),
    "fold_in": lambda r, k: r.key_data(r.fold_in(k, 7)),
    "fold_in large": lambda r, k: r.key_data(r.fold_in(k, 2**32 - 1)),
    "uniform bounds": lambda r, k: r.uniform(k, (5,), minval=-2, maxval=3.5),
    "uniform array bounds": lambda r, k: r.uniform(k, (2, 3), minval=RISING),
    "uniform bfloat16 bounds": lambda r, k: r.uniform(k, (5,), "bfloat16", -1, 1),
    "bernoulli": lambda r, k: r.bernoulli(k, 0.3, (20,)),
    "bernoulli array": lambda r, k: r.bernoulli(k, RISING / 4),
    "bernoulli high": lambda r, k: r.bernoulli(k, 0.3, (20,), mode="high"),
    "rademacher": lambda r, k: r.rademacher(k, (9,)),
    "rademacher float16": lambda r, k: r.rademacher(k, (9,), "float16"),
    "randint wide": lambda r, k: r.randint(k, (9,), -(2**31), 2**31 - 1),
    "randint beyond": lambda r, k: r.randint(k, (9,), -200, 300, "int8"),
    "randint all of uint8": lambda r, k: r.randint(k, (9,), 0, 300, "uint8"),
    "randint empty": lambda r, k: r.randint(k, (3,), 10, 0),
    "randint array": lambda r, k: r.randint(k, (5,), 0, np.arange(5, dtype=np.int32)),
    "randint uint32 bounds": lambda r, k: r.randint(k, (5,), np.uint32(5), np.uint32(2**32 - 1), "uint32"),
    "permutation": lambda r, k: r.permutation(k, 10),
    "permutation large": lambda r, k: r.permutation(k, 3000)[:50],
    "permutation rows": lambda r, k: r.permutation(k, GRID),
    "permutation independent": lambda r, k: r.permutation(k, GRID, axis=1, independent=True),
    "choice": lambda r, k: r.choice(k, 10, (6,)),
    "choice no replacement": lambda r, k: r.choice(k, 10, (2, 3), replace=False),
    "choice columns": lambda r, k: r.choice(k, GRID, (2,), axis=1),
    "choice columns no replacement": lambda r, k: r.choice(k, GRID, (2,), axis=1, replace=False),
    "choice weighted": lambda r, k: r.choice(k, 3, (9,), p=RISING),
    "choice weighted no replacement": lambda r, k: r.choice(k, 3, (2,), replace=False, p=RISING),
    "categorical": lambda r, k: r.categorical(k, LOGITS),
    "categorical axis": lambda r, k: r.categorical(k, LOGITS, axis=0, shape=(4, 3)),
    "categorical no replacement": lambda r, k: r.categorical(k, LOGITS, shape=(2, 3), replace=False),
    "categorical high": lambda r, k: r.categorical(k, LOGITS, mode="high"),
    "geometric": lambda r, k: r.geometric(k, 0.3, (9,)),
}

#: What goes through functions that versions of the compiler round differently.
ROUNDED: dict[str, Case] = {
    "normal complex64": lambda r, k: r.normal(k, (5,), "complex64"),
    "normal float8": lambda r, k: r.normal(k, (9,), "float8_e4m3fn"),
    "normal many": lambda r, k: r.normal(k, (1000,)),
    "truncated_normal": lambda r, k: r.truncated_normal(k, -2, 2, (9,)),
    "truncated_normal array": lambda r, k: r.truncated_normal(k, RISING * 0, 2.0),
    "gumbel high": lambda r, k: r.gumbel(k, (9,), mode="high"),
    "lognormal": lambda r, k: r.lognormal(k, 2.0, (5,)),
    "pareto": lambda r, k: r.pareto(k, RISING),
    "rayleigh": lambda r, k: r.rayleigh(k, RISING, (2, 3)),
    "weibull_min": lambda r, k: r.weibull_min(k, 1.0, 2.0, (5,)),
    "weibull_min arrays": lambda r, k: r.weibull_min(k, RISING, RISING, (2, 1)),
    "wald": lambda r, k: r.wald(k, RISING),
    "triangular": lambda r, k: r.triangular(k, 0.0, 0.5, 1.0, (5,)),
    "double_sided_maxwell": lambda r, k: r.double_sided_maxwell(k, 1.0, 2.0, (5,)),
    "gamma": lambda r, k: r.gamma(k, RISING, (4, 3)),
    "gamma large": lambda r, k: r.gamma(k, 20.0, (5,)),
    "loggamma small": lambda r, k: r.loggamma(k, 0.01, (5,)),
    "gamma bfloat16": lambda r, k: r.gamma(k, RISING, dtype="bfloat16"),
    "beta": lambda r, k: r.beta(k, RISING, 2.0),
    "dirichlet": lambda r, k: r.dirichlet(k, RISING, (4,)),
    "chisquare": lambda r, k: r.chisquare(k, RISING),
    "t": lambda r, k: r.t(k, RISING, (2, 3)),
    "f": lambda r, k: r.f(k, RISING, 3.0),
    "generalized_normal": lambda r, k: r.generalized_normal(k, 1.5, (4,)),
    "ball": lambda r, k: r.ball(k, 3, 1.5, (2,)),
    "poisson": lambda r, k: r.poisson(k, np.array([0, 1, 5, 50, 1000, -1, 1e9], F)),
    "poisson approximate": lambda r, k: r.poisson(k, np.array([0.5, 5, 50, 1000], F), method="approximate"),
    "binomial": lambda r, k: r.binomial(k, np.array([5, 50, 500, -1, np.inf], F), 0.3),
    "binomial likely": lambda r, k: r.binomial(k, np.array([5, 50, 500], F), np.array([0.9, 1, 1.5], F)),
    "multinomial": lambda r, k: r.multinomial(k, np.array([3, 40], np.int32), np.ones((2, 3), F) / 3),
    "multinomial batch": lambda r, k: r.multinomial(k, 10, np.ones(3, F) / 3, shape=(2, 2)),
    "double_sided_maxwell arrays": lambda r, k: r.double_sided_maxwell(k, RISING, RISING),
}

#: Where loops are compiled into other kernels than JAX's, so that the last bit may differ.
LOOPS = ("gamma", "gamma large", "loggamma small", "gamma bfloat16", "beta", "dirichlet", "chisquare", "t", "f",
         "generalized_normal", "ball")  # fmt: skip

for _name, _case in _plain().items():
    (EXACT if _name.startswith(("uniform", "bits", "randint")) else ROUNDED)[_name] = _case

#: The settings that every case is recorded under: name -> (options, generator, seed).
SETTINGS: dict[str, tuple[dict[str, bool], str, int]] = {
    "default": ({}, "threefry2x32", 42),
    "x64": ({"enable_x64": True}, "threefry2x32", -3),
    "original": ({"threefry_partitionable": False}, "threefry2x32", 7),
    "rbg": ({}, "rbg", 1),
    "unsafe_rbg": ({}, "unsafe_rbg", 1),
    "threefry4x32": ({}, "threefry4x32", 1),
    "philox2x32": ({}, "philox2x32", 1),
    "philox4x32": ({}, "philox4x32", 1),
    "threefry4x32 wide": ({"enable_x64": True}, "threefry4x32", 2**40 + 5),
    "philox2x32 wide": ({"enable_x64": True}, "philox2x32", 2**40 + 5),
    "philox4x32 wide": ({"enable_x64": True}, "philox4x32", 2**40 + 5),
}

#: The generators that are mapped over keys.
MAPPED = ("threefry2x32", "threefry4x32", "philox2x32", "philox4x32", "rbg", "unsafe_rbg")

#: Where only the making of keys and bits differs.
FEW = (
    "split", "split 5", "split (2, 3)", "fold_in", "bits uint8 ()", "bits uint8 (5,)", "bits uint16 (3, 3)",
    "bits uint32 (3, 3)", "bits uint32 (0,)", "uniform bfloat16", "uniform matrix", "normal float32", "randint int32",
)  # fmt: skip
#: What tells the ciphers of counter-based generators apart.
BLOCKS = (
    "split",
    "split (2, 3)",
    "fold_in",
    "bits uint8 (5,)",
    "bits uint32 (3, 3)",
    "bits uint32 (0,)",
    "normal float32",
)
#: Where 64-bit types are there.
WIDE = (
    "uniform float64", "normal float64", "bits uint64 (3, 3)", "bits uint64 ()", "randint int64", "randint wide",
    "randint uint32", "randint array", "bernoulli", "uniform scalar", "rademacher", "permutation rows", "geometric",
    "choice", "choice no replacement", "choice weighted no replacement", "categorical", "categorical no replacement",
    "truncated_normal", "exponential float64", "gumbel float64", "double_sided_maxwell", "weibull_min", "wald",
)  # fmt: skip


def cases_of(setting: str) -> dict[str, Case]:
    every = {**EXACT, **ROUNDED}
    if setting == "default":
        return {name: case for name, case in every.items() if "float64" not in name and "int64" not in name}
    if setting in ("threefry4x32", "philox2x32", "philox4x32"):
        return {name: every[name] for name in BLOCKS}
    if setting.endswith(" wide"):
        return {name: every[name] for name in ("bits uint64 (3, 3)", "split (2, 3)", "normal float64")}
    names = (*WIDE, *FEW) if setting == "x64" else (*FEW, "bits uint64 (3, 3)") if setting == "original" else FEW
    return {name: every[name] for name in names}


def batched(random: Any, vmap: Any, impl: str) -> dict[str, Any]:
    """Results of functions mapped over keys, for each generator."""
    keys = random.split(random.key(5, impl=impl), 3)
    return {
        "bits": vmap(lambda k: random.bits(k, (2,)))(keys),
        "fold_in": random.key_data(vmap(random.fold_in, (0, None))(keys, 3)),
        "fold_in both": random.key_data(vmap(random.fold_in)(keys, np.arange(3, dtype=np.uint32))),
        "split": random.key_data(vmap(random.split)(keys)),
        "nested": vmap(vmap(lambda k: random.bits(k, (2,), "uint16")))(keys.reshape(3, 1)),
    }


def initializers(init: Any, key: Any) -> dict[str, Any]:
    """Results of the initializers."""
    made: dict[str, Any] = {}
    for name in (
        "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "kaiming_normal", "kaiming_uniform",
        "lecun_normal", "lecun_uniform", "normal", "truncated_normal", "uniform", "xavier_normal", "xavier_uniform",
    ):  # fmt: skip
        made[name] = getattr(init, name)()(key, (3, 4))
        made[f"{name} float16"] = getattr(init, name)(dtype="float16")(key, (3, 4))
    for mode in ("fan_in", "fan_out", "fan_avg", "fan_geo_avg"):
        for kind in ("normal", "uniform", "truncated_normal"):
            scaled = init.variance_scaling(2.0, mode, kind, in_axis=(0, 1), out_axis=2, batch_axis=3)
            made[f"{mode} {kind}"] = scaled(key, (3, 4, 5, 2))
    for kind in ("normal", "uniform", "truncated_normal"):
        made[f"complex {kind}"] = init.variance_scaling(1.0, "fan_in", kind)(key, (3, 4), "complex64")
    made["normal 3"] = init.normal(3.0)(key, (5,), "complex64")
    made["truncated"] = init.truncated_normal(0.1, lower=-1.0, upper=3.0)(key, (5,))
    made["ones"] = init.ones(key, (2, 3), "bfloat16")
    made["zeros"] = init.zeros(key, (2, 3), "int32")
    made["constant"] = init.constant(np.ones(2))(key, (3, 2))
    return made


def orthogonal_initializers(init: Any, key: Any) -> dict[str, Any]:
    """Results of the initializers that decompose a matrix."""
    return {
        "orthogonal": init.orthogonal()(key, (3, 4)),
        "orthogonal axis": init.orthogonal(2.0, column_axis=0)(key, (5, 2, 3)),
        "delta_orthogonal": init.delta_orthogonal()(key, (3, 2, 4)),
    }
