"""Reductions by orthogonal similarity: to Schur, Hessenberg and tridiagonal form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax.linalg import matrices as mx


def _schur_aval(
    x: ShapedArray, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any
) -> list[ShapedArray]:
    mx.check_matrices("schur", x, square=True)
    return [x.strong()] * (2 if compute_schur_vectors else 1)


schur_p = mx.decomposition("schur", _schur_aval)


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> Any:
    """Schur decomposition: x = Z T Z^H with T upper triangular, for real x but for blocks of two.

    Args:
      x: [..., n, n].
      compute_schur_vectors: whether Z is wanted.
      sort_eig_vals, select_callable: eigenvalues can't be sorted.

    Returns:
      (T, Z), or (T,).

    Raises:
      NotImplementedError: eigenvalues are to be sorted.

    >>> import numpy as np, xtrace as xt
    >>> t, z = xt.lax.linalg.schur(np.array([[1.0, 2.0], [0.0, 3.0]], np.float32))
    >>> t.tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur doesn't sort eigenvalues; leave sort_eig_vals and select_callable out")
    return tuple(
        schur_p.bind(x, compute_schur_vectors=compute_schur_vectors, sort_eig_vals=False, select_callable=None)
    )


def _hessenberg_aval(a: ShapedArray) -> list[ShapedArray]:
    mx.check_matrices("hessenberg", a, square=True)
    if not a.shape[-1]:
        raise ValueError(f"hessenberg takes matrices of at least one row, got shape {a.shape}")
    a = a.strong()
    return [a, a.update(shape=(*a.shape[:-2], a.shape[-1] - 1))]


hessenberg_p = mx.decomposition("hessenberg", _hessenberg_aval)


def hessenberg(a: Any) -> tuple[Any, Any]:
    """Hessenberg form: a = Q H Q^H with zeros below the first subdiagonal of H.

    Args:
      a: [..., n, n].

    Returns:
      (h, taus): H, with the Householder reflectors that make Q below its subdiagonal, and their factors [..., n - 1].

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.linalg.hessenberg(np.eye(3, dtype=np.float32))[0].shape
    (3, 3)
    """
    h, taus = hessenberg_p.bind(a)
    return h, taus


def _tridiagonal_aval(a: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    mx.check_matrices("tridiagonal", a, square=True)
    n = a.shape[-1]
    if not n:
        raise ValueError(f"tridiagonal takes matrices of at least one row, got shape {a.shape}")
    a, batch = a.strong(), a.shape[:-2]
    real = a.update(dtype=dtypes.to_real(a.dtype))
    return [a, real.update(shape=(*batch, n)), real.update(shape=(*batch, n - 1)), a.update(shape=(*batch, n - 1))]


tridiagonal_p = mx.decomposition("tridiagonal", _tridiagonal_aval)


def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """Tridiagonal form of Hermitian matrices: a = Q T Q^H.

    Args:
      a: [..., n, n], Hermitian.
      lower: which triangle is read.

    Returns:
      (reflectors, d, e, taus): the matrix with the Householder reflectors that make Q, the diagonal and the
      off-diagonal of T, which are real, and the reflectors' factors.

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.linalg.tridiagonal(np.eye(2, dtype=np.float32))[1].tolist()
    [1.0, 1.0]
    """
    return tuple(tridiagonal_p.bind(a, lower=lower))  # type: ignore[return-value]


def _no_jvp(name: str) -> Any:
    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        raise NotImplementedError(f"the derivative of {name} is not known, got operand {shaped(primals[0])}")

    return rule


schur_p.jvp = _no_jvp("schur")
hessenberg_p.jvp = _no_jvp("hessenberg")
tridiagonal_p.jvp = _no_jvp("tridiagonal")
