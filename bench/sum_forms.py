"""Measure the forms in which sums can be written for the CPU: python -m bench.sum_forms [--array SHAPE ...]

For every shape and choice of axes, sixteen sums of products in one program: seconds of processor to compile it, and
seconds to run it, the forms taking turns, as medians. `reduce` is the lowering's own; `ones` the matrix product with
ones; `kernel` a reduction whose reducer XLA's library doesn't know, so that it is fused with what it reads.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.report import seconds

_COUNT = 16
_ARRAYS = ((64, 64), (64, 256), (2, 32, 64), (2, 4, 32, 32), (256, 16), (1024, 4), (512, 512), (2048, 1024))

Form = Callable[[Any, tuple[int, ...]], Any]


def _reduce(x: Any, axes: tuple[int, ...]) -> Any:
    import xtrace as xt

    return xt.lax.reduce_sum_p.bind(x, axes=axes, out_sharding=None)


def _ones(x: Any, axes: tuple[int, ...]) -> Any:
    import xtrace as xt

    ones = xt.lax.full([x.shape[d] for d in axes], 1, x.dtype)
    return xt.lax.dot_general(x, ones, ((axes, tuple(range(len(axes)))), ((), ())))


def _kernel(x: Any, axes: tuple[int, ...]) -> Any:
    import xtrace as xt

    return xt.lax.reduce(x, np.float32(0), lambda a, b: a + b * np.float32(1.0000001), axes)


FORMS: dict[str, Form] = {"reduce": _reduce, "ones": _ones, "kernel": _kernel}


def measure(shape: tuple[int, ...], axes: tuple[int, ...], rounds: int) -> dict[str, tuple[float, float]]:
    """Seconds to compile and to run, by form."""
    import xtrace as xt

    rng = np.random.default_rng(0)
    args = xt.device_put([rng.standard_normal(shape).astype(np.float32) for _ in range(_COUNT + 1)])
    programs, compiled = {}, {}
    for name, form in FORMS.items():

        def program(factor: Any, *arrays: Any, form: Form = form) -> Any:
            return [form(x * factor, axes) for x in arrays]

        lowered = xt.jit(program).lower(*args)
        start = time.process_time()
        programs[name] = lowered.compile()
        compiled[name] = time.process_time() - start
        programs[name](*args)
    ran: dict[str, list[float]] = {name: [] for name in FORMS}
    for _ in range(rounds):
        for name, compiled_program in programs.items():
            start, count = time.perf_counter(), 0
            while count < 3 or time.perf_counter() - start < 4e-3:
                for result in compiled_program(*args):
                    result.block_until_ready()
                count += 1
            ran[name].append((time.perf_counter() - start) / count)
    return {name: (compiled[name], statistics.median(ran[name])) for name in FORMS}


def _axes(ndim: int) -> list[tuple[int, ...]]:
    """The last axis, as a norm sums; all but the last, as a bias's gradient does."""
    return [(ndim - 1,), tuple(range(ndim - 1))]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--array", action="append", metavar="SHAPE", help="as 2x32x64; repeat for more")
    parser.add_argument("--rounds", type=int, default=15, help="turns that each form takes (default: 15)")
    options = parser.parse_args()
    arrays = [tuple(int(n) for n in text.split("x")) for text in options.array or ()] or list(_ARRAYS)
    print(f"{'array':14} {'axes':10} " + "  ".join(f"{form:>10} run, compile" for form in FORMS))
    for shape in arrays:
        for axes in _axes(len(shape)):
            took = measure(shape, axes, options.rounds)
            cells = [f"{seconds(took[form][1]):>14}, {seconds(took[form][0]):>8}" for form in FORMS]
            axes_text = ",".join(map(str, axes))
            print(f"{'×'.join(map(str, shape)):14} {axes_text:10} " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
