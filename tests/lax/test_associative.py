"""associative_scan: against NumPy's cumulative functions, over lengths, axes, trees; its depth."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import lax


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17])
def test_sums(n):
    x = np.arange(1, 2 * n + 1, dtype=np.int32).reshape(n, 2)

    def both(x):
        return lax.associative_scan(xnp.add, x), lax.associative_scan(xnp.add, x.T, axis=-1, reverse=True)

    down, from_the_end = both(x) if n == 5 else xt.jit(both)(x)
    np.testing.assert_array_equal(down, np.cumsum(x, 0))
    np.testing.assert_array_equal(from_the_end, np.cumsum(x.T[:, ::-1], 1)[:, ::-1])


def test_matrix_products_in_a_tree():
    m = np.random.default_rng(0).normal(size=(9, 2, 2)).astype(np.float32)
    out = lax.associative_scan(lambda a, b: {"m": a["m"] @ b["m"], "s": a["s"] + b["s"]}, {"m": m, "s": np.arange(9)})
    product = np.eye(2)
    for i in range(9):
        product = product @ m[i]
        np.testing.assert_allclose(out["m"][i], product, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(out["s"], np.cumsum(np.arange(9)))


def test_signed_zeros_stay():
    out = np.asarray(lax.associative_scan(xnp.multiply, np.array([-0.0, 1.0, 1.0], np.float32)))
    assert np.signbit(out).all()


def test_logarithmic_number_of_operations():
    count = lambda n: str(xt.make_jaxpr(lambda x: lax.associative_scan(xnp.add, x))(np.ones(n))).count(" add ")  # noqa: E731
    assert count(1024) == 19  # two a level, one at the last


def test_derivative():
    got = xt.grad(lambda x: lax.associative_scan(xnp.multiply, x)[-1])(xnp.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(got, [6.0, 3.0, 2.0])


def test_messages():
    with pytest.raises(TypeError, match="fn argument should be callable"):
        lax.associative_scan(0, [1, 2])
    with pytest.raises(ValueError, match="must have the same first dimension"):
        lax.associative_scan(lambda a, b: a, (np.ones(2), np.ones(3)))


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_reverse_keeps_the_order_of_what_is_combined(size):
    """From the end, the function takes what is combined so far first: it need not be commutative."""
    rng = np.random.default_rng(size)
    m = rng.standard_normal((size, 2, 2)).astype(np.float32)
    expected = [m[-1]]
    for i in range(size - 2, -1, -1):
        expected.insert(0, expected[0] @ m[i])
    np.testing.assert_allclose(xt.lax.associative_scan(xnp.matmul, m, reverse=True), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(
        xt.lax.associative_scan(lambda a, b: b, np.arange(size), reverse=True), np.arange(size)
    )
