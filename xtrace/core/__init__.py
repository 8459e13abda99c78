"""The language: dtypes, avals, jaxprs, primitives, tracers, pytrees, errors, configuration and source positions.

The names that JAX programs take from jax.core and jax.extend.core load at first touch.
"""

from __future__ import annotations

import importlib
from typing import Any

_LAZY: dict[str, str] = {
    "AbstractToken": "avals",
    "AbstractValue": "avals",
    "Atom": "jaxpr",
    "ClosedJaxpr": "jaxpr",
    "DebugInfo": "jaxpr",
    "DropVar": "jaxpr",
    "Effect": "jaxpr",
    "InconclusiveDimensionOperation": "errors",
    "Jaxpr": "jaxpr",
    "JaxprEqn": "jaxpr",
    "JaxprTypeError": "errors",
    "Literal": "jaxpr",
    "ParamDict": "jaxpr",
    "Primitive": "primitive",
    "ShapedArray": "avals",
    "Trace": "trace",
    "Tracer": "trace",
    "Value": "jaxpr",
    "Var": "jaxpr",
    "check_jaxpr": "check",
    "ensure_compile_time_eval": "trace",
    "eval_context": "trace",
    "eval_jaxpr": "jaxpr",
    "max_dim": "dims",
    "min_dim": "dims",
    "no_effects": "jaxpr",
}


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'xtrace.core' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"xtrace.core.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
