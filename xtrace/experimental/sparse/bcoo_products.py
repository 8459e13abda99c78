"""Products of BCOO arrays: contractions with dense and sparse arrays, elementwise products, convolutions.

Nothing is made dense that wasn't: a contraction gathers the rows of the dense operand that the stored elements meet,
and sums products into the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.experimental.sparse.bcoo_array import (
    BCOO,
    _bcoo_extract,
    _bcoo_sum_duplicates,
    _padding,
    _validate_bcoo,
    _validate_bcoo_indices,
    in_bounds,
    with_dense,
)
from xtrace.experimental.sparse.bcoo_layouts import bcoo_update_layout
from xtrace.experimental.sparse.util import (
    SparseInfo,
    batch_grid,
    canonical_dot_dimensions,
    check_format,
    gather_or_zero,
    nfold_vmap,
    scatter,
    validated_dot_general,
)
from xtrace.lax.shapes import broadcast_shapes
from xtrace.lax.window_shapes import int_pairs


def _without(items: Sequence[int], taken: Sequence[int]) -> list[int]:
    return [i for i in items if i not in taken]


def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Contract two arrays of which either may be a BCOO array, as lax.dot_general does.

    Args:
      lhs: an array or BCOO array.
      rhs: an array or BCOO array.
      dimension_numbers: ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)). Batch dimensions of the product
        have to be batch dimensions of sparse operands; dense dimensions are not contracted.
      precision: has no effect where an operand is sparse.
      preferred_element_type: the dtype of the result.
      out_sharding: has no effect.

    Returns:
      a BCOO array if both operands are, else an array.

    Raises:
      TypeError: the shapes don't fit the dimension numbers.
      NotImplementedError: other dimensions are contracted.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_dot_general(sparse.eye(2), xnp.arange(2.), dimension_numbers=(([1], [0]), ([], []))).tolist()
    [0.0, 1.0]
    """
    options = {"dimension_numbers": dimension_numbers, "preferred_element_type": preferred_element_type}
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        shape = validated_dot_general(lhs, rhs, dimension_numbers, preferred_element_type).shape
        bufs = _bcoo_spdot_general(*lhs._bufs, *rhs._bufs, lhs_spinfo=lhs._info, rhs_spinfo=rhs._info, **options)
        return BCOO(bufs, shape=shape)
    if isinstance(lhs, BCOO):
        return _bcoo_dot_general(*lhs._bufs, rhs, lhs_spinfo=lhs._info, **options)
    if isinstance(rhs, BCOO):
        return _bcoo_rdot_general(lhs, *rhs._bufs, rhs_spinfo=rhs._info, **options)
    return lax.dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def _bcoo_rdot_general(
    lhs: Any,
    rhs_data: Any,
    rhs_indices: Any,
    *,
    dimension_numbers: Any,
    preferred_element_type: Any,
    rhs_spinfo: SparseInfo,
) -> Any:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = canonical_dot_dimensions(dimension_numbers)
    out = _bcoo_dot_general(
        rhs_data,
        rhs_indices,
        lhs,
        dimension_numbers=((rhs_contract, lhs_contract), (rhs_batch, lhs_batch)),
        preferred_element_type=preferred_element_type,
        lhs_spinfo=rhs_spinfo,
    )
    n_batch, n_sparse_side = len(lhs_batch), len(rhs_spinfo.shape) - len(rhs_contract)
    return lax.transpose(
        out, (*range(n_batch), *range(n_sparse_side, shaped(out).ndim), *range(n_batch, n_sparse_side))
    )


def _bcoo_dot_general(
    lhs_data: Any,
    lhs_indices: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    preferred_element_type: Any = None,
    lhs_spinfo: SparseInfo,
) -> Any:
    return _dot_dense(
        xnp.asarray(lhs_data),
        xnp.asarray(lhs_indices),
        xnp.asarray(rhs),
        dimension_numbers=canonical_dot_dimensions(dimension_numbers),
        preferred_element_type=None if preferred_element_type is None else dtypes.as_dtype(preferred_element_type),
        shape=tuple(lhs_spinfo.shape),
    )


