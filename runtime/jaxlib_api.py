"""The seam: the only file that touches jaxlib's private names and knows its versions.

It is a leaf: it imports nothing of xtrace, so every layer may import it.
"""

from __future__ import annotations

from typing import Any

from jaxlib import _jax
from jaxlib import xla_client as xc
from jaxlib.version import __version__ as jaxlib_version

VERSION: int = xc._version

Config = _jax.config.Config
pytree = _jax.pytree
ArrayImpl = xc.ArrayImpl
Device = xc.Device
Client = xc.Client

set_enable_x64_state = _jax.jax_jit.set_enable_x64_state
set_disable_jit_state = _jax.jax_jit.set_disable_jit_state
set_post_hook_state = _jax.jax_jit.set_post_hook_state

pjit = _jax.pjit
PjitFunctionCache = _jax.PjitFunctionCache
batched_device_put = _jax.batched_device_put
CompileOptions = xc.CompileOptions
DeviceList = xc.DeviceList
DeviceAssignment = xc.DeviceAssignment

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


__all__ = [name for name in globals() if not name.startswith("_")] + ["jaxlib_version"]
