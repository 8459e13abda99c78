"""Named axes: which names of mapped axes are bound where a function runs, and how long those axes are.

The names live beside the traces, not in them: rules that users write run where their function's axes are bound, though
the trace that mapped the function may not be current. They are part of what a trace is kept by (`trace_context`), so
that a function is traced anew where other axes are bound.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from xtrace.core import config

#: Pairs (name, size), the innermost last.
_state = config.mapped_axes.state


class bind_axes:
    """Context manager that binds names to sizes, inside of those that are bound already."""

    __slots__ = ("pairs", "previous")

    def __init__(self, *pairs: tuple[Hashable, int]) -> None:
        self.pairs = pairs

    def __enter__(self) -> None:
        bound = _state.value
        # What says nothing new is left out, so that equal surroundings have equal keys.
        new = [p for p in self.pairs if _innermost(p[0], bound) != p[1]]
        self.previous = _state.swap_local((*bound, *new))

    def __exit__(self, *exc: Any) -> None:
        _state.swap_local(self.previous)


def bound_axes() -> tuple[tuple[Any, int], ...]:
    """The bound axes as pairs (name, size), the innermost last."""
    return _state.value


def axis_size(name: Any, asked_by: str) -> int:
    """The size of the innermost axis called `name`. Raises NameError, naming the function that asked, if none is."""
    size = _innermost(name, _state.value)
    if size is None:
        raise unbound_axis(name, asked_by)
    return size


def _innermost(name: Any, bound: tuple[tuple[Any, int], ...]) -> int | None:
    for other, size in reversed(bound):
        if other == name:
            return size
    return None


def axes_size(names: Sequence[Any], asked_by: str) -> int:
    """The number of elements along several named axes together."""
    return math.prod([axis_size(name, asked_by) for name in names])


def unbound_axis(name: Any, asked_by: str) -> NameError:
    """The error for an axis name that nothing has bound."""
    bound = ", ".join([repr(n) for n, _ in _state.value])
    there = f"bound here: {bound}" if bound else "no axis has a name here"
    return NameError(
        f"Found an unbound axis name: {name}. {asked_by} works inside a function that is mapped over an axis of that "
        f"name, as by vmap(f, axis_name={name!r}); {there}."
    )


def split_axes(axis: Any) -> tuple[tuple[Any, ...], Any]:
    """What an `axis` argument names of mapped axes, and the dimensions in it: `(("i",), (0,))` of `("i", 0)`."""
    if axis is None or type(axis) is int:
        return (), axis
    if isinstance(axis, (tuple, list)):
        names = tuple([a for a in axis if _is_name(a)])
        return (names, tuple([a for a in axis if not _is_name(a)])) if names else ((), axis)
    return ((axis,), ()) if _is_name(axis) else ((), axis)


def _is_name(a: Any) -> bool:
    if type(a) is int or type(a) is str:
        return type(a) is str
    return not hasattr(a, "__index__") and any([a is n or a == n for n, _ in _state.value])
