"""Products that contract nothing are lowered as multiplications on CPU, with einsum's values."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax

CASES = [
    ((3, 4), (5,), (((), ()), ((), ())), "ij,k->ijk"),
    ((7, 3), (7, 4), (((), ()), ((0,), (0,))), "bi,bj->bij"),
    ((3, 7, 2), (4, 2, 7), (((), ()), ((1, 2), (2, 1))), "ibc,jcb->bcij"),
    ((), (3,), (((), ()), ((), ())), ",i->i"),
    ((2, 3), (3, 2), (((), ()), ((1, 0), (0, 1))), "ab,ba->ba"),
    ((0, 3), (0, 2), (((), ()), ((0,), (0,))), "bi,bj->bij"),
]


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64, bool])
@pytest.mark.parametrize("left, right, numbers, einsum", CASES)
def test_values(left, right, numbers, einsum, dtype):
    rng = np.random.default_rng(0)
    a, b = [np.asarray(rng.standard_normal(s) * 3).astype(dtype) for s in (left, right)]
    got = np.asarray(lax.dot_general(a, b, numbers))
    want = np.einsum(einsum, a, b)
    np.testing.assert_allclose(got, want.astype(got.dtype), rtol=1e-6)


def test_form():
    f = xt.jit(lambda a, b: lax.dot_general(a, b, (((), ()), ((0,), (0,)))))
    a, b = np.ones((7, 3), np.float32), np.ones((7, 4), np.float32)
    assert "dot_general" not in f.lower(a, b).as_text() and "stablehlo.multiply" in f.lower(a, b).as_text()
    assert "dot_general" in f.trace(a, b).lower(lowering_platforms=("tpu",)).as_text()
