"""Catalogue entries of gather, scatter, and numpy's functions of positions and conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.catalogue.catalogue import Bad, Draw, Op, Sample, is_inexact

_FEW = tuple(np.dtype(d) for d in ("float32", "int32", "complex64", "bfloat16"))
_ANY = (*_FEW, np.dtype("bool"), np.dtype("float64"))
_M = np.zeros((4, 3), np.float32)
_I = np.array([0, 2], np.int32)
_PLACES = np.array([[0, 1], [3, 2], [9, 0], [2, -1]], np.int32)
_HOST = "its result's shape depends on values: works on concrete arrays only"
_JAX_RUNS = "JAX traces the mask, and then needs its value"
#: For functions of positions alone, which have no operands to differentiate or map.
_NO_OPERANDS = dict.fromkeys(("derivative", "second", "vmap"), "it has no differentiable operands")


def _gathers(draw: Draw) -> Any:
    for dtype in _ANY:
        for mode in ("fill", "clip"):
            yield Sample(draw.array((4, 3), dtype), _PLACES, mode=mode)


def _numbers(root: Any, scatter: bool) -> Any:
    kind = root.lax.ScatterDimensionNumbers if scatter else root.lax.GatherDimensionNumbers
    return kind((), (0, 1), (0, 1))


def _gather(x: Any, places: Any, mode: str) -> Any:
    out = []
    for i, j in places:
        if mode == "fill" and not (0 <= i < 4 and 0 <= j < 3):
            out.append(0)
        else:
            out.append(x[np.clip(i, 0, 3), np.clip(j, 0, 2)])
    return np.array(out, x.dtype)


def _scatters(dtypes: Any) -> Callable[[Draw], Any]:
    def samples(draw: Draw) -> Any:
        for dtype in dtypes:
            for mode in ("drop", "clip"):
                # Integers against updates between them, so that min and max have no ties.
                x = (np.arange(12).reshape(4, 3) * 3 % 11).astype(dtype)
                yield Sample(
                    x, _PLACES, draw.array((4,), dtype, *((1.2, 1.8) if is_inexact(dtype) else (0, 2))), mode=mode
                )

    return samples


def _scatter(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def reference(x: Any, places: Any, updates: Any, mode: str) -> Any:
        x = x.copy()
        for (i, j), u in zip(places, updates, strict=True):
            if mode == "clip" or (0 <= i < 4 and 0 <= j < 3):
                where = np.clip(i, 0, 3), np.clip(j, 0, 2)
                x[where] = combine(x[where], u)
        return x

    return reference


def _scatter_op(name: str, combine: Callable[[Any, Any], Any], dtypes: Any = _FEW) -> Op:
    def function(root: Any) -> Any:
        return lambda x, i, u, mode: getattr(root.lax, name)(
            x, i, u, _numbers(root, True), mode=mode, unique_indices=True
        )

    bad = [Bad(TypeError, "same dtypes", _M, _PLACES, np.zeros(4, np.int32), mode="drop")]
    return Op(f"lax.{name}", _scatters(dtypes), _scatter(combine), function, bad=bad)


def on(*shape: int, calls: tuple[dict[str, Any], ...] = ({},), more: tuple[Any, ...] = (), dtypes: Any = _ANY) -> Any:
    """Samples of one array of a shape, with further fixed operands, every dtype with every set of parameters."""

    def samples(draw: Draw) -> Any:
        for dtype in dtypes:
            for params in calls:
                yield Sample(draw.array(shape, dtype), *more, **params)

    return samples


def fixed(*samples: Sample) -> Any:
    return lambda draw: iter(samples)


def both(*makers: Any) -> Any:
    return lambda draw: (s for m in makers for s in m(draw))


def pinned(name: str, *fixed_args: Any) -> Any:
    """numpy's `name` with arguments after the array that stay concrete under every transformation."""
    return lambda root: lambda x, **params: getattr(root.numpy, name)(x, *fixed_args, **params)


def _after(change: Callable[..., Any]) -> Callable[..., Any]:
    """The array after a NumPy function that changes it in place."""

    def reference(x: Any, *args: Any, **params: Any) -> Any:
        params.pop("inplace", None)
        x = x.copy()
        change(x, *args, **params)
        return x

    return reference


def _first(mask: Any, size: int, fill: int = 0) -> list[np.ndarray]:
    found = np.nonzero(mask)
    return [np.concatenate([i[:size], np.full(max(size - len(i), 0), fill)]) for i in found]


_MASK = np.array([True, False, True])
_COLUMN = np.array([[0], [2], [1], [2]], np.int32)

