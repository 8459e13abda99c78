"""check_tracer_leaks: traced values that outlive their trace, where they were made and who holds them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import lax
from xtrace.core.errors import LeakedTracerError

KEPT = []


class Model:
    state = None


def leaky(x):
    KEPT.append(xnp.sin(x))
    return x


LINE = inspect.getsourcelines(leaky)[1] + 1


@pytest.fixture(autouse=True)
def forget():
    yield
    KEPT.clear()


@pytest.mark.parametrize(
    "run, trace",
    [
        (lambda: xt.jit(leaky)(1.0), "StagingTrace"),
        (lambda: lax.scan(lambda c, x: (leaky(c), x), 1.0, np.ones(2)), "StagingTrace"),
        (lambda: xt.grad(leaky)(1.0), "LinearizeTrace"),
        (lambda: xt.vmap(leaky)(np.ones(2)), "BatchTrace"),
        (lambda: xt.jvp(leaky, (1.0,), (1.0,)), "JVPTrace"),
        (lambda: xt.make_jaxpr(leaky)(1.0), "StagingTrace"),
    ],
)
def test_leaks_are_found_and_their_holder_is_named(run, trace):
    run()
    KEPT.clear()
    with xt.checking_leaks(), pytest.raises(LeakedTracerError, match=f"Leaked trace {trace}") as caught:
        run()
    message = str(caught.value)
    assert "element 0 of a list" in message and f"the global {__name__}.KEPT" in message
    if trace == "StagingTrace":
        assert f"sin(f32[]) at {__file__}:{LINE} (leaky)" in message


def test_attributes_and_closures():
    model, holder = Model(), {}

    def f(x):
        model.state = x
        return x

    def g(x):
        holder["f"] = lambda: x
        return x

    with xt.checking_leaks():
        with pytest.raises(LeakedTracerError, match="the attribute 'state' of a Model"):
            xt.jit(f)(1.0)
        with pytest.raises(LeakedTracerError, match="the variable 'x' that the function .*<lambda> closes over"):
            xt.jit(g)(1.0)


def test_what_is_no_leak():
    @xt.custom_jvp
    def double(x):
        return 2 * x

    double.defjvp(lambda p, t: (double(p[0]), 2 * t[0]))

    @xt.custom_vjp
    def triple(x):
        return 3 * x

    triple.defvjp(lambda x: (3 * x, x), lambda x, ct: (3 * ct + 0 * x,))

    def f(x):
        y = lax.cond(x.sum() > 0, lambda x: xnp.sin(x), lambda x: x, x)
        y = lax.scan(lambda c, e: (c + y.sum(), e), 0.0, y)[1]
        y = lax.while_loop(lambda v: v.sum() < 3, lambda v: v + 1, y) + lax.fori_loop(0, 2, lambda i, v: v + x, x)
        return xt.jit(lambda z: triple(double(z)))(y) + xt.nn.relu(x)

    def g(x):
        return lax.scan(lambda c, e: (triple(double(c)) + e, xt.nn.relu(c)), x.sum(), x)[0]

    x = np.ones(3, np.float32)
    with xt.checking_leaks():
        for h in (f, xt.jit(f), xt.vmap(lambda x: f(x[None]))):
            h(x)
        for h in (xt.grad(g), xt.jit(xt.grad(g)), xt.hessian(g), xt.vmap(lambda y: xt.grad(g)(y[None]))):
            h(x) if h is not None else None
        xt.jvp(lambda x: xt.jit(xt.vmap(double))(x), (x,), (x,))
        _, pull = xt.vjp(g, x)
        pull(np.float32(1))


def test_errors_inside_the_function_are_not_hidden():
    with xt.checking_leaks(), pytest.raises(ZeroDivisionError):
        xt.jit(lambda x: (KEPT.append(x), 1 / 0))(1.0)
