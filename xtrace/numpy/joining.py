"""Arrays out of arrays: joining, splitting, repeating."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes, errors, statics
from xtrace.core.composite import composite
from xtrace.core.trace import Tracer
from xtrace.lax import joining as _lax_joining
from xtrace.lax import shapes as _shapes
from xtrace.numpy import manipulation
from xtrace.numpy.arguments import as_array, canonical_axis, canonical_shape
from xtrace.numpy.promotion import check_arraylike
from xtrace.runtime.jaxlib_api import ArrayImpl
from xtrace.transforms.placement import held

# -- joining -----------------------------------------------------------------------------------------------------


def _parts(name: str, arrays: Any, dtype: Any) -> tuple[list[Any], tuple[Any, bool] | None]:
    """The arrays to join, and the dtype and weak type they must be converted to first (None: they agree already)."""
    if isinstance(arrays, (ArrayImpl, Tracer, np.ndarray)):
        arrays = unstack(arrays)
    try:
        arrays = list(arrays)
    except TypeError:
        raise TypeError(f"{name} takes a sequence of arrays, got {type(arrays)}") from None
    first = getattr(arrays[0], "aval", None) if arrays else None
    agree = first is not None
    for i, x in enumerate(arrays):
        aval = getattr(x, "aval", None)
        if aval is None:
            _check_part(name, x, i)
            arrays[i] = x = as_array(name, x)
            agree = False
        elif agree and (aval.dtype is not first.dtype or aval.weak_type != first.weak_type):
            agree = False
    if dtype is not None:
        return arrays, (dtypes.canonical_dtype(dtype), False)
    if agree or not arrays:
        return arrays, None
    return arrays, dtypes.promote(tuple([(x.aval.dtype, x.aval.weak_type) for x in arrays]))


def _check_part(name: str, x: Any, position: int) -> None:
    try:
        check_arraylike(name, x)
    except TypeError as e:
        raise TypeError(str(e).replace("at position 0", f"at position {position}")) from None


@composite(static_argnames=("how", "axis", "dtype", "weak_type"))
def _convert_and_join(parts: list[Any], how: Callable[..., Any], axis: int, dtype: Any, weak_type: bool) -> Any:
    return how([_shapes.convert(x, dtype, weak_type) for x in parts], axis)


def _join(parts: list[Any], how: Callable[..., Any], axis: int, to: tuple[Any, bool] | None) -> Any:
    if to is None or all([x.aval.dtype == to[0] and x.aval.weak_type == to[1] for x in parts]):
        return how(parts, axis)
    return _convert_and_join(parts, how=how, axis=axis, dtype=to[0], weak_type=to[1])


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Join arrays along an axis that they have.

    Args:
      arrays: sequence of arrays whose shapes agree but for that axis; an array stands for the sequence of its rows.
      axis: the axis; None joins the flattened arrays.
      dtype: the dtype of the result; None promotes.

    Returns:
      The joined array.

    Raises:
      ValueError: there are no arrays, or they have no dimensions.
      TypeError: their shapes disagree.

    >>> import xtrace.numpy as xnp
    >>> xnp.concatenate([xnp.arange(2), xnp.arange(3)])
    Array([0, 1, 0, 1, 2], dtype=int32)
    """
    parts, to = _parts("concatenate", arrays, dtype)
    if not parts:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        parts, axis = [manipulation.ravel(x) for x in parts], 0
    ndim = parts[0].aval.ndim
    if ndim == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated. numpy.stack gives them an axis.")
    return _join(parts, _concatenate, canonical_axis(axis, ndim), to)


