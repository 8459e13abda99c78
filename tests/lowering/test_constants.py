"""Arrays that a program closes over are constants of it, with the same elements."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt

_MASKS = [
    np.array([True, False, True]),
    np.array([[False, True, True], [True, False, False]]),
    np.array([False] * 9 + [True]),
    np.array([[True, True]]),
    np.array([[True, False, True, False], [False, True, True, False]]).T,
    np.zeros((0, 3), np.bool_),
]


@pytest.mark.parametrize("mask", _MASKS, ids=[str(m.shape) for m in _MASKS])
def test_masks(mask):
    np.testing.assert_array_equal(xt.jit(lambda: xt.numpy.logical_not(mask))(), ~mask)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float32", "float16", "bfloat16", "complex64"])
def test_numbers(dtype):
    values = np.array([[0, 1, 0], [1, 1, 0]]).astype(xt.numpy.dtype(dtype))
    got = xt.jit(lambda: xt.numpy.add(values, values))()
    assert got.dtype == values.dtype
    np.testing.assert_array_equal(np.asarray(got).astype(complex), 2 * values.astype(complex))


@pytest.mark.parametrize("shape", [(3, 4), (1,), (0, 3), (5, 1, 2)], ids=str)
@pytest.mark.parametrize(
    "dtype",
    "bool int4 int8 uint32 int64 float8_e4m3fn bfloat16 float16 float32 float64 complex64 complex128".split(),
)
def test_one_number_in_every_place(dtype, shape):
    """A scalar fills the shape: the attribute is that of the whole array, bit for bit, without making one."""
    from xtrace.lowering.mlir_context import MLIRContext

    with xt.enable_x64(True):
        dtype = xt.numpy.dtype(dtype)
    context = MLIRContext()
    numbers = [1] if dtype.kind in "biu" or dtype.name == "int4" else [1.5, -0.0, np.inf, np.nan]
    with context.context:
        for number in numbers:
            with np.errstate(invalid="ignore"):
                value = np.asarray(number).astype(dtype)
            whole = np.full(shape, value, dtype)
            assert str(context.dense(value, shape, dtype)) == str(context.dense(whole, shape, dtype))
