"""Positions in arrays: where elements are nonzero, flat positions and their coordinates, diagonals and triangles."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes, errors, statics
from xtrace.core.composite import composite
from xtrace.core.trace import Tracer
from xtrace.lax.gathers import GatherScatterMode, gather_p
from xtrace.numpy import promotion
from xtrace.numpy.arguments import as_array, canonical_shape
from xtrace.numpy.scalars import weak_scalar
from xtrace.runtime import transfers

# -- helpers -----------------------------------------------------------------------------------------------------


def concrete(x: Any, context: str) -> np.ndarray:
    """The value of an array on the host. Raises ConcretizationTypeError, saying `context`, for traced ones."""
    if isinstance(x, Tracer):
        known = x.to_concrete_value()
        if known is None:
            raise errors.ConcretizationTypeError(x, context)
        x = known
    return np.asarray(x)


def integers(values: np.ndarray) -> Any:
    """Integers worked out on the host, as an array of the default integer dtype."""
    values = np.asarray(values).astype(dtypes.canonicalize(dtypes.int64))
    return transfers.put(values, transfers.aval_of(values))


def is_nonzero(x: Any) -> Any:
    """`x` as booleans."""
    return x if x.dtype == dtypes.bool_ else lax.ne(x, np.zeros((), x.dtype)[()])


# -- nonzero -----------------------------------------------------------------------------------------------------


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The positions of the elements that aren't zero.

    Args:
      a: array of one or more dimensions.
      size: how many positions to return; needed where the array is traced, because the result's shape can't depend on
        its values. Positions beyond it are left out; missing ones are fill_value.
      fill_value: an integer, or one for each dimension; 0 by default.

    Returns:
      One integer array for each dimension of a: together they index the elements that aren't zero, in order.

    Raises:
      ValueError: a has no dimensions.
      ConcretizationTypeError: a is traced and size isn't given.

    Example:
      >>> import xtrace.numpy as xnp
      >>> [i.tolist() for i in xnp.nonzero(xnp.array([[0, 1], [2, 0]]))]
      [[0, 1], [1, 0]]
    """
    x = as_array("nonzero", a)
    if not x.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use numpy.atleast_1d(scalar).nonzero() instead.")
    fills = _fill_values(fill_value, x.ndim)
    if size is None:
        found = concrete(x, "The size argument of nonzero must be given where the array is traced: nonzero(x, size=n).")
        return tuple([integers(i) for i in np.nonzero(found)])
    size = statics.natural(size, "size")
    if all([type(f) is int for f in fills]):
        return tuple(_nonzero(x, size, fills))
    found = _nonzero(x, size, (-1,) * x.ndim)
    # Fills that aren't integers decide about the dtype.
    both = promotion.promote_dtypes(*found, *[promotion.operand(f) for f in fills])
    known = lax.ge(found[0], lax.full_like(found[0], 0))
    return tuple([lax.select(known, i, lax.full_like(i, f)) for i, f in zip(both, both[x.ndim :])])


def _fill_values(fill_value: Any, ndim: int) -> tuple[Any, ...]:
    """One scalar for each dimension: Python's if it is an integer, which fits into positions, else numpy's."""
    if fill_value is None:
        return (0,) * ndim
    if isinstance(fill_value, tuple):
        if len(fill_value) != ndim:
            raise ValueError(
                f"fill_value tuple must have length equal to number of axes ({ndim}); got {len(fill_value)}"
            )
        return tuple([v for each in fill_value for v in _fill_values(each, 1)])
    if np.ndim(fill_value):
        raise ValueError(f"fill_value must be a scalar or tuple of scalars; got {fill_value}")
    fill = np.asarray(statics.number(fill_value, "fill_value"))
    return (int(fill) if fill.dtype.kind in "iub" else fill[()],) * ndim


