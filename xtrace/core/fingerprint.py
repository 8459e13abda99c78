"""Fingerprints: a hash of a jaxpr by value, the same in every process and on every machine.

Two jaxprs with the same fingerprint are lowered to the same program. That can be promised only where everything that
lowering may read is known by value: our own primitives with our own lowering rules, and parameters that are numbers,
strings, dtypes, avals, jaxprs, or containers of those. Anything else (a function, an object of the user's, an effect)
raises NoFingerprint: such a program is recognised by its module instead, after lowering.
"""

from __future__ import annotations

import enum
import hashlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import AbstractToken, ShapedArray
from xtrace.core.jaxpr import Jaxpr, Literal
from xtrace.core.primitive import Primitive
from xtrace.core.scopes import metadata_of

_OURS = "xtrace."


class NoFingerprint(Exception):
    """A program holds something that can't be told by its value."""


def fingerprint(jaxpr: Jaxpr, *context: Any) -> str:
    """Hash of a jaxpr (without its consts) and of plain values beside it, as 64 hexadecimal digits.

    Raises NoFingerprint where something in it is not known by value.
    """
    encoder = _Encoder()
    encoder.jaxpr(jaxpr)
    for value in context:
        encoder.value(value)
    return hashlib.blake2b("\n".join(encoder.parts).encode(), digest_size=32).hexdigest()


