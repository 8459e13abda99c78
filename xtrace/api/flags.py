"""Flags under their public names, each a context manager and decorator for the current thread.

>>> import xtrace as xt
>>> with xt.numpy_dtype_promotion("strict"), xt.enable_x64():
...     xt.config.jax_enable_x64
True
>>> xt.config.jax_enable_x64
False
"""

from __future__ import annotations

from xtrace.core import config as _config
from xtrace.core.config import (
    Override,
    allow_f16_reductions,
    check_tracer_leaks,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    legacy_prng_key,
    log_compiles,
    no_execution,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    threefry_partitionable,
)
from xtrace.core.guards import (
    array_garbage_collection_guard,
    thread_guard,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
)
from xtrace.core.options import Option
from xtrace.core.user_contexts import make_user_context

__all__ = [
    "allow_f16_reductions",
    "array_garbage_collection_guard",
    "auto_pcast",
    "check_tracer_leaks",
    "checking_leaks",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "disable_jit",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "explain_cache_misses",
    "jax2tf_associative_scan_reductions",
    "legacy_prng_key",
    "log_compiles",
    "make_user_context",
    "no_execution",
    "no_tracing",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "remove_size_one_mesh_axis_from_type",
    "softmax_custom_jvp",
    "thread_guard",
    "threefry_partitionable",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
]

enable_checks = _config.check_jaxprs
# These choose between implementations that JAX has: accepted, without effect.
auto_pcast = Option("auto_pcast")
jax2tf_associative_scan_reductions = Option("jax2tf_associative_scan_reductions")
remove_size_one_mesh_axis_from_type = Option("remove_size_one_mesh_axis_from_type")
softmax_custom_jvp = Option("softmax_custom_jvp")


def checking_leaks() -> Override:
    """Raise, at the end of a trace inside the block, if it leaked tracers.

    Returns:
      A context manager and decorator.

    Example:
      >>> import xtrace as xt
      >>> with xt.checking_leaks():
      ...     xt.config.jax_check_tracer_leaks
      True
    """
    return check_tracer_leaks(True)


def disable_jit(disable: bool = True) -> Override:
    """Run jitted functions as the Python they are while the block runs: for debuggers and print.

    Args:
      disable: whether to.

    Returns:
      A context manager and decorator.

    Example:
      >>> import xtrace as xt
      >>> with xt.disable_jit():
      ...     xt.config.jax_disable_jit
      True
    """
    return _config.disable_jit(disable)