@composite(static_argnames=("size", "fills"))
def _nonzero(x: Any, size: int, fills: tuple[int, ...]) -> list[Any]:
    dtype = dtypes.canonicalize(dtypes.int64)
    n = math.prod(x.shape)
    if not n or not size:
        return [lax.full((size,), dtype.type(f)) for f in fills]
    mask = lax.reshape(is_nonzero(x), (n,))
    counts = lax.cumsum(lax.convert_element_type(mask, dtype), 0)
    # Each element that isn't zero writes its flat position to its place in the result; the others write outside.
    places = lax.select_n(mask, lax.full((n,), dtype.type(size)), lax.sub(counts, dtype.type(1)))
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    empty = lax.full((size,), dtype.type(0))
    flat = lax.scatter(empty, lax.expand_dims(places, (1,)), lax.iota(dtype, n), numbers, mode="drop")
    total = lax.slice(counts, (n - 1,), (n,))
    known = lax.lt(lax.iota(dtype, size), lax.broadcast_in_dim(total, (size,), (0,)))
    return [
        lax.select_n(known, lax.full((size,), dtype.type(f)), i) for i, f in zip(_coordinates(flat, x.shape), fills)
    ]


def _coordinates(flat: Any, shape: tuple[int, ...]) -> list[Any]:
    """The coordinates of flat positions in bounds."""
    out = []
    stride = 1
    for d in reversed(shape):
        i = flat if stride == 1 else lax.div(flat, weak_scalar(stride, flat))
        out.append(i if stride * d == math.prod(shape) else lax.rem(i, weak_scalar(d, flat)))
        stride *= d
    return out[::-1]


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The positions in the flattened array of the elements that aren't zero.

    Args:
      a: array.
      size: how many positions to return; needed where the array is traced, because the result's shape can't depend on
        its values. Positions beyond it are left out; missing ones are fill_value.
      fill_value: an integer; 0 by default.

    Returns:
      An integer vector.

    Raises:
      ConcretizationTypeError: a is traced and size isn't given.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.flatnonzero(xnp.array([[0, 1], [2, 0]])).tolist()
      [1, 2]
    """
    x = as_array("flatnonzero", a)
    return nonzero(lax.reshape(x, (x.size,)), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The positions of the elements that aren't zero, one row each.

    Args:
      a: array.
      size: how many positions to return; needed where the array is traced, because the result's shape can't depend on
        its values. Positions beyond it are left out; missing ones are fill_value.
      fill_value: an integer, or one for each dimension; 0 by default.

    Returns:
      An integer array [number of elements that aren't zero, number of dimensions].

    Raises:
      ConcretizationTypeError: a is traced and size isn't given.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.argwhere(xnp.array([[0, 1], [2, 0]])).tolist()
      [[0, 1], [1, 0]]
    """
    x = as_array("argwhere", a)
    if not x.ndim:
        if size is None:
            size = bool(concrete(x, "The size argument of argwhere must be given where the array is traced."))
        size = statics.natural(size, "size")
        return lax.full((size, 0), 0, dtypes.int64)
    return lax.stack(nonzero(x, size=size, fill_value=fill_value), axis=1)


# -- flat positions and coordinates ------------------------------------------------------------------------------


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """The coordinates of flat positions in an array of `shape`.

    Args:
      indices: integer array. Negative positions count from the end; those out of bounds give the nearest corner.
      shape: sizes of the dimensions.

    Returns:
      One array for each dimension, of the shape of indices.

    Raises:
      TypeError: the indices aren't integers.

    Example:
      >>> import xtrace.numpy as xnp
      >>> [int(i) for i in xnp.unravel_index(5, (2, 3))]
      [1, 2]
    """
    x = as_array("unravel_index", indices)
    if not dtypes.is_integer(x.dtype):
        raise TypeError(f"unravel_index: indices must be integers, got {x.dtype}")
    return tuple(_unravel(x, canonical_shape(shape)))


