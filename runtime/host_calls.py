"""Running Python functions that programs call, and waiting for what programs do besides computing results."""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.core import config, dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.host_calls import HostCall
from xtrace.core.primitive import shaped
from xtrace.core.trace import current, use_trace
from xtrace.runtime import backends, jaxlib_api, shardings, transfers
from xtrace.runtime.jaxlib_api import ArrayImpl

# -- calling ---------------------------------------------------------------------------------------------------------


def host_device() -> Any:
    """The CPU device that functions get their arrays on."""
    try:
        return backends.default_device() if backends.default_device().platform == "cpu" else _first_cpu()
    except RuntimeError as error:
        raise RuntimeError(
            "callbacks get their operands as arrays on a CPU device, and there is none. Make sure that cpu is listed "
            "in the flag jax_platforms (JAX_PLATFORMS)."
        ) from error


def _first_cpu() -> Any:
    return backends.local_devices(backend="cpu")[0]


def run_on_host(fun: Callable[..., Any], arrays: Sequence[Any], device: Any) -> Any:
    """Call a user's function outside any trace, with `device` as the default one."""
    elsewhere = backends.default_device() is not device
    outer, current.position = current.position, None
    try:
        with use_trace(None), config.default_device(device) if elsewhere else contextlib.nullcontext():
            return fun(*arrays)
    finally:
        current.position = outer


def checked_results(call: HostCall, outs: Sequence[Any]) -> tuple[np.ndarray, ...]:
    """What a function returned as NumPy arrays. Raises RuntimeError unless they are of the types it promised."""
    expected = call.out_avals
    if len(outs) != len(expected):
        raise RuntimeError(
            f"Mismatched number of outputs from callback of {call.name}. Expected: {len(expected)}, Actual: "
            f"{len(outs)}. result_shape_dtypes says what the function returns."
        )
    arrays = []
    for i, (x, aval) in enumerate(zip(outs, expected)):
        if dtypes.is_extended(aval.dtype):
            arrays.append(np.asarray(aval.dtype.unwrap(x)))
            continue
        array = np.asarray(x)
        if array.dtype != aval.dtype:
            array = array.astype(dtypes.canonicalize(array.dtype))
        for what, wanted, got in (("shape", aval.shape, array.shape), ("dtype", aval.dtype, array.dtype)):
            if wanted != got:
                raise RuntimeError(
                    f"Incorrect output {what} for return value #{i} of the callback of {call.name}: Expected: "
                    f"{wanted}, Actual: {got}. Change what the function returns, or result_shape_dtypes."
                )
        arrays.append(array)
    return tuple(arrays)


def for_program(call: HostCall) -> Callable[..., Any]:
    """The function that XLA calls, with NumPy views of its buffers."""
    avals = [a if dtypes.is_extended(a.dtype) else a.strong() for a in call.in_avals]

    def run(*views: Any) -> tuple[Any, ...]:
        token = views[:1] if call.has_token else ()
        device = host_device()
        arrays = [_received(x, a, device) for x, a in zip(views[len(token) :], avals)]
        return (*token, *checked_results(call, run_on_host(call.fun, arrays, device)))

    return run


def _received(view: np.ndarray, aval: ShapedArray, device: Any) -> Any:
    if aval.extended:
        stored = ShapedArray((*aval.shape, *aval.dtype.physical_shape), aval.dtype.physical_dtype)
        return aval.dtype.wrap(_received(view, stored, device))
    return transfers.put(view, aval, device, False)


def run_eagerly(call: HostCall, args: Sequence[Any]) -> list[Any]:
    """Call a function on concrete values, and place its results on the default device."""
    device = host_device()
    sharding = shardings.single_device_sharding(device)
    arrays = [_on_host(x, device, sharding) for x in args]
    outs = checked_results(call, run_on_host(call.fun, arrays, device))
    placed = []
    for x, aval in zip(outs, call.out_avals):
        if aval.extended:
            stored = ShapedArray((*aval.shape, *aval.dtype.physical_shape), aval.dtype.physical_dtype)
            placed.append(aval.dtype.wrap(transfers.put(x, stored, None, False)))
        else:
            placed.append(transfers.put(x, aval, None, False))
    return placed


