"""Discrete cosine transforms, against SciPy."""

import numpy as np
import pytest
import scipy.fft

import xtrace as xt

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 5))
NORMS = [None, "backward", "ortho"]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["dct", "idct"])
def test_one_axis(name, norm):
    """Every length along every axis, each pair under one of the norms."""
    ours, theirs = getattr(xt.scipy.fft, name), getattr(scipy.fft, name)
    with xt.enable_x64(True):
        for x in (X, X + 1j * X[::-1], np.arange(12).reshape(3, 4), X[:, :1, :1]):
            for i, n in enumerate((None, 1, 3, 7)):
                axis = (0, 1, -1)[(i + NORMS.index(norm)) % 3]
                got = ours(x, n=n, axis=axis, norm=norm)
                want = theirs(np.asarray(x, np.result_type(x, 1.0)), n=n, axis=axis, norm=norm)
                np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["dctn", "idctn"])
@pytest.mark.parametrize("s, axes", [(None, None), (None, (0, 2)), ((4, 4), None), ((2, 6), (2, 0)), ((3,), (1,))])
def test_several_axes(name, s, axes):
    for norm in (None, "ortho"):
        with xt.enable_x64(True):
            got = getattr(xt.scipy.fft, name)(X, s=s, axes=axes, norm=norm)
        np.testing.assert_allclose(got, getattr(scipy.fft, name)(X, s=s, axes=axes, norm=norm), rtol=1e-12, atol=1e-12)


def test_derivative_is_the_transpose():
    # An orthogonal transform: its transpose is its inverse.
    with xt.enable_x64(True):
        _, pullback = xt.vjp(lambda x: xt.scipy.fft.dctn(x, norm="ortho"), X)
        np.testing.assert_allclose(pullback(xt.numpy.asarray(X))[0], scipy.fft.idctn(X, norm="ortho"), atol=1e-12)


def test_errors():
    with pytest.raises(NotImplementedError, match="Only DCT type 2"):
        xt.scipy.fft.dct(X, type=3)
    with pytest.raises(ValueError, match="norm='forward' is not implemented"):
        xt.scipy.fft.idctn(X, norm="forward")
    with pytest.raises(ValueError, match="at most x.ndim"):
        xt.scipy.fft.dctn(X, s=(1, 2, 3, 4))
