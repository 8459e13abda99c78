"""Inlining: calls are written out where the compiler would do the same, so that other passes see the program whole.

A checkpointed function that was differentiated keeps its meaning: its operands go through an optimization barrier, in
front of the equations that compute again what the forward pass did. Behind that barrier nothing is fused with what
comes before, so a checkpointed function that is called several times stays one: written out, twelve blocks took seven
times as long to lower and as long to compile.
"""

from __future__ import annotations

from typing import Any

from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var, literal
from xtrace.core.scopes import nested
from xtrace.lax.identities import optimization_barrier_p
from xtrace.lax.shapes import convert_element_type_p
from xtrace.lowering.passes import bodies
from xtrace.lowering.passes.pipeline import Note, Target

#: Primitive -> the parameter with the jaxpr that it calls.
CALLS = {"jit": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "remat2": "jaxpr"}

#: A function that is called several times stays one if its calls have more equations than this together: writing it
#: out would cost more time in lowering than is gained.
_MOST = 20_000


def run(jaxpr: Jaxpr, target: Target) -> tuple[Jaxpr, list[Note]]:
    """The program with its calls written out, bodies of loops and branches too."""
    notes: list[Note] = []
    return _inlined(jaxpr, notes), notes


def _inlined(jaxpr: Jaxpr, notes: list[Note] | None) -> Jaxpr:
    if not bodies.any_held(jaxpr):
        return jaxpr
    counts: dict[int, int] = {}
    for eqn in jaxpr.eqns:
        held = CALLS.get(eqn.primitive.name)
        if held is not None and eqn.primitive.holds_jaxprs:
            key = id(eqn.params[held])
            counts[key] = counts.get(key, 0) + 1
    eqns: list[JaxprEqn] = []
    replaced: dict[Any, Any] = {}
    changed = False
    for eqn in jaxpr.eqns:
        primitive = eqn.primitive
        if replaced and not replaced.keys().isdisjoint(eqn.invars):
            invars = [replaced.get(v, v) for v in eqn.invars]
            eqn = JaxprEqn(primitive, invars, eqn.outvars, eqn.params, eqn.position, eqn.effects, eqn.name_stack)
        if not primitive.holds_jaxprs:
            eqns.append(eqn)
            continue
        held = CALLS.get(primitive.name)
        if held is None:
            made = bodies.rewritten(eqn, _body)
            changed = changed or made is not eqn
            eqns.append(made)
            continue
        called = _body(eqn.params[held])
        calls = counts[id(eqn.params[held])]
        checkpointed = primitive.name == "remat2"
        if calls > 1 and (checkpointed or calls * len(called.eqns) > _MOST):
            changed = changed or called is not eqn.params[held]
            eqns.append(bodies.with_params(eqn, {**eqn.params, held: called}))
            continue
        changed = True
        scope = _scope(eqn)
        operands = eqn.invars
        if checkpointed:
            operands = _held_apart(eqn, eqns)
        outs = write_out(called, operands, eqns, scope)
        outs = [_as_typed(out, v.aval, eqns) for out, v in zip(outs, eqn.outvars)]
        replaced.update(zip(eqn.outvars, outs))
        if notes is not None:
            name = eqn.params.get("name", "")
            notes.append(
                Note(f"{primitive.name} {name}".strip(), eqn.position, f"{len(called.eqns)} equations written out")
            )
    if not changed:
        return jaxpr
    outvars = [v if type(v) is Literal else replaced.get(v, v) for v in jaxpr.outvars]
    return bodies.with_eqns(jaxpr, eqns, outvars)


def _body(jaxpr: Jaxpr) -> Jaxpr:
    return jaxpr.memo("inlined", lambda: _inlined(jaxpr, None))


def _scope(eqn: JaxprEqn) -> str:
    """The scope of what is written out: a jitted function's name stays in the names of operations."""
    if eqn.primitive.name != "jit":
        return eqn.name_stack
    own = f"jit({eqn.params['name']})"
    return nested(eqn.name_stack, own)


def _held_apart(eqn: JaxprEqn, eqns: list[JaxprEqn]) -> list[Any]:
    """The operands of a checkpointed call, those behind a barrier that have to be."""
    params, operands = eqn.params, list(eqn.invars)
    cse = params["prevent_cse"]
    if not params["differentiated"]:
        return operands
    held = [i for i in range(len(operands)) if cse is True or (cse is not False and cse[i])]
    if held:
        made = [Var(operands[i].aval) for i in held]
        inputs = [operands[i] for i in held]
        eqns.append(JaxprEqn(optimization_barrier_p, inputs, made, {}, eqn.position, name_stack=eqn.name_stack))
        for i, v in zip(held, made):
            operands[i] = v
    return operands


def write_out(jaxpr: Jaxpr, operands: Any, eqns: list[JaxprEqn], scope: str) -> list[Any]:
    """Append the equations of a closed jaxpr to `eqns`, on these operands and new variables; return its results."""
    value: dict[Any, Any] = {v: _as_typed(x, v.aval, eqns) for v, x in zip(jaxpr.invars, operands)}
    read = value.get
    for eqn in jaxpr.eqns:
        invars = [read(v, v) for v in eqn.invars]  # literals stand for themselves
        outvars = [Var(v.aval) for v in eqn.outvars]
        for old, new in zip(eqn.outvars, outvars):
            value[old] = new
        stack = eqn.name_stack
        if scope:
            stack = nested(scope, stack)
        eqns.append(JaxprEqn(eqn.primitive, invars, outvars, eqn.params, eqn.position, eqn.effects, stack))
    return [read(v, v) for v in jaxpr.outvars]


def _as_typed(x: Any, aval: Any, eqns: list[JaxprEqn]) -> Any:
    """`x` where a value of type `aval` is read: calls may take or give weakly typed values for others."""
    if x.aval is aval:
        return x
    if type(x) is Literal:
        return literal(x.val, aval)
    made = Var(aval)
    params = {"new_dtype": aval.dtype, "weak_type": aval.weak_type, "sharding": None}
    eqns.append(JaxprEqn(convert_element_type_p, [x], [made], params))
    return made
