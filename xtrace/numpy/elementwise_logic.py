"""Truth values, choices and comparisons with tolerance: logical_*, where, clip, fmax, isclose, array_equal, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import composite, dtypes
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import shapes
from xtrace.numpy import elementwise as ew
from xtrace.numpy.promotion import check_arraylike, promote
from xtrace.numpy.scalars import number, pick, scalar
from xtrace.numpy.ufuncs import Binary, unary


def _truth(x: Any) -> Any:
    return lax.ne(x, number(0, x))


def _logical(name: str, primitive: Primitive, doc: str) -> Callable[[Any, Any], Any]:
    return Binary(name, primitive, doc, "", {"iufc": lambda x, y: primitive.bind(_truth(x), _truth(y))}).function


logical_and = _logical("logical_and", lax.and_p, "Whether both are true; numbers are where they aren't 0.")
logical_or = _logical("logical_or", lax.or_p, "Whether either is true; numbers are where they aren't 0.")
logical_xor = _logical("logical_xor", lax.xor_p, "Whether one of the two is true; numbers are where they aren't 0.")
logical_not = unary(
    "logical_not", lax.not_p, "Whether x is false; numbers are where they are 0.", "",
    {"iufc": lambda x: lax.bitwise_not(_truth(x))},
)  # fmt: skip


def _count_bits(x: Any) -> Any:
    size = lax.abs(x) if dtypes.kind(shaped(x).dtype) == "i" else x
    return lax.convert_element_type(lax.population_count(size), np.dtype(np.uint8))


bitwise_count = unary(
    "bitwise_count", None, "The number of bits set in |x|, as uint8.", "numeric",
    {"iu": _count_bits, "fc": lambda x: lax.population_count(x)},
)  # fmt: skip

# ---------------------------------------------------------------------------------------------------------------
# Choices


def where(condition: Any, x: Any = None, y: Any = None, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Choose elements from two arrays by a condition; with the condition alone, find where it holds.

    Args:
      condition: array of truth values, or of numbers, which hold where they aren't 0.
      x, y: arrays; all three broadcast against each other.
      size, fill_value: with the condition alone: see `nonzero`.

    Returns:
      An array with elements of `x` where the condition holds and of `y` elsewhere; with the condition alone, a tuple
      of index arrays.

    Raises:
      ValueError: one of `x` and `y` is missing.
      TypeError: an argument is no array.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.where(xnp.arange(4) < 2, 1.0, -1.0)
      Array([ 1.,  1., -1., -1.], dtype=float32, weak_type=True)
    """
    if x is None and y is None:
        from xtrace import numpy

        return numpy.nonzero(condition, size=size, fill_value=fill_value)
    check_arraylike("where", condition, x, y)
    if size is not None or fill_value is not None:
        raise ValueError("where: `size` and `fill_value` belong to the form with the condition alone")
    return _where(condition, x, y)


@composite.composite
def _where(condition: Any, x: Any, y: Any) -> Any:
    aval = getattr(condition, "aval", None)
    if aval is None:
        (condition,) = promote("where", (condition,))
        if type(condition) is bool:
            condition = np.bool_(condition)
        aval = shaped(condition)
    if aval.dtype != np.bool_:
        condition = lax.ne(condition, scalar(0, condition))
    shape = aval.shape
    x, y = promote("where", (x, y), "", False, shape)
    if shape:
        common = shaped(x).shape
        if shape != common:
            dims = range(len(common) - len(shape), len(common))
            condition = shapes.broadcast_in_dim(condition, common, dims)
    return lax.select_n_p.bind(condition, y, x)


def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """Limit elements to lie between two bounds.

    Args:
      arr: array, not complex.
      min, max: bounds, arrays that broadcast against `arr`; None for no bound. Where they cross, `max` wins.

    Returns:
      An array of the common shape and dtype.

    Raises:
      ValueError: an argument is complex.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.clip(xnp.arange(5), 1, 3)
      Array([1, 1, 2, 3, 3], dtype=int32)
    """
    if arr is None:
        raise ValueError("clip: missing the array to be clipped, the first argument")
    bounds = [b for b in (min, max) if b is not None]
    check_arraylike("clip", arr, *bounds)
    if any([dtypes.is_complex(dtypes.of_value(v)[0]) for v in (arr, *bounds)]):
        raise ValueError("clip: Complex values have no ordering and cannot be clipped; clip their .real or .imag")
    return _clip(arr, _fitting(min, arr), _fitting(max, arr))


def _fitting(bound: Any, x: Any) -> Any:
    """A Python int that only the dtype of `x` can hold (uint64) as a number of that dtype."""
    if type(bound) is int and 2**63 <= bound < 2**64:
        dtype = dtypes.of_value(x)[0]
        return np.uint64(bound) if dtype == np.uint64 else bound
    return bound


