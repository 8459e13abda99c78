"""Sorts and top_k against NumPy, derivatives, batching and messages."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import xtrace as xt
from xtrace import lax
from xtrace.lax import sorting

# XLA compares subnormal numbers as zeros on CPU.
NUMBERS = st.one_of(st.floats(width=32, allow_subnormal=False), st.sampled_from([0.0, -0.0, np.nan, np.inf, -np.inf]))


@given(hnp.arrays(np.float32, 12, elements=NUMBERS))
@settings(max_examples=50, deadline=None)
def test_floats_are_sorted_stably(x):
    expected = np.argsort(x, kind="stable")
    np.testing.assert_array_equal(sorting.argsort(x), expected)
    out = np.asarray(lax.sort(x))
    np.testing.assert_array_equal(out, x[expected])
    # Zeros of both signs are equal, so they keep their order.
    np.testing.assert_array_equal(np.signbit(out[out == 0]), np.signbit(x[x == 0]))


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32", "float8_e4m3fn"]
)
@pytest.mark.parametrize("dimension", [0, 1, -1])
def test_dtypes(dtype, dimension):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = (np.random.default_rng(0).standard_normal((6, 5)) * 4).astype(dtype)
    np.testing.assert_array_equal(
        np.asarray(lax.sort(x, dimension)).astype(np.float64), np.sort(x.astype(np.float64), dimension)
    )


def test_complex_numbers_by_parts():
    z = np.array([1 + 2j, 1 - 1j, complex(np.nan, 0), complex(0, np.nan), complex(1, np.inf), 0], np.complex64)
    out = np.asarray(lax.sort(z))
    # Recorded from JAX 0.12.0.1.
    expected = np.array([0, complex(0, np.nan), 1 - 1j, 1 + 2j, complex(1, np.inf), complex(np.nan, 0)], np.complex64)
    np.testing.assert_array_equal(out.real, expected.real)
    np.testing.assert_array_equal(out.imag, expected.imag)


@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("kinds", list(itertools.product(["int32", "float32"], repeat=2)))
def test_several_keys(dimension, kinds):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 3, (6, 7)).astype(k) for k in kinds)
    positions = np.arange(42).reshape(6, 7)
    out = lax.sort((a, b, positions), dimension, num_keys=2)
    order = np.lexsort((b, a), axis=dimension)
    for got, x in zip(out, (a, b, positions)):
        np.testing.assert_array_equal(got, np.take_along_axis(x, order, dimension))


def test_sort_key_val():
    keys, values = lax.sort_key_val(np.float32([[3, 1, 2]]), np.array([[30, 10, 20]]), 1)
    assert np.asarray(keys).tolist() == [[1, 2, 3]] and np.asarray(values).tolist() == [[10, 20, 30]]


def test_derivative_of_a_sort_follows_the_order():
    rng = np.random.default_rng(0)
    x, y, t, s = rng.standard_normal((4, 3, 5)).astype(np.float32)
    for dimension in (0, 1):
        order = np.argsort(x, dimension)
        _, tangents = xt.jvp(lambda x, y: lax.sort((x, y), dimension), (x, y), (t, s))
        np.testing.assert_array_equal(tangents[0], np.take_along_axis(t, order, dimension))
        np.testing.assert_array_equal(tangents[1], np.take_along_axis(s, order, dimension))
        _, back = xt.vjp(lambda x: lax.sort(x, dimension), x)
        ct = np.zeros_like(t)
        np.put_along_axis(ct, order, t, dimension)
        np.testing.assert_array_equal(back(t)[0], ct)


def test_batching_of_sorts_equals_a_loop():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 3, 4)).astype(np.float32), rng.standard_normal((3, 4)).astype(np.float32)
    for dim, dimension in itertools.product(range(3), range(2)):
        shape = x.take(0, dim).shape
        z = np.resize(y, shape)
        out = xt.vmap(lambda x, z: lax.sort((x, z), dimension), (dim, None))(x, z)
        for i in range(x.shape[dim]):
            one = lax.sort((x.take(i, dim), z), dimension)
            np.testing.assert_array_equal(np.asarray(out[0])[i], one[0])
            np.testing.assert_array_equal(np.asarray(out[1])[i], one[1])


@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float16", "float32"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_top_k(dtype, axis):
    x = (np.random.default_rng(0).standard_normal((6, 5)) * 4).astype(dtype)
    values, positions = lax.top_k(x, 3, axis=axis)
    assert values.dtype == x.dtype and positions.dtype == np.int32
    order = np.take(np.argsort(-x.astype(np.float64), axis, kind="stable"), range(3), axis)
    np.testing.assert_array_equal(positions, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, axis))


def test_derivative_and_batching_of_top_k():
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    for axis in (0, 1):
        gradient = np.asarray(xt.grad(lambda x: lax.reduce_sum(lax.top_k(x, 2, axis=axis)[0], (0, 1)))(x))
        np.testing.assert_array_equal(gradient, x >= np.sort(x, axis).take([-2], axis))
    for dim in (0, 1):
        values, positions = xt.vmap(lambda x: lax.top_k(x, 2), dim)(x)
        for i in range(x.shape[dim]):
            one = lax.top_k(x.take(i, dim), 2)
            np.testing.assert_array_equal(np.asarray(values)[i], one[0])
            np.testing.assert_array_equal(np.asarray(positions)[i], one[1])


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: lax.sort(()), TypeError, "at least one operand"),
        (lambda x: lax.sort((x, x[:, :2])), TypeError, r"equal shapes, got: \(3, 4\) \(3, 2\)"),
        (lambda x: lax.sort((x, x), num_keys=3), ValueError, r"num_keys=3 must be between 1 and len\(operand\)=2"),
        (lambda x: lax.sort(x, 4), ValueError, "axis 4 is out of bounds for array of dimension 2"),
        (lambda x: lax.sort(x[0, 0]), ValueError, "axis -1 is out of bounds for array of dimension 0"),
        (lambda x: lax.top_k(x, 7), ValueError, r"got k=7 with shape=\[3, 4\] and axis=1"),
        (lambda x: lax.top_k(x, -1), ValueError, "must be nonnegative, got -1"),
        (lambda x: lax.top_k(x * 1j, 1), ValueError, "not compatible with complex"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call(np.ones((3, 4), np.float32))
