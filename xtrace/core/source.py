"""Source positions: which line of the user's program made a value.

A position is captured as the pair (code object, bytecode offset) of the innermost frame outside xtrace, which
costs 0.1-0.3 µs, and resolved to file, line and column only when something is printed or lowered.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple, TypeVar

from xtrace.core import config

_filtering = config.traceback_filtering.state

#: (code, f_lasti); None where no user frame exists.
Position = tuple[CodeType, int]


class Backward(tuple):
    """The position of a primal operation, for the operations that transpose its derivative (debug_nans tells them)."""

    __slots__ = ()


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_ROOT = os.path.dirname(_PACKAGE[:-1]) + os.sep
#: Folders whose frames are ours. In a checkout, lowering and runtime lie beside the package.
_OWN_FOLDERS: tuple[str, ...] = (_PACKAGE, _ROOT + "lowering" + os.sep, _ROOT + "runtime" + os.sep)
_STDLIB_HELPERS = tuple(os.sep + name for name in ("functools.py", "contextlib.py"))

#: File name -> whether it is one of ours. Keyed by name: strings cache their hash, code objects don't.
is_own_file: dict[str, bool] = {}


def _classify(filename: str) -> bool:
    own = filename.startswith(_OWN_FOLDERS) or filename.endswith(_STDLIB_HELPERS)
    is_own_file[filename] = own
    return own


def is_own(filename: str) -> bool:
    """Whether a file is one of ours."""
    own = is_own_file.get(filename)
    return _classify(filename) if own is None else own


def exclude(path: str) -> None:
    """Treat files whose names begin with `path` as ours: positions are those of their callers."""
    global _OWN_FOLDERS
    _OWN_FOLDERS = (*_OWN_FOLDERS, path)
    is_own_file.clear()


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame at or above `frame` that is not xtrace's."""
    known = is_own_file
    while frame is not None:
        filename = frame.f_code.co_filename
        own = known.get(filename)
        if own is None:
            own = _classify(filename)
        if not own:
            return frame
        frame = frame.f_back
    return None


def here(depth: int = 1) -> Position | None:
    """Position of the user's line that is being executed, searched from `depth` frames up."""
    frame = user_frame(sys._getframe(depth))
    return None if frame is None else (frame.f_code, frame.f_lasti)


def user_traceback(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without xtrace's own frames: what is left are the user's calls."""
    kept = []
    while traceback is not None:
        if not is_own(traceback.tb_frame.f_code.co_filename):
            kept.append(traceback)
        traceback = traceback.tb_next
    made = None
    for t in reversed(kept):
        made = TracebackType(made, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return made


F = TypeVar("F", bound=Callable[..., Any])


def boundary(fun: F) -> F:
    """Decorator of public functions that call the user's: exceptions leave them with the user's frames only.

    The flag `traceback_filtering` set to "off" keeps all frames.
    """

    @functools.wraps(fun)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            if _filtering.value == "off":
                raise
            raise error.with_traceback(user_traceback(error.__traceback__))  # noqa: B904  (it is the same exception)

    return wrapper  # type: ignore[return-value]


class Line(NamedTuple):
    """A resolved position. Lines and columns count from 1."""

    file: str
    line: int
    column: int
    function: str
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.function})"


_tables: dict[int, tuple[CodeType, list[tuple[int | None, int | None, int | None, int | None]]]] = {}


def resolve(position: Position | None) -> Line | None:
    """File, line, column and function of `position`."""
    if position is None:
        return None
    code, lasti = position
    entry = _tables.get(id(code))
    if entry is None or entry[0] is not code:
        entry = _tables[id(code)] = (code, list(code.co_positions()))
    index = lasti // 2
    line, end_line, column, end_column = entry[1][index] if 0 <= index < len(entry[1]) else (None, None, None, None)
    return Line(
        code.co_filename,
        line or code.co_firstlineno,
        (column or 0) + 1,
        code.co_qualname,
        end_line or line or code.co_firstlineno,
        (end_column or 0) + 1,
    )


def describe(position: Position | None) -> str:
    """`file:line (function)`, or a note that the place is unknown."""
    line = resolve(position)
    return "an unknown place" if line is None else str(line)


class SourceInfo(NamedTuple):
    """What JAX calls an equation's source_info: the position (JAX has a traceback) and the stack of named scopes."""

    traceback: Position | None
    name_stack: str = ""

    @property
    def position(self) -> Position | None:
        return self.traceback

    @property
    def line(self) -> Line | None:
        return resolve(self.position)
