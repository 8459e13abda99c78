"""SciPy's signal processing on arrays and tracers. Modules load when a name of theirs is first used."""

from __future__ import annotations

import importlib
from typing import Any

#: Module -> the public names it defines.
_MODULES: dict[str, str] = {
    "convolutions": "convolve convolve2d correlate correlate2d fftconvolve",
    "short_time": "istft stft",
    "spectra": "csd welch",
    "trends": "detrend",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is not None:
        value = getattr(importlib.import_module(f"xtrace.scipy.signal.{module}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'xtrace.scipy.signal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
