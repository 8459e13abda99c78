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
_OWN = tuple(
    f"{Path(folder).resolve()}{os.sep}"
    for folder in (
        Path(__file__).parents[1],
        *xtrace.lowering.__path__,
        *xtrace.runtime.__path__,
        *(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")),
    )
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
    """The error in one line: where in the user's code, its type, and the first line of its message."""
    if isinstance(error, CommandError):
        return " ".join(str(error).split())
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    what = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    where = user_frame(error.__traceback__)
    return f"{where}: {what}" if where else what


def report(error: BaseException, with_traceback: bool) -> int:
    """Print the error to stderr; returns the exit status."""
    if with_traceback:
        traceback.print_exception(error)
    print(f"xtrace: error: {describe(error)}", file=sys.stderr)
    return 2
