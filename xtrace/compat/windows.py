"""Private functions of JAX over primitives of windows, for programs that call them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core.primitive import Primitive
from xtrace.lax import windows


def _select_and_scatter_add(
    source: Any,
    operand: Any,
    select_prim: Primitive,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> Any:
    """Add each element of `source` to where its window of `operand` has the element that `select_prim` prefers."""
    shape = dict(window_dimensions=tuple(window_dimensions), window_strides=tuple(window_strides))
    return windows.select_and_scatter_add_p.bind(
        source, operand, select_prim=select_prim, padding=tuple([tuple(p) for p in padding]), **shape
    )


def _select_and_gather_add(tangents: Any, operand: Any, select_prim: Primitive, *window: Sequence[Any]) -> Any:
    """The element of `tangents` from where each window of `operand` has the element that `select_prim` prefers."""
    names = ("window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation")
    shape = {n: tuple([tuple(x) if n == "padding" else x for x in w]) for n, w in zip(names, window, strict=True)}
    return windows.select_and_gather_add_p.bind(tangents, operand, select_prim=select_prim, **shape)