@composite(static_argnames=("shape",))
def _unravel(x: Any, shape: tuple[int, ...]) -> list[Any]:
    total = math.prod(shape)
    if not total:
        raise ValueError(f"unravel_index: an array of shape {shape} has no elements")
    limit = int(dtypes.iinfo(x.dtype).max)
    if dtypes.kind(x.dtype) == "i" and total <= limit:
        x = lax.select_n(lax.lt(x, lax.full_like(x, 0)), x, lax.add(x, weak_scalar(total, x)))
        x = lax.clamp(weak_scalar(0, x), x, weak_scalar(total - 1, x))
    elif total - 1 <= limit:
        x = lax.min(x, weak_scalar(total - 1, x))
    return _coordinates(x, shape)


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C", *, dtype: Any = None) -> Any:
    """The flat positions of coordinates in an array of shape `dims`.

    Args:
      multi_index: one integer array for each dimension; they broadcast against each other.
      dims: sizes of the dimensions.
      mode: what happens out of bounds: "raise" (on concrete values only), "wrap" around, "clip" to the nearest, or
        "ignore".
      order: "C" for row-major, "F" for column-major positions.
      dtype: integer dtype of the result; by default that of the indices.

    Returns:
      The array of positions.

    Raises:
      ValueError: a coordinate is out of bounds in mode "raise", or an argument isn't one of those above.

    Example:
      >>> import xtrace.numpy as xnp
      >>> int(xnp.ravel_multi_index((1, 2), (2, 3)))
      5
    """
    dims = canonical_shape(dims)
    given = [
        as_array("ravel_multi_index", i) for i in statics.parts(multi_index, "multi_index", "a sequence of arrays")
    ]
    if len(given) != len(dims):
        raise ValueError(f"ravel_multi_index: got {len(given)} index arrays for {len(dims)} dimensions {dims}")
    for x in given:
        if not dtypes.is_integer(x.dtype):
            raise ValueError(f"ravel_multi_index: dtype={x.dtype} is not an integer type")
    if mode not in ("raise", "wrap", "clip", "ignore"):
        raise ValueError(f"invalid mode={mode!r}. Expected 'raise', 'wrap', 'clip', or 'ignore'.")
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    if mode == "raise":
        hint = "ravel_multi_index can't check traced values: give mode='wrap' or mode='clip'."
        for x, d in zip(given, dims):
            values = concrete(x, hint)
            if values.size and (values.min() < 0 or values.max() >= d):
                raise ValueError(f"invalid entry in coordinates array: {values} for a dimension of size {d}")
    if dtype is None:
        result, _ = dtypes.promote(tuple([dtypes.of_value(x) for x in given]))
    else:
        result = dtypes.canonical_dtype(dtype)
    return _ravel(*given, dims=dims, mode=mode, order=order, dtype=result)


@composite(static_argnames=("dims", "mode", "order", "dtype"))
def _ravel(*given: Any, dims: tuple[int, ...], mode: str, order: str, dtype: Any) -> Any:
    shape = lax.broadcast_shapes(*[x.shape for x in given])
    strides = [math.prod(dims[i + 1 :] if order == "C" else dims[:i]) for i in range(len(dims))]
    total = lax.full(shape, dtype.type(0))
    for x, d, stride in zip(given, dims, strides):
        x = lax.convert_element_type(x, dtype)
        size = dtype.type(d)
        if mode == "clip":
            x = lax.clamp(dtype.type(0), x, dtype.type(d - 1))
        elif mode == "wrap":
            rest = lax.rem(x, lax.full_like(x, size))
            x = lax.select_n(lax.lt(rest, lax.full_like(rest, 0)), rest, lax.add(rest, lax.full_like(rest, size)))
        x = lax.broadcast_in_dim(x, shape, range(len(shape) - x.ndim, len(shape)))
        total = lax.add(total, lax.mul(x, lax.full_like(x, dtype.type(stride))))
    return total


