"""Dtypes: the x64 rule, the promotion lattice with weak types, and extended dtypes (random keys).

The lattice is JAX's documented one: Python scalars are weak (`i*`, `f*`, `c*`) and yield to arrays,
`int + float32` stays float32, float8 and int4 types never promote by themselves.
"""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from xtrace.core import config


class TypePromotionError(ValueError):
    """No implicit promotion path exists between the given dtypes."""


class ExtendedDtype:
    """A dtype that numpy doesn't know, stored as an array of another dtype with trailing dimensions.

    Subclasses set `name`, `physical_dtype` and `physical_shape` (the trailing dimensions of one element).
    """

    name: str
    physical_dtype: np.dtype
    physical_shape: tuple[int, ...]
    itemsize: int
    kind = "X"

    @property
    def type(self) -> type:
        return self.scalar_type

    scalar_type: type

    def __repr__(self) -> str:
        return self.name


class extended(np.generic):
    """Scalar-type category of dtypes that numpy doesn't know."""


class prng_key(extended):
    """Scalar-type category of random keys."""


#: The dtype of tangents of integer and boolean values: it holds no information.
float0 = np.dtype([("float0", np.void, 0)])

DType = Any  # np.dtype | ExtendedDtype

bool_ = np.dtype("bool")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
uint32 = np.dtype("uint32")
float32 = np.dtype("float32")
float64 = np.dtype("float64")
complex64 = np.dtype("complex64")
complex128 = np.dtype("complex128")
bfloat16 = np.dtype(ml_dtypes.bfloat16)
float16 = np.dtype("float16")

