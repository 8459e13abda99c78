"""Names of mapped axes under jit, control flow, derivatives and custom rules: values by NumPy."""

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax
from xtrace import numpy as xnp

X = np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2)


def over(f, **options):
    return xt.vmap(f, axis_name="i", **options)


def close(got, want, tol=1e-4):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=tol, atol=tol)


# -- jit -----------------------------------------------------------------------------------------------------------


def test_a_jitted_function_is_traced_for_each_size_and_name():
    traces = []

    @xt.jit
    def f(x):
        traces.append(1)
        return x * lax.axis_size("i") + lax.axis_index("i")

    for n in (3, 2, 3):
        close(over(f)(X[:n]), X[:n] * n + np.arange(n)[:, None])
    with pytest.raises(NameError):
        xt.vmap(f, axis_name="j")(X)
    with pytest.raises(NameError):
        f(X[0])
    assert len(traces) == 4  # two sizes, another name, no name


def test_jit_without_mapped_operands():
    close(over(lambda x: xt.jit(lambda: lax.axis_index("i"))() + x)(X), X + np.arange(3)[:, None])
    close(over(lambda x: xt.jit(lambda c: lax.psum(c, "i"))(2.0) + x)(X), X + 6)


# -- control flow --------------------------------------------------------------------------------------------------


def test_scan():
    def f(xs):
        return lax.scan(lambda c, v: (c + lax.psum(v * c, "i"), lax.pmax(v, "i")), np.float32(0.5), xs)

    c = np.full(3, 0.5)
    for t in range(2):
        c = c + (X[:, t] * c).sum()
    got_c, got_m = over(f)(X)
    close(got_c, c)
    close(got_m, np.broadcast_to(X.max(0), X.shape))


def test_scan_whose_carry_is_mapped_by_its_body_alone():
    got = over(lambda x: lax.scan(lambda c, _: (c + lax.axis_index("i"), c), 0, None, length=3))(X)
    close(got[0], 3 * np.arange(3))
    close(got[1], np.outer(np.arange(3), np.arange(3)))


def test_loops_with_trip_counts_of_their_own():
    close(over(lambda x: lax.fori_loop(0, lax.axis_index("i"), lambda _, c: c * 2, x))(X), X * [[1], [2], [4]])
    close(over(lambda x: lax.while_loop(lambda c: c < lax.axis_index("i"), lambda c: c + 1, 0))(X), np.arange(3))


def test_while_whose_condition_is_a_collective():
    got = over(lambda x: lax.while_loop(lambda c: lax.psum(c.sum(), "i") < 100.0, lambda c: c * 2, x))(X)
    close(got, X * 8)  # 21 doubled until it is 100 or more


def test_while_in_which_elements_that_have_ended_still_take_part():
    got = over(lambda x: lax.while_loop(lambda c: c.sum() < 20.0, lambda c: c + lax.psum(c, "i"), x))(X)
    c, want = X.copy(), None
    while (c.sum(1) < 20).any():
        new = c + c.sum(0)
        c = np.where((c.sum(1) < 20)[:, None], new, c)
    want = c
    close(got, want)


def test_cond():
    f = over(lambda x: lax.cond(x[0] > 2, lambda x: lax.psum(x, "i"), lambda x: -x, x))
    close(f(X), np.where(X[:, :1] > 2, X.sum(0), -X))
    close(over(lambda x: lax.cond(True, lambda: lax.axis_index("i"), lambda: 7))(X), np.arange(3))
    close(over(lambda x: lax.cond(lax.axis_index("i") == 1, lambda: 1.0, lambda: lax.psum(2.0, "i")))(X), [6, 1, 6])
    branches = [lambda x: x, lambda x: lax.pmin(x, "i"), lambda x: -x]
    close(over(lambda x: lax.switch(lax.axis_index("i"), branches, x))(X), np.stack([X[0], X[0], -X[2]]))


# -- derivatives ---------------------------------------------------------------------------------------------------


def loss(x):
    return (lax.psum(xnp.sin(x), "i") * x).sum()


def loss_gradient(x):
    """Of the sum of all elements' losses."""
    return np.cos(x) * x.sum(0) + np.sin(x).sum(0)


