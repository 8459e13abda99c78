"""Arrays without computation. Printed forms and messages are those JAX 0.12 prints, but for added advice."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from xtrace.core import avals, config
from xtrace.runtime import array, backends, transfers

put = transfers.device_put


def f32(value):
    return put(np.asarray(value, np.float32))


def test_facts():
    x = f32(np.arange(6).reshape(2, 3))
    assert x.aval is avals.ShapedArray((2, 3), np.dtype("float32"))
    assert (x.shape, x.dtype, x.ndim, x.size, x.itemsize, x.nbytes) == ((2, 3), np.float32, 2, 6, 4, 24)
    assert not x.weak_type and not x.committed and x.is_fully_addressable and x.is_fully_replicated
    assert x.device == backends.devices()[0] and x.devices() == {x.device}
    assert x.sharding.device_set == {x.device} and len(x) == 2
    assert x.on_device_size_in_bytes() == 24 and x.block_until_ready() is x


def test_isinstance():
    class Tracer:
        pass

    x = f32(1)
    assert isinstance(x, array.Array) and not isinstance(np.ones(2), array.Array)
    assert issubclass(type(x), array.Array) and not issubclass(int, array.Array)
    assert not isinstance(Tracer(), array.Array)
    array.register_tracer(Tracer)
    assert isinstance(Tracer(), array.Array) and issubclass(Tracer, array.Array)
    with pytest.raises(TypeError, match="can't be instantiated"):
        array.Array()


LINSPACE = np.linspace(0, 1, 9, dtype=np.float32)


@pytest.mark.parametrize(
    "value, text",
    [
        (np.ones(2, np.float32), "Array([1., 1.], dtype=float32)"),
        (np.float32(3), "Array(3., dtype=float32)"),
        (3, "Array(3, dtype=int32, weak_type=True)"),
        (1.0, "Array(1., dtype=float32, weak_type=True)"),
        (1j, "Array(0.+1.j, dtype=complex64, weak_type=True)"),
        (True, "Array(True, dtype=bool)"),
        (np.zeros((0, 3), np.float32), "Array([], shape=(0, 3), dtype=float32)"),
        (np.ones(3, ml_dtypes.bfloat16), "Array([1, 1, 1], dtype=bfloat16)"),
        (np.ones((2, 2), ml_dtypes.float8_e4m3fn), "Array([[1, 1],\n       [1, 1]], dtype=float8_e4m3fn)"),
        (np.ones(2, ml_dtypes.int4), "Array([1, 1], dtype=int4)"),
        (np.array([True, False]), "Array([ True, False], dtype=bool)"),
        (np.arange(2000, dtype=np.int32), "Array([   0,    1,    2, ..., 1997, 1998, 1999], dtype=int32)"),
        (
            np.arange(20, dtype=np.uint8),
            "Array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16,\n"
            "       17, 18, 19], dtype=uint8)",
        ),
        (LINSPACE, "Array([0.   , 0.125, 0.25 , 0.375, 0.5  , 0.625, 0.75 , 0.875, 1.   ],      dtype=float32)"),
        (
            np.ones((2, 2, 2), np.float32),
            "Array([[[1., 1.],\n        [1., 1.]],\n\n       [[1., 1.],\n        [1., 1.]]], dtype=float32)",
        ),
    ],
)
def test_repr(value, text):
    assert repr(put(value)) == text


def test_str_and_format():
    assert str(f32(3)) == "3.0"
    assert str(f32([1, 2])) == f"{f32([1, 2])}" == "[1. 2.]"
    assert f"{f32(3.14159):.2f}" == "3.14" and f"{put(3):5d}" == "    3"
    with pytest.raises(TypeError, match="unsupported format string"):
        format(f32([1, 2]), ".2f")


def test_scalars():
    assert float(f32(2.5)) == 2.5 and int(f32(2.5)) == 2 and complex(f32(1)) == 1 + 0j
    assert bool(f32([[1]])) and not bool(put(False))
    assert range(3)[put(1)] == 1 and hex(put(10)) == "0xa"
    assert f32([[1, 2]]).item(1) == 2.0 and f32([3]).item() == 3.0
    assert f32([[1, 2]]).tolist() == [[1.0, 2.0]] and f32([1]).tobytes() == b"\x00\x00\x80?"


@pytest.mark.parametrize(
    "call, error, message",
    [
        (
            lambda: bool(f32([1, 2])),
            ValueError,
            "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()",
        ),
        (
            lambda: bool(f32([])),
            ValueError,
            "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty.",
        ),
        (
            lambda: float(f32([1])),
            TypeError,
            "Only scalar arrays can be converted to Python scalars; got arr.ndim=1 (shape (1,)). "
            "Use .item() for an array of one element",
        ),
        (
            lambda: float(put(1j)),
            TypeError,
            "float() argument must be a string or a real number, not 'complex'. Take .real first",
        ),
        (
            lambda: range(3)[put(1.0)],
            TypeError,
            "Only integer scalar arrays can be converted to a scalar index; got float32[].",
        ),
        (lambda: f32([1, 2]).item(), ValueError, "can only convert an array of size 1 to a Python scalar"),
        (lambda: len(f32(1)), TypeError, "len() of unsized object"),
        (lambda: iter(f32(1)), TypeError, "iteration over a 0-d array"),
        (
            lambda: hash(f32(1)),
            TypeError,
            "unhashable type: 'jaxlib._jax.ArrayImpl'. Arrays are compared element by element, so they can't be keys "
            "of dicts, members of sets or static arguments. Use a Python scalar (.item()), a tuple or id(x) instead",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


def test_host_value():
    x = f32([1, 2])
    value = np.asarray(x)
    assert not value.flags.writeable and x._value is x._value
    assert np.array(x).flags.writeable
    assert np.asarray(x, dtype=np.int32).dtype == np.int32
    assert np.asarray(x, copy=True).flags.writeable
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(x, dtype=np.int32, copy=False)
    x.copy_to_host_async()


@pytest.mark.parametrize("dtype", [np.float32, np.int8, ml_dtypes.bfloat16, ml_dtypes.int4, np.bool_, np.complex64])
def test_round_trips(dtype):
    value = np.arange(6).reshape(2, 3).astype(dtype)
    x = put(value)
    for y in (x, copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone()):
        assert y.dtype == value.dtype and y.aval is x.aval
        np.testing.assert_array_equal(np.asarray(y), value)
    assert copy.copy(x).unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    assert pickle.loads(pickle.dumps(put(1.0))).weak_type


def test_dlpack():
    x = f32([1, 2])
    assert tuple(x.__dlpack_device__()) == (1, 0)
    shared = np.from_dlpack(x)
    assert shared.tolist() == [1, 2]
    with pytest.raises(BufferError, match=r"can be exported to itself or to \(1, 0\), the cpu; got \(2, 0\)"):
        x.__dlpack__(dl_device=(2, 0))


def test_deletion():
    x = f32([1, 2])
    np.asarray(x)
    x.delete()
    assert x.is_deleted() and x.shape == (2,)
    for use in (np.asarray, repr, str, transfers.device_put, transfers.device_get, copy.copy, pickle.dumps):
        with pytest.raises(RuntimeError) as raised:
            use(x)
        assert str(raised.value) == "Array has been deleted with shape=float32[2]."
    for use in (
        lambda: x.addressable_shards,
        lambda: x.devices(),
        lambda: transfers.device_put(x, backends.devices()[0]),
    ):
        with pytest.raises(RuntimeError, match="Array has been deleted with shape=float32\\[2\\]"):
            use()
    with pytest.raises(RuntimeError):
        x.block_until_ready()


def test_x64():
    with config.enable_x64(True):
        x = put({"a": 1, "b": 2.0, "c": np.zeros(2)})
        assert [x[k].dtype for k in "abc"] == [np.int64, np.float64, np.float64]
        assert put(2**40).item() == 2**40


def test_parts_that_do_not_make_the_array():
    from xtrace.runtime import array

    x = f32([1, 2, 3])
    where = x.sharding
    make = array.make_array_from_single_device_arrays
    for parts, shape, error, message in [
        (x, (3,), TypeError, "make_array_from_single_device_arrays `arrays` argument must be a list or tuple"),
        ([np.ones(3)], (3,), TypeError, "`arrays` argument must be a list of arrays on devices, got ndarray"),
        ([x, x], (3,), ValueError, "Expected 1 per-device arrays .* but got 2"),
        ([x], (4,), ValueError, r"Expected shard shape \(4,\) doesn't match the single device array shape \(3,\)"),
    ]:
        with pytest.raises(error, match=message):
            make(shape, where, parts)
    # The class itself checks the same.
    kind = type(x)
    np.testing.assert_array_equal(kind(x.aval, where, [x], committed=True), x)
    with pytest.raises(ValueError, match="must have matching dtypes. Got int32, expected float32"):
        kind(x.aval, where, [put(np.arange(3, dtype=np.int32))], committed=True)
    with pytest.raises(ValueError, match="Expected 1 per-device arrays .* but got 2"):
        kind(x.aval, where, [x, x], committed=True)


def test_local_data_on_one_device():
    from xtrace.runtime import array

    (device,) = f32([1]).devices()
    x = array.make_array_from_process_local_data(device, np.arange(3))
    assert x.devices() == {device} and x.tolist() == [0, 1, 2]
    for shape in ((4,), (3, 1), (2,)):
        with pytest.raises(ValueError, match="local data"):
            array.make_array_from_process_local_data(device, np.arange(3), shape)
