"""Polynomials as arrays of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import composite, statics
from xtrace.core.primitive import shaped
from xtrace.lax import shapes
from xtrace.numpy import elementwise as ew
from xtrace.numpy.creation import asarray
from xtrace.numpy.promotion import check_arraylike, promote
from xtrace.numpy.scalars import scalar

#: Polynomials of more coefficients are evaluated by a loop in the program rather than written out.
_UNROLLED = 32


def _coefficients(name: str, *given: Any) -> list[Any]:
    check_arraylike(name, *given)
    out = []
    for p in given:
        p = asarray(p)
        if p.ndim > 1:
            raise ValueError(f"{name} takes coefficients in one dimension, got shape {p.shape}")
        out.append(p if p.ndim else shapes.expand_dims(p, (0,)))
    return out


def polyval(p: Any, x: Any, *, unroll: int | None = None) -> Any:
    """Evaluate a polynomial, by Horner's scheme.

    Args:
      p: coefficients, shape (n,), the highest power first; or (n, ...), polynomials that broadcast against `x`.
      x: where to evaluate.
      unroll: how many steps of a long polynomial's loop are written out at a time.

    Returns:
      An array of the common dtype.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.polyval(xnp.array([1, 0, -1]), xnp.arange(4))
      Array([-1,  0,  3,  8], dtype=int32)
    """
    check_arraylike("polyval", p, x)
    return _polyval(p, x, 16 if unroll is None else statics.integer(unroll, "unroll"))


@composite.composite(static_argnames=("unroll",))
def _polyval(p: Any, x: Any, unroll: int) -> Any:
    p, x = promote("polyval", (p, x), "", ranks=False)
    p, x = asarray(p), asarray(x)
    if not p.ndim:
        raise ValueError("polyval: the coefficients must be an array of at least one dimension, got a scalar")
    size = p.shape[0]
    shape = lax.broadcast_shapes(*_aligned(p.shape[1:], x.shape))
    x = _spread(x, shape)

    def coefficient(i: int) -> Any:
        return _spread(lax.index_in_dim(p, i, 0, keepdims=False), shape)

    if not size:
        return lax.full_like(x, 0)
    if size <= _UNROLLED:
        out = coefficient(0)
        for i in range(1, size):
            out = lax.add(lax.mul(out, x), coefficient(i))
        return out
    out, _ = lax.scan(
        lambda out, c: (lax.add(lax.mul(out, x), _spread(c, shape)), None), lax.full_like(x, 0), p, unroll=unroll
    )
    return out


def _aligned(*found: tuple[int, ...]) -> list[tuple[int, ...]]:
    rank = max([len(s) for s in found])
    return [(1,) * (rank - len(s)) + s for s in found]


def _spread(x: Any, shape: tuple[int, ...]) -> Any:
    ndim = shaped(x).ndim
    return shapes.broadcast_in_dim(x, shape, range(len(shape) - ndim, len(shape)))


def _lengthened(p: Any, size: int) -> Any:
    """Coefficients with zeros in front."""
    missing = size - p.shape[0]
    return lax.pad(p, scalar(0, p), [(missing, 0, 0)]) if missing else p


def polyadd(a1: Any, a2: Any) -> Any:
    """Add two polynomials.

    Args:
      a1, a2: coefficients, shapes (n,) and (m,), the highest power first.

    Returns:
      Coefficients of the sum, shape (max(n, m),).

    Raises:
      ValueError: coefficients have more than one dimension.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.polyadd(xnp.array([1, 2]), xnp.array([9, 5, 4]))
      Array([9, 6, 6], dtype=int32)
    """
    return _polyadd(*_coefficients("polyadd", a1, a2))


@composite.composite
def _polyadd(p: Any, q: Any) -> Any:
    p, q = promote("polyadd", (p, q))
    size = max(p.shape[0], q.shape[0])
    return ew.add(_lengthened(p, size), _lengthened(q, size))


def polysub(a1: Any, a2: Any) -> Any:
    """Subtract one polynomial from another.

    Args:
      a1, a2: coefficients, shapes (n,) and (m,), the highest power first.

    Returns:
      Coefficients of a1 - a2, shape (max(n, m),).

    Raises:
      ValueError: coefficients have more than one dimension.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.polysub(xnp.array([2, 10]), xnp.array([3, 10, -4]))
      Array([-3, -8, 14], dtype=int32)
    """
    p, q = _coefficients("polysub", a1, a2)
    return _polyadd(p, ew.negative(q))


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """Multiply two polynomials.

    Args:
      a1, a2: coefficients, shapes (n,) and (m,), the highest power first.
      trim_leading_zeros: leave out zeros in front of the factors; their values must be known then.

    Returns:
      Coefficients of the product, shape (n + m - 1,), floating.

    Raises:
      ValueError: coefficients have more than one dimension.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.polymul(xnp.array([1, 2]), xnp.array([1, -2]))
      Array([ 1.,  0., -4.], dtype=float32)
    """
    p, q = _coefficients("polymul", a1, a2)
    if trim_leading_zeros and (p.shape[0] > 1 or q.shape[0] > 1):
        p, q = [asarray(np.trim_zeros(np.asarray(v), "f")) if v.shape[0] > 1 else v for v in (p, q)]
        p, q = [v if v.shape[0] else lax.full((1,), 0, v.dtype) for v in (p, q)]
    if not p.shape[0] or not q.shape[0]:
        p, q = [v if v.shape[0] else lax.full((1,), 0, v.dtype) for v in (p, q)]
    return _polymul(p, q)


@composite.composite
def _polymul(p: Any, q: Any) -> Any:
    p, q = promote("polymul", (p, q), "inexact")
    return _product(p, q)


def _product(p: Any, q: Any) -> Any:
    n, m = p.shape[0], q.shape[0]
    table = ew.multiply(shapes.expand_dims(p, (1,)), shapes.expand_dims(q, (0,)))
    # Rows of n + m elements read as rows of n + m - 1: each is shifted by one against the row above it.
    table = lax.pad(table, scalar(0, table), [(0, 0, 0), (0, n, 0)])
    flat = lax.slice(lax.reshape(table, (n * (n + m),)), (0,), (n * (n + m - 1),))
    return lax.reduce_sum(lax.reshape(flat, (n, n + m - 1)), (0,))


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Divide one polynomial by another.

    Args:
      u, v: coefficients of dividend and divisor, shapes (n,) and (m,), the highest power first.
      trim_leading_zeros: leave out zeros in front of the remainder; values must be known then.

    Returns:
      (coefficients of the quotient, shape (max(n - m + 1, 1),); of the remainder, shape (n,)), floating.

    Raises:
      ValueError: coefficients have more than one dimension.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.polydiv(xnp.array([3.0, 5.0, 2.0]), xnp.array([2.0, 1.0]))
      (Array([1.5 , 1.75], dtype=float32), Array([0.  , 0.  , 0.25], dtype=float32))
    """
    quotient, rest = _polydiv(*_coefficients("polydiv", u, v))
    if trim_leading_zeros:
        known = np.asarray(rest)
        kept = np.trim_zeros(np.where(np.isclose(known, 0), 0, known), "f").shape[0]
        rest = rest[rest.shape[0] - max(kept, 1) :]
    return quotient, rest


