"""Static and dynamic slices, and updates of dynamic slices."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import elementwise as _el
from xtrace.lax import joining, selection, shapes
from xtrace.transforms import batching, zeros
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.jvp import linear
from xtrace.transforms.zeros import UndefinedPrimal, Zero

# -- slice -------------------------------------------------------------------------------------------------------


def _slice_aval(x: ShapedArray, *, start_indices: Any, limit_indices: Any, strides: Any) -> ShapedArray:
    for name, given in (("start_indices", start_indices), ("limit_indices", limit_indices), ("strides", strides)):
        if given is not None and len(given) != x.ndim:
            raise TypeError(
                f"slice {name} must have length equal to the number of dimensions of the operand, "
                f"got {name} {given} for operand shape {x.shape}."
            )
    if any([s < 0 for s in start_indices]):
        raise TypeError(f"slice start_indices must have every element be nonnegative, got {start_indices}.")
    if any([stop > d for stop, d in zip(limit_indices, x.shape)]):
        raise TypeError(
            f"slice limit_indices must be less than or equal to operand shape, got limit_indices {limit_indices} "
            f"for operand shape {x.shape}."
        )
    if any([start > stop for start, stop in zip(start_indices, limit_indices)]):
        raise TypeError(
            f"slice limit_indices must be greater than or equal to start_indices, got start_indices {start_indices} "
            f"and limit_indices {limit_indices}."
        )
    if strides is not None and any([s <= 0 for s in strides]):
        raise TypeError(f"slice strides must have every element be positive, got {strides}.")
    shape = tuple(
        [
            -(-(stop - start) // step)
            for start, stop, step in zip(start_indices, limit_indices, strides or (1,) * x.ndim)
        ]
    )
    return ShapedArray(shape, x.dtype, x.weak_type)


slice_p = Primitive("slice", _slice_aval)


def slice(
    operand: Any, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Any:
    """The part of an array between fixed bounds.

    Args:
      operand: an array.
      start_indices: the first index along each dimension, not negative.
      limit_indices: the index after the last along each dimension, at most its size.
      strides: the step along each dimension, positive; 1 by default.

    Returns:
      The part.

    Raises:
      TypeError: bounds don't fit operand's shape.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.slice(xt.numpy.array([0, 1, 2, 3, 4]), (1,), (5,), (2,)).tolist()
      [1, 3]
    """
    return slice_p.bind(
        operand,
        start_indices=statics.integers(start_indices, "start_indices"),
        limit_indices=statics.integers(limit_indices, "limit_indices"),
        strides=None if strides is None else statics.integers(strides, "strides"),
    )


def _slice_transpose(ct: Any, x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> list[Any]:
    shape = x.aval.shape
    config = []
    for d, n, start, step in zip(shape, shaped(ct).shape, start_indices, strides or (1,) * len(shape)):
        end = start + (n - 1) * step + 1 if n else start
        config.append((start, d - end, step - 1))
    return [joining.pad_p.bind(ct, _el.scalar_like(ct, 0), padding_config=tuple(config))]


def _slice_batch(
    axis: MappedAxis, args: Any, dims: Any, *, start_indices: Any, limit_indices: Any, strides: Any
) -> Any:
    (d,) = dims
    out = slice_p.bind(
        args[0],
        start_indices=(*start_indices[:d], 0, *start_indices[d:]),
        limit_indices=(*limit_indices[:d], axis.size, *limit_indices[d:]),
        strides=None if strides is None else (*strides[:d], 1, *strides[d:]),
    )
    return out, d


linear(slice_p, _slice_transpose)
slice_p.batch = _slice_batch


def slice_in_dim(operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0) -> Any:
    """The part of an array between fixed bounds along one axis.

    Args:
      operand: an array.
      start_index, limit_index: bounds as in Python; negative ones count from the end, None means no bound.
      stride: the step, positive.
      axis: the axis to slice.

    Returns:
      The part.

    Raises:
      TypeError: bounds exceed the axis's size.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.slice_in_dim(xt.numpy.array([0, 1, 2, 3]), 1, -1).tolist()
      [1, 2]
    """
    shape = shaped(operand).shape
    axis = shapes.canonical_axis(axis, len(shape))
    size = shape[axis]
    start = 0 if start_index is None else statics.integer(start_index, "start_index")
    stop = size if limit_index is None else statics.integer(limit_index, "limit_index")
    start += size if start < 0 else 0
    stop += size if stop < 0 else 0
    starts, stops, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], stops[axis], strides[axis] = start, stop, statics.integer(stride, "stride")
    return slice_p.bind(operand, start_indices=tuple(starts), limit_indices=tuple(stops), strides=tuple(strides))


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The element of an array at a fixed position along one axis; the axis stays, with size 1, if `keepdims`.

    Args:
      operand: array.
      index: position, negative ones from the end.
      axis: the axis.
      keepdims: whether the axis stays, with size 1.

    Returns:
      The element.

    Raises:
      IndexError: there is no such position.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.index_in_dim(xt.numpy.array([[1, 2], [3, 4]]), -1, keepdims=False).tolist()
      [3, 4]
    """
    shape = shaped(operand).shape
    axis, index = shapes.canonical_axis(axis, len(shape)), statics.integer(index, "index")
    size = shape[axis]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    index += size if index < 0 else 0
    out = slice_in_dim(operand, index, index + 1, 1, axis)
    return out if keepdims else shapes.squeeze_p.bind(out, dimensions=(axis,))


