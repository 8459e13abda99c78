"""Which intermediate results a backward pass gets, and which it computes again: jaxprs split by a policy.

A policy is a function `(primitive, *avals, **params)`, asked about single operations. It returns a bool, or `Saveable`,
`Recompute` or an `Offloadable`. Primitives that hold jaxprs may own a rule, `split_saved(eqn, wanted, policy)`, so that
the policy is asked about what is inside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xtrace.core import source
from xtrace.core.effects import NamedAxisEffect
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var, live_eqns, no_effects

Policy = Callable[..., Any]


class SaveableType:
    """The type of `Saveable`: the result may be kept for the backward pass."""

    def __repr__(self) -> str:
        return "Saveable"


class RecomputeType:
    """The type of `Recompute`: the result is computed again in the backward pass."""

    def __repr__(self) -> str:
        return "Recompute"


class Offloadable(NamedTuple):
    """The result may be kept in another memory: moved from `src` to `dst` in the forward pass, and back."""

    src: Any
    dst: Any


Saveable = SaveableType()
Recompute = RecomputeType()


def saves(policy: Policy | None, eqn: JaxprEqn) -> bool:
    """Whether `policy` lets the results of `eqn` be kept. Raises TypeError where it answers neither way."""
    if policy is None:
        return False
    answer = policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
    if isinstance(answer, bool):
        return answer
    if isinstance(answer, (SaveableType, Offloadable)):
        return True
    if isinstance(answer, RecomputeType):
        return False
    raise TypeError(
        "Value returned by a remat policy should be a bool or `ad_checkpoint.Recompute`, `ad_checkpoint.Saveable` or "
        f"`ad_checkpoint.Offloadable(...)`. Got {answer} of type {type(answer)} for the operation "
        f"{eqn.primitive.name} at {source.describe(eqn.position)}."
    )


class SavedSplit(NamedTuple):
    """A jaxpr split by a policy. `forward`: args -> (outs, saved); `recompute`: (saved, args in `used`) -> wanted."""

    forward: Jaxpr
    #: The variables of the jaxpr whose values are kept, as they are called in both halves.
    saved: list[Var]
    recompute: Jaxpr
    used: list[bool]


def real_effects(effects: frozenset[Any]) -> frozenset[Any]:
    """Effects that happen: not the mere use of a mapped axis."""
    return frozenset([e for e in effects if not isinstance(e, NamedAxisEffect)]) if effects else effects


def split_saved(
    jaxpr: Jaxpr, wanted: tuple[bool, ...], policy: Policy | None, fixed: tuple[bool, ...] | None = None
) -> SavedSplit:
    """Split a closed jaxpr so that the outputs marked `wanted` can be had again. Memoised on the jaxpr.

    fixed: inputs such that what depends on them alone is not worth saving.
    """
    key = ("saved", wanted, policy, fixed)
    return jaxpr.memo(key, lambda: _split_saved(jaxpr, wanted, policy, fixed))  # type: ignore[no-any-return]


def _split_saved(
    jaxpr: Jaxpr, wanted: tuple[bool, ...], policy: Policy | None, fixed: tuple[bool, ...] | None
) -> SavedSplit:
    """One backward walk: what a wanted value is computed from is wanted too, as far as the policy saves nothing."""
    needed = {v for v, want in zip(jaxpr.outvars, wanted) if want and type(v) is not Literal}
    outvars = [v for v, want in zip(jaxpr.outvars, wanted) if want]
    saved: dict[Var, None] = {}
    forward = list(live_eqns(jaxpr))
    recomputed = []
    invariant = _depending_on(jaxpr, forward, fixed) if policy is not None and fixed is not None else set()
    for i in reversed(range(len(forward))):
        eqn = forward[i]
        flags = [v in needed for v in eqn.outvars]
        if not any(flags) and not (eqn.effects and real_effects(eqn.effects)):
            continue
        again: JaxprEqn | None = eqn
        kept: Sequence[Var] = ()
        rule = eqn.primitive.split_saved
        if invariant and all([v in invariant for v in eqn.outvars]):
            pass
        elif rule is not None:
            forward[i], kept, again = rule(eqn, flags, policy)
        elif saves(policy, eqn):
            kept, again = [v for v, flag in zip(eqn.outvars, flags) if flag], None
        saved.update(dict.fromkeys(kept))
        if again is not None:
            recomputed.append(again)
            needed.update([v for v in again.invars if type(v) is not Literal and v not in saved])
    recomputed.reverse()
    used = [v in needed for v in jaxpr.invars]
    inputs = [*saved, *[v for v, u in zip(jaxpr.invars, used) if u]]
    effects = no_effects.union(*[e.effects for e in recomputed])
    info = jaxpr.debug_info
    return SavedSplit(
        Jaxpr([], jaxpr.invars, [*jaxpr.outvars, *saved], forward, jaxpr.effects, info),
        list(saved),
        Jaxpr([], inputs, outvars, recomputed, effects, info),
        used,
    )


def _depending_on(jaxpr: Jaxpr, eqns: Sequence[JaxprEqn], fixed: tuple[bool, ...]) -> set[Any]:
    """The variables that depend on the inputs marked `fixed` alone."""
    found: set[Any] = {v for v, f in zip(jaxpr.invars, fixed) if f}
    for eqn in eqns:
        if not eqn.effects and all([type(v) is Literal or v in found for v in eqn.invars]):
            found.update(eqn.outvars)
    return found


class SavedCall(NamedTuple):
    """How a jaxpr that an equation holds is split: `split`, and which results of the equation are among the saved."""

    split: SavedSplit
    #: For each saved variable, the output that has the same value, or None where `forward` has to give it.
    places: list[int | None]
    #: Outputs that the recomputation gives: those wanted that aren't saved as they are.
    again: list[bool]
    forward: Jaxpr


def split_call(jaxpr: Jaxpr, wanted: Sequence[bool], policy: Policy | None) -> SavedCall:
    """Split the jaxpr that an equation holds, where `wanted` says which results of the equation are needed again."""
    split = split_saved(jaxpr, tuple(wanted), policy)
    position = {v: i for i, v in enumerate(jaxpr.outvars) if type(v) is not Literal}
    places = [position.get(v) for v in split.saved]
    at_hand = {place for place in places if place is not None}
    again = [want and i not in at_hand for i, want in enumerate(wanted)]
    if again != list(wanted):
        split = _without_saved(split, jaxpr, again)
    extra = [v for v, place in zip(split.saved, places) if place is None]
    forward = split.forward
    forward = Jaxpr([], forward.invars, [*jaxpr.outvars, *extra], forward.eqns, forward.effects, forward.debug_info)
    return SavedCall(split, places, again, forward)


def _without_saved(split: SavedSplit, jaxpr: Jaxpr, again: Sequence[bool]) -> SavedSplit:
    """The recomputation without the outputs that are saved as they are."""
    old = split.recompute
    outvars = [v for v, a in zip(jaxpr.outvars, again) if a]
    return split._replace(recompute=Jaxpr([], old.invars, outvars, old.eqns, old.effects, old.debug_info))


def split_calling_eqn(
    eqn: JaxprEqn, wanted: Sequence[bool], policy: Policy | None
) -> tuple[JaxprEqn, list[Var], JaxprEqn | None]:
    """The rule of primitives that call the jaxpr in their parameter `jaxpr` on their operands.

    Returns the equation of the forward pass, the variables saved of it, and the equation that computes the rest again.
    """
    jaxpr: Jaxpr = eqn.params["jaxpr"]
    call: SavedCall = jaxpr.memo(("saved call", tuple(wanted), policy), lambda: split_call(jaxpr, wanted, policy))
    split, places, again, forward_jaxpr = call
    saved = [Var(v.aval) if place is None else eqn.outvars[place] for v, place in zip(split.saved, places)]
    added = [v for v, place in zip(saved, places) if place is None]
    forward = eqn
    if added:
        forward = eqn.replace(outvars=[*eqn.outvars, *added], params={**eqn.params, "jaxpr": forward_jaxpr})
    if not any(again) and not split.recompute.effects:
        return forward, saved, None
    operands = [*saved, *[v for v, used in zip(eqn.invars, split.used) if used]]
    outvars = [v for v, a in zip(eqn.outvars, again) if a]
    params = {**eqn.params, "jaxpr": split.recompute}
    if isinstance(params.get("prevent_cse"), tuple):
        flags = [c for c, used in zip(params["prevent_cse"], split.used) if used]
        params["prevent_cse"] = (*[True] * len(saved), *flags)
    effects = split.recompute.effects
    return forward, saved, eqn.replace(invars=operands, outvars=outvars, params=params, effects=effects)


__all__ = [
    "Offloadable",
    "Policy",
    "Recompute",
    "RecomputeType",
    "Saveable",
    "SaveableType",
    "SavedCall",
    "SavedSplit",
    "real_effects",
    "saves",
    "split_call",
    "split_calling_eqn",
    "split_saved",
]
