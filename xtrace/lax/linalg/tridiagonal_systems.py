"""Systems with tridiagonal matrices."""

from __future__ import annotations

from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import joining, slicing
from xtrace.lax.linalg import matrices as mx
from xtrace.transforms.accumulate import add_tangents
from xtrace.transforms.zeros import Zero, zero_tangent


def _aval(dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *, perturb_singular: bool) -> ShapedArray:
    mx.check_matrices("tridiagonal_solve", b, operand="right-hand side b")
    for name, v in (("dl", dl), ("d", d), ("du", du)):
        if v.shape != b.shape[:-1] or v.dtype != b.dtype:
            raise ValueError(
                f"tridiagonal_solve: {name} must have b's dtype and its shape without the last axis, got {v} for b {b}"
            )
    return b.strong()


tridiagonal_solve_p = mx.decomposition("tridiagonal_solve", _aval, multiple_results=False)


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """Solve A x = b with tridiagonal matrices A.

    Args:
      dl: [..., n], the lower diagonal: dl[i] = A[i, i - 1]; dl[0] is not read.
      d: [..., n], the diagonal.
      du: [..., n], the upper diagonal: du[i] = A[i, i + 1]; du[n - 1] is not read.
      b: [..., n, k].
      perturb_singular: whether vanishing pivots are replaced by small numbers.

    Returns:
      x: [..., n, k].

    >>> import numpy as np, xtrace as xt
    >>> one = np.ones(2, np.float32)
    >>> xt.lax.linalg.tridiagonal_solve(0 * one, 2 * one, 0 * one, np.float32([[4], [6]])).tolist()
    [[2.0], [3.0]]
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=perturb_singular)


def _shifted(v: Any, axis: int, by: int) -> Any:
    """`v` moved by one along an axis, with a zero at the free end."""
    aval = shaped(v)
    n = aval.shape[axis]
    lo, hi = (0, n - 1) if by > 0 else (1, n)
    kept = slicing.slice_in_dim(v, lo, hi, axis=axis)
    config = [(0, 0, 0)] * aval.ndim
    config[axis] = (1, 0, 0) if by > 0 else (0, 1, 0)
    return joining.pad(kept, el.scalar_like(v, 0), config)


def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    *diagonals, b = primals
    *moving, b_dot = tangents
    x = tridiagonal_solve_p.bind(*primals, **params)
    rhs: Any = zero_tangent(x) if type(b_dot) is Zero else b_dot
    rows = shaped(x).ndim - 2
    for t, by in zip(moving, (1, 0, -1), strict=True):
        if type(t) is not Zero:
            part = x if not by else _shifted(x, rows, by)
            rhs = add_tangents(rhs, el.neg(el.mul(mx.rows(t), part)))
    return x, rhs if type(rhs) is Zero else tridiagonal_solve_p.bind(*diagonals, rhs, **params)


def _transpose(ct: Any, dl: Any, d: Any, du: Any, b: Any, **params: Any) -> list[Any]:
    axis = shaped(d).ndim - 1
    lower, upper = _shifted(du, axis, 1), _shifted(dl, axis, -1)
    return [None, None, None, tridiagonal_solve_p.bind(lower, d, upper, ct, **params)]


tridiagonal_solve_p.jvp = _jvp
tridiagonal_solve_p.transpose = _transpose
