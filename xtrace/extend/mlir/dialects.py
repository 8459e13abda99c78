"""MLIR's dialects as jaxlib has them, importable as modules of this package (jax.extend.mlir.dialects)."""

from __future__ import annotations

import importlib
import sys

#: Makes `import xtrace.extend.mlir.dialects.stablehlo` look below; all it finds is in sys.modules.
__path__: list[str] = []

for _name in "arith builtin chlo func math memref mpmd scf sdy sparse_tensor stablehlo vector".split():
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = importlib.import_module(f"jaxlib.mlir.dialects.{_name}")
