"""Control flow: values against loops in NumPy, derivatives against finite differences and unrolled programs, "
"messages."""

import gc
import re
import weakref

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import lax
from xtrace.core import errors
from xtrace.core.jaxpr import subjaxprs

XS = np.array([0.3, -0.8, 1.1, 0.5], np.float32)
MATRIX = np.array([[0.5, -0.2, 0.1], [0.3, 0.4, -0.6], [-0.1, 0.2, 0.7]], np.float32)
ROWS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


def total(x):
    return lax.reduce_sum(x, tuple(range(np.ndim(x))))


def check_close(a, b, rtol=2e-5, atol=1e-6):
    b = np.array(b) if isinstance(b, list) else b
    a, b = xt.tree_util.tree_leaves(a), xt.tree_util.tree_leaves(b)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


def numerical_gradient(f, x, step=1e-3):
    x = np.asarray(x, np.float64)
    out = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        out[i] = (float(f(up.astype(np.float32))) - float(f(down.astype(np.float32)))) / (2 * step)
    return out


# -- a scan and the same program unrolled --------------------


def rnn(w, h, xs):
    def step(h, x):
        h = lax.tanh(lax.dot(w, h) + x)
        return h, h * 2.0

    return lax.scan(step, h, xs)


def unrolled_rnn(w, h, xs):
    ys = []
    for i in range(xs.shape[0]):
        h = lax.tanh(lax.dot(w, h) + lax.index_in_dim(xs, i, keepdims=False))
        ys.append(h * 2.0)
    return h, lax.concatenate([lax.expand_dims(y, (0,)) for y in ys], 0)


def loss_of(f):
    def loss(w, h, xs):
        h, ys = f(w, h, xs)
        return total(h) + total(ys * ys)

    return loss


H = np.array([0.1, -0.3, 0.2], np.float32)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        lambda f: xt.jit(f),
        lambda f: xt.grad(loss_of(f), (0, 1, 2)),
        lambda f: xt.jit(xt.grad(loss_of(f), (0, 1, 2))),
        lambda f: xt.grad(xt.jit(loss_of(f)), (0, 1, 2)),
        lambda f: lambda w, h, xs: xt.jvp(lambda w, xs: f(w, h, xs), (w, xs), (w, xs)),
        lambda f: lambda w, h, xs: xt.jvp(xt.grad(loss_of(f), (0, 2)), (w, h, xs), (w, h, xs)),
        lambda f: lambda w, h, xs: xt.grad(lambda w: total(lax.square(xt.grad(loss_of(f))(w, h, xs))))(w),
        lambda f: xt.jit(lambda w, h, xs: xt.grad(lambda w: total(lax.square(xt.grad(loss_of(f))(w, h, xs))))(w)),
        lambda f: lambda w, h, xs: xt.vmap(f, in_axes=(None, None, 1))(w, h, xnp.stack([xs, xs * 2], 1)),
        lambda f: lambda w, h, xs: xt.vmap(f, in_axes=(0, None, None))(xnp.stack([w, w * 2]), h, xs),
        lambda f: (
            lambda w, h, xs: xt.vmap(xt.grad(loss_of(f), (0, 1, 2)), in_axes=(None, 0, 0))(
                w, xnp.stack([h, h * 2]), xnp.stack([xs, xs])
            )
        ),
        lambda f: (
            lambda w, h, xs: xt.grad(
                lambda w: total(xt.vmap(loss_of(f), in_axes=(None, None, 0))(w, h, xnp.stack([xs, xs * 2])))
            )(w)
        ),
        lambda f: lambda w, h, xs: xt.jacfwd(lambda h: f(w, h, xs)[0])(h),
        lambda f: lambda w, h, xs: xt.jacrev(lambda h: f(w, h, xs))(h),
        lambda f: lambda w, h, xs: xt.hessian(lambda h: loss_of(f)(w, h, xs))(h),
        lambda f: lambda w, h, xs: xt.linearize(lambda w: loss_of(f)(w, h, xs), w)[1](w),
        lambda f: lambda w, h, xs: xt.linear_transpose(xt.linearize(lambda w: loss_of(f)(w, h, xs), w)[1], w)(1.0),
        lambda f: lambda w, h, xs: xt.vjp(lambda w: xt.jvp(lambda h: f(w, h, xs)[0], (h,), (h,))[1], w)[1](h),
    ],
)
def test_scan_is_the_unrolled_program_under_every_transformation(transform):
    unrolled = xt.jit(lambda *args: transform(unrolled_rnn)(*args))
    check_close(transform(rnn)(MATRIX, H, ROWS), unrolled(MATRIX, H, ROWS), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 3, True])
