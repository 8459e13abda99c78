"""Matrices of known structure, from a size or from vectors of their elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtrace import numpy as xnp
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.numpy import promotion

# -- from a size ---------------------------------------------------------------------------


def _of_float(values: np.ndarray) -> Any:
    return xnp.asarray(values, dtypes.canonical_dtype(float))


def _one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"Expected {name} to be one of: {list(allowed)}; got {value!r}")


def _binomials(n: int) -> np.ndarray:
    """The numbers of ways to choose j of i, exactly rounded, for i and j below n."""
    return np.array([[float(math.comb(i, j)) for j in range(n)] for i in range(n)], float).reshape(n, n)


def _by_kind(lower: np.ndarray, symmetric: np.ndarray, kind: str | None) -> np.ndarray:
    return {"lower": lower, "upper": lower.T}.get(kind or "symmetric", symmetric)


def hilbert(n: int) -> Any:
    """The Hilbert matrix of size n: h[i, j] = 1 / (i + j + 1).

    Args:
      n: the size.

    Returns:
      A matrix of floating dtype.

    >>> import xtrace as xt
    >>> xt.scipy.linalg.hilbert(2).tolist()[0]
    [1.0, 0.5]
    """
    n = statics.integer(n, "n")
    i = np.arange(n, dtype=float)
    return _of_float(1 / (i[:, None] + i + 1))


def invhilbert(n: int) -> Any:
    """The inverse of the Hilbert matrix of size n, which has integer elements.

    Args:
      n: the size.

    Returns:
      A matrix of floating dtype.

    >>> import xtrace as xt
    >>> xt.scipy.linalg.invhilbert(2).tolist()
    [[4.0, -6.0], [-6.0, 12.0]]
    """
    n = statics.integer(n, "n")
    comb = math.comb

    def element(i: int, j: int) -> float:
        size = (i + j + 1) * comb(n + i, n - j - 1) * comb(n + j, n - i - 1) * comb(i + j, i) ** 2
        return float((-1) ** (i + j) * size)

    return _of_float(np.array([[element(i, j) for j in range(n)] for i in range(n)], float).reshape(n, n))


def pascal(n: int, kind: str | None = None) -> Any:
    """Pascal's matrix of binomial coefficients, in float32.

    Args:
      n: the size.
      kind: "lower" or "upper": the triangle; "symmetric" or None: the lower times the upper.

    Returns:
      A matrix.

    >>> import xtrace as xt
    >>> xt.scipy.linalg.pascal(3).tolist()
    [[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [1.0, 3.0, 6.0]]
    """
    n = statics.integer(n, "n")
    _one_of("kind", kind, ("symmetric", "lower", "upper", None))
    i = range(n)
    symmetric = np.array([[float(math.comb(r + c, r)) for c in i] for r in i], float).reshape(n, n)
    return xnp.asarray(_by_kind(_binomials(n), symmetric, kind), dtypes.float32)


def invpascal(n: int, kind: str | None = None) -> Any:
    """The inverse of Pascal's matrix: see `pascal`.

    Args:
      n: the size.
      kind: "lower" or "upper": the triangle; "symmetric" or None: the lower times the upper.

    Returns:
      A matrix.

    Raises:
      ValueError: there is no such kind.

    >>> import xtrace as xt
    >>> xt.scipy.linalg.invpascal(3, "lower").tolist()
    [[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [1.0, -2.0, 1.0]]
    """
    n = statics.integer(n, "n")
    _one_of("kind", kind, ("symmetric", "lower", "upper", None))
    i = np.arange(n)
    lower = _binomials(n) * (1 - 2 * ((i[:, None] + i) % 2)) + 0.0  # no -0
    return _of_float(_by_kind(lower, lower.T @ lower, kind))


def helmert(n: int, full: bool = False) -> Any:
    """The Helmert matrix of size n: orthonormal rows, each a mean of some numbers less the next one.

    Args:
      n: the size, at least 1.
      full: whether there is a first row of equal numbers too.

    Returns:
      [n - 1, n], or [n, n] if full.

    Raises:
      ValueError: `n` isn't positive.

    >>> import xtrace as xt
    >>> xt.scipy.linalg.helmert(2).round(2).tolist()
    [[0.7099999785423279, -0.7099999785423279]]
    """
    n = statics.integer(n, "n")
    if n < 1:
        raise ValueError(f"n must be a positive integer; got {n}.")
    k = np.arange(1.0, n)[:, None]
    column = np.arange(n)
    rows = np.where(column < k, 1.0, np.where(column == k, -k, 0.0)) / np.sqrt(k * (k + 1))
    return _of_float(np.concatenate([np.full((1, n), n**-0.5), rows]) if full else rows)


def hadamard(n: int, dtype: Any = int) -> Any:
    """Sylvester's Hadamard matrix: 1 and -1 in orthogonal rows.

    Args:
      n: the size, a power of 2.
      dtype: of the elements.

    Returns:
      A matrix.

    Raises:
      ValueError: `n` is no power of 2.

    >>> import xtrace as xt
    >>> xt.scipy.linalg.hadamard(2).tolist()
    [[1, 1], [1, -1]]
    """
    n = statics.integer(n, "n")
    if n < 1 or n & (n - 1):
        raise ValueError(f"n must be a positive power of 2; got {n}.")
    matrix = np.ones((1, 1), np.int8)
    while len(matrix) < n:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return xnp.asarray(matrix).astype(dtype)


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """The matrix of the discrete Fourier transform: w[j, k] = exp(-2 pi i j k / n).

    Args:
      n: the size.
      scale: "sqrtn" or "n": what it is divided by.
      dtype: a complex dtype.

    Returns:
      A complex matrix.

    Raises:
      ValueError: there is no such scale, or the dtype isn't complex.

    >>> import xtrace as xt
    >>> xt.scipy.linalg.dft(2).real.tolist()
    [[1.0, 1.0], [1.0, -1.0]]
    """
    n = statics.integer(n, "n")
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; got {scale!r}.")
    dtype = dtypes.canonical_dtype(complex if dtype is None else dtype)
    if not dtypes.is_complex(dtype):
        raise ValueError(f"dtype must be a complex floating-point type; got {dtype}.")
    j = np.arange(n)
    turns = j[:, None] * j % n / n if n else np.zeros((0, 0))
    factor = {None: 1.0, "sqrtn": math.sqrt(n), "n": n}[scale]
    return xnp.asarray(np.exp(-2j * np.pi * turns) / factor, dtype)


# -- from vectors ---------------------------------------------------------------------------


def _vectors(name: str, x: Any) -> Any:
    promotion.check_arraylike(name, x)
    return xnp.atleast_1d(x)


def _joined(first: Any, second: Any) -> Any:
    """Vectors one after the other, along broadcast leading axes."""
    batch = np.broadcast_shapes(shaped(first).shape[:-1], shaped(second).shape[:-1])
    parts = [xnp.broadcast_to(v, (*batch, shaped(v).shape[-1])) for v in (first, second)]
    return xnp.concatenate(parts, axis=-1)


@composite
def toeplitz(c: Any, r: Any = None) -> Any:
    """Toeplitz matrices, constant along diagonals.

    Args:
      c: [..., m], the first column.
      r: [..., n], the first row, of which r[0] is not read; None: the conjugate of c.

    Returns:
      [..., m, n].

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.toeplitz(np.array([1, 2]), np.array([1, 3, 4])).tolist()
    [[1, 3, 4], [2, 1, 3]]
    """
    c = _vectors("toeplitz", c)
    r = xnp.conj(c) if r is None else _vectors("toeplitz", r)
    m, n = shaped(c).shape[-1], shaped(r).shape[-1]
    elements = _joined(c[..., ::-1], r[..., 1:])
    if not m or not n:
        return xnp.zeros((*shaped(elements).shape[:-1], m, n), shaped(elements).dtype)
    return elements[..., m - 1 - np.arange(m)[:, None] + np.arange(n)]


@composite
def hankel(c: Any, r: Any = None) -> Any:
    """Hankel matrices, constant along the other diagonals.

    Args:
      c: [..., m], the first column.
      r: [..., n], the last row, of which r[0] is not read; None: zeros.

    Returns:
      [..., m, n].

    Raises:
      ValueError: an operand is a scalar.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.hankel(np.array([1, 2]), np.array([2, 3, 4])).tolist()
    [[1, 2, 3], [2, 3, 4]]
    """
    promotion.check_arraylike("hankel", *(c,) if r is None else (c, r))
    for name, v in (("c", c), ("r", c if r is None else r)):
        if not shaped(v).ndim:
            raise ValueError(f"hankel: {name} must be at least 1-dimensional, got a scalar.")
    c = xnp.asarray(c)
    r = xnp.zeros_like(c) if r is None else xnp.asarray(r)
    m, n = shaped(c).shape[-1], shaped(r).shape[-1]
    elements = _joined(c, r[..., 1:])
    if not m or not n:
        return xnp.zeros((*shaped(elements).shape[:-1], m, n), shaped(elements).dtype)
    return elements[..., np.arange(m)[:, None] + np.arange(n)]


@composite
def circulant(c: Any) -> Any:
    """Circulant matrices: [..., n, n] whose columns are those of c, [..., n], each turned by one more.

    Args:
      c: array of one or more dimensions.

    Returns:
      [..., n, n].

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.circulant(np.array([1, 2, 3])).tolist()
    [[1, 3, 2], [2, 1, 3], [3, 2, 1]]
    """
    c = _vectors("circulant", c)
    n = shaped(c).shape[-1]
    if not n:
        return xnp.zeros((*shaped(c).shape, 0), shaped(c).dtype)
    i = np.arange(n)
    return c[..., (i[:, None] - i) % n]


@composite(static_argnames=("n", "mode"))
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrix whose product with a vector v of length n is `convolve(a, v, mode)`.

    Args:
      a: [..., m].
      n: the number of columns.
      mode: "full", "same" or "valid": which rows there are.

    Returns:
      [..., k, n] where k is m + n - 1, max(m, n) or max(m, n) - min(m, n) + 1.

    Raises:
      ValueError: `n` isn't positive, `a` is a scalar or empty, or there is no such mode.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.convolution_matrix(np.array([1, 2]), 2).tolist()
    [[1, 0], [2, 1], [0, 2]]
    """
    n = statics.integer(n, "n")
    if n <= 0:
        raise ValueError(f"n must be a positive integer; got {n}.")
    promotion.check_arraylike("convolution_matrix", a)
    if not shaped(a).ndim:
        raise ValueError("convolution_matrix: a must be at least 1-dimensional, got a scalar.")
    m = shaped(a).shape[-1]
    if m < 1:
        raise ValueError(f"len(a) must be at least 1; got shape {shaped(a).shape}.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode must be one of 'full', 'valid', 'same'; got {mode!r}.")
    cut = {"full": 0, "same": min(m, n) - 1, "valid": 2 * (min(m, n) - 1)}[mode]
    rows = np.arange(m + n - 1)[cut // 2 : m + n - 1 - (cut - cut // 2)]
    # Each element is one of a, or one of the zeros on both sides of it.
    around = xnp.pad(xnp.asarray(a), [(0, 0)] * (shaped(a).ndim - 1) + [(n - 1, n - 1)])
    return around[..., n - 1 + rows[:, None] - np.arange(n)]


@composite
def leslie(f: Any, s: Any) -> Any:
    """Leslie matrices of population growth.

    Args:
      f: [..., n], births: the first row; n is at least 2.
      s: [..., n - 1], survivals: the subdiagonal.

    Returns:
      [..., n, n].

    Raises:
      ValueError: lengths that don't fit.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.leslie(np.array([1, 2]), np.array([3])).tolist()
    [[1, 2], [3, 0]]
    """
    f, s = _vectors("leslie", f), _vectors("leslie", s)
    shape, survivals = shaped(f).shape, shaped(s).shape
    if shape[-1] < 2:
        raise ValueError(f"The length of f along the last axis must be at least 2; got shape {shape}.")
    if survivals[-1] != shape[-1] - 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less than the length of "
            f"f; got f shape {shape} and s shape {survivals}."
        )
    return _row_and_subdiagonal(_joined(f, s), shape[-1])


def _row_and_subdiagonal(elements: Any, n: int) -> Any:
    """[..., n, n] from [..., n + (n - 1)]: the first row and then the subdiagonal."""
    padded = xnp.concatenate([elements, xnp.zeros_like(elements[..., :1])], axis=-1)
    which = np.full((n, n), 2 * n - 1)
    which[0] = np.arange(n)
    which[np.arange(1, n), np.arange(n - 1)] = n + np.arange(n - 1)
    return padded[..., which]


@composite
def companion(a: Any) -> Any:
    """Companion matrices of polynomials.

    Args:
      a: [..., n], coefficients from the highest power down; n is at least 2.

    Returns:
      [..., n - 1, n - 1], whose eigenvalues are the roots.

    Raises:
      ValueError: fewer than two coefficients.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.companion(np.array([1.0, -3.0, 2.0])).tolist()
    [[3.0, -2.0], [1.0, 0.0]]
    """
    (a,) = promotion.promote_args_inexact("companion", a)
    a = xnp.atleast_1d(a)
    n = shaped(a).shape[-1]
    if n < 2:
        raise ValueError(f"The length of `a` along the last axis must be at least 2; got shape {shaped(a).shape}.")
    row = -a[..., 1:] / a[..., :1]
    return _row_and_subdiagonal(_joined(row, xnp.ones((n - 2,), shaped(row).dtype)), n - 1)


@composite
def fiedler(a: Any) -> Any:
    """Fiedler matrices: f[i, j] = |a[i] - a[j]|, [..., n, n] from [..., n].

    Args:
      a: array of one or more dimensions.

    Returns:
      [..., n, n].

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.fiedler(np.array([1, 4])).tolist()
    [[0, 3], [3, 0]]
    """
    a = _vectors("fiedler", a)
    return xnp.abs(a[..., :, None] - a[..., None, :])


@composite
def fiedler_companion(a: Any) -> Any:
    """Fiedler's companion matrices of polynomials, of five diagonals.

    Args:
      a: [..., n], coefficients from the highest power down.

    Returns:
      [..., n - 1, n - 1], whose eigenvalues are the roots.

    Raises:
      ValueError: there are no coefficients.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.fiedler_companion(np.array([1.0, -3.0, 2.0])).tolist()
    [[3.0, -2.0], [1.0, 0.0]]
    """
    (a,) = promotion.promote_args_inexact("fiedler_companion", a)
    a = xnp.atleast_1d(a)
    n = shaped(a).shape[-1] - 1
    if n < 0:
        raise ValueError(
            "fiedler_companion requires the last axis of 'a' to have nonzero length, but got an array of shape "
            f"{shaped(a).shape}."
        )
    if not n:
        return xnp.zeros((*shaped(a).shape[:-1], 0, 0), shaped(a).dtype)
    monic = a / a[..., :1]
    # Elements are found in (-a[0], …, -a[n], 0, 1).
    zero, one = n + 1, n + 2
    elements = _joined(-monic, xnp.asarray(np.array([0, 1]), shaped(monic).dtype))
    which = np.full((n, n), zero)
    which[0, 0] = 1
    if n > 1:
        which[1, 0] = one
    for i in range(0, n, 2):
        for j, source in ((i + 1, i + 2), (i + 2, one), (i - 1, i + 1)):
            if 0 <= j < n:
                which[i, j] = source
    for i in range(3, n, 2):
        which[i, i - 2] = one
    return elements[..., which]


@composite
def block_diag(*arrs: Any) -> Any:
    """A matrix with matrices along its diagonal and zeros elsewhere.

    Args:
      *arrs: matrices; vectors count as rows, scalars as one element.

    Returns:
      A matrix.

    Raises:
      ValueError: an array has more than two dimensions.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.block_diag(np.array([[1, 2]]), 3).tolist()
    [[1, 2, 0], [0, 0, 3]]
    """
    if not arrs:
        return xnp.zeros((1, 0))
    parts = promotion.promote("block_diag", arrs, ranks=False)
    for position, part in enumerate(parts):
        if shaped(part).ndim > 2:
            raise ValueError(
                f"Arguments to block_diag must have at most 2 dimensions, got shape {shaped(part).shape} at argument "
                f"{position}."
            )
    parts = [xnp.atleast_2d(p) for p in parts]
    widths = [shaped(p).shape[1] for p in parts]
    total, before, rows = sum(widths), 0, []
    for part, width in zip(parts, widths, strict=True):
        rows.append(xnp.pad(part, ((0, 0), (before, total - width - before))))
        before += width
    return xnp.concatenate(rows, axis=0)
