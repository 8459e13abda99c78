"""Transformations and control flow in any order: every pair, sampled triples, compiled or eagerly (the seed decides).

Each wraps an elementwise function into another elementwise function: itself, or its derivative. So whatever the order,
what comes out is a known derivative of a function whose derivatives have a closed form.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp

lax = xt.lax
X = np.array([0.3, -0.8, 1.1])
_TRIPLES = 60


@dataclasses.dataclass(frozen=True)
class Tower:
    """A function, the derivative of order `order` of a base function, and which ways it can be differentiated."""

    fun: Callable[[Any], Any]
    order: int = 0
    forward: bool = True
    reverse: bool = True
    #: Whether its reverse derivative can be differentiated forward.
    forward_after_reverse: bool = True


#: name -> (function, NumPy function of (x, n): its n-th derivative)
_POLYNOMIAL = np.polynomial.Polynomial([0.0, 1.0, 0.0, -1.0, 0.3])
BASES = {
    "sine": (lambda x: xnp.sin(0.7 * x), lambda x, n: 0.7**n * np.sin(0.7 * x + n * math.pi / 2)),
    "exponential": (lambda x: x * xnp.exp(x), lambda x, n: (x + n) * np.exp(x)),
    "polynomial": (lambda x: x - x**3 + 0.3 * x * x * x * x, lambda x, n: _POLYNOMIAL.deriv(n)(x)),
    "reciprocal": (lambda x: 1 / (2 - x), lambda x, n: math.factorial(n) / (2 - x) ** (n + 1)),
}  # fmt: skip


# -- wrappers that leave the function what it is -------------------------------------------------------------------


def _scan(f: Any) -> Any:
    return lambda x: lax.scan(lambda c, e: (c, f(e)), 0, x)[1] if x.ndim else f(x)


def _carry(f: Any) -> Any:
    return lambda x: lax.scan(lambda c, _: (c * 0.5 + f(x), None), x * 0, None, length=2)[0] / 1.5


def _fori(f: Any) -> Any:
    return lambda x: lax.fori_loop(0, 3, lambda i, c: xnp.where(i == 1, f(x), c), x)


def _while(f: Any) -> Any:
    return lambda x: lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, f(x)), (0, x))[1]


def _cond(f: Any) -> Any:
    return lambda x: lax.cond(xnp.sum(x) > -50.0, f, lambda x: x * 3.0, x)


def _switch(f: Any) -> Any:
    return lambda x: lax.switch((xnp.sum(x) > -50.0).astype(int), [xnp.cos, f, lambda x: x * 3.0], x)


def _vmap(f: Any) -> Any:
    return lambda x: xt.vmap(f)(xnp.stack([x, x + 1.0]))[0]


def _vmap_of_switch(f: Any) -> Any:
    """A mapped predicate: both branches run, one result is selected."""
    return lambda x: xt.vmap(lambda p, x: lax.cond(p, xnp.cos, f, x), (0, None))(np.array([True, False]), x)[1]


def _custom_jvp(f: Any) -> Any:
    g = xt.custom_jvp(f)
    g.defjvp(lambda primals, tangents: xt.jvp(f, primals, tangents))
    return lambda x: g(x)


def _custom_vjp(f: Any) -> Any:
    g = xt.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, ct: xt.vjp(f, x)[1](ct))
    return lambda x: g(x)


def _jaxpr(f: Any) -> Any:
    def run(x: Any) -> Any:
        jaxpr = xt.make_jaxpr(f)(x)
        return xt.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, x)[0]

    return run


# -- wrappers that differentiate -----------------------------------------------------------------------------------


def _diagonal(matrix: Any) -> Any:
    return xnp.sum(matrix * np.eye(len(matrix)), axis=1) if matrix.ndim else matrix


def _total(f: Any) -> Any:
    return lambda x: xnp.sum(f(x))


def _linearize(f: Any) -> Any:
    return lambda x: xt.linearize(f, x)[1](xnp.ones_like(x))


def _linear_transpose(f: Any) -> Any:
    return lambda x: xt.linear_transpose(xt.linearize(f, x)[1], x)(xnp.ones_like(x))[0]


KEEPING = {
    "jit": xt.jit, "vmap": _vmap, "vmap of cond": _vmap_of_switch, "scan": _scan, "carry": _carry, "fori": _fori,
    "while": _while, "cond": _cond, "switch": _switch, "custom_jvp": _custom_jvp, "custom_vjp": _custom_vjp,
    "make_jaxpr": _jaxpr,
}  # fmt: skip
if hasattr(xt, "checkpoint"):
    KEEPING["checkpoint"] = xt.checkpoint
FORWARD = {
    "jvp": lambda f: lambda x: xt.jvp(f, (x,), (xnp.ones_like(x),))[1],
    "linearize": _linearize,
    "jacfwd": lambda f: lambda x: _diagonal(xt.jacfwd(f)(x)),
}
REVERSE = {
    "grad": lambda f: xt.grad(_total(f)),
    "vjp": lambda f: lambda x: xt.vjp(f, x)[1](xnp.ones_like(x))[0],
    "jacrev": lambda f: lambda x: _diagonal(xt.jacrev(f)(x)),
}
SECOND = {"hessian": lambda f: lambda x: _diagonal(xt.hessian(_total(f))(x))}
BOTH = {"linearize, transpose": _linear_transpose}
ALL = [*KEEPING, *FORWARD, *REVERSE, *SECOND, *BOTH]


def wrap(name: str, t: Tower) -> Tower | None:
    """`t` inside one more transformation; None where there is no such derivative."""
    if name in KEEPING:
        fun = KEEPING[name](t.fun)
        if name == "while":
            return dataclasses.replace(t, fun=fun, reverse=False)
        if name == "custom_jvp" and not t.forward:
            return None
        if name == "custom_vjp":
            return dataclasses.replace(t, fun=fun, forward=False, forward_after_reverse=t.forward)
        return dataclasses.replace(t, fun=fun)
    if name in FORWARD:
        return dataclasses.replace(t, fun=FORWARD[name](t.fun), order=t.order + 1) if t.forward else None
    if name in BOTH:
        if not (t.forward and t.reverse):
            return None
        return dataclasses.replace(t, fun=BOTH[name](t.fun), order=t.order + 1)
    after = dataclasses.replace(t, forward=t.forward_after_reverse, order=t.order + 1)
    if name in REVERSE:
        return dataclasses.replace(after, fun=REVERSE[name](t.fun)) if t.reverse else None
    if not (t.reverse and t.forward_after_reverse):
        return None
    return dataclasses.replace(after, fun=SECOND[name](t.fun), order=t.order + 2)


def check(names: tuple[str, ...], base: str, sampling: Any = None) -> bool:
    """Compare one order (innermost first) with the closed form; False if there is no such derivative.

    It is run compiled and eagerly; where samples are wanted, one of the two.
    """
    fun, derivative = BASES[base]
    tower: Tower | None = Tower(fun)
    for name in names:
        tower = wrap(name, tower)
        if tower is None:
            return False
    wanted = derivative(X, tower.order)
    order = " of ".join([*reversed(names), base])
    ways = ["compiled", "eagerly"]
    if sampling is not None and not sampling.full:
        ways = [random.Random(f"{sampling.seed}:{order}").choice(ways)]
    with xt.enable_x64(True):
        for way in ways:
            fun = xt.jit(tower.fun) if way == "compiled" else tower.fun
            np.testing.assert_allclose(fun(X), wanted, rtol=1e-9, err_msg=f"{order}, {way}")
    return True


def _base(names: tuple[str, ...]) -> str:
    return random.Random(str(names)).choice(list(BASES))


@pytest.mark.parametrize("outer", ALL)
def test_every_pair(outer, sampling):
    assert sum([check((inner, outer), _base((inner, outer)), sampling) for inner in ALL]) >= 10


@pytest.mark.parametrize("part", range(4))
def test_triples(part, sampling):
    triples = list(itertools.product(ALL, repeat=3))
    if not sampling.full:
        triples = random.Random(sampling.seed).sample(triples, _TRIPLES)
    for names in triples[part::4]:
        check(names, _base(names), sampling)


@pytest.mark.parametrize("base", BASES)
def test_deep_towers(base):
    """Six transformations on top of each other."""
    assert check(("scan", "cond", "jit", "grad", "vmap", "jvp"), base)
    assert check(("custom_vjp", "vjp", "switch", "linearize", "carry", "make_jaxpr"), base)
    assert check(("custom_jvp", "fori", "hessian", "vmap of cond", "jit", "jacfwd"), base)
