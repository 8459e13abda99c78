"""Guards against transfers, and values that jitted functions depend on. The levels' effects are those JAX documents."""

import threading

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.core import guards

ones = np.ones(3, "float32")
DISALLOWED = pytest.raises(xt.errors.JaxRuntimeError, match="Disallowed host-to-device transfer")


def test_transfers_nobody_asked_for():
    f, x = xt.jit(lambda x: x + 1), xnp.ones(3)
    f(ones)
    with xt.transfer_guard("disallow"):
        for transfer in (lambda: f(ones), lambda: x + ones, lambda: xnp.array([1.0]), lambda: x[0]):
            with DISALLOWED:
                transfer()
        np.testing.assert_array_equal(xnp.arange(3) + xnp.arange(3.0), [0, 2, 4])  # made of no data
        np.testing.assert_array_equal(xt.device_get(f(xt.device_put(ones))), [2, 2, 2])
        with xt.transfer_guard_host_to_device("allow"):
            f(ones)
        with DISALLOWED:
            f(ones)
    f(ones)


def test_all_transfers():
    with xt.transfer_guard_host_to_device("disallow_explicit"), DISALLOWED:
        xt.device_put(ones)


def test_global_level_and_threads():
    f = xt.jit(lambda x: x + 1)
    f(ones)
    try:
        xt.config.update("jax_transfer_guard", "disallow")
        assert xt.config.jax_transfer_guard_host_to_device == "disallow"
        with DISALLOWED:
            f(ones)
    finally:
        xt.config.update("jax_transfer_guard", None)
        for direction in ("host_to_device", "device_to_host", "device_to_device"):
            assert xt.config.read(f"transfer_guard_{direction}") is None
    f(ones)
    with xt.transfer_guard("disallow"):
        thread = threading.Thread(target=lambda: done.append(f(ones)))
        done = []
        thread.start()
        thread.join()
    assert len(done) == 1


def test_levels_are_checked():
    with pytest.raises(ValueError, match="transfer_guard_host_to_device"), xt.transfer_guard("forbid"):
        pass


def test_other_guards():
    state = guards.guard_lib.thread_local_state()
    with xt.array_garbage_collection_guard("log"):
        assert state.garbage_collect_array == guards.guard_lib.GarbageCollectionGuardLevel.LOG
    assert state.garbage_collect_array is None
    with xt.thread_guard(True):
        assert float(xnp.ones(3).sum()) == 3


def test_half_precision_sums():
    x = xnp.ones(4, "float16")
    assert x.sum() == 4
    with xt.allow_f16_reductions(False):
        for f in (lambda x: xt.lax.reduce_sum(x, (0,)), xt.jit(lambda x: xt.lax.reduce_sum(x, (0,)))):
            with pytest.raises(ValueError, match="jax_allow_f16_reductions=False"):
                f(x)
        assert xnp.ones(4).sum() == 4
    assert x.sum() == 4


def test_user_context():
    traced = []
    scale = xt.make_user_context(default_value=1)

    @xt.jit
    def f(x):
        traced.append(scale.value)
        return x * scale.value

    assert f(2.0) == 2
    for _ in range(2):
        with scale(5):
            assert f(2.0) == 10
        assert f(2.0) == 2
    assert traced == [1, 5]
    with pytest.raises(TypeError, match="unhashable"):
        scale([1])


@pytest.mark.parametrize("name", ["auto_pcast", "softmax_custom_jvp", "remove_size_one_mesh_axis_from_type"])
def test_options_of_other_implementations(name):
    before = xt.config.read(name)
    with getattr(xt, name)(not before):
        assert xt.config.read(name) is not before
    assert xt.config.read(name) is before
