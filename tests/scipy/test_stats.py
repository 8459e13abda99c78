"""Distributions against SciPy in double precision, at the edges of their support, and their derivatives."""

import functools
import inspect

import numpy as np
import pytest
from scipy import stats as reference

import xtrace as xt
from xtrace.scipy import stats

X = np.array([-np.inf, -30.0, -3.0, -1.0, -0.25, 0.0, 0.125, 0.5, 0.75, 1.0, 1.5, 3.0, 7.25, 40.0, np.inf, np.nan])
K = np.array([-np.inf, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 17.0, np.inf, np.nan])
Q = np.array([-0.5, 0.0, 1e-12, 0.1, 0.25, 0.5, 0.625, 0.9, 1 - 1e-10, 1.0, 1.5, np.nan])

#: Distribution -> shape parameters to try; the last ones are not valid.
PARAMETERS = {
    "bernoulli": [(0.25,), (0.0,), (1.0,), (-0.5,)],
    "beta": [(2.0, 3.0), (1.0, 1.0), (0.5, 0.75), (40.0, 60.0), (-1.0, 2.0)],
    "betabinom": [(4, 2.0, 3.0), (0, 1.0, 2.0), (5, 0.5, 0.5), (4, -1.0, 2.0)],
    "binom": [(4, 0.25), (0, 0.5), (5, 0.0), (5, 1.0), (500, 0.01), (4, 1.5)],
    "cauchy": [()],
    "chi2": [(3.0,), (2.0,), (0.5,), (-1.0,)],
    "expon": [()],
    "gamma": [(2.0,), (1.0,), (0.5,), (20.0,), (-1.0,)],
    "gennorm": [(1.5,), (1.0,), (2.0,), (-1.0,)],
    "geom": [(0.25,), (1.0,), (1.5,)],
    "gumbel_l": [()],
    "gumbel_r": [()],
    "laplace": [()],
    "logistic": [()],
    "nbinom": [(4, 0.25), (0.5, 0.75), (3, 1.0), (4, -0.5)],
    "norm": [()],
    "pareto": [(2.0,), (0.5,), (-1.0,)],
    "poisson": [(2.0,), (0.0,), (30.0,), (-1.0,)],
    "t": [(3.0,), (1.0,), (1e8,), (np.inf,), (-1.0,)],
    "truncnorm": [(-1.0, 2.0), (0.5, 3.0), (-3.0, -0.25), (-np.inf, 1.0), (0.0, np.inf), (5.0, 8.0), (2.0, 1.0)],
    "uniform": [()],
    "vonmises": [(2.0,), (0.0,), (300.0,), (-1.0,)],
    "wrapcauchy": [(0.25,), (0.9,), (1.5,)],
}
DISCRETE = ("bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson")
CASES = [
    (name, function)
    for name in PARAMETERS
    for function in getattr(stats, name).__all__
    if function != "entropy"
]  # fmt: skip


@pytest.fixture(autouse=True)
def double():
    with xt.enable_x64(True):
        yield


def _points(name, function):
    if name == "bernoulli" and function == "ppf":
        return Q[(Q != 0) & (Q != 1)]  # at the ends SciPy has the conventions of all its discrete distributions
    if function in ("ppf", "isf"):
        return Q
    return K if name in DISCRETE else X


@pytest.mark.parametrize("name, function", CASES)
def test_values(name, function):
    ours, theirs = getattr(getattr(stats, name), function), getattr(getattr(reference, name), function)
    x = _points(name, function)
    for parameters in PARAMETERS[name]:
        settings = {}
        if "loc" in inspect.signature(ours).parameters:
            settings["loc"] = 1.0
        if "scale" in inspect.signature(ours).parameters:
            settings["scale"] = 2.0
        for setting in [dict.fromkeys(settings, 0.0) | ({"scale": 1.0} if "scale" in settings else {}), settings]:
            out = np.asarray(ours(x, *parameters, **setting))
            with np.errstate(all="ignore"):
                expected = theirs(x, *parameters, **setting)
            assert out.dtype == np.float64
            # Of densities at infinity SciPy's formulas may be nan. Logarithms near 0 come from integrals near 1.
            known = ~(np.isinf(x) & np.isnan(expected)) if function.endswith(("pdf", "pmf")) else np.full(x.shape, True)
            tolerance = 1e-14 if function.startswith("log") else 1e-300
            out, expected = out[known], expected[known]
            np.testing.assert_allclose(out, expected, rtol=2e-10, atol=tolerance, err_msg=f"{parameters} {setting}")


