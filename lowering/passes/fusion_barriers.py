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

from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var
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
_FUSIBLE = _CHEAP | _MOVING | _EXPENSIVE

#: Fewest operations that a barrier keeps from being computed again; of arrays beyond the caches, which cost their
#: traffic, more.
_CONE, _CONE_OF_LARGE, _LARGE = 16, 32, 1 << 20
#: Least ratio of what kernels would compute together to what they do with barriers.
_GAIN = 1.5
#: Programs with more equations are judged without the ratio, whose cost grows with their square.
_MANY = 20_000

_SEVERAL: Any = object()


def run(jaxpr: Jaxpr, target: Target) -> tuple[Jaxpr, list[Note]]:
    """The program with barriers on chosen values, in the bodies of loops and branches too."""
    notes: list[Note] = []
    return _separated(jaxpr, notes), notes


def _separated(jaxpr: Jaxpr, notes: list[Note] | None) -> Jaxpr:
    eqns = jaxpr.eqns
    changed = False
    if any([e.primitive.holds_jaxprs for e in eqns]):
        made = [bodies.rewritten(e, _body) if e.primitive.holds_jaxprs else e for e in eqns]
        changed = any([a is not b for a, b in zip(made, eqns)])
        if changed:
            eqns = made
    chosen = _chosen(eqns, jaxpr.outvars)
    if chosen and len(eqns) <= _MANY:
        without, with_them = _fused_operations(eqns, {}), _fused_operations(eqns, chosen)
        if without < _GAIN * with_them:
            chosen = {}
    if chosen:
        return bodies.with_eqns(jaxpr, *_with_barriers(eqns, jaxpr.outvars, chosen, notes))
    return bodies.with_eqns(jaxpr, eqns) if changed else jaxpr


def _body(jaxpr: Jaxpr) -> Jaxpr:
    return jaxpr.memo("fusion barriers", lambda: _separated(jaxpr, None))


def _chosen(eqns: list[JaxprEqn], outvars: list[Any]) -> dict[Var, int]:
    """The values that get a barrier, each with the number of operations that would be fused into it."""
    if _mostly_convolutions(eqns):
        return {}
    several = _several_kernels(eqns, outvars)
    if not several:
        return {}
    sizes: dict[Any, int] = {}
    chosen: dict[Var, int] = {}
    for eqn in eqns:
        name = eqn.primitive.name
        if name not in _FUSIBLE:
            continue
        size = 1
        for v in eqn.invars if len(eqn.invars) == 1 else {*eqn.invars}:
            size += sizes.get(v, 0)
        out = eqn.outvars[0]
        if out in several:
            if name in _EXPENSIVE:
                size = 0
            elif name in _CHEAP and size >= _CONE:
                aval = out.aval
                if aval.shape and isinstance(aval, ShapedArray) and not aval.extended:
                    if size >= _CONE_OF_LARGE or aval.size * aval.dtype.itemsize < _LARGE:
                        chosen[out] = size
                        size = 0
        for v in eqn.outvars:
            sizes[v] = size
    return chosen


def _mostly_convolutions(eqns: list[JaxprEqn]) -> bool:
    """Convolutional nets don't gain: barriers in sixteen residual blocks cost 5 to 13 percent, compiled and run."""
    names = [e.primitive.name for e in eqns]
    return names.count("conv_general_dilated") > names.count("dot_general")


def _several_kernels(eqns: list[JaxprEqn], outvars: list[Any]) -> set[Any]:
    """The values of fusible operations that are read at least twice, by at least two kernels.

    A kernel goes by its last value: of an operation that is not fused, a result, or an expensive value of several.
    """
    kernel: dict[Any, Any] = {}
    uses: dict[Any, int] = {}
    results = {v for v in outvars if type(v) is not Literal}
    several: set[Any] = set()
    for eqn in reversed(eqns):
        out = eqn.outvars[0] if eqn.outvars else None
        own = out
        name = eqn.primitive.name
        if name in _FUSIBLE:
            own = kernel.get(out)
            if out in results:
                own = out if own is None or own is out else _SEVERAL
            if own is None:
                own = out
            if own is _SEVERAL and uses.get(out, 0) >= 2:
                several.add(out)
                if name in _EXPENSIVE:
                    own = out
        for v in eqn.invars if len(eqn.invars) == 1 else {*eqn.invars}:
            if type(v) is Literal:
                continue
            uses[v] = uses.get(v, 0) + 1
            found = kernel.get(v)
            kernel[v] = own if found is None or found is own else _SEVERAL
    return several


def _fused_operations(eqns: list[JaxprEqn], chosen: dict[Var, int]) -> int:
    """How many operations all kernels have together, those counted several times that are fused into several.

    Sets of operations are bits of integers, which Python joins and counts fast.
    """
    cones: dict[Any, int] = {}
    total = 0
    uses: dict[Any, int] = {}
    for eqn in eqns:
        for v in eqn.invars:
            uses[v] = uses.get(v, 0) + 1
    bit = 1
    for eqn in eqns:
        cone = 0
        for v in eqn.invars:
            cone |= cones.get(v, 0)
        if eqn.primitive.name in _FUSIBLE:
            cone |= bit
            bit <<= 1
            out = eqn.outvars[0]
            kept_apart = out in chosen or (eqn.primitive.name in _EXPENSIVE and uses.get(out, 0) > 1)
            if not kept_apart and uses.get(out):
                for v in eqn.outvars:
                    cones[v] = cone
                continue
        total += cone.bit_count() + 1
    return total


def _with_barriers(
    eqns: list[JaxprEqn], outvars: list[Any], chosen: dict[Var, int], notes: list[Note] | None
) -> tuple[list[JaxprEqn], list[Any]]:
    """The equations and outputs that read chosen values behind their barriers."""
    behind: dict[Any, Var] = {}
    made: list[JaxprEqn] = []
    for eqn in eqns:
        if behind and not behind.keys().isdisjoint(eqn.invars):
            invars = [behind.get(v, v) for v in eqn.invars]
            eqn = JaxprEqn(
                eqn.primitive, invars, eqn.outvars, eqn.params, eqn.position, eqn.effects, eqn.name_stack
            )  # fmt: skip
        made.append(eqn)
        out = eqn.outvars[0] if eqn.outvars else None
        if out in chosen:
            held = behind[out] = Var(out.aval)
            made.append(
                JaxprEqn(optimization_barrier_p, [out], [held], {}, eqn.position, name_stack=eqn.name_stack)
            )  # fmt: skip
            if notes is not None:
                reason = f"several kernels read it, each of which would compute {chosen[out]} operations again"
                notes.append(Note(f"{out.aval.str_short()} of {eqn.primitive.name}", eqn.position, reason))
    return made, [behind.get(v, v) for v in outvars]
