"""Decompositions of matrices, and what follows from singular values: rank, condition, pseudoinverse, least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xtrace.core import dtypes
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import bitwise, comparisons, reductions, selection, shapes, slicing
from xtrace.lax import elementwise as el
from xtrace.lax import linalg as lax_linalg
from xtrace.lax.linalg import matrices as mx
from xtrace.numpy import promotion
from xtrace.numpy.linear_systems import square


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Any
    S: Any
    Vh: Any


def _matrices(name: str, a: Any) -> Any:
    (a,) = promotion.promote_args_inexact(f"linalg.{name}", a)
    if shaped(a).ndim < 2:
        raise ValueError(f"{name} takes matrices: an array of at least two dimensions, got shape {shaped(a).shape}")
    return a


@composite(static_argnames=("upper", "symmetrize_input"))
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """Cholesky factors: a = L L^H, or U^H U if `upper`.

    Args:
      a: [..., n, n], Hermitian and positive definite.
      upper: whether the upper triangular factor is wanted.
      symmetrize_input: whether a is replaced by the mean of it and its adjoint.

    Returns:
      [..., n, n]; NaN where a is not positive definite.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    a = _matrices("cholesky", a)
    square("cholesky", a)
    out = lax_linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return mx.adjoint(out) if upper else out


