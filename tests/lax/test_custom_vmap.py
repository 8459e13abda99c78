"""custom_vmap and sequential_vmap: which rule runs where, derivatives of rules, messages."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.custom_batching import custom_vmap, sequential_vmap

XS = np.array([0.5, 1.0, 1.5], np.float32)


def sine_with_cosine_rule(expected):
    @custom_vmap
    def f(x):
        return xnp.sin(x)

    @f.def_vmap
    def rule(axis_size, in_batched, xs):
        assert axis_size == 3 and in_batched == [expected] and type(in_batched) is list
        return xnp.cos(xs), in_batched[0]

    return f


@pytest.mark.parametrize("jit", [lambda f: f, xt.jit])
def test_rule_runs_under_vmap_only(jit):
    f = sine_with_cosine_rule(True)
    np.testing.assert_allclose(jit(f)(XS), np.sin(XS), rtol=1e-6)
    np.testing.assert_allclose(xt.vmap(jit(f))(XS), np.cos(XS), rtol=1e-6)
    for g in (
        lambda x, t: xt.vmap(lambda x, t: xt.jvp(f, (x,), (t,)))(x, t),
        lambda x, t: xt.jvp(xt.vmap(f), (x,), (t,)),
    ):
        y, t = jit(g)(XS, 2 * XS)
        np.testing.assert_allclose(y, np.cos(XS), rtol=1e-6)
        np.testing.assert_allclose(t, -np.sin(XS) * 2 * XS, rtol=1e-6)


def test_primals_or_tangents_alone_mapped():
    f = sine_with_cosine_rule(False)
    push = lambda x, t: xt.jvp(f, (x,), (t,))  # noqa: E731
    y, t = xt.vmap(push, (None, 0), (None, 0))(np.float32(1), XS)
    np.testing.assert_allclose(t, -np.sin(1.0) * XS, rtol=1e-6)
    y, t = xt.vmap(push, (0, None))(XS, np.float32(1))
    np.testing.assert_allclose([y, t], [np.cos(XS), -np.sin(XS)], rtol=1e-6)
    np.testing.assert_allclose(xt.jacfwd(f)(XS), -np.diag(np.sin(XS)), rtol=1e-6)


def test_one_argument_whole_and_one_by_its_primal():
    @custom_vmap
    def f(x, y):
        return x * y

    f.def_vmap(lambda n, b, x, y: (x * y, True))
    got = xt.vmap(lambda x, t, y: xt.jvp(lambda x: f(x, y), (x,), (t,))[1])(XS, XS, XS)
    np.testing.assert_allclose(got, XS * XS, rtol=1e-6)


def test_sequential_vmap():
    f = sequential_vmap(lambda x, y: (x + y["a"], 2 * x))
    a, b = xt.vmap(f, (0, None))(XS, {"a": 1.0, "none": None})
    np.testing.assert_allclose([a, b], [XS + 1, 2 * XS])


def test_with_custom_vjp_outside():
    @xt.custom_vjp
    @custom_vmap
    def f(x):
        return xnp.sin(x)

    f.def_vmap(lambda n, b, xs: (xnp.cos(xs), True))
    f.defvjp(lambda x: (f(x), x), lambda x, g: (10 * g,))
    np.testing.assert_allclose(xt.vmap(f)(XS), np.cos(XS), rtol=1e-6)
    assert float(xt.grad(f)(1.0)) == 10.0


def test_messages():
    f = custom_vmap(lambda x: x)
    with pytest.raises(AttributeError, match="No batching rule defined for custom_vmap function"):
        f(1.0)
    f.def_vmap(lambda n, b, xs: ([xs, xs], b))
    with pytest.raises(ValueError, match="structure of output value and output batching specification"):
        xt.vmap(f)(XS)
    f.def_vmap(lambda n, b, xs: ([xs], b))
    with pytest.raises(ValueError, match="does not match that of original custom-vmapped function"):
        xt.vmap(f)(XS)
    with pytest.raises(ValueError, match="has no reverse mode"):
        xt.grad(f)(1.0)

    def closing(y):
        g = custom_vmap(lambda x: x * y)
        g.def_vmap(lambda n, b, xs: (xs, True))
        return g(y)

    with pytest.raises(ValueError, match="closes over a value that is being mapped"):
        xt.vmap(closing)(XS)
