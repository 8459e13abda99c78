"""The error of the special functions in units in the last place of float64, against values in 80 digits and SciPy."""

import json
import pathlib

import numpy as np
import pytest
from scipy import special as reference

import xtrace as xt
from xtrace.scipy import special

_ROOT = pathlib.Path(__file__).parents[2]
POINTS = json.loads((_ROOT / "tests" / "data" / "special.json").read_text())
#: Function -> most ulps, median ulps: the rows of the table that users read.
BOUNDS = {
    row[0]: (float(row[2]), float(row[3]))
    for line in (_ROOT / "docs" / "special_functions.md").read_text().splitlines()
    if len(row := [cell.strip() for cell in line.strip("| ").split("|")]) >= 4 and row[0] in POINTS
}


def test_every_function_has_a_bound():
    elsewhere = "bernoulli bessel_jn fresnel gammasgn log_softmax logsumexp sici softmax sph_harm_y wofz".split()
    assert {*BOUNDS, *elsewhere} == set(special.__all__)


@pytest.mark.parametrize("name", BOUNDS)
def test_ulps(name):
    most, median = BOUNDS[name]
    args = list(np.array(POINTS[name]["points"]).T)
    args = {"multigammaln": [args[0], 3], "polygamma": [args[0].astype(int), args[-1]]}.get(name, args)
    with xt.enable_x64(True):
        found = np.asarray(getattr(special, name)(*args))
    expected, rest = np.array(POINTS[name]["values"]).T
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    fine = np.isfinite(expected) & (np.abs(expected) >= np.finfo(float).tiny)
    ulps = np.abs((found - expected) - rest)[fine] / np.spacing(np.abs(expected[fine]))
    assert ulps.max() <= most, f"at {[np.broadcast_to(x, fine.shape)[fine][ulps.argmax()] for x in args]}"
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
