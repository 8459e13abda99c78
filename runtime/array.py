"""Arrays: what an Array is and can do without any computation. Methods set on jaxlib's C++ class ArrayImpl.

Patching the C++ class beats wrapping it: the C++ call path makes and takes it directly. Operators and indexing
are set on it by the numpy layer.
"""

from __future__ import annotations

import enum
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from xtrace.core import avals, dtypes
from xtrace.runtime import jaxlib_api, shardings

ArrayImpl = jaxlib_api.ArrayImpl
Device = jaxlib_api.Device
SingleDeviceSharding = jaxlib_api.SingleDeviceSharding

_tracer_types: tuple[type, ...] = ()


def register_tracer(cls: type) -> None:
    """Make instances of `cls` count as arrays: isinstance(x, Array) is then true for them."""
    global _tracer_types
    if cls not in _tracer_types:
        _tracer_types = (*_tracer_types, cls)


class _ArrayMeta(type):
    # Cheaper than abc's registry: 0.15 µs against 0.2 to 0.5.
    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is ArrayImpl or isinstance(instance, _tracer_types)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, (ArrayImpl, *_tracer_types))


class Array(metaclass=_ArrayMeta):
    """An n-dimensional array on one or several devices; also what a traced function's arguments look like.

    Not made by calling this class: use `xtrace.numpy.array`, `xtrace.device_put` and the like. `isinstance(x, Array)`
    is true for concrete arrays and for the tracers that stand for them inside transformed functions.

    Example:
      >>> import xtrace as xt
      >>> isinstance(xt.device_put(1.0), xt.Array)
      True
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Array can't be instantiated; make arrays with numpy.array(...), device_put(...) and the like")


# ---------------------------------------------------------------------------------------------------------------
# What an array says about itself.


def _deleted(self: Any) -> RuntimeError:
    return RuntimeError(f"Array has been deleted with shape={self.aval.str_short(short_dtypes=False)}.")


def check_alive(array: Any) -> None:
    """Raise RuntimeError if the array's buffers were deleted or donated."""
    if array.is_deleted():
        raise _deleted(array)


def _device(self: Any) -> Any:
    """The array's device, or its sharding if it is on several."""
    sharding = self._sharding
    return sharding._device if type(sharding) is SingleDeviceSharding else sharding


def _devices(self: Any) -> set[Device]:
    """The devices that hold the array."""
    check_alive(self)
    return self._sharding.device_set


def _nbytes(self: Any) -> int:
    """Bytes of the whole array, as if packed."""
    aval = self.aval
    return aval.size * aval.dtype.itemsize


def _is_fully_replicated(self: Any) -> bool:
    """Whether every device holds the whole array."""
    return self._sharding.is_fully_replicated


def _is_fully_addressable(self: Any) -> bool:
    """Whether this process can address all of the array."""
    return self._sharding.is_fully_addressable


def _len(self: Any) -> int:
    shape = self.aval.shape
    if not shape:
        raise TypeError("len() of unsized object")
    return shape[0]


def _iter(self: Any) -> Iterator[Any]:
    shape = self.aval.shape
    if not shape:
        raise TypeError("iteration over a 0-d array")
    return (self[i] for i in range(shape[0]))


# ---------------------------------------------------------------------------------------------------------------
# Shards.


class Shard:
    """The part of an array that one device holds.

    Attributes:
      device: the device.
      index: for each dimension, the slice of the whole array.
      replica_id: number of devices before this one that hold the same part.
      data: the part as an Array on the device; None if another process's device holds it.
    """

    __slots__ = ("device", "index", "replica_id", "data")

    def __init__(self, device: Device, index: shardings.Index, replica_id: int, data: Any) -> None:
        self.device = device
        self.index = index
        self.replica_id = replica_id
        self.data = data

    def __repr__(self) -> str:
        data = "" if self.data is None else f", data={self.data}"
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}{data})"


def _global_shards(self: Any) -> list[Shard]:
    """The parts of all devices, in the order of the sharding; those of other processes have no data."""
    check_alive(self)
    sharding = self._sharding
    devices = sharding._device_assignment
    data = dict(zip(sharding._addressable_device_assignment, jaxlib_api.device_arrays(self), strict=True))
    seen: dict[Any, int] = {}
    shards = []
    for device, index in zip(devices, shardings.indices(sharding, self.aval.shape), strict=True):
        key = tuple([(s.start, s.stop) for s in index])  # slices can't be hashed before Python 3.12
        replica = seen.get(key, 0)
        seen[key] = replica + 1
        shards.append(Shard(device, index, replica, data.get(device)))
    return shards


