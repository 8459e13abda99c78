"""Lowering of random bits: Threefry and the layouts of its counters, and XLA's bit generator."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.lax import random_bits as rb
from xtrace.lowering.lower import Body

uint32 = dtypes.uint32
uint64 = np.dtype("uint64")
Shape = tuple[int, ...]


def _u32(shape: Shape) -> ShapedArray:
    return ShapedArray(shape, uint32)


# -- small operations on words ---------------------------------------------------------------------------------------


def broadcast(ctx: Body, x: Any, shape: Shape, to: Shape, dims: Any) -> Any:
    """`x` of `shape` to the shape `to`, its dimension i at dims[i]."""
    if shape == to:
        return x
    return ctx.op("stablehlo.broadcast_in_dim", _u32(to), [x], {"broadcast_dimensions": ctx.mlir.i64_array(dims)})


def _slice(ctx: Body, x: Any, shape: Shape, axis: int, start: int, stop: int, stride: int = 1) -> tuple[Any, Shape]:
    """x[..., start:stop:stride, ...] along `axis`, and its shape."""
    starts, stops, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], stops[axis], strides[axis] = start, stop, stride
    out = (*shape[:axis], -(-(stop - start) // stride), *shape[axis + 1 :])
    array = ctx.mlir.i64_array
    attributes = {"start_indices": array(starts), "limit_indices": array(stops), "strides": array(strides)}
    return ctx.op("stablehlo.slice", _u32(out), [x], attributes), out


def _reshape(ctx: Body, x: Any, to: Shape, dtype: Any = uint32) -> Any:
    return ctx.op("stablehlo.reshape", ShapedArray(to, dtype), [x])


def _concatenate(ctx: Body, parts: list[Any], to: Shape, axis: int) -> Any:
    return ctx.op("stablehlo.concatenate", _u32(to), parts, {"dimension": ctx.mlir.i64(axis)})


def _iota(ctx: Body, aval: ShapedArray, axis: int) -> Any:
    return ctx.op("stablehlo.iota", aval, [], {"iota_dimension": ctx.mlir.i64(axis)})


def word(ctx: Body, words: Any, batch: Shape, index: int, count: int) -> Any:
    """Word number `index` of each key of `count` words: shape `batch`."""
    x, _ = _slice(ctx, words, (*batch, count), len(batch), index, index + 1)
    return _reshape(ctx, x, batch)


def pack(ctx: Body, words: Sequence[Any], shape: Shape) -> Any:
    """Arrays of words as the words of keys: shape + (their number,)."""
    wide = (*shape, 1)
    dims = range(len(shape))
    parts = [broadcast(ctx, v, shape, wide, dims) for v in words]
    return _concatenate(ctx, parts, (*shape, len(words)), len(shape))


# -- Threefry --------------------------------------------------------------------------------------------------------

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _rounds(ctx: Body, k0: Any, k1: Any, x0: Any, x1: Any, key_shape: Shape, shape: Shape) -> list[Any]:
    """The 20 rounds, written out: XLA fuses them into one kernel, and compiles it sooner than a loop of five steps."""
    aval, key_aval = _u32(shape), _u32(key_shape)

    def op(name: str, x: Any, y: Any, of: ShapedArray = aval) -> Any:
        return ctx.op("stablehlo." + name, of, [x, y])

    k2 = op("xor", op("xor", k0, k1, key_aval), ctx.constant(0x1BD11BDA, key_aval), key_aval)
    keys = [broadcast(ctx, k, key_shape, shape, range(len(key_shape))) for k in (k0, k1, k2)]
    x0, x1 = op("add", x0, keys[0]), op("add", x1, keys[1])
    for i in range(5):
        for r in _ROTATIONS[i % 2]:
            x0 = op("add", x0, x1)
            left, right = (
                op("shift_left", x1, ctx.constant(r, aval)),
                op("shift_right_logical", x1, ctx.constant(32 - r, aval)),
            )
            x1 = op("xor", x0, op("or", left, right))
        x0 = op("add", x0, keys[(i + 1) % 3])
        x1 = op("add", op("add", x1, keys[(i + 2) % 3]), ctx.constant(i + 1, aval))
    return [x0, x1]


def _threefry(ctx: Body, keys: Sequence[Any], key_shape: Shape, x0: Any, x1: Any, shape: Shape) -> list[Any]:
    """Hash counters of `shape` under keys of `key_shape`, which are `shape` or none: a call of one function a shape."""
    key_aval, aval = _u32(key_shape), _u32(shape)
    return ctx.call_shared(
        "threefry2x32",
        [key_aval, key_aval, aval, aval],
        [aval, aval],
        lambda body, k0, k1, x0, x1: _rounds(body, k0, k1, x0, x1, key_shape, shape),
        [*keys, x0, x1],
    )


def key_words(ctx: Body, words: Any, batch: Shape, shape: Shape, count: int = 2) -> tuple[list[Any], Shape]:
    """The words of each key, for counters of `shape` whose leading dimensions are `batch`; and their shape."""
    each = [word(ctx, words, batch, i, count) for i in range(count)]
    if not batch:
        return each, ()
    return [broadcast(ctx, v, batch, shape, range(len(batch))) for v in each], shape


def positions(ctx: Body, batch: Shape, shape: Shape) -> tuple[Any, Any]:
    """The partitionable layout: the row-major position in `shape` of each element, a counter's high and low words.

    So a device that holds a part of the array makes it alone.
    """
    full = (*batch, *shape)
    size = math.prod(shape)
    wide = size > 2**32
    aval = ShapedArray(full, uint64 if wide else uint32)
    position = None
    stride = size
    for axis, d in enumerate(shape):
        stride = stride // d if d else 0
        if d == 1:
            continue
        term = _iota(ctx, aval, len(batch) + axis)
        if stride != 1:
            term = ctx.op("stablehlo.multiply", aval, [term, ctx.constant(stride, aval)])
        position = term if position is None else ctx.op("stablehlo.add", aval, [position, term])
    if position is None:
        position = ctx.constant(0, aval)
    high, low = ctx.constant(0, _u32(full)), position
    if wide:
        high = ctx.op("stablehlo.shift_right_logical", aval, [position, ctx.constant(32, aval)])
        high = ctx.op("stablehlo.convert", _u32(full), [high])
        low = ctx.op("stablehlo.convert", _u32(full), [position])
    return high, low


def _hash_positions(ctx: Body, words: Any, batch: Shape, shape: Shape) -> list[Any]:
    full = (*batch, *shape)
    keys, key_shape = key_words(ctx, words, batch, full)
    return _threefry(ctx, keys, key_shape, *positions(ctx, batch, shape), full)


def _hash_halves(ctx: Body, words: Any, batch: Shape, n: int) -> Any:
    """The original layout: counters 0 … n-1, the first half hashed together with the second; shape batch + (n,)."""
    half = -(-n // 2)
    full = (*batch, half)
    axis = len(batch)
    first = _iota(ctx, _u32(full), axis)
    second = ctx.op("stablehlo.add", _u32(full), [first, ctx.constant(half, _u32(full))])
    if n % 2:  # the last counter of an odd number is 0
        limit = ctx.constant(half - 1, _u32(full))
        last = ctx.op(
            "stablehlo.compare",
            ShapedArray(full, dtypes.bool_),
            [first, limit],
            {
                "comparison_direction": ctx.mlir.parsed("#stablehlo<comparison_direction EQ>"),
                "compare_type": ctx.mlir.parsed("#stablehlo<comparison_type UNSIGNED>"),
            },
        )
        second = ctx.op("stablehlo.select", _u32(full), [last, ctx.constant(0, _u32(full)), second])
    keys, key_shape = key_words(ctx, words, batch, full)
    outs = _threefry(ctx, keys, key_shape, first, second, full)
    out = _concatenate(ctx, outs, (*batch, 2 * half), axis)
    return _slice(ctx, out, (*batch, 2 * half), axis, 0, n)[0] if n % 2 else out


def _words_original(ctx: Body, words: Any, batch: Shape, n: int) -> Any:
    """n random words a key in the original layout; above 2**32 - 1 words the key is split, one for each block."""
    blocks, rest = divmod(n, 2**32 - 1)
    if not blocks:
        return _hash_halves(ctx, words, batch, n)
    axis = len(batch)
    subkeys = _reshape(ctx, _hash_halves(ctx, words, batch, 2 * (blocks + 1)), (*batch, blocks + 1, 2))
    many, many_shape = _slice(ctx, subkeys, (*batch, blocks + 1, 2), axis, 0, blocks)
    last, _ = _slice(ctx, subkeys, (*batch, blocks + 1, 2), axis, blocks, blocks + 1)
    out = _hash_halves(ctx, many, many_shape[:-1], 2**32 - 1)
    out = _reshape(ctx, out, (*batch, blocks * (2**32 - 1)))
    tail = _hash_halves(ctx, _reshape(ctx, last, (*batch, 2)), batch, rest)
    return _concatenate(ctx, [out, tail], (*batch, n), axis)


def _threefry_bits(ctx: Body, words: Any, batch: Shape, bit_width: int, shape: Shape, partitionable: bool) -> Any:
    full = (*batch, *shape)
    aval = ShapedArray(full, np.dtype(f"uint{bit_width}"))
    size = math.prod(shape)
    if size == 0 or 0 in batch:
        return ctx.constant(0, aval)
    if partitionable:
        x, y = _hash_positions(ctx, words, batch, shape)
        return join(ctx, x, y, aval) if bit_width == 64 else mix(ctx, [x, y], aval)
    n = -(-bit_width * size // 32)
    out = _words_original(ctx, words, batch, n)
    axis = len(batch)
    if bit_width == 64:
        x, half = _slice(ctx, out, (*batch, n), axis, 0, size)
        y, _ = _slice(ctx, out, (*batch, n), axis, size, n)
        out = join(ctx, x, y, ShapedArray(half, aval.dtype))
    elif bit_width < 32:  # each word gives several, the low bits first
        parts = 32 // bit_width
        wide = (*batch, n, parts)
        shift = _iota(ctx, _u32(wide), axis + 1)
        shift = ctx.op("stablehlo.multiply", _u32(wide), [shift, ctx.constant(bit_width, _u32(wide))])
        out = broadcast(ctx, out, (*batch, n), wide, range(axis + 1))
        out = ctx.op("stablehlo.shift_right_logical", _u32(wide), [out, shift])
        out = _reshape(ctx, out, (*batch, n * parts))
        out, flat = _slice(ctx, out, (*batch, n * parts), axis, 0, size)
        out = ctx.op("stablehlo.convert", ShapedArray(flat, aval.dtype), [out])
    return _reshape(ctx, out, full, aval.dtype)


def mix(ctx: Body, words: Sequence[Any], aval: ShapedArray) -> Any:
    """The exclusive or of words, as integers of `aval` (32 bits or fewer)."""
    narrow = _u32(aval.shape)
    out = functools.reduce(lambda x, y: ctx.op("stablehlo.xor", narrow, [x, y]), words)
    return out if aval.dtype == uint32 else ctx.op("stablehlo.convert", aval, [out])


def join(ctx: Body, high: Any, low: Any, aval: ShapedArray) -> Any:
    """64-bit integers of their high and low words."""
    high, low = [ctx.op("stablehlo.convert", aval, [v]) for v in (high, low)]
    high = ctx.op("stablehlo.shift_left", aval, [high, ctx.constant(32, aval)])
    return ctx.op("stablehlo.or", aval, [high, low])


def _threefry_split(ctx: Body, words: Any, batch: Shape, shape: Shape, partitionable: bool) -> Any:
    full = (*batch, *shape)
    if 0 in full:
        return ctx.constant(0, _u32((*full, 2)))
    if partitionable:
        x, y = _hash_positions(ctx, words, batch, shape)
        return pack(ctx, [x, y], full)
    return _reshape(ctx, _hash_halves(ctx, words, batch, 2 * math.prod(shape)), (*full, 2))


def _threefry_fold_in(ctx: Body, words: Any, batch: Shape, data: Any, data_shape: Shape) -> Any:
    """`words` are those of keys of shape `batch`; `data_shape` is `batch`, perhaps with sizes of 1, or ()."""
    data = broadcast(ctx, data, data_shape, batch, range(len(data_shape)))
    keys, key_shape = key_words(ctx, words, batch, batch)
    x, y = _threefry(ctx, keys, key_shape, ctx.constant(0, _u32(batch)), data, batch)
    return pack(ctx, [x, y], batch)


def halves_of_seeds(ctx: Body, seeds: Any, aval: ShapedArray) -> tuple[Any, Any]:
    """The high and the low word of integers."""
    shape = aval.shape
    high = ctx.constant(0, _u32(shape))
    if aval.dtype.itemsize == 8:
        high = ctx.op("stablehlo.shift_right_logical", aval, [seeds, ctx.constant(32, aval)])
        high = ctx.op("stablehlo.convert", _u32(shape), [high])
    return high, seeds if aval.dtype == uint32 else ctx.op("stablehlo.convert", _u32(shape), [seeds])


def _threefry_seed(ctx: Body, seeds: Any, aval: ShapedArray) -> Any:
    return pack(ctx, halves_of_seeds(ctx, seeds, aval), aval.shape)


# -- XLA's bit generator ---------------------------------------------------------------------------------------------


def _generate(ctx: Body, state: Any, out: ShapedArray, algorithm: str = "DEFAULT") -> tuple[Any, Any]:
    """(new state, bits) of a uint32[4] state."""
    state = ctx.op("stablehlo.bitcast_convert", ShapedArray((2,), uint64), [_reshape(ctx, state, (2, 2))])
    attributes = {"rng_algorithm": ctx.mlir.parsed(f"#stablehlo<rng_algorithm {algorithm}>")}
    new, bits = ctx.ops("stablehlo.rng_bit_generator", [ShapedArray((2,), uint64), out], [state], attributes).results
    return _reshape(ctx, ctx.op("stablehlo.bitcast_convert", _u32((2, 2)), [new]), (4,)), bits


def _first_key(ctx: Body, words: Any, batch: Shape) -> Any:
    shape: Shape = (*batch, 4)
    for axis in range(len(batch)):
        words, shape = _slice(ctx, words, shape, axis, 0, 1)
    return _reshape(ctx, words, (4,)) if batch else words


def _rbg_bits(ctx: Body, words: Any, batch: Shape, bit_width: int, shape: Shape, partitionable: bool) -> Any:
    """One state fills the arrays of all keys: the first key's."""
    aval = ShapedArray((*batch, *shape), np.dtype(f"uint{bit_width}"))
    if 0 in aval.shape:
        return ctx.constant(0, aval)
    return _generate(ctx, _first_key(ctx, words, batch), aval)[1]


