"""Krylov methods: systems A x = b of which only products with A are known."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core.primitive import shaped
from xtrace.flatten_util import ravel_pytree

_Product = Callable[[Any], Any]


def _product(name: str, a: Any, unravel: Any) -> _Product:
    """Products with `a`, a function of trees or a matrix, on vectors of all their elements."""
    if a is None:
        return lambda x: x
    if callable(a):
        return lambda x: ravel_pytree(a(unravel(x)))[0]
    if shaped(a).ndim != 2 or shaped(a).shape[0] != shaped(a).shape[1]:
        raise ValueError(f"{name} must be a function or a square matrix, got shape {shaped(a).shape}")
    return lambda x: ravel_pytree(xnp.matmul(a, unravel(x), precision=lax.Precision.HIGHEST))[0]


def _dot(x: Any, y: Any) -> Any:
    return xnp.vdot(x, y, precision=lax.Precision.HIGHEST)


def _size2(x: Any) -> Any:
    return xnp.real(_dot(x, x))


def _cg(a: _Product, m: _Product, b: Any, x0: Any, limit2: Any, maxiter: int) -> Any:
    """Source: Hestenes and Stiefel, Methods of conjugate gradients for solving linear systems, 1952."""

    def going(state: Any) -> Any:
        _, r, _, _, k = state
        return (_size2(r) > limit2) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, gamma, p, k = state
        ap = a(p)
        alpha = gamma / _dot(p, ap)
        x, r = x + alpha * p, r - alpha * ap
        z = m(r)
        new = _dot(r, z)
        return x, r, new, z + new / gamma * p, k + 1

    r = b - a(x0)
    z = m(r)
    return lax.while_loop(going, step, (x0, r, _dot(r, z), z, 0))[0]


def _bicgstab(a: _Product, m: _Product, b: Any, x0: Any, limit2: Any, maxiter: int) -> Any:
    """Source: van der Vorst, Bi-CGSTAB, 1992."""

    def going(state: Any) -> Any:
        _, r, *_, k = state
        return (_size2(r) > limit2) & (k < maxiter) & (k >= 0)

    def step(state: Any) -> Any:
        x, r, shadow, alpha, omega, rho, p, q, k = state
        new = _dot(shadow, r)
        beta = new / rho * alpha / omega
        p = r + beta * (p - omega * q)
        hat = m(p)
        q = a(hat)
        alpha = new / _dot(shadow, q)
        s = r - alpha * q
        enough = _size2(s) <= limit2
        s_hat = m(s)
        t = a(s_hat)
        omega = _dot(t, s) / _dot(t, t)
        x = x + alpha * hat + xnp.where(enough, 0, omega * s_hat)
        r = xnp.where(enough, s, s - omega * t)
        # Where a coefficient vanishes there is no next step.
        broken = (new == 0) | (alpha == 0) | (~enough & (omega == 0))
        return x, r, shadow, alpha, omega, new, p, q, xnp.where(broken, -1, k + 1)

    r = b - a(x0)
    one = xnp.ones((), shaped(b).dtype)
    start = (x0, r, r, one, one, one, xnp.zeros_like(r), xnp.zeros_like(r), xnp.asarray(0))
    return lax.while_loop(going, step, start)[0]


def _gmres(a: _Product, m: _Product, b: Any, x0: Any, limit2: Any, maxiter: int, restart: int) -> Any:
    """Rounds of `restart` steps, in each the least residual over a Krylov space whose basis Arnoldi's method makes.

    Source: Saad and Schultz, GMRES, 1986.
    """
    n = shaped(b).shape[0]

    def arnoldi(k: Any, state: Any) -> Any:
        basis, h = state
        v = m(a(basis[k]))
        size = xnp.sqrt(_size2(v))
        for _ in range(2):  # twice, for orthogonality to rounding
            part = xnp.matmul(xnp.conj(basis), v, precision=lax.Precision.HIGHEST)
            h = h.at[:, k].add(part)
            v = v - xnp.matmul(part, basis, precision=lax.Precision.HIGHEST)
        rest = xnp.sqrt(_size2(v))
        new = rest > 4 * xnp.finfo(v.dtype).eps * size  # else the space holds the solution
        h = h.at[k + 1, k].set(xnp.where(new, rest, 0).astype(v.dtype))
        return basis.at[k + 1].set(xnp.where(new, v / xnp.where(new, rest, 1).astype(v.dtype), 0)), h

    def going(state: Any) -> Any:
        _, r, k = state
        return (_size2(r) > limit2) & (k < maxiter)

    def a_round(state: Any) -> Any:
        x, r, k = state
        z = m(r)
        size = xnp.sqrt(_size2(z)).astype(z.dtype)
        basis = xnp.zeros((restart + 1, n), z.dtype).at[0].set(z / size)
        basis, h = lax.fori_loop(0, restart, arnoldi, (basis, xnp.zeros((restart + 1, restart), z.dtype)))
        right = xnp.zeros((restart + 1,), z.dtype).at[0].set(size)
        y = xnp.linalg.lstsq(h, right)[0]
        x = x + xnp.matmul(y, basis[:restart], precision=lax.Precision.HIGHEST)
        return x, b - a(x), k + 1

    return lax.while_loop(going, a_round, (x0, b - a(x0), 0))[0]


def _solved(name: str, method: Any, symmetric: bool, A: Any, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any,
            M: Any) -> tuple[Any, None]:  # fmt: skip
    flat, unravel = ravel_pytree(b)
    flat = flat if xnp.issubdtype(flat.dtype, xnp.inexact) else flat.astype(float)
    start = xnp.zeros_like(flat) if x0 is None else ravel_pytree(x0)[0].astype(flat.dtype)
    if shaped(start).shape != shaped(flat).shape:
        raise ValueError(f"{name}: x0 and b must have matching shapes, got {shaped(x0)} and {shaped(b)}")
    product, preconditioner = _product("A", A, unravel), _product("M", M, unravel)
    limit = 10 * shaped(flat).size if maxiter is None else maxiter

    def solve(matvec: _Product, b: Any) -> Any:
        limit2 = xnp.maximum(xnp.square(tol) * _size2(b), xnp.square(atol))
        return method(matvec, preconditioner, b, start, limit2, limit)

    x = lax.custom_linear_solve(product, flat, solve, solve, symmetric=symmetric)
    return unravel(x), None


def cg(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-05, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Solve A x = b with Hermitian positive definite A by conjugate gradients.

    Args:
      A: a function of trees like b, linear, or a matrix.
      b: an array or a tree of arrays.
      x0: where to begin; None: at zero.
      tol, atol: the iteration ends where the residual's norm is below max(tol |b|, atol).
      maxiter: or after so many steps; None: ten times the number of unknowns.
      M: an approximate inverse of A, as A is given.

    Returns:
      (x, None). Derivatives solve with A again.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.sparse.linalg.cg(lambda x: 2 * x, np.array([2.0, 4.0]))[0].tolist()
    [1.0, 2.0]
    """
    return _solved("cg", _cg, True, A, b, x0, tol, atol, maxiter, M)


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-05, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Solve A x = b by stabilized biconjugate gradients; arguments and results as of `cg`, for any A.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.sparse.linalg.bicgstab(lambda x: 2 * x, np.array([2.0, 4.0]))[0].tolist()
    [1.0, 2.0]
    """
    return _solved("bicgstab", _bicgstab, False, A, b, x0, tol, atol, maxiter, M)


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-05,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, None]:
    """Solve A x = b by the generalized minimal residual method; arguments and results as of `cg`, for any A.

    Args:
      A, b, x0, tol, atol, M: as of `cg`.
      restart: how many steps a round has, and vectors its basis.
      maxiter: how many rounds there are at most.
      solve_method: "batched" or "incremental"; both solve a small least-squares problem at the end of a round.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.sparse.linalg.gmres(lambda x: 2 * x, np.array([2.0, 4.0]))[0].round(3).tolist()
    [1.0, 2.0]
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'")
    size = shaped(ravel_pytree(b)[0]).size
    method = functools.partial(_gmres, restart=min(restart, size))
    return _solved("gmres", method, False, A, b, x0, tol, atol, maxiter, M)