@pytest.mark.parametrize("inner", [lambda f: f, xt.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("outer", [lambda f: f, xt.jit], ids=["plain", "jit"])
def test_gradients(inner, outer):
    close(outer(over(xt.grad(inner(loss))))(X), loss_gradient(X))
    close(outer(xt.grad(lambda x: over(inner(loss))(x).sum()))(X), loss_gradient(X))


def test_gradient_of_mean_losses_is_that_of_one_batch():
    """Data-parallel training: the mean of the elements' gradients is the gradient of the mean loss."""
    rng = np.random.RandomState(0)
    w, xs, ys = rng.randn(4), rng.randn(6, 5, 4), rng.randn(6, 5)

    def one(w, x, y):
        return ((x @ w - y) ** 2).mean()

    with xt.enable_x64(True):
        got = over(lambda w, x, y: lax.pmean(xt.grad(one)(w, x, y), "i"), in_axes=(None, 0, 0), out_axes=None)(
            w, xs, ys
        )
        x, y = xs.reshape(30, 4), ys.reshape(30)
        close(got, 2 * x.T @ (x @ w - y) / 30, 1e-10)


def test_batch_normalisation_sees_the_whole_batch():
    def normalise(x):
        mean = lax.pmean(x, "i")
        return (x - mean) / xnp.sqrt(lax.pmean((x - mean) ** 2, "i") + 1e-5)

    close(over(normalise)(X), (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-5))


def test_second_derivatives():
    got = over(xt.hessian(lambda x: lax.psum(x**3, "i").sum()))(X)
    # Each element's cotangent is psummed once on the way back: three times the derivative of its own term.
    close(got, 3 * 6 * X[:, :, None] * np.eye(2))


def test_gradient_through_scan():
    def f(xs):
        return lax.scan(lambda c, v: (c + lax.psum(v * c, "i"), None), np.float32(1.0), xs)[0]

    def total(x):
        c = np.ones(3)
        for t in range(2):
            c = c + (x[:, t] * c).sum()
        return c.sum()

    eps, want = 1e-6, np.zeros((3, 2))
    for k in np.ndindex(3, 2):
        step = np.zeros((3, 2))
        step[k] = eps
        want[k] = (total(X + step) - total(X - step)) / (2 * eps)
    close(xt.grad(lambda x: over(f)(x).sum())(X), want)
    close(over(xt.grad(f))(X), want)


# -- custom rules --------------------------------------------------------------------------------------------------


@xt.custom_jvp
def total(x):
    return lax.psum(x, "i")


@total.defjvp
def total_jvp(primals, tangents):
    return total(primals[0]), 10.0 * lax.axis_size("i") * lax.pmean(tangents[0], "i")


@xt.custom_vjp
def weighted(x):
    return x * lax.psum(x, "i")


weighted.defvjp(
    lambda x: (weighted(x), x),
    lambda r, ct: (100 * lax.psum(ct * r, "i") + lax.axis_index("i"),),
)


@pytest.mark.parametrize("wrap", [lambda f: f, xt.jit], ids=["plain", "jit"])
def test_custom_rules_may_use_the_axis(wrap):
    close(over(lambda x: xt.jvp(wrap(total), (x,), (x,))[1])(X), np.broadcast_to(10 * X.sum(0), X.shape))
    close(xt.jvp(over(wrap(total)), (X,), (X,))[1], np.broadcast_to(10 * X.sum(0), X.shape))
    want = 100 * X.sum(0) + np.arange(3)[:, None]
    close(over(xt.grad(lambda x: wrap(weighted)(x).sum()))(X), want)
    # The rule runs when vmap has long returned; the axis is still its own.
    close(xt.grad(lambda x: over(wrap(weighted))(x).sum())(X), want)
    close(xt.grad(lambda x: xt.jit(over(wrap(weighted)))(x).sum())(X), want)


# -- random numbers ------------------------------------------------------------------------------------------------


def test_keys_folded_with_the_index():
    key = xt.random.key(0)
    got = over(lambda x: xt.random.normal(xt.random.fold_in(key, lax.axis_index("i"))))(X)
    want = [float(xt.random.normal(xt.random.fold_in(key, k))) for k in range(3)]
    assert got.tolist() == want


# -- what the axis is called ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [("x", 1), 3.5, frozenset("ab")])
def test_any_hashable_value_is_a_name(name):
    assert xt.vmap(
        lambda: lax.axis_size(name) if not isinstance(name, tuple) else 4, axis_name=name, axis_size=4
    )().shape == (4,)


def test_names_end_with_their_vmap():
    over(lambda x: x)(X)
    with pytest.raises(NameError, match="no axis has a name here"):
        lax.axis_size("i")
    with pytest.raises(ZeroDivisionError):
        over(lambda x: 1 / 0)(X)
    with pytest.raises(NameError, match="no axis has a name here"):
        lax.axis_size("i")


# -- names among the axes of library functions ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "max", "min", "mean", "var", "std", "prod", "any", "all", "count_nonzero"])
@pytest.mark.parametrize("axis,dims", [("i", 0), (("i", 0), (0, 1)), ((-1, "i"), (1, 0))])
def test_numpy_reductions(name, axis, dims):
    got = over(lambda x: getattr(xnp, name)(x > 2 if name in ("any", "all") else x, axis=axis), out_axes=None)(X)
    close(got, getattr(np, name)(X > 2 if name in ("any", "all") else X, axis=dims))


def test_numpy_reductions_with_options():
    close(over(lambda x: xnp.sum(x, ("i", 0), where=x > 2, initial=4.5), out_axes=None)(X), X[X > 2].sum() + 4.5)
    close(over(lambda x: xnp.mean(x, ("i", 0), where=x > 2), out_axes=None)(X), X[X > 2].mean())
    close(over(lambda x: xnp.var(x, ("i", 0), where=x > 2), out_axes=None)(X), X[X > 2].var())
    close(over(lambda x: xnp.var(x, ("i", 0), ddof=1, keepdims=True), out_axes=None)(X), [X.var(ddof=1)])
    with pytest.raises(NameError, match="unbound axis name: i"):
        xnp.sum(X, axis="i")


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis,dims", [("i", (0,)), (("i", 0), (0, 1)), ((-1, "i"), (1, 0))])
def test_nn_functions(axis, dims):
    close(over(lambda x: xt.nn.softmax(x, axis))(X), softmax(X, dims))
    close(over(lambda x: xt.nn.log_softmax(x, axis))(X), np.log(softmax(X, dims)))
    close(over(lambda x: xt.nn.logsumexp(x, axis), out_axes=None)(X), np.log(np.exp(X).sum(dims)))
    close(over(lambda x: xt.nn.logmeanexp(x, axis), out_axes=None)(X), np.log(np.exp(X).mean(dims)))
    standard = (X - X.mean(dims, keepdims=True)) / np.sqrt(X.var(dims, keepdims=True) + 1e-5)
    close(over(lambda x: xt.nn.standardize(x, axis))(X), standard)


def test_one_hot_along_a_named_axis():
    labels = np.array([2, 0, 1, 2])
    got = over(lambda x: xt.nn.one_hot(labels, 3, axis="i"), out_axes=1)(X)
    close(got, np.eye(3)[labels])
    with pytest.raises(ValueError, match="Expected num_classes to match the size of axis i, but 4 != 3"):
        over(lambda x: xt.nn.one_hot(labels, 4, axis="i"))(X)


def test_elements_that_dont_take_a_branch_contribute_to_its_collectives():
    def f(x):
        return lax.cond(x > 2.0, lambda x: x * lax.psum(x, "i"), lambda x: 0 * x, x)

    x = np.array([1.0, 3.0, 4.0], np.float32)
    # The sum of the results is (x1 + x2) (x0 + x1 + x2).
    close(over(f)(x), [0, 24, 32])
    close(xt.grad(lambda x: over(f)(x).sum())(x), [7, 15, 15])


def test_the_reason_of_a_new_trace_is_told():
    f = xt.jit(lambda x: x * lax.axis_size("i"))
    over(f)(X)
    over(f)(X[:2])
    assert "named axes was 'i' of size 3, is now 'i' of size 2" in str(xt.debug.explain(f))
