"""Linear algebra: norms, powers and chains of matrices; products under the array API's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import comparisons, creation, shapes
from xtrace.lax import elementwise as el
from xtrace.lax.subgradients import sqrt_of_sum
from xtrace.numpy import dots, promotion
from xtrace.numpy import reductions as red
from xtrace.numpy.arguments import canonical_axis


def _largest(sizes: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The maximum of numbers that aren't negative: 0 where there are none."""
    shape = shaped(sizes).shape
    # A sum over nothing is 0, which is the norm of nothing.
    spec = red.SUM if any(shape[i] == 0 for i in axes) else red.MAX
    return red.reduce(spec, sizes, axes, None, None, keepdims)


def _vector_norm(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool, what: str = "vector") -> Any:
    """A norm of the elements along axes, taken as one vector; `x` is inexact."""

    def total(y: Any) -> Any:
        return red.reduce(red.SUM, y, axes, None, None, keepdims)

    if order is None or order == 2:
        squares = el.real(el.mul(x, el.conj(x))) if dtypes.is_complex(shaped(x).dtype) else el.mul(x, x)
        return sqrt_of_sum(total(squares))
    size = el.abs(x)
    if order == np.inf:
        return _largest(size, axes, keepdims)
    if order == -np.inf:
        return red.reduce(red.MIN, size, axes, None, None, keepdims)
    if order == 0:
        count = comparisons.ne(x, el.scalar_like(x, 0))
        return red.reduce(red.SUM, count, axes, shaped(size).dtype, None, keepdims)
    if order == 1:
        return total(size)
    if isinstance(order, str):
        raise ValueError(f"Invalid order '{order}' for {what} norm.")
    return el.pow(total(el.pow(size, el.scalar_like(size, order))), el.scalar_like(size, 1 / order))


def _matrix_norm(x: Any, order: Any, row: int, column: int, keepdims: bool) -> Any:
    """A norm of the matrices in two axes; `x` is inexact."""
    if order in (None, "fro"):
        return _vector_norm(x, 2, (row, column), keepdims)
    if order in (1, -1, np.inf, -np.inf):
        summed, picked = (row, column) if order in (1, -1) else (column, row)
        sums = red.reduce(red.SUM, el.abs(x), summed, None, None, True)
        out = _largest(sums, (picked,), True) if order > 0 else red.reduce(red.MIN, sums, picked, None, None, True)
        return out if keepdims else shapes.squeeze(out, (row, column))
    if order not in (2, -2, "nuc"):
        raise ValueError(f"Invalid order '{order}' for matrix norm.")
    from xtrace.lax import linalg as lax_linalg

    rest = [i for i in range(shaped(x).ndim) if i not in (row, column)]
    values = lax_linalg.svd(shapes.transpose(x, [*rest, row, column]), full_matrices=False, compute_uv=False)
    if order == 2:
        out = _largest(values, (shaped(values).ndim - 1,), False)
    else:
        out = red.reduce(red.SUM if order == "nuc" else red.MIN, values, -1)
    return shapes.expand_dims(out, sorted((row, column))) if keepdims else out


