"""NumPy's discrete Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.core.trace import Tracer
from xtrace.lax.fourier import FftType
from xtrace.numpy import manipulation as mp
from xtrace.numpy.arguments import canonical_axes
from xtrace.numpy.creation import constant, place
from xtrace.numpy.dtypes import canonical
from xtrace.numpy.promotion import check_arraylike
from xtrace.numpy.reductions import operand
from xtrace.runtime.jaxlib_api import ArrayImpl

#: Transforms of more dimensions than compilers have are done in parts.
_MOST_DIMENSIONS = 3
_COMPLEX = (FftType.FFT, FftType.IFFT)


def _scale(norm: str | None, inverse: bool, size: int) -> float:
    """What the sums are multiplied by, for a transform of `size` elements."""
    if norm is None or norm == "backward":
        return 1 / size if inverse and size else 1
    if norm == "ortho":
        return 1 / math.sqrt(size) if size else 1
    if norm == "forward":
        return 1 if inverse or not size else 1 / size
    raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')


def _sizes(s: Any) -> tuple[int, ...] | None:
    if s is None:
        return None
    found = statics.integers(s, "s")
    if any([n <= 0 for n in found]):
        raise ValueError(f"Shape should be positive. Got {found}.")
    return found


def _plan(
    name: str, fft_type: FftType, shape: tuple[int, ...], s: Any, axes: Any
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(sizes, axes) of a transform of an array of this shape."""
    s = _sizes(s)
    ndim = len(shape)
    if axes is None:
        axes = range(ndim if s is None else len(s))
        first = ndim - len(axes)
        if first < 0:
            raise ValueError(f"numpy.fft.{name}: s={s} has more sizes than the array has dimensions, which are {ndim}")
        axes = tuple([first + i for i in axes])
    else:
        given, axes = axes, statics.integers(axes, "axes")
        if s is not None and len(s) != len(axes):
            raise ValueError(f"Shape and axes have different lengths. Got {s} and {axes}.")
        if len(set(axes)) != len(axes):
            raise ValueError(f"jax.numpy.fft.{name} does not support repeated axes. Got axes {given}.")
        axes = canonical_axes(axes, ndim, "axes")
    if s is None:
        s = tuple([shape[i] for i in axes])
        if fft_type is FftType.IRFFT and s:
            s = (*s[:-1], max(0, 2 * (s[-1] - 1)))
    return s, axes


def _fitted(x: Any, sizes: dict[int, int]) -> Any:
    """`x` cut, or filled up with zeros, to these sizes by axis."""
    shape = shaped(x).shape
    cut = tuple([min(d, sizes.get(i, d)) for i, d in enumerate(shape)])
    if cut != shape:
        x = lax.slice(x, (0,) * len(shape), cut)
    missing = [(0, sizes.get(i, d) - d, 0) for i, d in enumerate(cut)]
    if any([m for _, m, _ in missing]):
        x = lax.pad(x, np.zeros((), shaped(x).dtype)[()], missing)
    return x


def _transform(x: Any, fft_type: FftType, s: tuple[int, ...]) -> Any:
    """The transform over the last dimensions, however many."""
    if len(s) <= _MOST_DIMENSIONS:
        return lax.fft(x, fft_type, s)
    n = 2 if len(s) == 4 else _MOST_DIMENSIONS
    inner, outer = s[-n:], s[:-n]
    ndim = shaped(x).ndim
    first = ndim - len(s)
    turned = [*range(first), *range(first + len(outer), ndim), *range(first, first + len(outer))]
    back = [turned.index(i) for i in range(ndim)]
    if fft_type in (FftType.FFT, FftType.RFFT):
        x = lax.transpose(lax.fft(x, fft_type, inner), turned)
        return lax.transpose(_transform(x, FftType.FFT, outer), back)
    x = _transform(lax.transpose(x, turned), FftType.IFFT, outer)
    return lax.fft(lax.transpose(x, back), fft_type, inner)


