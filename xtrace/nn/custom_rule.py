"""Functions of one array with a derivative of their own, for this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.core import source
from xtrace.core.trace import current
from xtrace.transforms.custom import CustomJVPCall, custom_jvp_call_p
from xtrace.transforms.staging import StagedTracer
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

        #: aval -> (parameters of the equation, result aval), once a call has been staged.
        plans: dict[Any, tuple[dict[str, Any], Any]] = {}

        def call(x: Any) -> Any:
            if type(x) is not StagedTracer or x._trace is not current.trace:
                return general(x)
            trace: Any = x._trace
            plan = plans.get(x.aval)
            if plan is not None:
                return trace.record(custom_jvp_call_p, (x._var,), plan[1], plan[0], current.position or source.here(2))
            out = general(x)
            eqn = trace.eqns[-1]
            if len(plans) < 1024 and len(eqn.invars) == 1 and eqn.primitive is custom_jvp_call_p:
                plans[x.aval] = (eqn.params, out.aval)
            return out

        def general(x: Any) -> Any:
            made = CustomJVPCall(flat, name, False, None, bodies)
            made.rule = rule
            return made.bind((x,))[0]

        rule.__name__ = f"{name}_jvp"
        call.__name__ = fun.__name__
        call.__doc__ = fun.__doc__
        return call

    return decorate
