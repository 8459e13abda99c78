"""Systems, determinants and decompositions against NumPy; their derivatives by differences."""

import numpy as np
import pytest

import xtrace as xt
from xtrace.test_util import check_grads

linalg = xt.numpy.linalg
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def wide():
    with xt.enable_x64(True):
        yield


def check(actual, expected):
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


X = RNG.standard_normal((2, 4, 4))
Z = X + 1j * RNG.standard_normal((2, 4, 4))
TALL, WIDE = RNG.standard_normal((5, 3)), RNG.standard_normal((3, 5))


@pytest.mark.parametrize("a", [X, Z, X[0, :3, :3], X[:, :2, :2], X[:, :1, :1], np.eye(5)[[1, 0, 2, 4, 3]]])
def test_square(a):
    check(linalg.inv(a), np.linalg.inv(a))
    check(linalg.det(a), np.linalg.det(a))
    for got, want in zip(linalg.slogdet(a), np.linalg.slogdet(a), strict=True):
        check(got, want)
    b = RNG.standard_normal((*a.shape[:-1], 2))
    check(linalg.solve(a, b), np.linalg.solve(a, b))
    check(linalg.solve(a, b[..., 0].ravel()[: a.shape[-1]]), np.linalg.solve(a, b[..., 0].ravel()[: a.shape[-1]]))
    for p in (None, 2, -2, 1, -1, np.inf, "fro"):
        check(linalg.cond(a, p), np.linalg.cond(a, p))
    check(np.sort_complex(linalg.eigvals(a)), np.sort_complex(np.linalg.eigvals(a).astype(complex)))
    w, v = linalg.eig(a)
    check(a @ np.asarray(v), np.asarray(v) * np.asarray(w)[..., None, :])


def test_hermitian():
    a = Z @ np.conj(Z.swapaxes(-1, -2)) + np.eye(4)
    check(linalg.cholesky(a), np.linalg.cholesky(a))
    check(linalg.cholesky(a, upper=True), np.linalg.cholesky(a).conj().swapaxes(-1, -2))
    check(linalg.eigvalsh(a), np.linalg.eigvalsh(a))
    u, s, vh = linalg.svd(a - 9 * np.eye(4), hermitian=True)
    check(s, np.linalg.svd(a - 9 * np.eye(4), compute_uv=False))
    check((u * s[..., None, :]) @ vh, a - 9 * np.eye(4))


@pytest.mark.parametrize("a", [TALL, WIDE, X[0], np.ones((3, 4)), X])
def test_rectangular(a):
    check(linalg.svdvals(a), np.linalg.svd(a, compute_uv=False))
    check(linalg.pinv(a), np.linalg.pinv(a))
    check(linalg.matrix_rank(a), np.linalg.matrix_rank(a))
    q, r = linalg.qr(a)
    check(q @ r, a)
    assert linalg.qr(a, "complete").Q.shape == np.linalg.qr(a, "complete").Q.shape
    if a.ndim == 2:
        b = RNG.standard_normal((a.shape[0], 2))
        x, residuals, rank, s = linalg.lstsq(a, b)
        want = np.linalg.lstsq(a, b, rcond=None)
        check(x, want[0])
        check(linalg.lstsq(a, b[:, 0])[0], want[0][:, 0])
        assert rank == want[2]
        check(residuals, np.sum((a @ want[0] - b) ** 2, 0))


@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (3, 4), (4, 3)])
def test_modes_of_qr(mode, shape):
    a = RNG.standard_normal(shape)
    for got, want in zip(linalg.qr(a, mode), np.linalg.qr(a, mode), strict=True):
        check(got, want)
    assert linalg.qr(a, "full").R.shape == np.linalg.qr(a).R.shape


@pytest.mark.parametrize("shape", [(2, 1), (2, 2), (1, 2)])
def test_least_squares_with_a_matrix_of_zeros(shape):
    a, b = np.zeros(shape), np.ones((shape[0], 2))
    for got, want in zip(linalg.lstsq(a, b, numpy_resid=True), np.linalg.lstsq(a, b, rcond=None), strict=True):
        check(got, want)


def test_tensors():
    a = RNG.standard_normal((2, 3, 6))
    check(linalg.tensorinv(a), np.linalg.tensorinv(a))
    b = RNG.standard_normal((2, 3))
    check(linalg.tensorsolve(a, b), np.linalg.tensorsolve(a, b))


def test_derivatives():
    a, b = X[0] + 3 * np.eye(4), X[1]
    check_grads(linalg.solve, (a, b), 2, rtol=1e-4, atol=1e-4, eps=1e-5)
    check_grads(linalg.inv, (Z[0] + 3 * np.eye(4),), 1, rtol=1e-4, atol=1e-4, eps=1e-5)
    for function in (linalg.det, lambda x: linalg.slogdet(x).logabsdet):
        check_grads(function, (a,), 2, rtol=1e-4, atol=1e-4, eps=1e-5)
    check_grads(linalg.pinv, (TALL,), 1, rtol=1e-4, atol=1e-4, eps=1e-5)
    check_grads(linalg.pinv, (WIDE,), 1, rtol=1e-4, atol=1e-4, eps=1e-5)


def test_slope_of_the_determinant_of_a_singular_matrix():
    """Of rank 3: the adjugate has rank 1; of rank 2 it vanishes."""
    a = np.diag([1.0, 2.0, 3.0, 0.0])
    check(xt.grad(linalg.det)(a), np.diag([0.0, 0.0, 0.0, 6.0]))
    check(xt.grad(linalg.det)(np.diag([1.0, 2.0, 0.0, 0.0])), np.zeros((4, 4)))


def test_vmap():
    check(xt.vmap(linalg.solve)(X, X[:, :, 0]), np.linalg.solve(X, X[:, :, :1])[..., 0])
    check(xt.vmap(linalg.det)(X), np.linalg.det(X))


def test_refusals():
    with pytest.raises(ValueError, match=r"inv\(\) must have shape \[..., n, n\], got \(5, 3\)"):
        linalg.inv(TALL)
    with pytest.raises(ValueError, match="b must have size 4"):
        linalg.solve(X, TALL)
