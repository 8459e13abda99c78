"""What of scan and cond a backward pass gets and what it runs again, and how both lose results that nobody reads.

The rules `split_saved` (see transforms.saving) and `prune` (see transforms.dead_code) of their primitives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var, no_effects
from xtrace.lax.control_flow import common
from xtrace.lax.control_flow.conditionals import cond_p
from xtrace.lax.control_flow.scans import scan_p
from xtrace.transforms.dead_code import prune_jaxpr
from xtrace.transforms.saving import Policy, SavedSplit, split_saved

Split = tuple[JaxprEqn, Sequence[Var], JaxprEqn | None]


def _chosen(items: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [x for x, flag in zip(items, flags) if flag]


# -- scan ------------------------------------------------------------------------------------------------------------


def _scan_split(eqn: JaxprEqn, wanted: Sequence[bool], policy: Policy | None) -> Split:
    """Saved values of a step are stacked. Steps that are run again take them as elements of xs."""
    params = eqn.params
    body: Jaxpr = params["jaxpr"]
    n_consts, n_carry, length = params["num_consts"], params["num_carry"], params["length"]
    end = n_consts + n_carry
    carried = list(wanted[:n_carry])
    # What depends on the constants alone is the same in all steps: to stack it would be a waste.
    fixed = tuple([i < n_consts for i in range(len(body.invars))])
    while True:  # a step needs the carry that it reads, whose chain is run again with it
        split = split_saved(body, (*carried, *wanted[n_carry:]), policy, fixed)
        more = [c or u for c, u in zip(carried, split.used[n_consts:end])]
        if more == carried:
            break
        carried = more
    saved = split.saved
    # A value that is stacked among the results already is not stacked twice.
    position = {v: i for i, v in enumerate(body.outvars) if i >= n_carry and type(v) is not Literal}
    places = [position.get(v) for v in saved]
    stacked = [
        eqn.outvars[place] if place is not None else Var(v.aval.update(shape=(length, *v.aval.shape)))
        for v, place in zip(saved, places)
    ]
    added = [v for v, place in zip(stacked, places) if place is None]
    forward = eqn
    if added:
        outs = [*body.outvars, *[v for v, place in zip(saved, places) if place is None]]
        forward_body = common.rearranged(split.forward, split.forward.invars, outs)
        forward = eqn.replace(outvars=[*eqn.outvars, *added], params={**params, "jaxpr": forward_body})
    at_hand = {place for place in places if place is not None}
    ys_again = [w and i not in at_hand for i, w in enumerate(wanted)][n_carry:]
    if not any(carried) and not any(ys_again) and not split.recompute.effects:
        return forward, stacked, None
    outs = [*_chosen(body.outvars[:n_carry], carried), *_chosen(body.outvars[n_carry:], ys_again)]
    consts = _chosen(body.invars[:n_consts], split.used)
    carry = _chosen(body.invars[n_consts:end], carried)
    xs = _chosen(body.invars[end:], split.used[end:])
    again_body = common.rearranged(split.recompute, [*consts, *carry, *xs, *saved], outs)
    operands = [
        *_chosen(eqn.invars[:n_consts], split.used),
        *_chosen(eqn.invars[n_consts:end], carried),
        *_chosen(eqn.invars[end:], split.used[end:]),
        *stacked,
    ]
    last = [v if w else Var(v.aval) for v, w in zip(eqn.outvars[:n_carry], wanted)]
    again = eqn.replace(
        invars=operands,
        outvars=[*_chosen(last, carried), *_chosen(eqn.outvars[n_carry:], ys_again)],
        params={**params, "jaxpr": again_body, "num_consts": len(consts), "num_carry": len(carry)},
        effects=again_body.effects,
    )
    return forward, stacked, again


def _scan_prune(eqn: JaxprEqn, wanted: Sequence[bool]) -> JaxprEqn:
    params = eqn.params
    body: Jaxpr = params["jaxpr"]
    n_consts, n_carry = params["num_consts"], params["num_carry"]
    end = n_consts + n_carry
    carried = list(wanted[:n_carry])
    while True:
        flags = (*carried, *wanted[n_carry:])
        keep = (*[False] * n_consts, *carried, *[False] * (len(body.invars) - end))
        pruned, used = prune_jaxpr(body, flags, keep)
        if list(used[n_consts:end]) == carried:
            break
        carried = list(used[n_consts:end])
    if all(used) and all(flags) and len(pruned.eqns) == len(body.eqns):
        return eqn
    last = [v if w else Var(v.aval) for v, w in zip(eqn.outvars[:n_carry], wanted)]
    return eqn.replace(
        invars=_chosen(eqn.invars, used),
        outvars=[*_chosen(last, carried), *_chosen(eqn.outvars[n_carry:], wanted[n_carry:])],
        params={**params, "jaxpr": pruned, "num_consts": sum(used[:n_consts]), "num_carry": sum(carried)},
        effects=pruned.effects,
    )


scan_p.split_saved = _scan_split
scan_p.prune = _scan_prune


# -- cond ------------------------------------------------------------------------------------------------------------


def _slots(splits: Sequence[SavedSplit]) -> tuple[list[ShapedArray], list[list[int]]]:
    """Types of the values kept of whichever branch runs, and where among them each branch puts its own."""
    slots: list[ShapedArray] = []
    places = []
    for split in splits:
        free: dict[ShapedArray, list[int]] = {}
        for i, aval in enumerate(slots):
            free.setdefault(aval, []).append(i)
        mine = []
        for v in split.saved:
            if not free.get(v.aval):
                free[v.aval] = [len(slots)]
                slots.append(v.aval)
            mine.append(free[v.aval].pop(0))
        places.append(mine)
    return slots, places


def _cond_split(eqn: JaxprEqn, wanted: Sequence[bool], policy: Policy | None) -> Split:
    branches: tuple[Jaxpr, ...] = eqn.params["branches"]
    splits = [split_saved(b, tuple(wanted), policy) for b in branches]
    slots, places = _slots(splits)
    saved = [Var(a) for a in slots]
    forward = eqn
    if saved:
        with_slots = tuple([_with_slots(s, mine, slots, len(eqn.outvars)) for s, mine in zip(splits, places)])
        forward = eqn.replace(outvars=[*eqn.outvars, *saved], params={**eqn.params, "branches": with_slots})
    used = [any(u) for u in zip(*[s.used for s in splits])]
    again = tuple([_again(b, s, mine, slots, used) for b, s, mine in zip(branches, splits, places)])
    recompute = eqn.replace(
        invars=[eqn.invars[0], *saved, *_chosen(eqn.invars[1:], used)],
        outvars=_chosen(eqn.outvars, wanted),
        params={**eqn.params, "branches": again},
        effects=no_effects.union(*[b.effects for b in again]),
    )
    return forward, saved, recompute


def _with_slots(split: SavedSplit, mine: list[int], slots: list[ShapedArray], n_outs: int) -> Jaxpr:
    """A branch that gives what is saved of it in its slots, and zeros in those of the others."""
    forward = split.forward
    values: dict[int, Any] = dict(zip(mine, split.saved))
    eqns = list(forward.eqns)
    for i, aval in enumerate(slots):
        if i not in values:
            zeros = common.zeros_jaxpr(aval)
            eqns += zeros.eqns
            values[i] = zeros.outvars[0]
    outs = [*forward.outvars[:n_outs], *[values[i] for i in range(len(slots))]]
    return Jaxpr([], forward.invars, outs, eqns, forward.effects, forward.debug_info)


def _again(branch: Jaxpr, split: SavedSplit, mine: list[int], slots: list[ShapedArray], used: Sequence[bool]) -> Jaxpr:
    """A branch run again: it takes all slots, and the operands that any branch reads again."""
    own = dict(zip(mine, split.saved))
    invars = [own.get(i) or Var(a) for i, a in enumerate(slots)]
    return common.rearranged(split.recompute, [*invars, *_chosen(branch.invars, used)], split.recompute.outvars)


def _cond_prune(eqn: JaxprEqn, wanted: Sequence[bool]) -> JaxprEqn:
    branches: tuple[Jaxpr, ...] = eqn.params["branches"]
    flags = tuple(wanted)
    used = tuple([any(u) for u in zip(*[prune_jaxpr(b, flags).used for b in branches])])
    pruned = [prune_jaxpr(b, flags, used).jaxpr for b in branches]
    if all(used) and all(flags) and all([len(p.eqns) == len(b.eqns) for p, b in zip(pruned, branches)]):
        return eqn
    return eqn.replace(
        invars=[eqn.invars[0], *_chosen(eqn.invars[1:], used)],
        outvars=_chosen(eqn.outvars, wanted),
        params={**eqn.params, "branches": tuple(pruned)},
        effects=no_effects.union(*[b.effects for b in pruned]),
    )


cond_p.split_saved = _cond_split
cond_p.prune = _cond_prune
