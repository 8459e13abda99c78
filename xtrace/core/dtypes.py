"""Dtypes: the x64 rule, the promotion lattice with weak types, and extended dtypes (random keys).

The lattice is JAX's documented one: Python scalars are weak (`i*`, `f*`, `c*`) and yield to arrays,
`int + float32` stays float32, float8 and int4 types never promote by themselves.
"""

from __future__ import annotations

import functools
from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from xtrace.core import config


class TypePromotionError(ValueError):
    """No implicit promotion path exists between the given dtypes."""


class ExtendedPromotionError(TypePromotionError, TypeError):
    """A random key meets a number: no operation takes the two."""


class ExtendedDtype:
    """A dtype that numpy doesn't know, stored as an array of another dtype with trailing dimensions.

    Subclasses set `name`, `physical_dtype` and `physical_shape` (the trailing dimensions of one element).
    """

    name: str
    physical_dtype: np.dtype
    physical_shape: tuple[int, ...]
    itemsize: int
    kind = "X"

    scalar_type: type

    @property
    def type(self) -> Any:
        return self.scalar_type

    def __repr__(self) -> str:
        return self.name


#: Extended dtypes by name, entered where they are made.
extended_by_name: dict[str, ExtendedDtype] = {}


class extended(np.generic):
    """Scalar-type category of dtypes that numpy doesn't know."""


class prng_key(extended):
    """Scalar-type category of random keys."""


class TokenDtype(ExtendedDtype):
    """The dtype of ordering tokens, which hold nothing."""

    name = "token"
    physical_shape = (0,)
    physical_dtype = np.dtype(bool)
    itemsize = 0
    scalar_type = extended
    #: Plugged in by lax.tokens: the concrete token of a buffer, and back.
    wrap: Any
    unwrap: Any

    def __reduce__(self) -> str:
        return "token"


token = TokenDtype()

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
_NARROW_INTS = ("int1", "uint1", "int2", "uint2", "int4", "uint4")
_NARROW_FLOATS = tuple(
    name
    for name in (
        "float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e8m0fnu float8_e4m3b11fnuz "
        "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz"
    ).split()
    if hasattr(ml_dtypes, name)
)

#: ml_dtypes' types by name: numpy reports them as kind "V" (or a lucky guess), so we keep our own table.
_ML_KINDS: dict[np.dtype, str] = {np.dtype(getattr(ml_dtypes, n)): "f" for n in (*_NARROW_FLOATS, "bfloat16")}
_ML_KINDS |= {
    np.dtype(getattr(ml_dtypes, n)): ("u" if n[0] == "u" else "i") for n in _NARROW_INTS if hasattr(ml_dtypes, n)
}

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
    elif _name.startswith(("float8", "float6", "float4")):
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
    """The dtype that `spec` (dtype, scalar type, name, Python type, ExtendedDtype) names, x64 rule not applied."""
    if isinstance(spec, (np.dtype, ExtendedDtype)):
        return spec
    if isinstance(spec, str):
        found = _BY_NAME.get(spec)
        if found is not None:
            return found
    dtype = getattr(spec, "dtype", None)
    if isinstance(dtype, (np.dtype, ExtendedDtype)):  # jnp.float32 and friends carry their dtype
        if hasattr(spec, "aval") or isinstance(spec, np.ndarray):
            _refuse(spec, " An array is no dtype: write x.dtype.")
        return dtype
    try:
        return np.dtype(spec)
    except TypeError:
        pass
    _refuse(spec)


def _told(message: str) -> str:
    from xtrace.core import statics  # only on the way to an error

    return statics.told(message)


def _refuse(spec: Any, advice: str = "") -> NoReturn:
    from xtrace.core import errors, statics  # only on the way to an error

    raise errors.ArgumentError(
        f"{statics.asked()} takes a dtype, such as 'float32' or numpy.float32; got {statics.shown(spec)}, "
        f"which is not one.{advice}"
    )


def canonical_dtype(spec: Any) -> DType:
    """`as_dtype`, then `canonicalize`."""
    dtype = as_dtype(spec)
    if dtype.kind in "OSUMmT":
        _refuse(spec, " Arrays hold numbers and booleans.")
    return canonicalize(dtype)


def is_extended(dtype: DType) -> bool:
    """Whether `dtype` is a type of ours, such as that of random keys, that NumPy has no values of."""
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
    """Whether `dtype` is floating or complex, the small float types included."""
    return kind(dtype) in "fc"


def is_floating(dtype: DType) -> bool:
    """Whether `dtype` is a real floating type, the small ones included."""
    return kind(dtype) == "f"


def is_complex(dtype: DType) -> bool:
    """Whether `dtype` is a complex type."""
    return kind(dtype) == "c"


