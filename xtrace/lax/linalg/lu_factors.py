"""LU factors of matrices, with partial pivoting."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import comparisons, creation, gathers, reductions, selection, shapes, slicing, sorting
from xtrace.lax import elementwise as el
from xtrace.lax.linalg import matrices as mx
from xtrace.lax.linalg.triangular import triangular_solve
from xtrace.transforms.zeros import zero_tangent


def _aval(x: ShapedArray) -> list[ShapedArray]:
    mx.check_matrices("lu", x)
    *batch, m, n = x.shape
    return [
        x.strong(),
        ShapedArray((*batch, min(m, n)), dtypes.int32),
        ShapedArray((*batch, m), dtypes.int32),
    ]


lu_p = mx.decomposition("lu", _aval)


def lu(x: Any) -> tuple[Any, Any, Any]:
    """LU decomposition with partial pivoting: P x = L U.

    Args:
      x: [..., m, n].

    Returns:
      (lu, pivots, permutation): L without its unit diagonal below, U above, [..., m, n]; the row that each row was
      exchanged with, [..., min(m, n)]; and the order of rows that this makes, [..., m].

    >>> import numpy as np, xtrace as xt
    >>> lu, pivots, permutation = xt.lax.linalg.lu(np.array([[1.0, 2.0], [2.0, 4.5]], np.float32))
    >>> lu.tolist(), permutation.tolist()
    ([[2.0, 4.5], [0.5, -0.25]], [1, 0])
    """
    out, pivots, permutation = lu_p.bind(x)
    return out, pivots, permutation


def permuted_rows(x: Any, permutation: Any) -> Any:
    """Rows of matrices [..., m, n] in the order of `permutation` [..., m]."""
    n = shaped(x).ndim
    if not shaped(x).size:  # a slice of one row does not fit in none
        return x
    batch = tuple(range(n - 2))
    dims = gathers.GatherDimensionNumbers(
        offset_dims=(n - 1,),
        collapsed_slice_dims=(n - 2,),
        start_index_map=(n - 2,),
        operand_batching_dims=batch,
        start_indices_batching_dims=batch,
    )
    sizes = (*[1] * (n - 1), shaped(x).shape[-1])
    return gathers.gather(x, mx.rows(permutation), dims, sizes, mode="promise_in_bounds")


def _completed(upper: Any) -> Any:
    """Wide upper triangular matrices [..., k, n] made square, with ones on the rest of the diagonal."""
    *batch, k, n = shaped(upper).shape
    if k == n:
        return upper
    none = [(0, 0, 0)] * len(batch)
    rest = mx.identity((*batch, n - k, n - k), shaped(upper).dtype)
    return el.add(mx.padded(upper, [*none, (0, n - k, 0), (0, 0, 0)]), mx.padded(rest, [*none, (k, 0, 0), (k, 0, 0)]))


def _jvp(primals: Any, tangents: Any) -> Any:
    """With K = L^-1 P dx U^-1: dL = L times the strict lower triangle of K, dU = the upper one times U."""
    (x,), (x_dot,) = primals, tangents
    out, pivots, permutation = lu_p.bind(x)
    shape = shaped(x).shape
    *batch, m, n = shape
    k = min(m, n)
    start = (0,) * len(shape)
    lower = mx.triangle(slicing.slice(out, start, (*batch, m, k)), True, -1)
    lower = mx.padded(lower, [(0, 0, 0)] * (len(shape) - 1) + [(0, m - k, 0)])
    lower = el.add(lower, mx.identity((*batch, m, m), shaped(x).dtype))
    upper = mx.triangle(slicing.slice(out, start, (*batch, k, n)), False)
    upper = _completed(upper)
    inner = triangular_solve(lower, permuted_rows(x_dot, permutation), left_side=True, lower=True, unit_diagonal=True)
    inner = triangular_solve(upper, inner)
    lower_dot = mx.matmul(lower, mx.triangle(inner, True, -1))
    upper_dot = mx.matmul(mx.triangle(inner, False), upper)
    return (out, pivots, permutation), (el.add(lower_dot, upper_dot), zero_tangent(pivots), zero_tangent(permutation))


lu_p.jvp = _jvp


def _permutation_aval(pivots: ShapedArray, *, permutation_size: int) -> ShapedArray:
    if dtypes.kind(pivots.dtype) != "i":
        raise TypeError(f"lu_pivots_to_permutation takes pivots of dtype int32, got {pivots.dtype}")
    if pivots.ndim < 1 or pivots.shape[-1] > permutation_size:
        raise ValueError(
            f"lu_pivots_to_permutation: output permutation size {permutation_size} must be at least the number of "
            f"pivots, got pivots of shape {pivots.shape}"
        )
    return ShapedArray((*pivots.shape[:-1], permutation_size), dtypes.int32)


lu_pivots_to_permutation_p = mx.decomposition("lu_pivots_to_permutation", _permutation_aval, multiple_results=False)


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """The order of rows that exchanges of rows make.

    Args:
      pivots: [..., k], int32: for each i in turn, the row that row i is exchanged with.
      permutation_size: the number m of rows.

    Returns:
      [..., m], int32.

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.linalg.lu_pivots_to_permutation(np.array([2, 2], np.int32), 3).tolist()
    [2, 0, 1]
    """
    return lu_pivots_to_permutation_p.bind(
        pivots, permutation_size=statics.integer(permutation_size, "permutation_size")
    )


def permutation_by_exchanges(pivots: Any, size: int) -> Any:
    """`lu_pivots_to_permutation` by a loop: what it is lowered to."""
    from xtrace.lax.control_flow import loops

    batch, k = shaped(pivots).shape[:-1], shaped(pivots).shape[-1]
    axis = len(batch)
    start = creation.broadcasted_iota(dtypes.int32, (*batch, size), axis)
    if not k or not start.aval.size:
        return start
    places = start

    def exchange(i: Any, order: Any) -> Any:
        other = slicing.dynamic_slice_in_dim(pivots, i, 1, axis)
        mine = slicing.dynamic_slice_in_dim(order, i, 1, axis)
        at_other = comparisons.eq(places, shapes.broadcast_in_dim(other, (*batch, size), tuple(range(axis + 1))))
        zero = shapes.full((*batch, size), 0, dtypes.int32)
        theirs = reductions.reduce_sum(selection.select(at_other, order, zero), (axis,))
        wide = shapes.broadcast_in_dim(mine, (*batch, size), tuple(range(axis + 1)))
        order = selection.select(at_other, wide, order)
        return slicing.dynamic_update_slice_in_dim(order, mx.rows(theirs), i, axis)

    return loops.fori_loop(shapes.full((), 0, dtypes.int32), shapes.full((), k, dtypes.int32), exchange, start)


def solved(a: Any, b: Any) -> Any:
    """x with a x = b for square matrices a [..., n, n] and b [..., n, k]."""
    out, _, permutation = lu_p.bind(a)
    return solve_factored(out, permutation, b)


def solve_factored(factors: Any, permutation: Any, b: Any, trans: int = 0) -> Any:
    """x with op(a) x = b, given a's factors and order of rows; op is the identity, transpose (1) or adjoint (2)."""
    if not trans:
        x = permuted_rows(b, permutation)
        x = triangular_solve(factors, x, left_side=True, lower=True, unit_diagonal=True)
        return triangular_solve(factors, x, left_side=True)
    options = {"left_side": True, "transpose_a": True, "conjugate_a": trans == 2}
    x = triangular_solve(factors, b, **options)
    x = triangular_solve(factors, x, lower=True, unit_diagonal=True, **options)
    return permuted_rows(x, sorting.argsort(permutation))
