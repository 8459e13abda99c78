"""stop_gradient, copy, optimization_barrier."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax
from xtrace.lax.identities import copy_p

X = np.arange(3, dtype=np.float32)


def test_stop_gradient_of_a_tree():
    tree = {"a": X, "b": None, "c": (2, True)}
    out = lax.stop_gradient(tree)
    assert xt.tree_util.tree_structure(out) == xt.tree_util.tree_structure(tree)
    np.testing.assert_array_equal(out["a"], X)
    assert xt.grad(lambda x: x * lax.stop_gradient(x))(3.0) == 3.0
    assert xt.grad(lambda x: lax.stop_gradient(x))(3.0) == 0.0
    out, tangent = xt.jvp(lambda x: lax.stop_gradient({"x": x})["x"], (X,), (X,))
    np.testing.assert_array_equal(tangent, 0 * X)
    np.testing.assert_array_equal(xt.vmap(xt.grad(lambda x: x**2 * lax.stop_gradient(x)))(X), 2 * X * X)


def test_stop_gradient_leaves_no_operation():
    text = xt.jit(lax.stop_gradient).lower(X).as_text()
    assert "stablehlo" not in text and "return %arg0" in text


def test_copy():
    np.testing.assert_array_equal(xt.jit(copy_p.bind)(X), X)
    assert xt.grad(lambda x: copy_p.bind(x) ** 2)(3.0) == 6.0
    np.testing.assert_array_equal(xt.vmap(copy_p.bind)(X), X)


def test_optimization_barrier():
    a, b = lax.optimization_barrier((X, 2))
    np.testing.assert_array_equal(a, X)
    assert b == 2
    assert lax.optimization_barrier(()) == ()
    jaxpr = xt.make_jaxpr(lax.optimization_barrier)((X, X))
    assert str(jaxpr) == (
        "{ lambda ; a:f32[3] b:f32[3]. let\n    c:f32[3] d:f32[3] = optimization_barrier a b\n  in (c, d) }"
    )
    # Only the operands that move have a tangent, and the unused result's cotangent stays zero.
    assert xt.grad(lambda x: lax.optimization_barrier((x * 2.0, 3.0))[0])(1.0) == 2.0
    assert xt.grad(lambda x: lax.optimization_barrier((x * 2.0, x))[0])(1.0) == 2.0


def test_stop_gradient_of_numbers_gives_arrays():
    for value, dtype in ((2.0, np.float32), (3, np.int32), (np.float32(1.5), np.float32)):
        out = xt.lax.stop_gradient(value)
        assert out.dtype == dtype and out.shape == () and float(out) == value
    assert xt.lax.stop_gradient(2.0).weak_type and not xt.lax.stop_gradient(np.float32(1.5)).weak_type


def test_stage():
    # As JAX prints them: numbers become weakly typed arrays, literals of what is traced, and no operation.
    assert repr(lax.stage(1.0)) == "Array(1., dtype=float32, weak_type=True)"
    assert repr(lax.stage(X)) == "Array([0., 1., 2.], dtype=float32)"
    x = lax.stage(X)
    assert lax.stage(x) is x
    assert str(xt.make_jaxpr(lambda x: lax.stage(1))(1.0)) == "{ lambda ; a:f32[]. let  in (1:i32[],) }"
    assert str(xt.make_jaxpr(lambda x: lax.stage(x))(1.0)) == "{ lambda ; a:f32[]. let  in (a,) }"
    assert xt.jit(lambda x: lax.stage(2.0).weak_type and not lax.stage(np.float32(2)).weak_type)(1.0)
    assert xt.grad(lambda x: lax.stage(x) * lax.stage(3.0))(1.0) == 3.0
    np.testing.assert_array_equal(xt.vmap(lambda x: lax.stage(x) + lax.stage(X))(X), X[:, None] + X)


@pytest.mark.parametrize("x", ["a", None, {"a": 1}, [1.0]])
def test_stage_of_what_is_no_array(x):
    with pytest.raises(TypeError, match="not a valid array type"):
        lax.stage(x)
    with pytest.raises(TypeError, match="not a valid array type"):
        xt.jit(lambda y: (lax.stage(x), y)[1])(1.0)