def test_scan_values(reverse, unroll):
    carry, ys = lax.scan(lambda c, x: (c * 0.5 + x, c), np.float32(2), XS, reverse=reverse, unroll=unroll)
    c, expected = np.float32(2), []
    for x in XS[::-1] if reverse else XS:
        expected.append(c)
        c = c * np.float32(0.5) + x
    check_close((carry, ys), (c, np.array(expected[::-1] if reverse else expected)))
    gradient = xt.grad(lambda xs: lax.scan(lambda c, x: (c * x + 1.0, c), 2.0, xs, reverse=reverse, unroll=unroll)[0])(
        XS
    )

    def loop(xs):
        c = 2.0
        for x in xs[::-1] if reverse else xs:
            c = c * x + 1.0
        return c

    check_close(gradient, numerical_gradient(loop, XS), rtol=1e-3)


def test_scan_without_xs_and_of_length_zero():
    check_close(lax.scan(lambda c, _: (c + 1, c), 0, None, length=3), (3, np.arange(3)))
    carry, ys = lax.scan(lambda c, x: (c + x, c * x), 1.5, np.zeros((0, 2), np.float32)[:, 0])
    assert float(carry) == 1.5 and ys.shape == (0,)
    assert float(xt.grad(lambda c: lax.scan(lambda c, x: (c * x, None), c, np.zeros(0, np.float32))[0])(2.0)) == 1.0


def test_scan_over_pytrees():
    def f(c, x):
        return {"sum": c["sum"] + x["a"], "n": c["n"] + 1}, (x["b"], None)

    out = lax.scan(f, {"sum": 0.0, "n": 0}, {"a": XS, "b": np.arange(4)})
    check_close(out, ({"sum": XS.sum(), "n": 4}, (np.arange(4), None)))


def test_weak_types_reach_a_fixpoint():
    # 0 becomes float32 because the body says so, and through it the second, then the third part of the carry.
    def f(c, x):
        a, b, d = c
        return (a + x, a + 0, b + 0), None

    (a, b, d), _ = lax.scan(f, (0, 0, 0), XS)
    assert {v.dtype.name for v in (a, b, d)} == {"float32"} and not d.weak_type
    out = lax.while_loop(lambda c: c < 10, lambda c: c * np.float16(2), 1.0)
    assert out.dtype == np.float16


def test_body_is_traced_once_and_programs_are_reused():
    traces = []

    def f(c, x):
        traces.append(1)
        return c + x, None

    for _ in range(5):
        lax.scan(f, np.float32(0), np.ones(10_000, np.float32))
    assert len(traces) == 1
    text = str(xt.make_jaxpr(lambda xs: lax.scan(f, np.float32(0), xs))(np.ones(10_000, np.float32)))
    assert text.count("add") == 1 and len(traces) == 1

    class Model:
        def step(self, c, x):
            traces.append(1)
            return c + x, None

    model = Model()
    for _ in range(3):
        lax.scan(model.step, np.float32(0), XS)
    assert len(traces) == 2


def test_dropped_bodies_are_freed():
    def make():
        def f(c, x):
            return c + x, None

        lax.scan(f, np.float32(0), XS)
        lax.fori_loop(0, 3, lambda i, c: c + 1.0, 0.0)
        return weakref.ref(f)

    ref = make()
    gc.collect()
    assert ref() is None


def test_invariant_residuals_are_not_stacked():
    w = np.float32(0.5)
    jaxpr = xt.make_jaxpr(xt.grad(lambda w, xs: lax.scan(lambda c, x: (lax.sin(w) * c * x, None), 1.0, xs)[0]))(w, XS)
    forward = next(e for e in jaxpr.eqns if e.primitive is lax.scan_p)
    # The carry, and what multiplies its tangent; sin(w), cos(w) and xs are at hand.
    assert [v.aval.shape for v in forward.outvars[1:]] == [(4,)] * (len(forward.outvars) - 1)
    backward = [e for e in jaxpr.eqns if e.primitive is lax.scan_p][1]
    assert backward.params["reverse"] and backward.params["num_consts"] >= 1


