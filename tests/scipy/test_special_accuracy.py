"""The error of the special functions in units in the last place of float64, against SciPy.

The bounds are what was found on these ranges, rounded up; near a root of a function its error is relative to nothing.
"""

import numpy as np
import pytest
from scipy import special as reference

import xtrace as xt
from xtrace.scipy import special

INTEGERS = "integers"
#: Function -> (ranges of the arguments, most ulps, median ulps).
TABLE = {
    "gamma": ([(-20, 170)], 100, 2),
    "factorial": ([(0, 170, INTEGERS)], 20, 2),
    "comb": ([(0, 60, INTEGERS), (0, 60, INTEGERS)], 20, 1),
    "beta": ([(0.1, 60), (0.1, 60)], 60, 6),
    "erfcx": ([(-5, 50)], 50, 2),
    "dawsn": ([(-20, 20)], 40, 2),
    "erfcinv": ([(0, 2)], 20, 2),
    "ndtri": ([(0, 1)], 20, 2),
    "ndtr": ([(-37, 8)], 2500, 100),  # of SciPy: against 40 digits ours are within 4
    "log_ndtr": ([(-50, 8)], 30, 2),
    "owens_t": ([(-8, 8), (-4, 4)], 1500, 10),
    "exp1": ([(0, 50)], 20, 2),
    "expi": ([(-20, 100)], 500, 5),
    "expn": ([(0, 20, INTEGERS), (0, 20)], 150, 16),
    "spence": ([(0, 20)], 60, 2),
    "boxcox": ([(0.1, 5), (-2, 2)], 20, 2),
    "boxcox1p": ([(-0.5, 5), (-2, 2)], 400, 2),  # the log1p of older jaxlib near -0.41
    "hyp1f1": ([(0.5, 30), (0.5, 30), (0, 30)], 400, 10),
    "hyp2f1": ([(0.1, 2), (0.1, 2), (0.1, 4), (-2, 1)], 3000, 10),
    "poch": ([(0.1, 50), (0.1, 50)], 3000, 100),
    "multigammaln": ([(3, 20)], 60, 2),
}


@pytest.mark.parametrize("name", TABLE)
def test_ulps(name):
    ranges, most, median = TABLE[name]
    rng = np.random.default_rng(0)
    args = [rng.uniform(r[0], r[1], 1000) for r in ranges]
    args = [np.floor(x) if r[2:] else x for x, r in zip(args, ranges)]
    if name == "multigammaln":
        args.append(3)
    with xt.enable_x64(True):
        found = np.asarray(getattr(special, name)(*args))
    expected = np.asarray(getattr(reference, name)(*args))
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    fine = np.isfinite(expected)
    ulps = np.abs(found - expected)[fine] / np.spacing(np.abs(expected[fine]))
    assert ulps.max() <= most
    assert np.median(ulps) <= median


@pytest.mark.parametrize("name", ["sici", "fresnel"])
def test_pairs(name):
    x = np.random.default_rng(1).uniform(-60, 60, 1000)
    with xt.enable_x64(True):
        found = getattr(special, name)(x)
    for one, other in zip(found, getattr(reference, name)(x)):
        np.testing.assert_allclose(one, other, rtol=0, atol=4e-15)


@pytest.mark.parametrize("name", ["wofz", "erfcx", "gamma", "loggamma"])
def test_complex(name):
    rng = np.random.default_rng(2)
    z = rng.uniform(-9, 9, 1000) + 1j * rng.uniform(-9, 9, 1000)
    with xt.enable_x64(True):
        found = np.asarray(getattr(special, name)(z))
    np.testing.assert_allclose(found, getattr(reference, name)(z), rtol=2e-13)


def test_orders_of_bessel_functions_and_harmonics():
    z = np.concatenate([np.linspace(-100, 100, 401), 10.0 ** -np.arange(1, 9)])
    n, m = np.arange(9)[:, None, None], np.arange(-8, 9)[:, None]
    theta = np.linspace(-2, 3, 7)
    with xt.enable_x64(True):
        found = special.bessel_jn(z, v=12)
        harmonics = special.sph_harm_y(n, m, theta, 0.7)
    np.testing.assert_allclose(found, [reference.jv(k, z) for k in range(13)], rtol=0, atol=1e-14)
    np.testing.assert_allclose(harmonics, reference.sph_harm_y(n, m, theta, 0.7), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "name, points",
    [
        ("gamma", [0.0, -0.0, -1.0, np.inf, -np.inf, np.nan]),
        ("gammasgn", [0.0, -0.0, -1.0, -0.5, -1.5, np.inf, -np.inf, np.nan]),
        ("ndtri", [0.0, 1.0, -1.0, 2.0, np.nan]),
        ("erfcinv", [0.0, 2.0, -1.0, 3.0, np.nan]),
        ("erfcx", [0.0, np.inf, -np.inf, np.nan]),
        ("dawsn", [0.0, np.inf, -np.inf, np.nan]),
        ("exp1", [0.0, -1.0, np.inf, np.nan]),
        ("expi", [0.0, np.inf, np.nan]),
        ("spence", [0.0, 1.0, -1.0, np.nan]),
        ("log_ndtr", [np.inf, -1e6, 0.0, np.nan]),
        ("ndtr", [np.inf, -np.inf, np.nan]),
    ],
)
def test_edges(name, points):
    with xt.enable_x64(True):
        found = getattr(special, name)(np.array(points))
    np.testing.assert_allclose(found, getattr(reference, name)(np.array(points)), rtol=1e-13)


DERIVATIVES = {
    "gamma": (2.5,), "beta": (2.0, 3.5), "betaln": (2.0, 3.5), "poch": (2.0, 1.5), "loggamma": (2.5,), "erfcx": (0.7,),
    "dawsn": (0.7,), "erfcinv": (0.7,), "ndtr": (0.7,), "ndtri": (0.7,), "log_ndtr": (-3.0,), "owens_t": (0.7, 0.4),
    "exp1": (0.7,), "expi": (0.7,), "spence": (0.7,), "boxcox": (2.0, 0.3), "boxcox1p": (1.0, 0.3),
    "hyp1f1": (1.5, 2.5, 0.7), "hyp2f1": (0.5, 0.6, 0.7, 0.3),
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    point, step = DERIVATIVES[name], 1e-6
    function = getattr(special, name)
    with xt.enable_x64(True):
        found = [float(g) for g in xt.grad(function, tuple(range(len(point))))(*point)]
        for i, slope in enumerate(found):
            up, down = [[x + d * (j == i) for j, x in enumerate(point)] for d in (step, -step)]
            assert slope == pytest.approx(float(function(*up) - function(*down)) / (2 * step), rel=1e-7)
