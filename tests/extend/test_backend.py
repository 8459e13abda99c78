"""Platforms as programs manage them, and what jax.extend hands over of jaxlib."""

import functools
import subprocess
import sys

import pytest

import xtrace as xt
from xtrace.extend import backend, sharding


def test_platforms():
    assert backend.get_backend("cpu").platform == "cpu"
    assert "cpu" in backend.backends()
    assert backend.get_default_device() == xt.numpy.ones(1).device
    assert backend.backend_xla_version() is None or backend.backend_xla_version() > 0


def test_compile_options():
    options = backend.get_compile_options(2, 3, [[0, 1, 2], [3, 4, 5]], {"xla_llvm_disable_expensive_passes": True})
    assert (options.num_replicas, options.num_partitions) == (2, 3)
    assert options.device_assignment.replica_count() == 2
    with pytest.raises(ValueError, match="2 devices for 1 replicas of 1"):
        backend.get_compile_options(1, 1, [0, 1])


def test_registered_platforms_and_caches():
    program = """
import functools, xtrace as xt
from xtrace.extend import backend
from xtrace.runtime import jaxlib_api
kept = functools.lru_cache(lambda x: x)
kept(1)
backend.register_backend_cache(kept, "numbers")
backend.register_backend_factory("other", lambda: jaxlib_api.make_cpu_client(3), priority=5)
print(xt.device_count(), xt.device_count("cpu"), float(xt.numpy.ones(2).sum()))
backend.clear_backends()
print(kept.cache_info().currsize, float(xt.numpy.ones(2).sum()))
try:
    backend.register_backend_factory("other", None)
except ValueError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == ["3 1 2.0", "0 2.0", "Backend other already registered"]


def test_a_cache_can_be_cleared():
    backend.register_backend_cache(functools.lru_cache(len), "lengths")
    with pytest.raises(TypeError, match="cache_clear"):
        backend.register_backend_cache({}, "lengths")


def test_shardings_round_trip():
    text = sharding.get_serialized_proto_from_hlo_sharding(xt.numpy.ones(4).sharding._to_xla_hlo_sharding(1))
    assert sharding.get_hlo_sharding_from_serialized_proto(text).is_replicated()


def test_mlir_is_jaxlibs():
    import jaxlib.mlir.dialects.stablehlo
    import jaxlib.mlir.ir

    import xtrace.extend.mlir as mlir
    import xtrace.extend.mlir.dialects.stablehlo as stablehlo

    assert stablehlo is jaxlib.mlir.dialects.stablehlo
    assert mlir.ir is jaxlib.mlir.ir
    module = xt.jit(lambda x: x + 1).lower(1.0).compiler_ir()
    assert b"vhlo" in mlir.serialize_portable_artifact(str(module), "1.0.0")
