"""Gather: slices of an array at positions given by another array; what gather and scatter share: modes, checks."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import joining, shapes
from xtrace.transforms import batching, zeros
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.zeros import Zero


class GatherScatterMode(enum.Enum):
    """What gather and scatter do where an index is out of bounds.

    CLIP: the nearest index in bounds is taken instead.
    FILL_OR_DROP: gather returns a fill value, scatter leaves the update out.
    PROMISE_IN_BOUNDS: the caller promises that there is no such index; results are undefined if there is one.
    ONE_HOT: like FILL_OR_DROP with zeros; a hint to compute gathers as matrix products.
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(spec: Any) -> GatherScatterMode:
        """The mode that a name ("clip", "fill", "drop", "promise_in_bounds", "one_hot"), None or a mode stands for."""
        if isinstance(spec, GatherScatterMode):
            return spec
        mode = _MODES.get(spec) if spec is None or isinstance(spec, str) else None
        if mode is None:
            names = ", ".join(repr(n) for n in _MODES if n)
            raise ValueError(f'Unknown gather mode "{spec}"; the modes are {names}')
        return mode


_MODES: dict[str | None, GatherScatterMode] = {
    None: GatherScatterMode.FILL_OR_DROP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}


class GatherDimensionNumbers(NamedTuple):
    """How the dimensions of gather's operand, indices and result belong together.

    Attributes:
      offset_dims: dimensions of the result that run over the slices, in order.
      collapsed_slice_dims: dimensions of operand, of slice size 1, that the result lacks.
      start_index_map: the dimension of operand that each component of an index vector counts along.
      operand_batching_dims: dimensions of operand, of slice size 1, that run in step with those of the indices.
      start_indices_batching_dims: the dimensions of the indices that operand_batching_dims run in step with.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


def int_tuples(numbers: Any) -> Any:
    """Dimension numbers with every field a tuple of ints."""
    if not hasattr(numbers, "_fields"):
        statics.refuse("dimension_numbers", numbers, "GatherDimensionNumbers or ScatterDimensionNumbers")
    return type(numbers)(*[statics.integers(field, name) for name, field in zip(numbers._fields, numbers)])


# -- abstract evaluation -----------------------------------------------------------------------------------------


def check_dims(op: str, name: str, dims: Sequence[int], rank: int, is_sorted: bool = False) -> None:
    """Raise TypeError unless `dims` are different dimensions of an array of this rank (in order if `is_sorted`)."""
    if is_sorted and list(dims) != sorted(dims):
        raise TypeError(f"{name} in {op} op must be sorted; got {dims}")
    if len(set(dims)) != len(dims):
        raise TypeError(f"{name} in {op} op must not repeat; got: {dims}.")
    for d in dims:
        if not 0 <= d < rank:
            raise TypeError(f"Invalid {name} set in {op} op; valid range is [0, {rank}); got: {d}.")


def check_indices(op: str, indices: ShapedArray) -> None:
    """Raise unless `indices` are integers with a dimension for the index vectors."""
    if not dtypes.is_integer(indices.dtype):
        raise ValueError(f"{op}: indices must have an integer type, got {indices.str_short(short_dtypes=False)}")
    if not indices.ndim:
        raise TypeError(
            f"{op}: indices must have at least one dimension, the last one, for the index vectors; got a scalar"
        )


def check_batching(op: str, x: ShapedArray, indices: ShapedArray, mine: Sequence[int], theirs: Sequence[int]) -> None:
    """Raise unless batching dimensions `mine` of `x` and `theirs` of `indices` have pairwise the same size."""
    if len(mine) != len(theirs):
        raise TypeError(f"{op} op needs as many batching dims of operand as of indices; got {mine} and {theirs}")
    for d, e in zip(mine, theirs):
        if x.shape[d] != indices.shape[e]:
            raise TypeError(
                f"{op} op: batching dimension {d} of operand {x.str_short()} and dimension {e} of indices "
                f"{indices.str_short()} must have the same size"
            )


def _gather_aval(
    x: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    unique_indices: bool,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> ShapedArray:
    offset, collapsed, start_map, batch, batch_indices = dimension_numbers
    check_indices("gather", indices)
    rank = len(offset) + indices.ndim - 1
    check_dims("gather", "collapsed_slice_dims", collapsed, x.ndim, True)
    check_dims("gather", "operand_batching_dims", batch, x.ndim, True)
    check_dims("gather", "start_index_map", start_map, x.ndim)
    check_dims("gather", "start_indices_batching_dims", batch_indices, indices.ndim - 1)
    if list(offset) != sorted(offset):
        raise TypeError(f"offset_dims in gather op must be sorted; got {offset}")
    for i, d in enumerate(offset):
        if not 0 <= d < rank:
            raise TypeError(
                f"Offset dimension {i} in gather op is out of bounds; got {d}, but should have been in [0, {rank})"
            )
    if len(set(offset)) != len(offset):
        raise TypeError(f"offset_dims in gather op must not repeat; got: {offset}.")
    if len(start_map) != indices.shape[-1]:
        raise TypeError(
            f"Gather op has {len(start_map)} elements in start_index_map and the bound of dimension "
            f"index_vector_dim={indices.ndim - 1} of indices is {indices.shape[-1]}. These two numbers must be equal."
        )
    check_batching("Gather", x, indices, batch, batch_indices)
    if len(slice_sizes) != x.ndim:
        raise TypeError(
            f"Gather op must have one slice size for every input dimension; got {slice_sizes} for {x.str_short()}"
        )
    if len(offset) + len(collapsed) + len(batch) != x.ndim:
        raise TypeError(
            f"All components of the offset index in a gather op must either be an offset dimension or be collapsed or "
            f"batching; got {len(offset)} offset, {len(collapsed)} collapsed and {len(batch)} batching dimensions for "
            f"an operand of {x.ndim} dimensions"
        )
    for i, (n, d) in enumerate(zip(slice_sizes, x.shape)):
        if not 0 <= n <= d:
            raise TypeError(
                f"Slice size at index {i} in gather op is out of range, must be within [0, {d} + 1), got {n}."
            )
    for word, dims in (("collapse", collapsed), ("batch", batch)):
        for i, d in enumerate(dims):
            if slice_sizes[d] != 1 and not (word == "batch" and slice_sizes[d] == 0):
                raise TypeError(
                    f"Gather op can only {word} slice dims with bound 1, but bound is {slice_sizes[d]} for index {d} "
                    f"at position {i}."
                )
    window = iter([n for d, n in enumerate(slice_sizes) if d not in collapsed and d not in batch])
    around = iter(indices.shape[:-1])
    return ShapedArray(
        tuple([next(window) if i in offset else next(around) for i in range(rank)]), x.dtype, x.weak_type
    )


gather_p = Primitive("gather", _gather_aval)


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Any:
    """Slices of an array at positions that are given by an array of index vectors (XLA's Gather).

    Args:
      operand: an array.
      start_indices: an integer array; its last dimension holds the index vectors.
      dimension_numbers: how dimensions of operand, start_indices and result belong together.
      slice_sizes: size of the slice taken at each position, for each dimension of operand.
      unique_indices: a promise that no element is taken twice.
      indices_are_sorted: a promise that the index vectors are in ascending order.
      mode: what happens out of bounds, a GatherScatterMode or its name; "promise_in_bounds" by default.
      fill_value: in mode "fill", the value out of bounds. By default NaN for inexact types, the least value for signed
        integers, the largest for unsigned ones, True for booleans.

    Returns:
      The slices, of the shape that dimension_numbers describe.

    Raises:
      TypeError, ValueError: the numbers don't fit the arrays.

    Example:
      >>> import xtrace as xt
      >>> rows = xt.lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
      >>> x = xt.numpy.array([[1, 2], [3, 4], [5, 6]])
      >>> xt.lax.gather(x, xt.numpy.array([[2], [0]]), rows, (1, 2)).tolist()
      [[5, 6], [1, 2]]
    """
    # JAX's rule: who names no mode promises that there is nothing out of bounds, which XLA then reads as "clip".
    parsed = GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    if parsed is GatherScatterMode.FILL_OR_DROP:
        if fill_value is None:
            fill_value = default_fill(shaped(operand).dtype)
        elif not isinstance(fill_value, (int, float, complex, np.generic)):
            fill_value = np.asarray(fill_value)[()]  # a parameter of the operation: fails clearly for traced values
    else:
        fill_value = None
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=int_tuples(dimension_numbers),
        slice_sizes=statics.integers(slice_sizes, "slice_sizes"),
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        mode=parsed,
        fill_value=fill_value,
    )


@functools.cache  # also so that NaN is one object: as a parameter, it equals itself only
def default_fill(dtype: Any) -> Any:
    """What a gather in mode "fill" returns out of bounds unless it is told something else."""
    kind = dtypes.kind(dtype)
    if kind == "X":
        stored = getattr(dtype, "physical_dtype", None)
        return 0 if stored is None else default_fill(stored)
    if kind in "fc":
        return math.nan
    if kind == "i":
        return int(dtypes.iinfo(dtype).min)
    if kind == "u":
        return int(dtypes.iinfo(dtype).max)
    return True


def index_take(src: Any, idxs: Any, axes: Sequence[int]) -> Any:
    """The elements of `src` at index arrays `idxs` along the dimensions `axes`, without those dimensions.

    Args:
      src: an array.
      idxs: one 1-dimensional integer array for each of axes, all of one length n; negative indices count from the end.
      axes: dimensions of src.

    Returns:
      An array of shape (n, *the other dimensions of src).

    Raises:
      ValueError: not one of `idxs` for each of `axes`, or there is no such axis.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.index_take(xt.numpy.array([[1, 2], [3, 4]]), [xt.numpy.array([1, -2])], (0,)).tolist()
      [[3, 4], [1, 2]]
    """
    from xtrace.lax import slicing

    x, axes = shaped(src), statics.integers(axes, "axes")
    idxs = statics.parts(idxs, "idxs", "a sequence of arrays")
    if len(idxs) != len(axes) or any([not 0 <= d < x.ndim for d in axes]):
        raise ValueError(
            f"index_take takes one of idxs for each of axes, dimensions of shape {x.shape}, got axes {axes}"
        )
    columns = []
    for i, d in zip(idxs, axes, strict=True):
        i = slicing.nonnegative(i, x.shape[d])
        columns.append(shapes.expand_dims(i, (1,)))
    rest = [d for d in range(x.ndim) if d not in axes]
    numbers = GatherDimensionNumbers(tuple(range(1, 1 + len(rest))), tuple(sorted(axes)), tuple(axes))
    sizes = [1 if d in axes else n for d, n in enumerate(x.shape)]
    return gather(src, joining.concatenate(columns, 1), numbers, sizes, mode=GatherScatterMode.PROMISE_IN_BOUNDS)


# -- derivative, transpose, batching -----------------------------------------------------------------------------


def _gather_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    x, indices = primals
    out = gather_p.bind(x, indices, **params)
    t = tangents[0]
    if type(t) is Zero:
        return out, zeros.zero_tangent(out)
    if params["fill_value"] is not None:
        params["fill_value"] = 0
    return out, gather_p.bind(t, indices, **params)


def _gather_transpose(
    ct: Any, x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: Any, fill_value: Any, **flags: Any
) -> list[Any]:
    from xtrace.lax import scatters

    numbers = scatters.ScatterDimensionNumbers(*dimension_numbers)
    zero = zeros.instantiate(Zero(x.aval))
    out = scatters.scatter_add_p.bind(
        zero, indices, ct, dimension_numbers=numbers, mode=mode, update_jaxpr=None, update_consts=(), **flags
    )
    return [out, None]


def _gather_batch(
    axis: MappedAxis, args: Any, dims: Any, *, dimension_numbers: Any, slice_sizes: Any, **params: Any
) -> Any:
    (x, indices), (d, di) = args, dims
    offset, collapsed, start_map, batch, batch_indices = dimension_numbers
    if axis.size == 0:
        return _empty_gather(x, indices, d, di, dimension_numbers, slice_sizes, params), 0
    if d is None:
        indices = batching.move_axis(indices, di, 0, axis.size)
        numbers = GatherDimensionNumbers(up(offset), collapsed, start_map, batch, up(batch_indices))
        sizes = slice_sizes
    elif di is None:
        x = batching.move_axis(x, d, 0, axis.size)
        numbers = GatherDimensionNumbers((0, *up(offset)), up(collapsed), up(start_map), up(batch), batch_indices)
        sizes = (axis.size, *slice_sizes)
    else:
        x = batching.move_axis(x, d, 0, axis.size)
        indices = batching.move_axis(indices, di, 0, axis.size)
        numbers = GatherDimensionNumbers(
            up(offset), up(collapsed), up(start_map), (0, *up(batch)), (0, *up(batch_indices))
        )
        sizes = (1, *slice_sizes)
    return gather_p.bind(x, indices, dimension_numbers=numbers, slice_sizes=sizes, **params), 0


def _empty_gather(x: Any, indices: Any, d: Any, di: Any, dimension_numbers: Any, slice_sizes: Any, params: Any) -> Any:
    """The result over a mapped axis of size 0, from which no slice can be taken."""

    def example(v: Any, dim: int | None) -> ShapedArray:
        aval = shaped(v)
        return aval if dim is None else aval.update(shape=aval.shape[:dim] + aval.shape[dim + 1 :])

    out = _gather_aval(
        example(x, d), example(indices, di), dimension_numbers=dimension_numbers, slice_sizes=slice_sizes, **params
    )
    return zeros.instantiate(Zero(out.update(shape=(0, *out.shape))))


def up(dims: Sequence[int]) -> tuple[int, ...]:
    """Dimensions after one more was put in front."""
    return tuple([d + 1 for d in dims])


gather_p.jvp = _gather_jvp
gather_p.transpose = _gather_transpose
gather_p.batch = _gather_batch

__all__ = ["GatherDimensionNumbers", "GatherScatterMode", "gather", "gather_p", "index_take"]
