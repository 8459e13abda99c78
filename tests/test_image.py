"""Resampling of images: against NumPy where it has the answer, and what holds for every method."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt

METHODS = ["linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"]
X = np.random.default_rng(0).normal(size=(6, 5)).astype("float32")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [True, False])
def test_constant_images_stay_constant(method, antialias):
    out = xt.image.resize(np.full((6, 5, 2), 3, "float32"), (4, 9, 2), method, antialias=antialias)
    np.testing.assert_allclose(out, np.full((4, 9, 2), 3.0), rtol=1e-5)


def test_linear_is_interpolation_between_middles():
    places = (np.arange(12) + 0.5) / 2 - 0.5
    expected = np.stack([np.interp(places, np.arange(6), X[:, j]) for j in range(5)], 1)
    np.testing.assert_allclose(xt.image.resize(X, (12, 5), "linear"), expected, rtol=1e-5, atol=1e-6)


def test_area_averages():
    np.testing.assert_allclose(xt.image.resize(X, (3, 5), "area"), X.reshape(3, 2, 5).mean(1), rtol=1e-4, atol=1e-6)


def test_nearest_takes_pixels_and_keeps_integers():
    out = xt.image.resize(np.arange(4), (8,), "nearest")
    assert out.tolist() == [0, 0, 1, 1, 2, 2, 3, 3] and out.dtype == "int32"


def test_targets_of_size_zero():
    assert xt.image.resize(np.ones((2, 3)), (0, 4), "linear").shape == (0, 4)


def test_derivatives_with_respect_to_image_scale_and_translation():
    def f(x, scale, translation):
        return xt.image.scale_and_translate(x, (4, 7), (0, 1), scale, translation, "cubic").sum()

    args = [X.astype("float64"), np.array([0.61, 1.3]), np.array([0.3, -0.7])]
    with xt.enable_x64(True):
        gradients = xt.jit(xt.grad(f, (0, 1, 2)))(*args)
        f = xt.jit(f)
        for i, g in enumerate(gradients):
            d = np.random.default_rng(i).normal(size=args[i].shape)
            ends = [f(*[a + e * d if i == j else a for j, a in enumerate(args)]) for e in (1e-6, -1e-6)]
            np.testing.assert_allclose(np.sum(g * d), (ends[0] - ends[1]) / 2e-6, rtol=1e-4)


@pytest.mark.parametrize("call, message", [
    (lambda: xt.image.resize(X, (3,), "linear"), "length equal to the number of dimensions"),
    (lambda: xt.image.resize(X, (3, 5), "linaer"), "Unknown resize method"),
    (lambda: xt.image.scale_and_translate(X, (3, 5), (0,), np.ones(1), np.ones(1), "nearest"), "Use resize"),
])  # fmt: skip
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("method", ["linear", "area", "cubic", "lanczos3", "cubic-pytorch"])
def test_no_rank_is_promoted(method):
    x = xt.numpy.arange(6.0).reshape(2, 3)
    free = xt.image.resize(x, (5, 4), method)
    with xt.numpy_rank_promotion("raise"):
        np.testing.assert_array_equal(xt.jit(lambda x: xt.image.resize(x, (5, 4), method))(x), free)
