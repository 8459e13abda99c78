"""What reverse rules log while a backward pass runs: dicts of pytrees of arrays, merged in the order of that pass.

Transposed programs give what is logged inside them as results after their own, and log it outside again.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from xtrace.core import pytree


class _Logs(threading.local):
    #: Where entries go; None: nowhere.
    sink: dict[Any, Any] | None = None


_logs = _Logs()


def wanted() -> bool:
    """Whether anyone will read what is logged."""
    return _logs.sink is not None


def log(entries: dict[Any, Any] | None) -> None:
    """Add entries; one of the same key is replaced."""
    if _logs.sink is not None and entries:
        _logs.sink.update(entries)


@contextlib.contextmanager
def into(sink: dict[Any, Any] | None) -> Iterator[None]:
    """Entries go to `sink` while the block runs; None: they are dropped."""
    before = _logs.sink
    _logs.sink = sink
    try:
        yield
    finally:
        _logs.sink = before


def log_results(tree: Any, results: Iterator[Any]) -> None:
    """Log what a transposed program gave after its own results; `tree` is None if it logs nothing."""
    if tree is not None:
        log(tree.unflatten(list(results)))


def flatten(sink: dict[Any, Any]) -> tuple[list[Any], Any]:
    """The leaves of what was logged, and their structure; None if nothing was."""
    return pytree.default_registry.flatten(sink) if sink else ([], None)


__all__ = ["flatten", "into", "log", "log_results", "wanted"]
