"""Krylov methods: systems A x = b of which only products with A are known."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from xtrace import lax, tree
from xtrace import numpy as xnp
from xtrace.core import dtypes, statics
from xtrace.core.primitive import as_array, shaped
from xtrace.flatten_util import ravel_pytree
from xtrace.lax import shapes
from xtrace.numpy import promotion
from xtrace.scipy.linalg import solve_triangular

_Product = Callable[[Any], Any]


def _operator(name: str, a: Any) -> _Product:
    """Products with `a`, a function, a matrix, or an object with `@`."""
    if callable(a):
        return a
    if not hasattr(a, "__matmul__"):
        raise TypeError(f"linear operator must be either a function or ndarray: {name} is {a!r}")
    shape = getattr(a, "shape", None)
    if shape is not None and (len(shape) != 2 or shape[0] != shape[1]):
        raise ValueError(f"linear operator must be a square matrix, but {name} has shape: {tuple(shape)}")
    if promotion.is_arraylike(a):
        return lambda x: xnp.matmul(a, x, precision=lax.Precision.HIGHEST)
    return lambda x: a @ x


def _product(name: str, a: Any, unravel: Any) -> _Product:
    """Products with `a` on vectors of all the elements of its operand."""
    if a is None:
        return lambda x: x
    operator = _operator(name, a)
    return lambda x: ravel_pytree(operator(unravel(x)))[0]


def _dot(x: Any, y: Any) -> Any:
    return xnp.vdot(x, y, precision=lax.Precision.HIGHEST)


def _size2(x: Any) -> Any:
    return xnp.real(_dot(x, x))


def _cg(a: _Product, m: _Product, b: Any, x0: Any, limit2: Any, maxiter: int) -> Any:
    """Source: Hestenes and Stiefel, Methods of conjugate gradients for solving linear systems, 1952."""

    dtype = shaped(b).dtype

    def going(state: Any) -> Any:
        _, r, _, _, k = state
        return (_size2(r) > limit2) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, gamma, p, k = state
        ap = a(p)
        alpha = gamma / xnp.real(_dot(p, ap)).astype(dtype)
        x, r = x + alpha * p, r - alpha * ap
        z = m(r)
        new = xnp.real(_dot(r, z)).astype(dtype)
        return x, r, new, z + new / gamma * p, k + 1

    r = b - a(x0)
    z = m(r)
    return lax.while_loop(going, step, (x0, r, xnp.real(_dot(r, z)).astype(dtype), z, 0))[0]


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


def _norm(x: Any) -> Any:
    return xnp.sqrt(_size2(x))


def _unit(v: Any, size: Any, there: Any) -> Any:
    """v over its norm, or zeros where there is no direction."""
    return xnp.where(there, v / xnp.where(there, size, 1).astype(v.dtype), 0)


def _arnoldi(product: _Product, basis: Any, k: Any) -> tuple[Any, Any]:
    """The basis [restart + 1, n] with vector k + 1, and column k of the Hessenberg matrix."""
    v = product(basis[k])
    size = _norm(v)
    h = xnp.zeros(shaped(basis).shape[:1], v.dtype)
    for _ in range(2):  # twice, for orthogonality to rounding
        part = xnp.matmul(xnp.conj(basis), v, precision=lax.Precision.HIGHEST)
        h = h + part
        v = v - xnp.matmul(part, basis, precision=lax.Precision.HIGHEST)
    rest = _norm(v)
    new = rest > 4 * xnp.finfo(v.dtype).eps * size  # else the space holds the solution
    h = h.at[k + 1].set(xnp.where(new, rest, 0).astype(v.dtype))
    return basis.at[k + 1].set(_unit(v, rest, new)), h


def _least_squares_at_the_end(product: _Product, basis: Any, size: Any, enough: Any) -> tuple[Any, Any]:
    """All steps of a round, then one least-squares problem; products may be batched by the compiler."""
    restart, dtype = shaped(basis).shape[0] - 1, shaped(basis).dtype

    def step(k: Any, state: Any) -> Any:
        basis, h = state
        basis, column = _arnoldi(product, basis, k)
        return basis, h.at[:, k].set(column)

    basis, h = lax.fori_loop(0, restart, step, (basis, xnp.zeros((restart + 1, restart), dtype)))
    right = xnp.zeros((restart + 1, 1), dtype).at[0, 0].set(size.astype(dtype))
    return xnp.linalg.lstsq(h, right)[0][:, 0], basis


def _rotation(x: Any, y: Any) -> tuple[Any, Any]:
    """(c, s) with c x + s y = hypot and -conj(s) x + c y = 0; y is real and not negative."""
    length = xnp.sqrt(xnp.square(xnp.abs(x)) + xnp.square(xnp.abs(y)))
    there = length > 0
    safe = xnp.where(there, length, 1)
    size = xnp.abs(x)
    phase = xnp.where(size > 0, x / xnp.where(size > 0, size, 1).astype(x.dtype), 1)
    c = xnp.where(there, size / safe, 1).astype(x.dtype)
    return c, xnp.where(there, phase * xnp.conj(y) / safe.astype(x.dtype), 0)


def _rotated(column: Any, k: Any, c: Any, s: Any) -> Any:
    x, y = column[k], column[k + 1]
    return column.at[k].set(c * x + s * y).at[k + 1].set(c * y - xnp.conj(s) * x)


def _givens_at_each_step(product: _Product, basis: Any, size: Any, enough: Any) -> tuple[Any, Any]:
    """The Hessenberg matrix made triangular by Givens rotations, one a step, which tell the residual early.

    Source: Saad and Schultz, GMRES, 1986, section 3.2.
    """
    restart, dtype = shaped(basis).shape[0] - 1, shaped(basis).dtype

    def going(state: Any) -> Any:
        _, _, right, _, k = state
        return (k < restart) & ((k == 0) | (xnp.abs(right[k]) > enough))

    def step(state: Any) -> Any:
        basis, r, right, rotations, k = state
        basis, column = _arnoldi(product, basis, k)
        column = lax.fori_loop(0, k, lambda j, h: _rotated(h, j, rotations[j, 0], rotations[j, 1]), column)
        c, s = _rotation(column[k], column[k + 1])
        column, right = _rotated(column, k, c, s), _rotated(right, k, c, s)
        rotations = rotations.at[k].set(xnp.stack([c, s]))
        return basis, r.at[:, k].set(column[:restart]), right, rotations, k + 1

    right = xnp.zeros((restart + 1,), dtype).at[0].set(size.astype(dtype))
    start = (basis, xnp.eye(restart, dtype=dtype), right, xnp.zeros((restart, 2), dtype), 0)
    basis, r, right, _, k = lax.while_loop(going, step, start)
    # Columns not reached, and the one that a singular system leaves without a pivot, have no part in the solution.
    pivots = xnp.abs(xnp.diagonal(r))
    used = (xnp.arange(restart) < k) & (pivots > xnp.finfo(dtype).eps * xnp.max(pivots))
    r = xnp.where(used[:, None] & used[None, :], r, xnp.eye(restart, dtype=dtype))
    right = xnp.where(used, right[:restart], 0)
    return solve_triangular(r, right[:, None])[:, 0], basis


#: solve_method of `gmres` -> the coefficients of a round's best step in the basis, and the basis.
_ROUNDS = {"batched": _least_squares_at_the_end, "incremental": _givens_at_each_step}


def _gmres(
    a: _Product, m: _Product, b: Any, x0: Any, limit2: Any, maxiter: int, restart: int, solve_method: str
) -> Any:
    """Rounds of `restart` steps, in each the least residual over a Krylov space whose basis Arnoldi's method makes.

    Source: Saad and Schultz, GMRES, 1986.
    """
    n = shaped(b).shape[0]
    # The rotations see the preconditioned residual, which is small enough in proportion to its own right-hand side.
    size2 = _size2(b)
    enough = _norm(m(b)) * xnp.minimum(1, xnp.sqrt(limit2 / xnp.where(size2 > 0, size2, 1)))

    def going(state: Any) -> Any:
        _, r, k = state
        size2 = _size2(r)
        return (size2 > limit2) & xnp.isfinite(size2) & (k < maxiter)

    def a_round(state: Any) -> Any:
        x, r, k = state
        z = m(r)
        size = _norm(z)
        basis = xnp.zeros((restart + 1, n), z.dtype).at[0].set(_unit(z, size, (size > 0) & xnp.isfinite(size)))
        y, basis = _ROUNDS[solve_method](lambda v: m(a(v)), basis, size, enough)
        x = x + xnp.matmul(y, basis[:restart], precision=lax.Precision.HIGHEST)
        return x, b - a(x), k + 1

    return lax.while_loop(going, a_round, (x0, b - a(x0), 0))[0]


def _inexact(x: Any) -> Any:
    x = as_array(x)
    return x if dtypes.is_inexact(shaped(x).dtype) else xnp.asarray(x).astype(float)


def _solved(name: str, method: Any, A: Any, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Any) -> Any:
    b = tree.map(_inexact, b)
    leaves, structure = tree.flatten(b)
    flat, unravel = ravel_pytree(b)
    start = xnp.zeros_like(flat)
    if x0 is not None:
        guesses, found = tree.flatten(x0)
        if found != structure:
            raise ValueError(f"{name}: x0 and b must have matching tree structure: {found} vs {structure}")
        sizes = [[shaped(x).shape for x in each] for each in (guesses, leaves)]
        if sizes[0] != sizes[1]:
            raise ValueError(f"{name}: arrays in x0 and b must have matching shapes: {sizes[0]} vs {sizes[1]}")
        start = ravel_pytree(x0)[0].astype(flat.dtype)
    product, preconditioner = _product("A", A, unravel), _product("M", M, unravel)
    limit = 10 * shaped(flat).size if maxiter is None else maxiter
    if getattr(limit, "aval", None) is None:
        limit = statics.number(limit, "maxiter")

    def solve(matvec: _Product, b: Any) -> Any:
        limit2 = xnp.maximum(xnp.square(tol) * _size2(b), xnp.square(atol))
        return method(matvec, preconditioner, b, start, limit2, limit)

    # A Hermitian operator is its own transpose only where it is real.
    symmetric = name == "cg" and not dtypes.is_complex(flat.dtype)
    x = lax.custom_linear_solve(product, flat, solve, solve, symmetric=symmetric)
    weak = [shaped(leaf).weak_type for leaf in leaves]
    out = [shapes.convert(leaf, shaped(leaf).dtype, w) for leaf, w in zip(tree.leaves(unravel(x)), weak, strict=True)]
    return tree.unflatten(structure, out), None


def cg(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-05, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Solve A x = b with Hermitian positive definite A by conjugate gradients.

    Args:
      A: a function of trees like b, linear, a matrix, or an object with `@`.
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
    return _solved("cg", _cg, A, b, x0, tol, atol, maxiter, M)


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-05, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Solve A x = b by stabilized biconjugate gradients; arguments and results as of `cg`, for any A.

    Args:
      A: a function of trees like b, linear, a matrix, or an object with `@`.
      b: an array or a tree of arrays.
      x0: where to begin; None: at zero.
      tol, atol: the iteration ends where the residual's norm is below max(tol |b|, atol).
      maxiter: or after so many steps; None: ten times the number of unknowns.
      M: an approximate inverse of A, as A is given.

    Returns:
      (x, None). Derivatives solve with A again.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.sparse.linalg.bicgstab(lambda x: 2 * x, np.array([2.0, 4.0]))[0].tolist()
    [1.0, 2.0]
    """
    return _solved("bicgstab", _bicgstab, A, b, x0, tol, atol, maxiter, M)


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
      solve_method: "batched": a round makes all its steps, then solves a small least-squares problem;
        "incremental": Givens rotations tell the residual after each step, and the round ends where it is small.

    Returns:
      (x, None). Derivatives solve with A again.

    Raises:
      ValueError: there is no such `solve_method`.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.sparse.linalg.gmres(lambda x: 2 * x, np.array([2.0, 4.0]))[0].round(3).tolist()
    [1.0, 2.0]
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'")
    size = shaped(ravel_pytree(b)[0]).size
    method = functools.partial(
        _gmres, restart=min(statics.integer(restart, "restart"), size), solve_method=solve_method
    )
    return _solved("gmres", method, A, b, x0, tol, atol, maxiter, M)
