"""Slices of one array in many kernels begin at places that are operands."""

import numpy as np

import xtrace as xt
from tests.lowering.passes.blocks import MATRIX, N, X, blocks, check_same, compiled
from xtrace import numpy as jnp

STACK = np.linspace(0.5, 1.5, N * 8, dtype=np.float32).reshape(N, 8)
WEIGHTS = np.stack([MATRIX * (1 + 0.05 * k) for k in range(N)])


def test_rows_of_one_array():
    def f(w, x, stack):
        return blocks(lambda k: stack[k], w, x)

    notes = check_same(f, MATRIX, X, STACK, leaving_out="stacked_slices")
    assert notes == [f"{N} slices of f32[{N},8]"]
    assert "dynamic_slice" in compiled(f, MATRIX, X, STACK).passes.of("stacked_slices").after.pretty_print()


def test_weights_of_layers():
    def f(x, weights):
        for k in range(N):
            x = jnp.tanh(x @ weights[k]) + x
        return x

    assert check_same(f, X, WEIGHTS, leaving_out="stacked_slices") == [f"{N} slices of f32[{N},8,8]"]


def test_columns_from_the_end():
    def f(w, x, stack):
        return blocks(lambda k: stack[:, -1 - k], w, x)

    assert check_same(f, MATRIX, X, STACK.T.copy(), leaving_out="stacked_slices") == [f"{N} slices of f32[8,{N}]"]


def test_what_stays():
    def few(w, x, stack):
        return blocks(lambda k: stack[k], w, x, n=4)

    def together(x, stack):  # in one kernel
        for k in range(N):
            x = x * stack[k]
        return x

    assert not compiled(few, MATRIX, X, STACK).passes.of("stacked_slices").changed
    assert not compiled(together, X, STACK).passes.of("stacked_slices").changed


def test_derivatives():
    def loss(w, x, stack):
        return jnp.sum(blocks(lambda k: stack[k], w, x))

    check_same(xt.grad(loss, argnums=(0, 1, 2)), MATRIX, X, STACK, leaving_out="stacked_slices", exact=False)
