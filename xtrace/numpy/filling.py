"""Arrays filled with one value: zeros, ones, full, and their like."""

from __future__ import annotations

import functools
from operator import index
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import composite, dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.core.trace import Tracer, current
from xtrace.lax import shapes
from xtrace.numpy.creation import constant, place, staged
from xtrace.numpy.dtypes import canonical
from xtrace.numpy.promotion import check_arraylike, is_arraylike
from xtrace.runtime import transfers
from xtrace.runtime.jaxlib_api import ArrayImpl

_put = transfers.put
#: Arrays up to this many bytes are copied from the host rather than filled by a program: 4 µs, nothing to compile.
SMALL = 16_384


def sizes(shape: Any, name: str) -> tuple[int, ...]:
    """A `shape` argument (an int, or a sequence of them) as a tuple.

    Raises:
      TypeError: a size is no concrete integer.
      ValueError: a size is negative.
    """
    if type(shape) is int:
        shape = (shape,)
    elif type(shape) is not tuple or not all([type(d) is int for d in shape]):
        shape = _general_sizes(shape, name)
    if shape and min(shape) < 0:
        raise TypeError(f"{name}: sizes can't be negative, got shape {shape}")
    return shape  # type: ignore[no-any-return]


def _general_sizes(shape: Any, name: str) -> tuple[int, ...]:
    sequence = np.asarray(shape) if type(shape) is ArrayImpl else shape
    if isinstance(shape, (str, Tracer)) or not hasattr(shape, "__iter__") or getattr(shape, "ndim", 1) == 0:
        sequence = (sequence,)
    try:
        return tuple([index(d) for d in sequence])
    except TypeError:
        advice = ""
        if any([isinstance(d, Tracer) for d in sequence]):
            advice = (
                " A traced value can't be a size: pass it as static (static_argnums or static_argnames of jit), or use "
                "x.shape."
            )
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {shape} for {name}.{advice}"
        ) from None


#: (shape, dtype, value) -> a host array or a program that makes the array, and its aval.
_filled: dict[Any, Any] = {}


def _fill(shape: tuple[int, ...], dtype: Any, value: Any) -> Any:
    """A new array with one of the values 0 and 1."""
    if current.trace is not None and staged():
        if isinstance(dtype, dtypes.ExtendedDtype):
            return lax.full(shape, value, dtype)
        scalar = np.asarray(value, dtype)[()]
        if not shape:
            return constant(np.asarray(scalar))
        return shapes.broadcast_in_dim_p.bind(scalar, shape=shape, broadcast_dimensions=(), sharding=None)
    key = (shape, dtype, value)
    found = _filled.get(key)
    if found is None:
        if len(_filled) > 4096:
            _filled.clear()
        found = _filled[key] = _filler(shape, dtype, value)
    host, aval = found
    if aval is None:
        return host()
    return _put(host, aval, None, False)


def _filler(shape: tuple[int, ...], dtype: Any, value: Any) -> Any:
    if isinstance(dtype, dtypes.ExtendedDtype):
        return functools.partial(lax.full, shape, value, dtype), None
    aval = ShapedArray(shape, dtype)
    if aval.size * dtype.itemsize <= SMALL:
        return np.full(shape, value, dtype), aval
    scalar = np.asarray(value, dtype)[()]

    def fill() -> Any:
        return shapes.broadcast_in_dim_p.bind(scalar, shape=shape, broadcast_dimensions=(), sharding=None)

    return composite.compiled(fill), None


def _make(name: str, shape: Any, dtype: Any, value: int, device: Any, out_sharding: Any) -> Any:
    if dtype is not None and dtype == dtypes.float0:  # no device holds arrays of it
        return np.zeros(sizes(shape, name), dtypes.float0)
    out = _fill(sizes(shape, name), canonical(float if dtype is None else dtype, name), value)
    return out if device is None and out_sharding is None else place(out, device, out_sharding)


