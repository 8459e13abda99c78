"""Fourier transforms, against NumPy."""

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 5, 6))
Z = X + 1j * RNG.normal(size=X.shape)


@pytest.fixture(autouse=True)
def _double():
    with xt.enable_x64(True):
        yield


def cases(rank, n):
    """(type, operand, lengths, NumPy's result) with `n` elements along the last dimension."""
    axes = tuple(range(4 - rank, 4))
    s = (*X.shape[4 - rank : 3], n)
    x, z, half = X[..., :n], Z[..., :n], Z[..., : n // 2 + 1]
    yield "fft", z, s, np.fft.fftn(z, axes=axes)
    yield "IFFT", z, s, np.fft.ifftn(z, axes=axes)
    yield "rfft", x, s, np.fft.rfftn(x, axes=axes)
    yield lax.FftType.IRFFT, half, s, np.fft.irfftn(half, s=s, axes=axes)


def random_like(x):
    return xt.numpy.asarray(RNG.normal(size=x.shape) + (1j * RNG.normal(size=x.shape) if x.dtype.kind == "c" else 0))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_values_and_transposes(rank, n):
    for fft_type, x, s, want in cases(rank, n):

        def f(v, fft_type=fft_type, s=s):
            return lax.fft(v, fft_type, s)

        np.testing.assert_allclose(f(x), want, rtol=1e-12, atol=1e-12)
        # The products of both sides with random numbers are the same: Re sum(ct * J v) = Re sum(J^T ct * v).
        ct, v = random_like(want), random_like(x)
        _, tangent = xt.jvp(f, (x,), (v,))
        (back,) = xt.vjp(f, x)[1](ct)
        left, right = np.sum(np.asarray(ct) * tangent), np.sum(np.asarray(back) * v)
        np.testing.assert_allclose(left.real, right.real, rtol=1e-10, atol=1e-10)


def test_batching():
    for in_axis in range(4):
        s = np.delete(X.shape, in_axis)[-1:]
        got = xt.vmap(lambda v, s=s: lax.fft(v, "rfft", s), in_axes=in_axis, out_axes=in_axis)(X)
        axis = 2 if in_axis == 3 else 3
        np.testing.assert_allclose(got, np.fft.rfft(X, axis=axis), rtol=1e-12, atol=1e-12)


def test_inverse_real_transform_one_dimension_at_a_time():
    # What is lowered for GPUs.
    from xtrace.lowering.rules.fourier import _by_dimensions

    for rank in (2, 3):
        *_, (_, half, s, want) = cases(rank, 6)
        np.testing.assert_allclose(_by_dimensions(xt.numpy.asarray(half), s), want, rtol=1e-12, atol=1e-12)
    exported = xt.export.export(xt.jit(lambda z: lax.fft(z, "irfft", (5, 6))), platforms=["cuda"])(Z[..., :4])
    assert exported.mlir_module().count("stablehlo.fft") == 2


def test_nothing_to_transform():
    assert lax.fft(np.zeros((0, 3), np.complex64), "fft", (3,)).shape == (0, 3)
    assert lax.fft(np.zeros((0,), np.complex64), "fft", (0,)).shape == (0,)
    assert lax.fft(np.float32(2), "fft", ()).dtype == np.complex64


@pytest.mark.parametrize(
    "error, match, x, fft_type, s",
    [
        (ValueError, r"\(3, 4\) must have at least as many input dimensions", np.ones((3, 4)), "fft", (2, 3, 4)),
        (ValueError, r"FFT input shape \(3, 4\) minor dimensions must be equal", np.ones((3, 4)), "fft", (5,)),
        (ValueError, "IRFFT input shape .* all except the last fft_length", np.ones((3, 4)), "irfft", (5, 6)),
        (ValueError, "float32 or float64, got float16", np.ones(4, np.float16), "rfft", (4,)),
        (ValueError, "only real valued inputs", np.ones(4, complex), "rfft", (4,)),
        (ValueError, "Unknown FFT type 'hfft'", np.ones(4), "hfft", (4,)),
        (TypeError, "Unknown FFT type value '3'", np.ones(4), 3, (4,)),
    ],
)
def test_errors(error, match, x, fft_type, s):
    with pytest.raises(error, match=match):
        lax.fft(x, fft_type, s)
