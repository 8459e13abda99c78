"""Dtypes: categories, limits, the x64 rule and type promotion."""

from __future__ import annotations

from typing import Any

from ml_dtypes import bfloat16, finfo, iinfo

from xtrace.core import dtypes as _core
from xtrace.core.dtypes import TypePromotionError, extended, float0, prng_key

__all__ = [
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """Return a dtype as the x64 flag allows it: with the flag off, 64-bit types become 32-bit ones.

    Args:
      dtype: a dtype, its name, a scalar type or a Python type.
      allow_extended_dtype: return dtypes of random keys as they are, rather than refuse them.

    Returns:
      A numpy dtype.

    Raises:
      TypeError: not a dtype.
      ValueError: a dtype of random keys.

    Example:
      >>> import xtrace as xt
      >>> xt.dtypes.canonicalize_dtype("float64"), xt.dtypes.canonicalize_dtype(int)
      (dtype('float32'), dtype('int32'))
    """
    found = _core.canonicalize(_core.as_dtype(dtype))
    if isinstance(found, _core.ExtendedDtype) and not allow_extended_dtype:
        raise ValueError(f"canonicalize_dtype: {found} is no numpy dtype; pass allow_extended_dtype=True to keep it")
    return found


def issubdtype(a: Any, b: Any) -> bool:
    """Return whether a dtype belongs to a category; numpy.issubdtype, but right for bfloat16, float8, int4 and keys.

    Args:
      a: a dtype or category.
      b: a dtype or category: np.integer, np.floating, np.inexact, ..., `extended`, `prng_key`.

    Returns:
      A bool.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.dtypes.issubdtype("bfloat16", np.floating), xt.dtypes.issubdtype(np.int32, np.floating)
      (True, False)
    """
    return _core.issubdtype(a, b)


def itemsize_bits(dtype: Any) -> int:
    """Return how many bits an element of a dtype takes, packed.

    Args:
      dtype: a dtype of numbers or booleans.

    Returns:
      An int: 4 for int4, although numpy stores it in a byte; 8 for bool.

    Raises:
      ValueError: a dtype of something else.

    Example:
      >>> import xtrace as xt
      >>> [xt.dtypes.itemsize_bits(d) for d in ("bfloat16", "int4", "complex64")]
      [16, 4, 64]
    """
    return _core.itemsize_bits(dtype)


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """Return the dtype that an operation on the arguments would have.

    Python scalars are weak: they take the dtype of the arrays they meet, unless they are of a wider kind.

    Args:
      *args: arrays, scalars and dtypes.
      return_weak_type_flag: return (dtype, whether it is weak).

    Returns:
      A dtype.

    Raises:
      TypePromotionError: the dtypes have no common type without an explicit cast.
      TypeError: an argument is no array, number or dtype.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.dtypes.result_type(np.int8, np.uint8), xt.dtypes.result_type("bfloat16", 1.0)
      (dtype('int16'), dtype(bfloat16))
      >>> xt.dtypes.result_type(np.int32, 1.0, return_weak_type_flag=True)
      (dtype('float32'), True)
    """
    return _core.result_type(*args, return_weak_type=return_weak_type_flag)


_PYTHON_TYPE = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def scalar_type_of(x: Any) -> type:
    """Return the Python type, bool, int, float or complex, of the elements of an array or dtype.

    Args:
      x: an array, scalar or dtype.

    Returns:
      A type.

    Raises:
      TypeError: `x` holds no numbers.

    Example:
      >>> import xtrace as xt
      >>> xt.dtypes.scalar_type_of("bfloat16"), xt.dtypes.scalar_type_of(3)
      (<class 'float'>, <class 'int'>)
    """
    dtype = _core.of_value(x)[0]
    found = _PYTHON_TYPE.get(_core.kind(dtype))
    if found is None:
        raise TypeError(f"scalar_type_of needs numbers or booleans; {dtype} holds neither")
    return found