# -- fori_loop, while_loop --------------------


def test_fori_loop():
    f = lambda n: lax.fori_loop(0, n, lambda i, c: c * 2.0 + i, 1.0)  # noqa: E731
    expected = 1.0
    for i in range(5):
        expected = expected * 2 + i
    assert float(f(5)) == float(xt.jit(f)(5)) == expected
    assert float(xt.jit(f, static_argnums=0)(5)) == expected
    assert float(lax.fori_loop(5, 2, lambda i, c: c + 1, 3.0)) == 3.0
    with pytest.raises(TypeError, match="int8"):  # an index whose bounds are known counts as a Python number does
        lax.fori_loop(0, np.int8(3), lambda i, c: i, np.int8(1))
    assert lax.fori_loop(0.0, 3.0, lambda i, c: c + i, 1.0) == 4.0
    assert xt.jit(lambda n: lax.fori_loop(0.0, n, lambda i, c: c + i, 1.0))(3.0) == 4.0
    assert lax.fori_loop(0, np.int8(3), lambda i, c: c + i, 0).dtype == np.int32
    power = lambda x: lax.fori_loop(0, 4, lambda i, c: lax.sin(c) * x, x)  # noqa: E731
    check_close(xt.grad(power)(0.7), numerical_gradient(power, 0.7), rtol=1e-3)


def test_while_loop():
    f = lambda x: lax.while_loop(lambda c: c[1] < 100.0, lambda c: (c[0] + 1, c[1] * x), (0, x))  # noqa: E731
    check_close(f(3.0), (4, 243.0))
    check_close(xt.jit(f)(3.0), (4, 243.0))
    # Each element runs as long as it needs, and keeps its value afterwards.
    values = np.array([2.0, 3.0, 200.0], np.float32)
    for g in (xt.vmap(f), xt.jit(xt.vmap(f)), xt.vmap(xt.jit(f))):
        check_close(g(values), (np.array([6, 4, 0]), np.array([128.0, 243.0, 200.0])))
    _, t = xt.jvp(lambda x: f(x)[1], (3.0,), (1.0,))
    assert float(t) == 5 * 3.0**4
    _, t = xt.jvp(xt.vmap(lambda x: f(x)[1]), (values,), (np.ones(3, np.float32),))
    check_close(t, np.array([7 * 2.0**6, 5 * 3.0**4, 1.0]))
    check_close(xt.jit(xt.jacfwd(lambda x: f(x)[1]))(3.0), 405.0)


def test_while_loop_with_unmapped_condition():
    def f(n, x):
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * x), (0, 1.0))[1]

    check_close(xt.vmap(f, in_axes=(None, 0))(3, XS), XS**3)
    check_close(xt.vmap(f, in_axes=(0, None))(np.arange(4), 2.0), 2.0 ** np.arange(4))
    check_close(
        xt.vmap(xt.vmap(f, in_axes=(None, 0)), in_axes=(0, None))(np.arange(3), XS), XS[None] ** np.arange(3)[:, None]
    )


def test_gradient_through_while():
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work for lax.while_loop"):
        xt.grad(lambda x: lax.while_loop(lambda c: c < 10, lambda c: c * x, x))(2.0)
    # Nothing flows back: fine.
    assert float(xt.grad(lambda x: x * lax.while_loop(lambda c: c < 10, lambda c: c * 2, 1))(2.0)) == 16.0
    assert (
        float(xt.grad(lambda x: x + lax.stop_gradient(lax.while_loop(lambda c: c < 10, lambda c: c * x, x)))(2.0))
        == 1.0
    )


# -- cond, switch --------------------


def piecewise(x):
    return lax.cond(x > 0, lambda x: lax.sin(x) * x, lambda x: x * x * x, x)


