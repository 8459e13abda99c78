"""Products that sum over dimensions of two arrays: dot_general, and the shorter ways to say it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import shapes as _shapes
from xtrace.lax.precision import canonical_precision
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.placement import held
from xtrace.transforms.zeros import UndefinedPrimal, Zero, zero_tangent

#: What callers may give as dimension numbers, in the order of `Dimensions`.
DotDimensionNumbers: TypeAlias = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]
#: ((lhs contracting, rhs contracting), (lhs batch, rhs batch)) dimensions.
Dimensions = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


def _check_dimensions(lhs: ShapedArray, rhs: ShapedArray, dimension_numbers: Dimensions) -> None:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    for side, aval, contract, batch in (("lhs", lhs, lhs_contract, lhs_batch), ("rhs", rhs, rhs_contract, rhs_batch)):
        if not all(0 <= d < aval.ndim for d in (*contract, *batch)):
            raise TypeError(
                f"dot_general requires {side} dimension numbers to be nonnegative and less than the number of axes of "
                f"the {side} value, got {side}_batch of {batch} and {side}_contracting of {contract} for {side} of "
                f"rank {aval.ndim} (shape {aval.shape})"
            )
        for what, dims in (("batch", batch), ("contracting", contract)):
            if len(set(dims)) != len(dims):
                raise TypeError(
                    f"dot_general requires {side} {what} dimensions to be distinct, got {side}_{what} {dims}."
                )
        if set(batch) & set(contract):
            raise TypeError(
                f"dot_general requires {side} batch dimensions to be disjoint from contracting dimensions, got "
                f"{side}_batch {batch} and {side}_contracting {contract}."
            )
    for what, left, right in (("batch", lhs_batch, rhs_batch), ("contracting", lhs_contract, rhs_contract)):
        if len(left) != len(right):
            raise TypeError(
                f"dot_general requires equal numbers of lhs_{what} and rhs_{what} dimensions, got lhs_{what} {left} "
                f"and rhs_{what} {right}."
            )
        left_sizes, right_sizes = tuple([lhs.shape[d] for d in left]), tuple([rhs.shape[d] for d in right])
        if left_sizes != right_sizes:
            name = "lhs batch dimensions and rhs batch dimensions" if what == "batch" else "contracting dimensions"
            raise TypeError(
                f"dot_general requires {name} to have the same shape, got {left_sizes} and {right_sizes} "
                f"(lhs {lhs.str_short()} along {left}, rhs {rhs.str_short()} along {right})."
            )


_KIND_ORDER = "buifc"


def result_dtype(lhs: Any, rhs: Any) -> Any:
    """The dtype of a product of operands of two dtypes: the kind that holds both, and the one of the wider range.

    Raises TypeError where neither has the wider range.
    """
    if lhs == rhs:
        return lhs
    left, right = _KIND_ORDER.find(dtypes.kind(lhs)), _KIND_ORDER.find(dtypes.kind(rhs))
    if left >= 0 and right >= 0:
        if left != right:
            return lhs if left > right else rhs
        limits = dtypes.iinfo if dtypes.is_integer(lhs) else dtypes.finfo
        left_max, right_max = float(limits(lhs).max), float(limits(rhs).max)
        if left_max != right_max:
            return lhs if left_max > right_max else rhs
    raise TypeError(
        f"dot_general can't multiply {lhs} with {rhs}: neither holds the other. Cast one of them with .astype()."
    )


def _dot_aval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: Dimensions,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> ShapedArray:
    _check_dimensions(lhs, rhs, dimension_numbers)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    dtype = result_dtype(lhs.dtype, rhs.dtype)
    weak = lhs.weak_type and rhs.weak_type and preferred_element_type is None
    if preferred_element_type is not None:
        if dtypes.is_complex(dtype) and not dtypes.is_complex(preferred_element_type):
            raise TypeError(
                f"dot_general of complex operands can't have the real preferred_element_type {preferred_element_type}"
            )
        dtype = preferred_element_type
    shape = (
        *[lhs.shape[d] for d in lhs_batch],
        *[lhs.shape[d] for d in free_dimensions(lhs.ndim, lhs_contract, lhs_batch)],
        *[rhs.shape[d] for d in free_dimensions(rhs.ndim, rhs_contract, rhs_batch)],
    )
    return ShapedArray(shape, dtype, weak)


def free_dimensions(ndim: int, contract: Sequence[int], batch: Sequence[int]) -> list[int]:
    """The dimensions of an operand that are neither contracted nor batch, in order."""
    return [d for d in range(ndim) if d not in contract and d not in batch]


dot_general_p = Primitive("dot_general", _dot_aval)


def _shown(params: dict[str, Any]) -> dict[str, Any]:
    ((lc, rc), (lb, rb)) = params["dimension_numbers"]
    shown = {k: v for k, v in params.items() if v is not None}
    return {**shown, "dimension_numbers": ((list(lc), list(rc)), (list(lb), list(rb)))}


dot_general_p.shown_params = _shown


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Product of two arrays, summed over pairs of dimensions and kept apart along pairs of batch dimensions.

    Args:
      lhs, rhs: arrays.
      dimension_numbers: ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), sequences of dimensions.
      precision: None (the option default_matmul_precision), a Precision or its name, a pair of them (lhs, rhs), a
        DotAlgorithm, or a DotAlgorithmPreset or its name.
      preferred_element_type: dtype in which to sum and return; the default is the operands'.
      out_sharding: sharding of the result, if it should have a particular one.

    Returns:
      An array whose dimensions are: batch, the rest of lhs, the rest of rhs.

    Raises:
      TypeError: dimensions that don't exist, repeat, or differ in size.
      ValueError: a precision that has no meaning.

    >>> import numpy as np, xtrace as xt
    >>> x, y = np.ones((7, 2, 3), np.float32), np.ones((7, 3, 5), np.float32)
    >>> xt.lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))).shape
    (7, 2, 5)
    """
    return bind_dot(
        lhs,
        rhs,
        statics.pairs(dimension_numbers, "dimension_numbers"),
        canonical_precision(precision),
        None if preferred_element_type is None else dtypes.canonical_dtype(preferred_element_type),
        out_sharding,
    )


