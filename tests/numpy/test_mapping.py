"""Functions along axes, over broadcast dimensions and by pieces, against NumPy."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def reverse(row):
    return xnp.flip(row)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_apply_along_axis(axis):
    np.testing.assert_array_equal(
        xnp.apply_along_axis(lambda row: xnp.flip(row) * 2, axis, CUBE),
        np.apply_along_axis(lambda row: row[::-1] * 2, axis, CUBE),
    )
    outer = xnp.apply_along_axis(lambda r: xnp.expand_dims(r, 1) * xnp.expand_dims(r, 0), axis, CUBE)
    np.testing.assert_array_equal(outer, np.apply_along_axis(lambda r: np.outer(r, r), axis, CUBE))
    scaled = xt.jit(lambda x: xnp.apply_along_axis(lambda row, k, plus=0: row * k + plus, axis, x, 3, plus=1))(CUBE)
    np.testing.assert_array_equal(scaled, CUBE * 3 + 1)


def test_apply_along_axis_of_pytrees():
    out = xnp.apply_along_axis(lambda row: {"row": row, "none of it": 1.0}, 1, X)
    np.testing.assert_array_equal(out["row"], X)
    assert out["none of it"].shape == (2,)


def test_apply_over_axes():
    sums = xnp.apply_over_axes(lambda x, axis: xt.lax.reduce_sum(x, (axis,)), CUBE, [0, 2])
    np.testing.assert_array_equal(sums, np.apply_over_axes(np.sum, CUBE, [0, 2]))
    with pytest.raises(ValueError) as raised:
        xnp.apply_over_axes(lambda x, axis: xnp.ravel(x), CUBE, [0])
    assert str(raised.value) == (
        "function is not returning an array of the correct shape: from an array of 3 dimensions it made one of 1, "
        "expected 3 or 2"
    )


def dot(u, v):
    assert u.ndim == v.ndim == 1
    return xt.lax.reduce_sum(u * v, (0,))


def matvec(m, v):
    assert m.ndim == 2 and v.ndim == 1
    return xt.lax.reduce_sum(m * v, (1,))


@pytest.mark.parametrize(
    "left, right", [((3,), (3,)), ((5, 3), (3,)), ((4, 1, 3), (5, 3)), ((1, 3), (1, 3)), ((0, 3), (3,))]
)
def test_vectorize_with_a_signature(left, right):
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal(left).astype(np.float32), rng.standard_normal(right).astype(np.float32)
    dots = xnp.vectorize(dot, signature="(n),(n)->()")
    for f in (dots, xt.jit(dots)):
        np.testing.assert_allclose(f(u, v), np.sum(u * v, -1), rtol=1e-5, atol=1e-6)
    m = rng.standard_normal((*left[:-1], 2, 3)).astype(np.float32)
    np.testing.assert_allclose(
        xnp.vectorize(matvec, signature="(m,n),(n)->(m)")(m, v),
        np.einsum("...mn,...n->...m", m, v),
        rtol=1e-5,
        atol=1e-6,
    )


def test_vectorize_scalars_exclusion_and_several_results():
    @xnp.vectorize
    def larger(a, b):
        """The larger one."""
        assert a.shape == b.shape == ()
        return xnp.maximum(a, b)

    assert larger.__name__ == "larger" and larger.__doc__ == "The larger one."
    np.testing.assert_array_equal(larger(X, 2.0), np.maximum(X, 2))
    np.testing.assert_array_equal(larger(X[:, :1], X[0]), np.maximum(X[:, :1], X[0]))
    both = xnp.vectorize(lambda a: (a, -a), signature="()->(),()")
    plus, minus = both(X)
    np.testing.assert_array_equal(plus, -minus)
    scaled = xnp.vectorize(lambda a, by, more=0: a * by[0] + more, excluded={1})
    np.testing.assert_array_equal(scaled(X, [3.0], more=1.0), X * 3 + 1)
    np.testing.assert_array_equal(xnp.vectorize(lambda a: {"double": a + a})(X)["double"], X * 2)
    # The way it is mapped doesn't show: derivatives go through.
    np.testing.assert_array_equal(xt.grad(lambda x: dot(x, xnp.vectorize(lambda a: a * a)(x)))(X[1]), 3 * X[1] ** 2)


CONTEXT = "on vectorized function with excluded={} and signature='(n),(n)->()'"
MESSAGES = [
    (
        lambda: xnp.vectorize(dot, signature="(n),(n)->()")(X, np.ones(4)),
        ValueError,
        f"inconsistent size for core dimension 'n': 4 vs 3 {CONTEXT}",
    ),
    (
        lambda: xnp.vectorize(dot, signature="(n),(n)->()")(X),
        TypeError,
        f"wrong number of positional arguments: expected 2, got 1 {CONTEXT}",
    ),
    (
        lambda: xnp.vectorize(dot, signature="(n),(n)->()")(1.0, X),
        ValueError,
        f"input with shape () does not have enough dimensions for all core dimensions ('n',) {CONTEXT}",
    ),
    (
        lambda: xnp.vectorize(lambda a: (a, a), signature="(n)->(n)")(X),
        TypeError,
        "wrong number of output arguments: expected 1, got 2 on vectorized function with excluded={} and "
        "signature='(n)->(n)'",
    ),
    (
        lambda: xnp.vectorize(lambda a: a, signature="(n)->()")(X),
        ValueError,
        "output shape (3,) does not match core dimensions () on vectorized function with excluded={} and "
        "signature='(n)->()'",
    ),
    (
        lambda: xnp.vectorize(dot, signature="(n),(n)-()"),
        ValueError,
        "not a valid gufunc signature: '(n),(n)-()'; one looks like '(m,n),(n)->(m)'",
    ),
    (lambda: xnp.vectorize(dot, excluded={-1}), ValueError, "excluded={-1} contains negative numbers"),
    (
        lambda: xnp.vectorize(dot, excluded={1.5}),
        TypeError,
        "numpy.vectorize can only exclude integer or string arguments, but excluded={1.5}",
    ),
    (
        lambda: xnp.select([X > 1], [X, X]),
        ValueError,
        "condlist must have length equal to choicelist (1 vs 2): one condition a choice",
    ),
    (lambda: xnp.select([], []), ValueError, "condlist must be non-empty"),
    (
        lambda: xnp.piecewise(X, [X > 1, X > 3], [1, 2, 3, 4]),
        ValueError,
        "with 2 condition(s), either 2 or 3 functions are expected; got 4",
    ),
]


@pytest.mark.parametrize("call, error, message", MESSAGES)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


def test_select():
    conditions, choices = [X < 1, X < 4, X < 5], [X * 10, 7, X[0]]
    for default in (0, -1.5, X):
        expected = np.select(conditions, [np.broadcast_to(np.float32(c), X.shape) for c in choices], default)
        for out in (xnp.select(conditions, choices, default), xt.jit(xnp.select)(conditions, choices, default)):
            np.testing.assert_array_equal(out, expected)
            assert out.dtype == np.float32
    assert xnp.select([np.array([True, False])], [1], 2).tolist() == [1, 2]
    assert xnp.select([np.array([True, False])], [np.array([1, 1])], 2).dtype == np.int32


def test_piecewise():
    for functions in ([1, 2], [1, 2, 3], [lambda v: v * 10, lambda v: -v, 5]):
        conditions = [X > 1, X > 3]
        expected = np.piecewise(X, conditions, functions)
        np.testing.assert_array_equal(xnp.piecewise(X, conditions, functions), expected)
        jitted = xt.jit(lambda x, functions=functions: xnp.piecewise(x, [x > 1, x > 3], functions))
        np.testing.assert_array_equal(jitted(X), expected)
    np.testing.assert_array_equal(xnp.piecewise(X, X > 2, [1, 0]), X > 2)
    np.testing.assert_array_equal(
        xnp.piecewise(X, [X > 2], [lambda v, k, plus: v * k + plus], 3, plus=1), np.where(X > 2, X * 3 + 1, 0)
    )
    # Functions see single elements.
    assert xnp.piecewise(X, [X > 2], [lambda v: v + len(v.shape)]).tolist() == [[0, 0, 0], [3, 4, 5]]
    assert float(xnp.piecewise(np.float32(-3), [np.bool_(True)], [lambda v: -v])) == 3


def test_vectorize_takes_no_none_where_a_signature_needs_an_array():
    with pytest.raises(ValueError, match=r"Cannot pass None at locations \{1\} with signature"):
        xnp.vectorize(lambda x, y: x, signature="(n),(n)->()")(np.ones(3), None)
