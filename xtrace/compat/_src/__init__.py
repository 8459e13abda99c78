"""Stands where `jax._src` does: modules whose names are public names of ours, for programs that import them there.

Made from the table in `xtrace.compat.private_names`. What is not in it stays private to JAX: importing such a name
works, so that a program can be loaded whose rarer paths need it; using it says what is missing.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from xtrace.compat.private_names import PUBLIC_NAMES

_PACKAGES = {m[:i] for m in PUBLIC_NAMES for i, c in enumerate(m) if c == "."}


def _resolve(public: str) -> Any:
    """The object of a dotted public name."""
    parts = public.split(".")
    for n in range(len(parts) - 1, -1, -1):  # the longest part of the name that is a module
        try:
            module = importlib.import_module(".".join(["xtrace", *parts[:n]]))
        except ImportError:
            continue
        return functools.reduce(getattr, parts[n:], module)


class _Private:
    """Stands for a name that is private to JAX."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{self._name} is private to jax and has no counterpart in xtrace: use a public name in its place"
        )

    __call__ = __iter__ = __enter__ = __getitem__ = __bool__ = __mro_entries__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Private(f"{self._name}.{name}")

    def __repr__(self) -> str:
        return f"<{self._name}, private to jax>"


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        below = module.__name__.removeprefix(__name__ + ".")
        names = PUBLIC_NAMES.get(below, {})

        def lookup(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            if f"{below}.{name}" in PUBLIC_NAMES or f"{below}.{name}" in _PACKAGES:
                return importlib.import_module(f"{module.__name__}.{name}")
            try:
                value = _resolve(names[name]) if name in names else None
            except (ImportError, AttributeError):
                value = None
            if value is None:
                value = _Private(f"jax._src.{below}.{name}")
            setattr(module, name, value)
            return value

        module.__getattr__ = lookup  # type: ignore[method-assign]
        module.__doc__ = "Private names of JAX that are public names of xtrace."


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        below = name.removeprefix(__name__ + ".")
        if below == name or (below not in PUBLIC_NAMES and below not in _PACKAGES):
            return None
        return importlib.machinery.ModuleSpec(name, _Loader(), is_package=below in _PACKAGES)


sys.meta_path.append(_Finder())


def __getattr__(name: str) -> Any:
    if name in PUBLIC_NAMES or name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    # `from jax._src import x` looks x up here, under our name: whoever made the alias may have an x.
    if not name.startswith("__") and sys.modules.get("jax._src") is sys.modules[__name__]:
        return importlib.import_module(f"jax._src.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
