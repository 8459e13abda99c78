"""The measured programs run on xtrace, and compute what they should."""

from __future__ import annotations

import numpy as np
import pytest

from bench import programs
from bench.programs import Library


@pytest.fixture(scope="module")
def lib():
    return Library("xtrace")


def test_chain(lib):
    function, (x,) = programs.numpy_chain(lib, 8)
    expected = x
    for _ in range(2):
        expected = np.tanh(2 * np.sin(expected) * np.float32(1.01))
    np.testing.assert_allclose(lib.top.jit(function)(x), expected, rtol=1e-5)


def test_training_step(lib):
    step, (state, x, target) = programs.mlp_adam(lib)
    step = lib.top.jit(step)
    losses = []
    for _ in range(20):
        state, loss = step(state, x, target)
        losses.append(float(loss))
    assert losses[0] == pytest.approx(3.622891, rel=1e-5)  # JAX's, for the same weights
    assert losses[-1] == pytest.approx(0.001985240, rel=1e-2)
    assert float(state[3]) == 21


def test_per_example_gradients_average_to_the_gradient_of_the_mean(lib):
    function, (params, x, target) = programs.per_example_gradients(lib)
    each = lib.top.jit(function)(params, x, target)
    loss, _, _ = programs._classifier(lib)
    whole = lib.top.jit(lib.top.grad(loss))(params, x, target)
    for layer, averaged in zip(whole, each, strict=True):
        for name in layer:
            assert averaged[name].shape == (16, *layer[name].shape)
            np.testing.assert_allclose(np.mean(averaged[name], axis=0), layer[name], atol=1e-6)


@pytest.mark.parametrize(
    "name, shape",
    [("gpt_forward", (2, 32, 128)), ("rnn_forward", ()), ("lax_chain", (16,))],
)
def test_shapes(lib, name, shape):
    function, args = programs.PROGRAMS[name](lib)
    assert lib.top.eval_shape(function, *args).shape == shape


@pytest.mark.parametrize("name", ["gpt_gradient", "rnn_gradient"])
def test_gradients_have_the_shapes_of_the_parameters(lib, name):
    function, args = programs.PROGRAMS[name](lib)
    result = lib.top.eval_shape(function, *args)
    gradient = result[1] if name == "gpt_gradient" else result
    shapes = lib.top.tree.map(lambda g, p: g.shape == p.shape, gradient, args[0])
    assert all(lib.top.tree.leaves(shapes))


def test_builders_make_fresh_functions(lib):
    for build in programs.PROGRAMS.values():
        assert build(lib)[0] is not build(lib)[0]
