"""Weak types through transformations: derivatives of numbers give way to a narrower dtype exactly where JAX's do."""

import numpy as np
import pytest

import xtrace as xt
from xtrace import export, lax
from xtrace import numpy as xnp
from xtrace.experimental import checkify, jet

_double = export.export(xt.jit(lambda q: q * 2))(2.0)

WEAK = {
    "jacfwd": lambda: xt.jacfwd(lambda q: q * q)(2.0),
    "hessian": lambda: xt.hessian(lambda q: q**3)(2.0),
    "jacfwd of a power": lambda: xt.jacfwd(lambda q: q**2.5)(2.0),
    "jacrev of a power": lambda: xt.jacrev(lambda q: q**2.5)(2.0),
    "jacrev of an array by a number": lambda: xt.jacrev(lambda q: q * np.float32(2))(2.0),
    "psum of an unmapped number": lambda: xt.jit(
        lambda w: xt.vmap(lambda x: lax.psum(w, "i"), axis_name="i")(xnp.arange(3.0))
    )(2.0),
    "psum of an unmapped number, out_axes None": lambda: xt.jit(
        xt.vmap(lambda w, x: lax.psum(w, "i"), in_axes=(None, 0), out_axes=None, axis_name="i")
    )(2, xnp.arange(3.0)),
    "linearize": lambda: xt.linearize(lambda q: q * q, 2.0)[1](1.0),
    "checkpoint": lambda: xt.grad(xt.checkpoint(lambda q, n: q * n, static_argnums=1))(2.0, 3),
    "vmap of fori_loop": lambda: xt.vmap(
        lambda a: lax.fori_loop(0, 3, lambda i, c: (c[0] * 2.0, c[1] * 2.0), (1.0, a))
    )(xnp.ones(3))[0],
    "custom_root": lambda: xt.grad(
        lambda q: lax.custom_root(lambda x: x * x - q, 1.0, lambda f, x: q**0.5, lambda g, y: y / g(1.0))
    )(4.0),
    "jvp of while_loop": lambda: xt.jvp(
        lambda q: lax.while_loop(lambda c: c < 9.0, lambda c: c * 2.0, q), (2.0,), (1.0,)
    )[1],
    "jet": lambda: jet.jet(lambda q: q * q, (2.0,), ([1.0, 0.0],))[1][1],
    "checkify": lambda: checkify.checkify(xt.grad(lambda q: q * q), errors=checkify.float_checks)(2.0)[1],
    "exported": lambda: _double.call(2.0),
}

STRONG = {
    "power": lambda: xt.grad(lambda q: q**2.5)(2.0),
    "erf": lambda: xt.grad(lax.erf)(0.5),
    "erfc": lambda: xt.jit(xt.grad(lax.erfc))(0.5),
    "jacfwd to an array": lambda: xt.jacfwd(lambda q: q * np.float32(2))(2.0),
    "jacrev by an array": lambda: xt.jacrev(lambda q: q * 2.0)(np.float32(2)),
    "clip": lambda: xt.grad(lambda q: xnp.clip(q, 0.0, 1.0))(0.5),
    "maximum": lambda: xt.grad(lambda q: xnp.maximum(q, 1.0))(2.0),
    "real and imag": lambda: xt.grad(lambda z: xnp.real(z) * xnp.imag(z))(1 + 2j),
    "angle": lambda: xt.grad(xnp.angle)(1 + 2j),
    "complex power": lambda: xt.grad(lambda z: z**2.5, holomorphic=True)(1 + 2j),
    "complex sqrt": lambda: xt.grad(lambda z: xnp.sqrt(z).real)(1 + 2j),
}


@pytest.mark.parametrize("case", WEAK)
def test_weak(case):
    assert WEAK[case]().aval.weak_type


@pytest.mark.parametrize("case", STRONG)
def test_strong(case):
    assert not STRONG[case]().aval.weak_type


def test_a_function_of_a_random_key_can_be_exported_and_called():
    key = xt.random.key(0)
    exported = export.export(xt.jit(lambda k: xt.random.normal(k, (2,))))(key)
    assert exported.call(key).tolist() == xt.random.normal(key, (2,)).tolist()


def test_rules_under_checkify_compute_with_arrays():
    f = xt.custom_vjp(lambda a: xnp.log(a))
    f.defvjp(lambda a: (xnp.log(a), a), lambda r, g: (g / r,))
    error, slope = checkify.checkify(xt.grad(f), errors=checkify.float_checks)(0.0)
    assert float(slope) == float("inf") and error.get().startswith("division by zero")


def test_zero_from_primal_of_a_number_is_an_array():
    assert isinstance(xt.custom_derivatives.zero_from_primal(1.0), xt.Array)
