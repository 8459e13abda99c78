"""debug.breakpoint: a terminal debugger on the frames that were there when the program was traced.

Arrays in those frames show the values that they have in the run: they are operands of a debugging callback.
"""

from __future__ import annotations

import cmd
import inspect
import linecache
import pprint
import sys
import textwrap
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xtrace.core import pytree, source
from xtrace.lax import callbacks


class DebuggerFrame(NamedTuple):
    """One function call on the stack: where it was, and the values of its variables."""

    filename: str
    function: str
    lineno: int
    first_line: int
    source: list[str]
    locals: dict[str, Any]
    globals: dict[str, Any]

    @staticmethod
    def of(frame: Any) -> DebuggerFrame:
        code = frame.f_code
        try:
            lines, first = inspect.getsourcelines(frame)
        except (OSError, IndexError):
            lines, first = [], code.co_firstlineno
        # A module's lines are counted from 1, though they are said to begin at 0.
        return DebuggerFrame(
            code.co_filename,
            code.co_name,
            frame.f_lineno,
            max(first, 1),
            [line.rstrip("\n") for line in lines],
            dict(frame.f_locals),
            frame.f_globals,
        )


def user_frames(filter_frames: bool, num_frames: int | None) -> list[DebuggerFrame]:
    """The frames of the caller and of its callers, innermost first, ours left out if `filter_frames`."""
    frames: list[DebuggerFrame] = []
    frame = sys._getframe(2)
    while frame is not None and (num_frames is None or len(frames) < num_frames):
        if not filter_frames or source.user_frame(frame) is frame:
            frames.append(DebuggerFrame.of(frame))
        frame = frame.f_back  # type: ignore[assignment]
    return frames


