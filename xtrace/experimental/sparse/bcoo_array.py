"""The format BCOO (batched coordinates): its class, conversions, sorting, and summing of duplicates.

An array of shape (*batch, *sparse, *dense) is stored as `data` of shape (*batch, nse, *dense) and `indices` of shape
(*batch, nse, n_sparse); batch dimensions of either may be 1. Indices out of bounds are padding: such elements don't
count. Functions of buffers (with an underscore) are plain compositions of gather, scatter and sort, so that their
derivatives and batching follow from those; `BCOO` wraps them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.core.trace import Tracer
from xtrace.experimental.sparse._base import JAXSparse
from xtrace.experimental.sparse.util import (
    SparseInfo,
    _count_stored_elements,
    batch_grid,
    buffers,
    check_format,
    concrete_size,
    gather_or_zero,
    register,
    scatter,
    split_shape,
)
from xtrace.transforms.vmappable import register_vmappable

_TRACED_NSE = (
    "The number of stored elements (nse) depends on the values of the array, which are not known while tracing: "
    "give it, fromdense(x, nse=...)."
)
_NSE_UNDER_TRACE = (
    "bcoo_sum_duplicates: nse must be specified when using the function within jit, vmap, and other transformations "
    "requiring abstract evaluation."
)


class BCOOProperties(NamedTuple):
    """The layout that buffers have."""

    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


def _batch_fits(batch: Sequence[int], shape: Sequence[int]) -> bool:
    return all([b in (1, s) for b, s in zip(batch, shape)])


def _validate_bcoo_indices(indices: Any, shape: Sequence[int]) -> BCOOProperties:
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise TypeError(f"BCOO indices must be integers, got dtype {indices.dtype}")
    if len(indices.shape) < 2:
        raise ValueError(f"BCOO indices must have the shape (*batch, nse, n_sparse), got {tuple(indices.shape)}")
    nse, n_sparse = indices.shape[-2:]
    n_batch = len(indices.shape) - 2
    n_dense = len(shape) - n_batch - n_sparse
    if n_dense < 0:
        raise ValueError(
            f"BCOO indices of shape {tuple(indices.shape)} have {n_batch} batch and {n_sparse} sparse dimensions: "
            f"more than an array of shape {tuple(shape)} has"
        )
    if not _batch_fits(indices.shape[:n_batch], shape):
        raise ValueError(
            f"indices batch dimensions not compatible for indices.shape={tuple(indices.shape)}, shape={tuple(shape)}"
        )
    return BCOOProperties(n_batch, n_sparse, n_dense, nse)


def _validate_bcoo(data: Any, indices: Any, shape: Sequence[int]) -> BCOOProperties:
    props = _validate_bcoo_indices(indices, shape)
    n_batch, n_sparse, n_dense, nse = props
    if not _batch_fits(data.shape[:n_batch], shape):
        raise ValueError(
            f"data batch dimensions not compatible for data.shape={tuple(data.shape)}, shape={tuple(shape)}"
        )
    if tuple(data.shape[n_batch:]) != (nse, *shape[n_batch + n_sparse :]):
        raise ValueError(
            f"Invalid data.shape={tuple(data.shape)} for nse={nse}, n_batch={n_batch}, n_dense={n_dense}: "
            f"expected (*batch, {nse}, {', '.join(map(str, shape[n_batch + n_sparse :]))})"
        )
    return props


def _columns(indices: Any) -> list[Any]:
    """The indices by sparse dimension, each of shape (*batch, nse)."""
    return [indices[..., i] for i in range(shaped(indices).shape[-1])]


def _padding(indices: Any, sparse_shape: Sequence[int], shape: Sequence[int]) -> Any:
    """Indices out of bounds, of a shape (*batch, nse, n_sparse)."""
    return xnp.broadcast_to(np.array(sparse_shape, shaped(indices).dtype), tuple(shape))


def as_row(sizes: Sequence[int], indices: Any) -> np.ndarray:
    """Numbers by sparse dimension, of the rank and dtype of indices: what they are compared with and added to."""
    aval = shaped(indices)
    return np.array(sizes, aval.dtype).reshape((1,) * (aval.ndim - 1) + (-1,))


def in_bounds(indices: Any, sparse_shape: Sequence[int]) -> Any:
    """Whether indices are within the sparse dimensions, of shape (*batch, nse)."""
    return (indices < as_row(sparse_shape, indices)).all(-1)


def with_dense(mask: Any, n_dense: int) -> Any:
    """A mask of stored elements, of a shape that broadcasts against data."""
    rank = shaped(mask).ndim
    return lax.expand_dims(mask, tuple(range(rank, rank + n_dense)))


def _broadcast_batch(*shapes: Sequence[int]) -> tuple[int, ...]:
    return tuple([next((s for s in sizes if s != 1), 1) for sizes in zip(*shapes)])


def _rows(x: Any, index: Any, n_batch: int) -> Any:
    """The rows of `x`, of shape (*batch, n, ...), at `index`, of shape (*batch, m); batch dimensions broadcast."""
    batch = _broadcast_batch(shaped(x).shape[:n_batch], shaped(index).shape[:n_batch])
    grid = batch_grid(batch, of=shaped(x).shape[:n_batch])
    return gather_or_zero(x, (*grid, index))


# To and from dense arrays.


@composite(static_argnames=("spinfo",))
def _bcoo_todense(data: Any, indices: Any, *, spinfo: SparseInfo) -> Any:
    data, indices = xnp.asarray(data), xnp.asarray(indices)
    shape = spinfo.shape
    n_batch, n_sparse, _, _ = _validate_bcoo(data, indices, shape)
    if n_sparse == 0:
        return xnp.broadcast_to(data.sum(n_batch, dtype=data.dtype), shape)
    where = (*batch_grid(shape[:n_batch]), *_columns(indices))
    return scatter(xnp.zeros(shape, data.dtype), where, data)


def _bcoo_fromdense(
    mat: Any, *, nse: Any, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> tuple[Any, Any]:
    nse = concrete_size(nse, _TRACED_NSE)
    mat, index_dtype = xnp.asarray(mat), dtypes.as_dtype(index_dtype)
    return _stored(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)


@composite(static_argnames=("nse", "n_batch", "n_dense", "index_dtype"))
def _stored(mat: Any, *, nse: int, n_batch: int, n_dense: int, index_dtype: Any) -> tuple[Any, Any]:
    batch, sparse, _ = split_shape(mat.shape, n_batch, mat.ndim - n_batch - n_dense)
    mask = (mat != 0).any(tuple(range(mat.ndim - n_dense, mat.ndim)))
    total = math.prod(sparse)
    mask = mask.reshape(*batch, total)
    count = xnp.cumsum(mask, axis=-1, dtype=np.int32)
    slot = xnp.where(mask, count - 1, nse)
    flat = xnp.full((*batch, nse), total, np.int32 if total < 2**31 else np.int64)
    flat = scatter(flat, (*batch_grid(batch), slot), np.arange(total, dtype=flat.dtype), "set")
    columns, rest = [], flat
    for size in reversed(sparse):
        columns.append(xnp.where(flat < total, rest % max(size, 1), size))
        rest = rest // max(size, 1)
    if columns:
        indices = xnp.stack(columns[::-1], axis=-1).astype(index_dtype)
    else:
        indices = xnp.zeros((*batch, nse, 0), index_dtype)
    data = _bcoo_extract(indices, mat)
    stored = with_dense(flat < total, n_dense)
    return xnp.where(stored, data, xnp.zeros((), data.dtype)), indices


@composite(static_argnames=("assume_unique",))
def _bcoo_extract(indices: Any, arr: Any, *, assume_unique: bool = True) -> Any:
    indices, arr = xnp.asarray(indices), xnp.asarray(arr)
    shape = arr.shape
    n_batch, n_sparse, n_dense, nse = _validate_bcoo_indices(indices, shape)
    if n_sparse == 0:
        out_shape = (*shape[:n_batch], nse, *shape[n_batch:])
        data = xnp.broadcast_to(lax.expand_dims(arr, (n_batch,)), out_shape)
    else:
        where = (*batch_grid(shape[:n_batch]), *_columns(indices))
        data = gather_or_zero(arr, where)
    if not assume_unique:
        _, order, first, _, _ = _grouped(indices, shape[n_batch : n_batch + n_sparse])
        grid = batch_grid(indices.shape[:n_batch])
        kept = xnp.zeros(order.shape, bool).at[(*grid, order)].set(first)
        data = xnp.where(with_dense(kept, n_dense), data, xnp.zeros((), data.dtype))
    return data


# Order and duplicates.


def _lexsorted(columns: Sequence[Any], like: Any) -> tuple[list[Any], Any]:
    """The columns sorted row by row, and the positions the rows come from."""
    shape = shaped(like).shape[:-1]
    order = lax.broadcasted_iota(np.int32, shape, len(shape) - 1)
    if not columns:
        return [], order
    *columns, order = lax.sort((*columns, order), dimension=-1, num_keys=len(columns) + 1)
    return list(columns), order


def _grouped(indices: Any, sparse_shape: Sequence[int]) -> tuple[list[Any], Any, Any, Any, Any]:
    """Rows of indices in sorted order: columns, where they come from, which are first of their kind, the number of
    their kind, and whether they are in bounds. Rows out of bounds are all of one kind, the last."""
    columns = _columns(indices)
    inside = in_bounds(indices, sparse_shape)
    columns = [xnp.where(inside, c, np.array(s, c.dtype)) for c, s in zip(columns, sparse_shape)]
    columns, order = _lexsorted(columns, indices)
    first = order == order  # all
    if order.shape[-1]:
        differs = xnp.zeros((*order.shape[:-1], max(order.shape[-1] - 1, 0)), bool)
        for c in columns:
            differs = differs | (c[..., 1:] != c[..., :-1])
        first = xnp.concatenate([xnp.ones((*order.shape[:-1], 1), bool), differs], axis=-1)
    group = xnp.cumsum(first, axis=-1, dtype=np.int32) - 1
    inside = xnp.ones(order.shape, bool)
    for c, s in zip(columns, sparse_shape):
        inside = inside & (c < s)
    return columns, order, first, group, inside


@composite(static_argnames=("spinfo",))
def _number_of_distinct(indices: Any, *, spinfo: SparseInfo) -> Any:
    props = _validate_bcoo_indices(indices, spinfo.shape)
    sparse = spinfo.shape[props.n_batch : props.n_batch + props.n_sparse]
    _, _, first, _, inside = _grouped(indices, sparse)
    return (first & inside).sum(-1).max(initial=0)


def _bcoo_sum_duplicates(data: Any, indices: Any, *, spinfo: SparseInfo, nse: Any = None) -> tuple[Any, Any]:
    props = _validate_bcoo(data, indices, spinfo.shape)
    if nse is not None:
        nse = concrete_size(nse, "nse argument of bcoo_sum_duplicates.")
    elif props.n_sparse == 0:
        nse = 1
    else:
        if isinstance(indices, Tracer) and indices.to_concrete_value() is None:
            raise ValueError(_NSE_UNDER_TRACE)
        nse = concrete_size(_number_of_distinct(indices, spinfo=spinfo), _NSE_UNDER_TRACE)
    return _summed(data, indices, spinfo=spinfo, nse=nse)


@composite(static_argnames=("spinfo", "nse"))
def _summed(data: Any, indices: Any, *, spinfo: SparseInfo, nse: int) -> tuple[Any, Any]:
    n_batch, n_sparse, n_dense, _ = _validate_bcoo(data, indices, spinfo.shape)
    sparse = spinfo.shape[n_batch : n_batch + n_sparse]
    columns, order, _, group, inside = _grouped(indices, sparse)
    slot = xnp.where(inside, group, nse)  # out of bounds: dropped
    index_batch = indices.shape[:n_batch]
    grid = batch_grid(index_batch)
    out_indices = _padding(indices, sparse, (*index_batch, nse, n_sparse))
    if columns:
        rows = xnp.stack(columns, axis=-1)
        out_indices = scatter(out_indices, (*grid, slot), rows, "set")
    target = xnp.zeros(order.shape, np.int32).at[(*grid, order)].set(slot)
    batch = _broadcast_batch(index_batch, data.shape[:n_batch])
    out = xnp.zeros((*batch, nse, *data.shape[n_batch + 1 :]), data.dtype)
    return scatter(out, (*batch_grid(batch), target), data), out_indices


@composite(static_argnames=("spinfo",))
def _bcoo_sort_indices(data: Any, indices: Any, *, spinfo: SparseInfo) -> tuple[Any, Any]:
    props = _validate_bcoo(data, indices, spinfo.shape)
    if props.n_sparse == 0:
        return data, indices
    columns, order = _lexsorted(_columns(indices), indices)
    return _rows(data, order, props.n_batch), xnp.stack(columns, axis=-1)


@register
class BCOO(JAXSparse):
    """A batched sparse array in coordinate format.

    Args:
      args: (data, indices) of shapes (*batch, nse, *dense) and (*batch, nse, n_sparse). Duplicates are summed;
        indices out of bounds are padding.
      shape: the shape of the array.
      indices_sorted: the indices are known to be in lexicographic order.
      unique_indices: no index is known to occur twice.

    Raises:
      ValueError: the shapes don't fit together.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> x = sparse.BCOO.fromdense(xnp.array([[0., 2., 0.], [1., 0., 4.]]))
    >>> x
    BCOO(float32[2, 3], nse=3)
    >>> x.indices.tolist(), (x @ xnp.ones(3)).tolist()
    ([[0, 1], [1, 0], [1, 2]], [2.0, 5.0])
    """

    indices: Any
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices = buffers("BCOO", ("data", "indices"), args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        super().__init__(args, shape=shape)
        _validate_bcoo(self.data, self.indices, self.shape)

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @property
    def _bufs(self) -> tuple[Any, Any]:
        return self.data, self.indices

    @property
    def nse(self) -> int:
        """The number of specified elements (in each element of the batch)."""
        return self.indices.shape[-2]

    @property
    def n_batch(self) -> int:
        """The number of batch dimensions."""
        return self.indices.ndim - 2

    @property
    def n_sparse(self) -> int:
        """The number of sparse dimensions."""
        return self.indices.shape[-1]

    @property
    def n_dense(self) -> int:
        """The number of dense dimensions."""
        return self.data.ndim - 1 - self.n_batch

    def _description(self) -> dict[str, int]:
        more = {"n_batch": self.n_batch, "n_dense": self.n_dense}
        return {"nse": self.nse, **{k: v for k, v in more.items() if v}}

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: Any = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> BCOO:
        """Make a sparse array of a dense one: see `bcoo_fromdense`."""
        return bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCOO:
        """Make a sparse array of one of scipy.sparse."""
        if n_dense != 0 or n_batch != 0:
            raise NotImplementedError("BCOO.from_scipy_sparse with nonzero n_dense or n_batch")
        mat = mat.tocoo()
        indices = np.stack([mat.row, mat.col], axis=1).astype(index_dtype or np.int32)
        return cls((xnp.asarray(mat.data), indices), shape=mat.shape)

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: Any = None,
        index_dtype: Any = "int32",
        n_dense: int = 0,
        n_batch: int = 0,
        nse: int = 0,
    ) -> BCOO:
        shape, nse = statics.integers(shape, "shape"), statics.integer(nse, "nse")
        n_dense, n_batch = statics.integer(n_dense, "n_dense"), statics.integer(n_batch, "n_batch")
        n_sparse = len(shape) - n_dense - n_batch
        if n_sparse < 0 or n_dense < 0 or n_batch < 0 or nse < 0:
            raise ValueError(f"Invalid inputs: shape={tuple(shape)}, n_dense={n_dense}, n_batch={n_batch}, nse={nse}")
        batch, sparse, dense = split_shape(shape, n_batch, n_sparse)
        data = xnp.zeros((*batch, nse, *dense), dtype)
        indices = xnp.full((*batch, nse, n_sparse), np.array(sparse, np.int32), index_dtype)
        return cls((data, indices), shape=shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def _eye(
        cls,
        N: int,  # noqa: N803
        M: int,  # noqa: N803
        k: int,
        *,
        dtype: Any = None,
        index_dtype: Any = "int32",
        n_batch: int = 0,
        n_dense: int = 0,
    ) -> BCOO:
        if 2 - n_batch - n_dense < 0 or n_dense < 0 or n_batch < 0:
            raise ValueError(f"Invalid inputs: shape={(N, M)}, n_dense={n_dense}, n_batch={n_batch}")
        row, col = diagonal(N, M, k)
        if not len(row):
            return cls._empty((N, M), dtype=dtype, index_dtype=index_dtype, n_batch=n_batch, n_dense=n_dense)
        if n_dense > 0 or n_batch > 1:  # zeros are stored too
            eye = np.eye(N, M, k)
            nse = _host_count(eye, n_batch, n_dense)
            eye = xnp.asarray(eye, dtype=xnp.zeros(0, dtype).dtype)
            return cls.fromdense(eye, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)
        if n_batch == 0:
            data, indices = xnp.ones(len(row), dtype), np.stack([row, col], axis=1)
        else:
            data, indices = np.zeros((N, 1)), np.full((N, 1, 1), M)
            data[row, 0], indices[row, 0, 0] = 1, col
            data = xnp.asarray(data, dtype=xnp.zeros(0, dtype).dtype)
        return cls(
            (data, xnp.asarray(indices, dtype=index_dtype)), shape=(N, M), indices_sorted=True, unique_indices=True
        )

    def update_layout(
        self, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
    ) -> BCOO:
        """The same array with other numbers of batch and dense dimensions: see `bcoo_update_layout`."""
        from xtrace.experimental.sparse.bcoo_layouts import bcoo_update_layout

        return bcoo_update_layout(self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """The same array with sorted indices, each once.

        Args:
          nse: how many elements the result stores; by default as many as there are, which has to be found from their
            values, and isn't known while tracing. Elements that don't fit are dropped.
          remove_zeros: leave stored zeros away (which elements these are is constant for derivatives).
        """
        return bcoo_eliminate_zeros(self, nse=nse) if remove_zeros else bcoo_sum_duplicates(self, nse=nse)

    def sort_indices(self) -> BCOO:
        """The same array with sorted indices."""
        return bcoo_sort_indices(self)

    def todense(self) -> Any:
        """The dense array."""
        return bcoo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """The array with its dimensions permuted; batch, sparse and dense ones each among themselves."""
        from xtrace.experimental.sparse.bcoo_layouts import bcoo_transpose

        axes = tuple(range(self.ndim)[::-1] if axes is None else list(statics.integers(axes, "axes")))
        return bcoo_transpose(self, permutation=axes)

    def tree_flatten(self) -> tuple[tuple[Any, Any], SparseInfo]:
        return (self.data, self.indices), self._info

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> BCOO:
        out = object.__new__(cls)
        out.data, out.indices = children
        out.shape, out.indices_sorted, out.unique_indices = aux_data
        return out


def diagonal(n: int, m: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the k-th diagonal of an (n, m) matrix."""
    row = np.arange(max(0, -k), max(0, -k, min(n, m - k)))
    return row, row + k


