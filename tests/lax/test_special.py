"""Incomplete gamma and beta functions and Bessel functions against SciPy in double precision, errors in ulps."""

import numpy as np
import pytest
from scipy import special as reference

import xtrace as xt
from xtrace import lax

RNG = np.random.default_rng(0)
# Shape parameters from tiny to large, and points near the mean, where both expansions are slowest.
A = np.exp(RNG.uniform(-4, 8, 400)).astype(np.float32)
X = (A * np.exp(RNG.uniform(-1, 1, 400) * np.minimum(3, 3 / np.sqrt(A)))).astype(np.float32)
B = np.exp(RNG.uniform(-4, 6, 400)).astype(np.float32)
P = RNG.uniform(0, 1, 400).astype(np.float32)
Z = np.concatenate([np.linspace(-30, 30, 301), np.geomspace(1e-8, 1e30, 50)]).astype(np.float32)

# Function, reference, operands, the largest error in ulps of the result or of 1, whichever is larger: where a
# function is 1 minus another, its error is absolute.
CASES = {
    "bessel_i0e": ("i0e", (Z,), 10, 0.0),
    "bessel_i1e": ("i1e", (Z,), 10, 0.0),
    "igamma": ("gammainc", (A, X), 200, 0.1),
    "igammac": ("gammaincc", (A, X), 200, 0.1),
    "betainc": ("betainc", (A[:200], B[:200], P[:200]), 200, 0.1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_error_in_ulps(name, dtype):
    of_scipy, operands, ulps, floor = CASES[name]
    with xt.enable_x64(dtype == "float64"):
        operands = [x.astype(dtype) for x in operands]
        got = np.asarray(getattr(lax, name)(*operands), np.float64)
    want = getattr(reference, of_scipy)(*[x.astype(np.float64) for x in operands])
    unit = np.spacing(np.maximum(np.abs(want), floor).astype(dtype)).astype(np.float64)
    assert np.max(np.abs(got - want) / unit) < ulps


def test_incomplete_gamma_at_the_edges():
    inf, nan = np.inf, np.nan
    a = np.float32([0, 0, 1, 1, inf, inf, -1, 1, nan, 0])
    x = np.float32([0, 1, 0, inf, 1, inf, 1, -1, 1, inf])
    np.testing.assert_array_equal(lax.igamma(a, x), np.float32([nan, 1, 0, 1, 0, nan, nan, nan, nan, 1]))
    np.testing.assert_array_equal(lax.igammac(a, x), np.float32([nan, 0, 1, 0, 1, nan, nan, nan, nan, 0]))


def test_incomplete_beta_at_the_edges():
    a = np.float32([0, 2, 2, 2, -1, np.inf, 2, 0])
    b = np.float32([2, 0, 2, 2, 2, 2, np.inf, 0])
    x = np.float32([0.5, 0.5, 0, 1, 0.5, 0.5, 0.5, 0.5])
    want = np.float32([1, 0, 0, 1, np.nan, 0, 1, np.nan])
    np.testing.assert_array_equal(lax.betainc(a, b, x), want)


def test_slope_of_incomplete_gamma_by_differences():
    with xt.enable_x64(True):
        a = np.float64([0.1, 0.7, 2, 8, 30, 200])
        x = np.float64([0.3, 0.5, 3, 7, 31, 190])
        h = 1e-4 * a
        p = reference.gammainc
        want = (8 * (p(a + h, x) - p(a - h, x)) - (p(a + 2 * h, x) - p(a - 2 * h, x))) / (12 * h)
        np.testing.assert_allclose(lax.igamma_grad_a(a, x), want, rtol=1e-8, atol=1e-10)
        density = np.exp((a - 1) * np.log(x) - x - reference.gammaln(a))
        np.testing.assert_allclose(lax.random_gamma_grad(a, x), -want / density, rtol=1e-8)


def test_derivatives():
    with xt.enable_x64(True):
        a, b, x = 2.5, 1.5, 0.4
        np.testing.assert_allclose(xt.grad(lax.igamma, 1)(a, x), x ** (a - 1) * np.exp(-x) / reference.gamma(a))
        np.testing.assert_allclose(xt.grad(lax.igammac, 1)(a, x), -(x ** (a - 1)) * np.exp(-x) / reference.gamma(a))
        want = x ** (a - 1) * (1 - x) ** (b - 1) / reference.beta(a, b)
        np.testing.assert_allclose(xt.grad(lax.betainc, 2)(a, b, x), want)
        np.testing.assert_allclose(xt.grad(lax.bessel_i0e)(x), reference.i1e(x) - reference.i0e(x))
        np.testing.assert_allclose(xt.grad(lax.bessel_i1e)(0.0), 0.5)
    with pytest.raises(ValueError, match="derivative of betainc with respect to a"):
        xt.grad(lax.betainc)(2.0, 3.0, 0.5)


def test_half_precision_is_computed_in_single():
    x = np.float16([0.5, 2, 9])
    np.testing.assert_array_equal(
        lax.bessel_i0e(x), np.asarray(lax.bessel_i0e(x.astype(np.float32))).astype(np.float16)
    )


def test_derivative_of_gamma_samples():
    """The mean of gamma(a) is a: the mean slope of its samples is 1."""
    slope = xt.grad(lambda a: xt.random.gamma(xt.random.key(0), a, (20000,)).mean())
    np.testing.assert_allclose(slope(3.0), 1.0, atol=0.02)
    np.testing.assert_allclose(slope(0.3), 1.0, atol=0.05)
