"""Reading elements by an index, under the name that JAX's private `numpy.indexing` gives it."""

from __future__ import annotations

import enum
from typing import Any

from xtrace.numpy.creation import asarray
from xtrace.numpy.indexing import At


class IndexingStrategy(enum.Enum):
    """The operations that an index may be read by. Here they follow from the index."""

    AUTO = "auto"
    GATHER = "gather"
    SCATTER = "scatter"
    STATIC_SLICE = "static_slice"
    DYNAMIC_SLICE = "dynamic_slice"


def rewriting_take(
    arr: Any,
    idx: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    fill_value: Any = None,
    normalize_indices: bool = True,
    out_sharding: Any = None,
    strategy: IndexingStrategy = IndexingStrategy.AUTO,
) -> Any:
    """The elements of an array at an index, as `arr.at[idx].get(...)`; `strategy` has no effect."""
    return At(asarray(arr))[idx].get(
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
        fill_value=fill_value,
        wrap_negative_indices=normalize_indices,
        out_sharding=out_sharding,
    )
