"""Keys: making, splitting, wrapping and unwrapping them; and raw bits."""

from __future__ import annotations

from typing import Any, NewType

import numpy as np

from xtrace import lax
from xtrace.core import config, dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.core.trace import Tracer, current
from xtrace.lax import random_bits, shapes
from xtrace.random.arguments import (
    Sampler,
    as_key,
    canonical_shape,
    placed,
    resolve_impl,
    sampler,
    unsigned_dtype,
    words_of,
)
from xtrace.random.key_array import PRNGKeyArray
from xtrace.runtime import transfers
from xtrace.runtime.array import Array
from xtrace.runtime.jaxlib_api import ArrayImpl

#: The type of keys, for annotations.
Key = NewType("Key", Array)

# -- from seeds ------------------------------------------------------------------------------------------------------


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Make a key from an integer.

    Args:
      seed: a scalar integer. Only its low 32 bits (64 in x64 mode) matter. The flag `random_seed_offset` is added.
      impl: name of the generator: "threefry2x32", "threefry4x32", "philox2x32", "philox4x32", "rbg" or "unsafe_rbg";
        None: the configured default.
      dtype: in place of `impl`, a key dtype.

    Returns:
      A scalar array of key dtype.

    Raises:
      TypeError: the seed is a key, not an integer, or not a scalar.
      ValueError: there is no such generator.

    Example:
      >>> import xtrace as xt
      >>> xt.random.key(42)
      Array((), dtype=key<fry>) overlaying:
      [ 0 42]
    """
    if dtype is not None:
        if impl is not None:
            raise ValueError("Cannot specify both `impl` and `dtype` arguments of random.key")
        impl = dtype
    return _seeded("key", seed, resolve_impl(impl))


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """Make a raw key, an array of uint32 words, from an integer: the old style of `key`.

    Args:
      seed: an integer, which may be traced.
      impl: name of the generator, or None for the default.

    Returns:
      A uint32 array of the shape of the generator's keys.

    Example:
      >>> import xtrace as xt
      >>> xt.random.PRNGKey(42)
      Array([ 0, 42], dtype=uint32)
    """
    made = _seeded("PRNGKey", seed, resolve_impl(impl))
    return made if config.enable_custom_prng.value else random_bits.random_unwrap(made)


def _seeded(name: str, seed: Any, impl: random_bits.PRNGImpl) -> Any:
    kind = type(seed)
    if kind is int or kind is bool:
        if current.trace is None and impl is random_bits.threefry2x32 and not config.random_seed_offset.value:
            bits = 64 if config.enable_x64.value else 32
            if not -(2**63) <= seed < 2**63:
                raise OverflowError(f"{name}: seed {seed} does not fit in 64 bits; reduce it, e.g. seed % 2**32")
            low = seed & (2**bits - 1)
            words = np.array([low >> 32, low & 0xFFFFFFFF], np.uint32)
            return PRNGKeyArray(impl, transfers.put(words, _RAW, None, False))
        return random_bits.random_seed(_seed_scalar(name, seed), impl)
    aval = getattr(seed, "aval", None)
    if aval is not None and isinstance(aval.dtype, random_bits.KeyDtype):
        raise TypeError(f"{name} accepts a scalar seed, but was given a PRNG key.")
    if aval is None:
        if isinstance(seed, (str, bytes)) or np.asarray(seed).dtype.kind in "OSU":
            raise TypeError(f"{name} accepts an integer seed, got {seed!r} of type {kind.__name__}")
        seed = np.asarray(seed)
    dtype = aval.dtype if aval is not None else seed.dtype
    if seed.shape:
        raise TypeError(
            f"{name} accepts a scalar seed, but was given an array of shape {tuple(seed.shape)} != (). "
            "Use vmap for batching."
        )
    if dtypes.kind(dtype) not in "biu":
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r} of dtype {dtype}")
    if aval is None:
        seed = _seed_scalar(name, int(seed)) if dtype.itemsize == 8 or dtypes.is_bool(dtype) else seed[()]
    elif dtypes.is_bool(dtype):
        seed = shapes.convert_element_type(seed, dtypes.int32)
    return random_bits.random_seed(seed, impl)


_RAW = ShapedArray((2,), dtypes.uint32)


def _seed_scalar(name: str, seed: int) -> Any:
    """A Python int as the default integer type; the high bits that it can't hold are dropped."""
    if not -(2**63) <= seed < 2**63:
        raise OverflowError(f"{name}: seed {seed} does not fit in 64 bits; reduce it, e.g. seed % 2**32")
    return np.array(seed, np.int64).astype(dtypes.canonicalize(dtypes.int64))[()]


