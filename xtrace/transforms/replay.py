"""Stretches of equations that are recorded again, where the same function would make the same ones.

Making an equation costs about 4 µs: its types, its literals, the user's line. Copying one costs less than 1 µs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core.jaxpr import JaxprEqn, Var, no_effects
from xtrace.core.trace import current
from xtrace.transforms.staging import StagedTracer, StagingTrace

_new = object.__new__


class Stretch:
    """Equations without effects that read nothing but given variables, their own results and literals.

    steps: of each the primitive, its operands (positions among inputs and results, or literals), the types of its
    results, its parameters. out: the position of the stretch's result.
    """

    __slots__ = ("steps", "out")

    def __init__(self, steps: list[Any], out: int) -> None:
        self.steps = steps
        self.out = out

    def record(self, trace: StagingTrace, inputs: Sequence[Var], position: Any) -> StagedTracer:
        """Append the equations to a trace, with the variables `inputs` of the types they were made for."""
        known = list(inputs)
        scopes, eqns = current.name_stack, trace.eqns
        for primitive, operands, avals, params in self.steps:
            atoms = [known[a] if type(a) is int else a for a in operands]
            made = []
            for aval in avals:
                var = _new(Var)
                var.aval = aval
                made.append(var)
            eqns.append(JaxprEqn(primitive, atoms, made, params, position, no_effects, scopes))
            known += made
        var = known[self.out]
        return StagedTracer(trace, var.aval, var)


def stretch(trace: StagingTrace, start: int, inputs: Sequence[Var], result: Any) -> Stretch | None:
    """The equations of `trace` from number `start` on, which made the tracer `result`; None if they can't be copied."""
    places = {var: i for i, var in enumerate(inputs)}
    if len(places) != len(inputs) or type(result) is not StagedTracer or result._trace is not trace:
        return None
    steps: list[Any] = []
    for eqn in trace.eqns[start:]:
        if eqn.effects or eqn.primitive.holds_jaxprs or eqn.name_stack != current.name_stack:
            return None
        operands: list[Any] = []
        for a in eqn.invars:
            if isinstance(a, Var):
                place = places.get(a)
                if place is None:  # a variable from before, or a value that was closed over
                    return None
                operands.append(place)
            else:
                operands.append(a)
        for var in eqn.outvars:
            places[var] = len(places)
        steps.append((eqn.primitive, operands, [var.aval for var in eqn.outvars], eqn.params))
    out = places.get(result._var)
    return None if out is None else Stretch(steps, out)
