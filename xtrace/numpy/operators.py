"""Operators and methods of arrays and tracers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.core.trace import Tracer
from xtrace.numpy import ufuncs
from xtrace.numpy.promotion import ARRAY_TYPES
from xtrace.runtime.jaxlib_api import ArrayImpl


def _forward(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, ARRAY_TYPES) or hasattr(other, "__jax_array__"):
            return function(self, other)
        return NotImplemented

    return operator


def _backward(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, ARRAY_TYPES) or hasattr(other, "__jax_array__"):
            return function(other, self)
        return NotImplemented

    return operator


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": ufuncs.add,
    "sub": ufuncs.subtract,
    "mul": ufuncs.multiply,
    "truediv": ufuncs.true_divide,
}


def install() -> None:
    """Set operators and methods on arrays and tracers."""
    for cls in (ArrayImpl, Tracer):
        for name, function in _BINARY.items():
            setattr(cls, f"__{name}__", _forward(function))
            setattr(cls, f"__r{name}__", _backward(function))
        cls.__gt__ = _forward(ufuncs.greater)  # type: ignore[operator]
        cls.__neg__ = lambda self: ufuncs.negative(self)  # type: ignore[attr-defined]
