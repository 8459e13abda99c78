import enum
import gc
import threading

import numpy as np
import pytest

from xtrace.core import dtypes
from xtrace.runtime import backends, shardings, transfers

put = transfers.device_put


@pytest.mark.parametrize(
    "value, dtype, weak",
    [
        (1, "int32", True),
        (True, "bool", False),
        (1.5, "float32", True),
        (1j, "complex64", True),
        (np.float64(2), "float32", False),
        (np.int64(2), "int32", False),
        (np.bool_(True), "bool", False),
        (np.arange(3, dtype=np.uint64), "uint32", False),
        (np.arange(6.0).reshape(2, 3).T, "float32", False),
        (np.arange(3, dtype=">f4"), "float32", False),
        (np.arange(10)[::-2], "int32", False),
        (enum.IntEnum("E", "a").a, "int32", True),
    ],
)
def test_host_values(value, dtype, weak):
    x = put(value)
    assert (x.dtype, x.weak_type, x.committed) == (np.dtype(dtype), weak, False)
    np.testing.assert_array_equal(np.asarray(x), np.asarray(value))


def test_none_is_no_leaf():
    assert put(None) is None
    assert put({"a": None}) == {"a": None}


@pytest.mark.parametrize(
    "value, error, message",
    [
        (
            "a",
            TypeError,
            "device_put: argument 'a' of type str can't be placed on a device: a value of type str is not",
        ),
        ({"a": [1, object()]}, TypeError, "device_put: argument at x['a'][1] of type object can't be placed"),
        (np.array(["a"]), TypeError, "Dtype <U1 is not a valid array type"),
        (np.array([None]), TypeError, "Dtype object is not a valid array type"),
        (np.zeros(2, "datetime64[s]"), TypeError, "Dtype datetime64[s] is not a valid array type"),
        (np.ma.array([1, 2]), ValueError, "Use arr.filled()"),
        (2**40, OverflowError, "Python int 1099511627776 too large to convert to int32"),
        ([-(2**40)], OverflowError, "at x[0] of type int: Python int -1099511627776 too large to convert to int32"),
    ],
)
def test_values_that_are_no_arrays(value, error, message):
    with pytest.raises(error) as raised:
        put(value)
    assert message in str(raised.value)


@pytest.mark.parametrize("place", ["cpu", lambda: None, 3])
def test_places_that_are_none(place):
    with pytest.raises(ValueError, match="only accepts None, a Sharding, a Device"):
        put(1, place)


def test_prefixes():
    device = backends.devices()[0]
    a, b = put((1, {"x": 2}), (device, None))
    assert a.committed and not b["x"].committed
    with pytest.raises(ValueError, match="device_put device"):
        put((1, 2), (device,))
    with pytest.raises(ValueError, match="may_alias and donate cannot be True at the same time"):
        put(1, donate=True, may_alias=True)


def test_arrays_in_place_are_not_copied():
    device = backends.devices()[0]
    x = put(np.ones(3))
    assert put(x) is x
    y = put(x, device)
    assert y.committed and y.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert put(y, device) is y and put(y, shardings.single_device_sharding(device)) is y
    z = put(y, device, may_alias=False)
    assert z.unsafe_buffer_pointer() != y.unsafe_buffer_pointer() and z.tolist() == y.tolist()


def test_host_memory_is_not_aliased():
    for size in (3, 1 << 16):
        value = np.zeros(size, np.float32)
        x = put(value)
        value[:] = 7
        assert np.asarray(x).max() == 0


def aligned(size):
    """Zeros in memory that XLA's CPU client can use as it is."""
    raw = np.zeros(4 * size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + 4 * size].view(np.float32)


@pytest.mark.parametrize("where", [None, "device", "sharding"])
def test_host_memory_is_shared_where_that_is_asked_for(where):
    device = backends.devices()[0]
    where = {None: None, "device": device, "sharding": shardings.single_device_sharding(device)}[where]
    value = aligned(1 << 16)
    x = put(value, where, may_alias=True)
    assert x.unsafe_buffer_pointer() == value.ctypes.data and x.committed == (where is not None)
    value[:] = 7
    del value
    gc.collect()  # the array keeps the memory
    assert np.asarray(x).min() == 7


def test_what_cannot_be_shared_is_copied():
    for value in (np.arange(4.0), np.arange(4, dtype=">i4"), np.arange(8, dtype=np.float32)[::2], 3):
        x = put(value, may_alias=True)
        np.testing.assert_array_equal(x, np.asarray(value))


def test_protocols():
    class Holder:
        def __jax_array__(self):
            return put(np.ones(2))

    class Foreign:
        def __array__(self, dtype=None, copy=None):
            return np.arange(2.0)

    assert put(Holder()).tolist() == [1, 1]
    assert put(Foreign()).tolist() == [0, 1]
    float0 = np.zeros(2, dtypes.float0)
    assert put(float0) is float0


def test_device_get():
    x = put(np.arange(3))
    got = transfers.device_get({"a": x, "b": 1, "c": "text", "d": np.float32(2)})
    assert type(got["a"]) is np.ndarray and got["a"].tolist() == [0, 1, 2]
    assert got["b"] == 1 and got["c"] == "text" and got["d"] == 2
    assert transfers.block_until_ready([x, 1, "a"])[0] is x
    assert transfers.copy_to_host_async([x, 1])[0] is x


def test_threads():
    errors = []

    def work(n):
        try:
            for i in range(50):
                x = put({"a": np.full(5, n * i, np.int32)})["a"]
                assert x.tolist() == [n * i] * 5 and len(x._arrays) == 1
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
