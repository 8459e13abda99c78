"""Decompositions and solvers under SciPy's names, against SciPy."""

import numpy as np
import pytest
import scipy.linalg as reference

import xtrace as xt
from xtrace.scipy import linalg

RNG = np.random.default_rng(0)
A = RNG.standard_normal((4, 4)) + 1j * RNG.standard_normal((4, 4))
B = RNG.standard_normal((4, 2))
POSITIVE = A @ A.conj().T + np.eye(4)


@pytest.fixture(autouse=True)
def wide():
    with xt.enable_x64(True):
        yield


@pytest.mark.parametrize("b", [B, B[:, 0]])
@pytest.mark.parametrize("a", [A, A.real])
def test_solvers(a, b):
    positive = a @ a.conj().T + np.eye(4)
    np.testing.assert_allclose(linalg.solve(a, b), reference.solve(a, b))
    for lower in (False, True):
        np.testing.assert_allclose(linalg.solve(positive, b, lower, assume_a="pos"), reference.solve(positive, b))
        np.testing.assert_allclose(
            linalg.cho_solve(linalg.cho_factor(positive, lower), b), reference.solve(positive, b)
        )
    for trans in (0, 1, 2):
        want = reference.lu_solve(reference.lu_factor(a), b, trans)
        np.testing.assert_allclose(linalg.lu_solve(linalg.lu_factor(a), b, trans), want)
        want = reference.solve_triangular(a, b, trans, True)
        np.testing.assert_allclose(linalg.solve_triangular(a, b, trans, True), want)


def test_factors():
    np.testing.assert_allclose(linalg.cholesky(POSITIVE), reference.cholesky(POSITIVE), atol=1e-12)
    np.testing.assert_allclose(linalg.svd(A, compute_uv=False), reference.svdvals(A))
    np.testing.assert_allclose(linalg.det(A), reference.det(A))
    np.testing.assert_allclose(linalg.inv(A), reference.inv(A))
    t, z = (np.asarray(x) for x in linalg.schur(A.real, "complex"))
    np.testing.assert_allclose(z @ t @ z.conj().T, A.real, atol=1e-12)
    np.testing.assert_allclose(np.tril(t, -1), 0, atol=1e-12)
