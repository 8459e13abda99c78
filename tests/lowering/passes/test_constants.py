"""Numbers that differ between blocks that are alike become operands; others stay."""

import numpy as np
import pytest

import xtrace as xt
from tests.lowering.passes.blocks import MATRIX, N, X, blocks, check_same, compiled
from xtrace import lax
from xtrace import numpy as jnp

ARRAYS = [np.full(8, 1 + 0.1 * k, np.float32) for k in range(N)]


def test_numbers():
    notes = check_same(
        lambda w, x: blocks(lambda k: 1 + 0.1 * k, w, x), MATRIX, X, leaving_out="constants", exact=False
    )
    assert notes == [f"{N} constants of mul"]


def test_arrays():
    notes = check_same(lambda w, x: blocks(ARRAYS.__getitem__, w, x), MATRIX, X, leaving_out="constants", exact=False)
    assert len(notes) == 1 and notes[0].startswith(f"{N} constants of ")


def test_derivatives():
    def loss(w, x):
        return jnp.sum(blocks(lambda k: 1 + 0.1 * k, w, x))

    notes = check_same(xt.grad(loss, argnums=(0, 1)), MATRIX, X, leaving_out="constants", exact=False)
    assert f"{N} constants of mul" in notes


def test_bodies_of_loops():
    def f(w, x):
        return lax.scan(lambda c, _: (blocks(lambda k: 1 - 0.02 * k, w, c), None), x, None, length=3)[0]

    program = compiled(f, MATRIX, X)
    assert program.passes.of("constants").changed
    want = compiled(f, MATRIX, X, passes="-constants")(MATRIX, X)
    np.testing.assert_allclose(program(MATRIX, X), want, rtol=1e-5)


def _polynomial(x):
    out = jnp.zeros_like(x)
    for k in range(30):
        out = out * x + (1 + 0.1 * k)
    return out


@pytest.mark.parametrize(
    "f",
    [
        _polynomial,  # many numbers in one kernel
        lambda x: blocks(lambda k: 2.0, MATRIX, x),  # one number in many
        lambda x: blocks(lambda k: 1 + 0.1 * k, MATRIX, x, n=5),  # few
    ],
)
def test_what_stays(f):
    program = compiled(f, X)
    assert not program.passes.of("constants").changed