_SIGNED = ("int8", "int16", "int32", "int64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_NARROW_INTS = ("int2", "uint2", "int4", "uint4")
_NARROW_FLOATS = tuple(
    name
    for name in (
        "float8_e3m4 float8_e4m3 float8_e8m0fnu float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float4_e2m1fn"
    ).split()
    if hasattr(ml_dtypes, name)
)

#: ml_dtypes' types by name: numpy reports them as kind "V" (or a lucky guess), so we keep our own table.
_ML_KINDS: dict[np.dtype, str] = {np.dtype(getattr(ml_dtypes, n)): "f" for n in (*_NARROW_FLOATS, "bfloat16")}
_ML_KINDS |= {np.dtype(getattr(ml_dtypes, n)): ("u" if n[0] == "u" else "i") for n in _NARROW_INTS if hasattr(ml_dtypes, n)}

_BY_NAME: dict[str, np.dtype] = {d.name: d for d in _ML_KINDS}
_BY_NAME |= {
    name: np.dtype(name)
    for name in ("bool", *_SIGNED, *_UNSIGNED, "float16", "float32", "float64", "complex64", "complex128")
}

#: Short names, as jaxprs and the command line write them.
SHORT_NAMES: dict[np.dtype, str] = {np.dtype("bool"): "bool", float0: "float0"}
for _name, _dtype in _BY_NAME.items():
    if _name == "bfloat16":
        SHORT_NAMES[_dtype] = "bf16"
    elif _name.startswith(("float8", "float4")):
        SHORT_NAMES[_dtype] = _name.replace("float", "f")
    elif _name != "bool":
        SHORT_NAMES[_dtype] = (
            _name.replace("uint", "u").replace("int", "i").replace("float", "f").replace("complex", "c")
        )
FROM_SHORT_NAME: dict[str, np.dtype] = {short: dtype for dtype, short in SHORT_NAMES.items()}

PYTHON_SCALARS: dict[type, np.dtype] = {
    bool: bool_,
    int: int64,
    float: float64,
    complex: complex128,
}

_X32: dict[np.dtype, np.dtype] = {
    int64: int32,
    np.dtype("uint64"): uint32,
    float64: float32,
    complex128: complex64,
}
_enable_x64 = config.enable_x64.state


def canonicalize(dtype: DType) -> DType:
    """Return `dtype` as x64 mode allows it: with x64 off, 64-bit types become their 32-bit versions."""
    if dtype in _X32 and not _enable_x64.value:
        return _X32[dtype]
    return dtype


def as_dtype(spec: Any) -> DType:
    """Return the dtype that `spec` (a dtype, scalar type, name, Python type or ExtendedDtype) names, uncanonicalized."""
    if isinstance(spec, (np.dtype, ExtendedDtype)):
        return spec
    if isinstance(spec, str):
        found = _BY_NAME.get(spec)
        if found is not None:
            return found
    dtype = getattr(spec, "dtype", None)
    if isinstance(dtype, (np.dtype, ExtendedDtype)):  # jnp.float32 and friends carry their dtype
        return dtype
    return np.dtype(spec)


def canonical_dtype(spec: Any) -> DType:
    """`as_dtype`, then `canonicalize`."""
    return canonicalize(as_dtype(spec))


def is_extended(dtype: DType) -> bool:
    return isinstance(dtype, ExtendedDtype)


@functools.cache
def kind(dtype: DType) -> str:
    """One letter: b, i, u, f, c; "X" for extended dtypes; "0" for float0; "V" for anything else."""
    if isinstance(dtype, ExtendedDtype):
        return "X"
    if dtype == float0:
        return "0"
    return _ML_KINDS.get(dtype) or dtype.kind


def is_inexact(dtype: DType) -> bool:
    return kind(dtype) in "fc"


def is_floating(dtype: DType) -> bool:
    return kind(dtype) == "f"


def is_complex(dtype: DType) -> bool:
    return kind(dtype) == "c"


def is_integer(dtype: DType) -> bool:
    return kind(dtype) in "iu"


def is_bool(dtype: DType) -> bool:
    return kind(dtype) == "b"


_KIND_OF_CATEGORY: dict[type, str] = {
    np.bool_: "b",
    np.integer: "iu",
    np.signedinteger: "i",
    np.unsignedinteger: "u",
    np.inexact: "fc",
    np.floating: "f",
    np.complexfloating: "c",
    np.number: "iufc",
    np.generic: "biufcXV0",
    extended: "X",
}


def issubdtype(a: Any, b: Any) -> bool:
    """Whether `a` is in category `b`; like numpy.issubdtype, and right for ml_dtypes and extended dtypes."""
    if isinstance(b, type) and b in _KIND_OF_CATEGORY:
        if isinstance(a, type) and issubclass(a, np.generic) and a in _KIND_OF_CATEGORY and a is not np.bool_:
            return issubclass(a, b)
        return kind(as_dtype(a)) in _KIND_OF_CATEGORY[b]
    if isinstance(b, type) and issubclass(b, extended):
        scalar = as_dtype(a).scalar_type if is_extended(as_dtype(a)) else a
        return isinstance(scalar, type) and issubclass(scalar, b)
    if isinstance(a, type) and issubclass(a, extended):
        return False
    return as_dtype(a) == as_dtype(b)




def finfo(dtype: Any) -> Any:
    """Limits of a floating dtype (ml_dtypes.finfo, which knows numpy's types too)."""
    dtype = as_dtype(dtype)
    if kind(dtype) not in "fc":
        raise ValueError(f"finfo needs a floating or complex dtype, got {dtype}")
    return ml_dtypes.finfo(dtype)


def iinfo(dtype: Any) -> Any:
    """Limits of an integer dtype."""
    dtype = as_dtype(dtype)
    if kind(dtype) not in "iu":
        raise ValueError(f"iinfo needs an integer dtype, got {dtype}")
    return ml_dtypes.iinfo(dtype)


def to_inexact(dtype: DType) -> DType:
    """The floating dtype that an integer or bool becomes in functions such as sin; others are returned as they are."""
    return _TO_INEXACT.get(dtype, dtype)


_TO_INEXACT = {}
for _t in (*_SIGNED, *_UNSIGNED, "bool"):
    _TO_INEXACT[np.dtype(_t)] = float64 if _t in ("int64", "uint64") else float32
for _t in _NARROW_INTS:
    if _t in _BY_NAME:
        _TO_INEXACT[_BY_NAME[_t]] = float32


def to_real(dtype: DType) -> DType:
    """complex64 to float32, complex128 to float64; others as they are."""
    return {complex64: float32, complex128: float64}.get(dtype, dtype)


def to_complex(dtype: DType) -> DType:
    """The complex dtype whose parts hold `dtype`."""
    return complex128 if dtype in (float64, complex128) else complex64


# ---------------------------------------------------------------------------------------------------------------
# The lattice. Nodes are dtypes and the weak categories "i*", "f*", "c*"; an edge points to the next wider nodes.


def _build_lattice() -> dict[Any, frozenset[Any]]:
    d = _BY_NAME
    edges: dict[Any, list[Any]] = {
        d["bool"]: ["i*"],
        "i*": [d["uint8"], d["int8"], *(d[n] for n in _NARROW_INTS if n in d)],
        d["uint8"]: [d["int16"], d["uint16"]],
        d["uint16"]: [d["int32"], d["uint32"]],
        d["uint32"]: [d["int64"], d["uint64"]],
        d["uint64"]: ["f*"],
        d["int8"]: [d["int16"]],
        d["int16"]: [d["int32"]],
        d["int32"]: [d["int64"]],
        d["int64"]: ["f*"],
        "f*": [d["bfloat16"], d["float16"], "c*", *(d[n] for n in _NARROW_FLOATS)],
        d["bfloat16"]: [d["float32"]],
        d["float16"]: [d["float32"]],
        d["float32"]: [d["float64"], d["complex64"]],
        d["float64"]: [d["complex128"]],
        "c*": [d["complex64"]],
        d["complex64"]: [d["complex128"]],
        d["complex128"]: [],
    }
    for name in (*_NARROW_INTS, *_NARROW_FLOATS):
        if name in d:
            edges[d[name]] = []
    above: dict[Any, frozenset[Any]] = {}

    def climb(node: Any) -> frozenset[Any]:
        if node not in above:
            above[node] = frozenset([node]).union(*(climb(n) for n in edges[node]))
        return above[node]

    for node in edges:
        climb(node)
    return above


_ABOVE = _build_lattice()
_WEAK_NODE = {"b": bool_, "i": "i*", "u": "i*", "f": "f*", "c": "c*"}
_WEAK_DTYPE = {"i*": int64, "f*": float64, "c*": complex128}


@functools.cache
def _least_upper_bound(nodes: frozenset[Any], strict: bool) -> Any:
    if strict:
        strong = [n for n in nodes if not isinstance(n, str)]
        if len(set(strong)) > 1:
            names = ", ".join(sorted(str(n) for n in strong))
            raise TypePromotionError(
                f"Input dtypes ({names}) have no available implicit dtype promotion path when numpy_dtype_promotion='strict'. "
                "Cast one of them with .astype()."
            )
    common = frozenset.intersection(*(_ABOVE[n] for n in nodes))
    for node in common:
        if common <= _ABOVE[node]:
            return node
    names = ", ".join(sorted(str(n) for n in nodes))
    raise TypePromotionError(
        f"Input dtypes ({names}) have no available implicit dtype promotion path. "
        "Types such as float8 and int4 are never promoted implicitly; cast one of them with .astype()."
    )


def _node(dtype: DType, weak: bool) -> Any:
    if weak:
        return _WEAK_NODE[kind(dtype)]
    if dtype not in _ABOVE:
        raise TypePromotionError(f"dtype {dtype} does not take part in type promotion")
    return dtype


@functools.cache
def _promote(operands: tuple[tuple[DType, bool], ...], x64: bool, strict: bool) -> tuple[DType, bool]:
    dtypes = {d for d, _ in operands}
    if len(dtypes) == 1:
        (dtype,) = dtypes
        weak = all(w for _, w in operands)
        return dtype, weak and kind(dtype) != "b"
    node = _least_upper_bound(frozenset(_node(d, w) for d, w in operands), strict)
    if isinstance(node, str):
        # All inputs are weak (or bool): the result is weak, in the widest dtype of its kind among them.
        same_kind = [d for d, _ in operands if kind(d) == node[0]]
        dtype = max(same_kind, key=lambda d: d.itemsize) if same_kind else _WEAK_DTYPE[node]
        return (dtype if x64 else _X32.get(dtype, dtype)), True
    return (node if x64 else _X32.get(node, node)), False


def promote(operands: tuple[tuple[DType, bool], ...]) -> tuple[DType, bool]:
    """Promote ((dtype, weak_type), ...) to one (dtype, weak_type), x64 rule applied.

    Raises TypePromotionError where the lattice has no path.
    """
    return _promote(operands, _enable_x64.value, config.numpy_dtype_promotion.value == "strict")


def of_value(x: Any) -> tuple[DType, bool]:
    """(dtype, weak_type) of an array, tracer, scalar or dtype, x64 rule applied."""
    python = PYTHON_SCALARS.get(type(x))
    if python is not None:
        return canonicalize(python), python is not bool_
    aval = getattr(x, "aval", None)
    if aval is not None:
        return aval.dtype, aval.weak_type
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, (np.dtype, ExtendedDtype)):
        return canonicalize(dtype), bool(getattr(x, "weak_type", False))
    if isinstance(x, type) and x in PYTHON_SCALARS:  # the types int, float … are weak too
        return canonicalize(PYTHON_SCALARS[x]), x is not bool
    if isinstance(x, (np.dtype, ExtendedDtype, str, type)):
        return canonicalize(as_dtype(x)), False
    return canonicalize(np.asarray(x).dtype), False


def result_type(*args: Any, return_weak_type: bool = False) -> Any:
    """The dtype that JAX's promotion gives to `args` (arrays, scalars or dtypes)."""
    if not args:
        raise ValueError("result_type needs at least one array or dtype")
    dtype, weak = promote(tuple([of_value(a) for a in args]))
    return (canonicalize(dtype), weak) if return_weak_type else canonicalize(dtype)
