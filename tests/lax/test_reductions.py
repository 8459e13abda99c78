"""Reductions against NumPy, their derivatives, batching and messages."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrace as xt
from xtrace import lax
from xtrace.lax import shapes

NUMPY = {
    lax.reduce_sum: np.sum,
    lax.reduce_prod: np.prod,
    lax.reduce_max: np.max,
    lax.reduce_min: np.min,
    lax.reduce_and: np.bitwise_and.reduce,
    lax.reduce_or: np.bitwise_or.reduce,
    lax.reduce_xor: np.bitwise_xor.reduce,
}
ARITHMETIC = [lax.reduce_sum, lax.reduce_prod, lax.reduce_max, lax.reduce_min]


@pytest.mark.parametrize("function", NUMPY)
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1, 2), ()])
def test_integers(function, axes):
    x = np.random.default_rng(0).integers(-8, 8, (3, 2, 4)).astype(np.int32)
    np.testing.assert_array_equal(function(x, axes), NUMPY[function](x, axis=axes) if axes else x)


@pytest.mark.parametrize("function", ARITHMETIC)
def test_floats(function):
    x = np.random.default_rng(0).standard_normal((3, 2, 4)).astype(np.float32)
    np.testing.assert_allclose(function(x, (0, 2)), NUMPY[function](x, axis=(0, 2)), rtol=1e-5)


def test_empty_reductions_are_identities():
    x = np.zeros((0, 2), np.float32)
    assert np.asarray(lax.reduce_sum(x, (0,))).tolist() == [0, 0]
    assert np.asarray(lax.reduce_prod(x, (0,))).tolist() == [1, 1]
    assert np.asarray(lax.reduce_max(x, (0,))).tolist() == [-np.inf, -np.inf]
    assert np.asarray(lax.reduce_min(x.astype(np.int8), (0,))).tolist() == [127, 127]
    assert np.asarray(lax.reduce_min(x.astype(np.uint32), (0,))).tolist() == [2**32 - 1] * 2
    assert np.asarray(lax.reduce_and(x.astype(bool), (0,))).tolist() == [True, True]


def test_extrema_of_nan():
    x = np.float32([[1, np.nan], [2, 3]])
    assert np.isnan(np.asarray(lax.reduce_max(x, (0,)))).tolist() == [False, True]
    assert np.isnan(np.asarray(lax.reduce_min(x, (1,)))).tolist() == [True, False]


@pytest.mark.parametrize("function, reference", [(lax.argmax, np.argmax), (lax.argmin, np.argmin)])
@pytest.mark.parametrize("axis", [0, 1])
def test_arg_extrema(function, reference, axis):
    x = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32)
    rough = np.round(x)
    integers = [rough.astype(np.int32), np.abs(rough).astype(np.uint8), x > 0]
    for values in (x, rough, *integers, x * 0, np.where(x > 1, np.nan, x), x * 0 - np.inf, x * 0 + np.inf):
        out = function(values, axis, np.int32)
        assert out.dtype == np.int32
        np.testing.assert_array_equal(out, reference(values, axis))


@given(st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 1.0, np.inf, np.nan]), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_first_of_equals(values):
    x = np.float32(values + [0.0] * (20 - len(values)))  # one shape: one compilation
    assert int(lax.argmax(x, 0, np.int32)) == np.argmax(x)
    assert int(lax.argmin(x, 0, np.int32)) == np.argmin(x)


def test_gradients_of_extrema_share_ties():
    gradient = xt.grad(lambda x: lax.reduce_max(x, (0,)))(np.float32([1, 3, 3]))
    assert np.asarray(gradient).tolist() == [0, 0.5, 0.5]
    gradient = xt.grad(lambda x: lax.reduce_sum(lax.reduce_min(x, (1,)), (0,)))(np.float32([[1, 3], [5, 2]]))
    assert np.asarray(gradient).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("function", ARITHMETIC)
def test_jvp_against_differences(function):
    rng = np.random.default_rng(0)
    x, t = rng.standard_normal((2, 3, 4)).astype(np.float32), rng.standard_normal((2, 3, 4)).astype(np.float32)
    eps = 1e-3
    _, tangent = xt.jvp(lambda x: function(x, (1, 2)), (x,), (t,))
    differences = (NUMPY[function](x + eps * t, axis=(1, 2)) - NUMPY[function](x - eps * t, axis=(1, 2))) / (2 * eps)
    np.testing.assert_allclose(tangent, differences, rtol=2e-2, atol=2e-2)


def test_product_is_differentiable_at_zeros():
    gradient = xt.grad(lambda x: lax.reduce_prod(x, (0,)))
    assert np.asarray(gradient(np.float32([2, 0, 3, 4, 5]))).tolist() == [0, 120, 0, 0, 0]
    assert np.asarray(gradient(np.float32([2, 0, 3, 0, 5]))).tolist() == [0, 0, 0, 0, 0]
    assert np.asarray(gradient(np.float32([2]))).tolist() == [1]
    assert np.asarray(gradient(np.float32([]))).tolist() == []
    hessian = xt.hessian(lambda x: lax.reduce_prod(x, (0,)))(np.float32([0, 2, 3]))
    assert np.asarray(hessian).tolist() == [[0, 3, 2], [3, 0, 0], [2, 0, 0]]


@pytest.mark.parametrize("function", [*NUMPY, lambda x, axes: lax.argmax(x, axes[0], np.int32)])
def test_batching_equals_a_loop(function):
    x = np.random.default_rng(0).integers(-8, 8, (3, 2, 4)).astype(np.int32)
    for dim in range(3):
        out = xt.vmap(lambda x: function(x, (1,)), dim)(x)
        loop = [np.asarray(function(x.take(i, dim), (1,))) for i in range(x.shape[dim])]
        np.testing.assert_array_equal(out, np.stack(loop))


def test_reduce_recognises_monoids():
    x = np.float32([[1, 2], [3, 4]])

    def primitives(init, computation):
        return [e.primitive.name for e in xt.make_jaxpr(lambda x: lax.reduce(x, init, computation, (0,)))(x).eqns]

    assert primitives(0.0, lambda a, b: a + b) == ["reduce_sum"]
    assert primitives(0.0, lambda a, b: b + a) == ["reduce_sum"]
    assert primitives(np.float32(1), lambda a, b: a * b) == ["reduce_prod"]
    assert primitives(1.0, lambda a, b: a + b) == ["reduce"]
    assert primitives(0.0, lambda a, b: a + a) == ["reduce"]
    assert float(np.asarray(lax.reduce(x, 10.0, lambda a, b: a + b, (0, 1)))) == 20


def test_reduce_of_several_operands():
    x = np.float32([[1, 5, 3], [4, 2, 6]])

    def combine(a, b):
        return {"s": a["s"] + b["s"], "p": a["p"] * b["p"]}

    out = lax.reduce({"s": x, "p": x}, {"s": 0.0, "p": 1.0}, combine, (1,))
    assert np.asarray(out["s"]).tolist() == [9, 12] and np.asarray(out["p"]).tolist() == [15, 48]


def test_reduce_is_differentiable_and_batches():
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)

    def both(x, y):
        return lax.reduce((x, y), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,))

    gradient = xt.grad(lambda x: sum(both(x, x)))(x[0])
    expected = 1 + np.prod(x[0].astype(np.float64)) / x[0]
    np.testing.assert_allclose(gradient, expected, rtol=1e-4)
    sums, products = xt.vmap(both, (0, None))(x, x[0])
    np.testing.assert_allclose(sums, x.sum(1), rtol=1e-5)
    np.testing.assert_allclose(products, np.full(3, x[0].prod()), rtol=1e-5)
    starts = np.float32([0, 1, 2])
    out = xt.vmap(lambda s: lax.reduce(x[0], s, lambda a, b: a + b, (0,)))(starts)
    np.testing.assert_allclose(out, x[0].sum() + starts, rtol=1e-5)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: lax.reduce_sum(x, (2,)), ValueError, r"\(2,\) contains out-of-bounds indices for float32\[3,4\]"),
        (lambda x: lax.reduce_sum(x, (-1,)), ValueError, "out-of-bounds"),
        (lambda x: lax.reduce_sum(x, (0, 0)), ValueError, "duplicate value in 'axes'"),
        (lambda x: lax.reduce_sum(x.astype(bool), (0,)), TypeError, "reduce_sum does not accept dtype bool"),
        (lambda x: lax.reduce_and(x, (0,)), TypeError, "reduce_and does not accept dtype float32"),
        (lambda x: lax.argmax(x, 3, np.int32), ValueError, r"Invalid axis 3 for operand shape \(3, 4\)"),
        (lambda x: lax.argmax(x, 0, np.float32), TypeError, "index_dtype must be an integer type"),
        (lambda x: lax.argmax(x[:0], 0, np.int32), ValueError, "non-empty reduced dimension"),
        (lambda x: lax.reduce((x, x), 0.0, lambda a, b: a, (0,)), TypeError, "one structure"),
        (lambda x: lax.reduce(x, 0.0, lambda a, b: (a, b), (0,)), TypeError, "must return the structure"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call(np.ones((3, 4), np.float32))


@pytest.mark.parametrize("init_is_weak", [False, True])
@pytest.mark.parametrize("operand_is_weak", [False, True])
@pytest.mark.parametrize("computation", [lax.add, lax.max, lambda a, b: a * b + a], ids=["add", "max", "other"])
def test_weak_types(computation, operand_is_weak, init_is_weak):
    """The result is weakly typed if operand and initial value are."""
    operand = shapes.convert(xt.numpy.arange(3), np.dtype("int32"), operand_is_weak)
    init = shapes.convert(xt.numpy.int32(1), np.dtype("int32"), init_is_weak)
    out = lax.reduce(operand, init, computation, (0,))
    assert (out.dtype, out.weak_type) == (np.dtype("int32"), operand_is_weak and init_is_weak)
