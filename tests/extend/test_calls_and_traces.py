"""jax.extend.core: primitives that call, and the trace that is current."""

import numpy as np
import pytest

import xtrace as xt
from xtrace.extend import core

called_p = core.create_call_primitive("called")


@pytest.mark.parametrize("run", [lambda f: f, xt.jit], ids=["eager", "jit"])
def test_call(run):
    """x^2 y of a called jaxpr, with a captured constant, under every transformation."""
    factor = np.arange(1.0, 400.0, dtype="float32")
    jaxpr = xt.make_jaxpr(lambda x, y: (x**2 * y, factor * y))(1.0, 1.0)

    def f(x, y):
        a, b = called_p.bind(x, y, call_jaxpr=jaxpr)
        return a + b[1]

    np.testing.assert_allclose(run(f)(3.0, 2.0), 18 + 4)
    np.testing.assert_allclose(run(xt.grad(f, (0, 1)))(3.0, 2.0), (12, 9 + 2))
    np.testing.assert_allclose(run(xt.vmap(f))(np.float32([3, 1]), np.float32([2, 5])), [22, 15])
    np.testing.assert_allclose(xt.jvp(run(f), (3.0, 2.0), (1.0, 0.0))[1], 12)


def test_current_trace():
    seen = []

    @xt.jit
    def f(x):
        with core.take_current_trace() as trace:
            seen.append(float(xt.numpy.sin(0.0)))
            with core.set_current_trace(trace):
                return x + 1

    assert f(1.0) == 2.0
    assert seen == [0.0]


def test_named_axes():
    def f(x):
        found.append(
            (
                core.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
                core.nonempty_axis_env_DO_NOT_USE(),
                core.unsafe_get_axis_names_DO_NOT_USE(),
            )
        )
        return x

    found = []
    f(1.0)
    xt.vmap(f, axis_name="i")(xt.numpy.ones(3))
    assert found == [(False, False, []), (True, True, ["i"])]


def test_array_types():
    assert {np.ndarray, np.float32, np.bool_, xt.numpy.bfloat16.dtype.type} <= core.array_types
    assert len({core.TraceTag(), core.TraceTag()}) == 1
    token = core.Token(xt.numpy.zeros(()))
    assert token.block_until_ready() is None
