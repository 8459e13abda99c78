"""Products of matrices with their own transposes."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.lax import elementwise as el
from xtrace.lax.linalg import matrices as mx


def _aval(a: ShapedArray, c: ShapedArray, *, alpha: float, beta: float) -> ShapedArray:
    mx.check_matrices("symmetric_product", a, operand="a_matrix")
    mx.check_matrices("symmetric_product", c, square=True, operand="c_matrix")
    if dtypes.is_complex(a.dtype) or a.dtype != c.dtype:
        raise TypeError(f"symmetric_product takes real matrices of one dtype, got {a.dtype} and {c.dtype}")
    if a.shape[:-1] != c.shape[:-1]:
        raise ValueError(
            f"symmetric_product takes a_matrix of shape [..., n, m] and c_matrix of shape [..., n, n], got {a.shape} "
            f"and {c.shape}"
        )
    return c.strong()


symmetric_product_p = mx.decomposition("symmetric_product", _aval, multiple_results=False)


def symmetric_product(
    a_matrix: Any, c_matrix: Any, *, alpha: float = 1.0, beta: float = 0.0, symmetrize_output: bool = False
) -> Any:
    """alpha A A^T + beta C, with symmetric C.

    Args:
      a_matrix: [..., n, m].
      c_matrix: [..., n, n].
      alpha, beta: numbers.
      symmetrize_output: whether both triangles of the result are meant: else the upper one may be arbitrary.

    Returns:
      [..., n, n].

    Raises:
      ValueError: shapes that don't match.

    >>> import numpy as np, xtrace as xt
    >>> one = np.ones((1, 2), np.float32)
    >>> xt.lax.linalg.symmetric_product(one, np.eye(1, dtype=np.float32), alpha=2.0, beta=1.0).tolist()
    [[5.0]]
    """
    out = symmetric_product_p.bind(a_matrix, c_matrix, alpha=alpha, beta=beta)
    if symmetrize_output:
        out = el.add(mx.triangle(out, True), mx.transposed(mx.triangle(out, True, -1)))
    return out


def by_dots(a: Any, c: Any, *, alpha: float, beta: float) -> list[Any]:
    """The same, by a product of matrices."""
    product = el.mul(mx.matmul(a, mx.transposed(a)), el.scalar_like(a, alpha))
    return [el.add(product, el.mul(c, el.scalar_like(c, beta)))]


def _jvp(primals: Any, tangents: Any, *, alpha: float, beta: float) -> Any:
    from xtrace.transforms.accumulate import add_tangents
    from xtrace.transforms.zeros import Zero, zero_tangent

    (a, c), (da, dc) = primals, tangents
    out = symmetric_product_p.bind(a, c, alpha=alpha, beta=beta)
    change: Any = zero_tangent(out)
    if type(da) is not Zero:
        half = mx.matmul(da, mx.transposed(a))
        change = el.mul(el.add(half, mx.transposed(half)), el.scalar_like(half, alpha))
    if type(dc) is not Zero:
        change = add_tangents(change, el.mul(dc, el.scalar_like(dc, beta)))
    return out, change


symmetric_product_p.jvp = _jvp
