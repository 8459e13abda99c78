"""Encodings of integers."""

from __future__ import annotations

from typing import Any

from xtrace import lax
from xtrace.core import dtypes, statics
from xtrace.core.axes import axes_size, split_axes
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import shapes
from xtrace.numpy.promotion import check_arraylike


@composite(static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x: Any, *, num_classes: int, dtype: Any, axis: int) -> Any:
    aval = shaped(x)
    rank = aval.ndim + 1
    x = shapes.expand_dims(x, (axis,))
    if aval.weak_type:
        x = shapes.convert_element_type(x, aval.dtype)
    classes = lax.broadcasted_iota(aval.dtype, tuple([num_classes if i == axis else 1 for i in range(rank)]), axis)
    return shapes.convert_element_type(el.eq_p.bind(x, classes), dtype)


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: Any = -1, out_sharding: Any = None) -> Any:
    """Integers as vectors that are 1 at their place and 0 elsewhere; integers out of range give zeros.

    Args:
      x: integers.
      num_classes: the length of a vector.
      dtype: of the result; None: the default float.
      axis: where the vectors lie in the result; or the name of a mapped axis of which each element gets its place.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array with one dimension more than `x`.

    Raises:
      ValueError: there is no such axis, or a named one has not num_classes elements.
      TypeError: num_classes isn't an integer known while tracing.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.one_hot(np.array([0, 2]), 3)
      Array([[1., 0., 0.],
             [0., 0., 1.]], dtype=float32)
    """
    if isinstance(x, (list, tuple)):
        from xtrace import numpy as xnp

        x = xnp.asarray(x)
    check_arraylike("one_hot", x)
    num_classes = statics.integer(num_classes, "num_classes")
    dtype = dtypes.canonical_dtype(float if dtype is None else dtype)
    names, _ = split_axes(axis)
    if names:
        size = axes_size(names, "one_hot")
        if size != num_classes:
            raise ValueError(f"Expected num_classes to match the size of axis {axis}, but {num_classes} != {size}")
        index = shapes.convert(lax.axis_index(names), shaped(x).dtype, False)
        place = shapes.broadcast_in_dim(index, shaped(x).shape, ())
        return shapes.convert(lax.eq(x, place), dtype, False)
    rank = shaped(x).ndim + 1
    axis = statics.integer(axis, "axis")
    if not -rank <= axis < rank:
        raise ValueError(f"one_hot: axis {axis} is out of bounds for array of dimension {rank}")
    out = _one_hot(x, num_classes=num_classes, dtype=dtype, axis=axis % rank)
    if out_sharding is not None:
        from xtrace.random.arguments import placed

        out = placed(out, out_sharding)
    return out
