"""Catalogue entries of numpy's creation functions, ranges, grids, polynomials and curves."""

from __future__ import annotations

import numpy as np

from tests.catalogue.catalogue import Bad, Draw, Op, Sample

_FEW = tuple(np.dtype(d) for d in ("float32", "float64", "int32", "bool", "complex64", "bfloat16"))
_FLOATS = tuple(np.dtype(d) for d in ("float32", "float64"))
_SHAPES = ((), (2, 3), (0,))
_WHOLE = {check: "it has no operands" for check in ("derivative", "second", "vmap")}


def _calls(*calls):
    return lambda draw: (Sample(**params) for params in calls)


def _of(*shapes, dtypes=_FEW, low=-3.0, high=3.0, calls=({},)):
    def samples(draw: Draw):
        for dtype in dtypes:
            for params in calls:
                yield Sample(*[draw.array(s, dtype, low, high) for s in shapes], **params)

    return samples


def _each_shape(draw: Draw):
    for dtype in _FEW:
        for shape in _SHAPES:
            yield Sample(draw.array(shape, dtype))


def _full_samples(draw: Draw):
    for dtype in _FEW:
        for shape, value in (((2, 3), ()), ((2, 3), (3,)), ((0,), ())):
            yield Sample(draw.array(value, dtype), shape=shape)


def _full_like_samples(draw: Draw):
    for dtype in _FEW:
        for shape in _SHAPES:
            yield Sample(draw.array(shape, dtype), draw.array((), dtype))


_SIZE = [Bad(TypeError, "sizes can't be negative", -1)]
FILLING = [
    *[
        Op(f"numpy.{n}", _calls(*[{"shape": s, "dtype": d} for s in _SHAPES for d in ("float32", "int8", "bool")]),
           getattr(np, n), skip=_WHOLE, bad=_SIZE)
        for n in ("zeros", "ones")
    ],
    *[Op(f"numpy.{n}", _each_shape, getattr(np, n)) for n in ("zeros_like", "ones_like")],
    Op("numpy.full", _full_samples, lambda value, shape: np.full(shape, value),
       function=lambda root: lambda value, shape: root.numpy.full(shape, value)),
    Op("numpy.full_like", _full_like_samples, np.full_like, differentiable=(1,), wide=False),
    *[Op(f"numpy.{n}", _each_shape, np.asarray) for n in ("array", "asarray")],
]  # fmt: skip


