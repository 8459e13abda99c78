"""Catalogue entries of the methods of ufuncs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.catalogue.catalogue import Bad, Draw, Op, Sample

_M = np.zeros((2, 3), np.float32)


def _of(dtypes: tuple[str, ...], *calls: dict[str, Any]) -> Any:
    def samples(draw: Draw) -> Any:
        for dtype in dtypes:
            for params in calls:
                yield Sample(draw.array((2, 3), dtype, 0.5, 2.5), **params)

    return samples


def _methods(name: str, dtypes: tuple[str, ...]) -> list[Op]:
    theirs = getattr(np, name)
    pairs = lambda draw: (Sample(draw.array((2, 3), d), draw.array((2,), d)) for d in dtypes)  # noqa: E731
    return [
        Op(
            f"numpy.{name}.reduce",
            _of(dtypes, {}, {"axis": 1, "keepdims": True}),
            theirs.reduce,
            tolerance=4,
            bad=[Bad(ValueError, "out of bounds", _M, axis=4)],
        ),
        Op(f"numpy.{name}.accumulate", _of(dtypes, {}, {"axis": 1}), theirs.accumulate, tolerance=4),
        Op(f"numpy.{name}.outer", pairs, theirs.outer),
        Op(
            f"numpy.{name}.reduceat",
            _of(dtypes, {"axis": 1}),
            lambda x, axis: theirs.reduceat(x, [0, 2], axis),
            lambda root: lambda x, axis: getattr(root.numpy, name).reduceat(x, np.array([0, 2]), axis),
            tolerance=4,
        ),
    ]


def _norm(x: Any, y: Any) -> Any:
    return (x * x + y * y) ** 0.5


def _added_at(x: Any, y: Any) -> Any:
    x = x.copy()
    np.add.at(x, [0, 1, 0], y)
    return x


OPS = [
    *_methods("add", ("float32", "int32")),
    *_methods("multiply", ("float32", "int32")),
    *_methods("maximum", ("float32",)),
    *_methods("bitwise_or", ("int32",)),
    *_methods("logaddexp", ("float32",)),
    *_methods("subtract", ("float32",)),
    Op(
        "numpy.add.at",
        lambda draw: iter([Sample(draw.array((2, 3), "float32", 0.5, 2), draw.array((3, 3), "float32", 0.5, 2))]),
        _added_at,
        lambda root: lambda x, y: root.numpy.add.at(x, np.array([0, 1, 0]), y, inplace=False),
        tolerance=4,
    ),
    Op(
        "numpy.frompyfunc",
        lambda draw: iter([Sample(draw.array((2, 3), "float32", 0.5, 2), draw.array((3,), "float32", 0.5, 2))]),
        _norm,
        lambda root: lambda x, y: root.numpy.frompyfunc(_norm, 2, 1)(x, y),
    ),
]
