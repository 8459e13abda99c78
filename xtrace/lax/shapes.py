"""Operations on shapes: broadcast, reshape, transpose, …; and conversion of dtypes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from xtrace.core import dtypes, statics, warned
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, scalar_of, shaped
from xtrace.core.trace import Tracer, current
from xtrace.lax import reductions as _reductions
from xtrace.transforms import batching, zeros
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.jvp import linear
from xtrace.transforms.placement import held

# -- checking what the user gave -----------------------------------------------------------------------------------


def canonical_shape(shape: Any, what: str = "Shapes") -> tuple[int, ...]:
    """A shape as a tuple of ints. Raises TypeError for traced, fractional and negative sizes."""
    if type(shape) is tuple and all([type(d) is int and d >= 0 for d in shape]):
        return shape
    try:
        sizes = tuple([index(d) for d in shape])
    except TypeError:
        if isinstance(shape, (int, np.integer)):
            sizes = (index(shape),)
        else:
            hint = (
                " Sizes can't be traced values: they are part of the compiled program. Take them from x.shape, or pass "
                "the argument as static (static_argnums or static_argnames of jit)."
                if any(isinstance(d, Tracer) for d in (shape if isinstance(shape, (tuple, list)) else [shape]))
                else ""
            )
            raise TypeError(
                statics.told(f"{what} must be 1D sequences of concrete values of integer type, got {shape}.{hint}")
            ) from None
    if any([d < 0 for d in sizes]):
        raise TypeError(statics.told(f"{what} must have every element be nonnegative, got {sizes}."))
    return sizes


def canonical_axis(axis: Any, ndim: int) -> int:
    """`axis` as a nonnegative int. Raises ValueError if there is no such axis."""
    found = statics.integer(axis, "axis")
    if not -ndim <= found < ndim:
        raise ValueError(statics.told(f"axis {found} is out of bounds for array of dimension {ndim}"))
    return found % ndim if found < 0 else found


# -- broadcast_in_dim --------------------------------------------------------------------------------------------


def _broadcast_aval(
    x: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...], sharding: Any
) -> ShapedArray:
    if len(broadcast_dimensions) != x.ndim:
        raise TypeError(
            "broadcast_in_dim broadcast_dimensions must have length equal to operand ndim: one for each dimension of "
            f"it; operand {x.str_short()}, broadcast_dimensions {broadcast_dimensions}"
        )
    for i, d in enumerate(broadcast_dimensions):
        if not 0 <= d < len(shape):
            raise TypeError(
                "broadcast_in_dim broadcast_dimensions must be a subset of output dimensions, got "
                f"{broadcast_dimensions} for {x.str_short()} and shape {shape}"
            )
        if i and d <= broadcast_dimensions[i - 1]:
            raise TypeError(
                f"broadcast_in_dim broadcast_dimensions must differ, got {broadcast_dimensions} for {x.str_short()}"
            )
        if x.shape[i] not in (1, shape[d]):
            raise TypeError(
                f"broadcast_in_dim can't broadcast {x.str_short()} to {shape}: dimension {i} has size {x.shape[i]}, "
                f"not 1 or {shape[d]}"
            )
    return ShapedArray(shape, x.dtype, x.weak_type)


broadcast_in_dim_p = Primitive("broadcast_in_dim", _broadcast_aval)
broadcast_in_dim_p.hidden_where_empty = frozenset(["broadcast_dimensions"])
broadcast_in_dim_p.hidden_params = frozenset(["sharding", "shape"])


def broadcast_in_dim(
    operand: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int], *, out_sharding: Any = None
) -> Any:
    """Broadcast `operand` to `shape`, its dimension i going to dimension broadcast_dimensions[i].

    Args:
      operand: an array.
      shape: the result's shape. Where operand has a dimension, its size there is the same or 1 in operand.
      broadcast_dimensions: a dimension of the result for each dimension of operand, all different.
      out_sharding: placement of the result.

    Returns:
      The array of shape `shape`.

    Raises:
      TypeError: sizes or numbers of dimensions don't fit.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.broadcast_in_dim(xt.numpy.array([1, 2]), (2, 3), (0,)).tolist()
      [[1, 1, 1], [2, 2, 2]]
    """
    shape = canonical_shape(shape)
    dims = statics.integers(broadcast_dimensions, "broadcast_dimensions")
    for i in range(1, len(dims)):
        if dims[i] < dims[i - 1]:  # the primitive's increase
            if len(dims) == shaped(operand).ndim:
                order = sorted(range(len(dims)), key=dims.__getitem__)
                operand, dims = transpose(operand, order), tuple(sorted(dims))
            break
    aval = getattr(operand, "aval", None)
    if aval is not None and aval.shape == shape and dims == tuple(range(len(shape))):
        return held("broadcast_in_dim", operand, out_sharding)
    out = broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=dims, sharding=None)
    return held("broadcast_in_dim", out, out_sharding)


def broadcast(operand: Any, sizes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """`operand` repeated along new leading dimensions of the given `sizes`.

    Args:
      operand: array.
      sizes: of the new dimensions.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of shape (*sizes, *operand.shape).

    Example:
      >>> import xtrace as xt
      >>> xt.lax.broadcast(xt.numpy.array([1, 2]), (3,)).shape
      (3, 2)
    """
    sizes = canonical_shape(sizes)
    if not sizes and hasattr(operand, "aval"):
        return operand
    shape = shaped(operand).shape
    return broadcast_in_dim(
        operand, (*sizes, *shape), range(len(sizes), len(sizes) + len(shape)), out_sharding=out_sharding
    )


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """`arr` repeated to the shape of another array, aligned at the trailing dimensions as NumPy aligns them.

    Args:
      arr: the array to repeat; each dimension has the size of the other array's, or 1.
      like_arr: the array whose shape is wanted, of at least as many dimensions. Its dtype and values do not matter.

    Returns:
      An array of the shape of `like_arr` and the dtype of `arr`.

    Raises:
      ValueError: the shapes do not fit.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.broadcast_like(xt.numpy.array([1, 2]), xt.numpy.zeros((3, 2))).shape
      (3, 2)
    """
    shape, wanted = shaped(arr).shape, shaped(like_arr).shape
    if len(shape) > len(wanted) or any(d not in (1, w) for d, w in zip(shape[::-1], wanted[::-1], strict=False)):
        raise ValueError(f"broadcast_like: arr of shape {shape} can't be repeated to the shape {wanted} of like_arr")
    kept = [i for i, d in enumerate(shape) if d == wanted[len(wanted) - len(shape) + i]]
    dropped = [i for i in range(len(shape)) if i not in kept]
    if dropped:
        arr = squeeze(arr, dropped)
    return broadcast_in_dim(arr, wanted, [len(wanted) - len(shape) + i for i in kept])


def shape_as_value(shape: Sequence[int]) -> np.ndarray:
    """A shape as the int32 array of its sizes.

    Args:
      shape: the shape.

    Returns:
      A NumPy vector.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.shape_as_value((2, 3))
      array([2, 3], dtype=int32)
    """
    return np.asarray(canonical_shape(shape), np.int32)


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """`x` with leading dimensions of size 1, so that it has `rank` dimensions.

    Args:
      x: array.
      rank: number of dimensions, at least that of `x`.

    Returns:
      An array with that many dimensions.

    Raises:
      ValueError: `x` has more dimensions.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.lax.broadcast_to_rank(np.arange(3), 2).shape
      (1, 3)
    """
    ndim = shaped(x).ndim
    if ndim > statics.integer(rank, "rank"):
        raise ValueError(f"broadcast_to_rank: x has {ndim} dimensions already, more than the rank {rank} asked for")
    return x if ndim == rank else expand_dims(x, range(rank - ndim))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of the given shapes broadcast to by NumPy's rules.

    Args:
      *shapes: the shapes.

    Returns:
      The shape, a tuple.

    Raises:
      ValueError: sizes differ and neither is 1.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    if len(shapes) == 1:
        return canonical_shape(shapes[0])
    canonical = [canonical_shape(s) for s in shapes]
    rank = max(map(len, canonical), default=0)
    result = [1] * rank
    for shape in canonical:
        for i, d in enumerate(shape, rank - len(shape)):
            if d != 1:
                if result[i] not in (1, d):
                    raise ValueError(f"Incompatible shapes for broadcasting: shapes={canonical}")
                result[i] = d
    return tuple(result)


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


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of `shape` filled with the scalar `fill_value`.

    Args:
      shape: sizes of the dimensions.
      fill_value: a scalar.
      dtype: dtype of the result; by default that of fill_value, weak if it is a Python number.
      sharding: placement of the result.

    Returns:
      The array.

    Raises:
      TypeError: fill_value isn't a scalar.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.full((2,), 1.5).tolist()
      [1.5, 1.5]
    """
    shape = canonical_shape(shape)
    if shaped(fill_value).shape:
        raise TypeError(f"full must be called with scalar fill_value, got fill_value.shape {shaped(fill_value).shape}.")
    weak = dtype is None and dtypes.of_value(fill_value)[1]
    dtype = dtypes.canonical_dtype(dtype) if dtype is not None else dtypes.of_value(fill_value)[0]
    value = fill_value if weak else convert_element_type(fill_value, dtype)
    return broadcast_in_dim_p.bind(value, shape=shape, broadcast_dimensions=(), sharding=sharding)


