"""Messages with values in them, written as `str.format` does: checked when traced, made when run."""

from __future__ import annotations

import copy
import logging
import string
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

logger = logging.getLogger("xtrace.debug")


class _Checker(string.Formatter):
    """Goes through a format without formatting, and complains of arguments that it doesn't mention."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value

    def check_unused_args(self, used_args: set[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        unused = [a for i, a in enumerate(args) if i not in used_args]
        if unused:
            raise ValueError(
                f"Unused positional arguments to `jax.debug.print`: {unused}. Write {{}} where each is to appear."
            )
        names = [k for k in kwargs if k not in used_args]
        if names:
            raise ValueError(
                f"Unused keyword arguments to `jax.debug.print`: {names}. You may be passing an f-string (i.e, "
                '`f"{x}"`) into `jax.debug.print` and instead should pass in a regular string: values are put in when '
                "the program runs."
            )


_checker = _Checker()


def check_format(fmt: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise KeyError or IndexError for what `fmt` asks for and isn't given, ValueError for what it doesn't mention."""
    _checker.format(fmt, *args, **kwargs)


def has_placeholders(fmt: str) -> bool:
    """Whether any value appears in `fmt`, or braces that stand for themselves."""
    return any(field is not None for _, field, _, _ in string.Formatter().parse(fmt)) or "{" in fmt or "}" in fmt


def format_message(
    fmt: str, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any], placeholders: bool
) -> str:
    """The message: values where `fmt` mentions them, else behind it. options: numpy.printoptions."""
    if placeholders:
        with np.printoptions(**options):
            return fmt.format(*args, **kwargs)
    return " ".join([fmt, *map(str, args), *[f"{k}={v}" for k, v in kwargs.items()]])


def log_record(level: int, file: str, line: int) -> logging.LogRecord:
    """A record for a message that is yet to come, from the user's line."""
    return logger.makeRecord(logger.name, level, file, line, "", (), None)


def emit(message: str, record: logging.LogRecord | None) -> None:
    """Print the message, or hand it to the logger where there is a record for it."""
    if record is None:
        sys.stdout.write(message + "\n")
        return
    record = copy.copy(record)
    record.msg = message
    logger.handle(record)