@composite.composite
def _polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    u, v = promote("polydiv", (u, v), "inexact")
    m, n = u.shape[0] - 1, v.shape[0] - 1
    if m < n:
        return lax.full((1,), 0, u.dtype), u
    inverse = lax.div(scalar(1, v), lax.index_in_dim(v, 0, keepdims=False))
    quotient = []
    for k in range(m - n + 1):
        factor = lax.mul(inverse, lax.index_in_dim(u, k, keepdims=False))
        quotient.append(factor)
        part = lax.mul(v, shapes.broadcast_in_dim(factor, v.shape, ()))
        u = lax.sub(u, lax.pad(part, scalar(0, u), [(k, m - n - k, 0)]))
    return lax.concatenate([shapes.expand_dims(f, (0,)) for f in quotient], 0), u


def polyder(p: Any, m: int = 1) -> Any:
    """The derivative of a polynomial.

    Args:
      p: coefficients, shape (n,), the highest power first.
      m: how many times to differentiate.

    Returns:
      Coefficients, shape (n - m,), floating.

    Raises:
      ValueError: `m` is negative, or coefficients have more than one dimension.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.polyder(xnp.array([1, 1, 1, 1]))
      Array([3., 2., 1.], dtype=float32)
    """
    m = statics.integer(m, "m")
    if m < 0:
        raise ValueError(f"polyder: the order of the derivative can't be negative, got m={m}")
    (p,) = _coefficients("polyder", p)
    (p,) = promote("polyder", (p,), "inexact")
    if not m:
        return p
    size = p.shape[0]
    powers = np.arange(size - 1, m - 1, -1)
    factors = np.ones(len(powers))
    for k in range(m):
        factors = factors * (powers - k)
    return ew.multiply(lax.slice(p, (0,), (max(size - m, 0),)), factors.astype(p.dtype))


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The integral of a polynomial.

    Args:
      p: coefficients, shape (n,), the highest power first.
      m: how many times to integrate.
      k: constants of integration, shape (m,), or one for all; by default 0. The first is that of the first integration.

    Returns:
      Coefficients, shape (n + m,), floating.

    Raises:
      ValueError: `m` is negative, or `k` of another length.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.polyint(xnp.array([3.0, 2.0]), k=7)
      Array([1.5, 2. , 7. ], dtype=float32)
    """
    m = statics.integer(m, "m")
    if m < 0:
        raise ValueError(f"polyint: the order of the integral can't be negative, got m={m}")
    k = 0 if k is None else k
    p, k = _coefficients("polyint", p, k)
    if k.shape[0] == 1 and m != 1:
        k = shapes.broadcast_in_dim(k, (m,), (0,))
    if k.shape[0] != m:
        raise ValueError(
            f"polyint: k must be a scalar or have one constant for each of the m={m} integrations, got shape {k.shape}"
        )
    p, k = promote("polyint", (p, k), "inexact")
    if not m:
        return p
    powers = np.arange(p.shape[0] + m - 1, -1, -1)
    divisors = np.ones(len(powers))
    for step in range(m):
        divisors = divisors * np.maximum(powers - step, 1)
    return ew.true_divide(lax.concatenate([p, k], 0), divisors.astype(p.dtype))


def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with given roots, or the characteristic polynomial of a matrix.

    Args:
      seq_of_zeros: roots, shape (n,), or a matrix, shape (n, n).

    Returns:
      Coefficients, shape (n + 1,), floating, the first of them 1; of no roots the number 1, as NumPy's.

    Raises:
      ValueError: neither a sequence nor a square matrix.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.poly(xnp.array([1.0, -1.0]))
      Array([ 1.,  0., -1.], dtype=float32)
    """
    check_arraylike("poly", seq_of_zeros)
    roots = asarray(seq_of_zeros)
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] and roots.shape[0]:
        from xtrace import numpy as xnp

        roots = xnp.linalg.eigvals(roots)
    if roots.ndim != 1:
        raise ValueError(f"poly takes roots, shape (n,), or a square matrix, got shape {roots.shape}")
    return _poly(roots)


@composite.composite
def _poly(roots: Any) -> Any:
    (roots,) = promote("poly", (roots,), "inexact")
    if not roots.shape[0]:
        return lax.full((), 1, roots.dtype)
    out = lax.full((1,), 1, roots.dtype)
    for i in range(roots.shape[0]):
        root = lax.slice(roots, (i,), (i + 1,))
        longer = lax.pad(out, scalar(0, out), [(0, 1, 0)])
        shifted = lax.pad(out, scalar(0, out), [(1, 0, 0)])
        out = lax.sub(longer, lax.mul(shapes.broadcast_in_dim(root, shifted.shape, (0,)), shifted))
    return out


__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval"]
