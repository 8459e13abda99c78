"""Floats out of random bits: the uniform and the normal distribution, as functions of traced typed keys.

The samplers of this package are made of these.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from xtrace import lax
from xtrace.core import dtypes
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import random_bits, shapes
from xtrace.random.keys import split_single


class _Layout(NamedTuple):
    """How floats of a dtype are made of bits: the top `mantissa` of them become the fraction of a number in [1, 2)."""

    width: int
    unsigned: np.dtype
    shift: Any
    one_bits: Any
    one: Any


@functools.cache
def _layout(dtype: Any) -> _Layout:
    info = ml_dtypes.finfo(dtype)
    if info.bits not in (8, 16, 32, 64):
        raise TypeError(f"random floats have 8, 16, 32 or 64 bits; {dtype} has {info.bits}")
    width = 8 if info.nmant < 8 else info.bits
    unsigned = np.dtype(f"uint{info.bits}")
    one = np.ones((), dtype)
    return _Layout(width, unsigned, unsigned.type(width - info.nmant), one.view(unsigned)[()], one[()])


def unit(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Uniform floats in [0, 1)."""
    width, unsigned, shift, one_bits, one = _layout(dtype)
    bits = random_bits.random_bits(key, width, shape)
    if width != 8 * unsigned.itemsize:
        bits = shapes.convert_element_type_p.bind(bits, new_dtype=unsigned, weak_type=False, sharding=None)
    bits = el.or_p.bind(el.shift_right_logical_p.bind(bits, shift), one_bits)
    return el.sub_p.bind(lax.bitcast_convert_type(bits, dtype), one)


@functools.lru_cache(1024)
def scalar(value: float, dtype: Any) -> Any:
    """`value` as a scalar of `dtype`."""
    return np.asarray(value).astype(dtype)[()]


def parameter(x: Any, dtype: Any, ndim: int) -> Any:
    """A parameter of a distribution in `dtype`: a scalar, or an array of `ndim` dimensions."""
    if type(x) is float or type(x) is int:
        # By way of the default dtype, which it has as an argument of a compiled program.
        return scalar(scalar(x, dtypes.of_value(x)[0]), dtype)
    x = shapes.convert_element_type(x if hasattr(x, "aval") else np.asarray(x), dtype)
    shape = shaped(x).shape
    if not shape or len(shape) == ndim:
        return x
    return shapes.broadcast_in_dim(x, (1,) * (ndim - len(shape)) + shape, range(ndim - len(shape), ndim))


def between(key: Any, low: Any, high: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Uniform floats in [low, high); the bounds are of `dtype`, scalar or of the rank of `shape`."""
    floats = unit(key, shape, dtype)
    if isinstance(low, np.generic) and isinstance(high, np.generic):
        if low == 0 and high == 1:
            return floats
        span = np.subtract(high, low, dtype=dtype)
    else:
        span = el.sub_p.bind(high, low)
    return el.max_p.bind(low, el.add_p.bind(el.mul_p.bind(floats, span), low))


@functools.cache
def _above_minus_one(dtype: Any) -> Any:
    return np.nextafter(np.array(-1, dtype), np.array(0, dtype), dtype=dtype)[()]


def symmetric(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Uniform floats in (-1, 1)."""
    return between(key, _above_minus_one(dtype), scalar(1, dtype), shape, dtype)


def gaussian(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Standard normal numbers. Complex ones have variance 1, one half in each part."""
    if dtypes.is_complex(dtype):
        real = dtypes.to_real(dtype)
        parts = [shapes.convert_element_type(gaussian(k, shape, real), dtype) for k in split_single(key)]
        out = el.add_p.bind(parts[0], el.mul_p.bind(scalar(1j, dtype), parts[1]))
        return el.div_p.bind(out, scalar(np.sqrt(scalar(2, real)), dtype))
    return el.mul_p.bind(scalar(np.sqrt(2), dtype), lax.erf_inv(symmetric(key, shape, dtype)))


def scaled_gaussian(key: Any, shape: tuple[int, ...], dtype: Any, stddev: Any) -> Any:
    """Real normal numbers of a standard deviation, which goes into the factor."""
    factor = el.mul_p.bind(scalar(np.sqrt(2), dtype), stddev)
    return el.mul_p.bind(factor, lax.erf_inv(symmetric(key, shape, dtype)))


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """A scalar, or an array of the rank of `shape`, broadcast to `shape`."""
    return shapes.broadcast_in_dim(x, shape, range(shaped(x).ndim))


def signs(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """1 and -1 with equal probability."""
    default = dtypes.canonicalize(dtypes.float64)
    ones = shapes.convert_element_type(el.lt_p.bind(unit(key, shape, default), scalar(0.5, default)), dtype)
    return el.sub_p.bind(el.mul_p.bind(scalar(2, dtype), ones), scalar(1, dtype))


def exponential_of(floats: Any) -> Any:
    """Standard exponential numbers of uniform ones in [0, 1)."""
    return el.neg_p.bind(el.log1p_p.bind(el.neg_p.bind(floats)))


@functools.cache
def tiny(dtype: Any) -> Any:
    """The smallest normal number."""
    return np.asarray(ml_dtypes.finfo(dtype).tiny).astype(dtype)[()]


@functools.cache
def eps(dtype: Any) -> Any:
    """The distance from 1 to the next number."""
    return np.asarray(ml_dtypes.finfo(dtype).eps).astype(dtype)[()]
