"""What passes do to programs on this machine: python -m bench.passes [PROGRAM ...] [--passes CHOICE ...] [--cone N ...]

Compiles each program with each choice of passes (words of the flag `passes`) and runs them in turn; prints compile and
run time against those of the first choice, and the processor's time for a run, which other processes disturb least.
With --cone, fusion barriers are measured at other thresholds too.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

from bench.programs import PROGRAMS, library
from bench.worker import wait


def _prepared(name: str, choice: str) -> tuple[float, float, Any, Any]:
    """Seconds to lower, seconds of processor to compile, the program and its arguments."""
    import xtrace as xt

    function, args = PROGRAMS[name](library.Library("xtrace"))
    traced = xt.jit(function, passes=choice).trace(*args)
    traced.lower()
    start = time.perf_counter()
    lowered = traced.lower()
    lower = time.perf_counter() - start
    start = time.process_time()  # other processes that use the machine count less in it
    compiled = lowered.compile()
    return lower, time.process_time() - start, compiled, xt.device_put(args)


def measure(name: str, choices: list[tuple[str, int | None]], rounds: int) -> list[tuple[float, float, float, float]]:
    """Seconds to lower, to compile, to run, and of processor to run, for each choice of passes and threshold."""
    from xtrace.lowering.passes import fusion_barriers

    usual = (fusion_barriers._CONE, fusion_barriers._CONE_OF_LARGE)
    prepared = []
    for choice, cone in choices:
        fusion_barriers._CONE, fusion_barriers._CONE_OF_LARGE = usual if cone is None else (cone, 2 * cone)
        prepared.append(_prepared(name, choice))
    fusion_barriers._CONE, fusion_barriers._CONE_OF_LARGE = usual
    ran: list[list[tuple[float, float]]] = [[] for _ in choices]
    for _, _, compiled, args in prepared:
        wait(compiled(*args))
    for _ in range(rounds):
        for taken, (_, _, compiled, args) in zip(ran, prepared):
            start, processor, count = time.perf_counter(), time.process_time(), 0
            while count < 2 or time.perf_counter() - start < 0.02:
                wait(compiled(*args))
                count += 1
            taken.append(((time.perf_counter() - start) / count, (time.process_time() - processor) / count))
    return [(p[0], p[1], *map(statistics.median, zip(*taken))) for p, taken in zip(prepared, ran)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="names of bench.programs (default: all)")
    parser.add_argument("--passes", action="append", metavar="CHOICE", help="the first is what the others are against")
    parser.add_argument("--cone", action="append", type=int, metavar="N", help="a threshold of the fusion barriers")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    choices: list[tuple[str, int | None]] = [
        (c, None) for c in options.passes or ["none", "-fusion_barriers", "default"]
    ]
    choices += [("default", cone) for cone in options.cone or ()]
    header = f"{'program':20} {'passes':24} {'lower':>9} {'compile':>9} {'run':>9}"
    header += f" {'compile':>8} {'run':>6} {'processor':>9}"
    print(header, "-" * len(header), sep="\n", flush=True)
    for name in options.programs or PROGRAMS:
        found = measure(name, choices, options.rounds)
        _, first_compile, first_run, first_processor = found[0]
        for (choice, cone), (lower, compile_, run, processor) in zip(choices, found):
            label = choice if cone is None else f"{choice}, cone {cone}"
            print(
                f"{name:20} {label:24} {lower * 1e3:6.1f} ms {compile_:7.2f} s {run * 1e3:6.2f} ms "
                f"{compile_ / first_compile:8.2f} {run / first_run:6.2f} {processor / first_processor:9.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