@composite(static_argnames=("fft_type", "s", "axes", "factor"))
def _fft_over(x: Any, fft_type: FftType, s: tuple[int, ...], axes: tuple[int, ...], factor: float) -> Any:
    dtype = dtypes.canonicalize(dtypes.to_inexact(dtypes.of_value(x)[0]))
    if fft_type in _COMPLEX or fft_type is FftType.IRFFT:
        dtype = dtypes.canonicalize(dtypes.to_complex(dtype))
    elif dtypes.is_complex(dtype):
        raise ValueError("only real valued inputs supported for rfft; take fft of complex ones")
    if dtypes.of_value(x)[0] != dtype or not hasattr(x, "aval"):
        x = lax.convert_element_type(x, dtype)
    sizes = dict(zip(axes, s))
    if fft_type is FftType.IRFFT and axes:
        sizes[axes[-1]] = s[-1] // 2 + 1
    x = _fitted(x, sizes)
    ndim = shaped(x).ndim
    last = [*[i for i in range(ndim) if i not in axes], *axes]
    moved = last != list(range(ndim))
    if moved:
        x = lax.transpose(x, last)
    out = _transform(x, fft_type, s)
    if factor != 1:
        out = lax.mul(out, np.asarray(factor, shaped(out).dtype)[()])
    return lax.transpose(out, [last.index(i) for i in range(ndim)]) if moved else out


def _apply(name: str, fft_type: FftType, a: Any, s: Any, axes: Any, norm: str | None, inverse: bool) -> Any:
    a = operand(f"fft.{name}", a)
    s, axes = _plan(name, fft_type, shaped(a).shape, s, axes)
    size = math.prod(s)
    done = 1 / size if fft_type in (FftType.IFFT, FftType.IRFFT) and size else 1
    return _fft_over(a, fft_type, s, axes, _scale(norm, inverse, size) / done)


def _axis_of(name: str, axis: Any) -> Any:
    if isinstance(axis, (list, tuple)):
        raise ValueError(
            f"jax.numpy.fft.{name} does not support multiple axes. Please use jax.numpy.fft.{name}n. "
            f"Got axis = {axis!r}."
        )
    return None if axis is None else (axis,)


_NORM = """norm: where the transform is divided by its number of elements: "backward" (or None) in the inverse,
        "forward" in the forward one, "ortho" by its square root in both.

    Returns:
      {result}

    Raises:
      ValueError: an axis that doesn't exist, a size that isn't positive, an unknown norm{more}."""


