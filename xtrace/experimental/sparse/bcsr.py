"""The format BCSR (batched compressed rows): two sparse dimensions between batch and dense ones.

Its operations are those of BCOO, at the coordinates that the row pointers stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.experimental.sparse._base import JAXSparse
from xtrace.experimental.sparse.bcoo_array import (
    BCOO,
    _batch_fits,
    _bcoo_extract,
    _bcoo_fromdense,
    _bcoo_todense,
    bcoo_eliminate_zeros,
    bcoo_fromdense,
    bcoo_sum_duplicates,
    vmap_handlers,
)
from xtrace.experimental.sparse.bcoo_layouts import bcoo_broadcast_in_dim, bcoo_concatenate
from xtrace.experimental.sparse.bcoo_products import _bcoo_dot_general
from xtrace.experimental.sparse.util import (
    SparseInfo,
    _csr_to_coo,
    buffers,
    check_format,
    nfold_vmap,
    register,
    split_shape,
)
from xtrace.transforms.vmappable import register_vmappable


class BCSRProperties(NamedTuple):
    """The layout that buffers have."""

    n_batch: int
    n_dense: int
    nse: int


def _validate_bcsr_indices(indices: Any, indptr: Any, shape: Sequence[int]) -> BCSRProperties:
    for name, x in (("indices", indices), ("indptr", indptr)):
        if not dtypes.issubdtype(x.dtype, np.integer):
            raise TypeError(f"BCSR {name} must be integers, got dtype {x.dtype}")
    n_batch = len(indices.shape) - 1
    n_dense = len(shape) - n_batch - 2
    if n_dense < 0:
        raise ValueError(f"BCSR array must have 2 sparse dimensions; {len(shape) - n_batch} is given.")
    for name, x in (("indices", indices), ("indptr", indptr)):
        if not _batch_fits(x.shape[:n_batch], shape):
            raise ValueError(
                f"{name} batch dimensions not compatible for {name}.shape={tuple(x.shape)}, shape={tuple(shape)}"
            )
    if tuple(indptr.shape[n_batch:]) != (shape[n_batch] + 1,):
        raise ValueError(
            f"indptr shape must match the matrix shape plus 1: got {tuple(indptr.shape)} for shape {tuple(shape)}."
        )
    return BCSRProperties(n_batch, n_dense, indices.shape[-1])


def _validate_bcsr(data: Any, indices: Any, indptr: Any, shape: Sequence[int]) -> BCSRProperties:
    props = _validate_bcsr_indices(indices, indptr, shape)
    n_batch, n_dense, nse = props
    if not _batch_fits(data.shape[:n_batch], shape):
        raise ValueError(
            f"data batch dimensions not compatible for data.shape={tuple(data.shape)}, shape={tuple(shape)}"
        )
    if tuple(data.shape[n_batch:]) != (nse, *shape[n_batch + 2 :]):
        raise ValueError(f"Invalid data.shape={tuple(data.shape)} for nse={nse}, n_batch={n_batch}, n_dense={n_dense}")
    return props


@composite(static_argnames=("shape",))
def _bcsr_to_bcoo(indices: Any, indptr: Any, *, shape: Sequence[int]) -> Any:
    """BCOO indices of BCSR ones."""
    indices, indptr = xnp.asarray(indices), xnp.asarray(indptr)
    n_batch, _, _ = _validate_bcsr_indices(indices, indptr, shape)
    return nfold_vmap(lambda i, p: xnp.stack(_csr_to_coo(i, p), axis=-1), n_batch)(indices, indptr)


@composite(static_argnames=("shape", "index_dtype"))
def _bcoo_to_bcsr(indices: Any, *, shape: Sequence[int], index_dtype: Any) -> tuple[Any, Any]:
    """BCSR indices and pointers of sorted BCOO indices."""
    n_batch = indices.ndim - 2
    if indices.shape[-1] != 2:
        raise ValueError(f"BCSR array must have 2 sparse dimensions; {indices.shape[-1]} is given.")
    starts = np.arange(shape[n_batch] + 1, dtype=indices.dtype)
    indptr = nfold_vmap(lambda row: xnp.searchsorted(row, starts), n_batch)(indices[..., 0])
    return indices[..., 1].astype(index_dtype), indptr.astype(index_dtype)


@register
class BCSR(JAXSparse):
    """A batched sparse array in compressed row format.

    Args:
      args: (data, indices, indptr) of shapes (*batch, nse, *dense), (*batch, nse), (*batch, rows + 1): the elements row
        by row, their columns, and where each row begins. What is beyond the last pointer is padding.
      shape: the shape of the array, (*batch, rows, columns, *dense).
      indices_sorted: columns are known to be in order in each row.
      unique_indices: no element is known to be stored twice.

    Raises:
      ValueError: the shapes don't fit together.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> x = sparse.BCSR.fromdense(xnp.array([[0., 2., 0.], [1., 0., 4.]]))
    >>> x
    BCSR(float32[2, 3], nse=3)
    >>> x.indptr.tolist(), (x @ xnp.ones(3)).tolist()
    ([0, 1, 3], [2.0, 5.0])
    """

    indices: Any
    indptr: Any
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices, self.indptr = buffers("BCSR", ("data", "indices", "indptr"), args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        super().__init__(args, shape=shape)
        _validate_bcsr(self.data, self.indices, self.indptr, self.shape)

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.indices, self.indptr

    @property
    def nse(self) -> int:
        """The number of specified elements (in each element of the batch)."""
        return self.indices.shape[-1]

    @property
    def n_batch(self) -> int:
        """The number of batch dimensions."""
        return self.indices.ndim - 1

    @property
    def n_sparse(self) -> int:
        """The number of sparse dimensions: 2."""
        return 2

    @property
    def n_dense(self) -> int:
        """The number of dense dimensions."""
        return self.data.ndim - self.indices.ndim

    def _description(self) -> dict[str, int]:
        more = {"n_batch": self.n_batch, "n_dense": self.n_dense}
        return {"nse": self.nse, **{k: v for k, v in more.items() if v}}

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: Any = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> BCSR:
        """Make a sparse array of a dense one: see `bcsr_fromdense`."""
        return bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """Make of a BCOO array of two sparse dimensions."""
        if arr.n_sparse != 2:
            raise NotImplementedError(f"BCSR.from_bcoo requires n_sparse=2; got arr.n_sparse={arr.n_sparse}")
        if not arr.indices_sorted:
            arr = arr.sort_indices()
        indices, indptr = _bcoo_to_bcsr(arr.indices, shape=arr.shape, index_dtype=arr.indices.dtype)
        return cls((arr.data, indices, indptr), **arr._info._asdict())

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCSR:
        """Make a sparse array of one of scipy.sparse."""
        if n_dense != 0 or n_batch != 0:
            raise NotImplementedError("BCSR.from_scipy_sparse with nonzero n_dense or n_batch")
        if mat.ndim != 2:
            raise ValueError(f"BCSR from_scipy_sparse requires 2D array; {mat.ndim}D is given.")
        mat = mat.tocsr()
        indices, indptr = [np.asarray(x).astype(index_dtype or np.int32) for x in (mat.indices, mat.indptr)]
        return cls((xnp.asarray(mat.data), indices, indptr), shape=mat.shape)

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
    ) -> BCSR:
        if n_dense < 0 or n_batch < 0 or nse < 0:
            raise ValueError(f"Invalid inputs: shape={tuple(shape)}, n_dense={n_dense}, n_batch={n_batch}, nse={nse}")
        if len(shape) - n_dense - n_batch != 2:
            raise ValueError("BCSR sparse.empty: must have 2 sparse dimensions.")
        batch, (rows, columns), dense = split_shape(shape, n_batch, 2)
        data = xnp.zeros((*batch, nse, *dense), dtype)
        indices = xnp.full((*batch, nse), columns, index_dtype)
        return cls((data, indices, xnp.zeros((*batch, rows + 1), index_dtype)), shape=shape)

    def to_bcoo(self) -> BCOO:
        """The same array in the format BCOO."""
        indices = _bcsr_to_bcoo(self.indices, self.indptr, shape=self.shape)
        return BCOO((self.data, indices), **self._info._asdict())

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """The same array with sorted indices, each once: see `BCOO.sum_duplicates`."""
        return bcsr_eliminate_zeros(self, nse) if remove_zeros else bcsr_sum_duplicates(self, nse)

    def todense(self) -> Any:
        """The dense array."""
        return bcsr_todense(self)

    def transpose(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("Transpose is not implemented.")

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], SparseInfo]:
        return self._bufs, self._info

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> BCSR:
        out = object.__new__(cls)
        out.data, out.indices, out.indptr = children
        out.shape, out.indices_sorted, out.unique_indices = aux_data
        return out


def _bcsr_fromdense(
    mat: Any, *, nse: int, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> tuple[Any, Any, Any]:
    mat = xnp.asarray(mat)
    n_batch, n_dense = statics.integer(n_batch, "n_batch"), statics.integer(n_dense, "n_dense")
    _check_layout(mat, n_batch, n_dense)
    dtype = dtypes.as_dtype(index_dtype)
    data, indices = _bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=dtype)
    return (data, *_bcoo_to_bcsr(indices, shape=mat.shape, index_dtype=dtype))


def _check_layout(mat: Any, n_batch: int, n_dense: int) -> None:
    if mat.ndim - n_batch - n_dense != 2:
        raise ValueError(
            f"BCSR array must have 2 sparse dimensions; {mat.ndim - n_batch - n_dense} is given: an array of shape "
            f"{mat.shape} with n_batch={n_batch} and n_dense={n_dense}."
        )


def _bcsr_todense(data: Any, indices: Any, indptr: Any, *, spinfo: SparseInfo) -> Any:
    return _bcoo_todense(data, _bcsr_to_bcoo(indices, indptr, shape=tuple(spinfo.shape)), spinfo=spinfo)


def bcsr_fromdense(
    mat: Any, *, nse: Any = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCSR:
    """Make a sparse array of a dense one.

    Args:
      mat: the array.
      nse: how many elements to store (in each element of the batch); by default as many as are not zero, which is not
        known while tracing.
      n_batch: the number of leading dimensions that are a batch.
      n_dense: the number of trailing dimensions that are dense; two have to be left.
      index_dtype: the dtype of columns and pointers.

    Returns:
      a BCSR array.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.bcsr_fromdense(xnp.eye(2)).indices.tolist()
    [0, 1]
    """
    mat = xnp.asarray(mat)
    n_batch, n_dense = statics.integer(n_batch, "n_batch"), statics.integer(n_dense, "n_dense")
    _check_layout(mat, n_batch, n_dense)
    coo = bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)
    return BCSR.from_bcoo(coo)


def bcsr_todense(mat: BCSR) -> Any:
    """Make a dense array of a sparse one.

    Args:
      mat: a BCSR array.

    Returns:
      an array of mat.shape.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.bcsr_todense(sparse.BCSR.fromdense(xnp.eye(2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_format(mat, "BCSR", "mat")
    return _bcsr_todense(*mat._bufs, spinfo=mat._info)


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    """The elements of a dense array at BCSR indices.

    Args:
      indices: columns, of shape (*batch, nse).
      indptr: pointers, of shape (*batch, rows + 1).
      mat: an array of shape (*batch, rows, columns, *dense).

    Returns:
      an array of shape (*batch, nse, *dense).

    >>> import numpy as np
    >>> from xtrace.experimental import sparse
    >>> sparse.bcsr_extract(np.array([1, 0]), np.array([0, 1, 2]), np.arange(4.).reshape(2, 2)).tolist()
    [1.0, 2.0]
    """
    mat = xnp.asarray(mat)
    return _bcoo_extract(_bcsr_to_bcoo(indices, indptr, shape=mat.shape), mat)


def bcsr_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Contract a BCSR array with an array, as lax.dot_general does: see `bcoo_dot_general`.

    Args:
      lhs: an array or BCSR array.
      rhs: an array.
      dimension_numbers: ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)).
      precision: has no effect where an operand is sparse.
      preferred_element_type: the dtype of the result.
      out_sharding: has no effect.

    Returns:
      an array.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> x = sparse.BCSR.fromdense(xnp.eye(2))
    >>> sparse.bcsr_dot_general(x, xnp.arange(2.), dimension_numbers=(([1], [0]), ([], []))).tolist()
    [0.0, 1.0]
    """
    if isinstance(rhs, JAXSparse) or (isinstance(lhs, JAXSparse) and not isinstance(lhs, BCSR)):
        raise NotImplementedError("bcsr_dot_general currently implemented for BCSR lhs and ndarray rhs.")
    if not isinstance(lhs, BCSR):
        return lax.dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
    coo = lhs.to_bcoo()
    return _bcoo_dot_general(
        *coo._bufs,
        rhs,
        dimension_numbers=dimension_numbers,
        preferred_element_type=preferred_element_type,
        lhs_spinfo=coo._info,
    )


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """The same array with sorted indices, each once: see `bcoo_sum_duplicates`."""
    check_format(mat, "BCSR", "mat")
    return BCSR.from_bcoo(bcoo_sum_duplicates(mat.to_bcoo(), nse=nse))


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """`bcsr_sum_duplicates` that leaves stored zeros away."""
    check_format(mat, "BCSR", "mat")
    return BCSR.from_bcoo(bcoo_eliminate_zeros(mat.to_bcoo(), nse=nse))


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCSR:
    """Put the dimensions of a BCSR array among new ones: see `bcoo_broadcast_in_dim`."""
    check_format(mat, "BCSR", "mat")
    return BCSR.from_bcoo(bcoo_broadcast_in_dim(mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions))


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Join BCSR arrays along a batch or sparse dimension: see `bcoo_concatenate`."""
    for mat in statics.parts(operands, "operands", "a sequence of BCSR arrays"):
        check_format(mat, "BCSR", "operands")
    return BCSR.from_bcoo(bcoo_concatenate([mat.to_bcoo() for mat in operands], dimension=dimension))


register_vmappable(BCSR, int, int, *vmap_handlers(BCSR), None)
