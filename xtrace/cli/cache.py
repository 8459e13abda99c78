"""Look into the persistent compile cache: what is in it, why a program missed, and making room.

  xtrace cache ls                      the programs, the most recently used first
  xtrace cache explain                 which of them this process could use, and what stops it
  xtrace cache explain 3e84c6          one program: what its key is made of, and what differs here
  xtrace cache explain train.py        run a script and tell for each miss what differs from the nearest program
  xtrace cache prune --max-size 500M --unused-days 30

The folder is that of XTRACE_CACHE_DIR (or JAX_COMPILATION_CACHE_DIR), or --dir.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import runpy
import sys
import time
from typing import Any

from xtrace.cli import alias
from xtrace.cli.errors import CommandError
from xtrace.core.config import config
from xtrace.runtime import cached_programs, compile_cache

NAME = "cache"
HELP = "list, explain and prune the persistent compile cache"

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xtrace cache`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--dir", metavar="FOLDER", help="the cache's folder (default: XTRACE_CACHE_DIR)")
    common.add_argument("--json", action="store_true", help="print one JSON object")
    common.add_argument("--traceback", action="store_true", help="show the whole traceback of an error")
    actions.add_parser("ls", parents=[common], help="the programs, the most recently used first")
    explain = actions.add_parser("explain", parents=[common], help="why programs are found or not")
    explain.add_argument("what", nargs="?", metavar="KEY|SCRIPT", help="the start of a key, or a script to run")
    explain.add_argument("script_args", nargs=argparse.REMAINDER, metavar="ARGS", help="the script's arguments")
    prune = actions.add_parser("prune", parents=[common], help="remove programs, those unused for longest first")
    prune.add_argument("--max-size", metavar="SIZE", help="until at most this is left: bytes, or 500M, 2G")
    prune.add_argument("--unused-days", type=float, metavar="DAYS", help="those not used for so many days")
    prune.add_argument("--all", action="store_true", help="every program")


def main(args: argparse.Namespace) -> int:
    """Run `xtrace cache`; returns the exit status."""
    if args.dir is not None:
        config.update("compilation_cache_dir", args.dir)
    folder = config.compilation_cache_dir
    if not folder:
        raise CommandError("no compile cache is set: export XTRACE_CACHE_DIR=FOLDER, or give --dir FOLDER")
    if not os.path.isdir(folder) and not (args.action == "explain" and _is_script(args.what)):
        raise CommandError(f"there is no compile cache at {folder}: programs make it when they first run with it")
    cache = compile_cache.current()
    if cache is None:
        raise CommandError(f"the compile cache {folder} can't be used")
    found, text = {"ls": _list, "explain": _explain, "prune": _prune}[args.action](cache, args)
    print(json.dumps({"folder": str(cache.folder), **found}, indent=2) if args.json else text)
    return 0


def _is_script(what: str | None) -> bool:
    return what is not None and what.endswith(".py")


def _list(cache: compile_cache.CompileCache, args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    entries = cache.entries()
    rows = [_row(e) for e in entries]
    total = sum(e.size for e in entries)
    lines = [
        f"{r['key'][:12]}  {_size(r['bytes']):>8}  {_age(r['last used'])}  {r['name']}({', '.join(r['arguments'])})"
        + (f"  damaged: {r['damaged']}" if r["damaged"] else "")
        for r in rows
    ]
    lines.append(f"{len(rows)} programs, {_size(total)} in {cache.folder}")
    return {"programs": rows, "bytes": total}, "\n".join(lines)


def _row(entry: compile_cache.Entry) -> dict[str, Any]:
    header = entry.header
    parts = header.get("parts", {})
    return {
        "key": entry.key,
        "name": header.get("name", "?"),
        "arguments": parts.get("arguments", []),
        "bytes": entry.size,
        "last used": int(entry.last_used),
        "compile seconds": header.get("compile seconds"),
        "platform": parts.get("platform"),
        "jaxlib": parts.get("jaxlib"),
        "damaged": header.get("damaged"),
    }


def _explain(cache: compile_cache.CompileCache, args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    if _is_script(args.what):
        return _explain_script(cache, args.what, args.script_args)
    entries = cache.entries()
    if args.what is not None:
        entries = [e for e in entries if e.key.startswith(args.what)]
        if not entries:
            raise CommandError(f"no program's key begins with {args.what!r}; `xtrace cache ls` lists them")
    here = _here()
    explained, lines = [], []
    for entry in entries:
        parts = entry.header.get("parts", {})
        differ = differences({k: parts.get(k) for k in here}, here)
        explained.append({"key": entry.key, "name": entry.header.get("name", "?"), "parts": parts, "differs": differ})
        lines.append(f"{entry.key[:12]}  {entry.header.get('name', '?')}")
        if args.what is not None:
            lines += [f"  {k}: {_plain(v)}" for k, v in parts.items()]
        lines += [f"  not for this process: {d}" for d in differ] or ["  a process like this one can use it"]
    return {"programs": explained}, "\n".join(lines) or "the cache is empty"


def _here() -> dict[str, Any]:
    """What keys made by this process would say of its surroundings."""
    from xtrace.runtime import backends, shardings
    from xtrace.runtime.program import Placement

    device = backends.default_device()
    placement = Placement((device,), shardings.single_device_sharding(device), False)
    parts = cached_programs.environment_parts(placement, None)
    return {k: parts[k] for k in ("platform", "platform version", "jaxlib", "device", "XLA flags")}


def _explain_script(cache: compile_cache.CompileCache, script: str, arguments: list[str]) -> tuple[dict[str, Any], str]:
    if not os.path.isfile(script):
        raise CommandError(f"no such file: {script}")
    before = cache.entries()
    importlib.import_module("xtrace")
    alias.install()
    cached_programs.lookups = []
    outer, sys.argv = sys.argv, [script, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    try:
        with contextlib.redirect_stdout(sys.stderr), contextlib.suppress(SystemExit):
            runpy.run_path(script, run_name="__main__")
    finally:
        sys.argv = outer
        lookups, cached_programs.lookups = cached_programs.lookups, None
    hits = sum(hit for _, hit in lookups)
    misses, lines = [], [f"{hits} programs found, {len(lookups) - hits} missed"]
    for parts, hit in lookups:
        if hit:
            continue
        nearest, differ = nearest_entry(parts, before)
        misses.append({"name": parts["name"], "arguments": parts["arguments"], "nearest": nearest, "differs": differ})
        lines.append(f"{parts['name']}({', '.join(parts['arguments'])})")
        if nearest is None:
            lines.append("  nothing like it was in the cache")
        else:
            lines += [f"  differs from {nearest[:12]}: {d}" for d in differ]
    return {"hits": hits, "misses": misses}, "\n".join(lines)


def nearest_entry(parts: dict[str, Any], entries: list[compile_cache.Entry]) -> tuple[str | None, list[str]]:
    """The key of the program most like one that missed, of the same name if there is one, and what differs."""
    best: tuple[Any, str | None, list[str]] = ((False, 0), None, [])
    for entry in entries:
        other = entry.header.get("parts", {})
        differ = differences({k: other.get(k) for k in parts}, parts)
        score = (other.get("name") == parts["name"], -len(differ))
        if best[1] is None or score > best[0]:
            told = differ or ["the program itself: the same operations with other parameters, constants or order"]
            best = (score, entry.key, told)
    return best[1], best[2]


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What differs between the parts of two keys, each in a line."""
    found = []
    for name in new:
        if old.get(name) == new[name]:
            continue
        a, b = old.get(name), new[name]
        if name == "operations" and isinstance(a, dict):
            changed = [f"{op} {a.get(op, 0)} → {b.get(op, 0)}" for op in sorted({*a, *b}) if a.get(op) != b.get(op)]
            found.append(f"operations: {', '.join(changed)}")
        else:
            found.append(f"{name}: {_plain(a)} → {_plain(b)}")
    return found


def _prune(cache: compile_cache.CompileCache, args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    if args.max_size is None and args.unused_days is None and not args.all:
        raise CommandError("say what to remove: --max-size SIZE, --unused-days DAYS, or --all")
    limit = -1 if args.all else None if args.max_size is None else _bytes(args.max_size)
    removed = cache.prune(limit, None if args.unused_days is None else args.unused_days * 86400)
    total = sum(size for _, size in removed)
    found = {"removed": [key for key, _ in removed], "bytes": total}
    return found, f"removed {len(removed)} programs, {_size(total)}"


def _bytes(text: str) -> int:
    number = text.upper().removesuffix("B")
    unit = number[-1:] if number[-1:] in "KMGT" else ""
    try:
        return int(float(number.removesuffix(unit)) * _UNITS[unit])
    except ValueError:
        raise CommandError(f"--max-size {text}: write bytes, or a number with K, M, G or T") from None


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def _age(used: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(used))


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value)
