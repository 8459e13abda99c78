"""pad in every mode, and trim_zeros, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrace as xt
import xtrace.numpy as xnp

X = np.array([[3.0, 1.0, 4.0, 1.5], [9.0, 2.0, 6.0, 5.0]], np.float32)
N = np.array([[3, 1, 4, 1], [9, 2, 6, 5]], np.int32)

MODES = [
    ("constant", {}),
    ("constant", {"constant_values": 7}),
    ("constant", {"constant_values": (7, 8)}),
    ("constant", {"constant_values": ((1, 2), (3, 4))}),
    ("edge", {}),
    ("linear_ramp", {}),
    ("linear_ramp", {"end_values": ((5, -6), (7, 8))}),
    ("maximum", {}),
    ("maximum", {"stat_length": 2}),
    ("minimum", {"stat_length": ((1, 2), (3, 1))}),
    ("mean", {}),
    ("median", {"stat_length": 3}),
    ("reflect", {}),
    ("reflect", {"reflect_type": "odd"}),
    ("symmetric", {}),
    ("symmetric", {"reflect_type": "odd"}),
    ("wrap", {}),
]
WIDTHS = [0, 2, (1, 3), ((0, 1), (2, 0)), ((3, 9), (7, 8))]


@pytest.mark.parametrize("mode, settings", MODES)
@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("x", [X, N], ids=["float", "int"])
def test_as_numpy(x, widths, mode, settings):
    expected = np.pad(x, widths, mode, **settings)
    pad = lambda x: xnp.pad(x, widths, mode, **settings)
    for out in (pad(x), xt.jit(pad)(x)) if x is X else (pad(x),):
        assert out.dtype == x.dtype
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(0, 13), st.integers(0, 13), st.sampled_from(["reflect", "symmetric", "wrap"]))
def test_many_periods(size, before, after, mode):
    x = np.arange(size) ** 2
    np.testing.assert_array_equal(xnp.pad(x, (before, after), mode), np.pad(x, (before, after), mode))


def test_values_may_be_traced_and_widths_a_dictionary():
    pad = xt.jit(lambda x, v: xnp.pad(x, 1, constant_values=v))
    np.testing.assert_array_equal(pad(X, np.array([7, 8])), np.pad(X, 1, constant_values=(7, 8)))
    np.testing.assert_array_equal(xnp.pad(X, {-1: (1, 2)}), np.pad(X, ((0, 0), (1, 2))))
    assert xnp.pad(X, 2, "empty").shape == (6, 8)
    assert xnp.pad(np.array([True]), 1, constant_values=5).tolist() == [True, True, True]
    assert xnp.pad(np.zeros((0,), np.float32), 2).tolist() == [0, 0, 0, 0]


def test_function_as_mode():
    out = xnp.pad(X, 1, lambda row, widths, axis, settings: row + settings["more"], more=1)
    # Each axis adds one to every row, the padding included.
    np.testing.assert_array_equal(out, np.pad(X, 1) + 2)


def test_gradient_reaches_what_was_copied():
    grad = xt.grad(lambda x: xt.lax.reduce_sum(xnp.pad(x, (2, 1), "edge"), (0,)))(np.ones(3, np.float32))
    assert grad.tolist() == [3, 1, 2]


MESSAGES = [
    (
        lambda: xnp.pad(X, 1, "foo"),
        NotImplementedError,
        "Unimplemented padding mode 'foo' for numpy.pad. The modes are constant, edge, empty, linear_ramp, maximum, "
        "mean, median, minimum, reflect, symmetric, wrap.",
    ),
    (
        lambda: xnp.pad(X, 1, stat_length=2),
        ValueError,
        "unsupported keyword arguments for mode 'constant': {'stat_length'}; it takes constant_values",
    ),
    (
        lambda: xnp.pad(X, 1, "edge", constant_values=0),
        ValueError,
        "unsupported keyword arguments for mode 'edge': {'constant_values'}; it takes none",
    ),
    (
        lambda: xnp.pad(X, -1),
        ValueError,
        "pad_width: index can't contain negative values, got -1; slices take elements off",
    ),
    (lambda: xnp.pad(X, 1.5), TypeError, "`pad_width` must be of integral type, got 1.5."),
    (lambda: xnp.pad(X, ((0, 1), (2,))), TypeError, "`pad_width` entries must be the same shape: ((0, 1), (2,))"),
    (
        lambda: xnp.pad(X, (1, 2, 3)),
        ValueError,
        "numpy.pad: pad_width with nd=2 has unsupported shape (3,). "
        "Valid shapes are (2, 2), (1, 2), (2,), (1,), or ().",
    ),
    (
        lambda: xnp.pad(np.ones((0,)), 1, "edge"),
        ValueError,
        "Cannot apply 'edge' padding to empty axis 0 of an array of shape (0,)",
    ),
    (
        lambda: xnp.pad(X, 1, "mean", stat_length=0),
        ValueError,
        "stat_length of 0 yields no value for padding: it must be positive",
    ),
    (lambda: xnp.pad(X, 1, "reflect", reflect_type="zig"), ValueError, "reflect_type is 'even' or 'odd', got 'zig'"),
]


@pytest.mark.parametrize("call, error, message", MESSAGES)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


def test_traced_widths_are_refused():
    with pytest.raises(xt.errors.ConcretizationTypeError, match="pad_width of pad decides about the result's shape"):
        xt.jit(lambda n: xnp.pad(X, n))(1)


@pytest.mark.parametrize("trim", ["fb", "f", "b", "B"])
def test_trim_zeros(trim):
    x = np.array([0, 0, 1, 0, 2, 0])
    np.testing.assert_array_equal(xnp.trim_zeros(x, trim), np.trim_zeros(x, trim))
    assert xnp.trim_zeros(np.zeros(3), trim).shape == (0,)


def test_trim_zeros_of_matrices():
    x = np.array([[0, 0, 0], [0, 3, 0]])
    assert xnp.trim_zeros(x).tolist() == [[3]]
    assert xnp.trim_zeros(x, axis=1).tolist() == [[0], [3]]
    with pytest.raises(xt.errors.ConcretizationTypeError, match="The `filt` argument of trim_zeros"):
        xt.jit(xnp.trim_zeros)(x)


def test_trim_zeros_of_scalars():
    for value in (0, 3):
        assert int(xnp.trim_zeros(xnp.array(value))) == value
