"""Shapes and kinds of values, printing, and bits, against NumPy."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp

VALUES = [1, 2.5, 1j, True, [1, 2], [[1.0], [2.0]], np.float32(3), np.ones((2, 3)), np.ones((2, 0)) * 1j, None, "text"]


@pytest.mark.parametrize("x", VALUES, ids=repr)
def test_shapes_and_kinds(x):
    for name in ("shape", "size", "ndim", "iscomplexobj", "isrealobj", "iterable"):
        if name == "size" and x is None:
            continue
        assert getattr(xnp, name)(x) == getattr(np, name)(x), name


def test_of_arrays_and_tracers():
    x = xt.device_put(np.ones((2, 3), np.complex64))

    def check(x):
        assert xnp.shape(x) == (2, 3) and xnp.ndim(x) == 2
        assert xnp.size(x) == 6 and xnp.size(x, 1) == 3 and xnp.size(x, (0, -1)) == 6
        assert xnp.iscomplexobj(x) and not xnp.isrealobj(x)
        return x

    check(x)
    xt.jit(check)(x)
    with pytest.raises(ValueError, match="^size: axis 5 is out of bounds for array of dimension 2$"):
        xnp.size(x, 5)
    for value, scalar in (
        (1, True),
        (np.array(1), True),
        (xt.device_put(1), True),
        ([1], False),
        (None, False),
        ("a", True),
        (x, False),
    ):
        assert xnp.isscalar(value) == scalar


def test_imaginary_parts():
    z = np.array([1 + 0j, 2j, 1 + 1j], np.complex64)
    np.testing.assert_array_equal(xnp.iscomplex(z), np.iscomplex(z))
    np.testing.assert_array_equal(xnp.isreal(z), np.isreal(z))
    assert xnp.iscomplex(np.ones(2)).tolist() == [False, False]
    assert xnp.isreal(np.ones(2)).tolist() == [True, True]


def test_printing():
    x = xt.device_put(np.array([1.25, 2.0], np.float32))
    assert xnp.array_repr(x) == repr(x)
    assert xnp.array_repr(x, precision=1) == "Array([1.2, 2. ], dtype=float32)"
    assert xnp.array_str(x, precision=1) == "[1.2 2. ]"
    with xnp.printoptions(precision=1):
        assert repr(x) == "Array([1.2, 2. ], dtype=float32)"
        assert xnp.get_printoptions()["precision"] == 1


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_bits(axis, order):
    x = np.random.default_rng(0).integers(0, 2, (3, 13))
    packed = np.packbits(x, axis=axis, bitorder=order)
    for bits in (x, x.astype(bool), x * 5):
        np.testing.assert_array_equal(xnp.packbits(bits, axis=axis, bitorder=order), packed)
    for count in (None, 3, -2, 100):
        np.testing.assert_array_equal(
            xnp.unpackbits(packed, axis=axis, count=count, bitorder=order),
            np.unpackbits(packed, axis=axis, count=count, bitorder=order),
        )


def test_views_and_byte_order():
    x = np.array([[1.5, -2.0], [0.0, 3e10]], np.float32)
    for dtype in ("uint8", "int16", "int32", "uint32", "complex64", "float16"):
        np.testing.assert_array_equal(np.asarray(xt.device_put(x).view(dtype)), x.view(dtype))
    z = (x + 1j * x[::-1]).astype(np.complex64)
    np.testing.assert_array_equal(xt.device_put(z).view("float32"), z.view("float32"))
    np.testing.assert_array_equal(xt.device_put(x.view("int32")).byteswap(), x.view("int32").byteswap())


MESSAGES = [
    (
        lambda: xnp.packbits(np.ones(2)),
        TypeError,
        "Expected an input array of integer or boolean data type, got float32",
    ),
    (
        lambda: xnp.unpackbits(np.ones(2)),
        TypeError,
        "Expected an input array of unsigned byte data type, got float32; cast it to uint8",
    ),
    (
        lambda: xnp.packbits(np.ones(2, int), bitorder="x"),
        ValueError,
        "'order' must be either 'little' or 'big', got bitorder='x'",
    ),
    (
        lambda: xt.device_put(np.ones(3, np.int16)).view("int32"),
        TypeError,
        "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis: "
        "3 elements of int16 aren't a whole number of int32.",
    ),
]


@pytest.mark.parametrize("call, error, message", MESSAGES)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
