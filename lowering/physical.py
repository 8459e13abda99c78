"""Extended dtypes in lowering rules: their elements are stored along trailing dimensions."""

from __future__ import annotations

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray


def trailing(aval: ShapedArray) -> tuple[int, ...]:
    """The dimensions, behind those of `aval`, that store one element: () for plain dtypes.

    Rules that move elements about append to their attributes what leaves these dimensions alone:
    `(*starts, *[0 for _ in trailing(aval)])`, `(*sizes, *trailing(aval))`.
    """
    dtype = aval.dtype
    return dtype.physical_shape if isinstance(dtype, dtypes.ExtendedDtype) else ()


def physical(aval: ShapedArray) -> ShapedArray:
    """The aval of what an array of extended dtype is stored as; others as they are."""
    dtype = aval.dtype
    if isinstance(dtype, dtypes.ExtendedDtype):
        return ShapedArray((*aval.shape, *dtype.physical_shape), dtype.physical_dtype)
    return aval


def with_trailing(dims: tuple[int, ...], rank: int, extra: tuple[int, ...]) -> tuple[int, ...]:
    """`dims` followed by the positions `rank`, `rank` + 1, … of the trailing dimensions `extra`."""
    return (*dims, *range(rank, rank + len(extra))) if extra else dims