OPS = [
    Op("lax.gather", _gathers, _gather,
       lambda root: lambda x, i, mode: root.lax.gather(
           x, i, _numbers(root, False), (1, 1), mode=mode, fill_value=0 if mode == "fill" else None),
       bad=[Bad(ValueError, "integer type", _M, _PLACES * 1.0, mode="clip")]),
    Op("lax.index_take", on(4, 3, more=(_I, np.array([1, -1], np.int32))), lambda x, i, j: x[i, j],
       lambda root: lambda x, i, j: root.lax.index_take(x, [i, j], (0, 1)),
       skip={"types": "JAX's takes arrays of indices it made itself"},
       bad=[Bad(ValueError, "integer type", _M, _I * 1.0, _I * 1.0)]),
    _scatter_op("scatter", lambda old, new: new, _ANY),
    _scatter_op("scatter_add", np.add),
    _scatter_op("scatter_sub", np.subtract),
    _scatter_op("scatter_mul", np.multiply),
    _scatter_op("scatter_min", np.minimum, ("float32", "int32", "bfloat16")),
    _scatter_op("scatter_max", np.maximum, ("float32", "int32", "bfloat16")),
    Op("lax.scatter_apply", on(4, 3, more=(_PLACES,), dtypes=_FEW),
       lambda x, places: _scatter(lambda old, new: -old)(x, places, np.zeros(4), "drop"),
       lambda root: lambda x, i: root.lax.scatter_apply(
           x, i, root.lax.neg, _numbers(root, True), update_shape=(4,), unique_indices=True),
       bad=[Bad(TypeError, "inserted_window_dims", _M[0], _PLACES)]),
    Op("numpy.take",
       both(on(4, 3, calls=({"axis": 0}, {"axis": 1, "mode": "wrap"}, {}), more=(_I,)),
            on(4, 3, calls=({"axis": -1, "mode": "clip"},), more=(np.array([[0, 1], [2, 0]], np.int32),))),
       lambda x, i, axis=None, mode="wrap": np.take(x, i, axis=axis, mode=mode),
       bad=[Bad(TypeError, "integers", _M, np.ones(2, np.float32)),
            Bad(NotImplementedError, "raise", _M, _I, mode="raise")]),
    Op("numpy.take_along_axis", both(on(4, 3, calls=({"axis": 1},), more=(_COLUMN,)),
                                     on(4, 3, calls=({"axis": 0},), more=(_COLUMN[:2, :1],))),
       np.take_along_axis, bad=[Bad(ValueError, "same number of dimensions", _M, _I)]),
    Op("numpy.put_along_axis", on(4, 3, calls=({"axis": 1, "inplace": False},), more=(_COLUMN, np.int32(1))),
       _after(np.put_along_axis), bad=[Bad(ValueError, "inplace=False", _M, _COLUMN, np.int32(1), axis=1)]),
    Op("numpy.put", on(4, 3, calls=({"inplace": False}, {"inplace": False, "mode": "wrap"}),
                       more=(np.array([0, 5], np.int32), np.int32(1))),
       _after(np.put), bad=[Bad(ValueError, "inplace=False", _M, _I, np.int32(1))]),
    Op("numpy.place", on(3, 2, calls=({"inplace": False},),
                         more=(np.eye(3, 2, dtype=bool), np.array([1, 0], np.int32))),
       _after(np.place), bad=[Bad(ValueError, "same size", _M, _MASK, np.int32(1), inplace=False)]),
    Op("numpy.choose", lambda draw: (
           Sample(np.array([0, 3, -1], np.int32), draw.array((3,), d), draw.array((3,), d), mode=m)
           for d in _ANY for m in ("wrap", "clip")),
       lambda i, *xs, mode: np.choose(i, xs, mode=mode),
       lambda root: lambda i, *xs, mode: root.numpy.choose(i, list(xs), mode=mode),
       bad=[Bad(ValueError, "integer typed", _M, _M, mode="clip"),
            Bad(ValueError, "not understood", _I, _I, mode="x")]),
    Op("numpy.compress", on(3, 2, calls=({"axis": 0},)), lambda x, axis: np.compress(_MASK, x, axis),
       lambda root: lambda x, axis: root.numpy.compress(_MASK, x, axis), skip={"types": _JAX_RUNS},
       bad=[Bad(ValueError, "axis 5 is out of bounds", _M, axis=5)]),
    Op("numpy.extract", on(3), lambda x: np.extract(_MASK, x), lambda root: lambda x: root.numpy.extract(_MASK, x),
       skip={"types": _JAX_RUNS},
       bad=[Bad(TypeError, "ndarray", None)]),
    Op("numpy.delete", on(4, 3, calls=({"axis": 0}, {"axis": 1}, {})), lambda x, axis=None: np.delete(x, _I, axis),
       pinned("delete", _I), bad=[Bad(IndexError, "out of bounds", _M[:2], axis=0)]),
    Op("numpy.insert", on(4, 3, calls=({"axis": 0}, {"axis": 1}, {}), more=(np.int32(1),)),
       lambda x, v, axis=None: np.insert(x, [1, 0, -1], v, axis),
       lambda root: lambda x, v, axis=None: root.numpy.insert(x, np.array([1, 0, -1], np.int32), v, axis),
       bad=[Bad(ValueError, "out of bounds", _M, np.int32(1), axis=5)]),
    Op("numpy.nonzero", on(3, 2, calls=({"size": 4}, {"size": 2, "fill_value": -1})),
       lambda x, size, fill_value=0: tuple(_first(x, size, fill_value)),
       bad=[Bad(ValueError, "0d arrays", np.float32(1))]),
    Op("numpy.flatnonzero", on(3, 2, calls=({"size": 4},)), lambda x, size: _first(x.ravel(), size)[0],
       bad=[Bad(TypeError, "ndarray", None)]),
    Op("numpy.argwhere", on(3, 2, calls=({"size": 4},)), lambda x, size: np.stack(_first(x, size), 1),
       bad=[Bad(TypeError, "ndarray", None)]),
    Op("numpy.unravel_index", fixed(Sample(np.array([5, 11, 0], np.int32), shape=(3, 4)),
                                     Sample(np.int32(5), shape=(6,))),
       lambda i, shape: np.unravel_index(i, shape), bad=[Bad(TypeError, "integers", np.float32(1), shape=(3,))]),
    Op("numpy.ravel_multi_index",
       fixed(Sample(_I, _I, dims=(3, 4), mode="clip"), Sample(_I, np.int32(9), dims=(3, 4), mode="wrap", order="F")),
       lambda *i, dims, **params: np.ravel_multi_index(i, dims, **params),
       lambda root: lambda *i, dims, **params: root.numpy.ravel_multi_index(i, dims, **params),
       bad=[Bad(ValueError, "invalid mode", _I, _I, dims=(3, 4), mode="x")]),
    Op("numpy.ix_", fixed(Sample(_I, np.array([1, 0, 3], np.int32))), lambda x, y: np.ix_(x, y),
       lambda root: lambda x, y: root.numpy.ix_(x, y), bad=[Bad(ValueError, "1-dimensional", _M, _I)]),
    Op("numpy.diagonal", both(on(3, 4, calls=({}, {"offset": 1}, {"offset": -2})),
                              on(2, 3, 4, calls=({"axis1": 0, "axis2": 2, "offset": 1}, {"axis1": 2, "axis2": 1}))),
       np.diagonal, bad=[Bad(ValueError, "two dimensions", _M[0]), Bad(ValueError, "differ", _M, axis1=1, axis2=1)]),
    Op("numpy.diag", both(on(3, calls=({}, {"k": 1}, {"k": -2})), on(3, 4, calls=({}, {"k": 1})), on(0)),
       np.diag, bad=[Bad(ValueError, "1d or 2d", np.float32(1))]),
    Op("numpy.diagflat", on(2, 2, calls=({}, {"k": 1})), np.diagflat, bad=[Bad(TypeError, "ndarray", None)]),
    Op("numpy.fill_diagonal",
       both(on(3, 3, calls=({"inplace": False},), more=(np.int32(1),)),
            on(5, 2, calls=({"inplace": False},), more=(np.array([1, 0], np.int32),))),
       _after(np.fill_diagonal), bad=[Bad(NotImplementedError, "inplace=False", _M, np.int32(1))]),
    Op("numpy.diag_indices_from", on(3, 3, dtypes=("float32",)), np.diag_indices_from,
       skip=_NO_OPERANDS, bad=[Bad(ValueError, "equal length", _M)]),
    Op("numpy.tril_indices_from", on(3, 4, calls=({"k": 1}, {}), dtypes=("float32",)), np.tril_indices_from,
       skip=_NO_OPERANDS, bad=[Bad(ValueError, "2-d", _M[0])]),
    Op("numpy.triu_indices_from", on(3, 4, calls=({"k": 1}, {}), dtypes=("float32",)), np.triu_indices_from,
       skip=_NO_OPERANDS, bad=[Bad(ValueError, "2-d", _M[0])]),
    Op("numpy.diag_indices", fixed(Sample(n=3), Sample(n=2, ndim=3)), np.diag_indices,
       skip=_NO_OPERANDS, bad=[Bad(ValueError, "negative", n=-1)]),
    Op("numpy.tril_indices", fixed(Sample(n=3), Sample(n=3, k=1, m=4)), np.tril_indices,
       skip=_NO_OPERANDS, bad=[Bad(TypeError, "integer", n=2.5)]),
    Op("numpy.triu_indices", fixed(Sample(n=3), Sample(n=3, k=-1, m=4)), np.triu_indices,
       skip=_NO_OPERANDS, bad=[Bad(TypeError, "integer", n=2.5)]),
    Op("numpy.mask_indices", fixed(Sample(n=3), Sample(n=3, k=1)), lambda n, k=0: np.mask_indices(n, np.triu, k),
       lambda root: lambda n, k=0: root.numpy.mask_indices(n, root.numpy.triu, k),
       skip={**_NO_OPERANDS, "jit": _HOST, "compositions": _HOST, "jaxpr": _HOST, "lowering": _HOST, "types": _HOST},
       bad=[Bad(TypeError, "integer", n=2.5)]),
]  # fmt: skip