def _documented(function: Callable[..., Any], name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _one(name: str, fft_type: FftType, what: str, result: str, example: str) -> Any:
    """A transform along one axis."""
    inverse = fft_type in (FftType.IFFT, FftType.IRFFT)

    def transform(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
        return _apply(name, fft_type, a, None if n is None else (n,), _axis_of(name, axis), norm, inverse)

    more = ", a complex array" if fft_type is FftType.RFFT else ""
    size = "the result" if fft_type is FftType.IRFFT else "the part of `a` that is transformed"
    doc = f"""{what} along one axis.

    Args:
      a: array of numbers.
      n: size of {size} along the axis; what is longer is cut, what is shorter gets zeros.
      axis: which one.
      {_NORM.format(result=result, more=more)}

    >>> import numpy as np, xtrace as xt
    {example}
    """
    return _documented(transform, name, doc)


def _many(name: str, fft_type: FftType, what: str, result: str, example: str) -> tuple[Any, Any]:
    """A transform along several axes: (two, by default the last; any, by default all)."""
    inverse = fft_type in (FftType.IFFT, FftType.IRFFT)
    more = ", a complex array" if fft_type is FftType.RFFT else ""
    rest = f"""
      a: array of numbers.
      s: sizes along the axes{" of the result" if fft_type is FftType.IRFFT else ""}; what is longer is cut, what is
        shorter gets zeros.
      axes: which ones; {{axes}}.
      {_NORM.format(result=result, more=more)}

    >>> import numpy as np, xtrace as xt
    {example}
    """

    def two(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
        if len(statics.parts(axes, "axes", "two axes")) != 2:
            raise ValueError(f"jax.numpy.fft.{name}2 only supports 2 axes. Got axes = {axes!r}.")
        return _apply(f"{name}2", fft_type, a, s, axes, norm, inverse)

    def any_number(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
        return _apply(f"{name}n", fft_type, a, s, axes, norm, inverse)

    return (
        _documented(
            two, f"{name}2", f"{what} along two axes.\n\n    Args:{rest.format(axes='two of them', name=f'{name}2')}"
        ),
        _documented(
            any_number,
            f"{name}n",
            f"{what} along several axes.\n\n    Args:"
            + rest.format(axes="by default all, or as many of the last as `s` has sizes", name=f"{name}n"),
        ),
    )


_SAME = "A complex array of the same shape, except for the sizes asked for."
_HALF = "A complex array with n // 2 + 1 elements along the last axis transformed: the others are their conjugates."
_WHOLE = "A real array; along the last axis transformed its size is 2 * (m - 1) if not given, for m elements there."

fft = _one(
    "fft", FftType.FFT, "Fourier transform", _SAME,
    ">>> xt.numpy.fft.fft(np.float32([1, 0, 0])).tolist()\n    [(1+0j), (1+0j), (1+0j)]",
)  # fmt: skip
ifft = _one(
    "ifft", FftType.IFFT, "Inverse Fourier transform", _SAME,
    ">>> xt.numpy.fft.ifft(np.float32([2, 2])).tolist()\n    [(2+0j), 0j]",
)  # fmt: skip
rfft = _one(
    "rfft", FftType.RFFT, "Fourier transform of real numbers", _HALF,
    ">>> xt.numpy.fft.rfft(np.float32([1, 0, 0])).tolist()\n    [(1+0j), (1+0j)]",
)  # fmt: skip
irfft = _one(
    "irfft", FftType.IRFFT, "Inverse of the Fourier transform of real numbers", _WHOLE,
    ">>> xt.numpy.fft.irfft(np.float32([1, 1, 1])).tolist()\n    [1.0, 0.0, 0.0, 0.0]",
)  # fmt: skip
fft2, fftn = _many(
    "fft", FftType.FFT, "Fourier transform", _SAME,
    ">>> xt.numpy.fft.{name}(np.ones((2, 2))).tolist()\n    [[(4+0j), 0j], [0j, 0j]]",
)  # fmt: skip
ifft2, ifftn = _many(
    "ifft", FftType.IFFT, "Inverse Fourier transform", _SAME,
    ">>> xt.numpy.fft.{name}(np.ones((2, 2))).tolist()\n    [[(1+0j), 0j], [0j, 0j]]",
)  # fmt: skip
rfft2, rfftn = _many(
    "rfft", FftType.RFFT, "Fourier transform of real numbers", _HALF,
    ">>> xt.numpy.fft.{name}(np.ones((4, 4))).shape\n    (4, 3)",
)  # fmt: skip
irfft2, irfftn = _many(
    "irfft", FftType.IRFFT, "Inverse of the Fourier transform of real numbers", _WHOLE,
    ">>> xt.numpy.fft.{name}(np.ones((4, 3))).shape\n    (4, 4)",
)  # fmt: skip


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Fourier transform of a signal that is its own mirrored conjugate, of which one half is given: it is real.

    Args:
      a: array, the first n // 2 + 1 elements of the signal along the axis.
      n: length of the whole signal; by default 2 * (m - 1) for m elements.
      axis: which axis.
      norm: as in `fft`.

    Returns:
      A real array with n elements along the axis.

    Raises:
      ValueError: an axis that doesn't exist, a length that isn't positive, an unknown norm.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.fft.hfft(np.float32([1, 2, 3])).tolist()
    [8.0, -2.0, 0.0, -2.0]
    """
    from xtrace import numpy as xnp

    axes = _axis_of("hfft", axis)
    check_arraylike("fft.hfft", a)
    return _apply("hfft", FftType.IRFFT, xnp.conj(a), None if n is None else (n,), axes, norm, False)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Inverse of `hfft`: one half of the signal that is its own mirrored conjugate and has this real spectrum.

    Args:
      a: array of real numbers.
      n: how many elements along the axis to take; what is shorter gets zeros.
      axis: which axis.
      norm: as in `fft`.

    Returns:
      A complex array with n // 2 + 1 elements along the axis.

    Raises:
      ValueError: an axis that doesn't exist, a length that isn't positive, an unknown norm, a complex array.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.fft.ihfft(np.float32([8, -2, 0, -2])).real.tolist()
    [1.0, 2.0, 3.0]
    """
    from xtrace import numpy as xnp

    axes = _axis_of("ihfft", axis)
    return xnp.conj(_apply("ihfft", FftType.RFFT, a, None if n is None else (n,), axes, norm, True))


def _frequencies(name: str, n: Any, d: Any, dtype: Any, device: Any, positions: Callable[[int], np.ndarray]) -> Any:
    """`positions(n)` over n * d."""
    if isinstance(n, (list, tuple)):
        raise ValueError(f"The n argument of jax.numpy.fft.{name} only takes an int. Got n = {list(n)}.")
    if isinstance(d, (list, tuple)):
        raise ValueError(f"The d argument of jax.numpy.fft.{name} only takes a single value. Got d = {list(d)}.")
    n = statics.integer(n, "n")
    wanted = dtypes.canonicalize(dtypes.float64) if dtype is None else canonical(dtype, f"fft.{name}")
    used = dtypes.to_real(dtypes.canonicalize(dtypes.to_inexact(wanted)))
    k = positions(n).astype(used)
    if isinstance(d, (ArrayImpl, Tracer)):
        out = lax.div(k, lax.full(k.shape, lax.convert_element_type(lax.mul(d, lax.full_like(d, n)), used)))
        out = out if wanted == used else lax.convert_element_type(out, wanted)
    else:
        with np.errstate(all="ignore"):
            out = constant((k / np.asarray(statics.number(d, "d") * n).astype(used)).astype(used).astype(wanted))
    return out if device is None else place(out, device)


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Frequencies of the elements that `fft` returns: 0, 1, … , then the negative ones, over n * d.

    Args:
      n: number of elements.
      d: distance of samples.
      dtype: dtype; by default the default floating one.
      device: Device or Sharding to place the array on.

    Returns:
      An array of shape (n,).

    Raises:
      ValueError: an `n` or `d` that is a list.

    >>> import xtrace as xt
    >>> xt.numpy.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    return _frequencies("fftfreq", n, d, dtype, device, lambda n: (np.arange(n) + n // 2) % n - n // 2)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Frequencies of the elements that `rfft` returns: 0, 1, … n // 2, over n * d.

    Args:
      n: number of elements.
      d: distance of samples.
      dtype: dtype; by default the default floating one.
      device: Device or Sharding to place the array on.

    Returns:
      An array of shape (n // 2 + 1,).

    Raises:
      ValueError: an `n` or `d` that is a list.

    >>> import xtrace as xt
    >>> xt.numpy.fft.rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    return _frequencies("rfftfreq", n, d, dtype, device, lambda n: np.arange(n // 2 + 1))


def _shift(name: str, x: Any, axes: Any, inverse: bool) -> Any:
    x = mp.as_array(f"fft.{name}", x)
    shape = shaped(x).shape
    found = tuple(range(len(shape))) if axes is None else canonical_axes(axes, len(shape), "axes")
    return mp.roll(x, tuple([-(shape[i] // 2) if inverse else shape[i] // 2 for i in found]), found)


def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """Move the element of frequency 0 from the front to the middle.

    Args:
      x: array.
      axes: along which axes; by default all.

    Returns:
      An array of the same shape and dtype.

    Raises:
      ValueError: an axis that doesn't exist.

    >>> import xtrace as xt
    >>> xt.numpy.fft.fftshift(xt.numpy.fft.fftfreq(4)).tolist()
    [-0.5, -0.25, 0.0, 0.25]
    """
    return _shift("fftshift", x, axes, False)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """Undo `fftshift`: move the element in the middle to the front.

    Args:
      x: array.
      axes: along which axes; by default all.

    Returns:
      An array of the same shape and dtype.

    Raises:
      ValueError: an axis that doesn't exist.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.fft.ifftshift(np.array([-2, -1, 0, 1, 2])).tolist()
    [0, 1, 2, -2, -1]
    """
    return _shift("ifftshift", x, axes, True)


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
