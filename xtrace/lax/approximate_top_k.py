"""The k greatest or least elements of which accelerators may miss a few, for the speed of it.

Source of the algorithm: Chern, Hechtman, Davis, Guo, Majnemer, Kumar, "TPU-KNN: K Nearest Neighbor Search at Peak
FLOP/s", 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax.sorting import take_along
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.zeros import Zero, zero_tangent


def _avals(
    x: ShapedArray,
    *,
    k: int,
    is_max_k: bool,
    recall_target: float,
    aggregate_to_topk: bool,
    reduction_dimension: int,
    reduction_input_size_override: int,
) -> list[ShapedArray]:
    if k <= 0:
        raise ValueError(f"k must be positive, got {k}")
    size = x.shape[reduction_dimension]
    if size < k:
        raise ValueError(
            f"k must be smaller than the size of reduction_dim {size}, got {k} (operand of shape {x.shape}, "
            f"reduction_dimension {reduction_dimension})"
        )
    if not dtypes.is_floating(x.dtype):
        raise ValueError(f"operand must be a floating type, got {x.dtype}; cast it with .astype('float32')")
    if not aggregate_to_topk:
        from xtrace.runtime import jaxlib_api

        k = jaxlib_api.approx_top_k_reduction_output_size(
            size, x.ndim, k, recall_target, aggregate_to_topk, reduction_input_size_override
        )[0]
    shape = (*x.shape[:reduction_dimension], k, *x.shape[reduction_dimension + 1 :])
    return [ShapedArray(shape, x.dtype, x.weak_type), ShapedArray(shape, dtypes.int32)]


approx_top_k_p = Primitive("approx_top_k", _avals)
approx_top_k_p.multiple_results = True


def _approximate(
    name: str, operand: Any, k: int, dimension: int, recall: float, size: int, aggregate: bool, is_max: bool
) -> tuple[Any, Any]:
    ndim = shaped(operand).ndim
    if not ndim:
        raise TypeError(f"{name}: approx_top_k operand must have >= 1 dimension, got a scalar")
    dimension = statics.integer(dimension, "reduction_dimension")
    if not -ndim <= dimension < ndim:
        raise IndexError(f"{name}: reduction_dimension {dimension} is out of bounds for an array of rank {ndim}")
    if not 0 < statics.number(recall, "recall_target") <= 1:
        raise ValueError(f"{name}: recall_target must be above 0 and at most 1, got {recall}")
    return approx_top_k_p.bind(
        operand,
        k=statics.integer(k, "k"),
        reduction_dimension=dimension % ndim,
        recall_target=float(recall),
        is_max_k=is_max,
        reduction_input_size_override=statics.integer(size, "reduction_input_size_override"),
        aggregate_to_topk=bool(aggregate),
    )


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The k greatest elements along a dimension and their positions: exactly on CPU and GPU, nearly so on TPU.

    Args:
      operand: array of floating numbers.
      k: how many.
      reduction_dimension: dimension to search along.
      recall_target: the share of the true k greatest that are expected among the results, in (0, 1].
      reduction_input_size_override: the size to reckon the recall with, where the operand is a part of a greater array;
        negative: the dimension's own.
      aggregate_to_topk: whether to reduce the candidates to k; if not, there are as many as the recall needs, in no
        particular order.

    Returns:
      (values, positions): greatest first if aggregated; positions are int32.

    Raises:
      ValueError: a k that isn't positive or is greater than the dimension, a recall outside (0, 1], an operand that
        isn't floating.
      IndexError: a dimension that doesn't exist.

    Source: Chern et al., "TPU-KNN: K Nearest Neighbor Search at Peak FLOP/s", 2022.

    >>> import numpy as np, xtrace as xt
    >>> values, positions = xt.lax.approx_max_k(np.float32([1, 5, 3]), 2)
    >>> values.tolist(), positions.tolist()
    ([5.0, 3.0], [1, 2])
    """
    return _approximate(
        "approx_max_k", operand, k, reduction_dimension, recall_target, reduction_input_size_override,
        aggregate_to_topk, True,
    )  # fmt: skip


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The k least elements along a dimension and their positions: exactly on CPU and GPU, nearly so on TPU.

    Args:
      operand: array of floating numbers.
      k: how many.
      reduction_dimension, recall_target, reduction_input_size_override, aggregate_to_topk: as in `approx_max_k`.

    Returns:
      (values, positions): least first if aggregated; positions are int32.

    Raises:
      ValueError, IndexError: as in `approx_max_k`.

    Source: Chern et al., "TPU-KNN: K Nearest Neighbor Search at Peak FLOP/s", 2022.

    >>> import numpy as np, xtrace as xt
    >>> values, positions = xt.lax.approx_min_k(np.float32([1, 5, 3]), 2)
    >>> values.tolist(), positions.tolist()
    ([1.0, 3.0], [0, 2])
    """
    return _approximate(
        "approx_min_k", operand, k, reduction_dimension, recall_target, reduction_input_size_override,
        aggregate_to_topk, False,
    )  # fmt: skip


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, reduction_dimension: int, **params: Any) -> Any:
    values, positions = approx_top_k_p.bind(*primals, reduction_dimension=reduction_dimension, **params)
    (t,) = tangents
    tangent = zero_tangent(values) if type(t) is Zero else take_along(t, positions, reduction_dimension)
    return [values, positions], [tangent, zero_tangent(positions)]


def _batch(
    mapped: MappedAxis, args: Sequence[Any], dims: Sequence[Any], *, reduction_dimension: int, **params: Any
) -> Any:
    (d,) = dims
    moved = reduction_dimension + (d <= reduction_dimension)
    return approx_top_k_p.bind(args[0], reduction_dimension=moved, **params), [d, d]


approx_top_k_p.jvp = _jvp
approx_top_k_p.batch = _batch