def _addressable_shards(self: Any) -> list[Shard]:
    """The parts on this process's devices, in the order of the sharding."""
    return [shard for shard in _global_shards(self) if shard.data is not None]


def _addressable_data(self: Any, index: int) -> Any:
    """The part on this process's device number `index`, as an Array."""
    check_alive(self)
    if self._sharding.is_fully_replicated:
        return jaxlib_api.replicated_shard(self)
    return jaxlib_api.device_arrays(self)[index]


# ---------------------------------------------------------------------------------------------------------------
# The value on the host.


def _value(self: Any) -> np.ndarray:
    """The value as a read-only NumPy array, shared with the device's memory where that is possible."""
    value = self._npy_value
    if self.is_deleted():
        raise _deleted(self)
    if value is not None:
        return value
    sharding = self._sharding
    if type(sharding) is SingleDeviceSharding:
        value, _ = jaxlib_api.to_numpy(self)
    elif sharding.is_fully_replicated:
        value, _ = jaxlib_api.to_numpy(jaxlib_api.replicated_shard(self))
    elif not sharding.is_fully_addressable:
        raise RuntimeError(
            f"the value of {self.aval.str_short(short_dtypes=False)} can't be fetched: it spans devices of other "
            f"processes ({sharding}). Use .addressable_shards for the parts held here, or gather it with "
            "multihost_utils.process_allgather"
        )
    elif jaxlib_api.TO_NUMPY_ASSEMBLES:
        value, _ = jaxlib_api.to_numpy(self)
    else:
        value = np.empty(self.aval.shape, self.aval.dtype)
        for index, part in zip(
            shardings.indices(sharding, self.aval.shape), jaxlib_api.device_arrays(self), strict=True
        ):
            value[index] = jaxlib_api.to_numpy(part)[0]
    value.flags.writeable = False
    self._npy_value = value
    return value


def _array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    value = _value(self)
    if dtype is None and copy is None:
        return value
    return np.asarray(value, dtype=dtype, copy=copy)


def _copy_to_host_async(self: Any) -> None:
    """Start copying the value to host memory, so that a later `numpy.asarray` needn't wait for all of it."""
    check_alive(self)
    if self._npy_value is None:
        jaxlib_api.batched_copy_to_host_async([self])


def _scalar(self: Any) -> Any:
    if self.aval.shape:
        raise TypeError(
            f"Only scalar arrays can be converted to Python scalars; got arr.ndim={self.aval.ndim} "
            f"(shape {self.aval.shape}). Use .item() for an array of one element"
        )
    return _value(self)


def _bool(self: Any) -> bool:
    size = self.aval.size
    if size == 0:
        raise ValueError(
            "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty."
        )
    if size > 1:
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
    return bool(_value(self))


def _float(self: Any) -> float:
    value = _scalar(self)
    if value.dtype.kind == "c":
        raise TypeError("float() argument must be a string or a real number, not 'complex'. Take .real first")
    return value.__float__()


def _int(self: Any) -> int:
    value = _scalar(self)
    if value.dtype.kind == "c":
        raise TypeError(
            "int() argument must be a string, a bytes-like object or a real number, not 'complex'. Take .real first"
        )
    return value.__int__()


def _complex(self: Any) -> complex:
    return _scalar(self).__complex__()


def _index(self: Any) -> int:
    aval = self.aval
    if aval.shape or not dtypes.is_integer(aval.dtype):
        raise TypeError(
            f"Only integer scalar arrays can be converted to a scalar index; got {aval.str_short(short_dtypes=False)}."
        )
    return int(_value(self))


def _item(self: Any, *args: int) -> bool | int | float | complex:
    """Return one element as a Python scalar: the only one, or the one at the given index."""
    return _value(self).item(*args)


def _tolist(self: Any) -> Any:
    """Return the value as nested lists of Python scalars."""
    return _value(self).tolist()


def _tobytes(self: Any, order: Any = "C") -> bytes:
    """Return the elements' bytes, in C order unless told otherwise."""
    return _value(self).tobytes(order)


# ---------------------------------------------------------------------------------------------------------------
# Printing.


