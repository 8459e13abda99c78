"""Products of matrices in which groups of rows, of unequal sizes, each meet a matrix of their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import bitwise, comparisons, creation, cumulative, dots, reductions, selection
from xtrace.lax import elementwise as el
from xtrace.lax import shapes as _shapes
from xtrace.lax.dots import Dimensions, free_dimensions
from xtrace.lax.precision import canonical_precision
from xtrace.transforms.batching import MappedAxis, move_axis
from xtrace.transforms.placement import held
from xtrace.transforms.zeros import UndefinedPrimal, Zero, zero_tangent


@dataclasses.dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """Which dimensions `ragged_dot_general` multiplies, splits into groups, and selects the groups' matrices by.

    Attributes:
      dot_dimension_numbers: ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)).
      lhs_ragged_dimensions: the one dimension of lhs that is split into groups.
      rhs_group_dimensions: the dimension of rhs that has one element a group, if the ragged one is neither contracted
        nor batch; none otherwise.
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Any
    rhs_group_dimensions: Any

    def __post_init__(self) -> None:
        pairs = tuple([tuple([tuple(dims) for dims in pair]) for pair in self.dot_dimension_numbers])
        object.__setattr__(self, "dot_dimension_numbers", pairs)
        object.__setattr__(self, "lhs_ragged_dimensions", tuple(self.lhs_ragged_dimensions))
        object.__setattr__(self, "rhs_group_dimensions", tuple(self.rhs_group_dimensions))


_ROWS = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


def mode(ndim: int, numbers: RaggedDotDimensionNumbers) -> str:
    """What the ragged dimension of an lhs of rank `ndim` is: "free", "contracting" or "batch"."""
    (contract, _), (batch, _) = numbers.dot_dimension_numbers
    ragged = numbers.lhs_ragged_dimensions[0]
    return "contracting" if ragged in contract else "batch" if ragged in batch else "free"


def _prefix(ndim: int, numbers: RaggedDotDimensionNumbers) -> list[int]:
    """The dimensions of lhs that group sizes may differ along: batch, and those of its own kind before the ragged."""
    (contract, _), (batch, _) = numbers.dot_dimension_numbers
    ragged, kind = numbers.lhs_ragged_dimensions[0], mode(ndim, numbers)
    if kind == "batch":
        return list(batch[: batch.index(ragged)])
    own = list(contract) if kind == "contracting" else free_dimensions(ndim, contract, batch)
    return [*batch, *own[: own.index(ragged)]]


def _check(lhs: ShapedArray, rhs: ShapedArray, sizes: ShapedArray, numbers: RaggedDotDimensionNumbers) -> None:
    if not dtypes.is_integer(sizes.dtype):
        raise TypeError(
            f"ragged_dot_general requires that group_sizes.dtype is subtype of np.integer, got {sizes.dtype}."
        )
    statics.check_instance(
        numbers, RaggedDotDimensionNumbers, "ragged_dot_dimension_numbers", "RaggedDotDimensionNumbers"
    )
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError(
            f"ragged_dot_general expects exactly one lhs ragged dimension, got {numbers.lhs_ragged_dimensions}."
        )
    ragged, groups = numbers.lhs_ragged_dimensions[0], numbers.rhs_group_dimensions
    (_, rhs_contract), (_, rhs_batch) = numbers.dot_dimension_numbers
    for what, side, dims, aval in (
        ("lhs ragged dimension", "lhs", (ragged,), lhs),
        ("rhs group dimension", "rhs", groups, rhs),
    ):
        for d in dims:
            if not 0 <= d < aval.ndim:
                raise TypeError(
                    f"ragged_dot_general requires {what} numbers to be nonnegative and less than the number of axes "
                    f"of the {side} value, got {d} for {side} of rank {aval.ndim}."
                )
    if not sizes.ndim:
        raise TypeError("expected rank of group_sizes to be >=1.")
    wanted = (*[lhs.shape[d] for d in _prefix(lhs.ndim, numbers)], sizes.shape[-1])
    if sizes.ndim != 1 and sizes.shape != wanted:
        raise TypeError(
            f"expected group_sizes to have shape {wanted}, got {sizes.shape}. "
            f"Sizes common to all have shape {wanted[-1:]}."
        )
    kind = mode(lhs.ndim, numbers)
    if kind != "free":
        if groups:
            raise TypeError(
                f"ragged_dot_general requires zero group dimensions in the rhs when lhs ragged dimension is "
                f"contracting or batch, got {groups}."
            )
        return
    if len(groups) != 1:
        raise TypeError(
            f"ragged_dot_general requires exactly one rhs group dimension when lhs ragged dimension is noncontracting, "
            f"got {groups}."
        )
    if groups[0] in rhs_batch or groups[0] in rhs_contract:
        raise TypeError(
            "ragged_dot_general requires rhs group dimension numbers to be distinct from contracting and batch "
            f"dimensions, got {groups[0]}."
        )
    if rhs.shape[groups[0]] != sizes.shape[-1]:
        raise TypeError(
            f"expected rhs group dimension size to be {sizes.shape[-1]}, got {rhs.shape[groups[0]]} "
            f"(rhs of shape {rhs.shape}, group_sizes of shape {sizes.shape})."
        )


