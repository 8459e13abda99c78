"""Options and edges of loops: lengths, unrolling, batched conditions, batches of map, reductions with computations."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp

lax = xt.lax
XS = np.array([0.5, -1.0, 2.0, 0.25, -0.75], np.float32)


def step(c, x):
    return c * 0.5 + x, c * x


def looped(c, xs):
    ys = []
    for x in xs:
        ys.append(c * x)
        c = c * 0.5 + x
    return c, np.array(ys)


@pytest.mark.parametrize("init", [0.0, np.float32(0.0), 0])
def test_ten_thousand_steps_trace_the_body_once(init):
    traced = []

    def body(c, x):
        traced.append(c)
        return c * 0.5 + x, None

    xs = np.linspace(-1, 1, 10_000, dtype=np.float32)
    c, _ = lax.scan(body, init, xs)
    wanted = np.sum(xs[-60:].astype(float) * 0.5 ** np.arange(59.0, -1, -1))
    assert c.dtype == np.float32 and not c.weak_type
    np.testing.assert_allclose(c, wanted, rtol=1e-5)
    # A Python number takes the dtype that the body returns; a second look is needed only where that is another one.
    assert len(traced) == (2 if isinstance(init, int) else 1)


def test_results_have_the_types_of_the_settled_carry():
    _, ys = lax.scan(lambda total, x: (total + x, total), 0, np.array([1, 2, 3], np.int32))
    assert ys.weak_type  # they stack what the body saw: a number
    total, ys = lax.scan(lambda c, x: (c + x, c * np.ones((), "bfloat16")), 0.0, np.ones(3, np.float32))
    assert ys.dtype == "bfloat16" and total.dtype == np.float32 and not total.weak_type  # the carry is a number
    _, ys = lax.scan(lambda c, x: (c + x, c * np.ones((), "bfloat16")), 0, np.ones(3, np.float32))
    assert ys.dtype == np.float32  # the carry had to become an array of another dtype


def test_a_body_that_uses_up_what_it_closes_over_is_traced_once():
    consts, carried = [np.float32(0.5), np.float32(0.25)], []

    def body(c, x):
        carried.append(c)
        return xnp.sin(c) + consts.pop() + x, c

    xs = np.arange(3, dtype=np.float32)
    (c, _) = lax.scan(body, 0.3, xs)
    wanted = 0.3
    for x in xs:
        wanted = np.sin(wanted) + 0.25 + x
    np.testing.assert_allclose(c, wanted, rtol=1e-6)
    assert len(carried) == 1 and len(consts) == 1 and not c.weak_type
    lax.while_loop(lambda c: c < 3, lambda c: c + consts.pop(), 0.0)
    assert not consts


def test_derivatives_of_ten_thousand_steps_trace_the_body_once():
    traced = []

    def body(c, x):
        traced.append(c)
        return c * 0.999 + x, c

    loss = lambda xs: lax.scan(body, np.float32(0), xs)[0]
    got = xt.jit(xt.grad(loss))(np.ones(10_000, np.float32))
    assert len(traced) == 1 and not got.weak_type
    np.testing.assert_allclose(got, 0.999 ** np.arange(9_999.0, -1, -1), rtol=1e-3)


@pytest.mark.parametrize("unroll", [True, False, 0, 1, 2, 3, 5, 100, np.int64(2)])
@pytest.mark.parametrize("reverse", [False, True])
def test_unrolled_scans_are_the_same(unroll, reverse):
    c, ys = lax.scan(step, 1.0, XS, reverse=reverse, unroll=unroll, _split_transpose=True)
    wanted, wanted_ys = looped(1.0, XS[::-1] if reverse else XS)
    np.testing.assert_allclose(c, wanted, rtol=1e-6)
    np.testing.assert_allclose(ys, wanted_ys[::-1] if reverse else wanted_ys, rtol=1e-6)
    slope = xt.grad(lambda c: lax.scan(step, c, XS, reverse=reverse, unroll=unroll, _split_transpose=True)[0])(1.0)
    np.testing.assert_allclose(slope, 0.5**5, rtol=1e-6)


@pytest.mark.parametrize(
    "unroll, error, message",
    [
        (-1, ValueError, "`unroll` must be a `bool` or a non-negative `int`, got -1"),
        (1.5, TypeError, "scan takes an integer as its argument `unroll`, got 1.5 of type float"),
        (None, TypeError, "scan takes an integer as its argument `unroll`, got None"),
    ],
)
def test_unroll_is_a_number(unroll, error, message):
    with pytest.raises(error, match=message):
        lax.scan(step, 1.0, XS, unroll=unroll)


@pytest.mark.parametrize("unroll", [1, True, 2])
def test_scans_of_no_steps(unroll):
    empty = np.zeros((0, 3), np.float32)
    c, ys = lax.scan(lambda c, x: (c + x, (c, 1)), np.ones(3, np.float32), empty, unroll=unroll)
    np.testing.assert_array_equal(c, np.ones(3))
    assert (ys[0].shape, ys[1].shape, ys[1].dtype) == ((0, 3), (0,), np.int32)
    loss = lambda c, xs: xnp.sum(lax.scan(lambda c, x: (xnp.sin(c) * x, c), c, xs, unroll=unroll)[0] * 2.0)
    got = xt.jit(xt.grad(loss, (0, 1)))(np.ones(3, np.float32), empty)
    np.testing.assert_array_equal(got[0], np.full(3, 2.0))
    assert got[1].shape == (0, 3)
    mapped = xt.vmap(lambda c: lax.scan(lambda c, x: (c * 2, c), c, None, length=0))(XS)
    np.testing.assert_array_equal(mapped[0], XS)
    assert mapped[1].shape == (5, 0)


def test_scans_without_xs():
    total, ys = lax.scan(lambda c, x: (c + 1, (x, c)), 0, None, length=np.int64(3))
    assert int(total) == 3 and ys[0] is None
    np.testing.assert_array_equal(ys[1], [0, 1, 2])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: lax.scan(step, 0.0, (XS, XS[:3])), r"different leading axis sizes: xs\[0\] has 5, xs\[1\] has 3"),
        (lambda: lax.scan(step, 0.0, None), "no values to scan over and `length` not provided"),
        (lambda: lax.scan(step, 0.0, XS, length=4), "length"),
        (lambda: lax.scan(step, 0.0, 1.0), "no leading axis to scan over"),
        (lambda: lax.map(lambda x: x, (XS, XS[:3]), batch_size=2), "different leading axis sizes"),
        (lambda: lax.map(lambda x: x, XS, batch_size=-1), "batch_size must be positive, got -1"),
        (
            lambda: xt.jit(xt.grad(lambda x, n: lax.fori_loop(0, n, lambda i, c: c * x, x)))(0.5, 3),
            "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop",
        ),
        (
            lambda: xt.grad(lambda x: lax.while_loop(lambda c: c < 3, lambda c: c * 2, x))(0.5),
            "Reverse-mode differentiation does not work for lax.while_loop",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_elements_of_a_mapped_while_loop_stop_on_their_own():
    def collatz(n):
        return lax.while_loop(
            lambda s: s[0] != 1, lambda s: (xnp.where(s[0] % 2, 3 * s[0] + 1, s[0] // 2), s[1] + 1), (n, 0)
        )

    np.testing.assert_array_equal(xt.jit(xt.vmap(collatz))(np.array([1, 2, 3, 6, 7, 27]))[1], [0, 1, 7, 8, 16, 111])
    # What a finished element's body would compute doesn't reach it: 1 / 0 here.
    f = lambda x: lax.while_loop(lambda c: c < 3.0, lambda c: c + 1 / (4 - c), x)
    for transformed in (xt.vmap(f), xt.jit(xt.vmap(f))):
        got = transformed(np.array([4.0, 2.5], np.float32))
        np.testing.assert_allclose(got, [4.0, 2.5 + 1 / 1.5], rtol=1e-6)
    slopes = xt.jvp(xt.vmap(f), (np.array([4.0, 2.5], np.float32),), (np.ones(2, np.float32),))[1]
    np.testing.assert_allclose(slopes, [1.0, 1 + 1 / 1.5**2], rtol=1e-5)


def test_mapped_conditions_select():
    f = lambda p, x: lax.cond(p, xnp.sin, lambda x: x * x, x)
    ps, xs = np.array([True, False]), np.array([0.5, 0.7], np.float32)
    jaxpr = str(xt.make_jaxpr(xt.vmap(f))(ps, xs))
    assert "select_n" in jaxpr and "cond[" not in jaxpr
    np.testing.assert_allclose(xt.vmap(f)(ps, xs), [np.sin(0.5), 0.49], rtol=1e-6)
    assert "cond[" in str(xt.make_jaxpr(xt.vmap(f, (None, 0)))(True, xs))
    slopes = xt.vmap(xt.grad(f, 1))(ps, xs)
    np.testing.assert_allclose(slopes, [np.cos(0.5), 1.4], rtol=1e-6)
    # The branch an element doesn't take leaves no NaN in its gradient.
    root = lambda x: lax.cond(x > 0, xnp.sqrt, xnp.zeros_like, x)
    np.testing.assert_allclose(xt.vmap(xt.grad(root))(np.array([0.0, 4.0], np.float32)), [0.0, 0.25])


@pytest.mark.parametrize("bounds", [(0, 3), (np.int32(1), np.int32(4)), (2, 2), (5, 0)])
def test_reverse_mode_of_loops_of_known_length(bounds):
    trips = max(int(bounds[1]) - int(bounds[0]), 0)
    f = lambda x: lax.fori_loop(*bounds, lambda i, c: c * x, x)
    for g in (xt.grad(f), xt.jit(xt.grad(f)), lambda x: xt.vmap(xt.grad(f))(x[None])[0]):
        np.testing.assert_allclose(g(np.float32(0.9)), (trips + 1) * 0.9**trips, rtol=1e-5)
    dynamic = lambda x, n: xt.jvp(lambda x: lax.fori_loop(bounds[0], n, lambda i, c: c * x, x), (x,), (1.0,))[1]
    np.testing.assert_allclose(xt.jit(dynamic)(0.9, bounds[1]), (trips + 1) * 0.9**trips, rtol=1e-5)


@pytest.mark.parametrize("batch_size", [None, 0, 1, 2, 5, 7, 10])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_map_in_batches(batch_size, n):
    x = np.linspace(-1, 1, n, dtype=np.float32)
    f = lambda x: lax.map(lambda e: {"s": xnp.sin(e["a"]) * e["b"], "k": 1}, {"a": x, "b": x}, batch_size=batch_size)
    got = f(x)
    np.testing.assert_allclose(got["s"], np.sin(x) * x, rtol=1e-6)
    np.testing.assert_array_equal(got["k"], np.ones(n))
    slope = xt.jit(xt.grad(lambda x: xnp.sum(f(x)["s"])))(x)
    np.testing.assert_allclose(slope, np.cos(x) * x + np.sin(x), rtol=1e-5, atol=1e-6)


def test_reduce_with_a_computation_of_ones_own():
    x = np.array([[0.5, 1.5, -2.0], [3.0, 0.25, 1.0]])

    def reduce(x):
        """log(sum(exp)): associative, and no primitive."""
        return lax.reduce(x, -np.inf, lambda a, b: xnp.logaddexp(a, b), (1,))

    with xt.enable_x64(True):
        wanted = np.log(np.sum(np.exp(x), 1))
        softmax = np.exp(x - wanted[:, None])
        np.testing.assert_allclose(reduce(x), wanted, rtol=1e-12)
        product = lambda x, init: lax.reduce(x, init, lambda a, b: a * b * 1.0, (0,))
        for wrap in (lambda f: f, xt.jit):
            np.testing.assert_allclose(wrap(xt.grad(lambda x: xnp.sum(reduce(x))))(x), softmax, rtol=1e-9)
            np.testing.assert_allclose(
                wrap(lambda x: xt.jvp(reduce, (x,), (x,))[1])(x), np.sum(softmax * x, 1), rtol=1e-9
            )
            np.testing.assert_allclose(wrap(xt.grad(product))(x[1], 2.0), [0.5, 6.0, 1.5], rtol=1e-9)
            np.testing.assert_allclose(wrap(xt.grad(product, 1))(x[1], 2.0), 0.75, rtol=1e-9)
            np.testing.assert_allclose(wrap(xt.vmap(product))(x, np.array([1.0, 2.0])), [-1.5, 1.5], rtol=1e-9)
            np.testing.assert_allclose(wrap(xt.vmap(product, (None, 0)))(x[1], np.array([1.0, 2.0])), [0.75, 1.5])
        pair = lax.reduce((x[0], x[1]), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,))
        np.testing.assert_allclose(pair, [0.0, 0.75], atol=1e-12)
        hessian = xt.hessian(lambda v: lax.reduce(v, -np.inf, lambda a, b: xnp.logaddexp(a, b), (0,)))(x[0])
        p = softmax[0]
        np.testing.assert_allclose(hessian, np.diag(p) - np.outer(p, p), atol=1e-12)
