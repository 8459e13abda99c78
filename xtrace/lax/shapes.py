"""Operations on shapes: broadcast, reshape, transpose, …; and conversion of dtypes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import reductions as _reductions
from xtrace.transforms import batching, zeros
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.jvp import linear

# -- broadcast_in_dim --------------------------------------------------------------------------------------------


def _broadcast_aval(
    x: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...], sharding: Any
) -> ShapedArray:
    if len(broadcast_dimensions) != x.ndim:
        raise TypeError(
            f"broadcast_in_dim needs one target dimension per operand dimension; operand {x.str_short()}, "
            f"broadcast_dimensions {broadcast_dimensions}"
        )
    for i, d in enumerate(broadcast_dimensions):
        if not 0 <= d < len(shape) or (i and d <= broadcast_dimensions[i - 1]):
            raise TypeError(
                f"broadcast_dimensions must increase and lie in the result's rank, got {broadcast_dimensions} for {shape}"
            )
        if x.shape[i] not in (1, shape[d]):
            raise TypeError(
                f"broadcast_in_dim can't broadcast {x.str_short()} to {shape}: dimension {i} has size {x.shape[i]}, not 1 or {shape[d]}"
            )
    return ShapedArray(shape, x.dtype, x.weak_type)


broadcast_in_dim_p = Primitive("broadcast_in_dim", _broadcast_aval)
broadcast_in_dim_p.hidden_params = frozenset(["sharding", "shape"])


def broadcast_in_dim(
    operand: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int], *, out_sharding: Any = None
) -> Any:
    """Broadcast `operand` to `shape`, its dimension i going to dimension broadcast_dimensions[i]."""
    shape, broadcast_dimensions = tuple(shape), tuple(broadcast_dimensions)
    if shaped(operand).shape == shape:
        return operand
    return broadcast_in_dim_p.bind(
        operand, shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=out_sharding
    )


def _broadcast_transpose(ct: Any, x: Any, *, shape: Any, broadcast_dimensions: Any, sharding: Any) -> list[Any]:
    small = x.aval.shape
    summed = [i for i in range(len(shape)) if i not in broadcast_dimensions]
    widened = [d for i, d in enumerate(broadcast_dimensions) if small[i] == 1 and shape[d] != 1]
    out = _reductions.reduce_sum(ct, tuple(sorted([*summed, *widened])))
    return [reshape(out, small) if widened else out]


def _broadcast_batch(
    axis: MappedAxis, args: Any, dims: Any, *, shape: Any, broadcast_dimensions: Any, sharding: Any
) -> Any:
    x = batching.move_axis(args[0], dims[0], 0, axis.size)
    out = broadcast_in_dim_p.bind(
        x,
        shape=(axis.size, *shape),
        broadcast_dimensions=(0, *(d + 1 for d in broadcast_dimensions)),
        sharding=sharding,
    )
    return out, 0


linear(broadcast_in_dim_p, _broadcast_transpose)
broadcast_in_dim_p.batch = _broadcast_batch


def full(shape: Sequence[int], fill_value: Any, dtype: Any = None) -> Any:
    """An array of `shape` filled with the scalar `fill_value`."""
    shape = tuple(shape)
    weak = dtype is None and dtypes.of_value(fill_value)[1]
    dtype = dtypes.canonical_dtype(dtype) if dtype is not None else dtypes.of_value(fill_value)[0]
    return broadcast_in_dim_p.bind(
        convert_element_type(fill_value, dtype) if not weak else fill_value,
        shape=shape,
        broadcast_dimensions=(),
        sharding=None,
    )


# -- reshape -----------------------------------------------------------------------------------------------------


def _reshape_aval(x: ShapedArray, *, new_sizes: tuple[int, ...], dimensions: Any, sharding: Any) -> ShapedArray:
    if math.prod(new_sizes) != x.size:
        raise TypeError(
            f"cannot reshape array of shape {x.shape} (size {x.size}) into shape {new_sizes} (size {math.prod(new_sizes)})"
        )
    return ShapedArray(new_sizes, x.dtype, x.weak_type)


reshape_p = Primitive("reshape", _reshape_aval)


def reshape(
    operand: Any, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, *, out_sharding: Any = None
) -> Any:
    """Reshape `operand` to `new_sizes`, in row-major order (of its dimensions permuted by `dimensions` if given)."""
    new_sizes = tuple(new_sizes)
    if dimensions is not None and tuple(dimensions) != tuple(range(shaped(operand).ndim)):
        operand = transpose(operand, dimensions)
    if shaped(operand).shape == new_sizes:
        return operand
    return reshape_p.bind(operand, new_sizes=new_sizes, dimensions=None, sharding=out_sharding)


def _reshape_batch(axis: MappedAxis, args: Any, dims: Any, *, new_sizes: Any, dimensions: Any, sharding: Any) -> Any:
    x = batching.move_axis(args[0], dims[0], 0, axis.size)
    return reshape_p.bind(x, new_sizes=(axis.size, *new_sizes), dimensions=None, sharding=sharding), 0


linear(reshape_p, lambda ct, x, **_: [reshape(ct, x.aval.shape)])
reshape_p.batch = _reshape_batch


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """`array` with new dimensions of size 1 at the positions `dimensions` of the result."""
    shape = shaped(array).shape
    rank = len(shape) + len(dimensions)
    places = {d % rank for d in dimensions}
    if not places:
        return array
    old = iter(shape)
    new_shape = tuple([1 if i in places else next(old) for i in range(rank)])
    return broadcast_in_dim(array, new_shape, [i for i in range(rank) if i not in places])


# -- transpose ---------------------------------------------------------------------------------------------------


def _transpose_aval(x: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError(
            f"transpose permutation isn't a permutation of operand dimensions, got permutation {permutation} for operand shape {x.shape}"
        )
    return ShapedArray(tuple([x.shape[i] for i in permutation]), x.dtype, x.weak_type)


transpose_p = Primitive("transpose", _transpose_aval)


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """Permute the dimensions of `operand`: result dimension i is operand dimension permutation[i]."""
    permutation = tuple([int(p) for p in permutation])
    if permutation == tuple(range(len(permutation))) and shaped(operand).ndim == len(permutation):
        return operand
    return transpose_p.bind(operand, permutation=permutation)


def _transpose_batch(axis: MappedAxis, args: Any, dims: Any, *, permutation: Any) -> Any:
    (x,), (d,) = args, dims
    moved = (d, *[p + (p >= d) for p in permutation])
    return transpose(x, moved), 0


linear(transpose_p, lambda ct, x, *, permutation: [transpose(ct, np.argsort(permutation).tolist())])
transpose_p.batch = _transpose_batch

# -- convert_element_type ----------------------------------------------------------------------------------------


def _convert_aval(x: ShapedArray, *, new_dtype: Any, weak_type: bool, sharding: Any) -> ShapedArray:
    return ShapedArray(x.shape, new_dtype, weak_type)


convert_element_type_p = Primitive("convert_element_type", _convert_aval)
convert_element_type_p.elementwise = True
convert_element_type_p.hidden_params = frozenset(["sharding"])


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """`operand` as an array of `new_dtype`; complex to real drops the imaginary part."""
    return convert(operand, dtypes.canonical_dtype(new_dtype), False)


def convert(operand: Any, dtype: Any, weak_type: bool) -> Any:
    """Convert to a canonical dtype and weak type; no operation where nothing changes."""
    aval = getattr(operand, "aval", None)
    if aval is None:
        if type(operand) in dtypes.PYTHON_SCALARS or isinstance(operand, np.generic):
            if not weak_type or dtypes.of_value(operand) != (dtype, True):
                return (
                    np.asarray(operand).astype(dtype)[()]
                    if not weak_type
                    else type(np.zeros((), dtype).item())(operand)
                )
            return operand
        aval = shaped(operand)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return operand
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=weak_type, sharding=None)


def _convert_jvp(primals: Any, tangents: Any, *, new_dtype: Any, weak_type: bool, sharding: Any) -> Any:
    (x,), (t,) = primals, tangents
    out = convert_element_type_p.bind(x, new_dtype=new_dtype, weak_type=weak_type, sharding=sharding)
    if type(t) is zeros.Zero or not dtypes.is_inexact(new_dtype):
        return out, zeros.zero_tangent(out)
    return out, convert_element_type_p.bind(t, new_dtype=new_dtype, weak_type=weak_type, sharding=sharding)


convert_element_type_p.jvp = _convert_jvp
convert_element_type_p.transpose = lambda ct, x, **_: [convert(ct, x.aval.dtype, x.aval.weak_type)]
convert_element_type_p.batch = lambda axis, args, dims, **params: (
    convert_element_type_p.bind(*args, **params),
    dims[0],
)

# -- what the transformations need of this layer -------------------------------------------------------------------


def _make_zeros(aval: ShapedArray) -> Any:
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    zero = np.zeros((), aval.dtype)[()]
    return zero if not aval.shape else full(aval.shape, zero, aval.dtype)


def _move_axis(x: Any, source: int | None, destination: int, size: int) -> Any:
    aval = shaped(x)
    if source is None:
        shape = (*aval.shape[:destination], size, *aval.shape[destination:])
        return broadcast_in_dim(x, shape, [i for i in range(len(shape)) if i != destination])
    permutation = [i for i in range(aval.ndim) if i != source]
    permutation.insert(destination, source)
    return transpose(x, permutation)


def _broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    old = shaped(x).shape
    return broadcast_in_dim(x, shape, range(len(shape) - len(old), len(shape)))


zeros.set_array_makers(_make_zeros, _broadcast_to)
batching.set_axis_mover(_move_axis)
