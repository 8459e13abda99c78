"""Systems with triangular matrices."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import shapes
from xtrace.lax.linalg import matrices as mx
from xtrace.transforms.accumulate import add_tangents
from xtrace.transforms.batching import MappedAxis, move_axis
from xtrace.transforms.zeros import Zero, zero_tangent


def _aval(a: ShapedArray, b: ShapedArray, *, left_side: bool, conjugate_a: bool, **params: Any) -> ShapedArray:
    mx.check_matrices("triangular_solve", a, square=True, operand="matrix a", any_width=True)
    mx.check_matrices("triangular_solve", b, operand="right-hand side b", any_width=True)
    if a.dtype != b.dtype:
        raise TypeError(
            f"triangular_solve requires arguments to have the same dtypes, got {a.dtype}, {b.dtype}. "
            "Cast one with .astype()."
        )
    if a.ndim != b.ndim or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(
            f"triangular_solve requires both arguments to have the same number of dimensions and equal batch "
            f"dimensions, got {a.shape} and {b.shape}"
        )
    if a.shape[-1] != b.shape[-2 if left_side else -1]:
        axis = "-2" if left_side else "-1"
        raise ValueError(
            f"triangular_solve: b must have size {a.shape[-1]} in axis {axis}, got {b.shape} for a {a.shape}"
        )
    return b.strong()


triangular_solve_p = mx.decomposition("triangular_solve", _aval, multiple_results=False)


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """Solve op(a) x = b, or x op(a) = b, with triangular matrices a.

    Args:
      a: [..., n, n]; elements of the other triangle are not read.
      b: [..., n, k] if left_side, else [..., k, n]; or without k: vectors.
      left_side: whether op(a) stands to the left of x.
      lower: whether a is lower triangular.
      transpose_a, conjugate_a: what op does.
      unit_diagonal: whether the diagonal is taken as 1 and not read.

    Returns:
      x, of the shape of b.

    Raises:
      TypeError: dtypes differ or aren't inexact.
      ValueError: shapes that don't match.

    >>> import numpy as np, xtrace as xt
    >>> a = np.array([[2.0, 0.0], [1.0, 4.0]], np.float32)
    >>> xt.lax.linalg.triangular_solve(a, np.array([2.0, 5.0], np.float32), left_side=True, lower=True).tolist()
    [1.0, 1.0]
    """
    conjugate_a = conjugate_a and dtypes.is_complex(shaped(a).dtype)
    vectors = shaped(b).ndim == shaped(a).ndim - 1
    if vectors:
        b = mx.rows(b) if left_side else mx.columns(b)
    out = triangular_solve_p.bind(
        a,
        b,
        conjugate_a=conjugate_a,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        unit_diagonal=unit_diagonal,
    )
    if vectors:
        out = shapes.squeeze(out, (shaped(out).ndim - (1 if left_side else 2),))
    return out


def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    (a, b), (a_dot, b_dot) = primals, tangents
    x = triangular_solve_p.bind(a, b, **params)
    total: Any = zero_tangent(x)
    if type(b_dot) is not Zero:
        total = triangular_solve_p.bind(a, b_dot, **params)
    if type(a_dot) is not Zero:
        lower = params["lower"]
        strict = params["unit_diagonal"]
        change = mx.triangle(el.neg(a_dot), lower, (-1 if lower else 1) if strict else 0)
        change = mx.transposed(change) if params["transpose_a"] else change
        change = mx.conjugated(change) if params["conjugate_a"] else change
        rhs = mx.matmul(change, x) if params["left_side"] else mx.matmul(x, change)
        total = add_tangents(total, triangular_solve_p.bind(a, rhs, **params))
    return x, total


def _transpose(ct: Any, a: Any, b: Any, *, transpose_a: bool, **params: Any) -> list[Any]:
    return [None, triangular_solve_p.bind(a, ct, transpose_a=not transpose_a, **params)]


def _batch(axis: MappedAxis, args: Any, dims: Any, **params: Any) -> Any:
    (a, b), (da, db) = args, dims
    if da is None and shaped(a).ndim == 2:  # one matrix: more right-hand sides
        n = shaped(b).ndim
        if params["left_side"]:
            b = move_axis(b, db, n - 1, axis.size)
            rows, k, size = shaped(b).shape
            out = triangular_solve_p.bind(a, shapes.reshape(b, (rows, k * size)), **params)
            return shapes.reshape(out, (rows, k, size)), 2
        b = move_axis(b, db, 0, axis.size)
        size, k, width = shaped(b).shape
        out = triangular_solve_p.bind(a, shapes.reshape(b, (size * k, width)), **params)
        return shapes.reshape(out, (size, k, width)), 0
    a, b = [move_axis(x, d, 0, axis.size) for x, d in zip(args, dims, strict=True)]
    return triangular_solve_p.bind(a, b, **params), 0


triangular_solve_p.jvp = _jvp
triangular_solve_p.transpose = _transpose
triangular_solve_p.batch = _batch