def test_cond_values_and_derivatives():
    def value(x):
        return np.where(x > 0, np.sin(x) * x, x**3)

    def slope(x):
        return np.where(x > 0, np.cos(x) * x + np.sin(x), 3 * x**2)

    def curve(x):
        return np.where(x > 0, 2 * np.cos(x) - np.sin(x) * x, 6 * x)

    for f, g in ((piecewise, value), (xt.grad(piecewise), slope), (xt.grad(xt.grad(piecewise)), curve)):
        for x in XS:
            check_close(f(x), g(x))
            check_close(xt.jit(f)(x), g(x))
        check_close(xt.vmap(f)(XS), g(XS))
        check_close(xt.jit(xt.vmap(f))(XS), g(XS))
        check_close(xt.vmap(xt.jit(f))(XS), g(XS))
        check_close(lax.map(f, XS), g(XS))
    check_close(xt.jvp(xt.vmap(piecewise), (XS,), (XS,)), (value(XS), slope(XS) * XS))
    check_close(xt.grad(lambda xs: total(lax.map(piecewise, xs)))(XS), slope(XS))
    check_close(xt.jit(xt.grad(lambda xs: total(xt.vmap(piecewise)(xs))))(XS), slope(XS))


def test_cond_forms():
    x = 3.0
    assert float(lax.cond(True, lambda: x, lambda: -x)) == 3.0
    assert float(lax.cond(np.bool_(False), lambda: x, lambda: -x)) == -3.0
    assert float(lax.cond(0, lambda a: a, lambda a: -a, 2.0)) == -2.0
    assert float(lax.cond(True, 3.0, lambda x: x, 4.0, lambda x: x + 1)) == 3.0
    assert lax.cond(True, lambda _: 1, lambda _: 2, operand=None) == 1
    out = lax.cond(False, lambda d: (d["a"], None), lambda d: (d["b"], None), {"a": 1, "b": 2})
    assert int(out[0]) == 2 and out[1] is None
    # Weak and strong results join.
    assert not xt.jit(lambda p: lax.cond(p, lambda: 1.0, lambda: np.float32(2)))(True).weak_type


def test_closed_over_values_are_differentiated():
    f = lambda x, p: lax.cond(p, lambda: x * 2.0, lambda: x * x)  # noqa: E731
    for g in (xt.grad(f), xt.jit(xt.grad(f)), xt.grad(xt.jit(f))):
        assert float(g(3.0, True)) == 2.0 and float(g(3.0, False)) == 6.0


def test_switch():
    branches = [lambda x: x, lambda x: x * 10.0, lambda x: lax.sin(x)]
    f = lambda i, x: lax.switch(i, branches, x)  # noqa: E731
    for i, expected in ((-1, 2.0), (0, 2.0), (1, 20.0), (2, np.sin(2.0)), (9, np.sin(2.0))):
        check_close(f(i, 2.0), expected)
        check_close(xt.jit(f)(i, 2.0), expected)
    check_close(xt.vmap(f, in_axes=(0, None))(np.arange(-1, 4), 2.0), [2.0, 2.0, 20.0, np.sin(2.0), np.sin(2.0)])
    check_close(xt.vmap(xt.grad(f, 1), in_axes=(0, None))(np.arange(3), 2.0), [1.0, 10.0, np.cos(2.0)])


def test_cond_in_scan_in_jit_and_scan_in_cond():
    def step(c, x):
        c = lax.cond(x > 0, lambda c: c * x, lambda c: c + x, c)
        return c, c

    def loop(xs):
        c = 1.0
        for x in xs:
            c = c * x if x > 0 else c + x
        return c

    f = lambda xs: lax.scan(step, 1.0, xs)[0]  # noqa: E731
    check_close(xt.jit(f)(XS), loop(XS))
    for g in (xt.grad(f), xt.jit(xt.grad(f)), xt.grad(xt.jit(f))):
        check_close(g(XS), numerical_gradient(loop, XS), rtol=1e-3)
    stacked = np.stack([XS, -XS])
    check_close(xt.vmap(f)(stacked), [loop(XS), loop(-XS)])
    check_close(xt.vmap(xt.grad(f))(stacked), np.stack([xt.grad(f)(XS), xt.grad(f)(-XS)]))
    g = lambda p, xs: lax.cond(p, f, lambda xs: total(xs), xs)  # noqa: E731
    check_close(xt.grad(g, 1)(True, XS), numerical_gradient(loop, XS), rtol=1e-3)
    check_close(
        xt.vmap(xt.grad(g, 1), in_axes=(0, None))(np.array([True, False]), XS), np.stack([xt.grad(f)(XS), np.ones(4)])
    )