# -- dynamic_slice -----------------------------------------------------------------------------------------------


def _check_starts(name: str, x: ShapedArray, starts: Sequence[ShapedArray]) -> None:
    if len(starts) != x.ndim:
        raise TypeError(
            f"{name} takes one start index for each dimension, got {len(starts)} for operand {x.str_short()}"
        )
    if any([a.shape or not dtypes.is_integer(a.dtype) or a.dtype != starts[0].dtype for a in starts]):
        got = ", ".join(a.str_short() if a.shape else str(a.dtype) for a in starts)
        raise TypeError(f"index arguments to {name} must be integers of the same type, got: {got}")


def _dynamic_slice_aval(x: ShapedArray, *starts: ShapedArray, slice_sizes: tuple[int, ...]) -> ShapedArray:
    if len(slice_sizes) != x.ndim:
        raise TypeError(
            f"dynamic_slice slice_sizes must have one size for each dimension, got {slice_sizes} for operand shape "
            f"{x.shape}."
        )
    if any([n > d for n, d in zip(slice_sizes, x.shape)]):
        raise TypeError(
            f"slice slice_sizes must be less than or equal to operand shape, got slice_sizes {slice_sizes} for operand "
            f"shape {x.shape}."
        )
    if any([n < 0 for n in slice_sizes]):
        raise TypeError(f"slice slice_sizes must be greater than or equal to zero, got slice_sizes of {slice_sizes}.")
    _check_starts("dynamic_slice", x, starts)
    return ShapedArray(slice_sizes, x.dtype, x.weak_type)


dynamic_slice_p = Primitive("dynamic_slice", _dynamic_slice_aval)


def dynamic_slice(
    operand: Any, start_indices: Any, slice_sizes: Sequence[int], *, allow_negative_indices: Any = True
) -> Any:
    """A part of fixed size whose position may be a traced value.

    A part that would reach over an edge is moved inside.

    Args:
      operand: an array.
      start_indices: one integer scalar for each dimension, or an integer array of them.
      slice_sizes: the part's sizes, Python integers.
      allow_negative_indices: whether negative starts count from the end (one bool, or one for each dimension).

    Returns:
      The part, of shape slice_sizes.

    Raises:
      TypeError: sizes exceed operand's, or starts aren't integers.
      ValueError: there isn't one start for each dimension.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.dynamic_slice(xt.numpy.array([0, 1, 2, 3]), (2,), (3,)).tolist()
      [1, 2, 3]
    """
    starts = dynamic_starts(shaped(operand).shape, start_indices, allow_negative_indices)
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=statics.integers(slice_sizes, "slice_sizes"))


