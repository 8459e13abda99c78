"""Sums of arrays that are zero but for a part each become concatenations."""

import numpy as np
import pytest

import xtrace as xt
from tests.lowering.passes.blocks import check_same, compiled
from xtrace import lax
from xtrace import numpy as jnp

X = np.linspace(-2, 2, 40, dtype=np.float32).reshape(8, 5)


def _rows(order, axis=0):
    def f(x):
        rows = [jnp.sin(x[k] if axis == 0 else x[:, k]) * (k + 1) for k in order]
        return sum([jnp.sum(r) for r in rows])

    return f


@pytest.mark.parametrize(
    "order, axis", [(range(8), 0), ([5, 0, 3, 7], 0), ([1, 2, 6], 0), (range(5), 1), ([4, 2, 0], 1)]
)
def test_gradients_of_slices(order, axis):
    notes = check_same(xt.grad(_rows(order, axis)), X, leaving_out="padded_sums")
    assert notes == [f"a sum of {len(order)} padded parts"]
    want = np.zeros_like(X)
    for k in order:
        at = (k,) if axis == 0 else (slice(None), k)
        want[at] = np.cos(X[at]) * (k + 1)
    np.testing.assert_allclose(xt.jit(xt.grad(_rows(order, axis)))(X), want, rtol=1e-6)


def test_parts_that_overlap_are_added():
    def f(x):
        return sum([jnp.sum(jnp.sin(x[k : k + 3])) for k in range(0, 5, 2)])

    program = compiled(xt.grad(f), X)
    assert not program.passes.of("padded_sums").changed
    want = np.cos(X) * np.array([1, 1, 2, 1, 2, 1, 1, 0])[:, None]
    np.testing.assert_allclose(program(X), want, rtol=1e-6)


def test_a_part_read_elsewhere_too():
    def f(a, b, c):
        pads = [lax.pad(v, 0.0, [(k, 2 - k, 0)]) for k, v in enumerate((a, b, c))]
        both = pads[0] + pads[1]
        return both + pads[2], both

    one = np.ones(1, np.float32)
    whole, both = xt.jit(f)(one, 2 * one, 3 * one)
    assert whole.tolist() == [1, 2, 3] and both.tolist() == [1, 2, 0]


@pytest.mark.parametrize("fill, config", [(1.0, (1, 1, 0)), (0.0, (1, -1, 0)), (0.0, (1, 0, 1))])
def test_other_padding_stays(fill, config):
    def f(x):
        return sum([lax.pad(x * k, fill, [config]) for k in range(1, 5)])

    x = np.arange(3, dtype=np.float32) + 1
    program = compiled(f, x)
    assert not program.passes.of("padded_sums").changed
    np.testing.assert_array_equal(program(x), f(x))
