"""Transfers: values from the host and from other devices onto devices, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.core import avals, config, dtypes, guards, pytree, pytree_prefixes
from xtrace.runtime import array as array_module
from xtrace.runtime import backends, jaxlib_api, layouts, mesh, shardings
from xtrace.runtime.memory import Space, in_space
from xtrace.runtime.partition_spec import PartitionSpec

ArrayImpl = jaxlib_api.ArrayImpl
Device = jaxlib_api.Device
Sharding = jaxlib_api.Sharding
SingleDeviceSharding = jaxlib_api.SingleDeviceSharding
ShapedArray = avals.ShapedArray

_batched_device_put = jaxlib_api.batched_device_put
# Host memory is read during the call only: what the caller writes into it later doesn't show up on the device.
_DURING_CALL = jaxlib_api.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_ZERO_COPY = jaxlib_api.HostBufferSemantics.ZERO_COPY
_enable_x64 = config.enable_x64.state

#: How types that are neither arrays nor scalars are placed. Called with (x, place, committed).
put_handlers: dict[type, Callable[[Any, Any, bool], Any]] = {}


# ---------------------------------------------------------------------------------------------------------------
# Avals of host values.

_canonical: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})  # without and with x64


def canonical_dtype(dtype: Any) -> Any:
    """The dtype that arrays made from `dtype` get.

    Raises:
      TypeError: arrays can't hold such elements.
    """
    table = _canonical[_enable_x64.value]
    found = table.get(dtype)
    if found is None:
        found = dtypes.as_dtype(dtype)
        if dtypes.kind(found) not in "biufc":
            raise TypeError(
                f"Dtype {found} is not a valid array type: arrays hold numbers and booleans. "
                "Keep such values outside arrays, or convert them with numpy first"
            )
        found = table[dtype] = dtypes.canonicalize(found.newbyteorder("=") if not found.isnative else found)
    return found


_scalar_avals: tuple[dict[type, ShapedArray], dict[type, ShapedArray]] = ({}, {})
_PYTHON_SCALARS = dtypes.PYTHON_SCALARS


def aval_of(x: Any) -> ShapedArray:
    """The aval that `x` (array, NumPy array or scalar, Python scalar) has as an array.

    Raises:
      TypeError: `x` is none of these.
    """
    kind = type(x)
    if kind is ArrayImpl:
        return x.aval
    if kind is np.ndarray:
        return ShapedArray(x.shape, canonical_dtype(x.dtype), False)
    if kind in _PYTHON_SCALARS:
        table = _scalar_avals[_enable_x64.value]
        aval = table.get(kind)
        if aval is None:
            aval = table[kind] = ShapedArray((), dtypes.canonicalize(_PYTHON_SCALARS[kind]), kind is not bool)
        return aval
    if isinstance(x, np.ma.MaskedArray):
        raise ValueError("NumPy masked arrays can't become arrays: their mask would be lost. Use arr.filled() first")
    if isinstance(x, (np.ndarray, np.generic)):
        return ShapedArray(x.shape, canonical_dtype(x.dtype), False)
    for scalar in (bool, int, float, complex):  # subclasses, such as enum.IntEnum members
        if isinstance(x, scalar):
            return ShapedArray((), dtypes.canonicalize(_PYTHON_SCALARS[scalar]), scalar is not bool)
    if kind in put_handlers:
        return x.aval
    raise TypeError(f"a value of type {kind.__name__} is not an array or a number")


# ---------------------------------------------------------------------------------------------------------------
# Placing one value.

_places: dict[Device, tuple[Any, list[Device]]] = {}


def _place(device: Device) -> tuple[Any, list[Device]]:
    place = _places.get(device)
    if place is None:
        place = _places[device] = (shardings.single_device_sharding(device), [device])
    return place


def put(x: Any, aval: ShapedArray, where: Any = None, committed: bool = True) -> ArrayImpl:
    """Place a host value: the short way, for callers that know its aval.

    Args:
      x: NumPy array or scalar, or Python scalar. Its memory is copied before the call returns.
      aval: the aval of the result, `aval_of(x)` but for its weak type.
      where: a Device, a Sharding, or None for the default device.
      committed: whether the result is committed to that place.
    """
    if aval.extended:
        return put_handlers[type(x)](x, where, committed)
    if where is None:
        where = backends.default_device()
    elif isinstance(where, Sharding):
        if type(where) is not SingleDeviceSharding:
            return _put_sharded(np.asarray(x), aval, where)
        return _put_on(x, aval, where, [where._device], committed)
    place = _places.get(where) or _place(where)
    return _put_on(x, aval, place[0], place[1], committed)


def _put_on(x: Any, aval: ShapedArray, sharding: Any, devices: list[Device], committed: bool) -> ArrayImpl:
    if type(x) is np.ndarray and not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    try:
        return _batched_device_put(aval, sharding, [x], devices, committed, True, _DURING_CALL)
    except Exception as error:
        if isinstance(x, int) and "Disallowed" not in str(error):  # by a transfer guard
            raise OverflowError(f"Python int {x} too large to convert to {aval.dtype}") from None
        if not isinstance(x, (np.ndarray, np.generic)):  # a scalar subclass that C++ doesn't know
            return _put_on(np.asarray(x, aval.dtype), aval, sharding, devices, committed)
        raise error


def _put_sharded(x: np.ndarray, aval: ShapedArray, sharding: Any) -> ArrayImpl:
    sharding.shard_shape(aval.shape)
    mine = sharding.addressable_devices
    parts = [
        x[index]
        for device, index in zip(sharding._device_assignment, shardings.indices(sharding, aval.shape), strict=True)
        if device in mine
    ]
    return put_parts(parts, aval, sharding)


def put_parts(parts: list[Any], aval: ShapedArray, sharding: Any) -> ArrayImpl:
    """Place host arrays, one per addressable device of `sharding` in its order, as one committed array."""
    devices = list(sharding._internal_device_list.addressable_device_list)
    # One private copy per distinct part, which the devices may then alias. jaxlib's own copying fails
    # ("bad_function_call") when several devices are given the same host memory.
    copies: dict[Any, np.ndarray] = {}
    own = []
    for part in parts:
        key = (part.__array_interface__["data"][0], part.strides)
        copy = copies.get(key)
        if copy is None:
            copy = copies[key] = np.array(part, dtype=aval.dtype, order="C", copy=True)
        own.append(copy)
    return _batched_device_put(aval, sharding, own, devices, True)


def _move(x: ArrayImpl, sharding: Any, donate: bool, may_alias: bool | None) -> ArrayImpl:
    """An existing array onto `sharding`, committed."""
    array_module.check_alive(x)
    aval = x.aval
    shardings.shard_shape(sharding, aval.shape)
    source = x._sharding
    if source == sharding or source.is_equivalent_to(sharding, aval.ndim):
        if may_alias is False:
            (x,) = jaxlib_api.copy_to_devices([x], [sharding], jaxlib_api.ArrayCopySemantics.ALWAYS_COPY)
        elif x._committed and source == sharding:
            return x
        return jaxlib_api.rewrap(x, aval, sharding, True)
    same_layout = source.num_devices == sharding.num_devices and source._to_xla_hlo_sharding(
        aval.ndim
    ) == sharding._to_xla_hlo_sharding(aval.ndim)
    if same_layout and source.is_fully_addressable and sharding.is_fully_addressable:
        (out,) = jaxlib_api.copy_to_devices([x], [sharding], jaxlib_api.ArrayCopySemantics.REUSE_INPUT)
        out = jaxlib_api.rewrap(out, aval, sharding, True)
    elif source.is_fully_replicated and isinstance(sharding, SingleDeviceSharding):
        out = _move(jaxlib_api.replicated_shard(x), sharding, False, None)
    else:
        out = _put_sharded(x._value, aval, sharding)
    if donate:
        out.block_until_ready()
        x.delete()
    return out


_SOURCES = (ArrayImpl, np.ndarray, np.generic, bool, int, float, complex)


def put_leaf(x: Any, where: Any, donate: bool = False, may_alias: bool | None = None) -> Any:
    """Place one concrete value. `where` None: uncommitted, on the default device; else a Device or a Sharding.

    Raises:
      TypeError: `x` is no array and no number.
    """
    kind = type(x)
    if type(where) is Space:
        there = put_leaf(x, None, donate, may_alias)
        return put_leaf(there, in_space(there.sharding, where), donate, may_alias)
    if type(where) is layouts.Format:
        return layouts.placed(put_leaf(x, where.sharding, donate, may_alias), where.layout)
    if kind is ArrayImpl:
        if where is None:
            array_module.check_alive(x)
            if may_alias is False:
                return array_module._copied(x)
            return x
        if type(where) is Device:
            where = _place(where)[0]
        return _move(x, where, donate, may_alias)
    handler = put_handlers.get(kind)
    if handler is not None:
        return handler(x, where, where is not None)
    if not isinstance(x, _SOURCES):
        convert = getattr(x, "__jax_array__", None)
        if convert is not None:
            return put_leaf(convert(), where, donate, may_alias)
        if hasattr(x, "__array__"):
            x = np.asarray(x)
    elif isinstance(x, np.ndarray) and x.dtype == dtypes.float0:
        return x  # carries no data to place
    aval = aval_of(x)
    if may_alias and isinstance(x, np.ndarray) and x.dtype is aval.dtype and x.flags.c_contiguous:
        if where is None or isinstance(where, (Device, SingleDeviceSharding)):
            return _share(x, aval, where)
    return put(x, aval, where, where is not None)


def _share(x: np.ndarray, aval: ShapedArray, where: Any) -> ArrayImpl:
    """`x` on a device, in the memory it is in where the device can use that (on CPU, where it is aligned)."""
    sharding = where if isinstance(where, Sharding) else _place(where or backends.default_device())[0]
    devices = list(sharding._device_assignment)
    return _batched_device_put(aval, sharding, [x], devices, where is not None, False, _ZERO_COPY)


_INVALID_PLACE = (
    "`device_put` only accepts None, a Sharding, a Device, a PartitionSpec (with a mesh set by set_mesh) or a pytree "
    "of these as `device`. Received invalid value: "
)


def resolve_place(place: Any) -> Any:
    """What device_put takes as a place, as None, a Device or a Sharding.

    Raises:
      ValueError: `place` is no place.
    """
    if place is None or isinstance(place, (Device, Sharding, layouts.Format, Space)):
        return place
    if isinstance(place, PartitionSpec):
        current = mesh.get_mesh()
        if current.empty:
            raise ValueError(
                "Please set a mesh via `set_mesh` if a PartitionSpec is passed to device_put; "
                f"got {place} while no mesh is set"
            )
        return shardings.NamedSharding(current, place)
    raise ValueError(f"{_INVALID_PLACE}{place!r}")


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """Place a pytree of concrete values on devices.

    Args:
      x: pytree of arrays, NumPy arrays and numbers.
      device: where: a Device, a Sharding, or a pytree prefix of `x` of them. None: arrays stay where they are, other
        values go, uncommitted, to the default device.
      src: where the values are now; they know it themselves, so it is only checked.
      donate: bool or pytree prefix: the input arrays may be destroyed.
      may_alias: bool or pytree prefix: False forces a copy, True lets the result share the memory of a NumPy array,
        which must not be written to any more. By default arrays in place stay and host memory is copied. May not be
        True together with `donate`.

    Returns:
      The same pytree of arrays. An array that is already in place is returned as it is.

    Raises:
      TypeError: a leaf is no array and no number; the message gives its path.
      ValueError: the place is no place, or doesn't fit the array's shape.
      OverflowError: a Python int doesn't fit its dtype.

    Example:
      >>> import xtrace as xt
      >>> xt.device_put({"a": 1, "b": 2.5})
      {'a': Array(1, dtype=int32, weak_type=True), 'b': Array(2.5, dtype=float32, weak_type=True)}
    """
    if guards.in_use and not guards.is_explicit("explicit_device_put"):
        with guards.explicit("explicit_device_put"):
            return device_put(x, device, src=src, donate=donate, may_alias=may_alias)
    single = device is None or isinstance(device, (Device, Sharding))
    if single and donate is False and may_alias is None and isinstance(x, _SOURCES):
        try:
            return put_leaf(x, device)
        except (TypeError, ValueError, OverflowError) as error:
            raise _located(error, x, x, ()) from error
    leaves, tree = pytree.tree_flatten(x)
    count = len(leaves)
    if single or isinstance(device, PartitionSpec):
        places = [resolve_place(device)] * count
    else:
        for place in pytree.tree_leaves(device):
            resolve_place(place)
        places = [resolve_place(p) for p in pytree_prefixes.flatten_prefix(device, tree, "device_put device")]
    donated = (
        [donate] * count
        if isinstance(donate, bool)
        else pytree_prefixes.flatten_prefix(donate, tree, "device_put donate")
    )
    if may_alias is None or isinstance(may_alias, bool):
        aliased = [may_alias] * count
    else:
        aliased = pytree_prefixes.flatten_prefix(may_alias, tree, "device_put may_alias")
    if any(d and a for d, a in zip(donated, aliased, strict=True)):
        raise ValueError("may_alias and donate cannot be True at the same time.")
    out = []
    for i, leaf in enumerate(leaves):
        try:
            out.append(put_leaf(leaf, places[i], donated[i], aliased[i]))
        except (TypeError, ValueError, OverflowError) as error:
            path = pytree.tree_flatten_with_path(x)[0][i][0]
            raise _located(error, x, leaf, path) from error
    return pytree.tree_unflatten(tree, out)


def _located(error: Exception, tree: Any, leaf: Any, path: Any) -> Exception:
    """The same error, naming the argument's place in the tree and what it is."""
    place = f" at x{pytree.keystr(path)}" if path else ""
    shape = getattr(leaf, "shape", None)
    what = f"type {type(leaf).__name__}" + (f", shape {tuple(shape)}" if shape is not None else "")
    if isinstance(error, TypeError):
        value = f" {leaf!r}" if isinstance(leaf, (str, bytes)) and len(leaf) < 40 else ""
        return TypeError(f"device_put: argument{value}{place} of {what} can't be placed on a device: {error}")
    return type(error)(f"device_put: argument{place} of {what}: {error}")


