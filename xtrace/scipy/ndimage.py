"""Images at positions between their pixels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core import dtypes, statics
from xtrace.core.primitive import shaped


def _mirrored(index: Any, size: int) -> Any:
    """Positions reflected at the first and the last pixel's centre."""
    period = max(2 * (size - 1), 1)
    return xnp.abs((index + size - 1) % period - (size - 1))


def _reflected(index: Any, size: int) -> Any:
    """Positions reflected at the image's edges."""
    return xnp.floor_divide(_mirrored(2 * index + 1, 2 * size + 1), 2)


#: How positions outside an image are brought inside; "constant" leaves them and takes `cval` there.
_MODES = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: xnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirrored,
    "reflect": _reflected,
}


def map_coordinates(input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0) -> Any:
    """Values of an array at positions between its elements.

    Args:
      input: an array.
      coordinates: for each of its axes, positions; all of one shape.
      order: 0: the nearest element; 1: linear interpolation.
      mode: what is outside: "constant", "nearest", "wrap", "mirror" or "reflect".
      cval: the value outside, for "constant".

    Returns:
      An array of the shape of the positions and the dtype of input. Halves are rounded away from zero, both of
      positions with order 0 and of values that become integers.

    Raises:
      ValueError: not one array of positions for each axis.
      NotImplementedError: another order or mode.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.ndimage.map_coordinates(np.array([0.0, 10.0, 20.0]), [np.array([0.5, 2.0])], order=1).tolist()
    [5.0, 20.0]
    """
    values = xnp.asarray(input)
    shape, dtype = shaped(values).shape, shaped(values).dtype
    if len(statics.parts(coordinates, "coordinates", "one array a dimension")) != len(shape):
        raise ValueError(f"coordinates must be a sequence of length input.ndim, but {len(coordinates)} != {len(shape)}")
    if not isinstance(mode, str) or mode not in _MODES:
        raise NotImplementedError(
            f"map_coordinates does not yet support mode {mode}. Currently supported modes are {set(_MODES)}."
        )
    if order not in (0, 1):
        raise NotImplementedError(f"map_coordinates requires order<=1, got {order}")
    whole = dtypes.kind(dtype) in "iu"
    cval = xnp.asarray(cval, dtype)
    axes = []
    for positions, size in zip(coordinates, shape, strict=True):
        positions = xnp.asarray(positions)
        if not dtypes.is_inexact(shaped(positions).dtype):
            pairs = [(positions, 1)]
        elif order == 0:
            pairs = [(lax.round(positions).astype(int), 1)]
        else:
            lower = xnp.floor(positions)
            weight = positions - lower
            index = lower.astype(int)
            pairs = [(index, 1 - weight), (index + 1, weight)]
        axes.append([(_MODES[mode](i, size), (i >= 0) & (i < size), w) for i, w in pairs])
    total: Any = None
    for corner in itertools.product(*axes):
        value = values[tuple(i for i, _, _ in corner)]
        weight: Any = 1
        inside: Any = True
        for _, valid, w in corner:
            inside, weight = inside & valid, weight * w
        if mode == "constant":
            value = xnp.where(inside, value, cval)
        total = value * weight if total is None else total + value * weight
    if total is None:
        return values
    if whole and dtypes.is_inexact(shaped(total).dtype):
        total = lax.round(total)
    return total.astype(dtype)


__all__ = ["map_coordinates"]
