"""PJRT plugins: where the CUDA and TPU libraries are, found by path and loaded without importing their Python."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import threading
from typing import Any, NamedTuple

from xtrace.runtime import jaxlib_api


class PluginError(RuntimeError):
    """A plugin is missing or broken; the message lists what was tried."""


class Plugin(NamedTuple):
    """What there is to know of a platform's plugin before it is found."""

    platform: str
    #: (top-level package, path of the library inside it), tried in order.
    libraries: tuple[tuple[str, str], ...]
    #: The environment variable that names the library directly.
    variable: str | None
    #: Packages with FFI handlers, tried in order.
    ffi_packages: tuple[str, ...]
    #: How to get it.
    install: str
    #: PCI vendor of the hardware, and device files that show it.
    vendor: str
    device_files: tuple[str, ...]


PLUGINS: dict[str, Plugin] = {
    "cuda": Plugin(
        "cuda",
        (("jax_plugins", "xla_cuda13/xla_cuda_plugin.so"), ("jax_plugins", "xla_cuda12/xla_cuda_plugin.so")),
        None,
        ("jax_cuda13_plugin", "jax_cuda12_plugin"),
        "pip install 'xtrace[cuda13]' (or 'xtrace[cuda12]' for a CUDA 12 driver)",
        "0x10de",
        ("/dev/nvidia[0-9]*", "/dev/dxg"),
    ),
    "tpu": Plugin(
        "tpu",
        (("libtpu", "libtpu.so"),),
        "TPU_LIBRARY_PATH",
        (),
        "pip install 'xtrace[tpu]'",
        "0x1ae0",
        ("/dev/accel[0-9]*",),
    ),
}

#: Extension modules of an FFI package that have a `registrations()` table.
_FFI_MODULES = ("_solver", "_linalg", "_prng", "_sparse", "_rnn", "_triton", "_hybrid")

_lock = threading.RLock()
_loaded: dict[str, Any] = {}


def from_environment() -> dict[str, str]:
    """Plugins named by PJRT_NAMES_AND_LIBRARY_PATHS ("name:path,name:path"): platform to path."""
    found = {}
    for entry in filter(None, os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "").split(",")):
        name, separator, path = entry.strip().partition(":")
        if not separator or not name or not path:
            raise PluginError(
                f"PJRT_NAMES_AND_LIBRARY_PATHS has the entry {entry!r}; write it as 'name:path,name:path', "
                "for example 'cuda:/opt/plugins/xla_cuda_plugin.so'"
            )
        found[name.lower()] = path
    return found


