"""Stacked slices: where many kernels read slices of one array, the places are operands of the kernels.

Layers that read their weights out of one stacked array differ in where their slice begins, so no two of their kernels
are alike and XLA:CPU compiles each. A slice that begins at a number behind an optimization barrier is read in place by
kernels that are all alike.
"""

from __future__ import annotations

from typing import Any

from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Var, literal
from xtrace.lax.identities import optimization_barrier_p
from xtrace.lax.slicing import dynamic_slice_p
from xtrace.lowering.passes import bodies
from xtrace.lowering.passes.pipeline import Note, Target

#: So many slices at different places, in as many kernels, are worth hiding.
FEWEST = 8


def run(jaxpr: Jaxpr, target: Target) -> tuple[Jaxpr, list[Note]]:
    """The program with such slices behind barriers, bodies of loops and branches too."""
    notes: list[Note] = []
    return _apart(jaxpr, notes), notes


def _apart(jaxpr: Jaxpr, notes: list[Note] | None) -> Jaxpr:
    if bodies.count_of(jaxpr, ("slice",)) < FEWEST and not bodies.any_held(jaxpr):
        return jaxpr
    groups: dict[Any, tuple[list[int], set[int]]] = {}
    changed: dict[int, list[JaxprEqn]] = {}
    kernel = 0
    for i, eqn in enumerate(jaxpr.eqns):
        name = eqn.primitive.name
        if eqn.primitive.holds_jaxprs:
            made = bodies.rewritten(eqn, _body)
            if made is not eqn:
                changed[i] = [made]
        if name in bodies.KERNELS:
            kernel += 1
        elif name == "slice":
            if eqn.params["strides"] is None:
                places, kernels = groups.setdefault((eqn.invars[0], id(eqn.outvars[0].aval)), ([], set()))
                places.append(i)
                kernels.add(kernel)
    starts: dict[int, Var] = {}
    for places, kernels in groups.values():
        if len(places) < FEWEST or len(kernels) < FEWEST:
            continue
        for i in places:
            changed[i] = [_at_hidden_place(jaxpr.eqns[i], starts)]
        if notes is not None:
            eqn = jaxpr.eqns[places[0]]
            reason = f"in {len(kernels)} kernels that would otherwise be alike"
            notes.append(Note(f"{len(places)} slices of {eqn.invars[0].aval.str_short()}", eqn.position, reason))
    if not changed:
        return jaxpr
    eqns: list[JaxprEqn] = []
    if starts:
        numbers = [literal(n, bodies.INDEX) for n in starts]
        eqns.append(JaxprEqn(optimization_barrier_p, numbers, list(starts.values()), {}))
    for i, eqn in enumerate(jaxpr.eqns):
        eqns += changed.get(i) or [eqn]
    return bodies.changed_eqns(jaxpr, eqns)


def _at_hidden_place(eqn: JaxprEqn, starts: dict[int, Var]) -> JaxprEqn:
    """A slice as one that begins at numbers from `starts`, where missing ones are added."""
    operand = eqn.invars[0]
    sizes = eqn.outvars[0].aval.shape
    places: list[Any] = []
    for start, size, whole in zip(eqn.params["start_indices"], sizes, operand.aval.shape):
        if size == whole:
            places.append(literal(0, bodies.INDEX))
            continue
        if start not in starts:
            starts[start] = Var(bodies.INDEX)
        places.append(starts[start])
    return eqn.replace(primitive=dynamic_slice_p, invars=[operand, *places], params={"slice_sizes": sizes})


def _body(jaxpr: Jaxpr) -> Jaxpr:
    return jaxpr.memo("slices apart", lambda: _apart(jaxpr, None))
