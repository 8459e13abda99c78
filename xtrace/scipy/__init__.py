"""SciPy's interface on arrays and tracers. Modules load at first use."""

from __future__ import annotations

import importlib
from typing import Any

_SUBMODULES = (
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"xtrace.scipy.{name}")
    raise AttributeError(f"module 'xtrace.scipy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES})
