"""Arrays from host values: numbers, NumPy arrays, nested sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes, guards, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import literal
from xtrace.core.trace import Tracer, current
from xtrace.lax import shapes
from xtrace.numpy.dtypes import canonical
from xtrace.runtime import transfers
from xtrace.runtime.jaxlib_api import ArrayImpl
from xtrace.transforms.placement import held
from xtrace.transforms.staging import StagedTracer, StagingTrace

_put = transfers.put


def staged() -> bool:
    """Whether what is done now ends up in a jaxpr, so that new arrays are equations, not data."""
    trace = current.trace
    return trace is not None and trace.stages()


def place(x: Any, device: Any, out_sharding: Any = None) -> Any:
    """`x` on `device` (a Device or Sharding), or `out_sharding` if that is given; where it is if neither is."""
    if device is None:
        return held("a function that makes arrays", x, out_sharding)
    from xtrace.placement import device_put

    return device_put(x, device)


def constant(value: np.ndarray, weak_type: bool = False) -> Any:
    """A new array with the values of `value`; under a staging trace, a scalar is a literal of the program."""
    aval = ShapedArray(value.shape, value.dtype, weak_type)
    trace = current.trace
    if not value.shape and type(trace) is StagingTrace:
        return StagedTracer(trace, aval, literal(value[()], aval))  # type: ignore[arg-type]
    return _put(value, aval, None, False)


def generated(value: np.ndarray) -> Any:
    """`constant` of values that come from no data: transfer guards, which forbid its transfers, don't forbid these."""
    if not guards.in_use:
        return constant(value)
    with guards.explicit("explicit_device_put"):
        return constant(value)


# ---------------------------------------------------------------------------------------------------------------
# From values on the host.


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Make an array of a value: a number, nested sequences of numbers and arrays, or anything array-like.

    Args:
      object: the value. Arrays of equal shape in lists and tuples are stacked.
      dtype: dtype of the result; by default that of the value, with Python's numbers as the default types.
      copy: whether an array is copied; False copies only where it must.
      order: layout in memory, "K", "A" or "C": arrays have the one that the device prefers.
      ndmin: least number of dimensions; missing ones come first, with size 1.
      device: a Device or Sharding to place the array on.
      out_sharding: the same, under explicit sharding.

    Returns:
      An array.

    Raises:
      TypeError: the value holds something else than numbers.
      ValueError: the sequences are ragged, or hold None.
      OverflowError: a Python int doesn't fit the dtype.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.array([[1, 2], [3, 4.5]])
      Array([[1. , 2. ],
             [3. , 4.5]], dtype=float32)
    """
    return _make("array", object, dtype, copy, order, ndmin, device, out_sharding)


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Make an array of a value, or return it if it is one already.

    Args:
      a: number, nested sequences of numbers and arrays, or anything array-like.
      dtype: dtype of the result; by default that of the value.
      order: layout in memory, as for `array`.
      copy: True: always copy. None, False: only where it must be.
      device: a Device or Sharding to place the array on.
      out_sharding: the same, under explicit sharding.

    Returns:
      An array.

    Raises:
      TypeError, ValueError, OverflowError: as `array`.

    Example:
      >>> import numpy as np
      >>> import xtrace.numpy as xnp
      >>> xnp.asarray(np.arange(3, dtype=np.int8))
      Array([0, 1, 2], dtype=int8)
    """
    if dtype is None and type(a) is np.ndarray and order is None and device is None and out_sharding is None:
        aval = transfers.aval_of(a)
        if a.shape:
            return _put(a, aval, None, False)
    return _make("asarray", a, dtype, bool(copy), order, 0, device, out_sharding)


def _make(
    name: str, x: Any, dtype: Any, copy: bool, order: str | None, ndmin: int, device: Any, out_sharding: Any
) -> Any:
    if order not in (None, "K", "A", "C"):
        raise NotImplementedError(
            f"{name}: arrays have the layout that the device prefers; order={order!r} can't be had"
        )
    new = None if dtype is None else canonical(dtype, name)
    out = _from_value(x, new, copy)
    aval = out.aval
    if new is not None and (aval.dtype != new or aval.weak_type):
        out = shapes.convert(out, new, False)
    if ndmin and statics.integer(ndmin, "ndmin") > aval.ndim:
        missing = ndmin - aval.ndim
        out = shapes.broadcast_in_dim(out, (1,) * missing + aval.shape, range(missing, ndmin))
    return place(out, device, out_sharding)


def _from_value(x: Any, dtype: Any, copy: bool) -> Any:
    """`x` as an array; values on the host get `dtype`, arrays keep theirs."""
    kind = type(x)
    if kind is ArrayImpl or isinstance(x, Tracer):
        if not copy or (dtype is not None and x.aval.dtype != dtype and not isinstance(x, Tracer)):
            return x
        return lax.copy_p.bind(x)
    if kind is np.ndarray:
        return constant(_checked(x, x) if dtype is None else _cast(x, dtype))
    if kind in dtypes.PYTHON_SCALARS:
        if dtype is None:
            aval = transfers.aval_of(x)
            if current.trace is None:
                return _put(x, aval, None, False)
            return constant(np.array(x, aval.dtype), aval.weak_type)
        return constant(np.array(x, dtype))
    if kind is list or kind is tuple or isinstance(x, (list, tuple)):
        return _from_sequence(x, dtype)
    if x is None:
        raise ValueError("None is not a valid value for an array; use nan or a mask for missing values")
    convert = getattr(x, "__jax_array__", None)
    if convert is not None:
        return _from_value(convert(), dtype, copy)
    if getattr(x, "aval", None) is not None:  # an array of an extended dtype
        return x
    value = np.asarray(x)
    return constant(_checked(value, x) if dtype is None else _cast(_checked(value, x), dtype))