def _repr(self: Any) -> str:
    aval = self.aval
    suffix = f"dtype={aval.dtype.name}{', weak_type=True' if aval.weak_type else ''})"
    prefix = "Array("
    sharding = self._sharding
    if not (sharding.is_fully_addressable or sharding.is_fully_replicated):
        return f"{prefix}{aval.shape}, {suffix}"
    if aval.size == 0:
        check_alive(self)
        return f"{prefix}[], shape={aval.shape}, {suffix}"
    width = np.get_printoptions()["linewidth"]
    text = np.array2string(_value(self), prefix=prefix, suffix=",", separator=", ", max_line_width=width)
    last_line = len(text) - text.rfind("\n") + 1
    gap = " " if last_line + len(suffix) + 1 <= width else " " * len(prefix)
    return f"{prefix}{text},{gap}{suffix}"


def _str(self: Any) -> str:
    sharding = self._sharding
    if not (sharding.is_fully_addressable or sharding.is_fully_replicated):
        return _repr(self)
    return str(_value(self))


def _format(self: Any, spec: str) -> str:
    value = _value(self)
    return format(value[()], spec) if value.ndim == 0 else format(value, spec)


def _hash(self: Any) -> int:
    raise TypeError(
        "unhashable type: 'jaxlib._jax.ArrayImpl'. Arrays are compared element by element, so they can't be keys of "
        "dicts, members of sets or static arguments. Use a Python scalar (.item()), a tuple or id(x) instead"
    )


# ---------------------------------------------------------------------------------------------------------------
# Copies and exchange.


def _format_in_memory(self: Any) -> Any:
    """How the array lies: a Format, of its layout and its sharding."""
    from xtrace.runtime import layouts

    return layouts.format_of(self)


def _copied(array: Any) -> Any:
    check_alive(array)
    (copy,) = jaxlib_api.copy_to_devices([array], [array._sharding], jaxlib_api.ArrayCopySemantics.ALWAYS_COPY)
    return copy


def _deepcopy(self: Any, memo: Any) -> Any:
    copy = memo[id(self)] = _copied(self)
    return copy


def _rebuild(value: np.ndarray, weak_type: bool) -> Any:
    from xtrace.runtime import transfers

    aval = avals.ShapedArray(value.shape, transfers.canonical_dtype(value.dtype), weak_type)
    return transfers.put(value, aval, None, False)


def _reduce(self: Any) -> Any:
    return (_rebuild, (_value(self), self.aval.weak_type))


def _to_device(self: Any, device: Any, *, stream: Any = None) -> Any:
    """Return the array on another Device or Sharding (the array API's spelling of `device_put`)."""
    from xtrace.runtime import transfers

    if stream is not None:
        raise NotImplementedError("to_device: `stream` must be None; transfers are ordered by the runtime itself")
    return transfers.device_put(self, device)


class DLDeviceType(enum.IntEnum):
    """Device types of the DLPack standard."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLROCM = 10


_DL_TYPES = {"cpu": DLDeviceType.kDLCPU, "cuda": DLDeviceType.kDLCUDA, "rocm": DLDeviceType.kDLROCM}


def _dlpack_device(self: Any) -> tuple[DLDeviceType, int]:
    """Return (device type, device number) as DLPack numbers them."""
    check_alive(self)
    devices = tuple(self._sharding._internal_device_list)
    if len(devices) != 1:
        raise BufferError(
            f"__dlpack_device__ needs an array on one device; this one is on {len(devices)} "
            f"({self._sharding}). Export its .addressable_shards"
        )
    (device,) = devices
    kind = _DL_TYPES.get(device.client._raw_platform)
    if kind is None:
        raise BufferError(f"DLPack has no device type for {device.platform}; copy the array to a cpu device first")
    return kind, (device.local_hardware_id or 0) if kind is not DLDeviceType.kDLCPU else 0


def _dlpack(
    self: Any,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a DLPack capsule of the array, sharing its memory unless a copy is asked for."""
    array = self
    here = _dlpack_device(self)
    if dl_device is not None and tuple(dl_device) != here:
        if copy is False:
            raise ValueError(
                f"the array is on DLPack device {here}; it can't be exported to {dl_device} without a copy"
            )
        if dl_device[0] != DLDeviceType.kDLCPU:
            raise BufferError(
                f"an array on DLPack device {here} can be exported to itself or to (1, 0), the cpu; got {dl_device}"
            )
        from xtrace.runtime import transfers

        array, copy = transfers.device_put(self, transfers.cpu_device()), None
    if copy:
        array = _copied(array)
    return jaxlib_api.to_dlpack(array, stream)