class _Typed:
    """A shape with a dtype."""

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.shape, self.dtype = tuple(shape), dtype


@composite(static_argnames=("dimension_numbers", "preferred_element_type", "shape"))
def _dot_dense(
    data: Any, indices: Any, rhs: Any, *, dimension_numbers: Any, preferred_element_type: Any, shape: tuple[int, ...]
) -> Any:
    out = validated_dot_general(_Typed(shape, data.dtype), rhs, dimension_numbers, preferred_element_type)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    n_batch, n_sparse, n_dense, _ = _validate_bcoo(data, indices, shape)
    if lhs_batch and max(lhs_batch) >= n_batch:
        raise NotImplementedError(
            "bcoo_dot_general batch dimensions must be among the batch dimensions in the sparse representation.\n"
            f"got lhs_batch={lhs_batch}, n_batch={n_batch}"
        )
    if any([d >= n_batch + n_sparse for d in lhs_contract]):
        raise NotImplementedError("bcoo_dot_general: contracting over dense dimensions.")
    pairs = list(zip(lhs_contract, rhs_contract))
    over_batch = [(l, r) for l, r in pairs if l < n_batch]
    over_sparse = [(l - n_batch, r) for l, r in pairs if l >= n_batch]
    free = _without(range(n_batch), (*lhs_batch, *[l for l, _ in over_batch]))
    batch = (*lhs_batch, *free, *[l for l, _ in over_batch])
    data = data.transpose((*batch, *range(n_batch, data.ndim))).astype(out.dtype)
    indices = indices.transpose((*batch, n_batch, n_batch + 1))
    moved = (*rhs_batch, *[r for _, r in over_batch], *[r for _, r in over_sparse])
    rhs = rhs.transpose((*moved, *_without(range(rhs.ndim), moved))).astype(out.dtype)

    left = [shape[n_batch + s] for s in _without(range(n_sparse), [s for s, _ in over_sparse])]
    contracted = tuple([s for s, _ in over_sparse])

    def product(d: Any, i: Any, r: Any) -> Any:
        return _dot_element(d, i, r, contracted, left)

    def summed(d: Any, i: Any, r: Any) -> Any:
        n = len(over_batch)
        return nfold_vmap(product, n)(d, i, r).sum(tuple(range(n)), dtype=out.dtype) if n else product(d, i, r)

    fun = nfold_vmap(summed, len(free), in_axes=(0, 0, None))
    fun = nfold_vmap(fun, len(lhs_batch))
    return xnp.broadcast_to(fun(data, indices, rhs), out.shape)


def _dot_element(data: Any, indices: Any, rhs: Any, contracted: tuple[int, ...], left: Sequence[int]) -> Any:
    """One element of the batch: `data` (nse, *dense) at `indices`, times `rhs` (*contracted, *free)."""
    n_dense = data.ndim - 1
    rest = [indices[:, i] for i in range(indices.shape[1]) if i not in contracted]
    if contracted:
        rows = gather_or_zero(rhs, tuple([indices[:, s] for s in contracted]))  # (nse, *free)
        if not rest:
            return lax.dot_general(data, rows, (([0], [0]), ([], [])), preferred_element_type=data.dtype)
        n_free = rows.ndim - 1
        terms = with_dense(data, n_free) * lax.expand_dims(rows, tuple(range(1, 1 + n_dense)))
        out = xnp.zeros((*left, *data.shape[1:], *rows.shape[1:]), data.dtype)
        return scatter(out, tuple(rest), terms)
    if rest:
        dense = scatter(xnp.zeros((*left, *data.shape[1:]), data.dtype), tuple(rest), data)
    else:
        dense = data.sum(0, dtype=data.dtype)
    return with_dense(dense, rhs.ndim) * lax.expand_dims(rhs, tuple(range(dense.ndim)))


# Two sparse operands.