def _aval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    sizes: ShapedArray,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any,
    preferred_element_type: Any,
    group_offset: None,
    out_sharding: Any,
) -> ShapedArray:
    numbers = ragged_dot_dimension_numbers
    _check(lhs, rhs, sizes, numbers)
    # A group dimension goes the way of batch and contracting ones: dot_general's checks are made without it.
    drop = set(numbers.rhs_group_dimensions)
    kept = [d for d in range(rhs.ndim) if d not in drop]
    one = rhs.update(shape=tuple([rhs.shape[d] for d in kept]))
    (lc, rc), (lb, rb) = numbers.dot_dimension_numbers
    rc, rb = ([kept.index(d) if d in kept else rhs.ndim for d in dims] for dims in (rc, rb))
    out = dots._dot_aval(
        lhs,
        one,
        dimension_numbers=((lc, tuple(rc)), (lb, tuple(rb))),
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )
    return out.update(shape=(sizes.shape[-1], *out.shape)) if mode(lhs.ndim, numbers) == "contracting" else out


ragged_dot_general_p = Primitive("ragged_dot_general", _aval)


def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Product like `dot_general`, one dimension of lhs being split into groups of consecutive elements.

    Where the ragged dimension is free, each group meets its own element along the group dimension of rhs; where it is
    contracting, the sums are over one group each. Where it is batch, nothing changes. What is behind the last group
    counts as 0.

    Args:
      lhs, rhs: arrays.
      group_sizes: integers, shape (g,); or (*batch, *x, g) for sizes that differ along batch dimensions and the
        dimensions of the ragged one's kind in front of it.
      ragged_dot_dimension_numbers: a RaggedDotDimensionNumbers.
      precision, preferred_element_type, out_sharding: as in `dot_general`.
      group_offset: None.

    Returns:
      What `dot_general` gives, without the group dimension; in front of it a dimension of size g if the ragged one is
      contracting.

    Raises:
      TypeError: dimensions or sizes that don't fit.
      NotImplementedError: a group_offset.

    >>> import numpy as np, xtrace as xt
    >>> numbers = xt.lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
    >>> x = np.float32([[1], [2], [3]])
    >>> xt.lax.ragged_dot_general(x, x, np.array([1, 2]), numbers).ravel().tolist()
    [1.0, 13.0]
    """
    if group_offset is not None:
        raise NotImplementedError(
            "Unimplemented group_offset support: give the sizes and matrices of the groups that are wanted, with the "
            "rows in front of them left out."
        )
    out = ragged_dot_general_p.bind(
        lhs,
        rhs,
        group_sizes,
        ragged_dot_dimension_numbers=ragged_dot_dimension_numbers,
        precision=canonical_precision(precision),
        preferred_element_type=None
        if preferred_element_type is None
        else dtypes.canonical_dtype(preferred_element_type),
        group_offset=None,
        out_sharding=None,
    )
    return held("ragged_dot_general", out, out_sharding)


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Product of a matrix with several: each group of its rows meets a matrix of its own.

    Args:
      lhs: shape (m, k).
      rhs: shape (g, k, n).
      group_sizes: integers, shape (g,): how many rows each group has. Rows behind the last group give 0.
      precision, preferred_element_type, out_sharding: as in `dot_general`.
      group_offset: None.

    Returns:
      Shape (m, n).

    Raises:
      TypeError: shapes that don't fit.
      NotImplementedError: a group_offset.

    >>> import numpy as np, xtrace as xt
    >>> x, y = np.float32([[1], [2], [3]]), np.float32([[[10]], [[100]]])
    >>> xt.lax.ragged_dot(x, y, np.array([1, 2])).ravel().tolist()
    [10.0, 200.0, 300.0]
    """
    return ragged_dot_general(
        lhs, rhs, group_sizes, _ROWS, precision, preferred_element_type, group_offset, out_sharding
    )


# -- by masks and dot_general ------------------------------------------------------------------------------------