def test_scan_in_scan():
    def f(xs):
        def outer(c, x):
            d, _ = lax.scan(lambda d, y: (d * 0.5 + lax.sin(y) * x, None), c, xs)
            return d, d

        return total(lax.scan(outer, 0.0, xs)[1])

    def loop(xs):
        c, s = 0.0, 0.0
        for x in xs:
            for y in xs:
                c = c * 0.5 + np.sin(y) * x
            s += c
        return s

    check_close(f(XS), loop(XS))
    for g in (xt.grad(f), xt.jit(xt.grad(f))):
        check_close(g(XS), numerical_gradient(loop, XS), rtol=1e-3, atol=1e-3)
    check_close(xt.vmap(f)(np.stack([XS, XS * 2])), [loop(XS), loop(XS * 2)])


def test_custom_rules_in_control_flow():
    @xt.custom_jvp
    def f(x):
        return lax.sin(x)

    f.defjvp(lambda p, t: (f(*p), 3.0 * t[0]))

    @xt.custom_vjp
    def g(x):
        return lax.sin(x)

    g.defvjp(lambda x: (lax.sin(x), x), lambda x, ct: (3.0 * ct,))
    for h in (f, g):
        run = lambda x, h=h: lax.scan(lambda c, _: (h(c), None), x, None, length=3)[0]  # noqa: E731
        assert float(xt.grad(run)(0.5)) == 27.0
        assert float(xt.jit(xt.grad(xt.jit(run)))(0.5)) == 27.0
        check_close(xt.vmap(xt.grad(run))(XS), np.full(4, 27.0))
        assert float(xt.grad(lambda x, h=h: lax.cond(True, h, lambda x: x, x))(0.5)) == 3.0


def test_rules_that_loop():
    @xt.custom_jvp
    def power(x):
        return x * x * x

    @power.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        # The loop carries values that depend on the tangent and values that don't.
        out, dot, _ = lax.fori_loop(0, 3, lambda i, c: (c[0] * x, c[1] * x + c[0] * t, c[2] + 1), (1.0, t * 0.0, 0))
        return out, dot

    for f in (power, xt.jit(power)):
        check_close(xt.grad(f)(2.0), 12.0)
        check_close(xt.jvp(f, (2.0,), (1.0,)), (8.0, 12.0))
        check_close(xt.jit(xt.grad(f))(2.0), 12.0)


def test_linear_loops_transpose():
    def f(x):
        return lax.scan(lambda c, i: (c * 2.0 + x, c), x * 0.0, np.arange(3))[0]

    assert float(xt.linear_transpose(f, 1.0)(1.0)[0]) == 7.0
    assert float(xt.linear_transpose(lambda x: lax.cond(True, lambda x: 2.0 * x, lambda x: x, x), 1.0)(1.0)[0]) == 2.0


# -- map --------------------


def test_map():
    for size in (None, 1, 2, 3, 4, 9):
        check_close(lax.map(lambda x: (x * 2.0, lax.sin(x)), XS, batch_size=size), (XS * 2, np.sin(XS)))
    assert lax.map(lambda x: x * 2, np.arange(0), batch_size=2).shape == (0,)
    check_close(xt.grad(lambda xs: total(lax.map(lax.sin, xs, batch_size=3)))(XS), np.cos(XS))


def test_disable_jit():
    seen = []
    with xt.disable_jit():
        check_close(lax.scan(lambda c, x: (c + x, seen.append(float(c)) or c), 0.0, XS)[0], XS.sum())
        assert float(lax.while_loop(lambda c: c < 10, lambda c: c * 2, 1.0)) == 16.0
        assert float(lax.cond(True, lambda: 1.0, lambda: seen.append("no") or 2.0)) == 1.0
    assert len(seen) == 4


# -- messages --------------------


def message(f):
    with pytest.raises((TypeError, ValueError)) as e:
        f()
    return str(e.value)


