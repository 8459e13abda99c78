"""QR factors, and products of Householder reflectors."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import slicing
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


def _geqrf_aval(x: ShapedArray) -> list[ShapedArray]:
    mx.check_matrices("geqrf", x)
    *batch, m, n = x.shape
    return [x.strong(), x.strong().update(shape=(*batch, min(m, n)))]


geqrf_p = mx.decomposition("geqrf", _geqrf_aval)


def geqrf(a: Any) -> tuple[Any, Any]:
    """QR decomposition as LAPACK stores it: R, and the Householder reflectors whose product is Q.

    Args:
      a: [..., m, n].

    Returns:
      (packed, taus): [..., m, n], R in the upper triangle and below it the reflectors without their leading ones, as
      `householder_product` takes them; [..., min(m, n)], their factors.

    >>> import numpy as np, xtrace as xt
    >>> packed, taus = xt.lax.linalg.orthogonal.geqrf(np.array([[3.0, 1.0], [4.0, 2.0]], np.float32))
    >>> abs(packed[0, 0]).round().tolist(), taus.shape
    (5.0, (2,))
    """
    packed, taus = geqrf_p.bind(a)
    return packed, taus


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


def _ormqr_aval(a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left: bool, transpose: bool) -> ShapedArray:
    mx.check_matrices("ormqr", a, operand="matrix a")
    mx.check_matrices("ormqr", c, operand="matrix c")
    if not a.dtype == taus.dtype == c.dtype:
        raise TypeError(f"ormqr takes arrays of one dtype, got {a.dtype}, {taus.dtype} and {c.dtype}")
    if taus.shape[:-1] != a.shape[:-2] or c.shape[:-2] != a.shape[:-2] or taus.shape[-1] > a.shape[-1]:
        raise ValueError(
            f"ormqr takes equal leading axes and at most one tau for each column of a, got shapes {a.shape}, "
            f"{taus.shape} and {c.shape}"
        )
    if c.shape[-2 if left else -1] != a.shape[-2]:
        raise ValueError(
            f"ormqr with left={left} expects c to have as many {'rows' if left else 'columns'} as a has rows, got a of "
            f"shape {a.shape} and c of shape {c.shape}"
        )
    return c.strong()


ormqr_p = mx.decomposition("ormqr", _ormqr_aval, multiple_results=False)


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """Products with the square unitary matrix that Householder reflectors make, without that matrix.

    Args:
      a: [..., m, n]: reflectors below the diagonal, as in `householder_product`.
      taus: [..., k], k <= min(m, n).
      c: [..., m, r] if left, else [..., r, m].
      left: whether Q stands to the left of c.
      transpose: whether the adjoint of Q is taken.

    Returns:
      An array of the shape of c.

    Raises:
      ValueError: shapes that don't match.

    >>> import numpy as np, xtrace as xt
    >>> q = xt.lax.linalg.ormqr(np.eye(2, dtype=np.float32), np.float32([2, 0]), np.eye(2, dtype=np.float32))
    >>> q.tolist() == [[-1, 0], [0, 1]]
    True
    """
    return ormqr_p.bind(a, taus, c, left=left, transpose=transpose)


def reflected(a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> list[Any]:
    """What `ormqr` gives, one reflection after the other: c - tau v (v^H c), or c - tau (c v) v^H."""
    from xtrace.lax.control_flow import loops

    m, k, axis = shaped(a).shape[-2], shaped(taus).shape[-1], shaped(a).ndim - 1
    aval = shaped(a)
    vectors = mx.sliced(a, m, k)
    vectors = el.add(mx.triangle(vectors, True, -1), mx.identity((*aval.shape[:-2], m, k), aval.dtype))
    taus = mx.columns(mx.conjugated(taus) if transpose else taus)

    def reflect(i: Any, c: Any) -> Any:
        # Q c and c Q^H begin with the last reflector.
        i = el.sub(el.scalar_like(i, k - 1), i) if left != transpose else i
        v = slicing.dynamic_slice_in_dim(vectors, i, 1, axis=axis)
        tau = slicing.dynamic_slice_in_dim(taus, i, 1, axis=axis)
        if left:
            return el.sub(c, mx.matmul(el.mul(v, tau), mx.matmul(mx.adjoint(v), c)))
        return el.sub(c, mx.matmul(mx.matmul(c, el.mul(v, tau)), mx.adjoint(v)))

    return [loops.fori_loop(0, k, reflect, c)]
