"""What all samplers do with their arguments: keys, shapes and dtypes; and how they run."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.core import composite, config, dtypes, source, warned
from xtrace.core.primitive import shaped
from xtrace.core.trace import current
from xtrace.lax import random_bits
from xtrace.random.key_array import PRNGKeyArray
from xtrace.runtime.jaxlib_api import ArrayImpl

# -- keys ------------------------------------------------------------------------------------------------------------


def resolve_impl(spec: Any = None) -> random_bits.PRNGImpl:
    """The generator that `spec` names: a name, a key dtype, a PRNGImpl; None: the configured default."""
    if spec is None:
        return random_bits.find_impl(config.default_prng_impl.value)
    if isinstance(spec, random_bits.PRNGImpl):
        return spec
    if isinstance(spec, random_bits.KeyDtype):
        return spec.impl
    if isinstance(spec, str):
        return random_bits.find_impl(spec)
    raise TypeError(
        f"unrecognized type {type(spec)} for specifying a PRNG implementation: `impl` is a name or a key dtype"
    )


def words_of(name: str, key: Any) -> tuple[Any, random_bits.PRNGImpl, bool]:
    """(words, generator, whether the key is typed) of a single concrete key.

    Raises TypeError for what is no key, ValueError for several keys.
    """
    kind = type(key)
    if kind is PRNGKeyArray:
        if key.aval.shape:
            raise _several(name, key.shape)
        return key._base_array, key._impl, True
    impl = resolve_impl()
    if not (kind is ArrayImpl and key.aval.dtype == dtypes.uint32 and key.aval.shape == impl.key_shape):
        _check_raw(name, key, impl)
    if _legacy.value != "allow":
        _object_to_raw(name)
    return key, impl, False


def _several(name: str, shape: tuple[int, ...]) -> ValueError:
    return ValueError(
        f"{name} accepts a single key, but was given a key array of shape {shape} != (). Use vmap for batching, "
        "or take one key of it by its index."
    )


def _check_raw(name: str, key: Any, impl: random_bits.PRNGImpl) -> None:
    if not (hasattr(key, "ndim") and hasattr(key, "shape") and hasattr(key, "dtype")):
        raise TypeError(
            f"{name}: invalid PRNG key data: expected key_data to have ndim, shape, and dtype attributes. Got {key!r}. "
            "Make a key with random.key(seed)."
        )
    aval = shaped(key)
    random_bits.check_key_words(aval, impl)
    if aval.ndim > len(impl.key_shape):
        raise _several(name, aval.shape)


_legacy = config.legacy_prng_key.state


def _object_to_raw(name: str) -> None:
    """Warn of a raw key, or refuse it, as the flag legacy_prng_key says."""
    message = (
        f"Legacy uint32 key array passed as key to jax.random function {name}: jax_legacy_prng_key is set to "
        f"{_legacy.value!r}. Make keys with random.key(seed), turn raw ones into keys with random.wrap_key_data, or "
        "set jax_legacy_prng_key='allow'."
    )
    if _legacy.value == "error":
        raise ValueError(message)
    warned.warn(message)


def as_key(name: str, key: Any) -> tuple[Any, bool]:
    """(typed single key, whether it was typed), where something is being traced or not."""
    aval = getattr(key, "aval", None)
    if aval is not None and isinstance(aval.dtype, random_bits.KeyDtype):
        if aval.shape:
            raise _several(name, aval.shape)
        return key, True
    impl = resolve_impl()
    _check_raw(name, key, impl)
    if _legacy.value != "allow":
        _object_to_raw(name)
    return random_bits.random_wrap_p.bind(key, impl=impl), False


# -- running ---------------------------------------------------------------------------------------------------------


class Sampler:
    """A function of a single typed key and arrays, with static parameters by keyword, as a composite.

    Outside any trace it runs as one compiled program on the words of the key, so that jaxlib's C++ call path sees
    plain arrays; inside it inlines, and what it inlined is kept, to be copied at the next call of the same types.
    """

    __slots__ = ("fun", "run", "static", "kept", "__wrapped__", "__name__")

    def __init__(self, fun: Callable[..., Any], static: Sequence[str]) -> None:
        self.fun = self.__wrapped__ = fun
        self.__name__ = fun.__name__
        self.static = (*static, "impl")
        self.run: Callable[..., Any] | None = None
        self.kept: dict[Any, Any] = {}

    def __call__(self, name: str, key: Any, *args: Any, **static: Any) -> Any:
        if current.trace is not None:
            if current.position is not None:
                return current.trace.inline(self.kept, self.fun, (as_key(name, key)[0], *args), static)
            # All operations have the caller's line: it is searched once.
            current.position = source.here(2)
            try:
                return current.trace.inline(self.kept, self.fun, (as_key(name, key)[0], *args), static)
            finally:
                current.position = None
        words, impl, _ = words_of(name, key)
        run = self.run
        if run is None:
            run = self.run = self.compile()
        return run(words, *args, impl=impl, **static)

    def compile(self) -> Callable[..., Any]:
        fun = self.fun

        def program(words: Any, *args: Any, impl: random_bits.PRNGImpl, **static: Any) -> Any:
            return fun(random_bits.random_wrap_p.bind(words, impl=impl), *args, **static)

        program.__name__ = self.__name__
        return composite.compiled(program, self.static)


def sampler(*static: str) -> Callable[[Callable[..., Any]], Sampler]:
    """Decorator that makes a Sampler; `static` names the parameters that are Python values."""
    return lambda fun: Sampler(fun, static)


# -- shapes and dtypes -----------------------------------------------------------------------------------------------


def canonical_shape(name: str, shape: Any) -> tuple[int, ...]:
    """`shape` (an int or a sequence of ints) as a tuple."""
    if type(shape) is tuple and all([type(d) is int and d >= 0 for d in shape]):
        return shape
    try:
        out = (operator.index(shape),)
    except TypeError:
        try:
            out = tuple([operator.index(d) for d in shape])
        except TypeError:
            raise TypeError(
                f"{name}: shapes are integers or sequences of integers known while tracing, got {shape!r}"
            ) from None
    if any(d < 0 for d in out):
        raise ValueError(f"{name}: dimensions of a shape can't be negative, got {out}")
    return out


def common_shape(name: str, shape: Any, *args: Any) -> tuple[int, ...]:
    """The shape of samples whose parameters are `args`: theirs broadcast if `shape` is None, else `shape` checked."""
    shapes = [np.shape(a) if isinstance(a, (int, float, complex)) else shaped(a).shape for a in args]
    if shape is None:
        return broadcast_shapes(name, *shapes)
    shape = canonical_shape(name, shape)
    if any(shapes) and broadcast_shapes(name, shape, *shapes) != shape:
        raise ValueError(f"{name}: shape {shape} doesn't hold the parameters' {broadcast_shapes(name, *shapes)}")
    return shape


@functools.lru_cache(4096)
def broadcast_shapes(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """NumPy's broadcasting of shapes. Raises ValueError naming them."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"{name}: Incompatible shapes for broadcasting: shapes={[tuple(map(int, s)) for s in shapes]}"
        ) from None


