"""Rules of primitives, registered the way libraries written for JAX do (jax.interpreters).

A primitive of xtrace owns its rules as attributes; the modules here are views of those, by JAX's names and calling
conventions.
"""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = ("ad", "batching", "mlir", "partial_eval", "pxla", "xla")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"xtrace.interpreters.{name}")
    raise AttributeError(f"module 'xtrace.interpreters' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