@pytest.mark.parametrize("name, function", CASES)
def test_gradients_are_differences_and_finite(name, function):
    """With respect to the point inside the support, and to the parameters on both sides of its edges."""
    ours = getattr(getattr(stats, name), function)
    parameters = PARAMETERS[name][0]
    interior = np.array([0.3, 0.7]) if function in ("ppf", "isf") else np.array([1.25, 1.75])
    if name in ("beta", "uniform"):
        interior = np.array([0.3, 0.7])
    if name not in DISCRETE:
        slope = xt.vmap(xt.grad(functools.partial(_at, ours, parameters)))(interior)
        step = 1e-6
        expected = (ours(interior + step, *parameters) - ours(interior - step, *parameters)) / (2 * step)
        np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-8)
    x = _points(name, function)
    x = x[np.isfinite(x)]
    if function in ("ppf", "isf"):
        x = x[(x > 0) & (x < 1)]
    elif name not in DISCRETE:
        x = x[(x != 0) & (x != 1)]  # at the ends of a support logarithms are infinite
    if name == "beta" and "pdf" not in function:
        return  # betainc has no derivatives by a and b

    def total(scaled):
        return xt.numpy.sum(ours(x, *(scaled * p if isinstance(p, float) else p for p in parameters)))

    assert np.isfinite(xt.grad(total)(1.0))


def _at(function, parameters, x):
    return function(x, *parameters)


@pytest.mark.parametrize("name", ["norm", "gamma", "beta", "cauchy"])
def test_promotion_and_broadcasting(name):
    with xt.enable_x64(False):
        logpdf = getattr(stats, name).logpdf
        parameters = PARAMETERS[name][0]
        assert logpdf(1, *map(int, parameters)).dtype == np.float32
        x = xt.numpy.asarray([0.25, 0.5], "bfloat16")
        assert logpdf(x, *parameters).dtype == x.dtype
        out = logpdf(np.ones((2, 1), np.float32) / 2, *parameters, loc=np.zeros(3, np.int32), scale=2)
        assert out.shape == (2, 3) and out.dtype == np.float32
        with pytest.raises(ValueError, match=f"{name}.logpdf does not support complex"):
            logpdf(1j, *parameters)
        with pytest.raises(TypeError, match="location"):
            logpdf(0.5, *parameters, location=1)


@pytest.mark.parametrize("name", ["norm", "expon", "binom"])
def test_scale_and_parameters_out_of_range_are_nan(name):
    if name == "binom":
        assert np.isnan(stats.binom.pmf(1, 2.5, 0.5))
    else:
        assert np.isnan(getattr(stats, name).cdf(1.0, 0.0, -1.0))
    assert xt.jit(getattr(stats, name).__getattribute__("pmf" if name == "binom" else "pdf"))(
        *((1, 2, 0.5) if name == "binom" else (0.5,))
    ) == pytest.approx(
        getattr(reference, name).pmf(1, 2, 0.5) if name == "binom" else getattr(reference, name).pdf(0.5)
    )


def test_poisson_entropy():
    mu = np.array([0.0, 1e-8, 0.01, 0.5, 2.0, 9.0, 15.0, 49.9, 50.0, 99.0, 100.0, 500.0])
    np.testing.assert_allclose(stats.poisson.entropy(mu), reference.poisson.entropy(mu), rtol=1e-8, atol=1e-12)
    assert np.isnan(stats.poisson.entropy(-1.0))
    assert stats.poisson.entropy(mu, np.zeros((2, 1))).shape == (2, 12)
    assert np.isfinite(xt.vmap(xt.grad(stats.poisson.entropy))(mu[1:])).all()


