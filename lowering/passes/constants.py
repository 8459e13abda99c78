"""Constants: scalars that differ between blocks that are alike are values of the program, not part of its kernels.

XLA:CPU compiles kernels that are alike once. A network of a hundred layers that differ in one written number has a
hundred kernels; with the number as an operand it has one. So where operations of one source line, of the same types,
have many different numbers in many kernels, the numbers go through an optimization barrier, behind which the compiler
doesn't know them. Elsewhere they stay: a known number is simplified, and a polynomial's coefficients are one kernel's.
"""

from __future__ import annotations

from typing import Any

from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var
from xtrace.lax.identities import optimization_barrier_p
from xtrace.lowering.passes import bodies
from xtrace.lowering.passes.pipeline import Note, Target

#: So many different numbers, in as many kernels, are worth hiding.
FEWEST = 8


def run(jaxpr: Jaxpr, target: Target) -> tuple[Jaxpr, list[Note]]:
    """The program with such scalars behind a barrier, bodies of loops and branches too."""
    notes: list[Note] = []
    return _hidden(jaxpr, notes), notes


def _hidden(jaxpr: Jaxpr, notes: list[Note] | None) -> Jaxpr:
    #: Operation and line -> the numbers and the kernels they are in.
    groups: dict[Any, tuple[dict[Any, Literal], set[int], list[tuple[int, int]]]] = {}
    changed: dict[int, JaxprEqn] = {}
    kernel = 0
    for i, eqn in enumerate(jaxpr.eqns):
        primitive = eqn.primitive
        if primitive.holds_jaxprs:
            made = bodies.rewritten(eqn, _body)
            if made is not eqn:
                changed[i] = made
        if primitive.name in bodies.KERNELS:
            kernel += 1
        elif primitive.elementwise:
            for j, v in enumerate(eqn.invars):
                if type(v) is Literal and v.aval.dtype.kind in "fc" and len(eqn.invars) > 1:
                    key = (id(primitive), j, id(v.aval), id(eqn.outvars[0].aval), eqn.position)
                    group = groups.get(key)
                    if group is None:
                        group = groups[key] = ({}, set(), [])
                    group[0][v] = v
                    group[1].add(kernel)
                    group[2].append((i, j))
    hidden: dict[Literal, Var] = {}
    for values, kernels, places in groups.values():
        if len(values) < FEWEST or len(kernels) < FEWEST:
            continue
        for v in values:
            if v not in hidden:
                hidden[v] = Var(v.aval)
        for i, j in places:
            eqn = changed.get(i) or jaxpr.eqns[i]
            invars = list(eqn.invars)
            invars[j] = hidden[invars[j]]  # type: ignore[index]
            changed[i] = eqn.replace(invars=invars)
        if notes is not None:
            eqn = jaxpr.eqns[places[0][0]]
            reason = f"in {len(kernels)} kernels that would otherwise be alike"
            notes.append(Note(f"{len(values)} numbers of {eqn.primitive.name}", eqn.position, reason))
    if not changed:
        return jaxpr
    eqns = [changed.get(i, eqn) for i, eqn in enumerate(jaxpr.eqns)]
    if hidden:
        eqns.insert(0, JaxprEqn(optimization_barrier_p, list(hidden), list(hidden.values()), {}))
    return bodies.with_eqns(jaxpr, eqns)


def _body(jaxpr: Jaxpr) -> Jaxpr:
    return jaxpr.memo("numbers hidden", lambda: _hidden(jaxpr, None))  # type: ignore[no-any-return]