def _rbg_split(ctx: Body, words: Any, batch: Shape, shape: Shape, partitionable: bool) -> Any:
    """Both halves of a key are split as Threefry keys."""
    n, m = len(batch), len(shape)
    halves = _reshape(ctx, words, (*batch, 2, 2))
    out = _threefry_split(ctx, halves, (*batch, 2), shape, partitionable)
    permutation = [*range(n), *range(n + 1, n + 1 + m), n, n + 1 + m]
    out = ctx.op(
        "stablehlo.transpose", _u32((*batch, *shape, 2, 2)), [out], {"permutation": ctx.mlir.i64_array(permutation)}
    )
    return _reshape(ctx, out, (*batch, *shape, 4))


def _rbg_fold_in(ctx: Body, words: Any, batch: Shape, data: Any, data_shape: Shape) -> Any:
    halves = (*batch, 2)
    data = broadcast(ctx, data, data_shape, halves, range(len(data_shape)))
    return _reshape(ctx, _threefry_fold_in(ctx, _reshape(ctx, words, (*halves, 2)), halves, data, halves), (*batch, 4))


def _rbg_seed(ctx: Body, seeds: Any, aval: ShapedArray) -> Any:
    half = _threefry_seed(ctx, seeds, aval)
    return _concatenate(ctx, [half, half], (*aval.shape, 4), aval.ndim)


