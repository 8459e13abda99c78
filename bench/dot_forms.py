"""Measure the forms in which products can be lowered for the CPU: python -m bench.dot_forms [GROUP ...]

For every product of the sweep: seconds to compile and to run each form, the forms taking turns, as medians. The forms
are those of lowering/rules/dot_forms.py, whose choice rests on this table; `chosen` is what it chooses now. `by rows`
is none of them: the left operand is copied first, so that it is contracted over its last dimensions.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from bench.report import seconds

Case = tuple[str, tuple[int, ...], tuple[int, ...], Any]

_OUTER = (((), ()), ((), ()))
_BATCHED_OUTER = (((), ()), ((0,), (0,)))
_MATRIX = (((1,), (0,)), ((), ()))
_BATCHED = (((2,), (1,)), ((0,), (0,)))


def _outer() -> Iterator[Case]:
    for m, n in ((1, 1), (8, 8), (64, 64), (256, 256), (1024, 1024), (1, 4096), (4096, 1)):
        yield "m,n", (m,), (n,), _OUTER
        yield "m1,1n", (m, 1), (1, n), _MATRIX
    for b, m, n in ((16, 10, 128), (16, 784, 256), (256, 16, 16), (1024, 4, 4), (4, 512, 512), (4096, 1, 64)):
        yield "bm,bn", (b, m), (b, n), _BATCHED_OUTER
        yield "bm1,b1n", (b, m, 1), (b, 1, n), _BATCHED


def _short() -> Iterator[Case]:
    for k in (2, 3, 4, 8, 16, 32):
        for m, n in (
            (4, 4),
            (16, 16),
            (64, 64),
            (256, 256),
            (1024, 1024),
            (16, 4096),
            (4096, 16),
            (4096, 2),
            (4096, 1),
        ):
            yield "mk,kn", (m, k), (k, n), _MATRIX


def _vectors() -> Iterator[Case]:
    for k in (1, 16, 256, 4096, 65536, 1 << 20):
        yield "k,k", (k,), (k,), (((0,), (0,)), ((), ()))
    for b, k in ((16, 16), (256, 16), (4096, 4), (4096, 64), (256, 1024), (16, 65536)):
        yield "bk,bk", (b, k), (b, k), (((1,), (1,)), ((0,), (0,)))


def _matrix_vector() -> Iterator[Case]:
    for m, k in ((4, 4), (16, 16), (64, 64), (256, 256), (1024, 1024), (4096, 64), (64, 4096)):
        yield "mk,k", (m, k), (k,), (((1,), (0,)), ((), ()))
        yield "k,kn", (k,), (k, m), (((0,), (0,)), ((), ()))
        yield "1k,kn", (1, k), (k, m), _MATRIX
    for b, m, k in ((16, 4, 4), (1024, 4, 4), (64, 32, 32), (16, 64, 64), (16, 256, 256), (256, 64, 16)):
        yield "bmk,bk", (b, m, k), (b, k), (((2,), (1,)), ((0,), (0,)))
        yield "bk,bkn", (b, k), (b, k, m), (((1,), (1,)), ((0,), (0,)))


def _tiny() -> Iterator[Case]:
    for b in (8, 64, 1024):
        for m, k, n in (
            (2, 2, 2),
            (3, 3, 3),
            (4, 4, 4),
            (8, 8, 8),
            (16, 16, 16),
            (32, 32, 32),
            (32, 16, 32),
            (4, 32, 4),
        ):
            yield "bmk,bkn", (b, m, k), (b, k, n), _BATCHED
    for b, m, k, n in ((8, 32, 16, 32), (32, 64, 32, 64), (8, 128, 64, 128)):
        yield "bmk,bnk", (b, m, k), (b, n, k), (((2,), (2,)), ((0,), (0,)))
        yield "bkm,bkn", (b, k, m), (b, k, n), (((1,), (1,)), ((0,), (0,)))


def _several() -> Iterator[Case]:
    for b, t, d, e in ((2, 32, 64, 64), (2, 32, 64, 192), (8, 64, 128, 128), (2, 32, 512, 512), (4, 16, 8, 8)):
        yield "btd,bte", (b, t, d), (b, t, e), (((0, 1), (0, 1)), ((), ()))
        yield "btd,bde", (b, t, d), (b, d, e), (((2,), (1,)), ((0,), (0,)))
        yield "btd,de", (b, t, d), (d, e), (((2,), (0,)), ((), ()))
        yield "btd,ed", (b, t, d), (e, d), (((2,), (1,)), ((), ()))
        yield "tbd,bte", (t, b, d), (b, t, e), (((0, 1), (1, 0)), ((), ()))
    yield "xyab,yxbc", (8, 8, 16, 16), (8, 8, 16, 16), (((3,), (2,)), ((0, 1), (1, 0)))


def _transposed() -> Iterator[Case]:
    for n in (16, 64, 256, 1024):
        yield "km,kn", (n, n), (n, n), (((0,), (0,)), ((), ()))
        yield "mk,nk", (n, n), (n, n), (((1,), (1,)), ((), ()))
        yield "km,nk", (n, n), (n, n), (((0,), (1,)), ((), ()))
        yield "mk,kn", (n, n), (n, n), _MATRIX


def _weights() -> Iterator[Case]:
    """Gradients of a dense layer's weight: the left matrix is contracted over its first dimension."""
    for k, m, n in (
        (16, 16, 16),
        (64, 64, 64),
        (64, 64, 256),
        (64, 256, 64),
        (64, 512, 8),
        (64, 512, 1),
        (64, 512, 512),
        (4, 512, 512),
        (16, 784, 256),
        (512, 512, 512),
        (2048, 256, 256),
        (4096, 64, 16),
    ):
        yield "km,kn", (k, m), (k, n), (((0,), (0,)), ((), ()))
    for b, t, d, e in ((2, 32, 64, 64), (2, 32, 64, 256), (2, 32, 512, 512), (8, 128, 512, 512)):
        yield "btd,bte", (b, t, d), (b, t, e), (((0, 1), (0, 1)), ((), ()))
    for b, k, m, n in ((8, 32, 16, 32), (8, 32, 32, 16), (8, 128, 64, 128), (64, 8, 8, 8), (4, 256, 256, 256)):
        yield "bkm,bkn", (b, k, m), (b, k, n), (((1,), (1,)), ((0,), (0,)))


