"""Eigenvalues of symmetric tridiagonal matrices by bisection, eigenvectors by inverse iteration."""

from __future__ import annotations

from typing import Any

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core import dtypes
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import linalg as lax_linalg
from xtrace.lax.linalg import matrices as mx


def _wanted(n: int, select: str, select_range: Any) -> range:
    if select == "a":
        return range(n)
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal finds eigenvalues by index: select='v' is not implemented")
    if select != "i":
        raise ValueError(f"select must have a value in {{'a', 'i', 'v'}}, got {select!r}.")
    if select_range is None:
        raise ValueError("for select='i', select_range must be specified.")
    if select_range[0] > select_range[1]:
        raise ValueError(f"Got empty index range in select_range: {select_range}.")
    return range(select_range[0], select_range[1] + 1)


def _count_below(d: Any, squares: Any, x: Any, least: Any) -> Any:
    """For each number of x, how many eigenvalues are below it: the negative pivots of T - x.

    Source: Demmel, Applied numerical linear algebra, section 5.3.4.
    """

    def step(state: Any, element: Any) -> Any:
        pivot, count = state
        diagonal, square = element
        pivot = diagonal - x - square / pivot
        pivot = xnp.where(xnp.abs(pivot) < least, -least, pivot)
        return (pivot, count + (pivot < 0)), None

    start = (xnp.ones_like(x), xnp.zeros(shaped(x).shape, dtypes.int32))
    before = xnp.concatenate([xnp.zeros_like(squares[:1]), squares])
    return lax.scan(step, start, (d, before))[0][1]


@composite(static_argnames=("eigvals_only", "select", "select_range", "tol"))
def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[int, int] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """Eigenvalues, and eigenvectors, of Hermitian tridiagonal matrices.

    Args:
      d: [n], the diagonal, real or with vanishing imaginary parts.
      e: [n - 1], the diagonal above.
      eigvals_only: whether eigenvectors are left out.
      select: "a": all eigenvalues; "i": those of `select_range`, counted from the smallest.
      select_range: (first, last), both of them included.
      tol: how far an eigenvalue may be off; at least the precision times the largest eigenvalue.
      key: a random key for the vectors that inverse iteration begins with.

    Returns:
      w, or (w, v): [k], ascending, and columns of [n, k].

    Raises:
      TypeError: dtypes that differ or aren't float32, float64 or complex ones of these.
      ValueError: an unknown `select`, or an empty range.

    >>> import numpy as np, xtrace as xt
    >>> w = xt.scipy.linalg.eigh_tridiagonal(np.array([2.0, 2.0]), np.array([1.0]), eigvals_only=True)
    >>> w.round().astype(int).tolist()
    [1, 3]
    """
    d, e = xnp.asarray(d), xnp.asarray(e)
    dtype = shaped(d).dtype
    if dtype != shaped(e).dtype:
        raise TypeError(f"diagonal and off-diagonal values must have same dtype, got {dtype} and {shaped(e).dtype}")
    if dtypes.to_real(dtype).name not in ("float32", "float64"):
        raise TypeError(f"eigh_tridiagonal takes values of dtype float32 or float64, or complex ones, got {dtype}")
    n = shaped(d).shape[0]
    diagonal, size = xnp.real(d), xnp.abs(e)
    if n <= 1:
        return diagonal if eigvals_only else (diagonal, xnp.eye(n, dtype=dtype))
    wanted = xnp.asarray(list(_wanted(n, select, select_range)), dtypes.int32)
    info = dtypes.finfo(dtype)
    zero = xnp.zeros_like(size[:1])
    # All eigenvalues are in Gershgorin's circles.
    radius = xnp.concatenate([size, zero]) + xnp.concatenate([zero, size])
    low, high = xnp.min(diagonal - radius), xnp.max(diagonal + radius)
    norm = xnp.maximum(xnp.abs(low), xnp.abs(high))
    squares = size * size
    least = info.tiny * 2 * xnp.maximum(1, xnp.max(squares))
    enough = info.eps * norm if tol is None else xnp.maximum(tol, info.eps * norm)
    slack = 2 * n * info.eps * norm + 4 * least
    low, high = [xnp.broadcast_to(x, shaped(wanted).shape) for x in (low - slack, high + slack)]

    def going(state: Any) -> Any:
        i, low, high = state
        return (i < info.nmant + 8) & (xnp.max(high - low) > enough)

    def halve(state: Any) -> Any:
        i, low, high = state
        middle = (low + high) / 2
        below = _count_below(diagonal, squares, middle, least) > wanted
        return i + 1, xnp.where(below, low, middle), xnp.where(below, middle, high)

    _, low, high = lax.while_loop(going, halve, (0, low, high))
    w = (low + high) / 2
    return w if eigvals_only else (w, _eigenvectors(d, e, w, norm, key))


def _positive(x: Any) -> Any:
    return xnp.where(x > 0, x, 1)


def _eigenvectors(d: Any, e: Any, w: Any, norm: Any, key: Any) -> Any:
    """Inverse iteration from random vectors, with the vectors made orthogonal to their neighbours after each step."""
    from xtrace import random

    n, k, dtype = shaped(d).shape[0], shaped(w).shape[0], shaped(d).dtype
    info = dtypes.finfo(dtype)
    key = random.key(0) if key is None else key
    v = random.normal(key, (k, n), dtypes.to_real(dtype)).astype(dtype)
    scale = _positive(norm)
    d, e, w = d / scale.astype(dtype), e / scale.astype(dtype), w / scale
    # Equal eigenvalues are moved apart by the precision, so that their systems differ and none is singular.
    shift = w + info.eps * (1 + xnp.arange(k, dtype=shaped(w).dtype) / k)
    zero = xnp.zeros_like(e[:1])
    lower = xnp.broadcast_to(xnp.concatenate([zero, xnp.conj(e)]), (k, n))
    upper = xnp.broadcast_to(xnp.concatenate([e, zero]), (k, n))
    systems = d - mx.rows(shift).astype(dtype)
    systems = xnp.where(xnp.abs(systems) < info.eps, info.eps, systems)
    close = xnp.abs(mx.rows(w) - mx.columns(w)) <= 1e-3  # one cluster: their vectors mix

    def unit(v: Any) -> Any:
        return v / xnp.linalg.norm(v, axis=-1, keepdims=True).astype(dtype)

    def orthogonal(i: Any, v: Any) -> Any:
        """The ith vector less its parts along those before it in its cluster."""
        own = v[i]
        for _ in range(2):
            before = xnp.where((xnp.arange(k) < i) & close[i], mx.conjugated(v) @ own, 0)
            own = own - before @ v
        return v.at[i].set(own / xnp.linalg.norm(own).astype(dtype))

    def step(_: Any, v: Any) -> Any:
        v = xnp.squeeze(lax_linalg.tridiagonal_solve(lower, systems, upper, mx.rows(v), perturb_singular=True), -1)
        return lax.fori_loop(0, k, orthogonal, unit(v))

    return xnp.transpose(lax.fori_loop(0, 4, step, unit(v)))