_METHODS: dict[str, Any] = {
    "shape": property(lambda self: self.aval.shape, doc="Size of each dimension."),
    "dtype": property(lambda self: self.aval.dtype, doc="Type of the elements."),
    "ndim": property(lambda self: self.aval.ndim, doc="Number of dimensions."),
    "size": property(lambda self: self.aval.size, doc="Number of elements."),
    "weak_type": property(lambda self: self.aval.weak_type, doc="Whether the dtype yields to others, like a scalar's."),
    "itemsize": property(lambda self: self.aval.dtype.itemsize, doc="Bytes of one element."),
    "nbytes": property(_nbytes),
    "sharding": property(lambda self: self._sharding, doc="How the array lies on devices."),
    "device": property(_device),
    "devices": _devices,
    "committed": property(lambda self: self._committed, doc="Whether the array was placed on its device on purpose."),
    "is_fully_replicated": property(_is_fully_replicated),
    "is_fully_addressable": property(_is_fully_addressable),
    "global_shards": property(_global_shards),
    "addressable_shards": property(_addressable_shards),
    "addressable_data": _addressable_data,
    "_value": property(_value),
    "_check_if_deleted": check_alive,
    "copy_to_host_async": _copy_to_host_async,
    "to_device": _to_device,
    "item": _item,
    "format": property(_format_in_memory),
    "tolist": _tolist,
    "tobytes": _tobytes,
    "__array__": _array,
    "__array_priority__": 100,
    "__numpy_dtype__": property(lambda self: self.aval.dtype),
    "__len__": _len,
    "__iter__": _iter,
    "__bool__": _bool,
    "__int__": _int,
    "__float__": _float,
    "__complex__": _complex,
    "__index__": _index,
    "__hex__": lambda self: hex(_index(self)),
    "__oct__": lambda self: oct(_index(self)),
    "__repr__": _repr,
    "__str__": _str,
    "__format__": _format,
    "__hash__": _hash,
    "__copy__": _copied,
    "__deepcopy__": _deepcopy,
    "__reduce__": _reduce,
    "__dlpack__": _dlpack,
    "__dlpack_device__": _dlpack_device,
}


def _warn_beside_jax() -> None:
    """Say that the package jax, if it is loaded, loses its arrays: their class is jaxlib's, and becomes ours."""
    present = sys.modules.get("jax")
    if present is not None and present.__name__ == "jax":  # not an alias of xtrace
        warnings.warn(
            "the package jax was imported in this process before xtrace. Both set their methods on jaxlib's array "
            "class, so jax's own arrays and functions may fail from here on: use one of the two in a process.",
            stacklevel=2,
        )


_warn_beside_jax()
for _name, _method in _METHODS.items():
    setattr(ArrayImpl, _name, _method)


# ---------------------------------------------------------------------------------------------------------------
# Arrays out of parts.


def _expected_dtype(dtype: Any, arrays: Sequence[Any], what: str) -> Any:
    if dtype is not None:
        from xtrace.runtime import transfers

        return transfers.canonical_dtype(dtype)
    if not arrays:
        raise ValueError(f"{what}: this process has no part of the array, so its dtype must be given as `dtype`")
    return arrays[0].dtype


def _arranged(arrays: Sequence[Any], sharding: Any, aval: avals.ShapedArray) -> list[Any]:
    """Single-device arrays in the order of the sharding's devices, checked to be the parts of an array of `aval`."""
    devices = sharding._addressable_device_assignment
    of = f"Shape of Array is {aval.str_short(short_dtypes=False)} with sharding {sharding}"
    if len(arrays) != len(devices):
        raise ValueError(
            f"Expected {len(devices)} per-device arrays (this is how many devices are addressable by the sharding), "
            f"but got {len(arrays)}"
        )
    part = sharding.shard_shape(aval.shape)
    by_device: dict[Device, Any] = {}
    for array in arrays:
        check_alive(array)
        if array.dtype != aval.dtype:
            raise ValueError(
                f"Input buffers to `Array` must have matching dtypes. Got {array.dtype}, expected {aval.dtype} for "
                f"array {array}. {of}"
            )
        if array.shape != part:
            raise ValueError(
                f"Expected shard shape {part} doesn't match the single device array shape {array.shape}. {of}"
            )
        held = array.sharding.device_set
        if len(held) != 1:
            raise ValueError(
                "When making an array from single-device arrays the input arrays must have one shard each; one of "
                f"them lies on {len(held)} devices. {of}"
            )
        by_device[next(iter(held))] = array
    if len(by_device) != len(arrays):
        raise ValueError(
            "When making an array from single-device arrays, the input arrays must be from distinct devices, but they "
            f"lie on devices {[next(iter(a.sharding.device_set)).id for a in arrays]}. {of}"
        )
    if set(by_device) != set(devices):
        missing, extra = ({d.id for d in s} for s in (set(devices) - set(by_device), set(by_device) - set(devices)))
        raise ValueError(
            "Addressable devices and per-device arrays devices do not match. Sharding contains devices "
            f"{missing} that are not present in per-device arrays. Per-device arrays contain devices {extra} that are "
            f"not present in the sharding. {of}"
        )
    return [by_device[d] for d in devices]