def is_integer(dtype: DType) -> bool:
    """Whether `dtype` is an integer type, signed or unsigned; booleans are none."""
    return kind(dtype) in "iu"


def is_bool(dtype: DType) -> bool:
    """Whether `dtype` is that of booleans."""
    return kind(dtype) == "b"


_CATEGORY_OF_KIND: dict[str, type] = {"f": np.floating, "i": np.signedinteger, "u": np.unsignedinteger}
#: The numpy category of ml_dtypes' scalar types, which derive from np.generic only.
_ML_CATEGORY: dict[type, type] = {d.type: _CATEGORY_OF_KIND[k] for d, k in _ML_KINDS.items()}


def issubdtype(a: Any, b: Any) -> bool:
    """Whether `a` is in category `b`; like numpy.issubdtype, and right for ml_dtypes and extended dtypes."""
    if isinstance(b, ExtendedDtype):
        return bool(a == b)
    if not (isinstance(a, type) and issubclass(a, np.generic)):
        a = as_dtype(a).type
    if not (isinstance(b, type) and issubclass(b, np.generic)):
        b = as_dtype(b).type
    return issubclass(a, b) or issubclass(_ML_CATEGORY.get(a, a), b)


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


def itemsize_bits(dtype: Any) -> int:
    """Bits that one element of a dtype takes when packed: 4 for int4; 8 for bool."""
    if dtype is None:
        raise ValueError("itemsize_bits: dtype cannot be None")
    dtype = as_dtype(dtype)
    letter = kind(dtype)
    if letter in "iu":
        return ml_dtypes.iinfo(dtype).bits
    if letter == "f":
        return ml_dtypes.finfo(dtype).bits
    if letter in "bc":
        return 8 * dtype.itemsize
    raise ValueError(f"itemsize_bits needs a dtype of numbers or booleans, got {dtype}")


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

_WEAK_NODE = {"b": bool_, "i": "i*", "u": "i*", "f": "f*", "c": "c*"}
_WEAK_DTYPE = {"i*": int64, "f*": float64, "c*": complex128}
_WEAK_LABEL = {"i*": "Python int", "f*": "Python float", "c*": "Python complex"}
_CHAINS = (
    "bool i* uint8 uint16 uint32 uint64 f* c* complex64 complex128",
    "i* int8 int16 int32 int64 f* bfloat16 float32 complex64",
    "uint8 int16 int32 int64",
    "uint16 int32",
    "uint32 int64",
    "f* float16 float32 float64 complex128",
)


def _climb(edges: dict[Any, list[Any]]) -> dict[Any, frozenset[Any]]:
    """The nodes reachable from each node, itself among them."""
    above: dict[Any, frozenset[Any]] = {}

    def visit(node: Any) -> frozenset[Any]:
        if node not in above:
            above[node] = frozenset([node]).union(*[visit(wider) for wider in edges[node]])
        return above[node]

    for node in edges:
        visit(node)
    return above


def _build_lattices() -> tuple[dict[Any, frozenset[Any]], dict[Any, frozenset[Any]]]:
    """The standard and the strict lattice; in the strict one only the weak categories have anything above them."""
    standard: dict[Any, list[Any]] = {node: [] for node in (*_BY_NAME.values(), *_WEAK_DTYPE)}
    for chain in _CHAINS:
        nodes = [_BY_NAME.get(name, name) for name in chain.split()]
        for node, wider in zip(nodes, nodes[1:], strict=False):
            standard[node].append(wider)
    # From these there is no way up, so that a narrow value never becomes a wide one unasked.
    standard["i*"] += [_BY_NAME[name] for name in _NARROW_INTS if name in _BY_NAME]
    standard["f*"] += [_BY_NAME[name] for name in _NARROW_FLOATS]
    strict: dict[Any, list[Any]] = {node: [] for node in standard}
    strict["i*"] = ["f*", *[d for d in _BY_NAME.values() if is_integer(d)]]
    strict["f*"] = ["c*", *[d for d in _BY_NAME.values() if is_floating(d)]]
    strict["c*"] = [d for d in _BY_NAME.values() if is_complex(d)]
    return _climb(standard), _climb(strict)


_ABOVE, _ABOVE_STRICT = _build_lattices()


def _label(node: Any) -> str:
    return _WEAK_LABEL[node] if isinstance(node, str) else str(node)