RANGES = [
    Op("numpy.arange", _calls({"start": 5}, {"start": 1, "stop": 9, "step": 2}, {"start": 3, "stop": 0, "step": -1},
                              {"start": 0, "stop": 4, "dtype": "float32"}),
       lambda start, stop=None, step=None, dtype=None: np.arange(start, stop, step, dtype=dtype) if stop is not None
       else np.arange(start, dtype=dtype), skip=_WHOLE,
       bad=[Bad(TypeError, "arange does not accept dtype bool", True)]),
    Op("numpy.linspace", _of((), (), dtypes=_FLOATS, calls=({}, {"num": 5, "endpoint": False}, {"num": 1})),
       np.linspace,
       bad=[Bad(ValueError, "the number of samples can't be negative", 0, 1, -1)]),
    Op("numpy.logspace", _of((), (), dtypes=_FLOATS, low=-1, high=1, calls=({"num": 5},)), np.logspace, tolerance=8),
    Op("numpy.geomspace", _of((), (), dtypes=_FLOATS, low=0.5, high=3, calls=({"num": 5},)), np.geomspace, tolerance=8),
    Op("numpy.eye", _calls({"N": 3}, {"N": 2, "M": 3, "k": 1, "dtype": "int32"}), np.eye, skip=_WHOLE, bad=_SIZE),
    Op("numpy.identity", _calls({"n": 3}, {"n": 2, "dtype": "int32"}), np.identity, skip=_WHOLE, bad=_SIZE),
    Op("numpy.tri", _calls({"N": 3}, {"N": 2, "M": 3, "k": -1, "dtype": "int32"}), np.tri, skip=_WHOLE, bad=_SIZE),
    *[
        Op(f"numpy.{n}", _of((2, 3, 4), calls=({}, {"k": 1}, {"k": -1})), getattr(np, n),
           bad=[Bad(ValueError, "takes matrices", np.ones(3))])
        for n in ("tril", "triu")
    ],
    Op("numpy.vander", _of((3,), dtypes=_FLOATS, low=0.5, high=2, calls=({}, {"N": 2}, {"increasing": True})),
       np.vander,
       bad=[Bad(ValueError, "vander takes an array of one dimension", np.ones((2, 2)))]),
    Op("numpy.meshgrid", _of((2,), (3,), calls=({}, {"indexing": "ij"}, {"sparse": True})), np.meshgrid,
       bad=[Bad(ValueError, "meshgrid takes arrays of one dimension", np.ones((2, 2)))]),
    Op("numpy.indices", _calls({"dimensions": (2, 3)}, {"dimensions": (2,), "dtype": "float32"}), np.indices,
       skip=_WHOLE),
    *[
        Op(f"numpy.{n}", _calls({"M": 5}, {"M": 1}, {"M": 0}), getattr(np, n), skip=_WHOLE)
        for n in ("bartlett", "blackman", "hamming", "hanning")
    ],
    Op("numpy.kaiser", _of((), dtypes=_FLOATS, low=1, high=5, calls=({"M": 5},)),
       lambda beta, M: np.kaiser(M, beta), function=lambda root: lambda beta, M: root.numpy.kaiser(M, beta),
       tolerance=8),
    Op("numpy.fromfunction", _calls({"shape": (2, 3)}), lambda shape: np.fromfunction(lambda i, j: 2 * i + j, shape),
       function=lambda root: lambda shape: root.numpy.fromfunction(lambda i, j: 2 * i + j, shape), skip=_WHOLE),
]  # fmt: skip


def _divided(u, v):
    quotient, rest = np.polydiv(u, v)
    return quotient, np.concatenate([np.zeros(u.shape[0] - rest.shape[0]), rest])


POLYNOMIALS = [
    Op("numpy.polyval", _of((4,), (2, 3), dtypes=_FLOATS), np.polyval, tolerance=8),
    Op("numpy.polyadd", _of((4,), (2,), dtypes=_FLOATS), np.polyadd,
       bad=[Bad(ValueError, "polyadd takes coefficients in one dimension", np.ones((2, 2)), np.ones(2))]),
    Op("numpy.polysub", _of((4,), (2,), dtypes=_FLOATS), np.polysub),
    Op("numpy.polymul", _of((4,), (2,), dtypes=_FLOATS), np.polymul),
    Op("numpy.polydiv", _of((4,), (2,), dtypes=_FLOATS, low=0.5, high=2), _divided, tolerance=16),
    Op("numpy.polyder", _of((4,), dtypes=_FLOATS, calls=({}, {"m": 2})), np.polyder,
       bad=[Bad(ValueError, "the order of the derivative can't be negative", np.ones(3), -1)]),
    Op("numpy.polyint", _of((4,), dtypes=_FLOATS, calls=({}, {"m": 2})), np.polyint),
    Op("numpy.poly", _of((3,), dtypes=_FLOATS), np.poly, tolerance=4),
    Op("numpy.unwrap", _of((2, 5), dtypes=_FLOATS, low=-9, high=9, calls=({}, {"axis": 0})), np.unwrap, tolerance=8),
    Op("numpy.interp", lambda draw: (
        Sample(draw.array((2, 3), d, 0.1, 2.9), np.arange(4).astype(d), draw.array((4,), d)) for d in _FLOATS),
       np.interp, differentiable=(0, 2), tolerance=8,
       bad=[Bad(ValueError, "xp and fp must have one shape", 1.0, np.ones(2), np.ones(3))]),
]  # fmt: skip

OPS = [*FILLING, *RANGES, *POLYNOMIALS]