def _mask(shape: tuple[int, ...], sizes: Any, numbers: RaggedDotDimensionNumbers) -> Any:
    """Whether each element of an lhs of this shape is in each group, shape (g, *shape)."""
    aval = shaped(sizes)
    ragged = numbers.lhs_ragged_dimensions[0]
    to = (aval.shape[-1], *shape)
    ends = cumulative.cumsum(sizes, aval.ndim - 1)
    starts = el.sub(ends, sizes)
    where = (*[d + 1 for d in _prefix(len(shape), numbers)], 0) if aval.ndim > 1 else (0,)
    order = tuple(sorted(range(len(where)), key=where.__getitem__))  # broadcasts want dimensions that increase
    starts, ends = (_shapes.broadcast_in_dim(_shapes.transpose(x, order), to, sorted(where)) for x in (starts, ends))
    positions = creation.broadcasted_iota(aval.dtype, to, ragged + 1)
    return bitwise.bitwise_and(comparisons.le(starts, positions), comparisons.lt(positions, ends))


def _grouped(x: Any, sizes: Any, numbers: RaggedDotDimensionNumbers) -> Any:
    """`x`, an lhs, once for each group with 0 outside of it, shape (g, *x.shape)."""
    mask = _mask(shaped(x).shape, sizes, numbers)
    to = shaped(mask).shape
    x = _shapes.broadcast_in_dim(x, to, tuple(range(1, len(to))))
    return selection.select_n_p.bind(mask, creation.full_like(x, 0), x)


def _raised(dims: Sequence[int]) -> tuple[int, ...]:
    return tuple([d + 1 for d in dims])


def by_masks(
    lhs: Any,
    rhs: Any,
    sizes: Any,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any,
    preferred_element_type: Any,
    **_: Any,
) -> Any:
    """The product as a dot_general of all groups at once, with zeros where a group has no part."""
    numbers = ragged_dot_dimension_numbers
    (lc, rc), (lb, rb) = numbers.dot_dimension_numbers
    kind = mode(shaped(lhs).ndim, numbers)
    if kind == "batch":
        return dots.bind_dot(lhs, rhs, ((lc, rc), (lb, rb)), precision, preferred_element_type)
    left = _grouped(lhs, sizes, numbers)
    if kind == "free":
        dims: Dimensions = (((*_raised(lc), 0), (*rc, *numbers.rhs_group_dimensions)), (_raised(lb), rb))
        return dots.bind_dot(left, rhs, dims, precision, preferred_element_type)
    out = dots.bind_dot(left, rhs, ((_raised(lc), rc), (_raised(lb), rb)), precision, preferred_element_type)
    n = len(lb)
    return _shapes.transpose(out, (n, *range(n), *range(n + 1, shaped(out).ndim)))


# -- derivative, transpose, batching -----------------------------------------------------------------------------


def _jvp_lhs(t: Any, out: Any, lhs: Any, rhs: Any, sizes: Any, **params: Any) -> Any:
    exact = not dtypes.is_inexact(out.aval.dtype)
    return zero_tangent(out) if exact else ragged_dot_general_p.bind(t, rhs, sizes, **params)


def _jvp_rhs(t: Any, out: Any, lhs: Any, rhs: Any, sizes: Any, **params: Any) -> Any:
    exact = not dtypes.is_inexact(out.aval.dtype)
    return zero_tangent(out) if exact else ragged_dot_general_p.bind(lhs, t, sizes, **params)


ragged_dot_general_p.jvps = (_jvp_lhs, _jvp_rhs, None)


def _ordered(x: Any, dims: Sequence[int], aval: ShapedArray) -> Any:
    """`x`, whose dimensions are those of `aval` in the order `dims`, brought into order and dtype."""
    permutation = sorted(range(len(dims)), key=dims.__getitem__)
    return _shapes.convert(_shapes.transpose(x, tuple(permutation)), aval.dtype, aval.weak_type)


def _by(order: Sequence[int], dims: Sequence[int]) -> list[int]:
    """`dims` sorted as their partners in `order` are."""
    return [d for _, d in sorted(zip(order, dims))]


def _swapped(precision: Any) -> Any:
    return precision[::-1] if type(precision) is tuple else precision