@functools.cache
def _least_upper_bound(nodes: frozenset[Any], strict: bool) -> Any:
    above = _ABOVE_STRICT if strict else _ABOVE
    common = frozenset.intersection(*[above[n] for n in nodes])
    for node in common:
        if common <= above[node]:
            return node
    names = ", ".join(sorted(map(_label, nodes)))
    narrow = sorted(map(str, nodes.intersection(_NARROW)))
    if strict and not narrow:
        reason = (
            "numpy_dtype_promotion is 'strict', which promotes Python scalars only: cast with .astype(), "
            "or allow the promotion with config.update('numpy_dtype_promotion', 'standard')."
        )
    elif narrow:
        small = [_small(n) for n in nodes if n in _NARROW]
        reason = (
            f"{' and '.join(sorted(set(small)))} do not support implicit promotion. "
            f"Cast {' and '.join(narrow)} with .astype()."
        )
    else:
        reason = "Cast with .astype()."
    raise TypePromotionError(f"No implicit promotion of dtypes {names}: {reason}")


def _small(dtype: DType) -> str:
    """What a type that is never promoted is called in messages."""
    return f"{dtype.name[len('float')]}-bit floats" if is_floating(dtype) else "1-bit, 2-bit and 4-bit integers"


_NARROW = frozenset([_BY_NAME[name] for name in (*_NARROW_INTS, *_NARROW_FLOATS) if name in _BY_NAME])


def _node(dtype: DType, weak: bool) -> Any:
    if dtype not in _ABOVE:
        message = f"dtype {dtype} takes no part in promotion: it mixes with nothing but itself"
        raise ExtendedPromotionError(_told(message))
    return _WEAK_NODE[kind(dtype)] if weak else dtype


@functools.cache
def _promote(operands: tuple[tuple[DType, bool], ...], x64: bool, strict: bool) -> tuple[DType, bool]:
    dtypes = {d for d, _ in operands}
    all_weak = all([w for _, w in operands])
    if len(dtypes) == 1 and not (strict and all_weak):
        (dtype,) = dtypes
        return dtype, all_weak and dtype != bool_
    if all_weak and not strict:
        # By their dtypes, not their categories: two weak int16 stay int16, and bfloat16 with float16 is float32.
        node = _least_upper_bound(frozenset([_node(d, False) for d in dtypes]), False)
    else:
        node = _least_upper_bound(frozenset([_node(d, w) for d, w in operands]), strict)
    weak = (all_weak and node != bool_) or isinstance(node, str)
    dtype = _WEAK_DTYPE.get(node, node)
    return (dtype if x64 else _X32.get(dtype, dtype)), weak


def promote(operands: tuple[tuple[DType, bool], ...]) -> tuple[DType, bool]:
    """Promote ((dtype, weak_type), ...) to one (dtype, weak_type), x64 rule applied.

    Raises TypePromotionError where the lattice has no path.
    """
    return _promote(operands, _enable_x64.value, config.numpy_dtype_promotion.value == "strict")


def of_value(x: Any) -> tuple[DType, bool]:
    """(dtype, weak_type) of an array, tracer, scalar or dtype, x64 rule applied.

    Raises TypeError for what is none of these, and for dtypes that arrays can't have (strings, objects, dates).
    """
    python = PYTHON_SCALARS.get(type(x))
    if python is not None:
        return canonicalize(python), python is not bool_
    aval = getattr(x, "aval", None)
    if aval is not None:
        return aval.dtype, aval.weak_type
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, (np.dtype, ExtendedDtype)):
        return canonicalize(_numeric(dtype, x)), bool(getattr(x, "weak_type", False))
    if isinstance(x, type) and x in PYTHON_SCALARS:  # the types int, float … are weak too
        return canonicalize(PYTHON_SCALARS[x]), x is not bool
    if x is None or isinstance(x, (np.dtype, ExtendedDtype, str, type)):  # None is numpy's name of its default, float
        return canonicalize(_numeric(as_dtype(x), x)), False
    convert = getattr(x, "__jax_array__", None)
    if convert is not None:
        return of_value(convert())
    raise TypeError(_told(f"expected an array, a number or a dtype; got {x!r} of type {type(x).__name__}"))


def _numeric(dtype: DType, x: Any) -> DType:
    if dtype not in _ABOVE and dtype != float0 and not isinstance(dtype, ExtendedDtype):
        raise TypeError(_told(f"arrays hold numbers, booleans or random keys; got {x!r} of dtype {dtype}"))
    return dtype


def result_type(*args: Any, return_weak_type: bool = False) -> Any:
    """The dtype that JAX's promotion gives to `args` (arrays, scalars or dtypes).

    A weak result is the default dtype of its kind, whatever the widths of the arguments. (`promote`, which operations
    use, keeps the widths.)
    """
    if not args:
        raise ValueError("result_type needs at least one array or dtype")
    operands = tuple([of_value(a) for a in args])
    dtype, weak = operands[0] if len(operands) == 1 else promote(operands)  # one alone keeps its kind
    if weak:
        dtype = _DEFAULT[kind(dtype)]
    dtype = canonicalize(dtype)
    return (dtype, weak) if return_weak_type else dtype


_DEFAULT = {"i": int64, "u": np.dtype("uint64"), "f": float64, "c": complex128}
