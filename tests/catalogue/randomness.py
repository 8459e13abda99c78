"""Catalogue entries of random numbers. Values are in tests/random, bit for bit: here they agree compiled and mapped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.catalogue.catalogue import Bad, Draw, Op, Sample

_SHAPES = ((), (2, 3), (0,))
_NO_KEY = [Bad(TypeError, "", "text")]


def _key(draw: Draw) -> np.ndarray:
    return draw.array((2,), "uint32", 0, 2**32 - 1)


def _of(*dtypes: str | None, shapes: Any = _SHAPES, **params: Any) -> Callable[[Draw], Any]:
    """Samples of a key with every shape and dtype (None: the default)."""

    def samples(draw: Draw) -> Any:
        for dtype in dtypes:
            for shape in shapes:
                yield Sample(_key(draw), shape=shape, **({} if dtype is None else {"dtype": dtype}), **params)

    return samples


def _standard(name: str, *dtypes: str | None) -> Op:
    return Op(f"random.{name}", _of(*(dtypes or (None, "float32", "float64", "bfloat16"))), bad=_NO_KEY)


def _with(*ranges: tuple[float, float], shape: Any = None) -> Callable[[Draw], Any]:
    """Samples of a key and parameters of a distribution: arrays of one shape, broadcast, in both precisions."""

    def samples(draw: Draw) -> Any:
        for dtype in ("float32", "float64"):
            for own in ((), (3,)):
                operands = [draw.array(own, dtype, *limits) for limits in ranges]
                yield Sample(_key(draw), *operands)
                yield Sample(_key(draw), *operands, shape=(2, 3))

    return samples if shape is None else _reshaped(samples, shape)


def _reshaped(makes: Callable[[Draw], Any], shape: tuple[int, ...]) -> Callable[[Draw], Any]:
    """With a shape always: functions whose default is that of one number."""
    return lambda draw: (Sample(*s.args, **{"shape": shape} | s.params) for s in makes(draw))


def _distribution(name: str, *ranges: tuple[float, float], shape: Any = None, **options: Any) -> Op:
    return Op(f"random.{name}", _with(*ranges, shape=shape), bad=_NO_KEY, python_scalars=False, **options)


_POSITIVE = (0.5, 2.0)
_ROUNDED = {"differentiable": ()}
DISTRIBUTIONS = [
    *[
        _standard(name)
        for name in ("normal", "cauchy", "exponential", "gumbel", "laplace", "logistic", "maxwell")
    ],
    _standard("bits", None, "uint8", "uint16", "uint32", "uint64"),
    _standard("rademacher", None, "int8", "float32"),
    _distribution("bernoulli", (0.2, 0.8), **_ROUNDED),
    _distribution("geometric", (0.2, 0.8), **_ROUNDED),
    _distribution("lognormal", _POSITIVE),
    _distribution("pareto", _POSITIVE),
    _distribution("rayleigh", _POSITIVE),
    _distribution("wald", _POSITIVE, tolerance=4),
    _distribution("triangular", (-2, -1), (-0.5, 0.5), (1, 2)),
    _distribution("truncated_normal", (-2, -0.5), (0.5, 2), tolerance=4),
    _distribution("double_sided_maxwell", (-1, 1), _POSITIVE, shape=(3,)),
    _distribution("weibull_min", _POSITIVE, _POSITIVE, shape=(3,)),
    # Slopes of gamma numbers are in tests/random/test_distributions.py.
    _distribution("gamma", _POSITIVE, **_ROUNDED),
    _distribution("loggamma", _POSITIVE, **_ROUNDED),
    _distribution("beta", _POSITIVE, _POSITIVE, **_ROUNDED),
    _distribution("chisquare", _POSITIVE, **_ROUNDED),
    _distribution("t", _POSITIVE, **_ROUNDED),
    _distribution("f", _POSITIVE, _POSITIVE, **_ROUNDED),
    _distribution("poisson", (0.5, 20), **_ROUNDED),
    _distribution("binomial", (5, 50), (0.2, 0.8), **_ROUNDED),
]  # fmt: skip


def _uniform_samples(draw: Draw) -> Any:
    yield from _of(None, "float32", "float64", "bfloat16")(draw)
    for own in ((), (3,)):
        yield Sample(_key(draw), minval=draw.array(own, "float32", -2, -1), maxval=2.0, shape=(2, 3))


def _dirichlet_samples(draw: Draw) -> Any:
    for dtype in ("float32", "float64"):
        yield Sample(_key(draw), draw.array((3,), dtype, 0.5, 2))
        yield Sample(_key(draw), draw.array((2, 3), dtype, 0.5, 2), shape=(4, 2))


def _multinomial_samples(draw: Draw) -> Any:
    for dtype in ("float32", "float64"):
        p = draw.array((3,), dtype, 0.1, 1)
        yield Sample(_key(draw), draw.array((), dtype, 5, 30), p / p.sum())
        yield Sample(_key(draw), draw.array((2,), dtype, 5, 30), p / p.sum(), shape=(3, 2))


def _power_samples(draw: Draw) -> Any:
    for shape in ((3,), (2, 3)):
        yield Sample(_key(draw), draw.array((), "float32", 1, 3), shape=shape)


def _randint_samples(draw: Draw) -> Any:
    for dtype in (None, "int8", "uint8", "int32", "uint32", "int64"):
        named = {} if dtype is None else {"dtype": dtype}
        for own in ((), (3,)):
            low, high = draw.array(own, "int32", 0, 3), draw.array(own, "int32", 5, 90)
            yield Sample(_key(draw), low, high, shape=(2, 3), **named)


def _categorical_samples(draw: Draw) -> Any:
    for dtype in ("float32", "float64"):
        yield Sample(_key(draw), draw.array((4,), dtype))
        yield Sample(_key(draw), draw.array((2, 3), dtype), axis=0)
        yield Sample(_key(draw), draw.array((2, 3), dtype), shape=(4, 2))
        yield Sample(_key(draw), draw.array((2, 4), dtype), shape=(3, 2), replace=False)


def _choice_samples(draw: Draw) -> Any:
    for dtype in ("float32", "int32"):
        x, weights = draw.array((4,), dtype), draw.array((4,), "float32", 0.1, 1)
        for replace in (True, False):
            yield Sample(_key(draw), x, shape=(3,), replace=replace)
            yield Sample(_key(draw), x, weights / weights.sum(), shape=(2,), replace=replace)
        yield Sample(_key(draw), draw.array((2, 3), dtype), shape=(2, 2), axis=1)


def _choice(root: Any) -> Any:
    return lambda key, a, p=None, **params: root.random.choice(key, a, p=p, **params)


def _permutation_samples(draw: Draw) -> Any:
    for dtype in ("float32", "int32", "bool"):
        yield Sample(_key(draw), draw.array((5,), dtype))
        yield Sample(_key(draw), draw.array((3, 2), dtype))
        yield Sample(_key(draw), draw.array((2, 3), dtype), axis=1, independent=True)


def _ball(root: Any) -> Any:
    return lambda key, p, shape: root.random.ball(key, 3, p, shape)


_GATHERED = {"differentiable": (1,)}
CHOICES = [
    Op("random.uniform", _uniform_samples, bad=_NO_KEY),
    Op("random.randint", _randint_samples, python_scalars=False,
       function=lambda root: lambda key, low, high, shape, **more: root.random.randint(key, shape, low, high, **more)),
    Op("random.categorical", _categorical_samples, differentiable=(), bad=_NO_KEY),
    Op("random.choice", _choice_samples, function=_choice, **_GATHERED),
    Op("random.permutation", _permutation_samples, bad=_NO_KEY),
    Op("random.dirichlet", _dirichlet_samples, bad=_NO_KEY, **_ROUNDED),
    Op("random.multinomial", _multinomial_samples, bad=_NO_KEY, **_ROUNDED),
    Op("random.generalized_normal", _power_samples, bad=_NO_KEY, **_ROUNDED),
    Op("random.ball", _power_samples, function=_ball, **_ROUNDED),
]  # fmt: skip


def _keys(draw: Draw) -> Any:
    yield Sample(_key(draw))


def _split_samples(draw: Draw) -> Any:
    for num in (2, 1, (2, 3)):
        yield Sample(_key(draw), num=num)


def _fold_samples(draw: Draw) -> Any:
    for dtype in ("int32", "uint32", "uint8"):
        yield Sample(_key(draw), draw.array((), dtype, 0, 100))


def _seeds(draw: Draw) -> Any:
    for dtype in ("int32", "uint32", "int64"):
        yield Sample(draw.array((), dtype, 0, 2**31 - 1))


def _as_key(function: str) -> Any:
    """A function of new-style keys, from words to words: those are what results are compared by."""

    def of_root(root: Any) -> Any:
        random = root.random
        return lambda words, *args: random.key_data(getattr(random, function)(random.wrap_key_data(words), *args))

    return of_root


KEYS = [
    Op("random.key", _seeds, function=lambda root: lambda seed: root.random.key_data(root.random.key(seed)),
       reference=lambda seed: np.array([int(seed) >> 32, int(seed) & 0xFFFFFFFF], np.uint32)),
    Op("random.PRNGKey", _seeds, lambda seed: np.array([int(seed) >> 32, int(seed) & 0xFFFFFFFF], np.uint32)),
    Op("random.key_data", _keys, lambda words: words,
       function=lambda root: lambda words: root.random.key_data(root.random.wrap_key_data(words))),
    Op("random.wrap_key_data", _keys, lambda words: words,
       function=lambda root: lambda words: root.random.key_data(root.random.wrap_key_data(words))),
    Op("random.clone", _keys, lambda words: words, function=_as_key("clone")),
    Op("random.split", _split_samples, bad=_NO_KEY),
    Op("random.fold_in", _fold_samples, bad=[Bad(TypeError, "", "text", 1)]),
]  # fmt: skip


def _bit_samples(draw: Draw) -> Any:
    for dtype in ("uint32", "uint8", "uint64"):
        for shape in _SHAPES:
            yield Sample(draw.array((4,), "uint32", 0, 2**32 - 1), shape=shape, dtype=dtype)


def _rng_uniform_samples(draw: Draw) -> Any:
    for dtype in ("float32", "int32"):
        yield Sample(draw.array((), dtype, 0, 1), draw.array((), dtype, 2, 9), shape=(2, 3))


_STATEFUL = "each call gives other numbers: only their bounds could be compared"
GENERATORS = [
    Op("lax.rng_bit_generator", _bit_samples, skip={"vmap": "mapped calls draw from the stream of the first key"}),
    Op("lax.rng_uniform", _rng_uniform_samples, differentiable=(), python_scalars=False, skip=dict.fromkeys(
        ("jit", "jaxpr", "vmap", "compositions"), _STATEFUL)),
]  # fmt: skip

OPS = [*DISTRIBUTIONS, *CHOICES, *KEYS, *GENERATORS]
