"""No call makes jaxlib's C++ import the package jax, whether it is installed or not."""

import os
import subprocess
import sys
import textwrap
import types
import warnings

import pytest

from xtrace.runtime import array

# Runs in a fresh process: a finder counts what is looked up, and a package `jax` on the path would record its import.
PROGRAM = textwrap.dedent("""
    import importlib.machinery, pathlib, sys, tempfile

    looked_up = []

    class Guard:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] == "jax":
                looked_up.append(name)
                raise ImportError(f"{name} is refused")

    sys.meta_path.insert(0, Guard())

    import copy, pickle
    import ml_dtypes
    import numpy as np
    from xtrace.runtime import array, backends, jaxlib_api, mesh, partition_spec, shardings, transfers

    assert not backends.is_initialized()
    assert "jaxlib.mlir" not in sys.modules and "scipy" not in sys.modules
    P = partition_spec.PartitionSpec
    devices = backends.devices()
    grid = mesh.Mesh(np.array(devices).reshape(4, 2), ("x", "y"))
    split = shardings.NamedSharding(grid, P("x", "y"))
    put = transfers.device_put
    value = np.arange(32, dtype=np.float32).reshape(8, 4)
    makers = {
        "plain": lambda: put(value),
        "committed": lambda: put(value, devices[0]),
        "rewrapped": lambda: put(put(value), devices[0]),
        "moved": lambda: put(put(value), devices[1]),
        "split": lambda: put(value, split),
        "replicated": lambda: put(value, shardings.NamedSharding(grid, P())),
        "partly": lambda: put(put(value), shardings.NamedSharding(grid, P("y"))),
        "shard": lambda: put(value, split).addressable_shards[1].data,
        "bfloat16": lambda: put(np.ones(3, ml_dtypes.bfloat16)),
        "int4": lambda: put(np.ones(3, ml_dtypes.int4)),
        "bfloat16 split": lambda: put(np.ones((4, 2), ml_dtypes.bfloat16), split),
        "scalar": lambda: put(1.5),
        "copied": lambda: copy.copy(put(1)),
        "cloned": lambda: put(1).clone(),
        "pickled": lambda: pickle.loads(pickle.dumps(put(1))),
        "dlpack": lambda: jaxlib_api.from_dlpack(put(value).__dlpack__(), devices[0]),
    }
    skipped = {"__class__", "__init__", "__new__", "__subclasshook__", "__init_subclass__", "__del__", "_replace_with"}
    skipped |= {"__buffer__", "__release_buffer__", "__getattribute__", "__setattr__", "__delattr__", "__getstate__"}
    skipped |= {"__dir__", "__sizeof__", "__reduce_ex__"}
    for name, make in makers.items():
        for attribute in sorted(set(dir(jaxlib_api.ArrayImpl)) - skipped):
            x = make()
            before = len(looked_up)
            try:
                found = getattr(x, attribute)
                if callable(found):
                    found()
            except Exception:
                pass
            assert len(looked_up) == before, (name, attribute)
        x = make()
        np.testing.assert_array_equal(np.asarray(x), transfers.device_get(x))
        x.addressable_data(0)
        transfers.copy_to_host_async([x, make()])
        transfers.block_until_ready([x, make()])
        repr(x), str(x), repr(x.sharding), repr(x.addressable_shards)
        x.delete()
    assert looked_up == [], looked_up
    assert "jax" not in sys.modules and not any(name.startswith("jax.") for name in sys.modules)
    print("clean")
""")


def test_no_call_looks_jax_up():
    environment = dict(os.environ, XTRACE_NUM_CPU_DEVICES="8", XTRACE_PLATFORMS="cpu")
    result = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "clean"


def test_an_installed_jax_stays_unimported(tmp_path):
    package = tmp_path / "jax"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('jax was imported')")
    program = textwrap.dedent("""
        import numpy as np
        from xtrace.runtime import transfers
        x = transfers.device_put(np.ones(3, np.float32))
        print(x, x._arrays[0], x.unsafe_buffer_pointer() != 0, hasattr(x, "__cuda_array_interface__"))
        import jax
    """)
    environment = dict(os.environ, XTRACE_PLATFORMS="cpu", PYTHONPATH=str(tmp_path))
    result = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert result.stdout.strip() == "[1. 1. 1.] [1. 1. 1.] True False", result.stderr
    assert result.stderr.strip() == "jax was imported"  # and the user may still import it


def test_jax_beside_xtrace_warns(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", types.ModuleType("jax"))
    with pytest.warns(UserWarning, match="the package jax was imported in this process before xtrace"):
        array._warn_beside_jax()
    monkeypatch.setitem(sys.modules, "jax", types.ModuleType("xtrace"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array._warn_beside_jax()
