"""Evenly spaced numbers, grids, and matrices of them: arange, linspace, eye, tri, meshgrid, window functions, …"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import composite, dtypes, errors, statics
from xtrace.core.primitive import check_int_range, shaped
from xtrace.core.trace import Tracer
from xtrace.lax import shapes
from xtrace.numpy import elementwise as ew
from xtrace.numpy.creation import array, asarray, generated, place, staged
from xtrace.numpy.dtypes import canonical
from xtrace.numpy.filling import sizes
from xtrace.numpy.promotion import check_arraylike, promote
from xtrace.numpy.scalars import widen

#: Ranges up to this many elements are counted on the host: a copy instead of a program to compile.
_HOST_ELEMENTS = 1 << 20


def _concrete(x: Any, what: str) -> Any:
    """A number that must be known while tracing."""
    if isinstance(x, Tracer):
        value = x.to_concrete_value()
        if value is None:
            raise errors.ConcretizationTypeError(x, f"It arose in the {what}.")
        x = value
    if getattr(x, "shape", ()) != ():
        raise ValueError(f"{what} must be a scalar, got an array of shape {x.shape}")
    return x.item() if hasattr(x, "item") else x


# ---------------------------------------------------------------------------------------------------------------
# arange


def arange(
    start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Make an array of numbers a fixed step apart.

    Args:
      start, stop, step: from `start` (0 if only `stop` is given) up to but not including `stop`. They must be known
        while tracing.
      dtype: dtype; by default that of the arguments.
      device, out_sharding: a Device or Sharding to place the array on.

    Returns:
      An array of shape (n,), n = ceil((stop - start) / step).

    Raises:
      ConcretizationTypeError: an argument is traced.
      TypeError: an argument is no real number.
      ZeroDivisionError: `step` is 0.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.arange(5), xnp.arange(1, 2, 0.25)
      (Array([0, 1, 2, 3, 4], dtype=int32), Array([1.  , 1.25, 1.5 , 1.75], dtype=float32))
    """
    given = [x for x in (start, stop, step) if x is not None]
    if start is None:
        raise TypeError("arange: `start` must be a number, got None")
    check_arraylike("arange", *given)
    if dtype is None:
        new = dtypes.result_type(*given)
        if dtypes.is_complex(new):
            raise ValueError("arange counts in real numbers; multiply the result by a complex step instead")
    else:
        new = canonical(dtype, "arange")
    if dtypes.is_bool(new):
        raise TypeError("arange does not accept dtype bool: it counts in integers or floats")
    start = _concrete(start, "argument `start` of arange" if stop is not None else "argument `stop` of arange")
    stop = None if stop is None else _concrete(stop, "argument `stop` of arange")
    step = None if step is None else _concrete(step, "argument `step` of arange")
    only_stop = stop is None and step is None
    if stop is None:
        start, stop = 0, start
    size = max(0, math.ceil((stop - start) / (1 if step is None else step)))
    if isinstance(start, int) and isinstance(stop, int) and (step is None or isinstance(step, int)):
        size = len(range(start, stop, 1 if step is None else step))
    out = _arange(size, None if only_stop else start, step, new)
    return out if device is None and out_sharding is None else place(out, device, out_sharding)


def _arange(size: int, start: Any, step: Any, dtype: Any) -> Any:
    """start + step * (0 … size - 1), in `dtype` throughout; None stands for no such term."""

    def scalar(x: Any) -> Any:
        return np.asarray(x).astype(dtype)[()]

    if staged() or size > _HOST_ELEMENTS:
        out = lax.iota(dtype, size)
        if step is not None:
            out = lax.mul(scalar(step), out)
        return out if start is None else lax.add(scalar(start), out)
    host = np.arange(size).astype(dtype)
    with np.errstate(all="ignore"):
        if step is not None:
            host = scalar(step) * host
        if start is not None:
            host = scalar(start) + host
    return generated(host)


