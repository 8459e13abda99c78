"""closure_convert, custom_gradient and linear_call."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import lax
from xtrace.custom_derivatives import closure_convert, custom_gradient, linear_call


def test_closure_convert_takes_out_what_is_differentiated():
    seen = []

    def loss(c, s):
        converted, values = closure_convert(lambda x: (s * (x - c) ** 2).sum() * np.float32(2), xnp.ones(2))
        seen.append(len(values))
        return converted(xnp.ones(2), *values)

    c, s = 2 * xnp.ones(2), 3 * xnp.ones(2)
    np.testing.assert_allclose(xt.grad(loss)(c, s), 12 * np.ones(2))
    assert float(loss(c, s)) == 12.0
    assert seen == [1, 0]
    np.testing.assert_allclose(xt.jit(xt.grad(loss))(c, s), 12 * np.ones(2))


def test_closure_convert_message():
    _, pull = xt.vjp(lambda x, z: x * z, 2.0, 3.0)
    converted, values = closure_convert(pull, 2.0)
    assert [float(v) for v in converted(2.0, *values)] == [6.0, 4.0]
    with pytest.raises(TypeError, match="The inputs to the closure produced by closure_convert"):
        converted((2.0, 1.0), *values)


@pytest.mark.parametrize("jit", [lambda f: f, xt.jit])
def test_custom_gradient(jit):
    f = custom_gradient(lambda x: (x**2, lambda g: g * x))
    assert float(jit(f)(3.0)) == 9.0
    assert float(jit(xt.grad(f))(3.0)) == 3.0
    assert float(jit(xt.grad(xt.grad(f)))(3.0)) == 1.0
    h = custom_gradient(lambda x, y: (x * y["a"], lambda g: (g, {"a": 5 * g})))
    assert [float(v) for v in xt.tree.leaves(jit(xt.grad(h, (0, 1)))(3.0, {"a": 2.0}))] == [1.0, 5.0]
    loop = lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]  # noqa: E731
    assert float(jit(xt.grad(loop))(3.0)) == 27.0
    np.testing.assert_allclose(jit(xt.vmap(xt.grad(f)))(xnp.arange(3.0)), [0, 1, 2])


def test_custom_gradient_messages():
    with pytest.raises(TypeError, match="must return a pair"):
        custom_gradient(lambda x: x)(1.0)
    with pytest.raises(TypeError, match="must produce a pair"):
        xt.grad(custom_gradient(lambda x: (x, lambda g: g), with_logs=True))(1.0)
    with pytest.raises(TypeError, match="None or a dict"):
        xt.grad(custom_gradient(lambda x: (x, lambda g: ((g,), [1.0])), with_logs=True))(1.0)


def divide(x, r):
    return linear_call(lambda r, x: x / r, lambda r, t: 10 * t / r, r, x)


def test_linear_call_transposes():
    assert float(divide(9.0, 3.0)) == 3.0
    once = xt.linear_transpose(lambda x: divide(x, 2.0), 1.0)
    assert float(once(1.0)[0]) == 5.0
    assert float(xt.linear_transpose(lambda t: once(t)[0], 1.0)(1.0)[0]) == 0.5
    np.testing.assert_allclose(xt.grad(divide, (0, 1))(8.0, 2.0), [5.0, -2.0])
    np.testing.assert_allclose(xt.jit(xt.grad(divide, (0, 1)))(8.0, 2.0), [5.0, -2.0])
    np.testing.assert_allclose(xt.jvp(divide, (8.0, 2.0), (1.0, 1.0))[1], 0.5 - 2.0)


def test_linear_call_batched():
    xs = xnp.arange(1.0, 4.0)
    for axes in ((0, 0), (0, None), (None, 0)):
        args = [xs if d == 0 else 2.0 for d in axes]
        got = xt.grad(lambda x, r, axes=axes: xt.vmap(divide, axes)(x, r).sum())(*args)
        np.testing.assert_allclose(
            got,
            10 / args[1] if axes[0] == 0 and axes[1] == 0 else np.full(3, 5.0) if axes[0] == 0 else (10 / xs).sum(),
            rtol=1e-6,
        )


def test_linear_call_message():
    with pytest.raises(TypeError, match="transpose output pytree structure must match that of linear inputs"):
        linear_call(lambda _, x: x, lambda _, t: [t], (), 1.0)
