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

__all__ = [
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
    "legacy_prng_key",
    "log_compiles",
    "no_execution",
    "no_tracing",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "threefry_partitionable",
]

enable_checks = _config.check_jaxprs


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
