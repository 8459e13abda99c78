"""Compiled programs as bytes and back."""

import numpy as np
import pytest

import xtrace as xt
from xtrace.experimental import serialize_executable


def compiled():
    return xt.jit(lambda x, k: {"a": x * 2 + k["b"]}).lower(np.ones(3, np.float32), {"b": 1.0}).compile()


@pytest.mark.parametrize("backend", [None, "cpu"])
def test_round_trip(backend):
    data, in_tree, out_tree = serialize_executable.serialize(compiled())
    assert type(data) is bytes
    loaded = serialize_executable.deserialize_and_load(data, in_tree, out_tree, backend)
    out = loaded(np.arange(3, dtype=np.float32), {"b": 1.0})
    np.testing.assert_array_equal(out["a"], [1, 3, 5])


def test_client_and_devices():
    saved = serialize_executable.serialize(compiled())
    device = xt.devices()[0]
    for given in ({"backend": device.client}, {"execution_devices": [device]}):
        out = serialize_executable.deserialize_and_load(*saved, **given)(np.zeros(3, np.float32), {"b": 2.0})
        np.testing.assert_array_equal(out["a"], [2, 2, 2])


def test_errors():
    data, in_tree, out_tree = serialize_executable.serialize(compiled())
    with pytest.raises(ValueError, match="can't be loaded"):
        serialize_executable.deserialize_and_load(data[:-20], in_tree, out_tree)
    with pytest.raises(ValueError, match="out_tree is"):
        serialize_executable.deserialize_and_load(data, in_tree, in_tree)
