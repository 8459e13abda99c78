"""Collectives in which elements of a mapped axis exchange parts of their arrays: psum_scatter, all_to_all and kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import collectives, comparisons, creation, elementwise, gathers, reductions, selection, shapes, slicing
from xtrace.lax.collectives import Groups, names_of
from xtrace.transforms.batching import MappedAxis, move_axis
from xtrace.transforms.jvp import linear
from xtrace.transforms.zeros import UndefinedPrimal, Zero, instantiate, zero_tangent


def _split(x: Any, dim: int, count: int) -> Any:
    """`x` with dimension `dim` as two: which of `count` parts, and the place in it."""
    shape = shaped(x).shape
    return shapes.reshape(x, (*shape[:dim], count, shape[dim] // count, *shape[dim + 1 :]))


def _part(x: Any, dim: int, count: int, index: Any) -> Any:
    """Part `index`, known at run time, of `count` equal ones of `x` along `dim`."""
    size = shaped(x).shape[dim] // count
    start = elementwise.mul(index, np.int32(size))
    return slicing.dynamic_slice_in_dim(x, start, size, dim, allow_negative_indices=False)


# -- psum_scatter --------------------------------------------------------------------------------------------------


def _scatter_aval(x: ShapedArray, *, scatter_dimension: int, axis_size: int, tiled: bool, **_: Any) -> ShapedArray:
    shape, dim = x.shape, scatter_dimension
    kept = (shape[dim] // axis_size,) if tiled else ()
    return x.update(shape=(*shape[:dim], *kept, *shape[dim + 1 :]))


def _scatter_batch(
    axis: MappedAxis,
    args: Any,
    dims: Any,
    *,
    axis_index_groups: Groups,
    axis_name: tuple[Any, ...],
    axis_size: int,
    scatter_dimension: int,
    tiled: bool,
) -> tuple[Any, Any]:
    (x,), (d,) = args, dims
    params = dict(axis_index_groups=axis_index_groups, axis_name=axis_name, axis_size=axis_size, tiled=tiled)
    if axis.name is None or axis.name not in axis_name:
        if d is not None:
            if d <= scatter_dimension:
                scatter_dimension += 1
            elif not tiled:
                d -= 1
        return reduce_scatter_p.bind(x, scatter_dimension=scatter_dimension, **params), d
    if axis_index_groups is not None or len(axis_name) > 1:
        params["scatter_dimension"] = scatter_dimension
        return collectives._by_gathering(_scatter_part, axis, args, dims, params)
    total = collectives._times(x, axis.size) if d is None else reductions.reduce_sum(x, (d,))
    return (_split(total, scatter_dimension, axis_size) if tiled else total), scatter_dimension


def _scatter_part(
    x: Any, *, axis_index_groups: Groups, axis_name: Any, axis_size: int, scatter_dimension: int, tiled: bool
) -> Any:
    group, place = collectives._my_group(x, axis_name, axis_index_groups)
    part = _part(reductions.reduce_sum(group, (0,)), scatter_dimension, axis_size, place)
    return part if tiled else shapes.squeeze(part, (scatter_dimension,))


def _scatter_transpose(ct: Any, x: Any, *, scatter_dimension: int, **params: Any) -> list[Any]:
    return [collectives.all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)]


reduce_scatter_p = collectives._collective("reduce_scatter", "axis_name", _scatter_aval)
reduce_scatter_p.batch = _scatter_batch
linear(reduce_scatter_p, _scatter_transpose)


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> Any:
    """Sum over the elements of a mapped axis, of which each element keeps its part.

    Args:
      x: array or pytree of arrays. Dimension `scatter_dimension` is as long as the axis or a group; tiled, a multiple.
      axis_name: the name of the axis, or a tuple of names whose axes are taken as one.
      scatter_dimension: the dimension of the sum of which element i keeps row i; tiled, the i-th of equal parts.
      axis_index_groups: sum within these groups of indices only; all of one size.
      tiled: keep the dimension.

    Returns:
      The part of the sum.

    Raises:
      NameError: no axis of the name is mapped here. ValueError: the dimension doesn't fit the axis.

    Example:
      >>> import xtrace as xt
      >>> xt.vmap(lambda x: xt.lax.psum_scatter(x, "i"), axis_name="i")(xt.numpy.array([[1, 2], [30, 40]])).tolist()
      [31, 42]
    """
    names = names_of(axis_name)
    if not names:
        return x
    size, groups = collectives._span("psum_scatter", axis_name, axis_index_groups)

    def bind(v: Any) -> Any:
        aval = shaped(v)
        dim = shapes.canonical_axis(scatter_dimension, aval.ndim)
        have = aval.shape[dim]
        if have % size if tiled else have != size:
            raise ValueError(
                f"psum_scatter scatter dimension size {have} must {'be divisible by' if tiled else 'match'} shard "
                f"count {size}: dimension {dim} of {aval.str_short()} over axis {axis_name}"
            )
        return reduce_scatter_p.bind(
            v, axis_index_groups=groups, axis_name=names, axis_size=size, scatter_dimension=dim, tiled=tiled
        )

    return collectives._map_leaves(bind, x)


# -- all_to_all ----------------------------------------------------------------------------------------------------
# Dimension split_axis falls into as many parts as there are elements. Element i gets the i-th part of each element,
# and strings them together along concat_axis.


def _exchanged_aval(x: ShapedArray, *, split_axis: int, concat_axis: int, axis_size: int, **_: Any) -> ShapedArray:
    shape = list(x.shape)
    shape[split_axis] //= axis_size
    shape[concat_axis] *= axis_size
    return x.update(shape=tuple(shape), weak_type=False)


def _exchange_batch(
    axis: MappedAxis,
    args: Any,
    dims: Any,
    *,
    axis_index_groups: Groups,
    axis_name: Any,
    axis_size: int,
    concat_axis: int,
    split_axis: int,
    tiled: bool,
) -> tuple[Any, Any]:
    (x,), (d,) = args, dims
    names = names_of(axis_name)
    params = dict(axis_index_groups=axis_index_groups, axis_name=axis_name, axis_size=axis_size, tiled=tiled)
    if axis.name is None or axis.name not in names:
        if d is not None:
            split_axis, concat_axis = split_axis + (d <= split_axis), concat_axis + (d <= concat_axis)
        return all_to_all_p.bind(x, split_axis=split_axis, concat_axis=concat_axis, **params), d
    if axis_index_groups is not None or len(names) > 1:
        params.update(split_axis=split_axis, concat_axis=concat_axis)
        return collectives._by_gathering(_exchange_part, axis, args, dims, params)
    ndim = shaped(x).ndim - (d is not None)
    x = _split(move_axis(x, d, 0, axis.size), split_axis + 1, axis_size)  # source, …, destination, part, …
    dimension = [i + 1 + (i >= split_axis) for i in range(ndim)]
    dimension[split_axis] = split_axis + 2
    order = [split_axis + 1]
    for i in range(ndim):
        order += [0, dimension[i]] if i == concat_axis else [dimension[i]]
    return shapes.collapse(shapes.transpose(x, order), concat_axis + 1, concat_axis + 3), 0


def _exchange_part(
    x: Any, *, axis_index_groups: Groups, axis_name: Any, axis_size: int, split_axis: int, concat_axis: int, tiled: bool
) -> Any:
    group, place = collectives._my_group(x, names_of(axis_name), axis_index_groups)
    parts = _part(group, split_axis + 1, axis_size, place)
    return collectives._placed(parts, concat_axis, True)


def _exchange_transpose(ct: Any, x: Any, *, split_axis: int, concat_axis: int, **params: Any) -> list[Any]:
    return [all_to_all_p.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params)]


all_to_all_p = collectives._collective("all_to_all", "axis_name", _exchanged_aval)
all_to_all_p.hidden_params = frozenset(["axis_size"])
all_to_all_p.batch = _exchange_batch
linear(all_to_all_p, _exchange_transpose)


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> Any:
    """Exchange a mapped axis for a dimension of the array: element i gets row i of every element.

    Args:
      x: array or pytree of arrays. Dimension `split_axis` is as long as the axis (or a group); tiled, a multiple.
      axis_name: the name of the axis, or a tuple of names whose axes are taken as one.
      split_axis: the dimension whose rows go to the elements.
      concat_axis: where the rows that arrive are stacked, counted without `split_axis`.
      axis_index_groups: exchange within these groups of indices only; all of one size.
      tiled: split into equal parts and string them together: no dimension comes or goes.

    Returns:
      An array of the shape of `x` without `split_axis` and with a dimension of the axis's size at `concat_axis`; tiled,
      with dimension `split_axis` shorter and `concat_axis` longer.

    Raises:
      NameError: no axis of the name is mapped here. ValueError: the dimension doesn't fit the axis.

    Example:
      >>> import xtrace as xt
      >>> swap = xt.vmap(lambda x: xt.lax.all_to_all(x, "i", 0, 0), axis_name="i")
      >>> swap(xt.numpy.array([[1, 2], [3, 4]])).tolist()
      [[1, 3], [2, 4]]
    """
    size, groups = collectives._span("all_to_all", axis_name, axis_index_groups)
    axis_name = tuple(axis_name) if isinstance(axis_name, list) else axis_name

    def bind(v: Any) -> Any:
        aval = shaped(v)
        split = shapes.canonical_axis(split_axis, aval.ndim)
        concat = shapes.canonical_axis(concat_axis, aval.ndim)
        have = aval.shape[split]
        if tiled and have % size:
            raise ValueError(
                f"The size of all_to_all split_axis ({have}) has to be divisible by the size of the named axis "
                f"{axis_name} ({size}): dimension {split} of {aval.str_short()}"
            )
        if not tiled:
            if have != size:
                raise ValueError(
                    "all_to_all requires the size of the mapped axis axis_name to equal x.shape[split_axis], but they "
                    f"are {size} and {have} respectively: dimension {split} of {aval.str_short()} over {axis_name}"
                )
            if split < concat:
                concat += 1
                v = shapes.expand_dims(v, (concat,))
            elif concat < split:
                v = shapes.expand_dims(v, (concat,))
                split += 1
        out = all_to_all_p.bind(
            v,
            axis_index_groups=groups,
            axis_name=axis_name,
            axis_size=size,
            concat_axis=concat,
            split_axis=split,
            tiled=tiled,
        )
        return out if tiled or split == concat else shapes.squeeze(out, (split,))

    return collectives._map_leaves(bind, x)


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Any:
    """Swap a mapped axis and a dimension of the array: all_to_all with both at `axis`.

    Args:
      x: array or pytree of arrays, whose dimension `axis` is as long as the mapped axis (or a group).
      axis_name: the name of the axis.
      axis: the dimension.
      axis_index_groups: swap within these groups of indices only; each index is in one of them.

    Returns:
      An array or pytree like `x`.

    Example:
      >>> import xtrace as xt
      >>> xt.vmap(lambda x: xt.lax.pswapaxes(x, "i", 0), axis_name="i")(xt.numpy.array([[1, 2], [3, 4]])).tolist()
      [[1, 3], [2, 4]]
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


