"""Functions under jit: what is traced, what it looks like, what can't be, and how often it happens."""

from functools import partial

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp


def selu(x, slope=1.67, scale=1.05):
    return scale * xnp.where(x > 0, x, slope * xnp.exp(x) - slope)


def test_selu():
    assert str(xt.jit(selu)(1.0)) == "1.05"
    x = np.linspace(-2, 2, 7, dtype=np.float32)
    np.testing.assert_allclose(xt.jit(selu)(x), 1.05 * np.where(x > 0, x, 1.67 * np.exp(x) - 1.67), rtol=1e-6)


def test_side_effects_happen_once_at_trace_time(capsys):
    seen = []

    @xt.jit
    def log_of(x):
        print(x)
        seen.append(x)
        return xnp.log(x)

    for value in (1.0, 2.0, 3.0):
        log_of(value)
    assert capsys.readouterr().out == "JitTracer(~float32[])\n"
    assert len(seen) == 1 and repr(seen[0]) == "JitTracer(~float32[])"
    assert "print" not in str(xt.make_jaxpr(log_of)(1.0))
    # What escaped can't be used any more.
    with pytest.raises(xt.errors.UnexpectedTracerError, match="log_of"):
        xnp.log(seen[0])


def test_jaxpr_of_selu():
    jaxpr = xt.make_jaxpr(selu)(xnp.arange(5.0))
    assert [e.primitive.name for e in jaxpr.eqns] == ["gt", "exp", "mul", "sub", "select_n", "mul"]
    assert {e.outvars[0].aval.str_short() for e in jaxpr.eqns} == {"bool[5]", "f32[5]"}


def test_jaxpr_of_a_logarithm():
    text = str(xt.make_jaxpr(lambda x: xnp.log(x) / xnp.log(2.0))(3.0))
    assert text == (
        "{ lambda ; a:f32[]. let\n    b:f32[] = log a\n    c:f32[] = log 2.0:f32[]\n    d:f32[] = div b c\n  in (d,) }"
    )


def test_jaxpr_of_a_branch_not_taken():
    def log_of_vectors(x):
        return xnp.log(x) if x.ndim == 1 else x

    assert xt.make_jaxpr(log_of_vectors)(xnp.ones((2, 2))).eqns == []
    assert len(xt.make_jaxpr(log_of_vectors)(xnp.ones(2)).eqns) == 1


def relu_by_branch(x):
    if x > 0:
        return x
    return 0.0


def count_up(x, n):
    i = 0
    while i < n:
        i += 1
    return x + i


@pytest.mark.parametrize("call, line, argument", [
    (lambda: xt.jit(relu_by_branch)(10.0), "relu_by_branch", "argument x of relu_by_branch"),
    (lambda: xt.jit(count_up)(10, 20), "count_up", "argument n of count_up"),
])  # fmt: skip
def test_python_conditions_need_values(call, line, argument):
    with pytest.raises(xt.errors.TracerBoolConversionError) as raised:
        call()
    message = str(raised.value)
    assert f"{line}" in message and __file__.rpartition("/")[2] in message and argument in message


def test_static_arguments_have_values():
    assert xt.jit(count_up, static_argnums=1)(10, 20) == 30
    assert xt.jit(count_up, static_argnames=["n"])(10, n=20) == 30
    assert xt.jit(relu_by_branch, static_argnums=0)(10.0) == 10.0

    @partial(xt.jit, static_argnames=["n"])
    def decorated(x, n):
        return count_up(x, n)

    assert decorated(10, 20) == 30


def test_a_jitted_loop_body_is_traced_once():
    traced = []

    @xt.jit
    def body(previous):
        traced.append(1)
        return previous + 1

    x = 10
    for _ in range(20):
        x = body(x)
    assert x == 30
    # A Python number is weakly typed, and so is the result that is fed back.
    assert len(traced) == 1


def test_only_one_and_the_same_function_is_traced_once():
    traced = []

    def body(x, step=1):
        traced.append(1)
        return x + step

    for _ in range(20):
        xt.jit(body)(1)
    assert len(traced) == 1
    for _ in range(20):
        xt.jit(partial(body, step=2))(1)
    assert len(traced) == 21
    for _ in range(20):
        xt.jit(lambda x: body(x))(1)
    assert len(traced) == 41


def test_a_million_elements_compiled_and_operation_by_operation():
    x = xnp.arange(1_000_000) * 1e-6
    compiled = xt.jit(selu)(x)
    assert compiled.block_until_ready() is compiled
    np.testing.assert_allclose(compiled, selu(x).block_until_ready(), rtol=1e-6)
