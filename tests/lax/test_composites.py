"""Composites: values and rules of the decomposition, and the operation they are lowered to."""

import functools

import numpy as np
import pytest

import xtrace as xt
from xtrace.test_util import check_grads

X = np.array([[0.1, 0.5, -0.3], [1.0, -1.0, 0.2]], np.float32)


@functools.partial(xt.lax.composite, name="my.softmax", version=2)
def softmax(x, /, *, axis):
    return xt.nn.softmax(x, axis)


def test_values_and_rules():
    want = np.exp(X) / np.exp(X).sum(-1, keepdims=True)
    np.testing.assert_allclose(softmax(X, axis=-1), want, rtol=1e-6)
    np.testing.assert_allclose(xt.jit(lambda x: softmax(x, axis=-1))(X), want, rtol=1e-6)
    np.testing.assert_allclose(xt.vmap(lambda x: softmax(x, axis=0))(X), want, rtol=1e-6)
    check_grads(lambda x: softmax(x, axis=-1), (X,), order=2, atol=2e-2, rtol=2e-2)
    check_grads(xt.jit(lambda x: softmax(x, axis=-1)), (X,), order=2, atol=2e-2, rtol=2e-2)
    linear = xt.lax.composite(lambda x: 3 * x, "my.linear")
    (back,) = xt.linear_transpose(linear, X)(X)
    np.testing.assert_allclose(back, 3 * X)


def test_operation():
    text = xt.jit(lambda x: softmax(x, axis=-1)).lower(X).as_text()
    assert 'stablehlo.composite "my.softmax"' in text
    assert "composite_attributes = {axis = -1 : i64}" in text
    assert "decomposition = @my.softmax, version = 2 : i32" in text


def test_attributes():
    @functools.partial(xt.lax.composite, name="my.op")
    def op(x, /, **attributes):
        return {"a": x, "b": x + 1}

    given = dict(a=None, b="s", c=1.5, d=np.array([1, 2]), e=True, f=[1, 2], g={"h": 3}, t=np.dtype("f"))
    outs = op(X, **given)
    np.testing.assert_array_equal(outs["b"], X + 1)
    text = xt.jit(lambda x: op(x, **given)).lower(X).as_text()
    assert (
        'composite_attributes = {b = "s", c = 1.500000e+00 : f64, d = dense<[1, 2]> : tensor<2xi64>, e = true, '
        "f = [1, 2], g = {h = 3 : i64}, t = f32}" in text
    )


def test_errors():
    with pytest.raises(TypeError, match="the attribute axis of the composite my.softmax"):
        softmax(X, axis=object())
    with pytest.raises(xt.errors.UnexpectedTracerError, match="closes over a traced value"):
        xt.jit(lambda x, y: xt.lax.composite(lambda x: x + y, "my.add")(x))(X, X)


def test_attributes_that_are_equal_but_of_other_types():
    """1, 1.0 and True are one key of a dictionary, and three attributes."""
    kind = xt.lax.composite(lambda x, *, by: x + [bool, int, float].index(type(by)), "my.kind")
    assert [float(kind(0.0, by=b)) for b in (1, True, 1.0)] == [1.0, 0.0, 2.0]
    text = xt.jit(lambda x: [kind(x, by=b) for b in (1, True, 1.0)]).lower(0.0).as_text()
    assert all(f"{{by = {written}}}" in text for written in ("1 : i64", "true", "1.000000e+00 : f64"))
    nested = {"a": [np.arange(2), None, {"b": 1}]}
    text = xt.jit(lambda x: xt.lax.composite(lambda x, **_: x, "my.nested")(x, n=nested)).lower(0.0).as_text()
    assert "n = {a = [dense<[0, 1]> : tensor<2xi64>, {b = 1 : i64}]}" in text
