"""Removing trends from sampled functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core import statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.numpy import promotion
from xtrace.numpy.arguments import canonical_axis


def detrend(
    data: Any,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] | np.ndarray = 0,
    overwrite_data: None = None,
) -> Any:
    """`data` less its mean or less the line of least squared distance, along an axis.

    Args:
      data: an array; integers become floats.
      axis: the axis.
      type: "linear" or "constant".
      bp: positions between which each part has a line of its own.
      overwrite_data: None: arrays don't change.

    Returns:
      An array of the shape of `data`.

    Raises:
      ValueError: an unknown type, positions outside the data.
      NotImplementedError: overwrite_data.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.signal.detrend(np.array([1.0, 2.0, 3.0]), type="constant").tolist()
    [-1.0, 0.0, 1.0]
    """
    if overwrite_data is not None:
        raise NotImplementedError("detrend: overwrite_data argument not implemented: arrays don't change.")
    if type not in ("constant", "linear"):
        raise ValueError(f"detrend: Trend type must be 'linear' or 'constant', got {type!r}.")
    breaks = statics.integers(bp if getattr(bp, "ndim", hasattr(bp, "__iter__")) else (bp,), "bp")
    return _detrend(data, axis, type, breaks)


@composite(static_argnames=("axis", "type", "breaks"))
def _detrend(data: Any, axis: int, type: str, breaks: tuple[int, ...]) -> Any:
    (x,) = promotion.promote("detrend", (data,), "inexact", ranks=False)
    if type == "constant":
        return x - xnp.mean(x, axis, keepdims=True)
    aval = shaped(x)
    axis = canonical_axis(axis, aval.ndim)
    size = aval.shape[axis]
    edges = sorted({0, *breaks, size})
    if edges[0] < 0 or edges[-1] > size:
        raise ValueError(
            f"detrend: Breakpoints must be non-negative and less than length of data along given axis, {size}; "
            f"got bp={list(breaks)}"
        )
    parts = [
        _less_line(lax.slice_in_dim(x, start, stop, axis=axis), axis, stop - start)
        for start, stop in zip(edges, edges[1:])
    ]
    return xnp.concatenate(parts, axis) if parts else x


def _less_line(x: Any, axis: int, size: int) -> Any:
    """`x` less its line: constants and centred positions are orthogonal, so each part is a projection."""
    positions = np.arange(size) - (size - 1) / 2
    square = float(positions @ positions)
    x = x - xnp.mean(x, axis, keepdims=True)
    if not square:
        return x
    shape = [1] * shaped(x).ndim
    shape[axis] = size
    unit = (positions / square**0.5).astype(shaped(x).dtype).reshape(shape)
    return x - unit * xnp.sum(x * unit, axis, keepdims=True)


__all__ = ["detrend"]
