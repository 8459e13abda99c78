"""Catalogue entries of conversions: other dtypes, other views of the bits, fewer bits."""

from __future__ import annotations

import numpy as np

from tests.catalogue.catalogue import ALL, BF16, COMPLEX, FLOATS, INTS, Bad, Draw, Op, Sample


def _convert_samples(draw: Draw):
    for old in ALL:
        for new in ALL:
            if old in COMPLEX and new not in COMPLEX:
                continue  # warns: tested in tests/lax/test_conversions.py
            for shape in ((), (2, 3), (0,)):
                yield Sample(draw.array(shape, old, 0, 3), new_dtype=new.name)


def _astype(x, new_dtype):
    return x.astype(BF16 if new_dtype == "bfloat16" else new_dtype)


_BITS = INTS + FLOATS


def _bitcast_samples(draw: Draw):
    for old in _BITS:
        for new in _BITS:
            ratio = new.itemsize // old.itemsize
            for shape in ((), (3,), (0,)):
                yield Sample(draw.array((*shape, ratio) if ratio > 1 else shape, old), new_dtype=new.name)


def _bitcast(x, new_dtype):
    new = BF16 if new_dtype == "bfloat16" else np.dtype(new_dtype)
    if new.itemsize > x.dtype.itemsize:
        return np.ascontiguousarray(x).view(new)[..., 0]
    if new.itemsize < x.dtype.itemsize:
        return np.ascontiguousarray(x)[..., None].view(new)
    return x.view(new)


def _reduce_precision_samples(draw: Draw):
    for dtype in FLOATS:
        for shape in ((), (2, 3), (0,)):
            for exponent, mantissa in ((5, 10), (8, 7), (4, 3)):
                yield Sample(draw.array(shape, dtype), exponent_bits=exponent, mantissa_bits=mantissa)


def _reduce_precision(x, exponent_bits, mantissa_bits):
    """Round to nearest, ties to even, in units of the last place that is kept (no overflow at these sizes)."""
    fraction, exponent = np.frexp(x.astype(np.float64))
    with np.errstate(all="ignore"):
        rounded = np.ldexp(np.rint(np.ldexp(fraction, mantissa_bits + 1)), exponent - mantissa_bits - 1)
    smallest = 2.0 ** (2 - 2 ** (exponent_bits - 1))
    return np.where(np.abs(x) < smallest, 0, rounded).astype(x.dtype)


_F32 = np.ones(3, np.float32)

OPS = [
    Op("lax.convert_element_type", _convert_samples, _astype, wide=False, python_scalars=False, skip={
        "derivative": "to a narrower dtype it is a step function of float64; tested in tests/lax/test_conversions.py",
        "second": "as its first derivative",
    }, bad=[Bad(TypeError, "", _F32, "nonsense")]),
    Op("lax.bitcast_convert_type", _bitcast_samples, _bitcast, wide=False, differentiable=(), python_scalars=False,
       skip={"value": "NaNs among the results: tested in tests/lax/test_conversions.py"}, bad=[
        Bad(TypeError, "bitcast_convert_type changes integer and floating dtypes", np.ones(3, bool), "uint8"),
        Bad(ValueError, "joins the last dimension, which must have size 2; got an array of shape (3,)",
            np.ones(3, np.int8), "int16"),
        Bad(ValueError, "got an array of shape ()", np.int8(1), "int16"),
    ]),
    Op("lax.reduce_precision", _reduce_precision_samples, _reduce_precision, differentiable=(), bad=[
        Bad(ValueError, "exponent_bits must be positive; got 0", _F32, 0, 10),
        Bad(ValueError, "mantissa_bits must be non-negative; got -1", _F32, 5, -1),
        Bad(TypeError, "reduce_precision does not accept dtype int32", np.int32(1), 5, 10),
        Bad(TypeError, "integer", _F32, 5.0, 10),
    ]),
]  # fmt: skip
