"""Arrays of keys: concrete values of a key dtype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from xtrace.core.avals import ShapedArray
from xtrace.core.pytree import dispatch_registry
from xtrace.core.trace import Tracer
from xtrace.lax import random_bits
from xtrace.runtime import array as array_module
from xtrace.runtime import transfers


class PRNGKeyArray:
    """An array of random keys, which wraps the uint32 array of their words.

    It is indexed, reshaped and sharded as any array, but has no arithmetic. Made by `random.key`, `random.split`,
    `random.wrap_key_data`; `random.key_data` gives the words.
    """

    __slots__ = ("_base_array", "_impl", "aval", "__weakref__")

    __array_priority__ = 100

    def __init__(self, impl: random_bits.PRNGImpl, words: Any) -> None:
        aval = words.aval if hasattr(words, "aval") else ShapedArray(words.shape, words.dtype)
        random_bits.check_key_words(aval, impl)
        self._impl = impl
        self._base_array = words
        self.aval = ShapedArray(aval.shape[: aval.ndim - len(impl.key_shape)], impl.dtype)

    # What it says about itself.
    shape = property(attrgetter("aval.shape"))
    ndim = property(attrgetter("aval.ndim"))
    size = property(attrgetter("aval.size"))
    dtype = property(attrgetter("_impl.dtype"))

    @property
    def itemsize(self) -> int:
        return self._impl.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.aval.size * self.itemsize

    @property
    def weak_type(self) -> bool:
        return False

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    def __iter__(self) -> Iterator[PRNGKeyArray]:
        if not self.aval.shape:
            raise TypeError("iteration over a 0-d key array")
        return (PRNGKeyArray(self._impl, words) for words in self._base_array)

    def __bool__(self) -> bool:
        raise TypeError("key array cannot be converted to boolean.")

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'PRNGKeyArray'. Use random.key_data(key).tobytes() or id(key) instead")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            "JAX array with PRNGKey dtype cannot be converted to a NumPy array. "
            "Use random.key_data(arr) for the underlying integers."
        )

    @property
    def __numpy_dtype__(self) -> Any:
        return self.dtype

    def __repr__(self) -> str:
        return f"Array({self.shape}, dtype={self.dtype.name}) overlaying:\n{np.asarray(self._base_array)}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce__(self) -> Any:
        return (_rebuild, (self._impl, np.asarray(self._base_array)))

    def __copy__(self) -> PRNGKeyArray:
        return PRNGKeyArray(self._impl, self._base_array)

    def __deepcopy__(self, memo: Any) -> PRNGKeyArray:
        return self.copy()

    def copy(self) -> PRNGKeyArray:
        """A copy of the keys in memory of its own."""
        return PRNGKeyArray(self._impl, array_module._copied(self._base_array))

    # Where it is. Whatever is as true of the words as of the keys is asked of the words.
    @property
    def sharding(self) -> Any:
        return logical_sharding(self._base_array.sharding, self.aval)

    @property
    def addressable_shards(self) -> list[Any]:
        return [self._shard(s) for s in self._base_array.addressable_shards]

    @property
    def global_shards(self) -> list[Any]:
        return [self._shard(s) for s in self._base_array.global_shards]

    def _shard(self, shard: Any) -> Any:
        data = None if shard.data is None else PRNGKeyArray(self._impl, shard.data)
        return array_module.Shard(shard.device, shard.index[: self.ndim], shard.replica_id, data)

    def addressable_data(self, index: int) -> PRNGKeyArray:
        return PRNGKeyArray(self._impl, self._base_array.addressable_data(index))

    def block_until_ready(self) -> PRNGKeyArray:
        self._base_array.block_until_ready()
        return self


def logical_sharding(sharding: Any, aval: ShapedArray) -> Any:
    """The sharding of keys whose words have `sharding`: words lie together, so trailing dimensions drop out."""
    spec = getattr(sharding, "spec", None)
    if spec is None:
        return sharding
    return type(sharding)(sharding.mesh, type(spec)(*tuple(spec)[: aval.ndim]))


# Attributes and methods that the words answer for the keys.
_OF_THE_WORDS = (
    "committed", "_committed", "copy_to_host_async", "delete", "device", "devices", "format", "is_deleted",
    "is_fully_addressable", "is_fully_replicated", "on_device_size_in_bytes", "unsafe_buffer_pointer",
)  # fmt: skip

for _name in _OF_THE_WORDS:
    setattr(PRNGKeyArray, _name, property(attrgetter(f"_base_array.{_name}")))

# Methods that move keys about are the tracers', which the numpy layer defines.
_STRUCTURAL = (
    "__getitem__", "at", "T", "mT", "reshape", "transpose", "squeeze", "flatten", "ravel", "swapaxes", "take", "repeat",
    "diagonal", "compress",
)  # fmt: skip

# Keys of one generator compare as equal or not; all other operators say that they don't take keys.
_OPERATORS = (
    *(f"__{r}{name}__" for r in ("", "r") for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or", "xor", "lshift",
        "rshift",
    )),
    *(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs", "invert")),
)  # fmt: skip


def _borrow(name: str) -> Any:
    if name in ("at", "T", "mT"):
        return property(lambda self: getattr(Tracer, name).__get__(self))

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(Tracer, name)(self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in (*_STRUCTURAL, *_OPERATORS):
    setattr(PRNGKeyArray, _name, _borrow(_name))


def _rebuild(impl: random_bits.PRNGImpl, words: np.ndarray) -> PRNGKeyArray:
    return PRNGKeyArray(impl, transfers.put(words, ShapedArray(words.shape, words.dtype), None, False))


def _device_put(keys: PRNGKeyArray, where: Any, committed: bool) -> PRNGKeyArray:
    return PRNGKeyArray(keys._impl, transfers.put_leaf(keys._base_array, where))


def _assemble(shape: tuple[int, ...], sharding: Any, parts: Sequence[PRNGKeyArray]) -> PRNGKeyArray:
    impls = {keys._impl for keys in parts}
    if len(impls) > 1:
        raise TypeError(f"the per-device arrays hold keys of several kinds: {sorted(impl.name for impl in impls)}")
    impl = impls.pop()
    words = [keys._base_array for keys in parts]
    whole = array_module.make_array_from_single_device_arrays((*shape, *impl.key_shape), sharding, words)
    return PRNGKeyArray(impl, whole)


dispatch_registry.register_node(
    PRNGKeyArray, lambda keys: ((keys._base_array,), keys._impl), lambda impl, words: PRNGKeyArray(impl, *words)
)
transfers.put_handlers[PRNGKeyArray] = _device_put
array_module.assembling_handlers[PRNGKeyArray] = _assemble
array_module.register_tracer(PRNGKeyArray)
random_bits.set_key_array(PRNGKeyArray)
