"""Catalogue entries of reductions, cumulative operations and products, of lax and numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.catalogue.catalogue import Bad, Op, Sample

_FLOAT = ("float32", "float64")
_REAL = (*_FLOAT, "bfloat16", "int32", "int8", "uint8")
_NUMERIC = (*_REAL, "complex64")
_ALL = (*_NUMERIC, "bool")
_MATRIX = np.zeros((2, 3), np.float32)
_AXES = ({"axes": (0,)}, {"axes": (0, 1)})
_AXIS = ({}, {"axis": 0}, {"axis": -1}, {"axis": (0, 1), "keepdims": True})


def _of(
    dtypes: tuple[str, ...], calls: tuple[dict[str, Any], ...], shapes: Any = ((2, 3), (3, 1)), span: Any = (0.5, 1.5)
) -> Any:
    """Samples of one array: every dtype with every shape and set of parameters; distinct values."""

    def samples(draw: Any) -> Any:
        for dtype in dtypes:
            for shape in shapes:
                for params in calls:
                    yield Sample(draw.array(shape, dtype, *span), **params)

    return samples


def _pairs(*shapes: tuple[Any, Any], dtypes: tuple[str, ...] = _ALL, **params: Any) -> Any:
    """Samples of two arrays of one dtype."""

    def samples(draw: Any) -> Any:
        for dtype in dtypes:
            for left, right in shapes:
                yield Sample(draw.array(left, dtype, -1, 2), draw.array(right, dtype, -1, 2), **params)

    return samples


def _axes(reference: Any) -> Any:
    return lambda x, axes: reference(x, axis=axes)


def _lax_reduction(name: str, reference: Any, dtypes: tuple[str, ...], bad: Any = ()) -> Op:
    return Op(f"lax.{name}", _of(dtypes, _AXES), _axes(reference), tolerance=4, bad=bad)


def _along(reference: Any) -> Any:
    def run(x: Any, axis: int = 0, reverse: bool = False) -> Any:
        x = np.flip(x, axis) if reverse else x
        out = reference(x, axis=axis)
        return np.flip(out, axis) if reverse else out

    return run


_CUMULATIVE = ({}, {"axis": 1, "reverse": True})


def _dot_general(root: Any) -> Any:
    return lambda x, y: root.lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,))))


_SIZES = np.array([1, 2], np.int32)


def _ragged_dot(root: Any) -> Any:
    return lambda x, y: root.lax.ragged_dot(x, y, _SIZES)


def _ragged_dot_general(root: Any) -> Any:
    numbers = root.lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    return lambda x, y: root.lax.ragged_dot_general(x, y, _SIZES, numbers)


def _reduce(root: Any) -> Any:
    """By a product, which has a primitive of its own; integers by (1 + a)(1 + b) - 1, which has none."""

    def call(x: Any) -> Any:
        if x.dtype == np.int32:
            return root.lax.reduce(x, np.zeros((), x.dtype), lambda a, b: a * b + a + b, (0,))
        return root.lax.reduce(x, np.ones((), x.dtype), lambda a, b: a * b, (0,))

    return call


def _reduce_reference(x: np.ndarray) -> np.ndarray:
    return np.prod(x + 1, 0) - 1 if x.dtype == np.int32 else np.prod(x, 0)


OPS = [
    _lax_reduction("reduce_sum", np.sum, _NUMERIC, [Bad(ValueError, "out-of-bounds", _MATRIX, axes=(2,))]),
    _lax_reduction("reduce_prod", np.prod, _NUMERIC),
    _lax_reduction("reduce_max", np.max, _REAL),
    _lax_reduction("reduce_min", np.min, _REAL),
    *[
        Op(f"lax.reduce_{n}", _of(("int32", "uint8", "bool"), _AXES), _axes(getattr(np, f"bitwise_{n}").reduce))
        for n in ("and", "or", "xor")
    ],
    Op("lax.reduce", _of(("float32", "int32"), ({},)), _reduce_reference, _reduce),
    *[
        Op(
            f"lax.{n}",
            _of(("float32", "int32", "bool"), ({"axis": 1, "index_dtype": "int32"},)),
            lambda x, axis, index_dtype, n=n: getattr(np, n)(x, axis),
            bad=[Bad(ValueError, "Invalid axis", _MATRIX, axis=3, index_dtype="int32")],
        )
        for n in ("argmax", "argmin")
    ],
    Op("lax.cumsum", _of(_NUMERIC, _CUMULATIVE), _along(np.cumsum), tolerance=4),
    Op("lax.cumprod", _of(("float32", "float64", "int32", "complex64"), _CUMULATIVE), _along(np.cumprod), tolerance=8),
    Op("lax.cummax", _of(_REAL, _CUMULATIVE), _along(np.maximum.accumulate)),
    Op("lax.cummin", _of(_REAL, _CUMULATIVE), _along(np.minimum.accumulate)),
    Op("lax.cumlogsumexp", _of(_FLOAT, _CUMULATIVE), _along(np.logaddexp.accumulate), tolerance=8),
    Op(
        "lax.dot",
        _pairs(((2, 3), (3, 2)), ((3,), (3,)), dtypes=_NUMERIC),
        np.dot,
        tolerance=8,
        bad=[Bad(ValueError, "lhs_shape", _MATRIX, _MATRIX)],
    ),
    Op(
        "lax.dot_general",
        _pairs(((2, 2, 3), (2, 3, 2)), dtypes=_NUMERIC),
        np.matmul,
        _dot_general,
        tolerance=8,
    ),
    Op(
        "lax.ragged_dot",
        _pairs(((4, 3), (2, 3, 2)), dtypes=("float32", "float64", "int32")),
        lambda x, y: np.concatenate([x[:1] @ y[0], x[1:3] @ y[1], 0 * x[3:] @ y[0]]),
        _ragged_dot,
        tolerance=8,
    ),
    Op(
        "lax.ragged_dot_general",
        _pairs(((4, 3), (4, 2)), dtypes=("float32", "float64", "int32")),
        lambda x, y: np.stack([x[:1].T @ y[:1], x[1:3].T @ y[1:3]]),
        _ragged_dot_general,
        tolerance=8,
    ),
    Op("lax.batch_matmul", _pairs(((2, 2, 3), (2, 3, 2)), dtypes=("float32", "int32")), np.matmul, tolerance=8),
    *[
        Op(f"numpy.{n}", _of(("float32", "float64", "int32", "bool", "complex64"), _AXIS), getattr(np, n), tolerance=8)
        for n in ("sum", "prod", "mean")
    ],
    *[
        Op(
            f"numpy.{n}",
            _of(("float32", "float64", "int32"), (*_AXIS, {"axis": 0, "ddof": 1}), ((3, 2), (4, 3)), (-3, 3)),
            getattr(np, n),
            tolerance=32,
        )
        for n in ("var", "std")
    ],
    *[
        Op(f"numpy.{n}", _of(("float32", "float64", "int32", "uint8"), _AXIS), getattr(np, n), tolerance=4)
        for n in ("max", "min", "ptp")
    ],
    *[Op(f"numpy.{n}", _of(("float32", "float64", "int32"), _AXIS), getattr(np, n)) for n in ("amax", "amin")],
    *[
        Op(f"numpy.{n}", _of(("float32", "int32", "bool"), _AXIS), getattr(np, n), differentiable=())
        for n in ("all", "any", "count_nonzero")
    ],
    *[
        Op(
            f"numpy.{n}",
            _of(("float32", "int32"), ({}, {"axis": 1}, {"axis": 0, "keepdims": True})),
            getattr(np, n),
            differentiable=(),
        )
        for n in ("argmax", "argmin", "nanargmax", "nanargmin")
    ],
    *[
        Op(f"numpy.{n}", _of(("float32", "float64", "int32"), _AXIS), getattr(np, n), tolerance=16)
        for n in ("nansum", "nanprod", "nanmean", "nanmax", "nanmin")
    ],
    *[
        Op(f"numpy.{n}", _of(("float32", "float64"), _AXIS, ((4, 3),), (-3, 3)), getattr(np, n), tolerance=32)
        for n in ("nanvar", "nanstd")
    ],
    Op("numpy.average", _of(("float32", "float64", "int32"), ({}, {"axis": 0})), np.average, tolerance=4),
    *[
        Op(f"numpy.{n}", _of(("float32", "float64", "int32"), ({}, {"axis": 1})), getattr(np, n), tolerance=8)
        for n in ("cumsum", "cumprod", "nancumsum", "nancumprod")
    ],
    *[
        Op(
            f"numpy.cumulative_{n}",
            _of(("float32", "float64", "int32"), ({"axis": 1}, {"axis": 0, "include_initial": True})),
            lambda x, axis, include_initial=False, n=n: np.insert(
                getattr(np, f"cum{n}")(x, axis=axis), [0] if include_initial else [], int(n == "prod"), axis=axis
            ),
            tolerance=8,
        )
        for n in ("sum", "prod")
    ],
    Op(
        "numpy.matmul",
        _pairs(((2, 3), (3, 2)), ((3,), (2, 3, 2)), ((1, 2, 3), (2, 3, 2)), dtypes=_NUMERIC),
        np.matmul,
        tolerance=8,
        bad=[Bad(ValueError, "must have ndim at least 1", np.float32(2), _MATRIX)],
    ),
    *[
        Op(
            f"numpy.{n}",
            _pairs(*shapes, dtypes=("float32", "float64", "int32", "complex64")),
            getattr(np, n),
            tolerance=8,
            python_scalars=n != "dot",  # JAX refuses 2 · int32[3] there, but takes 2.0 · float32[3]
        )
        for n, shapes in {
            "dot": (((2, 3), (3, 2)), ((), (2, 3)), ((3,), (3,))),
            "inner": (((2, 3), (2, 3)), ((), (3,))),
            "outer": (((2,), (3,)),),
            "vdot": (((2, 3), (2, 3)),),
            "kron": (((2, 2), (1, 3)), ((2,), (2, 2))),
            "tensordot": (((2, 3), (2, 3)),),
        }.items()
    ],
    Op("numpy.cross", _pairs(((2, 3), (3,)), dtypes=("float32", "float64", "int32")), np.cross, tolerance=8),
    Op(
        "numpy.vecdot", _pairs(((2, 3), (3,)), dtypes=("float32", "int32")), lambda x, y: np.sum(x * y, -1), tolerance=8
    ),
    Op("numpy.matvec", _pairs(((2, 3), (3,)), dtypes=("float32", "int32")), np.dot, tolerance=8),
    Op("numpy.vecmat", _pairs(((2,), (2, 3)), dtypes=("float32", "int32")), np.dot, tolerance=8),
    Op(
        "numpy.trace",
        _of(("float32", "int32", "bool"), ({}, {"offset": 1}), ((2, 3), (3, 3, 2))),
        np.trace,
        tolerance=4,
        bad=[Bad(ValueError, "at least two dimensions", np.zeros(3, np.float32))],
    ),
    Op(
        "numpy.einsum",
        _pairs(((2, 2, 3), (3, 2)), dtypes=("float32", "float64", "int32", "complex64")),
        lambda x, y: np.einsum("bij,jk->kib", x, y),
        lambda root: lambda x, y: root.numpy.einsum("bij,jk->kib", x, y),
        tolerance=8,
    ),
    *[
        Op(f"numpy.linalg.{n}", _of(("float32", "float64", "int32"), calls), reference, tolerance=8)
        for n, calls, reference in [
            ("norm", ({}, {"axis": 0}, {"ord": 1}), np.linalg.norm),
            (
                "vector_norm",
                ({}, {"axis": 1}),
                lambda x, axis=None: np.linalg.norm(x if axis else x.ravel(), axis=axis),
            ),
            ("matrix_norm", ({},), np.linalg.norm),
            ("matrix_transpose", ({},), np.transpose),
        ]
    ],
    Op(
        "numpy.linalg.matrix_power",
        _of(("float32", "int32"), ({"n": 3},), ((2, 2),)),
        np.linalg.matrix_power,
        tolerance=16,
    ),
]