# -- reshape -----------------------------------------------------------------------------------------------------


def _reshape_aval(x: ShapedArray, *, new_sizes: tuple[int, ...], dimensions: Any, sharding: Any) -> ShapedArray:
    if math.prod(new_sizes) != x.size:
        raise TypeError(
            f"cannot reshape array of shape {x.shape} (size {x.size}) into shape {new_sizes} "
            f"(size {math.prod(new_sizes)})"
        )
    return ShapedArray(new_sizes, x.dtype, x.weak_type)


reshape_p = Primitive("reshape", _reshape_aval)


def reshape(operand: Any, new_sizes: Any, dimensions: Sequence[int] | None = None, *, out_sharding: Any = None) -> Any:
    """Reshape `operand` to `new_sizes`, in row-major order (of its dimensions permuted by `dimensions` if given).

    Args:
      operand: an array.
      new_sizes: sizes of the result's dimensions; their product is operand's size.
      dimensions: the order in which operand's dimensions are read.
      out_sharding: placement of the result.

    Returns:
      The array of shape new_sizes.

    Raises:
      TypeError: the sizes' product differs from operand's size.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.reshape(xt.numpy.array([[1, 2], [3, 4]]), (4,)).tolist()
      [1, 2, 3, 4]
    """
    new_sizes = canonical_shape(new_sizes, "reshape new_sizes")
    if dimensions is not None:
        operand = transpose(operand, dimensions)
    aval = getattr(operand, "aval", None)
    if aval is None or aval.shape != new_sizes:
        operand = reshape_p.bind(operand, new_sizes=new_sizes, dimensions=None, sharding=None)
    return operand if out_sharding is None else held("reshape", operand, out_sharding)


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """`operand` with its dimensions from `start_dimension` up to `stop_dimension` (excluded) made one.

    Args:
      operand: array.
      start_dimension: the first dimension.
      stop_dimension: the one after the last; None: all to the end.

    Returns:
      The array with fewer dimensions.

    Raises:
      ValueError: the range isn't one of operand's.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.collapse(xt.lax.full((2, 3, 4), 0), 1, 3).shape
      (2, 12)
    """
    shape = shaped(operand).shape
    places = range(len(shape) + 1)
    start_dimension = statics.integer(start_dimension, "start_dimension")
    if stop_dimension is not None:
        stop_dimension = statics.integer(stop_dimension, "stop_dimension")
    lo, hi, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if start_dimension + len(shape) * (start_dimension < 0) not in places or lo > hi:
        raise ValueError(f"Invalid dimension range passed to collapse: {shape}[{start_dimension}:{stop_dimension}]")
    return reshape(operand, (*shape[:lo], math.prod(shape[lo:hi]), *shape[hi:]))