# ---------------------------------------------------------------------------------------------------------------
# linspace and its like


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Make an array of evenly spaced numbers between two limits.

    Args:
      start, stop: limits, arrays that broadcast against each other.
      num: how many numbers.
      endpoint: whether `stop` is the last of them.
      retstep: return (numbers, distance between them).
      dtype: dtype; by default that of the limits, made inexact. Integers are rounded down.
      axis: axis of the result along which the numbers lie.
      device: a Device or Sharding to place the array on.

    Returns:
      An array of the limits' shape with `num` inserted at `axis`.

    Raises:
      ValueError: `num` is negative.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.linspace(0, 1, 5)
      Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    num = statics.integer(_concrete(num, "argument `num` of linspace"), "num")
    if num < 0:
        raise ValueError(f"linspace: the number of samples can't be negative, got num={num}")
    check_arraylike("linspace", start, stop)
    if dtype is None:
        new = dtypes.to_inexact(dtypes.result_type(start, stop))
    else:
        new = canonical(dtype, "linspace")
    out, distance = _linspace(start, stop, num, bool(endpoint), dtypes.canonicalize(new), statics.integer(axis, "axis"))
    out = place(out, device)
    return (out, distance) if retstep else out


@composite.composite(static_argnames=("num", "endpoint", "dtype", "axis"))
def _linspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    work = dtypes.canonicalize(dtypes.to_inexact(dtype))
    real = dtypes.to_real(work)
    start, stop = [shapes.convert(x, work, False) for x in promote("linspace", (start, stop))]
    common = lax.broadcast_shapes(shaped(start).shape, shaped(stop).shape)
    start, stop = [_widened(x, common) for x in (start, stop)]

    def scalar(x: Any, dtype: Any = work) -> Any:
        return np.asarray(x).astype(dtype)[()]

    div = num - 1 if endpoint else num
    column = (-1,) + (1,) * len(common)
    if num > 1:
        distance = lax.div(lax.sub(stop, start), scalar(div))
        places = lax.iota(real, div)
        part = lax.convert_element_type(lax.div(places, scalar(div, real)), work)
        part = _reshaped(part, (div, *column[1:]))
        row = _reshaped(lax.convert_element_type(places, work), (div, *column[1:]))
        first = lax.mul(_reshaped(start, (1, *common)), lax.sub(scalar(1), part))
        out = lax.add(first, lax.mul(lax.div(_reshaped(stop, (1, *common)), scalar(div)), row))
        if endpoint:
            out = lax.concatenate(
                [out, shapes.expand_dims(stop, (0,)) if shaped(stop).shape or not common else stop], 0
            )
    elif num == 1:
        distance = lax.full(common, np.nan, work) if endpoint else lax.sub(stop, start)
        out = _reshaped(start, (1, *common))
    else:
        distance = lax.full(common, np.nan, work)
        out = lax.full((0, *common), 0, work)
    if dtypes.is_integer(dtype) and not dtypes.is_integer(work):
        out = lax.floor(out)
    if axis not in (0, -out.ndim):
        from xtrace.numpy import manipulation

        out = manipulation.moveaxis(out, 0, axis)
    return shapes.convert(out, dtype, False), distance


