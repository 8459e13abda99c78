"""Primitives that call a jaxpr, made by name: what they compute is what the jaxpr computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.core.jaxpr import Jaxpr, eval_jaxpr
from xtrace.core.primitive import Primitive
from xtrace.transforms.call import jit_p
from xtrace.transforms.staging import closed_call_operands


def register_call_primitive_rules(
    prim: Primitive,
    name: str | None = None,
    transpose_rule: Callable[..., Any] | None = None,
    inline_jax_late: bool = True,
) -> None:
    """Give a primitive with a parameter `call_jaxpr`, a closed jaxpr, all the rules of a call.

    Args:
      prim: the primitive; `prim.bind(*args, call_jaxpr=jaxpr, **params)` gives the results of the jaxpr.
      name: what derivatives and mapped calls, which are plain `jit` calls, are named; None: the primitive's name.
      transpose_rule: (prim, cotangents, *args, call_jaxpr, **params) -> a cotangent or None for each operand.
      inline_jax_late: whether the call is lowered in line, as it is in any case.
    """
    called = prim.name if name is None else name

    def jit_params(call_jaxpr: Jaxpr) -> dict[str, Any]:
        return {"jaxpr": call_jaxpr, "name": called}

    def transpose(cts: Any, *args: Any, call_jaxpr: Jaxpr, **params: Any) -> Any:
        rule = eval_jaxpr_transpose if transpose_rule is None else transpose_rule
        return rule(prim, cts, *args, call_jaxpr=call_jaxpr, **params)

    prim.multiple_results = True
    prim.holds_jaxprs = True
    prim.abstract_eval = lambda *avals, call_jaxpr, **params: call_jaxpr.out_avals
    prim.effects = lambda avals, params: params["call_jaxpr"].effects
    prim.impl = lambda *args, call_jaxpr, **params: eval_jaxpr(call_jaxpr, call_jaxpr.consts, *args)
    prim.jvp = lambda primals, tangents, *, call_jaxpr, **params: jit_p.jvp(primals, tangents, **jit_params(call_jaxpr))
    prim.linearize = lambda tape, primals, tangents, *, call_jaxpr, **params: jit_p.linearize(
        tape, primals, tangents, **jit_params(call_jaxpr)
    )
    prim.batch = lambda axis, args, dims, *, call_jaxpr, **params: jit_p.batch(
        axis, args, dims, **jit_params(call_jaxpr)
    )
    prim.transpose = transpose
    prim.lower = lambda ctx, eqn, *operands: ctx.call(eqn.params["call_jaxpr"], called, operands)
    bind = prim.bind

    def bind_closed(*args: Any, call_jaxpr: Jaxpr, **params: Any) -> Any:
        if call_jaxpr.consts:  # they become operands, so that rules needn't know of them
            inputs = len(call_jaxpr.invars)
            call_jaxpr, consts = closed_call_operands(call_jaxpr)
            if len(args) == inputs:  # otherwise they are given, as those of JAX's open jaxprs are
                args = (*consts, *args)
        return bind(*args, call_jaxpr=call_jaxpr, **params)

    prim.bind = bind_closed  # type: ignore[method-assign]


def eval_jaxpr_transpose(prim: Primitive, ct: Any, *args: Any, call_jaxpr: Jaxpr, **params: Any) -> list[Any]:
    """The transpose rule of a call: a call of the transposed jaxpr.

    Args:
      prim: the primitive that calls. ct: cotangents of its results, some of them `Zero`.
      args: operands, an `UndefinedPrimal` for those that the call is linear in.
      call_jaxpr: the jaxpr that is called.

    Returns:
      A cotangent for each linear operand (None where there is none), None for the others.
    """
    return jit_p.transpose(ct, *args, jaxpr=call_jaxpr, name=prim.name)  # type: ignore[misc,no-any-return]


def create_call_primitive(name: str, inline_jax_late: bool = True) -> Primitive:
    """Make a primitive that calls the closed jaxpr in its parameter `call_jaxpr`, with all its rules.

    >>> import xtrace as xt
    >>> from xtrace.extend.core import primitives
    >>> twice_p = primitives.create_call_primitive("twice")
    >>> jaxpr = xt.make_jaxpr(lambda x: 2.0 * x)(1.0)
    >>> float(twice_p.bind(3.0, call_jaxpr=jaxpr)[0])
    6.0
    >>> float(xt.grad(lambda x: twice_p.bind(x, call_jaxpr=jaxpr)[0])(3.0))
    2.0
    """
    made = Primitive(name)
    register_call_primitive_rules(made, name, inline_jax_late=inline_jax_late)
    return made


__all__ = ["create_call_primitive", "eval_jaxpr_transpose", "register_call_primitive_rules"]
