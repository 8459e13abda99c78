"""Cumulative operations against NumPy's accumulate, on every way they are lowered; derivatives and batching."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import xtrace as xt
from xtrace import lax
from xtrace.lax import cumulative

NUMPY = {
    lax.cumsum: np.cumsum,
    lax.cumprod: np.cumprod,
    lax.cummax: np.maximum.accumulate,
    lax.cummin: np.minimum.accumulate,
    lax.cumlogsumexp: np.logaddexp.accumulate,
}
SHAPES = [((7,), 0), ((3, 8), 1), ((8, 3), 0), ((2, 9, 2), 1), ((1,), 0), ((0, 3), 0), ((3, 0), 0)]


def reference(function, x, axis, reverse):
    if x.size == 0:
        return x
    x = np.flip(x, axis) if reverse else x
    out = NUMPY[function](x, axis=axis)
    return np.flip(out, axis) if reverse else out


@pytest.mark.parametrize("function", NUMPY)
@pytest.mark.parametrize("shape, axis", SHAPES)
@pytest.mark.parametrize("reverse", [False, True])
def test_values(function, shape, axis, reverse):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    expected = reference(function, x, axis, reverse)
    np.testing.assert_allclose(function(x, axis, reverse), expected, rtol=1e-5, atol=1e-6)
    primitive = getattr(cumulative, f"{function.__name__}_p")
    in_steps = xt.jit(lambda x: cumulative.by_prefix_scan(primitive, x, axis, reverse))(x)
    np.testing.assert_allclose(in_steps, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", [lax.cumsum, lax.cummax, lax.cumlogsumexp])
@pytest.mark.parametrize("shape, axis", [((40, 1024), 1), ((2, 300, 16, 1), 2), ((1100, 3), 1)])
@pytest.mark.parametrize("reverse", [False, True])
def test_many_rows_are_moved_to_the_front(function, shape, axis, reverse):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    compiled = xt.jit(lambda x: function(x, axis, reverse))
    assert "stablehlo.transpose" in compiled.lower(x).as_text()
    np.testing.assert_allclose(compiled(x), reference(function, x, axis, reverse), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", NUMPY)
@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_against_differences(function, reverse):
    rng = np.random.default_rng(1)
    x, t, ct = rng.standard_normal((3, 2, 6)).astype(np.float32)
    f = lambda x: function(x, 1, reverse)
    tangent, back = xt.jit(lambda x, t, ct: (xt.jvp(f, (x,), (t,))[1], xt.vjp(f, x)[1](ct)[0]))(x, t, ct)
    eps = 1e-6
    high, low = (reference(function, x.astype(np.float64) + sign * eps * t, 1, reverse) for sign in (1, -1))
    np.testing.assert_allclose(tangent, (high - low) / (2 * eps), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(np.sum(np.asarray(back) * t), np.sum(ct * np.asarray(tangent)), rtol=1e-4, atol=1e-4)


def last_of(function):
    return lambda x: lax.index_in_dim(function(x), x.shape[0] - 1, 0, False)


def test_derivatives_at_edges():
    assert np.asarray(xt.grad(last_of(lax.cumprod))(np.float32([2, 0, 3, 4]))).tolist() == [0, 24, 0, 0]
    assert np.asarray(xt.grad(last_of(lax.cummax))(np.float32([1, 3, 3]))).tolist() == [0, 0.5, 0.5]
    minus_infinity = xt.grad(last_of(lax.cumlogsumexp))(np.float32([-np.inf, -np.inf, 0, 1]))
    np.testing.assert_allclose(minus_infinity, [0, 0, 1 / (1 + np.e), np.e / (1 + np.e)], rtol=1e-6)
    infinity = xt.grad(last_of(lax.cumlogsumexp))(np.float32([0, np.inf, 1]))
    assert np.asarray(infinity).tolist() == [0, 1, 0]


@pytest.mark.parametrize("function", NUMPY)
def test_batching_equals_a_loop(function):
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    for dim, axis in itertools.product(range(3), range(2)):
        out = xt.vmap(lambda x: function(x, axis), dim, dim)(x)
        loop = [reference(function, x.take(i, dim), axis, False) for i in range(x.shape[dim])]
        np.testing.assert_allclose(out, np.stack(loop, dim), rtol=1e-5, atol=1e-6)


def test_transpose_of_a_sum_is_the_sum_from_the_end():
    text = str(xt.make_jaxpr(xt.grad(lambda x: lax.reduce_sum(lax.cumsum(x), (0,))))(np.ones(3, np.float32)))
    assert "cumsum[axis=0 reverse=True]" in text


def test_narrow_types_are_summed_in_wider_ones():
    for dtype in (np.float16, ml_dtypes.bfloat16):
        ones = np.ones(1024, dtype)  # adding 1 to 256 in bfloat16 is 256
        assert float(np.asarray(lax.cumsum(ones))[-1]) == 1024
    x = np.full(100_000, 0.1, np.float32)
    np.testing.assert_allclose(np.asarray(lax.cumsum(x))[-1], np.float64(x[0]) * 100_000, rtol=1e-7)


def test_integers_and_complex():
    x = np.array([3, -1, 4, -1, 5], np.int32)
    for function in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin):
        out = function(x)
        assert out.dtype == np.int32
        np.testing.assert_array_equal(out, NUMPY[function](x))
    z = np.array([1 + 1j, 2, 0.5j], np.complex64)
    np.testing.assert_allclose(lax.cumprod(z), np.cumprod(z))
    np.testing.assert_allclose(lax.cumlogsumexp(z), np.log(np.cumsum(np.exp(z))), rtol=1e-6)


def test_nan_stays():
    x = np.float32([1, np.nan, 2])
    assert np.isnan(np.asarray(lax.cummax(x))).tolist() == [False, True, True]
    assert np.isnan(np.asarray(lax.cumlogsumexp(x))).tolist() == [False, True, True]


def test_messages():
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"axis 4 is out of bounds for array of shape \(2, 3\)"):
        lax.cumsum(x, 4)
    with pytest.raises(ValueError, match="takes axes from 0 on, got -1"):
        lax.cumsum(x, -1)
    with pytest.raises(TypeError, match="cumsum does not accept dtype bool"):
        lax.cumsum(x > 0)
    with pytest.raises(TypeError, match="cumlogsumexp does not accept dtype int32"):
        lax.cumlogsumexp(np.ones(3, np.int32))
