"""Contractions of two labelled arrays: what matmul, vecdot and einsum come down to.

Each dimension has a label. Labels shared by both operands are batch dimensions if the result has them, and contracted
if it doesn't; a size of 1 broadcasts against any other. The steps depend on shapes alone and are kept as a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core import dtypes
from xtrace.core.primitive import shaped
from xtrace.core.records import Record
from xtrace.lax import dots, reductions, shapes

Labels = Sequence[str]


class Contraction(Record):
    """The steps of a contraction of two arrays; None and () where there is nothing to do."""

    __slots__ = ("squeezed", "summed", "swap", "dimension_numbers", "permutation")

    squeezed: tuple[tuple[int, ...], tuple[int, ...]]  # dimensions of size 1 that meet another size
    summed: tuple[tuple[int, ...], tuple[int, ...]]  # then, dimensions that nobody else has
    swap: bool  # the second operand goes first
    dimension_numbers: dots.Dimensions
    permutation: tuple[int, ...] | None  # of the product


def sizes_of(operands: Sequence[tuple[Labels, tuple[int, ...]]], name: str) -> dict[str, int]:
    """The size of each label; 1 yields to any other.

    Raises:
      ValueError: two sizes for one label.
    """
    sizes: dict[str, int] = {}
    for i, (labels, shape) in enumerate(operands):
        for label, d in zip(labels, shape):
            known = sizes.get(label, 1)
            if d != 1 and known not in (1, d):
                raise ValueError(
                    f"{name}: size of label '{label}' for operand {i} ({d}) does not match previous terms ({known}); "
                    f"shapes are {', '.join([str(s) for _, s in operands])}."
                )
            sizes[label] = d if known == 1 else known
    return sizes


def plan_contraction(
    left: Labels, left_shape: tuple[int, ...], right: Labels, right_shape: tuple[int, ...], out: Labels, name: str
) -> Contraction:
    """The steps that contract two operands, each with distinct labels, to the labels `out`."""
    sizes = sizes_of([(left, left_shape), (right, right_shape)], name)
    squeezed, summed, remaining = [], [], []
    operands = ((left, left_shape), (right, right_shape))
    for labels, shape in operands:
        drop = tuple([i for i, (label, d) in enumerate(zip(labels, shape)) if d == 1 and sizes[label] != 1])
        squeezed.append(drop)
        remaining.append([label for i, label in enumerate(labels) if i not in drop])
    for k, labels in enumerate(remaining):
        other = remaining[1 - k]
        alone = tuple([i for i, label in enumerate(labels) if label not in other and label not in out])
        summed.append(alone)
    remaining = [[x for i, x in enumerate(labels) if i not in s] for labels, s in zip(remaining, summed)]
    a, b = remaining
    batch = [x for x in out if x in a and x in b]
    contracted = [x for x in a if x in b and x not in out]
    free_a, free_b = [x for x in a if x not in b], [x for x in b if x not in a]
    swap = batch + free_a + free_b != list(out) and batch + free_b + free_a == list(out)
    if swap:
        a, b, free_a, free_b = b, a, free_b, free_a
    numbers = (
        (tuple([a.index(x) for x in contracted]), tuple([b.index(x) for x in contracted])),
        (tuple([a.index(x) for x in batch]), tuple([b.index(x) for x in batch])),
    )
    result = batch + free_a + free_b
    permutation = tuple([result.index(x) for x in out])
    identity = permutation == tuple(range(len(out)))
    return Contraction(
        (squeezed[0], squeezed[1]), (summed[0], summed[1]), swap, numbers, None if identity else permutation
    )


def contract(plan: Contraction, a: Any, b: Any, precision: Any, preferred: Any, dot_general: Any = None) -> Any:
    """Carry out a plan. `precision` is canonical; `dot_general` stands in for lax's."""
    squeezed, summed, permutation = plan.squeezed, plan.summed, plan.permutation
    if squeezed[0]:
        a = shapes.squeeze(a, squeezed[0])
    if squeezed[1]:
        b = shapes.squeeze(b, squeezed[1])
    if summed[0]:
        a = sum_over(a, summed[0])
    if summed[1]:
        b = sum_over(b, summed[1])
    if plan.swap:
        a, b = b, a
        if type(precision) is tuple:
            precision = precision[::-1]
    if dot_general is None:
        out = dots.dot_general_p.bind(
            a,
            b,
            dimension_numbers=plan.dimension_numbers,
            precision=precision,
            preferred_element_type=preferred,
            out_sharding=None,
        )
    else:
        out = dot_general(a, b, plan.dimension_numbers, precision=precision, preferred_element_type=preferred)
    return out if permutation is None else shapes.transpose_p.bind(out, permutation=permutation)


def sum_over(x: Any, axes: tuple[int, ...]) -> Any:
    """The sum over dimensions, in the dtype of `x` (float16 and bfloat16 by way of float32; of bools, whether any)."""
    dtype = shaped(x).dtype
    if dtype == dtypes.bool_:
        return reductions.reduce_or(x, axes)
    if dtype in (dtypes.float16, dtypes.bfloat16):
        return shapes.convert(reductions.reduce_sum(shapes.convert(x, dtypes.float32, False), axes), dtype, False)
    return reductions.reduce_sum(x, axes)
