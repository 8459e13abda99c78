"""Polar decomposition by dynamically weighted Halley iterations."""

from __future__ import annotations

import math
from typing import Any

from xtrace.core import dtypes, statics
from xtrace.core.primitive import shaped
from xtrace.lax import comparisons, creation, joining, reductions, selection, shapes, slicing
from xtrace.lax import elementwise as el
from xtrace.lax.linalg import matrices as mx
from xtrace.lax.linalg.cholesky_factors import cholesky_p
from xtrace.lax.linalg.orthogonal import qr
from xtrace.lax.linalg.triangular import triangular_solve

#: Below this weight of x^H x, a Cholesky factor of I + c x^H x is accurate; above, a QR decomposition is needed.
_WELL_CONDITIONED = 100


def _weights(eps: float, limit: int) -> list[tuple[float, float, float]]:
    """(a, b, c) of the steps x (a + b x^H x) (1 + c x^H x)^-1 that bring singular values from [eps, 1] to 1."""
    least, steps = eps, []
    while least + 5 * eps < 1 and len(steps) < limit:
        square = least * least
        d = (4 * (1 / square - 1) / square) ** (1 / 3)
        root = math.sqrt(1 + d)
        a = root + math.sqrt(2 - d + 2 * (2 - square) / (square * root))
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        steps.append((a, b, c))
        least = min(least * (a + b * square) / (1 + c * square), 1.0)
    return steps


def _scaled(x: Any, factor: float) -> Any:
    return el.mul(x, el.scalar_like(x, factor))


def _step(u: Any, a: float, b: float, c: float) -> Any:
    """u (a + b u^H u) (1 + c u^H u)^-1, without an inverse."""
    n, dtype = shaped(u).shape[-1], shaped(u).dtype
    eye = mx.identity((n, n), dtype)
    if c > _WELL_CONDITIONED:
        stacked = joining.concatenate([_scaled(u, math.sqrt(c)), eye], 0)
        q, _ = qr(stacked, full_matrices=False)
        m = shaped(u).shape[0]
        change = _scaled(
            mx.matmul(slicing.slice_in_dim(q, 0, m), mx.adjoint(slicing.slice_in_dim(q, m, m + n))),
            (a - b / c) / math.sqrt(c),
        )
    else:
        factor = cholesky_p.bind(el.add(eye, _scaled(mx.matmul(mx.adjoint(u), u), c)))
        half = triangular_solve(factor, u, lower=True, transpose_a=True, conjugate_a=True)
        change = _scaled(triangular_solve(factor, half, lower=True), a - b / c)
    return el.add(_scaled(u, b / c), change)


def _norm(x: Any) -> Any:
    size = el.abs(x)
    return el.sqrt(reductions.reduce_sum(el.mul(size, size), (0, 1)))


def _largest(x: Any, axis: int) -> Any:
    return reductions.reduce_max(reductions.reduce_sum(el.abs(x), (axis,)), (0,))


def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[Any, Any] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Polar decomposition x = u h with orthonormal u and positive semidefinite h, by products and QR factors alone.

    Args:
      x: [m, n], m >= n.
      is_hermitian: whether x is; has no effect.
      max_iterations: after this many steps the iteration ends; None: 10.
      eps: the precision that is asked for; None: that of the dtype.
      dynamic_shape: (rows, columns), which may be traced: what counts of x; the rest of u and h is zero.

    Returns:
      (u, h, number of steps, whether they converged).

    Raises:
      ValueError: x isn't a matrix with at least as many rows as columns.

    Source: Nakatsukasa, Bai and Gygi, Optimizing Halley's iteration for computing the matrix polar decomposition, 2010.

    >>> import numpy as np, xtrace as xt
    >>> u, h, _, converged = xt.lax.linalg.qdwh(np.array([[0.0, -2.0], [3.0, 0.0]], np.float32))
    >>> h.round().astype(int).tolist()
    [[3, 0], [0, 2]]
    """
    from xtrace.lax.control_flow import loops

    aval = shaped(x)
    mx.check_matrices("qdwh", aval)
    if aval.ndim != 2 or aval.shape[0] < aval.shape[1]:
        raise ValueError(f"qdwh takes a matrix of at least as many rows as columns, got shape {aval.shape}")
    limit = 10 if max_iterations is None else statics.integer(max_iterations, "max_iterations")
    eps = float(dtypes.finfo(aval.dtype).eps) if eps is None else statics.number(eps, "eps")
    if dynamic_shape is not None:
        for axis, size in enumerate(statics.parts(dynamic_shape, "dynamic_shape", "a pair of sizes")):
            limits = shapes.broadcast(shapes.convert_element_type(size, dtypes.int32), aval.shape)
            kept = comparisons.lt(creation.broadcasted_iota(dtypes.int32, aval.shape, axis), limits)
            x = selection.select(kept, x, shapes.full(aval.shape, 0, aval.dtype))
    bound = el.sqrt(el.mul(_largest(x, 0), _largest(x, 1)))  # at least the largest singular value
    bound = selection.select(comparisons.eq(bound, el.scalar_like(bound, 0)), el.scalar_like(bound, 1), bound)
    u = el.div(x, shapes.broadcast(shapes.convert_element_type(bound, aval.dtype), aval.shape))
    steps = _weights(eps, limit)
    previous = u
    for weights in steps:
        previous, u = u, _step(u, *weights)
    tolerance = (5 * eps) ** (1 / 3)

    def moving(before: Any, after: Any) -> Any:
        change = _norm(el.sub(after, before))
        return comparisons.gt(change, el.scalar_like(change, tolerance))

    def going(state: Any) -> Any:
        k, _, more = state
        return el.and_p.bind(more, comparisons.lt(k, el.scalar_like(k, limit)))

    def halley(state: Any) -> Any:
        k, u, _ = state
        after = _step(u, 3.0, 1.0, 3.0)
        return el.add(k, el.scalar_like(k, 1)), after, moving(u, after)

    first = shapes.full((), len(steps), dtypes.int32)
    count, u, more = loops.while_loop(going, halley, (first, u, moving(previous, u)))
    # One step of Newton and Schulz takes rounding errors off.
    u = el.sub(_scaled(u, 1.5), _scaled(mx.matmul(u, mx.matmul(mx.adjoint(u), u)), 0.5))
    h = mx.symmetrized(mx.matmul(mx.adjoint(u), x))
    return u, h, count, el.not_p.bind(more)