def _widened(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` as an array of `shape`; numbers stay numbers where the shape is ()."""
    old = shaped(x).shape
    return x if old == shape else shapes.broadcast_in_dim(x, shape, range(len(shape) - len(old), len(shape)))


def _reshaped(x: Any, shape: tuple[int, ...]) -> Any:
    return shapes.broadcast_in_dim(x, shape, ()) if not shaped(x).shape else lax.reshape(x, shape)


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """Make an array of numbers evenly spaced on a logarithmic scale: base ** linspace(start, stop, num).

    Args:
      start, stop: exponents of the limits, arrays that broadcast against each other.
      num: how many numbers.
      endpoint: whether base ** stop is the last of them.
      base: base of the powers.
      dtype: dtype; by default that of the limits, made inexact.
      axis: axis of the result along which the numbers lie.

    Returns:
      An array of the limits' shape with `num` inserted at `axis`.

    Raises:
      ValueError: `num` is negative.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.logspace(0, 2, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    check_arraylike("logspace", start, stop, base)
    new = dtypes.to_inexact(dtypes.result_type(start, stop)) if dtype is None else canonical(dtype, "logspace")
    return _logspace(
        start,
        stop,
        base,
        statics.integer(num, "num"),
        bool(endpoint),
        dtypes.canonicalize(new),
        statics.integer(axis, "axis"),
    )


@composite.composite(static_argnames=("num", "endpoint", "dtype", "axis"))
def _logspace(start: Any, stop: Any, base: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    work = dtypes.canonicalize(dtypes.to_inexact(dtype))
    exponents = linspace(
        shapes.convert(start, work, False), shapes.convert(stop, work, False), num, endpoint, axis=axis
    )
    base = shapes.convert(base, work, False)
    return shapes.convert(lax.pow(*promote("logspace", (base, exponents))), dtype, False)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """Make an array of numbers in geometric progression between two limits.

    Args:
      start, stop: limits, of the same sign, or complex; arrays that broadcast against each other.
      num: how many numbers.
      endpoint: whether `stop` is the last of them.
      dtype: dtype; by default that of the limits, made inexact.
      axis: axis of the result along which the numbers lie.

    Returns:
      An array of the limits' shape with `num` inserted at `axis`.

    Raises:
      ValueError: `num` is negative.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.geomspace(1, 100, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    check_arraylike("geomspace", start, stop)
    new = dtypes.to_inexact(dtypes.result_type(start, stop)) if dtype is None else canonical(dtype, "geomspace")
    return _geomspace(
        start,
        stop,
        statics.integer(num, "num"),
        bool(endpoint),
        dtypes.canonicalize(new),
        statics.integer(axis, "axis"),
    )


@composite.composite(static_argnames=("num", "endpoint", "dtype", "axis"))
def _geomspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    from xtrace.numpy import manipulation
    from xtrace.numpy.elementwise_math import log10

    work = dtypes.canonicalize(dtypes.to_inexact(dtype))
    start, stop = promote("geomspace", (shapes.convert(start, work, False), shapes.convert(stop, work, False)))
    sign = lax.sign(start)
    out = logspace(log10(lax.div(start, sign)), log10(ew.true_divide(stop, sign)), num, endpoint, 10.0, work)
    out = shapes.convert(ew.multiply(sign, out), dtype, False)
    return out if axis == 0 else manipulation.moveaxis(out, 0, axis)


# ---------------------------------------------------------------------------------------------------------------
# Matrices


def eye(N: int, M: int | None = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """Make a matrix with ones on a diagonal and zeros elsewhere.

    Args:
      N, M: rows and columns; by default M = N.
      k: which diagonal: 0 the main one, positive above it, negative below it. May be traced.
      dtype: dtype; by default the default float type.
      device: a Device or Sharding to place the array on.

    Returns:
      An array of shape (N, M).

    Raises:
      TypeError: a size is no concrete non-negative integer, or `k` no integer.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.eye(2, 3, k=1)
      Array([[0., 1., 0.],
             [0., 0., 1.]], dtype=float32)
    """
    shape = sizes((N, N if M is None else M), "eye")
    new = canonical(float if dtype is None else dtype, "eye")
    if isinstance(k, int) and not staged() and shape[0] * shape[1] <= 1 << 14:
        return place(generated(np.eye(*shape, k=k, dtype=new)), device)
    return place(_eye(_integer(k, "eye"), shape, new), device)


def _integer(k: Any, name: str) -> Any:
    dtype = shaped(k).dtype
    if not dtypes.is_integer(dtype):
        raise TypeError(f"{name}: `k`, the number of a diagonal, must be an integer, got {k!r}")
    return shapes.convert(k, np.dtype(np.int32), False)


@composite.composite(static_argnames=("shape", "dtype"))
def _eye(k: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    rows, columns = [lax.broadcasted_iota(np.int32, shape, d) for d in (0, 1)]
    return shapes.convert(lax.eq(lax.add(rows, k), columns), dtype, False)


def identity(n: int, dtype: Any = None) -> Any:
    """Make a square matrix with ones on the main diagonal and zeros elsewhere.

    Args:
      n: rows and columns.
      dtype: dtype; by default the default float type.

    Returns:
      An array of shape (n, n).

    Raises:
      TypeError: `n` is no concrete non-negative integer.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.identity(2, dtype=int)
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Make a matrix with ones on and below a diagonal and zeros above it.

    Args:
      N, M: rows and columns; by default M = N.
      k: the last diagonal with ones.
      dtype: dtype; by default the default float type.

    Returns:
      An array of shape (N, M).

    Raises:
      TypeError: a size is no concrete non-negative integer.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.tri(2, 3)
      Array([[1., 0., 0.],
             [1., 1., 0.]], dtype=float32)
    """
    return _tri(sizes((N, N if M is None else M), "tri"), k, canonical(float if dtype is None else dtype, "tri"))


def _tri(shape: tuple[int, ...], k: Any, dtype: Any) -> Any:
    if isinstance(k, int) and not staged() and shape[0] * shape[1] <= 1 << 14:
        check_int_range(k)
        return generated(np.tri(*shape, k=k, dtype=bool).astype(dtype))
    return _tri_program(_integer(k, "tri"), shape, dtype)


@composite.composite(static_argnames=("shape", "dtype"))
def _tri_program(k: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    rows = lax.add(lax.broadcasted_iota(np.int32, shape, 0), k)
    return shapes.convert(lax.ge(rows, lax.broadcasted_iota(np.int32, shape, 1)), dtype, False)


def tril(m: Any, k: int = 0) -> Any:
    """Return the lower triangles of matrices; what lies above diagonal `k` is set to zero.

    Args:
      m: array of shape (..., rows, columns).
      k: the last diagonal that is kept.

    Returns:
      An array like `m`.

    Raises:
      ValueError: `m` has fewer than two dimensions.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.tril(xnp.ones((2, 2)))
      Array([[1., 0.],
             [1., 1.]], dtype=float32)
    """
    check_arraylike("tril", m)
    return _tril(_matrix("tril", m), _integer(k, "tril"))


def triu(m: Any, k: int = 0) -> Any:
    """Return the upper triangles of matrices; what lies below diagonal `k` is set to zero.

    Args:
      m: array of shape (..., rows, columns).
      k: the first diagonal that is kept.

    Returns:
      An array like `m`.

    Raises:
      ValueError: `m` has fewer than two dimensions.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.triu(xnp.ones((2, 2)))
      Array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    check_arraylike("triu", m)
    last = lax.sub(_integer(k, "triu"), np.int32(1)) if isinstance(k, Tracer) else np.int32(statics.integer(k, "k") - 1)
    return _triu(_matrix("triu", m), last)


def _matrix(name: str, m: Any) -> Any:
    if shaped(m).ndim < 2:
        raise ValueError(f"{name} takes matrices, arrays of at least two dimensions; got shape {shaped(m).shape}")
    return m


@composite.composite
def _tril(m: Any, k: Any) -> Any:
    mask, zero = _triangle(m, k)
    return lax.select_n(mask, zero, m)


@composite.composite
def _triu(m: Any, k: Any) -> Any:
    mask, zero = _triangle(m, k)
    return lax.select_n(mask, m, zero)


def _triangle(m: Any, k: Any) -> tuple[Any, Any]:
    """Where the lower triangles of `m` are, and zeros like `m`."""
    aval = shaped(m)
    mask = _tri_program(k, aval.shape[-2:], np.dtype(bool))
    mask = shapes.broadcast_in_dim(mask, aval.shape, (aval.ndim - 2, aval.ndim - 1))
    return mask, lax.full_like(m, 0)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Make a Vandermonde matrix: the powers of each element, one row an element.

    Args:
      x: array of shape (n,).
      N: number of columns; by default n.
      increasing: powers grow from left to right.

    Returns:
      An array of shape (n, N).

    Raises:
      ValueError: `x` is not one-dimensional, or `N` negative.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.vander(xnp.array([1, 2, 3]))
      Array([[1, 1, 1],
             [4, 2, 1],
             [9, 3, 1]], dtype=int32)
    """
    check_arraylike("vander", x)
    aval = shaped(x)
    if aval.ndim != 1:
        raise ValueError(f"vander takes an array of one dimension, got shape {aval.shape}")
    columns = aval.shape[0] if N is None else statics.integer(_concrete(N, "argument `N` of vander"), "N")
    if columns < 0:
        raise ValueError(f"vander: the number of columns can't be negative, got N={columns}")
    return _vander(asarray(x), columns, bool(increasing))


@composite.composite(static_argnames=("columns", "increasing"))
def _vander(x: Any, columns: int, increasing: bool) -> Any:
    from xtrace.numpy.elementwise_math import power

    aval = shaped(x)
    # Integer exponents: the derivative at 0 of a power by a floating one would be 0 times infinity.
    powers = lax.iota(aval.dtype if dtypes.is_integer(aval.dtype) else np.int32, columns)
    if not increasing:
        powers = lax.sub(np.asarray(columns - 1).astype(powers.dtype)[()], powers)
    base, powers = (
        widen(shapes.expand_dims(v, (axis,)), size, (*aval.shape, columns))
        for v, axis, size in ((x, 1, (*aval.shape, 1)), (powers, 0, (1, columns)))
    )
    # A float and an integer: no promotion, which could be forbidden.
    return lax.pow(base, powers) if dtypes.is_inexact(aval.dtype) else power(base, powers)


# ---------------------------------------------------------------------------------------------------------------
# Grids


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    """Make coordinate arrays of a grid from the coordinates along each of its axes.

    Args:
      xi: arrays of one dimension.
      copy: must be True: arrays never share memory.
      sparse: leave dimensions of size 1 where an array doesn't vary.
      indexing: "xy": the first two axes of the results change places; "ij": results have the axes in order.

    Returns:
      A tuple of as many arrays as there are arguments, each with as many dimensions.

    Raises:
      ValueError: an array has more than one dimension, or the options are none of these.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.meshgrid(xnp.arange(2), xnp.arange(3), sparse=True)
      (Array([[0, 1]], dtype=int32), Array([[0],
             [1],
             [2]], dtype=int32))
    """
    check_arraylike("meshgrid", *xi)
    if not copy:
        raise ValueError("meshgrid: arrays never share memory, so copy=False can't be had")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: Valid values for indexing are 'xy' and 'ij', got {indexing!r}")
    found = [shaped(x).shape for x in xi]
    if any([len(s) > 1 for s in found]):
        raise ValueError(f"meshgrid takes arrays of one dimension, got shapes {', '.join(map(str, found))}")
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[0], places[1] = 1, 0
    lengths = [s[0] if s else 1 for s in found]
    full = [lengths[places[i]] for i in range(len(xi))]
    out = []
    for x, place_, length in zip(xi, places, lengths, strict=True):
        x = asarray(x)
        if not x.aval.shape:
            x = shapes.expand_dims(x, (0,))
        shape = [1] * len(xi) if sparse else list(full)
        shape[place_] = length
        out.append(shapes.broadcast_in_dim(x, tuple(shape), (place_,)))
    return tuple(out)


def indices(dimensions: Any, dtype: Any = None, sparse: bool = False) -> Any:
    """Make arrays of the positions in a grid along each of its axes.

    Args:
      dimensions: shape of the grid, (n1, …, nk).
      dtype: dtype; by default the default integer type.
      sparse: return a tuple of k arrays, with dimensions of size 1 where an array doesn't vary.

    Returns:
      An array of shape (k, n1, …, nk), or a tuple of arrays.

    Raises:
      TypeError: a size is no concrete non-negative integer.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.indices((2, 2))
      Array([[[0, 0],
              [1, 1]],
      <BLANKLINE>
             [[0, 1],
              [0, 1]]], dtype=int32)
    """
    shape = sizes(dimensions, "indices")
    new = canonical(int if dtype is None else dtype, "indices")
    rank = len(shape)
    out = []
    for i, size in enumerate(shape):
        full = tuple([size if d == i else 1 for d in range(rank)]) if sparse else shape
        out.append(shapes.broadcast_in_dim(arange(size, dtype=new), full, (i,)))
    if sparse:
        return tuple(out)
    return lax.stack(out) if out else array([], dtype=new)


class _Grid:
    """Coordinates of a grid, given as slices in brackets; a complex step is a number of points, both ends included."""

    def __init__(self, name: str, sparse: bool, doc: str) -> None:
        self.name = name
        self.sparse = sparse
        self.__doc__ = doc

    def __getitem__(self, key: Any) -> Any:
        single = isinstance(key, slice)
        axes = [self._axis(s) for s in ((key,) if single else key)]
        if single:
            return axes[0]
        dtype = dtypes.result_type(*axes)
        grid = meshgrid(*[shapes.convert(a, dtype, False) for a in axes], indexing="ij", sparse=self.sparse)
        if self.sparse:
            return list(grid)
        return lax.stack(grid) if grid else array([], dtype=int)

    def _axis(self, s: Any) -> Any:
        if not isinstance(s, slice):
            raise TypeError(f"{self.name} takes slices in brackets, such as {self.name}[0:3, 0:1:5j]; got {s!r}")
        start = 0 if s.start is None else s.start
        step = 1 if s.step is None else s.step
        if s.stop is None:
            raise ValueError(f"{self.name}: a slice must have an end, got {s}")
        if isinstance(step, complex) or np.iscomplexobj(step):
            return linspace(start, s.stop, int(abs(_concrete(step, f"step of {self.name}"))))
        return arange(start, s.stop, step)

    def __repr__(self) -> str:
        return f"xtrace.numpy.{self.name}"


mgrid = _Grid("mgrid", False, "Coordinates of a grid: mgrid[0:2, 0:1:3j] is an array of shape (2, 2, 3).")
ogrid = _Grid("ogrid", True, "Coordinates of a grid, sparse: ogrid[0:2, 0:3] is arrays of shape (2, 1) and (1, 3).")


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """Make an array by calling a function with the position of each element.

    Args:
      function: called once, vectorized, with len(shape) scalars and `kwargs`; returns arrays.
      shape: shape of the grid.
      dtype: dtype of the positions.

    Returns:
      An array (or pytree) with `shape` in front of the shape of the function's result.

    Raises:
      TypeError: a size is no concrete non-negative integer.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
      Array([[ 0,  1,  2],
             [10, 11, 12]], dtype=int32)
    """
    from xtrace.api.batching import vmap

    statics.check_callable("fromfunction: function", function)
    shape = sizes(shape, "fromfunction")

    def call(*positions: Any) -> Any:
        return function(*positions, **kwargs)

    for i in range(len(shape)):
        axes = [None] * len(shape)
        axes[len(shape) - 1 - i] = 0  # type: ignore[call-overload]
        call = vmap(call, in_axes=tuple(axes))
    return call(*[arange(size, dtype=dtype) for size in shape])


# ---------------------------------------------------------------------------------------------------------------
# Windows


def _window(name: str, formula: Any, doc: str) -> Any:
    program = composite.composite(formula, static_argnames=("M",))

    def window(M: int) -> Any:
        M = int(statics.number(_concrete(M, f"argument `M` of {name}"), "M"))
        dtype = dtypes.canonicalize(dtypes.float64)
        if M <= 1:
            from xtrace.numpy.filling import ones

            return ones((M,), dtype)
        return program(M)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"""{doc}

    Args:
      M: number of points.

    Returns:
      An array of shape (M,), of the default float type; symmetric, with its maximum 1 in the middle.

    Raises:
      TypeError: `M` is negative.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.{name}(3).shape
      (3,)
    """
    return window


def _points(M: int) -> Any:
    return arange(M, dtype=float)


def _bartlett(M: int) -> Any:
    return 1 - abs(2 * _points(M) + 1 - M) / (M - 1)


def _hanning(M: int) -> Any:
    return 0.5 * (1 - ew.cos(2 * np.pi * _points(M) / (M - 1)))


def _hamming(M: int) -> Any:
    return 0.54 - 0.46 * ew.cos(2 * np.pi * _points(M) / (M - 1))


def _blackman(M: int) -> Any:
    n = _points(M)
    return 0.42 - 0.5 * ew.cos(2 * np.pi * n / (M - 1)) + 0.08 * ew.cos(4 * np.pi * n / (M - 1))


bartlett = _window("bartlett", _bartlett, "The Bartlett (triangular) window, zero at both ends.")
hanning = _window("hanning", _hanning, "The Hann window: half a cosine wave above zero.")
hamming = _window("hamming", _hamming, "The Hamming window: a raised cosine that doesn't reach zero.")
blackman = _window("blackman", _blackman, "The Blackman window: a sum of three cosines.")


def kaiser(M: int, beta: Any) -> Any:
    """The Kaiser window, a ratio of modified Bessel functions.

    Args:
      M: number of points.
      beta: shape: 0 is a rectangle, larger values are narrower.

    Returns:
      An array of shape (M,), of the default float type.

    Raises:
      TypeError: `M` is negative.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.kaiser(3, 0.0)
      Array([1., 1., 1.], dtype=float32)
    """
    M = int(statics.number(_concrete(M, "argument `M` of kaiser"), "M"))
    if M <= 1:
        from xtrace.numpy.filling import ones

        return ones((M,), dtypes.canonicalize(dtypes.float64))
    return _kaiser(beta, M)


@composite.composite(static_argnames=("M",))
def _kaiser(beta: Any, M: int) -> Any:
    from xtrace.numpy.elementwise_math import i0

    dtype = dtypes.canonicalize(dtypes.float64)
    beta = shapes.convert(beta, dtype, False)
    alpha = 0.5 * (M - 1)
    return i0(beta * ew.sqrt(1 - ew.square((_points(M) - alpha) / alpha))) / i0(beta)


__all__ = [
    "arange", "bartlett", "blackman", "eye", "fromfunction", "geomspace", "hamming", "hanning", "identity", "indices",
    "kaiser", "linspace", "logspace", "meshgrid", "mgrid", "ogrid", "tri", "tril", "triu", "vander",
]  # fmt: skip
