"""Functions with a list of transformations still to be applied to their calls (jax.extend.linear_util).

xtrace's own transformations are plain functions of functions; this is for libraries that write theirs in this form.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from xtrace.core.jaxpr import DebugInfo


class StoreException(Exception):
    """A store was read before it was written, or written twice."""


_EMPTY: Any = object()


class Store:
    """Holds a value that a transformation learns only when the function is called, such as its output tree."""

    __slots__ = ("_val",)

    def __init__(self) -> None:
        self._val = _EMPTY

    def store(self, value: Any) -> None:
        if self._val is not _EMPTY:
            raise StoreException("Store occupied: the function was called twice")
        self._val = value

    @property
    def val(self) -> Any:
        if self._val is _EMPTY:
            raise StoreException("Store empty: the function has not been called yet")
        return self._val

    def reset(self) -> None:
        self._val = _EMPTY

    def __bool__(self) -> bool:
        return self._val is not _EMPTY


class EqualStore(Store):
    """A store that may be written again with an equal value."""

    __slots__ = ()

    def store(self, value: Any) -> None:
        if self and value != self._val:
            raise StoreException(f"Store occupied with another value: {self._val} and {value}")
        self._val = value


class WrappedFun:
    """A function, and the transformations that are applied when it is called, outermost first."""

    __slots__ = ("f", "f_transformed", "transforms", "stores", "params", "in_type", "debug_info", "__weakref__")

    def __init__(
        self,
        f: Callable[..., Any],
        f_transformed: Callable[..., Any],
        transforms: tuple[Any, ...],
        stores: tuple[Store | None, ...],
        params: tuple[tuple[str, Any], ...],
        in_type: Any,
        debug_info: DebugInfo,
    ) -> None:
        self.f, self.f_transformed = f, f_transformed
        self.transforms, self.stores = transforms, stores
        self.params, self.in_type, self.debug_info = params, in_type, debug_info

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed function>")

    def wrap(self, gen: Callable[..., Any], static_args: tuple[Any, ...], store: Store | None) -> WrappedFun:
        """With one more transformation, `gen(f, *static_args, *args)` or `gen(f, store, *static_args, *args)`."""
        front = (*static_args,) if store is None else (store, *static_args)
        transformed = functools.partial(gen, self.f_transformed, *front)
        return WrappedFun(
            self.f,
            transformed,
            ((gen, static_args), *self.transforms),
            (store, *self.stores),
            self.params,
            None,
            self.debug_info,
        )

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function through all its transformations."""
        return self.f_transformed(*args, **kwargs)

    def populate_stores(self, stores: Sequence[Store | None]) -> None:
        """Fill this function's stores with the values of another's."""
        for own, other in zip(self.stores, stores):
            if own is not None and other is not None:
                own.store(other.val)

    def with_unknown_names(self) -> WrappedFun:
        return self

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, WrappedFun) and (self.f, self.transforms, self.params, self.in_type) == (
            other.f,
            other.transforms,
            other.params,
            other.in_type,
        )

    def __hash__(self) -> int:
        return hash((self.f, self.transforms, self.params, self.in_type))

    def __repr__(self) -> str:
        lines = [f"{i}: {getattr(g, '__name__', g)} {a}" for i, (g, a) in enumerate(self.transforms)]
        return "\n".join([f"WrappedFun of {self.__name__}", *lines])


def wrap_init(
    f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: DebugInfo | None = None
) -> WrappedFun:
    """A `WrappedFun` of `f` without transformations; `params` are keyword arguments of every call.

    >>> from xtrace.extend import linear_util as lu
    >>> lu.wrap_init(lambda x: x + 1).call_wrapped(2)
    3
    """
    call = functools.partial(f, **params) if params else f
    items = tuple(sorted((params or {}).items()))
    return WrappedFun(f, call, (), (), items, None, debug_info or DebugInfo(getattr(f, "__name__", "<unknown>")))


def transformation2(gen: Callable[..., Any], fun: WrappedFun, *gen_static_args: Any) -> WrappedFun:
    """Wrap `fun` so that a call with `args` is `gen(f, *gen_static_args, *args)`."""
    return fun.wrap(gen, gen_static_args, None)


def transformation_with_aux2(
    gen: Callable[..., Any],
    fun: WrappedFun,
    *gen_static_args: Any,
    use_eq_store: bool = False,
    unk_names: bool = False,
) -> tuple[WrappedFun, Callable[[], Any]]:
    """As `transformation2`, where `gen(f, store, *gen_static_args, *args)` stores an auxiliary value.

    Returns the wrapped function, and a function that gives the stored value after the call.
    """
    store: Store = EqualStore() if use_eq_store else Store()
    return fun.wrap(gen, gen_static_args, store), lambda: store.val


def _run_generator(gen: Callable[..., Any], f: Callable[..., Any], static: tuple[Any, ...], args: Any, kw: Any) -> Any:
    """One call through a transformation written as a generator: it yields arguments, and then the result."""
    steps = gen(*static, *args, **kw)
    inner_args, inner_kwargs = next(steps)
    return steps.send(f(*inner_args, **inner_kwargs))


@functools.cache
def _as_function(gen: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(gen)
    def transform(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return _run_generator(gen, f, (), args, kwargs)

    return transform


@functools.cache
def _as_function_with_aux(gen: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(gen)
    def transform(f: Callable[..., Any], store: Store, *args: Any, **kwargs: Any) -> Any:
        out, aux = _run_generator(gen, f, (), args, kwargs)
        store.store(aux)
        return out

    return transform


def transformation(gen: Any, fun: WrappedFun | None = None, *gen_static_args: Any) -> Any:
    """Wrap `fun` by a generator: `gen(*gen_static_args, *args)` yields (args, kwargs) for the inner call, receives its
    result and yields the outer result. With `gen` alone it is a decorator of such generators."""
    if fun is None:
        return functools.partial(transformation, gen)
    return transformation2(_as_function(gen), fun, *gen_static_args)


def transformation_with_aux(gen: Any, fun: WrappedFun | None = None, *gen_static_args: Any) -> Any:
    """As `transformation`; the generator's last yield is a pair of the result and an auxiliary value."""
    if fun is None:
        return functools.partial(transformation_with_aux, gen)
    return transformation_with_aux2(_as_function_with_aux(gen), fun, *gen_static_args)


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Of two auxiliary values of which one was stored: (whether it is the first, the value)."""
    try:
        out = aux1()
    except StoreException:
        try:
            return False, aux2()
        except StoreException:
            raise StoreException("neither store occupied") from None
    try:
        aux2()
    except StoreException:
        return True, out
    raise StoreException("both stores occupied")


def cache(call: Callable[..., Any], *, explain: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Memoise `call(fun: WrappedFun, *args)` for as long as the function that `fun` wraps is alive."""
    by_function: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()

    @functools.wraps(call)
    def cached(fun: WrappedFun, *args: Any) -> Any:
        entries = by_function.setdefault(fun.f, {})
        key = (fun.transforms, fun.params, fun.in_type, args)
        found = entries.get(key)
        if found is None:
            out = call(fun, *args)
            entries[key] = (out, fun.stores)
            return out
        out, stores = found
        fun.populate_stores(stores)
        return out

    def clear() -> None:
        by_function.clear()

    cached.cache_clear = clear  # type: ignore[attr-defined]
    return cached


__all__ = [
    "StoreException",
    "WrappedFun",
    "cache",
    "merge_linear_aux",
    "transformation",
    "transformation2",
    "transformation_with_aux",
    "transformation_with_aux2",
    "wrap_init",
]
