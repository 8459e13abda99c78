"""Arguments as users give them: arrays of any kind; axes and shapes, negative, single or in sequences."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from numpy.exceptions import AxisError

from xtrace.core import statics
from xtrace.core.trace import Tracer
from xtrace.numpy import promotion
from xtrace.runtime import transfers
from xtrace.runtime.jaxlib_api import ArrayImpl


def as_array(name: str, x: Any) -> Any:
    """`x`, an argument of the function `name`, as an array or tracer: what isn't one yet goes to the default device.

    Raises:
      TypeError: `x` is a list, or otherwise no array.
    """
    if isinstance(x, (ArrayImpl, Tracer)):
        return x
    promotion.check_arraylike(name, x)
    x = promotion.operand(x)
    return x if isinstance(x, (ArrayImpl, Tracer)) else transfers.put(x, transfers.aval_of(x))


def canonical_axis(axis: Any, ndim: int, name: str = "axis") -> int:
    """`axis` counted from the front.

    Raises:
      AxisError: (a ValueError and an IndexError) there is no such axis.
    """
    if type(axis) is not int:
        axis = statics.integer(axis, name)
    if 0 <= axis < ndim:
        return axis
    if -ndim <= axis < 0:
        return axis + ndim
    raise AxisError(statics.told(f"axis {axis} is out of bounds for array of dimension {ndim}"))


def canonical_axes(axes: Any, ndim: int, name: str = "axis") -> tuple[int, ...]:
    """One axis or a sequence of them, counted from the front; each at most once."""
    if type(axes) is int or not isinstance(axes, Sequence):
        try:
            return (canonical_axis(axes, ndim, name),)
        except TypeError:
            if isinstance(axes, (Tracer, str, dict)) or not hasattr(axes, "__iter__"):
                raise
    found = tuple([canonical_axis(a, ndim, name) for a in axes])
    if len(set(found)) != len(found):
        raise ValueError(f"repeated {name}: {tuple(axes)} names a dimension of an array of dimension {ndim} twice")
    return found


def canonical_shape(shape: Any) -> tuple[int, ...]:
    """An int or a sequence of ints as a tuple; sizes of -1 are left to the caller.

    Raises:
      TypeError: a size isn't a concrete integer.
    """
    if type(shape) is tuple:
        for d in shape:
            if type(d) is not int:
                break
        else:
            return shape
    try:
        if not hasattr(shape, "__iter__") or (getattr(shape, "ndim", 1) == 0):
            return (operator.index(shape),)
        return tuple([d if type(d) is int else operator.index(d) for d in shape])
    except TypeError as e:
        if isinstance(shape, Tracer) or hasattr(shape, "__iter__") and any(isinstance(d, Tracer) for d in shape):
            raise TypeError(
                f"Shapes must be 1D sequences of concrete values of integer type, got {shape}. A traced value can't be "
                "a size: pass it as static (static_argnums or static_argnames of jit), or use x.shape."
            ) from None
        message = f"Shapes must be 1D sequences of concrete values of integer type, got {shape}."
        raise TypeError(statics.told(message)) from e


def common_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to.

    Raises:
      ValueError: there is none.
    """
    if not shapes:
        return ()
    first = shapes[0]
    if all([s == first for s in shapes]):
        return first
    rank = max([len(s) for s in shapes])
    out = [1] * rank
    for s in shapes:
        for i, d in enumerate(s, rank - len(s)):
            if d != 1 and d != out[i]:
                if out[i] != 1:
                    raise ValueError(statics.told(f"Incompatible shapes for broadcasting: shapes={list(shapes)}"))
                out[i] = d
    return tuple(out)


def infer_size(old: tuple[int, ...], size: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """`shape` with its one size of -1 replaced, for an array of shape `old` with `size` elements."""
    if shape.count(-1) > 1:
        raise TypeError(f"can only specify one unknown axis size with a `-1` value, got {shape}")
    known = math.prod([d for d in shape if d != -1])
    if known == 0 or size % known:
        why = f"because the product of specified axis sizes ({known}) does not evenly divide {size}"
        raise TypeError(f"cannot reshape array of shape {old} (size {size}) into shape {shape} {why}")
    return tuple([size // known if d == -1 else d for d in shape])
