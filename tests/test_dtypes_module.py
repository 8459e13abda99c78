"""The public module xtrace.dtypes."""

import ml_dtypes
import numpy as np
import pytest

import xtrace.dtypes as xdt
from xtrace.core import dtypes as core


def test_names():
    assert all(hasattr(xdt, name) for name in xdt.__all__)
    assert xdt.bfloat16 is ml_dtypes.bfloat16
    assert isinstance(xdt.finfo("float32"), xdt.finfo)
    assert xdt.finfo("bfloat16").bits == 16
    assert issubclass(xdt.TypePromotionError, ValueError)
    assert xdt.float0 == np.dtype([("float0", np.void, 0)])


def test_canonicalize_dtype():
    assert xdt.canonicalize_dtype(None) == np.float32
    assert xdt.canonicalize_dtype("complex128") == np.complex64
    assert xdt.canonicalize_dtype("S3") == np.dtype("S3")

    class Key(core.ExtendedDtype):
        name = "key<test>"
        scalar_type = core.prng_key

    key = Key()
    assert xdt.canonicalize_dtype(key, allow_extended_dtype=True) is key
    with pytest.raises(ValueError, match="key<test> is no numpy dtype; pass allow_extended_dtype=True to keep it"):
        xdt.canonicalize_dtype(key)
    with pytest.raises(TypeError):
        xdt.canonicalize_dtype("foo")
    with pytest.raises(ValueError):
        xdt.itemsize_bits(key)
    with pytest.raises(TypeError, match="scalar_type_of needs numbers or booleans; key<test> holds neither"):
        xdt.scalar_type_of(key)


@pytest.mark.parametrize(
    ("dtype", "bits", "python"),
    [
        ("bool", 8, bool),
        ("int4", 4, int),
        ("uint2", 2, int),
        ("int64", 64, int),
        ("float4_e2m1fn", 4, float),
        ("float8_e5m2", 8, float),
        ("bfloat16", 16, float),
        (np.float64, 64, float),
        (np.float32(1), 32, float),
        (int, 64, int),
        ("complex128", 128, complex),
    ],
)
def test_sizes_and_python_types(dtype, bits, python):
    assert xdt.itemsize_bits(dtype) == bits
    assert xdt.scalar_type_of(dtype) is python


def test_float0_has_no_size_and_no_python_type():
    with pytest.raises(ValueError, match="itemsize_bits needs a dtype of numbers or booleans"):
        xdt.itemsize_bits(xdt.float0)
    with pytest.raises(TypeError):
        xdt.scalar_type_of(xdt.float0)


def test_result_type():
    assert xdt.result_type(np.zeros(2, np.int8), 1.0, return_weak_type_flag=True) == (np.float32, True)
    with pytest.raises(ValueError, match="needs at least one array or dtype"):
        xdt.result_type()
