"""Backends and their devices: which platforms there are, made at first need."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.core import avals, config
from xtrace.runtime import jaxlib_api, plugins, shardings

Client = jaxlib_api.Client
Device = jaxlib_api.Device

#: Spellings of platforms: what users write, to the name of the plugin.
_ALIASES = {"gpu": "cuda", "nvidia": "cuda"}
#: Variables read by the CUDA plugin's options, by option.
_VISIBLE_DEVICES = ("XTRACE_CUDA_VISIBLE_DEVICES", "JAX_CUDA_VISIBLE_DEVICES")

_lock = threading.RLock()
_clients: dict[str, Client] = {}
_default: Client | None = None
#: Platforms that were tried by themselves (nobody asked for them by name) and why they failed.
_failures: dict[str, str] = {}
#: Platforms that programs have made known: name -> (what makes the client, priority, may fail quietly).
_registered: dict[str, tuple[Callable[[], Client], int, bool]] = {}
#: Keyword arguments for the CPU client of a multi-process program, set by the distributed service.
distributed_options: dict[str, Any] = {}


def register_factory(
    name: str, factory: Callable[[], Client], priority: int, fail_quietly: bool, experimental: bool
) -> None:
    """Make a platform known by what makes its client. Raises ValueError if there is one of that name."""
    if name == "cpu" or name in plugins.known_platforms() or name in _registered:
        raise ValueError(f"Backend {name} already registered")

    def make() -> Client:
        if experimental:
            warnings.warn(f"the platform {name} is experimental: not all of xtrace may work on it", stacklevel=2)
        return factory()

    _registered[name] = (make, priority, fail_quietly)


def _known(platform: str) -> bool:
    return platform == "cpu" or platform in _registered or platform in plugins.known_platforms()


def _plugin_name(platform: str) -> str:
    platform = platform.strip().lower()
    return _ALIASES.get(platform, platform)


def _requested() -> list[str] | None:
    """The platforms that the flag `platforms` allows, or None if it isn't set."""
    text = config.platforms.value
    if not text:
        return None
    return [_plugin_name(name) for name in text.split(",") if name.strip()]


def _make_client(platform: str) -> Client:
    if platform == "cpu":
        count = config.num_cpu_devices.value
        client = jaxlib_api.make_cpu_client(count if count > 0 else None, **distributed_options)
    elif platform in _registered:
        client = _registered[platform][0]()
    else:
        plugins.load(platform)
        client = jaxlib_api.make_plugin_client(platform, _client_options(platform))
    device = client.local_devices()[0]
    aval = avals.ShapedArray((1,), np.dtype("float32"))
    jaxlib_api.prime_arrays(aval, shardings.single_device_sharding(device), device)
    return client


def _client_options(platform: str) -> dict[str, Any]:
    if platform != "cuda":
        return {}
    options = jaxlib_api.gpu_client_options()
    for variable in _VISIBLE_DEVICES:
        text = os.environ.get(variable, "all")
        if text != "all":
            options["visible_devices"] = [int(item) for item in text.split(",")]
            break
    return options


def _client(platform: str) -> Client:
    client = _clients.get(platform)
    if client is None:
        with _lock:
            client = _clients.get(platform)
            if client is None:
                client = _clients[platform] = _make_client(platform)
    return client


def _choose() -> Client:
    requested = _requested()
    if requested is not None:
        for platform in requested:
            if not _known(platform):
                raise RuntimeError(
                    f"the flag platforms ({config.platforms.value!r}) names the unknown platform {platform!r}; "
                    f"known are cpu, {', '.join(plugins.known_platforms())}. Others can be named with "
                    "PJRT_NAMES_AND_LIBRARY_PATHS=name:/path/to/plugin.so"
                )
        try:
            return _client(requested[0])
        except Exception as error:
            raise RuntimeError(
                f"Unable to initialize backend '{requested[0]}' (asked for by the flag platforms, "
                f"{config.platforms.value!r}): {error}\n"
                "Unset XTRACE_PLATFORMS and JAX_PLATFORMS, or set platforms to 'cpu', to run without it."
            ) from error
    for platform, (_, priority, quietly) in sorted(_registered.items(), key=lambda item: -item[1][1]):
        if priority <= 0:  # below the CPU: only where it is asked for
            break
        try:
            return _client(platform)
        except Exception as error:  # whatever the factory raises, the program can still run elsewhere
            if not quietly:
                raise
            _failures[platform] = str(error)
    for platform in plugins.known_platforms():
        path, _ = plugins.find_library(platform)
        if path is None or not plugins.hardware_present(platform):
            continue
        try:
            return _client(platform)
        except Exception as error:  # whatever the plugin raises, the program can still run on CPU
            _failures[platform] = str(error)
            warnings.warn(
                f"a {platform} plugin is installed and the hardware seems present, but it failed to start: {error}\n"
                "Falling back to cpu. Set XTRACE_PLATFORMS=cpu to silence this warning.",
                stacklevel=2,
            )
    return _client("cpu")


def default_client() -> Client:
    """The client of the default platform, made at first need."""
    global _default
    client = _default
    if client is None:
        with _lock:
            if _default is None:
                _default = _choose()
            client = _default
    return client