@composite(static_argnames=("ord", "axis", "keepdims"))
def norm(x: Any, ord: int | str | float | None = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices.

    Args:
      x: array.
      ord: for vectors a number p (the pth root of the sum of pth powers; 0 counts nonzero elements; inf and -inf are
        extrema); for matrices "fro", "nuc", 1, -1, 2, -2, inf or -inf. None: 2 for vectors, "fro" for matrices.
      axis: the axis of vectors, or the two of matrices; None: the whole array, flattened if there is no `ord`.
      keepdims: whether the axes stay, with size 1.

    Returns:
      Norms, of real floating dtype.

    Raises:
      ValueError: an order that has no meaning, or more than two axes.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.linalg.norm(np.array([3.0, 4.0])))
    5.0
    """
    (x,) = promotion.promote_args_inexact("linalg.norm", x)
    ndim = shaped(x).ndim
    if axis is None:
        axes = tuple(range(ndim))
        if ord is None:
            return _vector_norm(x, 2, axes, keepdims)
    elif isinstance(axis, Sequence):
        axes = tuple([canonical_axis(i, ndim) for i in axis])
    else:
        axes = (canonical_axis(axis, ndim),)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError(
            f"Improper number of axes for norm: axis={axes}. Pass one axis to compute a vector-norm, or two axes to "
            "compute a matrix-norm."
        )
    if axes[0] == axes[1]:
        raise ValueError(f"the two axes of a matrix norm must differ, got {axis}")
    return _matrix_norm(x, ord, *axes, keepdims)


@composite(static_argnames=("axis", "keepdims", "ord"))
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: int | str | float = 2) -> Any:
    """The norm of the elements along axes, taken as one vector.

    Args:
      x: array.
      axis: axis or tuple of axes; None: all.
      keepdims: whether the axes stay, with size 1.
      ord: a number p, as in `norm`.

    Returns:
      Norms, of real floating dtype.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.linalg.vector_norm(np.array([[1.0, 2.0], [2.0, 4.0]])))
    5.0
    """
    x = red.operand("linalg.vector_norm", x)
    if not dtypes.is_inexact(shaped(x).dtype):
        x = shapes.convert(x, dtypes.canonicalize(dtypes.float64), False)
    return _vector_norm(x, ord, red.reduction_axes(axis, shaped(x).ndim), keepdims)


@composite(static_argnames=("keepdims", "ord"))
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: str | int | float | None = "fro") -> Any:
    """The norms of the matrices in the last two axes.

    Args:
      x: array of at least two dimensions.
      keepdims: whether the axes stay, with size 1.
      ord: an order of matrices, as in `norm`.

    Returns:
      Norms, of real floating dtype.

    Raises:
      ValueError: x has fewer than two dimensions.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.linalg.matrix_norm(np.array([[1.0, 2.0], [2.0, 4.0]])))
    5.0
    """
    (x,) = promotion.promote_args_inexact("linalg.matrix_norm", x)
    ndim = shaped(x).ndim
    if ndim < 2:
        raise ValueError(f"matrix_norm needs at least two dimensions, got shape {shaped(x).shape}")
    return _matrix_norm(x, ord, ndim - 2, ndim - 1, keepdims)


@composite(static_argnames=("n",))
def matrix_power(a: Any, n: int) -> Any:
    """Powers of square matrices, by repeated squaring.

    Args:
      a: shape (..., m, m).
      n: integer exponent; negative ones invert.

    Returns:
      An array of the shape of `a`.

    Raises:
      TypeError: matrices that aren't square, an exponent that is no integer.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.linalg.matrix_power(np.array([[1, 1], [0, 1]]), 5).tolist()
    [[1, 5], [0, 1]]
    """
    a = red.operand("linalg.matrix_power", a)
    shape, dtype = shaped(a).shape, shaped(a).dtype
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise TypeError(f"Last 2 dimensions of the array must be square, got shape {shape}")
    try:
        n = statics.integer(n, "n")
    except TypeError:
        raise TypeError(f"exponent must be an integer, got {n!r}") from None
    if n < 0:
        from xtrace.numpy import linalg

        a, n = linalg.inv(a), -n
    if n == 0:
        row, column = (creation.broadcasted_iota(dtypes.int32, shape, d) for d in (len(shape) - 2, len(shape) - 1))
        return shapes.convert(comparisons.eq(row, column), dtype, False)
    power, result = a, None
    while n:
        if n & 1:
            result = power if result is None else dots.matmul(result, power)
        n >>= 1
        if n:
            power = dots.matmul(power, power)
    return result


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """The product of a chain of matrices, in the order that needs the fewest multiplications.

    Args:
      arrays: two or more matrices; the first and the last may be vectors.
      precision: as in `lax.dot_general`.

    Returns:
      The product.

    Raises:
      ValueError: less than two arrays, or ranks that don't make a chain.
      TypeError: neighbours whose sizes differ.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.linalg.multi_dot([np.ones((2, 9)), np.ones((9, 9)), np.ones(9)]).shape
    (2,)
    """
    values = [red.operand("linalg.multi_dot", x) for x in statics.parts(arrays, "arrays", "a sequence of arrays")]
    found = [shaped(x).shape for x in values]
    inner = all([len(s) == 2 for s in found[1:-1]])
    if len(values) < 2 or not inner or not {len(found[0]), len(found[-1])} <= {1, 2}:
        raise ValueError(
            "multi_dot: input arrays must all be two-dimensional, except for the first and last array which may be 1 "
            f"or 2 dimensional, and there must be at least two. Got array shapes {found}"
        )
    return _multiply_chain(tuple(values), precision)


@composite(static_argnames=("precision",))
def _multiply_chain(values: tuple[Any, ...], precision: Any) -> Any:
    rows = [shaped(x).shape[0] if shaped(x).ndim == 2 or i else 1 for i, x in enumerate(values)]
    last = shaped(values[-1])
    splits = chain_order([*rows, last.shape[1] if last.ndim == 2 else 1])

    def product(i: int, j: int) -> Any:
        if i == j:
            return values[i]
        k = splits[i, j]
        return dots.matmul(product(i, k), product(k + 1, j), precision=precision)

    return product(0, len(values) - 1)


def chain_order(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each part (i, j) of a chain of matrices, the ith of shape (sizes[i], sizes[i + 1]).

    Dynamic programming over parts (Cormen et al., Introduction to Algorithms, chapter on it).
    """
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            options = [(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i, j], split[i, j] = min(options)
    return split


# -- the array API's names -------------------------------------------------------------------------------------------


def matmul(x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Matrix product: see `numpy.matmul`.

    Args:
      x1: shape (..., m, k), or (k,).
      x2: shape (..., k, n), or (k,).
      precision: as in `lax.dot_general`.
      preferred_element_type: dtype in which to sum and return.

    Returns:
      Shape (..., m, n), without m or n where an operand is a vector.

    Raises:
      ValueError: a scalar, or leading dimensions that don't broadcast.
      TypeError: sizes k that differ.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.numpy.linalg.matmul(np.array([[1, 2], [3, 4]]), np.array([1, 1])).tolist()
      [3, 7]
    """
    return dots.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


@composite
def matrix_transpose(x: Any, /) -> Any:
    """The matrices in the last two axes transposed.

    Args:
      x: [..., m, n].

    Returns:
      [..., n, m].

    Raises:
      ValueError: x has fewer than two dimensions.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.linalg.matrix_transpose(np.ones((5, 2, 3))).shape
    (5, 3, 2)
    """
    x = red.operand("linalg.matrix_transpose", x)
    ndim = shaped(x).ndim
    if ndim < 2:
        raise ValueError(f"x must be at least two-dimensional for matrix_transpose; got shape {shaped(x).shape}")
    return shapes.transpose(x, [*range(ndim - 2), ndim - 1, ndim - 2])


def outer(x1: Any, x2: Any, /) -> Any:
    """Products of all pairs of elements of two vectors: see `numpy.outer`.

    Args:
      x1, x2: vectors.

    Returns:
      A matrix.

    Raises:
      ValueError: an operand is no vector.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.numpy.linalg.outer(np.array([1, 2]), np.array([3, 4])).tolist()
      [[3, 4], [6, 8]]
    """
    x1, x2 = red.operand("linalg.outer", x1), red.operand("linalg.outer", x2)
    if shaped(x1).ndim != 1 or shaped(x2).ndim != 1:
        raise ValueError(f"linalg.outer takes vectors, got shapes {shaped(x1).shape} and {shaped(x2).shape}")
    return dots.outer(x1, x2)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Cross product of vectors of three elements: see `numpy.cross`.

    Args:
      x1, x2: arrays with a dimension of size 3.
      axis: that dimension.

    Returns:
      The products.

    Raises:
      ValueError: a dimension of another size.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.numpy.linalg.cross(np.array([1, 0, 0]), np.array([0, 1, 0])).tolist()
      [0, 0, 1]
    """
    return dots.cross(x1, x2, axis=axis)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sums of products along an axis, elements of `x1` conjugated: see `numpy.vecdot`.

    Args:
      x1, x2: arrays of at least one dimension.
      axis: axis of both to sum over.
      precision: as in `lax.dot_general`.
      preferred_element_type: dtype in which to sum and return.

    Returns:
      The broadcast shape without the axis.

    Raises:
      ValueError: sizes along the axis that differ, or other dimensions that don't broadcast.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> int(xt.numpy.linalg.vecdot(np.array([1, 2]), np.array([3, 4])))
      11
    """
    return dots.vecdot(x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type)


def tensordot(
    x1: Any,
    x2: Any,
    /,
    *,
    axes: Any = 2,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Sums of products over pairs of axes: see `numpy.tensordot`.

    Args:
      x1, x2: arrays.
      axes: how many of the last axes of `x1` meet the first ones of `x2`; or the axes of each.
      precision: as in `lax.dot_general`.
      preferred_element_type: dtype in which to sum and return.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array with the other dimensions of `x1`, then those of `x2`.

    Raises:
      TypeError: axes that don't pair up.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.numpy.linalg.tensordot(np.ones((2, 3)), np.ones((3, 4)), axes=1).shape
      (2, 4)
    """
    return dots.tensordot(
        x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type, out_sharding=out_sharding
    )


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Sums of the diagonals of the matrices in the last two axes: see `numpy.trace`.

    Args:
      x: [..., m, n].
      offset: how far the diagonal is above the main one.
      dtype: dtype to sum in and return.

    Returns:
      An array of shape [...].

    Raises:
      ValueError: x has fewer than two dimensions.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> int(xt.numpy.linalg.trace(np.array([[1, 2], [3, 4]])))
      5
    """
    return dots.trace(x, offset, -2, -1, dtype)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the matrices in the last two axes: see `numpy.diagonal`.

    Args:
      x: [..., m, n].
      offset: which diagonal: 0 the main one, positive above it, negative below.

    Returns:
      [..., k], the diagonal of k elements along the last axis.

    Raises:
      ValueError: x has fewer than two dimensions.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.numpy.linalg.diagonal(np.array([[1, 2], [3, 4]])).tolist()
      [1, 4]
    """
    from xtrace import numpy

    return numpy.diagonal(x, offset=offset, axis1=-2, axis2=-1)


# They call norms and powers.
from xtrace.numpy import linear_systems as _systems  # noqa: E402
from xtrace.numpy import matrix_factors as _factors  # noqa: E402

det, inv, slogdet, solve = _systems.det, _systems.inv, _systems.slogdet, _systems.solve
tensorinv, tensorsolve = _systems.tensorinv, _systems.tensorsolve
cholesky, qr, svd, svdvals = _factors.cholesky, _factors.qr, _factors.svd, _factors.svdvals
eig, eigh, eigvals, eigvalsh = _factors.eig, _factors.eigh, _factors.eigvals, _factors.eigvalsh
cond, lstsq, matrix_rank, pinv = _factors.cond, _factors.lstsq, _factors.matrix_rank, _factors.pinv
