"""Scalar type objects and dtype queries."""

import ml_dtypes
import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.numpy.dtypes import SCALAR_TYPES


@pytest.mark.parametrize("name", SCALAR_TYPES)
def test_scalar_types(name):
    scalar = getattr(xnp, name)
    numpy_type = scalar.dtype.type
    assert np.dtype(scalar) == scalar.dtype
    assert scalar == numpy_type
    assert scalar == scalar.dtype
    assert scalar.dtype == scalar
    assert hash(scalar) == hash(numpy_type)
    assert isinstance(numpy_type(1), scalar)
    assert not isinstance("text", scalar)
    assert {numpy_type: "found"}[scalar] == "found"
    if name.startswith("float6"):
        return  # older jaxlibs can't put these on devices
    if scalar.dtype.itemsize < 8 or name.startswith("complex64") or name == "csingle":
        made = scalar(1)
        assert isinstance(made, xt.Array)
        assert made.dtype == scalar.dtype
        assert not made.weak_type
        assert xnp.zeros(2, scalar).dtype == scalar.dtype


def test_scalar_types_look_like_types():
    assert repr(xnp.float32) == "<class 'xtrace.numpy.float32'>"
    assert xnp.float32.__name__ == "float32"
    assert xnp.bool_ is xnp.bool
    assert xnp.float32([1, 2]).tolist() == [1, 2]
    assert xnp.int8("7" if False else 7) == 7
    assert xt.jit(lambda x: xnp.float16(x))(3).dtype == np.float16
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        xnp.int8(300)


def test_categories():
    assert xnp.issubdtype(xnp.bfloat16, xnp.floating)
    assert xnp.issubdtype(xnp.int4, xnp.integer)
    assert not xnp.issubdtype(xnp.float32, xnp.integer)
    assert xnp.isdtype(xnp.float32, "real floating")
    assert xnp.isdtype(xnp.int32, ("bool", "integral"))
    assert xnp.isdtype("float32", xnp.float32)
    with pytest.raises(ValueError, match="isdtype: no such kind: 'foo'"):
        xnp.isdtype(xnp.float32, "foo")


def test_promotion_queries():
    assert xnp.promote_types("int32", "float16") == np.float16
    assert xnp.promote_types(int, "float16") == np.float16
    assert xnp.promote_types("int32", "int64") == np.int64
    assert xnp.result_type(xnp.int32, 1.0) == np.float32
    assert xnp.result_type(xnp.arange(3), np.float64(2)) == np.float32
    assert xnp.can_cast(xnp.bfloat16, xnp.float32) is True
    assert xnp.can_cast("int32", "float32") is False
    assert xnp.can_cast(np.int64, np.float16) is False
    with pytest.raises(TypeError, match="can_cast: got the number 3"):
        xnp.can_cast(3, "int8")


def test_limits_and_constants():
    assert xnp.finfo(xnp.bfloat16).eps == 0.0078125
    assert xnp.iinfo(xnp.int4).max == 7
    assert xnp.finfo is ml_dtypes.finfo
    assert (xnp.pi, xnp.e, xnp.inf, xnp.newaxis) == (np.pi, np.e, np.inf, None)
    assert np.isnan(xnp.nan)
    assert isinstance(xnp.ones(2), xnp.ndarray)
    assert xnp.dtype is np.dtype
