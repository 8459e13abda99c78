"""Jaxprs print as JAX 0.12 prints them: what fits in 80 columns on one line, calls with their callers' names."""

from __future__ import annotations

import pytest

import xtrace as xt
import xtrace.numpy as xnp


def f32(*shape):
    return xt.ShapeDtypeStruct(shape, "float32")


def twice(y):
    return xnp.sin(y) * 2


CALLED_TWICE = xt.jit(twice)

CASES = [
    (lambda x: x * 2, [()], "{ lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }"),
    (lambda x: xnp.sin(xnp.cos(x)), [()], "{ lambda ; a:f32[]. let b:f32[] = cos a; c:f32[] = sin b in (c,) }"),
    (lambda x: x, [()], "{ lambda ; a:f32[]. let  in (a,) }"),
    (
        lambda x: xnp.sin(xnp.cos(xnp.sin(x))),
        [()],
        """\
{ lambda ; a:f32[]. let
    b:f32[] = sin a
    c:f32[] = cos b
    d:f32[] = sin c
  in (d,) }""",
    ),
    (
        xt.jit(lambda x: x * 2),
        [(3,)],
        """\
{ lambda ; a:f32[3]. let
    b:f32[3] = jit[
      name=<lambda>
      jaxpr={ lambda ; a:f32[3]. let b:f32[3] = mul a 2.0:f32[] in (b,) }
    ] a
  in (b,) }""",
    ),
    (
        lambda x: xt.jit(lambda y: y)(x),
        [(3,)],
        """\
{ lambda ; a:f32[3]. let
    b:f32[3] = jit[name=<lambda> jaxpr={ lambda ; a:f32[3]. let  in (a,) }] a
  in (b,) }""",
    ),
    (
        lambda x: xt.jit(lambda y: (y, y))(x),
        [(3,)],
        """\
{ lambda ; a:f32[3]. let
    b:f32[3] c:f32[3] = jit[
      name=<lambda>
      jaxpr={ lambda ; a:f32[3]. let  in (a, a) }
    ] a
  in (b, c) }""",
    ),
    (
        lambda x: xt.jit(lambda y: xnp.sin(y * 2))(x) + 1,
        [(3,)],
        """\
{ lambda ; a:f32[3]. let
    b:f32[3] = jit[
      name=<lambda>
      jaxpr={ lambda ; a:f32[3]. let
          c:f32[3] = mul a 2.0:f32[]
          b:f32[3] = sin c
        in (b,) }
    ] a
    d:f32[3] = add b 1.0:f32[]
  in (d,) }""",
    ),
    (
        lambda x: CALLED_TWICE(CALLED_TWICE(x)),
        [(3,)],
        """\
let twice = { lambda ; a:f32[3]. let
    b:f32[3] = sin a
    c:f32[3] = mul b 2.0:f32[]
  in (c,) } in
{ lambda ; d:f32[3]. let
    e:f32[3] = jit[name=twice jaxpr=twice] d
    f:f32[3] = jit[name=twice jaxpr=twice] e
  in (f,) }""",
    ),
]


@pytest.mark.parametrize("function, shapes, text", CASES)
def test_text(function, shapes, text):
    assert str(xt.make_jaxpr(function)(*[f32(*shape) for shape in shapes])) == text