def _package_folders(package: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(package)  # of a top-level name: finds, doesn't import
    except (ImportError, ValueError):
        return []
    return list(spec.submodule_search_locations or ()) if spec is not None else []


def find_library(platform: str) -> tuple[str | None, list[str]]:
    """Return (path of the platform's plugin library or None, what was tried)."""
    tried: list[str] = []
    named = from_environment().get(platform)
    if named is not None:
        tried.append(f"{named} (from PJRT_NAMES_AND_LIBRARY_PATHS)")
        return (named if os.path.exists(named) else None), tried
    plugin = PLUGINS.get(platform)
    if plugin is None:
        return None, tried
    if plugin.variable and os.environ.get(plugin.variable):
        path = os.environ[plugin.variable]
        tried.append(f"{path} (from {plugin.variable})")
        return (path if os.path.exists(path) else None), tried
    for package, relative in plugin.libraries:
        folders = _package_folders(package)
        if not folders:
            tried.append(f"{package}/{relative} (no package {package} is installed)")
        for folder in folders:
            path = os.path.join(folder, relative)
            if os.path.exists(path):
                return path, [*tried, path]
            tried.append(path)
    return None, tried


def cuda_major() -> int:
    """The CUDA version that the installed plugin is built for."""
    path, _ = find_library("cuda")
    return 12 if path is not None and "cuda12" in path else 13


@functools.cache
def cuda_data_dir() -> str | None:
    """Folder of the CUDA tools (ptxas, libdevice) to pass as XLA's `xla_gpu_cuda_data_dir`, or None: XLA searches.

    Those of NVIDIA's Python packages, which the cuda extras install, unless CUDA_HOME names others.
    """
    named = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    if named:
        return named
    for folder in _package_folders("nvidia"):
        for relative in (f"cu{cuda_major()}", "cuda_nvcc"):
            path = os.path.join(folder, relative)
            if os.path.exists(os.path.join(path, "nvvm", "libdevice")):
                return path
    return None


def known_platforms() -> list[str]:
    """Platforms whose plugin may be there, the preferred one first."""
    return [*dict.fromkeys([*from_environment(), *PLUGINS])]


def hardware_present(platform: str) -> bool:
    """Whether the machine seems to have such a device (asked before a plugin is loaded without being named)."""
    plugin = PLUGINS.get(platform)
    if plugin is None or platform in from_environment():
        return True  # named by the user: let the plugin say
    import glob  # not asked where the platform is named

    if any(glob.glob(pattern) for pattern in plugin.device_files):
        return True
    for path in glob.glob("/sys/bus/pci/devices/*/vendor"):
        try:
            with open(path) as file:
                if file.read().strip() == plugin.vendor:
                    return platform == "cuda" or bool(glob.glob("/dev/vfio/[0-9]*"))
        except OSError:
            continue
    return False


def load(platform: str) -> Any:
    """Load and initialise the platform's plugin and register its FFI handlers; returns its C API.

    Raises:
      PluginError: it is not installed, or its library can't be loaded.
    """
    with _lock:
        if platform in _loaded:
            return _loaded[platform]
        path, tried = find_library(platform)
        if path is None:
            plugin = PLUGINS.get(platform)
            hint = plugin.install if plugin else f"set PJRT_NAMES_AND_LIBRARY_PATHS={platform}:/path/to/its/library.so"
            looked = "".join(f"\n  {item}" for item in tried) or "\n  nothing: no library is known for this platform"
            raise PluginError(f"no {platform} plugin was found. Looked for:{looked}\nTo install it: {hint}")
        if platform == "tpu":
            # libtpu otherwise asks a metadata server that only exists in Google's cloud, and allows one process only.
            if not hardware_present("tpu"):
                os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
                os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
                os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
                os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")
        try:
            c_api = jaxlib_api.load_plugin(platform, path)
            jaxlib_api.initialize_plugin(platform)
        except Exception as error:
            raise PluginError(f"the {platform} plugin {path} was found but can't be used: {error}") from error
        if platform == "cuda":
            _register_cuda_ffi(c_api)
        for name in _batch_partitionable:
            jaxlib_api.register_batch_partitionable(name, c_api)
        _loaded[platform] = c_api
        return c_api


#: Foreign functions that may be called with a part of the examples, on every platform.
_batch_partitionable: list[str] = []


def register_batch_partitionable(name: str) -> None:
    """Let programs over several devices call a foreign function with the part of the examples that a device has."""
    with _lock:
        jaxlib_api.register_batch_partitionable(name)
        _batch_partitionable.append(name)
        for c_api in _loaded.values():
            jaxlib_api.register_batch_partitionable(name, c_api)


def _register_cuda_ffi(c_api: Any) -> None:
    """Register the CUDA plugin's FFI handlers (cuSOLVER, cuSPARSE, Triton …); their modules don't import jax."""
    for package in PLUGINS["cuda"].ffi_packages:
        if not _package_folders(package):
            continue
        try:
            extension = importlib.import_module(f"{package}.cuda_plugin_extension")
        except ImportError:
            continue
        jaxlib_api.register_custom_type_handler("CUDA", functools.partial(extension.register_custom_type, c_api))
        jaxlib_api.register_custom_call_handler("CUDA", functools.partial(extension.register_custom_call_target, c_api))
        for name, value in extension.ffi_types().items():
            jaxlib_api.register_custom_type(name, value, platform="CUDA")
        for name, value in extension.ffi_handlers().items():
            jaxlib_api.register_custom_call_target(name, value, platform="CUDA", api_version=1)
        for suffix in _FFI_MODULES:
            try:
                module = importlib.import_module(f"{package}.{suffix}")
            except ImportError:  # an older plugin, or one of its CUDA libraries is missing
                continue
            for name, value in module.registrations().items():
                # The typed FFI's names end in _ffi; the others use the untyped calling convention.
                version = 1 if name.endswith("_ffi") else 0
                jaxlib_api.register_custom_call_target(name, value, platform="CUDA", api_version=version)
        return
