"""Approximate top k: exact where XLA falls back, its derivative, batching, messages and its form for TPUs."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import xtrace as xt
from xtrace import lax

X = np.random.default_rng(0).permutation(3 * 4 * 50).reshape(3, 50, 4).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", ml_dtypes.bfloat16])
def test_greatest_and_least(axis, dtype):
    x = X.astype(dtype)
    k = 3
    with xt.enable_x64(dtype == "float64"):
        for find, order in ((lax.approx_max_k, -1), (lax.approx_min_k, 1)):
            values, positions = find(x, k, axis)
            wanted = np.take(order * np.sort(order * x.astype("float64"), axis), range(k), axis)
            assert values.dtype == x.dtype and positions.dtype == np.int32
            np.testing.assert_array_equal(np.asarray(values).astype("float64"), wanted)
            np.testing.assert_array_equal(np.take_along_axis(x, np.asarray(positions), axis), values)


def test_candidates_that_are_not_aggregated():
    # JAX 0.12: 50 elements are all candidates; of 5000 in one dimension, 2048 remain for a recall of 0.95.
    assert lax.approx_max_k(X[:, :, 0], 4, aggregate_to_topk=False)[0].shape == (3, 50)
    x = np.random.default_rng(1).permutation(5000).astype(np.float32)
    values, positions = lax.approx_max_k(x, 4, aggregate_to_topk=False)
    assert values.shape == positions.shape == (2048,)
    assert {4999, 4998, 4997, 4996} <= set(np.asarray(values).tolist())


def test_derivative_reaches_the_chosen_elements():
    x = X[:, :, 0]
    gradient = xt.grad(lambda x: (lax.approx_max_k(x, 2)[0] * np.float32([1, 10])).sum())(x)
    wanted = np.zeros_like(x)
    order = np.argsort(-x, -1)
    np.put_along_axis(wanted, order[:, :1], 1, -1)
    np.put_along_axis(wanted, order[:, 1:2], 10, -1)
    np.testing.assert_array_equal(gradient, wanted)
    _, (tangent, of_positions) = xt.jvp(lambda x: lax.approx_min_k(x, 3), (x,), (x,))
    np.testing.assert_array_equal(tangent, np.sort(x, -1)[:, :3])
    assert of_positions.dtype == xt.dtypes.float0


@pytest.mark.parametrize("mapped", [0, 1, 2])
@pytest.mark.parametrize("axis", [0, 1])
def test_batching(mapped, axis):
    out = xt.vmap(lambda x: lax.approx_max_k(x, 2, axis), mapped)(X)
    for i in range(X.shape[mapped]):
        for got, wanted in zip(out, lax.approx_max_k(X.take(i, mapped), 2, axis)):
            np.testing.assert_array_equal(got[i], wanted)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: lax.approx_max_k(X, 5), ValueError, "smaller than the size of reduction_dim 4, got 5"),
        (lambda: lax.approx_max_k(X, 0), ValueError, "k must be positive, got 0"),
        (lambda: lax.approx_max_k(X.astype(int), 1), ValueError, "operand must be a floating type"),
        (lambda: lax.approx_min_k(X, 1, recall_target=1.5), ValueError, "recall_target must be above 0"),
        (lambda: lax.approx_min_k(X, 1, 3), IndexError, "reduction_dimension 3 is out of bounds"),
        (lambda: lax.approx_min_k(np.float32(1), 1), TypeError, "must have >= 1 dimension"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_only_tpus_approximate():
    traced = xt.jit(lambda x: lax.approx_max_k(x, 2, recall_target=0.9)).trace(X)
    for platform, fallback in (("cpu", True), ("cuda", True), ("tpu", False)):
        text = traced.lower(lowering_platforms=(platform,)).as_text()
        assert "@ApproxTopK" in text and "recall_target = 0.899999976" in text
        assert ("is_fallback" in text) is fallback
