"""Cholesky factors of positive definite matrices."""

from __future__ import annotations

from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import shapes
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
