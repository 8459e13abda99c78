"""Dtypes as users write them: scalar types (float32, bfloat16, …), queries, and the check of `dtype=` arguments."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from ml_dtypes import finfo as finfo
from ml_dtypes import iinfo as iinfo

from xtrace.core import config, dtypes, statics, warned
from xtrace.core.dtypes import DType, ExtendedDtype
from xtrace.runtime.array import Array as ndarray  # noqa: F401  (numpy's name for it)

dtype = np.dtype
pi = np.pi
e = np.e
euler_gamma = np.euler_gamma
inf = np.inf
nan = np.nan
newaxis = None

# numpy's categories of scalar types, for issubdtype.
ComplexWarning = np.exceptions.ComplexWarning
character = np.character
complexfloating = np.complexfloating
flexible = np.flexible
floating = np.floating
generic = np.generic
inexact = np.inexact
integer = np.integer
number = np.number
object_ = np.object_
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger


class ScalarType(type):
    """The type of `numpy.float32` and its like: callable, and a dtype wherever one is asked for."""

    dtype: np.dtype

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: Any) -> bool:
        return cls is other or cls.dtype.type == other or cls.dtype == other

    def __ne__(cls, other: Any) -> bool:
        return not cls == other

    def __call__(cls, x: Any) -> Any:
        from xtrace.numpy import creation

        return creation.asarray(x, dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)


def _scalar_type(name: str, numpy_type: Any) -> Any:
    doc = f"The type {name}: `{name}(x)` makes an array of it, and it names the dtype wherever one is asked for."
    return ScalarType(name, (), {"dtype": np.dtype(numpy_type), "__doc__": doc, "__module__": "xtrace.numpy"})


_ML_NAMES = (
    "int1 uint1 int2 uint2 int4 uint4 bfloat16 float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 "
    "float8_e8m0fnu float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz"
)
_NUMPY_NAMES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 bool"
SCALAR_TYPES: dict[str, Any] = {name: _scalar_type(name, getattr(np, name)) for name in _NUMPY_NAMES.split()}
for _name in _ML_NAMES.split():
    if hasattr(ml_dtypes, _name):  # older releases know fewer
        SCALAR_TYPES[_name] = _scalar_type(_name, getattr(ml_dtypes, _name))
SCALAR_TYPES |= {
    alias: SCALAR_TYPES[name]
    for alias, name in {
        "bool_": "bool",
        "int_": "int64",
        "uint": "uint64",
        "float_": "float64",
        "complex_": "complex128",
        "double": "float64",
        "single": "float32",
        "cdouble": "complex128",
        "csingle": "complex64",
    }.items()
}


def __getattr__(name: str) -> Any:  # not globals: one of them is called bool
    if name in SCALAR_TYPES:
        return SCALAR_TYPES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# ---------------------------------------------------------------------------------------------------------------
# The dtype argument of functions.

_enable_x64 = config.enable_x64.state
_PYTHON = {bool: dtypes.bool_, int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}
#: What users gave -> (dtype, its name if it is a 64-bit type asked for by name). Per x64 mode.
_given: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})


def canonical(spec: Any, function: str) -> DType:
    """The dtype that a `dtype=` argument of `function` names, as x64 mode allows it.

    Raises TypeError for what is no dtype of numbers; warns if a 64-bit type is asked for by name with x64 mode off.
    """
    table = _given[_enable_x64.value]
    try:
        found = table.get(spec)
    except TypeError:  # unhashable: certainly no dtype, but numpy says why
        found = None
    if found is None:
        found = _canonical(spec, function)
        table[spec] = found
    dtype, wide = found
    return dtype if wide is None else _wide(wide, dtype, function)


def _canonical(spec: Any, function: str) -> tuple[DType, Any]:
    asked = _PYTHON.get(spec) if isinstance(spec, type) else None
    if asked is not None:
        return dtypes.canonicalize(asked), None
    asked = dtypes.as_dtype(spec)
    if not isinstance(asked, ExtendedDtype) and dtypes.kind(asked) not in "biufc0":
        raise TypeError(
            f"{function}: arrays hold numbers and booleans, got dtype {spec}. Keep such values outside arrays, or "
            "encode them as numbers."
        )
    if not isinstance(asked, ExtendedDtype) and not asked.isnative:
        asked = asked.newbyteorder("=")
    dtype = dtypes.canonicalize(asked)
    return dtype, (None if dtype == asked else asked)


def _wide(asked: DType, dtype: DType, function: str) -> DType:
    """The dtype in place of a 64-bit one that was asked for by name with x64 mode off: the flag may forbid it."""
    advice = (
        "64-bit types are off. Turn them on with config.update('jax_enable_x64', True) or JAX_ENABLE_X64=1, or ask for "
        f"{dtype}."
    )
    if config.explicit_x64_dtypes.value != "warn":  # "allow" wants the wide type itself: never narrow it silently
        raise ValueError(f"Explicitly requested dtype {asked} in {function} is not available: {advice}")
    warned.warn(
        f"Explicitly requested dtype {asked} in {function} is not available, and will be truncated to dtype {dtype}: "
        + advice,
    )
    return dtype


# ---------------------------------------------------------------------------------------------------------------
# Queries.


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Return whether a dtype belongs to a category, as numpy.issubdtype, and right for bfloat16, float8, int4 and keys.

    Args:
      arg1, arg2: dtypes, scalar types or categories such as `numpy.floating`.

    Returns:
      A bool.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.issubdtype(xnp.bfloat16, xnp.floating), xnp.issubdtype("int8", xnp.unsignedinteger)
      (True, False)
    """
    return dtypes.issubdtype(arg1, arg2)