def dynamic_starts(shape: tuple[int, ...], start_indices: Any, allow_negative: Any = True) -> list[Any]:
    """Start indices, one scalar per dimension, of one dtype and not negative."""
    if not isinstance(start_indices, (tuple, list)):
        given = shaped(start_indices)
        if given.ndim != 1:
            raise ValueError(
                f"start indices must be a 1-dimensional array or a sequence of scalars, got {given.str_short()}"
            )
        if given.shape[0] != len(shape):
            raise ValueError(
                f"Length of slice indices must match number of operand dimensions ({given.shape[0]} vs {shape})"
            )
        if isinstance(start_indices, np.ndarray):
            start_indices = builtins.list(start_indices)
        else:
            start_indices = joining.unstack(start_indices)
    if len(start_indices) != len(shape):
        raise ValueError(
            f"Length of slice indices must match number of operand dimensions ({len(start_indices)} vs {shape})"
        )
    if allow_negative is True or allow_negative is False:
        allow_negative = [allow_negative] * len(shape)
    elif not hasattr(allow_negative, "__len__"):
        allow_negative = [statics.flag(allow_negative, "allow_negative_indices")] * len(shape)
    elif len(allow_negative) != len(shape):
        raise ValueError(
            f"allow_negative_indices must be a bool or one for each dimension, got {allow_negative} for shape {shape}"
        )
    dtype = None
    for i in start_indices:
        if type(i) is not int:
            found = shaped(i)
            if not found.weak_type:
                dtype = found.dtype
                break
    if dtype is None or not dtypes.is_integer(dtype):
        dtype = dtypes.canonicalize(dtypes.int64)
    out = []
    for i, size, negative in zip(start_indices, shape, allow_negative):
        if type(i) is int or isinstance(i, np.integer):
            value = builtins.int(i)
            if negative and value < 0:
                value += size
            if type(i) is int or dtypes.canonicalize(i.dtype) == dtype:
                out.append(dtype.type(min(max(value, _int_min(dtype)), size)))
                continue
        out.append(
            nonnegative(i, size, dtype) if negative else shapes.convert(i, dtype, False) if shaped(i).weak_type else i
        )
    return out


def _int_min(dtype: Any) -> int:
    return 0 if dtypes.kind(dtype) == "u" else -1


@functools.cache
def int_max(dtype: Any) -> int:
    """The largest integer of a dtype. (NumPy's iinfo takes 5 µs each time.)"""
    return int(dtypes.iinfo(dtype).max)


def nonnegative(i: Any, size: int, dtype: Any = None) -> Any:
    """Integer array `i`, negative values counted from the end of `size` elements; weak ones take `dtype`."""
    aval = shaped(i)
    if dtypes.kind(aval.dtype) != "i":
        return i
    kept = shapes.convert(i, dtype or aval.dtype, False) if aval.weak_type else i
    negative = _el.lt_p.bind(i, aval.dtype.type(0)) if not aval.weak_type else _el.lt_p.bind(i, 0)
    dtype = shaped(kept).dtype
    if size > int_max(dtype):  # adding it would wrap around: widen for the sum
        wide = shapes.convert(kept, dtypes.canonicalize(dtypes.int64), False)
        return selection.select_n_p.bind(negative, wide, _el.add_p.bind(wide, shaped(wide).dtype.type(size)))
    return selection.select_n_p.bind(negative, kept, _el.add_p.bind(kept, dtype.type(size)))


def _dynamic_slice_jvp(primals: Any, tangents: Any, *, slice_sizes: Any) -> Any:
    out = dynamic_slice_p.bind(*primals, slice_sizes=slice_sizes)
    t = tangents[0]
    if type(t) is Zero:
        return out, zeros.zero_tangent(out)
    return out, dynamic_slice_p.bind(t, *primals[1:], slice_sizes=slice_sizes)


def _dynamic_slice_transpose(ct: Any, x: Any, *starts: Any, slice_sizes: Any) -> list[Any]:
    zero = zeros.instantiate(Zero(x.aval))
    return [dynamic_update_slice_p.bind(zero, ct, *starts), *[None] * len(starts)]


def _dynamic_slice_batch(axis: MappedAxis, args: Any, dims: Any, *, slice_sizes: Any) -> Any:
    x, *starts = args
    d, *start_dims = dims
    if all([s is None for s in start_dims]):
        starts.insert(d, shaped(starts[0]).dtype.type(0) if starts else np.int32(0))
        return dynamic_slice_p.bind(x, *starts, slice_sizes=(*slice_sizes[:d], axis.size, *slice_sizes[d:])), d
    # Each example has its own position: a gather, whose mode clip is dynamic_slice's rule for the edges.
    from xtrace.lax import gathers

    rank = len(slice_sizes)
    indices = stacked_starts(axis, starts, start_dims)
    if d is None:
        numbers = gathers.GatherDimensionNumbers(tuple(range(1, rank + 1)), (), tuple(range(rank)))
        sizes = slice_sizes
    else:
        x = batching.move_axis(x, d, 0, axis.size)
        window = tuple(range(1, rank + 1))
        numbers = gathers.GatherDimensionNumbers(window, (), window, (0,), (0,))
        sizes = (1, *slice_sizes)
    out = gathers.gather(
        x, indices, numbers, sizes, unique_indices=True, indices_are_sorted=True, mode=gathers.GatherScatterMode.CLIP
    )
    return out, 0


