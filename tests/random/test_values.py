"""Random functions against values recorded from JAX (tests/data/record_random.py), to the last bit."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import pathlib
import warnings

import jaxlib
import numpy as np
import pytest

import xtrace as xt
from xtrace import random
from xtrace.core import dtypes

HERE = pathlib.Path(__file__).parent
_spec = importlib.util.spec_from_file_location("random_cases", HERE / "cases.py")
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)

RECORDED = np.load(HERE.parent / "data" / "random.npz")
ABOUT = json.loads(str(RECORDED["about"]))
SAME_COMPILER = jaxlib.__version__ == ABOUT["jaxlib"]

ALL = [(setting, name) for setting in cases.SETTINGS for name in cases.cases_of(setting)]


def expected(name):
    array, dtype = RECORDED[name], dtypes.as_dtype(ABOUT["dtypes"][name])
    return array if array.dtype == dtype else array.view(dtype)


def check(name, got, exact):
    want, got = expected(name), np.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, got.shape, want.dtype, want.shape)
    if exact:
        np.testing.assert_array_equal(got, want)
    else:  # the same numbers, but for the rounding of transcendental functions
        wide = np.complex128 if got.dtype.kind == "c" else np.float64
        eps = float(dtypes.finfo(want.dtype).eps) if dtypes.is_inexact(want.dtype) else 1e-4
        np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol=16 * eps, atol=16 * eps)


@contextlib.contextmanager
def setting_of(name):
    options, impl, seed = cases.SETTINGS[name]
    with contextlib.ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # dtypes narrowed without x64
        for option, value in options.items():
            stack.enter_context(getattr(xt, option)(value))
        yield random.key(seed, impl=impl)


@pytest.mark.parametrize(("setting", "name"), ALL, ids=[f"{s}-{n}" for s, n in ALL])
def test_value(setting, name):
    with setting_of(setting) as key:
        exact = name in cases.EXACT or (SAME_COMPILER and name not in cases.LOOPS)
        check(f"{setting}/{name}", cases.cases_of(setting)[name](random, key), exact)


@pytest.mark.parametrize("setting", cases.SETTINGS)
def test_words_of_seeds(setting):
    with setting_of(setting) as key:
        check(f"{setting}/key", random.key_data(key), True)


@pytest.mark.parametrize("name", ["uniform float32", "randint int32", "permutation rows", "bernoulli", "normal many"])
def test_raw_keys_and_jit_give_the_same(name):
    case = cases.cases_of("default")[name]
    key, raw = random.key(42), random.PRNGKey(42)
    exact = SAME_COMPILER or name in cases.EXACT
    check(f"default/{name}", case(random, raw), exact)
    check(f"default/{name}", xt.jit(lambda k: case(random, k))(key), exact)
    check(f"default/{name}", xt.jit(lambda k: case(random, k))(raw), exact)


@pytest.mark.parametrize("impl", cases.MAPPED)
def test_batched(impl):
    for name, got in cases.batched(random, xt.vmap, impl).items():
        check(f"batched {impl}/{name}", got, True)


def test_vmap_is_a_loop_over_keys():
    keys = random.split(random.key(0), 3)
    together = xt.vmap(lambda k, high: random.randint(k, (4,), 0, high))(keys, np.array([3, 50, 1000], np.int32))
    one_by_one = [random.randint(keys[i], (4,), 0, high) for i, high in enumerate((3, 50, 1000))]
    np.testing.assert_array_equal(together, np.stack(one_by_one))


def test_chains_of_splits_are_compiled_once_each():
    """The rounds of a split are not copied into what is computed with its keys."""

    def chain(key):
        total = 0.0
        for _ in range(6):
            key, sub = random.split(key)
            total = total + random.normal(sub, (8,))
        return total

    program = xt.jit(chain).lower(random.key(0)).compile().as_text()
    assert program.count(" xor(") <= 6 * 2 * 24
