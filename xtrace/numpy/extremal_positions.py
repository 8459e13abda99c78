"""Positions of extrema: argmax and argmin."""

from __future__ import annotations

from typing import Any

from xtrace.core.composite import composite
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import reductions as lax_reductions
from xtrace.lax import shapes
from xtrace.numpy.arguments import canonical_axis
from xtrace.numpy.reductions import index_dtype, kept, operand, refuse_out


def arg_extremum(name: str, primitive: Primitive, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    """The position of an extremum along an axis, or in the flattened array."""
    refuse_out(name, out)
    a = operand(name, a)
    shape = shaped(a).shape
    if axis is None:
        a = shapes.reshape(a, (shaped(a).size,)) if len(shape) != 1 else a
        place, axes = 0, tuple(range(len(shape)))
    else:
        place = canonical_axis(axis, len(shape))
        axes = (place,)
    if shaped(a).shape[place] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    result = primitive.bind(a, axes=(place,), index_dtype=index_dtype())
    wide = kept(shape, axes) if keepdims else None
    return result if wide is None else shapes.broadcast_in_dim_p.bind(result, **wide)


@composite(static_argnames=("axis", "keepdims"))
def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Position of the maximum along an axis: the first of equals, the first NaN if there is one.

    Args:
      a: array of real dtype.
      axis: axis; None: positions in the flattened array.
      out: not supported.
      keepdims: whether the axis stays, with size 1.

    Returns:
      Positions, of the default integer dtype.

    Raises:
      ValueError: an axis that doesn't exist or is empty.

    >>> import numpy as np, xtrace as xt
    >>> int(xt.numpy.argmax(np.array([1, 5, 5])))
    1
    """
    return arg_extremum("argmax", lax_reductions.argmax_p, a, axis, out, keepdims)


@composite(static_argnames=("axis", "keepdims"))
def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Position of the minimum along an axis: the first of equals, the first NaN if there is one.

    Args:
      a: array of real dtype.
      axis: axis; None: positions in the flattened array.
      out: not supported.
      keepdims: whether the axis stays, with size 1.

    Returns:
      Positions, of the default integer dtype.

    Raises:
      ValueError: an axis that doesn't exist or is empty.

    >>> import numpy as np, xtrace as xt
    >>> int(xt.numpy.argmin(np.array([3, 1, 1])))
    1
    """
    return arg_extremum("argmin", lax_reductions.argmin_p, a, axis, out, keepdims)
