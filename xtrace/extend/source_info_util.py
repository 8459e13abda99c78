"""Where operations come from: the user's line, and the scopes around it (jax.extend.source_info_util)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from xtrace.core import source
from xtrace.core.scopes import named_scope as extend_name_stack
from xtrace.core.source import SourceInfo
from xtrace.core.source import exclude as register_exclusion
from xtrace.core.trace import current as _current


class NameStack:
    """Names of scopes, the outermost first.

    Args:
      stack: the names.

    >>> from xtrace.extend.source_info_util import NameStack
    >>> str(NameStack().extend("model").extend("layer") + NameStack(("attention",)))
    'model/layer/attention'
    """

    __slots__ = ("stack",)

    def __init__(self, stack: Any = ()) -> None:
        self.stack: tuple[str, ...] = tuple(stack)

    def extend(self, name: str) -> NameStack:
        """These names, and one more inside."""
        return NameStack((*self.stack, name))

    def transform(self, name: str) -> NameStack:
        """These names, and that of a transformation inside, with parentheses."""
        return self.extend(f"{name}()")

    def __add__(self, other: NameStack) -> NameStack:
        return NameStack(self.stack + other.stack)

    def __getitem__(self, index: Any) -> NameStack:
        return NameStack(self.stack[index])

    def __len__(self) -> int:
        return len(self.stack)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NameStack) and self.stack == other.stack

    def __hash__(self) -> int:
        return hash(self.stack)

    def __str__(self) -> str:
        return "/".join(self.stack)

    def __repr__(self) -> str:
        return f"NameStack(stack={self.stack!r})"


def new_name_stack(name: str = "") -> NameStack:
    """A stack with one name, or none."""
    return NameStack((name,) if name else ())


def current_name_stack() -> NameStack:
    """The scopes that are open."""
    return NameStack(_current.name_stack.split("/") if _current.name_stack else ())


def new_source_info() -> SourceInfo:
    """The source info of no line."""
    return SourceInfo(None)


def current() -> SourceInfo:
    """The user's line that is being run, and the scopes around it."""
    position = source.here(2) if _current.position is None else _current.position
    return SourceInfo(position, _current.name_stack)


def summarize(source_info: SourceInfo, num_frames: int = 1) -> str:
    """`file:line:column (function)` of a source info.

    Args:
      source_info: of an equation, or of `current()`.
      num_frames: accepted for compatibility: one line is known of each operation.
    """
    line = source_info.line
    return "unknown" if line is None else f"{line.file}:{line.line}:{line.column} ({line.function})"


class set_name_stack(contextlib.ContextDecorator):
    """Context manager in which these scopes, and no others, are open.

    Args:
      name_stack: a NameStack, or names joined by slashes.
    """

    def __init__(self, name_stack: Any) -> None:
        self._name_stack = str(name_stack)
        self._outer: list[str] = []

    def __enter__(self) -> None:
        self._outer.append(_current.name_stack)
        _current.name_stack = self._name_stack

    def __exit__(self, *exc: object) -> None:
        _current.name_stack = self._outer.pop()


def reset_name_stack() -> set_name_stack:
    """Context manager in which no scope is open."""
    return set_name_stack("")


class transform_name_stack(extend_name_stack):
    """Context manager that opens a scope with the name of a transformation.

    Args:
      name: of the transformation.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}()")


@contextlib.contextmanager
def _at(position: Any, name_stack: Any) -> Iterator[None]:
    outer, names = _current.position, _current.name_stack
    _current.position = outer if position is None else position
    if name_stack is not None:
        _current.name_stack = str(name_stack)
    try:
        yield
    finally:
        _current.position, _current.name_stack = outer, names


class user_context(contextlib.AbstractContextManager):  # type: ignore[type-arg]
    """Context manager in which operations are attributed to a line.

    Args:
      traceback: the `traceback` of a SourceInfo. None: the line where they are called.
      name_stack: the scopes that are open; None: those that are.

    >>> import xtrace as xt
    >>> from xtrace.extend import source_info_util
    >>> def f(x):
    ...     here = source_info_util.current()
    ...     with source_info_util.user_context(here.traceback, name_stack="elsewhere"):
    ...         return x + 1
    >>> xt.make_jaxpr(f)(1).eqns[0].source_info.name_stack
    'elsewhere'
    """

    def __init__(self, traceback: Any, *, name_stack: Any = None) -> None:
        self._inner = _at(traceback, name_stack)

    def __enter__(self) -> None:
        self._inner.__enter__()

    def __exit__(self, *exc: Any) -> Any:
        return self._inner.__exit__(*exc)


__all__ = [
    "NameStack",
    "SourceInfo",
    "current",
    "current_name_stack",
    "extend_name_stack",
    "new_name_stack",
    "new_source_info",
    "register_exclusion",
    "reset_name_stack",
    "set_name_stack",
    "summarize",
    "transform_name_stack",
    "user_context",
]
