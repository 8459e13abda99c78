"""Activations against their formulas in float64, and their derivatives where they matter."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.special as sp

import xtrace as xt
from xtrace import nn

X = np.array([-7.0, -3, -1, -0.5, 0, 0.5, 1, 3, 7], np.float32)


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def softplus(x):
    return np.logaddexp(x, 0)


REFERENCES = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "sigmoid": sp.expit,
    "softplus": softplus,
    "log_sigmoid": sp.log_expit,
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "soft_sign": lambda x: x / (1 + np.abs(x)),
    "silu": lambda x: x * sp.expit(x),
    "swish": lambda x: x * sp.expit(x),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "celu": elu,
    "elu": elu,
    "selu": lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "squareplus": lambda x: (x + np.sqrt(x**2 + 4)) / 2,
    "tanh": np.tanh,
    "identity": lambda x: x,
}
SMOOTH = X[[1, 3, 5]] + np.float32(0.15)  # away from kinks


@pytest.mark.parametrize("name", REFERENCES)
def test_value_and_slope(name):
    f, reference = getattr(nn, name), REFERENCES[name]
    np.testing.assert_allclose(f(X), reference(X.astype(np.float64)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(xt.jit(f)(X), f(X), rtol=1e-6, atol=1e-7)
    wide, h = SMOOTH.astype(np.float64), 1e-5
    slope = (reference(wide + h) - reference(wide - h)) / (2 * h)
    np.testing.assert_allclose(xt.vmap(xt.grad(f))(SMOOTH), slope, rtol=1e-4, atol=1e-4)
    assert f(X.astype(ml_dtypes.bfloat16)).dtype == ml_dtypes.bfloat16


def test_gelu_exact():
    expected = 0.5 * X * (1 + sp.erf(X.astype(np.float64) / np.sqrt(2)))
    np.testing.assert_allclose(nn.gelu(X, approximate=False), expected, rtol=1e-5, atol=1e-6)


def test_slopes_at_kinks():
    assert xt.grad(nn.relu)(0.0) == 0
    assert xt.grad(nn.relu6)(0.0) == 0 and xt.grad(nn.relu6)(6.0) == 0
    assert xt.grad(nn.log_sigmoid)(0.0) == 0.5
    assert xt.grad(nn.softplus)(0.0) == 0.5
    assert xt.grad(nn.leaky_relu)(0.0) == 1


def test_nothing_overflows():
    for f in (nn.softplus, nn.log_sigmoid, nn.elu, nn.celu, nn.selu, nn.mish, nn.silu, nn.gelu, nn.log1mexp):
        for x in (200.0, -200.0) if f is not nn.log1mexp else (200.0, 1e-30):
            assert np.isfinite(np.asarray(f(x))), (f, x)
            assert np.isfinite(np.asarray(xt.grad(f)(x))), (f, x)
    assert np.isnan(np.asarray(nn.relu(np.float32(np.nan)))) and np.isnan(np.asarray(nn.softplus(np.float32(np.nan))))
    assert float(nn.softplus(np.inf)) == np.inf and float(xt.grad(nn.softplus)(np.inf)) == 1


def test_second_derivatives_and_batches():
    np.testing.assert_allclose(xt.grad(xt.grad(nn.softplus))(0.3), sp.expit(0.3) * (1 - sp.expit(0.3)), rtol=1e-5)
    assert xt.grad(xt.grad(nn.relu))(1.0) == 0
    x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(xt.vmap(nn.relu, 1, 1)(x), nn.relu(x))
    together = xt.vmap(xt.grad(lambda v: xt.numpy.sum(nn.relu6(v) ** 2)))(x)
    np.testing.assert_allclose(together, 2 * np.clip(x, 0, 6) * (x > 0))
    jaxpr = xt.make_jaxpr(nn.relu)(x)
    assert [e.primitive.name for e in jaxpr.eqns] == ["custom_jvp_call"]


def test_dtypes():
    i = np.arange(-1, 3, dtype=np.int32)
    assert nn.relu(i).dtype == np.int32 and nn.hard_tanh(i).dtype == np.int32
    assert nn.relu(True).dtype == np.int32
    assert nn.relu6(i).dtype == nn.elu(i).dtype == nn.gelu(i).dtype == nn.softmax(i).dtype == np.float32
    assert nn.relu(1.0).aval.weak_type and not nn.relu(np.float32(1)).aval.weak_type
    for f in (nn.sigmoid, nn.silu):
        with pytest.raises(TypeError, match="int32"):
            f(i)
    for f in (nn.relu, nn.gelu, nn.softmax):
        with pytest.raises(TypeError):
            f("text")


def test_parameters():
    np.testing.assert_allclose(nn.elu(X, 0.5), elu(X, 0.5), rtol=1e-6)
    np.testing.assert_allclose(nn.celu(X, 2.0), np.maximum(X, 0) + 2 * np.expm1(np.minimum(X, 0) / 2), rtol=1e-6)
    np.testing.assert_allclose(nn.leaky_relu(X, X), np.where(X >= 0, X, X * X), rtol=1e-6)
    np.testing.assert_allclose(nn.squareplus(X, 1), (X + np.sqrt(X * X + 1)) / 2, rtol=1e-5, atol=1e-6)
    halves = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_allclose(nn.glu(halves), halves[:, :2] * sp.expit(halves[:, 2:]), rtol=1e-6)
    np.testing.assert_allclose(nn.glu(halves, axis=0), halves[:1] * sp.expit(halves[1:]), rtol=1e-6)
    with pytest.raises(ValueError, match="divisible by 2, got 3"):
        nn.glu(np.ones((2, 3), np.float32))