# -- words and generators of keys ------------------------------------------------------------------------------------


def _is_typed(keys: Any) -> bool:
    aval = getattr(keys, "aval", None)
    return aval is not None and isinstance(aval.dtype, random_bits.KeyDtype)


def key_data(keys: Any) -> Any:
    """The uint32 words of keys: shape keys.shape + the key shape of the generator. Raw keys are returned as they are.

    Args:
      keys: an array of keys, typed or raw.

    Returns:
      A uint32 array.

    Example:
      >>> import xtrace as xt
      >>> xt.random.key_data(xt.random.key(42))
      Array([ 0, 42], dtype=uint32)
    """
    if _is_typed(keys):
        return random_bits.random_unwrap_p.bind(keys)
    _check_words(keys, resolve_impl())
    if isinstance(keys, (ArrayImpl, Tracer)):
        return keys
    return transfers.put(np.asarray(keys), shaped(keys), None, False)


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """The typed keys that uint32 words stand for; the inverse of `key_data`.

    Args:
      key_bits_array: uint32 array whose trailing dimensions are the generator's key shape.
      impl: name of the generator, or None for the default.
      dtype: in place of `impl`, a key dtype.

    Returns:
      An array of keys.

    Raises:
      TypeError: wrong dtype or shape.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.random.wrap_key_data(np.array([0, 42], np.uint32))
      Array((), dtype=key<fry>) overlaying:
      [ 0 42]
    """
    if dtype is not None:
        if impl is not None:
            raise ValueError("Cannot specify both `impl` and `dtype` arguments of random.wrap_key_data")
        impl = dtype
    found = resolve_impl(impl)
    if _is_typed(key_bits_array):
        raise TypeError(f"invalid PRNG key data: expected an array of uint32, got keys of dtype {key_bits_array.dtype}")
    _check_words(key_bits_array, found)
    if current.trace is None and not isinstance(key_bits_array, ArrayImpl):
        key_bits_array = transfers.put(np.asarray(key_bits_array), shaped(key_bits_array), None, False)
    return random_bits.random_wrap_p.bind(key_bits_array, impl=found)


def _check_words(words: Any, impl: random_bits.PRNGImpl) -> None:
    if not (hasattr(words, "ndim") and hasattr(words, "shape") and hasattr(words, "dtype")):
        raise TypeError(
            f"invalid PRNG key data: expected key_data to have ndim, shape, and dtype attributes. Got {words!r}"
        )
    random_bits.check_key_words(shaped(words), impl)


def key_impl(keys: Any) -> Any:
    """The name of the generator that keys belong to.

    Args:
      keys: an array of keys, typed or raw.

    Returns:
      The name; of a generator without one, what describes it.

    Example:
      >>> import xtrace as xt
      >>> xt.random.key_impl(xt.random.key(0))
      'threefry2x32'
    """
    if _is_typed(keys):
        return keys.aval.dtype.impl.name
    impl = resolve_impl()
    _check_words(keys, impl)
    return impl.name


def key_dtype(impl_spec: Any = None) -> Any:
    """The dtype of the keys of a generator, given by name; None: the default generator.

    Args:
      impl_spec: name of a generator, or None for the default.

    Returns:
      A dtype.

    Example:
      >>> import xtrace as xt
      >>> xt.random.key_dtype("rbg")
      key<rbg>
    """
    return resolve_impl(impl_spec).dtype


def clone(key: Any) -> Any:
    """The same key, as one that may be used again.

    Args:
      key: a key, or an array of keys.

    Returns:
      The key.

    Example:
      >>> import xtrace as xt
      >>> key = xt.random.key(0)
      >>> bool(xt.random.clone(key) == key)
      True
    """
    if not isinstance(shaped(key).dtype, random_bits.KeyDtype):
        as_key("clone", key)
    return key


