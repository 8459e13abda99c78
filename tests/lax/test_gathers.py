"""Gather and scatter against loops in NumPy, in every mode; derivatives by finite differences; mapping; messages."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax

RNG = np.random.RandomState(0)
X = RNG.randn(5, 4, 3).astype(np.float32)
U = RNG.randn(4, 3).astype(np.float32)
INDICES = np.array([[0, 1], [4, 2], [9, 0], [-1, 3]], np.int32)
REPEATED = np.array([[0, 1], [0, 1], [4, 2], [3, 3]], np.int32)
GATHER = lax.GatherDimensionNumbers((1,), (0, 1), (0, 1))
SCATTER = lax.ScatterDimensionNumbers((1,), (0, 1), (0, 1))
SIZES = (1, 1, 3)
KINDS = {
    "scatter": lambda old, new: new, "scatter_add": np.add, "scatter_sub": np.subtract, "scatter_mul": np.multiply,
    "scatter_min": np.minimum, "scatter_max": np.maximum,
}  # fmt: skip


def inside(i: np.ndarray) -> bool:
    return 0 <= i[0] < 5 and 0 <= i[1] < 4


def clipped(i: np.ndarray) -> tuple[int, int]:
    return int(np.clip(i[0], 0, 4)), int(np.clip(i[1], 0, 3))


def test_gather_modes() -> None:
    near = np.stack([X[clipped(i)] for i in INDICES])
    known = np.array([inside(i) for i in INDICES])[:, None]
    np.testing.assert_array_equal(lax.gather(X, INDICES, GATHER, SIZES, mode="clip"), near)
    np.testing.assert_array_equal(lax.gather(X, INDICES, GATHER, SIZES), near)  # nothing promised is checked
    fill = functools.partial(lax.gather, dimension_numbers=GATHER, slice_sizes=SIZES, mode="fill")
    np.testing.assert_array_equal(fill(X, INDICES), np.where(known, near, np.nan))
    np.testing.assert_array_equal(fill(X, INDICES, fill_value=7), np.where(known, near, 7))
    whole = (X * 10).astype(np.int32)
    filled = np.asarray(fill(whole, INDICES))
    assert filled[2].tolist() == [np.iinfo(np.int32).min] * 3
    assert np.asarray(fill(whole.astype(np.uint8), INDICES))[2].tolist() == [255] * 3
    assert np.asarray(fill(whole > 0, INDICES))[2].tolist() == [True] * 3
    narrow = np.clip(INDICES, -1, 9).astype(np.int8)
    np.testing.assert_array_equal(fill(X, narrow), np.where(known, near, np.nan))


@pytest.mark.parametrize("mode", ["drop", "clip"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64", "bfloat16"])
def test_scatter_is_a_loop(kind: str, mode: str, dtype: str) -> None:
    import ml_dtypes  # noqa: F401  (makes bfloat16 known to numpy)

    x, u = np.round(X * 4).astype(dtype), np.round(U * 4).astype(dtype)
    expected = x.copy()
    for i, update in zip(INDICES, u, strict=True):
        if inside(i) or mode == "clip":
            place = clipped(i)
            expected[place] = KINDS[kind](expected[place], update)
    got = getattr(lax, kind)(x, INDICES, u, SCATTER, mode=mode)
    np.testing.assert_array_equal(np.asarray(got), expected)


def directional(f: Any, *args: np.ndarray) -> None:
    """jvp against finite differences, vjp against jvp."""
    t = [RNG.randn(*a.shape).astype(np.float32) for a in args]
    out, tangent = xt.jvp(f, tuple(args), tuple(t))
    ct = RNG.randn(*out.shape).astype(np.float32)
    h = 1e-2
    ends = [np.asarray(f(*[a + s * h * d for a, d in zip(args, t, strict=True)])).astype(np.float64) for s in (1, -1)]
    along = (np.asarray(tangent) * ct).sum()
    np.testing.assert_allclose(along, ((ends[0] - ends[1]) * ct).sum() / (2 * h), rtol=2e-2, atol=2e-2)
    _, pull = xt.vjp(f, *args)
    pulled = sum([(np.asarray(g) * d).sum() for g, d in zip(pull(ct), t, strict=True)])
    np.testing.assert_allclose(pulled, along, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("mode", ["drop", "clip", "promise_in_bounds"])
def test_derivatives(mode: str) -> None:
    places = INDICES if mode != "promise_in_bounds" else np.array([[0, 1], [4, 2], [3, 0], [1, 3]], np.int32)
    directional(lambda x: lax.gather(x, places, GATHER, SIZES, mode=mode, fill_value=0), X)
    x = (np.arange(60).reshape(X.shape) % 7 - 3 + 0.3).astype(np.float32)  # far from ties with the updates
    u = (np.arange(12).reshape(U.shape) % 5 - 2).astype(np.float32)
    for kind in KINDS:
        directional(
            lambda x, u, kind=kind: getattr(lax, kind)(x, places, u, SCATTER, mode=mode, unique_indices=True), x, u
        )
        if kind != "scatter_mul":
            u2 = u + np.array([[0], [0.4], [0], [0]], np.float32)
            directional(lambda x, u, kind=kind: getattr(lax, kind)(x, REPEATED, u, SCATTER, mode=mode), x, u2)


def test_derivative_of_apply() -> None:
    def f(x: Any) -> Any:
        return lax.scatter_apply(x, INDICES, lax.sin, SCATTER, update_shape=(4, 3), unique_indices=True)

    expected = X.copy()
    for i in INDICES[:2]:
        expected[tuple(i)] = np.sin(X[tuple(i)])
    np.testing.assert_allclose(np.asarray(f(X)), expected, rtol=1e-6)
    directional(f, X)


def test_ties_share_the_derivative() -> None:
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))

    def f(x: Any, u: Any) -> Any:
        return lax.reduce_sum(lax.scatter_max(x, np.array([[0], [0]]), u, numbers), (0,))

    gx, gu = xt.grad(f, (0, 1))(np.array([2.0, 1.0], np.float32), np.array([2.0, 2.0], np.float32))
    np.testing.assert_allclose(np.asarray(gx), [1 / 3, 1])
    np.testing.assert_allclose(np.asarray(gu), [1 / 3, 1 / 3])


@pytest.mark.parametrize("mode", ["fill", "clip"])
def test_mapping_equals_a_loop(mode: str) -> None:
    xs, us = RNG.randn(3, 5, 4, 3).astype(np.float32), RNG.randn(3, 4, 3).astype(np.float32)
    places = RNG.randint(-1, 6, (3, 4, 2)).astype(np.int32)

    def check(f: Any, *operands: np.ndarray) -> None:
        for dims in itertools.product([0, None], repeat=len(operands)):
            if all(d is None for d in dims):
                continue
            given = [v if d == 0 else v[0] for v, d in zip(operands, dims, strict=True)]
            loop = [
                np.asarray(f(*[v[n] if d == 0 else v[0] for v, d in zip(operands, dims, strict=True)]))
                for n in range(3)
            ]
            np.testing.assert_allclose(np.asarray(xt.vmap(f, dims)(*given)), np.stack(loop), rtol=1e-6)

    check(lambda x, i: lax.gather(x, i, GATHER, (1, 1, 2), mode=mode), xs, places)
    for kind in ("scatter_add", "scatter_max"):
        check(lambda x, i, u, kind=kind: getattr(lax, kind)(x, i, u, SCATTER, mode=mode), xs, places, us)


def test_mapping_over_nothing() -> None:
    out = xt.vmap(lambda x, i: lax.gather(x, i, GATHER, SIZES))(np.zeros((0, 5, 4, 3)), np.zeros((0, 4, 2), np.int32))
    assert out.shape == (0, 4, 3)


def test_batching_dimensions() -> None:
    numbers = lax.GatherDimensionNumbers((), (1,), (1,), (0,), (0,))
    x, i = X[..., 0], np.array([[0], [3], [1], [2], [0]], np.int32)
    np.testing.assert_array_equal(lax.gather(x, i, numbers, (1, 1)), x[np.arange(5), i[:, 0]])
    numbers = lax.ScatterDimensionNumbers((), (1,), (1,), (0,), (0,))
    expected = x.copy()
    expected[np.arange(5), i[:, 0]] += 1
    np.testing.assert_array_equal(lax.scatter_add(x, i, np.ones(5, np.float32), numbers), expected)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lax.gather(X, INDICES * 1.0, GATHER, SIZES), ValueError, "indices must have an integer type"),
        (lambda: lax.gather(X, INDICES, GATHER, (1, 1, 9)), TypeError, r"Slice size at index 2 .*\[0, 3 \+ 1\), got 9"),
        (lambda: lax.gather(X, INDICES, GATHER, (2, 1, 3)), TypeError, "can only collapse slice dims with bound 1"),
        (lambda: lax.gather(X, INDICES[:, :1], GATHER, SIZES), TypeError, "These two numbers must be equal"),
        (lambda: lax.gather(X, INDICES, GATHER._replace(offset_dims=(2,)), SIZES), TypeError, "out of bounds; got 2"),
        (lambda: lax.gather(X, INDICES, GATHER, SIZES, mode="foo"), ValueError, 'Unknown gather mode "foo"'),
        (lambda: lax.scatter(X, INDICES, U[:2], SCATTER), TypeError, "For scatter dimension 0, updates bound is 2"),
        (lambda: lax.scatter(X, INDICES, U.astype(int), SCATTER), TypeError, "same dtypes, got float32, int"),
        (lambda: lax.scatter(X, INDICES, U[0], SCATTER), TypeError, "must be of rank 2; got 1"),
        (lambda: xt.grad(lambda u: lax.reduce_sum(lax.scatter_mul(X, INDICES, u, SCATTER), (0, 1, 2)))(U),
         NotImplementedError, "unique_indices=True"),
    ],
)  # fmt: skip
def test_messages(call: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_dimension_numbers_print_as_written() -> None:
    assert str(GATHER) == (
        "GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0, 1), start_index_map=(0, 1), "
        "operand_batching_dims=(), start_indices_batching_dims=())"
    )
    assert [m.name for m in lax.GatherScatterMode] == ["CLIP", "FILL_OR_DROP", "PROMISE_IN_BOUNDS", "ONE_HOT"]
    assert str(lax.GatherScatterMode.CLIP) == "GatherScatterMode.CLIP"
