"""Sorting, searching, quantiles and histograms against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrace as xt

jnp = xt.numpy
RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 7)).astype(np.float32)
INTEGERS = RNG.integers(0, 5, (3, 7))
WITH_NAN = np.where(X > 0.5, np.nan, X).astype(np.float32)


def check(actual, expected):
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_sort_and_argsort(axis):
    check(jnp.sort(X, axis), np.sort(X, axis))
    check(jnp.argsort(INTEGERS, axis), np.argsort(INTEGERS, axis, kind="stable"))
    check(jnp.sort(X, axis, descending=True), -np.sort(-X, axis))
    check(jnp.argsort(INTEGERS, axis, descending=True), np.argsort(-INTEGERS, axis, kind="stable"))
    assert jnp.argsort(INTEGERS, axis, dtype=np.int8).dtype == np.int8


def test_other_sorts():
    check(jnp.lexsort((X, INTEGERS)), np.lexsort((X, INTEGERS)))
    check(jnp.lexsort((X, INTEGERS), axis=0), np.lexsort((X, INTEGERS), axis=0))
    check(jnp.lexsort(X), np.lexsort(X))
    for k in (0, 3, -2):
        out = np.asarray(jnp.partition(X, k))
        check(out[:, k], np.partition(X, k)[:, k])
        assert (out[:, :k] <= out[:, [k]]).all()
        check(np.take_along_axis(X, np.asarray(jnp.argpartition(X, k)), -1)[:, k], np.partition(X, k)[:, k])
    assert np.asarray(jnp.sort_complex(np.array([2, 1]))).tolist() == [1, 2]


@pytest.mark.parametrize("method", ["scan", "scan_unrolled", "sort", "compare_all"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(method, side):
    a = np.sort(RNG.integers(0, 20, 15)).astype(np.float32)
    v = RNG.integers(-2, 23, (4, 5)).astype(np.float32)
    check(jnp.searchsorted(a, v, side, method=method), np.searchsorted(a, v, side))
    a, v = np.append(a, [np.nan, np.nan]).astype(np.float32), np.float32([np.nan, 1, 30])
    check(jnp.searchsorted(a, v, side, method=method), np.searchsorted(a, v, side))
    assert int(jnp.searchsorted(a[:0], 1.0)) == 0


@given(st.lists(st.integers(-5, 5), max_size=5), st.integers(-6, 6))
@settings(max_examples=20, deadline=None)
def test_searchsorted_of_any_length(values, query):
    a = np.sort(np.array(values, np.int32))
    for side in ("left", "right"):
        assert int(jnp.searchsorted(a, query, side)) == np.searchsorted(a, query, side)


def test_searchsorted_with_sorter_and_digitize():
    a = np.sort(X[0])
    order = RNG.permutation(7)
    check(jnp.searchsorted(a[order], X, sorter=np.argsort(a[order])), np.searchsorted(a, X))
    for bins in (a, a[::-1].copy()):
        for right in (False, True):
            check(jnp.digitize(X, bins, right), np.digitize(X, bins, right))


METHODS = ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_quantiles(method, axis):
    kept = METHODS.index(method) % 2 == 0
    for q, keepdims in ((0.3, kept), (np.float32([0.01, 0.24, 0.6, 0.99]), not kept)):
        expected = np.quantile(X, q, axis, method=method, keepdims=keepdims)
        check(jnp.quantile(X, q, axis, method=method, keepdims=keepdims), expected)
    check(jnp.percentile(X, 31, axis, method=method), np.percentile(X, 31, axis, method=method))


@pytest.mark.filterwarnings("ignore")
def test_quantiles_and_nan():
    check(jnp.nanquantile(WITH_NAN, 0.3, 1), np.nanquantile(WITH_NAN, 0.3, 1))
    check(jnp.nanpercentile(WITH_NAN, 30, 0), np.nanpercentile(WITH_NAN, 30, 0))
    check(jnp.nanmedian(WITH_NAN, 0), np.nanmedian(WITH_NAN, 0))
    check(jnp.median(WITH_NAN, 1), np.median(WITH_NAN, 1))
    check(jnp.median(INTEGERS, 0), np.median(INTEGERS, 0))
    infinite = np.float32([0, 1, np.inf])
    assert float(jnp.quantile(infinite, 0.5)) == 1 and float(jnp.quantile(infinite, 1.0)) == np.inf


def test_quantiles_with_weights():
    # Recorded from JAX 0.12.0.1.
    values = np.arange(5, dtype=np.float32)
    assert float(jnp.quantile(values, 0.3, weights=values, method="inverted_cdf")) == 2
    doubled = np.repeat(X, 2, axis=1)
    weights = np.full(7, 2.0, np.float32)
    check(
        jnp.quantile(X, 0.4, 1, weights=weights, method="inverted_cdf"),
        np.quantile(doubled, 0.4, 1, method="inverted_cdf"),
    )


def test_derivatives_follow_the_elements():
    gradient = np.asarray(xt.grad(lambda x: jnp.sum(jnp.median(x, axis=1)))(X))
    check(gradient, X == np.median(X, axis=1, keepdims=True))
    check(xt.vmap(lambda x: jnp.quantile(x, 0.3))(X), np.quantile(X, 0.3, axis=1))
    check(xt.vmap(jnp.sort, 1)(X), np.sort(X, 0).T)


def test_bincount():
    assert np.asarray(jnp.bincount(np.array([1, 2, 2]))).tolist() == [0, 1, 2]
    check(jnp.bincount(np.array([1, 2, 2]), np.float32([1, 2, 3]), 5), np.bincount([1, 2, 2], [1, 2, 3], 5))
    assert np.asarray(jnp.bincount(np.array([1, 5, -2]), length=2)).tolist() == [1, 1]
    assert np.asarray(xt.jit(lambda x: jnp.bincount(x, length=3))(np.array([1, 2, 2]))).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bins": 5, "density": True},
        {"bins": np.float32([-1, 0, 0.5, 2])},
        {"bins": 4, "range": (-1, 1)},
        {"bins": 3, "weights": np.abs(X)},
    ],
)
def test_histogram(options):
    for actual, expected in zip(jnp.histogram(X, **options), np.histogram(X, **options)):
        check(actual, expected)


def test_histograms_of_points():
    x, y = X.ravel(), np.roll(X.ravel(), 1)
    for options in (
        {"bins": [3, 4], "density": True},
        {"bins": np.float32([-1, 0, 1])},
        {"bins": 2, "range": [[-1, 1], [0, 2]]},
    ):
        for actual, expected in zip(jnp.histogram2d(x, y, **options), np.histogram2d(x, y, **options)):
            check(actual, expected)
    counts, edges = jnp.histogramdd(np.stack([x, y, x], 1), bins=[2, 3, 2])
    expected, expected_edges = np.histogramdd(np.stack([x, y, x], 1), bins=[2, 3, 2])
    check(counts, expected)
    for a, b in zip(edges, expected_edges):
        check(a, b)
    assert np.asarray(jnp.histogram_bin_edges(np.array([2, 2]), 4)).tolist() == [1.5, 1.75, 2, 2.25, 2.5]


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: jnp.sort(X, kind="quicksort"), TypeError, "'kind' argument to sort is not supported"),
        (lambda: jnp.sort(X, 5), ValueError, "axis 5 is out of bounds"),
        (lambda: jnp.sort(2.0), ValueError, "axis -1 is out of bounds for array of dimension 0"),
        (lambda: jnp.lexsort(()), TypeError, "keys with len > 0"),
        (lambda: jnp.partition(X, 9), ValueError, "axis 9 is out of bounds"),
        (lambda: jnp.partition(X * 1j, 1), NotImplementedError, "complex"),
        (lambda: jnp.searchsorted(X, X), ValueError, "a should be 1-dimensional"),
        (lambda: jnp.searchsorted(X[0], 1.0, "top"), ValueError, "invalid argument side='top'"),
        (lambda: jnp.searchsorted(X[0], 1.0, method="fast"), ValueError, "invalid argument method='fast'"),
        (lambda: jnp.quantile(X, np.ones((2, 2))), ValueError, "q must be have rank <= 1"),
        (lambda: jnp.quantile(X, 0.5, method="mean"), ValueError, "method can only be"),
        (lambda: jnp.median(X[:0]), ValueError, "reduction axis must be non-empty"),
        (lambda: jnp.bincount(X[0]), TypeError, "must have an integer type; got float32"),
        (lambda: xt.jit(jnp.bincount)(INTEGERS[0]), TypeError, "length=..."),
        (lambda: jnp.histogram(X, "auto"), NotImplementedError, "string values for `bins`"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_elements_decide_about_the_dtype_of_quantiles(name, dtype):
    x = jnp.arange(5, dtype=dtype)
    share = np.float32(50 if name == "percentile" else 0.5)
    with xt.numpy_dtype_promotion("strict"):
        out = getattr(jnp, name)(x, share)
    assert out.dtype == dtype and float(out) == 2


@pytest.mark.parametrize(
    "elements, edges, weights, expected",  # expected: recorded from JAX
    [
        ("bfloat16", "float32", None, "bfloat16"),
        ("float16", "float32", None, "float16"),
        ("int32", "bfloat16", None, "float32"),
        ("int32", "float32", "float16", "float16"),
        ("bfloat16", "bfloat16", "float16", "float32"),
        ("float16", "int32", "int32", "float16"),
    ],
)
def test_the_dtype_of_histograms(elements, edges, weights, expected):
    counted = {} if weights is None else {"weights": jnp.ones(6, weights)}
    counts, used = jnp.histogram(jnp.arange(6, dtype=elements), jnp.array([0, 2, 5], edges), **counted)
    assert counts.dtype == used.dtype == expected
    assert counts.tolist() == [2, 4]


def test_histograms_under_strict_promotion():
    with xt.numpy_dtype_promotion("strict"):
        counts, _ = jnp.histogram(jnp.arange(6, dtype="bfloat16"), np.array([0, 2, 5], np.float32))
        assert counts.tolist() == [2, 4]
