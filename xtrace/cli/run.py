"""Run a Python script written for JAX: in it, `import jax` means xtrace.

xtrace run train.py --epochs 3
xtrace run -m package.module --epochs 3

An error that the script doesn't catch is one line, then its calls and its whole message; the exit status is 2.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from xtrace.cli import alias
from xtrace.cli.errors import CommandError

NAME = "run"
HELP = "run a script written for JAX"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xtrace run`."""
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module's name, as in python -m")
    parser.add_argument("script", metavar="SCRIPT", help="the script, or with -m the module")
    parser.add_argument("args", nargs=argparse.REMAINDER, metavar="...", help="arguments of the script")


def main(args: argparse.Namespace) -> int:
    """Run the script as `__main__`; its own exit status is ours."""
    if not args.module:
        path = Path(args.script)
        if not path.is_file():
            raise CommandError(f"{path} is a folder, not a script" if path.is_dir() else f"no such script: {path}")
    alias.install()
    sys.argv = [args.script, *args.args]
    sys.path.insert(0, "" if args.module else str(path.resolve().parent))
    try:
        if args.module:
            _run_module(args.script)
        else:
            runpy.run_path(args.script, run_name="__main__")
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        print(stop.code, file=sys.stderr)
        return 1
    return 0


def _run_module(name: str) -> None:
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except ImportError as error:
        # runpy's own "No module named x" carries no traceback into the user's code.
        if error.name is None and "No module named" in str(error) or error.name == name:
            raise CommandError(str(error)) from None
        raise
