"""Convolutions and correlations of arrays, directly and by Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core import dtypes
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.numpy import fft, promotion
from xtrace.numpy.arguments import canonical_axes

_MODES = ("full", "same", "valid")
Shape = tuple[int, ...]


def _check(name: str, left: Shape, right: Shape, mode: str, axes: Sequence[int]) -> None:
    if mode not in _MODES:
        raise ValueError(f"{name}: mode must be one of ['full', 'same', 'valid'], got {mode!r}")
    if len(left) != len(right):
        raise ValueError(
            f"{name}: in1 and in2 must have the same number of dimensions, got shapes {left} and {right}; "
            f"add dimensions of size 1 to one of them"
        )
    if 0 in left or 0 in right:
        raise ValueError(f"{name}: zero-size arrays not supported in convolutions, got shapes {left} and {right}.")
    if mode == "valid":
        signs = {left[i] > right[i] for i in axes if left[i] != right[i]}
        if len(signs) > 1:
            raise ValueError(
                f"{name}: One input must be smaller than the other in every dimension for mode 'valid', got shapes "
                f"{left} and {right}."
            )


def _window(left: Shape, right: Shape, mode: str, late: bool = False) -> tuple[list[int], list[int]]:
    """(starts, sizes) of the part of the full convolution that a mode asks for.

    late: an even kernel leaves two middles, of which correlate2d takes the later.
    """
    if mode == "full":
        return [0] * len(left), [n + m - 1 for n, m in zip(left, right)]
    if mode == "same":
        return [m // 2 if late else (m - 1) // 2 for m in right], list(left)
    return [min(n, m) - 1 for n, m in zip(left, right)], [abs(n - m) + 1 for n, m in zip(left, right)]


def _direct(x: Any, kernel: Any, starts: list[int], sizes: list[int], precision: Any) -> Any:
    """The window of the full convolution of `x` with `kernel` that begins at `starts`."""
    left, right = shaped(x).shape, shaped(kernel).shape
    if not left:
        return x * kernel
    if all([n <= m for n, m in zip(left, right)]):
        x, kernel, left, right = kernel, x, right, left
    kernel = lax.rev(kernel, tuple(range(len(right))))
    padding = [(m - 1 - s, s + size - n) for n, m, s, size in zip(left, right, starts, sizes)]
    x, kernel = lax.expand_dims(x, (0, 1)), lax.expand_dims(kernel, (0, 1))
    return lax.squeeze(lax.conv_general_dilated(x, kernel, (1,) * len(left), padding, precision=precision), (0, 1))


def _by_transforms(x: Any, y: Any, axes: Sequence[int], starts: list[int], sizes: list[int]) -> Any:
    left, right = shaped(x).shape, shaped(y).shape
    if all([left[i] == 1 or right[i] == 1 for i in axes]):
        product = x * y
    else:
        full = [left[i] + right[i] - 1 for i in axes]
        of_complex = dtypes.is_complex(shaped(x).dtype)
        forward, back = (fft.fftn, fft.ifftn) if of_complex else (fft.rfftn, fft.irfftn)
        product = back(forward(x, full, axes) * forward(y, full, axes), full, axes)
    return lax.slice(product, starts, [s + n for s, n in zip(starts, sizes)])


@composite(static_argnames=("name", "mode", "method", "precision"))
def _convolve(name: str, in1: Any, in2: Any, mode: str, method: str, precision: Any) -> Any:
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"{name}: Got method={method!r}; expected 'auto', 'fft', or 'direct'.")
    x, y = promotion.promote(name, (in1, in2), "inexact", ranks=False)
    left, right = shaped(x).shape, shaped(y).shape
    axes = range(len(left))
    _check(name, left, right, mode, axes)
    if name == "correlate":
        y = lax.rev(xnp.conj(y), tuple(axes))
    starts, sizes = _window(left, right, mode)
    if method == "fft":
        return _by_transforms(x, y, axes, starts, sizes)
    return _direct(x, y, starts, sizes, precision)


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """The convolution of two arrays of any number of dimensions.

    Args:
      in1, in2: arrays of equal rank; integers become floats.
      mode: "full": all positions where the arrays meet; "same": as many as in1 has elements, from the middle; "valid":
        those where one array lies within the other.
      method: "direct", "fft" (by Fourier transforms), or "auto" (directly).
      precision: as in `lax.dot_general`.

    Returns:
      An array of the rank of in1.

    Raises:
      ValueError: ranks that differ, an empty array, an unknown mode or method; mode "valid" where neither array fits
        in the other.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.signal.convolve(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0])).tolist()
    [1.0, 3.0, 5.0, 3.0]
    """
    return _convolve("convolve", in1, in2, mode, method, precision)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """The correlation of two arrays of any number of dimensions: in2 is conjugated and slides along in1.

    Args:
      in1, in2, mode, method, precision: as in `convolve`.

    Returns:
      An array of the rank of in1.

    Raises:
      ValueError: as in `convolve`.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.signal.correlate(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0])).tolist()
    [1.0, 2.0, 3.0, 0.0]
    """
    return _convolve("correlate", in1, in2, mode, method, precision)


@composite(static_argnames=("name", "mode", "precision"))
def _convolve2d(name: str, in1: Any, in2: Any, mode: str, precision: Any) -> Any:
    x, y = promotion.promote(name, (in1, in2), "inexact", ranks=False)
    left, right = shaped(x).shape, shaped(y).shape
    if len(left) != 2 or len(right) != 2:
        raise ValueError(f"{name}() only supports 2-dimensional inputs, got shapes {left} and {right}.")
    _check(name, left, right, mode, (0, 1))
    correlates = name == "correlate2d"
    if correlates:
        y = lax.rev(xnp.conj(y), (0, 1))
    starts, sizes = _window(left, right, mode, late=correlates)
    out = _direct(x, y, starts, sizes, precision)
    # SciPy conjugates the smaller array, whichever it is.
    smaller = mode == "valid" and left != right and all([n <= m for n, m in zip(left, right)])
    return xnp.conj(out) if correlates and smaller else out


def _only_zeros(name: str, boundary: str, fillvalue: Any) -> None:
    if boundary != "fill" or not isinstance(fillvalue, (int, float, complex)) or fillvalue != 0:
        raise NotImplementedError(
            f"{name}() only supports boundary='fill', fillvalue=0, got {boundary=} and {fillvalue=}; "
            f"pad in1 with numpy.pad and use mode='valid'"
        )


def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0, precision: Any = None
) -> Any:
    """The convolution of two matrices.

    Args:
      in1, in2: matrices; integers become floats.
      mode, precision: as in `convolve`.
      boundary, fillvalue: what surrounds in1: zeros only.

    Returns:
      A matrix.

    Raises:
      ValueError: as in `convolve`, and arrays that are no matrices.
      NotImplementedError: other surroundings than zeros.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.signal.convolve2d(np.ones((2, 2)), np.ones((2, 2))).tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    _only_zeros("convolve2d", boundary, fillvalue)
    return _convolve2d("convolve2d", in1, in2, mode, precision)


