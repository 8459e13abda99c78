"""Programs in the persistent cache: how they are recognised, loaded and kept.

A program's key is the hash of everything that its machine code depends on: the StableHLO module without source
locations, the compiler's options and flags, the devices, the platform's and jaxlib's versions. A second key, the
fingerprint of the jaxpr with the hash of the code that lowers it, leads to the first without lowering.
"""

from __future__ import annotations

import collections
import functools
import hashlib
import json
import os
import time
from typing import Any

import numpy as np

from xtrace.core import config, monitoring
from xtrace.core.fingerprint import NoFingerprint, fingerprint
from xtrace.core.jaxpr import Jaxpr, subjaxprs
from xtrace.runtime import compile_cache, compiling, jaxlib_api
from xtrace.version import __version__

#: Part of every key: counts the changes of what entries hold.
_FORMAT = 1
#: Flags that neither tracing nor lowering reads; all others are part of a fingerprint.
_FLAGS_APART = frozenset(
    (
        "check_jaxprs compilation_cache_dir compilation_cache_include_metadata_in_key compilation_cache_max_size "
        "default_device enable_compilation_cache explain_cache_misses log_compiles no_execution no_tracing "
        "num_cpu_devices passes persistent_cache_min_compile_time_secs persistent_cache_min_entry_size_bytes platforms "
        "traceback_filtering array_garbage_collection_guard thread_guard transfer_guard "
        "transfer_guard_device_to_device transfer_guard_device_to_host transfer_guard_host_to_device"
    ).split()
)
#: XLA's flags that say where to write or read on this machine, not what to compile.
_MACHINE_FLAGS = ("--xla_dump", "--xla_gpu_cuda_data_dir", "--xla_force_host_platform_device_count")

#: While a list: what was looked up, as (parts, hit), for `xtrace cache explain`.
lookups: list[tuple[dict[str, Any], bool]] | None = None


def load(program: Any, placement: Any, overrides: dict[str, Any] | None, devices: Any, options: Any) -> Any:
    """The program from the cache if it is there, else compiled and kept."""
    client = placement.devices[0].client
    cache = compile_cache.current()
    if cache is None:
        return compiling.compile_and_load(client, program, devices, options)
    where = environment_parts(placement, overrides)
    short = _fingerprint(cache, program, where)
    key = None if short is None else cache.find(short)
    referred = key is not None
    if key is None:
        module = canonical_module(program)
        if program.keepalives:  # it calls back into this process
            return compiling.compile_and_load(client, program, devices, options)
        key = _digest({**where, "program": module, "format": _FORMAT})
    found = cache.get(key)
    if found is not None:
        header, payloads = found
        try:
            if header["types"] != _types(program):
                raise ValueError("its arguments and results are of other types")
            loaded = client.deserialize_executable(payloads["executable"], devices, options)
        except Exception as error:  # jaxlib's errors have no common class
            cache.distrust(key, " ".join(str(error).split())[:300])
        else:
            if short is not None and not referred:
                cache.refer(short, key)
            _note(program, where, True)
            return loaded
    if referred:  # the program is gone, or no good
        module = canonical_module(program)
        key = _digest({**where, "program": module, "format": _FORMAT})
    _note(program, where, False)
    start = time.perf_counter()
    loaded = compiling.compile_and_load(client, program, devices, options)
    seconds = time.perf_counter() - start
    if seconds >= config.persistent_cache_min_compile_time_secs.value:
        _keep(cache, key, short, program, loaded, {**where, **description(program), "program": module}, seconds)
    return loaded


def _keep(
    cache: Any, key: str, short: str | None, program: Any, loaded: Any, parts: dict[str, Any], seconds: float
) -> None:
    try:
        executable = loaded.client.serialize_executable(loaded)
    except Exception:  # this backend can't, or not this program
        return
    if len(executable) < config.persistent_cache_min_entry_size_bytes.value:
        return
    header = {
        "name": program.name,
        "types": _types(program),
        "parts": parts,
        "compile seconds": round(seconds, 4),
        "created": int(time.time()),
        "xtrace": __version__,
    }
    cache.put(key, header, {"executable": executable})
    if short is not None and not has_custom_calls(program):
        cache.refer(short, key)


# -- keys --------------------------------------------------------------------------------------------------------


def environment_parts(placement: Any, overrides: dict[str, Any] | None) -> dict[str, Any]:
    """All that a program's machine code depends on besides the program."""
    device = placement.devices[0]
    return {
        "platform": placement.platform,
        "platform version": _platform_version(device.client),
        "jaxlib": jaxlib_api.jaxlib_version,
        "device": device_description(device),
        "devices": [d.id for d in placement.devices],
        "processes": len({d.process_index for d in placement.devices}),
        "compiler options": {k: str(v) for k, v in sorted((overrides or {}).items())},
        "XLA flags": _xla_flags(),
    }


@functools.cache
def _platform_version(client: Any) -> str:
    return " ".join(str(client.platform_version).split())


def _xla_flags() -> list[str]:
    flags = [*os.environ.get("XLA_FLAGS", "").split(), *os.environ.get("LIBTPU_INIT_ARGS", "").split()]
    return sorted([f for f in flags if not f.startswith(_MACHINE_FLAGS)])


