"""The seam: the only file that touches jaxlib's private names and knows its versions.

It is a leaf: it imports nothing of xtrace, so every layer may import it.

jaxlib's C++ looks up a few Python names in the package `jax` at run time. We never want that import: the
package may be absent, or it may be installed and would then replace process-wide state. Two cures:
`prime_shardings` and `prime_arrays` let C++ resolve and keep our classes once, and `without_jax` runs
the calls that repeat their lookup every time with stand-in modules in place.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

# 0 would print a line per device at client creation. Read by the C++ runtime when it is loaded.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from jaxlib import _jax  # noqa: E402
from jaxlib import xla_client as xc  # noqa: E402
from jaxlib.version import __version__ as jaxlib_version  # noqa: E402

VERSION: int = xc._version

#: Whether XLA:CPU divides small products of matrices among threads: measured, 0.10 does not, 0.12 does.
DIVIDES_SMALL_PRODUCTS = tuple([int(n) for n in jaxlib_version.split(".")[:2]]) >= (0, 12)

Config = _jax.config.Config
pytree = _jax.pytree

if TYPE_CHECKING:

    class _FromCpp:
        """jaxlib ships no types for its C++ classes: mypy tells them apart and lets them have any attribute."""

        def __init__(self, *args: Any, **keywords: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    class ArrayImpl(_FromCpp): ...

    class Device(_FromCpp): ...

    class Client(_FromCpp): ...

else:
    ArrayImpl = xc.ArrayImpl
    Device = xc.Device
    Client = xc.Client

set_enable_x64_state = _jax.jax_jit.set_enable_x64_state
set_disable_jit_state = _jax.jax_jit.set_disable_jit_state
set_post_hook_state = _jax.jax_jit.set_post_hook_state

pjit = _jax.pjit
PjitFunctionCache = _jax.PjitFunctionCache
approx_top_k_reduction_output_size = _jax.approx_top_k_reduction_output_size
batched_device_put = _jax.batched_device_put
batched_block_until_ready = _jax.batched_block_until_ready
CompileOptions = xc.CompileOptions
DeviceList = xc.DeviceList
DeviceAssignment = xc.DeviceAssignment
HostBufferSemantics = xc.HostBufferSemantics
ArrayCopySemantics = xc.ArrayCopySemantics

Sharding = xc.Sharding
SingleDeviceSharding = xc.SingleDeviceSharding
NamedSharding = xc.NamedSharding
GSPMDSharding = xc.GSPMDSharding
HloSharding = xc.HloSharding
OpSharding = xc.OpSharding
Memory = xc.Memory
check_and_canonicalize_memory_kind = _jax.check_and_canonicalize_memory_kind
set_pspec_unconstrained = _jax.set_pspec_unconstrained

XlaRuntimeError: type[Exception] = _jax.JaxRuntimeError if hasattr(_jax, "JaxRuntimeError") else xc.XlaRuntimeError


if VERSION >= 480:

    def array_result_handler(aval: Any, sharding: Any, committed: bool) -> Any:
        """Return jaxlib's handler that wraps an execution result as an Array."""
        return _jax.array_result_handler(aval, sharding, committed)

else:

    def array_result_handler(aval: Any, sharding: Any, committed: bool) -> Any:
        """Return jaxlib's handler that wraps an execution result as an Array."""
        # Without _skip_checks, C++ calls back into a Python method that jax defines on ArrayImpl.
        return _jax.array_result_handler(aval, sharding, committed, _skip_checks=True)


# ---------------------------------------------------------------------------------------------------------------
# Keeping the package jax out.

_lock = threading.RLock()


