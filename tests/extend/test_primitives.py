"""Primitives by name, and calls of jaxprs by JAX's convention."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as jnp
from xtrace.extend.core import Primitive, primitives, subjaxprs


def test_primitives_are_those_that_jaxprs_hold():
    (eqn,) = xt.make_jaxpr(lambda x: xt.lax.sin(x))(1.0).eqns
    assert eqn.primitive is primitives.sin_p
    (eqn,) = xt.make_jaxpr(xt.jit(lambda x: xt.lax.sin(x)))(1.0).eqns
    assert eqn.primitive is primitives.jit_p
    assert {"sin_p", "jit_p", "call_p", "threefry2x32_p"} <= set(dir(primitives))
    with pytest.raises(AttributeError, match="no_such_p"):
        getattr(primitives, "no_such_p")  # noqa: B009  (an attribute that must not be there)


def test_a_call_of_a_jaxpr():
    shift = jnp.arange(3.0)
    jaxpr = xt.make_jaxpr(lambda x: (jnp.sin(x) + shift, x * 2))(jnp.ones(3))

    def call(x):
        return primitives.call_p.bind(*jaxpr.consts, x, call_jaxpr=jaxpr)

    x = np.array([0.5, 1.0, 1.5], np.float32)
    for f in (call, xt.jit(call)):
        first, second = f(x)
        np.testing.assert_allclose(first, np.sin(x) + np.arange(3), rtol=1e-6)
        np.testing.assert_allclose(second, 2 * x)
    gradient = xt.grad(lambda x: call(x)[0].sum())
    np.testing.assert_allclose(gradient(x), np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(xt.jit(gradient)(x), np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(xt.vmap(call, in_axes=0)(np.stack([x, x]))[1], np.stack([2 * x, 2 * x]))
    (eqn,) = xt.make_jaxpr(call)(x).eqns
    assert eqn.primitive is primitives.jit_p


def test_a_call_outside_programs_runs_each_operation_as_it_is():
    ran = []
    seen_p = Primitive("seen")
    seen_p.def_abstract_eval(lambda aval: aval)
    seen_p.def_impl(lambda x: ran.append(x) or x)
    jaxpr = xt.make_jaxpr(lambda x: seen_p.bind(x))(1.0)
    assert primitives.call_p.bind(3.0, call_jaxpr=jaxpr) == [3.0]
    assert ran == [3.0]


def test_subjaxprs_of_a_jaxpr():
    jaxpr = xt.make_jaxpr(lambda x: xt.lax.cond(x > 0, xt.lax.sin, xt.lax.cos, x))(1.0)
    assert {j.eqns[0].primitive.name for j in subjaxprs(jaxpr)} == {"sin", "cos"}
