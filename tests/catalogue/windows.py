"""Catalogue entries of convolutions and reductions over windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.catalogue.catalogue import Bad, Op, Sample
from tests.lax.window_references import convolution, reduction

_DTYPES = ("float32", "float64", "complex64", "int32")
_X, _KERNEL = np.ones((2, 4, 3), np.float32), np.ones((2, 4, 2), np.float32)


def _pairs(*cases: tuple[Any, Any, dict[str, Any]], dtypes: tuple[str, ...] = _DTYPES) -> Any:
    """Samples of an array and a kernel."""

    def samples(draw: Any) -> Any:
        for dtype in dtypes:
            for shape, kernel, params in cases:
                yield Sample(draw.array(shape, dtype), draw.array(kernel, dtype), **params)

    return samples


def _plain(x: Any, w: Any, window_strides: Any, padding: Any) -> Any:
    return convolution(x, w, window_strides, padding)


def _general(
    x: Any, w: Any, window_strides: Any, padding: Any, lhs_dilation: Any = None, rhs_dilation: Any = None,
    feature_group_count: int = 1, batch_group_count: int = 1,
) -> Any:  # fmt: skip
    groups = (feature_group_count, batch_group_count)
    return convolution(x, w, window_strides, padding, lhs_dilation, rhs_dilation, *groups)


def _transposed(x: Any, w: Any, strides: Any, padding: Any) -> Any:
    out = convolution(x.transpose(0, 2, 1), w.transpose(2, 1, 0), (1,), padding, strides)
    return out.transpose(0, 2, 1)


def _patches(x: Any, filter_shape: Any, window_strides: Any, padding: str) -> Any:
    (k,), (s,) = filter_shape, window_strides
    count = (x.shape[2] - k) // s + 1
    return np.stack([x[:, :, i * s : i * s + k].reshape(x.shape[0], -1) for i in range(count)], -1)


def _local(x: Any, w: Any, window_strides: Any, padding: str, filter_shape: Any) -> Any:
    return np.einsum("nps,ops->nos", _patches(x, filter_shape, window_strides, padding), w)


def _windows(draw: Any) -> Any:
    for dtype in ("float32", "float64", "int32"):
        for window, strides, padding in (((2, 2), (1, 1), "VALID"), ((2, 3), (2, 1), "SAME")):
            values = draw.rng.permutation(12).reshape(3, 4).astype(dtype)
            for kind in ("add", "max", "min", "mul"):
                yield Sample(values, kind=kind, window_dimensions=window, window_strides=strides, padding=padding)


_IDENTITY = {"add": 0, "mul": 1, "max": -np.inf, "min": np.inf}
_UFUNC = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _identity(kind: str, dtype: Any) -> Any:
    if kind in ("max", "min") and np.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max
    return _IDENTITY[kind]


def _reduce_window(root: Any) -> Any:
    def run(x: Any, kind: str, **params: Any) -> Any:
        init = np.asarray(_identity(kind, x.dtype), x.dtype)[()]
        return root.lax.reduce_window(x, init, getattr(root.lax, kind), **params)

    return run


def _reduced(x: Any, kind: str, window_dimensions: Any, window_strides: Any, padding: Any) -> Any:
    init = _identity(kind, x.dtype)
    return reduction(x, init, _UFUNC[kind], window_dimensions, window_strides, padding)


OPS = [
    Op("lax.conv", _pairs(((2, 4, 3), (2, 4, 2), {"window_strides": (1,), "padding": "SAME"}),
                          ((1, 2, 3, 4), (3, 2, 2, 2), {"window_strides": (2, 1), "padding": "VALID"})),
       _plain, tolerance=16,
       bad=[Bad(ValueError, "window_strides must have the same number", _X, _KERNEL, (1, 1), "SAME")]),
    Op("lax.conv_general_dilated", _pairs(
        ((2, 4, 3), (4, 2, 2), {"window_strides": (1,), "padding": ((1, 0),), "feature_group_count": 2}),
        ((4, 3, 4), (4, 3, 2), {"window_strides": (2,), "padding": ((0, 1),), "batch_group_count": 2}),
        ((1, 2, 3), (2, 2, 2), {"window_strides": (1,), "padding": ((1, 1),), "lhs_dilation": (2,),
                                "rhs_dilation": (3,)})),
       _general, tolerance=16,
       bad=[Bad(TypeError, "the same dtypes", _X, np.ones((2, 4, 2), np.int32), (1,), "SAME"),
            Bad(ValueError, "feature_group_count must divide", _X, _KERNEL, (1,), "SAME", feature_group_count=3)]),
    Op("lax.conv_with_general_padding", _pairs(
        ((2, 2, 3), (2, 2, 2), {"window_strides": (1,), "padding": ((1, 2),), "lhs_dilation": (2,),
                                "rhs_dilation": (1,)})),
       _general, tolerance=16),
    Op("lax.conv_transpose", _pairs(((2, 3, 2), (3, 2, 4), {"strides": (2,), "padding": ((1, 2),)})),
       _transposed, tolerance=16),
    Op("lax.conv_general_dilated_patches",
       lambda draw: (Sample(draw.array((2, 3, 5), t), filter_shape=(2,), window_strides=(s,), padding="VALID")
                     for t in _DTYPES for s in (1, 2)), _patches),
    Op("lax.conv_general_dilated_local", _pairs(
        ((2, 2, 4), (3, 4, 3), {"window_strides": (1,), "padding": "VALID", "filter_shape": (2,)})),
       _local, tolerance=16),
    Op("lax.reduce_window", _windows, _reduced, function=_reduce_window, tolerance=4),
]  # fmt: skip
