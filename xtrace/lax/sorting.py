"""Sorting along a dimension, and the k greatest elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import creation
from xtrace.transforms.batching import MappedAxis, move_axis
from xtrace.transforms.zeros import Zero, zero_tangent


def _dimension(ndim: int, axis: int, name: str) -> int:
    axis = statics.integer(axis, "axis")
    if not -ndim <= axis < ndim:
        raise ValueError(f"{name}: axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


# -- sort --------------------------------------------------------------------------------------------------------


def _sort_avals(*avals: ShapedArray, dimension: int, is_stable: bool, num_keys: int) -> list[ShapedArray]:
    if any([a.shape != avals[0].shape for a in avals]):
        raise TypeError(f"Arguments to sort must have equal shapes, got: {' '.join([str(a.shape) for a in avals])}")
    return list(avals)


sort_p = Primitive("sort", _sort_avals)
sort_p.multiple_results = True


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sort along a dimension, by one array or by several of which the first counts most.

    Floating numbers are ordered -inf, …, -0.0 and 0.0 as equals, …, inf, NaN; complex ones by real part, then by
    imaginary part.

    Args:
      operand: an array, or a sequence of arrays of one shape that are all brought into the same order.
      dimension: dimension to sort along.
      is_stable: whether equals keep their order.
      num_keys: how many of the arrays, from the first on, decide the order.

    Returns:
      The sorted array, or a tuple of them.

    Raises:
      TypeError: no arrays, or of different shapes.
      ValueError: a dimension that doesn't exist, a num_keys that isn't between 1 and the number of arrays.

    >>> import numpy as np, xtrace as xt
    >>> keys, values = xt.lax.sort((np.array([3, 1, 2]), np.array([30, 10, 20])))
    >>> keys.tolist(), values.tolist()
    ([1, 2, 3], [10, 20, 30])
    """
    several = isinstance(operand, Sequence)
    operands = tuple(operand) if several else (operand,)
    if not operands:
        raise TypeError("Sort requires at least one operand")
    if not 1 <= statics.integer(num_keys, "num_keys") <= len(operands):
        raise ValueError(f"num_keys={num_keys} must be between 1 and len(operand)={len(operands)}")
    dimension = _dimension(shaped(operands[0]).ndim, dimension, "sort")
    out = sort_p.bind(*operands, dimension=dimension, is_stable=bool(is_stable), num_keys=int(num_keys))
    return tuple(out) if several else out[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Sort `keys` along a dimension and bring `values` into the same order.

    Args:
      keys: array of numbers.
      values: array of the same shape.
      dimension: dimension to sort along.
      is_stable: whether equal keys keep their order.

    Returns:
      The two arrays, sorted.

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.sort_key_val(np.array([2, 1]), np.array([5, 6]))[1].tolist()
    [6, 5]
    """
    keys, values = sort((keys, values), dimension, is_stable, 1)
    return keys, values


def argsort(operand: Any, dimension: int = -1, is_stable: bool = True) -> Any:
    """The positions along `dimension` in the order in which sorting puts their elements, as int32 (int64 if needed)."""
    shape = shaped(operand).shape
    dimension = _dimension(len(shape), dimension, "argsort")
    dtype = dtypes.int32 if shape[dimension] < 2**31 else dtypes.int64
    positions = creation.broadcasted_iota(dtype, shape, dimension)
    return sort_p.bind(operand, positions, dimension=dimension, is_stable=is_stable, num_keys=1)[1]


def take_along(x: Any, indices: Any, axis: int) -> Any:
    """Elements of `x` at `indices` along `axis`, all other positions being the same; indices must be in bounds."""
    from xtrace.lax import gathers, shapes

    ndim = shaped(x).ndim
    others = tuple([d for d in range(ndim) if d != axis])
    numbers = gathers.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
    )
    indices = shapes.expand_dims(indices, (ndim,))
    return gathers.gather(x, indices, numbers, (1,) * ndim, mode="promise_in_bounds")


def _sort_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, dimension: int, is_stable: bool, num_keys: int
) -> Any:
    shape = shaped(primals[0]).shape
    if all([type(t) is Zero for t in tangents]):
        outs = sort_p.bind(*primals, dimension=dimension, is_stable=is_stable, num_keys=num_keys)
        return outs, [zero_tangent(o) for o in outs]
    positions = creation.broadcasted_iota(dtypes.uint32, shape, dimension)
    *outs, order = sort_p.bind(*primals, positions, dimension=dimension, is_stable=is_stable, num_keys=num_keys)
    return outs, [
        zero_tangent(o) if type(t) is Zero else take_along(t, order, dimension) for o, t in zip(outs, tangents)
    ]


def _sort_batch(
    axis: MappedAxis, args: Sequence[Any], dims: Sequence[int | None], *, dimension: int, **params: Any
) -> Any:
    mapped = {d for d in dims if d is not None}
    d = mapped.pop() if len(mapped) == 1 else 0
    args = [move_axis(x, own, d, axis.size) for x, own in zip(args, dims)]
    outs = sort_p.bind(*args, dimension=dimension + (d <= dimension), **params)
    return outs, [d] * len(outs)


sort_p.jvp = _sort_jvp
sort_p.batch = _sort_batch

# -- top_k -------------------------------------------------------------------------------------------------------


def _top_k_avals(x: ShapedArray, *, axis: int, is_stable: bool, k: int) -> list[ShapedArray]:
    if dtypes.is_complex(x.dtype):
        raise ValueError("top_k is not compatible with complex inputs.")
    if k < 0:
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    if x.shape[axis] < k:
        raise ValueError(
            f"k argument to top_k must be no larger than size along axis; "
            f"got k={k} with shape={list(x.shape)} and axis={axis}"
        )
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return [ShapedArray(shape, x.dtype, x.weak_type), ShapedArray(shape, dtypes.int32)]


top_k_p = Primitive("top_k", _top_k_avals)
top_k_p.multiple_results = True


def top_k(operand: Any, k: int, *, axis: int = -1, is_stable: bool = True) -> list[Any]:
    """The k greatest elements along a dimension, greatest first, and their positions.

    Args:
      operand: array of real numbers.
      k: how many.
      axis: dimension.
      is_stable: whether equals come in the order of their positions.

    Returns:
      [values, positions]: arrays with k elements along `axis`; positions are int32.

    Raises:
      ValueError: a k that is negative or greater than the dimension, a complex operand.

    >>> import numpy as np, xtrace as xt
    >>> values, positions = xt.lax.top_k(np.array([1, 5, 3]), 2)
    >>> values.tolist(), positions.tolist()
    ([5, 3], [1, 2])
    """
    ndim = shaped(operand).ndim
    if not ndim:
        raise TypeError("top_k needs an array of at least one dimension, got a scalar")
    dimension = _dimension(ndim, axis, "top_k")
    return list(top_k_p.bind(operand, axis=dimension, is_stable=bool(is_stable), k=statics.integer(k, "k")))


def _top_k_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, **params: Any) -> Any:
    values, positions = top_k_p.bind(*primals, axis=axis, **params)
    (t,) = tangents
    tangent = zero_tangent(values) if type(t) is Zero else take_along(t, positions, axis)
    return [values, positions], [tangent, zero_tangent(positions)]


def _top_k_batch(mapped: MappedAxis, args: Sequence[Any], dims: Sequence[Any], *, axis: int, **params: Any) -> Any:
    (d,) = dims
    return top_k_p.bind(args[0], axis=axis + (d <= axis), **params), [d, d]


top_k_p.jvp = _top_k_jvp
top_k_p.batch = _top_k_batch