def stacked_starts(axis: MappedAxis, starts: Sequence[Any], dims: Sequence[int | None]) -> Any:
    """Start indices of all examples as one array (axis.size, number of starts)."""
    columns = [shapes.broadcast_in_dim(i, (axis.size, 1), () if d is None else (0,)) for i, d in zip(starts, dims)]
    return joining.concatenate(columns, 1)


dynamic_slice_p.jvp = _dynamic_slice_jvp
dynamic_slice_p.transpose = _dynamic_slice_transpose
dynamic_slice_p.batch = _dynamic_slice_batch


def dynamic_slice_in_dim(
    operand: Any, start_index: Any, slice_size: int, axis: int = 0, *, allow_negative_indices: bool = True
) -> Any:
    """`dynamic_slice` along one axis: `slice_size` elements from `start_index`, which may be traced.

    Args:
      operand: array.
      start_index: integer scalar; cut so that the slice fits.
      slice_size: number of elements.
      axis: the axis.
      allow_negative_indices: whether an index below 0 counts from the end.

    Returns:
      The slice.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.dynamic_slice_in_dim(xt.numpy.array([0, 1, 2, 3]), 1, 2).tolist()
      [1, 2]
    """
    shape = shaped(operand).shape
    axis = shapes.canonical_axis(axis, len(shape))
    starts, sizes = starts_along(shape, axis, start_index, allow_negative_indices), list(shape)
    sizes[axis] = statics.integer(slice_size, "slice_size")
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=tuple(sizes))


def starts_along(shape: tuple[int, ...], axis: int, start: Any, allow_negative: bool) -> list[Any]:
    """Start indices of a dynamic slice that begins at `start` along `axis` and at 0 along the others."""
    starts: list[Any] = [0] * len(shape)
    starts[axis] = start
    return dynamic_starts(shape, starts, allow_negative)


def dynamic_index_in_dim(
    operand: Any, index: Any, axis: int = 0, keepdims: bool = True, *, allow_negative_indices: bool = True
) -> Any:
    """The element of an array at `index`, which may be traced, along one axis; `keepdims` keeps the axis.

    Args:
      operand: array.
      index: integer scalar; cut to what is there.
      axis: the axis.
      keepdims: whether the axis stays, with size 1.
      allow_negative_indices: whether indices below 0 count from the end.

    Returns:
      The element.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.dynamic_index_in_dim(xt.numpy.array([[1, 2], [3, 4]]), 1, keepdims=False).tolist()
      [3, 4]
    """
    axis = shapes.canonical_axis(axis, shaped(operand).ndim)
    out = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return out if keepdims else shapes.squeeze_p.bind(out, dimensions=(axis,))


# -- dynamic_update_slice ----------------------------------------------------------------------------------------


def _dynamic_update_slice_aval(x: ShapedArray, update: ShapedArray, *starts: ShapedArray) -> ShapedArray:
    if x.ndim != update.ndim:
        raise TypeError(
            "dynamic_update_slice update must have the same rank as operand, got update shape "
            f"{update.shape} for operand shape {x.shape}."
        )
    if any([n > d for n, d in zip(update.shape, x.shape)]):
        raise TypeError(
            "dynamic_update_slice update shape must be smaller than operand shape, got update shape "
            f"{update.shape} for operand shape {x.shape}."
        )
    if x.dtype != update.dtype:
        raise TypeError(
            f"lax.dynamic_update_slice requires arguments to have the same dtypes, got {x.dtype}, {update.dtype}."
        )
    _check_starts("dynamic_update_slice", x, starts)
    return x.strong()


dynamic_update_slice_p = Primitive("dynamic_update_slice", _dynamic_update_slice_aval)


def dynamic_update_slice(operand: Any, update: Any, start_indices: Any, *, allow_negative_indices: Any = True) -> Any:
    """`operand` with the part at `start_indices`, which may be traced, replaced by `update`.

    A part that would reach over an edge is moved inside.

    Args:
      operand: an array.
      update: an array of operand's rank and dtype, nowhere larger.
      start_indices: one integer scalar for each dimension, or an integer array of them.
      allow_negative_indices: whether negative starts count from the end (one bool, or one for each dimension).

    Returns:
      The updated array.

    Raises:
      TypeError: shapes or dtypes don't fit, or starts aren't integers.
      ValueError: there isn't one start for each dimension.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.dynamic_update_slice(xt.lax.full((4,), 0), xt.numpy.array([7, 8]), (1,)).tolist()
      [0, 7, 8, 0]
    """
    starts = dynamic_starts(shaped(operand).shape, start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *starts)


