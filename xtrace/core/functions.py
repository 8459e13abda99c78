"""What the language needs to know of user functions: their names, their code, and caches that die with them."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any


def fun_name(fun: Callable[..., Any]) -> str:
    """The name that errors and programs give to `fun`."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return getattr(fun, "__name__", None) or type(fun).__name__


def code_of(fun: Callable[..., Any]) -> Any:
    """The code object of `fun`, through partials, wrappers and methods; None where it has none."""
    while True:
        if isinstance(fun, functools.partial):
            fun = fun.func
        elif hasattr(fun, "__wrapped__"):
            fun = fun.__wrapped__
        else:
            break
    code = getattr(fun, "__code__", None)
    if code is None:
        call = getattr(type(fun), "__call__", None)  # noqa: B004
        code = getattr(call, "__code__", None) or getattr(getattr(fun, "__func__", None), "__code__", None)
    return code


def described(fun: Callable[..., Any]) -> str:
    """The name of `fun` with its file and line."""
    code = code_of(fun)
    name = fun_name(fun)
    return name if code is None else f"{name} at {code.co_filename}:{code.co_firstlineno}"


def parameter_names(code: Any) -> tuple[str, ...]:
    """Names of the positional parameters of a code object."""
    return () if code is None else code.co_varnames[: code.co_argcount]


_by_function: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


def cache_of(fun: Callable[..., Any]) -> dict[Any, Any]:
    """A dictionary that lives as long as `fun`. Its values must not refer to `fun`.

    A bound method has the dictionary of its object, keyed by the method: every look-up of `x.f` makes a new method.
    """
    try:
        if type(fun) is types.MethodType:
            of_object = _by_function.get(fun.__self__)
            if of_object is None:
                of_object = _by_function[fun.__self__] = {}
            return of_object.setdefault(fun.__func__, {})
        found = _by_function.get(fun)
        if found is None:
            found = _by_function[fun] = {}
        return found
    except TypeError:  # unhashable, or without weak references
        return {}


def clear_caches() -> None:
    """Forget everything kept by `cache_of`."""
    for cache in list(_by_function.values()):
        cache.clear()
