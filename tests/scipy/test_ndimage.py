"""Images between pixels, against SciPy."""

import numpy as np
import pytest
import scipy.ndimage as reference

import xtrace as xt
from xtrace.scipy import ndimage
from xtrace.test_util import check_grads

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (1, 3)])
def test_map_coordinates(shape, mode, order):
    image = RNG.standard_normal(shape).astype(np.float32)
    positions = [RNG.uniform(-n, 2 * n, (9,)).astype(np.float32) for n in shape]
    if mode == "constant":
        positions = [RNG.uniform(0, n - 1, (9,)).astype(np.float32) for n in shape]
    name = {"wrap": "grid-wrap"}.get(mode, mode)
    want = reference.map_coordinates(image, positions, order=order, mode=name)
    np.testing.assert_allclose(ndimage.map_coordinates(image, positions, order, mode), want, atol=1e-5)


def test_outside_and_derivatives():
    image = np.arange(4.0, dtype=np.float32)
    out = ndimage.map_coordinates(image, [np.float32([-3, 1.5, 9])], 1, cval=7.0)
    np.testing.assert_array_equal(out, [7, 1.5, 7])
    with xt.enable_x64(True):
        grid = RNG.standard_normal((4, 5))
        check_grads(lambda x, p: ndimage.map_coordinates(x, [p, p], 1), (grid, np.array([0.3, 1.6, 2.2])), order=1)
    with pytest.raises(ValueError, match="length input.ndim, but 2 != 1"):
        ndimage.map_coordinates(image, [image, image], 1)
    with pytest.raises(NotImplementedError, match="order<=1"):
        ndimage.map_coordinates(image, [image], 2)


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
@pytest.mark.parametrize("order", [0, 1])
def test_halves_go_away_from_zero(dtype, order):
    x = np.arange(-3, 3, dtype=dtype)
    at = [[0.5, 1.5, 2.5, 3.5]]
    want = reference.map_coordinates(x, at, order=order)
    np.testing.assert_array_equal(ndimage.map_coordinates(x, at, order=order), want)
