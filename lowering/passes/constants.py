"""Constants: numbers and small arrays that differ between blocks that are alike are no part of their kernels.

XLA:CPU compiles kernels that are alike once. A network of a hundred layers that differ in one written number has a
hundred kernels; with the number as an operand it has one. So where operations of one source line, of the same types,
have many different numbers in many kernels, the numbers go through an optimization barrier, behind which the compiler
doesn't know them; so do small arrays that the program holds. Elsewhere they stay: a known number is simplified, and a
polynomial's coefficients are one kernel's.
"""

from __future__ import annotations

import itertools
from typing import Any

from xtrace.core import source
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var, literal, primitive_counts
from xtrace.lax.identities import optimization_barrier_p
from xtrace.lax.joining import concatenate_p
from xtrace.lax.shapes import broadcast_in_dim_p, squeeze_p
from xtrace.lax.slicing import dynamic_slice_p
from xtrace.lowering.passes import bodies
from xtrace.lowering.passes.pipeline import Note, Target

#: So many different constants, in as many kernels, are worth hiding.
FEWEST = 8


def run(jaxpr: Jaxpr, target: Target) -> tuple[Jaxpr, list[Note]]:
    """The program with such scalars behind a barrier, bodies of loops and branches too."""
    notes: list[Note] = []
    written = frozenset(jaxpr.constvars[: len(target.constants)])
    return _hidden(jaxpr, notes, written), notes


def _hidden(jaxpr: Jaxpr, notes: list[Note] | None, written: frozenset[Any] = frozenset()) -> Jaxpr:
    """written: variables that stand for arrays written into the program."""
    held = bodies.any_held(jaxpr)
    values = written | _numbers(jaxpr)
    if not held and not values:
        return jaxpr
    #: Operation and line -> the numbers and the kernels they are in.
    groups: dict[Any, tuple[dict[Any, Any], set[int], list[tuple[int, int]]]] = {}
    changed: dict[int, JaxprEqn] = {}
    kernel = 0
    kernels_of = {p for p in primitive_counts(jaxpr) if p.name in bodies.KERNELS}
    none_of = values.isdisjoint
    for i, eqn in enumerate(jaxpr.eqns):
        primitive = eqn.primitive
        if held and primitive.holds_jaxprs:
            made = bodies.rewritten(eqn, _body)
            if made is not eqn:
                changed[i] = made
        if primitive in kernels_of:
            kernel += 1
            continue
        invars = eqn.invars
        if none_of(invars):
            continue
        for j, v in enumerate(invars):
            if v not in values or type(v) is Literal and not (primitive.elementwise and len(invars) > 1):
                continue
            key = (primitive, j, v.aval, eqn.outvars[0].aval, _line(eqn.position))
            group = groups.get(key)
            if group is None:
                group = groups[key] = ({}, set(), [])
            group[0][v] = v
            group[1].add(kernel)
            group[2].append((i, j))
    hidden: dict[Any, Var] = {}
    for different, kernels, places in groups.values():
        if len(different) < FEWEST or len(kernels) < FEWEST:
            continue
        for v in different:
            if v not in hidden:
                hidden[v] = Var(v.aval)
        for i, j in places:
            eqn = changed.get(i) or jaxpr.eqns[i]
            invars = list(eqn.invars)
            invars[j] = hidden[invars[j]]
            changed[i] = eqn.replace(invars=invars)
        if notes is not None:
            eqn = jaxpr.eqns[places[0][0]]
            reason = f"in {len(kernels)} kernels that would otherwise be alike"
            notes.append(Note(f"{len(different)} constants of {eqn.primitive.name}", eqn.position, reason))
    if not changed:
        return jaxpr
    eqns = [*_hiding(hidden), *[changed.get(i, eqn) for i, eqn in enumerate(jaxpr.eqns)]]
    return bodies.changed_eqns(jaxpr, eqns)


def _line(position: source.Position | None) -> Any:
    """What is one for equations of one place: code objects are slow to hash."""
    return position and (id(position[0]), position[1])


def _numbers(jaxpr: Jaxpr) -> frozenset[Any]:
    """The different floating-point numbers, or none of them where they or the kernels are too few."""
    if bodies.count_of(jaxpr, bodies.KERNELS) < FEWEST - 1:
        return frozenset()
    read = set(itertools.chain.from_iterable([eqn.invars for eqn in jaxpr.eqns]))
    found = [v for v in read if type(v) is Literal and v.aval.dtype.kind in "fc"]
    return frozenset(found) if len(found) >= FEWEST else frozenset()


def _hiding(hidden: dict[Any, Var]) -> list[JaxprEqn]:
    """Equations that put the values of literals and variables into other variables, behind a barrier.

    Arrays of a type are stacked first and read where they are used: many barriered arrays would each be copied.
    """
    stacks: dict[Any, list[tuple[Any, Var]]] = {}
    inputs: list[Any] = []
    outputs: list[Var] = []
    for v, new in hidden.items():
        if v.aval.shape:
            stacks.setdefault((v.aval.shape, v.aval.dtype), []).append((v, new))
        else:
            inputs.append(v)
            outputs.append(new)
    before: list[JaxprEqn] = []
    after: list[JaxprEqn] = []
    places = [Var(bodies.INDEX) for _ in range(max([len(members) for members in stacks.values()], default=0))]
    inputs += [literal(i, bodies.INDEX) for i in range(len(places))]
    outputs += places
    for (shape, dtype), members in stacks.items():
        ndim = len(shape)
        one = ShapedArray((1, *shape), dtype)
        rows = [Var(one) for _ in members]
        widened = {"shape": one.shape, "broadcast_dimensions": tuple(range(1, ndim + 1)), "sharding": None}
        before += [JaxprEqn(broadcast_in_dim_p, [v], [row], widened) for row, (v, _) in zip(rows, members)]
        whole = ShapedArray((len(members), *shape), dtype)
        stacked, known = Var(whole), Var(whole)
        before.append(JaxprEqn(concatenate_p, rows, [stacked], {"dimension": 0}))
        inputs.append(stacked)
        outputs.append(known)
        for place, (_, new) in zip(places, members):
            row = Var(one)
            starts: list[Any] = [place, *[literal(0, bodies.INDEX)] * ndim]
            after.append(JaxprEqn(dynamic_slice_p, [known, *starts], [row], {"slice_sizes": one.shape}))
            after.append(JaxprEqn(squeeze_p, [row], [new], {"dimensions": (0,)}))
    if not inputs:
        return []
    return [*before, JaxprEqn(optimization_barrier_p, inputs, outputs, {}), *after]


def _body(jaxpr: Jaxpr) -> Jaxpr:
    return jaxpr.memo("numbers hidden", lambda: _hidden(jaxpr, None))
