"""Random number generators, made by name or written by the user (jax.extend.random)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from xtrace.api.batching import vmap
from xtrace.core import dtypes
from xtrace.lax import random_bits as _random_bits
from xtrace.lax.random_bits import PRNGImpl, random_seed, threefry2x32_p
from xtrace.numpy.creation import asarray
from xtrace.numpy.manipulation import broadcast_to, ravel

threefry_prng_impl = _random_bits.threefry2x32
rbg_prng_impl = _random_bits.rbg
unsafe_rbg_prng_impl = _random_bits.unsafe_rbg


def define_prng_impl(
    *,
    key_shape: tuple[int, ...],
    seed: Callable[..., Any],
    split: Callable[..., Any],
    random_bits: Callable[..., Any],
    fold_in: Callable[..., Any],
    name: str = "<unnamed>",
    tag: str = "?",
) -> Hashable:
    """Make a random number generator out of functions of single keys.

    Args:
      key_shape: shape of the words of a key, which are uint32.
      seed: (integer) -> words.
      split: (words, shape) -> words of shape `shape + key_shape`.
      random_bits: (words, bit width, shape) -> unsigned integers of that width and shape.
      fold_in: (words, uint32) -> words.
      name: what the generator is called. tag: what it is called in the names of dtypes, `key<tag>`.

    Returns:
      The generator, as `random.key(seed, impl=...)` takes it.

    Example:
      >>> import numpy as np, xtrace as xt, xtrace.numpy as xnp
      >>> from xtrace.extend.random import define_prng_impl
      >>> counter = define_prng_impl(
      ...     key_shape=(1,), name="counter", tag="cnt",
      ...     seed=lambda s: xnp.asarray(s).astype(np.uint32)[None],
      ...     split=lambda k, shape: k + xnp.arange(np.prod(shape), dtype=np.uint32).reshape(*shape, 1),
      ...     random_bits=lambda k, width, shape: xnp.full(shape, k[0]).astype(f"uint{width}"),
      ...     fold_in=lambda k, data: k + data)
      >>> xt.random.bits(xt.random.key(7, impl=counter), (2,))
      Array([7, 7], dtype=uint32)
    """
    made = PRNGImpl(name, tag, tuple(key_shape))

    def each(function: Callable[..., Any], ndim: int) -> Callable[..., Any]:
        for _ in range(ndim):
            function = vmap(function)
        return function

    def split_all(words: Any, batch: Any, shape: Any) -> Any:
        return each(lambda k: split(k, shape), len(batch))(words)

    def fold_in_all(words: Any, data: Any, batch: Any) -> Any:
        return each(fold_in, len(batch))(words, broadcast_to(data, batch))

    def bits_all(words: Any, batch: Any, width: int, shape: Any) -> Any:
        return each(lambda k: random_bits(k, width, shape), len(batch))(words)

    made.rules = (lambda seeds, batch: each(seed, len(batch))(seeds), split_all, fold_in_all, bits_all)
    return made


def seed_with_impl(impl: PRNGImpl, seed: Any) -> Any:
    """A key of a generator.

    >>> import xtrace as xt
    >>> from xtrace.extend.random import rbg_prng_impl, seed_with_impl
    >>> seed_with_impl(rbg_prng_impl, 0).dtype
    key<rbg>
    """
    from xtrace.random import key

    return key(seed, impl=impl)


def threefry_2x32(keypair: tuple[Any, Any], count: Any) -> Any:
    """The Threefry block cipher with 20 rounds on pairs of words (Salmon et al. 2011).

    Args:
      keypair: two uint32 scalars. count: uint32 array, whose first half is encrypted together with its second.

    Returns:
      A uint32 array like `count`.

    Example:
      >>> import numpy as np
      >>> from xtrace.extend.random import threefry_2x32
      >>> [hex(int(x)) for x in threefry_2x32((np.uint32(0), np.uint32(0)), np.zeros(2, np.uint32))]
      ['0x6b200159', '0x99ba4efe']
    """
    key0, key1 = (asarray(k) for k in keypair)
    count = asarray(count)
    for what, value in (("keypair", key0), ("keypair", key1), ("count", count)):
        if value.dtype != dtypes.uint32:
            raise TypeError(f"threefry_2x32 requires uint32 arguments, got {value.dtype} for {what}")
    flat = ravel(count)
    odd = flat.size % 2
    from xtrace.numpy import concatenate

    if odd:
        flat = concatenate([flat, np.zeros(1, np.uint32)])
    half = flat.size // 2
    out = concatenate(threefry2x32_p.bind(key0, key1, flat[:half], flat[half:]))
    return out[: count.size].reshape(count.shape)


__all__ = [
    "define_prng_impl",
    "random_seed",
    "rbg_prng_impl",
    "seed_with_impl",
    "threefry2x32_p",
    "threefry_2x32",
    "threefry_prng_impl",
    "unsafe_rbg_prng_impl",
]
