"""Arrays in other shapes: reshaping, permuting and adding axes, broadcasting, reversing, rotating."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes, statics, warned
from xtrace.core.composite import composite
from xtrace.lax import shapes
from xtrace.numpy.arguments import (
    as_array,
    canonical_axes,
    canonical_axis,
    canonical_shape,
    common_shape,
    infer_size,
)
from xtrace.numpy.dtypes import canonical
from xtrace.transforms.placement import held

# -- reshape -----------------------------------------------------------------------------------------------------


def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Any = None) -> Any:
    """The elements of an array in another shape.

    Args:
      a: array of any shape and dtype.
      shape: the new shape, an int or a sequence of ints; one size may be -1 and is then inferred.
      order: how elements are counted in both shapes: "C" row-major, "F" column-major; "A" is "C", as arrays are
        row-major.
      copy: accepted for NumPy's sake; arrays never change, so it makes no difference.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the dtype of `a`.

    Raises:
      TypeError: the sizes don't multiply to the number of elements.

    >>> import xtrace.numpy as xnp
    >>> xnp.reshape(xnp.ones((2, 3)), (3, -1)).shape
    (3, 2)
    """
    x = as_array("reshape", a)
    aval = x.aval
    shape = canonical_shape(shape)
    if -1 in shape:
        shape = infer_size(aval.shape, aval.size, shape)
    elif shape and min(shape) < 0:
        raise TypeError(f"reshape new_sizes must all be positive, got {shape}.")
    if order == "C" or order == "A":
        if shape != aval.shape:
            x = shapes.reshape_p.bind(x, new_sizes=shape, dimensions=None, sharding=None)
        return x if out_sharding is None else held("reshape", x, out_sharding)
    if order != "F":
        raise ValueError(f"Unexpected value for 'order' argument: {order}. It is 'C', 'F' or 'A'.")
    if shape == aval.shape:
        return held("reshape", x, out_sharding)
    if math.prod(shape) != aval.size:
        raise TypeError(
            f"cannot reshape array of shape {aval.shape} (size {aval.size}) into shape {shape} "
            f"(size {math.prod(shape)})"
        )
    return held("reshape", _reshape_columns_first(x, shape), out_sharding)


@composite(static_argnames=("shape",))
def _reshape_columns_first(x: Any, shape: tuple[int, ...]) -> Any:
    reversed_axes = tuple(range(x.ndim))[::-1]
    return lax.transpose(lax.reshape(lax.transpose(x, reversed_axes), shape[::-1]), tuple(range(len(shape)))[::-1])


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """All elements in one dimension.

    Args:
      a: array of any shape and dtype.
      order: "C" row-major or "F" column-major; "A" and "K" are "C", arrays being row-major.
      out_sharding: how the result is laid out over devices.

    Returns:
      A vector.

    >>> import xtrace.numpy as xnp
    >>> xnp.ravel(xnp.ones((2, 3))).shape
    (6,)
    """
    x = as_array("ravel", a)
    return reshape(x, (x.aval.size,), "C" if order == "K" else order, out_sharding=out_sharding)


# -- permutations of axes ----------------------------------------------------------------------------------------


def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """Permute the axes of an array.

    Args:
      a: array of any shape and dtype.
      axes: result axis i is axis `axes[i]` of `a`; None reverses all axes.

    Returns:
      The array with its axes in the new order.

    >>> import xtrace.numpy as xnp
    >>> xnp.transpose(xnp.ones((2, 3, 4)), (1, 2, 0)).shape
    (3, 4, 2)
    """
    x = as_array("transpose", a)
    ndim = x.aval.ndim
    identity = tuple(range(ndim))
    permutation = (
        identity[::-1]
        if axes is None
        else tuple([canonical_axis(i, ndim, "axes") for i in statics.parts(axes, "axes", "a sequence of axes")])
    )
    return x if permutation == identity else shapes.transpose_p.bind(x, permutation=permutation)


def permute_dims(a: Any, /, axes: Sequence[int]) -> Any:
    """`transpose` under its array API name: result axis i is axis `axes[i]` of `a`.

    Args:
      a: array of any shape and dtype.
      axes: a permutation of its axes.

    Returns:
      The array with its axes in the new order.

    >>> import xtrace.numpy as xnp
    >>> xnp.permute_dims(xnp.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Any:
    """Swap the last two axes.

    Args:
      x: array of two or more dimensions.

    Returns:
      The array with its last two axes swapped.

    Raises:
      ValueError: `x` has fewer than two dimensions.

    >>> import xtrace.numpy as xnp
    >>> xnp.matrix_transpose(xnp.ones((5, 2, 3))).shape
    (5, 3, 2)
    """
    x = as_array("matrix_transpose", x)
    ndim = x.aval.ndim
    if ndim < 2:
        raise ValueError(f"x must be at least two-dimensional for matrix_transpose; got ndim={ndim}")
    return lax.transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes of an array.

    Args:
      a: array of any shape and dtype.
      axis1, axis2: the axes.

    Returns:
      The array with its axes in the new order.

    >>> import xtrace.numpy as xnp
    >>> xnp.swapaxes(xnp.ones((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    x = as_array("swapaxes", a)
    ndim = x.aval.ndim
    i, j = canonical_axis(axis1, ndim), canonical_axis(axis2, ndim)
    permutation = list(range(ndim))
    permutation[i], permutation[j] = j, i
    return lax.transpose(x, tuple(permutation))


def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Move axes of an array to other positions; the rest keep their order.

    Args:
      a: array of any shape and dtype.
      source: the axes to move.
      destination: where each of them goes.

    Returns:
      The array with its axes in the new order.

    Raises:
      ValueError: `source` and `destination` differ in length, or name an axis twice.

    >>> import xtrace.numpy as xnp
    >>> xnp.moveaxis(xnp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = as_array("moveaxis", a)
    ndim = x.aval.ndim
    sources = canonical_axes(source, ndim, "source axis")
    destinations = canonical_axes(destination, ndim, "destination axis")
    if len(sources) != len(destinations):
        raise ValueError(f"Inconsistent number of elements: {len(sources)} vs {len(destinations)}")
    permutation = [i for i in range(ndim) if i not in sources]
    for to, from_ in sorted(zip(destinations, sources)):
        permutation.insert(to, from_)
    return lax.transpose(x, tuple(permutation))


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Move one axis to just before the axis that is now at `start`.

    Args:
      a: array of any shape and dtype.
      axis: the axis to move.
      start: where to, counted before it is moved.

    Returns:
      The array with its axes in the new order.

    Raises:
      ValueError: `start` or `axis` lies outside the axes.

    >>> import xtrace.numpy as xnp
    >>> xnp.rollaxis(xnp.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = as_array("rollaxis", a)
    ndim = x.aval.ndim
    axis = canonical_axis(axis, ndim)
    start = statics.integer(start, "start")
    if not -ndim <= start <= ndim:
        raise ValueError(f"{start=} must satisfy {-ndim}<=start<={ndim}")
    if start < 0:
        start += ndim
    return moveaxis(x, axis, start - (start > axis))


# -- axes of size 1 ----------------------------------------------------------------------------------------------


def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Drop axes of size 1.

    Args:
      a: array of any shape and dtype.
      axis: the axes to drop; None drops all that have size 1.

    Returns:
      The array without those axes.

    Raises:
      ValueError: an axis to drop has another size.

    >>> import xtrace.numpy as xnp
    >>> xnp.squeeze(xnp.ones((1, 3, 1)), 0).shape
    (3, 1)
    """
    x = as_array("squeeze", a)
    shape = x.aval.shape
    if axis is None:
        axes = tuple([i for i, d in enumerate(shape) if d == 1])
    else:
        axes = canonical_axes(axis, len(shape))
        for i in axes:
            if shape[i] != 1:
                raise ValueError(
                    f"cannot select an axis to squeeze out which has size not equal to one, got {shape=} and "
                    f"dimensions={axes}"
                )
    return lax.squeeze(x, axes) if axes else x


def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """Insert axes of size 1.

    Args:
      a: array of any shape and dtype.
      axis: where the new axes are in the result.

    Returns:
      The array with its new axes.

    >>> import xtrace.numpy as xnp
    >>> xnp.expand_dims(xnp.ones(3), (0, -1)).shape
    (1, 3, 1)
    """
    x = as_array("expand_dims", a)
    shape = x.aval.shape
    count = len(axis) if isinstance(axis, (tuple, list)) else 1 if type(axis) is int else np.size(axis)
    ndim = len(shape) + count
    places = canonical_axes(axis, ndim)
    if not places:
        return x
    new, kept, old = [], [], iter(shape)
    for i in range(ndim):
        if i in places:
            new.append(1)
        else:
            new.append(next(old))
            kept.append(i)
    return lax.broadcast_in_dim(x, tuple(new), tuple(kept))


def _at_least(rank: int, name: str, new_shape: Any) -> Any:
    def one(x: Any) -> Any:
        x = as_array(name, x)
        shape = x.aval.shape
        if len(shape) >= rank:
            return x
        added = new_shape[len(shape)]
        return expand_dims(x, added)

    def at_least(*arys: Any) -> Any:
        return one(arys[0]) if len(arys) == 1 else tuple([one(x) for x in arys])

    at_least.__name__ = at_least.__qualname__ = name
    return at_least


#: For each rank too low, where axes of size 1 are added.
atleast_1d = _at_least(1, "atleast_1d", {0: (0,)})
atleast_2d = _at_least(2, "atleast_2d", {0: (0, 1), 1: (0,)})
atleast_3d = _at_least(3, "atleast_3d", {0: (0, 1, 2), 1: (0, 2), 2: (2,)})

for _rank, _function in ((1, atleast_1d), (2, atleast_2d), (3, atleast_3d)):
    _shown = {1: "(1,)", 2: "(1, 1)", 3: "(1, 1, 1)"}[_rank]
    _function.__doc__ = f"""Arrays with {_rank} dimensions or more: axes of size 1 are added where there are fewer.

    Args:
      *arys: arrays of any shape and dtype.

    Returns:
      One array for one argument, a tuple of arrays otherwise.

    >>> import xtrace.numpy as xnp
    >>> xnp.atleast_{_rank}d(2.0).shape
    {_shown}
    """

# -- broadcasting ------------------------------------------------------------------------------------------------


def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Any:
    """Repeat an array along new leading axes, and along its axes of size 1, to fill `shape`.

    Args:
      array: array of any shape and dtype.
      shape: the shape of the result.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of that shape.

    Raises:
      ValueError: its shape doesn't broadcast to `shape`.

    >>> import xtrace.numpy as xnp
    >>> xnp.broadcast_to(xnp.ones((3, 1)), (2, 3, 4)).shape
    (2, 3, 4)
    """
    x = as_array("broadcast_to", array)
    return _broadcast(x, x.aval, canonical_shape(shape), out_sharding)


def _broadcast(x: Any, aval: Any, shape: tuple[int, ...], out_sharding: Any = None) -> Any:
    old = aval.shape
    if old == shape and out_sharding is None:
        return x
    added = len(shape) - len(old)
    if added < 0:
        raise ValueError(f"Cannot broadcast to shape with fewer dimensions: arr_shape={old} {shape=}")
    if shape and min(shape) < 0:
        raise TypeError(f"broadcast_in_dim shape must have every element be nonnegative, got {shape}.")
    for i, d in enumerate(old, added):
        if d != 1 and d != shape[i]:
            old_type, new_type = (f"{aval.dtype.name}[{','.join(map(str, s))}]" for s in (old, shape))
            raise ValueError(
                f"Incompatible types for broadcasting: input type={old_type} and requested type={new_type}"
            )
    return lax.broadcast_in_dim(x, shape, tuple(range(added, len(shape))), out_sharding=out_sharding)


def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """All arrays broadcast to their common shape.

    Args:
      *args: arrays.

    Returns:
      A tuple of the arrays, each of the common shape.

    Raises:
      ValueError: they have none.

    >>> import xtrace.numpy as xnp
    >>> [x.shape for x in xnp.broadcast_arrays(xnp.ones((2, 1)), xnp.ones(3))]
    [(2, 3), (2, 3)]
    """
    arrays = [as_array("broadcast_arrays", x) for x in args]
    avals = [x.aval for x in arrays]
    shape = common_shape([a.shape for a in avals])
    return tuple([_broadcast(x, a, shape) for x, a in zip(arrays, avals)])


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to.

    Args:
      *shapes: shapes, or ints for shapes of one dimension.

    Returns:
      The shape, a tuple.

    Raises:
      ValueError: there is none.

    >>> import xtrace.numpy as xnp
    >>> xnp.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return common_shape([canonical_shape(s) for s in shapes])


# -- reversing and rotating --------------------------------------------------------------------------------------


def flip(m: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Reverse the order of elements along axes (all axes by default).

    Args:
      m: array of any shape and dtype.
      axis: axis or sequence of axes; None: all.

    Returns:
      An array like `m`.

    Raises:
      ValueError: an axis that doesn't exist.

    >>> import xtrace.numpy as xnp
    >>> xnp.flip(xnp.array([1, 2, 3]))
    Array([3, 2, 1], dtype=int32)
    """
    x = as_array("flip", m)
    ndim = x.aval.ndim
    axes = tuple(range(ndim)) if axis is None else canonical_axes(axis, ndim)
    return lax.rev(x, axes) if axes else x


def flipud(m: Any) -> Any:
    """Reverse the order along the first axis.

    Args:
      m: array of one or more dimensions.

    Returns:
      An array like `m`.

    >>> import xtrace.numpy as xnp
    >>> xnp.flipud(xnp.array([[1], [2]])).tolist()
    [[2], [1]]
    """
    return flip(m, 0)


def fliplr(m: Any) -> Any:
    """Reverse the order along the second axis.

    Args:
      m: array of two or more dimensions.

    Returns:
      An array like `m`.

    >>> import xtrace.numpy as xnp
    >>> xnp.fliplr(xnp.array([[1, 2]])).tolist()
    [[2, 1]]
    """
    return flip(m, 1)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """Rotate by 90 degrees, k times, in the plane of two axes, from the first towards the second.

    Args:
      m: array of two or more dimensions.
      k: how often; negative: the other way round.
      axes: the two axes.

    Returns:
      The rotated array.

    Raises:
      ValueError: `axes` aren't two different axes.

    >>> import xtrace.numpy as xnp
    >>> xnp.rot90(xnp.array([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    x = as_array("rot90", m)
    ndim = x.aval.ndim
    if ndim < 2:
        raise ValueError(
            f"rot90 requires its first argument to have ndim at least two, but got first argument of shape "
            f"{x.aval.shape}, which has ndim {ndim}"
        )
    if len(axes := statics.integers(axes, "axes")) != 2:
        raise ValueError(f"rot90 takes two axes, got axes={tuple(axes)}")
    first, second = (canonical_axis(i, ndim) for i in axes)
    if first == second:
        raise ValueError(f"Axes must be different, got axes={tuple(axes)} of an array of dimension {ndim}")
    return _rotate(x, statics.integer(k, "k") % 4, first, second)


@composite(static_argnames=("k", "first", "second"))
def _rotate(x: Any, k: int, first: int, second: int) -> Any:
    if k == 0:
        return x
    if k == 2:
        return lax.rev(x, (first, second))
    if k == 1:
        return swapaxes(lax.rev(x, (second,)), first, second)
    return lax.rev(swapaxes(x, first, second), (second,))


def roll(a: Any, shift: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Shift elements along axes; those that leave at one end come back at the other.

    Args:
      a: array of any shape and dtype.
      shift: how far, an int or one for each axis; it may be traced.
      axis: along which axes; None rolls the flattened array and restores its shape.

    Returns:
      An array like `a`.

    Raises:
      ValueError: `shift` and `axis` differ in length.

    >>> import xtrace.numpy as xnp
    >>> xnp.roll(xnp.arange(5), 2)
    Array([3, 4, 0, 1, 2], dtype=int32)
    """
    x = as_array("roll", a)
    static = _static_shift(shift)
    if axis is None:
        flat = (0,)
    else:
        axis = (
            canonical_axes(axis, x.aval.ndim)
            if type(axis) is int or len(set(statics.integers(axis, "axis"))) == len(tuple(axis))
            else tuple([canonical_axis(i, x.aval.ndim) for i in axis])
        )
        flat = axis
    if static is not None:
        return _roll_static(x, _shifts_of(static, flat, axis is None), axis)
    return _roll_dynamic(x, as_array("roll", shift), axis)


def _static_shift(shift: Any) -> tuple[int, ...] | int | None:
    """The shift where it is a Python or NumPy integer, or a sequence of them; None for arrays and tracers."""
    if type(shift) is int:
        return shift
    if isinstance(shift, (tuple, list, np.ndarray)) and np.ndim(shift if isinstance(shift, np.ndarray) else 0) <= 1:
        if isinstance(shift, np.ndarray) and shift.ndim == 0:
            return statics.integer(shift, "shift")
        if all(isinstance(s, (int, np.integer)) for s in shift):
            return statics.integers(shift, "shift")
        if any(hasattr(s, "aval") for s in shift):
            return None
    if hasattr(shift, "aval"):
        return None
    try:
        return statics.integer(shift, "shift")
    except TypeError:
        raise TypeError(f"roll shifts by integers, got shift={shift!r} of type {type(shift).__name__}") from None


def _shifts_of(shift: tuple[int, ...] | int, axes: tuple[int, ...], flattened: bool) -> tuple[int, ...]:
    """One shift an axis; several shifts of one axis add up."""
    if type(shift) is int:
        return (shift,) * len(axes)
    if flattened or len(shift) == 1:  # type: ignore[arg-type]
        return (sum(shift),) * len(axes)  # type: ignore[arg-type]
    if len(axes) not in (1, len(shift)):  # type: ignore[arg-type]
        raise ValueError(f"roll takes one shift for all axes or one for each: got shift={shift} and axis={axes}")
    return (sum(shift),) if len(axes) == 1 else shift  # type: ignore[arg-type,return-value]


@composite(static_argnames=("shifts", "axes"))
def _roll_static(x: Any, shifts: tuple[int, ...], axes: tuple[int, ...] | None) -> Any:
    if axes is None:
        return lax.reshape(_roll_static(lax.reshape(x, (x.size,)), shifts, (0,)), x.shape)
    for shift, axis in zip(shifts, axes):
        size = x.shape[axis]
        start = -shift % size if size else 0
        if start:
            parts = lax.split(x, (start, size - start), axis)
            x = lax.concatenate([parts[1], parts[0]], axis)
    return x


@composite(static_argnames=("axes",))
def _roll_dynamic(x: Any, shift: Any, axes: tuple[int, ...] | None) -> Any:
    if axes is None:
        if shift.ndim:
            shift = lax.reduce_sum(shift, (0,))
        return lax.reshape(_roll_dynamic(lax.reshape(x, (x.size,)), shift, (0,)), x.shape)
    if not dtypes.is_integer(shift.dtype):
        raise TypeError(f"roll shifts by integers, got a shift of dtype {shift.dtype}")
    if shift.ndim > 1 or (shift.ndim == 1 and shift.shape[0] not in (1, len(axes))):
        raise ValueError(
            f"roll takes one shift for all axes or one for each: got a shift of shape {shift.shape} and axis={axes}"
        )
    for i, axis in enumerate(axes):
        size = x.shape[axis]
        if not size:
            continue
        step = lax.index_in_dim(shift, i if shift.shape[0] > 1 else 0, keepdims=False) if shift.ndim else shift
        step = lax.convert_element_type(step, np.int32)
        start = lax.rem(lax.sub(np.int32(size), lax.rem(step, np.int32(size))), np.int32(size))
        twice = lax.concatenate([x, x], axis)
        starts = [np.int32(0)] * x.ndim
        starts[axis] = start
        x = lax.dynamic_slice(twice, starts, x.shape)
    return x


# -- copies and dtypes -------------------------------------------------------------------------------------------


def copy(a: Any, order: str | None = None) -> Any:
    """A copy of an array.

    Args:
      a: array of any shape and dtype.
      order: None, "C", "A" or "K": arrays are row-major.

    Returns:
      An array like `a`, in memory of its own.

    Raises:
      ValueError: another order.

    >>> import xtrace.numpy as xnp
    >>> xnp.copy(xnp.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    if order not in (None, "K", "C", "A"):
        raise ValueError(f"arrays are row-major: copy takes order 'K', 'C' or 'A', got {order!r}")
    x = as_array("copy", a)
    return x if x is not a and not hasattr(a, "aval") else lax.copy_p.bind(x)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """An array converted to another dtype.

    Args:
      x: array of any shape and dtype. Complex to real drops the imaginary part with a warning.
      dtype: the new dtype; None is the default float dtype.
      copy: whether an array that has the dtype already is copied.
      device: a device or sharding to put the result on.

    Returns:
      An array of the shape of `x` and the new dtype.

    >>> import xtrace.numpy as xnp
    >>> xnp.astype(xnp.arange(3), float)
    Array([0., 1., 2.], dtype=float32)
    """
    x = as_array("astype", x)
    new = canonical(float if dtype is None else dtype, "astype")
    old = x.aval.dtype
    if dtypes.kind(new) == "b" and old != new:
        out = lax.ne(x, old.type(0))
    else:
        if dtypes.kind(old) == "c" and dtypes.kind(new) != "c":
            warned.warn(
                "Casting complex values to real discards the imaginary part; take .real if that is meant.",
                np.exceptions.ComplexWarning,
            )
            x = lax.real(x)
        out = lax.convert_element_type(x, new)
    if copy and out is x:
        out = lax.copy_p.bind(out)
    if device is not None:
        from xtrace.runtime import transfers

        out = transfers.device_put(out, device)
    return out


__all__ = [
    "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "copy", "expand_dims", "flip", "fliplr", "flipud", "matrix_transpose", "moveaxis", "permute_dims",
    "ravel", "reshape", "roll", "rollaxis", "rot90", "squeeze", "swapaxes", "transpose",
]  # fmt: skip
