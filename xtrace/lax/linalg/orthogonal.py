"""QR factors, and products of Householder reflectors."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax.linalg import matrices as mx
from xtrace.lax.linalg.lu_factors import permuted_rows
from xtrace.lax.linalg.triangular import triangular_solve
from xtrace.transforms.zeros import zero_tangent


def _qr_aval(x: ShapedArray, *, pivoting: bool, full_matrices: bool, use_magma: bool | None) -> list[ShapedArray]:
    mx.check_matrices("qr", x)
    *batch, m, n = x.shape
    k = m if full_matrices else min(m, n)
    out = [x.strong().update(shape=(*batch, m, k)), x.strong().update(shape=(*batch, k, n))]
    return [*out, ShapedArray((*batch, n), dtypes.int32)] if pivoting else out


qr_p = mx.decomposition("qr", _qr_aval)


def qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None) -> Any:
    """QR decomposition: x = Q R with orthonormal columns of Q and upper triangular R.

    Args:
      x: [..., m, n].
      pivoting: whether columns are exchanged, so that the diagonal of R decreases: x[:, p] = Q R.
      full_matrices: whether Q is square; else it has min(m, n) columns.
      use_magma: on GPUs, whether pivoting is MAGMA's; None: if that is there.

    Returns:
      (Q, R), or (Q, R, p) if `pivoting`.

    >>> import numpy as np, xtrace as xt
    >>> q, r = xt.lax.linalg.qr(np.array([[3.0, 1.0], [4.0, 2.0]], np.float32))
    >>> abs(r[0, 0]).round().tolist()
    5.0
    """
    return tuple(qr_p.bind(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma))


def _qr_jvp(primals: Any, tangents: Any, *, pivoting: bool, full_matrices: bool, use_magma: Any) -> Any:
    """With C = Q^H dx R^-1: dQ = Q (O - C) + dx R^-1 and dR = (C - O) R, where O is skew with C's lower triangle.

    Source: Walter and Lehmann, Algorithmic differentiation of linear algebra functions, 2010.
    """
    (x,), (dx,) = primals, tangents
    q, r, *p = outs = qr_p.bind(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma)
    *_, m, n = shaped(x).shape
    if m < n or (full_matrices and m != n):
        raise NotImplementedError(
            "the derivative of qr is known where m >= n, of full_matrices=False if m > n; got "
            f"shape {shaped(x).shape} with full_matrices={full_matrices}"
        )
    if pivoting:
        dx = mx.transposed(permuted_rows(mx.transposed(dx), p[0]))
    dx_r = triangular_solve(r, dx)
    c = mx.matmul(mx.adjoint(q), dx_r)
    lower = mx.triangle(c, True, -1)
    skew = el.sub(lower, mx.adjoint(lower))
    if dtypes.is_complex(shaped(x).dtype):
        # The diagonal of R stays real.
        imaginary = el.sub(c, el.complex(el.real(c), el.mul(el.imag(c), el.scalar_like(el.imag(c), 0))))
        skew = el.add(skew, el.mul(mx.identity(shaped(c).shape, shaped(c).dtype), imaginary))
    rest = el.sub(skew, c)
    dq = el.add(mx.matmul(q, rest), dx_r)
    dr = mx.matmul(el.neg(rest), r)
    return outs, [dq, dr, *[zero_tangent(i) for i in p]]


qr_p.jvp = _qr_jvp


def _product_aval(a: ShapedArray, taus: ShapedArray) -> ShapedArray:
    mx.check_matrices("householder_product", a, operand="matrix a")
    if a.dtype != taus.dtype or a.shape[:-2] != taus.shape[:-1] or a.shape[-1] < taus.shape[-1]:
        raise ValueError(
            f"householder_product takes taus of a's dtype and at most one for each column, got {taus} for a {a}"
        )
    if a.shape[-2] < a.shape[-1]:
        raise ValueError(f"householder_product requires a to have at least as many rows as columns, got {a.shape}")
    return a.strong()


householder_product_p = mx.decomposition("householder_product", _product_aval, multiple_results=False)


def householder_product(a: Any, taus: Any) -> Any:
    """The first columns of the product of Householder reflectors (I - tau_i v_i v_i^H).

    Args:
      a: [..., m, n], m >= n: v_i is its ith column below the diagonal, with 1 on it and 0 above.
      taus: [..., k], k <= n.

    Returns:
      [..., m, n], with orthonormal columns.

    >>> import numpy as np, xtrace as xt
    >>> q = xt.lax.linalg.householder_product(np.eye(2, dtype=np.float32), np.float32([2, 0]))
    >>> q.tolist() == [[-1, 0], [0, 1]]
    True
    """
    return householder_product_p.bind(a, taus)
