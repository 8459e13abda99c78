"""Minima, against SciPy and mathematics."""

import numpy as np
import pytest
import scipy.optimize as reference

import xtrace as xt
from xtrace.scipy.optimize import minimize


@pytest.fixture(autouse=True)
def wide():
    with xt.enable_x64(True):
        yield


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


@pytest.mark.parametrize(
    ("fun", "x0"), [(rosenbrock, [-1.2, 1.0]), (rosenbrock, [1.3, 0.7, 0.8, 1.9]), (himmelblau, [1.0, 1.0])]
)
def test_finds_the_minimum_of_scipy(fun, x0):
    x0 = np.array(x0)
    want = reference.minimize(fun, x0, method="BFGS")
    got = xt.jit(lambda x: minimize(fun, x, method="BFGS"))(x0)
    assert bool(got.success) and int(got.status) == 0
    np.testing.assert_allclose(got.x, want.x, atol=1e-4)
    np.testing.assert_allclose(got.fun, fun(np.asarray(got.x)), atol=1e-14)
    assert np.abs(got.jac).max() < 1e-5
    assert int(got.nfev) == int(got.njev) >= int(got.nit)
    assert int(got.nfev) <= 2 * want.nfev


LIMITED = "l-bfgs-experimental-do-not-rely-on-this"


@pytest.mark.parametrize(("fun", "x0"), [(rosenbrock, [-1.2, 1.0, 2.0, 0.5]), (himmelblau, [1.0, 1.0])])
def test_limited_memory_finds_the_minimum_of_scipy(fun, x0):
    x0 = np.array(x0)
    want = reference.minimize(fun, x0, method="L-BFGS-B", options={"ftol": 0})
    got = xt.jit(lambda x: minimize(fun, x, method=LIMITED, tol=1e-6, options={"ftol": 0}))(x0)
    assert (bool(got.success), int(got.status)) == (True, 0) and got.hess_inv is None
    np.testing.assert_allclose(got.x, want.x, atol=1e-5)
    assert np.abs(got.jac).max() < 1e-6 and int(got.nfev) == int(got.njev) <= 2 * want.nfev


def test_limited_memory_on_complex_vectors():
    at, weights = np.array([1 + 2j, -1j, 0.5]), np.array([1.0, 10.0, 3.0])
    distance = lambda z: (abs(z - at) ** 2 * weights).sum()  # noqa: E731
    got = minimize(distance, np.zeros(3, complex), method=LIMITED)
    assert bool(got.success)
    np.testing.assert_allclose(got.x, at, atol=1e-5)
    with pytest.raises(TypeError, match="BFGS takes real x0, got complex128"):
        minimize(distance, np.zeros(3, complex), method="BFGS")


def test_how_limited_memory_ends():
    @xt.jit
    def status(options):
        found = minimize(rosenbrock, np.zeros(4), method=LIMITED, options={"maxls": 9, **options})
        return found.status, found.success

    none = {"maxiter": 99, "maxfun": 99, "maxgrad": 99, "ftol": 0.0}
    for option, value, expected in ("maxiter", 3, 1), ("maxfun", 3, 2), ("maxgrad", 3, 3), ("ftol", 1.0, 4):
        assert status({**none, option: value}) == (expected, False)
    assert minimize(lambda x: x.sum(), np.zeros(2), method=LIMITED, options={"maxls": 3}).status == 5


def test_inverse_hessian_of_a_quadratic():
    a = np.array([[3.0, 1.0], [1.0, 2.0]])
    got = minimize(lambda x, b: x @ a @ x / 2 - b @ x, np.zeros(2), (np.array([1.0, -1.0]),), method="bfgs", tol=1e-10)
    np.testing.assert_allclose(got.x, np.linalg.solve(a, [1.0, -1.0]), atol=1e-9)
    np.testing.assert_allclose(got.hess_inv, np.linalg.inv(a), rtol=0.2, atol=0.05)


def test_how_it_ends():
    few = minimize(rosenbrock, np.array([-1.2, 1.0]), method="BFGS", options={"maxiter": 3})
    assert (bool(few.success), int(few.status), int(few.nit)) == (False, 1, 3)
    unbounded = minimize(lambda x: x.sum(), np.zeros(2), method="BFGS")
    assert (bool(unbounded.success), int(unbounded.status)) == (False, 5)
    assert int(minimize(lambda x: (x * np.nan).sum(), np.zeros(2), method="BFGS").status) == -1
    there = minimize(lambda x: (x * x).sum(), np.zeros(2), method="BFGS")
    assert (bool(there.success), int(there.nit)) == (True, 0)


def test_wrong_arguments():
    square = lambda x: (x * x).sum()  # noqa: E731
    with pytest.raises(ValueError, match="Method Newton not recognized"):
        minimize(square, np.ones(2), method="Newton")
    with pytest.raises(TypeError, match="args must be a tuple"):
        minimize(square, np.ones(2), 1.0, method="BFGS")
    with pytest.raises(ValueError, match="x0 must be a vector"):
        minimize(square, np.ones((2, 2)), method="BFGS")
    with pytest.raises(TypeError, match="unknown options"):
        minimize(square, np.ones(2), method="BFGS", options={"xtol": 1})
