"""Common subexpressions: of equations that apply one operation to the same operands, the first serves all.

Operations with effects, optimization barriers (which are there to keep values apart), calls into Python and operations
lowered by rules that are not ours stay as they are.
"""

from __future__ import annotations

import weakref
from typing import Any

from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal
from xtrace.core.primitive import Primitive
from xtrace.lowering.passes import bodies
from xtrace.lowering.passes.pipeline import Note, Target

#: Operations of ours that may give something else each time.
_APART = ("copy", "copy_p", "device_put", "optimization_barrier", "pure_callback", "remat2", "rng_uniform")

#: Primitive -> whether its applications may be shared.
_mergeable: weakref.WeakKeyDictionary[Primitive, bool] = weakref.WeakKeyDictionary()


def run(jaxpr: Jaxpr, target: Target) -> tuple[Jaxpr, list[Note]]:
    """The program with each repeated equation replaced by the results of the first of its kind."""
    notes: list[Note] = []
    return _merged(jaxpr, notes), notes


def _merged(jaxpr: Jaxpr, notes: list[Note] | None) -> Jaxpr:
    seen: dict[Any, JaxprEqn] = {}  # by operation and operands: the rest is only looked at where these are equal
    alike: dict[Any, JaxprEqn] = {}  # by parameters too
    replaced: dict[Any, Any] = {}
    eqns: list[JaxprEqn] = []
    changed = False
    held, none_of = bodies.any_held(jaxpr), replaced.keys().isdisjoint
    first_of, append = seen.setdefault, eqns.append
    for eqn in jaxpr.eqns:
        primitive, invars = eqn.primitive, eqn.invars
        if replaced and not none_of(invars):
            invars = [replaced.get(v, v) for v in invars]
            eqn = JaxprEqn(primitive, invars, eqn.outvars, eqn.params, eqn.position, eqn.effects, eqn.name_stack)
        if held and primitive.holds_jaxprs:
            made = bodies.rewritten(eqn, _body)
            if made is not eqn:
                changed, eqn = True, made
        key = (primitive, *invars)
        first = first_of(key, eqn)
        if first is not eqn:
            first = _first_alike(key, first, eqn, alike)
            if first is not eqn:
                changed = True
                replaced.update(zip(eqn.outvars, first.outvars))
                if notes is not None:
                    notes.append(Note(primitive.name, eqn.position, "computed already"))
                continue
        append(eqn)
    if not changed:
        return jaxpr
    outvars = [v if type(v) is Literal else replaced.get(v, v) for v in jaxpr.outvars]
    return bodies.changed_eqns(jaxpr, eqns, outvars)


def _first_alike(key: Any, first: JaxprEqn, eqn: JaxprEqn, alike: dict[Any, JaxprEqn]) -> JaxprEqn:
    """The first equation that computes the same as `eqn`, of the operation and operands `key` like `first`."""
    primitive = eqn.primitive
    mergeable = _mergeable.get(primitive)
    if mergeable is None:
        mergeable = _find_mergeable(primitive)
    if not mergeable or eqn.effects or first.effects:
        return eqn
    try:
        alike.setdefault((key, *params_key(first.params)), first)
        first = alike.setdefault((key, *params_key(eqn.params)), eqn)
    except TypeError:  # an unhashable parameter
        return eqn
    return eqn if any([a.aval is not b.aval for a, b in zip(first.outvars, eqn.outvars)]) else first


def params_key(params: dict[str, Any]) -> list[Any]:
    """Parameters as they are compared: -0.0 is not 0.0, nor 1.0 the number 1."""
    if not params:
        return []
    values: list[Any] = list(params.values())
    for i, v in enumerate(values):
        kind = type(v)
        if kind is float or kind is complex or (kind is tuple and v and type(v[0]) in (float, complex)):
            values[i] = repr(v)
    return values


def _find_mergeable(primitive: Primitive) -> bool:
    rules = [primitive.lower, *(primitive.lower_on or {}).values()]
    ours = all([getattr(r, "__module__", "").startswith("xtrace.lowering.") for r in rules if r is not None])
    name = primitive.name
    found = _mergeable[primitive] = ours and name not in _APART and "callback" not in name
    return found


def _body(jaxpr: Jaxpr) -> Jaxpr:
    return jaxpr.memo("common subexpressions", lambda: _merged(jaxpr, None))
