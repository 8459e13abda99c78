"""Constants in the dtype of an operand, and selection between operands."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core.primitive import shaped
from xtrace.lax import shapes


@functools.lru_cache(maxsize=4096, typed=True)
def _scalar(x: Any, dtype: Any) -> Any:
    return np.asarray(x).astype(dtype)[()]


def scalar(x: Any, like: Any) -> Any:
    """The number `x` (not -0.0, which the cache takes for 0.0) in the dtype of `like`."""
    aval = getattr(like, "aval", None)
    return _scalar(x, (shaped(like) if aval is None else aval).dtype)


def weak_scalar(x: Any, like: Any) -> Any:
    """The same, but a Python number beside weakly typed arrays, so that the result stays weak."""
    aval = shaped(like)
    value = _scalar(x, aval.dtype)
    if aval.weak_type:
        number = value.item()
        if shaped(number).dtype == aval.dtype:
            return number
    return value


def number(x: Any, like: Any) -> Any:
    """The same, weak beside weakly typed numbers alone: results for arrays of weak type are not weak then."""
    return scalar(x, like) if shaped(like).shape else weak_scalar(x, like)


def pick(condition: Any, on_true: Any, on_false: Any) -> Any:
    """`on_true` where the condition holds, else `on_false`: of one dtype, and broadcast to one shape."""
    found = [shaped(x).shape for x in (condition, on_true, on_false)]
    shape = found[0] if found[0] == found[1] == found[2] else lax.broadcast_shapes(*found)
    if found[0] and found[0] != shape:
        condition = widen(condition, found[0], shape)
    on_true, on_false = widen(on_true, found[1], shape), widen(on_false, found[2], shape)
    return lax.select_n(condition, on_false, on_true)


def widen(x: Any, old: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """`x`, of shape `old`, broadcast to `shape`."""
    return x if old == shape else shapes.broadcast_in_dim(x, shape, range(len(shape) - len(old), len(shape)))