def test_dirichlet():
    alpha = np.array([0.5, 2.0, 3.0])
    x = np.array([[0.2, 0.5], [0.3, 0.25], [0.5, 0.25]])
    for function in ("logpdf", "pdf"):
        ours, theirs = getattr(stats.dirichlet, function), getattr(reference.dirichlet, function)
        np.testing.assert_allclose(ours(x, alpha), theirs(x, alpha), rtol=1e-12)
        np.testing.assert_allclose(ours(x[:2], alpha), theirs(x[:2], alpha), rtol=1e-12)
    assert stats.dirichlet.logpdf(np.array([0.9, 0.3, 0.1]), alpha) == -np.inf
    assert np.isfinite(xt.grad(stats.dirichlet.logpdf, 1)(x[:, 0], alpha)).all()
    with pytest.raises(ValueError, match="alpha must have one dimension"):
        stats.dirichlet.logpdf(x, x)
    with pytest.raises(ValueError, match="first axis of x"):
        stats.dirichlet.logpdf(x[:1], alpha)


def test_multinomial():
    x, p = np.array([[1, 2, 0], [0, 0, 3], [1, 1, 2]]), np.array([0.2, 0.5, 0.3])
    for function in ("logpmf", "pmf"):
        expected = getattr(reference.multinomial, function)(x, 3, p)
        np.testing.assert_allclose(getattr(stats.multinomial, function)(x, 3, p), expected, rtol=1e-12)
    assert np.isfinite(xt.grad(stats.multinomial.logpmf, 2)(x[0], 3, p)).all()
    with pytest.raises(ValueError, match="x must be of integer dtype"):
        stats.multinomial.logpmf(x * 1.0, 3, p)


def test_multivariate_normal():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(4, 3, 5))
    cov, mean, x = factor @ factor.transpose(0, 2, 1), rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    expected = [reference.multivariate_normal.logpdf(*args) for args in zip(x, mean, cov)]
    logpdf = stats.multivariate_normal.logpdf
    np.testing.assert_allclose(logpdf(x, mean, cov), expected, rtol=1e-10)
    np.testing.assert_allclose(xt.vmap(logpdf)(x, mean, cov), expected, rtol=1e-10)
    theirs = reference.multivariate_normal
    np.testing.assert_allclose(logpdf(x, mean[0], cov[0]), theirs.logpdf(x, mean[0], cov[0]), rtol=1e-10)
    np.testing.assert_allclose(
        stats.multivariate_normal.pdf(x[0], mean[0], cov), [theirs.pdf(x[0], mean[0], c) for c in cov], rtol=1e-9
    )
    np.testing.assert_allclose(logpdf(x, mean[0], 2.0), theirs.logpdf(x, mean[0], 2.0 * np.eye(3)), rtol=1e-10)
    np.testing.assert_allclose(logpdf(x[0], 0.5, 2.0), reference.norm.logpdf(x[0], 0.5, np.sqrt(2)), rtol=1e-10)
    assert np.isfinite(xt.grad(lambda c: logpdf(x[0], mean[0], c))(cov[0])).all()
    with pytest.raises(ValueError, match="incompatible shapes"):
        logpdf(x, mean, cov[:, :2])
    with pytest.raises(NotImplementedError, match="allow_singular"):
        logpdf(x[0], mean[0], cov[0], True)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [True, False])
def test_mode(axis, keepdims):
    a = np.random.default_rng(1).integers(0, 4, (5, 6)).astype(float)
    out, expected = stats.mode(a, axis, keepdims=keepdims), reference.mode(a, axis, keepdims=keepdims)
    np.testing.assert_array_equal(out.mode, np.reshape(expected.mode, out.mode.shape))
    np.testing.assert_array_equal(out.count, np.reshape(expected.count, out.count.shape))


