"""Sets of values against NumPy: with sizes found, and with sizes given."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrace as xt

jnp = xt.numpy


def lists(*xs):
    return [np.asarray(x).tolist() for x in xs]


sized_unique = xt.jit(lambda x: jnp.unique(x, True, True, True, size=8, fill_value=9))


@given(st.lists(st.integers(-3, 3), min_size=6, max_size=6))
@settings(max_examples=30, deadline=None)
def test_unique(values):
    x = np.array(values)
    expected = np.unique(x, True, True, True)
    for actual, want in zip(jnp.unique(x, True, True, True), expected):
        np.testing.assert_array_equal(actual, want)
    n = len(expected[0])
    for actual, want, fill in zip(sized_unique(x), expected, (9, expected[1][0], None, 0)):
        if fill is None:
            np.testing.assert_array_equal(actual, want)
        else:
            np.testing.assert_array_equal(actual, [*want, *[fill] * (8 - n)])


def test_unique_along_an_axis():
    x = np.array([[1, 2], [1, 2], [0, 3]])
    assert lists(*jnp.unique(x, axis=0, return_inverse=True)) == [[[0, 3], [1, 2]], [1, 1, 0]]
    assert lists(*jnp.unique(x, axis=0, return_inverse=True, size=3)) == [[[0, 3], [1, 2], [0, 3]], [1, 1, 0]]
    assert lists(jnp.unique(np.array([[1, 1, 0], [2, 2, 3]]), axis=1, size=2)) == [[[0, 1], [3, 2]]]


def test_unique_and_nan():
    x = np.float32([1, np.nan, np.nan])
    for options in ({}, {"size": 2}):
        np.testing.assert_array_equal(jnp.unique(x, **options), np.float32([1, np.nan]))
    for options in ({}, {"size": 3}):
        np.testing.assert_array_equal(jnp.unique(x, equal_nan=False, **options), np.float32([1, np.nan, np.nan]))


def test_unique_by_parts():
    x = np.array([[3, 1], [3, 2]])
    out = jnp.unique_all(x)
    assert lists(out.values, out.indices, out.inverse_indices, out.counts) == [
        [1, 2, 3],
        [1, 3, 0],
        [[2, 0], [2, 1]],
        [1, 1, 2],
    ]
    assert lists(*jnp.unique_counts(x)) == [[1, 2, 3], [1, 1, 2]]
    assert lists(*jnp.unique_inverse(x, size=4))[0] == [1, 2, 3, 1]
    assert lists(jnp.unique_values(x)) == [[1, 2, 3]]


@given(st.lists(st.integers(-4, 4), min_size=5, max_size=5), st.lists(st.integers(-4, 4), min_size=4, max_size=4))
@settings(max_examples=30, deadline=None)
def test_combinations(first, second):
    a, b = np.array(first), np.array(second)
    for name in ("union1d", "setdiff1d", "setxor1d", "intersect1d"):
        expected = getattr(np, name)(a, b)
        np.testing.assert_array_equal(getattr(jnp, name)(a, b), expected)
        sized = getattr(jnp, name)(a, b, size=10, fill_value=99)
        np.testing.assert_array_equal(sized, [*expected, *[99] * (10 - len(expected))])
    values, i, j = jnp.intersect1d(a, b, return_indices=True, size=5, fill_value=99)
    expected = np.intersect1d(a, b, return_indices=True)
    for actual, want, fill in zip((values, i, j), expected, (99, 5, 4)):
        np.testing.assert_array_equal(actual, [*want, *[fill] * (5 - len(want))])


def test_default_fills():
    a, b = np.array([1, 2, 2, 5]), np.array([2, 3])
    # Recorded from JAX 0.12.0.1.
    assert lists(jnp.union1d(a, b, size=6), jnp.setdiff1d(a, b, size=3), jnp.setxor1d(a, b, size=5)) == [
        [1, 2, 3, 5, 1, 1],
        [1, 5, 0],
        [1, 3, 5, 1, 1],
    ]
    assert lists(*jnp.intersect1d(a[:3], b, size=3, return_indices=True)) == [[2, 2, 2], [1, 3, 3], [0, 2, 2]]


@pytest.mark.parametrize("method", ["auto", "compare_all", "binary_search", "sort"])
def test_isin(method):
    x = np.random.default_rng(0).integers(0, 200, (5, 6))
    for tests in (np.array([3, 5, 150]), np.arange(0, 200, 2), np.array([], np.int32)):
        np.testing.assert_array_equal(jnp.isin(x, tests, method=method), np.isin(x, tests))
        np.testing.assert_array_equal(jnp.isin(x, tests, invert=True, method=method), np.isin(x, tests, invert=True))
    nan = np.float32([np.nan, 1])
    assert lists(jnp.isin(nan, nan, method=method)) == [[False, True]]


def test_messages():
    with pytest.raises(TypeError, match=r"give it one, numpy.unique\(..., size=...\)"):
        xt.jit(jnp.unique)(np.ones(3))
    with pytest.raises(ValueError, match="fill_value must be specified"):
        jnp.unique(np.zeros(0), size=3)


def test_the_inverse_of_a_scalar_is_a_scalar():
    values, inverse = xt.numpy.unique_inverse(xt.numpy.asarray(3.0))
    assert (
        values.shape == (1,) and inverse.shape == xt.numpy.unique_all(xt.numpy.asarray(3.0)).inverse_indices.shape == ()
    )
