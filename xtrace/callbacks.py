"""pure_callback and io_callback: Python functions called from inside compiled programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xtrace.core import pytree
from xtrace.core.host_calls import HostCall
from xtrace.core.primitive import shaped
from xtrace.lax import callbacks
from xtrace.runtime import host_calls
from xtrace.runtime.jaxlib_api import XlaRuntimeError


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Compute something with a Python function, called on the host whenever the program needs its result.

    The function must depend on nothing but its arguments, and do nothing but return its results: it may be called more
    often than it seems, in any order, or not at all where its results aren't used.

    Args:
      callback: gets arrays on a CPU device in the structure of `args` and `kwargs`; returns arrays, NumPy arrays or
        numbers.
      result_shape_dtypes: what it returns: ShapeDtypeStructs, or other things with shape and dtype, in a pytree.
      args, kwargs: arrays and numbers in any structure.
      sharding: a SingleDeviceSharding of the device that calls, in programs over several devices.
      vmap_method: what vmap does. "sequential": call once for each example; "sequential_unrolled": likewise, without a
        loop in the program; "expand_dims": call once, with a leading axis for all arguments, of size 1 for those that
        are not mapped; "broadcast_all": likewise, of full size; None: refuse.

    Returns:
      Arrays in the structure of `result_shape_dtypes`.

    Raises:
      ValueError: a derivative is taken (give one with custom_jvp or custom_vjp); an unknown `vmap_method`; 64-bit
        results while x64 mode is off.
      NotImplementedError: under vmap without a `vmap_method`.
      JaxRuntimeError: the function raised an error, or returned something else than it promised.

    Example:
      >>> import xtrace as xt, numpy as np
      >>> def spread(x):
      ...     return np.ptp(x)
      >>> scalar = xt.ShapeDtypeStruct((), np.float32)
      >>> xt.jit(lambda x: xt.pure_callback(spread, scalar, x))(np.float32([1, 5, 2]))
      Array(4., dtype=float32)
    """
    if vmap_method not in callbacks.VMAP_METHODS:
        raise ValueError(
            f"vmap_method must be on of the allowed methods {list(callbacks.VMAP_METHODS)}, but got: {vmap_method}"
        )
    return _call(
        callbacks.pure_callback_p,
        callback,
        result_shape_dtypes,
        args,
        kwargs,
        dict(sharding=sharding, vmap_method=vmap_method),
    )


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function that does something, once each time the program comes by.

    Args:
      callback: gets arrays on a CPU device in the structure of `args` and `kwargs`; returns arrays, NumPy arrays or
        numbers.
      result_shape_dtypes: what it returns: ShapeDtypeStructs, or other things with shape and dtype, in a pytree; None
        for a function that returns None.
      args, kwargs: arrays and numbers in any structure.
      sharding: a SingleDeviceSharding of the device that calls, in programs over several devices.
      ordered: whether calls come in program order, those of programs called one after the other included.

    Returns:
      Arrays in the structure of `result_shape_dtypes`.

    Raises:
      ValueError: a derivative is taken; under vmap if ordered; 64-bit results while x64 mode is off.
      JaxRuntimeError: the function raised an error, or returned something else than it promised.

    Example:
      >>> import xtrace as xt
      >>> from xtrace.experimental import io_callback
      >>> seen = []
      >>> @xt.jit
      ... def f(x):
      ...     io_callback(lambda x: seen.append(int(x)), None, x, ordered=True)
      ...     return x + 1
      >>> _ = f(1), f(2), xt.effects_barrier()
      >>> seen
      [1, 2]
    """
    return _call(
        callbacks.io_callback_p,
        callback,
        result_shape_dtypes,
        args,
        kwargs,
        dict(sharding=sharding, ordered=bool(ordered)),
    )


def _call(
    primitive: callbacks.CallbackPrimitive,
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    params: dict[str, Any],
) -> Any:
    if not callable(callback):
        raise TypeError(f"{primitive.name} takes a function to call, got {callback!r} of type {type(callback)}.")
    leaves, in_tree = pytree.tree_flatten((args, kwargs))
    avals, out_tree = callbacks.result_avals_of(result_shape_dtypes)
    flat = callbacks.FlatCallback(callback, in_tree)
    return out_tree.unflatten(primitive.bind(*leaves, callback=flat, result_avals=avals, **params))


def _run_now(primitive: callbacks.CallbackPrimitive) -> Callable[..., Any]:
    def impl(*args: Any, **params: Any) -> Sequence[Any]:
        avals = tuple(params.get("result_avals", ()))
        call = HostCall(
            primitive.name, primitive.host(**params), tuple([shaped(a) for a in args]), avals, has_token=False
        )
        if primitive not in _FROM_PROGRAMS:
            return host_calls.run_eagerly(call, args)
        try:
            return host_calls.run_eagerly(call, args)
        except Exception as error:  # the same error as from a compiled program
            raise XlaRuntimeError(
                f"INTERNAL: the callback of {primitive.name} failed: {type(error).__name__}: {error}"
            ) from error

    return impl


#: Their errors are the runtime's, whether the program is compiled or not. Debugging callbacks raise their own.
_FROM_PROGRAMS = (callbacks.pure_callback_p, callbacks.io_callback_p)
for _primitive in (*_FROM_PROGRAMS, callbacks.debug_callback_p, callbacks.debug_print_p):
    _primitive.impl = _run_now(_primitive)

__all__ = ["io_callback", "pure_callback"]