@functools.lru_cache(512)
def _check_dtype(name: str, dtype: Any, kinds: str, what: str, error: type[Exception], x64: bool) -> tuple[Any, str]:
    asked = dtypes.as_dtype(dtype)
    got = dtypes.canonicalize(asked)
    if dtypes.kind(got) not in kinds:
        raise error(f"dtype argument to `{name}` must be {what} dtype, got {got}")
    if got != asked and not isinstance(dtype, type(float)):
        return got, (
            f"Explicitly requested dtype {asked} is not available, and will be truncated to dtype {got}. To enable "
            "more dtypes, set the enable_x64 configuration option."
        )
    return got, ""


def _checked(name: str, dtype: Any, kinds: str, what: str, error: type[Exception] = ValueError) -> Any:
    try:
        got, warning = _check_dtype(name, dtype, kinds, what, error, config.enable_x64.value)
    except TypeError as problem:  # an unhashable dtype
        if isinstance(problem, error):
            raise
        return _checked(name, dtypes.as_dtype(dtype), kinds, what, error)
    if warning:
        if config.explicit_x64_dtypes.value != "warn":
            asked = dtypes.as_dtype(dtype)
            raise ValueError(f"Explicitly requested dtype {asked} in {name} is not available: 64-bit types are off")
        warned.warn(warning)
    return got


def float_dtype(name: str, dtype: Any) -> Any:
    """A floating dtype, the default one for None."""
    return _checked(name, float if dtype is None else dtype, "f", "a float")


def inexact_dtype(name: str, dtype: Any) -> Any:
    """A floating or complex dtype, the default float for None."""
    return _checked(name, float if dtype is None else dtype, "fc", "a float or complex")


def unsigned_dtype(name: str, dtype: Any) -> Any:
    """An unsigned integer dtype."""
    return _checked(name, dtype, "u", "an unsigned int")


def integer_dtype(name: str, dtype: Any) -> Any:
    """An integer dtype, the default one for None."""
    dtype = int if dtype is None else dtype
    try:
        return _checked(name, dtype, "iu", "an integer", TypeError)
    except TypeError:
        if dtypes.kind(dtypes.canonical_dtype(dtype)) in "iu":
            raise
        raise TypeError(f"{name} only accepts integer dtypes, got {dtypes.canonical_dtype(dtype)}") from None


def number_dtype(name: str, dtype: Any, default: Any) -> Any:
    """Any numeric dtype."""
    return _checked(name, default if dtype is None else dtype, "iufc", "a numeric")


def placed(out: Any, out_sharding: Any) -> Any:
    """`out` with the sharding that was asked for, if any."""
    if out_sharding is None:
        return out
    if current.trace is None:
        from xtrace.runtime import transfers

        return transfers.device_put(out, out_sharding)
    from xtrace import lax

    return lax.with_sharding_constraint(out, out_sharding)
