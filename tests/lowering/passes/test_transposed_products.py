"""Products that are only read transposed have their operands exchanged."""

import numpy as np
import pytest

import xtrace as xt
from tests.lowering.passes.blocks import check_same, compiled
from xtrace import lax
from xtrace import numpy as jnp

_NORMAL = np.random.default_rng(0).standard_normal
_BATCHED = (((2,), (1,)), ((0,), (0,)))


@pytest.mark.parametrize(
    "left, right, numbers, permutation, exchanged",
    [
        ((4, 5), (5, 6), (((1,), (0,)), ((), ())), (1, 0), True),
        ((4, 5), (6, 5), (((1,), (1,)), ((), ())), (1, 0), True),
        ((2, 3, 5), (2, 3, 4), (((0, 1), (0, 1)), ((), ())), (1, 0), True),
        ((3, 4, 5), (3, 5, 6), _BATCHED, (0, 2, 1), True),
        ((4, 7, 5), (5, 6), (((2,), (0,)), ((), ())), (2, 0, 1), True),
        ((4,), (6,), (((), ()), ((), ())), (1, 0), True),
        ((4, 7, 5), (5, 6), (((2,), (0,)), ((), ())), (2, 1, 0), False),
        ((3, 4, 5), (3, 5, 6), _BATCHED, (1, 0, 2), False),
        ((3, 4, 5), (3, 5, 6), _BATCHED, (2, 1, 0), False),
        ((3, 4, 5), (3, 5), (((2,), (1,)), ((0,), (0,))), (1, 0), False),
    ],
)
def test_exchanged(left, right, numbers, permutation, exchanged):
    x, y = _NORMAL(left).astype(np.float32), _NORMAL(right).astype(np.float32)

    def f(x, y):
        return lax.transpose(lax.dot_general(x, y, numbers), permutation)

    assert len(check_same(f, x, y, leaving_out="transposed_products", exact=False)) == exchanged
    want = np.transpose(np.asarray(lax.dot_general(x, y, numbers)), permutation)
    np.testing.assert_allclose(xt.jit(f)(x, y), want, rtol=1e-5, atol=1e-6)


def test_gradients_of_weights_in_a_loop():
    w, x = _NORMAL((3, 5, 5)).astype(np.float32), _NORMAL((2, 4, 5)).astype(np.float32)

    def loss(w):
        return jnp.sum(lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0])

    program = compiled(xt.grad(loss), w)
    names = [name for eqn in program.passes.jaxpr.eqns if eqn.primitive.name == "scan" for name in _names(eqn)]
    assert "dot_general" in names and "transpose" not in names
    check_same(xt.grad(loss), w, leaving_out="transposed_products", exact=False)


def _names(scan):
    return [eqn.primitive.name for eqn in scan.params["jaxpr"].eqns]


def test_a_product_read_elsewhere_stays():
    def f(x):
        product = x @ x
        return product, product.T

    program = compiled(f, np.eye(3, dtype=np.float32))
    assert not program.passes.of("transposed_products").changed


def test_precision_goes_with_its_operand():
    def f(x, y):
        return lax.dot(x, y, precision=("highest", "default")).T

    program = compiled(f, np.ones((2, 3), np.float32), np.ones((3, 4), np.float32))
    (eqn,) = program.passes.jaxpr.eqns
    assert [p.name for p in eqn.params["precision"]] == ["DEFAULT", "HIGHEST"]
    assert eqn.outvars[0].aval.shape == (4, 2)
