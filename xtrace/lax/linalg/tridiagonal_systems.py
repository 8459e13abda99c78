"""Systems with tridiagonal matrices."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import comparisons, joining, reductions, selection, shapes, slicing
from xtrace.lax import elementwise as el
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


def by_elimination(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> list[Any]:
    """The solution by Gaussian elimination with exchanges of neighbouring rows, a scan down and one up.

    With perturb_singular, pivots below the precision times the largest element are replaced by that.
    """
    from xtrace.lax.control_flow import scans

    batch = shaped(d).ndim - 1
    first = (batch, *range(batch))
    # Rows come first; their elements are [..., 1], beside right-hand sides [..., k].
    lower, middle, upper = [mx.rows(shapes.transpose(v, first)) for v in (dl, d, du)]
    right = shapes.transpose(b, (batch, *range(batch), batch + 1))
    zero = shapes.full(shaped(middle).shape[1:], 0, shaped(d).dtype)
    least = None
    if perturb_singular:
        sizes = [el.abs(v) for v in (lower, middle, upper)]
        largest = el.max(el.max(sizes[0], sizes[1]), sizes[2])
        largest = reductions.reduce_max(largest, (0,))
        eps = el.scalar_like(largest, dtypes.finfo(shaped(largest).dtype).eps)
        least = el.max(el.mul(largest, eps), el.scalar_like(largest, dtypes.finfo(shaped(largest).dtype).tiny))

    def safe(pivot: Any) -> Any:
        if least is None:
            return pivot
        replaced = comparisons.lt(el.abs(pivot), least)
        return selection.select(replaced, shapes.convert_element_type(least, shaped(pivot).dtype), pivot)

    def spread(mask: Any) -> Any:
        return shapes.broadcast_in_dim(mask, shaped(right).shape[1:], range(batch + 1))

    def row(x: Any, i: int) -> Any:
        return slicing.index_in_dim(x, i, 0, keepdims=False)

    def down(state: Any, below: Any) -> Any:
        pivot, beside, rhs = state
        low, mid, up, r = below
        exchanged = comparisons.gt(el.abs(low), el.abs(pivot))
        wide = spread(exchanged)

        def pick(mask: Any, x: Any, y: Any) -> tuple[Any, Any]:
            return selection.select(mask, y, x), selection.select(mask, x, y)

        head, sub = pick(exchanged, pivot, low)
        second, sub_second = pick(exchanged, beside, mid)
        third, sub_third = pick(exchanged, zero, up)
        value, sub_value = pick(wide, rhs, r)
        head = safe(head)
        factor = el.div(sub, head)
        left = el.sub(sub_second, el.mul(factor, second))
        rest = el.sub(sub_third, el.mul(factor, third))
        return (left, rest, el.sub(sub_value, el.mul(factor, value))), (head, second, third, value)

    start = (row(middle, 0), row(upper, 0), row(right, 0))
    following = [slicing.slice_in_dim(v, 1, None) for v in (lower, middle, upper, right)]
    (pivot, _, value), known = scans.scan(down, start, tuple(following))
    last = el.div(value, safe(pivot))
    none = shapes.full(shaped(last).shape, 0, shaped(last).dtype)

    def up(state: Any, known: Any) -> Any:
        after, second_after = state
        head, second, third, value = known
        x = el.sub(el.sub(value, el.mul(second, after)), el.mul(third, second_after))
        x = el.div(x, head)
        return (x, after), x

    _, before = scans.scan(up, (last, none), known, reverse=True)
    x = joining.concatenate([before, shapes.expand_dims(last, (0,))], 0)
    return [shapes.transpose(x, (*range(1, batch + 1), 0, batch + 1))]


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