class _Encoder:
    """Writes values as text, each in a form that no other value has."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.jaxprs: dict[int, int] = {}
        self.primitives: dict[int, str] = {}

    def jaxpr(self, jaxpr: Jaxpr) -> None:
        """A jaxpr met again is written as its number: lowering makes one function of it."""
        number = self.jaxprs.get(id(jaxpr))
        if number is not None:
            self.parts.append(f"again {number}")
            return
        self.jaxprs[id(jaxpr)] = len(self.jaxprs)
        if jaxpr.effects:
            raise NoFingerprint(f"effects {', '.join(sorted(map(str, jaxpr.effects)))}")
        numbers: dict[Any, int] = {}
        parts = self.parts
        inputs = jaxpr.all_invars
        for v in inputs:
            numbers[v] = len(numbers)
        parts.append(f"jaxpr {len(jaxpr.constvars)} {len(jaxpr.invars)} {' '.join([_aval(v.aval) for v in inputs])}")
        for eqn in jaxpr.eqns:
            if type(eqn.name_stack) is not str:
                parts.append(f"metadata {metadata_of(eqn.name_stack)}")
            name = self.primitives.get(id(eqn.primitive))
            if name is None:
                name = self.primitives[id(eqn.primitive)] = _primitive_name(eqn.primitive)
            operands = [_literal(v) if type(v) is Literal else f"{numbers[v]}" for v in eqn.invars]
            for v in eqn.outvars:
                numbers[v] = len(numbers)
            parts.append(f"{name} {' '.join(operands)} = {' '.join([_aval(v.aval) for v in eqn.outvars])}")
            if eqn.params:
                unread = eqn.primitive.params_not_lowered
                for key, value in eqn.params.items():
                    if key not in unread:
                        parts.append(key)
                        self.value(value)
        parts.append("out " + " ".join([_literal(v) if type(v) is Literal else f"{numbers[v]}" for v in jaxpr.outvars]))

    def value(self, x: Any) -> None:
        write = _WRITERS.get(type(x))
        if write is not None:
            self.parts.append(write(x))
        elif isinstance(x, Jaxpr):
            self.jaxpr(x)
        elif type(x) in (tuple, list):
            self.sequence(type(x).__name__, x)
        elif type(x) is dict:
            self.parts.append(f"dict {len(x)}")
            for k, v in x.items():
                self.value(k)
                self.value(v)
        elif type(x) in (frozenset, set):
            self.parts.append("set " + " ".join(sorted([_alone(v) for v in x])))
        elif isinstance(x, np.dtype):
            self.parts.append(f"dtype {_dtype(x)}")
        elif isinstance(x, np.generic):
            self.parts.append(f"scalar {_dtype(x.dtype)} {x.tobytes().hex()}")
        elif type(x) is np.ndarray:
            self.parts.append(f"array {_dtype(x.dtype)} {x.shape} {hashlib.blake2b(_bytes(x)).hexdigest()}")
        elif isinstance(x, enum.Enum):
            if not _is_ours(type(x)):
                raise NoFingerprint(_described(x))
            self.parts.append(f"enum {type(x).__qualname__} {x.name}")
        elif isinstance(x, ShapedArray):
            self.parts.append(_aval(x))
        elif isinstance(x, dtypes.ExtendedDtype):
            self.parts.append(f"dtype {_dtype(x)}")
        elif isinstance(x, type):
            if not (_is_ours(x) or x.__module__ in ("builtins", "numpy", "ml_dtypes")):
                raise NoFingerprint(_described(x))
            self.parts.append(f"type {x.__module__}.{x.__qualname__}")
        elif _is_ours(type(x)):
            self.fields(x)
        else:
            raise NoFingerprint(_described(x))

    def sequence(self, kind: str, values: Sequence[Any]) -> None:
        self.parts.append(f"{kind} {len(values)}")
        for v in values:
            self.value(v)

    def fields(self, x: Any) -> None:
        """A record of ours: a named tuple, a dataclass, or a class whose slots are its fields."""
        kind = type(x)
        if isinstance(x, tuple) and hasattr(kind, "_fields"):
            self.sequence(kind.__qualname__, x)
            return
        names = getattr(kind, "__dataclass_fields__", None)
        if names is None and getattr(kind, "fingerprint_fields", None) is not None:
            names = kind.fingerprint_fields
        if names is None:
            raise NoFingerprint(_described(x))
        self.sequence(kind.__qualname__, [getattr(x, n) for n in names])


def _alone(x: Any) -> str:
    encoder = _Encoder()
    encoder.value(x)
    return repr(encoder.parts)


def _float(x: float) -> str:
    return f"float {x.hex()}" if x == x else f"float nan {np.float64(x).tobytes().hex()}"


_WRITERS: dict[type, Callable[[Any], str]] = {
    type(None): repr,
    bool: repr,
    int: repr,
    str: repr,  # quotes included: no string looks like another value
    bytes: repr,
    float: _float,
    complex: lambda x: f"complex {_float(x.real)} {_float(x.imag)}",
    slice: repr,
    type(...): repr,
}


def _dtype(dtype: Any) -> str:
    if isinstance(dtype, dtypes.ExtendedDtype):
        if not _is_ours(type(dtype)):
            raise NoFingerprint(f"dtype {dtype}")
        return f"{dtype.name} {dtype.physical_shape} {dtype.physical_dtype}"
    if dtype.names is not None and dtype != dtypes.float0:
        raise NoFingerprint(f"dtype {dtype}")
    return "float0" if dtype == dtypes.float0 else dtype.name


_avals: dict[Any, str] = {}


def _aval(aval: Any) -> str:
    text = _avals.get(aval)
    if text is None:
        if isinstance(aval, AbstractToken):
            text = "token"
        elif type(aval) is ShapedArray:
            shape = ",".join(map(str, aval.shape))
            text = f"{_dtype(aval.dtype)}[{shape}]{'~' if aval.weak_type else ''}".replace(" ", "")
            if aval.sharding is not None:
                raise NoFingerprint(f"sharding {aval.sharding}")
        else:
            raise NoFingerprint(_described(aval))
        if len(_avals) > 10_000:
            _avals.clear()
        _avals[aval] = text
    return text


def _literal(v: Literal) -> str:
    value = np.asarray(v.val)
    return f"'{_aval(v.aval)}:{_dtype(value.dtype)}:{value.tobytes().hex()}'"


def _bytes(x: np.ndarray) -> bytes:
    if x.dtype.hasobject:
        raise NoFingerprint("an array of objects")
    return np.ascontiguousarray(x).tobytes()


def _described(x: Any) -> str:
    return f"{x!r:.80} of type {type(x).__module__}.{type(x).__qualname__}"


def _is_ours(kind: type) -> bool:
    """Whether a class is one of xtrace's modules, not a user's subclass of one."""
    if not kind.__module__.startswith(_OURS):
        return False
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind


#: Our own primitives: those that are attributes of our modules.
_own_primitives: dict[int, str] = {}
_searched: set[str] = set()


def _search() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith(_OURS) and name not in _searched:
            _searched.add(name)
            for attribute, value in list(vars(module).items()):
                if isinstance(value, Primitive) and attribute.endswith("_p"):
                    _own_primitives[id(value)] = value.name


def _primitive_name(primitive: Primitive) -> str:
    """The name of a primitive that is ours and lowered by our rules."""
    if id(primitive) not in _own_primitives:
        _search()
    if id(primitive) not in _own_primitives:
        raise NoFingerprint(f"the primitive {primitive.name}, which is not one of xtrace's")
    for rule in (primitive.lower, *(primitive.lower_on or {}).values()):
        if rule is not None and not getattr(rule, "__module__", "").startswith("xtrace.lowering."):
            raise NoFingerprint(f"the lowering rule of {primitive.name}, which is not one of xtrace's")
    return primitive.name


__all__ = ["NoFingerprint", "fingerprint"]
