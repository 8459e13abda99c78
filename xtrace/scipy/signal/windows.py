"""Windows: weights that fade segments of a signal out at their ends, by SciPy's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.core import warned
from xtrace.core.primitive import shaped

#: Windows that are sums of cosines: their coefficients.
_COSINES: dict[str, tuple[float, ...]] = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}
_OTHER_NAMES = {"box": "boxcar", "ones": "boxcar", "rect": "boxcar", "rectangular": "boxcar"}


def _tukey(t: np.ndarray, alpha: float) -> np.ndarray:
    if alpha <= 0:
        return np.ones_like(t)
    return 0.5 - 0.5 * np.cos(np.pi * np.minimum(2 * np.minimum(t, 1 - t) / min(alpha, 1.0), 1))


#: Other windows as functions of the position (0 to 1 over a period) and the parameters behind the name.
_FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "bartlett": lambda t: 1 - np.abs(2 * t - 1),
    "barthann": lambda t: 0.62 - 0.48 * np.abs(t - 0.5) + 0.38 * np.cos(2 * np.pi * (t - 0.5)),
    "bohman": lambda t: (
        (1 - np.abs(2 * t - 1)) * np.cos(np.pi * np.abs(2 * t - 1)) + np.sin(np.pi * np.abs(2 * t - 1)) / np.pi
    ),
    "kaiser": lambda t, beta: np.i0(beta * np.sqrt(np.maximum(1 - (2 * t - 1) ** 2, 0))) / np.i0(beta),
    "tukey": lambda t, alpha=0.5: _tukey(t, alpha),
}


#: Windows as functions of the count of elements and of the number of all, one more than a period has.
_COUNTED: dict[str, Callable[..., np.ndarray]] = {
    "cosine": lambda k, m: np.sin(np.pi / m * (k + 0.5)),
    "gaussian": lambda k, m, std: np.exp(-0.5 * ((k - (m - 1) / 2) / std) ** 2),
    "triang": lambda k, m: 1 - np.abs(k - (m - 1) / 2) / ((m + m % 2) / 2),
}


def named(window: str | tuple[Any, ...], size: int) -> np.ndarray:
    """The periodic window of a name, or of a name with parameters such as ("kaiser", 8.0)."""
    name, *parameters = (window,) if isinstance(window, str) else window
    name = _OTHER_NAMES.get(name, name)
    if size == 1:
        return np.ones(1)
    if name in _COSINES and not parameters:
        angles = 2 * np.pi * np.arange(size) / size
        return sum(((-1) ** k * c * np.cos(k * angles) for k, c in enumerate(_COSINES[name])), np.zeros(size))
    if name in _COUNTED:
        return _COUNTED[name](np.arange(size), size + 1, *parameters)
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](np.arange(size) / size, *parameters)
    known = ", ".join(sorted([*_COSINES, *_FUNCTIONS, *_COUNTED]))
    raise ValueError(f"there is no window {window!r} here; there are {known}. Or give its weights as an array.")


def segment_window(window: Any, nperseg: int | None, length: int) -> tuple[Any, int]:
    """(weights, their number) for segments of a signal of `length` samples; at most that many, with a warning."""
    if isinstance(window, (str, tuple)):
        size = length if nperseg is None else nperseg
        if size > length:
            warned.warn(f"nperseg={size} is greater than the signal's {length} samples, using nperseg={length}")
            size = length
        return named(window, size), size
    shape = shaped(window).shape
    if len(shape) != 1:
        raise ValueError(f"window must be 1-D, got shape {shape}")
    if length < shape[0]:
        raise ValueError(f"window is longer than input signal: {shape[0]} weights for {length} samples")
    if nperseg is not None and nperseg != shape[0]:
        raise ValueError(
            f"value specified for nperseg is different from length of window: nperseg={nperseg}, {shape[0]} weights"
        )
    return window, shape[0]


def median_bias(n: int) -> float:
    """The expectation of the median of n periodograms of noise, in terms of the mean's.

    Source: Allen, Anderson, Brady, Brown, Creighton, "FINDCHIRP", Physical Review D 85, 2012, appendix B.
    """
    return 1 + math.fsum([1 / (k + 1) - 1 / k for k in range(2, n, 2)])