def _reshape_batch(axis: MappedAxis, args: Any, dims: Any, *, new_sizes: Any, dimensions: Any, sharding: Any) -> Any:
    x = batching.move_axis(args[0], dims[0], 0, axis.size)
    return reshape_p.bind(x, new_sizes=(axis.size, *new_sizes), dimensions=None, sharding=sharding), 0


linear(reshape_p, lambda ct, x, **_: [reshape(ct, x.aval.shape)])
reshape_p.batch = _reshape_batch


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """`array` with new dimensions of size 1 at the positions `dimensions` of the result.

    Args:
      array: array.
      dimensions: positions in the result, negative ones from the end.

    Returns:
      The array with its new dimensions.

    Raises:
      ValueError: a position is out of bounds, or given twice.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.expand_dims(xt.numpy.array([1, 2]), (0, -1)).shape
      (1, 2, 1)
    """
    shape = shaped(array).shape
    dimensions = statics.integers(dimensions, "dimensions")
    rank = len(shape) + len(dimensions)
    places = {canonical_axis(d, rank) for d in dimensions}
    if len(places) < len(dimensions):
        raise ValueError(f"repeated axis in lax.expand_dims: {tuple(dimensions)}")
    if not places:
        return array
    old = iter(shape)
    new_shape = tuple([1 if i in places else next(old) for i in range(rank)])
    kept = tuple([i for i in range(rank) if i not in places])
    return broadcast_in_dim_p.bind(array, shape=new_shape, broadcast_dimensions=kept, sharding=None)