@composite(static_argnames=("mode",))
def qr(a: Any, mode: str = "reduced") -> Any:
    """QR decomposition.

    Args:
      a: [..., m, n].
      mode: "reduced" (or "full", as in NumPy): min(m, n) columns of Q; "complete": all m; "r": R alone;
        "raw": what LAPACK finds.

    Returns:
      (Q, R), or R; "raw": (h, tau), Householder reflectors below R, transposed, and their factors.

    Raises:
      ValueError: there is no such mode.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.linalg.qr(np.ones((3, 2))).Q.shape
    (3, 2)
    """
    if mode not in ("reduced", "complete", "full", "r", "raw"):
        modes = "'reduced', 'complete', 'r' and 'raw'"
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'; the modes are {modes}")
    a = _matrices("qr", a)
    if mode == "raw":
        from xtrace.lax.linalg import orthogonal

        packed, taus = orthogonal.geqrf(a)
        return QRResult(mx.transposed(packed), taus)
    q, r = lax_linalg.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@composite(static_argnames=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Singular value decomposition: a = U diag(S) Vh.

    Args:
      a: [..., m, n].
      full_matrices: whether U and Vh are square; else they have min(m, n) columns and rows.
      compute_uv: whether they are wanted.
      hermitian: whether a is Hermitian: found by `eigh` then.
      subset_by_index: None: all singular values.

    Returns:
      (U, S, Vh), or S, which is real and descends.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.linalg.svd(np.array([[0.0, 3.0], [4.0, 0.0]]), compute_uv=False).tolist()
    [4.0, 3.0]
    """
    a = _matrices("svd", a)
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    out = lax_linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index)
    return SVDResult(*out) if compute_uv else out


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    from xtrace import numpy as xnp

    v, w = lax_linalg.eigh(a)
    s = el.abs(w)
    if not compute_uv:
        return xnp.flip(xnp.sort(s, axis=-1), axis=-1)
    order = xnp.flip(xnp.argsort(s, axis=-1), axis=-1)
    v = xnp.take_along_axis(v, mx.columns(order), axis=-1)
    signs = shapes.convert_element_type(el.sign(xnp.take_along_axis(w, order, axis=-1)), shaped(a).dtype)
    return SVDResult(v, xnp.take_along_axis(s, order, axis=-1), mx.adjoint(el.mul(v, mx.columns(signs))))


def svdvals(x: Any, /) -> Any:
    """Singular values, descending: see `svd`.

    Args:
      x: [..., m, n].

    Returns:
      An array of shape [..., min(m, n)], real.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.numpy.linalg.svdvals(np.array([[3.0, 0.0], [0.0, 4.0]])).tolist()
      [4.0, 3.0]
    """
    return svd(x, compute_uv=False)


def _lower(uplo: str | None) -> bool:
    if uplo not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {uplo!r}")
    return uplo != "U"


@composite(static_argnames=("UPLO", "symmetrize_input"))
def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      a: [..., n, n].
      UPLO: "L" or "U": the triangle that is read, if not symmetrize_input.
      symmetrize_input: whether a is replaced by the mean of it and its adjoint.

    Returns:
      (eigenvalues, eigenvectors): ascending, [..., n]; columns of [..., n, n].

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    lower = _lower(UPLO)
    a = _matrices("eigh", a)
    square("eigh", a)
    v, w = lax_linalg.eigh(a, lower=lower, symmetrize_input=symmetrize_input)
    return EighResult(w, v)


def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """Eigenvalues of Hermitian matrices, ascending: see `eigh`.

    Args:
      a: [..., n, n].
      UPLO: "L" or "U": the triangle that is read, if not symmetrize_input.
      symmetrize_input: whether a is replaced by the mean of it and its adjoint.

    Returns:
      An array of shape [..., n], real.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.numpy.linalg.eigvalsh(np.array([[3.0, 0.0], [0.0, 2.0]])).tolist()
      [2.0, 3.0]
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


@composite
def eig(a: Any) -> EigResult:
    """Eigenvalues and eigenvectors of square matrices, complex.

    Args:
      a: [..., n, n].

    Returns:
      (eigenvalues, eigenvectors): [..., n]; columns of [..., n, n].

    >>> import numpy as np, xtrace as xt
    >>> sorted(xt.numpy.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.imag.tolist())
    [-1.0, 1.0]
    """
    a = _matrices("eig", a)
    square("eig", a)
    return EigResult(*lax_linalg.eig(a, compute_left_eigenvectors=False))


@composite
def eigvals(a: Any) -> Any:
    """Eigenvalues of square matrices, complex: see `eig`.

    Args:
      a: [..., n, n].

    Returns:
      An array of shape [..., n], in no particular order.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.numpy.linalg.eigvals(np.array([[2.0, 0.0], [0.0, 3.0]])).real.tolist()
      [2.0, 3.0]
    """
    a = _matrices("eigvals", a)
    square("eigvals", a)
    (w,) = lax_linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    return w


def _eps(x: Any) -> float:
    return float(dtypes.finfo(dtypes.to_real(shaped(x).dtype)).eps)


@composite(static_argnames=("p",))
def cond(x: Any, p: Any = None) -> Any:
    """Condition numbers: the norm of x times that of its inverse.

    Args:
      x: [..., m, n].
      p: None or 2: by singular values, -2 their reciprocal; or an order of `norm`, for square x.

    Returns:
      An array of shape [...].

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.linalg.cond(np.array([[4.0, 0.0], [0.0, 2.0]])))
    2.0
    """
    from xtrace.numpy import linalg

    x = _matrices("cond", x)
    if p in (None, 2, -2):
        s = lax_linalg.svd(x, compute_uv=False)
        axis, n = shaped(s).ndim - 1, shaped(s).shape[-1]
        first, last = [slicing.index_in_dim(s, i, axis, keepdims=False) for i in (0, n - 1)]
        return el.div(last, first) if p == -2 else el.div(first, last)
    square("cond", x)
    out = el.mul(linalg.norm(x, p, (-2, -1)), linalg.norm(linalg.inv(x), p, (-2, -1)))
    has_nan = reductions.reduce_or(comparisons.ne(x, x), (shaped(x).ndim - 2, shaped(x).ndim - 1))
    singular = el.and_p.bind(comparisons.ne(out, out), el.not_p.bind(has_nan))
    return selection.select(singular, shapes.full(shaped(out).shape, np.inf, shaped(out).dtype), out)


@composite(static_argnames=("hermitian",))
def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:
    """Ranks: numbers of singular values above a bound.

    Args:
      M: [..., m, n].
      rtol: the bound over the largest singular value; None: max(m, n) times the precision.
      hermitian: whether M is Hermitian.
      tol: another name of rtol.

    Returns:
      An integer array of shape [...].

    >>> import numpy as np, xtrace as xt
    >>> int(xt.numpy.linalg.matrix_rank(np.ones((3, 3))))
    1
    """
    from xtrace import numpy as xnp

    rtol = tol if rtol is None else rtol
    (M,) = promotion.promote_args_inexact("linalg.matrix_rank", M)
    if shaped(M).ndim < 2:
        return xnp.any(xnp.not_equal(M, 0)).astype(int)
    s = svd(M, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if rtol is None:
        rtol = _eps(M) * max(shaped(M).shape[-2:])
    bound = xnp.expand_dims(xnp.asarray(rtol), -1) * xnp.max(s, axis=-1, keepdims=True)
    return xnp.sum(xnp.greater(s, bound), axis=-1)


@composite(static_argnames=("hermitian",))
def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """Pseudoinverses (Moore and Penrose's).

    Args:
      a: [..., m, n].
      rtol: singular values below rtol times the largest count as 0; None: 10 max(m, n) times the precision.
      hermitian: whether a is Hermitian.
      rcond: another name of rtol.

    Returns:
      [..., n, m].

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.linalg.pinv(np.array([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    a = _matrices("pinv", a)
    m, n = shaped(a).shape[-2:]
    if not m or not n:
        return shapes.full((*shaped(a).shape[:-2], n, m), 0, shaped(a).dtype)
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        rtol = 10.0 * max(m, n) * _eps(a)
    return _pseudoinverse(a, rtol, hermitian)


def _pseudoinverse(a: Any, rtol: Any, hermitian: bool) -> Any:
    from xtrace import numpy as xnp
    from xtrace.lax import custom_functions

    def value(a: Any) -> Any:
        u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
        bound = xnp.expand_dims(xnp.asarray(rtol), -1) * xnp.max(s, axis=-1, keepdims=True)
        kept = comparisons.gt(s, red_like(bound, s))
        safe = selection.select(kept, s, shapes.full(shaped(s).shape, 1, shaped(s).dtype))
        inverse = selection.select(kept, el.reciprocal(safe), shapes.full(shaped(s).shape, 0, shaped(s).dtype))
        inverse = shapes.convert_element_type(inverse, shaped(a).dtype)
        return mx.matmul(el.mul(mx.adjoint(vh), mx.columns(inverse)), mx.adjoint(u))

    rule = custom_functions.custom_jvp(value)

    # Source: Golub and Pereyra, The differentiation of pseudo-inverses, 1973.
    def jvp(primals: Any, tangents: Any) -> Any:
        (a,), (da,) = primals, tangents
        p = rule(a)
        m, n = shaped(a).shape[-2:]
        batch, dtype = shaped(a).shape[:-2], shaped(a).dtype
        outside = el.sub(mx.identity((*batch, m, m), dtype), mx.matmul(a, p))
        kernel = el.sub(mx.identity((*batch, n, n), dtype), mx.matmul(p, a))
        dp = el.neg(mx.matmul(mx.matmul(p, da), p))
        dp = el.add(dp, mx.matmul(mx.matmul(mx.matmul(p, mx.adjoint(p)), mx.adjoint(da)), outside))
        dp = el.add(dp, mx.matmul(kernel, mx.matmul(mx.adjoint(da), mx.matmul(mx.adjoint(p), p))))
        return p, dp

    rule.defjvp(jvp)
    return rule(a)


def red_like(x: Any, like: Any) -> Any:
    """`x` in the shape and dtype of `like`."""
    from xtrace.numpy import reductions as red

    return shapes.convert_element_type(red.broadcast(x, shaped(like).shape), shaped(like).dtype)


def lstsq(a: Any, b: Any, rcond: Any = None, *, numpy_resid: bool = False) -> tuple[Any, Any, Any, Any]:
    """The x of least norm that minimises the norm of a x - b.

    Args:
      a: [m, n].
      b: [m] or [m, k].
      rcond: singular values below rcond times the largest count as 0; None: max(m, n) times the precision.
      numpy_resid: whether residuals are empty where NumPy's are.

    Returns:
      (x, residuals, rank, singular values): residuals are sums of squares, one for each column of b.

    Raises:
      ValueError: shapes that don't fit.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.linalg.lstsq(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]))[0].round(3).tolist()
    [2.0]
    """
    x, residuals, rank, s = _lstsq(a, b, rcond)
    m, n = np.shape(a)
    if numpy_resid and (m <= n or int(rank) < n):
        residuals = shapes.full((0,), 0, shaped(residuals).dtype)
    return x, residuals, rank, s


@composite
def _lstsq(a: Any, b: Any, rcond: Any) -> tuple[Any, Any, Any, Any]:
    from xtrace import numpy as xnp

    a, b = promotion.promote("linalg.lstsq", (a, b), "inexact", ranks=False)
    if shaped(a).ndim != 2 or shaped(b).ndim not in (1, 2) or shaped(a).shape[0] != shaped(b).shape[0]:
        raise ValueError(
            f"lstsq takes a of shape [m, n] and b of shape [m] or [m, k], got {shaped(a).shape} and {shaped(b).shape}"
        )
    vector = shaped(b).ndim == 1
    b = mx.rows(b) if vector else b
    m, n = shaped(a).shape
    if not a.size:
        s, rank = xnp.empty(0, shaped(a).dtype), xnp.array(0, int)
        x = shapes.full((n, shaped(b).shape[1]), 0, shaped(a).dtype)
    else:
        rcond = _eps(a) * max(m, n) if rcond is None else xnp.where(xnp.less(rcond, 0), _eps(a), rcond)
        u, s, vh = lax_linalg.svd(a, full_matrices=False)
        kept = comparisons.ge(s, red_like(xnp.multiply(rcond, s[0]), s))
        kept = bitwise.bitwise_and(kept, comparisons.gt(s, shapes.full(shaped(s).shape, 0, shaped(s).dtype)))
        rank = xnp.sum(kept)
        safe = selection.select(kept, s, shapes.full(shaped(s).shape, 1, shaped(s).dtype))
        inverse = selection.select(kept, el.reciprocal(safe), shapes.full(shaped(s).shape, 0, shaped(s).dtype))
        inverse = shapes.convert_element_type(inverse, shaped(a).dtype)
        x = mx.matmul(mx.adjoint(vh), el.mul(mx.rows(inverse), mx.matmul(mx.adjoint(u), b)))
    size = el.abs(el.sub(b, mx.matmul(a, x)))
    residuals = reductions.reduce_sum(el.mul(size, size), (0,))
    return (shapes.squeeze(x, (1,)) if vector else x), residuals, rank, s