def _bcoo_spdot_general(
    lhs_data: Any,
    lhs_indices: Any,
    rhs_data: Any,
    rhs_indices: Any,
    *,
    lhs_spinfo: SparseInfo,
    rhs_spinfo: SparseInfo,
    dimension_numbers: Any,
    preferred_element_type: Any = None,
) -> tuple[Any, Any]:
    return _dot_sparse(
        *[xnp.asarray(x) for x in (lhs_data, lhs_indices, rhs_data, rhs_indices)],
        lhs_shape=tuple(lhs_spinfo.shape),
        rhs_shape=tuple(rhs_spinfo.shape),
        dimension_numbers=canonical_dot_dimensions(dimension_numbers),
        preferred_element_type=None if preferred_element_type is None else dtypes.as_dtype(preferred_element_type),
    )


@composite(static_argnames=("lhs_shape", "rhs_shape", "dimension_numbers", "preferred_element_type"))
def _dot_sparse(
    lhs_data: Any,
    lhs_indices: Any,
    rhs_data: Any,
    rhs_indices: Any,
    *,
    lhs_shape: tuple[int, ...],
    rhs_shape: tuple[int, ...],
    dimension_numbers: Any,
    preferred_element_type: Any,
) -> tuple[Any, Any]:
    lhs = _validate_bcoo(lhs_data, lhs_indices, lhs_shape)
    rhs = _validate_bcoo(rhs_data, rhs_indices, rhs_shape)
    out = validated_dot_general(
        _Typed(lhs_shape, lhs_data.dtype), _Typed(rhs_shape, rhs_data.dtype), dimension_numbers, preferred_element_type
    )
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    if lhs.n_dense or rhs.n_dense:
        raise NotImplementedError("bcoo_spdot_general with dense dimensions.")
    if any([d >= lhs.n_batch for d in lhs_batch]) or any([d >= rhs.n_batch for d in rhs_batch]):
        raise NotImplementedError(
            "bcoo_spdot_general: batch_dims must correspond to batch dimensions of the sparse representation."
        )
    if any([d < lhs.n_batch for d in lhs_contract]) or any([d < rhs.n_batch for d in rhs_contract]):
        raise NotImplementedError("bcoo_spdot_general only supports contraction of sparse indices.")
    lhs_left, rhs_left = lhs.n_sparse > len(lhs_contract), rhs.n_sparse > len(rhs_contract)
    if rhs.n_batch > len(rhs_batch) and lhs_left:
        raise ValueError("bcoo_spdot_general: cannot have unused batch dims on rhs with unused sparse dims on lhs.")
    out_n_batch = lhs.n_batch + rhs.n_batch - len(lhs_batch)
    nse = (lhs.nse if lhs_left else 1) * (rhs.nse if rhs_left else 1)
    nse = min(nse, math.prod(out.shape[out_n_batch:]))

    def batch_first(x: Any, first: Sequence[int], n: int) -> Any:
        return x.transpose((*first, *_without(range(n), first), *range(n, x.ndim)))

    def element(ld: Any, li: Any, rd: Any, ri: Any) -> tuple[Any, Any]:
        sizes = (lhs_shape[lhs.n_batch :], rhs_shape[rhs.n_batch :])
        dims = ([d - lhs.n_batch for d in lhs_contract], [d - rhs.n_batch for d in rhs_contract])
        return _spdot_element((ld, li), (rd, ri), sizes, dims, nse)

    fun = nfold_vmap(element, rhs.n_batch - len(rhs_batch), in_axes=(None, None, 0, 0))
    fun = nfold_vmap(fun, lhs.n_batch - len(lhs_batch), in_axes=(0, 0, None, None))
    fun = nfold_vmap(fun, len(lhs_batch))
    return fun(
        batch_first(lhs_data.astype(out.dtype), lhs_batch, lhs.n_batch),
        batch_first(lhs_indices, lhs_batch, lhs.n_batch),
        batch_first(rhs_data.astype(out.dtype), rhs_batch, rhs.n_batch),
        batch_first(rhs_indices, rhs_batch, rhs.n_batch),
    )


