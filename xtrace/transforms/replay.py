"""Stretches of equations that are recorded again, where the same function would make the same ones.

Making an equation costs about 4 µs: its types, its literals, the user's line. Copying one costs less than 1 µs. The
functions whose equations are kept are the library's own (`core.composite`, samplers): what they do depends on nothing
but the types of their arrays, their Python arguments and the flags. A call is known by these; what the first one made
is thrown away, for most programs call most functions in one way once; what the second one made is kept.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xtrace.core.jaxpr import JaxprEqn, Literal, Var, no_effects
from xtrace.core.trace import current
from xtrace.runtime.jaxlib_api import trace_context

if TYPE_CHECKING:
    from xtrace.transforms.staging import StagingTrace

_new = object.__new__

#: Ways of calling one function that are remembered.
_MAX_CALLS = 1024


class Stretch:
    """Equations without effects that read nothing but given variables, their own results and literals.

    literals: those that are read. steps: of each equation the primitive, what takes its operands out of the inputs,
    literals and results so far, the type of its result, or the types of its results in a list, and its parameters.
    out: the position of the stretch's result, or the positions of its results, and the type of the sequence that they
    are in.
    """

    __slots__ = ("literals", "steps", "out", "sequence")

    def __init__(self, literals: list[Literal], steps: list[Any], out: Any, sequence: type | None) -> None:
        self.literals = literals
        self.steps = steps
        self.out = out
        self.sequence = sequence

    def record(self, trace: StagingTrace, inputs: list[Any], position: Any) -> Any:
        """Append the equations to a trace, with the variables `inputs` of the types they were made for."""
        known = inputs + self.literals
        scopes, append = current.name_stack, trace.eqns.append
        for primitive, operands, aval, params in self.steps:
            # Without constructors: a frame less for each.
            eqn = _new(JaxprEqn)
            eqn.primitive = primitive
            eqn.invars = operands(known)
            if type(aval) is list:
                eqn.outvars = made = [Var(a) for a in aval]
                known += made
            else:
                var = _new(Var)
                var.aval = aval
                eqn.outvars = (var,)
                known.append(var)
            eqn.params = params
            eqn.position = position
            eqn.effects = no_effects
            eqn.name_stack = scopes
            append(eqn)
        if self.sequence is None:
            return trace.named(known[self.out])
        return self.sequence([trace.named(known[i]) for i in self.out])


def _taking(positions: list[Any]) -> Callable[[list[Any]], Sequence[Any]]:
    """A function that takes the elements at these positions out of a list."""
    if len(positions) > 1:
        return operator.itemgetter(*positions)
    start = positions[0] if positions else 0
    return operator.itemgetter(slice(start, start + len(positions)))


def stretch(trace: StagingTrace, start: int, inputs: list[Var], result: Any) -> Stretch | None:
    """The equations of `trace` from number `start` on, which made `result`; None if they can't be copied.

    inputs: variables, each another. result: a tracer of the trace, or a tuple or list of them.
    """
    eqns = trace.eqns[start:]
    literals = list({id(a): a for eqn in eqns for a in eqn.invars if isinstance(a, Literal)}.values())
    places: dict[Any, int] = {a: i for i, a in enumerate((*inputs, *literals))}
    steps: list[Any] = []
    for eqn in eqns:
        if eqn.effects or eqn.primitive.holds_jaxprs or eqn.name_stack != current.name_stack:
            return None
        positions = [places.get(a) for a in eqn.invars]
        if None in positions:  # a variable from before, or a value that was closed over
            return None
        for var in eqn.outvars:
            places[var] = len(places)
        avals = [var.aval for var in eqn.outvars]
        made = avals if eqn.primitive.multiple_results else avals[0]
        steps.append((eqn.primitive, _taking(positions), made, eqn.params))
    sequence = type(result) if type(result) is tuple or type(result) is list else None
    outs = []
    for x in (result,) if sequence is None else result:
        place = places.get(x._var) if getattr(x, "_trace", None) is trace else None
        if place is None:
            return None
        outs.append(place)
    return Stretch(literals, steps, outs[0] if sequence is None else outs, sequence)


def _itself(x: Any) -> Any:
    return type(x), x


def _written(x: Any) -> Any:
    return type(x), repr(x)  # 0.0 and -0.0 are equal


def _tuple(x: tuple[Any, ...]) -> Any:
    parts = [_described(e) for e in x]
    return None if None in parts else (tuple, *parts)


def _number_type(x: type) -> Any:
    return x if issubclass(x, (np.generic, int, float, complex)) else None


def _undescribed(x: Any) -> Any:
    return None


def _describing(kind: type) -> Callable[[Any], Any]:
    if issubclass(kind, (int, bool, str, type(None), np.dtype, enum.Enum)):
        return _itself
    if issubclass(kind, (float, complex, np.generic)):
        return _written
    if kind is tuple:
        return _tuple
    return _number_type if issubclass(kind, type) else _undescribed


#: By type: how Python arguments of the type are described.
_describe: dict[type, Callable[[Any], Any]] = {}


def _described(x: Any) -> Any:
    """A hashable description of a Python argument, alike for alike arguments only; None if there is none.

    1, 1.0 and True are equal, but make different equations.
    """
    kind = type(x)
    describe = _describe.get(kind)
    if describe is None:
        describe = _describe[kind] = _describing(kind)
    return describe(x)


#: By the types, Python arguments and flags of a call: what it recorded; None: it was seen once; False: it can't be
#: copied.
Kept = dict[Any, Stretch | bool | None]


def inline(
    trace: StagingTrace, kept: Kept, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`fun(*args, **kwargs)`, whose equations go to `trace`; `kept` is what is known of `fun`."""
    tracer = trace.tracer
    inputs: list[Any] = []
    call: list[Any] = [trace_context()]
    for x in (*args, *kwargs.values()) if kwargs else args:
        if type(x) is tracer and x._trace is trace:
            if type(x._var) is Literal:  # a constant of the program: its value is a part of what is recorded
                call.append((x.aval, _written(x._var.val)))
            else:
                inputs.append(x._var)
                call.append(x.aval)
        elif x is None or type(x) is bool or type(x) is str:
            call.append(x)
        else:
            described = _described(x)
            if described is None:
                return fun(*args, **kwargs)
            call.append(described)
    if kwargs:
        call.extend(kwargs)
    key = tuple(call)
    found = kept.get(key, 0)
    if type(found) is Stretch:
        return found.record(trace, inputs, current.position)
    if found is False:
        return fun(*args, **kwargs)
    if found == 0:
        if len(kept) >= _MAX_CALLS:
            kept.clear()
        kept[key] = None
        return fun(*args, **kwargs)
    start = len(trace.eqns)
    outer, current.warned = current.warned, False
    out = fun(*args, **kwargs)
    warned = current.warned
    current.warned = outer or warned
    if not warned and len(set(inputs)) == len(inputs):
        kept[key] = stretch(trace, start, inputs, out) or False
    return out
