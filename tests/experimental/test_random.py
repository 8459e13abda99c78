"""Generators that change as numbers are drawn."""

import numpy as np
import pytest

import xtrace as xt
from xtrace.experimental.random import stateful_rng


def test_keys_are_folded_counts():
    rng = stateful_rng(3)
    for count in range(3):
        known = xt.random.fold_in(xt.random.key(3), count)
        np.testing.assert_array_equal(xt.random.key_data(rng.key()), xt.random.key_data(known))


def test_draws():
    rng = stateful_rng(0)
    assert rng.integers(5, size=100).max() < 5
    assert 2 <= float(rng.uniform(2, 3)) < 3
    assert rng.normal(np.float32([0, 100]), 1e-3).shape == (2,)
    assert rng.random((2, 3)).shape == (2, 3)
    assert len({float(rng.random()) for _ in range(5)}) == 5


def test_split():
    rng = stateful_rng(0)
    drawn = xt.vmap(lambda rng: rng.random())(rng.split(4))
    assert len(set(np.asarray(drawn).tolist())) == 4
    assert len(rng.spawn(2)) == 2
    with pytest.raises(ValueError, match="was split"):
        rng.split(2).key()


def test_jit():
    def draw(rng):
        return rng.random(), rng

    first, rng = xt.jit(draw)(stateful_rng(1))
    second, _ = xt.jit(draw)(rng)
    known = stateful_rng(1)
    np.testing.assert_allclose([first, second], [known.random(), known.random()])
