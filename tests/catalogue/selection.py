"""Catalogue entries of select_n, select and clamp."""

from __future__ import annotations

import numpy as np

from tests.catalogue.catalogue import ALL, REAL, Bad, Draw, Op, Sample

_SHAPES = ((), (3,), (2, 3), (0, 2))


def _cases(count: int, which_dtype: str, scalar: bool):
    def samples(draw: Draw):
        for dtype in ALL:
            for shape in _SHAPES:
                which = draw.array(() if scalar else shape, which_dtype, 0, count - 1)
                yield Sample(which, *[draw.array(shape, dtype) for _ in range(count)])

    return samples


def _select_n_samples(draw: Draw):
    for count, which in ((2, "bool"), (2, "int32"), (3, "int32"), (4, "uint8"), (1, "int32"), (1, "bool")):
        for scalar in (False, True):
            for sample in _cases(count, which, scalar)(draw):
                yield sample if count > 1 else sample.with_args([np.zeros_like(sample.args[0]), sample.args[1]])


def _select_n(which, *cases):
    which = np.broadcast_to(which, cases[0].shape).astype(int)
    return np.choose(which, cases).astype(cases[0].dtype) if cases[0].size else cases[0]


def _clamp_samples(draw: Draw):
    for dtype in REAL:
        for shape in _SHAPES:
            low, high = draw.array(shape, dtype, 0, 1), draw.array(shape, dtype, 2, 3)
            x = draw.array(shape, dtype, -3, 5)
            yield Sample(low, x, high)
            if shape:
                yield Sample(draw.array((), dtype, 0, 1), x, draw.array((), dtype, 2, 3))
                yield Sample(draw.array((), dtype, 0, 1), x, high)


_X, _Y = np.ones(3, np.float32), np.ones(4, np.float32)
_PICK = np.ones(3, np.bool_)

OPS = [
    Op("lax.select_n", _select_n_samples, _select_n, bad=[
        Bad(ValueError, "select_n() must have at least one case", _PICK),
        Bad(TypeError, "select cases must have the same shapes, got [(3,), (4,)].", _PICK, _X, _Y),
        Bad(TypeError, "lax.select requires arguments to have the same dtypes, got float32, float16.", _PICK, _X,
            _X.astype("float16")),
        Bad(TypeError, "select `which` must be boolean or integer type, got float32.", _X, _X, _X),
        Bad(TypeError, "select with boolean `which` cannot have > 2 cases.", _PICK, _X, _X, _X),
        Bad(TypeError, "got `which` shape (3,) but case shape (4,).", _PICK, _Y, _Y),
    ]),
    Op("lax.select", _cases(2, "bool", False), lambda p, a, b: np.where(p, a, b), bad=[
        Bad(TypeError, "select cases must have the same shapes, got [(4,), (3,)].", _PICK, _X, _Y),
    ]),
    Op("lax.clamp", _clamp_samples, lambda lo, x, hi: np.minimum(np.maximum(lo, x), hi), bad=[
        Bad(TypeError, "clamp requires min.shape == operand.shape or min.shape == (), got min.shape=(4,)", _Y, _X, _X),
        Bad(TypeError, "lax.clamp requires arguments to have the same dtypes, got int32, float32, int32.", 0, _X, 1),
    ]),
]  # fmt: skip
