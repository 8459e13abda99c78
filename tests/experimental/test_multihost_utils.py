"""multihost_utils, where one process is all of them: results as JAX gives them for one process."""

import numpy as np
import pytest

import xtrace as xt
from xtrace.experimental import multihost_utils

X = np.arange(4, dtype=np.float32)


def test_what_is_gathered():
    out = multihost_utils.process_allgather({"x": xt.numpy.asarray(X), "n": 3})
    assert all(type(v) is np.ndarray for v in out.values())
    np.testing.assert_array_equal(out["x"], X[None])
    np.testing.assert_array_equal(out["n"], [3])
    np.testing.assert_array_equal(multihost_utils.process_allgather(X, tiled=True), X)


def test_what_is_broadcast():
    x, n = multihost_utils.broadcast_one_to_all((xt.numpy.asarray(X), 2))
    np.testing.assert_array_equal(x, X)
    assert type(n) is np.ndarray and n == 2


def test_processes_agree():
    multihost_utils.sync_global_devices("here")
    multihost_utils.assert_equal({"x": X}, "differs")
    with pytest.raises(AssertionError, match=r"^differs\. .*\['x'\]"):
        multihost_utils.assert_equal({"x": np.float32(np.nan)}, "differs")
    assert multihost_utils.reached_preemption_sync_point(1) is False


def test_live_devices():
    with multihost_utils.live_devices(xt.devices()) as devices:
        assert devices == set(xt.devices())
    with pytest.raises(ValueError, match="devices of this process"), multihost_utils.live_devices([]):
        pass
    assert multihost_utils.ProcessFailureError({1}).failed_devices == {1}


def test_layouts():
    mesh = xt.make_mesh((1,), ("x",))
    out = multihost_utils.host_local_array_to_global_array({"a": X, "b": X}, mesh, {"a": xt.P("x"), "b": xt.P()})
    assert out["a"].sharding == xt.NamedSharding(mesh, xt.P("x"))
    assert out["b"].sharding == xt.NamedSharding(mesh, xt.P())
    assert multihost_utils.global_array_to_host_local_array(out["a"], mesh, xt.P("x")) is out["a"]
    inside = xt.jit(lambda x: multihost_utils.host_local_array_to_global_array(x, mesh, xt.P("x")))
    np.testing.assert_array_equal(inside(X), X)
    with pytest.raises(ValueError, match="pspecs holds None"):
        multihost_utils.host_local_array_to_global_array(X, mesh, None)
