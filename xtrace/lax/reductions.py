"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive
from xtrace.lax import shapes as _shapes
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.jvp import linear


def _reduced_aval(x: ShapedArray, *, axes: tuple[int, ...], out_sharding: Any) -> ShapedArray:
    for a in axes:
        if not 0 <= a < x.ndim:
            raise TypeError(f"reduction axis {a} is out of bounds for operand {x.str_short()}")
    return ShapedArray(tuple([d for i, d in enumerate(x.shape) if i not in axes]), x.dtype, x.weak_type)


reduce_sum_p = Primitive("reduce_sum", _reduced_aval)


def reduce_sum(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """Sum over `axes`."""
    axes = tuple(axes)
    return reduce_sum_p.bind(operand, axes=axes, out_sharding=out_sharding) if axes else operand


def _reduce_sum_transpose(ct: Any, x: Any, *, axes: tuple[int, ...], out_sharding: Any) -> list[Any]:
    kept = [i for i in range(x.aval.ndim) if i not in axes]
    return [_shapes.broadcast_in_dim(ct, x.aval.shape, kept)]


def reduction_batch(primitive: Primitive) -> Any:
    """The batching rule of a reduction with parameter `axes`."""

    def rule(axis: MappedAxis, args: Any, dims: Any, *, axes: tuple[int, ...], **params: Any) -> Any:
        (d,) = dims
        moved = tuple([a + (a >= d) for a in axes])
        out_dim = d - sum(a < d for a in moved)
        return primitive.bind(args[0], axes=moved, **params), out_dim

    return rule


linear(reduce_sum_p, _reduce_sum_transpose)
reduce_sum_p.batch = reduction_batch(reduce_sum_p)