def _transpose(
    ct: Any, lhs: Any, rhs: Any, sizes: Any, *, ragged_dot_dimension_numbers: RaggedDotDimensionNumbers, **params: Any
) -> list[Any]:
    if type(ct) is Zero:
        return [None, None, None]
    of_lhs = type(lhs) is UndefinedPrimal
    x = lhs.aval if of_lhs else shaped(lhs)
    y = rhs.aval if type(rhs) is UndefinedPrimal else shaped(rhs)
    numbers = ragged_dot_dimension_numbers
    (lc, rc), (lb, rb) = numbers.dot_dimension_numbers
    kind = mode(x.ndim, numbers)
    precision, preferred = params["precision"], params["preferred_element_type"]
    if kind == "batch":
        both = dots._dot_transpose(
            ct, lhs, rhs, dimension_numbers=numbers.dot_dimension_numbers, precision=precision,
            preferred_element_type=preferred, out_sharding=None,
        )  # fmt: skip
        return [*both, None]
    ragged, groups = numbers.lhs_ragged_dimensions[0], numbers.rhs_group_dimensions
    n, first = len(lb), int(kind == "contracting")
    left = free_dimensions(x.ndim, lc, lb)
    right = free_dimensions(y.ndim, (*rc, *groups), rb)
    # The cotangent's dimensions: the groups if they are in front, batch, what is free in lhs and in rhs.
    batch = tuple(range(first, first + n))
    of_left = tuple(range(first + n, first + n + len(left)))
    of_right = tuple(range(first + n + len(left), first + n + len(left) + len(right)))
    if kind == "free":
        if of_lhs:
            dims = ((of_right, right), (batch, rb))
            new = RaggedDotDimensionNumbers(dims, (n + left.index(ragged),), groups)
            out = ragged_dot_general_p.bind(ct, rhs, sizes, ragged_dot_dimension_numbers=new, **params)
            return [_ordered(out, [*lb, *left, *_by(rc, lc)], x), None, None]
        new = RaggedDotDimensionNumbers(((left, of_left), (lb, batch)), (ragged,), ())
        out = ragged_dot_general_p.bind(lhs, ct, sizes, ragged_dot_dimension_numbers=new, **params)
        return [None, _ordered(out, [*groups, *rb, *_by(lc, rc), *right], y), None]
    if of_lhs:  # each group's cotangent of everything, of which the group's own elements remain
        out = dots.bind_dot(ct, rhs, ((of_right, tuple(right)), (batch, rb)), precision, preferred)
        every = x.update(shape=(shaped(ct).shape[0], *x.shape))
        out = _ordered(out, [*_raised(lb), 0, *_raised(left), *_raised(_by(rc, lc))], every)
        out = selection.select_n_p.bind(_mask(x.shape, sizes, numbers), creation.full_like(out, 0), out)
        return [reductions.reduce_sum(out, (0,)), None, None]
    dims = (((0, *_raised(left)), (0, *of_left)), (_raised(lb), batch))
    out = dots.bind_dot(_grouped(lhs, sizes, numbers), ct, dims, precision, preferred)
    return [None, _ordered(out, [*rb, *_by(lc, rc), *right], y), None]


ragged_dot_general_p.transpose = _transpose


def _batch(
    axis: MappedAxis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    **params: Any,
) -> Any:
    lhs, rhs, sizes = args
    left, right, of_sizes = dims
    numbers = ragged_dot_dimension_numbers
    (lc, rc), (lb, rb) = numbers.dot_dimension_numbers
    ndim = shaped(lhs).ndim - (left is not None)
    first = int(mode(ndim, numbers) == "contracting")

    def moved(own: Sequence[int], d: int | None) -> tuple[int, ...]:
        return tuple(own) if d is None else tuple([i + (i >= d) for i in own])

    def renumbered(l: int | None, r: int | None, more: tuple[int, ...]) -> RaggedDotDimensionNumbers:
        return RaggedDotDimensionNumbers(
            ((moved(lc, l), moved(rc, r)), ((*more, *moved(lb, l)), (*more, *moved(rb, r)))),
            moved(numbers.lhs_ragged_dimensions, l),
            moved(numbers.rhs_group_dimensions, r),
        )

    if of_sizes is None and shaped(sizes).ndim == 1 and (left is None or right is None):
        # The mapped axis of the one operand is one more free dimension, and nothing needs broadcasting.
        new = renumbered(left, right, ())
        (nlc, nrc), (nlb, nrb) = new.dot_dimension_numbers
        free = free_dimensions(shaped(lhs).ndim, nlc, nlb)
        if left is not None:
            at = free.index(left)
        else:
            assert right is not None
            others = free_dimensions(shaped(rhs).ndim, (*nrc, *new.rhs_group_dimensions), nrb)
            at = len(free) + others.index(right)
        out = ragged_dot_general_p.bind(lhs, rhs, sizes, ragged_dot_dimension_numbers=new, **params)
        return out, first + len(lb) + at
    if of_sizes is not None or shaped(sizes).ndim > 1:
        # Sizes of their own along the mapped axis need all dimensions that sizes may differ along.
        sizes = move_axis(sizes, of_sizes, 0, axis.size)
        shape = shaped(lhs).shape
        prefix = [shape[d + (left is not None and d >= left)] for d in _prefix(ndim, numbers)]
        if shaped(sizes).ndim == 2 and prefix:
            to = (axis.size, *prefix, shaped(sizes).shape[-1])
            sizes = _shapes.broadcast_in_dim(sizes, to, (0, len(to) - 1))
    lhs, rhs = move_axis(lhs, left, 0, axis.size), move_axis(rhs, right, 0, axis.size)
    new = renumbered(0, 0, (0,))
    return ragged_dot_general_p.bind(lhs, rhs, sizes, ragged_dot_dimension_numbers=new, **params), first


ragged_dot_general_p.batch = _batch
