"""Dead code: what neither a result nor an effect needs is left out, in the bodies of loops and branches too."""

from __future__ import annotations

from xtrace.core.effects import keep_alive
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, liveness
from xtrace.lowering.passes import bodies
from xtrace.lowering.passes.pipeline import Note, Target


def run(jaxpr: Jaxpr, target: Target) -> tuple[Jaxpr, list[Note]]:
    """The program without dead equations, and without results of calls, loops and branches that nothing reads."""
    notes: list[Note] = []
    return _without_dead(jaxpr, notes), notes


def _without_dead(jaxpr: Jaxpr, notes: list[Note] | None) -> Jaxpr:
    if not bodies.any_held(jaxpr):
        return _without_dead_equations(jaxpr, notes)
    live = {v for v in jaxpr.outvars if type(v) is not Literal}
    kept: list[JaxprEqn] = []
    changed = False
    for eqn in reversed(jaxpr.eqns):
        outvars = eqn.outvars
        if live.isdisjoint(outvars) and not (eqn.effects and keep_alive(eqn.effects)):
            changed = True
            if notes is not None:
                notes.append(_note(eqn))
            continue
        primitive = eqn.primitive
        if primitive.holds_jaxprs:
            made = eqn
            if primitive.prune is not None:  # the bodies inside are pruned by it too
                made = primitive.prune(eqn, [v in live for v in outvars])
                if notes is not None and len(made.outvars) < len(outvars):
                    few = len(outvars) - len(made.outvars)
                    reason = f"{few} of its {len(outvars)} results are not read"
                    notes.append(Note(primitive.name, eqn.position, reason))
            made = bodies.rewritten(made, _body)
            if made is not eqn:
                changed, eqn = True, made
        kept.append(eqn)
        live.update(eqn.invars)
    if not changed:
        return jaxpr
    kept.reverse()
    return bodies.with_live_eqns(jaxpr, kept, live)


def _without_dead_equations(jaxpr: Jaxpr, notes: list[Note] | None) -> Jaxpr:
    """Where no equation holds a body that has dead code of its own; what is live has mostly been asked before."""
    kept, read = liveness(jaxpr)
    if len(kept) == len(jaxpr.eqns):
        return jaxpr
    if notes is not None:
        live = set(kept)
        notes += [_note(eqn) for eqn in reversed(jaxpr.eqns) if eqn not in live]
    return bodies.with_live_eqns(jaxpr, kept, read)


def _note(eqn: JaxprEqn) -> Note:
    return Note(eqn.primitive.name, eqn.position, "no result depends on it")


def _body(jaxpr: Jaxpr) -> Jaxpr:
    """A body with all its inputs and results, memoised on it."""
    return jaxpr.memo("without dead code", lambda: _without_dead(jaxpr, None))
