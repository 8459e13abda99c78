"""Running primitives on concrete values (jax.interpreters.xla)."""

from __future__ import annotations

from typing import Any

from xtrace.core.primitive import Primitive
from xtrace.core.trace import use_trace
from xtrace.runtime import dispatch


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Compile and run one operation. It is what a primitive without `impl` does, so it may serve as one."""
    with use_trace(None):
        return dispatch.apply_compiled(prim, args, params)


__all__ = ["apply_primitive"]
