"""array, asarray, zeros and their like: values, dtypes and messages."""

import io

import ml_dtypes
import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp


def jaxpr(function, *args):
    return " ".join(str(xt.make_jaxpr(function)(*args)).split())


def described(x):
    return (x.shape, x.dtype.name, x.weak_type)


@pytest.mark.parametrize(
    ("value", "shape", "dtype", "weak"),
    [
        (1, (), "int32", True),
        (1.5, (), "float32", True),
        (1j, (), "complex64", True),
        (True, (), "bool", False),
        ([1, 2], (2,), "int32", False),
        ([1, 2.5], (2,), "float32", False),
        ([1, True], (2,), "int32", False),
        ([], (0,), "float32", False),
        ([[]], (1, 0), "float32", False),
        (((1, 2), (3, 4)), (2, 2), "int32", False),
        (range(3), (3,), "int32", False),
        ([np.float16(1), 1.5], (2,), "float16", False),
        ([np.int8(1), 2], (2,), "int8", False),
        ([np.float64(1), 2], (2,), "float32", False),
        ([np.arange(2, dtype=np.int8), [3, 4]], (2, 2), "int8", False),
        (np.arange(3), (3,), "int32", False),
        (np.float64(2), (), "float32", False),
        (np.array([1, 2], dtype=">i4"), (2,), "int32", False),
        (np.ones(2, ml_dtypes.bfloat16), (2,), "bfloat16", False),
        (memoryview(b"abc"), (3,), "uint8", False),
        (np.ma.array([1, 2], mask=[0, 1]), (2,), "int32", False),
    ],
)
def test_dtypes_of_host_values(value, shape, dtype, weak):
    for make in (xnp.array, xnp.asarray):
        assert described(make(value)) == (shape, dtype, weak)


def test_values_survive():
    for value in ([[1, 2], [3, 4]], [1.5, -0.0, np.inf], [1 + 2j], [True, False]):
        np.testing.assert_array_equal(np.asarray(xnp.array(value)), np.array(value))


def test_sequences_with_arrays():
    one = xnp.float32(1)
    assert described(xnp.array([one, 2])) == ((2,), "float32", False)
    assert described(xnp.array([xnp.int32(1), 2.5])) == ((2,), "float32", False)
    assert xnp.array([xnp.arange(2), [3, 4]]).tolist() == [[0, 1], [3, 4]]
    assert xnp.array([[one, one], [one, 3]]).tolist() == [[1, 1], [1, 3]]
    program = xt.make_jaxpr(lambda x: xnp.array([x, 2]))(one)
    assert [e.primitive.name for e in program.eqns] == ["broadcast_in_dim", "broadcast_in_dim", "concatenate"]
    assert xt.jit(lambda x: xnp.array([[x, x], [1, 2]]))(1.0).tolist() == [[1, 1], [1, 2]]


@pytest.mark.parametrize(
    ("value", "options", "error", "message"),
    [
        ("text", {}, TypeError, "Value 'text' with dtype <U4 is not a valid array type"),
        ([b"x"], {}, TypeError, r"dtype \|S1 is not a valid array type"),
        (object(), {}, TypeError, "with dtype object is not a valid array type: arrays hold numbers and booleans"),
        ({1: 2}, {}, TypeError, "with dtype object"),
        (None, {}, ValueError, "None is not a valid value for an array"),
        ([1.0, None], {}, ValueError, "None is not a valid value for an array"),
        ([[1, 2], [3]], {}, ValueError, "inhomogeneous shape"),
        (2**40, {}, OverflowError, "1099511627776"),
        ([1, 2**40], {}, OverflowError, "1099511627776 out of bounds for int32"),
        (-1, {"dtype": "uint8"}, OverflowError, "-1 out of bounds for uint8"),
        ([300], {"dtype": np.int8}, OverflowError, "300 out of bounds for int8"),
        ([1], {"order": "F"}, NotImplementedError, "order='F' can't be had"),
        ([1], {"dtype": object}, TypeError, "arrays hold numbers and booleans, got dtype <class 'object'>"),
        ([1], {"dtype": "no such"}, TypeError, "no such"),
    ],
)
def test_what_is_no_array(value, options, error, message):
    with pytest.raises(error, match=message):
        xnp.array(value, **options)


def test_arrays_are_kept_copied_or_converted():
    x = xnp.arange(3)
    assert xnp.asarray(x) is x
    assert xnp.array(x) is not x
    assert xnp.asarray(x, copy=True) is not x
    assert xnp.asarray(x, dtype="float16").dtype == np.float16
    weak = xnp.asarray(2.0)
    assert described(xnp.asarray(weak, dtype="float32")) == ((), "float32", False)
    assert xnp.array([1, 2], ndmin=3).shape == (1, 1, 2)
    host = np.ones(2, np.float32)
    y = xnp.asarray(host)
    host[0] = 7
    assert y.tolist() == [1, 1]
    assert jaxpr(lambda x: xnp.asarray(x), x) == "{ lambda ; a:i32[3]. let in (a,) }"
    assert jaxpr(lambda x: xnp.array(x), x) == "{ lambda ; a:i32[3]. let b:i32[3] = copy a in (b,) }"


