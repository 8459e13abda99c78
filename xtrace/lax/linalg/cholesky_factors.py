"""Cholesky factors of positive definite matrices."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import comparisons, creation, selection, shapes, slicing
from xtrace.lax import elementwise as el
from xtrace.lax.linalg import matrices as mx
from xtrace.lax.linalg.triangular import triangular_solve


def _aval(x: ShapedArray) -> ShapedArray:
    mx.check_matrices("cholesky", x, square=True)
    return x.strong()


cholesky_p = mx.decomposition("cholesky", _aval, multiple_results=False)


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """The lower triangular matrices L with L L^H = x.

    Args:
      x: [..., n, n], Hermitian and positive definite.
      symmetrize_input: whether x is replaced by the mean of it and its adjoint; else its lower triangle counts alone.

    Returns:
      L: [..., n, n]. NaN where x is not positive definite.

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]], np.float32)).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    if symmetrize_input:
        mx.check_matrices("cholesky", shaped(x), square=True)
        x = mx.symmetrized(x)
    return mx.triangle(cholesky_p.bind(x), lower=True)


def _jvp(primals: Any, tangents: Any) -> Any:
    """dL = L phi(L^-1 dx L^-H), where phi takes the lower triangle and half the diagonal."""
    (x,), (x_dot,) = primals, tangents
    out = cholesky_p.bind(x)
    factor = mx.triangle(out, lower=True)
    inner = triangular_solve(factor, x_dot, transpose_a=True, conjugate_a=True, lower=True)
    inner = triangular_solve(factor, inner, left_side=True, lower=True)
    shape, dtype = shaped(inner).shape, shaped(inner).dtype
    weights = el.add(shapes.full(shape, 1, dtype), mx.identity(shape, dtype))
    return out, mx.matmul(factor, el.div(mx.triangle(inner, lower=True), weights))


cholesky_p.jvp = _jvp


def _update_aval(r: ShapedArray, w: ShapedArray) -> ShapedArray:
    mx.check_matrices("cholesky_update", r, square=True, operand="factor r_matrix")
    if dtypes.is_complex(r.dtype) or r.dtype != w.dtype:
        raise TypeError(f"cholesky_update takes real arrays of one dtype, got {r.dtype} and {w.dtype}")
    if w.shape != r.shape[:-1]:
        raise ValueError(
            f"cholesky_update takes square matrices and a vector of the same size for each, got shapes {r.shape} and "
            f"{w.shape}"
        )
    return r.strong()


cholesky_update_p = mx.decomposition("cholesky_update", _update_aval, multiple_results=False)


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The Cholesky factor of R^T R + w w^T, given R.

    Args:
      r_matrix: [..., n, n], upper triangular.
      w_vector: [..., n].

    Returns:
      [..., n, n], upper triangular.

    Raises:
      ValueError: shapes that don't match.

    Source: Golub and Van Loan, Matrix computations, section 6.5.4.

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.linalg.cholesky_update(np.float32([[3, 0], [0, 1]]), np.float32([4, 0])).tolist()
    [[5.0, 0.0], [0.0, 1.0]]
    """
    return cholesky_update_p.bind(r_matrix, w_vector)


def updated(r: Any, w: Any) -> list[Any]:
    """The updated factor, by a rotation of each row with the vector, which vanishes element by element."""
    from xtrace.lax.control_flow import loops

    axis = shaped(r).ndim - 2
    position = creation.broadcasted_iota(dtypes.int32, shaped(w).shape, axis)

    def at(v: Any, i: Any) -> Any:
        return slicing.dynamic_slice_in_dim(v, i, 1, axis=axis)

    def rotate(i: Any, state: Any) -> Any:
        r, w = state
        row = slicing.dynamic_index_in_dim(r, i, axis=axis, keepdims=False)
        x, y = at(row, i), at(w, i)
        size = el.max(el.abs(x), el.abs(y))
        still = comparisons.eq(y, el.scalar_like(y, 0))
        scale = selection.select(still, shapes.full(shaped(y).shape, 1, shaped(y).dtype), size)
        x, y = el.div(x, scale), el.div(y, scale)
        length = el.sqrt(el.add(el.mul(x, x), el.mul(y, y)))
        one = shapes.full(shaped(y).shape, 1, shaped(y).dtype)
        cosine = selection.select(still, one, el.div(x, length))
        sine = selection.select(still, el.sub(one, one), el.div(y, length))
        new = el.add(el.mul(cosine, row), el.mul(sine, w))
        w = el.sub(el.mul(cosine, w), el.mul(sine, row))
        here = shapes.broadcast(shapes.convert_element_type(i, dtypes.int32), shaped(w).shape)
        w = selection.select(comparisons.gt(position, here), w, shapes.full(shaped(w).shape, 0, shaped(w).dtype))
        return slicing.dynamic_update_index_in_dim(r, new, i, axis), w

    return [loops.fori_loop(0, shaped(w).shape[-1], rotate, (r, w))[0]]
