"""The format COO: a matrix by its rows, columns and elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core import dtypes
from xtrace.core.composite import composite
from xtrace.experimental.sparse._base import JAXSparse
from xtrace.experimental.sparse.bcoo_array import _TRACED_NSE, _bcoo_fromdense, diagonal
from xtrace.experimental.sparse.util import (
    _count_stored_elements,
    check_format,
    concrete_size,
    gather_or_zero,
    register,
    scatter,
)


class COOInfo(NamedTuple):
    """What is known of a COO matrix beside its buffers."""

    shape: tuple[int, int]
    rows_sorted: bool = False
    cols_sorted: bool = False


def times_dense(method: Any, method_matrix: Any, mat: Any, other: Any) -> Any:
    """mat @ other, by a product with a vector and one with a matrix, of promoted dtypes."""
    if isinstance(other, JAXSparse):
        raise NotImplementedError("matmul between two sparse objects.")
    other = xnp.asarray(other)
    if other.ndim not in (1, 2):
        raise NotImplementedError(f"matmul with object of shape {other.shape}")
    data, other = _promote(mat.data, other)
    return (method if other.ndim == 1 else method_matrix)(data, other)


def _promote(x: Any, y: Any) -> tuple[Any, Any]:
    dtype = xnp.result_type(x, y)
    return x.astype(dtype), y.astype(dtype)


@register
class COO(JAXSparse):
    """A sparse matrix in coordinate format; `BCOO` can do more.

    Args:
      args: (data, row, col), each of shape (nse,). Duplicates are summed.
      shape: the shape of the matrix.
      rows_sorted: rows are known to be in order, and columns in each row.
      cols_sorted: columns are known to be in order, and rows in each column.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> x = sparse.COO.fromdense(xnp.eye(2)); x
    COO(float32[2, 2], nse=2)
    >>> (x @ xnp.ones(2)).tolist()
    [1.0, 1.0]
    """

    row: Any
    col: Any
    _rows_sorted: bool
    _cols_sorted: bool

    def __init__(
        self, args: tuple[Any, Any, Any], *, shape: Sequence[int], rows_sorted: bool = False, cols_sorted: bool = False
    ) -> None:
        self.data, self.row, self.col = [xnp.asarray(x) for x in args]
        self._rows_sorted = rows_sorted
        self._cols_sorted = cols_sorted
        super().__init__(args, shape=shape)

    @property
    def _info(self) -> COOInfo:
        return COOInfo(self.shape, self._rows_sorted, self._cols_sorted)  # type: ignore[arg-type]

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.row, self.col

    @classmethod
    def fromdense(cls, mat: Any, *, nse: Any = None, index_dtype: Any = np.int32) -> COO:
        """Make a sparse matrix of a dense one: see `coo_fromdense`."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    def _sort_indices(self) -> COO:
        if self._rows_sorted:
            return self
        row, col, data = lax.sort((self.row, self.col, self.data), num_keys=2)
        return COO((data, row, col), shape=self.shape, rows_sorted=True)

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32") -> COO:
        if len(shape) != 2:
            raise ValueError(f"COO must have ndim=2; got shape={tuple(shape)}")
        row = xnp.zeros(0, index_dtype)
        return cls((xnp.zeros(0, dtype), row, row), shape=shape, rows_sorted=True, cols_sorted=True)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> COO:  # noqa: N803
        row, col = [xnp.asarray(i, dtype=index_dtype) for i in diagonal(N, M, k)]
        return cls((xnp.ones(row.shape, dtype), row, col), shape=(N, M), rows_sorted=True, cols_sorted=True)

    def todense(self) -> Any:
        """The dense matrix."""
        return coo_todense(self)

    def transpose(self, axes: Any = None) -> COO:
        """The transposed matrix; `axes` must be None."""
        if axes is not None:
            raise NotImplementedError("axes argument to transpose()")
        bufs = (self.data, self.col, self.row)
        return COO(bufs, shape=self.shape[::-1], rows_sorted=self._cols_sorted, cols_sorted=self._rows_sorted)

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], COOInfo]:
        return self._bufs, self._info

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> COO:
        out = object.__new__(cls)
        out.data, out.row, out.col = children
        out.shape, out._rows_sorted, out._cols_sorted = aux_data
        return out

    def __matmul__(self, other: Any) -> Any:
        info = self._info

        def product(data: Any, x: Any) -> Any:
            return _coo_product(data, self.row, self.col, x, shape=info.shape, transpose=False)

        return times_dense(product, product, self, other)


