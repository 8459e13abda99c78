"""Conversions between dtypes and of bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import xtrace as xt
from xtrace import lax

FLOATS = np.array([0.0, -0.0, 0.9, -0.9, 2.5, -2.5, 300, -300, 1e20, -1e20, np.inf, -np.inf, np.nan], np.float32)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_floats_saturate_and_nan_is_zero(dtype):
    limits = np.iinfo(dtype)
    wanted = [0 if np.isnan(v) else min(max(int(v), limits.min), limits.max) if np.isfinite(v) else
              (limits.max if v > 0 else limits.min) for v in FLOATS.astype(object)]  # fmt: skip
    assert np.asarray(lax.convert_element_type(FLOATS, dtype)).tolist() == wanted
    scalars = [np.asarray(lax.convert_element_type(v, dtype)).item() for v in FLOATS]
    assert scalars == wanted
    assert [np.asarray(lax.convert_element_type(float(v), dtype)).item() for v in FLOATS] == wanted


def test_integers_wrap():
    x = np.array([0, 255, 256, -1, 2**31 - 1], np.int32)
    np.testing.assert_array_equal(lax.convert_element_type(x, "uint8"), x.astype(np.uint8))
    assert lax.convert_element_type(300, "int8") == 44


def test_complex_to_real_warns():
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        assert lax.convert_element_type(3 + 4j, "float32") == 3
    with pytest.warns(np.exceptions.ComplexWarning):
        assert lax.convert_element_type(np.array([0 + 4j], np.complex64), "bool").tolist() == [False]


def test_narrow_dtypes():
    x = np.array([-8, -1, 0, 7], np.float32)
    four = lax.convert_element_type(x, "int4")
    assert four.dtype == ml_dtypes.int4
    np.testing.assert_array_equal(lax.convert_element_type(four, "float32"), x)
    x = np.float32([0.1, 448])
    expected = x.astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    np.testing.assert_array_equal(lax.convert_element_type(x, "float8_e4m3fn").astype("float32"), expected)


def test_derivatives_pass_through_dtypes():
    x = np.float16(2.0)

    def f(x):
        return lax.square(lax.convert_element_type(x, "float32"))

    g = xt.grad(f)(x)
    assert g.dtype == np.float16 and g == 4
    assert xt.grad(lambda x: lax.convert_element_type(lax.convert_element_type(x, "int32"), "float32"))(2.5) == 0
    assert xt.grad(lambda x: lax.real(lax.convert_element_type(x, "complex64") * (2 + 1j)))(3.0) == 2


def test_results_are_strongly_typed():
    assert xt.make_jaxpr(lambda x: lax.convert_element_type(x, "float32"))(1.0).out_avals[0].weak_type is False
    assert lax.convert_element_type(1.0, float).weak_type is False


def test_bitcasts():
    x = np.array([1.0, -2.5, np.nan, np.inf], np.float32)
    bits = lax.bitcast_convert_type(x, "uint32")
    np.testing.assert_array_equal(bits, x.view(np.uint32))
    np.testing.assert_array_equal(lax.bitcast_convert_type(bits, "float32"), x)
    halves = lax.bitcast_convert_type(x, "uint16")
    np.testing.assert_array_equal(halves, x.view(np.uint16).reshape(4, 2))
    np.testing.assert_array_equal(lax.bitcast_convert_type(halves, "float32"), x)
    np.testing.assert_array_equal(lax.bitcast_convert_type(np.ones((3, 2), ml_dtypes.int4), "int8"), np.full(3, 17))
    same = np.array([True])
    assert lax.bitcast_convert_type(same, "bool").tolist() == [True]


def test_bitcast_is_flat():
    assert xt.grad(lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, "int32"), "float32"))(2.0) == 0


@pytest.mark.parametrize(
    "value, wanted",
    [(1, "int32"), (1.0, "float32"), (1j, "complex64"), (True, "bool"), (np.ones(3), "float32"), ("int8", "int8"),
     (float, "float32"), (np.uint8(1), "uint8"), (ml_dtypes.bfloat16, "bfloat16")],
)  # fmt: skip
def test_dtype_of_a_value(value, wanted):
    assert lax.dtype(value) == wanted


def test_what_has_no_dtype():
    with pytest.raises(ValueError, match="None"):
        lax.dtype(None)
    with pytest.raises(TypeError):
        lax.dtype([1, 2])
