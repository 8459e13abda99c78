"""Derivatives of first examples, and the gradient of each example in a batch."""

import math

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from tests.programs import digits


def test_derivatives_of_a_square():
    square = lambda x: x**2
    assert float(xt.grad(square)(3.0)) == 6.0
    assert float(xt.grad(xt.grad(square))(3.0)) == 2.0


def test_three_derivatives_of_tanh():
    f, expected = xnp.tanh, []
    t = math.tanh(1.0)
    expected = [1 - t**2, -2 * t * (1 - t**2), -2 * (1 - t**2) * (1 - 3 * t**2)]
    for value in expected:
        f = xt.grad(f)
        assert float(f(1.0)) == pytest.approx(value, rel=1e-5)


def test_derivative_through_a_python_condition():
    def leaky(x):
        return 2 * x if x >= 0 else 0.5 * x

    assert float(xt.grad(leaky)(3.0)) == 2.0
    assert float(xt.grad(leaky)(-3.0)) == 0.5


def test_a_gradient_for_each_of_32_digits():
    images, labels = digits.load()[:2]
    images, labels = images[:32], labels[:32]
    params = digits.init(xt.random.PRNGKey(0))
    one = xt.grad(lambda params, image, label: digits.loss(params, image[None], label[None]))
    each = xt.jit(xt.vmap(one, in_axes=(None, 0, 0)))(params, images, labels)
    for whole, batched in zip(xt.tree.leaves(params), xt.tree.leaves(each), strict=True):
        assert batched.shape == (32, *whole.shape)
    squares = xt.tree.map(lambda g: xnp.sum(g.reshape(32, -1) ** 2, axis=1), each)
    norms = xnp.sqrt(xt.tree.reduce(xnp.add, squares))
    assert norms.shape == (32,) and bool(xnp.all(norms > 0))
    # The same, one example at a time.
    for i in (0, 31):
        single = xt.tree.leaves(one(params, images[i], labels[i]))
        assert float(norms[i]) == pytest.approx(float(np.sqrt(sum(np.sum(np.square(g)) for g in single))), rel=1e-4)
    mean = xt.tree.leaves(xt.grad(digits.loss)(params, images, labels))
    for average, batched in zip(mean, xt.tree.leaves(each), strict=True):
        np.testing.assert_allclose(average, np.mean(batched, axis=0), atol=1e-6)