def cpu_device() -> Device:
    """The first local CPU device."""
    return backends.get_backend("cpu").local_devices()[0]


# ---------------------------------------------------------------------------------------------------------------
# Back to the host, and waiting.


def device_get(x: Any) -> Any:
    """Fetch a pytree of arrays to the host.

    Args:
      x: pytree. Leaves that can't become NumPy arrays are returned as they are.

    Returns:
      The same pytree with NumPy arrays (read-only) for arrays.

    Example:
      >>> import xtrace as xt
      >>> xt.device_get({"a": xt.device_put(2.0), "n": 3})
      {'a': array(2., dtype=float32), 'n': 3}
    """
    if guards.in_use and not guards.is_explicit("explicit_device_get"):
        with guards.explicit("explicit_device_get"):
            return device_get(x)
    if type(x) is ArrayImpl:
        return x._value
    leaves, tree = pytree.tree_flatten(x)
    _start_copies(leaves)
    out = []
    for leaf in leaves:
        # Keys stay keys: NumPy has no dtype for them.
        stays = isinstance(getattr(leaf, "dtype", None), dtypes.ExtendedDtype)
        fetch = None if stays else getattr(leaf, "__array__", None)
        out.append(leaf if fetch is None else fetch())
    return pytree.tree_unflatten(tree, out)