def bind_dot(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Dimensions,
    precision: Any = None,
    preferred: Any = None,
    out_sharding: Any = None,
) -> Any:
    """`dot_general` of arguments that are known to be in their canonical form."""
    out = dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred,
        out_sharding=None,
    )
    return out if out_sharding is None else held("dot_general", out, out_sharding)


_MATRIX_PRODUCTS: dict[tuple[int, int], Dimensions] = {
    (1, 1): (((0,), (0,)), ((), ())),
    (1, 2): (((0,), (0,)), ((), ())),
    (2, 1): (((1,), (0,)), ((), ())),
    (2, 2): (((1,), (0,)), ((), ())),
}


def dot(
    lhs: Any,
    rhs: Any,
    *args: Any,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Product of vectors and matrices, or of any arrays with `dimension_numbers` as in `dot_general`.

    Args:
      lhs, rhs: arrays; of rank 1 or 2 if there are no dimension_numbers.
      args: `precision` and `preferred_element_type`, by position.
      dimension_numbers, precision, preferred_element_type, out_sharding: as in `dot_general`.

    Returns:
      The product: a scalar, vector or matrix.

    Raises:
      ValueError: ranks or sizes that don't make a matrix product.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.lax.dot(np.float32([1, 2]), np.float32([3, 4])))
    11.0
    """
    if args:  # precision and preferred_element_type may still come by position
        if len(args) > 2:
            raise TypeError(f"dot takes at most 4 positional arguments, got {2 + len(args)}")
        precision = args[0]
        preferred_element_type = args[1] if len(args) > 1 else preferred_element_type
    if dimension_numbers is None:
        left, right = shaped(lhs).shape, shaped(rhs).shape
        dimension_numbers = _MATRIX_PRODUCTS.get((len(left), len(right)))
        if dimension_numbers is None or left[-1] != right[0]:
            raise ValueError(
                f"lax.dot: dimension_numbers must be specified when not performing simple un-batched matrix-matrix, "
                f"matrix-vector, or vector-vector products; got lhs_shape={left} rhs_shape={right}"
            )
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Matrix products over the last two dimensions, the dimensions in front of them being batch.

    Args:
      lhs: shape (*batch, m, k).
      rhs: shape (*batch, k, n).
      precision: as in `dot_general`.

    Returns:
      Shape (*batch, m, n).

    Raises:
      ValueError: ranks that differ or are below 2.

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.batch_matmul(np.ones((9, 2, 3)), np.ones((9, 3, 4))).shape
    (9, 2, 4)
    """
    n = shaped(lhs).ndim
    if n < 2 or n != shaped(rhs).ndim:
        raise ValueError(
            f"batch_matmul needs operands of equal rank, at least 2; "
            f"got shapes {shaped(lhs).shape} and {shaped(rhs).shape}"
        )
    batch = tuple(range(n - 2))
    return bind_dot(lhs, rhs, (((n - 1,), (n - 2,)), (batch, batch)), canonical_precision(precision))


# -- derivative, transpose, batching -----------------------------------------------------------------------------


def _dot_jvp_lhs(t: Any, out: Any, lhs: Any, rhs: Any, **params: Any) -> Any:
    return dot_general_p.bind(t, rhs, **params) if dtypes.is_inexact(out.aval.dtype) else zero_tangent(out)


def _dot_jvp_rhs(t: Any, out: Any, lhs: Any, rhs: Any, **params: Any) -> Any:
    return dot_general_p.bind(lhs, t, **params) if dtypes.is_inexact(out.aval.dtype) else zero_tangent(out)


dot_general_p.jvps = (_dot_jvp_lhs, _dot_jvp_rhs)


def _cotangent_of_lhs(
    ct: Any, lhs: ShapedArray, rhs: Any, dimension_numbers: Dimensions, precision: Any, preferred: Any, swapped: bool
) -> Any:
    """The cotangent of one operand. `swapped`: the operand is the right one, and everything is given mirrored."""
    (contract, rhs_contract), (batch, rhs_batch) = dimension_numbers
    rhs_ndim = shaped(rhs).ndim
    free = free_dimensions(lhs.ndim, contract, batch)
    rhs_free = free_dimensions(rhs_ndim, rhs_contract, rhs_batch)
    n = len(batch)
    # The cotangent's dimensions: batch, then the free dimensions of the left and of the right operand.
    start = n if swapped else n + len(free)
    in_ct = tuple(range(start, start + len(rhs_free)))
    every = tuple(range(n))
    if type(precision) is tuple:
        precision = precision[::-1] if swapped else precision
    out = bind_dot(ct, rhs, ((in_ct, tuple(rhs_free)), (every, rhs_batch)), precision, preferred)
    # The product has dimensions: batch, free, then the contracted ones in the order in which rhs has them.
    contracted = [c for _, c in sorted(zip(rhs_contract, contract))]
    order = [*batch, *free, *contracted]
    permutation = [0] * len(order)
    for position, d in enumerate(order):
        permutation[d] = position
    return _shapes.convert(_shapes.transpose(out, permutation), lhs.dtype, lhs.weak_type)


def _dot_transpose(
    ct: Any,
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Dimensions,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> list[Any]:
    if type(ct) is Zero:
        return [None, None]
    if type(lhs) is UndefinedPrimal:
        return [_cotangent_of_lhs(ct, lhs.aval, rhs, dimension_numbers, precision, preferred_element_type, False), None]
    (lc, rc), (lb, rb) = dimension_numbers
    mirrored: Dimensions = ((rc, lc), (rb, lb))
    return [None, _cotangent_of_lhs(ct, rhs.aval, lhs, mirrored, precision, preferred_element_type, True)]


dot_general_p.transpose = _dot_transpose


def _dot_batch(
    axis: MappedAxis, args: Sequence[Any], dims: Sequence[int | None], *, dimension_numbers: Dimensions, **params: Any
) -> Any:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    left, right = dims

    def moved(own: Sequence[int], d: int | None) -> tuple[int, ...]:
        return tuple(own) if d is None else tuple([i + (i >= d) for i in own])

    lc, lb, rc, rb = (
        moved(lhs_contract, left),
        moved(lhs_batch, left),
        moved(rhs_contract, right),
        moved(rhs_batch, right),
    )
    lhs, rhs = args
    if left is not None and right is not None:
        numbers = ((lc, rc), ((left, *lb), (right, *rb)))
        return dot_general_p.bind(lhs, rhs, dimension_numbers=numbers, **params), 0
    # One operand is mapped: its mapped axis is one more free dimension, and nothing needs broadcasting.
    lhs_free = free_dimensions(shaped(lhs).ndim, lc, lb)
    if left is not None:
        out_dim = len(lb) + lhs_free.index(left)
    else:
        assert right is not None
        out_dim = len(lb) + len(lhs_free) + free_dimensions(shaped(rhs).ndim, rc, rb).index(right)
    return dot_general_p.bind(lhs, rhs, dimension_numbers=((lc, rc), (lb, rb)), **params), out_dim


dot_general_p.batch = _dot_batch