def _check_and_rearrange(*arguments: Any) -> list[Any]:
    """What jaxlib calls where an array is made by its class: with the parts, the sharding and the aval.

    Before version 0.12 the unfinished array comes first.
    """
    arrays, sharding, aval = arguments[-3:]
    return _arranged(arrays, sharding, aval)


ArrayImpl._check_and_rearrange = _check_and_rearrange  # type: ignore[attr-defined]


#: Type of arrays that wrap others -> (shape, sharding, per-device arrays of that type) -> the whole array.
assembling_handlers: dict[type, Callable[[tuple[int, ...], Any, Sequence[Any]], Any]] = {}


def make_array_from_single_device_arrays(shape: Any, sharding: Any, arrays: Any, *, dtype: Any = None) -> Any:
    """Make one array of arrays that already lie on the sharding's devices, without copying.

    Args:
      shape: shape of the whole array.
      sharding: how the whole array is split.
      arrays: one array per device of this process, each of shape `sharding.shard_shape(shape)`, in any order.
      dtype: dtype of the array; needed only if this process has no part of it.

    Returns:
      The array, committed to `sharding`.

    Raises:
      ValueError: number, shape, dtype or devices of the parts don't fit.

    Example:
      >>> import xtrace as xt
      >>> x = xt.device_put(1.5)
      >>> xt.make_array_from_single_device_arrays((), x.sharding, [x])
      Array(1.5, dtype=float32)
    """
    shape = tuple(shape)
    if not isinstance(arrays, (list, tuple)):
        raise TypeError(
            "jax.make_array_from_single_device_arrays `arrays` argument must be a list or tuple of arrays, one per "
            f"device, got {type(arrays).__name__}"
        )
    if arrays and type(arrays[0]) in assembling_handlers:
        return assembling_handlers[type(arrays[0])](shape, sharding, arrays)
    if not all(isinstance(a, ArrayImpl) for a in arrays):
        odd = next(type(a).__name__ for a in arrays if not isinstance(a, ArrayImpl))
        raise TypeError(
            f"make_array_from_single_device_arrays `arrays` argument must be a list of arrays on devices, got {odd}"
        )
    dtype = _expected_dtype(dtype, arrays, "make_array_from_single_device_arrays")
    aval = avals.ShapedArray(shape, dtype)
    return jaxlib_api.assemble(aval, sharding, _arranged(arrays, sharding, aval), True)


def make_array_from_callback(
    shape: Any, sharding: Any, data_callback: Callable[[shardings.Index | None], Any], dtype: Any = None
) -> Any:
    """Make an array by asking for the part of each device of this process.

    Args:
      shape: shape of the whole array.
      sharding: how the whole array is split.
      data_callback: called with a tuple of slices, returns that part (anything numpy.asarray takes). Parts that
        several devices hold are asked for once.
      dtype: dtype of the array; needed only if this process has no part of it.

    Returns:
      The array, committed to `sharding`.

    Raises:
      ValueError: a returned part has another shape or dtype than expected.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> sharding = xt.sharding.make_single_device_sharding(xt.devices()[0])
      >>> xt.make_array_from_callback((3,), sharding, lambda index: np.arange(3.0, dtype=np.float32)[index])
      Array([0., 1., 2.], dtype=float32)
    """
    from xtrace.runtime import transfers

    shape = tuple(shape)
    expected = sharding.shard_shape(shape)
    made: dict[Any, np.ndarray] = {}
    parts = []
    mine = sharding.addressable_devices
    for device, index in zip(sharding._device_assignment, shardings.indices(sharding, shape), strict=True):
        if device not in mine:
            continue
        key = tuple([(s.start, s.stop) for s in index])
        if key not in made:
            part = np.asarray(data_callback(index))
            if part.shape != expected:
                raise ValueError(
                    f"Expected shard shape {expected} doesn't match the single device array shape {part.shape}, which "
                    f"data_callback({index}) returned (whole array {shape}, sharding {sharding})"
                )
            made[key] = part if dtype is None else part.astype(transfers.canonical_dtype(dtype), copy=False)
        parts.append(made[key])
    kinds = {p.dtype for p in parts}
    if len(kinds) > 1:
        raise ValueError(f"data_callback returned parts of several dtypes: {sorted(map(str, kinds))}; cast them to one")
    if dtype is None and parts:
        dtype = parts[0].dtype
    aval = avals.ShapedArray(shape, _expected_dtype(dtype, [], "make_array_from_callback"))
    return transfers.put_parts(parts, aval, sharding)


