"""Dead code: jaxprs without what their wanted outputs don't depend on, inside the jaxprs that equations hold too.

A primitive that holds jaxprs may own a rule `prune(eqn, wanted) -> eqn`: the equation with the outputs marked, and what
they need. Others are kept whole where any of their results is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, no_effects


class Pruned(NamedTuple):
    """A jaxpr of the wanted outputs and the inputs they need; `used` tells which inputs those are."""

    jaxpr: Jaxpr
    used: list[bool]


def prune_jaxpr(jaxpr: Jaxpr, wanted: tuple[bool, ...], keep_inputs: tuple[bool, ...] | None = None) -> Pruned:
    """The closed jaxpr with the outputs marked `wanted` alone. Memoised on the jaxpr.

    keep_inputs: inputs that stay though nothing reads them.
    """
    return jaxpr.memo(("pruned", wanted, keep_inputs), lambda: _prune(jaxpr, wanted, keep_inputs))  # type: ignore[no-any-return]


def _prune(jaxpr: Jaxpr, wanted: tuple[bool, ...], keep_inputs: tuple[bool, ...] | None) -> Pruned:
    outvars = [v for v, want in zip(jaxpr.outvars, wanted) if want]
    live = {v for v in outvars if type(v) is not Literal}
    kept: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        flags = [v in live for v in eqn.outvars]
        if not any(flags) and not eqn.effects:
            continue
        rule = eqn.primitive.prune
        if rule is not None:
            eqn = rule(eqn, flags)
        kept.append(eqn)
        live.update([v for v in eqn.invars if type(v) is not Literal])
    kept.reverse()
    used = [v in live for v in jaxpr.invars]
    if keep_inputs is not None:
        used = [u or k for u, k in zip(used, keep_inputs)]
    effects = no_effects.union(*[e.effects for e in kept])
    invars = [v for v, u in zip(jaxpr.invars, used) if u]
    return Pruned(Jaxpr([], invars, outvars, kept, effects, jaxpr.debug_info), used)


def prune_calling_eqn(eqn: JaxprEqn, wanted: Sequence[bool]) -> JaxprEqn:
    """The rule of primitives that call the jaxpr in their parameter `jaxpr` on their operands."""
    jaxpr, used = prune_jaxpr(eqn.params["jaxpr"], tuple(wanted))
    if all(used) and all(wanted) and len(jaxpr.eqns) == len(eqn.params["jaxpr"].eqns):
        return eqn
    params = {**eqn.params, "jaxpr": jaxpr}
    cse = params.get("prevent_cse")
    if isinstance(cse, tuple):
        params["prevent_cse"] = tuple([c for c, u in zip(cse, used) if u])
    return eqn.replace(
        invars=[v for v, u in zip(eqn.invars, used) if u],
        outvars=[v for v, want in zip(eqn.outvars, wanted) if want],
        params=params,
        effects=jaxpr.effects,
    )


__all__ = ["Pruned", "prune_calling_eqn", "prune_jaxpr"]