def _on_host(x: Any, device: Any, sharding: Any) -> Any:
    if type(x) is ArrayImpl:
        if x._sharding is sharding or (device.platform == "cpu" and x._sharding.device_set == {device}):
            return x
        return transfers.put_leaf(x, sharding)
    aval = shaped(x)
    if dtypes.is_extended(aval.dtype):
        return x
    return transfers.put(x, aval, device, False)


# -- effects of programs ---------------------------------------------------------------------------------------------


class _Pending:
    """What one thread's programs have yet to do.

    Programs with an ordered effect take and return an empty array for it: the next one can't start before the last one
    is done.
    """

    __slots__ = ("tokens", "running")

    def __init__(self) -> None:
        #: Ordered effect -> (devices, the array that the last program returned).
        self.tokens: dict[Any, tuple[tuple[Any, ...], Any]] = {}
        #: Devices -> the execution token of the last program that has other effects: devices work in order.
        self.running: dict[tuple[Any, ...], Any] = {}

    def wait(self) -> None:
        waiting: list[Any] = [*self.running.values(), *[array for _, array in self.tokens.values()]]
        # A program that failed must not make every later one fail.
        self.tokens.clear()
        self.running.clear()
        errors = []
        for x in waiting:
            try:
                x.block_until_ready()
            except Exception as error:  # the others are waited for all the same
                errors.append(error)
        if errors:
            raise errors[0]


class _Local(threading.local):
    pending: _Pending | None = None


_local = _Local()
_all: list[_Pending] = []
_lock = threading.Lock()
_TOKEN = ShapedArray((0,), dtypes.bool_)


def _pending() -> _Pending:
    found = _local.pending
    if found is None:
        found = _local.pending = _Pending()
        with _lock:
            if not _all:
                atexit.register(_finish)
            _all.append(found)
    return found


def _finish() -> None:
    """At exit: what has been started is finished, so that no output is lost."""
    for pending in _all:
        with contextlib.suppress(Exception):
            pending.wait()


def effects_barrier() -> None:
    """Wait until programs that were called have done all that they do besides computing results: printing, callbacks.

    Raises:
      JaxRuntimeError: a callback of one of them failed.

    >>> import xtrace as xt
    >>> xt.jit(lambda x: xt.debug.print("x is {}", x))(2)
    x is 2
    >>> xt.effects_barrier()
    """
    _pending().wait()


class EffectfulExecution:
    """How a program with effects is executed: tokens in front of its arguments and results, and its end awaited."""

    __slots__ = ("_execute", "_ordered", "_devices", "_sharding", "_handlers", "_awaited")

    def __init__(self, execute: Any, ordered: Sequence[Any], awaited: bool, placement: Any) -> None:
        self._execute = execute
        self._ordered = ordered
        self._devices = placement.devices
        self._sharding = placement.sharding
        self._awaited = awaited
        self._handlers = [jaxlib_api.array_result_handler(_TOKEN, self._sharding, False)] * len(ordered)

    def __call__(self, arrays: Sequence[Any], handlers: Sequence[Any]) -> list[Any]:
        pending = _pending()
        tokens = [self._token(pending, effect) for effect in self._ordered]
        results = self._execute([*tokens, *arrays], with_tokens=self._awaited)
        if self._awaited:
            pending.running[self._devices] = results.consume_token()
        outs = results.consume_with_handlers([*self._handlers, *handlers])
        n = len(tokens)
        for effect, token in zip(self._ordered, outs[:n]):
            pending.tokens[effect] = (self._devices, token)
        return outs[n:]

    def _token(self, pending: _Pending, effect: Any) -> Any:
        found = pending.tokens.get(effect)
        if found is not None:
            devices, token = found
            if devices == self._devices:
                return token
            token.block_until_ready()
        return transfers.put(np.zeros(0, np.bool_), _TOKEN, self._sharding, False)
