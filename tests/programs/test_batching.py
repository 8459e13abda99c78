"""A layer written for one vector, for a batch of them."""

import numpy as np

import xtrace as xt
import xtrace.numpy as xnp

RNG = np.random.default_rng(0)
WEIGHT = RNG.standard_normal((128, 64)).astype(np.float32) * 0.1
BIAS = RNG.standard_normal(64).astype(np.float32)
BATCH = RNG.standard_normal((32, 128)).astype(np.float32)


def dense(params, x):
    weight, bias = params
    assert x.shape == (128,)  # one vector, whatever is around it
    return xnp.tanh(x @ weight + bias)


def test_vmap_and_jit_in_either_order():
    expected = np.tanh(BATCH @ WEIGHT + BIAS)
    batched = xt.vmap(dense, in_axes=(None, 0))
    for f in (batched, xt.jit(batched), xt.vmap(xt.jit(dense), in_axes=(None, 0))):
        out = f((WEIGHT, BIAS), BATCH)
        assert out.shape == (32, 64)
        np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_mapped_axes():
    columns = xt.vmap(lambda x: dense((WEIGHT, BIAS), x), in_axes=1, out_axes=1)(BATCH.T)
    np.testing.assert_allclose(columns, np.tanh(BATCH @ WEIGHT + BIAS).T, rtol=1e-4, atol=1e-5)
    distances = xt.vmap(xt.vmap(lambda a, b: xnp.sum((a - b) ** 2), (None, 0)), (0, None))(BATCH[:4], BATCH[:5])
    np.testing.assert_allclose(distances, ((BATCH[:4, None] - BATCH[None, :5]) ** 2).sum(-1), rtol=1e-4, atol=1e-4)