def _stand_ins() -> dict[str, types.ModuleType]:
    names = ("jax", "jax._src", "jax.core", "jax._src.sharding_impls", "jax._src.named_sharding", "jax._src.literals")
    modules = {name: types.ModuleType(name) for name in names}
    impls: Any = modules["jax._src.sharding_impls"]
    impls.SingleDeviceSharding = SingleDeviceSharding
    impls.NamedSharding = NamedSharding
    impls.GSPMDSharding = GSPMDSharding
    impls.make_single_device_sharding = _single_device_sharding
    named: Any = modules["jax._src.named_sharding"]
    named.NamedSharding = NamedSharding
    literals: Any = modules["jax._src.literals"]
    literals.TypedNdArray = type("TypedNdArray", (), {})
    return modules


def _single_device_sharding(device: Any, *, memory_kind: Any = None, **_: Any) -> Any:
    return SingleDeviceSharding(device, memory_kind=memory_kind)


_MODULES = _stand_ins()
#: What the calls that look up at every call read.
_REPEATED = {name: _MODULES[name] for name in ("jax", "jax._src.sharding_impls")}


def _run_with(stand_ins: dict[str, types.ModuleType], call: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    modules = sys.modules
    with _lock:
        present = modules.get("jax")
        if present is not None:
            if present.__name__ == "jax":  # imported by the user, whose process it is; or we are nested
                return call(*args)
            # `jax` is an alias of ours (`xtrace run`): it stays, but has none of the private names.
            stand_ins = {name: module for name, module in stand_ins.items() if name != "jax"}
        shadowed = {name: modules[name] for name in stand_ins if name in modules}
        modules.update(stand_ins)
        try:
            return call(*args)
        finally:
            for name in stand_ins:
                modules.pop(name, None)
            modules.update(shadowed)


def without_jax(call: Callable[..., Any], *args: Any) -> Any:
    """Run a jaxlib function that looks up `jax._src.sharding_impls` at every call, without importing jax."""
    return _run_with(_REPEATED, call, args)


def prime_shardings(check_spec: Callable[[Any, Any], None], mesh: Any, spec: Any) -> None:
    """Make C++ keep `check_spec(mesh, spec)` as the function that validates every NamedSharding."""
    named: Any = _MODULES["jax._src.named_sharding"]
    named.check_pspec = check_spec
    _run_with(_MODULES, NamedSharding, (mesh, spec))


def prime_arrays(aval: Any, sharding: Any, device: Any) -> None:
    """Make C++ keep the class of `aval` as its ShapedArray; needs a device, so it is done with the first client."""
    core: Any = _MODULES["jax.core"]
    core.ShapedArray = type(aval)

    def touch() -> None:
        import numpy as np

        array = batched_device_put(aval, sharding, [np.zeros(aval.shape, aval.dtype)], [device], True, True)
        array._arrays  # noqa: B018
        array._fully_replicated_shard()
        array.unsafe_buffer_pointer()
        array._copy_single_device_array_to_host_async()

    _run_with(_MODULES, touch, ())


# ---------------------------------------------------------------------------------------------------------------
# Arrays.


def _guarded_method(name: str) -> Callable[..., Any]:
    native = getattr(ArrayImpl, name)

    def method(array: Any, *args: Any) -> Any:
        return without_jax(native, array, *args)

    method.__name__, method.__doc__ = name, native.__doc__
    setattr(ArrayImpl, name, method)
    return method


def _guarded_attribute(name: str) -> Callable[[Any], Any]:
    native = ArrayImpl.__dict__[name]

    def read(array: Any) -> Any:
        return without_jax(native.__get__, array, ArrayImpl)

    setattr(ArrayImpl, name, property(read, native.__set__))
    return read


# These look jax up at every call; on the class, so that whoever calls them (other libraries probe
# __cuda_array_interface__) is safe.
_guarded_to_numpy = _guarded_method("_single_device_array_to_np_array_did_copy")
replicated_shard = _guarded_method("_fully_replicated_shard")
_single_to_host_async = _guarded_method("_copy_single_device_array_to_host_async")
_guarded_method("unsafe_buffer_pointer")
if hasattr(ArrayImpl, "unsafe_raw_buffer"):
    _guarded_method("unsafe_raw_buffer")
_read_arrays = _guarded_attribute("_arrays")
_guarded_attribute("__cuda_array_interface__")


def _single_to_numpy(array: Any) -> Any:
    # Not under the lock: the program that makes the array may call a Python function that needs it.
    batched_block_until_ready([array])
    return _guarded_to_numpy(array)


#: Whether `to_numpy` assembles arrays that are split over devices.
TO_NUMPY_ASSEMBLES: bool = hasattr(ArrayImpl, "_to_np_array_did_copy")

#: Return (the NumPy array of a fully addressable Array, whether it is a copy).
to_numpy: Callable[[Any], tuple[Any, bool]] = getattr(ArrayImpl, "_to_np_array_did_copy", _single_to_numpy)


def device_arrays(array: Any) -> list[Any]:
    """The single-device Arrays that make up `array`, in the order of its sharding's addressable devices."""
    return list(_read_arrays(array))


def assemble(aval: Any, sharding: Any, arrays: list[Any], committed: bool) -> Any:
    """Make one Array of single-device Arrays; they must fit the sharding, nothing is checked."""
    return ArrayImpl(aval, sharding, arrays, committed=committed, _skip_checks=True)


def rewrap(array: Any, aval: Any, sharding: Any, committed: bool) -> Any:
    """The same buffers under another aval, sharding of the same devices, or committedness."""
    return ArrayImpl(aval, sharding, device_arrays(array), committed=committed, _skip_checks=True)


def copy_to_devices(arrays: Sequence[Any], shardings: Sequence[Any], semantics: Any) -> list[Any]:
    """Copy Arrays to the devices of `shardings`, shard for shard. Deleted inputs would crash: check before."""
    return _jax.batched_copy_array_to_devices_with_sharding(
        arrays, [s._internal_device_list for s in shardings], shardings, [semantics] * len(arrays)
    )


if hasattr(_jax, "batched_copy_to_host_async"):
    batched_copy_to_host_async: Callable[[Sequence[Any]], None] = _jax.batched_copy_to_host_async
else:

    def batched_copy_to_host_async(arrays: Sequence[Any]) -> None:
        """Start copying Arrays to host memory."""
        for array in arrays:
            if len(array._sharding._internal_device_list) == 1:
                _single_to_host_async(array)
            else:
                for shard in device_arrays(array):
                    _single_to_host_async(shard)


def to_dlpack(array: Any, stream: Any = None) -> Any:
    """A DLPack capsule that shares the memory of a single-device Array."""
    return without_jax(_jax.buffer_to_dlpack_managed_tensor, array, stream)


def from_dlpack(capsule: Any, device: Any, stream: Any = None, copy: bool | None = None) -> Any:
    """An Array on `device` that shares the memory of a DLPack capsule (a copy where it has to be)."""
    return without_jax(_jax.dlpack_managed_tensor_to_buffer, capsule, device, stream, copy)


# ---------------------------------------------------------------------------------------------------------------
# Clients and plugins.


def make_cpu_client(num_devices: int | None, **distributed: Any) -> Any:
    """A client of `num_devices` CPU devices (None: one, or what XLA_FLAGS says)."""
    return xc.make_cpu_client(num_devices=num_devices, **distributed)


def load_plugin(platform: str, library: str) -> Any:
    """Load a PJRT plugin's shared library, once per process; returns its C API."""
    if _jax.pjrt_plugin_loaded(platform):
        return _LOADED_PLUGINS[platform]
    c_api = _jax.load_pjrt_plugin(platform, library, None)
    _LOADED_PLUGINS[platform] = c_api
    return c_api


_LOADED_PLUGINS: dict[str, Any] = {}


def initialize_plugin(platform: str) -> None:
    """Initialise a loaded plugin, once per process."""
    if not _jax.pjrt_plugin_initialized(platform):
        _jax.initialize_pjrt_plugin(platform)


def make_plugin_client(platform: str, options: dict[str, Any]) -> Any:
    """A client of an initialised plugin."""
    return xc.make_c_api_client(platform, options, None)


def gpu_client_options() -> dict[str, Any]:
    """The memory options that a GPU client takes from XLA_PYTHON_CLIENT_* variables."""
    return xc.generate_pjrt_gpu_plugin_options()


def is_compile_only(client: Any) -> bool:
    """Whether the client's devices are described, not present: it compiles programs but can't load them."""
    return isinstance(client, _jax.CompileOnlyPyClient)


def compile_only_devices(c_api: Any, topology: str, options: dict[str, Any]) -> list[Any]:
    """Devices of a described, absent topology; their client compiles but doesn't run."""
    return list(_jax.get_c_api_topology(c_api, topology, options)._make_compile_only_devices())


get_topology_for_devices = _jax.get_topology_for_devices
DeviceTopology = _jax.DeviceTopology


#: A callback as text to put into a program; it is called with the HloSharding that the partitioner chose.
encode_inspect_sharding_callback = _jax.encode_inspect_sharding_callback
register_custom_call_target = xc.register_custom_call_target
register_batch_partitionable = xc.register_custom_call_as_batch_partitionable
register_custom_call_handler = xc.register_custom_call_handler
register_custom_type = xc.register_custom_type
register_custom_type_handler = xc.register_custom_type_handler


def include_folder() -> str:
    """Where the headers are that foreign functions are compiled with."""
    return os.path.join(os.path.dirname(os.path.abspath(xc.__file__)), "include")


# ---------------------------------------------------------------------------------------------------------------
# The compiled call path.

#: What transfers, deletions and threads are watched for: a global and a per-thread state, checked in C++.
guard_lib = _jax.guard_lib

#: A hashable snapshot of the flags that tracing depends on.
trace_context = _jax.config.trace_context


def clear_pjit_cache(function: Any) -> None:
    """Forget the signatures that a C++ jitted function has compiled."""
    function._clear_cache()


def to_xla_computation(module: Any) -> Any:
    """An MLIR module as an XlaComputation (HLO before optimization)."""
    return _jax.mlir.mlir_module_to_xla_computation(str(module), use_tuple_args=False, return_tuple=False)


deserialize_portable_artifact = _jax.mlir.deserialize_portable_artifact
hlo_to_stablehlo = _jax.mlir.hlo_to_stablehlo
refine_polymorphic_shapes = _jax.mlir.refine_polymorphic_shapes
serialize_portable_artifact = _jax.mlir.serialize_portable_artifact
ifrt_programs = _jax.ifrt_programs


def cost_analysis_of_module(client: Any, module: Any) -> dict[str, float]:
    """XLA's cost estimate of a module before optimization."""
    return dict(_jax.hlo_module_cost_analysis(client, to_xla_computation(module).get_hlo_module()))


# ---------------------------------------------------------------------------------------------------------------
# Profiling, loaded at first use.

_PROFILING = {
    "profiler": ("_profiler", None),
    "ProfileOptions": ("_profiler", "ProfileOptions"),
    "TraceMe": ("_profiler", "TraceMe"),
    **{name: ("_profile_data", name) for name in ("ProfileData", "ProfileEvent", "ProfileLine", "ProfilePlane")},
}


def __getattr__(name: str) -> Any:
    where = _PROFILING.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = importlib.import_module(f"jaxlib.{where[0]}"), where[1]
    return module if attribute is None else getattr(module, attribute)


__all__ = [name for name in globals() if not name.startswith("_")] + ["jaxlib_version"]


def load_lapack() -> None:
    """Register the CPU's LAPACK kernels; loads SciPy, whose routines they call."""
    from jaxlib.cpu import _lapack

    for name, target in _lapack.registrations().items():
        register_custom_call_target(name, target, platform="cpu", api_version=1 if name.endswith("_ffi") else 0)
    _lapack.initialize()
