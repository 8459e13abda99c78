"""Errors of run-time values in compiled programs (jax.experimental.checkify).

`check` states what has to hold. `checkify` turns a function with checks into one that returns the error as a value,
which can be compiled, mapped and differentiated; outside, `err.throw()` raises it. Automatic checks (NaNs, division by
0, indices out of bounds) are added on request.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.checking import interpreter
from xtrace.checking.errors import (
    DivisionByZeroError,
    Error,
    FailedCheckError,
    JaxException,
    JaxRuntimeError,
    NaNError,
    OOBError,
    bind_check,
    init_error,
    raise_or_check,
)
from xtrace.core import dtypes, pytree, source
from xtrace.core.functions import code_of, fun_name
from xtrace.core.jaxpr import DebugInfo
from xtrace.core.primitive import as_array, aval_of, shaped
from xtrace.core.trace import Tracer
from xtrace.lax import bitwise
from xtrace.runtime.jaxlib_api import ArrayImpl
from xtrace.transforms.staging import trace_to_jaxpr

__all__ = [
    "Error",
    "ErrorCategory",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]

ErrorCategory = type[JaxException]

user_checks: frozenset[ErrorCategory] = frozenset({FailedCheckError})
nan_checks: frozenset[ErrorCategory] = frozenset({NaNError})
index_checks: frozenset[ErrorCategory] = frozenset({OOBError})
div_checks: frozenset[ErrorCategory] = frozenset({DivisionByZeroError})
float_checks: frozenset[ErrorCategory] = nan_checks | div_checks
automatic_checks: frozenset[ErrorCategory] = float_checks | index_checks
all_checks: frozenset[ErrorCategory] = automatic_checks | user_checks


def checkify(f: Callable[..., Any], errors: frozenset[ErrorCategory] = user_checks) -> Callable[..., tuple[Error, Any]]:
    """Turn a function with checks into one that returns the first failure beside its result.

    Args:
      f: a function of any arguments; its checks may be inside jit, scan, while_loop, cond, vmap, grad.
      errors: the categories of checks that are made: `user_checks`, `nan_checks`, `div_checks`, `index_checks`, or a
        union of them.

    Returns:
      A function of the same arguments that returns (error, result). `error.get()` is the message, or None;
      `error.throw()` raises it.

    Raises:
      ValueError: a check is inside of a while_loop under vmap, whose elements end at different times.

    Example:
      >>> import xtrace as xt, xtrace.numpy as xnp
      >>> from xtrace.experimental import checkify
      >>> @xt.jit
      ... def f(x):
      ...     checkify.check(x > 0, "{x} is not positive", x=x)
      ...     return xnp.log(x)
      >>> err, out = checkify.checkify(f)(xnp.float32(-1))
      >>> err.get().split(" (")[0]
      '-1.0 is not positive'
    """
    enabled = frozenset(errors)

    @functools.wraps(f, updated=())
    @source.boundary
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        trees: list[Any] = []

        def flat() -> list[Any]:
            leaves, tree = pytree.tree_flatten(f(*args, **kwargs))
            trees.append(tree)
            return leaves

        info = DebugInfo(fun_name(f), "checkify", code=code_of(f))
        jaxpr = trace_to_jaxpr(flat, (), info)
        error, outs = interpreter.run(jaxpr, jaxpr.consts, enabled, ())
        return error, trees[0].unflatten([as_array(o) for o in outs])

    return checked


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """State that a condition holds; where it doesn't, the error is raised, or returned by `checkify`.

    Args:
      pred: a boolean scalar.
      msg: a format string for the message.
      fmt_args, fmt_kwargs: arrays, or pytrees of them, that the message shows.
      debug: leave the check out of functions that are not wrapped in `checkify`, as `debug_check` does.

    Raises:
      JaxRuntimeError: the condition is known not to hold.
      TypeError: `pred` is not a boolean scalar, or a value for the message is not an array.
      ValueError: the check is compiled in a function that is not wrapped in `checkify`.

    Example:
      >>> from xtrace.experimental import checkify
      >>> checkify.check(True, "never seen")
    """
    _check("check", pred, msg, debug, fmt_args, fmt_kwargs)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """`check` that is left out of functions that are not wrapped in `checkify`.

    Args:
      pred: a boolean scalar.
      msg: a format string for the message.
      fmt_args, fmt_kwargs: arrays, or pytrees of them, that the message shows.

    Raises:
      TypeError: `pred` is not a boolean scalar, or a value for the message is not an array.

    Example:
      >>> from xtrace.experimental import checkify
      >>> checkify.debug_check(False, "not raised: nothing collects errors here")
    """
    _check("debug_check", pred, msg, True, fmt_args, fmt_kwargs)


def _check(name: str, pred: Any, msg: str, debug: bool, args: Any, kwargs: Any) -> None:
    if not isinstance(pred, bool):
        try:
            aval = shaped(pred)
        except TypeError:
            aval = None
        if aval is None or aval.shape or not dtypes.is_bool(aval.dtype):
            raise TypeError(
                f"{name} takes a scalar pred as argument, got {pred}: a boolean scalar; reduce an array with .all()"
            )
    if not isinstance(msg, str):
        raise TypeError(f"{name} takes a format string as its message, got {msg!r} of type {type(msg)}")
    for x in pytree.tree_leaves((args, kwargs)):
        if not isinstance(x, (Tracer, ArrayImpl)):
            try:
                aval_of(x)
            except TypeError:
                raise TypeError(
                    f"Formatting arguments to checkify.{name} need to be PyTrees of arrays, but got {x!r} of type "
                    f"{type(x)}. Write it into the message instead."
                ) from None
    where = source.describe(source.here(2))
    failed = bitwise.bitwise_not(pred) if isinstance(pred, (Tracer, ArrayImpl)) else np.bool_(not pred)
    bind_check(init_error.add(failed, FailedCheckError(where, msg, args, kwargs)), debug)


def check_error(error: Error) -> None:
    """Raise an error that `checkify` returned; in a function that is traced, make it a check of that function.

    Args:
      error: what a function wrapped in `checkify` returned, or a batch of such errors.

    Raises:
      JaxRuntimeError: something failed.
      TypeError: `error` is not an Error.

    Example:
      >>> from xtrace.experimental import checkify
      >>> err, result = checkify.checkify(lambda: 1)()
      >>> checkify.check_error(err)
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes an Error as argument, got type {type(error)} instead.")
    raise_or_check(error)