# -- squeeze -----------------------------------------------------------------------------------------------------


def _squeeze_aval(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if any([x.shape[d] != 1 for d in dimensions]):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={x.shape} and {dimensions=}"
        )
    return ShapedArray(tuple([s for i, s in enumerate(x.shape) if i not in dimensions]), x.dtype, x.weak_type)


squeeze_p = Primitive("squeeze", _squeeze_aval)


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """`array` without the given dimensions, which must have size 1.

    Args:
      array: array.
      dimensions: the dimensions, negative ones from the end.

    Returns:
      The array without them.

    Raises:
      ValueError: a dimension is out of bounds, given twice, or not of size 1.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.squeeze(xt.lax.full((1, 2, 1), 0), (0,)).shape
      (2, 1)
    """
    ndim = shaped(array).ndim
    dimensions = statics.integers(dimensions, "dimensions")
    dims = tuple(sorted([canonical_axis(d, ndim) for d in dimensions]))
    if len(set(dims)) < len(dims):
        raise ValueError(f"squeeze: dimensions are not unique: {tuple(dimensions)} names one twice")
    if not dims and hasattr(array, "aval"):
        return array
    return squeeze_p.bind(array, dimensions=dims)


def _squeeze_batch(axis: MappedAxis, args: Any, dims: Any, *, dimensions: tuple[int, ...]) -> Any:
    (d,) = dims
    moved = tuple([i + (i >= d) for i in dimensions])
    return squeeze_p.bind(args[0], dimensions=moved), d - sum([i < d for i in moved])


linear(squeeze_p, lambda ct, x, *, dimensions: [expand_dims(ct, dimensions)])
squeeze_p.batch = _squeeze_batch


# -- transpose ---------------------------------------------------------------------------------------------------


