"""A random number generator that changes as numbers are drawn (jax.experimental.random)."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from xtrace import numpy, random, tree_util


class StatefulPRNG:
    """A key and a counter, which change in place: each call gives other numbers.

    It is a pytree. A compiled function that draws from one it is given changes a copy: return it.

    Args:
      base_key: a key. counter: how many keys were drawn.
    """

    __slots__ = ("_base_key", "_counter")

    def __init__(self, _base_key: Any, _counter: int = 0) -> None:
        self._base_key = _base_key
        self._counter = _counter

    def key(self, shape: Any = ()) -> Any:
        """A new key, or an array of them of this shape."""
        if self._base_key.shape:
            raise ValueError("this generator was split: draw from its elements, one at a time, by vmap or indexing")
        drawn = random.fold_in(self._base_key, self._counter)
        self._counter = self._counter + 1
        size = _shape(shape)
        return random.split(drawn, size) if size else drawn

    def split(self, num: Any) -> StatefulPRNG:
        """Generators that are independent of each other and of this one, in an array of this shape.

        >>> from xtrace.experimental.random import stateful_rng
        >>> import xtrace as xt
        >>> xt.vmap(lambda rng: rng.normal())(stateful_rng(0).split(3)).shape
        (3,)
        """
        keys = self.key(num)
        return StatefulPRNG(keys, numpy.zeros(keys.shape, np.int32))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """So many generators, independent of each other and of this one."""
        return [StatefulPRNG(key) for key in self.key((operator.index(n_children),))]

    def random(self, size: Any = None, dtype: Any = float) -> Any:
        """Uniform numbers in [0, 1)."""
        return random.uniform(self.key(), _shape(size), dtype)

    def uniform(self, low: Any = 0, high: Any = 1, size: Any = None, *, dtype: Any = float) -> Any:
        """Uniform numbers in [low, high)."""
        return random.uniform(self.key(), _shape(size, low, high), dtype, minval=low, maxval=high)

    def normal(self, loc: Any = 0, scale: Any = 1, size: Any = None, *, dtype: Any = float) -> Any:
        """Normal numbers of this mean and standard deviation."""
        return random.normal(self.key(), _shape(size, loc, scale), dtype) * scale + loc

    def integers(self, low: Any, high: Any = None, size: Any = None, *, dtype: Any = int) -> Any:
        """Integers in [low, high), or in [0, low) if that is all."""
        if high is None:
            low, high = 0, low
        return random.randint(self.key(), _shape(size, low, high), low, high, dtype)


def _shape(size: Any, *parameters: Any) -> tuple[int, ...]:
    if size is None:
        return np.broadcast_shapes(*[np.shape(p) for p in parameters])
    return (operator.index(size),) if isinstance(size, (int, np.integer)) else tuple(size)


tree_util.register_pytree_node(
    StatefulPRNG, lambda rng: ((rng._base_key, rng._counter), None), lambda _, children: StatefulPRNG(*children)
)


def stateful_rng(seed: Any = None, *, impl: Any = None) -> StatefulPRNG:
    """Make a generator that changes as numbers are drawn, as NumPy's are.

    Args:
      seed: an integer; None: one from the system.
      impl: name of the generator behind it.

    Example:
      >>> from xtrace.experimental.random import stateful_rng
      >>> rng = stateful_rng(0)
      >>> rng.integers(10, size=3).shape, bool((rng.key() != rng.key()).all())
      ((3,), True)
    """
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0] >> 1)
    return StatefulPRNG(random.key(seed, impl=impl))


__all__ = ["StatefulPRNG", "stateful_rng"]
