"""Factorizations under SciPy's names and conventions."""

from __future__ import annotations

from typing import Any

from xtrace import numpy as xnp
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import linalg as lax_linalg
from xtrace.lax import shapes
from xtrace.lax.linalg import lu_factors
from xtrace.lax.linalg import matrices as mx
from xtrace.numpy import linear_systems, promotion
from xtrace.numpy import reductions as red


@composite(
    static_argnames=("lower", "eigvals_only", "overwrite_a", "overwrite_b", "turbo", "eigvals", "type", "check_finite")
)
def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices: a v = v diag(w).

    Args:
      a: [..., n, n].
      b, eigvals, type: of generalized problems and of parts of the spectrum: None, None and 1.
      lower: which triangle is read.
      eigvals_only: whether eigenvectors are left out.
      overwrite_a, overwrite_b, turbo, check_finite: have no effect.

    Returns:
      (w, v), or w: ascending, [..., n]; columns of [..., n, n].

    Raises:
      NotImplementedError: for a generalized problem, or a part of the spectrum.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]]), eigvals_only=True).tolist()
    [1.0, 2.0]
    """
    for name, given, only in (("b", b, None), ("type", type, 1), ("eigvals", eigvals, None)):
        if given is not only and given != only:
            raise NotImplementedError(f"Only the {name}={only} case of eigh is implemented; got {given}")
    (a,) = promotion.promote_args_inexact("linalg.eigh", a)
    v, w = lax_linalg.eigh(a, lower=lower)
    return w if eigvals_only else (w, v)


@composite(static_argnames=("permute_l", "overwrite_a", "check_finite"))
def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """LU factors: a = P L U with a permutation matrix P.

    Args:
      a: [..., m, n].
      permute_l: whether P L is wanted instead of P and L.
      overwrite_a, check_finite: have no effect.

    Returns:
      (P, L, U), or (P L, U): [..., m, m], [..., m, k] and [..., k, n], k = min(m, n).

    >>> import numpy as np, xtrace as xt
    >>> p, l, u = xt.scipy.linalg.lu(np.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> p.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    (a,) = promotion.promote_args_inexact("linalg.lu", a)
    factors, _, order = lax_linalg.lu(a)
    m, n = shaped(a).shape[-2:]
    k, dtype = min(m, n), shaped(a).dtype
    square = (*shaped(a).shape[:-2], m, k)
    lower = mx.triangle(mx.sliced(factors, m, k), True, -1) + mx.identity(square, dtype)
    upper = mx.triangle(mx.sliced(factors, k, n), False)
    if permute_l:
        return lu_factors.permuted_rows(lower, xnp.argsort(order, axis=-1)), upper
    p = xnp.real(xnp.equal(order[..., None, :], xnp.arange(m, dtype=order.dtype)[:, None]).astype(dtype))
    return p, lower, upper


@composite(static_argnames=("overwrite_a", "lwork", "mode", "pivoting", "check_finite"))
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """QR decomposition: a = Q R, or a[:, p] = Q R with pivoting.

    Args:
      a: [..., m, n].
      mode: "full": all m columns of Q; "economic": min(m, n); "r": R alone.
      pivoting: whether columns are exchanged, so that the diagonal of R decreases.
      overwrite_a, lwork, check_finite: have no effect.

    Returns:
      (Q, R), (Q, R, p), (R,) or (R, p).

    Raises:
      ValueError: there is no such mode.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.qr(np.ones((3, 2)), mode="economic")[0].shape
    (3, 2)
    """
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'; the modes are 'full', 'economic' and 'r'")
    (a,) = promotion.promote_args_inexact("linalg.qr", a)
    out = lax_linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return tuple(out[1:] if mode == "r" else out)


@composite(static_argnames=("mode", "pivoting", "conjugate", "overwrite_a", "overwrite_c"))
def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    """Products with the orthonormal factor of a = Q R, which has k = min(m, n) columns.

    Args:
      a: [..., m, n].
      c: "right": [..., r, m] or [m]; "left": [..., k, r] or [k].
      mode: "right": c Q; "left": Q c.
      pivoting: whether columns of a are exchanged: see `qr`.
      conjugate: whether Q is conjugated.
      overwrite_a, overwrite_c: have no effect.

    Returns:
      (product, R), or (product, R, p).

    Raises:
      ValueError: there is no such mode, or the shapes don't fit.

    >>> import numpy as np, xtrace as xt
    >>> product, r = xt.scipy.linalg.qr_multiply(np.eye(2), np.ones(2))
    >>> abs(product).tolist()
    [1.0, 1.0]
    """
    a, c = promotion.promote("linalg.qr_multiply", (a, c), "inexact", ranks=False)
    if mode not in ("right", "left"):
        raise ValueError(f"mode must be 'right' or 'left', got {mode!r}")
    vector = shaped(c).ndim == 1
    if vector:
        c = mx.rows(c) if mode == "left" else mx.columns(c)
    mx.check_matrices("linalg.qr_multiply", shaped(a), operand="argument a")
    m, n = shaped(a).shape[-2:]
    axis, size, side = (-2, min(m, n), "columns") if mode == "left" else (-1, m, "rows")
    if shaped(c).shape[axis] != size:
        product = "Q @ c" if mode == "left" else "c @ Q"
        raise ValueError(
            f"Array shapes are not compatible for {product} operation: a has shape {shaped(a).shape} so Q has {size} "
            f"{side}, but c has size {shaped(c).shape[axis]} in axis {axis} (expected {size})."
        )
    batch = red.common_shape([shaped(a).shape[:-2], shaped(c).shape[:-2]])
    a, c = linear_systems.with_batch(a, batch), linear_systems.with_batch(c, batch)
    q, r, *p = lax_linalg.qr(a, pivoting=pivoting, full_matrices=False)
    q = mx.conjugated(q) if conjugate else q
    out = mx.matmul(q, c) if mode == "left" else mx.matmul(c, q)
    return (xnp.ravel(out) if vector else out, r, *p)


@composite(static_argnames=("calc_q", "overwrite_a", "check_finite"))
def hessenberg(a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Hessenberg form: a = Q H Q^H with zeros below the first subdiagonal of H.

    Args:
      a: [..., n, n].
      calc_q: whether Q is wanted.
      overwrite_a, check_finite: have no effect.

    Returns:
      H, or (H, Q).

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.hessenberg(np.eye(3)).shape
    (3, 3)
    """
    (a,) = promotion.promote_args_inexact("linalg.hessenberg", a)
    n = linear_systems.square("hessenberg", a)[-1]
    if not n:
        return (xnp.zeros_like(a), xnp.zeros_like(a)) if calc_q else xnp.zeros_like(a)
    out, taus = lax_linalg.hessenberg(a)
    h = mx.triangle(out, False, -1)
    if not calc_q:
        return h
    q = lax_linalg.householder_product(out[..., 1:, :-1], taus)
    config = [(0, 0, 0)] * (shaped(a).ndim - 2) + [(1, 0, 0)] * 2
    corner = mx.identity(shaped(a).shape, shaped(a).dtype)
    return h, mx.padded(q, config) + mx.padded(corner[..., :1, :1], [(0, 0, 0)] * (shaped(a).ndim - 2)
                                               + [(0, n - 1, 0)] * 2)  # fmt: skip


@composite(static_argnames=("side", "method", "eps", "max_iterations"))
def polar(
    a: Any, side: str = "right", *, method: str = "qdwh", eps: float | None = None, max_iterations: int | None = None
) -> tuple[Any, Any]:
    """Polar decomposition: a = u p, or a = p u, with orthonormal u and positive semidefinite p.

    Args:
      a: [..., m, n].
      side: where p stands: "right" or "left".
      method: "qdwh", for m >= n on the right and m < n on the left; or "svd", for any shape.
      eps, max_iterations: of "qdwh": see `lax.linalg.qdwh`.

    Returns:
      (u, p): [..., m, n], and [..., n, n] or [..., m, m].

    Raises:
      ValueError: fewer than two dimensions, or no such side or method.
      NotImplementedError: the side isn't the one that "qdwh" takes for the shape.

    >>> import numpy as np, xtrace as xt
    >>> u, p = xt.scipy.linalg.polar(np.array([[0.0, -2.0], [3.0, 0.0]]), method="svd")
    >>> p.round().astype(int).tolist()
    [[3, 0], [0, 2]]
    """
    (a,) = promotion.promote_args_inexact("linalg.polar", a)
    if shaped(a).ndim < 2:
        raise ValueError("The input `a` must be at least a 2-D array.")
    if side not in ("right", "left"):
        raise ValueError(f"The argument `side` must be either 'right' or 'left', got {side!r}.")
    if method == "svd":
        u, s, vh = lax_linalg.svd(a, full_matrices=False)
        scale = shapes.convert_element_type(s, shaped(a).dtype)
        if side == "right":
            p = mx.matmul(mx.adjoint(vh) * mx.columns(scale), vh)
        else:
            p = mx.matmul(u * mx.columns(scale), mx.adjoint(u))
        return mx.matmul(u, vh), p
    if method != "qdwh":
        raise ValueError(f"Unknown polar decomposition method {method}; take 'qdwh' or 'svd'.")
    m, n = shaped(a).shape[-2:]
    if (m < n) != (side == "left"):
        raise NotImplementedError(
            f"method='qdwh' takes m >= n with side='right' and m < n with side='left', got {shaped(a).shape} with "
            f"{side=}; method='svd' takes any"
        )

    def factors(x: Any) -> tuple[Any, Any]:
        u, p, _, _ = lax_linalg.qdwh(mx.adjoint(x) if side == "left" else x, eps=eps, max_iterations=max_iterations)
        return (mx.adjoint(u), mx.adjoint(p)) if side == "left" else (u, p)

    return xnp.vectorize(factors, signature="(m,n)->(m,n),(k,k)")(a)
