"""Composite functions: several operations that run as one compiled program when nothing is being traced.

Under a trace they are plain Python and simply inline: no nested jit, nothing to look up.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xtrace.core import source, statics
from xtrace.core.trace import current

F = TypeVar("F", bound=Callable[..., Any])

_jit: Callable[..., Any] | None = None


def set_jit(jit: Callable[..., Any]) -> None:
    """Plug in what compiles a function (xtrace/__init__.py)."""
    global _jit
    _jit = jit


def compiled(fun: Callable[..., Any], static_argnames: Sequence[str] = ()) -> Callable[..., Any]:
    """`fun` compiled, for calls outside any trace. Made once per function by the caller."""
    assert _jit is not None, "no runtime is plugged in"
    return _jit(fun, static_argnames=tuple(static_argnames) or None)


def _hashable_options(
    fun: Callable[..., Any], static_argnames: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> inspect.BoundArguments | None:
    """The arguments with tuples in place of lists as options, such as `axis=[0, 1]`, and numbers in place of arrays.

    None if there are no such options.

    Looked for only where a call has failed: it is rare, and would cost every call.
    """
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
    except TypeError:
        return None
    changed = False
    for name in static_argnames:
        value = bound.arguments.get(name)
        if type(value) is list:
            bound.arguments[name], changed = tuple(value), True
        elif getattr(value, "shape", None) == () and hasattr(value, "item"):
            bound.arguments[name], changed = value.item(), True  # type: ignore[union-attr]
        else:
            try:
                hash(value)
            except TypeError:
                statics.refuse(name, value, "an option that can be hashed (a number, a string, a tuple)")
    return bound if changed else None


def composite(fun: F | None = None, /, *, static_argnames: Sequence[str] = ()) -> Any:
    """Decorator: outside any trace, run the function as one compiled program; inside, as plain Python.

    static_argnames: arguments that are Python values (axes, dtypes, flags); they must be hashable.
    """
    if fun is None:
        return functools.partial(composite, static_argnames=static_argnames)
    run: Callable[..., Any] | None = None
    kept: dict[Any, Any] = {}  # what staging traces know of it

    @functools.wraps(fun)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        nonlocal run
        trace = current.trace
        if trace is not None:
            if current.position is not None:
                return trace.inline(kept, fun, args, kwargs)
            # All operations have the caller's line: it is searched once.
            current.position = source.here(2)
            try:
                return trace.inline(kept, fun, args, kwargs)
            finally:
                current.position = None
        if run is None:
            run = compiled(fun, static_argnames)
        try:
            return run(*args, **kwargs)
        except ValueError:
            options = _hashable_options(fun, static_argnames, args, kwargs)
            if options is None:
                raise
        return run(*options.args, **options.kwargs)

    return wrapper
