"""Catalogue entries of what samples, filters and fits: signal, ndimage, image, interpolate, integrate, cluster, ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.cluster.vq
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.signal

from tests.catalogue.catalogue import Bad, Draw, Op, Sample, between_integers, find

SAMPLED = True

_REAL = ("float32", "float64")


def _of(*shapes: tuple[int, ...], dtypes: Any = _REAL, calls: Any = ({},)) -> Callable[[Draw], Any]:
    def samples(draw: Draw) -> Any:
        for dtype in dtypes:
            for params in calls:
                yield Sample(*[draw.array(shape, dtype) for shape in shapes], **params)

    return samples


def _modes(**more: Any) -> list[dict[str, Any]]:
    return [{"mode": mode, **more} for mode in ("full", "same", "valid")]


def _signal(name: str, *shapes: tuple[int, ...], calls: Any = ({},), **options: Any) -> Op:
    options = {"tolerance": 32} | options
    reference = options.pop("reference", getattr(scipy.signal, name))
    return Op(f"scipy.signal.{name}", _of(*shapes, calls=calls), reference, **options)


_SHORT = {"nperseg": 4, "noverlap": 2}
#: What the real parts of a spectrum are of one-sided transforms must have: zero imaginary parts at both ends.
_SPECTRA = [
    _signal(
        "stft", (16,), calls=({"nperseg": 4}, {**_SHORT, "detrend": "constant", "boundary": None, "padded": False}),
        bad=[Bad(ValueError, "noverlap", np.ones(16), nperseg=4, noverlap=4)],
    ),
    _signal("welch", (16,), calls=({"nperseg": 8}, {**_SHORT, "scaling": "spectrum", "fs": 2.0, "average": "median"})),
    _signal("csd", (16,), (16,), calls=({"nperseg": 8}, {**_SHORT, "detrend": False, "return_onesided": True})),
    Op(
        "scipy.signal.istft",
        lambda draw: (
            Sample(draw.array((3, 5), d) + np.zeros((), "complex64").astype("complex64" if d == "float32" else
                   "complex128"), **params)
            for d in _REAL
            for params in ({"nperseg": 4}, {"nperseg": 4, "noverlap": 2, "fs": 2.0})
        ),
        scipy.signal.istft,
        tolerance=32,
    ),
]  # fmt: skip

SIGNAL = [
    *[
        _signal(name, (5,), (3,), calls=[*_modes(), *_modes(method="fft")],
                bad=[Bad(ValueError, "mode", np.ones(3), np.ones(2), mode="most")])
        for name in ("convolve", "correlate")
    ],
    *[
        _signal(name, (4, 5), (2, 3), calls=_modes(),
                bad=[Bad(ValueError, "", np.ones(3), np.ones(2))])
        for name in ("convolve2d", "correlate2d")
    ],
    _signal("fftconvolve", (2, 5), (2, 3), calls=[*_modes(axes=1), *_modes()]),
    _signal("detrend", (3, 6), calls=({}, {"axis": 0, "type": "constant"}, {"bp": (0, 3)})),
    *_SPECTRA,
]  # fmt: skip


def _coordinates(draw: Draw) -> Any:
    for dtype in _REAL:
        for order in (0, 1):
            for mode in ("constant", "nearest", "wrap", "mirror", "reflect"):
                inner = between_integers(0, 2)
                yield Sample(
                    draw.array((4, 5), dtype),
                    inner(draw, (3,), dtype),
                    inner(draw, (3,), dtype),
                    order=order,
                    mode=mode,
                )


def _mapped(np: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, i, j, **params: function(x, np.stack([i, j]), **params)


def _grid(draw: Draw) -> Any:
    for dtype in _REAL:
        for method in ("linear", "nearest"):
            yield Sample(draw.array((3, 4), dtype), draw.array((5, 2), dtype, 0.1, 0.9), method=method)


def _interpolated(module: Any) -> Callable[..., Any]:
    points = (np.array([0.0, 0.45, 1.0]), np.array([-0.5, 0.2, 0.6, 1.5]))
    return lambda values, xi, method: module.RegularGridInterpolator(points, values, method=method)(xi)


def _centres(draw: Draw) -> Any:
    for dtype in _REAL:
        yield Sample(draw.array((5, 2), dtype), draw.array((3, 2), dtype))


def _resized(x: Any, shape: tuple[int, ...], method: str = "linear", antialias: bool = True) -> Any:
    """By matrices, one an axis: triangles, which shrinking widens, of weights that sum to 1."""
    for axis, size in enumerate(shape):
        old = x.shape[axis]
        if old == size:
            continue
        scale = size / old
        centres = (np.arange(size) + 0.5) / scale - 0.5
        if method == "nearest":
            weights = np.eye(old)[np.floor((np.arange(size) + 0.5) / scale).astype(int)]
        else:
            distance = np.abs(centres[:, None] - np.arange(old)) * (min(scale, 1) if antialias else 1)
            weights = np.maximum(0, 1 - distance)
            weights = weights / weights.sum(1, keepdims=True)
        x = np.moveaxis(np.tensordot(weights, x, (1, axis)), 0, axis)
    return x


def _moved(x: Any, scale: Any, translation: Any, shape: tuple[int, ...]) -> Any:
    centres = (np.arange(shape[1]) + 0.5 - translation[0]) / scale[0] - 0.5
    distance = np.abs(centres[:, None] - np.arange(x.shape[1])) * min(scale[0], 1)
    weights = np.maximum(0, 1 - distance)
    weights = weights / weights.sum(1, keepdims=True)
    inside = (centres >= -0.5) & (centres <= x.shape[1] - 0.5)
    return x @ (weights * inside[:, None]).T


def _translated(draw: Draw) -> Any:
    for dtype in _REAL:
        yield Sample(draw.array((2, 4), dtype), np.array([1.3], dtype), draw.array((1,), dtype, 0.1, 0.2), shape=(2, 5))


def _segments(draw: Draw) -> Any:
    ids = np.array([0, 2, 0, 1], np.int32)
    for dtype in (*_REAL, "int32"):
        for shape in ((4,), (4, 2)):
            yield Sample(draw.array(shape, dtype, 0.5, 3), ids, num_segments=3)
    yield Sample(draw.array((4,), "float32"), np.sort(ids), num_segments=3, indices_are_sorted=True)


def _by_segment(of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda data, ids, num_segments, **_: np.stack([of(data[ids == k], axis=0) for k in range(num_segments)])


OPS = [
    *SIGNAL,
    *[
        Op(
            f"numpy.fft.{name}",
            lambda draw: (Sample(n=n, d=d) for n in (1, 4, 5) for d in (1.0, 0.5)),
            getattr(np.fft, name),
        )
        for name in ("fftfreq", "rfftfreq")
    ],
    Op(
        "scipy.ndimage.map_coordinates",
        _coordinates,
        _mapped(np, scipy.ndimage.map_coordinates),
        lambda root: _mapped(root.numpy, find(root, "scipy.ndimage.map_coordinates")),
        tolerance=8,
        bad=[Bad(NotImplementedError, "mode", np.ones((3, 3)), np.zeros(1), np.zeros(1), order=1, mode="mirrored")],
    ),
    Op(
        "scipy.interpolate.RegularGridInterpolator",
        _grid,
        _interpolated(scipy.interpolate),
        lambda root: _interpolated(find(root, "scipy.interpolate")),
        tolerance=8,
    ),
    Op(
        "scipy.integrate.trapezoid",
        lambda draw: (
            Sample(draw.array((3, 4), d), **params)
            for d in (*_REAL, "int32")
            for params in ({}, {"axis": 0}, {"dx": 0.5}, {"x": np.array([0.0, 0.5, 2.0, 2.5], np.float32)})
        ),
        scipy.integrate.trapezoid,
        tolerance=4,
    ),
    Op(
        "scipy.cluster.vq.vq",
        _centres,
        scipy.cluster.vq.vq,
        tolerance=8,
        bad=[Bad(TypeError, "obs has 3 features and code_book 2", np.ones((2, 3)), np.ones((2, 2)))],
    ),
    Op(
        "image.resize",
        lambda draw: (
            Sample(draw.array((3, 4), d), shape=shape, **params)
            for d in _REAL
            for shape in ((6, 4), (2, 3))
            for params in ({"method": "linear"}, {"method": "nearest"}, {"method": "linear", "antialias": False})
        ),
        _resized,
        tolerance=16,
        bad=[Bad(ValueError, "", np.ones((2, 3)), (2,), "linear")],
    ),
    Op(
        "image.scale_and_translate",
        _translated,
        _moved,
        lambda root: (
            lambda x, scale, translation, shape: find(root, "image.scale_and_translate")(
                x, shape, (1,), scale, translation, "linear"
            )
        ),
        tolerance=16,
    ),
    *[
        Op(
            f"ops.segment_{name}",
            _segments,
            _by_segment(of),
            tolerance=4,
            bad=[Bad(TypeError, "", 1.0)],
            skip={"derivative": "products have none where an element is multiplied twice"} if name == "prod" else {},
        )
        for name, of in (("sum", np.sum), ("prod", np.prod), ("max", np.max), ("min", np.min))
    ],
]
