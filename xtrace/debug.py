"""Looking into programs while they run (`jax.debug`), and at why they were traced and compiled."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

import xtrace.callbacks  # noqa: F401  (callbacks run through the runtime)
from xtrace.api.explanations import explain
from xtrace.api.visualizing import visualize_array_sharding, visualize_sharding
from xtrace.core import formatting, pytree, source
from xtrace.core.primitive import as_array, shaped
from xtrace.core.trace import Tracer, current
from xtrace.debugger import breakpoint
from xtrace.lax import callbacks
from xtrace.lax.callbacks import DebugEffect, OrderedDebugEffect
from xtrace.runtime import backends, jaxlib_api, shardings, spmd


def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = False,
    **kwargs: object,
) -> Any:
    """Print values when the program runs, traced and compiled functions included.

    Args:
      fmt: a format string, filled in as `str.format` does. Left out, the options are remembered:
        `print(ordered=True)("x is {}", x)`.
      args, kwargs: what to fill in: arrays in any structure, and other objects.
      ordered: whether messages come in program order, those of programs called one after the other included.
      partitioned: in programs over several devices, print what each device has, instead of whole arrays once.
      skip_format_check: whether not to check `fmt` against the arguments while tracing.

    Raises:
      KeyError, IndexError: `fmt` asks for an argument that isn't there.
      ValueError: an argument doesn't appear in `fmt`.

    Example:
      >>> import xtrace as xt
      >>> @xt.jit
      ... def f(x):
      ...     xt.debug.print("x is {}, twice {y}", x, y=2 * x)
      >>> f(3)
      x is 3, twice 6
    """

    def record(fmt: str, *args: Any, **kwargs: Any) -> None:
        if not skip_format_check:
            formatting.check_format(fmt, args, kwargs)
        leaves, in_tree = pytree.tree_flatten((args, kwargs))
        arrays, static = callbacks.split_static(leaves)
        callbacks.debug_print_p.bind(
            *arrays,
            fmt=fmt,
            has_placeholders=formatting.has_placeholders(fmt),
            in_tree=in_tree,
            logging_record=_log_record() if _use_logging else None,
            np_printoptions=tuple(np.get_printoptions().items()),
            ordered=bool(ordered),
            partitioned=bool(partitioned),
            static_args=tuple(static.items()),
        )

    if fmt is not None:
        return record(fmt, *args, **kwargs)
    if args or kwargs:
        raise TypeError(
            f"debug_print received unexpected arguments in the two-call form: {args=} {kwargs=}. Give them with the "
            "format: print(ordered=True)(fmt, x=x)."
        )
    return record


def _log_record() -> logging.LogRecord:
    line = source.resolve(source.here(2))
    return formatting.log_record(logging.INFO, line.file if line else "(unknown file)", line.line if line else 0)


def log(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = True,
    **kwargs: Any,
) -> Any:
    """Like `print`, to the logger "xtrace.debug" at level INFO, from the line that logs.

    Example:
      >>> import xtrace as xt
      >>> xt.jit(lambda x: xt.debug.log("x is {}", x))(3)
    """
    return print(
        fmt,
        *args,
        ordered=ordered,
        partitioned=partitioned,
        skip_format_check=skip_format_check,
        _use_logging=_use_logging,
        **kwargs,
    )


def callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with values when the program runs; what it returns is ignored.

    Args:
      callback: gets arrays on a CPU device, in the structure of `args` and `kwargs`. Left out, the options are
        remembered: `callback(ordered=True)(f, x)`.
      args, kwargs: arrays in any structure, and other objects, which the function gets as they are.
      ordered: whether calls come in program order, those of programs called one after the other included.
      partitioned: in programs over several devices, call with what each device has, instead of whole arrays once.

    Raises:
      TypeError: `callback` can't be called.

    Example:
      >>> import xtrace as xt
      >>> seen = []
      >>> xt.jit(lambda x: xt.debug.callback(lambda x: seen.append(int(x)), x))(3)
      >>> xt.effects_barrier()
      >>> seen
      [3]
    """

    def record(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        if not callable(fun):
            raise TypeError(
                f"first argument to jax.debug.callback must be callable, but got an object of type {type(fun)}"
            )
        leaves, in_tree = pytree.tree_flatten((args, kwargs))
        arrays, static = callbacks.split_static(leaves)
        found = tuple(static.items())

        def flat(*arrays: Any) -> None:
            args, kwargs = in_tree.unflatten(callbacks.merge_static(arrays, found))
            fun(*args, **kwargs)

        effect = callbacks.ordered_debug_effect if ordered else callbacks.debug_effect
        callbacks.debug_callback_p.bind(*arrays, callback=flat, effect=effect, partitioned=bool(partitioned))

    if callback is not None:
        return record(callback, *args, **kwargs)
    if args or kwargs:
        raise TypeError(
            f"debug_callback received unexpected arguments in the two-call form: {args=} {kwargs=}. Give them with the "
            "function: callback(ordered=True)(f, x)."
        )
    return record


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Learn how an array is split over devices: where it is, or inside of jit how the compiler will split it.

    Args:
      value: an array.
      callback: called with the Sharding, at once or when the program is compiled.

    Example:
      >>> import xtrace as xt
      >>> xt.debug.inspect_array_sharding(xt.numpy.ones(3), callback=lambda s: xt.debug.print("{}", len(s.device_set)))
      1
    """

    def inspect(x: Any) -> None:
        ndim = shaped(x).ndim

        def found(devices: tuple[Any, ...], hlo_sharding: Any) -> None:
            if not devices:
                return callback(shardings.single_device_sharding(backends.default_device()))
            sharding = jaxlib_api.GSPMDSharding(jaxlib_api.DeviceList(devices), hlo_sharding)
            return callback(spmd.named(sharding, ndim) or sharding)

        callbacks.inspect_sharding_p.bind(x, callback=found)

    for leaf in pytree.tree_leaves(value):
        if isinstance(leaf, Tracer) or current.trace is not None:
            inspect(leaf)
        else:
            callback(as_array(leaf).sharding)


def _inspect_now(x: Any, *, callback: Any) -> list[Any]:
    """Outside any trace, where eager derivatives and vmap end up."""
    x = as_array(x)
    callback(tuple(x.sharding._device_assignment), x.sharding._to_xla_hlo_sharding(x.ndim))
    return []


callbacks.inspect_sharding_p.impl = _inspect_now

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "breakpoint",
    "callback",
    "explain",
    "inspect_array_sharding",
    "log",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]
