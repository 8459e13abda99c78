"""SciPy's discrete cosine transforms, of type 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax.fourier import FftType
from xtrace.numpy.arguments import canonical_axes, canonical_axis
from xtrace.numpy.reductions import operand


def _check(name: str, type: int, norm: str | None) -> None:
    if type != 2:
        raise NotImplementedError(f"jax.scipy.fft.{name}: Only DCT type 2 is implemented, got type={type}.")
    if norm not in (None, "backward", "ortho"):
        raise ValueError(f'jax.scipy.fft.{name}: norm={norm!r} is not implemented; there are "backward" and "ortho"')


def _plan(x: Any, s: Any, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(sizes, axes) of a transform of several dimensions."""
    shape = shaped(x).shape
    ndim = len(shape)
    if s is not None:
        s = statics.integers(s if hasattr(s, "__iter__") else (s,), "s")
        if len(s) > ndim:
            raise ValueError(f"s must have at most x.ndim ({ndim}) elements, got {len(s)}")
    if axes is None:
        found = tuple(range(0 if s is None else ndim - len(s), ndim))
    else:
        found = canonical_axes(axes, ndim, "axes")
    if s is not None and len(s) != len(found):
        raise ValueError(f"s and axes must be of one length, got s={s} and axes={axes}")
    return tuple([shape[i] for i in found]) if s is None else s, found


def _fitted(x: Any, axes: tuple[int, ...], s: tuple[int, ...]) -> Any:
    """`x` in a floating dtype, cut or filled up with zeros to the sizes `s`."""
    dtype = dtypes.canonicalize(dtypes.to_inexact(dtypes.of_value(x)[0]))
    if dtype != dtypes.of_value(x)[0] or not hasattr(x, "aval"):
        x = lax.convert_element_type(x, dtype)
    shape, sizes = shaped(x).shape, dict(zip(axes, s))
    added = [(0, sizes.get(i, d) - d, 0) for i, d in enumerate(shape)]
    return lax.pad(x, np.zeros((), dtype)[()], added) if any([high for _, high, _ in added]) else x


def _along(values: np.ndarray, x: Any, axis: int) -> Any:
    """Numbers along `axis`, in the dtype of `x`, to multiply it by."""
    shape = [1] * shaped(x).ndim
    shape[axis] = len(values)
    return values.astype(shaped(x).dtype).reshape(shape)


def _each(x: Any, transform: Any) -> Any:
    """A real linear function of `x`, by real and imaginary part if it is complex."""
    if dtypes.is_complex(shaped(x).dtype):
        return lax.complex(transform(lax.real(x)), transform(lax.imag(x)))
    return transform(x)


def _fft_along(x: Any, fft_type: FftType, axis: int) -> Any:
    order = list(range(shaped(x).ndim))
    order[axis], order[-1] = order[-1], order[axis]
    last = axis == len(order) - 1
    x = x if last else lax.transpose(x, order)
    out = lax.fft(x, fft_type, (shaped(x).shape[-1],))
    return out if last else lax.transpose(out, order)


def _phases(n: int) -> np.ndarray:
    return np.exp(-0.5j * np.pi * np.arange(n) / n)


def _orthogonal(n: int) -> np.ndarray:
    """What the elements are divided by in an orthogonal transform: square roots of 4n, 2n, 2n, …"""
    return np.sqrt(np.where(np.arange(n) == 0, 4.0, 2.0) * n)


def _dct(x: Any, axis: int, norm: str | None) -> Any:
    """By one FFT of the elements at even positions followed by those at odd ones backwards (Makhoul, 1980)."""
    n = shaped(x).shape[axis]
    even = lax.slice_in_dim(x, 0, None, 2, axis)
    if n > 1:
        odd = lax.rev(lax.slice_in_dim(x, 1, None, 2, axis), (axis,))
        even = lax.concatenate([even, odd], axis)
    spectrum = _fft_along(even, FftType.FFT, axis)
    factors = 2 * _phases(n)
    if norm == "ortho":
        factors = factors / _orthogonal(n)
    return lax.convert_element_type(lax.real(lax.mul(spectrum, _along(factors, spectrum, axis))), shaped(x).dtype)


