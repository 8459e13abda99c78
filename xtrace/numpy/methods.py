"""Methods and properties of arrays and tracers that are functions of numpy. Each is looked up at its first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from xtrace.core.trace import Tracer
from xtrace.runtime.jaxlib_api import ArrayImpl

#: Methods that are numpy functions of the same name, with the array as first argument.
_FUNCTIONS = (
    "all any argmax argmin argpartition argsort choose clip conj conjugate cumprod cumsum diagonal dot max mean min "
    "nonzero prod ptp ravel repeat round searchsorted squeeze std sum swapaxes take trace var"
).split()
#: The same, as properties.
_PROPERTIES = {"real": "real", "imag": "imag", "mT": "matrix_transpose"}
_CLASSES: tuple[Any, ...] = (ArrayImpl, Tracer)


def _numpy(name: str) -> Any:
    return getattr(importlib.import_module("xtrace.numpy"), name)


def _set(name: str, method: Any) -> None:
    for cls in _CLASSES:
        setattr(cls, name, method)


def _method(name: str) -> Callable[..., Any]:
    """A method that fetches numpy's function of that name, and puts it in its own place."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        function = _numpy(name)
        _set(name, _bound(name, function))
        return function(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    return method


def _bound(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as a method: a plain function binds by itself, other callables need a frame."""
    if type(function) is type(_bound):
        return function

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = function.__doc__
    return method


def _property(function: str) -> property:
    return property(lambda self: _numpy(function)(self), doc=f"numpy.{function} of the array.")


# -- methods with signatures of their own ----------------------------------------------------------------------------


def _reshape(self: Any, *shape: Any, order: str = "C", out_sharding: Any = None) -> Any:
    """The elements in another shape, given as integers or one sequence of them: see `numpy.reshape`."""
    from xtrace.numpy import manipulation

    def reshape(self: Any, *shape: Any, order: str = "C", copy: Any = None, out_sharding: Any = None) -> Any:
        """The elements in another shape, given as integers or one sequence of them: see `numpy.reshape`."""
        new = shape[0] if len(shape) == 1 else shape
        return manipulation.reshape(self, new, order, out_sharding=out_sharding)

    _set("reshape", reshape)
    return reshape(self, *shape, order=order, out_sharding=out_sharding)


def _transpose(self: Any, *axes: Any) -> Any:
    """The array with its axes permuted, given as integers or one sequence of them: see `numpy.transpose`."""
    from xtrace.numpy import manipulation

    def transpose(self: Any, *axes: Any) -> Any:
        """The array with its axes permuted, given as integers or one sequence of them: see `numpy.transpose`."""
        if not axes:
            return manipulation.transpose(self)
        first = axes[0]
        return manipulation.transpose(
            self, first if len(axes) == 1 and (first is None or hasattr(first, "__len__")) else axes
        )

    _set("transpose", transpose)
    return transpose(self, *axes)


def _flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """All elements in one dimension: see `numpy.ravel`."""
    return _numpy("ravel")(self, order, out_sharding=out_sharding)


def _astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """The array converted to another dtype: see `numpy.astype`."""
    return _numpy("astype")(self, dtype, copy=copy, device=device)


def _copy(self: Any) -> Any:
    """A copy of the array."""
    return _numpy("copy")(self)


def _sort(self: Any, axis: int | None = -1, **options: Any) -> Any:
    """A sorted copy: see `numpy.sort`."""
    return _numpy("sort")(self, axis=axis, **options)


def _compress(self: Any, condition: Any, axis: int | None = None, **options: Any) -> Any:
    """The slices where a condition holds: see `numpy.compress`."""
    return _numpy("compress")(condition, self, axis=axis, **options)


def _view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """The array's bytes read as another dtype; the last axis changes its size where the dtypes' widths differ."""
    if type is not None:
        raise NotImplementedError("view takes a dtype: arrays have no other types")
    from xtrace.numpy import bits

    return bits.view(self, dtype)


def _byteswap(self: Any) -> Any:
    """The array with the bytes of each element in reverse order."""
    from xtrace.numpy import bits

    return bits.byteswap(self)


def _array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """The module with the functions of the Python array API: see `numpy.array_api.array_namespace`."""
    from xtrace.numpy import array_api

    return array_api.array_namespace(self, api_version=api_version)


def _to_device(self: Any, device: Any, *, stream: int | None = None) -> Any:
    """The array on a device, or laid out by a sharding: see `device_put`."""
    if stream is not None:
        raise NotImplementedError("to_device has no streams: leave out stream, XLA orders transfers by itself")
    from xtrace.placement import device_put

    return device_put(self, device)


def _flat(self: Any) -> Any:
    raise NotImplementedError("Arrays do not implement the arr.flat property: consider arr.flatten() instead.")


def _contains(self: Any, item: Any) -> bool:
    return bool((self == item).any())


def _round(self: Any, ndigits: int | None = None) -> Any:
    # As with Python's numbers: without ndigits the result is an integer.
    return _numpy("round")(self, 0).astype(int) if ndigits is None else _numpy("round")(self, ndigits)


_OWN: dict[str, Any] = {
    "T": property(lambda self: _numpy("transpose")(self), doc="The array with its axes reversed."),
    "__array_namespace__": _array_namespace,
    "__contains__": _contains,
    "__round__": _round,
    "astype": _astype,
    "byteswap": _byteswap,
    "compress": _compress,
    "copy": _copy,
    "flat": property(_flat),
    "flatten": _flatten,
    "reshape": _reshape,
    "sort": _sort,
    "to_device": _to_device,
    "transpose": _transpose,
    "view": _view,
}


def install() -> None:
    """Set the methods on arrays and tracers."""
    for name in _FUNCTIONS:
        _set(name, _method(name))
    for name, function in _PROPERTIES.items():
        _set(name, _property(function))
    for name, method in _OWN.items():
        _set(name, method)
