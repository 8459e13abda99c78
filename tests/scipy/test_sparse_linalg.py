"""Krylov methods and vector quantization, against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.cluster.vq

import xtrace as xt
from xtrace.scipy.cluster import vq
from xtrace.scipy.sparse import linalg
from xtrace.test_util import check_grads

RNG = np.random.default_rng(0)
A = RNG.standard_normal((6, 6)) + 6 * np.eye(6)
B = RNG.standard_normal(6)


@pytest.fixture(autouse=True)
def wide():
    with xt.enable_x64(True):
        yield


@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres"])
@pytest.mark.parametrize("complex_", [False, True])
def test_solves(method, complex_):
    a = A + 1j * complex_ * A.T[::-1] / 4 if complex_ else A
    a = a @ a.conj().T if method == "cg" else a
    solve = getattr(linalg, method)
    want = np.linalg.solve(a, B)
    given = (lambda x: xt.numpy.matmul(a, x)) if complex_ else a
    np.testing.assert_allclose(solve(given, B + 0 * a[0], tol=1e-13)[0], want, rtol=1e-8)
    if complex_:
        inverse = np.linalg.inv(a)
        np.testing.assert_allclose(solve(a, B + 0 * a[0], M=inverse, tol=1e-13, maxiter=3)[0], want, rtol=1e-8)
    else:
        symmetric = (lambda a: (a + a.T) / 2) if method == "cg" else (lambda a: a)
        check_grads(lambda a, b: solve(symmetric(a), b, tol=1e-14)[0], (a, B), order=1, rtol=1e-4)


def test_trees():
    b = {"u": B[:2], "v": B[2:].reshape(2, 2)}
    x, _ = linalg.cg(lambda t: {"u": 2 * t["u"], "v": 4 * t["v"]}, b, tol=1e-12)
    np.testing.assert_allclose(x["u"], b["u"] / 2)
    np.testing.assert_allclose(x["v"], b["v"] / 4)
    with pytest.raises(ValueError, match="square matrix"):
        linalg.cg(A[:3], B)


@pytest.mark.parametrize("d", [(), (3,)])
def test_vq(d):
    obs, codes = RNG.standard_normal((7, *d)), RNG.standard_normal((4, *d))
    for got, want in zip(vq.vq(obs, codes), scipy.cluster.vq.vq(obs, codes), strict=True):
        np.testing.assert_allclose(got, want)
    with pytest.raises(ValueError, match="same rank"):
        vq.vq(np.ones((2, 2)), np.ones(2))


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("restart", [1, 3, 6])
def test_incremental_rounds_are_those_of_batched_ones(complex_, restart):
    a = A + 1j * complex_ * A.T[::-1] / 4 if complex_ else A
    b = B + 0 * a[0]
    rounds = [
        linalg.gmres(a, b, restart=restart, maxiter=2, tol=1e-14, solve_method=each)[0]
        for each in ("batched", "incremental")
    ]
    np.testing.assert_allclose(*rounds, rtol=1e-7, atol=1e-10)
    # One round is the least residual over the Krylov space, found here by NumPy.
    krylov = np.stack([np.linalg.matrix_power(a, i) @ b for i in range(restart)], 1)
    want = krylov @ np.linalg.lstsq(a @ krylov, b, rcond=None)[0]
    got = linalg.gmres(a, b, restart=restart, maxiter=1, tol=1e-14, solve_method="incremental")[0]
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("solve_method", ["batched", "incremental"])
def test_gmres_where_nothing_is_left_to_solve(solve_method):
    solve = lambda a, b: linalg.gmres(a, b, solve_method=solve_method)[0]  # noqa: E731
    np.testing.assert_array_equal(solve(A, 0 * B), 0 * B)
    np.testing.assert_allclose(solve(np.eye(6), B), B)
    both = xt.vmap(lambda b: solve(A, b))(np.stack([0 * B, B]))
    np.testing.assert_allclose(both, [0 * B, np.linalg.solve(A, B)], rtol=1e-4)
    np.testing.assert_array_equal(solve(A, np.inf * B), 0 * B)  # no residual to lessen: where it began
    singular = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 0.0])
    consistent = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 0.0])
    np.testing.assert_allclose(singular @ solve(singular, consistent), consistent, rtol=1e-4)


@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres"])
def test_weak_types_and_operators(method):
    class Doubling:
        def __matmul__(self, x):
            return 2 * x

    solve = getattr(linalg, method)
    assert solve(lambda x: x, 1.0)[0].weak_type
    assert not solve(lambda x: x, B)[0].weak_type
    np.testing.assert_allclose(solve(Doubling(), np.ones((2, 3)))[0], np.full((2, 3), 0.5))
    with xt.numpy_rank_promotion("raise"):
        np.testing.assert_allclose(solve(6 * np.eye(6), B, tol=1e-12)[0], B / 6)


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="x0 and b must have matching tree structure"):
        linalg.cg(lambda x: x, {"x": B}, {"y": B})
    with pytest.raises(ValueError, match="x0 and b must have matching shapes"):
        linalg.cg(lambda x: x, B, B[:, None])
    with pytest.raises(ValueError, match="must be a square matrix, but A has shape"):
        linalg.cg(np.zeros((3, 2)), np.zeros(2))
    with pytest.raises(TypeError, match="either a function or ndarray: M is"):
        linalg.cg(np.eye(1), np.zeros(1), M=[[1]])


def test_second_derivatives_of_a_hermitian_system():
    a = np.array([[3.0, 1 + 0.5j], [1 - 0.5j, 2.0]])
    check_grads(lambda b: linalg.cg(a, b, tol=1e-14)[0], (np.array([1.0 + 1j, 2.0 - 1j]),), order=2, rtol=1e-4)
