"""Catalogue entries of convolution, covariance, integration and fitting."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.catalogue.catalogue import Bad, Draw, Op, Sample

_V, _M = np.ones(3, np.float32), np.ones((2, 3), np.float32)
_REAL = ("float32", "float64", "int32")


def _vectors(draw: Draw) -> Any:
    for dtype in (*_REAL, "complex64"):
        for n, m in ((4, 3), (2, 3)):
            for mode in ("full", "same", "valid"):
                yield Sample(draw.array((n,), dtype), draw.array((m,), dtype), mode=mode)


def _rows(*calls: dict[str, Any], dtypes: tuple[str, ...] = _REAL, shape: tuple[int, ...] = (2, 4)) -> Any:
    def samples(draw: Draw) -> Any:
        for dtype in dtypes:
            for params in calls:
                yield Sample(draw.array(shape, dtype, -9, 9), **params)

    return samples


def _points(draw: Draw) -> Any:
    for dtype in ("float32", "float64"):
        for shape in ((5,), (5, 2)):
            yield Sample(np.linspace(0.5, 2, 5).astype(dtype), draw.array(shape, dtype), deg=2)


def _smallest(x: Any, k: int, axis: int = -1) -> Any:
    order = np.argsort(x, axis, kind="stable")
    order = np.take(order, np.arange(k), axis)
    return np.take_along_axis(x, order, axis), order


_APART = np.array([[5, 1, 9], [2, 7, 3]])

OPS = [
    *[
        Op(
            f"numpy.{name}",
            _vectors,
            getattr(np, name),
            tolerance=4,
            bad=[Bad(ValueError, "1-dimensional", _M, _V), Bad(ValueError, "cannot be empty", _V, np.ones(0))],
        )
        for name in ("convolve", "correlate")
    ],
    Op(
        "numpy.cov",
        _rows({}, {"bias": True}, {"rowvar": False}, {"ddof": 0}, dtypes=(*_REAL, "complex64")),
        np.cov,
        tolerance=8,
        bad=[Bad(ValueError, "more than 2 dimensions", np.ones((1, 1, 1)))],
    ),
    Op("numpy.corrcoef", _rows({}, dtypes=("float32", "float64"), shape=(2, 5)), np.corrcoef, tolerance=8),
    Op(
        "numpy.trapezoid",
        _rows({}, {"axis": 0}, {"dx": 0.5}),
        np.trapezoid,
        tolerance=4,
        bad=[Bad(ValueError, "out of bounds", _M, axis=2)],
    ),
    Op(
        "numpy.polyfit",
        _points,
        np.polyfit,
        tolerance=64,
        skip={"lowering": "singular values have no lowering for TPU yet"},
        bad=[Bad(TypeError, "1D vector for x", _M, _M, deg=1)],
    ),
    Op(
        "numpy.roots",
        lambda draw: iter([Sample(np.array([1.0, -6.5, 11.0, -4.0], "float32"))]),
        np.roots,
        lambda root: lambda p: root.numpy.roots(p, strip_zeros=False),
        tolerance=64,
        skip={
            "lowering": "nonsymmetric eigenvalues are computed on CPU alone",
            "second": "nonsymmetric eigenvalues have first derivatives alone",
        },
        bad=[Bad(ValueError, "rank-1", _M)],
    ),
    Op(
        "numpy.minmax",
        _rows({}, {"axis": 1}, {"axis": 0, "keepdims": True}, dtypes=("float32", "int32")),
        lambda x, **params: (np.min(x, **params), np.max(x, **params)),
        differentiable=(),
    ),
    Op(
        "numpy.top_k",
        lambda draw: (
            Sample(_APART.astype(d), k=2, **a) for d in ("float32", "int32", "uint8") for a in ({}, {"axis": 0})
        ),
        _smallest,
        lambda root: lambda x, k, axis=-1: root.numpy.top_k(x, k, axis=axis, mode="smallest"),
        bad=[Bad(ValueError, "no larger than size", _V, 7)],
    ),
]
