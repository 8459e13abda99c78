"""Edge inputs (nothing, sizes and fills, odd dtypes): shape, dtype, weak type and values as JAX 0.12.0.1 has them."""

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax
from xtrace import numpy as jnp

I = np.array([3, 1, 3, 2, 1, 7, -2], np.int32)
J = np.array([1, 2, 9, 2, -2], np.int32)
F = np.array([[1.5, 0, 2.5], [0, 3, 1]], np.float32)
ROWS = np.array([[1, 2, 1], [3, 0, 3], [1, 2, 1]], np.int32)
BYTES = np.array([3, 1, 2], np.int8)
NONE = {shape: np.zeros(shape, np.float32) for shape in ((0,), (0, 3), (2, 0))}
AT = np.array([0, 5, -1], np.int32)
nan = np.nan


def repeated(first: list, fill: object, size: int) -> list:
    return [*first, *[fill] * (size - len(first))]


CASES = {
    # Sizes.
    "unique of size 0": (lambda: jnp.unique(I, True, True, True, size=0), "i32", ([], [], [3, 1, 3, 2, 1, 4, 0], [])),
    "counts of fewer than all": (lambda: jnp.unique(I, return_counts=True, size=2), "i32", ([-2, 1], [1, 2])),
    "union1d of size 0": (lambda: jnp.union1d(I, J, size=0), "i32", []),
    "argwhere of a number": (lambda: jnp.argwhere(2.5, size=2), "i32", np.zeros((2, 0))),
    # Fills.
    "unique rows, a row as fill": (
        lambda: jnp.unique(ROWS, axis=0, size=3, fill_value=np.array([10, 20, 30])),
        "i32",
        [[1, 2, 1], [3, 0, 3], [10, 20, 30]],
    ),
    "unique columns of no elements": (
        lambda: jnp.unique(NONE[0, 3], axis=1, size=4, fill_value=1),
        "f32",
        np.zeros((0, 4)),
    ),
    "setxor1d": (lambda: jnp.setxor1d(I, J, size=5, fill_value=2.5), "~f32", repeated([3, 7, 9], 2.5, 5)),
    "setxor1d of nothing": (lambda: jnp.setxor1d(NONE[(0,)], I[:0], size=2), "f32", [0, 0]),
    "intersect1d": (lambda: jnp.intersect1d(I, J, size=5, fill_value=2.5), "~f32", repeated([-2, 1, 2], 2.5, 5)),
    "intersect1d with nothing": (lambda: jnp.intersect1d(I, I[:0], size=3), "i32", [0, 0, 0]),
    "union1d": (lambda: jnp.union1d(J, J, size=5, fill_value=2.5), "i32", [-2, 1, 2, 9, 2]),
    "nonzero": (lambda: jnp.nonzero(F[0], size=4, fill_value=nan), "f32", ([0, 2, nan, nan],)),
    "nonzero, two fills": (
        lambda: jnp.nonzero(F, size=5, fill_value=(1, 2.5)),
        "f32",
        ([0, 0, 1, 1, 1], [0, 2, 1, 2, 2.5]),
    ),
    "flatnonzero": (lambda: jnp.flatnonzero(I > 2, size=4, fill_value=np.float16(0.5)), "f16", [0, 2, 5, 0.5]),
    # Dtypes.
    "setdiff1d": (lambda: jnp.setdiff1d(BYTES, J), "i8", [3]),
    "setdiff1d, sized": (lambda: jnp.setdiff1d(I, np.float32([1.5, 3]), size=5), "i32", [-2, 1, 2, 7, 0]),
    "bitwise_or.at": (lambda: jnp.bitwise_or.at(BYTES, AT[:1], 4, inplace=False), "i8", [7, 1, 2]),
    "histogram2d": (lambda: jnp.histogram2d(F[0], F[0], 2, weights=I[:3])[0], "f32", [[1, 0], [0, 6]]),
    "ldexp": (lambda: jnp.ldexp(2.0, jnp.array([3, -2]).astype("int4")), "f32", [16, 0.5]),
    "real of a numpy array": (lambda: xt.jit(lambda: jnp.real(np.arange(2)))(), "i32", [0, 1]),
    # Nothing.
    "nanmedian of nothing": (lambda: jnp.nanmedian(NONE[0, 3], axis=0), "f32", [nan] * 3),
    "nanquantile of no integers": (lambda: jnp.nanquantile(I[:0], 0.3), "f32", nan),
    "median of no rows": (lambda: jnp.median(NONE[0, 3], axis=1), "f32", []),
    "quantile of no rows": (lambda: jnp.quantile(NONE[0, 3], 0.3, axis=1, keepdims=True), "f32", np.zeros((0, 1))),
    "an update of nothing": (lambda: jnp.asarray(NONE[(0,)]).at[AT].set(1), "f32", []),
    "an update of no rows": (lambda: jnp.asarray(NONE[0, 3]).at[AT].add(1), "f32", np.zeros((0, 3))),
    # Lists.
    "top_k": (lambda: jnp.top_k(F[0], 1), None, [[2.5], [2]]),
    "approx_max_k": (lambda: lax.approx_max_k(F[0], 1), None, [[2.5], [2]]),
}  # fmt: skip
SHORT = {"i8": np.int8, "i32": np.int32, "f16": np.float16, "f32": np.float32}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    call, dtype, expected = CASES[name]
    out = call()
    several = isinstance(out, (list, tuple))
    if several:
        assert type(out) is type(expected)
    for x, want in zip(out, expected, strict=True) if several else [(out, expected)]:
        np.testing.assert_array_equal(x, want)
        assert x.shape == np.shape(want)
        if dtype is not None:
            assert (x.dtype, x.weak_type) == (SHORT[dtype.removeprefix("~")], dtype.startswith("~"))


def traced(f):
    return lambda: xt.jit(f)(np.int32(1))


ERRORS = [
    (lambda: jnp.unique(I, size=-1), ValueError, "isn't negative as its argument `size`, got -1"),
    (lambda: jnp.union1d(I, J, size=-1), ValueError, "got -1"),
    (lambda: jnp.nonzero(F, size=-1), ValueError, "got -1"),
    (lambda: jnp.unique(I, size=1.5), TypeError, "argument `size`"),
    (traced(lambda n: jnp.nonzero(F, size=n)), TypeError, "`size`"),
    (lambda: jnp.unique(I, size=3, fill_value=np.arange(2)), ValueError, "Incompatible shapes"),
    (lambda: jnp.median(F, out=F), ValueError, "numpy.median does not support out="),
    (lambda: jnp.asarray(NONE[(0,)])[AT], IndexError, "out of bounds"),
]


@pytest.mark.parametrize(("call", "error", "words"), ERRORS)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()