def make_array_from_process_local_data(sharding: Any, local_data: Any, global_shape: Any = None) -> Any:
    """Make an array of which every process holds a part, from the data that this process has.

    Args:
      sharding: how the whole array is split over all processes' devices, or the device that has it; or a pytree
        of these.
      local_data: what this process holds, as an array or a pytree of them.
      global_shape: shape of the whole array (a pytree of shapes for a pytree of data). None, or None for a dimension,
        means: worked out from the local shape and the sharding.

    Returns:
      The array, committed to `sharding`.

    Raises:
      ValueError: the local data's shape fits neither the whole nor this process's part of it.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> sharding = xt.sharding.make_single_device_sharding(xt.devices()[0])
      >>> xt.make_array_from_process_local_data(sharding, np.ones(2, np.float32))
      Array([1., 1.], dtype=float32)
    """
    from xtrace.core import pytree, pytree_prefixes

    leaves, tree = pytree.tree_flatten(local_data)
    if global_shape is None or len(leaves) == 1 and _is_shape(global_shape):
        shapes: list[Any] = [global_shape] * len(leaves)
    else:
        shapes = pytree.tree_flatten(global_shape, is_leaf=lambda s: s is None or _is_shape(s))[0]
    splits = pytree_prefixes.flatten_prefix(sharding, tree, "make_array_from_process_local_data sharding")
    splits = [shardings.single_device_sharding(s) if isinstance(s, Device) else s for s in splits]
    out = [_from_local(s, np.asarray(x), g) for s, x, g in zip(splits, leaves, shapes, strict=True)]
    return pytree.tree_unflatten(tree, out)


def _is_shape(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(d, (int, np.integer, type(None))) for d in value)


def _from_local(sharding: Any, data: np.ndarray, global_shape: Any) -> Any:
    ndim = data.ndim
    wanted = (None,) * ndim if global_shape is None else tuple(global_shape)
    if len(wanted) != ndim:
        raise ValueError(f"global_shape {wanted} must have as many dimensions as the local data, of shape {data.shape}")
    tiles = shardings.tiles_per_dimension(sharding, ndim)
    mine = sharding.addressable_devices
    # Which tiles of each dimension this process holds: lay out an array with one element per tile.
    held: list[list[int]] = []
    positions = [
        index
        for device, index in zip(sharding._device_assignment, shardings.indices(sharding, tiles), strict=True)
        if device in mine
    ]
    for axis in range(ndim):
        held.append(sorted({index[axis].start or 0 for index in positions}))
    shape = []
    for axis in range(ndim):
        size = wanted[axis]
        shape.append(data.shape[axis] * tiles[axis] // len(held[axis]) if size is None else int(size))
    whole = tuple(shape)
    part = sharding.shard_shape(whole)
    for axis in range(ndim):
        local = part[axis] * len(held[axis])
        if data.shape[axis] not in (whole[axis], local):
            raise ValueError(
                f"dimension {axis} of the local data has size {data.shape[axis]}; it must be {local} (this process's "
                f"part) or {whole[axis]} (all of it), for the whole shape {whole} and sharding {sharding}"
            )

    def local_part(index: shardings.Index) -> np.ndarray:
        slices = []
        for axis, s in enumerate(index):
            start = s.start or 0
            if data.shape[axis] != whole[axis]:
                start = held[axis].index(start // part[axis]) * part[axis]
            slices.append(slice(start, start + part[axis]))
        return data[tuple(slices)]

    return make_array_from_callback(whole, sharding, lambda index: local_part(index or ()), data.dtype)
