"""The executable specification of the language: raises JaxprTypeError where a jaxpr breaks a rule."""

from __future__ import annotations

from typing import Any

from xtrace.core.avals import AbstractValue, ShapedArray
from xtrace.core.errors import JaxprTypeError
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var, no_effects, subjaxprs


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Check that `jaxpr` is well formed.

    1. Every variable is bound once, before it is read. 2. Literals are scalars. 3. Each equation's outputs have
    the avals that its primitive's rule gives (weak types included). 4. Jaxprs in parameters are closed and well
    formed. 5. Effects of equations are among the jaxpr's. 6. There is one const for each constvar, of its type.
    """
    bound: set[Var] = set()

    def bind(v: Any, what: str) -> None:
        if not isinstance(v, Var) or not isinstance(v.aval, AbstractValue):
            _fail(jaxpr, f"{what} {v!r} is not a variable")
        if v in bound:
            _fail(jaxpr, f"{what} {v!r} is bound twice")
        bound.add(v)

    for v in jaxpr.constvars:
        bind(v, "constvar")
    for v in jaxpr.invars:
        bind(v, "invar")
    if jaxpr.consts and len(jaxpr.consts) != len(jaxpr.constvars):
        _fail(jaxpr, f"{len(jaxpr.constvars)} constvars but {len(jaxpr.consts)} consts")
    effects: frozenset[Any] = no_effects
    for eqn in jaxpr.eqns:
        for atom in eqn.invars:
            _check_read(jaxpr, atom, bound, eqn)
        _check_eqn(jaxpr, eqn)
        for v in eqn.outvars:
            bind(v, "output")
        effects |= eqn.effects
    for atom in jaxpr.outvars:
        _check_read(jaxpr, atom, bound, None)
    if not effects <= jaxpr.effects:
        _fail(jaxpr, f"effects {set(effects - jaxpr.effects)} of equations are missing from the jaxpr's")


def _check_read(jaxpr: Jaxpr, v: Any, bound: set[Var], eqn: JaxprEqn | None) -> None:
    where = f"equation `{eqn!r}`" if eqn is not None else "the outputs"
    if type(v) is Literal:
        if not isinstance(v.aval, ShapedArray) or v.aval.shape != ():
            _fail(jaxpr, f"literal {v!r} in {where} is not a scalar")
    elif v not in bound:
        _fail(jaxpr, f"variable {v!r} is read in {where} before it is bound")


def _check_eqn(jaxpr: Jaxpr, eqn: JaxprEqn) -> None:
    for sub in subjaxprs(eqn.params):
        if sub.constvars:
            _fail(jaxpr, f"the jaxpr in {eqn.primitive.name} has constvars; closed-over values must be operands")
        check_jaxpr(sub)
    out = eqn.primitive.out_aval(tuple([v.aval for v in eqn.invars]), eqn.params)
    wanted = list(out) if eqn.primitive.multiple_results else [out]
    got = [v.aval for v in eqn.outvars]
    if len(wanted) != len(got) or any(w is not g for w, g in zip(wanted, got)):
        _fail(jaxpr, f"equation `{eqn!r}` has outputs of type {got}, its rule gives {wanted}")


def _fail(jaxpr: Jaxpr, message: str) -> None:
    raise JaxprTypeError(f"{message}\n\nin the jaxpr of {jaxpr.debug_info.func_src_info}:\n{jaxpr}")
