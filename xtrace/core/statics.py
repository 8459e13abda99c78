"""Arguments that must be Python values: integers, flags, functions. What isn't one is told by function and argument.

The checks cost nothing beside the conversion where the value is right; the name of the function that the user called is
read from the stack, and only on the way to an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from operator import index
from types import FrameType
from typing import Any, NoReturn

from xtrace.core import source

#: Modules whose frames are between the user's call and the function that was called: they compile, trace and map.
_MACHINERY = ("xtrace.core.", "xtrace.api.", "xtrace.transforms.", "xtrace.runtime.")


def _named(frame: FrameType) -> str:
    """The public name of the function of `frame`, "" if it has none (an operator, a function made by another)."""
    code, variables = frame.f_code, frame.f_locals
    if frame.f_globals.get("__name__", "").endswith("core.composite"):
        return getattr(variables.get("fun"), "__name__", "").lstrip("_")
    if "<locals>" in code.co_qualname:
        return next((v for v in (variables.get("name"), variables.get("what")) if isinstance(v, str)), "")
    return "" if code.co_name.startswith("__") else code.co_name.lstrip("_")


def asked(otherwise: str = "the function") -> str:
    """The name of the library's function that the user called, which is still running."""
    frame: FrameType | None = sys._getframe(1)
    found = machinery = ""
    while frame is not None and source.is_own(frame.f_code.co_filename):
        module = frame.f_globals.get("__name__", "") + "."
        if module.endswith("core.composite.") or not module.startswith(_MACHINERY):
            found = _named(frame)
        elif otherwise:
            machinery = _named(frame) or machinery
        frame = frame.f_back
    return found or machinery or otherwise


def told(message: str, separator: str = ": ") -> str:
    """`message` behind the name of the function that the user called, unless it is in it."""
    name = asked("")
    return f"{name}{separator}{message}" if name and name not in message else message


def shown(value: Any) -> str:
    """A value as messages tell it: arrays by shape and dtype, others by what they look like and their type."""
    aval = getattr(value, "aval", None)
    if aval is not None:
        return f"{'a traced' if _is_traced(value) else 'an'} array of type {aval.str_short()}"
    if getattr(value, "ndim", 0):
        return f"a numpy array of shape {value.shape} and dtype {value.dtype}"
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} of type {type(value).__name__}"


def _is_traced(value: Any) -> bool:
    """Whether `value` is an array that has no value yet."""
    concrete = getattr(value, "to_concrete_value", None)
    return concrete is not None and concrete() is None


def refuse(name: str, value: Any, wanted: str, because: str = "") -> NoReturn:
    """Raise the error for `value`, given for the argument `name` where `wanted` (with its article) is taken."""
    from xtrace.core import errors  # only on the way to an error

    what = f"{asked()} takes {wanted} as its argument `{name}`"
    parts = value if isinstance(value, (tuple, list)) else (value,)
    tracer = next((v for v in parts if _is_traced(v)), None)
    if tracer is not None:
        raise errors.StaticArgumentError(tracer, what)
    raise errors.ArgumentError(f"{what}, got {shown(value)}{because}.")


def integer(value: Any, name: str) -> int:
    """`value` as a Python int."""
    if type(value) is int:
        return value
    try:
        return index(value)
    except TypeError:
        pass
    refuse(name, value, "an integer", ", which cannot be interpreted as an integer")


def natural(value: Any, name: str) -> int:
    """An integer of at least 0, such as a size."""
    found = integer(value, name)
    if found < 0:
        raise ValueError(f"{asked()} takes an integer that isn't negative as its argument `{name}`, got {found}.")
    return found


def positive(value: Any, name: str) -> int:
    """`value` as a Python int of at least 1."""
    found = integer(value, name)
    if found < 1:
        raise ValueError(f"{asked()} takes a positive integer as its argument `{name}`, got {found}.")
    return found


def integers(values: Iterable[Any], name: str) -> tuple[int, ...]:
    """A sequence of integers as a tuple of Python ints."""
    try:
        return tuple([v if type(v) is int else index(v) for v in values])
    except TypeError:
        pass
    refuse(name, values, "a sequence of integers", ", which cannot be interpreted as an integer each")


def number(value: Any, name: str) -> Any:
    """`value`, a real number known while tracing, as it is."""
    if isinstance(value, (int, float)):
        return value
    try:
        float(value)
    except (TypeError, ValueError):
        pass
    else:
        if not isinstance(value, str) and not getattr(value, "ndim", 0):
            return value
    refuse(name, value, "a number")


def parts(values: Any, name: str, wanted: str) -> tuple[Any, ...]:
    """`values`, a sequence, as a tuple; `wanted` says of what."""
    if type(values) is tuple:
        return values
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__") or getattr(values, "ndim", 1) == 0:
        refuse(name, values, wanted)
    return tuple(values)


def option(value: Any, name: str, allowed: Iterable[Any]) -> Any:
    """`value`, one of those that are allowed. Raises ValueError for another of their kind."""
    known = tuple(allowed)
    if getattr(value, "shape", None) is None and value in known:
        return value
    listed = ", ".join(map(repr, known))
    if isinstance(value, str):
        raise ValueError(f"{asked()}: invalid argument {name}={value!r}, expected one of {listed}")
    refuse(name, value, f"one of {listed}")


def pairs(numbers: Any, name: str) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Dimension numbers of a product, ((lhs, rhs) contracting, (lhs, rhs) batch), as tuples of ints."""
    try:
        (lhs, rhs), (lhs_batch, rhs_batch) = numbers
        batch = tuple(map(index, lhs_batch)), tuple(map(index, rhs_batch))
        return (tuple(map(index, lhs)), tuple(map(index, rhs))), batch
    except (TypeError, ValueError):
        pass
    refuse(name, numbers, "((lhs, rhs) contracting, (lhs, rhs) batch), four sequences of dimensions,")


def flag(value: Any, name: str) -> bool:
    """`value`, True or False, as a bool; containers and arrays of several elements are no flags."""
    if value is True or value is False:
        return value
    if isinstance(value, (list, dict, set)) or getattr(value, "shape", ()) != () or _is_traced(value):
        refuse(name, value, "True or False")
    return bool(value)


def check_callable(what: str, fun: Any) -> None:
    """Raise TypeError unless `fun` can be called; `what` names it."""
    if not callable(fun):
        raise TypeError(f"{what} should be a callable, got {fun!r} of type {type(fun)}.")


def check_instance(value: Any, kind: type | tuple[type, ...], name: str, wanted: str) -> None:
    """Raise ArgumentError unless the argument `name` is an instance of `kind`; `wanted` says what that is."""
    if not isinstance(value, kind):
        refuse(name, value, wanted)
