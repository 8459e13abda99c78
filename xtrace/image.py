"""Resampling of images: weights along each dimension, and one product with them."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace import numpy as xnp
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import dots, shapes
from xtrace.lax.precision import Precision

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """How the values between an image's pixels are found.

    NEAREST takes the nearest pixel. LINEAR, CUBIC (Keys, Cubic convolution interpolation for digital image processing,
    1981, with a = -1/2), LANCZOS3 and LANCZOS5 weigh the pixels around by a kernel. CUBIC_PYTORCH is Keys' kernel with
    a = -3/4 and repeated edges where there is no antialiasing. AREA averages the pixels that a pixel covers.
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name, such as "linear" or "bicubic"."""
        found = _NAMES.get(s)
        if found is None:
            raise ValueError(f'Unknown resize method "{s}"; there are {", ".join(_NAMES)}')
        return found


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}

# -- kernels: functions of the distance, not negative ----------------------------------------------------------------


def _triangle(x: Any) -> Any:
    return xnp.maximum(0, 1 - x)


def _keys(a: float) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return xnp.where(x >= 2, 0, xnp.where(x >= 1, far, near))

    return kernel


def _lanczos(radius: int) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        # sinc(x) sinc(x / radius). Near 0 it is 1, where a derivative must not divide by 0 either.
        small = x <= 1e-3
        safe = xnp.where(small, 1, x)
        value = radius * xnp.sin(np.pi * safe) * xnp.sin(np.pi * safe / radius) / (np.pi**2 * safe**2)
        return xnp.where(x > radius, 0, xnp.where(small, 1, value))

    return kernel


_KERNELS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: _lanczos(3),
    ResizeMethod.LANCZOS5: _lanczos(5),
    ResizeMethod.CUBIC: _keys(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _keys(-0.75),
}

# -- weights ---------------------------------------------------------------------------------------------------------

#: Sums of weights below this are taken for 0.
_NEGLIGIBLE = 1000 * float(np.finfo(np.float32).eps)


def _normalized(weights: Any) -> Any:
    """Columns divided by their sums; zeros where the sum is 0."""
    total = xnp.sum(weights, axis=0, keepdims=True)
    full = xnp.abs(total) > _NEGLIGIBLE
    return xnp.where(full, weights / xnp.where(full, total, 1), 0)


def _weights(size: int, out_size: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool) -> Any:
    """The (size, out_size) matrix of what each input pixel contributes to each output pixel along one dimension."""
    dtype = xnp.result_type(scale, translation)
    inverse = 1.0 / scale
    places = xnp.arange(out_size, dtype=dtype)[None]
    # Where the middles of output pixels lie in the input, in pixels.
    samples = (places + 0.5) * inverse - translation * inverse - 0.5
    repeats_edges = method is ResizeMethod.CUBIC_PYTORCH and not antialias
    beyond = 2 if repeats_edges else 0
    pixels = xnp.arange(-beyond, size + beyond, dtype=dtype)[:, None]
    if method is ResizeMethod.AREA:
        left = places * inverse - translation * inverse
        weights = xnp.maximum(0.0, xnp.minimum(left + inverse, pixels + 1.0) - xnp.maximum(left, pixels))
    else:
        # Going down in size, the kernel is widened to the size of an output pixel, so that all pixels take part.
        width = xnp.maximum(inverse, 1.0) if antialias else 1.0
        kernel = _KERNELS[ResizeMethod.CUBIC if method is ResizeMethod.CUBIC_PYTORCH and antialias else method]
        weights = kernel(xnp.abs(samples - pixels) / width)
    if repeats_edges:
        before, inside, after = weights[:beyond], weights[beyond : beyond + size], weights[beyond + size :]
        inside = inside.at[0].add(before.sum(0)) if size else inside
        return _normalized(inside.at[size - 1].add(after.sum(0)) if size else inside)
    within = (samples >= -0.5) & (samples <= size - 0.5)
    return xnp.where(within, _normalized(weights), 0)


def _resample(
    image: Any,
    shape: tuple[int, ...],
    dims: Sequence[int],
    scale: Sequence[Any],
    translation: Sequence[Any],
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Any:
    aval = shaped(image)
    # Dimensions that shrink most come first: the products after them are smaller.
    order = sorted(range(len(dims)), key=lambda i: shape[dims[i]] / max(aval.shape[dims[i]], 1))
    for i in order:
        d = dims[i]
        weights = _weights(aval.shape[d], shape[d], scale[i], translation[i], method, antialias)
        weights = shapes.convert(weights, aval.dtype, False)
        image = dots.dot_general(image, weights, (((d,), (0,)), ((), ())), precision)
        image = xnp.moveaxis(image, -1, d)
    return image


def _checked(image: Any, shape: Any, method: Any) -> tuple[Any, tuple[int, ...], ResizeMethod]:
    image = image if hasattr(image, "aval") else xnp.asarray(image)
    shape = shapes.canonical_shape(shape)
    if len(shape) != image.ndim:
        raise ValueError(
            f"shape must have length equal to the number of dimensions of x;  {shape} vs {image.shape}. "
            "It gives all sizes of the result, batch and channels too."
        )
    return image, shape, ResizeMethod.from_string(method) if isinstance(method, str) else ResizeMethod(method)


def _inexact(x: Any) -> Any:
    dtype = shaped(x).dtype
    return x if dtypes.is_inexact(dtype) else shapes.convert(x, dtypes.canonicalize(np.dtype("float64")), False)


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """Resample an image that is scaled, then moved: the pixel at x goes to x * scale + translation.

    Args:
      image: array of any rank.
      shape: shape of the result, of image's length.
      spatial_dims: the dimensions that are resampled.
      scale: array (spatial dimensions,): factors. Derivatives exist.
      translation: array (spatial dimensions,): shifts in pixels of the result. Derivatives exist.
      method: a ResizeMethod or its name, such as "linear"; not NEAREST.
      antialias: whether going down in size averages.
      precision: that of the products, as in `lax.dot_general`.

    Returns:
      The array of `shape`; integers become floats. Pixels from outside the image are 0.

    Raises:
      ValueError: a shape of another length, an unknown method, or NEAREST.

    >>> import xtrace as xt
    >>> x = xt.numpy.array([1.0, 2.0, 3.0])
    >>> xt.image.scale_and_translate(x, (3,), (0,), xt.numpy.array([1.0]), xt.numpy.array([1.0]), "linear").tolist()
    [0.0, 1.0, 2.0]
    """
    image, shape, method = _checked(image, shape, method)
    if method is ResizeMethod.NEAREST:
        raise ValueError(
            "Nearest neighbor resampling is not currently supported for scale_and_translate. Use resize, or 'linear'."
        )
    dims = tuple([shapes.canonical_axis(d, len(shape)) for d in statics.integers(spatial_dims, "spatial_dims")])
    return _scale_and_translate(
        image, scale, translation, shape=shape, dims=dims, method=method, antialias=bool(antialias), precision=precision
    )


@composite(static_argnames=("shape", "dims", "method", "antialias", "precision"))
def _scale_and_translate(
    image: Any,
    scale: Any,
    translation: Any,
    *,
    shape: tuple[int, ...],
    dims: tuple[int, ...],
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Any:
    scale, translation = _inexact(xnp.asarray(scale)), _inexact(xnp.asarray(translation))
    n = range(len(dims))
    scales, translations = [scale[i] for i in n], [translation[i] for i in n]
    return _resample(_inexact(image), shape, dims, scales, translations, method, antialias, precision)


def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """Resize an image to a shape. Batch and channel dimensions are those whose sizes stay.

    Args:
      image: array of any rank.
      shape: shape of the result, of image's length.
      method: a ResizeMethod or its name: "nearest", "linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area".
      antialias: whether going down in size averages; without effect on NEAREST and AREA.
      precision: that of the products, as in `lax.dot_general`.

    Returns:
      The array of `shape`. Integers become floats, except by NEAREST.

    Raises:
      ValueError: a shape of another length, or an unknown method.

    >>> import xtrace as xt
    >>> xt.image.resize(xt.numpy.array([1.0, 3.0]), (4,), "linear").tolist()
    [1.0, 1.5, 2.5, 3.0]
    """
    image, shape, method = _checked(image, shape, method)
    return _resize(image, shape=shape, method=method, antialias=bool(antialias), precision=precision)


@composite(static_argnames=("shape", "method", "antialias", "precision"))
def _resize(image: Any, *, shape: tuple[int, ...], method: ResizeMethod, antialias: bool, precision: Any) -> Any:
    sizes = shaped(image).shape
    dims = [d for d, (old, new) in enumerate(zip(sizes, shape)) if old != new]
    if method is not ResizeMethod.NEAREST:
        image = _inexact(image)
    if math.prod(shape) == 0 or math.prod(sizes) == 0:
        return xnp.zeros(shape, shaped(image).dtype)
    if method is ResizeMethod.NEAREST:
        for d in dims:
            # Of whole numbers: floor((i + 1/2) * size / out_size), exactly.
            places = (2 * np.arange(shape[d], dtype=np.int64) + 1) * sizes[d] // (2 * shape[d])
            image = xnp.take(image, places.astype(np.int32), axis=d, mode="clip")
        return image
    scale = [shape[d] / sizes[d] for d in dims]
    return _resample(image, shape, dims, scale, [0.0] * len(dims), method, antialias, precision)
