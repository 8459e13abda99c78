"""Values between points of grids, against SciPy."""

import numpy as np
import pytest
import scipy.interpolate as reference

import xtrace as xt
from xtrace.scipy.interpolate import RegularGridInterpolator
from xtrace.test_util import check_grads

RNG = np.random.default_rng(0)
GRID = (np.array([0.0, 1.0, 2.5, 3.0]), np.array([-1.0, 0.0, 2.0]))
VALUES = RNG.standard_normal((4, 3))


@pytest.fixture(autouse=True)
def wide():
    with xt.enable_x64(True):
        yield


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill_value", [np.nan, -5.0, None])
@pytest.mark.parametrize("trailing", [(), (2,)])
def test_values_of_scipy(method, fill_value, trailing):
    values = RNG.standard_normal((4, 3, *trailing))
    at = RNG.uniform(-2, 4, (5, 7, 2))
    given = {"method": method, "fill_value": fill_value}
    want = reference.RegularGridInterpolator(GRID, values, bounds_error=False, **given)(at)
    ours = RegularGridInterpolator(GRID, values, **given)
    np.testing.assert_allclose(ours(at), want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(xt.jit(lambda f, x: f(x))(ours, at), want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours((at[..., 0], at[..., 1])), want, rtol=1e-12, atol=1e-12)


def test_derivatives():
    check_grads(
        lambda v, x: RegularGridInterpolator(GRID, v)(x), (VALUES, np.array([[0.4, 1.1], [2.7, -0.3]])), order=2
    )


def test_wrong_arguments():
    with pytest.raises(ValueError, match="method 'cubic' is not defined"):
        RegularGridInterpolator(GRID, VALUES, method="cubic")
    with pytest.raises(NotImplementedError, match="bounds_error"):
        RegularGridInterpolator(GRID, VALUES, bounds_error=True)
    with pytest.raises(ValueError, match="3 point arrays, but values has 2 dimensions"):
        RegularGridInterpolator((*GRID, GRID[0]), VALUES)
    with pytest.raises(ValueError, match="fill_value"):
        RegularGridInterpolator(GRID, VALUES, fill_value=1j)
    with pytest.raises(ValueError, match="have dimension 3"):
        RegularGridInterpolator(GRID, VALUES)(np.zeros((4, 3)))
