"""Guards: what happens to transfers nobody asked for, to arrays that reference cycles keep, and to other threads.

The checks are jaxlib's, made where transfers are. A flag sets them for all threads, or in a block for its own thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from xtrace.core.config import Flag, config
from xtrace.runtime.jaxlib_api import guard_lib

_LEVELS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")
_TRANSFERS = {name: getattr(guard_lib.TransferGuardLevel, name.upper()) for name in _LEVELS}
_COLLECTION = {name: getattr(guard_lib.GarbageCollectionGuardLevel, name.upper()) for name in ("allow", "log", "fatal")}

#: Whether any transfer guard was ever set: only then is it noted which transfers are asked for.
in_use = False


def _guard(name: str, attribute: str, levels: dict[str, Any], help: str) -> Flag:
    flag = config.define(name, None, help, choices=(None, *levels))

    def set_level(state: Any, value: Any) -> None:
        global in_use
        in_use = in_use or (value is not None and levels is _TRANSFERS)
        setattr(state, attribute, None if value is None else levels[value])

    def on_override(value: Any) -> Callable[[], None]:
        state = guard_lib.thread_local_state()
        before = getattr(state, attribute)
        set_level(state, value)
        return lambda: setattr(state, attribute, before)

    flag.on_update = lambda value: set_level(guard_lib.global_state(), value)
    flag.on_override = on_override
    if flag.value is not None:  # from the environment
        flag.on_update(flag.value)
    return flag


transfer_guard_host_to_device = _guard(
    "transfer_guard_host_to_device", "host_to_device", _TRANSFERS, "what a transfer of host values to a device does"
)
transfer_guard_device_to_device = _guard(
    "transfer_guard_device_to_device", "device_to_device", _TRANSFERS, "what a transfer between devices does"
)
transfer_guard_device_to_host = _guard(
    "transfer_guard_device_to_host", "device_to_host", _TRANSFERS, "what a transfer to the host does"
)
_DIRECTIONS = (transfer_guard_host_to_device, transfer_guard_device_to_device, transfer_guard_device_to_host)

#: The three of them together; setting it sets them.
_every_direction = config.define("transfer_guard", None, "what a transfer does", choices=(None, *_LEVELS))


def _set_every_direction(value: Any) -> None:
    for flag in _DIRECTIONS:
        flag.set_global(value)


_every_direction.on_update = _set_every_direction
if _every_direction.value is not None:
    _set_every_direction(_every_direction.value)

array_garbage_collection_guard = _guard(
    "array_garbage_collection_guard",
    "garbage_collect_array",
    _COLLECTION,
    "what happens when arrays are freed by the collector of reference cycles, and not at once",
)

thread_guard = config.define("thread_guard", False, "programs run on several processes' devices from one thread only")


def _set_thread_guard(value: Any) -> Callable[[], None]:
    before = bool(thread_guard.state.get_global())
    guard_lib.update_thread_guard_global_state(bool(value))
    return lambda: guard_lib.update_thread_guard_global_state(before)


thread_guard.on_update = _set_thread_guard  # type: ignore[assignment]
thread_guard.on_override = _set_thread_guard
if thread_guard.value:
    _set_thread_guard(True)


@contextlib.contextmanager
def transfer_guard(new_val: str) -> Iterator[None]:
    """Say what transfers between host and devices, in any direction, do in the current thread while the block runs.

    Args:
      new_val: "allow"; "log" or "disallow" those that nobody asked for by device_put or device_get; "log_explicit" or
        "disallow_explicit" all.

    Raises:
      ValueError: no such level.
      JaxRuntimeError: from a transfer in the block that is disallowed.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> with xt.transfer_guard("disallow"):
      ...     x = xt.device_put(np.ones(3))
      ...     try:
      ...         x + np.ones(3)
      ...     except xt.errors.JaxRuntimeError as error:
      ...         print(str(error)[:53])
      INVALID_ARGUMENT: Disallowed host-to-device transfer:
    """
    with contextlib.ExitStack() as stack:
        for flag in (*_DIRECTIONS, _every_direction):
            stack.enter_context(flag(new_val))
        yield


def is_explicit(what: str) -> bool:
    """Whether the current thread is in a transfer that was asked for: explicit_device_put or explicit_device_get."""
    return bool(getattr(guard_lib.thread_local_state(), what))


@contextlib.contextmanager
def explicit(what: str) -> Iterator[None]:
    """Context manager of a transfer that was asked for."""
    state = guard_lib.thread_local_state()
    before = getattr(state, what)
    setattr(state, what, True)
    try:
        yield
    finally:
        setattr(state, what, before)
