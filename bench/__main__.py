"""Measure xtrace against JAX, side by side.

Every case runs for one library in a process of its own, then for the other, in an order that alternates from round to
round; what counts is the median over the rounds and the ratio of the two medians. JAX comes from the `bench` extra, or
from another interpreter:

    python -m bench                                       everything, three rounds
    python -m bench --case eager --case dispatch --rounds 7
    python -m bench --python-jax ~/with-jax/bin/python --json results.json
    python -m bench --case compiled                       programs whose compiling and running are judged
    python -m bench --case functions --all                single calls of the most used functions, and of heavy ones
    python -m bench --noise --case compiled               JAX against itself: how far from one the machine's noise takes
                                                          ratios (with --module xtrace, the default: xtrace too)
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench import report, wanted
from bench.programs import ARCHITECTURES, COMPILED, PROGRAMS
from bench.worker import CASES

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT = 600


#: Names for several cases.
GROUPS: dict[str, tuple[str, ...]] = {
    "compiled": ("gpt_gradient", "per_example", *(n for n in COMPILED if n not in wanted.COMPILED_WELL)),
    "compiled-well": wanted.COMPILED_WELL,
    "architectures": tuple(ARCHITECTURES),
    "functions": tuple(wanted.FUNCTIONS),
}

#: Settings that would make the two sides differ. Without PYTHONDONTWRITEBYTECODE both start from compiled bytecode, as
#: installed packages do.
_LEFT_OUT = ("JAX_", "XTRACE_", "XLA_FLAGS", "PYTHONDONTWRITEBYTECODE")


def environment() -> dict[str, str]:
    """The CPU only, and no compile cache on disk: each process does all its work."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
    return kept | {"JAX_PLATFORMS": "cpu", "XTRACE_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}


_cache_folders: dict[str, tempfile.TemporaryDirectory[str]] = {}


def _warmed(command: list[str], module: str) -> dict[str, str]:
    """Variables that set a compile cache which holds the program: the first call for a library fills it."""
    fresh = module not in _cache_folders
    if fresh:
        _cache_folders[module] = tempfile.TemporaryDirectory(prefix="bench-cache-")
    variables = {
        "JAX_COMPILATION_CACHE_DIR": _cache_folders[module].name,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
    }
    if fresh:
        subprocess.run(command, cwd=ROOT, env=environment() | variables, capture_output=True, timeout=TIMEOUT)
    return variables


def measure(python: str, module: str, case: str, values: Path | None = None) -> dict[str, float | str]:
    """Run one case in a fresh process, which writes what a program computes to `values`.

    Raises RuntimeError with the last line of its stderr when it fails.
    """
    command = [python, "-c", f"import {module}"] if case == "import" else [python, "-m", "bench.worker", case, module]
    if values is not None:
        command += ["--values", str(values)]
    variables = environment()
    if case == "warm_start":
        variables |= _warmed(command, module)
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"still running after {TIMEOUT} s") from None
    wall = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    if case in ("import", "first_call", "warm_start"):
        return {"process": wall}
    return json.loads(done.stdout.strip().splitlines()[-1])


def compare(folder: Path, case: str) -> str | None:
    """What to say of the values that both sides wrote for a program; None where they agree."""
    files = [folder / f"{case}-{side}.npz" for side in ("ours", "jax")]
    if not all(file.exists() for file in files):
        return None
    sides = []
    for file in files:
        with np.load(file) as arrays:
            sides.append([arrays[name] for name in arrays.files])
    apart, where = report.difference(*sides)
    if apart <= wanted.DIFFERENCE:
        return None
    return f"values differ by up to {apart:.1e}, relative to the largest of result {where}"


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)


