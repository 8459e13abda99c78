"""Polynomials, interpolation and unwrapping, against NumPy."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp

P, Q = np.array([2.0, -3.0, 0.5, 4.0], np.float32), np.array([1.0, -2.0], np.float32)


def check_close(got, want):
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["polyadd", "polysub", "polymul", "polydiv"])
def test_arithmetic(name):
    for p, q in ((P, Q), (Q, P), (P, P)):
        got, want = getattr(xnp, name)(p, q), getattr(np, name)(p, q)
        for g, w in zip(xt.tree.leaves(got), [want] if isinstance(want, np.ndarray) else want, strict=True):
            w = np.concatenate([np.zeros(g.shape[0] - w.shape[0]), w])  # NumPy trims zeros, which depend on the values
            check_close(g, w)


def test_polyval():
    x = np.linspace(-2, 2, 5, dtype=np.float32)
    check_close(xnp.polyval(P, x), np.polyval(P, x))
    check_close(xnp.polyval(xnp.array([1, 0, -1]), xnp.arange(4)), [-1, 0, 3, 8])
    long = np.full(50, 0.01, np.float32)
    check_close(xnp.polyval(long, x / 3), np.polyval(long, x / 3))
    check_close(xt.grad(lambda v: xnp.polyval(P, v))(1.5), np.polyval(np.polyder(P), 1.5))


def test_derivatives_and_integrals():
    for m in range(4):
        check_close(xnp.polyder(P, m), np.polyder(P, m))
        check_close(xnp.polyint(P, m), np.polyint(P, m))
    check_close(xnp.polyint(P, 2, k=[1.0, 2.0] and np.array([1.0, 2.0])), np.polyint(P, 2, k=[1.0, 2.0]))
    check_close(xnp.poly(np.array([1.0, -2.0, 3.0])), np.poly([1.0, -2.0, 3.0]))
    with pytest.raises(ValueError, match="the order of the derivative can't be negative, got m=-1"):
        xnp.polyder(P, -1)
    with pytest.raises(ValueError, match="polyadd takes coefficients in one dimension"):
        xnp.polyadd(np.ones((2, 2)), P)


def test_unwrap():
    angles = np.array([0, 3, -3, -1, 2.5, -2.9, 9, 1], np.float32)
    check_close(xnp.unwrap(angles), np.unwrap(angles))
    check_close(xnp.unwrap(angles.reshape(2, 4), axis=0), np.unwrap(angles.reshape(2, 4), axis=0))
    check_close(xnp.unwrap(angles, discont=4), np.unwrap(angles, discont=4))
    steps = np.array([0, 1, 2, -1, 0, 3])
    check_close(xnp.unwrap(steps, period=4), np.unwrap(steps, period=4))


def test_interp():
    x = np.array([-1.0, 0.0, 0.4, 1.5, 2.0, 7.0], np.float32)
    xp, fp = np.array([0.0, 1.0, 2.0, 4.0], np.float32), np.array([1.0, 3.0, -1.0, 0.0], np.float32)
    check_close(xnp.interp(x, xp, fp), np.interp(x, xp, fp))
    check_close(xnp.interp(x, xp, fp, left=-5, right=7.5), np.interp(x, xp, fp, left=-5, right=7.5))
    check_close(xnp.interp(x, xp, fp, period=3.0), np.interp(x, xp, fp, period=3.0))
    check_close(xnp.interp(-1.0, xp, fp, left="extrapolate"), -1.0)
    check_close(xt.grad(lambda v: xnp.interp(v, xp, fp))(1.5), -4.0)


def test_derivatives_of_fits_hold_where_a_point_is_zero():
    x, y = np.array([0.0, 1, 2, 3, 5]), np.array([1.0, 2, 5, 3, 1])
    with xt.enable_x64(True):
        found = xt.jacobian(lambda x: xnp.polyfit(x, y, 2))(x)
    eps = 1e-6
    wanted = [(np.polyfit(x + eps * e, y, 2) - np.polyfit(x - eps * e, y, 2)) / (2 * eps) for e in np.eye(5)]
    np.testing.assert_allclose(found, np.stack(wanted, -1), atol=1e-8)


@pytest.mark.parametrize(
    "options", [{}, {"full": True}, {"cov": True}, {"cov": "unscaled"}, {"w": np.ones(6, np.float32)}]
)
@pytest.mark.parametrize("columns", [(), (2,)])
def test_fits_where_promotion_is_forbidden(options, columns):
    x = np.arange(6, dtype=np.float32)
    y = np.cos(np.arange(np.prod((6, *columns)), dtype=np.float32)).reshape(6, *columns)
    with xt.numpy_dtype_promotion("strict"), xt.numpy_rank_promotion("raise"):
        got = xnp.polyfit(x, y, 2, **options)
        assert xnp.vander(x).dtype == np.float32
    want = np.polyfit(x, y, 2, **options)
    got, want = (v[0] if isinstance(v, tuple) else v for v in (got, want))
    np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-4)
