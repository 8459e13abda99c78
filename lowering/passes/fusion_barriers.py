"""Fusion barriers: values that fusion would compute again in many kernels are computed once.

XLA:CPU fuses a cheap value into every kernel that reads it. In the gradient of a deep unrolled network such values are
built upon each other (sums along the residual stream above all), so that kernels grow across layers, each different
from all others: compiling them takes most of the time, running them computes the same over and over. An optimization
barrier ends the growth: what is behind it is a kernel's result, read by the others.

A value gets one if it comes from a cheap operation, is not a scalar, is read at least twice, feeds at least two
kernels (dots, reductions, results …), and the operations that would be fused into it are many (`_CONE`). A program
where all that would save little (`_GAIN`) is left as it is: a kernel more has its cost, too.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Var, primitive_counts
from xtrace.lax.identities import optimization_barrier_p
from xtrace.lowering.passes import bodies
from xtrace.lowering.passes.pipeline import Note, Target

#: Fused into each reader, whatever that costs.
_CHEAP = frozenset(
    (
        "abs add add_any and ceil clamp convert_element_type copy eq floor ge gt imag integer_pow is_finite le lt max "
        "min mul ne neg not or real round select_n shift_left shift_right_arithmetic shift_right_logical sign square "
        "stop_gradient sub xor"
    ).split()
)
#: Fused likewise: they only move elements.
_MOVING = frozenset(
    "broadcast_in_dim concatenate expand_dims iota pad reshape rev slice split squeeze transpose".split()
)
#: Computed once if several kernels read them, else fused.
_EXPENSIVE = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt cos cosh digamma div erf erf_inv erfc exp exp2 expm1 lgamma log log1p "
    "logistic pow rem rsqrt sin sinh sqrt tan tanh".split()
)
_IS_CHEAP, _IS_MOVING, _IS_EXPENSIVE = 1, 2, 3
#: Name of a primitive -> how it is fused; others are not.
_FUSIBLE = {
    **dict.fromkeys(_CHEAP, _IS_CHEAP),
    **dict.fromkeys(_MOVING, _IS_MOVING),
    **dict.fromkeys(_EXPENSIVE, _IS_EXPENSIVE),
}

#: Fewest operations that a barrier keeps from being computed again; of arrays beyond the caches, which cost their
#: traffic, more.
_CONE, _CONE_OF_LARGE, _LARGE = 8, 16, 1 << 20
#: Least ratio of what kernels would compute together to what they do with barriers.
_GAIN = 1.5
#: Programs with more equations are judged without the ratio, whose cost grows with their square.
_MANY = 20_000

_SEVERAL: Any = object()

#: Of a value that gets a barrier: the place of its equation, and how many operations would be fused into it.
_Chosen = tuple[int, int]


def run(jaxpr: Jaxpr, target: Target) -> tuple[Jaxpr, list[Note]]:
    """The program with barriers on chosen values, in the bodies of loops and branches too."""
    notes: list[Note] = []
    return _separated(jaxpr, notes), notes


def _separated(jaxpr: Jaxpr, notes: list[Note] | None) -> Jaxpr:
    eqns = jaxpr.eqns
    changed = False
    if bodies.any_held(jaxpr):
        made = [bodies.rewritten(e, _body) if e.primitive.holds_jaxprs else e for e in eqns]
        changed = made != eqns  # equations compare by identity
        if changed:
            eqns = made
    kind_of = {p: _FUSIBLE.get(p.name) for p in primitive_counts(jaxpr)}
    kinds = [kind_of[e.primitive] for e in eqns]
    # What each equation reads, once each.
    reads: list[Collection[Any]] = [
        vs if len(vs) < 2 or len(vs) == 2 and vs[0] is not vs[1] else {*vs} for vs in [e.invars for e in eqns]
    ]
    chosen: dict[Var, _Chosen] = {}
    if not _mostly_convolutions(jaxpr):
        several, read, read_again = _several_kernels(eqns, kinds, reads, jaxpr.outvars)
        if several:
            chosen = _chosen(eqns, kinds, reads, several)
        if chosen and len(eqns) <= _MANY:
            without, with_them = _fused_operations(eqns, kinds, reads, read, read_again, chosen)
            if without < _GAIN * with_them:
                chosen = {}
    if chosen:
        return bodies.changed_eqns(jaxpr, _with_barriers(eqns, chosen, notes))
    return bodies.changed_eqns(jaxpr, eqns) if changed else jaxpr


def _body(jaxpr: Jaxpr) -> Jaxpr:
    return jaxpr.memo("fusion barriers", lambda: _separated(jaxpr, None))


def _chosen(
    eqns: list[JaxprEqn], kinds: list[int | None], reads: list[Collection[Any]], several: set[Any]
) -> dict[Var, _Chosen]:
    """The values that get a barrier."""
    sizes: dict[Any, int] = {}
    chosen: dict[Var, _Chosen] = {}
    size_of = sizes.get
    for place, (eqn, kind, operands) in enumerate(zip(eqns, kinds, reads)):
        if kind is None:
            continue
        size = 1
        for v in operands:
            size += size_of(v, 0)
        out = eqn.outvars[0]
        if out in several:
            if kind == _IS_EXPENSIVE:
                size = 0
            elif kind == _IS_CHEAP and size >= _CONE:
                aval = out.aval
                if aval.shape and isinstance(aval, ShapedArray) and not aval.extended and _is_wide(aval):
                    if size >= _CONE_OF_LARGE or aval.size * aval.dtype.itemsize < _LARGE:
                        chosen[out] = place, size
                        size = 0
        sizes[out] = size
        if len(eqn.outvars) > 1:
            sizes.update(dict.fromkeys(eqn.outvars, size))
    return chosen


def _is_wide(aval: ShapedArray) -> bool:
    """Floats below 32 bits are converted around every operation; barriers in a transformer of bfloat16 gain nothing."""
    return aval.dtype.itemsize >= 4 or aval.dtype.kind in "biu"


def _mostly_convolutions(jaxpr: Jaxpr) -> bool:
    """Convolutional nets don't gain: barriers in sixteen residual blocks cost 5 to 13 percent, compiled and run."""
    return bodies.count_of(jaxpr, ("conv_general_dilated",)) > bodies.count_of(jaxpr, ("dot_general",))


