"""vmap against a loop: over every axis of every operand, alone and together. Two programs are compiled per sample.

A full run tries every combination of mapped axes. Any other tries a few in which each axis of each operand is mapped
once, each operand is once left unmapped, and once all are mapped; fewer of operations that lower to long programs.
"""

from __future__ import annotations

import itertools
import random

import numpy as np

import xtrace as xt
from tests.catalogue.catalogue import Op, pick
from tests.catalogue.checks import assert_close, function_of, leaves, x64

_SIZE = 3
#: How many lines of StableHLO the patterns of a sample may have together, unmapped, if there is no full run.
_LINES = 300


def _patterns(ranks: list[int]) -> list[tuple[int | None, ...]]:
    """Which axis of each operand is mapped: every combination with at least one."""
    choices = [(None, *range(r + 1)) for r in ranks]
    return [p for p in itertools.product(*choices) if any(a is not None for a in p)]


def _covering(ranks: list[int], rng: random.Random) -> list[tuple[int | None, ...]]:
    """Few patterns, in any order: every choice of every operand is in one, and all operands are mapped in one."""
    choices = [[None, *range(r + 1)] for r in ranks]
    rows = max(ranks) + 2
    while True:
        columns = [rng.sample(c, len(c)) + rng.choices(c, k=rows - len(c)) for c in choices]
        patterns = list(dict.fromkeys(zip(*columns)))
        unmapped = [p for p in patterns if all(a is None for a in p)]
        if len(ranks) == 1 or not unmapped:
            break
    patterns = [p for p in patterns if p not in unmapped]
    if all(None in p for p in patterns):
        patterns.append(tuple([rng.randrange(r + 1) for r in ranks]))
    return rng.sample(patterns, len(patterns))


def test_vmap(op: Op, sampling):
    batches = [op.all_samples(sampling.seed + i) for i in range(_SIZE)]
    chosen = pick(sampling.seed, sampling.full, op, "vmap", [i for i, s in enumerate(batches[0]) if s.arrays], 2)
    rng = random.Random(f"{sampling.seed}:{op.name}:patterns")
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

        with x64(base.needs_x64):
            lowered = xt.jit(of_arrays).lower(*[base.args[i] for i in arrays])
        ranks = [base.args[i].ndim for i in arrays]
        if sampling.full:
            patterns = pick(sampling.seed, False, op, "vmap patterns", _patterns(ranks), 64)
        else:
            lines = lowered.as_text().count("\n")
            patterns = _covering(ranks, rng)[: max(1, _LINES // lines)]
            if lines > _LINES // 2 and all(base.args[i].size for i in arrays):
                del chosen[chosen.index(number) + 1 :]  # this one takes long enough
        operands = [
            [
                base.args[i] if axis is None else np.stack([s.args[i] for s in samples], axis)
                for i, axis in zip(arrays, pattern)
            ]
            for pattern in patterns
        ]
        with x64(base.needs_x64):
            one = lowered.compile()

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
