"""Generators by name, and one that a program writes."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.extend import random as extend_random

#: Published vectors of Threefry-2x32 with 20 rounds: (key, counter, result).
KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("key", "count", "result"), KNOWN)
def test_threefry(key, count, result):
    out = extend_random.threefry_2x32(np.array(key, np.uint32), np.array(count, np.uint32))
    np.testing.assert_array_equal(out, np.array(result, np.uint32))


def test_threefry_of_odd_arrays():
    key = np.array([1, 2], np.uint32)
    assert extend_random.threefry_2x32(key, np.arange(5, dtype=np.uint32)).shape == (5,)
    with pytest.raises(TypeError, match="requires uint32"):
        extend_random.threefry_2x32(key, np.arange(4))


@pytest.fixture(scope="module")
def counter():
    """A generator whose bits are its key: seeds, splits and folds add up."""
    return extend_random.define_prng_impl(
        key_shape=(1,),
        seed=lambda s: xnp.asarray(s).astype(np.uint32)[None],
        split=lambda k, shape: k + xnp.arange(np.prod(shape), dtype=np.uint32).reshape(*shape, 1),
        random_bits=lambda k, width, shape: xnp.full(shape, k[0]).astype(f"uint{width}"),
        fold_in=lambda k, data: k + data,
        name="counter",
        tag="cnt",
    )


@pytest.mark.parametrize("run", [lambda f: f, xt.jit], ids=["eager", "jit"])
def test_written_generator(counter, run):
    def draw(seed):
        key = xt.random.key(seed, impl=counter)
        first, second = xt.random.split(xt.random.fold_in(key, 10))
        return xt.random.bits(first, (2,)), xt.random.bits(second, (), "uint8")

    first, second = run(draw)(5)
    np.testing.assert_array_equal(first, [15, 15])
    assert second == 16 and second.dtype == "uint8"


def test_written_generator_maps_over_keys(counter):
    keys = xt.random.split(xt.random.key(1, impl=counter), 3)
    assert str(keys.dtype) == "key<cnt>"
    np.testing.assert_array_equal(xt.vmap(lambda k: xt.random.bits(k))(keys), [1, 2, 3])
    np.testing.assert_array_equal(xt.vmap(xt.random.bits)(xt.vmap(xt.random.fold_in)(keys, np.arange(3))), [1, 3, 5])


def test_keys_whose_words_are_a_matrix():
    impl = extend_random.define_prng_impl(
        key_shape=(2, 2),
        seed=lambda s: xnp.asarray(s).astype(np.uint32) + xnp.arange(4, dtype=np.uint32).reshape(2, 2),
        split=lambda k, shape: k + 10 * xnp.arange(np.prod(shape), dtype=np.uint32).reshape(*shape, 1, 1),
        random_bits=lambda k, width, shape: xnp.full(shape, k[1, 0]).astype(f"uint{width}"),
        fold_in=lambda k, data: k + data,
        tag="mat",
    )
    keys = xt.random.split(xt.random.key(0, impl=impl), 3)
    words = np.arange(4).reshape(2, 2) + 10 * np.arange(3)[:, None, None]
    moved = {
        "index": (lambda k: k[1], words[1]),
        "slice": (lambda k: k[1:], words[1:]),
        "gather": (lambda k: k[np.array([2, 0])], words[[2, 0]]),
        "reverse": (lambda k: k[::-1], words[::-1]),
        "update": (lambda k: k.at[0].set(k[2]), words[[2, 1, 2]]),
        "concatenate": (lambda k: xnp.concatenate([k, k[:1]]), words[[0, 1, 2, 0]]),
        "transpose": (lambda k: k[:2].reshape(1, 2).T, words[:2, None]),
        "broadcast": (lambda k: xnp.broadcast_to(k[0], (2, 1)), np.broadcast_to(words[0], (2, 1, 2, 2))),
        "choice": (lambda k: xnp.where(np.array([True, False, True]), k, k[0]), words[[0, 0, 2]]),
        "scan": (lambda k: xt.lax.scan(lambda c, x: (x, c), k[2], k)[1], words[[2, 0, 1]]),
        "fold_in of one": (
            lambda k: xt.vmap(lambda i: xt.random.fold_in(k[0], i))(xnp.arange(2)),
            words[0] + [[[0]], [[1]]],
        ),
    }
    for name, (f, want) in moved.items():
        for g in (f, xt.jit(f)):
            np.testing.assert_array_equal(xt.random.key_data(g(keys)), want, err_msg=name)
    np.testing.assert_array_equal(keys == keys[1], [False, True, False])


def test_two_generators_of_one_name_are_two(counter):
    def impl(offset):
        return extend_random.define_prng_impl(
            key_shape=(1,),
            seed=lambda s: xnp.asarray(s).astype(np.uint32)[None] + np.uint32(offset),
            split=lambda k, shape: k,
            random_bits=lambda k, width, shape: xnp.full(shape, k[0]),
            fold_in=lambda k, data: k,
        )

    drawn = [int(xt.random.bits(xt.random.key(0, impl=impl(offset)))) for offset in (3, 4)]
    assert drawn == [3, 4]


def test_seed_with_impl():
    key = extend_random.seed_with_impl(extend_random.unsafe_rbg_prng_impl, 1)
    np.testing.assert_array_equal(xt.random.key_data(key), xt.random.key_data(xt.random.key(1, impl="unsafe_rbg")))
