"""Integrals of samples, against SciPy."""

import numpy as np
import pytest
import scipy.integrate as reference

import xtrace as xt
from xtrace.scipy.integrate import trapezoid
from xtrace.test_util import check_grads

Y = np.random.default_rng(0).standard_normal((3, 5))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_trapezoid(axis):
    along = np.sort(np.random.default_rng(1).uniform(size=Y.shape[axis]))
    with xt.enable_x64(True):
        for kwargs in ({}, {"dx": 0.5}, {"x": along}, {"x": np.cumsum(np.abs(Y), axis)}):
            np.testing.assert_allclose(trapezoid(Y, axis=axis, **kwargs), reference.trapezoid(Y, axis=axis, **kwargs))
        check_grads(lambda y, x: trapezoid(y, x, axis=axis), (Y, along), order=2)
    assert trapezoid(np.array([1, 2])) == 1.5