def _transpose_aval(x: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError(
            f"transpose permutation isn't a permutation of operand dimensions, got permutation {permutation} for "
            f"operand shape {x.shape}"
        )
    return ShapedArray(tuple([x.shape[i] for i in permutation]), x.dtype, x.weak_type)


transpose_p = Primitive("transpose", _transpose_aval)


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """Permute the dimensions of `operand`: result dimension i is operand dimension permutation[i].

    Args:
      operand: array.
      permutation: of its dimensions.

    Returns:
      The array with its dimensions in the new order.

    Raises:
      TypeError: `permutation` isn't one of operand's dimensions.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.transpose(xt.lax.full((2, 3, 4), 0), (1, 2, 0)).shape
      (3, 4, 2)
    """
    permutation = statics.integers(permutation, "permutation")
    if (
        permutation == tuple(range(len(permutation)))
        and hasattr(operand, "aval")
        and operand.aval.ndim == len(permutation)
    ):
        return operand
    return transpose_p.bind(operand, permutation=permutation)


def _transpose_batch(axis: MappedAxis, args: Any, dims: Any, *, permutation: Any) -> Any:
    (x,), (d,) = args, dims
    moved = (d, *[p + (p >= d) for p in permutation])
    return transpose(x, moved), 0


linear(transpose_p, lambda ct, x, *, permutation: [transpose(ct, np.argsort(permutation).tolist())])
transpose_p.batch = _transpose_batch

# -- rev ---------------------------------------------------------------------------------------------------------


def _rev_aval(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
    if any([d < 0 for d in dimensions]):
        raise TypeError(f"rev dimensions must have every element be nonnegative, got {dimensions}.")
    if any([d >= x.ndim for d in dimensions]):
        raise TypeError(
            f"rev dimensions must all be less than operand ndim, got dimensions {dimensions} for operand ndim {x.ndim}."
        )
    return x


rev_p = Primitive("rev", _rev_aval)


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """`operand` with the order of its elements reversed along `dimensions`.

    Args:
      operand: array.
      dimensions: dimensions, not negative.

    Returns:
      An array like `operand`.

    Raises:
      TypeError: a dimension is negative, out of bounds, or given twice.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.rev(xt.numpy.array([1, 2, 3]), (0,)).tolist()
      [3, 2, 1]
    """
    return rev_p.bind(operand, dimensions=statics.integers(dimensions, "dimensions"))


def _rev_batch(axis: MappedAxis, args: Any, dims: Any, *, dimensions: tuple[int, ...]) -> Any:
    (d,) = dims
    return rev_p.bind(args[0], dimensions=tuple([i + (i >= d) for i in dimensions])), d


linear(rev_p, lambda ct, x, *, dimensions: [rev_p.bind(ct, dimensions=dimensions)])
rev_p.batch = _rev_batch

# -- tile --------------------------------------------------------------------------------------------------------


def _tile_aval(x: ShapedArray, *, reps: tuple[int, ...]) -> ShapedArray:
    if len(reps) != x.ndim:
        raise TypeError(f"reps length must be equal to the ndim of x, got len(reps)={len(reps)} and x.ndim={x.ndim}.")
    return ShapedArray(tuple([d * r for d, r in zip(x.shape, reps)]), x.dtype, x.weak_type)


tile_p = Primitive("tile", _tile_aval)


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """`operand` repeated reps[i] times along dimension i, one copy after the other.

    Args:
      operand: array.
      reps: a count for each dimension.

    Returns:
      The repeated array.

    Raises:
      TypeError: there isn't one nonnegative count for each dimension.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.tile(xt.numpy.array([1, 2]), (2,)).tolist()
      [1, 2, 1, 2]
    """
    return tile_p.bind(operand, reps=canonical_shape(reps, "tile reps"))


def _tile_transpose(ct: Any, x: Any, *, reps: tuple[int, ...]) -> list[Any]:
    apart = tuple([n for pair in zip(reps, x.aval.shape) for n in pair])
    return [_reductions.reduce_sum(reshape(ct, apart), tuple(range(0, 2 * len(reps), 2)))]


def _tile_batch(axis: MappedAxis, args: Any, dims: Any, *, reps: tuple[int, ...]) -> Any:
    (d,) = dims
    return tile_p.bind(args[0], reps=(*reps[:d], 1, *reps[d:])), d


linear(tile_p, _tile_transpose)
tile_p.batch = _tile_batch

# -- convert_element_type ----------------------------------------------------------------------------------------


def _convert_aval(x: ShapedArray, *, new_dtype: Any, weak_type: bool, sharding: Any) -> ShapedArray:
    if x.dtype != new_dtype and dtypes.prng_key in [getattr(d, "scalar_type", None) for d in (x.dtype, new_dtype)]:
        raise ValueError(f"Cannot convert_element_type from {x.dtype} to {new_dtype}: random keys are no numbers")
    return ShapedArray(x.shape, new_dtype, weak_type)


convert_element_type_p = Primitive("convert_element_type", _convert_aval)
convert_element_type_p.elementwise = True
convert_element_type_p.hidden_params = frozenset(["sharding"])


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """Convert an array to another dtype.

    Floats become integers by dropping the fraction; beyond the integers' limits they become the limit, and NaN 0.
    Complex numbers become real ones by dropping the imaginary part, with a warning.

    Args:
      operand: array or number.
      new_dtype: the dtype, subject to the x64 rule.

    Returns:
      An array of `new_dtype`, not weakly typed.

    Raises:
      TypeError: `new_dtype` is not a dtype.
      ValueError: it is None.

    Example:
      >>> import xtrace as xt
      >>> print(xt.lax.convert_element_type(2.7, "int32"))
      2
    """
    if new_dtype is None:
        raise ValueError("convert_element_type needs a dtype to convert to, got None")
    new_dtype = dtypes.canonical_dtype(new_dtype)
    if dtypes.is_complex(dtypes.of_value(operand)[0]) and dtypes.kind(new_dtype) in "biuf":
        warned.warn("Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning)
    if current.trace is None and not hasattr(operand, "aval") and not hasattr(new_dtype, "of_scalar"):
        # The result is an array even where a scalar would do.
        return convert_element_type_p.bind(operand, new_dtype=new_dtype, weak_type=False, sharding=None)
    return convert(operand, new_dtype, False)


def convert(operand: Any, dtype: Any, weak_type: bool) -> Any:
    """Convert to a canonical dtype and weak type; no operation where nothing changes."""
    aval = getattr(operand, "aval", None)
    if aval is None:
        if type(operand) in dtypes.PYTHON_SCALARS or isinstance(operand, np.generic):
            if hasattr(dtype, "of_scalar"):
                return dtype.of_scalar(operand)
            if weak_type:
                if dtypes.of_value(operand) == (dtype, True):
                    return operand
                return type(np.zeros((), dtype).item())(operand)
            if not _saturates(operand, dtype):
                return np.asarray(operand).astype(dtype)[()]
        aval = shaped(operand)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return operand
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=weak_type, sharding=None)


def _saturates(scalar: Any, dtype: Any) -> bool:
    """Whether a scalar lies outside the integer dtype: the operation takes the nearest limit there, NumPy anything."""
    if dtypes.kind(dtype) not in "iu" or not isinstance(scalar, (float, np.floating, *_ML_FLOATS)):
        return False
    limits = dtypes.iinfo(dtype)
    return not float(limits.min) <= float(scalar) < float(limits.max) + 1


_ML_FLOATS = tuple([d.type for d in dtypes.SHORT_NAMES if dtypes.kind(d) == "f" and d.kind == "V"])


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
    zero = scalar_of(0, aval)
    return zero if not aval.shape else full(aval.shape, zero, aval.dtype)


def _move_axis(x: Any, source: int | None, destination: int, size: int) -> Any:
    aval = shaped(x)
    if source is None:
        shape = (*aval.shape[:destination], size, *aval.shape[destination:])
        if aval.dtype == dtypes.float0:  # there is nothing in it to repeat
            return np.zeros(shape, dtypes.float0)
        return broadcast_in_dim(x, shape, [i for i in range(len(shape)) if i != destination])
    permutation = [i for i in range(aval.ndim) if i != source]
    permutation.insert(destination, source)
    return transpose(x, permutation)


def _broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    old = shaped(x).shape
    return broadcast_in_dim(x, shape, range(len(shape) - len(old), len(shape)))


zeros.set_array_makers(_make_zeros, _broadcast_to)
batching.set_axis_mover(_move_axis)
batching.set_axis_summer(lambda x, axis: _reductions.reduce_sum(x, (axis,)))
