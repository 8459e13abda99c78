"""Functions of one array with a derivative of their own, for this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.transforms.custom import CustomJVPCall
from xtrace.transforms.zeros import Zero, zero_tangent


def with_derivative(
    derivative: Callable[[Any, Any, Any], Any],
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator of a function of one inexact array: `derivative(t, out, x)` is its tangent along t.

    The staged function is kept for each type of argument, and goes by the function's name in jaxprs.
    """

    def decorate(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
        bodies: dict[Any, Any] = {}
        name = fun.__name__.lstrip("_")

        def flat(x: Any) -> list[Any]:
            return [fun(x)]

        def rule(primals: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
            (x,), (t,) = primals, tangents
            out = call(x)
            return [out], [zero_tangent(out) if type(t) is Zero else derivative(t, out, x)]

        def call(x: Any) -> Any:
            made = CustomJVPCall(flat, name, False, None, bodies)
            made.rule = rule
            return made.bind((x,))[0]

        call.__name__ = fun.__name__
        call.__doc__ = fun.__doc__
        return call

    return decorate