def test_64_bit_dtypes_asked_for_by_name_warn():
    message = r"Explicitly requested dtype float64 in zeros is not available, and will be truncated to dtype float32"
    for dtype in (np.float64, "float64", xnp.float64, np.dtype("float64")):
        with pytest.warns(UserWarning, match=message):
            assert xnp.zeros(2, dtype).dtype == np.float32
    with pytest.warns(UserWarning, match="in asarray") as caught:
        xnp.int64(3)
    assert caught[0].filename == __file__
    assert xnp.zeros(2, float).dtype == np.float32  # Python's types mean the default ones
    with xt.enable_x64(True):
        assert xnp.zeros(2, np.float64).dtype == np.float64
        assert xnp.arange(2).dtype == np.int64


@pytest.mark.parametrize("make", [xnp.zeros, xnp.ones, xnp.empty])
def test_filled(make):
    value = 1 if make is xnp.ones else 0
    for shape in ((), 3, (2, 3), [2, 0], np.array([2, 2]), xnp.array([1, 2]), np.int32(2), (400, 300)):
        for dtype in (None, bool, "int8", xnp.bfloat16, np.complex64, ml_dtypes.int4):
            out = make(shape, dtype)
            wanted = np.full(np.asarray(shape) if np.ndim(shape) else shape, value)
            assert out.dtype == (np.float32 if dtype is None else np.dtype(dtype))
            np.testing.assert_array_equal(np.asarray(out).astype(np.float32), wanted)
    assert "broadcast_in_dim" in jaxpr(lambda: make((2,), "int8"))
    assert not make((2,)).weak_type


def test_full():
    assert described(xnp.full((2,), 3)) == ((2,), "int32", True)
    assert described(xnp.full((2,), 3.0, dtype="int8")) == ((2,), "int8", False)
    assert described(xnp.full((2,), np.float32(3))) == ((2,), "float32", False)
    assert xnp.full((2, 3), xnp.arange(3)).tolist() == [[0, 1, 2]] * 2
    assert xnp.full(2, 300, dtype="int8").tolist() == [44, 44]
    assert float(xt.grad(lambda v: (xnp.full((3,), v) * xnp.arange(3)).sum())(2.0)) == 3.0
    with pytest.raises(TypeError, match="full requires ndarray or scalar arguments, got <class 'list'>"):
        xnp.full((2,), [1, 2])
    with pytest.raises(ValueError, match=r"full: fill_value of shape \(4,\) doesn't broadcast to shape \(2, 3\)"):
        xnp.full((2, 3), xnp.ones(4))


def test_likes():
    x = xnp.ones((2, 3), xnp.bfloat16)
    assert described(xnp.zeros_like(x)) == ((2, 3), "bfloat16", False)
    assert described(xnp.ones_like(x, dtype=int, shape=4)) == ((4,), "int32", False)
    assert described(xnp.zeros_like(xnp.asarray(1.0))) == ((), "float32", True)
    assert described(xnp.ones_like(3)) == ((), "int32", True)
    assert described(xnp.full_like(xnp.arange(3), 1.5)) == ((3,), "int32", False)
    assert described(xnp.zeros_like(xt.ShapeDtypeStruct((2,), "int8"))) == ((2,), "int8", False)
    assert xt.jit(xnp.ones_like)(x).tolist() == [[1, 1, 1]] * 2
    with pytest.raises(TypeError, match="ones_like requires ndarray or scalar arguments, got <class 'list'>"):
        xnp.ones_like([1, 2])


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (-1, r"zeros: sizes can't be negative, got shape \(-1,\)"),
        ((2, 1.5), r"Shapes must be 1D sequences of concrete values of integer type, got \(2, 1.5\) for zeros"),
        ("a", "concrete values of integer type, got a for zeros"),
        (None, "concrete values of integer type"),
    ],
)
def test_shapes_that_are_none(shape, message):
    with pytest.raises(TypeError, match=message):
        xnp.zeros(shape)


def test_traced_sizes_are_refused():
    with pytest.raises(TypeError, match="A traced value can't be a size: pass it as static"):
        xt.jit(lambda n: xnp.zeros((n,)))(3)


def test_devices():
    device = xt.devices()[0]
    x = xnp.zeros(3, device=device)
    assert x.devices() == {device}
    assert x.committed
    assert not xnp.zeros(3).committed
    assert xnp.asarray([1, 2], device=device).committed


def test_buffers_texts_and_files():
    assert xnp.frombuffer(b"abc", dtype="uint8").tolist() == [97, 98, 99]
    assert xnp.frombuffer(bytes(8)).dtype == np.float32
    assert xnp.fromstring("1 2 3", sep=" ").tolist() == [1, 2, 3]
    assert xnp.from_dlpack(xnp.arange(3)).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="from_dlpack takes objects with __dlpack__"):
        xnp.from_dlpack([1])
    for name in ("fromfile", "fromiter"):
        with pytest.raises(NotImplementedError, match="Read with NumPy and pass the array in"):
            getattr(xnp, name)([1])
    for dtype in (xnp.float32, xnp.bfloat16):
        file = io.BytesIO()
        xnp.save(file, xnp.ones(2, dtype))
        file.seek(0)
        assert xnp.load(file).dtype == dtype


def test_numbers_need_to_fit_the_dtype_asked_for_alone():
    assert xnp.full((2,), 2**32 - 1, "uint32").tolist() == [2**32 - 1] * 2
    assert xnp.full_like(np.zeros(2, np.uint32), 2**32 - 1).tolist() == [2**32 - 1] * 2
