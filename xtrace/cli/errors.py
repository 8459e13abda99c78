"""One line for everything that can go wrong on the command line."""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

import xtrace.lowering
import xtrace.runtime

# lowering and runtime lie beside the package in a clone and inside it once installed.
_PACKAGE = tuple(
    f"{Path(folder).resolve()}{os.sep}"
    for folder in (Path(__file__).parents[1], *xtrace.lowering.__path__, *xtrace.runtime.__path__)
)
_OWN = _PACKAGE + tuple(
    f"{Path(sysconfig.get_path(kind)).resolve()}{os.sep}" for kind in ("stdlib", "purelib", "platlib")
)


class CommandError(Exception):
    """A mistake of the user's that the message explains in full; shown without a traceback."""


def user_frame(trace: TracebackType | None) -> str | None:
    """`file:line` of the innermost frame that is the user's: not ours, not a library's, not the import machinery's."""
    found = None
    for frame, line in traceback.walk_tb(trace):
        name = frame.f_code.co_filename
        if name.startswith("<") or str(Path(name).resolve()).startswith(_OWN):
            continue
        found = f"{name}:{line}"
    return found


def describe(error: BaseException) -> str:
    """The error in one line: where in the user's code, its type, and what its message says and advises."""
    if isinstance(error, CommandError):
        return _one_line(str(error))
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    message = _gist(str(error))
    what = f"{type(error).__name__}: {message}" if message else type(error).__name__
    where = user_frame(error.__traceback__)
    return f"{where}: {what}" if where else what


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _gist(message: str) -> str:
    """The first line of a message, and the advice in it; all of it where the first line only introduces a list."""
    first, *rest = [line.strip() for line in message.splitlines() if line.strip()] or [""]
    if first.endswith(":"):
        return _one_line(message)
    return " ".join([first, *(line for line in rest if line.startswith("Instead:"))])


def report(error: BaseException, with_traceback: bool, with_call_chain: bool = False) -> int:
    """Print the error to stderr; returns the exit status.

    Args:
      error: what was raised.
      with_traceback: print the whole traceback first.
      with_call_chain: follow the line with Python's report of the error, less the frames that are this package's.
    """
    if with_traceback:
        traceback.print_exception(error)
    print(f"xtrace: error: {describe(error)}", file=sys.stderr)
    if with_call_chain and not with_traceback and not isinstance(error, CommandError):
        print(_call_chain(error), end="", file=sys.stderr)
    return 2


def _call_chain(error: BaseException) -> str:
    """The traceback of the error, and of those it came from, without the frames of this package and of the importer."""
    told = traceback.TracebackException.from_exception(error)
    pending = [told]
    while pending:
        part = pending.pop()
        part.stack = traceback.StackSummary.from_list([frame for frame in part.stack if not _internal(frame.filename)])
        pending += [
            other for other in (part.__cause__, part.__context__, *(part.exceptions or ())) if other is not None
        ]
    return "".join(told.format())


def _internal(filename: str) -> bool:
    return filename.startswith("<frozen ") or str(Path(filename).resolve()).startswith(_PACKAGE)
