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
    for given in (a, lambda x: xt.numpy.matmul(a, x)):
        np.testing.assert_allclose(solve(given, B + 0 * a[0], tol=1e-13)[0], want, rtol=1e-8)
    inverse = np.linalg.inv(a)
    np.testing.assert_allclose(solve(a, B + 0 * a[0], M=inverse, tol=1e-13, maxiter=3)[0], want, rtol=1e-8)
    if not complex_:
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
