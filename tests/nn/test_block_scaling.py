"""Dots of operands quantized in blocks, against NumPy with ml_dtypes and recorded values of JAX."""

import ml_dtypes
import numpy as np
import pytest

import xtrace as xt
from xtrace.test_util import check_grads

NUMBERS = (((1,), (1,)), ((), ()))


def configs(mode, scale=0.5):
    found = xt.nn.get_scaled_dot_general_config(mode, xt.numpy.array([scale], "float32") if mode == "nvfp4" else None)
    return [found] * 3


def quantized(x, mode, scale):
    """What the formats define, written for NumPy: the values that the quantized operand stands for."""
    x = x.astype(np.float64)
    block, largest = (32, 448.0) if mode == "mxfp8" else (16, 6.0)
    parts = x.reshape(*x.shape[:-1], -1, block) / (scale if mode == "nvfp4" else 1)
    scales = np.abs(parts).max(-1, keepdims=True) / largest
    if mode == "mxfp8":
        scales = np.exp2(np.ceil(np.log2(scales)))
        narrow = ml_dtypes.float8_e4m3fn
    else:
        scales = np.minimum(scales, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float64)
        narrow = ml_dtypes.float4_e2m1fn
    parts = np.clip(parts / scales, -largest, largest).astype(np.float32).astype(narrow).astype(np.float64)
    return (parts * scales * (scale if mode == "nvfp4" else 1)).reshape(x.shape)


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
def test_values(mode):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, 64)).astype(np.float32) for n in (3, 5))
    want = quantized(a, mode, 0.5) @ quantized(b, mode, 0.5).T
    got = xt.nn.scaled_dot_general(a, b, NUMBERS, configs=configs(mode))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    jitted = xt.jit(lambda a, b: xt.nn.scaled_dot_general(a, b, NUMBERS, configs=configs(mode)))(a, b)
    np.testing.assert_allclose(jitted, got, rtol=1e-6)
    mapped = xt.vmap(lambda x: xt.nn.scaled_dot_general(x[None], b, NUMBERS, configs=configs(mode)))(a)
    np.testing.assert_allclose(mapped[:, 0], got, rtol=1e-6)


#: Sums over both operands' gradients and their first numbers.
_RECORDED = {
    "mxfp8": ((-387.504286, -7.621216, -4.612549), (48.160135, -7.869507, 1.430084)),
    "nvfp4": ((80.912929, -12.770117, -2.472038), (84.446972, 0.569920, 3.403810)),
}


def test_derivatives_of_jax():
    rng = np.random.default_rng(0)
    for shape in ((2, 32, 3), (32, 4, 2)):
        rng.standard_normal(shape)
    for mode, wanted in _RECORDED.items():
        a, b, weights = (rng.standard_normal((2, 32, 32)).astype(np.float32) for _ in range(3))

        def loss(a, b, weights=weights, mode=mode):
            dot = xt.nn.scaled_dot_general(a, b, (((1,), (2,)), ((0,), (0,))), configs=configs(mode))
            return (dot * weights).sum()

        for got, want in zip(xt.grad(loss, (0, 1))(a, b), wanted, strict=True):
            got = np.asarray(got, np.float64)
            np.testing.assert_allclose([got.sum(), *got.ravel()[:2]], want, rtol=1e-4)


def test_axes_and_dtypes():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 32, 3)).astype("float32"), rng.standard_normal((32, 4, 2)).astype("float32")
    numbers = (((1,), (0,)), ((0,), (2,)))
    got = xt.nn.scaled_dot_general(a, b, numbers, "bfloat16", configs("mxfp8"))
    assert got.shape == (2, 3, 4) and got.dtype == "bfloat16"
    np.testing.assert_allclose(got.astype("float32"), np.einsum("bki,kjb->bij", a, b), atol=0.6)
    plain = xt.nn.scaled_dot_general(a, b, numbers)
    np.testing.assert_allclose(plain, np.einsum("bki,kjb->bij", a, b), rtol=1e-4, atol=1e-5)


def test_zeros():
    zeros = np.zeros((2, 32), np.float32)
    for mode in ("mxfp8", "nvfp4"):
        np.testing.assert_array_equal(xt.nn.scaled_dot_general(zeros, zeros, NUMBERS, configs=configs(mode)), 0)


def test_scaled_matmul():
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 3, 8)).astype("float32"), rng.standard_normal((2, 4, 8)).astype("float32")
    a_scales, b_scales = rng.uniform(1, 2, (2, 3, 2)).astype("float32"), rng.uniform(1, 2, (2, 4, 2)).astype("float32")
    want = np.einsum("bmk,bnk->bmn", a * np.repeat(a_scales, 4, -1), b * np.repeat(b_scales, 4, -1))
    np.testing.assert_allclose(xt.nn.scaled_matmul(a, b, a_scales, b_scales), want, rtol=1e-5, atol=1e-5)
    narrow = xt.nn.scaled_matmul(
        a.astype(ml_dtypes.float8_e4m3fn), b.astype(ml_dtypes.float8_e4m3fn), a_scales, b_scales, "bfloat16"
    )
    assert narrow.dtype == "bfloat16"
    check_grads(xt.nn.scaled_matmul, (a, b, a_scales, b_scales), order=1, atol=0.05, rtol=0.05)


def test_errors():
    ones = np.ones((1, 2, 4), np.float32)
    with pytest.raises(ValueError, match="3-dimensional"):
        xt.nn.scaled_matmul(ones[0], ones, ones, ones)
    with pytest.raises(ValueError, match="matching batch"):
        xt.nn.scaled_matmul(ones, ones[..., :3], ones, ones)
    with pytest.raises(ValueError, match="scales to have matching"):
        xt.nn.scaled_matmul(ones, ones, ones, ones[..., :2])
    with pytest.raises(ValueError, match="non-contract"):
        xt.nn.scaled_matmul(ones, ones, ones[:, :1], ones)
    with pytest.raises(ValueError, match="do not divide"):
        xt.nn.scaled_matmul(ones, ones, ones[..., :3], ones[..., :3])
    with pytest.raises(ValueError, match="blocks of 32"):
        xt.nn.scaled_dot_general(ones[0], ones[0], NUMBERS, configs=configs("mxfp8"))
    with pytest.raises(ValueError, match="Unsupported mode"):
        xt.nn.get_scaled_dot_general_config("fp2")
