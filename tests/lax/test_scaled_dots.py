"""Dots with one scale for each block, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import xtrace as xt

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((2, 3, 8)).astype("float32"), RNG.standard_normal((2, 8, 4)).astype("float32")
A_SCALE = RNG.uniform(1, 2, (2, 3, 2)).astype("float32")
B_SCALE = RNG.uniform(1, 2, (2, 4, 4)).astype("float32")


def rounded(x):
    return x.astype(ml_dtypes.bfloat16).astype("float32")


def want():
    a = rounded(rounded(A) * rounded(np.repeat(A_SCALE, 4, 2)))
    return np.einsum("bij,bjk->bik", a, rounded(rounded(B) * rounded(np.repeat(B_SCALE, 2, 1))))


def dot(a, b):
    return xt.lax.scaled_dot(a, b, lhs_scale=A_SCALE, rhs_scale=B_SCALE, preferred_element_type="float32")


def test_values():
    for got in (dot(A, B), xt.jit(dot)(A, B)):
        assert got.dtype == "float32"
        np.testing.assert_allclose(got, want(), rtol=2e-2, atol=2e-2)
    assert xt.lax.scaled_dot(A, B, lhs_scale=A_SCALE).dtype == "bfloat16"
    without = xt.lax.scaled_dot(A[0], B[0], preferred_element_type="float32")
    np.testing.assert_allclose(without, rounded(A[0]) @ rounded(B[0]), rtol=1e-5, atol=1e-5)
    narrow = ml_dtypes.float8_e4m3fn
    got = xt.lax.scaled_dot(A.astype(narrow), B.astype(narrow), lhs_scale=A_SCALE.astype(ml_dtypes.float8_e8m0fnu))
    assert got.shape == (2, 3, 4)
    mapped = xt.vmap(
        lambda a, b, s, t: xt.lax.scaled_dot(a, b, lhs_scale=s, rhs_scale=t, preferred_element_type="float32")
    )(A, B, A_SCALE, B_SCALE)
    np.testing.assert_allclose(mapped, want(), rtol=2e-2, atol=2e-2)


def test_derivative():
    weights = RNG.standard_normal((2, 3, 4)).astype("float32")
    got = xt.grad(lambda a: (dot(a, B) * weights).sum())(A)
    exact = np.einsum("bik,bjk->bij", weights, B * np.repeat(B_SCALE, 2, 1)) * np.repeat(A_SCALE, 4, 2)
    np.testing.assert_allclose(got, exact, rtol=5e-2, atol=1e-1)


def test_operation():
    text = xt.jit(dot).lower(A, B).as_text()
    assert 'stablehlo.composite "xla.scaled_dot"' in text
    assert (
        "composite_attributes = {dimension_numbers = [[[2], [1]], [[0], [0]]]" in text
        or "dimension_numbers = [[[2 : i64], [1 : i64]], [[0 : i64], [0 : i64]]]" in text
    )


def test_errors():
    with pytest.raises(TypeError, match="same rank"):
        xt.lax.scaled_dot(A, B[0])
    with pytest.raises(TypeError, match="0-rank"):
        xt.lax.scaled_dot(A[0, 0], A[0, 0])
    with pytest.raises(TypeError, match="no multiple"):
        xt.lax.scaled_dot(A, B, lhs_scale=A[..., :3])
    with pytest.raises(TypeError, match="differ in dimension"):
        xt.lax.scaled_dot(A, B, lhs_scale=A[:1])
