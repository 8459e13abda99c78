"""Signal processing against SciPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.signal

import xtrace as xt
from xtrace.scipy import signal
from xtrace.scipy.signal import windows

RNG = np.random.default_rng(0)
SHAPES = [
    ((7,), (3,)), ((7,), (4,)), ((3,), (8,)), ((4,), (7,)), ((5,), (5,)), ((5, 6), (2, 3)), ((2, 3), (5, 6)),
    ((5, 2), (2, 5)), ((3, 4, 5), (2, 2, 2)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def double():
    with xt.enable_x64(True):
        yield


def _draw(shape, is_complex):
    x = RNG.normal(size=shape)
    return x + 1j * RNG.normal(size=shape) if is_complex else x


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_convolutions(shapes, is_complex):
    x, y = _draw(shapes[0], is_complex), _draw(shapes[1], is_complex)
    names = ["convolve", "correlate", "fftconvolve", *(["convolve2d", "correlate2d"] if x.ndim == 2 else [])]
    for name, mode in itertools.product(names, ("full", "same", "valid")):
        for options in ({"method": "direct"}, {"method": "fft"}) if name in ("convolve", "correlate") else ({},):
            if mode == "valid" and shapes == ((5, 2), (2, 5)):
                with pytest.raises(ValueError, match="in every dimension"):
                    getattr(signal, name)(x, y, mode, **options)
                continue
            wanted = getattr(scipy.signal, name)(x, y, mode, **options)
            found = getattr(signal, name)(x, y, mode, **options)
            np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_convolution_along_some_axes_and_of_integers():
    x, y = RNG.normal(size=(4, 5, 6)), RNG.normal(size=(4, 3, 6))
    for mode in ("full", "same", "valid"):
        wanted = scipy.signal.fftconvolve(x, y, mode, axes=1)
        np.testing.assert_allclose(signal.fftconvolve(x, y, mode, axes=1), wanted, atol=1e-12)
        np.testing.assert_allclose(signal.fftconvolve(x, y, mode, axes=[-2]), wanted, atol=1e-12)
    assert signal.convolve(np.array([1, 2]), np.array([1, 1])).tolist() == [1.0, 3.0, 2.0]


def test_derivative_of_convolution():
    x, y, w = RNG.normal(size=5), RNG.normal(size=3), RNG.normal(size=7)
    for method in ("direct", "fft"):
        found = xt.grad(lambda x: (w * signal.convolve(x, y, method=method)).sum())(x)  # noqa: B023
        np.testing.assert_allclose(found, np.correlate(w, y, "valid"), atol=1e-12)
    rows = xt.vmap(lambda x: signal.convolve(x, y))(np.stack([x, 2 * x]))
    np.testing.assert_allclose(rows[1], 2 * np.convolve(x, y), atol=1e-12)


@pytest.mark.parametrize(
    "options", [{}, {"bp": [7, 8, 20]}, {"type": "constant"}, {"axis": 0}, {"axis": 2}, {"bp": np.array(11)}], ids=str
)
def test_detrend(options):
    x = RNG.normal(size=(4, 30, 25)).cumsum(1)
    options = {"axis": 1} | options if "bp" in options else options
    np.testing.assert_allclose(signal.detrend(x, **options), scipy.signal.detrend(x, **options), atol=1e-10)


WINDOWS = [
    "hann", "rectangular", "hamming", "blackman", "boxcar", "nuttall", "blackmanharris", "flattop", "bartlett",
    "barthann", "bohman", "tukey", ("tukey", 0.2), ("tukey", 1.0), ("tukey", 0.0), ("kaiser", 8.0), ("gaussian", 2.5),
    "triang", "cosine",
]  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows(window):
    for size in (1, 2, 7, 16):
        np.testing.assert_allclose(windows.named(window, size), scipy.signal.get_window(window, size), atol=1e-14)


SPECTRA = [
    {"nperseg": 16}, {"nperseg": 15, "noverlap": 4}, {"nperseg": 16, "nfft": 40, "fs": 8.0}, {"nperseg": 7, "nfft": 9},
    {"nperseg": 16, "window": "hamming", "detrend": False}, {"nperseg": 16, "detrend": "linear", "scaling": "spectrum"},
    {"nperseg": 16, "return_onesided": False}, {"nperseg": 16, "average": "median"}, {"nperseg": 100},
    {"window": np.linspace(1, 2, 12)}, {"nperseg": 16, "axis": 1}, {"nperseg": 1, "noverlap": 0, "detrend": False},
]  # fmt: skip


@pytest.mark.parametrize("options", SPECTRA, ids=str)
def test_densities(options):
    x, y = RNG.normal(size=(2, 100, 100)), RNG.normal(size=(2, 100, 100))
    for wanted, found in zip(scipy.signal.welch(x, **options), signal.welch(x, **options)):
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    for wanted, found in zip(scipy.signal.csd(x, y, **options), signal.csd(x, y, **options)):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_densities_of_complex_and_of_unequal_signals():
    x, y = _draw((60,), True), _draw((50,), True)
    for wanted, found in zip(
        scipy.signal.csd(x, y, nperseg=16, return_onesided=False),
        signal.csd(x, y, nperseg=16, return_onesided=False),
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    with pytest.warns(UserWarning, match="switching to return_onesided=False"):
        assert signal.welch(x, nperseg=16)[0].shape == (16,)


TRANSFORMS = [
    {"nperseg": 16}, {"nperseg": 16, "noverlap": 12}, {"nperseg": 15, "fs": 4.0}, {"nperseg": 16, "nfft": 20},
    {"nperseg": 16, "boundary": "even"}, {"nperseg": 16, "boundary": "odd"}, {"nperseg": 16, "boundary": "constant"},
    {"nperseg": 16, "boundary": None, "padded": False}, {"nperseg": 16, "return_onesided": False},
    {"nperseg": 16, "axis": 0}, {"nperseg": 16, "detrend": "constant"}, {"nperseg": 16, "window": ("kaiser", 4.0)},
]  # fmt: skip


@pytest.mark.parametrize("options", TRANSFORMS, ids=str)
def test_short_time_transforms(options):
    x = RNG.normal(size=(50, 50))
    for wanted, found in zip(scipy.signal.stft(x, **options), signal.stft(x, **options)):
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{"nperseg": 16}, {"nperseg": 15}, {"nperseg": 16, "noverlap": 12}, {"nperseg": 16, "nfft": 20},
     {"nperseg": 8, "window": "hamming", "noverlap": 0}],
    ids=str,
)  # fmt: skip
def test_signals_from_their_transforms(options):
    x = RNG.normal(size=(3, 50))
    _, _, z = scipy.signal.stft(x, **options)
    wanted, found = scipy.signal.istft(z, **options), signal.istft(z, **options)
    np.testing.assert_allclose(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1], atol=1e-12)
    np.testing.assert_allclose(found[1][:, :50], x, atol=1e-12)
    turned = signal.istft(z.transpose(2, 0, 1), time_axis=0, freq_axis=2, **options)[1]
    np.testing.assert_allclose(turned, wanted[1].T, atol=1e-12)


def test_two_sided_inverse():
    x = _draw((40,), True)
    z = scipy.signal.stft(x, nperseg=8, return_onesided=False)[2]
    np.testing.assert_allclose(signal.istft(z, input_onesided=False, nperseg=8)[1], x, atol=1e-12)


def test_no_ranks_and_dtypes_are_promoted_behind_the_scenes():
    x = RNG.normal(size=(2, 40)).astype("float32")
    with xt.numpy_rank_promotion("raise"), xt.numpy_dtype_promotion("strict"):
        _, _, z = signal.stft(x, nperseg=8)
        np.testing.assert_allclose(signal.istft(z)[1], x, atol=1e-5)
        assert signal.welch(x, nperseg=8)[1].dtype == np.float32
        assert signal.csd(x, x, nperseg=8)[1].dtype == np.complex64


def test_derivative_of_a_round_trip_is_the_identity():
    x = RNG.normal(size=24)
    found = xt.jacobian(lambda x: signal.istft(signal.stft(x, nperseg=8)[2])[1])(x)
    np.testing.assert_allclose(found, np.eye(24), atol=1e-12)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: signal.convolve(np.ones(3), np.ones((2, 2))), ValueError, "same number of dimensions"),
        (lambda: signal.convolve(np.ones(3), np.ones(0)), ValueError, "zero-size arrays not supported"),
        (lambda: signal.convolve(np.ones(3), np.ones(2), "half"), ValueError, "mode must be one of"),
        (lambda: signal.convolve(np.ones(3), np.ones(2), method="slow"), ValueError, "expected 'auto'"),
        (lambda: signal.convolve2d(np.ones(3), np.ones(2)), ValueError, "only supports 2-dimensional"),
        (lambda: signal.convolve2d(np.eye(2), np.eye(2), boundary="wrap"), NotImplementedError, "only supports"),
        (lambda: signal.fftconvolve(np.ones((3, 2)), np.ones((2, 3)), axes=0), ValueError, "mapped axes"),
        (lambda: signal.detrend(np.ones(3), type="cubic"), ValueError, "Trend type must be"),
        (lambda: signal.detrend(np.ones(3), bp=7), ValueError, "Breakpoints must be"),
        (lambda: signal.welch(np.ones(30), nperseg=8, noverlap=8), ValueError, "noverlap must be less than nperseg"),
        (lambda: signal.welch(np.ones(30), nperseg=8, nfft=4), ValueError, "nfft must be greater"),
        (lambda: signal.welch(np.ones(30), window="no such"), ValueError, "there is no window 'no such'"),
        (lambda: signal.welch(np.ones(30), average="mode"), ValueError, "average must be"),
        (lambda: signal.stft(np.ones(30), nperseg=8, boundary="round"), ValueError, "Unknown boundary option 'round'"),
        (lambda: signal.istft(np.ones(3)), ValueError, "at least 2d"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()
