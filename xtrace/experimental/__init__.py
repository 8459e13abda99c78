"""Parts of JAX's interface that JAX keeps under `experimental`."""

from __future__ import annotations

import importlib
from typing import Any

#: Public name -> module that defines it, loaded at first use.
_LAZY: dict[str, str] = {
    "io_callback": "xtrace.callbacks",
}
_MODULES = tuple(
    (
        "checkify compilation_cache compute_on jet layout mesh_utils multihost_utils ode pjit random rnn "
        "scheduling_groups serialize_executable sparse topologies xla_metadata"
    ).split()
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"xtrace.experimental.{name}")
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'xtrace.experimental' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES})
