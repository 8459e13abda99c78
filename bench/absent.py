"""What passes do to programs for hardware that is absent: python -m bench.absent [PROGRAM ...] [--platform P ...]

Compiles each program for a described TPU or GPU with several choices of passes and prints the seconds XLA takes and,
from the optimized HLO, the number of fusions and the operations in them. Needs the platform's plugin (libtpu, the CUDA
plugin), not its hardware; nothing is run, so it can show that a pass is useless there, not that it pays.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from typing import Any, NamedTuple

from bench.programs import PROGRAMS, library

CHOICES = {
    "none": "none",
    "default": "default",
    "hidden": "default,constants,stacked_slices",
    "barriers": "default,fusion_barriers",
}
TOPOLOGIES = {"tpu": "v5e:2x2", "cuda": "h100"}


class Measured(NamedTuple):
    seconds: float
    fusions: int
    largest: int
    operations: int

    def __str__(self) -> str:
        return f"{self.seconds:8.2f} s {self.fusions:8} {self.largest:8} {self.operations:10}"


def fused_computations(hlo: str) -> list[int]:
    """The number of instructions of each fused computation in the text of an optimized module."""
    sizes: list[int] = []
    inside = False
    for line in hlo.splitlines():
        if line.endswith("{") and not line.startswith(" "):
            inside = bool(re.match(r"%?[\w.\-]*fused", line))
            if inside:
                sizes.append(0)
        elif line.startswith("}"):
            inside = False
        elif inside and " parameter(" not in line:
            sizes[-1] += 1
    return sizes


def measure(name: str, platform: str, choice: str, rounds: int) -> Measured:
    import xtrace as xt
    from xtrace.runtime import topologies

    devices = topologies.compile_only_devices(platform, TOPOLOGIES[platform])[:1]
    function, args = PROGRAMS[name](library.Library("xtrace"))
    lowered = xt.jit(function, passes=choice).trace(*args).lower(lowering_platforms=(platform,))
    taken = []
    compiled: Any = None
    for _ in range(rounds):
        start = time.perf_counter()
        compiled = lowered.compile(devices=devices)
        taken.append(time.perf_counter() - start)
    sizes = fused_computations(compiled.as_text())
    return Measured(statistics.median(taken), len(sizes), max(sizes, default=0), sum(sizes))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="names of bench.programs")
    parser.add_argument("--platform", action="append", choices=tuple(TOPOLOGIES))
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    header = (
        f"{'program':18} {'platform':8} {'passes':10} {'compile':>10} {'fusions':>8} {'largest':>8} {'operations':>10}"
    )
    print(header, "-" * len(header), sep="\n", flush=True)
    for name in options.programs or ["gpt_gradient", "lstm_gradient", "residual_mlp", "conv_gradient"]:
        for platform in options.platform or TOPOLOGIES:
            for label, choice in CHOICES.items():
                found = measure(name, platform, choice, options.rounds)
                print(f"{name:18} {platform:8} {label:10} {found}", flush=True)


if __name__ == "__main__":
    main()
