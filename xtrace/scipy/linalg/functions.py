"""Functions of matrices: exponential, square root, any function by its Schur form; Sylvester's equation."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import linalg as lax_linalg
from xtrace.lax.linalg import matrices as mx
from xtrace.numpy import linear_systems, promotion
from xtrace.scipy.linalg.solvers import schur, solve_triangular

#: For each precision: the degrees of Padé approximants, and the norms up to which each is accurate to rounding.
#: Source: Higham, The scaling and squaring method for the matrix exponential revisited, 2005, table 2.3 and 2.4.
_PADE = {
    "float32": ((3, 5, 7), (4.258730016922831e-1, 1.880152677804762, 3.925724783138660)),
    "float64": (
        (3, 5, 7, 9, 13),
        (1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1, 2.097847961257068, 5.371920351148152),
    ),
}


def _square(name: str, a: Any, operand: str) -> Any:
    aval = shaped(a)
    if aval.ndim < 2 or aval.shape[-1] != aval.shape[-2]:
        raise ValueError(f"Expected {operand} to be a (batched) square matrix, got {operand}.shape={aval.shape}.")
    return a


def _pade_parts(a: Any, degree: int) -> tuple[Any, Any]:
    """The odd and the even part of the numerator of the Padé approximant of exp of a degree."""
    d, f = degree, math.factorial
    b = [f(2 * d - k) * f(d) // (f(k) * f(d - k)) // f(d) for k in range(d + 1)]
    eye = mx.identity(shaped(a).shape, shaped(a).dtype)
    a2 = mx.matmul(a, a)
    if degree == 13:
        a4 = mx.matmul(a2, a2)
        a6 = mx.matmul(a2, a4)
        high = [mx.matmul(a6, a6 * b[i + 12] + a4 * b[i + 10] + a2 * b[i + 8]) for i in (1, 0)]
        odd, even = [
            h + a6 * b[i + 6] + a4 * b[i + 4] + a2 * b[i + 2] + eye * b[i] for h, i in zip(high, (1, 0), strict=True)
        ]
        return mx.matmul(a, odd), even
    power, odd, even = eye, eye * b[1], eye * b[0]
    for k in range(2, degree, 2):
        power = a2 if k == 2 else mx.matmul(power, a2)
        odd, even = odd + power * b[k + 1], even + power * b[k]
    return mx.matmul(a, odd), even


@composite(static_argnames=("upper_triangular", "max_squarings"))
def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """Matrix exponentials, by Padé approximants of matrices that are halved and the results squared.

    Args:
      A: [..., n, n].
      upper_triangular: whether A is known to be upper triangular.
      max_squarings: where more squarings than this were needed, the result is NaN.

    Returns:
      [..., n, n].

    Raises:
      ValueError: A isn't of square matrices.

    Source: Higham, The scaling and squaring method for the matrix exponential revisited, 2005.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.expm(np.zeros((2, 2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    (A,) = promotion.promote_args_inexact("linalg.expm", A)
    _square("expm", A, "A")
    limit = statics.integer(max_squarings, "max_squarings")
    one = functools.partial(_expm, upper_triangular=upper_triangular, max_squarings=limit)
    return xnp.vectorize(one, signature="(n,n)->(n,n)")(A) if shaped(A).ndim > 2 else one(A)


def _expm(a: Any, upper_triangular: bool, max_squarings: int) -> Any:
    dtype = shaped(a).dtype
    table = _PADE.get(dtypes.to_real(dtype).name)
    if table is None:
        raise TypeError(f"A.dtype={dtype} is not supported by expm; cast with .astype('float32')")
    if not shaped(a).size:
        return a
    degrees, bounds = table
    size = xnp.max(xnp.sum(xnp.abs(a), axis=0))
    squarings = xnp.maximum(0, xnp.floor(xnp.log2(size / bounds[-1])))
    a = a / (2**squarings).astype(dtype)
    which = xnp.digitize(size, xnp.asarray(bounds[:-1], shaped(size).dtype))
    odd, even = lax.switch(which, [functools.partial(_pade_parts, degree=d) for d in degrees], a)

    def compute(a: Any, odd: Any, even: Any) -> Any:
        numerator, denominator = even + odd, even - odd
        if upper_triangular:
            out = solve_triangular(denominator, numerator)
        else:
            out = linear_systems.solve(denominator, numerator)

        def square(out: Any, i: Any) -> tuple[Any, None]:
            return lax.cond(i < squarings, lambda x: mx.matmul(x, x), lambda x: x, out), None

        return lax.scan(square, out, xnp.arange(max_squarings, dtype=shaped(squarings).dtype))[0]

    return lax.cond(squarings > max_squarings, lambda a, *_: xnp.full_like(a, np.nan), compute, a, odd, even)


def expm_frechet(A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True) -> Any:
    """The derivative of the matrix exponential at A in the direction E.

    Args:
      A, E: [..., n, n].
      method: has no effect.
      compute_expm: whether the exponential is wanted too.

    Returns:
      (expm(A), derivative), or the derivative.

    Raises:
      ValueError: the shapes differ.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.expm_frechet(np.zeros((1, 1)), np.ones((1, 1)), compute_expm=False).tolist()
    [[1.0]]
    """
    from xtrace.api.autodiff import jvp

    A, E = promotion.promote("linalg.expm_frechet", (A, E), "inexact", ranks=False)
    for name, x in (("A", A), ("E", E)):
        _square("expm_frechet", x, name)
    if shaped(A).shape != shaped(E).shape:
        raise ValueError(
            f"expected A and E to be the same shape, got A.shape={shaped(A).shape} E.shape={shaped(E).shape}"
        )
    out, derivative = jvp(expm, (A,), (E,))
    return (out, derivative) if compute_expm else derivative


def _column(x: Any, j: Any) -> Any:
    return lax.dynamic_slice_in_dim(x, j, 1, axis=shaped(x).ndim - 1)


def _nonzero(x: Any, otherwise: Any) -> Any:
    return xnp.where(x == 0, otherwise, x)


def _sqrt_of_triangular(t: Any) -> Any:
    """The principal square root of an upper triangular matrix, column by column.

    With the first j columns of R known, the part r of the next one above the diagonal solves (R + r_jj) r = t.
    Source: Björck and Hammarling, A Schur method for the square root of a matrix, 1983.
    """
    n, dtype = shaped(t).shape[-1], shaped(t).dtype
    roots = xnp.sqrt(xnp.diagonal(t))
    eye = mx.identity((n, n), dtype)
    # Where two roots vanish so does the element above: 0 / tiny; if it does not, there is no root.
    tiny = float(dtypes.finfo(dtype).tiny)

    def column(j: Any, r: Any) -> Any:
        above = xnp.where(xnp.arange(n)[:, None] < j, _column(t, j), 0)
        diagonal = _nonzero(roots + roots[j], tiny)
        system = mx.triangle(r, False, 1) + eye * mx.columns(diagonal)
        new = lax_linalg.triangular_solve(system, above, left_side=True)
        return lax.dynamic_update_slice_in_dim(r, _column(r, j) + new, j, axis=1)

    return lax.fori_loop(1, n, column, eye * mx.columns(roots)) if n else t


@composite(static_argnames=("blocksize",))
def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """The principal square root of a matrix, by its Schur form.

    Args:
      A: [n, n].
      blocksize: 1.

    Returns:
      [n, n], complex.

    Raises:
      ValueError: the matrix isn't square.
      NotImplementedError: `blocksize` is above 1.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.sqrtm(np.diag([4.0, 9.0])).real.tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    if statics.integer(blocksize, "blocksize") > 1:
        raise NotImplementedError("sqrtm has no blocked version: leave blocksize at 1")
    (A,) = promotion.promote_args_inexact("linalg.sqrtm", A)
    if shaped(A).ndim != 2:
        raise ValueError(f"sqrtm takes a square matrix, got shape {shaped(A).shape}")
    t, z = schur(A, output="complex")
    return mx.matmul(mx.matmul(z, _sqrt_of_triangular(t)), mx.adjoint(z))


@composite(static_argnames=("check_finite",))
def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The complex Schur form from a real one.

    Args:
      T: [..., n, n], upper triangular but for blocks of two.
      Z: [..., n, n], the orthogonal factor.
      check_finite: has no effect.

    Returns:
      (T, Z), complex, with upper triangular T and Z T Z^H as it was.

    Raises:
      ValueError: a matrix isn't square, or the sizes differ.

    >>> import numpy as np, xtrace as xt
    >>> t, z = xt.scipy.linalg.rsf2csf(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.eye(2))
    >>> float(abs(t[1, 0]))
    0.0
    """
    T, Z = promotion.promote("linalg.rsf2csf", (T, Z), "inexact", ranks=False)
    for name, x in (("Z", Z), ("T", T)):
        if shaped(x).ndim < 2 or shaped(x).shape[-1] != shaped(x).shape[-2]:
            raise ValueError(f"Input '{name}' must be square; got shape {shaped(x).shape}.")
    if shaped(T).shape[-1] != shaped(Z).shape[-1]:
        raise ValueError(f"Input array shapes must match: Z: {shaped(Z).shape} vs. T: {shaped(T).shape}")
    wide = dtypes.to_complex(dtypes.to_real(shaped(T).dtype))
    return xnp.vectorize(_rsf2csf, signature="(n,n),(n,n)->(n,n),(n,n)")(T.astype(wide), Z.astype(wide))


def _rsf2csf(t: Any, z: Any) -> tuple[Any, Any]:
    n = shaped(t).shape[-1]
    eps = float(dtypes.finfo(shaped(t).dtype).eps)

    position = xnp.arange(n)

    def rotate(i: Any, pair: Any) -> Any:
        t, z = pair
        m = n - i
        block = lax.dynamic_slice(t, (m - 1, m - 1), (2, 2))
        c, d = block[1]
        mu = lax_linalg.eig(block, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0][0] - d
        r = xnp.sqrt(xnp.abs(mu) ** 2 + xnp.abs(c) ** 2)
        whole = xnp.abs(c) <= eps * (xnp.abs(block[0, 0]) + xnp.abs(d))  # there is no block
        safe = xnp.where(whole, 1, r)
        cosine, sine = xnp.where(whole, 1, mu / safe.astype(mu.dtype)), xnp.where(whole, 0, c / safe.astype(c.dtype))
        turn = xnp.stack([xnp.stack([xnp.conj(cosine), sine]), xnp.stack([-sine, cosine])])
        # What lies to the left of the block and below it is zero, and no concern of the rotation if it isn't.
        rows = lax.dynamic_slice_in_dim(t, m - 1, 2, axis=0)
        rows = xnp.where((position >= m - 1)[None, :], mx.matmul(turn, rows), rows)
        t = lax.dynamic_update_slice_in_dim(t, rows, m - 1, axis=0)
        columns = lax.dynamic_slice_in_dim(t, m - 1, 2, axis=1)
        columns = xnp.where((position <= m)[:, None], mx.matmul(columns, mx.adjoint(turn)), columns)
        t = lax.dynamic_update_slice_in_dim(t, columns, m - 1, axis=1)
        zero = xnp.zeros((1, 1), shaped(t).dtype)
        t = lax.dynamic_update_slice(t, zero, (m, m - 1))
        columns = mx.matmul(lax.dynamic_slice_in_dim(z, m - 1, 2, axis=1), mx.adjoint(turn))
        return t, lax.dynamic_update_slice_in_dim(z, columns, m - 1, axis=1)

    return lax.fori_loop(1, n, rotate, (t, z)) if n > 1 else (t, z)


def _function_of_triangular(t: Any, values: Any) -> tuple[Any, Any]:
    """F with F T = T F and `values` on its diagonal, column by column; and the least distance of eigenvalues.

    Source: Parlett, A recurrence among the elements of functions of triangular matrices, 1976.
    """
    n, dtype = shaped(t).shape[-1], shaped(t).dtype
    eye = mx.identity((n, n), dtype)
    eigenvalues = xnp.diagonal(t)
    strict = mx.triangle(t, False, 1)
    row = xnp.arange(n)

    def column(j: Any, state: Any) -> Any:
        f, least = state
        above = xnp.where(row[:, None] < j, _column(t, j), 0)
        right = mx.matmul(f, above) - above * values[j]
        gaps = eigenvalues - eigenvalues[j]
        system = xnp.where(xnp.maximum(row[:, None], row[None, :]) < j, strict, 0) + eye * mx.columns(
            _nonzero(gaps, -1)
        )
        new = lax_linalg.triangular_solve(system, right, left_side=True)
        least = xnp.minimum(least, xnp.min(xnp.where(row < j, xnp.abs(gaps), np.inf)))
        return lax.dynamic_update_slice_in_dim(f, _column(f, j) + new, j, axis=1), least

    start = (eye * mx.columns(values), xnp.abs(t[0, 0]))
    return lax.fori_loop(1, n, column, start)


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """A function of a matrix, given as a function of numbers, by its Schur form.

    Args:
      A: [n, n].
      func: of arrays of numbers, element by element.
      disp: False: an estimate of the relative error is returned too.

    Returns:
      [n, n], complex; or (matrix, estimate).

    Raises:
      ValueError: the matrix isn't square.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.funm(np.diag([1.0, 4.0]), lambda x: x * x).real.tolist()
    [[1.0, 0.0], [0.0, 16.0]]
    """
    (A,) = promotion.promote_args_inexact("linalg.funm", A)
    if shaped(A).ndim != 2 or shaped(A).shape[0] != shaped(A).shape[1]:
        raise ValueError(f"expected square array_like input, got shape {shaped(A).shape}")
    t, z = rsf2csf(*schur(A))
    values = func(xnp.diagonal(t)).astype(shaped(t).dtype)
    f, least = _function_of_triangular(t, values)
    out = mx.matmul(mx.matmul(z, f), mx.adjoint(z))
    if disp:
        return out
    tol = dtypes.finfo(shaped(t).dtype).eps
    upper = xnp.max(xnp.sum(xnp.abs(mx.triangle(t, False, 1)), axis=0))
    estimate = xnp.minimum(1, xnp.maximum(tol, tol / _nonzero(least, tol) * upper))
    return out, xnp.where(xnp.any(xnp.isinf(out)), np.inf, estimate)


def _sylvester_of_triangular(r: Any, s: Any, f: Any) -> Any:
    """Y with r Y + Y s = f, of upper triangular r and s, column by column.

    Source: Bartels and Stewart, Solution of the matrix equation AX + XB = C, 1972.
    """
    m, n = shaped(f).shape
    eye = mx.identity((m, m), shaped(r).dtype)

    def column(j: Any, y: Any) -> Any:
        right = _column(f, j) - mx.matmul(y, _column(s, j))  # columns from j on are still zero
        new = lax_linalg.triangular_solve(r + eye * s[j, j], right, left_side=True)
        return lax.dynamic_update_slice_in_dim(y, new, j, axis=1)

    return lax.fori_loop(0, n, column, xnp.zeros_like(f))


def _sylvester(a: Any, b: Any, c: Any, tol: Any, *, method: str) -> Any:
    if method == "schur":
        r, u = schur(a, output="complex")
        s, v = schur(b, output="complex")
        f = mx.matmul(mx.matmul(mx.adjoint(u), c.astype(shaped(u).dtype)), v)
        x = mx.matmul(mx.matmul(u, _sylvester_of_triangular(r, s, f)), mx.adjoint(v))
        sums = mx.rows(mx.diagonal(r)) + mx.columns(mx.diagonal(s))
    else:
        w, u = xnp.linalg.eig(a)
        z, v = xnp.linalg.eig(b)
        sums = mx.rows(w) + mx.columns(z)
        f = linear_systems.solve(u, mx.matmul(c.astype(shaped(w).dtype), v)) / sums
        x = mx.matmul(mx.matmul(u, f), linear_systems.inv(v))
    if not dtypes.is_complex(shaped(c).dtype):
        x = xnp.real(x)
    return xnp.where(xnp.any(xnp.abs(sums) < tol), np.nan, x)


@composite(static_argnames=("method",))
def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Any:
    """X with A X + X B = C.

    Args:
      A: [..., m, m].
      B: [..., n, n].
      C: [..., m, n].
      method: "schur", by triangular forms; "eigen", by eigenvectors, which must be well conditioned.
      tol: where an eigenvalue of A and one of B sum to less, the result is NaN.

    Returns:
      [..., m, n].

    Raises:
      ValueError: shapes that don't match, or an unknown method.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.solve_sylvester(np.eye(2), np.eye(2), 2 * np.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    A, B, C = promotion.promote("linalg.solve_sylvester", (A, B, C), "inexact", ranks=False)
    mx.check_matrices("solve_sylvester", shaped(C), operand="argument C")
    m, n = shaped(C).shape[-2:]
    if shaped(A).shape[-2:] != (m, m) or shaped(B).shape[-2:] != (n, n):
        raise ValueError(
            f"Incompatible shapes for Sylvester equation:\nA: {shaped(A).shape}\nB: {shaped(B).shape}\n"
            f"C: {shaped(C).shape}"
        )
    if method not in ("schur", "eigen"):
        raise ValueError(f"Unrecognized method {method}. The two valid methods are either 'schur' or 'eigen'.")
    one = functools.partial(_sylvester, method=method)
    return xnp.vectorize(one, signature="(m,m),(n,n),(m,n),()->(m,n)")(A, B, C, tol)