def test_carry_mismatch_names_the_leaf_and_the_cast():
    text = message(
        lambda: lax.scan(
            lambda c, x: ({"x": c["x"].astype("float16"), "y": c["y"]}, x), {"x": np.ones(2, np.float32), "y": 1.0}, XS
        )
    )
    assert re.sub(r" \(made at .*test_control_flow.py:\d+ .*?\)\)(?=,)", " (made HERE)", text).startswith(
        "scan body function carry input and carry output must have equal types, but they differ:\n\n"
        "The input carry component c['x'] has type float32[2] but the corresponding output carry component has type "
        "float16[2] (made HERE), so the dtypes do not match. Write .astype(float32) on what the body "
        "returns for c['x'], or .astype(float16) on the initial value.\n\nThe body is <lambda> at "
    )
    text = message(lambda: lax.scan(lambda c, x: (c[None], x), np.ones(2, np.float32), XS))
    assert (
        "The input carry c has type float32[2] but the corresponding output carry component has type float32[1,2]"
        in text
    )
    assert "Make the initial value of c of shape (1, 2), or what the body returns of shape (2,)." in text
    text = message(lambda: lax.scan(lambda c, x: ((c, c), x), 1.0, XS))
    assert "carry input and carry output must have the same pytree structure" in text
    text = message(
        lambda: lax.fori_loop(0, 3, lambda i, val: {"a": val["a"].astype("int32")}, {"a": np.ones(2, np.float32)})
    )
    assert "The input carry component val['a'] has type float32[2]" in text and "fori_loop body function" in text
    text = message(lambda: lax.while_loop(lambda c: True, lambda state: state.astype("int32"), np.ones(2, np.float32)))
    assert "The input carry state has type float32[2]" in text and "while_loop body function" in text


def test_branch_mismatch_names_the_leaf():
    text = message(
        lambda: lax.cond(True, lambda x: {"a": x, "b": x}, lambda x: {"a": x, "b": np.ones(2, np.float32)}, 1.0)
    )
    assert text.startswith("cond branches must have equal output types but they differ.\n\ntrue_fun is <lambda> at ")
    assert (
        "The output of true_fun at ['b'] has type float32[] but the corresponding output of false_fun has type "
        "float32[2], so "
        "the shapes do not match."
    ) in text
    text = message(lambda: lax.cond(True, lambda x: x, lambda x: x.astype("int32"), 1.0))
    assert "so the dtypes do not match. Write .astype(float32) on that of false_fun." in text
    text = message(lambda: lax.cond(True, lambda x: x, lambda x: (x, x), 1.0))
    assert text.startswith(
        "cond branch outputs must have the same pytree structure, but they differ:\n\ntrue_fun is <lambda> at "
    )
    text = message(lambda: lax.switch(0, [lambda x: x, lambda x: np.ones(2, np.float32)], 1.0))
    assert text.startswith("switch branches must have equal output types but they differ.\n\nbranch 0 is <lambda> at ")


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda: lax.cond(np.ones(2, np.float32), abs, abs, 1.0), "Pred must be a scalar, got [1. 1.] of shape (2,)."),
        (lambda: lax.cond("a", abs, abs, 1.0), "Pred must be a scalar, got 'a' of type <class 'str'>"),
        (lambda: lax.cond(True, 1, abs, 1.0), "lax.cond: true_fun and false_fun arguments should be callable"),
        (lambda: lax.cond(True, abs, abs, "a"), "an operand of cond: operands[0] is 'a' of type <class 'str'>"),
        (lambda: lax.switch(0, [], 1.0), "Empty branch sequence"),
        (lambda: lax.switch(0.0, [abs, abs], 1.0), "Index type must be an integer, got 0.0 as float32"),
        (
            lambda: lax.switch(np.zeros(2, np.int32), [abs, abs], 1.0),
            "Branch index must be scalar, got [0 0] of shape (2,)",
        ),
        (
            lambda: lax.while_loop(lambda c: c, lambda c: c, 1.0),
            "cond_fun must return a boolean scalar, but got output type float32[].",
        ),
        (
            lambda: lax.while_loop(lambda c: (c < 1,), lambda c: c, 1.0),
            "cond_fun must return a boolean scalar, but got pytree",
        ),
        (
            lambda: lax.fori_loop(0.0, 3, lambda i, c: c, 1.0),
            "arguments to fori_loop must have equal types, got float32 and int32",
        ),
        (
            lambda: xt.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c, 1.0, unroll=2))(3),
            "Can only use `unroll` in `fori_loop` if",
        ),
        (
            lambda: lax.scan(lambda c, a: c, 1.0, XS),
            "scan body output must be a pair (carry, y), got float32[] from <lambda>",
        ),
        (lambda: lax.scan(lambda c, a: (c, c, c), 1.0, XS), "scan body output must be a pair (carry, y)"),
        (
            lambda: lax.scan(lambda c, a: (c, a), 1.0, {"a": XS, "b": XS[:2]}),
            "scan got values with different leading axis sizes: xs['a'] has 4, xs['b'] has 2.",
        ),
        (
            lambda: lax.scan(lambda c, a: (c, a), 1.0, 3.0),
            "scan got value with no leading axis to scan over: xs is 3.0.",
        ),
        (
            lambda: lax.scan(lambda c, a: (c, a), 1.0, XS, length=3),
            "scan got `length` argument of 3 which disagrees with leading axis sizes [4].",
        ),
        (lambda: lax.scan(lambda c, a: (c, a), 1.0, None), "scan got no values to scan over and `length` not provided"),
        (
            lambda: xt.jit(lambda n: lax.scan(lambda c, a: (c, a), 1.0, None, length=n))(3),
            "expects a concrete `int` value",
        ),
        (lambda: lax.scan(1, 1.0, XS), "lax.scan: f argument should be a callable, got 1"),
        (lambda: lax.scan(lambda c, a: ("q", a), 1.0, XS), "returned a value of type <class 'str'> at result[0]"),
        (
            lambda: lax.scan(lambda c, a: (c, a), 1.0, XS, unroll=-1),
            "`unroll` must be a `bool` or a non-negative `int`, got -1.",
        ),
        (lambda: lax.map(lambda x: x, XS, batch_size=-1), "map: batch_size must be positive, got -1."),
    ],
)
def test_messages(call, expected):
    assert expected in message(call)