def _concatenate(parts: list[Any], axis: int) -> Any:
    return parts[0] if len(parts) == 1 else lax.concatenate(parts, axis)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """`concatenate` under its array API name.

    Args:
      arrays: sequence of arrays whose shapes agree but for `axis`.
      axis: the axis; None joins the flattened arrays.

    Returns:
      The joined array, in the dtype they promote to.

    Raises:
      ValueError: there are no arrays, or they have no dimensions.
      TypeError: their shapes disagree.

    >>> import xtrace.numpy as xnp
    >>> xnp.concat([xnp.zeros((1, 2)), xnp.ones((1, 2))], axis=1)
    Array([[0., 0., 1., 1.]], dtype=float32)
    """
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Join arrays of one shape along a new axis.

    Args:
      arrays: sequence of arrays of one shape, or an array that stands for the sequence of its rows.
      axis: where the new axis is in the result.
      out: must be None: arrays can't be written to.
      dtype: the dtype of the result; None promotes.

    Returns:
      The joined array.

    Raises:
      ValueError: there are no arrays, or their shapes differ.

    >>> import xtrace.numpy as xnp
    >>> xnp.stack([xnp.arange(2), xnp.arange(2)], axis=1).tolist()
    [[0, 0], [1, 1]]
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to numpy.stack is not supported: arrays can't be written to.")
    parts, to = _parts("stack", arrays, dtype)
    if not parts:
        raise ValueError("Need at least one array to stack.")
    shape = parts[0].aval.shape
    for x in parts:
        if x.aval.shape != shape:
            kind = "shapes" if x.aval.ndim == len(shape) else "numbers of dimensions"
            got = ", ".join(str(p.aval.shape) for p in parts)
            raise ValueError(f"Cannot stack arrays with different {kind}: got {got}.")
    return _join(parts, lax.stack, canonical_axis(axis, len(shape) + 1), to)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices of an array along an axis, without that axis.

    Args:
      x: array of one or more dimensions.
      axis: the axis.

    Returns:
      A tuple of the slices.

    >>> import xtrace.numpy as xnp
    >>> xnp.unstack(xnp.array([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    x = as_array("unstack", x)
    axis = canonical_axis(axis, x.aval.ndim)
    return tuple(lax.unstack(x, axis)) if x.aval.shape[axis] else ()


def _stacker(name: str, doc: str, at_least: Callable[..., Any], axis: Callable[[int], int]) -> Callable[..., Any]:
    """vstack and its kin: bring arrays to a rank, then concatenate along the axis that goes with it."""

    def join(tup: Any, dtype: Any = None) -> Any:
        parts, to = _parts(name, tup, dtype)
        if not parts:
            raise ValueError("Need at least one array to concatenate.")
        parts = [at_least(x) for x in parts]
        return _join(parts, _concatenate, axis(parts[0].aval.ndim), to)

    join.__name__ = join.__qualname__ = name
    join.__doc__ = doc
    return join


vstack = _stacker(
    "vstack",
    """Join arrays along the first axis; one-dimensional arrays are rows.

    Args:
      tup: sequence of arrays, or an array that stands for the sequence of its rows.
      dtype: the dtype of the result; None promotes.

    Returns:
      The joined array.

    Raises:
      ValueError: there are no arrays.
      TypeError: their shapes disagree.

    >>> import xtrace.numpy as xnp
    >>> xnp.vstack([xnp.arange(2), xnp.arange(2)]).tolist()
    [[0, 1], [0, 1]]
    """,
    lambda x: manipulation.atleast_2d(x),
    lambda ndim: 0,
)

hstack = _stacker(
    "hstack",
    """Join arrays along the second axis, or the first if they have only one.

    Args:
      tup: sequence of arrays, or an array that stands for the sequence of its rows.
      dtype: the dtype of the result; None promotes.

    Returns:
      The joined array.

    Raises:
      ValueError: there are no arrays.
      TypeError: their shapes disagree.

    >>> import xtrace.numpy as xnp
    >>> xnp.hstack([xnp.arange(2), xnp.arange(2)])
    Array([0, 1, 0, 1], dtype=int32)
    """,
    lambda x: manipulation.atleast_1d(x),
    lambda ndim: 0 if ndim == 1 else 1,
)

dstack = _stacker(
    "dstack",
    """Join arrays along the third axis, which is added where they lack it.

    Args:
      tup: sequence of arrays, or an array that stands for the sequence of its rows.
      dtype: the dtype of the result; None promotes.

    Returns:
      The joined array.

    Raises:
      ValueError: there are no arrays.
      TypeError: their shapes disagree.

    >>> import xtrace.numpy as xnp
    >>> xnp.dstack([xnp.arange(2), xnp.arange(2)]).shape
    (1, 2, 2)
    """,
    lambda x: manipulation.atleast_3d(x),
    lambda ndim: 2,
)


def _as_columns(x: Any) -> Any:
    ndim = x.aval.ndim
    return x if ndim >= 2 else manipulation.expand_dims(x, (0, 1) if ndim == 0 else (1,))


_column_stack = _stacker("column_stack", "", _as_columns, lambda ndim: 1)


def column_stack(tup: Any) -> Any:
    """Join arrays along the second axis; one-dimensional arrays are columns.

    Args:
      tup: sequence of arrays of one or two dimensions and one number of rows.

    Returns:
      An array of two dimensions.

    >>> import xtrace.numpy as xnp
    >>> xnp.column_stack([xnp.arange(2), xnp.arange(2)]).tolist()
    [[0, 0], [1, 1]]
    """
    return _column_stack(tup)


def block(arrays: Any) -> Any:
    """Assemble an array from nested lists of blocks: the innermost lists join along the last axis, and so on outwards.

    Args:
      arrays: array, or lists of arrays, all nested equally deep.

    Returns:
      The assembled array.

    Raises:
      ValueError: a list is empty, or lists are nested unequally deep.
      TypeError: a tuple where a list belongs, or shapes that don't fit.

    >>> import xtrace.numpy as xnp
    >>> one = xnp.ones((1, 1))
    >>> xnp.block([[one, 2 * one], [3 * one, 4 * one]]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    depths = set(_depths(arrays))
    if len(depths) > 1:
        raise ValueError(
            "Mismatched list depths in numpy.block: all blocks must be nested equally deep, "
            f"found depths {sorted(depths)}"
        )
    return _block(arrays, depth=depths.pop())


def _depths(arrays: Any, depth: int = 0) -> list[int]:
    if isinstance(arrays, tuple):
        raise ValueError(f"numpy.block does not allow tuples, got {arrays}. Blocks are nested in lists.")
    if not isinstance(arrays, list):
        return [depth]
    if not arrays:
        raise ValueError("numpy.block does not allow empty list arguments")
    return [d for a in arrays for d in _depths(a, depth + 1)]


@composite(static_argnames=("depth",))
def _block(arrays: Any, depth: int) -> Any:
    def assemble(blocks: Any, level: int) -> Any:
        """Join what lies `level` lists deep; the innermost lists have level `depth`, and join along the last axis."""
        if not isinstance(blocks, list):
            x = as_array("block", blocks)
            return manipulation.expand_dims(x, tuple(range(depth - x.ndim))) if x.ndim < depth else x
        parts = [assemble(b, level + 1) for b in blocks]
        rank = max([p.ndim for p in parts])
        parts = [manipulation.expand_dims(p, tuple(range(rank - p.ndim))) for p in parts]
        return concatenate(parts, axis=rank - 1 - (depth - level - 1))

    return assemble(arrays, 0)


@composite(static_argnames=("axis",))
def _append(arr: Any, values: Any, axis: int | None) -> Any:
    return concatenate([arr, values], axis)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """An array with values joined to its end.

    Args:
      arr: array of any shape and dtype.
      values: what to append; of the shape of `arr` but for `axis`.
      axis: along which axis; None joins the flattened arrays.

    Returns:
      The joined array.

    >>> import xtrace.numpy as xnp
    >>> xnp.append(xnp.arange(3), 9)
    Array([0, 1, 2, 9], dtype=int32)
    """
    check_arraylike("append", arr, values)
    return _append(arr, values, axis=axis)


# -- splitting ---------------------------------------------------------------------------------------------------


def _static_int(x: Any, what: str) -> int:
    """An integer that decides about shapes; `what` says the argument that it is, or is part of."""
    if isinstance(x, Tracer) and x.to_concrete_value() is None:
        raise errors.ConcretizationTypeError(x, f"It is {what}, which decides about a shape.", wanted="int")
    return statics.integer(x, what)


def _sizes(name: str, given: Any, size: int, equal: bool) -> tuple[int, ...]:
    """The sizes of the parts of an axis of length `size`, for split points or a number of sections."""
    if isinstance(given, (tuple, list)) or np.ndim(given) > 0:
        bounds = [_static_int(p, f"a split point of {name}") for p in given]
        bounds = [min(p if p >= 0 else max(p + size, 0), size) for p in bounds]
        sizes = [end - start for start, end in zip([0, *bounds], [*bounds, size], strict=True)]
        if min(sizes) < 0:
            raise ValueError(f"{name} needs split points in increasing order, got {tuple(given)}")
        return tuple(sizes)
    sections = _static_int(given, f"the number of sections of {name}")
    if sections <= 0:
        raise ValueError(f"{name}: the number of sections must be larger than 0, got {sections}")
    each, rest = divmod(size, sections)
    if equal and rest:
        raise ValueError(
            f"array split does not result in an equal division: rest is {rest}. "
            f"numpy.array_split cuts a size of {size} into {sections} unequal sections."
        )
    return (each + 1,) * rest + (each,) * (sections - rest)


def _split(name: str, ary: Any, given: Any, axis: int, equal: bool) -> list[Any]:
    x = as_array(name, ary)
    shape = x.aval.shape
    axis = canonical_axis(axis, len(shape))
    return list(_lax_joining.split_p.bind(x, sizes=_sizes(name, given, shape[axis], equal), axis=axis))


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Cut an array into parts along an axis.

    Args:
      ary: array of any shape and dtype.
      indices_or_sections: the number of equal parts, or the sequence of indices at which to cut.
      axis: the axis to cut.

    Returns:
      A list of the parts.

    Raises:
      ValueError: the axis can't be cut into that many equal parts.

    >>> import xtrace.numpy as xnp
    >>> xnp.split(xnp.arange(4), [1, 3])
    [Array([0], dtype=int32), Array([1, 2], dtype=int32), Array([3], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis, True)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """`split`, where a number of sections need not divide the axis: the first parts are then one longer.

    Args:
      ary: array of any shape and dtype.
      indices_or_sections: the number of parts, or the sequence of indices at which to cut.
      axis: the axis to cut.

    Returns:
      A list of the parts.

    >>> import xtrace.numpy as xnp
    >>> [x.size for x in xnp.array_split(xnp.arange(5), 3)]
    [2, 2, 1]
    """
    return _split("array_split", ary, indices_or_sections, axis, False)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut an array along its first axis.

    Args:
      ary: array that has this axis.
      indices_or_sections: the number of equal parts, or the sequence of indices at which to cut.

    Returns:
      A list of the parts.

    Raises:
      ValueError: the axis can't be cut into that many equal parts, or isn't there.

    >>> import xtrace.numpy as xnp
    >>> [x.shape for x in xnp.vsplit(xnp.ones((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split("vsplit", ary, indices_or_sections, 0, True)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut an array along its second axis, or the first if it has only one.

    Args:
      ary: array that has this axis.
      indices_or_sections: the number of equal parts, or the sequence of indices at which to cut.

    Returns:
      A list of the parts.

    Raises:
      ValueError: the axis can't be cut into that many equal parts, or isn't there.

    >>> import xtrace.numpy as xnp
    >>> [x.shape for x in xnp.hsplit(xnp.ones((4, 2)), 2)]
    [(4, 1), (4, 1)]
    """
    x = as_array("hsplit", ary)
    return _split("hsplit", x, indices_or_sections, 0 if x.aval.ndim == 1 else 1, True)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut an array along its third axis.

    Args:
      ary: array that has this axis.
      indices_or_sections: the number of equal parts, or the sequence of indices at which to cut.

    Returns:
      A list of the parts.

    Raises:
      ValueError: the axis can't be cut into that many equal parts, or isn't there.

    >>> import xtrace.numpy as xnp
    >>> [x.shape for x in xnp.dsplit(xnp.ones((1, 1, 4)), 2)]
    [(1, 1, 2), (1, 1, 2)]
    """
    return _split("dsplit", ary, indices_or_sections, 2, True)


# -- repeating ---------------------------------------------------------------------------------------------------


def tile(A: Any, reps: Any) -> Any:
    """An array put beside itself a number of times along each axis.

    Args:
      A: array of any shape and dtype.
      reps: how many times, an int or one for each of the last axes; more than `A` has axes adds leading ones.

    Returns:
      The repeated array.

    Raises:
      ValueError: a count is negative.

    >>> import xtrace.numpy as xnp
    >>> xnp.tile(xnp.arange(2), (2, 2)).tolist()
    [[0, 1, 0, 1], [0, 1, 0, 1]]
    """
    x = as_array("tile", A)
    given = tuple(reps) if hasattr(reps, "__iter__") and np.ndim(reps) > 0 else (reps,)
    counts = tuple([_static_int(r, "the repetitions of tile") for r in given])
    if counts and min(counts) < 0:
        raise ValueError(f"tile can't repeat a negative number of times, got reps={counts}")
    ndim = x.aval.ndim
    counts = (1,) * (ndim - len(counts)) + counts
    if len(counts) > ndim:
        x = manipulation.expand_dims(x, tuple(range(len(counts) - ndim)))
    return x if set(counts) <= {1} else lax.tile(x, counts)


def repeat(
    a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None, out_sharding: Any = None
) -> Any:
    """Each element of an array repeated in place.

    Args:
      a: array of any shape and dtype.
      repeats: how many times, a number for all or an array with one for each element along the axis.
      axis: the axis along which to repeat; None repeats the elements of the flattened array.
      total_repeat_length: the size of the result along the axis, needed where `repeats` is traced. A longer result is
        cut; a shorter one is filled with the last element.
      out_sharding: how the result is laid out over devices.

    Returns:
      The array with its elements repeated.

    Raises:
      ConcretizationTypeError: `repeats` is traced and `total_repeat_length` isn't given.

    >>> import xtrace.numpy as xnp
    >>> xnp.repeat(xnp.array([7, 8]), xnp.array([1, 3]))
    Array([7, 8, 8, 8], dtype=int32)
    """
    x = as_array("repeat", a)
    if not isinstance(repeats, int):
        if isinstance(repeats, (list, tuple)):
            check_arraylike("repeat", a, repeats)
        repeats = as_array("repeat", repeats)
    if axis is None:
        x, axis = manipulation.ravel(x), 0
    axis = canonical_axis(axis, x.aval.ndim)
    if total_repeat_length is not None:
        total_repeat_length = _static_int(total_repeat_length, "total_repeat_length of repeat")
    out = _repeat(x, repeats, axis, total_repeat_length)
    return held("repeat", out, out_sharding)


def _repeat(x: Any, repeats: Any, axis: int, total: int | None) -> Any:
    size = x.shape[axis]
    if isinstance(repeats, int) and total is None:
        if repeats < 0:
            raise ValueError(f"repeats may not contain negative values, got {repeats}")
        return _repeat_evenly(x, times=int(repeats), axis=axis)
    known = repeats if isinstance(repeats, (int, np.ndarray)) else _known_value(repeats)
    if known is None:
        if total is None:
            raise errors.ConcretizationTypeError(
                repeats,
                "The number of repeats decides about the result's shape. "
                "Pass total_repeat_length to repeat, or make repeats static.",
            )
        return _repeat_traced(x, repeats, axis=axis, total=total)
    counts = np.ravel(np.asarray(known))
    if dtypes.kind(counts.dtype) not in "iub":
        raise TypeError(f"repeats must be integers, got dtype {counts.dtype}")
    if counts.size == 1:
        counts = np.broadcast_to(counts, (size,))
    if counts.size != size:
        raise ValueError(
            f"repeat needs one number for each of the {size} elements along axis {axis}, got {counts.size}"
        )
    if counts.size and counts.min() < 0:
        raise ValueError("repeats may not contain negative values")
    indices = np.repeat(np.arange(size, dtype=np.int32), counts.astype(np.int64))
    if total is not None:
        filler = np.full(max(total - indices.size, 0), max(size - 1, 0), np.int32)
        indices = np.concatenate([indices[:total], filler])
    return _rows(x, indices, axis=axis)


def _known_value(x: Any) -> Any:
    """The value of an array, or of a tracer that has one, as a NumPy array; None for others."""
    concrete = x.to_concrete_value() if isinstance(x, Tracer) else x
    return None if concrete is None or isinstance(concrete, Tracer) else np.asarray(concrete)


@composite(static_argnames=("times", "axis"))
def _repeat_evenly(x: Any, times: int, axis: int) -> Any:
    shape = x.shape
    wide = (*shape[: axis + 1], times, *shape[axis + 1 :])
    out = lax.broadcast_in_dim(x, wide, [i for i in range(len(wide)) if i != axis + 1])
    return lax.reshape(out, (*shape[:axis], shape[axis] * times, *shape[axis + 1 :]))


@composite(static_argnames=("axis",))
def _rows(x: Any, indices: Any, axis: int) -> Any:
    """The slices of x along an axis, at indices known to be in bounds."""
    return x.at[(slice(None),) * axis + (indices,)].get(mode="promise_in_bounds")


@composite(static_argnames=("axis", "total"))
def _repeat_traced(x: Any, repeats: Any, axis: int, total: int) -> Any:
    size = x.shape[axis]
    counts = manipulation.ravel(repeats)
    if not dtypes.is_integer(counts.dtype):
        raise TypeError(f"repeats must be integers, got dtype {counts.dtype}")
    if counts.shape[0] == 1 and size != 1:
        counts = manipulation.broadcast_to(counts, (size,))
    if counts.shape[0] != size:
        raise ValueError(
            f"repeat needs one number for each of the {size} elements along axis {axis}, got {counts.shape[0]}"
        )
    if total == 0 or size == 0:
        return lax.full((*x.shape[:axis], total, *x.shape[axis + 1 :]), x.dtype.type(0), x.dtype)
    # Element i of the result is the first one whose repeats end beyond i: as many ends lie at or before i.
    ends = lax.cumsum(lax.convert_element_type(counts, np.int32))
    marks = manipulation.broadcast_to(np.int32(0), (total,))
    ended = marks.at[ends].add(1, mode="drop")
    indices = lax.min(lax.cumsum(ended), manipulation.broadcast_to(np.int32(max(size - 1, 0)), (total,)))
    return _rows(x, indices, axis=axis)


def resize(a: Any, new_shape: Any) -> Any:
    """The elements of an array in another shape: repeated from the start where more are needed, cut where fewer are.

    Args:
      a: array of any shape and dtype.
      new_shape: an int or a sequence of them.

    Returns:
      An array of that shape.

    Raises:
      ValueError: a size is negative.

    >>> import xtrace.numpy as xnp
    >>> xnp.resize(xnp.arange(3), (2, 2)).tolist()
    [[0, 1], [2, 0]]
    """
    x = as_array("resize", a)
    shape = canonical_shape(new_shape)
    if shape and min(shape) < 0:
        raise ValueError(f"all elements of `new_shape` must be non-negative, got {shape}")
    return _resize(x, shape=shape)


@composite(static_argnames=("shape",))
def _resize(x: Any, shape: tuple[int, ...]) -> Any:
    size = math.prod(shape)
    if size == 0 or x.size == 0:
        return lax.full(shape, x.dtype.type(0), x.dtype)
    flat = manipulation.ravel(x)
    times = -(-size // flat.shape[0])
    if times > 1:
        flat = lax.tile(flat, (times,))
    return lax.reshape(lax.slice(flat, (0,), (size,)), shape)


__all__ = [
    "append", "array_split", "block", "column_stack", "concat", "concatenate", "dsplit", "dstack", "hsplit",
    "hstack", "repeat", "resize", "split", "stack", "tile", "unstack", "vsplit", "vstack",
]  # fmt: skip
