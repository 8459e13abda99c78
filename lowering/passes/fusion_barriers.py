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
    kinds = [_FUSIBLE.get(e.primitive.name) for e in eqns]
    chosen, uses = _chosen(eqns, kinds, jaxpr.outvars)
    if chosen and len(eqns) <= _MANY:
        without, with_them = _fused_operations(eqns, kinds, uses, chosen)
        if without < _GAIN * with_them:
            chosen = {}
    if chosen:
        return bodies.with_eqns(jaxpr, *_with_barriers(eqns, jaxpr.outvars, chosen, notes))
    return bodies.with_eqns(jaxpr, eqns) if changed else jaxpr


def _body(jaxpr: Jaxpr) -> Jaxpr:
    return jaxpr.memo("fusion barriers", lambda: _separated(jaxpr, None))


def _chosen(eqns: list[JaxprEqn], kinds: list[int | None], outvars: list[Any]) -> tuple[dict[Var, int], dict[Any, int]]:
    """The values that get a barrier, each with the number of operations that would be fused into it; all reads."""
    if _mostly_convolutions(eqns):
        return {}, {}
    several, uses = _several_kernels(eqns, kinds, outvars)
    if not several:
        return {}, uses
    sizes: dict[Any, int] = {}
    chosen: dict[Var, int] = {}
    size_of = sizes.get
    for eqn, kind in zip(eqns, kinds):
        if kind is None:
            continue
        size = 1
        for v in eqn.invars if len(eqn.invars) == 1 else {*eqn.invars}:
            size += size_of(v, 0)
        out = eqn.outvars[0]
        if out in several:
            if kind == _IS_EXPENSIVE:
                size = 0
            elif kind == _IS_CHEAP and size >= _CONE:
                aval = out.aval
                if aval.shape and isinstance(aval, ShapedArray) and not aval.extended and _is_wide(aval):
                    if size >= _CONE_OF_LARGE or aval.size * aval.dtype.itemsize < _LARGE:
                        chosen[out] = size
                        size = 0
        for v in eqn.outvars:
            sizes[v] = size
    return chosen, uses


def _is_wide(aval: ShapedArray) -> bool:
    """Floats below 32 bits are converted around every operation; barriers in a transformer of bfloat16 gain nothing."""
    return aval.dtype.itemsize >= 4 or aval.dtype.kind in "biu"


def _mostly_convolutions(eqns: list[JaxprEqn]) -> bool:
    """Convolutional nets don't gain: barriers in sixteen residual blocks cost 5 to 13 percent, compiled and run."""
    names = [e.primitive.name for e in eqns]
    return names.count("conv_general_dilated") > names.count("dot_general")


def _several_kernels(
    eqns: list[JaxprEqn], kinds: list[int | None], outvars: list[Any]
) -> tuple[set[Any], dict[Any, int]]:
    """The values of fusible operations that are read at least twice, by at least two kernels; how often each is read.

    A kernel goes by its last value: of an operation that is not fused, a result, or an expensive value of several.
    """
    kernel: dict[Any, Any] = {}
    uses: dict[Any, int] = {}
    results = {v for v in outvars if type(v) is not Literal}
    several: set[Any] = set()
    kernel_of, uses_of = kernel.get, uses.get
    for eqn, kind in zip(reversed(eqns), reversed(kinds)):
        out = eqn.outvars[0] if eqn.outvars else None
        own = out
        if kind is not None:
            own = kernel_of(out)
            if out in results:
                own = out if own is None or own is out else _SEVERAL
            if own is None:
                own = out
            if own is _SEVERAL and uses_of(out, 0) >= 2:
                several.add(out)
                if kind == _IS_EXPENSIVE:
                    own = out
        for v in eqn.invars if len(eqn.invars) == 1 else {*eqn.invars}:
            if type(v) is Literal:
                continue
            uses[v] = uses_of(v, 0) + 1
            found = kernel_of(v)
            kernel[v] = own if found is None or found is own else _SEVERAL
    return several, uses


def _fused_operations(
    eqns: list[JaxprEqn], kinds: list[int | None], uses: dict[Any, int], chosen: dict[Var, int]
) -> tuple[int, int]:
    """How many operations all kernels have together, those counted several times that are fused into several.

    First as the program is, then with barriers on `chosen`. Sets of operations are bits of integers, which Python
    joins and counts fast.
    """
    cones: dict[Any, int] = {}
    with_barriers: dict[Any, int] = {}
    cone_of, cone_with = cones.get, with_barriers.get
    total = total_with = 0
    bit = 1
    for eqn, kind in zip(eqns, kinds):
        cone = cone_w = 0
        for v in eqn.invars:
            cone |= cone_of(v, 0)
            cone_w |= cone_with(v, 0)
        if kind is not None:
            cone |= bit
            cone_w |= bit
            bit <<= 1
            out = eqn.outvars[0]
            reads = uses.get(out, 0)
            if reads and (reads == 1 or kind != _IS_EXPENSIVE):
                for v in eqn.outvars:
                    cones[v] = cone
                if out in chosen:
                    total_with += cone_w.bit_count() + 1
                else:
                    for v in eqn.outvars:
                        with_barriers[v] = cone_w
                continue
        total += cone.bit_count() + 1
        total_with += cone_w.bit_count() + 1
    return total, total_with


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