# Of every ten keys that the generator makes, unsafe_rbg takes one, so that neighbours are less alike.
_SKIP = 10


def _unsafe_rbg_split(ctx: Body, words: Any, batch: Shape, shape: Shape, partitionable: bool) -> Any:
    n = math.prod(shape)
    if n == 0 or 0 in batch:
        return ctx.constant(0, _u32((*batch, *shape, 4)))
    made = (*batch, _SKIP * n, 4)
    _, bits = _generate(ctx, _first_key(ctx, words, batch), _u32(made))
    bits, _ = _slice(ctx, bits, made, len(batch), 0, _SKIP * n, _SKIP)
    return _reshape(ctx, bits, (*batch, *shape, 4))


def _unsafe_rbg_fold_in(ctx: Body, words: Any, batch: Shape, data: Any, data_shape: Shape) -> Any:
    states = _rbg_seed(ctx, data, _u32(data_shape))
    made = (*data_shape, _SKIP, 4)
    _, bits = _generate(ctx, _first_key(ctx, states, data_shape), _u32(made))
    bits, _ = _slice(ctx, bits, made, len(data_shape), _SKIP - 1, _SKIP)
    bits = _reshape(ctx, bits, (*data_shape, 4))
    bits = broadcast(ctx, bits, (*data_shape, 4), (*batch, 4), [*range(len(data_shape)), len(batch)])
    return ctx.op("stablehlo.xor", _u32((*batch, 4)), [words, bits])


