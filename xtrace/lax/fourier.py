"""Discrete Fourier transforms over the last dimensions."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import elementwise as el
from xtrace.lax import joining, shapes
from xtrace.transforms.batching import MappedAxis, move_axis
from xtrace.transforms.jvp import linear


class FftType(enum.IntEnum):
    """Which transform: of complex numbers or of real ones (whose spectrum is stored by half), forward or inverse."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def _fft_aval(x: ShapedArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> ShapedArray:
    n = len(fft_lengths)
    if n > x.ndim:
        raise ValueError(
            f"FFT input shape {x.shape} must have at least as many input dimensions as fft_lengths {fft_lengths}."
        )
    minor = x.shape[x.ndim - n :]
    if fft_type is FftType.RFFT:
        if x.dtype not in (dtypes.float32, dtypes.float64):
            raise ValueError(f"RFFT input must be float32 or float64, got {x.dtype}")
    elif not dtypes.is_complex(x.dtype):
        name = "IRFFT" if fft_type is FftType.IRFFT else "FFT"
        raise ValueError(f"{name} input must be complex64 or complex128, got {x.dtype}")
    if fft_type is FftType.IRFFT:
        if minor[:-1] != fft_lengths[:-1]:
            raise ValueError(
                f"IRFFT input shape {x.shape} minor dimensions must be equal to all except the last fft_length, got "
                f"fft_lengths={fft_lengths}"
            )
        return x.update(shape=x.shape[: x.ndim - n] + fft_lengths, dtype=dtypes.to_real(x.dtype))
    if minor != fft_lengths:
        name = "RFFT" if fft_type is FftType.RFFT else "FFT"
        raise ValueError(f"{name} input shape {x.shape} minor dimensions must be equal to fft_lengths {fft_lengths}")
    if fft_type is FftType.FFT or fft_type is FftType.IFFT:
        return x
    return x.update(shape=(*x.shape[:-1], fft_lengths[-1] // 2 + 1), dtype=dtypes.to_complex(x.dtype))


fft_p = Primitive("fft", _fft_aval)


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """Discrete Fourier transform over the last dimensions; the inverse ones divide by the number of elements.

    Args:
      x: array whose last dimensions are transformed. For RFFT real numbers; for IRFFT the half of the spectrum that
        RFFT returns, n // 2 + 1 elements along the last dimension.
      fft_type: a FftType or its name, in upper or lower case.
      fft_lengths: lengths of the transforms: the sizes of the last dimensions (for IRFFT those of the result).

    Returns:
      An array, complex except for IRFFT.

    Raises:
      ValueError: lengths that aren't the sizes, a complex operand of RFFT, a dtype without transform.
      TypeError: a fft_type of another type.

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.fft(np.float32([1, 0, 0, 0]), "rfft", (4,)).tolist()
    [(1+0j), (1+0j), (1+0j)]
    """
    if isinstance(fft_type, str):
        if fft_type not in ("fft", "ifft", "rfft", "irfft", "FFT", "IFFT", "RFFT", "IRFFT"):
            raise ValueError(f"Unknown FFT type '{fft_type}': there are fft, ifft, rfft and irfft")
        fft_type = FftType[fft_type.upper()]
    elif not isinstance(fft_type, FftType):
        raise TypeError(f"Unknown FFT type value '{fft_type}': it must be a lax.FftType or the name of one")
    dtype, weak = dtypes.of_value(x)
    if fft_type is FftType.RFFT:
        if dtypes.is_complex(dtype):
            raise ValueError("only real valued inputs supported for rfft; take fft of complex ones")
        to = dtypes.canonicalize(dtypes.to_inexact(dtype))
    else:
        to = dtypes.canonicalize(dtypes.to_complex(dtype))
    if to != dtype or getattr(x, "aval", None) is None:
        x = shapes.convert(x, to, weak and to == dtype)
    lengths = statics.integers(fft_lengths, "fft_lengths")
    return fft_p.bind(x, fft_type=fft_type, fft_lengths=lengths) if lengths else x


def _multiplicities(n: int, like: Any) -> Any:
    """How often each element of a half spectrum of length n // 2 + 1 stands in the whole one: once or twice."""
    dtype = dtypes.to_real(shaped(like).dtype)
    one, two = np.ones((), dtype)[()], np.full((), 2, dtype)[()]
    twice = shapes.full(((n - 1) // 2,), two)
    counts = joining.pad(twice, one, [(1, int(n % 2 == 0), 0)])
    return shapes.expand_dims(counts, range(shaped(like).ndim - 1))


def _fft_transpose(ct: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> list[Any]:
    """The matrix of a transform is symmetric; for real numbers the half that isn't stored has to be made up for."""
    n, size = fft_lengths[-1], math.prod(fft_lengths)
    if fft_type is FftType.RFFT:
        halved = _scaled(el.conj(ct), el.reciprocal(_multiplicities(n, ct)))
        out = fft_p.bind(halved, fft_type=FftType.IRFFT, fft_lengths=fft_lengths)
        return [el.mul(out, el.scalar_like(out, size))]
    if fft_type is FftType.IRFFT:
        out = fft_p.bind(ct, fft_type=FftType.RFFT, fft_lengths=fft_lengths)
        counts = _multiplicities(n, out)
        return [el.conj(_scaled(out, el.mul(counts, el.scalar_like(counts, 1 / size))))]
    return [fft_p.bind(ct, fft_type=fft_type, fft_lengths=fft_lengths)]


def _scaled(x: Any, factors: Any) -> Any:
    return el.mul(x, shapes.convert(factors, shaped(x).dtype, False))


def _fft_batch(axis: MappedAxis, args: Any, dims: Any, *, fft_lengths: tuple[int, ...], **params: Any) -> Any:
    (x,), (d,) = args, dims
    if d >= shaped(x).ndim - len(fft_lengths):
        x, d = move_axis(x, d, 0, axis.size), 0
    return fft_p.bind(x, fft_lengths=fft_lengths, **params), d


linear(fft_p, _fft_transpose)
fft_p.batch = _fft_batch