def _idct(x: Any, axis: int, norm: str | None) -> Any:
    """The steps of `_dct` undone."""
    dtype, n = shaped(x).dtype, shaped(x).shape[axis]
    factors = 2 * n / (_orthogonal(n) * _phases(n))
    if norm != "ortho":
        factors = factors / _orthogonal(n)
    x = lax.convert_element_type(x, dtypes.to_complex(dtype))
    x = _fft_along(lax.mul(x, _along(factors, x, axis)), FftType.IFFT, axis)
    x = lax.convert_element_type(lax.real(x), dtype)
    half = (n + 1) // 2
    even = lax.slice_in_dim(x, 0, half, 1, axis)
    if n == 1:
        return even
    odd = lax.rev(lax.slice_in_dim(x, half, None, 1, axis), (axis,))
    zero = np.zeros((), dtype)[()]
    if n % 2:
        odd = lax.pad(odd, zero, [(0, int(i == axis), 0) for i in range(shaped(x).ndim)])
    pair = lax.concatenate([lax.expand_dims(even, (axis + 1,)), lax.expand_dims(odd, (axis + 1,))], axis + 1)
    shape = shaped(x).shape
    out = lax.reshape(pair, (*shape[:axis], 2 * half, *shape[axis + 1 :]))
    return lax.slice_in_dim(out, 0, n, 1, axis)


@composite(static_argnames=("axes", "s", "norm", "inverse"))
def _transform(x: Any, axes: tuple[int, ...], s: tuple[int, ...], norm: str | None, inverse: bool) -> Any:
    def real(x: Any) -> Any:
        for axis in axes:
            if not shaped(x).size:
                return x
            x = (_idct if inverse else _dct)(x, axis, norm)
        return x

    return _each(_fitted(x, axes, s), real)


def _one(name: str, x: Any, type: int, n: int | None, axis: int, norm: str | None) -> Any:
    x = operand(f"scipy.fft.{name}", x)
    _check(name, type, norm)
    shape = shaped(x).shape
    axis = canonical_axis(axis, len(shape))
    return _transform(x, (axis,), (shape[axis] if n is None else statics.integer(n, "n"),), norm, name == "idct")


def _many(name: str, x: Any, type: int, s: Any, axes: Any, norm: str | None) -> Any:
    x = operand(f"scipy.fft.{name}", x)
    _check(name, type, norm)
    s, axes = _plan(x, s, axes)
    return _transform(x, axes, s, norm, name == "idctn")


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Discrete cosine transform along an axis: 2 * sum over j of x[j] * cos(pi * k * (2 j + 1) / (2 n)).

    Args:
      x: array of numbers; of complex ones both parts are transformed.
      type: 2.
      n: length of the transform; what is longer is cut, what is shorter gets zeros.
      axis: which axis.
      norm: None or "backward", or "ortho" for an orthogonal transform.

    Returns:
      An array of the same shape, but for `n`, and floating dtype.

    Raises:
      NotImplementedError: another type.
      ValueError: another norm, an axis that doesn't exist.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.fft.dct(np.float32([1, 1, 1, 1])).round(3).tolist()
    [8.0, 0.0, 0.0, 0.0]
    """
    return _one("dct", x, type, n, axis, norm)


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Inverse of `dct`, with the same arguments.

    Args:
      x: array of numbers; of complex ones both parts are transformed.
      type: 2.
      n: length of the transform; what is longer is cut, what is shorter gets zeros.
      axis: which axis.
      norm: None or "backward", or "ortho" for an orthogonal transform.

    Returns:
      An array of the same shape, but for `n`, and floating dtype.

    Raises:
      NotImplementedError: another type.
      ValueError: another norm, an axis that doesn't exist.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.fft.idct(np.float32([8, 0, 0, 0])).round(3).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return _one("idct", x, type, n, axis, norm)


def dctn(
    x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Any:
    """Discrete cosine transform along several axes.

    Args:
      x: array of numbers.
      type: 2.
      s: sizes along the axes.
      axes: which ones; by default all, or as many of the last as `s` has sizes.
      norm: as in `dct`.

    Returns:
      An array of the same shape, but for `s`, and floating dtype.

    Raises:
      NotImplementedError: another type.
      ValueError: another norm, an axis that doesn't exist, more sizes than dimensions.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.fft.dctn(np.ones((2, 2), np.float32)).round(3).tolist()
    [[16.0, 0.0], [0.0, 0.0]]
    """
    return _many("dctn", x, type, s, axes, norm)


def idctn(
    x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Any:
    """Inverse of `dctn`, with the same arguments.

    Args:
      x: array of numbers.
      type: 2.
      s: sizes along the axes.
      axes: which ones; by default all, or as many of the last as `s` has sizes.
      norm: as in `dct`.

    Returns:
      An array of the same shape, but for `s`, and floating dtype.

    Raises:
      NotImplementedError: another type.
      ValueError: another norm, an axis that doesn't exist, more sizes than dimensions.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.fft.idctn(np.float32([[16, 0], [0, 0]])).round(3).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return _many("idctn", x, type, s, axes, norm)


__all__ = ["dct", "dctn", "idct", "idctn"]