# -- rules -----------------------------------------------------------------------------------------------------------

#: What each generator does to make keys of seeds, split keys, fold numbers in, and make bits. More of them in
#: counter_generators.py.
GENERATORS: dict[str, tuple[Any, Any, Any, Any]] = {
    "threefry2x32": (_threefry_seed, _threefry_split, _threefry_fold_in, _threefry_bits),
    "rbg": (_rbg_seed, _rbg_split, _rbg_fold_in, _rbg_bits),
    "unsafe_rbg": (_rbg_seed, _unsafe_rbg_split, _unsafe_rbg_fold_in, _rbg_bits),
}


def _generator(aval: ShapedArray) -> tuple[Any, Any, Any, Any]:
    impl = aval.dtype.impl
    return _written_by_users(impl) if impl.rules else GENERATORS[impl.name]


def _written_by_users(impl: rb.PRNGImpl) -> tuple[Any, Any, Any, Any]:
    """The same for a generator whose rules are functions of arrays."""
    make, split, fold_in, bits = impl.rules

    def words_of(shape: Shape) -> ShapedArray:
        return _u32((*shape, *impl.key_shape))

    def lower_seed(ctx: Body, seeds: Any, aval: ShapedArray) -> Any:
        return ctx.inline(lambda s: make(s, aval.shape), [aval], seeds)[0]

    def lower_split(ctx: Body, words: Any, batch: Shape, shape: Shape, partitionable: bool) -> Any:
        return ctx.inline(lambda w: split(w, batch, shape), [words_of(batch)], words)[0]

    def lower_fold_in(ctx: Body, words: Any, batch: Shape, data: Any, data_shape: Shape) -> Any:
        return ctx.inline(lambda w, d: fold_in(w, d, batch), [words_of(batch), _u32(data_shape)], words, data)[0]

    def lower_bits(ctx: Body, words: Any, batch: Shape, width: int, shape: Shape, partitionable: bool) -> Any:
        return ctx.inline(lambda w: bits(w, batch, width, shape), [words_of(batch)], words)[0]

    return lower_seed, lower_split, lower_fold_in, lower_bits


