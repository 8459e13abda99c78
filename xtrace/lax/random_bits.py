"""Random bits: key dtypes and the primitives that make keys and bits.

A key is a value of an extended dtype `key<tag>`, stored as uint32 words in trailing dimensions. What the words mean
is the generator's affair: threefry2x32 and philox4x32 have 2, philox2x32 has 1, the others have 4. Keys in an array
are independent; the primitives map over them.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.core import config, dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, check_int_range, shaped
from xtrace.lax import elementwise
from xtrace.lax.rules import broadcast_shapes, elementwise_batch
from xtrace.transforms.batching import MappedAxis, move_axis

# -- generators and their key dtypes -------------------------------------------------------------------------------


class PRNGImpl:
    """A random number generator: its name, the short tag in its dtype's name, and the shape of one key's words."""

    __slots__ = ("name", "tag", "key_shape", "dtype", "rules")

    #: What tells one from another in programs (core.fingerprint).
    fingerprint_fields = ("name", "tag", "key_shape", "rules")

    def __init__(self, name: str, tag: str, key_shape: tuple[int, ...]) -> None:
        self.name = name
        self.tag = tag
        self.key_shape = key_shape
        #: Functions of words, of the generators that users write (extend.random): seed, split, fold_in, bits.
        self.rules: tuple[Callable[..., Any], ...] = ()
        self.dtype = KeyDtype(self)

    def __reduce__(self) -> Any:
        return (find_impl, (self.name,))

    def __repr__(self) -> str:
        return f"PRNGImpl(name={self.name!r}, tag={self.tag!r}, key_shape={self.key_shape})"

    def __str__(self) -> str:
        return self.tag


class KeyDtype(dtypes.ExtendedDtype):
    """The dtype of a generator's keys."""

    physical_dtype = dtypes.uint32
    scalar_type = dtypes.prng_key

    def __init__(self, impl: PRNGImpl) -> None:
        self.impl = impl
        self.name = f"key<{impl.tag}>"
        self.physical_shape = impl.key_shape
        self.itemsize = 4 * math.prod(impl.key_shape)
        dtypes.extended_by_name[self.name] = self

    def wrap(self, words: Any) -> Any:
        """The array of keys that concrete `words` (uint32[..., *key_shape]) stand for."""
        return _wrap(self.impl, words)

    def unwrap(self, keys: Any) -> Any:
        """The words of a concrete array of keys."""
        return keys._base_array

    def of_scalar(self, number: Any) -> Any:
        """The key all of whose words are `number`, the value that stands for it in arrays filled with it."""
        from xtrace.lax import shapes

        return random_wrap(shapes.full(self.physical_shape, number, dtypes.uint32), self.impl)

    def __reduce__(self) -> Any:
        return (_dtype_of_impl, (self.impl.name,))


_wrap: Callable[[PRNGImpl, Any], Any]


def set_key_array(wrap: Callable[[PRNGImpl, Any], Any]) -> None:
    """Plug in the class of concrete arrays of keys (xtrace/random/key_array.py)."""
    global _wrap
    _wrap = wrap


threefry2x32 = PRNGImpl("threefry2x32", "fry", (2,))
threefry4x32 = PRNGImpl("threefry4x32", "fry4", (4,))
philox2x32 = PRNGImpl("philox2x32", "phx2", (1,))
philox4x32 = PRNGImpl("philox4x32", "phx4", (2,))
rbg = PRNGImpl("rbg", "rbg", (4,))
unsafe_rbg = PRNGImpl("unsafe_rbg", "urbg", (4,))

IMPLS: dict[str, PRNGImpl] = {
    impl.name: impl for impl in (threefry2x32, threefry4x32, philox2x32, philox4x32, rbg, unsafe_rbg)
}


def find_impl(name: str) -> PRNGImpl:
    """The generator called `name`. Raises ValueError listing the names there are."""
    impl = IMPLS.get(name)
    if impl is None:
        names = ", ".join(f'"{n}"' for n in IMPLS)
        raise ValueError(f'unrecognized PRNG implementation "{name}". Did you mean one of: {names}?')
    return impl


def _dtype_of_impl(name: str) -> KeyDtype:
    return find_impl(name).dtype


def _key_dtype(name: str, aval: ShapedArray) -> KeyDtype:
    if not isinstance(aval.dtype, KeyDtype):
        raise TypeError(f"{name} takes key array operand, got {aval.str_short()}; make keys with random.key")
    return aval.dtype


# -- primitives ----------------------------------------------------------------------------------------------------
#
# `partitionable` is a parameter only where it is False: equal programs print equally. It stands for the counter
# layout of threefry at the time of the call (config.threefry_partitionable).


def _layout() -> dict[str, bool]:
    return {} if config.threefry_partitionable.value else {"partitionable": False}


def _front(keys: Any, dim: int, axis: MappedAxis) -> Any:
    return move_axis(keys, dim, 0, axis.size)


