"""Ordering tokens as values: made, joined, passed through programs; and refused where arrays are needed."""

from __future__ import annotations

import pytest

import xtrace as xt
from xtrace import ffi, lax
from xtrace import numpy as xnp
from xtrace.extend.core import Token


def joined(x):
    return lax.after_all(lax.create_token(x), lax.create_token()), x


def test_in_jaxprs_and_programs():
    text = "{ lambda ; a:Tok b:f32[]. let c:Tok = after_all a in (c, b) }"
    assert str(xt.make_jaxpr(lambda t, x: (lax.after_all(t), x))(lax.create_token(), 1.0)) == text
    program = xt.jit(joined).lower(1.0).as_text()
    assert "stablehlo.after_all %0, %0 : !stablehlo.token" in program


def test_through_the_boundary_of_programs():
    token = lax.create_token()
    passes = xt.jit(lambda x, t: (x + 1, t))
    for number in (1.0, 2.0):  # the second call is C++'s
        x, out = passes(number, token)
        assert x == number + 1 and isinstance(out, Token) and out is not token
    made = xt.jit(joined)(1.0)[0]
    made.block_until_ready()
    assert isinstance(made, Token)
    assert isinstance(xt.jit(lambda: token)(), Token)  # one that the function closes over
    assert isinstance(lax.after_all(token, token), Token) and isinstance(lax.after_all(), Token)
    assert xt.typeof(token) is ffi.abstract_token


def test_inside_transformations():
    def loop(x):
        token, _ = lax.scan(lambda t, _: (lax.after_all(t), None), lax.create_token(), None, length=3)
        token = lax.fori_loop(0, 3, lambda i, t: lax.after_all(t), token)
        token = lax.cond(x > 0, lax.after_all, lambda t: t, token)
        token, x = lax.optimization_barrier((token, x))
        return token, x * x

    token, square = xt.jit(loop)(3.0)
    assert isinstance(token, Token) and square == 9
    assert xt.grad(lambda x: xt.checkpoint(loop)(x)[1])(3.0) == 6
    token, squares = xt.vmap(joined, out_axes=(None, 0))(xnp.arange(3.0))
    assert isinstance(token, Token) and squares.tolist() == [0, 1, 2]


def test_what_foreign_calls_take_and_return():
    def call(x):
        token = lax.create_token()
        out, after = ffi.ffi_call("f", (xt.ShapeDtypeStruct((), "float32"), ffi.abstract_token))(x, token)
        return out, lax.after_all(after)

    assert "(tensor<f32>, !stablehlo.token) -> (tensor<f32>, !stablehlo.token)" in xt.jit(call).lower(1.0).as_text()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: lax.after_all(t, 1.0), r"must be tokens, got f32\[\] at position 1"),
        (lambda t: lax.broadcast(t, (3,)), "tokens have no axes"),
        (lambda t: xt.vmap(joined)(xnp.arange(3.0)), "tokens have no axes"),
        (lambda t: t + 1, "unsupported operand"),
    ],
)
def test_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call(lax.create_token())
