"""Catalogue entries of lax's functions of shapes, joining and slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.catalogue.catalogue import Bad, Op, Sample

DTYPES = tuple(np.dtype(d) for d in ("float32", "float64", "int32", "bool", "complex64", "bfloat16"))
_M = np.zeros((2, 3), np.float32)


def on(shape: tuple[int, ...], *calls: dict[str, Any], dtypes: tuple[Any, ...] = DTYPES) -> Callable[..., Any]:
    """Samples of one array of a shape: every dtype with every set of parameters."""

    def samples(draw: Any) -> Any:
        for dtype in dtypes:
            for params in calls or ({},):
                yield Sample(draw.array(shape, dtype), **params)

    return samples


def both(*makers: Any) -> Callable[..., Any]:
    return lambda draw: (s for m in makers for s in m(draw))


def several(*shapes: tuple[int, ...], **params: Any) -> Callable[..., Any]:
    """Samples of several arrays of one dtype."""
    return lambda draw: (Sample(*[draw.array(s, d) for s in shapes], **params) for d in DTYPES)


def listed(name: str) -> Callable[..., Any]:
    """lax's `name`, which takes a list of arrays, as a function of the arrays."""
    return lambda root: lambda *xs, **params: getattr(root.lax, name)(list(xs), **params)


def _padded(x: Any, value: Any, padding_config: Any) -> Any:
    for axis, (low, high, between) in enumerate(padding_config):
        n = x.shape[axis]
        wide = n + max(n - 1, 0) * between
        spread = np.full((*x.shape[:axis], wide, *x.shape[axis + 1 :]), value, x.dtype)
        spread[(slice(None),) * axis + (slice(None, None, between + 1),)] = x
        edges = [(0, 0)] * x.ndim
        edges[axis] = (max(low, 0), max(high, 0))
        x = np.pad(spread, edges, constant_values=value)
        cut = slice(max(-low, 0), x.shape[axis] - max(-high, 0))
        x = x[(slice(None),) * axis + (cut,)]
    return x


def _pads(draw: Any) -> Any:
    for dtype in DTYPES:
        for config in ([(1, 2, 0), (0, 1, 0)], [(0, 0, 2), (-1, 1, 0)], [(0, -1, 1), (-1, -1, 1)]):
            yield Sample(draw.array((2, 3), dtype), draw.array((), dtype), padding_config=config)
        yield Sample(draw.array((0, 2), dtype), draw.array((), dtype), padding_config=[(1, 0, 1), (0, 0, 0)])


def _clipped(start: int, n: int, size: int) -> slice:
    start = start + size if start < 0 else start
    start = min(max(start, 0), size - n)
    return slice(start, start + n)


def _dynamic_slices(draw: Any) -> Any:
    for dtype in DTYPES:
        for starts in ((0, 1), (-1, 0), (9, 1)):
            yield Sample(draw.array((3, 4), dtype), *map(np.int32, starts), slice_sizes=(2, 2))


def _dynamic_slice(x: Any, i: Any, j: Any, slice_sizes: Any) -> Any:
    return x[_clipped(int(i), slice_sizes[0], x.shape[0]), _clipped(int(j), slice_sizes[1], x.shape[1])]


def _updates(draw: Any) -> Any:
    for dtype in DTYPES:
        for starts in ((0, 1), (-1, 0), (9, 1)):
            yield Sample(draw.array((3, 4), dtype), draw.array((2, 2), dtype), *map(np.int32, starts))


def _update(x: Any, y: Any, i: Any, j: Any) -> Any:
    x = x.copy()
    x[_clipped(int(i), y.shape[0], x.shape[0]), _clipped(int(j), y.shape[1], x.shape[1])] = y
    return x


def _positions(shape: tuple[int, ...], *calls: dict[str, Any], extra: tuple[tuple[int, ...], ...] = ()) -> Any:
    """Samples of an array, further arrays, and an int32 position."""

    def samples(draw: Any) -> Any:
        for dtype in DTYPES:
            for params in calls:
                for i in (0, -1, 9):
                    yield Sample(
                        draw.array(shape, dtype), *[draw.array(s, dtype) for s in extra], np.int32(i), **params
                    )

    return samples


def _in_dim(x: Any, i: Any, slice_size: int, axis: int = 0) -> Any:
    where = [slice(None)] * x.ndim
    where[axis] = _clipped(int(i), slice_size, x.shape[axis])
    return x[tuple(where)]


