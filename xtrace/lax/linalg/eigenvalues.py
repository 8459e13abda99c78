"""Eigenvalues and eigenvectors, of Hermitian matrices and of any."""

from __future__ import annotations

import enum
from typing import Any

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import comparisons, creation, reductions, selection, shapes
from xtrace.lax import elementwise as el
from xtrace.lax.linalg import matrices as mx
from xtrace.lax.linalg.lu_factors import solved


class EighImplementation(enum.Enum):
    """How eigenvalues of Hermitian matrices are found."""

    QR = "QR"
    JACOBI = "JACOBI"
    QDWH = "QDWH"


class EigImplementation(enum.Enum):
    """What finds the eigenvalues of general matrices, on GPUs."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def _eigh_aval(
    x: ShapedArray, *, lower: bool, sort_eigenvalues: bool, subset_by_index: Any, algorithm: Any
) -> list[ShapedArray]:
    mx.check_matrices("eigh", x, square=True)
    n = x.shape[-1]
    d = n if subset_by_index is None else subset_by_index[1] - subset_by_index[0]
    x = x.strong()
    return [x.update(shape=(*x.shape[:-1], d)), x.update(shape=(*x.shape[:-2], d), dtype=dtypes.to_real(x.dtype))]


eigh_p = mx.decomposition("eigh", _eigh_aval)


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    """Eigenvectors and eigenvalues of Hermitian matrices: x v = v diag(w).

    Args:
      x: [..., n, n].
      lower: which triangle is read, if not symmetrize_input.
      symmetrize_input: whether x is replaced by the mean of it and its adjoint.
      sort_eigenvalues: whether they must ascend.
      subset_by_index: (0, n): all of them.
      implementation: the method; None: the backend's choice.

    Returns:
      (v, w): [..., n, n], the eigenvectors as columns; [..., n], real, ascending.

    Raises:
      NotImplementedError: `subset_by_index` asks for some eigenvalues only.

    >>> import numpy as np, xtrace as xt
    >>> v, w = xt.lax.linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]], np.float32))
    >>> w.tolist()
    [1.0, 2.0]
    """
    if symmetrize_input:
        mx.check_matrices("eigh", shaped(x), square=True)
        x = mx.symmetrized(x)
    if subset_by_index is not None and statics.integers(subset_by_index, "subset_by_index") != (0, shaped(x).shape[-1]):
        raise NotImplementedError(
            f"eigh finds all eigenvalues: subset_by_index must be None or {(0, shaped(x).shape[-1])}, got "
            f"{subset_by_index}; slice the results"
        )
    v, w = eigh_p.bind(
        x, lower=lower, sort_eigenvalues=sort_eigenvalues, subset_by_index=None, algorithm=implementation
    )
    return v, w


def _eigh_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    """dw = the diagonal of v^H dx v; dv = v (F * v^H dx v) with F_ij = 1 / (w_j - w_i) off the diagonal."""
    (x,), (x_dot,) = primals, tangents
    v, w = eigh_p.bind(mx.symmetrized(x), **params)
    dtype = shaped(x).dtype
    wide = shapes.convert_element_type(w, dtype)
    eye = mx.identity(shaped(x).shape, dtype)
    gaps = el.sub(el.add(eye, mx.columns(wide)), mx.rows(wide))
    weights = el.sub(el.reciprocal(gaps), eye)
    inner = mx.matmul(mx.matmul(mx.adjoint(v), x_dot), v)
    dv = mx.matmul(v, el.mul(weights, inner))
    dw = mx.diagonal(inner)
    return (v, w), (dv, el.real(dw) if dtypes.is_complex(dtype) else dw)


eigh_p.jvp = _eigh_jvp


def _eig_aval(
    x: ShapedArray,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: Any,
) -> list[ShapedArray]:
    mx.check_matrices("eig", x, square=True)
    out = x.strong().update(dtype=dtypes.to_complex(x.dtype) if not dtypes.is_complex(x.dtype) else x.dtype)
    vectors = compute_left_eigenvectors + compute_right_eigenvectors
    return [out.update(shape=out.shape[:-1]), *[out] * vectors]


eig_p = mx.decomposition("eig", _eig_aval)


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Any]:
    """Eigenvalues and eigenvectors of square matrices: x v = v diag(w), u^H x = diag(w) u^H.

    Args:
      x: [..., n, n].
      compute_left_eigenvectors, compute_right_eigenvectors: whether u and v are wanted.
      enable_eigvec_derivs: whether eigenvectors have derivatives: they depend on how the vectors are scaled.
      implementation, use_magma: what finds them, on GPUs.

    Returns:
      [w, u, v]: complex; [..., n] and [..., n, n], without those that aren't wanted.

    >>> import numpy as np, xtrace as xt
    >>> w, v = xt.lax.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]], np.float32), compute_left_eigenvectors=False)
    >>> sorted(w.imag.tolist())
    [-1.0, 1.0]
    """
    if use_magma is not None and implementation is None:
        implementation = EigImplementation.MAGMA if use_magma else EigImplementation.LAPACK
    return list(
        eig_p.bind(
            x,
            compute_left_eigenvectors=statics.flag(compute_left_eigenvectors, "compute_left_eigenvectors"),
            compute_right_eigenvectors=statics.flag(compute_right_eigenvectors, "compute_right_eigenvectors"),
            enable_eigvec_derivs=enable_eigvec_derivs,
            implementation=implementation,
        )
    )


def _vectors_tangent(w: Any, v: Any, inner: Any) -> Any:
    """How right eigenvectors change with v^-1 dx v = `inner`: by v (F * inner), less what their scaling takes off.

    Vectors have unit length and a real component of largest size: both stay so.
    """
    eye = mx.identity(shaped(v).shape, shaped(v).dtype)
    gaps = el.sub(el.add(eye, mx.columns(w)), mx.rows(w))
    dv = mx.matmul(v, el.mul(el.sub(el.reciprocal(gaps), eye), inner))
    stretch = el.real(mx.diagonal(mx.matmul(mx.adjoint(v), dv)))
    row = v.ndim - 2
    largest = reductions.argmax(el.abs(v), row, dtypes.int32)
    position = creation.broadcasted_iota(dtypes.int32, shaped(v).shape, row)
    there = comparisons.eq(position, mx.columns(largest))
    picked = selection.select(there, el.div(el.imag(dv), el.abs(v)), shapes.full(shaped(v).shape, 0, stretch.dtype))
    turn = reductions.reduce_sum(picked, (row,))
    sign = selection.select(there, el.sign(el.real(v)), shapes.full(shaped(v).shape, 0, stretch.dtype))
    turn = el.mul(turn, reductions.reduce_sum(sign, (row,)))
    return el.sub(dv, el.mul(v, mx.columns(el.complex(stretch, turn))))


def _eig_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    """dw = the diagonal of v^-1 dx v, or of u^-1 dx^H u conjugated: u are right eigenvectors of x^H, of conj(w)."""
    (x,), (x_dot,) = primals, tangents
    left, right = params["compute_left_eigenvectors"], params["compute_right_eigenvectors"]
    if (left or right) and not params["enable_eigvec_derivs"]:
        raise NotImplementedError(
            "The derivatives of non-symmetric eigenvectors are only well-defined with a gauge: those of unit length. "
            "Only first-order derivatives of eigenvalues are supported unless enable_eigvec_derivs=True"
        )
    w, *vectors = eig_p.bind(x, **{**params, "compute_right_eigenvectors": right or not left})
    x_dot = shapes.convert_element_type(x_dot, shaped(w).dtype)
    dw: Any = None
    changes = []
    for v, of_adjoint in zip(vectors, (True, False) if left else (False,), strict=False):
        inner = solved(v, mx.matmul(mx.adjoint(x_dot) if of_adjoint else x_dot, v))
        dw = mx.diagonal(inner)
        if left or right:
            changes.append(_vectors_tangent(el.conj(w) if of_adjoint else w, v, inner))
        dw = el.conj(dw) if of_adjoint else dw
    return (w, *vectors[: left + right]), (dw, *changes)


eig_p.jvp = _eig_jvp