# -- ragged_all_to_all ---------------------------------------------------------------------------------------------
# Operands: operand, output, and four integer arrays of one length K, a multiple of the axis's size: K // size slices
# for each element.


def _ragged_aval(
    operand: ShapedArray, output: ShapedArray, *numbers: ShapedArray, axis_name: Any, axis_index_groups: Groups
) -> ShapedArray:
    for name, aval in zip(("input_offsets", "send_sizes", "output_offsets", "recv_sizes"), numbers):
        if dtypes.kind(aval.dtype) not in "iu":
            raise ValueError(f"ragged_all_to_all {name} must be integer type, got {aval.str_short()}.")
        if aval.ndim != 1 or not aval.shape[0]:
            raise ValueError(
                f"ragged_all_to_all {name} must be rank 1 with positive dimension size, but got shape {aval.shape}"
            )
    return output.update(weak_type=False)


def _ragged_batch(
    axis: MappedAxis, args: Any, dims: Any, *, axis_name: tuple[Any, ...], axis_index_groups: Groups
) -> tuple[Any, Any]:
    params = dict(axis_name=axis_name, axis_index_groups=axis_index_groups)
    if axis.name is not None and axis.name in axis_name:
        return collectives._by_gathering(_receive, axis, args, dims, params)
    if all([d is None for d in dims]):
        return ragged_all_to_all_p.bind(*args, **params), None
    # The examples' rows in one array, one example after the other; slices of one element stay together.
    n = axis.size
    operand, output = [move_axis(x, d, 0, n) for x, d in zip(args[:2], dims)]
    numbers = [move_axis(x, d, 1, n) for x, d in zip(args[2:], dims[2:])]
    for i, rows in ((0, shaped(operand).shape[1]), (2, shaped(output).shape[1])):
        aval = shaped(numbers[i])
        first = elementwise.mul(creation.iota(aval.dtype, n), shapes.convert(rows, aval.dtype, False))
        numbers[i] = elementwise.add(numbers[i], shapes.broadcast_in_dim(first, aval.shape, (1,)))
    flat = [shapes.collapse(x, 0, 2) for x in (operand, output, *numbers)]
    return shapes.reshape(ragged_all_to_all_p.bind(*flat, **params), shaped(output).shape), 0