def run(cases: list[str], rounds: int, sides: dict[str, tuple[str, str]]) -> tuple[report.Samples, dict[str, str]]:
    """Measure; returns the samples by case and metric, and the error of each (case, side) that failed."""
    samples: report.Samples = {}
    errors: dict[str, str] = {}
    for python, module in sides.values():  # byte-compiles both, so that the first round imports as the others do
        subprocess.run([python, "-c", f"import {module}.numpy"], cwd=ROOT, env=environment(), capture_output=True)
    values = tempfile.TemporaryDirectory(prefix="bench-values-")
    total = rounds * len(cases) * 2
    done = 0
    for turn in range(rounds):
        for index, case in enumerate(cases):
            order = list(sides.items())
            if (turn + index) % 2:
                order.reverse()
            for side, (python, module) in order:
                done += 1
                if f"{case} {side}" in errors:
                    continue
                progress(f"[{done}/{total}] round {turn + 1}, {case}, {module}")
                kept = Path(values.name) / f"{case}-{side}.npz" if turn == 0 and case in PROGRAMS else None
                try:
                    measured = measure(python, module, case, kept)
                except RuntimeError as error:
                    errors[f"{case} {side}"] = str(error)
                    continue
                for metric, value in measured.items():
                    collected = samples.setdefault((case, metric), {}).setdefault(side, [])
                    if isinstance(value, str):
                        errors[f"{case}, {metric}, {side}"] = value.splitlines()[0]
                    else:
                        collected.append(value)
            if turn == 0 and (said := compare(Path(values.name), case)) is not None:
                errors[f"{case}, values"] = said
    progress("")
    order_of = {case: i for i, case in enumerate(cases)}
    return dict(sorted(samples.items(), key=lambda item: order_of[item[0][0]])), errors


def noise(cases: list[str], rounds: int, sides: dict[str, tuple[str, str]], record: Path | None) -> int:
    """Measure each of the two libraries against itself and print how far its ratios lie from one."""
    found: dict[str, dict[str, report.Spread]] = {}
    for side in dict.fromkeys(sides.values()):
        samples, errors = run(cases, rounds, {"ours": side, "jax": side})
        found[side[1]] = spreads = report.spreads(samples)
        print(report.spread_table(spreads, side[1]), flush=True)
        for what, error in errors.items():
            print(f"failed: {what}: {error}")
    if record is not None:
        text = {name: {m: s._asdict() for m, s in spreads.items()} for name, spreads in found.items()}
        record.write_text(json.dumps({"rounds": rounds, "noise": text}, indent=2) + "\n")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--case",
        action="append",
        choices=["import", *CASES, *GROUPS],
        metavar="CASE",
        help=f"only this case; repeat for more. {', '.join(GROUPS)} name several; the cases: {', '.join(CASES)}",
    )
    parser.add_argument("--rounds", type=int, default=3, help="processes per case and library (default: 3)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has xtrace (default: this one)")
    parser.add_argument("--python-jax", help="the interpreter that has JAX (default: this one)")
    parser.add_argument("--module", default="xtrace", help="what to measure against JAX (default: xtrace)")
    parser.add_argument(
        "--noise", action="store_true", help="measure each library against itself, and say how far ratios lie from one"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write rows and samples as JSON too")
    parser.add_argument(
        "--all", action="store_true", help="print a row for each function, not only for those that miss what is wanted"
    )
    parser.add_argument("--check", action="store_true", help="exit with status 1 when a wanted ratio is missed")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds must be 1 or more")
    if args.python_jax is None:
        if importlib.util.find_spec("jax") is None:
            print(
                "bench: error: JAX is not installed here: pip install 'xtrace[bench]', "
                "or name an interpreter that has it with --python-jax",
                file=sys.stderr,
            )
            return 2
        args.python_jax = sys.executable
    named = args.case or ["import", *CASES]
    cases = list(dict.fromkeys(case for name in named for case in GROUPS.get(name, (name,))))
    sides = {"ours": (args.python, args.module), "jax": (args.python_jax, "jax")}
    if args.noise:
        return noise(cases, args.rounds, sides, args.json)
    start = time.perf_counter()
    samples, errors = run(cases, args.rounds, sides)
    rows = report.rows(samples)
    print(report.table(rows if args.all else report.summary(rows), args.module))
    for what, error in errors.items():
        print(f"failed: {what}: {error}")
    judged = [row for row in rows if row.met is not None]
    print(
        f"\n{sum(bool(row.met) for row in judged)} of {len(judged)} wanted ratios reached; "
        f"{args.rounds} rounds in {time.perf_counter() - start:.0f} s"
    )
    if args.json is not None:
        record = {
            "machine": {"system": platform.platform(), "cpus": os.cpu_count(), "python": platform.python_version()},
            "rounds": args.rounds,
            "module": args.module,
            "rows": [row.as_json() for row in rows],
            "errors": errors,
        }
        args.json.write_text(json.dumps(record, indent=2) + "\n")
    return int(args.check and (bool(errors) or not all(row.met for row in judged)))


if __name__ == "__main__":
    raise SystemExit(main())
