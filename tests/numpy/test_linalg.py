"""Norms, powers and chains of matrices against NumPy."""

import numpy as np
import pytest

import xtrace as xt

linalg = xt.numpy.linalg
X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


def check(actual, expected):
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("order", [None, 2, 1, np.inf, -np.inf, 0, 3, 0.5])
def test_vector_norms(order):
    check(linalg.norm(X[0, 0], order), np.linalg.norm(X[0, 0], order))
    check(linalg.norm(X, order, axis=1), np.linalg.norm(X, order, axis=1))
    if order is not None:
        check(linalg.vector_norm(X, ord=order, keepdims=True), np.linalg.norm(X.ravel(), order).reshape(1, 1, 1))


@pytest.mark.parametrize("order", [None, "fro", 1, -1, np.inf, -np.inf])
@pytest.mark.parametrize("axis", [(0, 1), (0, 2), (2, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_matrix_norms(order, axis, keepdims):
    check(linalg.norm(X, order, axis, keepdims), np.linalg.norm(X, order, axis, keepdims))


def test_norms_of_whole_arrays():
    check(linalg.norm(X), np.linalg.norm(X))
    check(linalg.norm(X * 1j), np.linalg.norm(X))
    check(linalg.norm(np.arange(4)), np.linalg.norm(np.arange(4)))
    check(linalg.matrix_norm(X), np.linalg.norm(X, axis=(1, 2)))
    gradient = xt.grad(linalg.norm)(X)
    check(gradient, X / np.linalg.norm(X))


def test_powers_and_chains():
    a = X[0, :, :3]
    for n in (0, 1, 2, 5):
        check(linalg.matrix_power(a, n), np.linalg.matrix_power(a, n))
    check(linalg.matrix_power(X[:, :, :3], 3), np.linalg.matrix_power(X[:, :, :3], 3))
    check(linalg.multi_dot([X[0], X[1].T, X[0]]), np.linalg.multi_dot([X[0], X[1].T, X[0]]))
    chain = [X[0, 0], X[1].T, X[0, :, 0]]
    check(linalg.multi_dot(chain), np.linalg.multi_dot(chain))
    check(linalg.multi_dot([np.eye(2, dtype=np.float32) * 0.5] * 60), np.eye(2) * 0.5**60)


def test_names_of_the_array_api():
    check(linalg.matmul(X, X[0].T), X @ X[0].T)
    check(linalg.matrix_transpose(X), X.swapaxes(1, 2))
    check(linalg.outer(X[0, 0], X[0, 1]), np.outer(X[0, 0], X[0, 1]))
    check(linalg.cross(X[0].T, X[1].T), np.cross(X[0].T, X[1].T))
    check(linalg.vecdot(X[0], X[1]), np.sum(X[0] * X[1], -1))
    check(linalg.tensordot(X, X, axes=3), np.tensordot(X, X, 3))
    check(linalg.trace(X, offset=1), np.trace(X, 1, -2, -1))
    check(linalg.diagonal(X, offset=1), np.diagonal(X, 1, -2, -1))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: linalg.norm(X[0, 0], "fro"), ValueError, "Invalid order 'fro' for vector norm"),
        (lambda: linalg.norm(X[0], 3), ValueError, "Invalid order '3' for matrix norm"),
        (lambda: linalg.norm(X, 2), ValueError, "Improper number of axes for norm"),
        (lambda: linalg.matrix_power(X[0], 2), TypeError, "must be square"),
        (lambda: linalg.matrix_power(X[0, :, :3], 1.5), TypeError, "exponent must be an integer"),
        (lambda: linalg.multi_dot([X[0]]), ValueError, "at least two"),
        (lambda: linalg.matrix_transpose(X[0, 0]), ValueError, "at least two-dimensional"),
        (lambda: linalg.outer(X[0], X[0, 0]), ValueError, "takes vectors"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("shape", [(0, 0), (3, 0, 0), (0, 2, 2)])
def test_systems_of_no_equations_and_no_systems(shape):
    a = np.zeros(shape, np.float32) + np.eye(shape[-1], dtype=np.float32)
    for run in (lambda f: f, xt.jit):
        np.testing.assert_array_equal(run(xt.numpy.linalg.inv)(a), np.linalg.inv(a))
        b = np.ones((*shape[:-1], 2), np.float32)
        np.testing.assert_array_equal(run(xt.numpy.linalg.solve)(a, b), np.linalg.solve(a, b))
        assert run(xt.numpy.linalg.det)(a).shape == shape[:-2]
