"""Options that JAX chooses its own implementations by, as the holders that its private `config` module has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from xtrace.core.config import config


class Option:
    """An option that is accepted and kept, and has no effect (`core.config_options.WITHOUT_EFFECT`)."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def value(self) -> Any:
        return config.read(self.name)

    @contextlib.contextmanager
    def __call__(self, new_val: Any = True) -> Iterator[None]:
        """The option set to a value while the `with` block, or the decorated function, runs."""
        before = config.read(self.name)
        config.update(self.name, new_val)
        try:
            yield
        finally:
            config.update(self.name, before)


def __getattr__(name: str) -> Option:
    if name in config.without_effect:
        return Option(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