def _checked(value: np.ndarray, given: Any) -> np.ndarray:
    """`value` in the dtype it gets as an array. Raises TypeError unless it holds numbers."""
    if isinstance(given, np.ma.MaskedArray):
        value = np.asarray(value)
    if dtypes.kind(value.dtype) not in "biufc":
        shown = repr(given)
        shown = shown if len(shown) < 60 else f"of type {type(given).__name__}"
        message = f"Value {shown} with dtype {value.dtype} is not a valid array type: arrays hold numbers and booleans."
        from xtrace.core.errors import ArgumentError  # only on the way to an error

        raise ArgumentError(statics.told(message))
    dtype = transfers.canonical_dtype(value.dtype)
    return value if value.dtype == dtype else value.astype(dtype)


def _cast(value: np.ndarray, dtype: Any) -> np.ndarray:
    if value.dtype == dtype:
        return value
    if dtypes.is_complex(value.dtype) and not dtypes.is_complex(dtype):
        value = value.real
    return value.astype(dtype)


# -- nested sequences ------------------------------------------------------------------------------------------------


def _leaf_kinds(x: Any, kinds: dict[Any, Any]) -> None:
    """Collect what nested sequences hold: an example of each kind of number and of each dtype of arrays."""
    for kind in set(map(type, x)):
        if kind in dtypes.PYTHON_SCALARS:
            kinds[kind] = kind
        elif kind is ArrayImpl or issubclass(kind, Tracer):
            for item in x:
                if type(item) is kind:
                    kinds[kind, item.aval.dtype, item.aval.weak_type] = item
        elif issubclass(kind, (list, tuple)):
            for item in x:
                if type(item) is kind:
                    _leaf_kinds(item, kinds)
        elif issubclass(kind, np.generic):
            kinds[kind] = next(item for item in x if type(item) is kind)
        elif kind is type(None):
            raise ValueError("None is not a valid value for an array; use nan or a mask for missing values")
        else:
            for item in x:
                if type(item) is kind:
                    if hasattr(item, "__jax_array__"):
                        item = item.__jax_array__()
                        kinds[ArrayImpl, item.aval.dtype, item.aval.weak_type] = item
                    else:
                        value = np.asarray(item)
                        _checked(value, item)
                        kinds[np.ndarray, value.dtype] = value


def _from_sequence(x: Any, dtype: Any) -> Any:
    kinds: dict[Any, Any] = {}
    _leaf_kinds(x, kinds)
    if dtype is None:
        if kinds:
            operands = tuple(dict.fromkeys([dtypes.of_value(v) for v in kinds.values()]))
            dtype, weak = dtypes.promote(operands)
            if weak:
                dtype = dtypes.canonicalize(dtypes._DEFAULT[dtypes.kind(dtype)])
        else:
            dtype = dtypes.canonicalize(dtypes.float64)
    arrays = [v for k, v in kinds.items() if type(k) is tuple and k[0] is not np.ndarray]
    if not arrays:
        try:
            return constant(np.array(x, dtype))
        except ValueError as error:
            if "inhomogeneous" not in str(error):
                raise
        raise ValueError(
            f"{statics.asked()}: the sequence has an inhomogeneous shape, its parts differ in length or depth: "
            f"{statics.shown(x)}. Arrays have one shape; pad the parts, or keep them in a list."
        )
    if current.trace is None and all([_on_host(v) for v in arrays]):
        return constant(np.array(x, dtype))
    return _stack(x, dtype)


def _on_host(x: Any) -> bool:
    """Whether fetching the value costs nothing and loses nothing."""
    return type(x) is ArrayImpl and not x._committed and not x.aval.shape and x.device.platform == "cpu"


def _stack(x: Any, dtype: Any) -> Any:
    """Nested sequences with arrays in them as one array."""
    if not isinstance(x, (list, tuple)):
        out = _from_value(x, dtype, False)
        return shapes.convert(out, dtype, False)
    kinds: dict[Any, Any] = {}
    _leaf_kinds(x, kinds)
    if not any([type(k) is tuple and k[0] is not np.ndarray for k in kinds]):
        return constant(np.array(x, dtype))
    parts = [_stack(item, dtype) for item in x]
    found = {p.aval.shape for p in parts}
    if len(found) > 1:
        raise ValueError(
            f"array: the parts of a sequence must have one shape, got {', '.join(map(str, sorted(found)))}"
        )
    return lax.concatenate([shapes.expand_dims(p, (0,)) for p in parts], 0)


__all__ = ["array", "asarray"]
