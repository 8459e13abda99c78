"""MLIR as jaxlib has it: its Python bindings and conversions of modules (jax.extend.mlir)."""

from __future__ import annotations

import importlib
from typing import Any

from xtrace.runtime.jaxlib_api import (
    deserialize_portable_artifact,
    hlo_to_stablehlo,
    refine_polymorphic_shapes,
    serialize_portable_artifact,
)


def __getattr__(name: str) -> Any:
    if name not in ("dialects", "ir", "passmanager"):  # loaded at first use: they take a while
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


__all__ = [
    "deserialize_portable_artifact",
    "hlo_to_stablehlo",
    "refine_polymorphic_shapes",
    "serialize_portable_artifact",
]