def get_backend(platform: str | Client | None = None) -> Client:
    """Return the client of a platform.

    Args:
      platform: "cpu", "gpu" or "cuda", "tpu", the name of another plugin, or None for the default one.

    Raises:
      RuntimeError: the platform is unknown, excluded by the flag `platforms`, or can't be started.
    """
    if platform is None:
        return default_client()
    if not isinstance(platform, str):
        return platform
    name = _plugin_name(platform)
    client = _clients.get(name)
    if client is not None:
        return client
    if not _known(name):
        raise RuntimeError(f"Unknown backend {platform}. Available backends are {_available()}")
    requested = _requested()
    if requested is not None and name not in requested:
        raise RuntimeError(
            f"Unknown backend: '{platform}' requested, but no platforms that are instances of {platform} are present. "
            f"Platforms present are: {','.join(requested)} (limited by the flag platforms, {config.platforms.value!r})"
        )
    default_client()  # the default platform first, so that asking for another doesn't change it
    try:
        return _client(name)
    except Exception as error:
        raise RuntimeError(
            f"Unknown backend: '{platform}' requested, but no platforms that are instances of {platform} are present. "
            f"Platforms present are: {','.join(_available())}\n{error}"
        ) from error


def _available() -> list[str]:
    default_client()
    return list(_clients)


def backends() -> dict[str, Client]:
    """The clients made so far, by platform; the default one among them."""
    default_client()
    return dict(_clients)


def platform_failures() -> dict[str, str]:
    """Platforms that were tried automatically and failed, with the reason."""
    return dict(_failures)


def is_initialized() -> bool:
    """Whether any client exists."""
    return bool(_clients)


def clear_backends() -> None:
    """Forget all clients, so that the next use makes new ones (with the flags as they are then)."""
    global _default
    with _lock:
        _clients.clear()
        _default = None
        _failures.clear()


def default_backend() -> str:
    """Return the platform name of the default backend: "cpu", "gpu" or "tpu".

    Example:
      >>> import xtrace as xt
      >>> xt.default_backend() in ("cpu", "gpu", "tpu")
      True
    """
    return default_client().platform


def devices(backend: str | Client | None = None) -> list[Device]:
    """Return all devices of a backend, those of other processes included.

    Args:
      backend: platform name, or None for the default backend.

    Raises:
      RuntimeError: no such backend.

    Example:
      >>> import xtrace as xt
      >>> xt.devices("cpu")[0]
      CpuDevice(id=0)
    """
    return get_backend(backend).devices()


def local_devices(
    process_index: int | None = None, backend: str | Client | None = None, host_id: int | None = None
) -> list[Device]:
    """Return the devices that this process (or the process `process_index`) can address.

    Args:
      process_index: a process of the program; None for this one.
      backend: platform name, or None for the default backend.
      host_id: the old name of `process_index`.

    Raises:
      ValueError: there is no such process.
    """
    if host_id is not None:
        process_index = host_id
    client = get_backend(backend)
    if process_index is None:
        process_index = client.process_index()
    elif process_index not in (known := process_indices(client)):
        raise ValueError(f"Unknown process_index {process_index}; the processes are {known}")
    return [d for d in client.devices() if d.process_index == process_index]


def device_count(backend: str | Client | None = None) -> int:
    """Return the number of devices of a backend, in all processes."""
    return int(get_backend(backend).device_count())


def local_device_count(backend: str | Client | None = None) -> int:
    """Return the number of devices of a backend that this process can address."""
    return int(get_backend(backend).local_device_count())


def process_index(backend: str | Client | None = None) -> int:
    """Return this process's number in the program: 0 unless several processes run it together."""
    return get_backend(backend).process_index()


def process_count(backend: str | Client | None = None) -> int:
    """Return the number of processes that run the program together."""
    return len(process_indices(backend))


def process_indices(backend: str | Client | None = None) -> list[int]:
    """Return the numbers of all processes of the program."""
    return sorted({d.process_index for d in devices(backend)})


host_id = process_index
host_count = process_count
host_ids = process_indices


def live_arrays(platform: str | None = None) -> list[Any]:
    """All arrays that exist on a platform (default: the default one).

    >>> import xtrace as xt
    >>> x = xt.device_put(1.0)
    >>> any(a is x for a in xt.live_arrays())
    True
    """
    return list(get_backend(platform).live_arrays())


def platform_of(device: Device) -> str:
    """The name of a device's platform as lowering rules know it: cpu, cuda, rocm, tpu."""
    platform: str = device.platform
    if platform == "gpu":
        return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"
    return platform


def default_device() -> Device:
    """The device where uncommitted values go: the flag `default_device`, or the first local device."""
    chosen = config.default_device.value
    if chosen is None:
        return _first_device()
    if isinstance(chosen, Device):
        return chosen
    if isinstance(chosen, str):
        return get_backend(chosen).local_devices()[0]
    raise TypeError(
        f"the flag default_device must be a Device, a platform name or None; got {chosen!r}. devices() lists devices."
    )


_first: tuple[Client, Device] | None = None


def _first_device() -> Device:
    global _first
    client = _default or default_client()
    first = _first
    if first is None or first[0] is not client:  # the list of devices is made anew at every call: keep its head
        first = _first = (client, client.local_devices()[0])
    return first[1]
