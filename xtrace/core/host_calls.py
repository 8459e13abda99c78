"""Calls from a compiled program into Python: what lowering puts into a program and the runtime hands to XLA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class HostCall(NamedTuple):
    """A Python function that a compiled program calls. Programs refer to it by its place among the program's calls."""

    #: Who calls, for messages: pure_callback, debug_print …
    name: str
    #: Takes arrays, returns a sequence of array-likes.
    fun: Callable[..., Sequence[Any]]
    in_avals: tuple[Any, ...]
    out_avals: tuple[Any, ...]
    #: Whether the program passes a token in front, which comes back in front of the results.
    has_token: bool
