"""Taylor mode against nested jacfwd of the function along the path, for recurrences and for derivative rules."""

import itertools
import math

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import lax
from xtrace.experimental.jet import jet, zero_series

RNG = np.random.default_rng(0)
POINT = RNG.uniform(0.3, 0.8, 3).astype(np.float32)
SERIES = [RNG.normal(size=3).astype(np.float32) / 2 for _ in range(3)]
MATRIX = RNG.normal(size=(3, 3)).astype(np.float32)


@xt.custom_jvp
def tripled(x):
    return xnp.sin(x)


tripled.defjvp(lambda p, t: (tripled(*p), xnp.cos(p[0]) * t[0]))

FUNCTIONS = {
    "exp": xnp.exp, "log": xnp.log, "sqrt": xnp.sqrt, "rsqrt": lax.rsqrt, "sin": xnp.sin, "cos": xnp.cos,
    "tan": xnp.tan, "sinh": xnp.sinh, "cosh": xnp.cosh, "tanh": xnp.tanh, "logistic": xt.nn.sigmoid,
    "erf": lax.erf, "asin": xnp.arcsin, "atan": xnp.arctan, "expm1": xnp.expm1, "log1p": xnp.log1p,
    "cube": lambda x: x**3, "inverse square": lambda x: x**-2, "power": lambda x: x**1.5, "one": lambda x: x**0,
    "quotient": lambda x: xnp.sin(x) / (1 + x), "by constant": lambda x: x / 2, "of constant": lambda x: 2 / x,
    "dot": lambda x: MATRIX @ xnp.tanh(MATRIX @ x), "sum": lambda x: xnp.sum(x * x) + x, "max": xnp.max,
    "cumprod": xnp.cumprod, "sort": lambda x: xnp.sort(x) ** 2, "index": lambda x: x[::2] * x[0],
    "where": lambda x: xnp.where(x > 0.5, x * x, xnp.exp(x)), "custom_jvp": tripled, "relu": xt.nn.relu,
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, c: xnp.sin(c) * x, x), "jit": xt.jit(lambda x: xnp.tanh(x) * x),
    "cond": lambda x: lax.cond(x[0] > 0, xnp.sin, xnp.cos, x),
    "scan": lambda x: lax.scan(lambda c, a: (c * a, xnp.sin(c)), 1.0, x)[1],
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_coefficients(name):
    f = FUNCTIONS[name]
    along = lambda t: f(POINT + sum(t**k * c / math.factorial(k) for k, c in enumerate(SERIES, 1)))  # noqa: E731
    derivatives = list(itertools.accumulate(SERIES, lambda g, _: xt.jacfwd(g), initial=along))
    (out, terms), value = xt.jit(lambda x, series: (jet(f, (x,), (series,)), f(x)))(POINT, SERIES)
    np.testing.assert_allclose(out, value, rtol=1e-6)
    for term, want in zip([out, *terms], xt.jit(lambda t: [g(t) for g in derivatives])(0.0), strict=True):
        np.testing.assert_allclose(term, want, rtol=2e-4, atol=2e-4 * max(1, np.abs(want).max(initial=0)))


def test_zero_is_no_special_point_of_powers():
    out, terms = jet(lambda x: x**3, (0.0,), ((1.0, 0.0, 0.0, 0.0),))
    assert [float(t) for t in (out, *terms)] == [0, 0, 0, 6, 0]


def test_plain_coefficients():
    _, terms = jet(xnp.exp, (0.0,), ((1.0, 0.0, 0.0),), factorial_scaled=False)
    np.testing.assert_allclose(terms, [1, 1 / 2, 1 / 6], rtol=1e-6)


def test_trees_constants_and_integers():
    out, terms = jet(
        lambda a, b, n: {"o": a * b["x"] * n, "n": n},
        (1.0, {"x": 2.0}, 3),
        ([1.0, 0.0], zero_series, zero_series),
    )
    assert float(out["o"]) == 6.0 and [float(t) for t in terms["o"]] == [6.0, 0.0]
    assert [int(t) for t in terms["n"]] == [0, 0]


def test_composes():
    second = lambda x: jet(xnp.sin, (x,), ((1.0, 0.0),))[1][1]  # noqa: E731
    np.testing.assert_allclose(xt.jit(xt.grad(second))(1.0), -math.cos(1.0), rtol=1e-6)
    np.testing.assert_allclose(xt.vmap(second)(POINT), -np.sin(POINT), rtol=1e-6)


def test_messages():
    with pytest.raises(ValueError, match="inconsistent lengths"):
        jet(lambda a, b: a * b, (1.0, 2.0), ([1.0], [1.0, 2.0]))
    with pytest.raises(ValueError, match=r"term 1 of argument 0 has shape \(2,\)"):
        jet(lambda a: a, (1.0,), ([np.ones(2)],))
    with pytest.raises(TypeError, match="primals must be a tuple or list"):
        jet(lambda a: a, 1.0, ([1.0],))
