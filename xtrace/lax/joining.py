"""Putting arrays together and taking them apart: concatenate, stack, split, unstack, pad."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import elementwise as _el
from xtrace.lax import reductions as _reductions
from xtrace.lax import shapes, slicing
from xtrace.transforms import batching, zeros
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.jvp import linear
from xtrace.transforms.zeros import UndefinedPrimal, Zero

# -- concatenate -------------------------------------------------------------------------------------------------


def _check_same_dtype(name: str, operands: Sequence[ShapedArray]) -> None:
    dtype = operands[0].dtype
    if any([a.dtype != dtype for a in operands]):
        got = ", ".join(str(a.dtype) for a in operands)
        raise TypeError(
            f"lax.{name} requires arguments to have the same dtypes, got {got}. "
            f"(numpy.{name} promotes its arguments; or cast one with .astype().)"
        )


def _concatenate_aval(*operands: ShapedArray, dimension: int) -> ShapedArray:
    shapes_ = [a.shape for a in operands]
    first = operands[0]
    if len({len(s) for s in shapes_}) > 1:
        raise TypeError(
            f"Cannot concatenate arrays with different numbers of dimensions: got {', '.join(map(str, shapes_))}."
        )
    if not 0 <= dimension < first.ndim:
        raise TypeError(
            f"concatenate dimension out of bounds: dimension {dimension} for shapes {', '.join(map(str, shapes_))}."
        )
    around = (first.shape[:dimension], first.shape[dimension + 1 :])
    if any([(s[:dimension], s[dimension + 1 :]) != around for s in shapes_]):
        raise TypeError(
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one being concatenated: "
            f"concatenating along dimension {dimension} for shapes {', '.join(map(str, shapes_))}."
        )
    _check_same_dtype("concatenate", operands)
    size = sum([s[dimension] for s in shapes_])
    return ShapedArray((*around[0], size, *around[1]), first.dtype, all([a.weak_type for a in operands]))


concatenate_p = Primitive("concatenate", _concatenate_aval)


def concatenate(operands: Any, dimension: int) -> Any:
    """Join arrays along an existing dimension.

    Args:
      operands: arrays of one dtype, of equal shapes except in `dimension`.
      dimension: the dimension along which they follow each other, not negative.

    Returns:
      The joined array.

    Raises:
      ValueError: there is no array.
      TypeError: shapes or dtypes don't fit.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.concatenate([xt.numpy.array([1, 2]), xt.numpy.array([3])], 0).tolist()
      [1, 2, 3]
    """
    operands = statics.parts(operands, "operands", "a sequence of arrays")
    if not operands:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    if len(operands) == 1 and hasattr(operands[0], "aval"):
        return operands[0]
    return concatenate_p.bind(*operands, dimension=statics.integer(dimension, "dimension"))


def _concatenate_transpose(ct: Any, *operands: Any, dimension: int) -> list[Any]:
    sizes = tuple([shaped(x).shape[dimension] for x in operands])
    parts = split_p.bind(ct, sizes=sizes, axis=dimension)
    return [part if type(x) is UndefinedPrimal else None for x, part in zip(operands, parts)]


def _concatenate_batch(axis: MappedAxis, args: Any, dims: Any, *, dimension: int) -> Any:
    moved = [batching.move_axis(x, d, 0, axis.size) for x, d in zip(args, dims)]
    return concatenate_p.bind(*moved, dimension=dimension + 1), 0


linear(concatenate_p, _concatenate_transpose)
concatenate_p.batch = _concatenate_batch

# -- stack -------------------------------------------------------------------------------------------------------


def _stack_aval(*operands: ShapedArray, axis: int) -> ShapedArray:
    shape = operands[0].shape
    if any([a.shape != shape for a in operands]):
        got = ", ".join(str(a.shape) for a in operands)
        raise TypeError(f"stack requires arrays of one shape, got {got}.")
    _check_same_dtype("stack", operands)
    return ShapedArray(
        (*shape[:axis], len(operands), *shape[axis:]), operands[0].dtype, all([a.weak_type for a in operands])
    )


stack_p = Primitive("stack", _stack_aval)


def stack(operands: Any, axis: int = 0) -> Any:
    """Join arrays of one shape and dtype along a new axis.

    Args:
      operands: sequence of arrays.
      axis: where the new axis is in the result.

    Returns:
      The joined array.

    Raises:
      ValueError: there is no array, or no such axis.
      TypeError: shapes or dtypes differ.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.stack([xt.numpy.array([1, 2]), xt.numpy.array([3, 4])], axis=1).tolist()
      [[1, 3], [2, 4]]
    """
    operands = statics.parts(operands, "operands", "a sequence of arrays")
    if not operands:
        raise ValueError("stack requires a non-empty sequence of arrays")
    return stack_p.bind(*operands, axis=shapes.canonical_axis(axis, shaped(operands[0]).ndim + 1))


def _stack_transpose(ct: Any, *operands: Any, axis: int) -> list[Any]:
    return [p if type(x) is UndefinedPrimal else None for x, p in zip(operands, unstack_p.bind(ct, axis=axis))]


def _stack_batch(mapped: MappedAxis, args: Any, dims: Any, *, axis: int) -> Any:
    moved = [batching.move_axis(x, d, 0, mapped.size) for x, d in zip(args, dims)]
    return stack_p.bind(*moved, axis=axis + 1), 0


linear(stack_p, _stack_transpose)
stack_p.batch = _stack_batch

# -- split and unstack -------------------------------------------------------------------------------------------


def _split_aval(x: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> list[ShapedArray]:
    if sum(sizes) != x.shape[axis]:
        raise ValueError(
            f"Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the operand shape {list(x.shape)}"
        )
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    return [ShapedArray((*before, n, *after), x.dtype, x.weak_type) for n in sizes]


split_p = Primitive("split", _split_aval)
split_p.multiple_results = True


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Cut an array into consecutive pieces of the given sizes along `axis`.

    Args:
      operand: an array.
      sizes: the pieces' sizes; they sum to operand's size along axis.
      axis: the axis to cut.

    Returns:
      The list of pieces.

    Raises:
      ValueError: the sizes don't sum to the axis's size, or there is no such axis.

    Example:
      >>> import xtrace as xt
      >>> [p.tolist() for p in xt.lax.split(xt.numpy.array([1, 2, 3]), (1, 2))]
      [[1], [2, 3]]
    """
    axis = shapes.canonical_axis(axis, shaped(operand).ndim)
    return list(split_p.bind(operand, sizes=shapes.canonical_shape(sizes, "split sizes"), axis=axis))


