"""The `xtrace` command: one parser, a module for each subcommand."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from xtrace.cli import cache, dump_hlo, errors, info, run
from xtrace.version import __version__


class _Parser(argparse.ArgumentParser):
    """argparse's, but a usage mistake is one line as every other error is."""

    def error(self, message: str) -> NoReturn:
        print(f"xtrace: error: {message}; see {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)


def parser() -> argparse.ArgumentParser:
    """The command's parser, with every subcommand."""
    top = _Parser(prog="xtrace", description="Trace, inspect and run array programs.")
    top.add_argument("--version", action="version", version=f"xtrace {__version__}")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--traceback", action="store_true", help="show the whole traceback of an error")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in (dump_hlo, run, info, cache):
        sub = commands.add_parser(
            module.NAME,
            help=module.HELP,
            description=module.__doc__,
            parents=[common],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(sub)
        sub.set_defaults(handler=module.main)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
      argv: the arguments after the program's name; those of this process by default.

    Returns:
      The exit status: 0 (of `run`, the script's), or 2 after a line on stderr that says what was wrong.
    """
    args = parser().parse_args(argv)
    try:
        status = args.handler(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader (head, less) has gone; what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return errors.report(error, args.traceback, with_call_chain=args.command == run.NAME)
