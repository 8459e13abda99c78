"""The measured programs run on xtrace, and compute what they should."""

from __future__ import annotations

import numpy as np
import pytest

from bench import programs
from bench.programs import Library, chains, classifier


@pytest.fixture(scope="module")
def lib():
    return Library("xtrace")


def test_chain(lib):
    function, (x,) = chains.numpy_chain(lib, 8)
    expected = x
    for _ in range(2):
        expected = np.tanh(2 * np.sin(expected) * np.float32(1.01))
    np.testing.assert_allclose(lib.top.jit(function)(x), expected, rtol=1e-5)


def test_training_step(lib):
    step, (state, x, target) = classifier.mlp_adam(lib)
    step = lib.top.jit(step)
    losses = []
    for _ in range(20):
        state, loss = step(state, x, target)
        losses.append(float(loss))
    assert losses[0] == pytest.approx(3.622891, rel=1e-5)  # JAX's, for the same weights
    assert losses[-1] == pytest.approx(0.001985240, rel=1e-2)
    assert float(state[3]) == 21


def test_per_example_gradients_average_to_the_gradient_of_the_mean(lib):
    function, (params, x, target) = classifier.per_example_gradients(lib)
    each = lib.top.jit(function)(params, x, target)
    loss, _, _ = classifier._classifier(lib)
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


def test_compiled_programs_trace(lib):
    for name, build in (programs.COMPILED | programs.ARCHITECTURES).items():
        function, args = build(lib)
        shapes = lib.top.tree.leaves(lib.top.eval_shape(function, *args))
        assert shapes and all(shape.dtype.kind in "fiu" for shape in shapes), name


def test_bodies_keep_their_energy(lib):
    simulate, (x, v, mass) = programs.ARCHITECTURES["bodies"](lib)
    run = lib.top.jit(simulate)
    _, _, after = run(x, v, mass)
    between = x[None] - x[:, None]
    held = 0.5 * np.sum(mass * mass[:, None] / np.sqrt(np.sum(between**2, -1) + 0.05**2))
    before = 0.5 * np.sum(mass * np.sum(v**2, -1)) - held
    assert float(after) == pytest.approx(before, rel=1e-3)


def test_gaussian_process_likelihood(lib):
    function, (params, x, y) = programs.ARCHITECTURES["gaussian_process"](lib)
    value, gradient = lib.top.jit(function)(params, x, y)

    def likelihood(noise):
        apart = np.sum((x[:, None].astype(float) - x) ** 2, -1)
        covariance = np.exp(-0.5 * apart) + (np.exp(noise) + 1e-5) * np.eye(len(x))
        return 0.5 * y @ np.linalg.solve(covariance, y) + 0.5 * np.linalg.slogdet(covariance)[1]

    assert float(value) == pytest.approx(likelihood(-2.0), rel=1e-4)
    slope = (likelihood(-2 + 1e-5) - likelihood(-2 - 1e-5)) / 2e-5
    assert float(gradient["noise"]) == pytest.approx(slope, rel=1e-3)


def test_kalman_likelihood_of_one_track(lib):
    function, (noise, seen) = programs.ARCHITECTURES["kalman"](lib)
    value, _ = lib.top.jit(function)(noise, seen[:1, :20])
    move = np.kron([[1, 0.1], [0, 1]], np.eye(2))
    see, process, sensor = np.eye(2, 4), np.exp(-2) * np.eye(4), np.exp(-2) * np.eye(2)
    mean, spread, expected = np.zeros(4), np.eye(4), 0.0
    for y in seen[0, :20]:
        mean, spread = move @ mean, move @ spread @ move.T + process
        off, own = y - see @ mean, see @ spread @ see.T + sensor
        expected += 0.5 * (off @ np.linalg.solve(own, off) + np.linalg.slogdet(own)[1])
        gain = spread @ see.T @ np.linalg.inv(own)
        mean, spread = mean + gain @ off, spread - gain @ see @ spread
    assert float(value) == pytest.approx(expected, rel=1e-4)


def test_builders_make_fresh_functions(lib):
    for build in programs.PROGRAMS.values():
        assert build(lib)[0] is not build(lib)[0]
