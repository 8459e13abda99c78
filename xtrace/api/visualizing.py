"""Pictures, in text, of how an array is split over devices."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from xtrace.core import pytree

_PALETTE = ((31, 119, 180), (255, 127, 14), (44, 160, 44), (214, 39, 40), (148, 103, 189), (140, 86, 75))


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print which device holds which part of an array of one or two dimensions.

    Args:
      arr: the array; inside of jit, what the compiler decides is printed when it does.
      kwargs: those of `visualize_sharding`.

    Example:
      >>> import xtrace as xt
      >>> xt.debug.visualize_array_sharding(xt.numpy.ones(4), use_color=False)
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    from xtrace import debug

    for leaf in pytree.tree_leaves(arr):
        shape = tuple(np.shape(leaf))
        debug.inspect_array_sharding(leaf, callback=lambda s, shape=shape: visualize_sharding(shape, s, **kwargs))


def visualize_sharding(
    shape: Any,
    sharding: Any,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Any = None,
) -> None:
    """Print which device holds which part of an array of this shape.

    Args:
      shape: of the array, one or two dimensions.
      sharding: a Sharding.
      use_color: fill the parts with colours, where the output is a terminal.
      scale: how many characters an element is high.
      min_width: of a part with its borders, in characters. max_width: of the picture.
      color_map: callable from a number in [0, 1] to red, green, blue (and more) in [0, 1]; None: a palette.

    Raises:
      ValueError: the shape has no or more than two dimensions.
    """
    shape = tuple(shape)
    if len(shape) not in (1, 2):
        raise ValueError(f"`visualize_sharding` only works for shapes with 1 and 2 dimensions. Got shape {shape}.")
    holders: dict[tuple[Any, ...], list[int]] = {}
    platform = "cpu"
    for device, index in sharding.devices_indices_map(shape).items():
        platform = device.platform
        part = tuple([s.indices(n)[:2] for s, n in zip(index, shape)])
        holders.setdefault(part if len(part) == 2 else ((0, 1), *part), []).append(device.id)
    rows = sorted({part[0] for part in holders})
    columns = sorted({part[1] for part in holders})
    labels = {part: f"{platform.upper()} {','.join(map(str, sorted(ids)))}" for part, ids in holders.items()}
    longest = max(len(text) for text in labels.values()) + 2
    stretch = 1.0 if len(shape) == 1 else 2.5  # characters are higher than wide
    width = max(min_width - 2, longest, int(stretch * scale * shape[-1] / len(columns)))
    width = max(1, min(width, (max_width - 1) // len(columns) - 1))
    height = 1 if len(shape) == 1 else max(1, int(scale * shape[0] / len(rows)))
    colors = use_color and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    print("┌" + "┬".join(["─" * width] * len(columns)) + "┐")
    for i, row in enumerate(rows):
        if i:
            print("├" + "┼".join(["─" * width] * len(columns)) + "┤")
        for line in range(height):
            cells = []
            for column in columns:
                part = (row, column)
                text = labels[part][:width].center(width) if line == height // 2 else " " * width
                number = sorted(holders).index(part)
                cells.append(_painted(text, number, len(holders), color_map) if colors else text)
            print("│" + "│".join(cells) + "│")
    print("└" + "┴".join(["─" * width] * len(columns)) + "┘")


def _painted(text: str, number: int, count: int, color_map: Any) -> str:
    if color_map is None:
        red, green, blue = _PALETTE[number % len(_PALETTE)]
    else:
        red, green, blue = [int(255 * c) for c in color_map(number / max(1, count - 1))[:3]]
    return f"\x1b[48;2;{red};{green};{blue}m{text}\x1b[0m"
