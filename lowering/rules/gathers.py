"""Lowering of gather."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.lax.gathers import GatherScatterMode, gather_p
from xtrace.lowering.lower import Body
from xtrace.lowering.physical import physical, trailing, with_trailing


def last_starts(
    x: ShapedArray, slice_sizes: Sequence[int], start_map: Sequence[int], indices: ShapedArray
) -> np.ndarray:
    """For each component of the index vectors, the largest start in bounds, as far as the index dtype can tell."""
    largest = int(dtypes.iinfo(indices.dtype).max)
    return np.array([min(x.shape[d] - slice_sizes[d], largest) for d in start_map], dtype=indices.dtype)


def along_vectors(ctx: Body, values: np.ndarray, indices: ShapedArray) -> Any:
    """One value for each component of the index vectors, as an array of the shape of `indices`."""
    if len(set(values.tolist())) == 1:
        return ctx.constant(values[0], indices.update(weak_type=False))
    row = ctx.constant(values, ShapedArray(values.shape, indices.dtype))
    dims = ctx.mlir.i64_array([indices.ndim - 1])
    return ctx.op("stablehlo.broadcast_in_dim", indices, [row], {"broadcast_dimensions": dims})


def _compare(ctx: Body, direction: str, x: Any, y: Any, aval: ShapedArray) -> Any:
    kind = "SIGNED" if dtypes.kind(aval.dtype) == "i" else "UNSIGNED"
    attributes = {
        "comparison_direction": ctx.mlir.parsed(f"#stablehlo<comparison_direction {direction}>"),
        "compare_type": ctx.mlir.parsed(f"#stablehlo<comparison_type {kind}>"),
    }
    return ctx.op("stablehlo.compare", ShapedArray(aval.shape, dtypes.bool_), [x, y], attributes)


def _in_bounds(ctx: Body, indices: Any, aval: ShapedArray, last: np.ndarray) -> Any:
    """For each index vector, whether all its components are in bounds."""
    mask = _compare(ctx, "LE", indices, along_vectors(ctx, last, aval), aval)
    every = ShapedArray(aval.shape, dtypes.bool_)
    if dtypes.kind(aval.dtype) == "i":
        least = _compare(ctx, "GE", indices, ctx.constant(0, aval), aval)
        mask = ctx.op("stablehlo.and", every, [mask, least])
    vectors = ShapedArray(aval.shape[:-1], dtypes.bool_)
    if aval.shape[-1] == 1:
        return ctx.op("stablehlo.reshape", vectors, [mask])
    true, dims = ctx.scalar(True, dtypes.bool_), ctx.mlir.i64_array([aval.ndim - 1])
    operation = ctx.ops("stablehlo.reduce", [vectors], [mask, true], {"dimensions": dims}, regions=1)
    scalar = ctx.mlir.aval_type(ShapedArray((), dtypes.bool_))
    body, (a, b) = ctx.region(operation, 0, [scalar, scalar])
    body.return_([body.op("stablehlo.and", scalar, [a, b])])
    return operation.results[0]


def dimension_list(name: str, dims: Sequence[int]) -> str:
    """A field of a dimension-numbers attribute, `name = [0, 1]`."""
    return f"{name} = [{', '.join(map(str, dims))}]"


def _gather(ctx: Body, eqn: Any, x: Any, indices: Any) -> Any:
    aval, index_aval, out = eqn.invars[0].aval, eqn.invars[1].aval, eqn.outvars[0].aval
    params = eqn.params
    numbers, sizes, mode = params["dimension_numbers"], params["slice_sizes"], params["mode"]
    extra = trailing(aval)
    offset = with_trailing(numbers.offset_dims, out.ndim, extra)
    fields = [
        dimension_list("offset_dims", offset),
        dimension_list("collapsed_slice_dims", numbers.collapsed_slice_dims),
        dimension_list("operand_batching_dims", numbers.operand_batching_dims),
        dimension_list("start_indices_batching_dims", numbers.start_indices_batching_dims),
        dimension_list("start_index_map", numbers.start_index_map),
        f"index_vector_dim = {index_aval.ndim - 1}",
    ]
    attributes = {
        "dimension_numbers": ctx.mlir.parsed(f"#stablehlo.gather<{', '.join(fields)}>"),
        "slice_sizes": ctx.mlir.i64_array((*sizes, *extra)),
        "indices_are_sorted": ctx.mlir.boolean(params["indices_are_sorted"]),
    }
    values = ctx.op("stablehlo.gather", out, [x, indices], attributes)
    if mode is GatherScatterMode.ONE_HOT:
        fill = 0
    elif mode is GatherScatterMode.FILL_OR_DROP:
        fill = params["fill_value"]
    else:  # stablehlo's gather clips
        return values
    if not index_aval.shape[-1]:
        return values
    last = last_starts(aval, sizes, numbers.start_index_map, index_aval)
    mask = _in_bounds(ctx, indices, index_aval, last)
    stored = physical(out)
    around = [i for i in range(out.ndim) if i not in numbers.offset_dims]
    wide = ShapedArray(stored.shape, dtypes.bool_)
    mask = ctx.op("stablehlo.broadcast_in_dim", wide, [mask], {"broadcast_dimensions": ctx.mlir.i64_array(around)})
    return ctx.op("stablehlo.select", out, [mask, values, ctx.constant(np.asarray(fill).astype(stored.dtype), stored)])


gather_p.lower = _gather