def _host_count(mat: np.ndarray, n_batch: int, n_dense: int) -> int:
    mask = (mat != 0).any(tuple(range(mat.ndim - n_dense, mat.ndim)))
    return int(mask.sum(tuple(range(n_batch, mask.ndim))).max(initial=0))


def bcoo_todense(mat: BCOO) -> Any:
    """Make a dense array of a sparse one.

    Args:
      mat: a BCOO array.

    Returns:
      an array of mat.shape; elements stored twice are summed.

    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_todense(sparse.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_format(mat, "BCOO", "mat")
    return _bcoo_todense(mat.data, mat.indices, spinfo=mat._info)


def bcoo_fromdense(
    mat: Any, *, nse: Any = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCOO:
    """Make a sparse array of a dense one.

    Args:
      mat: the array.
      nse: how many elements to store (in each element of the batch); by default as many as are not zero, which is not
        known while tracing.
      n_batch: the number of leading dimensions that are a batch.
      n_dense: the number of trailing dimensions that are dense.
      index_dtype: the dtype of the indices.

    Returns:
      a BCOO array with sorted and unique indices.

    Raises:
      ConcretizationTypeError: nse has to be found from traced values.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_fromdense(xnp.eye(3), n_batch=1)
    BCOO(float32[3, 3], nse=1, n_batch=1)
    """
    mat = xnp.asarray(mat)
    n_batch, n_dense = statics.integer(n_batch, "n_batch"), statics.integer(n_dense, "n_dense")
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise ValueError(f"n_batch={n_batch} and n_dense={n_dense} don't fit an array of shape {mat.shape}")
    if nse is None:
        nse = _count_stored_elements(mat, n_batch, n_dense)
    nse = concrete_size(nse, _TRACED_NSE)
    bufs = _bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=dtypes.as_dtype(index_dtype))
    return BCOO(bufs, shape=mat.shape, indices_sorted=True, unique_indices=True)


def bcoo_extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of a dense array where a sparse array stores elements.

    Args:
      sparr: the BCOO array whose indices are used.
      arr: an array of the same shape.
      assume_unique: whether no index occurs twice (by default sparr.unique_indices). Otherwise all but the first of
        equal indices get 0.

    Returns:
      a BCOO array with the indices of `sparr`.

    Raises:
      TypeError: `sparr` is no BCOO array.
      ValueError: the shapes differ.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.bcoo_extract(sparse.eye(2), xnp.arange(4.).reshape(2, 2)).data.tolist()
    [0.0, 3.0]
    """
    check_format(sparr, "BCOO", "sparr")
    if not isinstance(sparr, BCOO):
        raise TypeError(f"First argument to bcoo_extract should be a BCOO array. Got type(sparr)={type(sparr)}")
    arr = xnp.asarray(arr)
    if arr.shape != sparr.shape:
        raise ValueError(f"shape mismatch: sparr.shape={sparr.shape} a.shape={arr.shape}")
    if assume_unique is None:
        assume_unique = sparr.unique_indices
    data = _bcoo_extract(sparr.indices, arr, assume_unique=bool(assume_unique))
    return BCOO((data, sparr.indices), **sparr._info._asdict())


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The same array with indices in lexicographic order.

    Args:
      mat: a BCOO array.

    Returns:
      a BCOO array; duplicates stay.

    >>> from xtrace.experimental import sparse
    >>> x = sparse.BCOO(([1., 2.], [[1], [0]]), shape=(2,))
    >>> sparse.bcoo_sort_indices(x).data.tolist()
    [2.0, 1.0]
    """
    check_format(mat, "BCOO", "mat")
    bufs = _bcoo_sort_indices(mat.data, mat.indices, spinfo=mat._info)
    return BCOO(bufs, shape=mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """The same array with sorted indices, each once.

    Args:
      mat: a BCOO array.
      nse: how many elements the result stores; needed while tracing. Too many are padded, too few drop elements.

    Returns:
      a BCOO array.

    Raises:
      ValueError: nse is not given and has to be found from traced values.

    >>> from xtrace.experimental import sparse
    >>> x = sparse.BCOO(([1., 2., 3.], [[1], [0], [1]]), shape=(2,))
    >>> sparse.bcoo_sum_duplicates(x).data.tolist()
    [2.0, 4.0]
    """
    check_format(mat, "BCOO", "mat")
    bufs = _bcoo_sum_duplicates(mat.data, mat.indices, spinfo=mat._info, nse=nse)
    return BCOO(bufs, shape=mat.shape, indices_sorted=True, unique_indices=True)


def bcoo_eliminate_zeros(mat: BCOO, nse: int | None = None) -> BCOO:
    """`bcoo_sum_duplicates` that leaves stored zeros away."""
    check_format(mat, "BCOO", "mat")
    n_batch, n_sparse, _, _ = _validate_bcoo(mat.data, mat.indices, mat.shape)
    zero = (mat.data == 0).all(tuple(range(n_batch + 1, mat.data.ndim)))
    shared = tuple([i for i, s in enumerate(mat.indices.shape[:n_batch]) if s == 1])
    zero = zero.all(shared, keepdims=True)
    padding = as_row(mat.shape[n_batch : n_batch + n_sparse], mat.indices)
    indices = xnp.where(zero[..., None], padding, mat.indices)
    return bcoo_sum_duplicates(BCOO((mat.data, indices), shape=mat.shape), nse=nse)


def _bcoo_set_nse(mat: BCOO, nse: int) -> BCOO:
    """The array with `nse` stored elements: padded, or without the last ones."""
    if mat.nse == nse:
        return mat
    at = mat.n_batch
    if nse < mat.nse:
        data = lax.slice_in_dim(mat.data, 0, nse, axis=at)
        indices = lax.slice_in_dim(mat.indices, 0, nse, axis=at)
    else:
        more = nse - mat.nse
        zeros = xnp.zeros((*mat.data.shape[:at], more, *mat.data.shape[at + 1 :]), mat.data.dtype)
        sparse = mat.shape[at : at + mat.n_sparse]
        padding = _padding(mat.indices, sparse, (*mat.indices.shape[:at], more, mat.n_sparse))
        data = lax.concatenate([mat.data, zeros], at)
        indices = lax.concatenate([mat.indices, padding], at)
    return BCOO((data, indices), **mat._info._asdict())


def vmap_handlers(cls: type) -> tuple[Any, Any]:
    """How vmap takes elements out of arrays of a batched format, and puts results together."""
    name = cls.__name__

    def to_element(element_of: Any, index: Any, mat: Any, axis: Any) -> Any:
        if axis is None:
            return mat
        if not -mat.ndim <= axis < mat.n_batch:
            raise ValueError(
                f"Cannot map in_axis={axis} for {name} array with n_batch={mat.n_batch}. in_axes for batched {name} "
                "operations must correspond to a batch dimension."
            )
        shape = mat.shape[:axis] + mat.shape[axis + 1 :]
        return cls([element_of(x, axis) for x in mat._bufs], **mat._info._replace(shape=shape)._asdict())

    def from_element(result_of: Any, size: int, mat: Any, axis: Any) -> Any:
        if axis is None:
            return mat
        if axis > mat.n_batch:
            raise ValueError(
                f"{name}: cannot add out_axis={axis} for {name} array with n_batch={mat.n_batch}. {name} batch axes "
                "must be a contiguous block of leading dimensions."
            )
        shape = (*mat.shape[:axis], size, *mat.shape[axis:])
        bufs, _ = mat.tree_flatten()
        return cls([result_of(size, x, axis) for x in bufs], **mat._info._replace(shape=shape)._asdict())

    return to_element, from_element


register_vmappable(BCOO, int, int, *vmap_handlers(BCOO), None)