def _lower_seed(ctx: Body, eqn: Any, seeds: Any) -> Any:
    return _generator(eqn.outvars[0].aval)[0](ctx, seeds, eqn.invars[0].aval)


def _computed_once(ctx: Body, out: Any, aval: ShapedArray) -> Any:
    """Keep the rounds out of what is computed with their result.

    XLA would fuse them into every consumer: a chain of n splits became n! copies of them. Kept apart they also compile
    several times sooner, and run faster.
    """
    return ctx.ops("stablehlo.optimization_barrier", [aval], [out]).results[0]


def _lower_split(ctx: Body, eqn: Any, words: Any) -> Any:
    keys = eqn.invars[0].aval
    out = _generator(keys)[1](ctx, words, keys.shape, eqn.params["shape"], eqn.params.get("partitionable", True))
    return _computed_once(ctx, out, eqn.outvars[0].aval)


def _lower_fold_in(ctx: Body, eqn: Any, words: Any, data: Any) -> Any:
    keys, numbers = [v.aval for v in eqn.invars]
    shape = eqn.outvars[0].aval.shape
    whole = (*shape, *keys.dtype.physical_shape)
    words_shape = (*keys.shape, *keys.dtype.physical_shape)
    dims = range(0 if keys.shape else len(shape), len(whole))
    words = broadcast(ctx, words, words_shape, whole, dims)
    out = _generator(keys)[2](ctx, words, shape, data, numbers.shape)
    return _computed_once(ctx, out, eqn.outvars[0].aval)


