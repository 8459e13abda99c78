"""diff, ediff1d and gradient against NumPy."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp

X = np.array([[1.0, 4.0, 9.0, 7.0], [0.0, 2.0, 2.5, 8.0], [1.0, 1.0, 3.0, 2.0]], np.float32)
N = X.astype(np.int32)
UNEVEN = np.array([0.0, 1.0, 4.0, 4.5], np.float32)

CASES = [
    ("diff", (X,), {}),
    ("diff", (X, 2, 0), {}),
    ("diff", (X, 0), {}),
    ("diff", (X, 5), {}),
    ("diff", (N,), {"prepend": np.int32(1), "append": N}),
    ("diff", (N,), {"axis": 0, "append": N}),
    ("diff", (N > 2,), {}),
    ("ediff1d", (N,), {}),
    ("ediff1d", (N,), {"to_end": np.array([9, 8], np.int32), "to_begin": np.int32(1)}),
    ("ediff1d", (np.array([1], np.int32),), {}),
    ("gradient", (X,), {"axis": 1}),
    ("gradient", (X,), {}),
    ("gradient", (X, 2.0), {}),
    ("gradient", (X, 2.0, 3.0), {}),
    ("gradient", (X, UNEVEN), {"axis": 1}),
    ("gradient", (X, UNEVEN), {"axis": 1, "edge_order": 2}),
    ("gradient", (X, 0.5), {"axis": 0, "edge_order": 2}),
    ("gradient", (X,), {"axis": (1, 0)}),
]


@pytest.mark.parametrize("name, args, kwargs", CASES)
def test_as_numpy(name, args, kwargs):
    expected = getattr(np, name)(*args, **kwargs)
    for out in (
        getattr(xnp, name)(*args, **kwargs),
        xt.jit(lambda x: getattr(xnp, name)(x, *args[1:], **kwargs))(args[0]),
    ):
        several = isinstance(expected, (list, tuple))
        assert isinstance(out, list) == several
        for got, want in zip(out, expected, strict=True) if several else [(out, expected)]:
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_gradient_of_integers_is_floating():
    out = xnp.gradient(N, axis=1)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, np.gradient(N, axis=1))
    assert xnp.gradient(X, axis=()) == []


def test_derivative_of_diff_is_its_transpose():
    (grad,) = xt.vjp(xnp.diff, X[0])[1](np.array([1.0, 10.0, 100.0], np.float32))
    assert grad.tolist() == [-1, -9, -90, 100]


MESSAGES = [
    (lambda: xnp.diff(X, n=-1), ValueError, "order must be non-negative but got -1"),
    (
        lambda: xnp.diff(np.float32(1)),
        ValueError,
        f"diff requires input that is at least one dimensional; got {np.float32(1)!r}",
    ),
    (
        lambda: xnp.gradient(X, 1, 2, 3),
        TypeError,
        "Invalid number of spacing arguments 3 for axis=None: give none, one, or 2",
    ),
    (
        lambda: xnp.gradient(np.ones(1)),
        ValueError,
        "Shape of array too small to calculate a numerical gradient, at least 2 elements are required: axis 0 has 1.",
    ),
    (lambda: xnp.gradient(X, np.ones((2, 2)), axis=1), ValueError, "Spacing arrays must be 1D arrays or scalars."),
    (
        lambda: xnp.gradient(X, UNEVEN, axis=0),
        ValueError,
        "Spacing arrays must have the same length as the dimension along which the gradient is calculated: "
        "axis 0 has 3, the array 4.",
    ),
    (lambda: xnp.gradient(X, edge_order=3), ValueError, "edge_order is 1 or 2, got 3"),
]


@pytest.mark.parametrize("call, error, message", MESSAGES)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
