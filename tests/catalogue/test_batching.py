"""vmap against a loop: over every axis of every operand, alone and together. Two programs are compiled per sample."""

from __future__ import annotations

import itertools

import numpy as np

import xtrace as xt
from tests.catalogue.catalogue import Op, pick
from tests.catalogue.checks import assert_close, function_of, leaves, x64

_SIZE = 3


def _patterns(ranks: list[int]) -> list[tuple[int | None, ...]]:
    """Which axis of each operand is mapped: every combination with at least one."""
    choices = [(None, *range(r + 1)) for r in ranks]
    return [p for p in itertools.product(*choices) if any(a is not None for a in p)]


def test_vmap(op: Op, sampling):
    batches = [op.all_samples(sampling.seed + i) for i in range(_SIZE)]
    chosen = pick(sampling.seed, sampling.full, op, "vmap", [i for i, s in enumerate(batches[0]) if s.arrays], 2)
    for number in chosen:
        samples = [b[number] for b in batches]
        base = samples[0]
        what = f"vmap of {op.name}({base.label}), seed {sampling.seed}"
        assert all(s.label == base.label for s in samples), f"{op.name}: samples depend on the draw: {base.label}"
        arrays = base.arrays
        fun = function_of(op, base)

        def of_arrays(*xs, base=base, arrays=arrays, fun=fun):
            args = list(base.args)
            for i, x in zip(arrays, xs):
                args[i] = x
            return fun(*args)

        ranks = [base.args[i].ndim for i in arrays]
        patterns = pick(sampling.seed, False, op, "vmap patterns", _patterns(ranks), 64 if sampling.full else 8)
        operands = [
            [
                base.args[i] if axis is None else np.stack([s.args[i] for s in samples], axis)
                for i, axis in zip(arrays, pattern)
            ]
            for pattern in patterns
        ]
        with x64(base.needs_x64):
            one = xt.jit(of_arrays)

            @xt.jit
            def mapped(operands, patterns=patterns, of_arrays=of_arrays):
                return [xt.vmap(of_arrays, in_axes=p)(*xs) for p, xs in zip(patterns, operands)]

            for pattern, xs, got in zip(patterns, operands, mapped(operands)):
                rows = [
                    leaves(one(*[x if a is None else x.take(k, a) for x, a in zip(xs, pattern)])) for k in range(_SIZE)
                ]
                wanted = [np.stack([np.asarray(r[j]) for r in rows]) for j in range(len(rows[0]))]
                assert_close(leaves(got), wanted, f"{what}, in_axes={pattern}", op.tolerance)


test_vmap.check = "vmap"
