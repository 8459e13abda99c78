"""Platforms and their clients, for programs that manage them (jax.extend.backend)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.api.jit import clear_caches
from xtrace.runtime import backends as _backends
from xtrace.runtime import compiling
from xtrace.runtime.backends import backends, get_backend

#: What `register_backend_cache` was given, by what it is for.
_caches: list[tuple[Any, str]] = []


def get_default_device() -> Any:
    """The device where uncommitted values are placed: the flag default_device, or the first local one.

    >>> from xtrace.extend.backend import get_default_device
    >>> get_default_device().id
    0
    """
    return _backends.default_device()


def backend_xla_version(platform: str | None = None) -> int | None:
    """The version of XLA in a platform's plugin, None where it doesn't say.

    Args:
      platform: its name, or None for the default one.
    """
    return getattr(get_backend(platform), "xla_version", None)


def register_backend_cache(cache: Any, for_what: str) -> None:
    """Have a cache of values that belong to clients cleared whenever the clients are.

    Args:
      cache: has a method `cache_clear`.
      for_what: what it keeps, for people.

    >>> import functools
    >>> from xtrace.extend.backend import register_backend_cache
    >>> register_backend_cache(functools.lru_cache(len), "lengths")
    """
    if not callable(getattr(cache, "cache_clear", None)):
        raise TypeError(f"register_backend_cache needs an object with a method cache_clear, got {cache!r}")
    _caches.append((cache, for_what))


def clear_backends(_crash: bool = False) -> None:
    """Forget all clients and the programs compiled for them. Arrays made before can't be used any more."""
    clear_caches()
    for cache, _ in _caches:
        cache.cache_clear()
    _backends.clear_backends()


def clear_in_memory_compilation_cache() -> None:
    """Forget compiled programs; those kept on disk stay."""
    clear_caches()


def register_backend_factory(
    name: str,
    factory: Callable[[], Any],
    *,
    priority: int = 0,
    fail_quietly: bool = True,
    experimental: bool = False,
    make_topology: Callable[..., Any] | None = None,
    c_api: Any = None,
) -> None:
    """Make a platform known, by a function that makes its client.

    Args:
      name: what the platform is called.
      factory: makes the client, when it is first needed.
      priority: above 0, it is the default platform; the highest is tried first.
      fail_quietly: whether a client that can't be made is passed over, where nobody asked for it by name.
      experimental: whether to warn that the platform is experimental.
      make_topology: accepted for compatibility. c_api: the plugin's C API, likewise.

    Raises:
      ValueError: there is such a platform already.
    """
    _backends.register_factory(name, factory, priority, fail_quietly, experimental)


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    env_options_overrides: dict[str, Any] | None = None,
    fdo_profile: bytes | None = None,
    detailed_logging: bool = True,
    backend: Any = None,
) -> Any:
    """jaxlib's CompileOptions for a program on several devices.

    Args:
      num_replicas, num_partitions: how many devices there are in each direction.
      device_assignment: ids of devices, shape (replicas, partitions) or flat.
      env_options_overrides: XLA's options by name.
      fdo_profile: profile that guides optimisation. detailed_logging: accepted for compatibility.
      backend: the client it is for, accepted for compatibility.

    >>> from xtrace.extend.backend import get_compile_options
    >>> get_compile_options(1, 1).num_partitions
    1
    """
    return compiling.options_for(num_replicas, num_partitions, device_assignment, env_options_overrides, fdo_profile)


__all__ = [
    "backend_xla_version",
    "backends",
    "clear_backends",
    "clear_in_memory_compilation_cache",
    "get_backend",
    "get_compile_options",
    "get_default_device",
    "register_backend_cache",
    "register_backend_factory",
]
