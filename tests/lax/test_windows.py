"""Reductions over windows against loops, their derivatives and batching; elements chosen and scattered to."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from tests.lax.window_references import reduction
from xtrace import lax
from xtrace.lax.windows import select_and_scatter

GEOMETRY = [
    ((2, 3), (1, 2), ((0, 0), (1, 1)), (1, 1), (1, 1)),
    ((3, 2), (2, 1), ((1, 2), (0, 1)), (1, 2), (2, 1)),
    ((2, 2), (1, 1), ((-1, 1), (2, -1)), (2, 1), (1, 3)),
    ((2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1), (1, 1)),
]
COMPUTATIONS = {
    "add": (lax.add, np.add, 0.0),
    "max": (lax.max, np.maximum, -np.inf),
    "min": (lax.min, np.minimum, np.inf),
    "mul": (lax.mul, np.multiply, 1.0),
}


@pytest.mark.parametrize("geometry", GEOMETRY)
@pytest.mark.parametrize("name", COMPUTATIONS)
def test_values_derivatives_batching(geometry, name):
    computation, ufunc, init = COMPUTATIONS[name]
    rng = np.random.default_rng(0)
    x = rng.permutation(42).reshape(6, 7).astype("float32") / 20 + 0.1

    def f(x):
        return lax.reduce_window(x, init, computation, *geometry)

    def reference(x):
        return reduction(x, init, ufunc, *geometry)

    expected = reference(x)
    finite = np.isfinite(expected)
    d, ct = rng.normal(size=x.shape).astype("float32"), rng.normal(size=expected.shape).astype("float32") * finite
    xs = rng.normal(size=(3, *x.shape)).astype("float32")

    def loss(x):
        return xt.numpy.sum(xt.numpy.where(finite, f(x), 0) ** 2)

    @xt.jit
    def derivatives(x, d, ct):
        forward_over_reverse = xt.jvp(xt.grad(loss), (x,), (d,))[1]
        reverse_over_reverse = xt.grad(lambda x: xt.numpy.vdot(xt.grad(loss)(x), d))(x)
        return xt.jvp(f, (x,), (d,))[1], xt.vjp(f, x)[1](ct)[0], forward_over_reverse, reverse_over_reverse

    each = [f, xt.grad(loss), lambda x: xt.jvp(f, (x,), (d,))[1]]
    rows = xt.jit(lambda x: [g(x) for g in each])
    mapped = xt.jit(lambda xs: [xt.vmap(g, 1)(xs) for g in each])
    np.testing.assert_allclose(f(x), expected, rtol=1e-5)
    tangent, g, forward_over_reverse, reverse_over_reverse = map(np.asarray, derivatives(x, d, ct))
    wide, step = x.astype("float64"), 1e-5 * d.astype("float64")
    numeric = (reference(wide + step)[finite] - reference(wide - step)[finite]) / 2e-5
    np.testing.assert_allclose(tangent[finite], numeric, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(np.sum(tangent * ct), np.sum(g * d), rtol=2e-3, atol=1e-2)
    np.testing.assert_allclose(forward_over_reverse, reverse_over_reverse, rtol=1e-3, atol=1e-3)
    for got, *wanted in zip(mapped(np.moveaxis(xs, 0, 1)), *map(rows, xs)):
        np.testing.assert_allclose(got, np.stack(wanted), rtol=1e-4, atol=1e-4)


def test_initial_values_that_are_no_identity_and_mapped_ones():
    x = np.arange(6, dtype="float32")
    f = lambda init: lax.reduce_window(x, init, lax.add, (2,), (2,), "VALID")
    np.testing.assert_array_equal(f(np.float32(10)), [11, 15, 19])
    np.testing.assert_array_equal(xt.vmap(f)(np.float32([0, 10])), [[1, 5, 9], [11, 15, 19]])
    assert xt.grad(lambda init: f(init).sum())(np.float32(3)) == 3


def test_trees_of_operands():
    x, n = np.float32([1, 2, 3, 4]), np.int32([1, 1, 1, 1])
    product, count = lax.reduce_window(
        (x, n), (np.float32(1), np.int32(0)), lambda a, b: (a[0] * b[0], a[1] + b[1]), (2,), (1,), "SAME"
    )
    assert product.tolist() == [2, 6, 12, 4] and count.tolist() == [2, 2, 2, 1]


def test_ties_go_to_the_first_element():
    pool = lambda x: lax.reduce_window(x, -np.inf, lax.max, (3,), (3,), "VALID").sum()
    assert xt.grad(pool)(np.float32([1, 2, 2, 3, 3, 3])).tolist() == [0, 1, 0, 1, 0, 0]


def _scattered(x, source, window, strides, padding, init, scatter):
    out = np.full(x.shape, init, x.dtype)
    for i, j in np.ndindex(*source.shape):
        rows = [r for k in range(window[0]) if 0 <= (r := i * strides[0] + k - padding[0][0]) < x.shape[0]]
        columns = [c for k in range(window[1]) if 0 <= (c := j * strides[1] + k - padding[1][0]) < x.shape[1]]
        best = max(((r, c) for r in rows for c in columns), key=lambda p: x[p])
        out[best] = scatter(out[best], source[i, j])
    return out


@pytest.mark.parametrize("padding", [((0, 0), (0, 0)), ((1, 1), (0, 1))])
@pytest.mark.parametrize("scatter, init", [(lax.add, 0.0), (lax.mul, 1.0), (lambda a, b: a + b * b, 3.0)])
def test_scattering_to_chosen_elements(padding, scatter, init):
    rng = np.random.default_rng(0)
    x, window, strides = rng.permutation(42).reshape(6, 7).astype("float32"), (3, 2), (2, 1)
    shape = lax.reduce_window_shape_tuple(x.shape, window, strides, padding)
    source = rng.normal(size=shape).astype("float32")
    f = lambda s, i: select_and_scatter(x, lax.ge, window, strides, padding, s, i, scatter)
    plain = lambda s, i: _scattered(x, s, window, strides, padding, i, lambda a, b: np.float32(scatter(a, b)))
    np.testing.assert_allclose(f(source, np.float32(init)), plain(source, init), rtol=1e-4, atol=1e-5)
    both = xt.vmap(f)(np.stack([source, 2 * source]), np.float32([init, init + 1]))
    np.testing.assert_allclose(both[1], plain(2 * source, init + 1), rtol=1e-4, atol=1e-5)
    d = rng.normal(size=shape).astype("float32")
    tangent = xt.jvp(lambda s: f(s, np.float32(init)), (source,), (d,))[1]
    gradient = xt.grad(lambda s: f(s, np.float32(init)).sum())(source)
    np.testing.assert_allclose(np.sum(tangent), np.sum(gradient * d), rtol=1e-3)


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_lowers_for_absent_hardware(platform):
    def f(x):
        pooled = lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (2, 2), "SAME")
        return xt.jvp(xt.grad(lambda x: (pooled(x) ** 2).sum()), (x,), (x,))

    text = xt.jit(f).trace(np.ones((5, 6), "float32")).lower(lowering_platforms=(platform,)).as_text()
    assert "stablehlo.reduce_window" in text and "stablehlo.select_and_scatter" in text


@pytest.mark.parametrize(
    "error, message, call",
    [
        (ValueError, "same tree structure as init_values", lambda x: lax.reduce_window((x,), 0.0, lax.add, (1, 1))),
        (TypeError, "wrong number of window_dimensions", lambda x: lax.reduce_window(x, 0.0, lax.add, (1,))),
        (TypeError, "inconsistent window_strides", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 1), (1,))),
        (ValueError, "window_dimensions must be positive", lambda x: lax.reduce_window(x, 0.0, lax.add, (0, 1))),
        (RuntimeError, "Unrecognized padding", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 1), padding="FULL")),
        (TypeError, "inconsistent dtypes", lambda x: lax.reduce_window(x, np.int32(0), lax.add, (1, 1))),
    ],
)
def test_refusals(error, message, call):
    with pytest.raises(error, match=message):
        call(np.ones((4, 4), "float32"))
