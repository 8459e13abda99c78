"""xtrace: traces Python functions into jaxprs, lowers them to StableHLO, compiles and runs them through PJRT.

The names are JAX's: `import xtrace as jax`. Modules load at first touch; importing xtrace loads numpy, jaxlib and
the core of the language.
"""

from __future__ import annotations

import importlib
from typing import Any

from xtrace.core.collector import paused_while_importing as _paused_while_importing

with _paused_while_importing():
    from xtrace.api import flags as _flags
    from xtrace.core import composite as _composite
    from xtrace.core import primitive as _primitive
    from xtrace.core.config import config as config
    from xtrace.core.trace import Tracer as _Tracer
    from xtrace.runtime import array as _array
    from xtrace.runtime import dispatch as _dispatch
    from xtrace.runtime import transfers as _transfers
    from xtrace.version import __version__ as __version__

    _primitive.set_evaluator(_dispatch.evaluate)
    _primitive.set_placer(lambda x, aval: _transfers.put(x, aval, None, False))
    _array.register_tracer(_Tracer)

    from xtrace.api.jit import jit as jit  # needs the evaluator
    from xtrace.api.jit import jit_composite as _jit_composite

    _composite.set_jit(_jit_composite)

    from xtrace.numpy import methods as _methods
    from xtrace.numpy import operators as _operators  # needs jit
    from xtrace.numpy import protocols as _protocols
    from xtrace.numpy import references as _references

    _operators.install()
    _methods.install()
    _protocols.install()
    _references.install()

#: Public name -> module that defines it, loaded at first use.
_LAZY: dict[str, str] = {
    "Array": "xtrace.runtime.array",
    "ShapeDtypeStruct": "xtrace.api.struct",
    "closure_convert": "xtrace.lax.closures",
    "custom_gradient": "xtrace.lax.closures",
    "checkpoint": "xtrace.api.checkpointing",
    "checkpoint_policies": "xtrace.lax.checkpoint_policies",
    "custom_jvp": "xtrace.lax.custom_functions",
    "custom_vjp": "xtrace.lax.custom_functions",
    "grad": "xtrace.api.autodiff",
    "hessian": "xtrace.api.autodiff",
    "jacfwd": "xtrace.api.autodiff",
    "jacobian": "xtrace.api.autodiff",
    "jacrev": "xtrace.api.autodiff",
    "jvp": "xtrace.api.autodiff",
    "linear_transpose": "xtrace.api.autodiff",
    "linearize": "xtrace.api.autodiff",
    "fwd_and_bwd": "xtrace.api.pullbacks",
    "remat": "xtrace.api.checkpointing",
    "Ref": "xtrace.core.refs",
    "empty_ref": "xtrace.numpy.references",
    "free_ref": "xtrace.numpy.references",
    "freeze": "xtrace.numpy.references",
    "new_ref": "xtrace.numpy.references",
    "value_and_grad": "xtrace.api.autodiff",
    "vjp": "xtrace.api.autodiff",
    "vmap": "xtrace.api.batching",
    "make_jaxpr": "xtrace.api.inspecting",
    "eval_shape": "xtrace.api.inspecting",
    "typeof": "xtrace.api.inspecting",
    "clear_caches": "xtrace.api.jit",
    "block_until_ready": "xtrace.runtime.transfers",
    "copy_to_host_async": "xtrace.runtime.transfers",
    "device_get": "xtrace.runtime.transfers",
    "device_put": "xtrace.placement",
    "ensure_compile_time_eval": "xtrace.core.trace",
    "Device": "xtrace.runtime.jaxlib_api",
    "Shard": "xtrace.runtime.array",
    "NamedSharding": "xtrace.sharding",
    "P": "xtrace.runtime.partition_spec",
    "make_mesh": "xtrace.runtime.mesh",
    "set_mesh": "xtrace.sharding",
    "get_mesh": "xtrace.sharding",
    "get_abstract_mesh": "xtrace.sharding",
    "use_abstract_mesh": "xtrace.sharding",
    "make_array_from_callback": "xtrace.runtime.array",
    "make_array_from_process_local_data": "xtrace.runtime.array",
    "make_array_from_single_device_arrays": "xtrace.runtime.array",
    "process_indices": "xtrace.runtime.backends",
    "host_count": "xtrace.runtime.backends",
    "host_id": "xtrace.runtime.backends",
    "host_ids": "xtrace.runtime.backends",
    "float0": "xtrace.core.dtypes",
    "live_arrays": "xtrace.runtime.backends",
    "devices": "xtrace.runtime.backends",
    "local_devices": "xtrace.runtime.backends",
    "default_backend": "xtrace.runtime.backends",
    "device_count": "xtrace.runtime.backends",
    "ds": "xtrace.numpy.index_parsing",
    "local_device_count": "xtrace.runtime.backends",
    "process_index": "xtrace.runtime.backends",
    "process_count": "xtrace.runtime.backends",
    "named_call": "xtrace.core.scopes",
    "named_scope": "xtrace.core.scopes",
    "pure_callback": "xtrace.callbacks",
    "effects_barrier": "xtrace.runtime.host_calls",
    "print_environment_info": "xtrace.api.environment",
    "reshard": "xtrace.placement",
    "CompilerEffortLevel": "xtrace.api.levels",
    "Inline": "xtrace.api.levels",
}
_LAZY.update(dict.fromkeys(_flags.__all__, "xtrace.api.flags"))
_MODULES = (
    "ad",
    "api_util",
    "ad_checkpoint",
    "core",
    "custom_batching",
    "custom_derivatives",
    "debug",
    "dlpack",
    "dtypes",
    "errors",
    "experimental",
    "export",
    "extend",
    "ffi",
    "interpreters",
    "flatten_util",
    "image",
    "lax",
    "lib",
    "lowering",
    "memory",
    "monitoring",
    "nn",
    "numpy",
    "ops",
    "profiler",
    "random",
    "ref",
    "runtime",
    "scipy",
    "sharding",
    "stages",
    "test_util",
    "tree",
    "tree_util",
    "typing",
)


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is not None:
        value = getattr(importlib.import_module(module), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"xtrace.{name}")
    raise AttributeError(f"module 'xtrace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES})