def _coo_todense(data: Any, row: Any, col: Any, *, spinfo: COOInfo) -> Any:
    data = xnp.asarray(data)
    return scatter(xnp.zeros(tuple(spinfo.shape), data.dtype), (xnp.asarray(row), xnp.asarray(col)), data)


def _coo_fromdense(mat: Any, *, nse: Any, index_dtype: Any = np.int32) -> tuple[Any, Any, Any]:
    mat = xnp.asarray(mat)
    nse = concrete_size(nse, _TRACED_NSE)
    data, indices = _bcoo_fromdense(mat, nse=nse, n_batch=0, n_dense=0, index_dtype=dtypes.as_dtype(index_dtype))
    return data, indices[:, 0], indices[:, 1]


@composite(static_argnames=("shape", "transpose"))
def _coo_product(data: Any, row: Any, col: Any, x: Any, *, shape: Sequence[int], transpose: bool) -> Any:
    """The matrix, or its transpose, times a vector or matrix."""
    if transpose:
        row, col, shape = col, row, shape[::-1]
    if x.ndim not in (1, 2) or x.shape[0] != shape[1]:
        raise ValueError(f"product of a sparse matrix of shape {tuple(shape)} with an array of shape {x.shape}")
    rows = gather_or_zero(x, (col,))
    terms = data.reshape(-1, *[1] * (x.ndim - 1)) * rows
    return scatter(xnp.zeros((shape[0], *x.shape[1:]), terms.dtype), (row,), terms)


def _coo_matvec(data: Any, row: Any, col: Any, v: Any, *, spinfo: COOInfo, transpose: bool = False) -> Any:
    args = [xnp.asarray(x) for x in (data, row, col, v)]
    return _coo_product(*args, shape=tuple(spinfo.shape), transpose=bool(transpose))


_coo_matmat = _coo_matvec


def coo_todense(mat: COO) -> Any:
    """Make a dense matrix of a sparse one.

    Args:
      mat: a COO matrix.

    Returns:
      an array of mat.shape.

    >>> from xtrace.experimental import sparse
    >>> sparse.coo_todense(sparse.eye(2, sparse_format="coo")).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_format(mat, "COO", "mat")
    return _coo_todense(*mat._bufs, spinfo=mat._info)


def coo_fromdense(mat: Any, *, nse: Any = None, index_dtype: Any = np.int32) -> COO:
    """Make a sparse matrix of a dense one.

    Args:
      mat: the matrix.
      nse: how many elements to store; by default as many as are not zero, which is not known while tracing.
      index_dtype: the dtype of rows and columns.

    Returns:
      a COO matrix.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.coo_fromdense(xnp.eye(2)).row.tolist()
    [0, 1]
    """
    mat = xnp.asarray(mat)
    if nse is None:
        nse = _count_stored_elements(mat)
    return COO(_coo_fromdense(mat, nse=nse, index_dtype=index_dtype), shape=mat.shape, rows_sorted=True)


def coo_matvec(mat: COO, v: Any, transpose: bool = False) -> Any:
    """The product of a COO matrix with a vector.

    Args:
      mat: a COO matrix of shape (m, n).
      v: a vector of n elements, of the dtype of the matrix.
      transpose: multiply with the transposed matrix; `v` has m elements.

    Returns:
      a vector.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.coo_matvec(sparse.eye(2, 3, sparse_format="coo"), xnp.arange(3.)).tolist()
    [0.0, 1.0]
    """
    check_format(mat, "COO", "mat")
    return _coo_matvec(*mat._bufs, v, spinfo=mat._info, transpose=transpose)


def coo_matmat(mat: COO, B: Any, *, transpose: bool = False) -> Any:  # noqa: N803
    """The product of a COO matrix with a dense matrix.

    Args:
      mat: a COO matrix of shape (m, n).
      B: a matrix of shape (n, k), of the dtype of `mat`.
      transpose: multiply with the transposed matrix; B has the shape (m, k).

    Returns:
      a matrix.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.coo_matmat(sparse.eye(2, 3, sparse_format="coo"), xnp.ones((3, 1))).tolist()
    [[1.0], [1.0]]
    """
    check_format(mat, "COO", "mat")
    return _coo_matmat(*mat._bufs, B, spinfo=mat._info, transpose=transpose)