# -- new keys out of old ones ----------------------------------------------------------------------------------------


@sampler("shape")
def _split(key: Any, *, shape: tuple[int, ...]) -> Any:
    return random_bits.random_unwrap_p.bind(random_bits.random_split(key, shape))


@sampler()
def _fold_in(key: Any, data: Any) -> Any:
    return random_bits.random_unwrap_p.bind(random_bits.random_fold_in(key, data))


def _new_keys(made: Sampler, name: str, key: Any, *args: Any, **static: Any) -> Any:
    """Run a program that makes words of keys, and give them the style of `key`."""
    words, impl, typed = words_of(name, key)
    run = made.run
    if run is None:
        run = made.run = made.compile()
    out = run(words, *args, impl=impl, **static)
    return PRNGKeyArray(impl, out) if typed else out


def split(key: Any, num: Any = 2) -> Any:
    """Split a key into new, independent ones.

    Args:
      key: a single key. It should not be used for anything else afterwards.
      num: how many, an int or a shape.

    Returns:
      An array of `num` keys, typed or raw as `key` is.

    Raises:
      ValueError: several keys were given.

    Example:
      >>> import xtrace as xt
      >>> xt.random.split(xt.random.key(42)).shape
      (2,)
    """
    shape = (num,) if type(num) is int and num >= 0 else canonical_shape("split", num)
    if current.trace is None:
        return _new_keys(_split, "split", key, shape=shape)
    key, typed = as_key("split", key)
    keys = random_bits.random_split(key, shape)
    return keys if typed else random_bits.random_unwrap_p.bind(keys)


def fold_in(key: Any, data: Any) -> Any:
    """Make a new key out of a key and a number, e.g. of a step or a device.

    Args:
      key: a single key.
      data: a scalar, used as uint32.

    Returns:
      A key, typed or raw as `key` is.

    Raises:
      ValueError: several keys were given, or `data` is text or None.
      TypeError: `data` isn't a scalar.
      OverflowError: a Python int doesn't fit in uint32.

    Example:
      >>> import xtrace as xt
      >>> xt.random.fold_in(xt.random.key(42), 7).shape
      ()
    """
    number: Any
    if isinstance(data, (int, float)) and not isinstance(data, np.generic):
        value = statics.integer(data, "data") if isinstance(data, int) else int(data)
        if not 0 <= value < 2**32:
            raise OverflowError(f"fold_in: Python integer {value} out of bounds for uint32")
        number = np.uint32(value)
    else:
        if data is None or isinstance(data, (str, bytes)):
            raise ValueError(f"fold_in: data must be a number, got {data!r}")
        shape = shaped(data).shape
        if shape:
            raise TypeError(
                f"fold_in accepts a scalar, but was given an array of shape {shape} != (). Use vmap for batching."
            )
        number = data if shaped(data).dtype == dtypes.uint32 else shapes.convert_element_type(data, dtypes.uint32)
    if current.trace is None:
        return _new_keys(_fold_in, "fold_in", key, number)
    key, typed = as_key("fold_in", key)
    out = random_bits.random_fold_in(key, number)
    return out if typed else random_bits.random_unwrap_p.bind(out)


def split_single(key: Any, n: int = 2) -> list[Any]:
    """n new keys out of a typed key that is being traced."""
    return lax.unstack(random_bits.random_split(key, (n,)))


# -- bits ------------------------------------------------------------------------------------------------------------


@sampler("shape", "width")
def _bits(key: Any, *, shape: tuple[int, ...], width: int) -> Any:
    return random_bits.random_bits(key, width, shape)


def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Uniform random bits as unsigned integers.

    Args:
      key: a single key.
      shape: of the result.
      dtype: an unsigned integer type; None: uint32 (uint64 in x64 mode).
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Raises:
      ValueError: the dtype isn't unsigned.

    Example:
      >>> import xtrace as xt
      >>> xt.random.bits(xt.random.key(42), (2,), "uint8")
      Array([162, 217], dtype=uint8)
    """
    dtype = dtypes.canonical_dtype(np.uint64) if dtype is None else unsigned_dtype("bits", dtype)
    width = max(8, dtypes.itemsize_bits(dtype))
    return placed(_bits("bits", key, shape=canonical_shape("bits", shape), width=width), out_sharding)
