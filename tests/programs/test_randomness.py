"""Random numbers of first examples: the same bits as JAX gives for the same key (recorded with JAX 0.12)."""

import hashlib

import numpy as np

import xtrace as xt
import xtrace.numpy as xnp

KEY = [0, 42]
THREE_KEYS = [[1832780943, 270669613], [64467757, 2916123636], [2465931498, 255383827]]
BITS_784_256 = "4b585d94c5402a0b90db93bb8b06d82be10d000f1f6f63e5f197c4cf1535bb4b"
UNIFORM_1000 = "1d1ee8bc4a3d7707967f08fa000c40c74d9f15ead1d060ddfb4c19b8ebfe2c09"


def digest(x):
    return hashlib.sha256(np.asarray(x)).hexdigest()


def test_keys():
    key = xt.random.PRNGKey(42)
    assert key.tolist() == KEY
    assert xt.random.split(key, 3).tolist() == THREE_KEYS
    assert xt.random.key_data(xt.random.split(xt.random.key(42), 3)).tolist() == THREE_KEYS


def test_draws():
    key = xt.random.PRNGKey(42)
    first = xt.random.split(key, 3)[0]
    assert digest(xt.random.bits(first, (784, 256))) == BITS_784_256
    assert digest(xt.random.uniform(key, (1000,))) == UNIFORM_1000
    weights = xt.random.normal(first, (784, 256))
    # The normal distribution's inverse may differ in the last bit from one processor to another.
    np.testing.assert_allclose(
        weights[0, :5], [0.07592553645, -0.48634263873, 1.29032063484, 0.51961189508, 0.30040436983], rtol=1e-6
    )
    assert xt.random.permutation(key, 10).tolist() == [7, 4, 2, 5, 3, 6, 8, 9, 0, 1]
    rows = xt.random.permutation(key, xnp.arange(12.0).reshape(6, 2))
    assert rows[:, 0].tolist() == [8, 4, 10, 6, 0, 2]
    coins = xt.random.bernoulli(key, 0.8, (16,))
    assert coins.astype(int).tolist() == [1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 1, 0]


def test_dropout_with_a_key_for_each_layer():
    def dropout(key, x, keep=0.8):
        return xnp.where(xt.random.bernoulli(key, keep, x.shape), x / keep, 0)

    @xt.jit
    def network(key, x):
        for k in xt.random.split(key, 2):
            x = dropout(k, x)
        return x

    x = xnp.ones((100, 100))
    out = network(xt.random.PRNGKey(0), x)
    assert set(np.unique(out).tolist()) == {0.0, 1.5625}
    assert abs(float(out.mean()) - 1) < 0.05
    np.testing.assert_array_equal(out, network(xt.random.PRNGKey(0), x))
    assert not np.array_equal(out, network(xt.random.PRNGKey(1), x))
