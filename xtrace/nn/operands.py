"""Operands of this package's functions: conversion, constants, axes, masks."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes, statics
from xtrace.core.axes import split_axes
from xtrace.core.primitive import shaped
from xtrace.lax import reductions, shapes
from xtrace.numpy.promotion import promote


def inexact(name: str, x: Any) -> Any:
    """`x` as an inexact array: integers become floats. Raises TypeError for what is no array."""
    aval = getattr(x, "aval", None)
    return x if aval is not None and dtypes.is_inexact(aval.dtype) else promote(name, (x,), "inexact")[0]


def strong_inexact(name: str, x: Any) -> Any:
    """The same, of no weak type."""
    x = inexact(name, x)
    return shapes.convert(x, shaped(x).dtype, False)


def beside_floats(name: str, x: Any) -> Any:
    """`x` as it is beside Python floats: integers become floats of weak type."""
    return promote(name, (x, 1.0))[0]


@functools.lru_cache(1024)
def _typed(value: Any, dtype: Any) -> Any:
    return np.asarray(value).astype(dtype)[()]


def like(x: Any, value: float) -> Any:
    """A constant of the dtype of `x`, weak where `x` is."""
    aval = shaped(x)
    return _PYTHON[dtypes.kind(aval.dtype)](value) if aval.weak_type else _typed(value, aval.dtype)


_PYTHON: dict[str, Any] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def filled(x: Any, value: float) -> Any:
    """`value` in the shape and dtype of `x`."""
    aval = shaped(x)
    return shapes.broadcast_in_dim(like(x, value), aval.shape, ())


def axes_of(name: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """An axis, several, or None for all, counted from the front; names of mapped axes behind. Raises ValueError."""
    if axis is None:
        return tuple(range(ndim))
    names, axis = split_axes(axis)
    axes = (axis,) if isinstance(axis, (int, np.integer)) else statics.parts(axis, "axis", "an axis or several")
    for a in axes:
        if not -ndim <= statics.integer(a, "axis") < ndim:
            raise ValueError(f"{name}: axis {a} is out of bounds for array of dimension {ndim}")
    found = tuple([int(a) % ndim for a in axes])
    if len(set(found)) != len(found):
        raise ValueError(f"{name}: duplicate value in axis: {axis}")
    return (*found, *names)


def keep_dims(x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """A reduction over `axes` of an array of `shape`, with those dimensions back as 1."""
    kept = tuple([1 if i in axes else d for i, d in enumerate(shape)])
    return shapes.broadcast_in_dim(x, kept, [i for i in range(len(shape)) if i not in axes])


def total(x: Any, axes: tuple[int, ...], keepdims: bool = False) -> Any:
    """The sum over `axes`, dimensions and names of mapped axes."""
    names, dims = split_axes(axes)
    out = reductions.reduce_sum(x, dims)
    if names:
        from xtrace.lax import collectives

        out = collectives.psum(out, names)
    return keep_dims(out, shaped(x).shape, axes) if keepdims else out


def greatest(x: Any, axes: tuple[int, ...], keepdims: bool = False) -> Any:
    """The maximum over `axes`, dimensions and names of mapped axes; of nothing, minus infinity."""
    names, dims = split_axes(axes)
    out = reductions.reduce_max(x, dims)
    if names:
        from xtrace.lax import collectives

        out = collectives.pmax(out, names)
    return keep_dims(out, shaped(x).shape, axes) if keepdims else out


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """NumPy's broadcast_to. Raises ValueError."""
    own = shaped(x).shape
    if own == shape:
        return x
    if len(own) > len(shape) or any(a not in (1, b) for a, b in zip(reversed(own), reversed(shape), strict=False)):
        raise ValueError(f"Incompatible shapes for broadcasting: {own} and requested shape {shape}")
    first = len(shape) - len(own)
    return shapes.broadcast_in_dim(x, shape, range(first, len(shape)))


def masked(where: Any, x: Any, otherwise: float) -> Any:
    """`x` where the boolean mask holds, `otherwise` elsewhere; the mask broadcasts, and may have more dimensions."""
    if where is None:
        return x
    if shaped(where).dtype != np.bool_:
        message = f"where must be None or a boolean array; got where.dtype={shaped(where).dtype}."
        raise ValueError(statics.told(message))
    shape = np.broadcast_shapes(shaped(where).shape, shaped(x).shape)
    x = broadcast_to(x, shape)
    return lax.select_n(broadcast_to(where, shape), filled(x, otherwise), x)
