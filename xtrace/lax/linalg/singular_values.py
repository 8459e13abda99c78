"""Singular values and vectors."""

from __future__ import annotations

import enum
from typing import Any

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import comparisons, selection, shapes
from xtrace.lax import elementwise as el
from xtrace.lax.linalg import matrices as mx


class SvdAlgorithm(enum.Enum):
    """How singular values are found."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def _aval(
    x: ShapedArray, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any, algorithm: Any
) -> list[ShapedArray]:
    mx.check_matrices("svd", x)
    *batch, m, n = x.shape
    k = min(m, n)
    x = x.strong()
    s = x.update(shape=(*batch, k), dtype=dtypes.to_real(x.dtype))
    if not compute_uv:
        return [s]
    return [
        s,
        x.update(shape=(*batch, m, m if full_matrices else k)),
        x.update(shape=(*batch, n if full_matrices else k, n)),
    ]


svd_p = mx.decomposition("svd", _aval)


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """Singular value decomposition: x = u diag(s) vh.

    Args:
      x: [..., m, n].
      full_matrices: whether u and vh are square; else they have min(m, n) columns and rows.
      compute_uv: whether u and vh are wanted.
      subset_by_index: None or (0, min(m, n)): all of them.
      algorithm: the method; None: the backend's choice.

    Returns:
      (u, s, vh), or s alone; s is real and descends.

    Raises:
      NotImplementedError: `subset_by_index` asks for some singular values only.

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.linalg.svd(np.array([[0.0, 3.0], [4.0, 0.0]], np.float32), compute_uv=False).tolist()
    [4.0, 3.0]
    """
    if subset_by_index is not None and statics.integers(subset_by_index, "subset_by_index") != (
        0,
        min(shaped(x).shape[-2:]),
    ):
        raise NotImplementedError(
            f"svd finds all singular values: subset_by_index must be None, got {subset_by_index}; slice the results"
        )
    s, *vectors = svd_p.bind(
        x, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=None, algorithm=algorithm
    )
    return (vectors[0], s, vectors[1]) if compute_uv else s


def _jvp(primals: Any, tangents: Any, *, full_matrices: bool, compute_uv: bool, **params: Any) -> Any:
    """Source: J. Townsend, Differentiating the singular value decomposition, 2016."""
    (x,), (dx,) = primals, tangents
    *_, m, n = shaped(x).shape
    if compute_uv and full_matrices and m != n:
        raise NotImplementedError(
            f"the derivative of svd with full_matrices=True is known for square matrices alone, got {shaped(x).shape}; "
            "pass full_matrices=False"
        )
    s, u, vh = svd_p.bind(x, full_matrices=False, compute_uv=True, **params)
    dtype, real = shaped(x).dtype, shaped(s).dtype
    is_complex = dtypes.is_complex(dtype)
    inner = mx.matmul(mx.matmul(mx.adjoint(u), dx), mx.adjoint(vh))
    ds = mx.diagonal(inner)
    ds = el.real(ds) if is_complex else ds
    if not compute_uv:
        return [s], [ds]
    eye = mx.identity((*shaped(s).shape, shaped(s).shape[-1]), real)
    # F_ij = 1 / (s_j**2 - s_i**2) off the diagonal, as a product that doesn't overflow.
    columns, rows = mx.columns(s), mx.rows(s)
    gaps = el.add(el.mul(el.sub(columns, rows), el.add(columns, rows)), eye)
    weights = el.sub(el.reciprocal(gaps), eye)
    zeros = comparisons.eq(s, el.scalar_like(s, 0))
    inverse = selection.select(zeros, shapes.full(shaped(s).shape, 0, real), el.reciprocal(s))

    def wide(v: Any) -> Any:
        return shapes.convert_element_type(v, dtype)

    by_columns = el.mul(inner, mx.columns(wide(s)))
    by_rows = el.mul(mx.rows(wide(s)), inner)
    weights = wide(weights)
    du = el.mul(weights, el.add(by_columns, mx.adjoint(by_columns)))
    dv = el.mul(weights, el.add(by_rows, mx.adjoint(by_rows)))
    if is_complex:
        # The phases: the skew part of the diagonal goes to u.
        diagonal = mx.diagonal(inner)
        skew = el.div(el.sub(diagonal, mx.conjugated(diagonal)), mx.constant(diagonal, 2))
        du = el.add(du, el.mul(wide(eye), mx.rows(el.mul(skew, wide(inverse)))))
    du, dv = mx.matmul(u, du), mx.matmul(mx.adjoint(vh), dv)
    if m > n:
        outside = mx.matmul(dx, mx.adjoint(vh))
        outside = el.sub(outside, mx.matmul(u, mx.matmul(mx.adjoint(u), outside)))
        du = el.add(du, el.mul(outside, mx.columns(wide(inverse))))
    if n > m:
        outside = mx.matmul(mx.adjoint(dx), u)
        outside = el.sub(outside, mx.matmul(mx.adjoint(vh), mx.matmul(vh, outside)))
        dv = el.add(dv, el.mul(outside, mx.columns(wide(inverse))))
    return [s, u, vh], [ds, du, mx.adjoint(dv)]


svd_p.jvp = _jvp
