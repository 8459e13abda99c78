"""Spectra of signals from their segments' transforms, by Welch's method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core import dtypes, statics, warned
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.numpy import fft, promotion
from xtrace.numpy.arguments import canonical_axis
from xtrace.scipy.signal import trends
from xtrace.scipy.signal.windows import median_bias, segment_window


class Plan(NamedTuple):
    """How a signal is cut into segments and what becomes of their transforms."""

    nperseg: int
    noverlap: int
    nfft: int
    detrend: Any
    onesided: bool
    scaling: str
    axis: int
    mode: str
    boundary: str | None
    padded: bool


def _odd(x: Any, n: int) -> Any:
    """`x` with `n` samples at either end, turned by 180 degrees about its first and last."""
    size = shaped(x).shape[-1]
    if n > size - 1:
        raise ValueError(
            f"The extension length n ({n}) is too big. It must not exceed x.shape[axis]-1, which is {size - 1}."
        )
    left = 2 * x[..., :1] - xnp.flip(x[..., 1 : n + 1], -1)
    right = 2 * x[..., -1:] - xnp.flip(x[..., size - 1 - n : size - 1], -1)
    return xnp.concatenate((left, x, right), -1)


def _extended(x: Any, n: int, boundary: str) -> Any:
    if not n:
        return x
    if boundary == "odd":
        return _odd(x, n)
    widths = [(0, 0)] * (shaped(x).ndim - 1) + [(n, n)]
    return xnp.pad(x, widths, {"even": "reflect", "constant": "edge", "zeros": "constant"}[boundary])


def _padded(x: Any, n: int) -> Any:
    return xnp.pad(x, [(0, 0)] * (shaped(x).ndim - 1) + [(0, n)]) if n else x


def segments(x: Any, size: int, step: int) -> Any:
    """Every `step`-th stretch of `size` samples along the last axis, shape (..., segments, size)."""
    *batch, length = shaped(x).shape
    starts = np.arange(0, length - size + 1, step, dtype=np.int32)[:, None]
    n = len(batch)
    numbers = lax.GatherDimensionNumbers((*range(n), n + 1), (), (n,))
    return lax.gather(
        x, starts, numbers, (*batch, size), indices_are_sorted=True, unique_indices=True, mode="promise_in_bounds"
    )


def along_last(x: Any, other: Any) -> Any:
    """A vector in the rank and dtype of `other`, whose last axis it is along."""
    aval = shaped(other)
    x = lax.convert_element_type(x, aval.dtype)
    return lax.expand_dims(x, tuple(range(aval.ndim - 1))) if shaped(x).ndim else x


def _transforms(x: Any, win: Any, plan: Plan) -> Any:
    """The windowed segments' transforms, shape (..., segments, frequencies)."""
    parts = segments(x, plan.nperseg, plan.nperseg - plan.noverlap)
    if isinstance(plan.detrend, str):
        parts = trends.detrend(parts, type=plan.detrend)
    elif callable(plan.detrend):
        own = plan.axis != -1
        parts = plan.detrend(xnp.moveaxis(parts, -1, plan.axis) if own else parts)
        parts = xnp.moveaxis(parts, plan.axis, -1) if own else parts
    elif plan.detrend:
        raise ValueError(f"Unsupported detrend type: {plan.detrend!r}; there are 'constant', 'linear' and False")
    if dtypes.is_complex(shaped(win).dtype):
        parts = lax.convert_element_type(parts, shaped(win).dtype)
    return (fft.rfft if plan.onesided else fft.fft)(along_last(win, parts) * parts, plan.nfft)


