"""The formats CSR and CSC: a matrix by its rows, or columns, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace import numpy as xnp
from xtrace.experimental.sparse._base import JAXSparse
from xtrace.experimental.sparse.bcoo_array import _TRACED_NSE, diagonal
from xtrace.experimental.sparse.coo import COOInfo, _coo_fromdense, _coo_product, _coo_todense, times_dense
from xtrace.experimental.sparse.util import _count_stored_elements, _csr_to_coo, check_format, concrete_size, register


class _Compressed(JAXSparse):
    """What CSR and CSC share. Args: (data, indices, indptr); element i of line j has indptr[j] <= i < indptr[j + 1]."""

    indices: Any
    indptr: Any

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]) -> None:
        self.data, self.indices, self.indptr = [xnp.asarray(x) for x in args]
        super().__init__(args, shape=shape)

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.indices, self.indptr

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], tuple[int, ...]]:
        return self._bufs, self.shape

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> Any:
        out = object.__new__(cls)
        out.data, out.indices, out.indptr = children
        out.shape = aux_data
        return out


def _empty_buffers(shape: Sequence[int], lines: int, dtype: Any, index_dtype: Any, name: str) -> tuple[Any, Any, Any]:
    if len(shape) != 2:
        raise ValueError(f"{name} must have ndim=2; got shape={tuple(shape)}")
    return xnp.zeros(0, dtype), xnp.zeros(0, index_dtype), xnp.zeros(shape[lines] + 1, index_dtype)


@register
class CSR(_Compressed):
    """A sparse matrix in compressed row format; `BCSR` can do more.

    Args:
      args: (data, indices, indptr) of shapes (nse,), (nse,), (rows + 1,): the elements row by row, their columns, and
        where each row begins.
      shape: the shape of the matrix.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.CSR.fromdense(xnp.array([[0., 2.], [1., 0.]])).indices.tolist()
    [1, 0]
    """

    @classmethod
    def fromdense(cls, mat: Any, *, nse: Any = None, index_dtype: Any = np.int32) -> CSR:
        """Make a sparse matrix of a dense one: see `csr_fromdense`."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32") -> CSR:
        return cls(_empty_buffers(shape, 0, dtype, index_dtype, "CSR"), shape=shape)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> CSR:  # noqa: N803
        row, col = diagonal(N, M, k)
        indptr = np.searchsorted(row, np.arange(N + 1))
        data = xnp.ones(len(row), dtype)
        bufs = (data, xnp.asarray(col, dtype=index_dtype), xnp.asarray(indptr, dtype=index_dtype))
        return cls(bufs, shape=(N, M))

    def todense(self) -> Any:
        """The dense matrix."""
        return csr_todense(self)

    def transpose(self, axes: Any = None) -> CSC:
        """The transposed matrix, of the same buffers; `axes` must be None."""
        if axes is not None:
            raise NotImplementedError("axes argument to transpose()")
        return CSC(self._bufs, shape=self.shape[::-1])

    def __matmul__(self, other: Any) -> Any:
        def product(data: Any, x: Any) -> Any:
            return _csr_matvec(data, self.indices, self.indptr, x, shape=self.shape)

        return times_dense(product, product, self, other)


@register
class CSC(_Compressed):
    """A sparse matrix in compressed column format.

    Args:
      args: (data, indices, indptr) of shapes (nse,), (nse,), (columns + 1,): the elements column by column, their rows,
        and where each column begins.
      shape: the shape of the matrix.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.CSC.fromdense(xnp.array([[0., 2.], [1., 0.]])).data.tolist()
    [1.0, 2.0]
    """

    @classmethod
    def fromdense(cls, mat: Any, *, nse: Any = None, index_dtype: Any = np.int32) -> CSC:
        """Make a sparse matrix of a dense one: see `csr_fromdense`."""
        return csr_fromdense(xnp.asarray(mat).T, nse=nse, index_dtype=index_dtype).T

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32") -> CSC:
        return cls(_empty_buffers(shape, 1, dtype, index_dtype, "CSC"), shape=shape)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> CSC:  # noqa: N803
        return CSR._eye(M, N, -k, dtype=dtype, index_dtype=index_dtype).T

    def todense(self) -> Any:
        """The dense matrix."""
        return csr_todense(self.T).T

    def transpose(self, axes: Any = None) -> CSR:
        """The transposed matrix, of the same buffers; `axes` must be None."""
        if axes is not None:
            raise NotImplementedError("axes argument to transpose()")
        return CSR(self._bufs, shape=self.shape[::-1])

    def __matmul__(self, other: Any) -> Any:
        def product(data: Any, x: Any) -> Any:
            return _csr_matvec(data, self.indices, self.indptr, x, shape=self.shape[::-1], transpose=True)

        return times_dense(product, product, self, other)


