"""Programs of many blocks that are alike, for the tests of passes."""

import numpy as np

import xtrace as xt
from xtrace import numpy as jnp

N = 12
MATRIX = np.linspace(-0.3, 0.3, 64, dtype=np.float32).reshape(8, 8)
X = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)


def blocks(factor, w, x, n=N):
    """n blocks, number k multiplied by factor(k)."""
    for k in range(n):
        x = jnp.tanh(x @ w) * factor(k) + x
    return x


def compiled(f, *args, passes="default"):
    return xt.jit(f, passes=passes).lower(*args).compile()


def check_same(f, *args, leaving_out, exact=True):
    """The program computes the same with and without a pass; returns what the pass noted."""
    program = compiled(f, *args)
    got, want = program(*args), compiled(f, *args, passes=f"-{leaving_out}")(*args)
    for a, b in zip(xt.tree.leaves(got), xt.tree.leaves(want), strict=True):
        if exact:
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return [note.value for note in program.passes.of(leaving_out).notes]
