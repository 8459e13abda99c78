"""NumPy's Fourier transforms, against NumPy."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 2, 5))
Z = X + 1j * RNG.normal(size=X.shape)


@pytest.fixture(autouse=True)
def _double():
    with xt.enable_x64(True):
        yield


def check(name, x, *args):
    got, want = getattr(xnp.fft, name)(x, *args), getattr(np.fft, name)(x, *args)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11, err_msg=f"{name} {args}")


NORMS = [None, "ortho", "forward", "backward"]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", "fft ifft rfft irfft hfft ihfft".split())
def test_one_axis(name, norm):
    """Every length along every axis, each pair under one of the norms (and "backward", which is None)."""
    for i, n in enumerate((None, 3, 8)):
        axis = (-1, 0, 1)[(i + NORMS.index(norm)) % 3]
        check(name, X if name in ("rfft", "ihfft") else Z, n, axis, norm)
    check(name, np.arange(6), None, -1, norm)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_several_axes(name, norm):
    x = X if name == "rfft" else Z
    for s, axes in ((None, (0, 1)), ((3, 6), (3, 1)), (None, (-1, -2)), ((3, 6), (-2, -1))):
        check(f"{name}2", x, s, axes, norm)
        check(f"{name}n", x, s, axes, norm)
    for s, axes in ((None, None), ((4, 4, 4, 4), (0, 1, 2, 3)), ((5,), (0,)), ((2, 3, 4), (2, 0, 1))):
        check(f"{name}n", x, s, axes, norm)


def test_five_dimensions():
    y = RNG.normal(size=(2, 3, 2, 3, 2))
    check("rfftn", y)
    np.testing.assert_allclose(xnp.fft.irfftn(xnp.fft.rfftn(y), s=y.shape), y, atol=1e-12)


def test_frequencies_and_shifts():
    for n in (1, 4, 5):
        for d in (1.0, 0.1, 2):
            np.testing.assert_allclose(xnp.fft.fftfreq(n, d), np.fft.fftfreq(n, d))
            np.testing.assert_allclose(xnp.fft.rfftfreq(n, d), np.fft.rfftfreq(n, d))
            np.testing.assert_allclose(xt.jit(lambda d, n=n: xnp.fft.fftfreq(n, d))(d), np.fft.fftfreq(n, d))
    assert xnp.fft.fftfreq(4, dtype="float32").dtype == np.float32
    for axes in (None, 0, (1, 3)):
        np.testing.assert_array_equal(xnp.fft.fftshift(X, axes), np.fft.fftshift(X, axes))
        np.testing.assert_array_equal(xnp.fft.ifftshift(X, axes), np.fft.ifftshift(X, axes))


@pytest.mark.parametrize(
    "match, call",
    [
        ("Shape should be positive", lambda: xnp.fft.fft(X, 0)),
        ("Shape and axes have different lengths", lambda: xnp.fft.fftn(X, (3, 3), (0,))),
        ("does not support repeated axes", lambda: xnp.fft.ifftn(X, axes=[1, 1])),
        ("does not support multiple axes", lambda: xnp.fft.rfft(X, axis=(0, 1))),
        ("only supports 2 axes", lambda: xnp.fft.irfft2(Z, axes=(0,))),
        ("out of bounds", lambda: xnp.fft.fft(X, axis=4)),
        ("Invalid norm value north", lambda: xnp.fft.fft(X, norm="north")),
        ("only real valued inputs", lambda: xnp.fft.rfft(Z)),
        ("only takes an int", lambda: xnp.fft.fftfreq([3])),
        ("only takes a single value", lambda: xnp.fft.rfftfreq(3, [1.0])),
    ],
)
def test_errors(match, call):
    with pytest.raises(ValueError, match=match):
        call()