def _start_copies(leaves: list[Any]) -> None:
    arrays = [leaf for leaf in leaves if type(leaf) is ArrayImpl]
    for array in arrays:
        array_module.check_alive(array)
    if len(arrays) > 1:
        jaxlib_api.batched_copy_to_host_async([a for a in arrays if a._npy_value is None])
    for leaf in leaves:
        if type(leaf) is not ArrayImpl and hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()


def copy_to_host_async(x: Any) -> Any:
    """Start copying a pytree's arrays to the host; a later `device_get` waits less.

    Returns:
      `x` itself.
    """
    leaves = pytree.tree_leaves(x)
    arrays = [leaf for leaf in leaves if type(leaf) is ArrayImpl]
    for leaf in leaves:
        if type(leaf) is not ArrayImpl and hasattr(leaf, "copy_to_host_async"):
            leaf.copy_to_host_async()
    for array in arrays:
        array_module.check_alive(array)
    jaxlib_api.batched_copy_to_host_async(arrays)
    return x


def block_until_ready(x: Any) -> Any:
    """Wait until the computations that make a pytree's arrays are done.

    Returns:
      `x` itself. Leaves that aren't arrays are ignored.

    Example:
      >>> import xtrace as xt
      >>> xt.block_until_ready([xt.device_put(1), "text"])
      [Array(1, dtype=int32, weak_type=True), 'text']
    """
    if type(x) is ArrayImpl:
        return x.block_until_ready()
    leaves = pytree.tree_leaves(x)
    arrays = []
    for leaf in leaves:
        if type(leaf) is ArrayImpl:
            arrays.append(leaf)
        elif hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    if arrays:
        jaxlib_api.batched_block_until_ready(arrays)
    return x