def test_mode_of_nans_and_nothing():
    out = stats.mode(np.array([1.0, np.nan, np.nan]))
    assert np.isnan(out.mode) and out.count == 2
    empty = stats.mode(np.zeros((0, 3)))
    assert np.isnan(empty.mode).all() and empty.count.tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="nan_policy"):
        stats.mode(np.zeros(3), nan_policy="drop")
    with pytest.raises(NotImplementedError, match="omit"):
        stats.mode(np.zeros(3), nan_policy="omit")


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_rankdata(method, axis):
    a = np.random.default_rng(2).integers(0, 4, (5, 6)).astype(float)
    a[0, 0] = np.nan
    out = stats.rankdata(a, method, axis=axis)
    np.testing.assert_array_equal(out, reference.rankdata(a, method, axis=axis))
    whole = stats.rankdata(a[1:], method, axis=axis)
    np.testing.assert_array_equal(whole, reference.rankdata(a[1:], method, axis=axis))


def test_rankdata_rejects_other_methods():
    with pytest.raises(ValueError, match="unknown method 'mean'"):
        stats.rankdata(np.zeros(3), "mean")


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("nan_policy", ["propagate", "omit"])
def test_sem(axis, nan_policy):
    a = np.random.default_rng(3).normal(size=(5, 6))
    if nan_policy == "omit":
        a[0, 0] = np.nan
    for ddof in (0, 2):
        out = stats.sem(a, axis, ddof, nan_policy, keepdims=True)
        np.testing.assert_allclose(out, reference.sem(a, axis, ddof, nan_policy, keepdims=True), rtol=1e-12)
    with pytest.raises(ValueError, match="nan_policy"):
        stats.sem(a, nan_policy="raise")


@pytest.mark.parametrize(
    "method, d", [(None, 1), ("scott", 3), ("silverman", 1), (1.5, 3), (lambda kde: kde.neff**-1.0 / (kde.d + 4), 3)]
)
def test_gaussian_kde(method, d):
    rng = np.random.default_rng(4)
    data, points, weights = rng.normal(size=(d, 15)), rng.normal(size=(d, 4)), rng.uniform(size=15)
    ours = stats.gaussian_kde(data, method, weights)
    theirs = reference.gaussian_kde(data, method, weights)
    for function in ("evaluate", "pdf", "logpdf", "__call__"):
        np.testing.assert_allclose(getattr(ours, function)(points), getattr(theirs, function)(points), rtol=1e-9)
    mean, cov = np.zeros(d), np.eye(d)
    np.testing.assert_allclose(ours.integrate_gaussian(mean, cov), theirs.integrate_gaussian(mean, cov), rtol=1e-10)
    other = (data[:, :-3] + 0.1, method, weights[:-3])
    expected = theirs.integrate_kde(reference.gaussian_kde(*other))
    np.testing.assert_allclose(ours.integrate_kde(stats.gaussian_kde(*other)), expected, rtol=1e-10)
    if d == 1:
        np.testing.assert_allclose(ours.integrate_box_1d(-0.5, 1.5), theirs.integrate_box_1d(-0.5, 1.5), rtol=1e-10)
    np.testing.assert_allclose(xt.jit(lambda kde, x: kde(x))(ours, points), theirs(points), rtol=1e-9)


def test_gaussian_kde_samples_and_errors():
    kde = stats.gaussian_kde(np.random.default_rng(5).normal(size=(2, 30)))
    sample = kde.resample(xt.random.key(0), (4000,))
    assert sample.shape == (2, 4000) and kde.resample(xt.random.key(0)).shape == (2,)
    np.testing.assert_allclose(np.mean(sample, 1), np.mean(kde.dataset, 1), atol=0.1)
    with pytest.raises(ValueError, match="multiple elements"):
        stats.gaussian_kde(np.ones(1))
    with pytest.raises(ValueError, match="bw_method"):
        stats.gaussian_kde(np.ones(3), "wide")
    with pytest.raises(ValueError, match="dimension 3"):
        kde(np.ones((3, 4)))
    with pytest.raises(ValueError, match="1D"):
        kde.integrate_box_1d(0, 1)
    with pytest.raises(AttributeError, match="cannot be changed"):
        kde.neff = 3
