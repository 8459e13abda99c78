"""fwd_and_bwd against vjp."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp


@pytest.mark.parametrize("jitted", [True, False])
def test_the_pieces_are_vjp(jitted):
    x, w = xnp.arange(4.0).reshape(2, 2), xnp.ones((2, 2))
    f = lambda x, w: {"out": xnp.sin(x @ w)}  # noqa: E731
    fwd, bwd = xt.fwd_and_bwd(f, argnums=(0, 1), jitted=jitted)
    out, pull = xt.vjp(f, x, w)
    for _ in range(2):
        got, residuals = fwd(x, w)
        np.testing.assert_allclose(got["out"], out["out"], rtol=1e-6)
        for a, b in zip(bwd(residuals, out), pull(out)):
            np.testing.assert_allclose(a, b, rtol=1e-5)


def test_aux_and_one_argument():
    fwd, bwd = xt.fwd_and_bwd(lambda x, y: (x * y, x + y), argnums=1, has_aux=True)
    out, residuals, aux = fwd(2.0, 3.0)
    assert (float(out), float(aux)) == (6.0, 5.0)
    assert [float(v) for v in bwd(residuals, 1.0)] == [2.0]
