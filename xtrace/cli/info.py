"""Show versions, backends, devices, plugins and caches: what to put into a bug report."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import sys
from typing import Any

from xtrace.core.config import config
from xtrace.runtime import backends, plugins
from xtrace.version import __version__, jax_version

NAME = "info"
HELP = "show versions, backends, devices, plugins and caches"

_PACKAGES = ("jaxlib", "ml_dtypes", "numpy", "scipy")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xtrace info`."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--flags", action="store_true", help="list the configuration flags and their values too")


def collect(flags: bool = False) -> dict[str, Any]:
    """Everything `xtrace info` shows, as plain data."""
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
    """The library of each platform's plugin, and how to get one that is missing."""
    found: dict[str, Any] = {}
    for platform_name in plugins.known_platforms():
        path, tried = plugins.find_library(platform_name)
        found[platform_name] = {"library": path, "hardware present": plugins.hardware_present(platform_name)}
        if path is None:
            known = plugins.PLUGINS.get(platform_name)
            found[platform_name]["to install it"] = known.install if known else "set PJRT_NAMES_AND_LIBRARY_PATHS"
            found[platform_name]["looked for"] = "; ".join(tried)
    return found


def _backends() -> dict[str, Any]:
    """The clients and their devices; or the reason why there is none, which is what the reader is after."""
    try:
        default = backends.default_backend()
    except Exception as error:
        return {"default": None, "error": " ".join(str(error).split())}
    found: dict[str, Any] = {"default": default}
    for name, client in backends.backends().items():
        found[name] = {
            "version": " ".join(str(client.platform_version).split()),
            "devices": [
                {"device": str(d), "kind": d.device_kind, "process": d.process_index} for d in client.devices()
            ],
        }
    if failures := backends.platform_failures():
        found["failed to start"] = {name: " ".join(reason.split()) for name, reason in failures.items()}
    return found


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
                print(f"{indent}{key:<{width}}  {_text(value)}")


def _text(value: Any) -> str:
    if value is None or value == {}:
        return "none"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def main(args: argparse.Namespace) -> int:
    """Run `xtrace info`; returns the exit status."""
    facts = collect(args.flags)
    if args.json:
        print(json.dumps(facts, indent=2, default=str))
        return 0
    for name, flag in facts.pop("flags", {}).items():
        facts.setdefault("flags", {})[name] = flag["value"]
    _show(facts)
    return 0