def _csr_todense(data: Any, indices: Any, indptr: Any, *, shape: Sequence[int]) -> Any:
    row, col = _csr_to_coo(xnp.asarray(indices), xnp.asarray(indptr))
    return _coo_todense(data, row, col, spinfo=COOInfo(tuple(shape)))  # type: ignore[arg-type]


def _csr_fromdense(mat: Any, *, nse: Any, index_dtype: Any = np.int32) -> tuple[Any, Any, Any]:
    mat = xnp.asarray(mat)
    data, row, col = _coo_fromdense(mat, nse=concrete_size(nse, _TRACED_NSE), index_dtype=index_dtype)
    # Padding has the row mat.shape[0]: it is beyond the last pointer.
    indptr = xnp.searchsorted(row, np.arange(mat.shape[0] + 1, dtype=row.dtype)).astype(row.dtype)
    return data, col, indptr


def _csr_matvec(data: Any, indices: Any, indptr: Any, v: Any, *, shape: Any, transpose: bool = False) -> Any:
    data, indices, indptr, v = [xnp.asarray(x) for x in (data, indices, indptr, v)]
    row, col = _csr_to_coo(indices, indptr)
    return _coo_product(data, row, col, v, shape=tuple(shape), transpose=bool(transpose))


_csr_matmat = _csr_matvec


def csr_todense(mat: CSR) -> Any:
    """Make a dense matrix of a sparse one.

    Args:
      mat: a CSR matrix.

    Returns:
      an array of mat.shape.

    >>> from xtrace.experimental import sparse
    >>> sparse.csr_todense(sparse.eye(2, sparse_format="csr")).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_format(mat, "CSR", "mat")
    return _csr_todense(*mat._bufs, shape=mat.shape)


def csr_fromdense(mat: Any, *, nse: Any = None, index_dtype: Any = np.int32) -> CSR:
    """Make a sparse matrix of a dense one.

    Args:
      mat: the matrix.
      nse: how many elements to store; by default as many as are not zero, which is not known while tracing.
      index_dtype: the dtype of columns and pointers.

    Returns:
      a CSR matrix.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.csr_fromdense(xnp.eye(2)).indptr.tolist()
    [0, 1, 2]
    """
    mat = xnp.asarray(mat)
    if nse is None:
        nse = _count_stored_elements(mat)
    return CSR(_csr_fromdense(mat, nse=nse, index_dtype=index_dtype), shape=mat.shape)


def csr_matvec(mat: CSR, v: Any, transpose: bool = False) -> Any:
    """The product of a CSR matrix with a vector.

    Args:
      mat: a CSR matrix of shape (m, n).
      v: a vector of n elements, of the dtype of the matrix.
      transpose: multiply with the transposed matrix; `v` has m elements.

    Returns:
      a vector.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.csr_matvec(sparse.eye(2, 3, sparse_format="csr"), xnp.arange(3.)).tolist()
    [0.0, 1.0]
    """
    check_format(mat, "CSR", "mat")
    return _csr_matvec(*mat._bufs, v, shape=mat.shape, transpose=transpose)


def csr_matmat(mat: CSR, B: Any, *, transpose: bool = False) -> Any:  # noqa: N803
    """The product of a CSR matrix with a dense matrix.

    Args:
      mat: a CSR matrix of shape (m, n).
      B: a matrix of shape (n, k), of the dtype of `mat`.
      transpose: multiply with the transposed matrix; B has the shape (m, k).

    Returns:
      a matrix.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> sparse.csr_matmat(sparse.eye(2, 3, sparse_format="csr"), xnp.ones((3, 1))).tolist()
    [[1.0], [1.0]]
    """
    check_format(mat, "CSR", "mat")
    return _csr_matmat(*mat._bufs, B, shape=mat.shape, transpose=transpose)