def _spdot_element(lhs: Any, rhs: Any, sizes: Any, dims: Any, nse: int) -> tuple[Any, Any]:
    """One element of the batch, by comparing all pairs of stored elements."""
    (ld, li), (rd, ri) = lhs, rhs
    dtype = np.promote_types(li.dtype, ri.dtype)
    li, ri = li.astype(dtype), ri.astype(dtype)
    meet = in_bounds(li, sizes[0])[:, None] & in_bounds(ri, sizes[1])[None, :]
    for a, b in zip(*dims):
        meet = meet & (li[:, a][:, None] == ri[:, b][None, :])
    data = xnp.where(meet, ld[:, None] * rd[None, :], xnp.zeros((), ld.dtype)).ravel()
    pairs = meet.shape
    columns = [xnp.broadcast_to(li[:, i][:, None], pairs) for i in _without(range(li.shape[1]), dims[0])]
    columns += [xnp.broadcast_to(ri[:, i][None, :], pairs) for i in _without(range(ri.shape[1]), dims[1])]
    count = pairs[0] * pairs[1]
    indices = xnp.stack(columns, axis=-1).reshape(count, len(columns)) if columns else xnp.zeros((count, 0), dtype)
    shape = [s for i, s in enumerate(sizes[0]) if i not in dims[0]]
    shape += [s for i, s in enumerate(sizes[1]) if i not in dims[1]]
    return _bcoo_sum_duplicates(data, indices, spinfo=SparseInfo(tuple(shape)), nse=nse)


# Dense operands, sparse result.


def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Any:  # noqa: N803
    """The elements of a product of dense arrays at BCOO indices.

    Args:
      A: an array.
      B: an array.
      indices: of shape (*batch, nse, n_sparse), into the product.
      dimension_numbers: as of lax.dot_general.

    Returns:
      an array of shape (*batch, nse, *dense); 0 at indices out of bounds.

    >>> import numpy as np
    >>> from xtrace.experimental import sparse
    >>> a = np.arange(6.).reshape(2, 3)
    >>> sparse.bcoo_dot_general_sampled(a, a.T, np.array([[1, 1]]), dimension_numbers=(([1], [0]), ([], []))).tolist()
    [50.0]
    """
    return _sampled(
        xnp.asarray(A),
        xnp.asarray(B),
        xnp.asarray(indices),
        dimension_numbers=canonical_dot_dimensions(dimension_numbers),
    )


@composite(static_argnames=("dimension_numbers",))
def _sampled(a: Any, b: Any, indices: Any, *, dimension_numbers: Any) -> Any:
    out = validated_dot_general(a, b, dimension_numbers, None)
    (a_contract, b_contract), (a_batch, _) = dimension_numbers
    n_batch, _, n_dense, _ = _validate_bcoo_indices(indices, out.shape)
    if n_batch or n_dense or a_batch or not out.shape:  # the whole product, then its elements
        return _bcoo_extract(indices, lax.dot_general(a, b, dimension_numbers))
    n_a = a.ndim - len(a_contract)

    def rows(x: Any, contract: Sequence[int], first: int) -> Any:
        free = _without(range(x.ndim), contract)
        x = x.transpose((*free, *contract)).astype(out.dtype)
        if not free:
            return xnp.broadcast_to(x, (indices.shape[0], *x.shape))
        where = tuple([indices[:, first + i] for i in range(len(free))])
        return gather_or_zero(x, where)

    left, right = rows(a, a_contract, 0), rows(b, b_contract, n_a)
    inside = in_bounds(indices, out.shape)
    total = (left * right).sum(tuple(range(1, left.ndim)), dtype=out.dtype)
    return xnp.where(inside, total, xnp.zeros((), out.dtype))