GROUPS = {
    "weights": _weights,
    "outer": _outer,
    "short": _short,
    "vectors": _vectors,
    "matrix-vector": _matrix_vector,
    "tiny": _tiny,
    "several": _several,
    "transposed": _transposed,
}


def _values(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    import xtrace as xt

    rng = np.random.default_rng(seed)
    if dtype.startswith(("int", "uint")):
        return xt.device_put(rng.integers(-3 if dtype[0] == "i" else 0, 4, shape).astype(dtype))
    values = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype.startswith("c") else 0)
    return xt.device_put(values.astype(xt.numpy.dtype(dtype)))


def _by_rows(x: Any, y: Any, numbers: Any) -> Any:
    """The product, its left operand copied into the order batch, free, contracted."""
    import xtrace as xt

    (lc, rc), (lb, rb) = numbers
    free = [d for d in range(x.ndim) if d not in lc and d not in lb]
    moved = xt.lax.optimization_barrier(xt.lax.transpose(x, (*lb, *free, *lc)))
    contracted, batch = tuple(range(x.ndim - len(lc), x.ndim)), tuple(range(len(lb)))
    return xt.lax.dot_general(moved, y, ((contracted, rc), (batch, rb)))


def measure(case: Case, dtype: str, forms: list[str], rounds: int) -> dict[str, tuple[float, float]]:
    """Seconds to compile and to run, by form; `chosen` is the lowering's own choice."""
    import xtrace as xt
    from xtrace.lowering.rules import dot_forms

    _, left, right, numbers = case
    args = (_values(left, dtype, 0), _values(right, dtype, 1))
    programs, compiled, ran = {}, {}, {form: [] for form in forms}
    for form in forms:
        product = _by_rows if form == "by rows" else xt.lax.dot_general
        with dot_forms.forced(form) if form in ("dot", *dot_forms.FORMS) else nullcontext():
            lowered = xt.jit(lambda x, y, product=product: product(x, y, numbers)).lower(*args)
        start = time.perf_counter()
        programs[form] = lowered.compile()
        compiled[form] = time.perf_counter() - start
    for program in programs.values():
        program(*args)
    for _ in range(rounds):
        for form, program in programs.items():
            start, count = time.perf_counter(), 0
            while count < 3 or time.perf_counter() - start < 2e-3:
                program(*args).block_until_ready()
                count += 1
            ran[form].append((time.perf_counter() - start) / count)
    return {form: (compiled[form], statistics.median(ran[form])) for form in forms}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.dot_forms", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("group", nargs="*", help=f"of {', '.join(GROUPS)}; all by default")
    parser.add_argument("--dtype", action="append", help="float32 by default; repeat for more")
    parser.add_argument(
        "--form", action="append", help="dot, outer, sum, matrices, columns, by rows, chosen; all by default"
    )
    parser.add_argument("--rounds", type=int, default=7, help="turns that each form takes (default: 7)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the seconds as JSON too")
    args = parser.parse_args()
    import xtrace as xt

    xt.config.update("jax_enable_x64", True)
    forms = args.form or ["dot", "outer", "sum", "matrices", "columns", "by rows", "chosen"]
    record = []
    print(f"{'product':38} {'dtype':9} " + "  ".join(f"{form:>10} run, compile" for form in forms))
    for group in args.group or GROUPS:
        for case in GROUPS[group]():
            for dtype in args.dtype or ["float32"]:
                took = measure(case, dtype, forms, args.rounds)
                record.append({"group": group, "case": case, "dtype": dtype, "seconds": took})
                name = f"{case[0]}  {'×'.join(map(str, case[1]))}, {'×'.join(map(str, case[2]))}"
                cells = [f"{seconds(took[form][1]):>14}, {seconds(took[form][0]):>8}" for form in forms]
                print(f"{name:38} {dtype:9} " + "  ".join(cells), flush=True)
    if args.json is not None:
        args.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