def _receive(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: tuple[Any, ...],
    axis_index_groups: Groups,
) -> Any:
    """What one element receives: for each row of `output`, which row of whose operand arrives there, if any."""
    rows, me = collectives._my_group(operand, axis_name, axis_index_groups)
    n, per_source = shaped(rows).shape[:2]

    def sent_here(numbers: Any) -> Any:
        theirs = collectives._my_group(shapes.convert(numbers, np.dtype(np.int32), False), axis_name, axis_index_groups)
        return _part(theirs[0], 1, n, me)  # source, slice

    start, size, place = [sent_here(x) for x in (input_offsets, send_sizes, output_offsets)]
    shape = (*shaped(start).shape, shaped(output).shape[0])
    row = creation.broadcasted_iota(np.int32, shape, 2)
    start, size, place = [shapes.broadcast_in_dim(x, shape, (0, 1)) for x in (start, size, place)]
    within = elementwise.sub(row, place)
    hit = elementwise.and_p.bind(comparisons.ge(within, np.int32(0)), comparisons.lt(within, size))
    source = elementwise.mul(creation.broadcasted_iota(np.int32, shape, 0), np.int32(per_source))
    index = elementwise.add(source, elementwise.add(start, within))
    index = reductions.reduce_sum(selection.select(hit, index, shapes.full(shape, np.int32(0))), (0, 1))
    arrived = gathers.index_take(shapes.collapse(rows, 0, 2), [index], (0,))
    some = shapes.broadcast_in_dim(reductions.reduce_or(hit, (0, 1)), shaped(output).shape, (0,))
    return selection.select(some, arrived, output)