def zeros(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Make an array of zeros.

    Args:
      shape: int or sequence of ints.
      dtype: dtype; by default the default float type.
      device, out_sharding: a Device or Sharding to place the array on.

    Returns:
      An array of `shape`.

    Raises:
      TypeError: a size is no concrete integer, or negative; or the dtype is none of numbers.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.zeros((2, 2), int)
      Array([[0, 0],
             [0, 0]], dtype=int32)
    """
    return _make("zeros", shape, dtype, 0, device, out_sharding)


def ones(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Make an array of ones.

    Args:
      shape: int or sequence of ints.
      dtype: dtype; by default the default float type.
      device, out_sharding: a Device or Sharding to place the array on.

    Returns:
      An array of `shape`.

    Raises:
      TypeError: as `zeros`.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.ones(3, bool)
      Array([ True,  True,  True], dtype=bool)
    """
    return _make("ones", shape, dtype, 1, device, out_sharding)


def empty(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Make an array whose values don't matter. There is no uninitialised memory: they are zeros.

    Args:
      shape: int or sequence of ints.
      dtype: dtype; by default the default float type.
      device, out_sharding: a Device or Sharding to place the array on.

    Returns:
      An array of `shape`.

    Raises:
      TypeError: as `zeros`.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.empty((2,)).shape
      (2,)
    """
    return _make("empty", shape, dtype, 0, device, out_sharding)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Make an array filled with one value, or with an array that is broadcast to the shape.

    Args:
      shape: int or sequence of ints.
      fill_value: scalar or array.
      dtype: dtype; by default that of the value.
      device, out_sharding: a Device or Sharding to place the array on.

    Returns:
      An array of `shape`; weakly typed if `fill_value` is a Python number and no dtype is given.

    Raises:
      TypeError: as `zeros`; or `fill_value` is a list.
      ValueError: `fill_value` doesn't broadcast to `shape`.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.full((2,), 7, dtype=xnp.int8)
      Array([7, 7], dtype=int8)
    """
    check_arraylike("full", fill_value)
    new = None if dtype is None else canonical(dtype, "full")
    return place(_full(sizes(shape, "full"), fill_value, new, "full"), device, out_sharding)


def _full(shape: tuple[int, ...], value: Any, dtype: Any, name: str) -> Any:
    if dtype is not None and type(value) is int and not isinstance(dtype, dtypes.ExtendedDtype):
        value = np.asarray(value).astype(dtype)[()]  # it needn't fit the dtype that a number has by itself
    aval = shaped(value)
    weak = dtype is None and aval.weak_type
    dtype = aval.dtype if dtype is None else dtype
    if current.trace is None and not aval.shape and type(value) is not ArrayImpl and not hasattr(value, "aval"):
        out = ShapedArray(shape, dtype, weak)
        if out.size * dtype.itemsize <= SMALL and not isinstance(dtype, dtypes.ExtendedDtype):
            return _put(np.full(shape, np.asarray(value).astype(dtype)), out, None, False)
    if len(aval.shape) > len(shape) or any(
        [d not in (1, s) for d, s in zip(aval.shape[::-1], shape[::-1], strict=False)]
    ):
        raise ValueError(f"{name}: fill_value of shape {aval.shape} doesn't broadcast to shape {shape}")
    value = shapes.convert(value, dtype, weak)
    if not shape and (isinstance(value, (ArrayImpl, Tracer)) or isinstance(dtype, dtypes.ExtendedDtype)):
        return value
    dims = tuple(range(len(shape) - len(aval.shape), len(shape)))
    return shapes.broadcast_in_dim_p.bind(value, shape=shape, broadcast_dimensions=dims, sharding=None)


def _like(name: str, a: Any, dtype: Any, shape: Any) -> tuple[tuple[int, ...], Any, bool]:
    """Shape, dtype and weak type of an array like `a`."""
    aval = getattr(a, "aval", None)
    if aval is None:
        if not is_arraylike(a) and hasattr(a, "shape") and hasattr(a, "dtype"):  # such as ShapeDtypeStruct
            aval = ShapedArray(tuple(a.shape), dtypes.canonicalize(dtypes.as_dtype(a.dtype)))
        else:
            check_arraylike(name, a)
            aval = shaped(a)
    shape = aval.shape if shape is None else sizes(shape, name)
    if dtype is not None:
        return shape, canonical(dtype, name), False
    return shape, aval.dtype, aval.weak_type


def _fill_like(name: str, a: Any, dtype: Any, shape: Any, value: int, device: Any, out_sharding: Any = None) -> Any:
    shape, new, weak = _like(name, a, dtype, shape)
    out = _fill(shape, new, value)
    return place(shapes.convert(out, new, True) if weak else out, device, out_sharding)


def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Make an array of zeros with the shape and dtype of another.

    Args:
      a: array, number, or anything with a shape and dtype.
      dtype, shape: of the result, where they differ from those of `a`.
      device, out_sharding: a Device or Sharding to place the array on.

    Returns:
      An array.

    Raises:
      TypeError: `a` has no shape and dtype.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.zeros_like(xnp.arange(3))
      Array([0, 0, 0], dtype=int32)
    """
    return _fill_like("zeros_like", a, dtype, shape, 0, device, out_sharding)


def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Make an array of ones with the shape and dtype of another.

    Args:
      a: array, number, or anything with a shape and dtype.
      dtype, shape: of the result, where they differ from those of `a`.
      device, out_sharding: a Device or Sharding to place the array on.

    Returns:
      An array.

    Raises:
      TypeError: `a` has no shape and dtype.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.ones_like(xnp.arange(3), dtype=float)
      Array([1., 1., 1.], dtype=float32)
    """
    return _fill_like("ones_like", a, dtype, shape, 1, device, out_sharding)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Make an array with the shape and dtype of another, whose values don't matter (they are zeros).

    Args:
      prototype: array, number, or anything with a shape and dtype.
      dtype, shape: of the result, where they differ from those of `prototype`.
      device: a Device or Sharding to place the array on.

    Returns:
      An array.

    Raises:
      TypeError: `prototype` has no shape and dtype.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.empty_like(xnp.arange(3)).dtype
      dtype('int32')
    """
    return _fill_like("empty_like", prototype, dtype, shape, 0, device)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Make an array with the shape and dtype of another, filled with one value.

    Args:
      a: array, number, or anything with a shape and dtype.
      fill_value: scalar, or array that broadcasts to the shape.
      dtype, shape: of the result, where they differ from those of `a`.
      device, out_sharding: a Device or Sharding to place the array on.

    Returns:
      An array.

    Raises:
      TypeError: `a` has no shape and dtype, or `fill_value` is no array.
      ValueError: `fill_value` doesn't broadcast to the shape.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.full_like(xnp.arange(3), 1.5)
      Array([1, 1, 1], dtype=int32)
    """
    check_arraylike("full_like", fill_value)
    shape, new, weak = _like("full_like", a, dtype, shape)
    out = _full(shape, fill_value, new, "full_like")
    return place(shapes.convert(out, new, True) if weak else out, device, out_sharding)


__all__ = ["empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like"]
