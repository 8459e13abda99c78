"""The arithmetic of sliding windows: dilated sizes, padding by name, how many windows fit."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from xtrace.core import statics

Pads = tuple[tuple[int, int], ...]

_PADDINGS = ("SAME", "SAME_LOWER", "VALID")


def dilated(size: int, dilation: int) -> int:
    """The extent of `size` elements that are `dilation` apart."""
    return (size - 1) * dilation + 1 if size else 0


def windows_that_fit(size: int, window: int, stride: int) -> int:
    """How many windows of an extent fit into `size`, one every `stride`."""
    return (size - window) // stride + 1 if size >= window else 0


def padding_name(padding: Any) -> str:
    """The canonical name of a kind of padding: a string in any case, or an enumeration member of that name."""
    name = padding if isinstance(padding, str) else getattr(padding, "name", None)
    if not isinstance(name, str):
        raise TypeError(f"Unknown padding type: {padding!r}. It must be one of {', '.join(map(repr, _PADDINGS))}.")
    if name.upper() not in _PADDINGS:
        raise RuntimeError(
            f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}. "
            "Other paddings are given as (low, high) pairs."
        )
    return name.upper()


def padtype_to_pads(
    in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int], padding: Any
) -> list[tuple[int, int]]:
    """The (low, high) padding of each dimension that a kind of padding stands for.

    Args:
      in_shape: sizes of the input's dimensions.
      window_shape: sizes of the window's (with its dilation).
      window_strides: how far apart windows are.
      padding: "VALID" (none), "SAME" (as many windows as strides fit into the input; an odd element more after it) or
        "SAME_LOWER" (an odd element more before it).

    Returns:
      A list of (low, high) pairs.

    Raises:
      RuntimeError: a name that is no kind of padding.
      TypeError: neither a name nor a kind of padding.

    >>> import xtrace as xt
    >>> xt.lax.padtype_to_pads((10,), (3,), (2,), "SAME")
    [(0, 1)]
    """
    name = padding_name(padding)
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    pads = []
    sizes = statics.integers(in_shape, "in_shape")
    windows, strides = (
        statics.integers(window_shape, "window_shape"),
        statics.integers(window_strides, "window_strides"),
    )
    if not len(sizes) == len(windows) == len(strides):
        raise ValueError(
            f"window_strides must have the same number of elements as in_shape and window_shape; {padding} padding got "
            f"{strides}, {sizes} and {windows}"
        )
    for size, window, stride in zip(sizes, windows, strides):
        if stride < 1:
            raise ValueError(f"window_strides must be positive, got {strides}")
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if name == "SAME" else (more, less))
    return pads


def int_pairs(name: str, padding: Any) -> Pads:
    """Explicit padding as a tuple of pairs. Raises ValueError for anything else, naming the operation."""
    try:
        return tuple([(operator.index(lo), operator.index(hi)) for lo, hi in padding])
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"padding argument to {name} should be a string or a sequence of (low, high) pairs, got {padding}"
        ) from error
