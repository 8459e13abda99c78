"""Arrays from shapes."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax


def test_empty_has_shape_and_dtype():
    x = lax.empty((2, 3), "float32")
    assert x.shape == (2, 3) and x.dtype == np.float32


def test_full_like_keeps_weak_types():
    assert lax.full_like(1.0, 2).weak_type
    assert not lax.full_like(np.float32(1.0), 2).weak_type
    assert not lax.full_like(1.0, 2, dtype="float32").weak_type
    assert lax.full_like(xt.ShapeDtypeStruct((2,), "int32"), 7).tolist() == [7, 7]


def test_iota_obeys_the_x64_rule():
    assert lax.iota(int, 3).dtype == np.int32
    with xt.enable_x64(True):
        assert lax.iota(int, 3).dtype == np.int64


def test_iota_prints():
    assert str(xt.make_jaxpr(lambda: lax.iota("int32", 3))()) == (
        "{ lambda ; . let\n    a:i32[3] = iota[dimension=0 dtype=int32 shape=(3,) sharding=None]\n  in (a,) }"
    )


def test_sizes_are_integers():
    with pytest.raises(TypeError):
        lax.iota("int32", 3.5)
