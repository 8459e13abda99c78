"""What libraries that extend the language use (jax.extend)."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

_MODULES = ("backend", "core", "ifrt_programs", "linear_util", "mlir", "random", "sharding", "source_info_util")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"xtrace.extend.{name}")
    raise AttributeError(f"module 'xtrace.extend' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
