"""Lowering of the counter-based generators threefry4x32, philox2x32 and philox4x32.

Each is a block cipher: it encrypts counters under a key. A number's position makes the counter of its bits, so that a
device that holds a part of an array makes that part alone.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.lax import random_bits as rb
from xtrace.lowering.lower import Body
from xtrace.lowering.rules import random_bits

Shape = tuple[int, ...]
Words = list[Any]


def _u32(shape: Shape) -> ShapedArray:
    return ShapedArray(shape, dtypes.uint32)


# -- rounds ----------------------------------------------------------------------------------------------------------

# Distances of rotation: of the two pairs of words that a round mixes, for eight rounds, then again from the first.
_ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))


def _threefry4x32(body: Body, aval: ShapedArray, key: Words, block: Words) -> Words:
    """20 rounds, after each four of which the next five-word rotation of the key is added."""

    def op(name: str, x: Any, y: Any) -> Any:
        return body.op("stablehlo." + name, aval, [x, y])

    def number(n: int) -> Any:
        return body.constant(n, aval)

    parity = number(0x1BD11BDA)
    for word in key:
        parity = op("xor", parity, word)
    schedule = [*key, parity]
    block = [op("add", x, k) for x, k in zip(block, key)]
    for round_ in range(20):
        # Odd rounds mix words 1 and 3 with each other's partners.
        pairs = ((0, 1), (2, 3)) if round_ % 2 == 0 else ((0, 3), (2, 1))
        for (i, j), distance in zip(pairs, _ROTATIONS[round_ % 8]):
            block[i] = op("add", block[i], block[j])
            left = op("shift_left", block[j], number(distance))
            right = op("shift_right_logical", block[j], number(32 - distance))
            block[j] = op("xor", op("or", left, right), block[i])
        if round_ % 4 == 3:
            step = round_ // 4 + 1
            block = [op("add", x, schedule[(step + i) % 5]) for i, x in enumerate(block)]
            block[3] = op("add", block[3], number(step))
    return block


#: Of Philox with two and with four words: the multiplier of each pair of words.
_MULTIPLIERS = {2: (0xD256D193,), 4: (0xD2511F53, 0xCD9E8D57)}
#: What is added to each word of the key between rounds: the golden ratio and the square root of 3 less 1.
_WEYL = (0x9E3779B9, 0xBB67AE85)


def _philox(body: Body, aval: ShapedArray, key: Words, block: Words) -> Words:
    """10 rounds: the low half of each product moves on, the high half is mixed with its neighbour and the key."""
    wide = aval.update(dtype=np.dtype("uint64"))

    def op(name: str, x: Any, y: Any, of: ShapedArray = aval) -> Any:
        return body.op("stablehlo." + name, of, [x, y])

    def product(x: Any, multiplier: int) -> tuple[Any, Any]:
        full = op("multiply", body.op("stablehlo.convert", wide, [x]), body.constant(multiplier, wide), wide)
        high = op("shift_right_logical", full, body.constant(32, wide), wide)
        return body.op("stablehlo.convert", aval, [high]), body.op("stablehlo.convert", aval, [full])

    for round_ in range(10):
        if round_:
            key = [op("add", k, body.constant(w, aval)) for k, w in zip(key, _WEYL)]
        products = [product(block[2 * i], m) for i, m in enumerate(_MULTIPLIERS[len(block)])]
        following: Words = []
        for i, (high, low) in enumerate(reversed(products)):
            following += [op("xor", op("xor", high, block[2 * i + 1]), key[i]), low]
        block = following
    return block


# -- generators ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Cipher:
    """A block cipher as a generator: how many words its keys and its blocks have, and where its arguments go."""

    impl: rb.PRNGImpl
    block: int
    rounds: Callable[[Body, ShapedArray, Words, Words], Words]
    #: Whether seeds are encrypted as the counter under the key 0, or 0 under a key made of them.
    seed_is_counter: bool = True
    #: Which words are mixed into the high and the low half of 64 bits.
    high: tuple[int, ...] = (0,)
    low: tuple[int, ...] = (1,)

    @property
    def words(self) -> int:
        """The number of words of a key."""
        return self.impl.key_shape[0]

    def encrypt(self, ctx: Body, key: tuple[Words, Shape], block: Words, shape: Shape) -> Words:
        """The encrypted blocks: counters of `shape` under keys of that shape or none."""
        words, key_shape = key
        aval, key_aval = _u32(shape), _u32(key_shape)

        def fill(body: Body, *args: Any) -> Words:
            keys = [random_bits.broadcast(body, k, key_shape, shape, range(len(key_shape))) for k in args[: self.words]]
            return self.rounds(body, aval, keys, list(args[self.words :]))

        avals = [*[key_aval] * self.words, *[aval] * self.block]
        return ctx.call_shared(self.impl.name, avals, [aval] * self.block, fill, [*words, *block])

    def _padded(self, ctx: Body, words: Words, shape: Shape, count: int, *, front: bool) -> Words:
        zeros = [ctx.constant(0, _u32(shape))] * (count - len(words))
        return zeros + words if front else words + zeros

    def seed(self, ctx: Body, seeds: Any, aval: ShapedArray) -> Any:
        shape = aval.shape
        halves = list(random_bits.halves_of_seeds(ctx, seeds, aval))
        words, counter = ([], halves) if self.seed_is_counter else (halves, [])
        key = self._padded(ctx, words, shape, self.words, front=False), shape
        out = self.encrypt(ctx, key, self._padded(ctx, counter, shape, self.block, front=False), shape)
        return random_bits.pack(ctx, out[: self.words], shape)

    def split(self, ctx: Body, words: Any, batch: Shape, shape: Shape, partitionable: bool) -> Any:
        full = (*batch, *shape)
        if 0 in full:
            return ctx.constant(0, _u32((*full, self.words)))
        counter = self._padded(ctx, list(random_bits.positions(ctx, batch, shape)), full, self.block, front=True)
        out = self.encrypt(ctx, random_bits.key_words(ctx, words, batch, full, self.words), counter, full)
        return random_bits.pack(ctx, out[: self.words], full)

    def fold_in(self, ctx: Body, words: Any, batch: Shape, data: Any, data_shape: Shape) -> Any:
        data = random_bits.broadcast(ctx, data, data_shape, batch, range(len(data_shape)))
        counter = self._padded(ctx, [data], batch, self.block, front=True)
        out = self.encrypt(ctx, random_bits.key_words(ctx, words, batch, batch, self.words), counter, batch)
        return random_bits.pack(ctx, out[: self.words], batch)

    def bits(self, ctx: Body, words: Any, batch: Shape, bit_width: int, shape: Shape, partitionable: bool) -> Any:
        full = (*batch, *shape)
        aval = ShapedArray(full, np.dtype(f"uint{bit_width}"))
        if 0 in full:
            return ctx.constant(0, aval)
        counter = self._padded(ctx, list(random_bits.positions(ctx, batch, shape)), full, self.block, front=False)
        out = self.encrypt(ctx, random_bits.key_words(ctx, words, batch, full, self.words), counter, full)
        if bit_width != 64:
            return random_bits.mix(ctx, out, aval)
        high, low = [random_bits.mix(ctx, [out[i] for i in half], _u32(full)) for half in (self.high, self.low)]
        return random_bits.join(ctx, high, low, aval)


for _cipher in (
    Cipher(rb.threefry4x32, 4, _threefry4x32, seed_is_counter=False, high=(0, 2), low=(1, 3)),
    Cipher(rb.philox2x32, 2, _philox),
    Cipher(rb.philox4x32, 4, _philox),
):
    random_bits.GENERATORS[_cipher.impl.name] = (_cipher.seed, _cipher.split, _cipher.fold_in, _cipher.bits)