def _lower_bits(ctx: Body, eqn: Any, words: Any) -> Any:
    keys, params = eqn.invars[0].aval, eqn.params
    out = _generator(keys)[3](
        ctx, words, keys.shape, params["bit_width"], params["shape"], params.get("partitionable", True)
    )
    return _computed_once(ctx, out, eqn.outvars[0].aval)


def _lower_threefry(ctx: Body, eqn: Any, *operands: Any) -> Any:
    out = eqn.outvars[0].aval
    k0, k1, x0, x1 = [ctx.broadcast(v, e.aval, out) for v, e in zip(operands, eqn.invars)]
    return _threefry(ctx, (k0, k1), out.shape, x0, x1, out.shape)


def _lower_bit_generator(ctx: Body, eqn: Any, key: Any) -> Any:
    state, out = [v.aval for v in eqn.outvars]
    name = eqn.params["algorithm"].name.removeprefix("RNG_")
    if state.dtype == uint32:
        return _generate(ctx, key, out, name)
    attributes = {"rng_algorithm": ctx.mlir.parsed(f"#stablehlo<rng_algorithm {name}>")}
    return ctx.ops("stablehlo.rng_bit_generator", [state, out], [key], attributes).results


def _lower_rng_uniform(ctx: Body, eqn: Any, a: Any, b: Any) -> Any:
    shape = np.asarray(eqn.params["shape"], np.int64)
    shape_value = ctx.constant(shape, ShapedArray(shape.shape, np.dtype("int64")))
    attributes = {"rng_distribution": ctx.mlir.parsed("#stablehlo<rng_distribution UNIFORM>")}
    return ctx.op("stablehlo.rng", eqn.outvars[0].aval, [a, b, shape_value], attributes)


rb.random_seed_p.lower = _lower_seed
rb.random_split_p.lower = _lower_split
rb.random_fold_in_p.lower = _lower_fold_in
rb.random_bits_p.lower = _lower_bits
rb.random_wrap_p.lower = rb.random_unwrap_p.lower = lambda ctx, eqn, x: x
rb.threefry2x32_p.lower = _lower_threefry
rb.rng_bit_generator_p.lower = _lower_bit_generator
rb.rng_uniform_p.lower = _lower_rng_uniform

for _primitive in (
    rb.random_seed_p, rb.random_split_p, rb.random_fold_in_p, rb.random_bits_p, rb.random_wrap_p, rb.random_unwrap_p,
):  # fmt: skip
    _primitive.takes_extended = True
