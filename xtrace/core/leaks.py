"""The flag check_tracer_leaks: traced values that somebody still holds when their trace ends, and who that is."""

from __future__ import annotations

import gc
import sys
import types
from typing import Any

from xtrace.core import errors, source
from xtrace.core.trace import Trace, Tracer

#: How many leaked values a message tells of, and how many steps of who refers to them.
_MAX_TOLD = 4
_MAX_STEPS = 6


def check(trace: Trace) -> None:
    """Raise LeakedTracerError if values of a trace that has ended are still referred to."""
    if not _tracers_of(trace):
        return
    gc.collect()  # some may wait in reference cycles
    leaked = _tracers_of(trace)
    if leaked:
        raise errors.LeakedTracerError(_message(trace, leaked))


def _tracers_of(trace: Trace) -> list[Tracer]:
    return [r for r in gc.get_referrers(trace) if isinstance(r, Tracer) and r._trace is trace]


def _message(trace: Trace, leaked: list[Tracer]) -> str:
    lines = [f"Leaked trace {type(trace).__name__}. Leaked tracer(s):"]
    history = getattr(trace, "history", None)
    told = leaked[:_MAX_TOLD]
    ours = {id(leaked), id(told)}
    for tracer in told:
        lines += ["", f"{tracer!r}, of type {tracer.aval.str_short()}"]
        if history is not None:
            lines += history(tracer)
        lines += [f"  {line}" for line in _referrers(tracer, ours)]
    if len(leaked) > _MAX_TOLD:
        lines.append(f"... and {len(leaked) - _MAX_TOLD} more")
    lines += ["", "Instead: return the values from the traced function, and keep the results."]
    return "\n".join(lines)


def _referrers(x: Any, ours: set[int]) -> list[str]:
    """Who refers to `x`, who refers to that, and so on, up to something that has a name."""
    lines: list[str] = []
    seen = {id(x)}
    lists: list[Any] = []  # what is collected here stays alive, so that its ids stay its own
    for _ in range(_MAX_STEPS):
        local = _local_variable(x)
        found = None
        referrers = gc.get_referrers(x)
        ours |= {id(referrers), id(lists)}
        lists.append(referrers)
        hidden = ours | seen
        for r in referrers:
            if id(r) in hidden or isinstance(r, (types.FrameType, Trace)) or _is_own(r):
                continue
            told = _relation(r, x)
            if told is not None and (found is None or not isinstance(r, Tracer)):
                found = (r, told)
                if not isinstance(r, Tracer):
                    break
        if found is None:
            return [*lines, f"{_name(x)} is {local}"] if local else lines
        r, told = found
        lines.append(f"{_name(x)} is {told}" + (f", and {local}" if local else ""))
        if isinstance(r, types.ModuleType) or told.startswith("the global"):
            return lines
        seen.add(id(r))
        x = r
    return lines


def _is_own(r: Any) -> bool:
    """Whether this is what the garbage collector or this module holds while looking."""
    return type(r).__name__ in ("list_iterator", "tuple_iterator", "builtin_function_or_method")


def _local_variable(x: Any) -> str | None:
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not source.is_own_file.get(code.co_filename, "xtrace" in frame.f_globals.get("__name__", "").split(".")):
            for name, value in frame.f_locals.items():
                if value is x and frame.f_locals is not frame.f_globals:
                    where = f"{code.co_name} ({code.co_filename}:{frame.f_lineno})"
                    return f"the local variable {name!r} of the frame {where}"
        frame = frame.f_back
    return None


def _name(x: Any) -> str:
    if isinstance(x, types.FunctionType):
        return f"the function {x.__qualname__}"
    kind = type(x).__name__
    return f"the {kind} {id(x)}"


def _relation(r: Any, x: Any) -> str | None:
    """What `x` is to `r`, which refers to it."""
    if isinstance(r, dict):
        key = next((k for k, v in r.items() if v is x), None)
        if key is None:
            return None
        module = r.get("__name__")
        if isinstance(module, str) and r is getattr(sys.modules.get(module), "__dict__", None):
            return f"the global {module}.{key}"
        return f"[{key!r}] of a dict"
    if isinstance(r, (list, tuple)):
        index = next((i for i, v in enumerate(r) if v is x), None)
        return None if index is None else f"element {index} of a {type(r).__name__}"
    if isinstance(r, types.CellType):
        for f in gc.get_referrers(r):
            if isinstance(f, tuple):
                for g in gc.get_referrers(f):
                    if isinstance(g, types.FunctionType) and g.__closure__ is f:
                        name = g.__code__.co_freevars[f.index(r)]
                        return f"the variable {name!r} that the function {g.__qualname__} closes over"
        return "in a variable of a function that others close over"
    if isinstance(r, types.FunctionType):
        return f"held by the function {r.__qualname__}"
    for name in _slots(type(r)):
        if getattr(r, name, None) is x:
            return f"the attribute {name!r} of a {type(r).__name__}"
    attributes = getattr(r, "__dict__", None)
    if isinstance(attributes, dict):
        found = next((k for k, v in attributes.items() if v is x), None)
        if found is not None:
            return f"the attribute {found!r} of a {type(r).__name__}"
    return f"held by a {type(r).__name__}"


def _slots(kind: type) -> list[str]:
    names: list[str] = []
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    return names
