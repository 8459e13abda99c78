"""Named scopes: names that operations carry into jaxprs, lowered programs and profiles."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from xtrace.core.trace import current


class AnnotatedScope(str):
    """A name stack whose operations carry attributes for the compiler, `metadata`: pairs of strings."""

    metadata: tuple[tuple[str, str], ...]

    def __new__(cls, names: str, metadata: tuple[tuple[str, str], ...]) -> AnnotatedScope:
        made = super().__new__(cls, names)
        made.metadata = metadata
        return made


def metadata_of(scope: str) -> tuple[tuple[str, str], ...]:
    """What a name stack says to the compiler: nothing, unless it is annotated."""
    return () if type(scope) is str else scope.metadata  # type: ignore[attr-defined]


def nested(outer: str, inner: str) -> str:
    """The name stack of a scope in another; where both say something of one key, the inner one is right."""
    names = f"{outer}/{inner}" if outer and inner else outer or inner
    if type(outer) is str and type(inner) is str:
        return names
    return AnnotatedScope(names, tuple(sorted({**dict(metadata_of(outer)), **dict(metadata_of(inner))}.items())))


def outermost(scope: str) -> str:
    """The name stack with which a function called in `scope` begins: its names are its own."""
    return "" if type(scope) is str else AnnotatedScope("", metadata_of(scope))


class named_scope(contextlib.ContextDecorator):
    """Name the operations done in a `with` block, or in a decorated function; scopes nest.

    Args:
      name: what they are called, in `eqn.source_info.name_stack`, in locations of lowered programs and in profiles.

    Raises:
      TypeError: `name` is no string.

    >>> import xtrace as xt
    >>> def f(x):
    ...     with xt.named_scope("layer"):
    ...         return x + 1
    >>> str(xt.make_jaxpr(f)(1).eqns[0].source_info.name_stack)
    'layer'
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"named_scope name argument must be a string, got {name!r} of type {type(name)}.")
        self.name = name
        self._outer: list[str] = []

    def _recreate_cm(self) -> named_scope:  # each call of a decorated function has its own
        return named_scope(self.name)

    def __enter__(self) -> None:
        outer = current.name_stack
        self._outer.append(outer)
        current.name_stack = nested(outer, self.name)

    def __exit__(self, *exc: object) -> None:
        current.name_stack = self._outer.pop()


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """`fun`, with what it does named as by `named_scope`.

    Args:
      fun: a function.
      name: the scope; None: the function's name.

    >>> import xtrace as xt
    >>> @xt.named_call
    ... def attention(x):
    ...     return 2 * x
    >>> str(xt.make_jaxpr(attention)(1).eqns[0].source_info.name_stack)
    'attention'
    """
    scope = getattr(fun, "__name__", "<unnamed>") if name is None else name

    @functools.wraps(fun)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with named_scope(scope):
            return fun(*args, **kwargs)

    return wrapper


__all__ = ["named_call", "named_scope"]
