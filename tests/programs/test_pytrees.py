"""Nested containers of arrays, and gradient descent on them."""

from typing import NamedTuple

import numpy as np

import xtrace as xt
import xtrace.numpy as xnp


class Params(NamedTuple):
    weight: object
    bias: object


def test_structures_print():
    assert str(xt.tree.structure([1, 2, (xnp.arange(3), xnp.ones(2))])) == "PyTreeDef([*, *, (*, *)])"
    assert str(xt.tree.structure(Params(1, 2))) == "PyTreeDef(CustomNode(namedtuple[Params], [*, *]))"


def test_leaves_come_in_order_of_keys():
    tree = {"b": 1, "a": [2, 3], "c": None}
    assert xt.tree.leaves(tree) == [2, 3, 1]
    assert xt.tree.map(lambda x: x * 10, tree) == {"b": 10, "a": [20, 30], "c": None}
    assert xt.tree.reduce(lambda x, y: x + y, tree) == 6


def test_gradient_descent_on_nested_layers():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (128, 1)).astype(np.float32)
    y = x**2

    def layer(rows, columns):
        return {
            "weight": rng.standard_normal((rows, columns)).astype(np.float32) * (2 / rows) ** 0.5,
            "bias": xnp.zeros(columns),
        }

    params = {"first": layer(1, 32), "second": layer(32, 1)}

    def loss(params, x, y):
        hidden = xnp.maximum(x @ params["first"]["weight"] + params["first"]["bias"], 0)
        return xnp.mean((hidden @ params["second"]["weight"] + params["second"]["bias"] - y) ** 2)

    @xt.jit
    def step(params, x, y, rate=0.1):
        grads = xt.grad(loss)(params, x, y)
        return xt.tree.map(lambda p, g: p - rate * g, params, grads)

    before = float(loss(params, x, y))
    structure = xt.tree.structure(params)
    for _ in range(300):
        params = step(params, x, y)
    assert xt.tree.structure(params) == structure
    assert float(loss(params, x, y)) < before / 20
