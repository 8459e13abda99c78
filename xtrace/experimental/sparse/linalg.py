"""Solvers for sparse matrices: linear systems, and the largest eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core.primitive import shaped
from xtrace.experimental.sparse.csr import _csr_todense


def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1) -> Any:
    """Solve a linear system with a sparse matrix: by the LU decomposition of the dense matrix.

    Args:
      data: the elements of the matrix in format CSR, of shape (nse,).
      indices: their columns.
      indptr: where the rows begin, of shape (n + 1,).
      b: the right-hand side, of shape (n,), of the dtype of `data`.
      tol: has no effect: a singular matrix gives nan or inf.
      reorder: 0 to 3; has no effect.

    Returns:
      the solution, of shape (n,).

    Raises:
      ValueError: dtypes or shapes don't fit.

    >>> import numpy as np
    >>> from xtrace.experimental import sparse
    >>> data, columns, starts = np.float32([2., 4.]), np.array([0, 1]), np.array([0, 1, 2])
    >>> sparse.linalg.spsolve(data, columns, starts, np.float32([2., 2.])).tolist()
    [1.0, 0.5]
    """
    data, indices, indptr, b = [xnp.asarray(x) for x in (data, indices, indptr, b)]
    if data.dtype != b.dtype:
        raise ValueError(f"data types do not match: data.dtype={data.dtype} b.dtype={b.dtype}")
    if not all([xnp.issubdtype(x.dtype, np.integer) for x in (indices, indptr)]):
        raise ValueError(f"index arrays must be integer typed; got {indices.dtype} and {indptr.dtype}")
    if not data.ndim == indices.ndim == indptr.ndim == b.ndim == 1:
        raise ValueError(
            "Arrays must be one-dimensional. "
            f"Got data.shape={data.shape} indices.shape={indices.shape} indptr.shape={indptr.shape} b.shape={b.shape}"
        )
    if indptr.size != b.size + 1 or data.shape != indices.shape:
        raise ValueError(
            f"Invalid CSR buffer sizes: data.shape={data.shape} indices.shape={indices.shape} "
            f"indptr.shape={indptr.shape} b.shape={b.shape}"
        )
    if reorder not in (0, 1, 2, 3):
        raise ValueError(f"reorder={reorder} not valid, must be one of [0, 1, 2, 3]")
    return xnp.linalg.solve(_csr_todense(data, indices, indptr, shape=(b.size, b.size)), b)


def lobpcg_standard(
    A: Any,  # noqa: N803
    X: Any,  # noqa: N803
    m: int = 100,
    tol: Any = None,
) -> tuple[Any, Any, Any]:
    """The largest eigenvalues of a symmetric matrix with their eigenvectors, of which only products are needed.

    Source: A. Knyazev, "Toward the optimal preconditioned eigensolver: locally optimal block preconditioned conjugate
    gradient method" (2001), without preconditioner, with an orthonormal basis of the search space as in J. Duersch and
    others, "A robust and efficient implementation of LOBPCG" (2018).

    Args:
      A: a matrix of shape (n, n), or a function that multiplies it with matrices of shape (n, j).
      X: where the search begins, of shape (n, k): linearly independent columns, 0 < 5 k < n.
      m: the number of iterations at most.
      tol: an eigenpair has converged when its residual is below 10 n tol (|A v| + theta); None: the precision of the
        dtype.

    Returns:
      (theta, U, i): the eigenvalues from the largest on, of shape (k,); the eigenvectors, of shape (n, k); the number
      of iterations.

    Raises:
      ValueError: shapes or dtypes don't fit.

    >>> import xtrace.numpy as xnp
    >>> from xtrace.experimental import sparse
    >>> matrix = xnp.diag(xnp.arange(1., 21.))
    >>> theta, _, _ = sparse.linalg.lobpcg_standard(matrix, xnp.eye(20, 1, -3) + 0.1)
    >>> round(float(theta[0]), 2)
    20.0
    """
    product: Callable[[Any], Any] = A if callable(A) else lambda x: lax.dot(A, x, precision=lax.Precision.HIGHEST)
    X = xnp.asarray(X)  # noqa: N806
    _check(product, X)
    n, k = X.shape
    tol = float(xnp.finfo(X.dtype).eps) if tol is None else tol

    start = _orthonormal(X)
    image = product(start)
    theta = (start * image).sum(0)

    def going(state: Any) -> Any:
        i, _, _, _, converged, _ = state
        return (i < m) & (converged < k)

    def step(state: Any) -> Any:
        i, x, p, residual, _, _ = state
        # An orthonormal basis of the vectors, the last directions and the residuals; dependent ones are zero columns.
        basis = xnp.concatenate([x, p], axis=1)
        for _ in range(2):  # once more: what the first pass left by rounding
            residual = residual - _mm(basis, _mm(basis.T, residual))
            residual = _orthonormal(residual)
        basis = xnp.concatenate([basis, residual], axis=1)
        values, vectors = xnp.linalg.eigh(_mm(basis.T, product(basis)))
        # Zero columns of the basis have the eigenvalue 0, which is not one of the matrix: they come last.
        norms = (_mm(basis, vectors) ** 2).sum(0)
        order = xnp.argsort(xnp.where(norms > 0.5, -values, xnp.inf))
        values, vectors = values[order], vectors[:, order]
        chosen = vectors[:, :k]
        x_new = _mm(basis, chosen)
        x_new = x_new / xnp.linalg.norm(x_new, axis=0, keepdims=True)
        # The new directions: the part of the step outside the old vectors, orthogonal to the new ones.
        outside = chosen.at[:k].set(0)
        p_new = _mm(basis, outside)
        for _ in range(2):
            p_new = p_new - _mm(x_new, _mm(x_new.T, p_new))
            p_new = _orthonormal(p_new)
        image = product(x_new)
        theta = values[:k]
        residual = image - theta[None] * x_new
        limit = tol * 10 * n * (xnp.linalg.norm(image, axis=0) + theta)
        converged = (xnp.linalg.norm(residual, axis=0) < limit).sum(dtype=np.int32)
        return i + 1, x_new, p_new, residual, converged, theta

    state = (np.int32(0), start, xnp.zeros_like(start), image - theta[None] * start, np.int32(0), theta)
    i, x, _, _, _, theta = lax.while_loop(going, step, state)
    return theta, x, i


def _check(product: Callable[[Any], Any], x: Any) -> None:
    if x.ndim != 2:
        raise ValueError(f"expected X of shape (n, k), got {x.shape}")
    n, k = x.shape
    if k == 0:
        raise ValueError(f"must have search dim > 0, got {k}")
    if k * 5 >= n:
        raise ValueError(f"expected search dim * 5 < matrix dim (got {k * 5}, {n})")
    image = shaped(product(xnp.zeros((n, 1), x.dtype)))
    if image.dtype != x.dtype:
        raise ValueError(f"A, X must have same dtypes (were {image.dtype}, {x.dtype})")
    if image.shape != (n, 1):
        raise ValueError(f"A must be ({n}, {n}) matrix A, got output {image.shape}")


def _mm(a: Any, b: Any) -> Any:
    return lax.dot(a, b, precision=lax.Precision.HIGHEST)


def _orthonormal(x: Any) -> Any:
    """An orthonormal basis of the columns' space; columns for which there is none are zero.

    Source: A. Stathopoulos and K. Wu, "A block orthogonalization procedure with constant synchronization
    requirements" (2002), done twice.
    """
    eps = xnp.finfo(x.dtype).eps
    for _ in range(2):
        norms = xnp.linalg.norm(x, axis=0)
        x = x / xnp.where(norms == 0, 1, norms)[None]
        values, vectors = xnp.linalg.eigh(_mm(x.T, x))
        known = values > eps * x.shape[1] * values[-1]
        scale = xnp.where(known, 1 / xnp.sqrt(xnp.where(known, values, 1)), 0)
        x = _mm(x, vectors * scale[None])
    return x