def _ragged_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    out = ragged_all_to_all_p.bind(*primals, **params)
    if all([type(t) is Zero for t in tangents[:2]]):
        return out, zero_tangent(out)
    rows = [instantiate(t) for t in tangents[:2]]
    return out, ragged_all_to_all_p.bind(*rows, *primals[2:], **params)


def _ragged_transpose(
    ct: Any,
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: tuple[Any, ...],
    axis_index_groups: Groups,
) -> list[Any]:
    params = dict(axis_name=axis_name, axis_index_groups=axis_index_groups)
    aval = shaped(operand) if type(operand) is not UndefinedPrimal else operand.aval
    out: list[Any] = [None] * 6

    def zeros(shape: tuple[int, ...]) -> Any:
        return shapes.full(shape, np.zeros((), shaped(ct).dtype)[()])

    if type(operand) is UndefinedPrimal:  # what came goes back where it came from
        theirs = [
            all_to_all(x, axis_name, 0, 0, tiled=True, axis_index_groups=axis_index_groups)
            for x in (output_offsets, input_offsets)
        ]
        back = ragged_all_to_all_p.bind(ct, zeros(aval.shape), theirs[0], recv_sizes, theirs[1], send_sizes, **params)
        out[0] = back
    if type(output) is UndefinedPrimal:
        ones = shapes.full(aval.shape, np.ones((), shaped(ct).dtype)[()])
        numbers = (input_offsets, send_sizes, output_offsets, recv_sizes)
        hit = ragged_all_to_all_p.bind(ones, zeros(shaped(ct).shape), *numbers, **params)
        out[1] = selection.select(comparisons.ne(hit, zeros(shaped(ct).shape)), zeros(shaped(ct).shape), ct)
    return out