def _split_transpose(cts: Any, x: Any, *, sizes: Any, axis: int) -> list[Any]:
    return [concatenate([zeros.instantiate(ct) for ct in cts], axis)]


def _split_batch(mapped: MappedAxis, args: Any, dims: Any, *, sizes: Any, axis: int) -> Any:
    (d,) = dims
    return split_p.bind(args[0], sizes=sizes, axis=axis + (axis >= d)), [d] * len(sizes)


linear(split_p, _split_transpose)
split_p.batch = _split_batch


def _unstack_aval(x: ShapedArray, *, axis: int) -> list[ShapedArray]:
    return [ShapedArray((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype, x.weak_type)] * x.shape[axis]


unstack_p = Primitive("unstack", _unstack_aval)
unstack_p.multiple_results = True


def unstack(x: Any, axis: int = 0) -> list[Any]:
    """The slices of an array along `axis`, each without that axis.

    Args:
      x: array.
      axis: the axis.

    Returns:
      A list of the slices.

    Raises:
      ValueError: there is no such axis.

    Example:
      >>> import xtrace as xt
      >>> [row.tolist() for row in xt.lax.unstack(xt.numpy.array([[1, 2], [3, 4]]))]
      [[1, 2], [3, 4]]
    """
    axis = shapes.canonical_axis(axis, shaped(x).ndim)
    return list(unstack_p.bind(x, axis=axis)) if shaped(x).shape[axis] else []


def _unstack_transpose(cts: Any, x: Any, *, axis: int) -> list[Any]:
    return [stack([zeros.instantiate(ct) for ct in cts], axis)]


def _unstack_batch(mapped: MappedAxis, args: Any, dims: Any, *, axis: int) -> Any:
    (d,) = dims
    moved = axis + (axis >= d)
    return unstack_p.bind(args[0], axis=moved), [d - (moved < d)] * shaped(args[0]).shape[moved]


linear(unstack_p, _unstack_transpose)
unstack_p.batch = _unstack_batch

# -- pad ---------------------------------------------------------------------------------------------------------

PaddingConfig = tuple[tuple[int, int, int], ...]


def _pad_aval(x: ShapedArray, padding_value: ShapedArray, *, padding_config: PaddingConfig) -> ShapedArray:
    if x.dtype != padding_value.dtype:
        raise TypeError(f"pad operand and padding_value must be same dtype: got {x.dtype} and {padding_value.dtype}.")
    if padding_value.shape:
        raise ValueError(f"padding_value must be a scalar; got np.shape(padding_value)={padding_value.shape}")
    if len(padding_config) != x.ndim:
        raise ValueError(
            "length of padding_config must equal the number of axes of operand, got padding_config "
            f"{padding_config} for operand shape {x.shape}"
        )
    if any([between < 0 for _, _, between in padding_config]):
        raise ValueError(f"interior padding in padding_config must be nonnegative, got padding_config {padding_config}")
    shape = tuple([lo + hi + d + max(d - 1, 0) * between for d, (lo, hi, between) in zip(x.shape, padding_config)])
    if any([d < 0 for d in shape]):
        raise ValueError(
            f"Dimension size after padding is not at least 0, got result shape {shape}, for padding_config "
            f"{padding_config} and operand shape {x.shape}"
        )
    return ShapedArray(shape, x.dtype, x.weak_type and padding_value.weak_type)


pad_p = Primitive("pad", _pad_aval)


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """Put `padding_value` before, after and between the elements of an array.

    Args:
      operand: an array.
      padding_value: a scalar of operand's dtype.
      padding_config: for each dimension (low, high, interior): how many values before, after, and between each two
        neighbours. Negative low and high cut elements off.

    Returns:
      The padded array.

    Raises:
      ValueError: the configuration doesn't fit the array.
      TypeError: dtypes differ.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.pad(xt.numpy.array([1, 2]), 0, [(1, 2, 1)]).tolist()
      [0, 1, 0, 2, 0, 0]
    """
    try:
        config = tuple([(index(lo), index(hi), index(between)) for lo, hi, between in padding_config])
    except (TypeError, ValueError):
        statics.refuse("padding_config", padding_config, "a sequence of (low, high, interior) integers")
    aval = shaped(operand)
    if type(padding_value) in (int, float, complex) and not dtypes.is_extended(aval.dtype):
        weak = dtypes.of_value(padding_value)[0]
        if dtypes.kind(weak) == dtypes.kind(aval.dtype):  # a Python number takes the width of the array
            padding_value = shapes.convert(padding_value, aval.dtype, False)
    return pad_p.bind(operand, padding_value, padding_config=config)


def unpad(x: Any, config: PaddingConfig, shape: tuple[int, ...]) -> Any:
    """The elements of a padded array that came from its operand of `shape`; 0 for those that were cut off."""
    zero = _el.scalar_like(x, 0)
    if any([lo or hi for lo, hi, _ in config]):
        x = pad_p.bind(x, zero, padding_config=tuple([(-lo, -hi, 0) for lo, hi, _ in config]))
    if any([between for _, _, between in config]):
        strides = tuple([between + 1 for _, _, between in config])
        limits = tuple([max(d - 1, 0) * s + (d > 0) for d, s in zip(shape, strides)])
        x = slicing.slice(x, (0,) * len(shape), limits, strides)
    return x


def _pad_transpose(ct: Any, x: Any, padding_value: Any, *, padding_config: PaddingConfig) -> list[Any]:
    out: list[Any] = [None, None]
    kept = None
    if type(x) is UndefinedPrimal:
        kept = out[0] = unpad(ct, padding_config, x.aval.shape)
    if type(padding_value) is UndefinedPrimal:
        if kept is None:
            kept = unpad(ct, padding_config, shaped(x).shape)
        total = _reductions.reduce_sum(ct, tuple(range(len(padding_config))))
        out[1] = _el.sub(total, _reductions.reduce_sum(kept, tuple(range(len(padding_config)))))
    return out


def _pad_jvp(primals: Any, tangents: Any, *, padding_config: PaddingConfig) -> Any:
    out = pad_p.bind(*primals, padding_config=padding_config)
    t, tv = tangents
    if type(t) is Zero and type(tv) is Zero:
        return out, zeros.zero_tangent(out)
    if type(tv) is Zero:  # a literal zero, not an array
        tv = _el.scalar_like(primals[1], 0)
    return out, pad_p.bind(zeros.instantiate(t), tv, padding_config=padding_config)


def _pad_batch(axis: MappedAxis, args: Any, dims: Any, *, padding_config: PaddingConfig) -> Any:
    (x, value), (d, dv) = args, dims
    if dv is None:
        return pad_p.bind(x, value, padding_config=(*padding_config[:d], (0, 0, 0), *padding_config[d:])), d
    # Each example has its own value: pad with anything, then choose.
    from xtrace.lax import selection

    x = batching.move_axis(x, d, 0, axis.size)
    config = ((0, 0, 0), *padding_config)
    padded = pad_p.bind(x, value_of(value), padding_config=config)
    inside = pad_p.bind(shapes.full(shaped(x).shape, True), False, padding_config=config)
    values = shapes.broadcast_in_dim(value, shaped(padded).shape, (0,))
    return selection.select_n(inside, values, padded), 0


def value_of(values: Any) -> Any:
    """Some scalar of the dtype of `values`, a 1-dimensional array."""
    dtype = shaped(values).dtype
    if dtypes.is_extended(dtype):
        return shapes.squeeze(slicing.slice(values, (0,), (1,)), (0,))
    return _el.scalar_like(values, 0)


pad_p.jvp = _pad_jvp
pad_p.transpose = _pad_transpose
pad_p.batch = _pad_batch
