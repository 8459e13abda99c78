"""Joining, splitting and repeating against NumPy; their messages in full."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrace as xt
import xtrace.numpy as xnp

X = np.arange(6, dtype=np.float32).reshape(2, 3)
N = np.arange(6, dtype=np.int32).reshape(2, 3)
ROW = np.arange(3, dtype=np.float32)

JOINS = [
    ("concatenate", ([X, X],), {}),
    ("concatenate", ([X, X, X],), {"axis": -1}),
    ("concatenate", ([X, ROW],), {"axis": None}),
    ("concatenate", (X,), {}),
    ("concatenate", ([X],), {}),
    ("stack", ([X, X],), {}),
    ("stack", ([X, X],), {"axis": -1}),
    ("stack", (X,), {"axis": 1}),
    ("vstack", ([ROW, X],), {}),
    ("vstack", (X,), {}),
    ("hstack", ([ROW, ROW],), {}),
    ("hstack", ([X, X],), {}),
    ("dstack", ([X, X],), {}),
    ("dstack", ([ROW, ROW],), {}),
    ("column_stack", ([ROW, X.T],), {}),
    ("block", ([[X, X], [X, X]],), {}),
    ("block", ([ROW, ROW],), {}),
    ("block", ([[ROW, ROW], [np.ones(6, np.float32)]],), {}),
    ("block", (X,), {}),
    ("append", (X, X), {"axis": 0}),
    ("append", (X, ROW), {}),
]
CUTS = [
    ("split", (X, 3, 1), {}),
    ("split", (X, [1], 1), {}),
    ("split", (X, [1, 1, 9], 1), {}),
    ("split", (X, [-1], 1), {}),
    ("split", (X, np.array([2]), -1), {}),
    ("array_split", (X, 4, 1), {}),
    ("array_split", (ROW, 2), {}),
    ("vsplit", (X, 2), {}),
    ("hsplit", (X, 3), {}),
    ("hsplit", (ROW, 3), {}),
    ("dsplit", (X[None], 3), {}),
]
REPEATS = [
    ("tile", (X, 2), {}),
    ("tile", (X, (2, 1, 3)), {}),
    ("tile", (X, ()), {}),
    ("tile", (X, (0, 2)), {}),
    ("repeat", (X, 2), {}),
    ("repeat", (X, 3), {"axis": 1}),
    ("repeat", (X, 0), {"axis": 0}),
    ("repeat", (X, np.array([2])), {"axis": 1}),
    ("resize", (X, (4, 4)), {}),
    ("resize", (X, 2), {}),
    ("resize", (np.zeros((0,), np.float32), (2, 2)), {}),
]


@pytest.mark.parametrize("name, args, kwargs", JOINS + CUTS + REPEATS)
def test_as_numpy_eager_and_jitted(name, args, kwargs):
    expected = getattr(np, name)(*args, **kwargs)
    several = isinstance(expected, (list, tuple))
    arrays, rest = args[0], args[1:]
    for out in (
        getattr(xnp, name)(*args, **kwargs),
        xt.jit(lambda a: getattr(xnp, name)(a, *rest, **kwargs))(arrays),
    ):
        assert isinstance(out, list) == several
        for got, want in zip(out, expected, strict=True) if several else [(out, expected)]:
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_array_equal(got, want)


def test_dtypes_promote_as_arrays_do():
    assert xnp.concatenate([X, N]).dtype == np.float32
    assert xnp.stack([X, N]).dtype == np.float32
    assert xnp.concatenate([N, N.astype(np.int8)]).dtype == np.int32
    out = xnp.stack([1, 2.0])
    assert out.dtype == np.float32 and out.weak_type
    assert not xnp.stack([np.float32(1), 2.0]).weak_type
    assert xnp.vstack([1, 2]).tolist() == [[1], [2]]
    assert xnp.concatenate([X, X], dtype=int).dtype == np.int32
    assert xnp.hstack([X, X], dtype="float16").dtype == np.float16
    assert xnp.append(X, 1).dtype == np.float32


def test_unstack():
    parts = xnp.unstack(X, axis=1)
    assert isinstance(parts, tuple) and len(parts) == 3
    for part, want in zip(parts, X.T, strict=True):
        np.testing.assert_array_equal(part, want)
    assert xnp.unstack(np.zeros((0, 2))) == ()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(0, 12))
def test_repeat_by_counts(counts, total):
    x = np.arange(len(counts) * 2, dtype=np.float32).reshape(len(counts), 2)
    counts = np.array(counts)
    want = np.repeat(x, counts, axis=0)
    np.testing.assert_array_equal(xnp.repeat(x, counts, axis=0), want)
    # With a given total, what is missing is filled with the last row and what is too much is cut.
    filled = np.concatenate([want, np.repeat(x[-1:], total, axis=0)])[:total]
    np.testing.assert_array_equal(xnp.repeat(x, counts, axis=0, total_repeat_length=total), filled)
    traced = xt.jit(lambda x, r: xnp.repeat(x, r, axis=0, total_repeat_length=total))
    np.testing.assert_array_equal(traced(x, counts), filled)


def test_derivatives_send_cotangents_back_to_where_elements_came_from():
    def weighted(f):
        def loss(x):
            out = f(x)
            return xt.lax.reduce_sum(out * np.arange(out.size, dtype=np.float32).reshape(out.shape), (0, 1))

        return xt.grad(loss)(X)

    w = np.arange(12, dtype=np.float32)
    np.testing.assert_array_equal(
        weighted(lambda x: xnp.concatenate([x, x])), w[:6].reshape(2, 3) + w[6:].reshape(2, 3)
    )
    np.testing.assert_array_equal(weighted(lambda x: xnp.tile(x, (2, 1))), w[:6].reshape(2, 3) + w[6:].reshape(2, 3))
    np.testing.assert_array_equal(weighted(lambda x: xnp.repeat(x, 2, axis=1)), w.reshape(2, 3, 2).sum(-1))
    np.testing.assert_array_equal(
        weighted(lambda x: xnp.concatenate(xnp.split(x, 3, axis=1)[::-1], 1)), np.arange(6).reshape(2, 3)[:, ::-1]
    )


MESSAGES = [
    (lambda: xnp.concatenate([]), ValueError, "Need at least one array to concatenate."),
    (
        lambda: xnp.concatenate([1, 2]),
        ValueError,
        "Zero-dimensional arrays cannot be concatenated. numpy.stack gives them an axis.",
    ),
    (
        lambda: xnp.concatenate([X, X], axis=3),
        ValueError,
        "concatenate: axis 3 is out of bounds for array of dimension 2",
    ),
    (
        lambda: xnp.concatenate([X, [1, 2]]),
        TypeError,
        "concatenate requires ndarray or scalar arguments, got <class 'list'> at position 1. "
        "Convert it with numpy.asarray(...).",
    ),
    (lambda: xnp.concatenate(1), TypeError, "concatenate takes a sequence of arrays, got <class 'int'>"),
    (lambda: xnp.stack([]), ValueError, "Need at least one array to stack."),
    (
        lambda: xnp.stack([X, ROW]),
        ValueError,
        "Cannot stack arrays with different numbers of dimensions: got (2, 3), (3,).",
    ),
    (lambda: xnp.stack([X, X.T]), ValueError, "Cannot stack arrays with different shapes: got (2, 3), (3, 2)."),
    (
        lambda: xnp.stack([X], out=X),
        NotImplementedError,
        "The 'out' argument to numpy.stack is not supported: arrays can't be written to.",
    ),
    (
        lambda: xnp.block([X, [X]]),
        ValueError,
        "Mismatched list depths in numpy.block: all blocks must be nested equally deep, found depths [1, 2]",
    ),
    (lambda: xnp.block([]), ValueError, "numpy.block does not allow empty list arguments"),
    (
        lambda: xnp.split(X, 4),
        ValueError,
        "array split does not result in an equal division: rest is 2. "
        "numpy.array_split cuts a size of 2 into 4 unequal sections.",
    ),
    (lambda: xnp.split(X, 0), ValueError, "split: the number of sections must be larger than 0, got 0"),
    (
        lambda: xnp.split(X, [2, 1], 1),
        ValueError,
        "split needs split points in increasing order, got (2, 1)",
    ),
    (lambda: xnp.dsplit(X, 1), ValueError, "dsplit: axis 2 is out of bounds for array of dimension 2"),
    (lambda: xnp.tile(X, -1), ValueError, "tile can't repeat a negative number of times, got reps=(-1,)"),
    (lambda: xnp.repeat(X, -1), ValueError, "repeats may not contain negative values, got -1"),
    (lambda: xnp.repeat(X, 2.5), TypeError, "repeats must be integers, got dtype float32"),
    (
        lambda: xnp.repeat(X, np.array([1, 2, 3]), axis=0),
        ValueError,
        "repeat needs one number for each of the 2 elements along axis 0, got 3",
    ),
    (lambda: xnp.resize(X, (-1,)), ValueError, "all elements of `new_shape` must be non-negative, got (-1,)"),
]


@pytest.mark.parametrize("call, error, message", MESSAGES)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


def test_traced_repeats_need_a_total():
    with pytest.raises(xt.errors.ConcretizationTypeError, match="Pass total_repeat_length to repeat"):
        xt.jit(lambda r: xnp.repeat(X, r, axis=0))(np.array([1, 2]))


def test_jaxprs():
    def equations(f):
        return [(e.primitive.name, len(e.invars), len(e.outvars)) for e in xt.make_jaxpr(f)(X).eqns]

    assert equations(lambda x: xnp.concatenate([x, x])) == [("concatenate", 2, 1)]
    assert equations(lambda x: xnp.concatenate([x])) == []
    assert equations(lambda x: xnp.stack([x, x])) == [("stack", 2, 1)]
    assert equations(lambda x: xnp.split(x, 3, axis=1)) == [("split", 1, 3)]
    assert equations(lambda x: xnp.unstack(x)) == [("unstack", 1, 2)]
    assert equations(lambda x: xnp.tile(x, (2, 2))) == [("tile", 1, 1)]
    assert equations(lambda x: xnp.repeat(x, 2, axis=0)) == [("broadcast_in_dim", 1, 1), ("reshape", 1, 1)]