ragged_all_to_all_p = collectives._collective("ragged_all_to_all", "axis_name", _ragged_aval)
ragged_all_to_all_p.batch = _ragged_batch
ragged_all_to_all_p.jvp = _ragged_jvp
ragged_all_to_all_p.transpose = _ragged_transpose


def ragged_all_to_all(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: Any,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> Any:
    """Exchange slices of different lengths between the elements of a mapped axis.

    The four integer arrays have one length K, a multiple of the axis's size n. Slice k goes to element k // (K // n).

    Args:
      operand: array of shape (N, …), whose slices along dimension 0 are sent.
      output: array of shape (M, …), into which what arrives is written.
      input_offsets, send_sizes: where in `operand` each slice begins, and its length.
      output_offsets: where each slice is to begin in the `output` of the element that it is sent to.
      recv_sizes: lengths of the slices that arrive: what all_to_all makes of send_sizes.
      axis_name: the name of the axis, or a tuple of names whose axes are taken as one.
      axis_index_groups: exchange within these groups of indices only; all of one size.

    Returns:
      `output` with the slices that arrived.

    Raises:
      NameError: no axis of the name is mapped here.
      ValueError: offsets or sizes are no integers, or not one-dimensional, or not as many as the axis needs.

    Example:
      >>> import xtrace as xt, numpy as np
      >>> send = xt.vmap(lambda *a: xt.lax.ragged_all_to_all(*a, axis_name="i"), axis_name="i")
      >>> send(np.array([[1, 2, 2], [3, 4, 0]]), np.zeros((2, 4), int), np.array([[0, 1], [0, 1]]),
      ...      np.array([[1, 2], [1, 1]]), np.array([[0, 0], [1, 2]]), np.array([[1, 1], [2, 1]])).tolist()
      [[1, 3, 0, 0], [2, 2, 4, 0]]
    """
    size, groups = collectives._span("ragged_all_to_all", axis_name, axis_index_groups)
    arrays = (operand, output, input_offsets, send_sizes, output_offsets, recv_sizes)
    _ragged_aval(*[shaped(x) for x in arrays], axis_name=axis_name, axis_index_groups=groups)
    counts = [shaped(x).size for x in arrays[2:]]
    if len(set(counts)) > 1 or counts[0] % size:
        raise ValueError(
            f"ragged_all_to_all takes as many input_offsets, send_sizes, output_offsets and recv_sizes, a multiple of "
            f"the {size} elements of axis {axis_name}; got {counts}"
        )
    return ragged_all_to_all_p.bind(*arrays, axis_name=names_of(axis_name), axis_index_groups=groups)