def result_type(*args: Any) -> DType:
    """Return the dtype that an operation on the arguments would have.

    Args:
      *args: arrays, scalars (Python's take on the dtype of arrays), dtypes.

    Returns:
      A dtype.

    Raises:
      ValueError: the dtypes have no common one without a cast.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.result_type(xnp.int32, xnp.bfloat16), xnp.result_type(xnp.int8, 3)
      (dtype(bfloat16), dtype('int8'))
    """
    return dtypes.result_type(*args)


def promote_types(a: Any, b: Any) -> DType:
    """Return the dtype to which an operation on two dtypes would promote them.

    Args:
      a, b: dtypes; Python's int, float and complex are weak.

    Returns:
      A dtype, 64-bit ones included whatever the x64 mode.

    Raises:
      ValueError: there is none without a cast.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.promote_types("int32", "float16")
      dtype('float16')
    """
    weak = [t in (int, float, complex) if isinstance(t, type) else False for t in (a, b)]
    pairs = tuple([(_PYTHON[t] if w else dtypes.as_dtype(t), w) for t, w in zip((a, b), weak, strict=True)])
    return dtypes._promote(pairs, True, config.numpy_dtype_promotion.value == "strict")[0]


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Return whether values of one dtype can be cast to another under a rule.

    Args:
      from_, to: dtypes or arrays.
      casting: "no", "equiv", "safe", "same_kind" or "unsafe".

    Returns:
      A bool.

    Raises:
      TypeError: a Python number, whose answer would depend on its value.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.can_cast(xnp.bfloat16, xnp.float32), xnp.can_cast(xnp.int32, xnp.float32)
      (True, False)
    """
    source, target = [x if isinstance(x, type) else getattr(x, "dtype", x) for x in (from_, to)]
    if isinstance(source, (int, float, complex)) and not isinstance(source, bool):
        raise TypeError(f"can_cast: got the number {source!r}, whose answer would depend on its value; pass a dtype")
    statics.option(casting, "casting", ("no", "equiv", "safe", "same_kind", "unsafe"))
    return bool(np.can_cast(dtypes.as_dtype(source), dtypes.as_dtype(target), casting))  # type: ignore[arg-type]


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is of a kind, in the array API's words.

    Args:
      dtype: a dtype.
      kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric",
        a dtype, or a tuple of these.

    Returns:
      A bool.

    Raises:
      ValueError: no such kind.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.isdtype(xnp.bfloat16, "real floating"), xnp.isdtype(xnp.int8, ("bool", xnp.float32))
      (True, False)
    """
    found = dtypes.as_dtype(dtype)
    for option in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(option, str) and option in _KINDS:
            if dtypes.kind(found) in _KINDS[option]:
                return True
            continue
        try:
            wanted = dtypes.as_dtype(option)
        except TypeError:
            raise ValueError(
                f"isdtype: no such kind: {option!r}. Kinds are {', '.join(map(repr, _KINDS))}, or a dtype"
            ) from None
        if found == wanted:
            return True
    return False
