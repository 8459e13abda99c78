"""Shapes of the distributions: Kolmogorov-Smirnov tests against SciPy's, with fixed seeds; counts by chi-squared."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import xtrace as xt
from xtrace import random

N = 4000

CONTINUOUS = {
    "uniform": (lambda k: random.uniform(k, (N,), minval=-1, maxval=3), st.uniform(-1, 4)),
    "normal": (lambda k: random.normal(k, (N,)), st.norm()),
    "normal raw key": (lambda k: random.normal(random.key_data(k), (N,)), st.norm()),
    "normal rbg": (lambda k: random.normal(random.key(3, impl="rbg"), (N,)), st.norm()),
    "truncated_normal": (lambda k: random.truncated_normal(k, -1.0, 2.0, (N,)), st.truncnorm(-1, 2)),
    "exponential": (lambda k: random.exponential(k, (N,)), st.expon()),
    "laplace": (lambda k: random.laplace(k, (N,)), st.laplace()),
    "logistic": (lambda k: random.logistic(k, (N,)), st.logistic()),
    "cauchy": (lambda k: random.cauchy(k, (N,)), st.cauchy()),
    "gumbel": (lambda k: random.gumbel(k, (N,)), st.gumbel_r()),
    "gumbel high": (lambda k: random.gumbel(k, (N,), mode="high"), st.gumbel_r()),
    "maxwell": (lambda k: random.maxwell(k, (N,)), st.maxwell()),
    "double_sided_maxwell": (lambda k: abs(random.double_sided_maxwell(k, 0.0, 2.0, (N,))), st.maxwell(scale=2)),
    "lognormal": (lambda k: random.lognormal(k, 0.5, (N,)), st.lognorm(0.5)),
    "pareto": (lambda k: random.pareto(k, 2.0, (N,)), st.pareto(2)),
    "rayleigh": (lambda k: random.rayleigh(k, 2.0, (N,)), st.rayleigh(scale=2)),
    "weibull_min": (lambda k: random.weibull_min(k, 2.0, 1.5, (N,)), st.weibull_min(1.5, scale=2)),
    "wald": (lambda k: random.wald(k, 2.0, (N,)), st.invgauss(2.0)),
    "triangular": (lambda k: random.triangular(k, 0.0, 0.5, 2.0, (N,)), st.triang(0.25, scale=2)),
    "gamma": (lambda k: random.gamma(k, 2.5, (N,)), st.gamma(2.5)),
    "gamma small": (lambda k: random.gamma(k, 0.3, (N,)), st.gamma(0.3)),
    "gamma approximate": (lambda k: random.gamma(k, 1.5, (N,), method="approximate"), st.gamma(1.5)),
    "loggamma": (lambda k: random.loggamma(k, 0.5, (N,)), st.loggamma(0.5)),
    "beta": (lambda k: random.beta(k, 2.0, 0.5, (N,)), st.beta(2, 0.5)),
    "chisquare": (lambda k: random.chisquare(k, 3.0, (N,)), st.chi2(3)),
    "t": (lambda k: random.t(k, 4.0, (N,)), st.t(4)),
    "f": (lambda k: random.f(k, 3.0, 5.0, (N,)), st.f(3, 5)),
    "dirichlet": (lambda k: random.dirichlet(k, np.array([1.0, 2, 3], np.float32), (N,))[:, 0], st.beta(1, 5)),
    "generalized_normal": (lambda k: random.generalized_normal(k, 1.5, (N,)), st.gennorm(1.5)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_distribution_function(name):
    draw, distribution = CONTINUOUS[name]
    samples = np.asarray(draw(random.key(17)), np.float64)
    assert st.kstest(samples, distribution.cdf).pvalue > 0.01


DISCRETE = {
    "randint": (lambda k: random.randint(k, (N,), 0, 10), st.randint(0, 10)),
    "bernoulli": (lambda k: random.bernoulli(k, 0.3, (N,)), st.bernoulli(0.3)),
    "geometric": (lambda k: random.geometric(k, 0.3, (N,)), st.geom(0.3)),
    "choice": (lambda k: random.choice(k, 10, (N,)), st.randint(0, 10)),
    "poisson": (lambda k: random.poisson(k, 3.0, (N,)), st.poisson(3)),
    "poisson large": (lambda k: random.poisson(k, 30.0, (N,)), st.poisson(30)),
    "poisson approximate": (lambda k: random.poisson(k, 3.0, (N,), method="approximate"), st.poisson(3)),
    "poisson large approximate": (lambda k: random.poisson(k, 30.0, (N,), method="approximate"), st.poisson(30)),
    "binomial": (lambda k: random.binomial(k, 10.0, 0.3, (N,)), st.binom(10, 0.3)),
    "binomial large": (lambda k: random.binomial(k, 100.0, 0.7, (N,)), st.binom(100, 0.7)),
    "multinomial": (
        lambda k: random.multinomial(k, 20, np.array([0.2, 0.5, 0.3], np.float32), shape=(N,))[:, 1],
        st.binom(20, 0.5),
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_frequencies(name):
    draw, distribution = DISCRETE[name]
    samples = np.asarray(draw(random.key(17))).astype(int)
    low, high = int(distribution.ppf(0.01)), int(distribution.ppf(0.99))
    edges = np.arange(low, high + 1)
    observed = [np.sum(samples < low), *[np.sum(samples == k) for k in edges], np.sum(samples > high)]
    expected = np.array([distribution.cdf(low - 1), *distribution.pmf(edges), distribution.sf(high)]) * N
    kept = expected > 0
    assert sum(np.asarray(observed)[~kept]) == 0
    assert st.chisquare(np.asarray(observed)[kept], expected[kept]).pvalue > 0.01


def test_categorical_frequencies():
    p = np.array([0.1, 0.2, 0.7])
    drawn = np.asarray(random.categorical(random.key(0), np.log(p).astype(np.float32), shape=(N,)))
    assert st.chisquare(np.bincount(drawn, minlength=3), p * N).pvalue > 0.01
    first = np.asarray(xt.vmap(lambda k: random.choice(k, 3, (2,), replace=False, p=p))(random.split(random.key(1), N)))
    assert st.chisquare(np.bincount(first[:, 0], minlength=3), p * N).pvalue > 0.01
    assert (first[:, 0] != first[:, 1]).all()


def test_permutations_are_uniform():
    drawn = np.asarray(xt.vmap(lambda k: random.permutation(k, 3))(random.split(random.key(2), 6000)))
    codes = drawn @ np.array([9, 3, 1])
    assert st.chisquare(np.unique(codes, return_counts=True)[1]).pvalue > 0.01


def test_points_of_balls_and_complex_normals():
    points = np.asarray(random.ball(random.key(0), 3, 2, (N,)))
    radii = np.linalg.norm(points, axis=-1)
    assert st.kstest(radii**3, "uniform").pvalue > 0.01
    z = np.asarray(random.normal(random.key(1), (N,), "complex64"))
    assert abs((abs(z) ** 2).mean() - 1) < 0.05 and abs((z**2).mean()) < 0.05


def test_gamma_slopes():
    """The derivative of a sample with respect to its parameter, at a fixed quantile."""
    for a in (0.5, 3.0):
        key = random.key(5)
        x = float(random.gamma(key, np.float32(a)))
        q, h = st.gamma(a).cdf(x), 1e-4
        slope = (st.gamma(a + h).ppf(q) - st.gamma(a - h).ppf(q)) / (2 * h)
        np.testing.assert_allclose(xt.grad(lambda a, k=key: random.gamma(k, a))(np.float32(a)), slope, rtol=1e-2)


@pytest.mark.skipif(not hasattr(xt.numpy.linalg, "cholesky"), reason="there is no Cholesky decomposition yet")
def test_normal_vectors():
    mean, cov = np.array([1.0, -2.0], np.float32), np.array([[2.0, 0.5], [0.5, 1.0]], np.float32)
    for method in ("cholesky", "eigh", "svd"):
        x = np.asarray(random.multivariate_normal(random.key(0), mean, cov, (N,), method=method))
        np.testing.assert_allclose(x.mean(0), mean, atol=0.1)
        np.testing.assert_allclose(np.cov(x.T), cov, atol=0.15)
    with pytest.raises(ValueError, match=r"cov.shape == \(3, 3\)"):
        random.multivariate_normal(random.key(0), mean, np.eye(3))


@pytest.mark.skipif(not hasattr(xt.numpy.linalg, "qr"), reason="there is no QR decomposition yet")
def test_orthogonal_matrices():
    for n, m in ((3, 3), (5, 3), (3, 5)):
        q = np.asarray(random.orthogonal(random.key(0), n, (4,), m=m), np.float64)
        assert q.shape == (4, n, m)
        small = q @ q.transpose(0, 2, 1) if n <= m else q.transpose(0, 2, 1) @ q
        np.testing.assert_allclose(small, np.broadcast_to(np.eye(min(n, m)), small.shape), atol=1e-5)
