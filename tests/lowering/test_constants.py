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