def _several_kernels(
    eqns: list[JaxprEqn], kinds: list[int | None], reads: list[Collection[Any]], outvars: list[Any]
) -> tuple[set[Any], Container[Any], set[Any]]:
    """The values of fusible operations that are read at least twice, by at least two kernels.

    And what is read at all, and what is read at least twice. A kernel goes by its last value: of an operation that is
    not fused, a result, or an expensive value of several.
    """
    kernel: dict[Any, Any] = {}
    results = set(outvars)
    several: set[Any] = set()
    again: set[Any] = set()
    kernel_of, read_again = kernel.get, again.add
    for eqn, kind, operands in zip(reversed(eqns), reversed(kinds), reversed(reads)):
        own = out = eqn.outvars[0] if eqn.outvars else None
        if kind is not None:
            own = kernel_of(out)
            if out in results:
                own = out if own is None or own is out else _SEVERAL
            elif own is None:
                own = out
            if own is _SEVERAL and out in again:
                several.add(out)
                if kind == _IS_EXPENSIVE:
                    own = out
        for v in operands:
            found = kernel_of(v)  # of a literal too: to leave them out would cost more
            if found is None:
                kernel[v] = own
            else:
                read_again(v)
                if found is not own:
                    kernel[v] = _SEVERAL
    return several, kernel, again


def _fused_operations(
    eqns: list[JaxprEqn],
    kinds: list[int | None],
    reads: list[Collection[Any]],
    read: Container[Any],
    read_again: set[Any],
    chosen: dict[Var, _Chosen],
) -> tuple[int, int]:
    """How many operations all kernels have together, those counted several times that are fused into several.

    First as the program is, then with barriers on `chosen`. Sets of operations are bits of integers, which Python
    joins and counts fast.
    """
    cones: dict[Any, tuple[int, int]] = {}  # what is fused into a value, without barriers and with them
    cone_of = cones.get
    total = total_with = 0
    bit = 1
    for eqn, kind, operands in zip(eqns, kinds, reads):
        cone = cone_w = 0
        for v in operands:
            found = cone_of(v)
            if found is not None:
                cone |= found[0]
                cone_w |= found[1]
        if kind is not None:
            cone |= bit
            cone_w |= bit
            bit <<= 1
            outvars = eqn.outvars
            out = outvars[0]
            if out in read and (kind != _IS_EXPENSIVE or out not in read_again):
                if out in chosen:
                    total_with += cone_w.bit_count() + 1
                    cone_w = 0
                cones[out] = cone, cone_w
                if len(outvars) > 1:
                    cones.update(dict.fromkeys(outvars, (cone, cone_w)))
                continue
        total += cone.bit_count() + 1
        total_with += cone_w.bit_count() + 1
    return total, total_with


def _with_barriers(eqns: list[JaxprEqn], chosen: dict[Var, _Chosen], notes: list[Note] | None) -> list[JaxprEqn]:
    """The equations with barriers: what computed a chosen value gives a new one, of which the barrier makes it."""
    made: list[JaxprEqn] = []
    done = 0
    for out, (place, size) in chosen.items():
        eqn = eqns[place]
        inner = Var(out.aval)
        made += eqns[done:place]
        made.append(JaxprEqn(eqn.primitive, eqn.invars, [inner], eqn.params, eqn.position, eqn.effects, eqn.name_stack))
        made.append(JaxprEqn(optimization_barrier_p, [inner], [out], {}, eqn.position, name_stack=eqn.name_stack))
        done = place + 1
        if notes is not None:
            reason = f"several kernels read it, each of which would compute {size} operations again"
            notes.append(Note(f"{out.aval.str_short()} of {eqn.primitive.name}", eqn.position, reason))
    return made + eqns[done:]