@composite.composite
def _clip(x: Any, min: Any, max: Any) -> Any:
    if min is not None:
        x = ew.maximum(min, x)
    if max is not None:
        x = ew.minimum(max, x)
    return promote("clip", (x,))[0]


def _ignoring_nan(name: str, compare: Callable[[Any, Any], Any], doc: str) -> Callable[[Any, Any], Any]:
    def choose(x: Any, y: Any) -> Any:
        return pick(lax.bitwise_or(compare(x, y), lax.ne(y, y)), x, y)

    return Binary(name, None, doc, "", {"biufc": choose}).function


fmax = _ignoring_nan("fmax", ew.greater, "The larger of x and y; where one is NaN, the other.")
fmin = _ignoring_nan("fmin", ew.less, "The smaller of x and y; where one is NaN, the other.")

# ---------------------------------------------------------------------------------------------------------------
# Comparisons


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether elements are equal within a tolerance: |a - b| <= atol + rtol * |b|.

    Args:
      a, b: arrays that broadcast against each other.
      rtol, atol: relative and absolute tolerance.
      equal_nan: NaN counts as equal to NaN.

    Returns:
      A bool array. Infinities are close to themselves only.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.isclose(xnp.array([1.0, 2.0]), xnp.array([1.000001, 2.1]))
      Array([ True, False], dtype=bool)
    """
    check_arraylike("isclose", a, b, rtol, atol)
    return _isclose(a, b, rtol, atol, bool(equal_nan))


@composite.composite(static_argnames=("equal_nan",))
def _isclose(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    a, b = promote("isclose", (a, b), "inexact")
    rtol, atol = [shapes.convert(t, dtypes.to_real(shaped(a).dtype), False) for t in (rtol, atol)]
    if dtypes.is_complex(shaped(b).dtype):
        finite = lax.bitwise_and(lax.is_finite(lax.real(b)), lax.is_finite(lax.imag(b)))
    else:
        finite = lax.is_finite(b)
    allowed = ew.add(atol, ew.multiply(rtol, lax.abs(b)))
    within = ew.bitwise_and(finite, ew.less_equal(lax.abs(lax.sub(a, b)), allowed))
    out = ew.bitwise_or(lax.eq(a, b), within)
    if equal_nan:
        out = ew.bitwise_or(out, lax.bitwise_and(lax.ne(a, a), lax.ne(b, b)))
    return out


def _all(x: Any) -> Any:
    return lax.reduce_and(x, tuple(range(shaped(x).ndim)))


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether all elements are equal within a tolerance: see `isclose`.

    Args:
      a, b: arrays that broadcast against each other.
      rtol, atol: relative and absolute tolerance.
      equal_nan: NaN counts as equal to NaN.

    Returns:
      A bool array of shape ().

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.allclose(xnp.ones(3), 1.0)
      Array(True, dtype=bool)
    """
    check_arraylike("allclose", a, b, rtol, atol)
    return _allclose(a, b, rtol, atol, bool(equal_nan))


@composite.composite(static_argnames=("equal_nan",))
def _allclose(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    return _all(_isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have one shape and equal elements.

    Args:
      a1, a2: arrays, or nested sequences of numbers.
      equal_nan: NaN counts as equal to NaN.

    Returns:
      A bool array of shape ().

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.array_equal(xnp.arange(2), [0, 1])
      Array(True, dtype=bool)
    """
    from xtrace.numpy.creation import asarray

    a1, a2 = asarray(a1), asarray(a2)
    if a1.shape != a2.shape:
        return asarray(np.bool_(False))
    return _array_equal(a1, a2, bool(equal_nan))


@composite.composite(static_argnames=("equal_nan",))
def _array_equal(x: Any, y: Any, equal_nan: bool) -> Any:
    out = ew.equal(x, y)
    if equal_nan:
        out = lax.bitwise_or(out, lax.bitwise_and(lax.ne(x, x), lax.ne(y, y)))
    return _all(out)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays broadcast against each other and are equal then.

    Args:
      a1, a2: arrays, or nested sequences of numbers.

    Returns:
      A bool array of shape ().

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.array_equiv(xnp.ones((2, 3)), 1), xnp.array_equiv(xnp.ones(2), xnp.ones(3))
      (Array(True, dtype=bool), Array(False, dtype=bool))
    """
    from xtrace.numpy.creation import asarray

    a1, a2 = asarray(a1), asarray(a2)
    try:
        lax.broadcast_shapes(a1.shape, a2.shape)
    except (TypeError, ValueError):
        return asarray(np.bool_(False))
    return _array_equiv(a1, a2)


@composite.composite
def _array_equiv(x: Any, y: Any) -> Any:
    return _all(ew.equal(x, y))


__all__ = [
    "allclose", "array_equal", "array_equiv", "bitwise_count", "clip", "fmax", "fmin", "isclose", "logical_and",
    "logical_not", "logical_or", "logical_xor", "where",
]  # fmt: skip