def _dynamic_update_slice_jvp(primals: Any, tangents: Any) -> Any:
    x, update, *starts = primals
    out = dynamic_update_slice_p.bind(*primals)
    t, tu = tangents[:2]
    if type(t) is Zero and type(tu) is Zero:
        return out, zeros.zero_tangent(out)
    return out, dynamic_update_slice_p.bind(zeros.instantiate(t), zeros.instantiate(tu), *starts)


def _dynamic_update_slice_transpose(ct: Any, x: Any, update: Any, *starts: Any) -> list[Any]:
    out: list[Any] = [None] * (2 + len(starts))
    shape = shaped(update).shape
    if type(x) is UndefinedPrimal:
        zero = zeros.instantiate(Zero(shaped(update).strong()))
        out[0] = dynamic_update_slice_p.bind(ct, zero, *starts)
    if type(update) is UndefinedPrimal:
        out[1] = dynamic_slice_p.bind(ct, *starts, slice_sizes=shape)
    return out


def _dynamic_update_slice_batch(axis: MappedAxis, args: Any, dims: Any) -> Any:
    x, update, *starts = args
    d, du, *start_dims = dims
    rank = len(starts)
    if all([s is None for s in start_dims]):
        d = 0 if d is None else d
        x = batching.move_axis(x, dims[0], d, axis.size)
        update = batching.move_axis(update, du, d, axis.size)
        starts.insert(d, shaped(starts[0]).dtype.type(0) if starts else np.int32(0))
        return dynamic_update_slice_p.bind(x, update, *starts), d
    from xtrace.lax import scatters

    x = batching.move_axis(x, d, 0, axis.size)
    update = batching.move_axis(update, du, 0, axis.size)
    window = tuple(range(1, rank + 1))
    numbers = scatters.ScatterDimensionNumbers(window, (), window, (0,), (0,))
    out = scatters.scatter(
        x, stacked_starts(axis, starts, start_dims), update, numbers,
        indices_are_sorted=True, unique_indices=True, mode=scatters.GatherScatterMode.CLIP,
    )  # fmt: skip
    return out, 0


dynamic_update_slice_p.jvp = _dynamic_update_slice_jvp
dynamic_update_slice_p.transpose = _dynamic_update_slice_transpose
dynamic_update_slice_p.batch = _dynamic_update_slice_batch


def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`dynamic_update_slice` along one axis, from `start_index`, which may be traced.

    Args:
      operand: array.
      update: the new elements, an array with as many dimensions.
      start_index: integer scalar; cut so that the update fits.
      axis: the axis.
      allow_negative_indices: whether an index below 0 counts from the end.

    Returns:
      An array like `operand`.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.dynamic_update_slice_in_dim(xt.lax.full((4,), 0), xt.numpy.array([7, 8]), 2, axis=0).tolist()
      [0, 0, 7, 8]
    """
    shape = shaped(operand).shape
    axis = shapes.canonical_axis(axis, len(shape))
    return dynamic_update_slice_p.bind(operand, update, *starts_along(shape, axis, start_index, allow_negative_indices))


def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`operand` with the element at `index`, which may be traced, along one axis replaced by `update`.

    `update` may lack that axis, or have size 1 there.

    Args:
      operand: array.
      update: the new element.
      index: integer scalar; cut to what is there.
      axis: the axis.
      allow_negative_indices: whether an index below 0 counts from the end.

    Returns:
      An array like `operand`.

    Raises:
      TypeError: `update` has another number of dimensions.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.dynamic_update_index_in_dim(xt.lax.full((3,), 0), 5, 1, axis=0).tolist()
      [0, 5, 0]
    """
    x = shaped(operand)
    axis = shapes.canonical_axis(axis, x.ndim)
    given = shaped(update)
    if given.weak_type and given.dtype != x.dtype:
        update = shapes.convert(update, x.dtype, False)
    if given.ndim != x.ndim:
        if given.ndim + 1 != x.ndim:
            raise TypeError(
                f"dynamic_update_index_in_dim: update {given.str_short()} must have as many dimensions as operand "
                f"{x.str_short()}, or one less"
            )
        update = shapes.expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(operand, update, index, axis, allow_negative_indices=allow_negative_indices)