class CliDebugger(cmd.Cmd):
    """A debugger that reads commands from a terminal: those of pdb that look and don't step."""

    prompt = "(jdb) "

    def __init__(self, frames: Sequence[DebuggerFrame], stdin: Any, stdout: Any, thread: int | None = None) -> None:
        super().__init__(completekey="tab", stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None and stdout is None
        self.frames = list(frames)
        self.index = 0

    @property
    def frame(self) -> DebuggerFrame:
        return self.frames[self.index]

    def say(self, text: str) -> None:
        self.stdout.write(text + "\n")

    def evaluate(self, expression: str) -> Any:
        # One namespace, so that comprehensions and lambdas see the locals too.
        return eval(expression, {**self.frame.globals, **self.frame.locals})

    def do_p(self, arg: str) -> None:
        """p EXPRESSION: the value of an expression in the current frame."""
        self._show(arg, repr)

    def do_pp(self, arg: str) -> None:
        """pp EXPRESSION: the value of an expression, pretty-printed."""
        self._show(arg, pprint.pformat)

    def _show(self, arg: str, form: Callable[[Any], str]) -> None:
        try:
            self.say(form(self.evaluate(arg)))
        except Exception as error:  # whatever the user's expression raises
            self.say("*** " + traceback.format_exception_only(error)[-1].strip())

    def do_list(self, arg: str) -> None:
        """l(ist): the lines around the current one."""
        self.say(self._context(self.frame))

    def _context(self, frame: DebuggerFrame, around: int = 2) -> str:
        lines = [f"> {frame.filename}({frame.lineno})"]
        current = frame.lineno - frame.first_line
        begin = max(current - around - 1, 0)
        shown = frame.source[begin : current + around + 1]
        if not shown:
            shown, begin = [linecache.getline(frame.filename, frame.lineno).rstrip("\n")], current
        for i, line in enumerate(textwrap.dedent("\n".join(shown)).split("\n"), begin):
            line = " " * 8 + line
            lines.append("->" + line[2:] if i == current else line)
        return "\n".join(lines)

    def do_up(self, arg: str) -> None:
        """u(p): go to the frame that called this one."""
        if self.index + 1 >= len(self.frames):
            self.say("At topmost frame.")
            return
        self.index += 1
        self.do_list("")

    def do_down(self, arg: str) -> None:
        """d(own): go to the frame that this one called."""
        if self.index == 0:
            self.say("At bottommost frame.")
            return
        self.index -= 1
        self.do_list("")

    def do_where(self, arg: str) -> None:
        """w(here), bt: the stack, outermost frame first."""
        self.say("Traceback:")
        for frame in reversed(self.frames):
            self.say(f'  File "{frame.filename}", line {frame.lineno}, in {frame.function}')
            line = linecache.getline(frame.filename, frame.lineno).strip()
            if line:
                self.say(f"    {line}")

    def do_continue(self, arg: str) -> bool:
        """c(ontinue): let the program go on."""
        return True

    def do_quit(self, arg: str) -> bool:
        """q(uit): end the program."""
        raise SystemExit(0)

    def do_help(self, arg: str) -> Any:
        """h(elp): the commands."""
        return super().do_help(arg)

    do_EOF = do_quit
    do_l = do_list
    do_u = do_up
    do_d = do_down
    do_w = do_bt = do_where
    do_c = do_cont = do_continue
    do_q = do_exit = do_quit
    do_h = do_help

    def emptyline(self) -> bool:
        return False  # cmd.Cmd would repeat the last command

    def default(self, line: str) -> None:
        self.say(f"*** Unknown command: {line}. p EXPRESSION prints a value; help lists the commands.")

    def run(self) -> None:
        self.say("Entering jdb:")
        self.cmdloop()


def _variable(value: Any, traced: list[Any]) -> Callable[[Sequence[Any]], Any]:
    """How to get a variable's value from the values of the arrays `traced`, to which its own are added."""
    try:
        leaves, tree = pytree.tree_flatten(value, is_leaf=lambda x: hasattr(x, "__next__"))
    except Exception:  # of a class that can't be taken apart, for whatever reason
        return lambda values: value
    places = [(i, len(traced) + k) for k, i in enumerate(i for i, x in enumerate(leaves) if hasattr(x, "aval"))]
    if not places:
        return lambda values: value
    traced += [leaves[i] for i, _ in places]

    def show(values: Sequence[Any]) -> Any:
        found = list(leaves)
        for i, k in places:
            found[i] = values[k]
        return tree.unflatten(found)

    return show


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> None:
    """Stop the program when it comes here, and look at the values of this function and its callers in a terminal.

    Commands: p, pp (print), l (list), u, d (up, down), bt (stack), c (continue), q (quit), help.

    Args:
      backend: "cli", the only one.
      filter_frames: whether to leave out frames that are not the user's.
      num_frames: how many frames to keep, innermost first; None: all.
      ordered: whether breakpoints come in program order.
      token: an array; the breakpoint comes after it has been computed.
      kwargs: `stdin` and `stdout`, files to use instead of the terminal.

    Raises:
      ValueError: an unknown `backend`.
      TypeError: an unknown argument.

    Example:
      >>> import io, sys, xtrace as xt
      >>> def f(x):
      ...     y = x + 1
      ...     xt.debug.breakpoint(stdin=io.StringIO("p y\\nc\\n"), stdout=sys.stdout)
      ...     return y
      >>> _ = xt.jit(f)(1)
      Entering jdb:
      (jdb) Array(2, dtype=int32)
      (jdb)
    """
    if backend not in (None, "cli"):
        raise ValueError(f"debug.breakpoint: the backend must be 'cli' or None, got {backend!r}.")
    stdin, stdout = kwargs.pop("stdin", None), kwargs.pop("stdout", None)
    if kwargs:
        raise TypeError(f"debug.breakpoint got unexpected arguments {sorted(kwargs)}; it takes stdin and stdout.")
    frames = user_frames(filter_frames, num_frames)
    # Variables that are traced arrays, or hold some, follow the run; others stay what they are.
    traced: list[Any] = []
    shown = [{name: _variable(value, traced) for name, value in frame.locals.items()} for frame in frames]

    def stop(*values: Any) -> None:
        run = [f._replace(locals={k: show(values) for k, show in v.items()}) for f, v in zip(frames, shown)]
        CliDebugger(run, stdin, stdout).run()

    operands = [*traced, token] if token is not None else traced
    effect = callbacks.ordered_debug_effect if ordered else callbacks.debug_effect
    callbacks.debug_callback_p.bind(*operands, callback=stop, effect=effect, partitioned=False)


__all__ = ["breakpoint"]