def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0, precision: Any = None
) -> Any:
    """The correlation of two matrices: in2 is conjugated and slides over in1.

    Args:
      in1, in2, mode, boundary, fillvalue, precision: as in `convolve2d`.

    Returns:
      A matrix. With mode "valid", where in1 lies within in2, it is in1 that is conjugated, as in SciPy.

    Raises:
      ValueError, NotImplementedError: as in `convolve2d`.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.signal.correlate2d(np.eye(2), np.array([[1.0, 2.0]]), mode="valid").tolist()
    [[1.0], [2.0]]
    """
    _only_zeros("correlate2d", boundary, fillvalue)
    return _convolve2d("correlate2d", in1, in2, mode, precision)


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: int | Sequence[int] | None = None) -> Any:
    """The convolution of two arrays by Fourier transforms: fast where both are large.

    Args:
      in1, in2: arrays of equal rank; integers become floats.
      mode: as in `convolve`.
      axes: those to convolve along, all by default; along others the arrays are multiplied.

    Returns:
      An array of the rank of in1.

    Raises:
      ValueError: as in `convolve`; sizes that differ along other axes.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.signal.fftconvolve(np.ones((2, 3)), np.ones((2, 3)), axes=1).shape
    (2, 5)
    """
    return _fftconvolve(in1, in2, mode, None if axes is None else tuple(axes) if hasattr(axes, "__iter__") else (axes,))


@composite(static_argnames=("mode", "axes"))
def _fftconvolve(in1: Any, in2: Any, mode: str, axes: tuple[int, ...] | None) -> Any:
    x, y = promotion.promote("fftconvolve", (in1, in2), "inexact", ranks=False)
    left, right = shaped(x).shape, shaped(y).shape
    if len(left) != len(right):
        raise ValueError(f"in1 and in2 should have the same dimensionality, got shapes {left} and {right}")
    along = tuple(range(len(left))) if axes is None else tuple(canonical_axes(axes, len(left), "axes"))
    _check("fftconvolve", left, right, mode, along)
    if any([left[i] != right[i] for i in range(len(left)) if i not in along]):
        raise ValueError(f"mapped axes must have same shape; got in1.shape={left} in2.shape={right}, {axes=}")
    starts, sizes = [0] * len(left), list(left)
    for i, start, size in zip(along, *_window(*[tuple([s[i] for i in along]) for s in (left, right)], mode)):
        starts[i], sizes[i] = start, size
    return _by_transforms(x, y, along, starts, sizes)


__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]
