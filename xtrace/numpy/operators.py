"""Operators of arrays and tracers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.core.trace import Tracer
from xtrace.numpy import elementwise, indexing
from xtrace.numpy.promotion import is_arraylike
from xtrace.numpy.ufuncs import refuse
from xtrace.runtime.jaxlib_api import ArrayImpl

#: Operator -> (symbol, function of numpy.elementwise): one primitive, on the fast path.
_ARITHMETIC = {
    "add": ("+", "add"),
    "sub": ("-", "subtract"),
    "mul": ("*", "multiply"),
    "truediv": ("/", "true_divide"),
    "and": ("&", "bitwise_and"),
    "or": ("|", "bitwise_or"),
    "xor": ("^", "bitwise_xor"),
    "lshift": ("<<", "left_shift"),
    "rshift": (">>", "right_shift"),
}
_COMPARISONS = {
    "eq": ("==", "equal"),
    "ne": ("!=", "not_equal"),
    "lt": ("<", "less"),
    "le": ("<=", "less_equal"),
    "gt": (">", "greater"),
    "ge": (">=", "greater_equal"),
}
#: Operator -> (symbol, module, function): loaded at the first use.
_LATER = {
    "floordiv": ("//", "elementwise_math", "floor_divide"),
    "mod": ("%", "elementwise_math", "remainder"),
    "divmod": ("divmod", "elementwise_math", "divmod"),
    "pow": ("**", "elementwise_math", "power"),
    "matmul": ("@", None, "matmul"),
}
_UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}


def _loader(module: str | None, name: str) -> Callable[[], Any]:
    """A function that fetches numpy's `name`, from `module` or wherever the package has it."""
    found: Any = None

    def load() -> Any:
        nonlocal found
        if found is None:
            import importlib

            found = getattr(importlib.import_module("xtrace.numpy" + (f".{module}" if module else "")), name)
        return found

    return load


def _forward(symbol: str, load: Callable[[], Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        return load()(self, other) if is_arraylike(other) else refuse(symbol, self, other)

    return operator


def _backward(symbol: str, load: Callable[[], Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        return load()(other, self) if is_arraylike(other) else refuse(symbol, other, self)

    return operator


def install() -> None:
    """Set the operators on arrays and tracers."""
    methods: dict[str, Any] = {}
    for name, (symbol, function) in _ARITHMETIC.items():
        methods[f"__{name}__"] = elementwise.BINARY[function].operator(symbol)
        methods[f"__r{name}__"] = elementwise.BINARY[function].reflected(symbol)
    for name, (symbol, function) in _COMPARISONS.items():
        methods[f"__{name}__"] = elementwise.BINARY[function].operator(symbol)
    for name, (symbol, module, function) in _LATER.items():
        load = _loader(module, function)
        methods[f"__{name}__"] = _forward(symbol, load)
        methods[f"__r{name}__"] = _backward(symbol, load)
    for name, function in _UNARY.items():
        methods[f"__{name}__"] = getattr(elementwise, function)
    for cls in (ArrayImpl, Tracer):
        for name, method in methods.items():
            setattr(cls, name, method)
        indexing.install(cls)
