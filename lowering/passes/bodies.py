"""The jaxprs that equations hold and passes may rewrite: bodies of loops, branches and calls."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, liveness, primitive_counts

#: Primitive -> the parameters that hold programs as the user wrote them. The operators of reductions and windows are
#: not among them: compilers recognise those by their form.
BODIES: dict[str, tuple[str, ...]] = {
    "cond": ("branches",),
    "custom_jvp_call": ("call_jaxpr",),
    "custom_vjp_call": ("call_jaxpr",),
    "custom_vmap_call": ("call",),
    "jit": ("jaxpr",),
    "linear_solve": ("jaxprs",),
    "remat2": ("jaxpr",),
    "scan": ("jaxpr",),
    "while": ("cond_jaxpr", "body_jaxpr"),
}

#: The type of numbers that say where a slice begins.
INDEX = ShapedArray((), dtypes.int32)

#: Operations that kernels are fused around: between two of them there is at least one kernel.
KERNELS = frozenset(
    "dot_general conv_general_dilated reduce_sum reduce_max reduce_min reduce_prod reduce argmax argmin sort gather "
    "scatter scatter_add while scan cond cumsum fft".split()
)


def rewritten(eqn: JaxprEqn, rewrite: Callable[[Jaxpr], Jaxpr]) -> JaxprEqn:
    """The equation with `rewrite` applied to the bodies it holds; the same equation if none changes."""
    changed: dict[str, Any] = {}
    for name in BODIES.get(eqn.primitive.name, ()):
        held = eqn.params[name]
        if isinstance(held, Jaxpr):
            made: Any = rewrite(held)
            same = made is held
        elif isinstance(held, tuple):
            parts = [rewrite(j) if isinstance(j, Jaxpr) else j for j in held]
            same = all([a is b for a, b in zip(parts, held)])
            kind: Any = type(held)
            made = kind(*parts) if hasattr(kind, "_fields") else tuple(parts)
        else:
            continue
        if not same:
            changed[name] = made
    if not changed:
        return eqn
    return with_params(eqn, {**eqn.params, **changed})


def with_params(eqn: JaxprEqn, params: dict[str, Any]) -> JaxprEqn:
    return JaxprEqn(eqn.primitive, eqn.invars, eqn.outvars, params, eqn.position, eqn.effects, eqn.name_stack)


def any_held(jaxpr: Jaxpr) -> bool:
    """Whether some equation holds jaxprs."""
    return any([p.holds_jaxprs for p in primitive_counts(jaxpr)])


def count_of(jaxpr: Jaxpr, names: Container[str]) -> int:
    """How many equations apply primitives of these names."""
    return sum([n for p, n in primitive_counts(jaxpr).items() if p.name in names])


def count_reads(jaxpr: Jaxpr) -> dict[Any, int]:
    """How often each variable is read, by equations and as a result."""
    reads: dict[Any, int] = {}
    for vs in [*[e.invars for e in jaxpr.eqns], jaxpr.outvars]:
        for v in vs:
            if type(v) is not Literal:
                reads[v] = reads.get(v, 0) + 1
    return reads


def with_eqns(jaxpr: Jaxpr, eqns: list[JaxprEqn], outvars: Any = None) -> Jaxpr:
    """The jaxpr with other equations (and outputs), its inputs as they are."""
    return Jaxpr(
        jaxpr.constvars, jaxpr.invars, jaxpr.outvars if outvars is None else outvars, eqns, jaxpr.effects,
        jaxpr.debug_info, jaxpr.consts,
    )  # fmt: skip


def with_live_eqns(jaxpr: Jaxpr, eqns: list[JaxprEqn], read: set[Any], outvars: Any = None) -> Jaxpr:
    """`with_eqns`, all of them live, with what they and the outputs read: lowering needn't find out again."""
    made = with_eqns(jaxpr, eqns, outvars)
    made.memo("live", lambda: (eqns, read))
    return made


def changed_eqns(jaxpr: Jaxpr, eqns: list[JaxprEqn], outvars: Any = None) -> Jaxpr:
    """`with_eqns`, where a pass has left no equation without readers that had some."""
    kept, read = liveness(jaxpr)
    if kept != jaxpr.eqns:  # equations compare by identity
        return with_eqns(jaxpr, eqns, outvars)
    return with_live_eqns(jaxpr, eqns, read, outvars)


def without_dead(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr without equations that a rewriting has left without readers."""
    return with_live_eqns(jaxpr, *liveness(jaxpr))


__all__ = [
    "BODIES",
    "INDEX",
    "KERNELS",
    "any_held",
    "changed_eqns",
    "count_of",
    "count_reads",
    "rewritten",
    "with_eqns",
    "with_live_eqns",
    "with_params",
    "without_dead",
]
