"""Random number generators of single keys, as JAX's private modules define and name them."""

from __future__ import annotations

from typing import Any

from xtrace.extend.random import define_prng_impl
from xtrace.lax import random_bits as _random_bits
from xtrace.lax.random_bits import KeyDtype as KeyTy
from xtrace.lax.random_bits import random_fold_in, random_split, random_unwrap, random_wrap
from xtrace.random.key_array import PRNGKeyArray

__all__ = ["KeyTy", "PRNGImpl", "PRNGKeyArray", "prngs", "random_bits", "random_unwrap", "random_wrap"]

prngs = _random_bits.IMPLS
PRNGImpl = define_prng_impl
random_bits = _random_bits.random_bits
threefry_prng_impl = _random_bits.threefry2x32


def threefry_seed(seed: Any) -> Any:
    """The two words of the key of an integer."""
    return random_unwrap(_random_bits.random_seed(seed, threefry_prng_impl))


def threefry_split(key: Any, shape: tuple[int, ...]) -> Any:
    """The words of keys made of a key's words."""
    return random_unwrap(random_split(random_wrap(key, threefry_prng_impl), tuple(shape)))


def threefry_fold_in(key: Any, data: Any) -> Any:
    """The words of the key made of a key's words and an integer."""
    return random_unwrap(random_fold_in(random_wrap(key, threefry_prng_impl), data))


def threefry_random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Unsigned integers of a width, made of a key's words."""
    return random_bits(random_wrap(key, threefry_prng_impl), bit_width, tuple(shape))