def _seed_aval(seeds: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    if not dtypes.is_integer(seeds.dtype):
        raise TypeError(f"PRNG key seed must be an integer; got {seeds.str_short()}")
    return ShapedArray(seeds.shape, impl.dtype)


random_seed_p = Primitive("random_seed", _seed_aval)
random_seed_p.batch = lambda axis, args, dims, **params: (random_seed_p.bind(*args, **params), dims[0])


def random_seed(seeds: Any, impl: PRNGImpl) -> Any:
    """Keys made from integers, one from each. The flag `random_seed_offset` is added to them, modulo their type."""
    offset = config.random_seed_offset.value
    if offset:
        check_int_range(offset)
        seeds = elementwise.add(seeds, np.asarray(offset).astype(shaped(seeds).dtype)[()])
    return random_seed_p.bind(seeds, impl=impl)


def _split_aval(keys: ShapedArray, *, shape: tuple[int, ...], partitionable: bool = True) -> ShapedArray:
    return ShapedArray((*keys.shape, *shape), _key_dtype("random_split", keys))


random_split_p = Primitive("random_split", _split_aval)
random_split_p.batch = lambda axis, args, dims, **params: (
    random_split_p.bind(_front(args[0], dims[0], axis), **params), 0
)  # fmt: skip


def random_split(keys: Any, shape: tuple[int, ...]) -> Any:
    """New keys out of each of `keys`: an array of shape keys.shape + shape."""
    return random_split_p.bind(keys, shape=shape, **_layout())


def _fold_in_aval(keys: ShapedArray, data: ShapedArray) -> ShapedArray:
    if data.dtype != dtypes.uint32:
        raise TypeError(f"random_fold_in needs uint32 data, got {data.str_short()}")
    return ShapedArray(broadcast_shapes("random_fold_in", [keys.shape, data.shape]), _key_dtype("random_fold_in", keys))


random_fold_in_p = Primitive("random_fold_in", _fold_in_aval)
random_fold_in_p.batch = elementwise_batch(random_fold_in_p)


def random_fold_in(keys: Any, data: Any) -> Any:
    """New keys out of `keys` and uint32 numbers, element by element."""
    return random_fold_in_p.bind(keys, data)


def _bits_aval(keys: ShapedArray, *, bit_width: int, shape: tuple[int, ...], partitionable: bool = True) -> ShapedArray:
    _key_dtype("random_bits", keys)
    return ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))


random_bits_p = Primitive("random_bits", _bits_aval)
random_bits_p.batch = lambda axis, args, dims, **params: (
    random_bits_p.bind(_front(args[0], dims[0], axis), **params), 0
)  # fmt: skip