# Elementwise.


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Multiply two BCOO arrays elementwise.

    Args:
      lhs: a BCOO array.
      rhs: a BCOO array of as many dimensions, of which those of size 1 broadcast.

    Returns:
      a BCOO array with room for all pairs of stored elements.

    Raises:
      TypeError: the ranks differ.
      NotImplementedError: the numbers of dense dimensions differ.

    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_multiply_sparse(sparse.eye(2), sparse.eye(2)).todense().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_format(lhs, "BCOO", "lhs")
    check_format(rhs, "BCOO", "rhs")
    if lhs.ndim != rhs.ndim:
        raise TypeError(
            f"bcoo_multiply_sparse: arrays must have same number of dimensions, got {lhs.shape}, {rhs.shape}"
        )
    if lhs.n_dense != rhs.n_dense:
        raise NotImplementedError(
            f"bcoo_multiply_sparse: arrays with differing numbers of dense dimensions: {lhs.n_dense} and {rhs.n_dense}"
        )
    shape = broadcast_shapes(lhs.shape, rhs.shape)
    n_batch = min(lhs.n_batch, rhs.n_batch)
    lhs, rhs = bcoo_update_layout(lhs, n_batch=n_batch), bcoo_update_layout(rhs, n_batch=n_batch)
    bufs = _times_sparse(*lhs._bufs, *rhs._bufs, lhs_shape=lhs.shape, rhs_shape=rhs.shape, n_batch=n_batch)
    return BCOO(bufs, shape=shape)


@composite(static_argnames=("lhs_shape", "rhs_shape", "n_batch"))
def _times_sparse(
    ld: Any, li: Any, rd: Any, ri: Any, *, lhs_shape: tuple[int, ...], rhs_shape: tuple[int, ...], n_batch: int
) -> tuple[Any, Any]:
    n_sparse = li.shape[-1]
    lhs_sparse, rhs_sparse = [s[n_batch : n_batch + n_sparse] for s in (lhs_shape, rhs_shape)]
    out_sparse = broadcast_shapes(lhs_sparse, rhs_sparse)

    def element(ld: Any, li: Any, rd: Any, ri: Any) -> tuple[Any, Any]:
        dtype = np.promote_types(li.dtype, ri.dtype)
        li, ri = li.astype(dtype), ri.astype(dtype)
        meet = in_bounds(li, lhs_sparse)[:, None] & in_bounds(ri, rhs_sparse)[None, :]
        columns = []
        for i, (a, b) in enumerate(zip(lhs_sparse, rhs_sparse)):
            x, y = li[:, i][:, None], ri[:, i][None, :]
            if a != 1 and b != 1:
                meet = meet & (x == y)
            columns.append(x if b == 1 else y)
        data = ld[:, None] * rd[None, :]
        data = xnp.where(with_dense(meet, data.ndim - 2), data, xnp.zeros((), data.dtype))
        count = meet.shape[0] * meet.shape[1]
        if columns:
            indices = xnp.stack([xnp.broadcast_to(c, meet.shape) for c in columns], axis=-1)
            indices = xnp.where(meet[..., None], indices, _padding(indices, out_sparse, indices.shape))
        else:
            indices = xnp.zeros((*meet.shape, 0), dtype)
        return data.reshape(count, *data.shape[2:]), indices.reshape(count, len(columns))

    return nfold_vmap(element, n_batch)(ld, li, rd, ri)


def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """The stored elements of a BCOO array times a dense array.

    Args:
      sp_mat: a BCOO array.
      v: an array that broadcasts to its shape.

    Returns:
      the data of the product; its indices are those of `sp_mat`.

    Raises:
      NotImplementedError: the product has another shape.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_multiply_dense(sparse.eye(2), xnp.array([2., 3.])).tolist()
    [2.0, 3.0]
    """
    check_format(sp_mat, "BCOO", "sp_mat")
    return _times_dense(sp_mat.data, sp_mat.indices, xnp.asarray(v), spinfo=sp_mat._info)


def _times_dense(data: Any, indices: Any, v: Any, *, spinfo: SparseInfo) -> Any:
    if v.ndim == 0:
        return xnp.multiply(data, v)
    shape = spinfo.shape
    try:
        fits = broadcast_shapes(v.shape, shape) == tuple(shape)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise NotImplementedError(
            "multiplication between sparse and dense is only implemented for cases where the output shape matches the "
            f"sparse matrix shape. Got shape={shape}, v.shape={v.shape}"
        )
    n_batch, n_sparse, _, _ = _validate_bcoo(data, indices, shape)
    v = lax.expand_dims(v, tuple(range(len(shape) - v.ndim)))
    if n_sparse == 0:
        return xnp.multiply(data, lax.expand_dims(v, (n_batch,)))
    zero = np.zeros((1,) * (n_batch + 1), np.int32)
    columns = [indices[..., i] if v.shape[n_batch + i] != 1 else zero for i in range(n_sparse)]
    where = (*batch_grid(v.shape[:n_batch]), *columns)
    return xnp.multiply(data, gather_or_zero(v, where))


