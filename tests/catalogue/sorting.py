"""Catalogue entries of sorting, searching, quantiles, sets and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.catalogue.catalogue import Bad, Op, Sample

_MATRIX = np.zeros((2, 3), np.float32)
_DTYPES = ("float32", "float64", "int32", "uint8")


def _of(dtypes: tuple[str, ...], *calls: dict[str, Any], shapes: Any = ((2, 3), (4, 3))) -> Any:
    def samples(draw: Any) -> Any:
        for dtype in dtypes:
            for shape in shapes:
                for params in calls or ({},):
                    yield Sample(draw.array(shape, dtype, 0, 9), **params)

    return samples


def _search(*calls: dict[str, Any]) -> Any:
    """A sorted vector, and values to find in it."""

    def samples(draw: Any) -> Any:
        for dtype in ("float32", "int32"):
            for params in calls:
                yield Sample(np.sort(draw.array((5,), dtype)), draw.array((2, 3), dtype), **params)

    return samples


def _pairs(**params: Any) -> Any:
    def samples(draw: Any) -> Any:
        for dtype in ("float32", "int32"):
            yield Sample(draw.array((5,), dtype, 0, 4), draw.array((4,), dtype, 0, 4), **params)

    return samples


def _sized(reference: Any) -> Any:
    """numpy's result, filled up to the size asked for."""

    def run(*args: Any, size: int, fill_value: Any) -> Any:
        out = reference(*args)
        return np.concatenate([out, np.full(size - len(out), fill_value, out.dtype)])

    return run


def _quantile(name: str, q: float) -> Op:
    calls = ({}, {"axis": 0}, {"axis": 1, "keepdims": True, "method": "lower"})
    return Op(
        f"numpy.{name}",
        _of(("float32", "float64", "int32"), *calls, shapes=((3, 4),)),
        lambda x, **params: getattr(np, name)(x, q, **params),
        lambda root: lambda x, **params: getattr(root.numpy, name)(x, q, **params),
        tolerance=8,
    )


_SIZED = {"size": 9, "fill_value": 7}
_COUNTS = {"differentiable": ()}

OPS = [
    Op(
        "lax.sort",
        _of(_DTYPES, {}, {"dimension": 0}),
        lambda x, dimension=-1: np.sort(x, dimension),
        bad=[Bad(ValueError, "out of bounds", _MATRIX, dimension=4)],
    ),
    Op(
        "lax.sort_key_val",
        lambda draw: iter([Sample(draw.array((5,), "float32"), draw.array((5,), "int32"))]),
        lambda keys, values: (np.sort(keys), values[np.argsort(keys, kind="stable")]),
    ),
    Op(
        "lax.top_k",
        _of(("float32", "float64"), {"k": 2}, {"k": 1}),
        lambda x, k: (-np.sort(-x, -1)[..., :k], np.argsort(-x, -1, kind="stable")[..., :k]),
        bad=[Bad(ValueError, "no larger than size", _MATRIX, k=7)],
    ),
    Op(
        "lax.approx_max_k",
        _of(("float32", "float64"), {"k": 2}, {"k": 1}),
        lambda x, k: (-np.sort(-x, -1)[..., :k], np.argsort(-x, -1, kind="stable")[..., :k]),
        bad=[Bad(ValueError, "smaller than the size", _MATRIX, k=7)],
    ),
    Op(
        "lax.approx_min_k",
        _of(("float32", "float64"), {"k": 2}, {"k": 1}),
        lambda x, k: (np.sort(x, -1)[..., :k], np.argsort(x, -1, kind="stable")[..., :k]),
        bad=[Bad(ValueError, "k must be positive", _MATRIX, k=0)],
    ),
    Op("numpy.sort", _of(_DTYPES, {}, {"axis": 0}, {"axis": None}), np.sort),
    Op(
        "numpy.argsort",
        _of(_DTYPES, {}, {"axis": 0}, {"axis": None}),
        lambda x, axis=-1: np.argsort(x, axis, kind="stable"),
        **_COUNTS,
    ),
    Op("numpy.lexsort", _of(("float32", "int32"), {}), np.lexsort, **_COUNTS),
    Op("numpy.sort_complex", _of(("float32", "complex64"), {}, shapes=((4,),)), np.sort_complex),
    Op("numpy.partition", _of(("float32", "int32"), {"kth": 1}), lambda x, kth: np.sort(x)),
    Op("numpy.argpartition", _of(("float32",), {"kth": 1}), lambda x, kth: np.argsort(x), **_COUNTS),
    Op(
        "numpy.searchsorted",
        _search({}, {"side": "right"}, {"method": "sort"}),
        lambda a, v, side="left", method=None: np.searchsorted(a, v, side),
        **_COUNTS,
    ),
    Op("numpy.digitize", lambda draw: (Sample(*s.args[::-1]) for s in _search({})(draw)), np.digitize, **_COUNTS),
    *[_quantile(n, 0.3) for n in ("quantile", "nanquantile")],
    *[_quantile(n, 30.0) for n in ("percentile", "nanpercentile")],
    *[
        Op(f"numpy.{n}", _of(("float32", "float64", "int32"), {}, {"axis": 0}), getattr(np, n), tolerance=4)
        for n in ("median", "nanmedian")
    ],
    Op("numpy.unique", _of(("float32", "int32"), _SIZED, shapes=((2, 3),)), _sized(np.unique), differentiable=()),
    Op("numpy.unique_values", _of(("int32",), _SIZED, shapes=((2, 3),)), _sized(np.unique)),
    Op(
        "numpy.unique_counts",
        _of(("int32",), {"size": 3}, shapes=((3,),)),
        skip={"value": "fills up; tested in tests/numpy/test_sets.py"},
    ),
    *[
        Op(
            f"numpy.{n}",
            _of(("int32",), {"size": 3}, shapes=((3,),)),
            skip={"value": "fills up; tested in tests/numpy/test_sets.py"},
        )
        for n in ("unique_all", "unique_inverse")
    ],
    *[
        Op(f"numpy.{n}", _pairs(**_SIZED), _sized(getattr(np, n)), differentiable=())
        for n in ("union1d", "intersect1d", "setdiff1d", "setxor1d")
    ],
    Op("numpy.isin", _pairs(), np.isin, differentiable=()),
    Op(
        "numpy.bincount",
        _of(("int32", "uint8"), {"length": 12}, shapes=((6,),)),
        lambda x, length: np.bincount(x, minlength=length),
    ),
    Op(
        "numpy.histogram",
        _of(("float32", "int32"), {"bins": 4}),
        lambda x, bins: np.histogram(x, bins),
        tolerance=8,
        **_COUNTS,
    ),
    Op("numpy.histogram_bin_edges", _of(("float32",), {"bins": 4}), np.histogram_bin_edges, tolerance=4),
    Op(
        "numpy.histogramdd",
        _of(("float32",), {"bins": 3}, shapes=((7, 2),)),
        lambda x, bins: (lambda h: (h[0], *h[1]))(np.histogramdd(x, bins)),
        lambda root: lambda x, bins: (lambda h: (h[0], *h[1]))(root.numpy.histogramdd(x, bins)),
        tolerance=8,
        **_COUNTS,
    ),
    Op(
        "numpy.histogram2d",
        lambda draw: iter([Sample(draw.array((7,), "float32"), draw.array((7,), "float32"), bins=3)]),
        np.histogram2d,
        tolerance=8,
        **_COUNTS,
    ),
]
