"""Show versions, backends, devices, plugins and caches: what to put into a bug report."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from xtrace.version import __version__, jax_version

NAME = "info"
HELP = "show versions, backends, devices, plugins and caches"

_PACKAGES = ("jaxlib", "ml_dtypes", "numpy", "scipy")
#: Distributions that carry a PJRT plugin, and the library in each.
_PLUGINS = {
    "jax-cuda12-pjrt": "jax_plugins/xla_cuda12/xla_cuda_plugin.so",
    "jax-cuda13-pjrt": "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
    "libtpu": "libtpu/libtpu.so",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--flags", action="store_true", help="list the configuration flags and their values too")


def collect(flags: bool = False) -> dict[str, Any]:
    """Everything `xtrace info` shows, as plain data."""
    from xtrace.core.config import config

    facts: dict[str, Any] = {
        "versions": {
            "xtrace": __version__,
            "follows JAX": jax_version,
            "python": platform.python_version(),
            **{name: _version(name) for name in _PACKAGES},
        },
        "machine": {
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            "cpus": os.cpu_count(),
            "python": sys.executable,
        },
        "backends": _backends(),
        "plugins": _plugins(),
        "caches": {"compiled programs": config.compilation_cache_dir},
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith(("XTRACE_", "JAX_", "XLA_"))},
    }
    if flags:
        facts["flags"] = {
            name: {"value": flag.value, "default": flag.default, "help": flag.help}
            for name, flag in sorted(config.flags.items())
        }
    return facts


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _plugins() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for distribution, library in _PLUGINS.items():
        version = _version(distribution)
        if version is None:
            continue
        path = Path(str(importlib.metadata.distribution(distribution).locate_file(library)))
        found[distribution] = {"version": version, "library": str(path), "present": path.exists()}
    return found


def _backends() -> dict[str, Any]:
    """The default platform's devices; or the reason why there are none, which is what the reader is after."""
    xt = importlib.import_module("xtrace")
    try:
        devices = xt.devices()
        default = xt.default_backend()
    except Exception as error:
        return {"default": None, "error": " ".join(str(error).split())}
    client = devices[0].client
    return {
        "default": default,
        "platform version": " ".join(str(client.platform_version).split()),
        "devices": [{"id": d.id, "kind": d.device_kind, "process": d.process_index} for d in devices],
    }


def _show(facts: dict[str, Any], indent: str = "") -> None:
    width = max((len(key) for key, value in facts.items() if not isinstance(value, dict | list)), default=0)
    for key, value in facts.items():
        match value:
            case dict() if value:
                print(f"{indent}{key}")
                _show(value, indent + "  ")
            case list():
                print(f"{indent}{key}")
                for item in value:
                    print(f"{indent}  " + ", ".join(f"{k} {v}" for k, v in item.items()))
            case _:
                text = "none" if value is None or value == {} else value
                print(f"{indent}{key:<{width}}  {text}")


def main(args: argparse.Namespace) -> int:
    facts = collect(args.flags)
    if args.json:
        print(json.dumps(facts, indent=2, default=str))
        return 0
    for name, flag in facts.pop("flags", {}).items():
        facts.setdefault("flags", {})[name] = flag["value"]
    _show(facts)
    return 0
