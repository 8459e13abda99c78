"""Softmax and its relatives against SciPy; standardisation, one-hot vectors and attention against their formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import xtrace as xt
from xtrace import nn

rng = np.random.default_rng(0)
X = rng.normal(size=(3, 5)).astype(np.float32)
MASK = np.array([[1, 0, 1, 1, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 1]], bool)


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 1), None])
def test_softmax(axis):
    scipy_axis = axis
    np.testing.assert_allclose(nn.softmax(X, axis), sp.softmax(X.astype(float), scipy_axis), rtol=1e-5)
    np.testing.assert_allclose(nn.log_softmax(X, axis), sp.log_softmax(X.astype(float), scipy_axis), rtol=1e-5)
    np.testing.assert_allclose(nn.logsumexp(X, axis), sp.logsumexp(X.astype(float), scipy_axis), rtol=1e-5)
    mean = np.log(np.exp(X.astype(float)).mean(scipy_axis))
    np.testing.assert_allclose(nn.logmeanexp(X, axis), mean, rtol=1e-4, atol=1e-6)


def test_masks():
    hidden = np.where(MASK, X.astype(float), -np.inf)
    np.testing.assert_allclose(nn.softmax(X, where=MASK), sp.softmax(hidden, 1), rtol=1e-5)
    np.testing.assert_allclose(
        nn.log_softmax(X, where=MASK), np.where(MASK, sp.log_softmax(hidden, 1), -np.inf), rtol=1e-5
    )
    np.testing.assert_allclose(nn.logsumexp(X, axis=1, where=MASK), sp.logsumexp(hidden, 1), rtol=1e-5)
    counts = MASK.sum(1, keepdims=True)
    expected = sp.logsumexp(hidden, 1, keepdims=True) - np.log(counts)
    np.testing.assert_allclose(nn.logmeanexp(X, axis=1, where=MASK, keepdims=True), expected, rtol=1e-4, atol=1e-6)


def test_large_and_infinite_values():
    big = np.array([1000.0, 1000.0], np.float32)
    np.testing.assert_allclose(nn.softmax(big), [0.5, 0.5])
    np.testing.assert_allclose(nn.logsumexp(big), 1000 + np.log(2), rtol=1e-6)
    assert float(nn.logsumexp(np.full(3, -np.inf, np.float32))) == -np.inf
    assert float(nn.logsumexp(np.array([np.inf, 0], np.float32))) == np.inf
    np.testing.assert_allclose(xt.grad(lambda x: nn.log_softmax(x)[0])(big), [0.5, -0.5])


def test_logsumexp_with_factors():
    b = np.array([1, -2, 0.5, 0, 1], np.float32)
    value, sign = nn.logsumexp(X, axis=1, b=b, return_sign=True)
    expected, expected_sign = sp.logsumexp(X.astype(float), axis=1, b=b, return_sign=True)
    np.testing.assert_allclose(value, expected, rtol=1e-4)
    np.testing.assert_array_equal(sign, expected_sign)
    assert np.isnan(np.asarray(nn.logsumexp(np.array([1.0, 2.0]), b=np.array([1.0, -2.0]))))
    z = (X + 1j * X[::-1]).astype(np.complex64)
    np.testing.assert_allclose(nn.logsumexp(z, axis=1), sp.logsumexp(z.astype(complex), axis=1), rtol=1e-4)


def test_softmax_derivative():
    p = sp.softmax(X[0].astype(float))
    np.testing.assert_allclose(xt.jacobian(nn.softmax)(X[0]), np.diag(p) - np.outer(p, p), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(xt.jacfwd(nn.softmax)(X[0]), np.diag(p) - np.outer(p, p), rtol=1e-4, atol=1e-7)


def test_log1mexp():
    x = np.array([1e-6, 0.1, 0.6931, 0.7, 5, 50], np.float32)
    wide = x.astype(float)
    expected = np.where(x < 0.7, np.log(-np.expm1(-wide)), np.log1p(-np.exp(-wide)))
    np.testing.assert_allclose(nn.log1mexp(x), expected, rtol=2e-5)
    np.testing.assert_allclose(xt.vmap(xt.grad(nn.log1mexp))(x), 1 / np.expm1(x.astype(float)), rtol=1e-5)


def test_standardize():
    def expected(x, axis, mask=None):
        x = x.astype(float)
        mean = np.mean(x, axis, where=True if mask is None else mask, keepdims=True)
        variance = np.var(x, axis, where=True if mask is None else mask, keepdims=True)
        return (x - mean) / np.sqrt(variance + 1e-5)

    for axis in (0, -1, (0, 1)):
        for algorithm in ("fast", "stable"):
            got = nn.standardize(X, axis, algorithm=algorithm)
            np.testing.assert_allclose(got, expected(X, axis), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(nn.standardize(X, where=MASK)[:2], expected(X, -1, MASK)[:2], rtol=1e-3, atol=1e-4)
    got = nn.standardize(X, mean=np.float32(1), variance=np.float32(4), epsilon=0.0)
    np.testing.assert_allclose(got, (X - 1) / 2, rtol=1e-6)
    with pytest.raises(ValueError, match="'fast' or 'stable'"):
        nn.standardize(X, algorithm="other")
    with pytest.raises(ValueError, match="axis 7"):
        nn.softmax(X, axis=7)


def test_one_hot():
    np.testing.assert_array_equal(nn.one_hot(np.array([0, 2, 3, -1]), 3), np.eye(4, 3)[[0, 2, 3, 3]])
    assert nn.one_hot(np.array([[0, 1]]), 5, axis=1).shape == (1, 5, 2)
    assert nn.one_hot(1, 3, dtype="int8").dtype == np.int8
    np.testing.assert_array_equal(xt.vmap(lambda i: nn.one_hot(i, 3))(np.arange(3)), np.eye(3))
    with pytest.raises(ValueError, match="axis 5"):
        nn.one_hot(np.arange(3), 3, axis=5)


Q = rng.normal(size=(2, 3, 4, 5)).astype(np.float32)
K, V = rng.normal(size=(2, 2, 6, 2, 5)).astype(np.float32)
BIAS = rng.normal(size=(2, 4, 3, 6)).astype(np.float32)
SEEN = rng.random((2, 1, 3, 6)) > 0.3
LENGTHS = np.array([2, 3], np.int32)


def attention(q, k, v, bias=0.0, seen=True, scale=None):
    k, v = np.repeat(k, 2, axis=2), np.repeat(v, 2, axis=2)
    logits = np.einsum("btnh,bsnh->bnts", q, k, dtype=float) * (scale or q.shape[-1] ** -0.5) + bias
    logits = np.where(seen, logits, -1e30)
    return np.einsum("bnts,bsnh->btnh", sp.softmax(logits, -1), v), sp.logsumexp(logits, -1).transpose(0, 2, 1)


T, S = np.arange(3)[:, None], np.arange(6)[None]
INSIDE = (LENGTHS[:, None, None, None] > T) & (LENGTHS[:, None, None, None] + 1 > S)
VARIANTS = {
    "plain": ({}, {}),
    "bias and mask": ({"bias": BIAS, "mask": SEEN}, {"bias": BIAS, "seen": SEEN}),
    "causal": ({"is_causal": True, "scale": 0.3}, {"seen": T >= S, "scale": 0.3}),
    "window": ({"local_window_size": (1, 2)}, {"seen": (T <= S + 1) & (T >= S - 2)}),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_attention(name):
    given, reference = VARIANTS[name]
    out, residual = nn.dot_product_attention(Q, K, V, return_residual=True, **given)
    want, sums = attention(Q, K, V, **reference)
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(residual, sums, rtol=1e-4, atol=1e-5)


def test_attention_of_padded_sequences():
    out = nn.dot_product_attention(Q, K, V, query_seq_lengths=LENGTHS, key_value_seq_lengths=LENGTHS + 1)
    want, _ = attention(Q, K, V, seen=INSIDE)
    np.testing.assert_allclose(
        out, want * (LENGTHS[:, None, None, None] > np.arange(3)[:, None, None]), rtol=1e-4, atol=1e-5
    )


def test_attention_without_batch_and_mapped():
    want = nn.dot_product_attention(Q, K, V)
    np.testing.assert_allclose(nn.dot_product_attention(Q[0], K[0], V[0]), want[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(xt.vmap(nn.dot_product_attention)(Q, K, V), want, rtol=1e-5, atol=1e-6)


def test_attention_refuses():
    for call, message in [
        (lambda: nn.dot_product_attention(Q, K[:, :, :1], V), "key and value must have one shape"),
        (lambda: nn.dot_product_attention(Q, K, V, mask=BIAS), "Mask must be boolean"),
        (lambda: nn.dot_product_attention(Q, K, V, bias=BIAS[:, :3]), "bias of shape"),
        (lambda: nn.dot_product_attention(Q[0, 0], K, V), "3 or 4 dimensions"),
        (lambda: nn.dot_product_attention(Q, K, V, implementation="foo"), "foo"),
        (lambda: nn.dot_product_attention(Q[:, :, :3], K, V), "multiple of key/value heads"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_the_residual_of_narrow_attention_has_its_dtype():
    q, k, v = (x.astype("bfloat16") for x in (Q, K, V))
    (out, sums), pullback = xt.vjp(lambda *x: nn.dot_product_attention(*x, return_residual=True), q, k, v)
    assert out.dtype == sums.dtype == "bfloat16"
    assert [d.dtype.name for d in pullback((out, sums))] == ["bfloat16"] * 3