def random_bits(keys: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Uniform unsigned integers of 8, 16, 32 or 64 bits: for each key an array of `shape`."""
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"random_bits makes integers of 8, 16, 32 or 64 bits, not {bit_width}")
    return random_bits_p.bind(keys, bit_width=bit_width, shape=shape, **_layout())


def _wrap_aval(words: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    check_key_words(words, impl)
    return ShapedArray(words.shape[: words.ndim - len(impl.key_shape)], impl.dtype)


def check_key_words(words: ShapedArray, impl: PRNGImpl) -> None:
    """Raise TypeError unless `words` can be the words of keys of `impl`."""
    if words.dtype != dtypes.uint32:
        raise TypeError(
            f"invalid PRNG key data: expected key_data.dtype = uint32; got dtype={words.dtype}. "
            "Make keys with random.key(seed)."
        )
    n = len(impl.key_shape)
    if words.shape[max(0, words.ndim - n) :] != impl.key_shape:
        raise TypeError(
            f"invalid PRNG key data: expected key_data.shape to end with {impl.key_shape}; "
            f"got shape={words.shape} for impl={impl.name}"
        )


random_wrap_p = Primitive("random_wrap", _wrap_aval)
random_wrap_p.batch = lambda axis, args, dims, **params: (
    random_wrap_p.bind(_front(args[0], dims[0], axis), **params),
    0,
)


def random_wrap(words: Any, impl: PRNGImpl) -> Any:
    """The keys that uint32 words stand for."""
    return random_wrap_p.bind(words, impl=impl)


def _unwrap_aval(keys: ShapedArray) -> ShapedArray:
    dtype = _key_dtype("random_unwrap", keys)
    return ShapedArray((*keys.shape, *dtype.physical_shape), dtypes.uint32)


random_unwrap_p = Primitive("random_unwrap", _unwrap_aval)
random_unwrap_p.batch = lambda axis, args, dims: (random_unwrap_p.bind(_front(args[0], dims[0], axis)), 0)


def random_unwrap(keys: Any) -> Any:
    """The uint32 words of keys."""
    return random_unwrap_p.bind(keys)


# Concrete keys need no program for these two.
random_wrap_p.impl = lambda words, *, impl: _wrap(impl, words)
random_unwrap_p.impl = lambda keys: _key_dtype("random_unwrap", shaped(keys)).unwrap(keys)


def _threefry_aval(*avals: ShapedArray) -> list[ShapedArray]:
    for a in avals:
        if a.dtype != dtypes.uint32:
            raise TypeError(f"threefry2x32 takes uint32 arrays, got {', '.join(a.str_short() for a in avals)}")
    aval = ShapedArray(broadcast_shapes("threefry2x32", [a.shape for a in avals]), dtypes.uint32)
    return [aval, aval]


threefry2x32_p = Primitive("threefry2x32", _threefry_aval)
threefry2x32_p.multiple_results = True


def _threefry_batch(axis: MappedAxis, args: Any, dims: Any) -> Any:
    outs, dim = elementwise_batch(threefry2x32_p)(axis, args, dims)
    return outs, [dim, dim]


threefry2x32_p.batch = _threefry_batch


def threefry_2x32(key_pair: tuple[Any, Any], counts: tuple[Any, Any]) -> list[Any]:
    """The Threefry 2x32 hash with 20 rounds of two counter words under a key of two words, element by element.

    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    return threefry2x32_p.bind(*key_pair, *counts)


# -- XLA's own generators --------------------------------------------------------------------------------------------


class RandomAlgorithm(enum.IntEnum):
    """Algorithms of `rng_bit_generator`. RNG_DEFAULT is the backend's choice."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


def _bit_generator_aval(key: ShapedArray, *, shape: Any, dtype: Any, algorithm: Any) -> list[ShapedArray]:
    if (key.shape, key.dtype) not in (((4,), dtypes.uint32), ((2,), np.dtype("uint64"))):
        raise TypeError(f"rng_bit_generator needs a key of type uint32[4] or uint64[2], got {key.str_short()}")
    return [key, ShapedArray(shape, dtype)]


def _bit_generator_batch(axis: MappedAxis, args: Any, dims: Any, *, shape: Any, dtype: Any, algorithm: Any) -> Any:
    """One state serves the whole axis: the first element's."""
    from xtrace.lax import shapes, slicing

    keys = move_axis(args[0], dims[0], 0, axis.size)
    first = shapes.reshape(slicing.slice_in_dim(keys, 0, 1), shaped(keys).shape[1:])
    state, bits = rng_bit_generator_p.bind(first, shape=(axis.size, *shape), dtype=dtype, algorithm=algorithm)
    return [slicing.dynamic_update_slice(keys, shapes.expand_dims(state, (0,)), (0, 0)), bits], [0, 0]


rng_bit_generator_p = Primitive("rng_bit_generator", _bit_generator_aval)
rng_bit_generator_p.multiple_results = True
rng_bit_generator_p.batch = _bit_generator_batch


def rng_bit_generator(
    key: Any,
    shape: Sequence[int],
    dtype: Any = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> list[Any]:
    """Random unsigned integers from XLA's generator: [new key, bits]. Bits may differ between backends and versions.

    Args:
      key: uint32[4] or uint64[2], the state.
      shape: of the bits.
      dtype: unsigned integer type of the bits.
      algorithm: a RandomAlgorithm.
      out_sharding: how the result is laid out over devices.

    Returns:
      A list of the new state and the bits.

    Raises:
      TypeError: the dtype isn't an unsigned integer type.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> key, bits = xt.lax.rng_bit_generator(np.arange(4, dtype=np.uint32), (3,))
      >>> bits.shape, bits.dtype
      ((3,), dtype('uint32'))
    """
    shape = statics.integers(shape, "shape")
    dtype = dtypes.canonical_dtype(dtype)
    if dtypes.kind(dtype) != "u":
        raise TypeError(f"rng_bit_generator makes unsigned integers, not {dtype}")
    return rng_bit_generator_p.bind(key, shape=shape, dtype=dtype, algorithm=RandomAlgorithm(algorithm))


def _rng_uniform_aval(a: ShapedArray, b: ShapedArray, *, shape: Any) -> ShapedArray:
    if a.dtype != b.dtype or a.shape or b.shape:
        raise ValueError(f"rng_uniform needs two scalars of one dtype, got {a.str_short()} and {b.str_short()}")
    return ShapedArray(shape, a.dtype)


rng_uniform_p = Primitive("rng_uniform", _rng_uniform_aval)


def rng_uniform(a: Any, b: Any, shape: Sequence[int]) -> Any:
    """Uniform numbers in [a, b) from XLA's stateful generator: not reproducible; see random.uniform.

    Args:
      a, b: scalars of one dtype, the bounds.
      shape: of the result.

    Returns:
      An array of that shape.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.lax.rng_uniform(np.float32(0), np.float32(1), (3,)).shape
      (3,)
    """
    return rng_uniform_p.bind(a, b, shape=statics.integers(shape, "shape"))