# Convolution.


def bcoo_conv_general_dilated(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> BCOO:
    """Convolve arrays of which either may be a BCOO array: of shapes (1, 1, n), as lax.conv_general_dilated does.

    Args:
      lhs: an array or BCOO array of shape (1, 1, n).
      rhs: an array or BCOO array of shape (1, 1, m).
      window_strides: (1,).
      padding: "SAME", "VALID", or the zeros before and after: ((low, high),).
      lhs_dilation: None or (1,), as are all other options at what they are by default.
      rhs_dilation: see there.
      dimension_numbers: see there.
      feature_group_count: see there.
      batch_group_count: see there.
      precision: has no effect.
      preferred_element_type: the dtype of the result.
      out_sharding: has no effect.

    Returns:
      a BCOO array.

    Raises:
      NotImplementedError: other shapes or options.
    """
    for x, name in (lhs, "lhs"), (rhs, "rhs"):
        if not hasattr(x, "shape"):
            statics.refuse(name, x, "an array, sparse or dense,")
    if len(lhs.shape) != 3 or len(rhs.shape) != 3 or (*lhs.shape[:2], *rhs.shape[:2]) != (1, 1, 1, 1):
        raise NotImplementedError(
            "bcoo convolution with leading dimensions other than (1, 1), or of more than one dimension: "
            f"got shapes {lhs.shape} and {rhs.shape}"
        )
    for name, value in (("lhs_dilation", lhs_dilation), ("rhs_dilation", rhs_dilation)):
        if value is not None and statics.integers(value, name) != (1,):
            raise NotImplementedError(f"bcoo convolution with {name}.")
    if statics.integers(window_strides, "window_strides") != (1,):
        raise NotImplementedError("bcoo convolution with non-unit window_strides.")
    if (feature_group_count, batch_group_count) != (1, 1):
        raise NotImplementedError("bcoo convolution with non-unit group counts.")
    n, m = lhs.shape[2], rhs.shape[2]
    if isinstance(padding, str):
        padding = lax.padtype_to_pads((n,), (m,), (1,), padding)
    padding = int_pairs("bcoo_conv_general_dilated", padding)
    if len(padding) != 1:
        raise ValueError(f"bcoo_conv_general_dilated takes padding of one dimension, got {padding}")
    ((low, high),) = padding
    (ld, li), (rd, ri) = [_as_line(x) for x in (lhs, rhs)]
    dtype = np.promote_types(li.dtype, ri.dtype)
    indices = (li.astype(dtype)[:, None] + (np.array(int(low), dtype) - ri.astype(dtype))[None, :]).ravel()
    data = xnp.multiply(ld[:, None], rd[None, :]).ravel()
    if preferred_element_type is not None:
        data = data.astype(preferred_element_type)
    size = max(0, n + int(low) + int(high) - m + 1)
    inside = (indices >= 0) & (indices < size)
    data = xnp.where(inside, data, xnp.zeros((), data.dtype))
    indices = xnp.where(inside, indices, np.array(size, dtype))
    return BCOO((data[None, None], indices[None, None, :, None]), shape=(1, 1, size))


def _as_line(mat: Any) -> tuple[Any, Any]:
    """Stored elements and their places, of an array of shape (1, 1, n)."""
    if not isinstance(mat, BCOO):
        line = xnp.asarray(mat)[0, 0]
        return line, lax.iota(np.int32, line.shape[0])
    mat = bcoo_update_layout(mat, n_batch=2, n_dense=0, on_inefficient=None)
    data, indices = mat.data[0, 0], mat.indices[0, 0, :, 0]
    return xnp.where(indices < mat.shape[2], data, xnp.zeros((), data.dtype)), indices
