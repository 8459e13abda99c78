"""What a newcomer types first: arrays, where they are, how they print, and that they don't change."""

import re

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp


def test_an_array_knows_its_type_and_its_device():
    x = xnp.arange(5)
    assert isinstance(x, xt.Array)
    assert x.dtype == np.int32
    (device,) = x.devices()
    assert device.platform == "cpu"
    assert repr(x.devices()) == "{CpuDevice(id=0)}"
    assert repr(x.sharding).startswith("SingleDeviceSharding(device=CpuDevice(id=0), ")


def test_how_arrays_print():
    assert repr(xnp.ones(2)) == "Array([1., 1.], dtype=float32)"
    assert repr(xt.jit(lambda a: a * 3)(10)) == "Array(30, dtype=int32, weak_type=True)"
    assert str(xnp.ones(2)) == "[1. 1.]"


def test_arrays_are_immutable_and_say_what_to_write_instead():
    a = xnp.zeros(3, int)
    with pytest.raises(TypeError, match=re.escape("x = x.at[0].set(5)")):
        a[0] = 5
    changed = a.at[0].set(5)
    assert changed.tolist() == [5, 0, 0] and a.tolist() == [0, 0, 0]
