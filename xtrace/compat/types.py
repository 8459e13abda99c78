"""Private functions and tables of dtypes, under JAX's names for them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.dtypes import DType


class ExplicitX64Mode(enum.StrEnum):
    """The values of the flag explicit_x64_dtypes."""

    WARN = "warn"
    ERROR = "error"
    ALLOW = "allow"


def _default(python_type: type) -> Callable[[], DType]:
    def default() -> DType:
        return dtypes.canonicalize(dtypes.PYTHON_SCALARS[python_type])

    default.__doc__ = f"The dtype that Python's {python_type.__name__} has in arrays."
    return default


default_int_dtype = _default(int)
default_float_dtype = _default(float)
default_complex_dtype = _default(complex)


def default_uint_dtype() -> DType:
    """The widest dtype of unsigned integers that there is."""
    return dtypes.canonicalize(np.dtype("uint64"))


default_types = {
    "b": _default(bool),
    "i": default_int_dtype,
    "u": default_uint_dtype,
    "f": default_float_dtype,
    "c": default_complex_dtype,
}
int_, uint, float_, complex_ = np.int64, np.uint64, np.float64, np.complex128
python_scalar_types_to_dtypes = dtypes.PYTHON_SCALARS

_ML = {d: dtypes.kind(d) for d in map(dtypes.as_dtype, dtypes.SHORT_NAMES) if not hasattr(np, d.name)}
_float8_dtypes = [d for d in _ML if d.name.startswith("float8")]
_custom_float_dtypes = [d for d, kind in _ML.items() if kind == "f"]
_intn_dtypes = [d for d, kind in _ML.items() if kind in "iu"]
_weak_types: list[Any] = [int, float, complex]


def _of_kinds(kinds: str) -> list[Any]:
    return [d for d in dtypes.SHORT_NAMES if d != dtypes.float0 and dtypes.kind(d) in kinds]


_jax_types = [d for kinds in ("b", "u", "i", "f", "c") for d in _of_kinds(kinds)]


def dtype(x: Any) -> DType:
    """The dtype of an array or number, or the one that `x` names."""
    if isinstance(x, (type, str, np.dtype, dtypes.ExtendedDtype)) and x not in dtypes.PYTHON_SCALARS:
        return dtypes.as_dtype(x)
    return dtypes.of_value(x)[0]


def _dtype_and_weaktype(value: Any) -> tuple[DType, bool]:
    return dtypes.of_value(value)


def _jax_type(dtype: DType, weak_type: bool) -> Any:
    """A dtype, or the Python type whose numbers are weak."""
    if not weak_type or dtypes.is_bool(dtype):
        return dtype
    return {"i": int, "u": int, "f": float, "c": complex}[dtypes.kind(dtype)]


def to_numeric_dtype(dtype: Any) -> DType:
    """A dtype that adds: int32 for booleans."""
    found = dtypes.as_dtype(dtype)
    return dtypes.int32 if dtypes.is_bool(found) else found


def to_inexact_dtype(dtype: Any) -> DType:
    """The dtype of floats that holds numbers of a dtype, with x64 mode on or off: of 64 bits for integers of 64 bits.

    >>> to_inexact_dtype("int16"), to_inexact_dtype("uint64"), to_inexact_dtype("complex64")
    (dtype('float32'), dtype('float64'), dtype('complex64'))
    """
    found = dtypes.as_dtype(dtype)
    if dtypes.is_inexact(found):
        return found
    return dtypes.float64 if dtypes.is_integer(found) and found.itemsize == 8 else dtypes.float32


def to_floating_dtype(dtype: Any) -> DType:
    """The dtype of the real parts of `to_inexact_dtype`."""
    return dtypes.to_real(to_inexact_dtype(dtype))


def to_complex_dtype(dtype: Any) -> DType:
    """The dtype of complex numbers of such parts."""
    return dtypes.to_complex(to_inexact_dtype(dtype))


def supports_inf(dtype: Any) -> bool:
    """Whether a dtype has infinities."""
    found = dtypes.as_dtype(dtype)
    return dtypes.is_inexact(found) and bool(np.isinf(np.asarray(np.inf).astype(found)))


def lattice_result_type(*args: Any) -> tuple[DType, bool]:
    """The dtype that an operation on the arguments has, and whether it is weak."""
    return dtypes.promote(tuple([dtypes.of_value(a) for a in args]))


def safe_to_cast(input_dtype_or_value: Any, output_dtype_or_value: Any) -> bool:
    """Whether promotion would make the first the dtype of the second.

    >>> safe_to_cast("int16", "float32"), safe_to_cast("float32", "int16")
    (True, False)
    """
    source, target = (dtypes.of_value(x)[0] for x in (input_dtype_or_value, output_dtype_or_value))
    return source == target or dtypes.result_type(input_dtype_or_value, target) == target


def check_and_canonicalize_user_dtype(dtype: Any, fun_name: str | None = None) -> DType:
    """The dtype that an argument of `fun_name` names."""
    from xtrace.numpy import dtypes as numpy_dtypes

    if dtype is None:
        raise ValueError("a dtype is needed; got None")
    return numpy_dtypes.canonical(dtype, fun_name or "the function")


def int_dtype_for_dim(d: int, *, signed: bool) -> DType:
    """The dtype of indices up to `d`: of 32 bits where those do.

    >>> int_dtype_for_dim(2**31, signed=True), int_dtype_for_dim(2**31, signed=False)
    (dtype('int64'), dtype('uint32'))
    """
    narrow, wide = (np.int32, np.int64) if signed else (np.uint32, np.uint64)
    return np.dtype(wide if d > np.iinfo(narrow).max else narrow)


def int_dtype_for_shape(shape: Sequence[int], *, signed: bool) -> DType:
    """The dtype of indices into any dimension of a shape."""
    return int_dtype_for_dim(max(shape, default=0), signed=signed)