def frequencies(plan: Plan, fs: Any, dtype: Any) -> Any:
    """The transforms' frequencies at `fs` samples a unit of time."""
    n = plan.nfft
    counts = np.arange(n // 2 + 1) if plan.onesided else np.fft.ifftshift(np.arange(-(n // 2), n - n // 2))
    return xnp.asarray(counts.astype(dtype) * lax.convert_element_type(fs, dtype) / n, dtype)


@composite(static_argnames=("plan",))
def _spectra(x: Any, y: Any, win: Any, fs: Any, plan: Plan) -> Any:
    dtype = shaped(x).dtype
    real = dtypes.to_real(dtype) if dtypes.is_complex(dtype) else dtype
    win = lax.convert_element_type(win, dtype if dtypes.is_complex(shaped(win).dtype) else real)
    axis = canonical_axis(plan.axis, shaped(x).ndim)
    signals = [xnp.moveaxis(s, axis, -1) for s in ((x,) if y is None else (x, y))]
    length = max([shaped(s).shape[-1] for s in signals])
    signals = [_padded(s, length - shaped(s).shape[-1]) for s in signals]
    half, step = plan.nperseg // 2, plan.nperseg - plan.noverlap
    if plan.boundary is not None:
        signals = [_extended(s, half, plan.boundary) for s in signals]
        length += 2 * half
    if plan.padded:
        added = (plan.nperseg - length) % step % plan.nperseg
        signals = [_padded(s, added) for s in signals]
        length += added
    found = [_transforms(s, win, plan) for s in signals]
    if plan.scaling == "density":
        power = xnp.sum(win * win)
        scale = 1 / (lax.convert_element_type(fs, shaped(power).dtype) * power)
    else:
        scale = 1 / xnp.sum(win) ** 2
    if plan.mode == "stft":
        result = found[0] * along_last(xnp.sqrt(scale), found[0])
    else:
        result = xnp.conj(found[0]) * found[-1]
        result = result * along_last(scale, result)
        if plan.onesided:  # what the other half would hold, which has no 0 and, if even, no highest frequency
            doubled = np.full(plan.nfft // 2 + 1, 2)
            doubled[-1] = 2 if plan.nfft % 2 else 1
            doubled[0] = 1
            result = result * along_last(doubled, result)
        if y is None:
            result = xnp.real(result)
    count = (length - plan.nperseg) // step + 1
    middles = np.arange(count) * step + (0 if plan.boundary is not None else plan.nperseg / 2)
    times = xnp.asarray(middles.astype(real) / lax.convert_element_type(fs, real), real)
    return frequencies(plan, fs, real), times, xnp.moveaxis(result, -1, axis)


def spectra(
    name: str,
    x: Any,
    y: Any,
    fs: Any,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    detrend: Any,
    onesided: bool,
    scaling: str,
    axis: int,
    mode: str = "psd",
    boundary: str | None = None,
    padded: bool = False,
) -> tuple[Any, Any, Any]:
    """(frequencies, times, transforms or their products) of the segments of a signal, or of two signals."""
    if boundary not in (None, "even", "odd", "constant", "zeros"):
        raise ValueError(
            f"{name}: Unknown boundary option '{boundary}', must be one of: even, odd, constant, zeros, None"
        )
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"{name}: Unknown scaling: {scaling!r}; there are 'density' and 'spectrum'")
    x, *rest = promotion.promote(name, (x,) if y is None else (x, y), "inexact", ranks=False)
    aval, others = shaped(x), [shaped(a) for a in rest]
    axis = statics.integer(axis, "axis")
    position = canonical_axis(axis, aval.ndim)
    if others and others[0].ndim != aval.ndim:
        raise ValueError(f"{name}: two-arguments must have the same rank ({aval.ndim} vs {others[0].ndim}).")
    if nperseg is not None and (nperseg := statics.integer(nperseg, "nperseg")) < 1:
        raise ValueError(f"{name}: nperseg must be a positive integer, got {nperseg}")
    if not all([a.size for a in (aval, *others)]):
        return _empty(aval, others, position)
    win, nperseg = segment_window(window, nperseg, aval.shape[position])
    noverlap = nperseg // 2 if noverlap is None else statics.integer(noverlap, "noverlap")
    nfft = nperseg if nfft is None else statics.integer(nfft, "nfft")
    if nfft < nperseg:
        raise ValueError(f"{name}: nfft must be greater than or equal to nperseg, got {nfft=} and {nperseg=}.")
    if noverlap >= nperseg:
        raise ValueError(f"{name}: noverlap must be less than nperseg, got {noverlap=} and {nperseg=}.")
    if onesided and (dtypes.is_complex(aval.dtype) or dtypes.is_complex(shaped(win).dtype)):
        warned.warn("Input data is complex, switching to return_onesided=False")
        onesided = False
    plan = Plan(nperseg, noverlap, nfft, detrend, bool(onesided), scaling, axis, mode, boundary, bool(padded))
    return _spectra(x, rest[0] if rest else None, win, fs, plan)


def _empty(aval: Any, others: list[Any], axis: int) -> tuple[Any, Any, Any]:
    shape = aval.shape
    if others:
        outer = np.broadcast_shapes(*[a.shape[:axis] + a.shape[axis + 1 :] for a in (aval, *others)])
        shape = (*outer[:axis], min(aval.shape[axis], others[0].shape[axis]), *outer[axis:])
    result = aval.dtype if dtypes.is_complex(aval.dtype) else dtypes.to_complex(aval.dtype)
    real = dtypes.to_real(result)
    return xnp.zeros(shape, real), xnp.zeros(shape, real), xnp.zeros(shape, result)


def _averaged(found: Any, average: str) -> Any:
    """The mean or the median, freed of its bias, over the last axis: that of the segments."""
    if average not in ("mean", "median"):
        raise ValueError(f'average must be "median" or "mean", got {average!r}')
    if average == "mean":
        return xnp.mean(found, axis=-1)
    bias = median_bias(shaped(found).shape[-1])
    if dtypes.is_complex(shaped(found).dtype):
        middle: Callable[[Any], Any] = lambda part: xnp.median(part, axis=-1) / bias  # noqa: E731
        return lax.complex(middle(xnp.real(found)), middle(xnp.imag(found)))
    return xnp.median(found, axis=-1) / bias


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """The cross spectral density of two signals: the average over segments, by Welch's method.

    Args:
      x, y: signals of equal rank; the shorter is filled up with zeros. y may be None, for x's own density.
      fs: samples a unit of time.
      window: name of a window, a tuple of name and parameters, or weights.
      nperseg: samples in a segment; by default those of the window, if it is an array, or all.
      noverlap: how many samples neighbours share; half by default.
      nfft: length of the transforms; longer than nperseg fills up with zeros.
      detrend: "constant", "linear", False, or a function of segments.
      return_onesided: whether to leave out negative frequencies; complex signals have both.
      scaling: "density" (power a unit of frequency) or "spectrum" (power).
      axis: the axis of the samples.
      average: "mean" or "median".

    Returns:
      (frequencies, density): complex unless y is None; the frequencies are along `axis`.

    Raises:
      ValueError: segments, windows or options that don't fit.

    Source: Welch, "The use of the fast Fourier transform for the estimation of power spectra", 1967.

    >>> import numpy as np, xtrace as xt
    >>> f, density = xt.scipy.signal.csd(np.ones(8), np.ones(8), nperseg=4, detrend=False)
    >>> f.tolist(), density.shape
    ([0.0, 0.25, 0.5], (3,))
    """
    found = spectra(
        "csd", x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis
    )  # fmt: skip
    product = found[2]
    if y is not None:
        product = product + 0j
    aval = shaped(product)
    return found[0], _averaged(product, average) if aval.ndim > 1 and aval.size else product


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """The power spectral density of a signal: the average over segments, by Welch's method.

    Args:
      x: a signal.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average: as in `csd`.

    Returns:
      (frequencies, density): real; the frequencies are along `axis`.

    Raises:
      ValueError: as in `csd`.

    Source: Welch, "The use of the fast Fourier transform for the estimation of power spectra", 1967.

    >>> import numpy as np, xtrace as xt
    >>> f, density = xt.scipy.signal.welch(np.ones(8), nperseg=4, detrend=False)
    >>> f.tolist(), density.shape
    ([0.0, 0.25, 0.5], (3,))
    """
    found, density = csd(
        x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
    )  # fmt: skip
    return found, xnp.real(density)


__all__ = ["csd", "welch"]