def _update_in_dim(x: Any, y: Any, i: Any, axis: int) -> Any:
    x = x.copy()
    y = np.expand_dims(y, axis) if y.ndim < x.ndim else y
    where = [slice(None)] * x.ndim
    where[axis] = _clipped(int(i), y.shape[axis], x.shape[axis])
    x[tuple(where)] = y
    return x


OPS = [
    Op("lax.broadcast", both(on((2, 3), {"sizes": (2,)}, {"sizes": (0, 1)}), on((), {"sizes": (3,)})),
       lambda x, sizes: np.broadcast_to(x, (*sizes, *x.shape)),
       bad=[Bad(TypeError, "nonnegative", _M, sizes=(-1,))]),
    Op("lax.broadcast_in_dim",
       both(on((2, 1), {"shape": (4, 2, 3), "broadcast_dimensions": (1, 2)}),
            on((), {"shape": (2, 3), "broadcast_dimensions": ()})),
       lambda x, shape, broadcast_dimensions: np.broadcast_to(x, shape),
       bad=[Bad(TypeError, "can't broadcast", _M, shape=(2, 4), broadcast_dimensions=(0, 1))]),
    Op("lax.broadcast_like", both(several((1, 3), (2, 2, 3)), several((3,), (2, 3)), several((), (0, 2))),
       lambda x, like: np.broadcast_to(x, like.shape), differentiable=(0,),
       bad=[Bad(ValueError, "can't be repeated to the shape", _M, np.zeros(2, np.float32))]),
    Op("lax.broadcast_to_rank", on((2, 3), {"rank": 2}, {"rank": 4}),
       lambda x, rank: x.reshape((1,) * (rank - x.ndim) + x.shape),
       bad=[Bad(ValueError, "more than the rank", _M, rank=1)]),
    Op("lax.collapse", on((2, 3, 4), {"start_dimension": 0, "stop_dimension": 2}, {"start_dimension": 1}),
       lambda x, start_dimension, stop_dimension=3: x.reshape(
           *x.shape[:start_dimension], -1, *x.shape[stop_dimension:]),
       bad=[Bad(ValueError, "Invalid dimension range", _M, start_dimension=1, stop_dimension=0)]),
    Op("lax.expand_dims", both(on((2, 3), {"dimensions": (0, -1)}, {"dimensions": (1,)}), on((), {"dimensions": (0,)})),
       lambda x, dimensions: np.expand_dims(x, dimensions),
       bad=[Bad(ValueError, "repeated axis", _M, dimensions=(0, 0))]),
    Op("lax.squeeze", on((1, 3, 1), {"dimensions": (0,)}, {"dimensions": (0, -1)}),
       lambda x, dimensions: np.squeeze(x, dimensions),
       bad=[Bad(ValueError, "size not equal to one", _M, dimensions=(0,))]),
    Op("lax.reshape", both(on((2, 3), {"new_sizes": (3, 2)}, {"new_sizes": (6,)}), on((0, 3), {"new_sizes": (3, 0)})),
       lambda x, new_sizes: x.reshape(new_sizes), bad=[Bad(TypeError, "cannot reshape", _M, new_sizes=(5,))]),
    Op("lax.transpose", on((2, 3, 4), {"permutation": (2, 0, 1)}, {"permutation": (0, 1, 2)}),
       lambda x, permutation: np.transpose(x, permutation),
       bad=[Bad(TypeError, "isn't a permutation", _M, permutation=(0, 0))]),
    Op("lax.rev", on((2, 3), {"dimensions": (0,)}, {"dimensions": (0, 1)}, {"dimensions": ()}),
       lambda x, dimensions: np.flip(x, dimensions), bad=[Bad(TypeError, "must be unique", _M, dimensions=(0, 0))]),
    Op("lax.tile", on((2, 3), {"reps": (2, 1)}, {"reps": (0, 2)}, {"reps": (1, 3)}),
       lambda x, reps: np.tile(x, reps), bad=[Bad(TypeError, "reps length", _M, reps=(1,))]),
    Op("lax.concatenate", both(several((2, 3), (1, 3), dimension=0), several((2, 0), (2, 3), dimension=1)),
       lambda *xs, dimension: np.concatenate(xs, dimension), listed("concatenate"),
       bad=[Bad(TypeError, "differ in dimensions other", _M, _M[:, :1], dimension=0)]),
    Op("lax.stack", both(several((2, 3), (2, 3), axis=0), several((2,), (2,), (2,), axis=-1)),
       lambda *xs, axis: np.stack(xs, axis), listed("stack"),
       bad=[Bad(TypeError, "arrays of one shape", _M, _M[:, :1], axis=0)]),
    Op("lax.split", on((2, 3), {"sizes": (1, 2), "axis": 1}, {"sizes": (0, 2), "axis": 0}),
       lambda x, sizes, axis: np.split(x, np.cumsum(sizes)[:-1], axis),
       bad=[Bad(ValueError, "Sum of sizes", _M, sizes=(1, 1), axis=1)]),
    Op("lax.unstack", on((2, 3), {"axis": 0}, {"axis": -1}), lambda x, axis: list(np.moveaxis(x, axis, 0)),
       bad=[Bad(ValueError, "out of bounds", _M, axis=2)]),
    # Python numbers take on the array's dtype here, also where JAX asks for the exact one.
    Op("lax.pad", _pads, _padded, python_scalars=False, bad=[
        Bad(ValueError, "interior padding", _M, np.float32(0), padding_config=[(0, 0, -1)] * 2),
        Bad(ValueError, "not at least 0", _M, np.float32(0), padding_config=[(-3, -3, 0)] * 2),
    ]),
    Op("lax.slice",
       on((3, 4), {"start_indices": (0, 1), "limit_indices": (3, 4)},
          {"start_indices": (0, 1), "limit_indices": (3, 4), "strides": (2, 2)},
          {"start_indices": (1, 4), "limit_indices": (1, 4)}),
       lambda x, start_indices, limit_indices, strides=(1, 1): x[
           tuple([slice(*s) for s in zip(start_indices, limit_indices, strides, strict=True)])],
       bad=[Bad(TypeError, "limit_indices must be less", _M, start_indices=(0, 0), limit_indices=(1, 9))]),
    Op("lax.slice_in_dim",
       on((3, 4), {"start_index": 1, "limit_index": -1, "axis": 1},
          {"start_index": None, "limit_index": None, "stride": 2}),
       lambda x, start_index, limit_index, stride=1, axis=0: x[
           (slice(None),) * axis + (slice(start_index, limit_index, stride),)],
       bad=[Bad(TypeError, "limit_indices must be less", _M, start_index=0, limit_index=9)]),
    Op("lax.index_in_dim", on((3, 4), {"index": -1, "axis": 1}, {"index": 2, "keepdims": False}),
       lambda x, index, axis=0, keepdims=True: np.take(x, [index] if keepdims else index, axis),
       bad=[Bad(IndexError, "index 9 is out of bounds", _M, index=9)]),
    Op("lax.dynamic_slice", _dynamic_slices, _dynamic_slice,
       lambda root: lambda x, i, j, slice_sizes: root.lax.dynamic_slice(x, (i, j), slice_sizes),
       bad=[Bad(TypeError, "slice_sizes must be less", _M, np.int32(0), np.int32(0), slice_sizes=(1, 9))]),
    Op("lax.dynamic_slice_in_dim", _positions((3, 4), {"slice_size": 2}, {"slice_size": 1, "axis": 1}), _in_dim,
       bad=[Bad(ValueError, "axis 5", _M, np.int32(0), slice_size=1, axis=5)]),
    Op("lax.dynamic_index_in_dim", _positions((3, 4), {"axis": 0}, {"axis": 1, "keepdims": False}),
       lambda x, i, axis, keepdims=True: _in_dim(x, i, 1, axis) if keepdims else _in_dim(x, i, 1, axis).squeeze(axis),
       bad=[Bad(ValueError, "axis 5", _M, np.int32(0), axis=5)]),
    Op("lax.dynamic_update_slice", _updates, _update,
       lambda root: lambda x, y, i, j: root.lax.dynamic_update_slice(x, y, (i, j)),
       bad=[Bad(TypeError, "must be smaller", _M, np.zeros((3, 3), np.float32), np.int32(0), np.int32(0))]),
    Op("lax.dynamic_update_slice_in_dim", _positions((3, 4), {"axis": 0}, extra=((2, 4),)), _update_in_dim,
       bad=[Bad(TypeError, "must be smaller", _M, np.zeros((3, 3), np.float32), np.int32(0), axis=0)]),
    Op("lax.dynamic_update_index_in_dim", _positions((3, 4), {"axis": 0}, extra=((4,),)), _update_in_dim,
       bad=[Bad(ValueError, "axis 5", _M, _M, np.int32(0), axis=5)]),
]  # fmt: skip
