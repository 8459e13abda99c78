"""Stands where `jax._src` does: modules whose names are found in xtrace, for programs that import them there.

Made from the tables in `xtrace.compat.private_names`. What they don't lead to stays private to JAX: importing such a
name works, so that a program can be loaded whose rarer paths need it; using it says what is missing.
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

from xtrace.compat.private_names import RENAMED, SEARCHED

_MODULES = {*SEARCHED, *[m[:i] for m in SEARCHED for i, c in enumerate(m) if c == "."]}
_ABSENT: Any = object()


def _module(name: str) -> Any:
    """The module of this name below xtrace, or None."""
    try:
        return importlib.import_module("xtrace" if name in ("", "xtrace") else f"xtrace.{name}")
    except ModuleNotFoundError:
        return None


def _at(path: str) -> Any:
    """The object at a dotted path below xtrace."""
    parts = path.split(".")
    for n in range(len(parts) - 1, -1, -1):  # the longest part of the path that is a module
        module = _module(".".join(parts[:n]))
        if module is not None:
            return functools.reduce(lambda x, name: getattr(x, name, _ABSENT), parts[n:], module)
    return _ABSENT


def _find(module: str, name: str) -> Any:
    """What `name` of the private module `module` is in xtrace."""
    renamed = RENAMED.get(module, {}).get(name)
    if renamed is not None:
        return _at(renamed)
    for searched in SEARCHED.get(module, ()):
        value = getattr(_module(searched), name, _ABSENT)
        if value is not _ABSENT:
            return value
    return _ABSENT


class _Private:
    """Stands for a name that is private to JAX."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.__name__ = name.rpartition(".")[2]  # tables of functions are made of their names

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{self._name} is private to jax and has no counterpart in xtrace: use a public name in its place"
        )

    __call__ = __iter__ = __enter__ = __getitem__ = __bool__ = __mro_entries__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Private(f"{self._name}.{name}")

    def cache_clear(self) -> None:
        """What isn't here has no cache either: nothing to clear."""

    def __repr__(self) -> str:
        return f"<{self._name}, private to jax>"


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        below = module.__name__.removeprefix(__name__ + ".")

        def lookup(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            if f"{below}.{name}" in _MODULES:
                return importlib.import_module(f"{module.__name__}.{name}")
            value = _find(below, name)
            if value is _ABSENT:
                value = _Private(f"jax._src.{below}.{name}")
            setattr(module, name, value)
            return value

        module.__getattr__ = lookup  # type: ignore[method-assign]
        module.__doc__ = "Private names of JAX that xtrace has somewhere public."


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        below = name.removeprefix(__name__ + ".")
        if below == name or below not in _MODULES:
            return None
        is_package = any(m.startswith(below + ".") for m in _MODULES)
        return importlib.machinery.ModuleSpec(name, _Loader(), is_package=is_package)


sys.meta_path.append(_Finder())


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    # `from jax._src import x` looks x up here, under our name: whoever made the alias may have an x.
    if not name.startswith("__") and sys.modules.get("jax._src") is sys.modules[__name__]:
        return importlib.import_module(f"jax._src.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