def test_python_conditions_inside_bodies():
    def step(c, x):
        return (c if x > 0 else -c), None

    with pytest.raises(errors.TracerBoolConversionError, match="Attempted boolean conversion of traced array"):
        lax.scan(step, 1.0, XS)


@pytest.mark.parametrize("wrap", [lambda f: f, xt.jit], ids=["plain", "jit"])
def test_branches_that_elements_dont_take_leave_no_nan_in_gradients(wrap):
    def f(v, w):
        return lax.cond(v > 0, lambda v: xnp.sqrt(v * w), lambda v: 0.0 * v, v)

    x = np.array([0.0, 1.0, 4.0], np.float32)
    mapped = wrap(xt.vmap(f, in_axes=(0, None)))
    dx, dw = xt.grad(lambda x, w: mapped(x, w).sum(), (0, 1))(x, 1.0)
    np.testing.assert_allclose(dx, [0.0, 0.5, 0.25])
    np.testing.assert_allclose(dw, (1 + 2) / 2)


def test_gradients_of_nests_hold_no_calls_that_do_nothing():
    """Each level adds its own forward and backward call to a gradient, and no more."""

    def nest(depth):
        if depth == 0:
            return lambda x: xnp.tanh(x)
        inner = nest(depth - 1)

        def step(x, _):
            return xt.lax.cond(x.sum() > 0, xt.jit(lambda x: inner(x) + 0.1), xnp.sin, x), None

        return lambda x: xt.lax.scan(step, x, None, length=2)[0]

    def calls(jaxpr):
        inner = [j for e in jaxpr.eqns for j in subjaxprs(e.params)]
        held = [e for e in jaxpr.eqns if e.primitive.name in ("scan", "cond", "jit")]
        return len(held) + sum(calls(j) for j in inner)

    counts = [calls(xt.make_jaxpr(xt.grad(lambda x: nest(d)(x).sum()))(xnp.ones(3))) for d in (1, 2, 3, 4)]
    assert counts == [6, 12, 18, 24]


def test_branches_that_close_over_the_same_values_in_different_order():
    a, b = xnp.array(3.0), xnp.array(10.0)
    for pred, expected in ((True, 3.0 - 10.0), (False, 10.0 - 3.0)):
        assert float(lax.cond(pred, lambda: a - b, lambda: b - a)) == expected

    def f(x):
        y = x + x
        return lax.cond(x > 0, lambda: x - y * y, lambda: y * y - x)

    assert float(f(0.5)) == -0.5 and float(f(-0.5)) == 1.5
    assert float(xt.grad(f)(0.5)) == -3.0 and float(xt.jit(xt.grad(f))(-0.5)) == -5.0