def device_description(device: Any) -> str:
    """The kind of a device; for CPUs the instruction set too, which machine code depends on."""
    kind = str(device.device_kind)
    return f"{kind} {_cpu()}" if device.platform == "cpu" else kind


@functools.cache
def _cpu() -> str:
    model, flags = os.uname().machine if hasattr(os, "uname") else "", ""
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:  # the first processor's paragraph; the kernel makes the rest only if it is read
                name, _, value = line.partition(":")
                if name.strip() == "model name":
                    model += " " + value.strip()
                elif name.strip().lower() in ("flags", "features"):
                    flags = " ".join(sorted(value.split()))
                elif not line.strip():
                    break
    except OSError:  # not Linux
        import platform

        model += " " + platform.processor()
    return f"{model} {hashlib.blake2b(flags.encode(), digest_size=8).hexdigest()}"


def _digest(parts: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=32).hexdigest()


def canonical_module(program: Any) -> str:
    """Hash of the program's module, without locations unless a flag asks for them."""
    text = program.text(config.compilation_cache_include_metadata_in_key.value)
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def has_custom_calls(program: Any) -> bool:
    """Whether the program calls functions that lowering registers with the runtime: loading it takes lowering first."""
    return "stablehlo.custom_call @" in program.text()


def _fingerprint(cache: Any, program: Any, where: dict[str, Any]) -> str | None:
    if config.compilation_cache_include_metadata_in_key.value:
        return None
    try:
        code = sources_digest(cache)
        return fingerprint(program.jaxpr, *program.lowering_inputs(), _flags(), code, where, _FORMAT)
    except NoFingerprint:
        return None


def _flags() -> list[tuple[str, Any]]:
    return [(n, f.value) for n, f in config.config.flags.items() if not (f.internal or n in _FLAGS_APART)]


_sources: str | None = None


def sources_digest(cache: compile_cache.CompileCache | None = None) -> str:
    """Hash of the code that turns jaxprs into modules: xtrace's own.

    Reading and hashing it takes 10 ms, so `cache` keeps the hash by the names, sizes and times of the files.
    """
    global _sources
    if _sources is None:
        files = _source_files()
        seen = repr([(name, s.st_size, s.st_mtime_ns) for name, _, s in files]) + __version__
        signature = hashlib.blake2b(seen.encode(), digest_size=32).hexdigest()
        _sources = None if cache is None else cache.find(signature)
        if _sources is None:
            digest = hashlib.blake2b(f"{__version__} {jaxlib_api.jaxlib_version}".encode(), digest_size=32)
            for name, path, _ in files:
                digest.update(f"{name}\n".encode())
                with open(path, "rb") as file:
                    digest.update(file.read())
            _sources = digest.hexdigest()
            if cache is not None:
                cache.refer(signature, _sources)
    return _sources


def _source_files() -> list[tuple[str, str, os.stat_result]]:
    """Name, path and status of the files of core, transforms, lax, lowering and runtime."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # Installed, lowering and runtime lie inside xtrace; in the source tree, beside it.
    top = package if os.path.isdir(os.path.join(package, "core")) else os.path.join(package, "xtrace")
    folders = [(name, os.path.join(top, name)) for name in ("core", "transforms", "lax")]
    folders += [(name, os.path.join(package, name)) for name in ("lowering", "runtime")]
    found = []
    while folders:
        name, folder = folders.pop()
        with os.scandir(folder) as items:
            for item in items:
                if item.name.endswith(".py"):
                    found.append((f"{name}/{item.name}", item.path, item.stat()))
                elif item.name != "__pycache__" and item.is_dir():
                    folders.append((f"{name}/{item.name}", item.path))
    return sorted(found, key=lambda f: f[0])


# -- what entries tell ---------------------------------------------------------------------------------------------


def _types(program: Any) -> list[str]:
    """What a call passes and gets: checked when an entry is loaded."""
    kept = "".join(["1" if k else "0" for k in program.kept])
    hidden = [f"{np.shape(c)}" for c in program.const_args]
    return [
        " ".join([a.str_short() for a in program.in_avals]),
        " ".join([a.str_short() for a in program.out_avals]),
        kept,
        " ".join(hidden),
    ]


def description(program: Any) -> dict[str, Any]:
    """What a reader may want to know of a program: its types and how many operations of each kind it has."""
    counts: collections.Counter[str] = collections.Counter()
    _count(program.jaxpr, counts, set())
    return {
        "name": program.name,
        "arguments": [a.str_short() for a in program.in_avals],
        "results": [a.str_short() for a in program.out_avals],
        "operations": dict(sorted(counts.items())),
    }


def _count(jaxpr: Jaxpr, counts: collections.Counter[str], seen: set[int]) -> None:
    if id(jaxpr) in seen:
        return
    seen.add(id(jaxpr))
    for eqn in jaxpr.eqns:
        counts[eqn.primitive.name] += 1
        for inner in subjaxprs(eqn.params):
            _count(inner, counts, seen)


def _note(program: Any, where: dict[str, Any], hit: bool) -> None:
    monitoring.record_event("/jax/compilation_cache/compile_requests_use_cache")
    monitoring.record_event(f"/jax/compilation_cache/cache_{'hits' if hit else 'misses'}")
    if lookups is not None:
        lookups.append(({**where, **description(program)}, hit))
