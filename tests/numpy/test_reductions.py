"""Reductions against NumPy: values, axes, masks, dtypes, messages, derivatives."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrace as xt

jnp = xt.numpy
REDUCTIONS = ["sum", "prod", "mean", "var", "std", "max", "min", "all", "any", "ptp", "count_nonzero"]
NAN_REDUCTIONS = ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"]
AXES = [None, 0, -1, 1, (0, 2), (-1, 0), ()]


def sample(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def check(actual, expected, **tolerance):
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, **({"rtol": 1e-5, "atol": 1e-6} | tolerance))


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
def test_values(name, axis, keepdims):
    x = sample(2, 3, 4)
    check(getattr(jnp, name)(x, axis=axis, keepdims=keepdims), getattr(np, name)(x, axis=axis, keepdims=keepdims))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAN_REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, (0, 2)])
def test_nan_is_skipped(name, axis):
    x = sample(2, 3, 4)
    x[np.random.default_rng(1).random(x.shape) < 0.4] = np.nan
    x[:, 1, :] = np.nan
    check(getattr(jnp, name)(x, axis=axis, keepdims=True), getattr(np, name)(x, axis=axis, keepdims=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "all", "any", "max", "min"])
def test_masks(name):
    x = sample(2, 3, 4)
    where = np.random.default_rng(1).random((3, 4)) < 0.6
    where[0] = [True, False, True, True]
    options = {"initial": 0.5} if name in ("max", "min") else {}
    for axis in (None, 0, (1, 2)):
        check(
            getattr(jnp, name)(x, axis, where=where, **options),
            getattr(np, name)(x, axis, where=np.broadcast_to(where, x.shape), **options),
        )


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_any_axes_of_any_shape(data):
    rank = data.draw(st.integers(0, 3))
    shape = tuple(data.draw(st.lists(st.integers(0, 3), min_size=rank, max_size=rank)))
    axes = tuple(data.draw(st.lists(st.integers(0, rank - 1), unique=True))) if rank else ()
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(np.int32)
    check(jnp.sum(x, axis=axes), np.sum(x, axis=axes))
    check(jnp.prod(x, axis=axes, keepdims=True), np.prod(x, axis=axes, keepdims=True, dtype=np.int32))


# (function, dtype of the operand, dtype of the result), recorded from JAX 0.12.0.1.
RESULT_DTYPES = [
    ("sum", "bool", "int32"),
    ("sum", "int8", "int32"),
    ("sum", "uint8", "uint32"),
    ("sum", "bfloat16", "bfloat16"),
    ("sum", "complex64", "complex64"),
    ("prod", "uint8", "uint32"),
    ("mean", "bool", "float32"),
    ("mean", "int32", "float32"),
    ("mean", "bfloat16", "bfloat16"),
    ("var", "int32", "float32"),
    ("var", "complex64", "float32"),
    ("std", "bfloat16", "bfloat16"),
    ("max", "bool", "bool"),
    ("max", "uint8", "uint8"),
    ("any", "float32", "bool"),
    ("count_nonzero", "float32", "int32"),
    ("argmax", "float32", "int32"),
    ("cumsum", "uint8", "uint8"),
    ("cumsum", "bool", "int32"),
    ("average", "int32", "float32"),
]


@pytest.mark.parametrize("name, dtype, result", RESULT_DTYPES)
def test_result_dtypes(name, dtype, result):
    x = np.ones((2, 3)).astype(getattr(ml_dtypes, dtype, dtype))
    out = getattr(jnp, name)(x)
    assert out.dtype.name == result and not out.weak_type


def test_narrow_floats_are_summed_in_float32():
    x = np.ones(4096, ml_dtypes.bfloat16)
    assert float(jnp.sum(x)) == 4096 and float(jnp.mean(x)) == 1
    text = str(xt.make_jaxpr(jnp.mean)(x))
    assert "reduce_sum" in text and "f32[] = reduce_sum" in text
    assert "f32" not in str(xt.make_jaxpr(lambda x: jnp.mean(x, dtype="bfloat16"))(x))  # asked for by name


def test_initial_and_dtype():
    x = np.arange(6, dtype=np.int32)
    assert int(jnp.sum(x, initial=10)) == 25 and int(jnp.max(x, initial=7)) == 7
    assert jnp.sum(x, dtype=np.float32).dtype == np.float32
    assert jnp.sum(x.astype(np.uint8), promote_integers=False).dtype == np.uint8
    assert float(jnp.max(np.zeros((0,), np.float32), initial=3.0)) == 3


def test_positions():
    x = np.round(sample(3, 4, 5))
    for name in ("argmax", "argmin"):
        for axis in (None, 0, -1):
            for keepdims in (False, True):
                expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                check(getattr(jnp, name)(x, axis=axis, keepdims=keepdims), expected)
    assert int(jnp.argmax(np.float32([1, np.nan, 2]))) == 1
    assert int(jnp.nanargmax(np.float32([1, np.nan, 2]))) == 2
    assert int(jnp.nanargmin(np.float32([np.nan, 4, 2]))) == 2
    assert int(jnp.nanargmax(np.float32([np.nan, np.nan]))) == -1


def test_variance_options():
    x = sample(3, 4)
    check(jnp.var(x, 0, ddof=1), np.var(x, 0, ddof=1))
    check(jnp.std(x, correction=2), np.std(x, ddof=2))
    check(jnp.var(x, 0, mean=x.mean(0, keepdims=True)), np.var(x, 0))
    z = (x + 1j * x[::-1]).astype(np.complex64)
    check(jnp.var(z), np.var(z))
    assert np.isnan(jnp.var(x, ddof=20)) and np.isnan(jnp.mean(np.zeros(0, np.float32)))


def test_average():
    x, w = sample(3, 4), np.abs(sample(4))
    check(jnp.average(x, 1, w), np.average(x, 1, w))
    check(jnp.average(x, weights=np.abs(x), keepdims=True), np.average(x, weights=np.abs(x), keepdims=True))
    out, total = jnp.average(x, 1, w, returned=True)
    check(total, np.average(x, 1, w, returned=True)[1])
    y = sample(2, 3, 4)
    weights = np.abs(sample(4, 2))
    check(jnp.average(y, (2, 0), weights), np.average(y, (2, 0), weights))


def test_cumulative():
    x = sample(3, 4)
    for name in ("cumsum", "cumprod", "nancumsum", "nancumprod"):
        y = np.where(x > 1, np.nan, x) if "nan" in name else x
        for axis in (None, 0, -1):
            check(getattr(jnp, name)(y, axis), getattr(np, name)(y, axis))
    assert np.asarray(jnp.cumulative_sum(x[0], include_initial=True)).tolist()[0] == 0
    check(jnp.cumulative_sum(x, axis=1, include_initial=True)[:, 1:], np.cumsum(x, 1))
    check(jnp.cumulative_prod(x, axis=0), np.cumprod(x, 0))
    assert jnp.cumsum(np.int32(2)).shape == (1,)


@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "var", "std", "max", "min", "nanmean", "nanvar", "cumsum", "ptp"]
)
def test_gradients_against_differences(name):
    x = sample(2, 3)
    t = np.random.default_rng(2).standard_normal(x.shape).astype(np.float32)
    _, tangent = xt.jvp(lambda x: getattr(jnp, name)(x, 1), (x,), (t,))
    eps = 1e-6
    high, low = (getattr(np, name)(x.astype(np.float64) + s * eps * t, 1) for s in (1, -1))
    np.testing.assert_allclose(tangent, (high - low) / (2 * eps), rtol=2e-3, atol=1e-3)


def test_gradient_of_nan_reductions_is_finite():
    x = np.float32([1, np.nan, 3])
    for name in ("nansum", "nanmean", "nanvar", "nanmax"):
        gradient = np.asarray(xt.grad(getattr(jnp, name))(x))
        assert np.isfinite(gradient).all() and gradient[1] == 0


def test_batching_and_jit():
    x = sample(4, 3, 5)
    for name in ("sum", "var", "argmax", "cumsum", "nanmax"):
        function = getattr(jnp, name)
        loop = np.stack([np.asarray(function(y, 0)) for y in x])
        check(xt.vmap(lambda y: function(y, 0))(x), loop)
        check(xt.jit(xt.vmap(lambda y: function(y, 0), 2))(np.moveaxis(x, 0, 2)), loop)


def test_methods():
    x = jnp.sum(sample(2, 3, 4), axis=0)
    reference = np.asarray(x)
    check(x.sum(0), reference.sum(0))
    check(x.mean(), reference.mean())
    check(xt.jit(lambda x: x.max(axis=1))(x), reference.max(axis=1))


def test_jaxprs_have_no_nested_calls():
    x = sample(2, 3)
    for name in ("sum", "mean", "var", "std", "nanmean", "argmax"):
        assert "jit" not in str(xt.make_jaxpr(getattr(jnp, name))(x))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: jnp.sum([1, 2]), TypeError, "sum requires ndarray or scalar arguments, got <class 'list'>"),
        (lambda x: jnp.sum(x, out=x), NotImplementedError, "'out' argument to numpy.sum is not supported"),
        (lambda x: jnp.sum(x, axis=3), ValueError, "axis 3 is out of bounds for array of dimension 2"),
        (lambda x: jnp.sum(x, axis=(0, -2)), ValueError, r"duplicate value in 'axis': \(0, -2\)"),
        (lambda x: jnp.sum(x, where=x), ValueError, "where must be None or a boolean array"),
        (lambda x: jnp.sum(x, initial=x), ValueError, r"initial value must be a scalar. Got array of shape \(2, 3\)"),
        (lambda x: jnp.max(x[:0]), ValueError, "zero-size array to reduction operation max which has no identity"),
        (lambda x: jnp.max(x, where=x > 0), ValueError, "to use a where mask one has to specify 'initial'"),
        (lambda x: jnp.argmax(x[:0]), ValueError, "attempt to get argmax of an empty sequence"),
        (lambda x: jnp.var(x, ddof=1, correction=1), ValueError, "can't be provided simultaneously"),
        (lambda x: jnp.var(x * 1j, dtype=np.float32), ValueError, "needs a complex dtype"),
        (lambda x: jnp.average(x, weights=x[0]), ValueError, "Axis must be specified"),
        (lambda x: jnp.cumulative_sum(x), ValueError, "has rank 2, however axis was not set"),
        (lambda x: jnp.cumsum(x, (0, 1)), TypeError, "takes one axis"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call(np.ones((2, 3), np.float32))


@pytest.mark.parametrize("name", [*NAN_REDUCTIONS, *[n for n in REDUCTIONS if n not in ("ptp", "count_nonzero")]])
def test_a_mask_that_is_no_mask_names_the_function(name):
    mask = np.array([1, 0, 1])
    for x in (np.arange(3), np.arange(3.0, dtype=np.float32)):
        with pytest.raises(ValueError, match=rf"jnp\.{name}: where must be None or a boolean array; got where.dtype="):
            getattr(jnp, name)(x, where=mask)


@pytest.mark.parametrize("values", [[[True, True], [False, True]], [[1, 2], [0, 5]], [[0.5, 0.0], [0.0, 0.0]]])
def test_sums_and_products_of_truth_values(values):
    x = np.array(values)
    for name in ("sum", "prod", "nansum", "nanprod"):
        for options in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"where": np.array([True, False])}):
            got = getattr(jnp, name)(x, dtype=bool, **options)
            want = getattr(np, name)(x.astype(bool), dtype=bool, **options)
            assert got.dtype == bool
            np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(jnp.sum(x, dtype=bool, axis=0, initial=2), [True, True])
    np.testing.assert_array_equal(jnp.prod(x, dtype=bool, axis=1, initial=0), [False, False])


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_complex_variances_where_they_are_asked_for(name):
    x = np.array([1.0, 2.0, 4.0], np.float32)
    for values in (x, x + 1j * x):
        got = getattr(jnp, name)(values, dtype=np.complex64)
        assert got.dtype == np.complex64
        np.testing.assert_allclose(got, getattr(np, name)(values), rtol=1e-6)
    if name == "std":
        with pytest.raises(ValueError, match="dtype argument to jnp.std must be inexact; got int8"):
            jnp.std(x, dtype="int8")