def ix_(*args: Any) -> tuple[Any, ...]:
    """Open mesh of 1-dimensional index arrays: `x[ix_(rows, columns)]` picks rows and columns.

    Args:
      *args: integer arrays of one dimension; booleans (not traced) stand for the positions where they are true.

    Returns:
      The arrays, the i-th of them along dimension i, with size 1 in the others.

    Raises:
      ValueError: an array hasn't one dimension.

    Example:
      >>> import xtrace.numpy as xnp
      >>> [i.shape for i in xnp.ix_(xnp.arange(2), xnp.arange(3))]
      [(2, 1), (1, 3)]
    """
    out = []
    for position, arg in enumerate(args):
        x = as_array("ix_", arg)
        if x.ndim != 1:
            raise ValueError(
                f"Arguments to numpy.ix_ must be 1-dimensional, got shape {x.shape} at position {position}"
            )
        if x.dtype == dtypes.bool_:
            (x,) = nonzero(x)
        elif not x.size:
            x = lax.convert_element_type(x, dtypes.int64)
        others = [d for d in range(len(args)) if d != position]
        out.append(lax.expand_dims(x, others) if others else x)
    return tuple(out)


# -- diagonals and triangles -------------------------------------------------------------------------------------


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """Index arrays of the main diagonal of an array of `ndim` dimensions of size `n`.

    Args:
      n: size of the dimensions.
      ndim: how many dimensions.

    Returns:
      A tuple of `ndim` integer vectors of n elements.

    Raises:
      ValueError: a number is negative.

    Example:
      >>> import xtrace.numpy as xnp
      >>> [i.tolist() for i in xnp.diag_indices(3)]
      [[0, 1, 2], [0, 1, 2]]
    """
    n, ndim = statics.integer(n, "n"), statics.integer(ndim, "ndim")
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: n and ndim must not be negative, got {n} and {ndim}")
    return (lax.iota(dtypes.canonicalize(dtypes.int64), n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """`diag_indices` for an array: all its dimensions must have one size.

    Args:
      arr: array of two or more dimensions, all of one size.

    Returns:
      A tuple of an integer vector for each dimension.

    Raises:
      ValueError: `arr` has fewer dimensions, or they differ in size.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> [i.tolist() for i in xt.numpy.diag_indices_from(np.zeros((2, 2)))]
      [[0, 1], [0, 1]]
    """
    shape = as_array("diag_indices_from", arr).shape
    if len(shape) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(shape)) > 1:
        raise ValueError(f"All dimensions of input must be of equal length, got shape {shape}")
    return diag_indices(shape[0], len(shape))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Index arrays of the lower triangle of an (n, m) array.

    Args:
      n: number of rows.
      k: diagonal up to which the triangle reaches: 0 the main one, negative below it, positive above.
      m: number of columns; n by default.

    Returns:
      Row and column indices.

    Example:
      >>> import xtrace.numpy as xnp
      >>> [i.tolist() for i in xnp.tril_indices(2)]
      [[0, 1, 1], [0, 0, 1]]
    """
    columns = None if m is None else statics.integer(m, "m")
    rows, columns = np.tril_indices(statics.integer(n, "n"), statics.integer(k, "k"), columns)
    return integers(rows), integers(columns)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Index arrays of the upper triangle of an (n, m) array: `tril_indices` from diagonal k upwards.

    Args:
      n: number of rows.
      k: diagonal from which the triangle reaches upwards: 0 the main one, negative below it, positive above.
      m: number of columns; n by default.

    Returns:
      Row and column indices.

    Example:
      >>> import xtrace.numpy as xnp
      >>> [i.tolist() for i in xnp.triu_indices(2)]
      [[0, 0, 1], [0, 1, 1]]
    """
    columns = None if m is None else statics.integer(m, "m")
    rows, columns = np.triu_indices(statics.integer(n, "n"), statics.integer(k, "k"), columns)
    return integers(rows), integers(columns)


def _matrix_shape(name: str, arr: Any) -> tuple[int, int]:
    shape = as_array(name, arr).shape
    if len(shape) != 2:
        raise ValueError(f"{name}: the array must be 2-d, got shape {shape}")
    return shape  # type: ignore[return-value]


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """`tril_indices` for a matrix.

    Args:
      arr: matrix.
      k: the diagonal where the triangle ends: 0 the main one, negative below it, positive above.

    Returns:
      Row and column indices.

    Raises:
      ValueError: `arr` doesn't have two dimensions.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> [i.tolist() for i in xt.numpy.tril_indices_from(np.zeros((2, 2)))]
      [[0, 1, 1], [0, 0, 1]]
    """
    n, m = _matrix_shape("tril_indices_from", arr)
    return tril_indices(n, k, m)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """`triu_indices` for a matrix.

    Args:
      arr: matrix.
      k: the diagonal where the triangle ends: 0 the main one, negative below it, positive above.

    Returns:
      Row and column indices.

    Raises:
      ValueError: `arr` doesn't have two dimensions.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> [i.tolist() for i in xt.numpy.triu_indices_from(np.zeros((2, 2)))]
      [[0, 0, 1], [0, 1, 1]]
    """
    n, m = _matrix_shape("triu_indices_from", arr)
    return triu_indices(n, k, m)


def mask_indices(n: int, mask_func: Callable[..., Any], k: int = 0, *, size: int | None = None) -> tuple[Any, Any]:
    """Index arrays of the elements of an (n, n) array that `mask_func(array, k)` keeps.

    Args:
      n: number of rows and columns.
      mask_func: a function such as triu.
      k: its second argument.
      size: how many positions to return; see `nonzero`.

    Returns:
      Row and column indices.

    Example:
      >>> import xtrace.numpy as xnp
      >>> [i.tolist() for i in xnp.mask_indices(2, xnp.triu)]
      [[0, 0, 1], [0, 1, 1]]
    """
    n = statics.integer(n, "n")
    statics.check_callable("mask_indices: mask_func", mask_func)
    rows, columns = nonzero(mask_func(lax.full((n, n), 1, dtypes.int64), k), size=size)
    return rows, columns


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of the matrices that two axes of an array form.

    Args:
      a: array of two or more dimensions.
      offset: which diagonal: 0 the main one, positive above it, negative below.
      axis1, axis2: the axes of rows and of columns.

    Returns:
      The array without the two axes, and the diagonal along a new last one.

    Raises:
      ValueError: a has fewer dimensions, or the axes aren't two of its.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.diagonal(xnp.arange(6).reshape(2, 3), 1).tolist()
      [1, 5]
    """
    from xtrace.numpy.arguments import canonical_axis

    x = as_array("diagonal", a)
    if x.ndim < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    one, two = canonical_axis(axis1, x.ndim), canonical_axis(axis2, x.ndim)
    if one == two:
        raise ValueError(f"diagonal: axis1 and axis2 must differ, both are axis {one}")
    return _diagonal(x, statics.integer(offset, "offset"), one, two)


@functools.lru_cache(1024)
def _diagonal_numbers(shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> tuple[Any, ...]:
    """How long a diagonal is, the shape of the other dimensions, where it starts, and gather's numbers and sizes."""
    rows, columns = shape[axis1], shape[axis2]
    n = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    rest = tuple([s for d, s in enumerate(shape) if d not in (axis1, axis2)])
    numbers = lax.GatherDimensionNumbers(tuple(range(len(rest))), tuple(sorted((axis1, axis2))), (axis1, axis2))
    sizes = tuple([1 if d in (axis1, axis2) else s for d, s in enumerate(shape)])
    return n, rest, (max(-offset, 0), max(offset, 0)), numbers, sizes


@composite(static_argnames=("offset", "axis1", "axis2"))
def _diagonal(x: Any, offset: int, axis1: int, axis2: int) -> Any:
    n, rest, starts, numbers, sizes = _diagonal_numbers(x.shape, offset, axis1, axis2)
    if not n or 0 in rest:
        return lax.full((*rest, n), np.zeros((), x.dtype)[()])
    i = lax.iota(np.dtype("int32"), n)
    vectors = lax.stack([lax.add(i, np.int32(start)) if start else i for start in starts], axis=1)
    return gather_p.bind(
        x,
        vectors,
        dimension_numbers=numbers,
        slice_sizes=sizes,
        unique_indices=True,
        indices_are_sorted=True,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )


def diag(v: Any, k: int = 0) -> Any:
    """The matrix with `v` on its k-th diagonal, or the k-th diagonal of a matrix `v`.

    Args:
      v: array of one or two dimensions.
      k: which diagonal: 0 the main one, positive above it, negative below.

    Returns:
      A matrix, or a vector.

    Raises:
      ValueError: v has another number of dimensions.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.diag(xnp.array([1, 2])).tolist()
      [[1, 0], [0, 2]]
    """
    x = as_array("diag", v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError(f"diag input must be 1d or 2d, got shape {x.shape}")
    return _diag(x, statics.integer(k, "k"))


@composite(static_argnames=("k",))
def _diag(x: Any, k: int) -> Any:
    n = x.shape[0] + abs(k)
    zero = np.zeros((), x.dtype)[()]
    row = lax.pad(x, zero, [(max(k, 0), max(-k, 0), 0)])  # element j stands in column j
    dtype = np.dtype("int32")
    i, j = lax.broadcasted_iota(dtype, (n, n), 0), lax.broadcasted_iota(dtype, (n, n), 1)
    on = lax.eq(lax.add(i, lax.full_like(i, dtype.type(k))) if k else i, j)
    return lax.select(on, lax.broadcast_in_dim(row, (n, n), (1,)), lax.full((n, n), zero))


def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix with the elements of `v`, flattened, on its k-th diagonal.

    Args:
      v: array of any shape and dtype.
      k: which diagonal: 0 the main one, positive above it, negative below.

    Returns:
      A square matrix.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.diagflat(xnp.array([[1], [2]]), 1).tolist()
      [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    x = as_array("diagflat", v)
    return diag(lax.reshape(x, (x.size,)), k)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """An array with its main diagonal replaced.

    Args:
      a: array of two or more dimensions; more than two must have one size.
      val: the values, flattened and repeated as needed.
      wrap: continue the diagonal from the top in matrices with more rows than columns.
      inplace: must be False: arrays never change.

    Returns:
      The updated array.

    Raises:
      NotImplementedError: inplace isn't False.
      ValueError: a has too few dimensions, or several sizes.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.fill_diagonal(xnp.zeros((2, 2)), 5, inplace=False).tolist()
      [[5.0, 0.0], [0.0, 5.0]]
    """
    if inplace:
        raise NotImplementedError(
            "JAX arrays are immutable, must use inplace=False: x = numpy.fill_diagonal(x, val, inplace=False)"
        )
    x, values = as_array("fill_diagonal", a), as_array("fill_diagonal", val)
    if x.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if x.ndim > 2 and len(set(x.shape)) > 1:
        raise ValueError(f"All dimensions of input must be of equal length, got shape {x.shape}")
    if x.ndim == 2:
        columns = x.shape[1]
        end = x.size if wrap else min(x.size, columns * columns)
        places = np.unravel_index(np.arange(0, end, columns + 1), x.shape) if x.size else ()
    else:
        places = (np.arange(x.shape[0]),) * x.ndim
    if not x.size or not len(places[0]):
        return x
    places = tuple([i.astype(np.int32) for i in places])
    if values.ndim:
        if not values.size:
            raise ValueError("fill_diagonal: val has no elements")
        n = len(places[0])
        values = lax.reshape(values, (values.size,))
        repeats = -(-n // values.size)
        values = lax.slice(lax.tile(values, (repeats,)) if repeats > 1 else values, (0,), (n,))
    return x.at[places].set(values, unique_indices=True)


__all__ = [
    "argwhere", "concrete", "diag", "diag_indices", "diag_indices_from", "diagflat", "diagonal",
    "fill_diagonal", "flatnonzero", "integers", "is_nonzero", "ix_", "mask_indices", "nonzero", "ravel_multi_index",
    "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index",
]  # fmt: skip
