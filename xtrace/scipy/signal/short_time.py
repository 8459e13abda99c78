"""Fourier transforms of a signal's segments, and the signal from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.numpy import fft, promotion
from xtrace.numpy.arguments import canonical_axis
from xtrace.scipy.signal.spectra import along_last, spectra
from xtrace.scipy.signal.windows import named


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """The Fourier transforms of a signal's windowed segments.

    Args:
      x: a signal.
      fs: samples a unit of time.
      window: name of a window, a tuple of name and parameters, or weights.
      nperseg: samples in a segment.
      noverlap: how many samples neighbours share; half by default.
      nfft: length of the transforms; longer than nperseg fills up with zeros.
      detrend: "constant", "linear", False, or a function of segments.
      return_onesided: whether to leave out negative frequencies; complex signals have both.
      boundary: how the signal goes on beyond its ends, so that its first sample is in the middle of a segment: "even",
        "odd", "constant", "zeros" or None (not at all).
      padded: whether to fill the last segment up with zeros.
      axis: the axis of the samples.

    Returns:
      (frequencies, times, transforms): the frequencies along `axis`, the times along the last.

    Raises:
      ValueError: segments, windows or options that don't fit.

    >>> import numpy as np, xtrace as xt
    >>> f, t, z = xt.scipy.signal.stft(np.ones(16), nperseg=8)
    >>> z.shape, t.tolist()
    ((5, 5), [0.0, 4.0, 8.0, 12.0, 16.0])
    """
    return spectra(
        "stft", x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, "spectrum", axis, "stft",
        boundary, padded,
    )  # fmt: skip


def _added_up(parts: Any, step: int) -> Any:
    """Segments, shape (..., segments, size), each added `step` samples behind the one before."""
    *batch, count, size = shaped(parts).shape
    n = len(batch)
    starts = (np.arange(count, dtype=np.int32) * step)[:, None]
    numbers = lax.ScatterDimensionNumbers((*range(n), n + 1), (), (n,))
    zeros = lax.full((*batch, (count - 1) * step + size), 0, shaped(parts).dtype)
    return lax.scatter_add(zeros, starts, parts, numbers, indices_are_sorted=True, mode="promise_in_bounds")


@composite(static_argnames=("nperseg", "step", "nfft", "onesided", "boundary", "time_axis", "freq_axis"))
def _inverse(
    z: Any, win: Any, fs: Any, nperseg: int, step: int, nfft: int, onesided: bool, boundary: bool,
    time_axis: int, freq_axis: int,
) -> tuple[Any, Any]:  # fmt: skip
    ndim = shaped(z).ndim
    z = xnp.moveaxis(z, (time_axis, freq_axis), (-2, -1))
    parts = (fft.irfft if onesided else fft.ifft)(z, nfft)[..., :nperseg]
    win = lax.convert_element_type(win, shaped(parts).dtype)
    count = shaped(parts).shape[-2]
    x = _added_up(parts * along_last(xnp.sum(win) * win, parts), step)
    norm = _added_up(xnp.broadcast_to(win * win, (count, nperseg)), step)
    half = nperseg // 2 if boundary else 0
    stop = shaped(norm).shape[0] - half
    x, norm = x[..., half:stop], norm[half:stop]
    x = x / along_last(xnp.where(xnp.abs(norm) > 1e-10, norm, 1), x)
    if ndim > 2 and time_axis != ndim - 1:
        x = xnp.moveaxis(x, -1, time_axis - (freq_axis < time_axis))
    dtype = shaped(x).dtype
    real = dtypes.to_real(dtype) if dtypes.is_complex(dtype) else dtype
    return xnp.asarray(np.arange(shaped(x).shape[0]).astype(real) / lax.convert_element_type(fs, real), real), x


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """The signal whose segments have these transforms, of least squared distance where segments overlap.

    Args:
      Zxx: transforms, as `stft` returns them.
      fs, window: as in `stft`.
      nperseg: samples in a segment; by default as many as there are frequencies, of both signs.
      noverlap: how many samples neighbours share; half by default.
      nfft: length of the transforms.
      input_onesided: whether negative frequencies are left out.
      boundary: whether the signal was continued beyond its ends.
      time_axis, freq_axis: axes of the times and the frequencies.

    Returns:
      (times, signal): the samples along `time_axis`, less one if freq_axis is before it. There are as many times as the
      signal's first axis is long, as in SciPy.

    Raises:
      ValueError: axes, segments or windows that don't fit.

    Source: Griffin, Lim, "Signal estimation from modified short-time Fourier transform", 1984.

    >>> import numpy as np, xtrace as xt
    >>> signal = np.float32([1, 2, 3, 4, 5, 6, 7, 8])
    >>> _, _, z = xt.scipy.signal.stft(signal, nperseg=4)
    >>> xt.scipy.signal.istft(z)[1].round(5).tolist()
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    """
    (z,) = promotion.promote("istft", (Zxx,), "inexact", ranks=False)
    aval = shaped(z)
    if aval.ndim < 2:
        raise ValueError(f"Input stft must be at least 2d! Got shape {aval.shape}")
    if not dtypes.is_complex(aval.dtype):
        z = lax.convert_element_type(z, dtypes.to_complex(aval.dtype))
    time_axis, freq_axis = canonical_axis(time_axis, aval.ndim), canonical_axis(freq_axis, aval.ndim)
    if time_axis == freq_axis:
        raise ValueError(f"Must specify differing time and frequency axes! Got {time_axis} for both")
    count = aval.shape[freq_axis]
    default = 2 * (count - 1) if input_onesided else count
    nperseg = statics.integer(nperseg, "nperseg") if nperseg is not None else default
    if nperseg < 1:
        raise ValueError(f"nperseg must be a positive integer, got {nperseg}")
    if nfft is None:
        nfft = default + (bool(input_onesided) and nperseg == default + 1)
    if (nfft := statics.integer(nfft, "nfft")) < nperseg:
        raise ValueError(f"FFT length ({nfft}) must be longer than nperseg ({nperseg}).")
    noverlap = nperseg // 2 if noverlap is None else statics.integer(noverlap, "noverlap")
    if noverlap >= nperseg:
        raise ValueError(f"noverlap must be less than nperseg, got {noverlap=} and {nperseg=}.")
    win = named(window, nperseg) if isinstance(window, (str, tuple)) else window
    shape = shaped(win).shape
    if len(shape) != 1:
        raise ValueError(f"window must be 1-D, got shape {shape}")
    if shape[0] != nperseg:
        raise ValueError(f"window must have length of {nperseg}, got {shape[0]}")
    return _inverse(
        z, win, fs, nperseg, nperseg - noverlap, nfft, bool(input_onesided), bool(boundary), time_axis, freq_axis
    )


__all__ = ["istft", "stft"]
