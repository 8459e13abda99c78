"""broadcast_in_dim: where its dimensions go, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax


@pytest.mark.parametrize(
    "shape, to, dims",
    [
        ((2, 3), (3, 4, 2), (2, 0)),
        ((2, 2), (2, 2), (1, 0)),
        ((2, 3), (2, 5, 3), (0, 2)),
        ((1, 3, 2), (2, 3, 4), (2, 1, 0)),
    ],
    ids=str,
)
def test_dimensions_in_any_order(shape, to, dims):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    at = [1] * len(to)
    for i, d in enumerate(dims):
        at[d] = shape[i]
    expected = np.broadcast_to(np.transpose(x, np.argsort(dims)).reshape(at), to)
    for function in (lax.broadcast_in_dim, xt.jit(lax.broadcast_in_dim, static_argnums=(1, 2))):
        np.testing.assert_array_equal(function(x, to, dims), expected)
    gradient = xt.grad(lambda x: lax.broadcast_in_dim(x, to, dims).sum())(x)
    np.testing.assert_array_equal(gradient, np.full(shape, np.prod(to) / np.prod(shape)))


@pytest.mark.parametrize(
    "shape, to, dims, words",
    [
        ((2,), (3,), (0,), "dimension 0 has size 2, not 1 or 3"),
        ((2,), (2, 2), (2,), "must be a subset of output dimensions"),
        ((2,), (2, 2), (0, 1), "must have length equal to operand ndim"),
        ((2, 2), (2, 2), (0, 0), "must differ"),
        ((2, 2), (2, 2, 2), (1, -1), "must be a subset of output dimensions"),
    ],
)
def test_dimensions_that_do_not_fit(shape, to, dims, words):
    with pytest.raises(TypeError, match=words):
        lax.broadcast_in_dim(xt.numpy.ones(shape), to, dims)
