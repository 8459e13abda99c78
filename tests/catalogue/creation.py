"""Catalogue entries of arrays made from shapes and scalars. Without operands nothing is mapped or differentiated."""

from __future__ import annotations

import numpy as np

from tests.catalogue.catalogue import ALL, BF16, NUMERIC, Bad, Draw, Op, Sample


def _dtype(name):
    return BF16 if name == "bfloat16" else np.dtype(name)


def _iota_samples(draw: Draw):
    for dtype in NUMERIC:
        for size in (0, 1, 4):
            yield Sample(dtype=dtype.name, size=size)


def _broadcasted_iota_samples(draw: Draw):
    for dtype in NUMERIC:
        for shape, dimension in (((3,), 0), ((2, 3), 0), ((2, 3), 1), ((2, 0), 1)):
            yield Sample(dtype=dtype.name, shape=shape, dimension=dimension)


def _broadcasted_iota(dtype, shape, dimension):
    return np.indices(shape)[dimension].astype(_dtype(dtype))


def _full_like_samples(draw: Draw):
    for dtype in ALL:
        for shape in ((), (2, 3), (0,)):
            yield Sample(draw.array(shape, dtype), draw.array((), dtype))
            yield Sample(draw.array(shape, dtype), draw.array((), "float32", 0, 3), dtype="int32", shape=(2,))


def _full_samples(draw: Draw):
    for dtype in ALL:
        for shape in ((), (2, 3), (0,)):
            yield Sample(draw.array((), dtype), shape=shape)
    for dtype in ("float32", "int64", "complex128"):
        yield Sample(draw.array((), "float32", 0, 3), shape=(2,), dtype=dtype)


def _full(value, shape, dtype=None):
    return np.full(shape, value).astype(value.dtype if dtype is None else dtype)


def _full_like(x, value, dtype=None, shape=None):
    return np.full(x.shape if shape is None else shape, value, x.dtype if dtype is None else dtype)


OPS = [
    Op("lax.iota", _iota_samples, lambda dtype, size: np.arange(size).astype(_dtype(dtype)), bad=[
        Bad(TypeError, "iota does not accept dtype bool", "bool", 3),
        Bad(TypeError, "iota shape must have every element be nonnegative, got (-1,).", "int32", -1),
    ]),
    Op("lax.broadcasted_iota", _broadcasted_iota_samples, _broadcasted_iota, bad=[
        Bad(ValueError, "iota dimension must be between 0 and len(shape), got dimension=1 for shape=(3,)",
            "int32", (3,), 1),
    ]),
    Op("lax.full", _full_samples, _full, wide=False, differentiable=(),
       function=lambda root: lambda value, shape, dtype=None: root.lax.full(shape, value, dtype)),
    Op("lax.full_like", _full_like_samples, _full_like, wide=False, differentiable=(1,), bad=[
        Bad(TypeError, "full must be called with scalar fill_value, got fill_value.shape (3,).",
            np.ones(3), np.ones(3)),
    ]),
]  # fmt: skip
