"""Functions of positions and conditions against NumPy: take, put, insert, delete, nonzero, diagonals and the like."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp

N = np.arange(24.0, dtype=np.float32).reshape(4, 6)
PLACES = np.array([0, 2, -1])
MOD = np.arange(24).reshape(4, 6) % 6

#: Expressions over the functions of a namespace `f`, a matrix `x` and index arrays `i`, `m`.
SAME_AS_NUMPY = [
    "f.take(x, i)", "f.take(x, i, axis=1)", "f.take(x, i[:, None], axis=0)", "f.take(x, 3, axis=0)",
    "f.take(x, np.array([5, 99, -1]), mode='wrap')",
    "f.nonzero(x > 21)", "f.nonzero(x)", "f.flatnonzero(x > 20)", "f.argwhere(x > 20)",
    "f.diag(x)", "f.diag(x, 1)", "f.diag(x, -2)", "f.diag(x, 9)", "f.diag(x[0])", "f.diag(x[0], 2)", "f.diag(x[0], -2)",
    "f.diagflat(x, 1)", "f.diagonal(x, -1)", "f.diagonal(x.reshape(2, 3, 4), 1, 0, 2)",
    "f.diagonal(x.reshape(2, 3, 4), 0, 2, 1)", "f.diag_indices(3)", "f.diag_indices(2, 3)", "f.tril_indices(3, 1, 4)",
    "f.triu_indices(4, -1)", "f.tril_indices_from(x, 1)", "f.triu_indices_from(x)",
    "f.unravel_index(np.array([5, 23, 0]), (4, 6))", "f.ravel_multi_index((m[0, :4], m[1, :4]), (4, 6))",
    "f.ravel_multi_index((i, i + 9), (4, 6), mode='wrap')",
    "f.ravel_multi_index((i, i + 9), (4, 6), mode='clip', order='F')",
    "f.take_along_axis(x, m[:, :3], 1)",
    "f.take_along_axis(x, m[:1, :] - 3, 0)", "f.take_along_axis(x[:1], m[:, :2], 1)",
    "f.take_along_axis(x, m[:2, :1], 0)", "f.take_along_axis(x, m[0], None)",
    "f.compress(np.array([True, False, True]), x, axis=0)", "f.compress(np.array([True, False, True]), x)",
    "f.extract(x > 20, x)", "f.choose(np.array([0, 1]), [x[0, :2], x[1, :2]])",
    "f.choose(np.array([0, 7]), [x[0, :2], x[1, :2]], mode='wrap')",
    "f.choose(np.array([0, -7]), [x[0, :2], x[1, :2]], mode='clip')",
    "f.delete(x, 1, axis=0)", "f.delete(x, -1, axis=1)", "f.delete(x, slice(0, 3, 2), axis=0)",
    "f.delete(x, np.array([1, 1, 0]), axis=1)", "f.delete(x, 3)",
    "f.delete(x[:, 0], np.array([True, False, False, True]))", "f.delete(x, slice(0, 0), axis=0)",
    "f.insert(x, 1, 7.0)", "f.insert(x, 1, 7.0, axis=1)", "f.insert(x, 24, 7.0)",
    "f.insert(x, np.array([1, 1, -1]), np.array([7.0, 8.0, 9.0]))",
    "f.insert(x, np.array([1, 2]), np.array([[7.0], [8.0]]), axis=0)", "f.insert(x, 1, np.arange(4.0), axis=1)",
    "f.insert(x, 1, x[:2], axis=0)", "f.insert(x[0], 2, np.array([1.0, 2.0, 3.0]))",
    "f.insert(x, slice(1, 3), x[:2], axis=0)", "f.insert(x, 1, np.ones((4, 1)), axis=1)",
    "f.insert(x, np.array([1]), np.ones((4, 1)), axis=1)", "f.insert(x, 1, np.arange(6.0), axis=0)",
]  # fmt: skip


def check_same(got: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert isinstance(got, tuple) and len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            check_same(g, e)
        return
    np.testing.assert_array_equal(np.asarray(got), expected)


@pytest.mark.parametrize("expression", SAME_AS_NUMPY)
def test_same_as_numpy(expression: str) -> None:
    expected = eval(expression, {"np": np, "f": np, "x": N, "i": PLACES, "m": MOD})
    got = eval(
        expression, {"np": np, "f": xnp, "x": xt.device_put(N), "i": xt.device_put(PLACES), "m": xt.device_put(MOD)}
    )
    check_same(got, expected)


def test_updates_are_numpys() -> None:
    x = xt.device_put(N)

    def after(change: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        copy = N.copy()
        change(copy, *args, **kwargs)
        return copy

    check_same(xnp.put(x, np.array([0, 5]), np.array([-1.0, -2.0]), inplace=False), after(np.put, [0, 5], [-1, -2]))
    check_same(xnp.put(x, np.array([0, 99]), -1, mode="wrap", inplace=False), after(np.put, [0, 99], -1, mode="wrap"))
    check_same(xnp.place(x, x > 20, np.array([1.0, 2.0]), inplace=False), after(np.place, N > 20, [1, 2]))
    places = np.array([[0], [1], [2], [0]])
    check_same(xnp.put_along_axis(x, places, 9.0, 1, inplace=False), after(np.put_along_axis, places, 9, 1))


@pytest.mark.parametrize(("shape", "wrap"), [((5, 2), True), ((5, 2), False), ((2, 5), True), ((3, 3, 3), False)])
def test_fill_diagonal(shape: tuple[int, ...], wrap: bool) -> None:
    expected = np.zeros(shape, np.float32)
    np.fill_diagonal(expected, [1, 2], wrap=wrap)
    check_same(xnp.fill_diagonal(np.zeros(shape, np.float32), np.array([1.0, 2.0]), wrap, inplace=False), expected)


def test_sizes_given_for_traced_arrays() -> None:
    x = xt.device_put(N)
    check_same(xnp.nonzero(x > 21, size=3, fill_value=(1, 2)), (np.array([3, 3, 1]), np.array([4, 5, 2])))
    check_same(xnp.nonzero(xt.device_put(np.array([0, 1, 2])), size=1), (np.array([1]),))
    check_same(xnp.argwhere(x > 21, size=3, fill_value=-1), np.array([[3, 4], [3, 5], [-1, -1]]))
    check_same(xt.jit(lambda v: xnp.flatnonzero(v > 20, size=5, fill_value=-1))(x), np.array([21, 22, 23, -1, -1]))
    check_same(xt.jit(lambda c: xnp.compress(c, N, axis=0, size=3, fill_value=9))(np.array([True, False, False, True])),
         np.stack([N[0], N[3], np.full(6, 9.0)]))  # fmt: skip
    check_same(xt.jit(lambda i: xnp.insert(N[0], i, 9.0))(np.array([1, 3])), np.insert(N[0], [1, 3], 9.0))
    check_same(xt.jit(lambda i: xnp.delete(N, i, axis=0, assume_unique_indices=True))(np.array([0, 2])), N[[1, 3]])
    check_same(
        xt.vmap(lambda v: xnp.nonzero(v, size=2)[0])(np.array([[0, 1, 1], [1, 0, 0]])), np.array([[1, 2], [0, 0]])
    )


def test_out_of_bounds_as_jax_has_it() -> None:
    x = xt.device_put(N)
    check_same(xnp.take(x, np.array([5, 99, -1, -99])), np.array([5, np.nan, 23, np.nan], np.float32))
    check_same(xnp.take(x, np.array([5, 99]), fill_value=3), np.array([5, 3], np.float32))
    assert xnp.take(x, -1, mode="clip") == 0 and xnp.take(x, 99, mode="clip") == 23
    check_same(xnp.unravel_index(np.array([5, 99, -1, -99]), (4, 6)), (np.array([0, 3, 3, 0]), np.array([5, 5, 5, 0])))
    check_same(xnp.take_along_axis(x, np.array([[9]]), 1, mode="clip"), N[:, 5:])
    assert np.isnan(np.asarray(xnp.take_along_axis(x, np.array([[9]]), 1))).all()


def test_open_mesh() -> None:
    mesh = xnp.ix_(np.array([0, 2]), np.array([True, False, True, False, False, True]))
    check_same(xt.device_put(N)[mesh], N[np.ix_([0, 2], [0, 2, 5])])


def test_derivatives_of_take_along_axis() -> None:
    weights = np.arange(12.0, dtype=np.float32).reshape(4, 3)
    i = MOD[:, :3] // 2
    expected = np.zeros_like(N)
    for r in range(4):
        np.add.at(expected[r], i[r], weights[r])
    _, pull = xt.vjp(lambda v: xnp.take_along_axis(v, i, 1), N)
    check_same(pull(weights)[0], expected)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, x: xt.jit(f.nonzero)(x), xt.errors.ConcretizationTypeError, "size=n"),
        (lambda f, x: f.nonzero(np.float32(1)), ValueError, "0d arrays"),
        (lambda f, x: f.take(x, np.array([1.0])), TypeError, "integers"),
        (lambda f, x: f.take(x, [1]), TypeError, "list"),
        (lambda f, x: f.take(x, 0, mode="raise"), NotImplementedError, "raise"),
        (lambda f, x: f.take(x, 0, axis=5), ValueError, "axis 5 is out of bounds"),
        (lambda f, x: f.take_along_axis(x, np.array([[0], [1]]), 1), ValueError, "Incompatible shapes"),
        (lambda f, x: f.take_along_axis(x, np.array([3]), 0), ValueError, "same number of dimensions"),
        (lambda f, x: f.put_along_axis(x, np.array([[0]]), 1, 1), ValueError, "inplace=False"),
        (lambda f, x: f.put(x, 0, 1), ValueError, "inplace=False"),
        (lambda f, x: f.fill_diagonal(x, 1), NotImplementedError, "inplace=False"),
        (lambda f, x: f.place(x, x > 9, np.zeros(0), inplace=False), ValueError, "empty"),
        (lambda f, x: f.choose(np.array([0, 7]), [x, x]), ValueError, "invalid entry"),
        (
            lambda f, x: f.delete(x, np.array([9]), axis=0),
            IndexError,
            "index 9 is out of bounds for axis 0 with size 4",
        ),
        (lambda f, x: f.ravel_multi_index((1, 9), (4, 6)), ValueError, "invalid entry"),
        (lambda f, x: f.diag(np.zeros((1, 1, 1))), ValueError, "1d or 2d"),
        (lambda f, x: f.diagonal(x, 0, 0, 0), ValueError, "differ"),
        (lambda f, x: f.diag_indices_from(x), ValueError, "equal length"),
        (lambda f, x: f.ix_(x), ValueError, "1-dimensional"),
        (lambda f, x: f.compress(np.array([1, 0, 1, 1, 1]), x, axis=0), ValueError, "out of bounds"),
    ],
)
def test_messages(call: Any, error: type, words: str) -> None:
    namespace = SimpleNamespace(**{name: getattr(xnp, name) for name in (
        "nonzero take take_along_axis put_along_axis put fill_diagonal place choose delete ravel_multi_index diag "
        "diagonal diag_indices_from ix_ compress").split()})  # fmt: skip
    with pytest.raises(error, match=words):
        call(namespace, xt.device_put(N))
