"""Rules of differentiation, and what they are written with (jax.interpreters.ad)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.core.jaxpr import Jaxpr
from xtrace.core.primitive import Primitive, shaped
from xtrace.extend.linear_util import WrappedFun
from xtrace.interpreters.rule_tables import RuleTable
from xtrace.lax.shapes import convert_element_type
from xtrace.transforms import jvp as _jvp
from xtrace.transforms.accumulate import add_any_p as add_jaxvals_p
from xtrace.transforms.accumulate import add_tangents
from xtrace.transforms.jvp import JVPTrace, JVPTracer
from xtrace.transforms.zeros import UndefinedPrimal, Zero
from xtrace.transforms.zeros import instantiate as instantiate_zeros

#: primitive -> rule(primals, tangents, **params) -> (out, tangent of out); tangents may be `Zero`.
primitive_jvps = RuleTable("jvp")
#: primitive -> rule(cotangent, *args, **params) -> a cotangent or None for each arg; linear args are `UndefinedPrimal`.
primitive_transposes = RuleTable("transpose")


def is_undefined_primal(x: Any) -> bool:
    """Whether an operand of a transpose rule is one that the operation is linear in."""
    return type(x) is UndefinedPrimal


def add_jaxvals(x: Any, y: Any) -> Any:
    """The sum of two arrays of one type, as tangents and cotangents add up."""
    return add_jaxvals_p.bind(x, y)


def zeros_like_aval(aval: Any) -> Any:
    """An array of zeros of this type."""
    return instantiate_zeros(Zero(aval))


def get_primitive_transpose(p: Primitive) -> Callable[..., Any]:
    """The transpose rule of a primitive. Raises NotImplementedError if it has none."""
    if p.transpose is None:
        raise NotImplementedError(f"the primitive {p.name} has no transpose rule")
    return p.transpose


def defjvp2(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Give one derivative rule for each operand: rule(tangent, out, *primals, **params); None: constant in it."""
    primitive.jvps = tuple(jvprules)


def defjvp(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """As `defjvp2`, with rules that don't take the result: rule(tangent, *primals, **params)."""

    def without_result(rule: Callable[..., Any]) -> Callable[..., Any]:
        return lambda tangent, out, *primals, **params: rule(tangent, *primals, **params)

    defjvp2(primitive, *[rule and without_result(rule) for rule in jvprules])


def deflinear2(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Declare a primitive linear in its operands, with transpose rule(cotangent, *args, **params) -> cotangents."""
    _jvp.linear(primitive, lambda ct, *args, **params: transpose_rule(ct, *args, **params))


def deflinear(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """As `deflinear2`, with a rule that takes no operands: rule(cotangent, **params) -> cotangents."""
    deflinear2(primitive, lambda ct, *args, **params: transpose_rule(ct, **params))


def defbilinear(prim: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]) -> None:
    """Declare a primitive of two operands linear in each.

    lhs_rule, rhs_rule: (cotangent, x, y, **params) -> the cotangent of that operand, which is an `UndefinedPrimal`.
    """

    def tangent_like(t: Any, x: Any) -> Any:
        return convert_element_type(t, shaped(x).dtype)

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> list[Any]:
        if is_undefined_primal(x):
            return [lhs_rule(ct, x, y, **params), None]
        return [None, rhs_rule(ct, x, y, **params)]

    prim.jvps = (
        lambda t, out, x, y, **params: prim.bind(tangent_like(t, x), y, **params),
        lambda t, out, x, y, **params: prim.bind(x, tangent_like(t, y), **params),
    )
    prim.transpose = transpose


def jvp(fun: WrappedFun, has_aux: bool = False, instantiate: Any = True, transform_stack: bool = True) -> Any:
    """The function of flat (primals, tangents) that gives (outputs, their tangents), of a flat function.

    instantiate: whether tangents that are zero come as arrays. With has_aux, `fun` returns (outputs, aux), and the
    result is a pair of the function and one that gives the aux value.
    """
    aux: list[Any] = []

    def pushed(primals: Any, tangents: Any) -> Any:
        def flat(*xs: Any) -> Any:
            out = fun.call_wrapped(*xs)
            if has_aux:
                out, value = out
                aux[:] = [value]
            return out

        outs, out_tangents = _jvp.jvp_flat(flat, primals, tangents)
        return outs, [instantiate_zeros(t) for t in out_tangents] if instantiate else out_tangents

    from xtrace.extend import linear_util

    made = linear_util.wrap_init(pushed, debug_info=fun.debug_info)
    return (made, lambda: aux[0]) if has_aux else made


def jvp_jaxpr(jaxpr: Jaxpr, nonzeros: Any, instantiate: Any) -> tuple[Jaxpr, list[bool]]:
    """The jaxpr (primals, nonzero tangents) -> (outputs, tangents), and which outputs have tangents.

    instantiate: True, False, or one for each output: whether a tangent that is zero is made an array.
    """
    wanted = (instantiate,) * len(jaxpr.outvars) if isinstance(instantiate, bool) else tuple(instantiate)
    made = _jvp.jvp_jaxpr(jaxpr, tuple(nonzeros), wanted)
    return made.jaxpr, made.outs


__all__ = [
    "JVPTrace",
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_jaxvals_p",
    "add_tangents",
    "defbilinear",
    "defjvp",
    "defjvp2",
    "deflinear",
    "deflinear2",
    "get_primitive_transpose",
    "instantiate_zeros",
    "is_undefined_primal",
    "jvp",
    "jvp_jaxpr",
    "primitive_jvps",
    "primitive_transposes",
    "zeros_like_aval",
]
