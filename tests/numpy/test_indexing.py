"""Indexing against NumPy: random indices of every kind, updates, derivatives, mapping, messages."""

from __future__ import annotations

import warnings

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import xtrace as xt

SETTINGS = hypothesis.settings(max_examples=60, deadline=None, database=None, derandomize=True)
SHAPE = (4, 3, 5)
X = np.random.RandomState(0).randn(*SHAPE).astype(np.float32)


def bound(n: int) -> st.SearchStrategy[int | None]:
    return st.one_of(st.none(), st.integers(-n - 2, n + 2))


def slices(n: int) -> st.SearchStrategy[slice]:
    return st.builds(slice, bound(n), bound(n), st.sampled_from([None, 1, 2, 3, -1, -2]))


@st.composite
def indices(draw: st.DrawFn, arrays: bool = True) -> tuple:
    """A valid index of an array of SHAPE."""
    block = draw(st.sampled_from([(2,), (3, 1), (1, 2), (0,)]))
    entries: list = []
    axis, ellipsis = 0, False
    rank = len(SHAPE)
    while axis < rank:
        kinds = ["int", "slice", "new", "stop"]
        if not ellipsis:
            kinds.append("ellipsis")
        if arrays:
            kinds += ["array", "array", "mask"]
        kind = draw(st.sampled_from(kinds))
        n = SHAPE[axis]
        if kind == "stop":
            break
        if kind == "ellipsis":
            ellipsis = True
            skip = draw(st.integers(0, rank - axis))
            entries.append(...)
            # What follows an ellipsis counts from the end; keep the rest short enough.
            axis += skip
            rest = rank - axis
            for a in range(rank - rest, rank):
                entries.append(draw(st.one_of(st.integers(-SHAPE[a], SHAPE[a] - 1), slices(SHAPE[a]))))
            axis = rank
        elif kind == "new":
            entries.append(None)
            if len(entries) > 6:
                break
        elif kind == "int":
            entries.append(draw(st.integers(-n, n - 1)))
            axis += 1
        elif kind == "slice":
            entries.append(draw(slices(n)))
            axis += 1
        elif kind == "array":
            sub = draw(st.sampled_from([block, block[-1:] if block[-1] != 0 else block, (1,)]))
            size = int(np.prod(sub))
            values = draw(st.lists(st.integers(-n, n - 1), min_size=size, max_size=size))
            entries.append(np.array(values, np.int32).reshape(sub))
            axis += 1
        else:
            chosen = draw(st.lists(st.booleans(), min_size=n, max_size=n))
            entries.append(np.array(chosen))
            axis += 1
    return tuple(entries)


def numpy_result(idx: tuple) -> np.ndarray:
    try:
        return X[idx]
    except IndexError:  # shapes of index arrays that don't broadcast
        hypothesis.assume(False)
        raise


@hypothesis.given(indices())
@SETTINGS
def test_read_is_numpys(idx: tuple) -> None:
    expected = numpy_result(idx)
    x = xt.device_put(X)
    np.testing.assert_array_equal(np.asarray(x[idx]), expected)
    np.testing.assert_array_equal(np.asarray(xt.jit(lambda v: v[idx])(x)), expected)


@hypothesis.given(indices(), st.sampled_from(["set", "add", "multiply", "min", "max", "subtract"]))
@SETTINGS
def test_update_is_numpys(idx: tuple, method: str) -> None:
    part = numpy_result(idx)
    values = np.arange(part.size, dtype=np.float32).reshape(part.shape) - 3
    expected = X.copy()
    if method == "set":
        counts = np.zeros(SHAPE, np.int32)
        np.add.at(counts, idx, 1)
        hypothesis.assume(counts.max(initial=0) <= 1)
        expected[idx] = values
    else:
        ufunc = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum, "subtract": np.subtract}
        ufunc[method].at(expected, idx, values)
    x = xt.device_put(X)
    np.testing.assert_allclose(np.asarray(getattr(x.at[idx], method)(values)), expected, rtol=1e-5, atol=1e-5)
    traced = xt.jit(lambda v: getattr(v.at[idx], method)(values))(x)
    np.testing.assert_allclose(np.asarray(traced), expected, rtol=1e-5, atol=1e-5)


@hypothesis.given(indices(arrays=False))
@SETTINGS
def test_traced_integers_read_and_write_what_known_ones_do(idx: tuple) -> None:
    x = xt.device_put(X)
    places = [n for n, i in enumerate(idx) if type(i) is int]
    starts = [np.int32(idx[n]) for n in places]

    def index(traced: list) -> tuple:
        entries = list(idx)
        for n, t in zip(places, traced):
            entries[n] = t
        return tuple(entries)

    np.testing.assert_array_equal(np.asarray(xt.jit(lambda v, *t: v[index(t)])(x, *starts)), X[idx])
    expected = X.copy()
    expected[idx] = 7
    np.testing.assert_array_equal(np.asarray(xt.jit(lambda v, *t: v.at[index(t)].set(7))(x, *starts)), expected)


@hypothesis.given(indices())
@SETTINGS
def test_gradient_of_a_read_counts_how_often_each_element_is_read(idx: tuple) -> None:
    part = numpy_result(idx)
    weights = np.arange(part.size, dtype=np.float32).reshape(part.shape) + 1
    expected = np.zeros(SHAPE, np.float32)
    np.add.at(expected, idx, weights)
    _, pull = xt.vjp(lambda v: v[idx], xt.device_put(X))
    np.testing.assert_allclose(np.asarray(pull(weights)[0]), expected, rtol=1e-6)


@pytest.mark.parametrize("method", ["set", "add", "subtract", "multiply", "min", "max", "divide", "power"])
@pytest.mark.parametrize("idx", [1, slice(0, 3, 2), np.array([2, 0]), (np.array([0, 1]), slice(None), 2)], ids=str)
def test_derivatives_of_updates_by_finite_differences(method: str, idx: object) -> None:
    rng = np.random.RandomState(1)
    x = (rng.rand(*SHAPE) + 0.5).astype(np.float32)
    y = (rng.rand(*x[idx].shape) + 0.5).astype(np.float32)
    tx, ty = rng.randn(*x.shape).astype(np.float32), rng.randn(*y.shape).astype(np.float32)

    def f(x: object, y: object) -> object:
        return getattr((xt.device_put(x) if isinstance(x, np.ndarray) else x).at[idx], method)(y, unique_indices=True)

    def at(h: float) -> np.ndarray:
        return np.asarray(f(x + h * tx, y + h * ty)).astype(np.float64)

    h = 1e-3
    _, tangent = xt.jvp(f, (x, y), (tx, ty))
    np.testing.assert_allclose(np.asarray(tangent), (at(h) - at(-h)) / (2 * h), rtol=2e-2, atol=2e-2)
    ct = rng.randn(*x.shape).astype(np.float32)
    _, pull = xt.vjp(f, x, y)
    gx, gy = pull(ct)
    pulled = (np.asarray(gx) * tx).sum() + (np.asarray(gy) * ty).sum()
    np.testing.assert_allclose(pulled, (np.asarray(tangent) * ct).sum(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_mapped_indices_equal_a_loop(axis: int) -> None:
    x = np.moveaxis(np.stack([X, X + 1, X * 2]), 0, axis)
    i = np.array([[0, -1], [2, 1], [3, 3]], np.int32)
    k = np.array([1, -2, 2], np.int32)
    for f in (
        lambda v, i, k: v[i],
        lambda v, i, k: v[k],
        lambda v, i, k: v[i, :, k],
        lambda v, i, k: v[..., k],
        lambda v, i, k: v.at[i].add(1.0),
        lambda v, i, k: v.at[k].set(2.0),
        lambda v, i, k: v.at[i].get(mode="fill", fill_value=0),
        lambda v, i, k: v.at[:, k].max(0.0),
    ):
        got = xt.vmap(f, in_axes=(axis, 0, 0))(x, i, k)
        loop = [np.asarray(f(xt.device_put(np.take(x, n, axis)), i[n], k[n])) for n in range(3)]
        np.testing.assert_allclose(np.asarray(got), np.stack(loop), rtol=1e-6)


def test_out_of_bounds() -> None:
    x = xt.device_put(np.arange(4.0, dtype=np.float32))
    n = xt.device_put(np.arange(4))
    assert x[9] == 3 and x[-9] == 0 and xt.jit(lambda v, i: v[i])(x, 9) == 3
    assert x[np.array([9, -9])].tolist() == [3, 0]
    assert np.isnan(x.at[9].get(mode="fill")) and np.isnan(x.at[np.array([9])].get(mode="fill")[0])
    assert x.at[-9].get(mode="fill", fill_value=-1) == -1
    assert n.at[9].get(mode="fill") == np.iinfo(np.int32).min
    assert x.at[9].get(mode="clip") == 3
    assert x.at[9].set(1).tolist() == [0, 1, 2, 3]
    assert x.at[-9].set(1).tolist() == [0, 1, 2, 3]
    assert x.at[np.array([9, 1])].add(1).tolist() == [0, 2, 2, 3]
    assert x.at[9].set(7, mode="clip").tolist() == [0, 1, 2, 7]
    assert xt.jit(lambda v, i: v.at[i].set(7))(x, 9).tolist() == [0, 1, 2, 3]
    assert x.at[-1].get(mode="fill", fill_value=5, wrap_negative_indices=False) == 5
    assert x.at[-1].set(5, wrap_negative_indices=False).tolist() == [0, 1, 2, 3]


def test_repeated_indices() -> None:
    x = xt.device_put(np.ones(3, np.float32))
    assert x.at[np.array([0, 0])].add(1.0).tolist() == [3, 1, 1]
    assert x.at[np.array([0, 0])].multiply(3.0).tolist() == [9, 1, 1]
    assert x.at[np.array([1, 1])].apply(lambda v: v + v).tolist() == [1, 4, 1]
    assert xt.grad(lambda v: xt.lax.reduce_sum(x.at[np.array([0, 0])].set(v), (0,)))(2.0) == 1
    assert xt.grad(lambda v: xt.lax.reduce_sum(x.at[np.array([0, 0])].max(v), (0,)))(2.0) == 1


def test_dtypes_of_updates() -> None:
    n = xt.device_put(np.arange(3))
    assert n.at[0].divide(2).dtype == np.float32 and n.at[0].power(2).dtype == np.int32
    assert n.at[0].set(True).dtype == np.int32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        n.astype("int8").at[0].add(300)
        xt.device_put(1.0).at[()].set(2)
    with pytest.warns(FutureWarning, match="cannot safely cast value from dtype=float32 to dtype=int32"):
        assert n.at[0].set(1.5).tolist() == [1, 1, 2]
    with pytest.warns(FutureWarning):
        assert n.at[1].add(1.5).tolist() == [0, 2, 2]
    with pytest.warns(FutureWarning):
        n.astype("int16").at[0].set(np.int32(1))
    assert xt.device_put(np.zeros(1, np.uint32)).at[0].set(2**32 - 1).tolist() == [2**32 - 1]
    with pytest.raises(TypeError, match="bool"):
        (n > 1).at[0].add(True)


def test_loops_over_positions_compile_once() -> None:
    from xtrace.numpy import indexing

    x = xt.device_put(np.arange(50.0, dtype=np.float32))
    assert x[0] == 0 and x[0:3].tolist() == [0, 1, 2] and x.at[1].set(9)[1] == 9
    programs = len(indexing._programs)
    for i in range(3, 40):
        assert x[i] == i and x[i : i + 3].tolist() == [i, i + 1, i + 2] and x.at[i].set(9)[i] == 9
    assert len(indexing._programs) == programs


def test_iteration() -> None:
    n = np.arange(250.0, dtype=np.float32).reshape(125, 2)
    x = xt.device_put(n)
    for row, expected in zip(x, n, strict=True):
        assert row.tolist() == expected.tolist()
    assert [r.tolist() for r in reversed(x)][0] == [248, 249]
    a, b = x[0]
    assert (a, b) == (0, 1)
    assert xt.jit(lambda v: [r + 1 for r in v])(x[:2])[1].tolist() == [3, 4]
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(xt.device_put(1.0))


def test_jaxprs_of_known_indices_are_slices() -> None:
    def names(f: object) -> list[str]:
        return [e.primitive.name for e in xt.make_jaxpr(f)(X).eqns]

    assert names(lambda x: x[3]) == ["slice", "squeeze"]
    assert names(lambda x: x[1:3]) == ["slice"]
    assert names(lambda x: x[::-1]) == ["rev"]
    assert names(lambda x: x[3:0:-2]) == ["slice", "rev"]
    assert names(lambda x: x[None]) == ["broadcast_in_dim"]
    assert names(lambda x: x[..., 0]) == ["slice", "squeeze"]
    assert names(lambda x: x[:]) == []
    assert names(lambda x: list(x)) == ["unstack"]
    assert names(lambda x: x.at[np.array([0])].add(1.0))[-1] == "scatter-add"


def test_slices_of_fixed_size() -> None:
    x = xt.device_put(np.arange(10))
    assert x[xt.ds(2, 3)].tolist() == [2, 3, 4] and x[xt.ds(3)].tolist() == [0, 1, 2]
    assert xt.ds(None) == slice(None) and (xt.ds(None, 5).start, xt.ds(None, 5).size, xt.ds(None, 5).stride) == (
        0,
        5,
        1,
    )
    assert xt.jit(lambda v, k: v[xt.ds(k, 3)])(x, 4).tolist() == [4, 5, 6]
    assert xt.jit(lambda v, k: v[xt.ds(k, 3, 2)])(x, 1).tolist() == [1, 3, 5]
    assert xt.jit(lambda v, k: v.at[xt.ds(k, 2)].set(0))(x, 1).tolist() == [0, 0, 0, *range(3, 10)]


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        ([0, 1], TypeError, "arr\\[array\\(seq\\)\\]"),
        ([[0, 1]], TypeError, "arr\\[tuple\\(seq\\)\\]"),
        ([0, None], TypeError, "arr\\[tuple\\(seq\\)\\]"),
        (0.5, TypeError, "integer or boolean type, got indexer with type float"),
        (np.array([1.5]), TypeError, "float64"),
        ((0, 0, 0, 0), IndexError, "Too many indices: array is 3-dimensional, but 4 were indexed"),
        ("a", TypeError, "string indexing"),
        ((slice(None), "a"), TypeError, "string indexing"),
        ([slice(None), 0], TypeError, "arr\\[tuple\\(seq\\)\\]"),
        ((..., ...), IndexError, "single ellipsis"),
        (slice(1.5, 2), TypeError, "float"),
        (slice(None, None, 0), ValueError, "zero"),
        ({}, IndexError, "only integers"),
        (np.zeros((4, 4), bool), IndexError, "boolean index did not match"),
        ((np.array([0, 1]), np.array([0, 1, 2])), ValueError, "Incompatible shapes"),
    ],
    ids=str,
)
def test_wrong_indices(index: object, error: type, words: str) -> None:
    x = xt.device_put(X)
    for attempt in (lambda: x[index], lambda: x.at[index].set(0), lambda: xt.jit(lambda v: v[index])(x)):
        with pytest.raises(error, match=words):
            attempt()


def test_wrong_values_and_traced_bounds() -> None:
    x = xt.device_put(X)
    with pytest.raises(ValueError, match=r"value of shape \(4,\) for an indexed part of shape \(3, 5\)"):
        x.at[0].set(np.ones(4))
    with pytest.raises(IndexError, match="static start/stop/step"):
        xt.jit(lambda v, k: v[:k])(x, 2)
    with pytest.raises(xt.errors.NonConcreteBooleanIndexError):
        xt.jit(lambda v: v[v > 0])(x)
    with pytest.raises(NotImplementedError, match="unique_indices"):
        xt.grad(lambda v: xt.lax.reduce_sum(x.at[np.array([0, 1])].multiply(v), (0, 1, 2)))(2.0)
    with pytest.raises(IndexError, match="size 0"):
        xt.device_put(np.zeros((0, 3)))[0]
    with pytest.raises(ValueError, match="Unknown gather mode"):
        x.at[0].get(mode="foo")


@pytest.mark.parametrize(
    ("index", "shown"), [(0, "x.at[0].set(5)"), (slice(1, 3), "x.at[1:3].set(5)"),
     ((..., None, slice(None, None, 2)), "x.at[..., None, ::2].set(5)")]
)  # fmt: skip
def test_item_assignment_says_what_to_write(index: object, shown: str) -> None:
    import re

    for attempt in (lambda x: x.__setitem__(index, 5), xt.jit(lambda x: x.__setitem__(index, 5))):
        with pytest.raises(TypeError, match=re.escape(f"x = {shown}")):
            attempt(xt.device_put(X))


def test_updates_with_lists_and_tuples():
    x = xt.numpy.arange(4.0)
    assert x.at[:2].set([7, 8]).tolist() == [7, 8, 2, 3]
    assert x.at[:3].multiply((1, 2, 3)).tolist() == [0, 2, 6, 3]
    assert x.at[:2].power((2, 3)).tolist() == [0, 1, 2, 3]
    assert xt.numpy.zeros((2, 2)).at[:].set([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert xt.jit(lambda v: x.at[:2].set([v, 2.0]))(3.0).tolist() == [3, 2, 2, 3]
    with pytest.raises(ValueError, match="None is not a valid value"):
        x.at[:2].set(None)
    with pytest.raises(TypeError, match="'a'"):
        x.at[:2].set(["a", 2])


@pytest.mark.parametrize("start", [2, np.int32(2), xt.numpy.int32(2)])
def test_slices_of_fixed_size_alone_and_as_arguments(start):
    """A slice of fixed size is one entry of an index; as an argument of a program its size stays known."""
    x, part = xt.numpy.arange(10), xt.ds(start, 3, 2)
    assert not isinstance(part, tuple)
    for read in (lambda v, s: v[s], lambda v, s: v[s,], lambda v, s: v.at[s].get()):
        assert read(x, part).tolist() == xt.jit(read)(x, part).tolist() == [2, 4, 6]
    assert len(xt.tree.leaves(part)) == (type(start) is not int)


def test_the_private_name_of_reading():
    from xtrace.compat._src.indexing import Slice
    from xtrace.compat._src.numpy.indexing import IndexingStrategy, rewriting_take

    assert Slice(0, 5) == xt.ds(5)
    x = np.arange(6).reshape(2, 3)
    for strategy in IndexingStrategy:
        np.testing.assert_array_equal(rewriting_take(x, np.index_exp[:, 1], strategy=strategy), x[:, 1])
    assert int(rewriting_take(x, (0, -1), normalize_indices=False)) == 0


def test_known_indices_out_of_bounds_are_refused_where_asked():
    x = xt.numpy.arange(6).reshape(2, 3)
    xt.config.update("jax_check_static_indices", True)
    try:
        for read, message in (
            (lambda v: v[2], "index 2 out of bounds for axis 0 with size 2"),
            (lambda v: v[:, -4], "index -4 out of bounds for axis 1 with size 3"),
            (lambda v: v.at[0, 3].get(), "index 3 out of bounds for axis 1 with size 3"),
        ):
            for call in (read, xt.jit(read)):
                with pytest.raises(IndexError, match=message):
                    call(x)
        assert x[-1].tolist() == [3, 4, 5] and x[1:9].tolist() == [[3, 4, 5]]
        assert x[xt.numpy.array([7])].tolist() == [[3, 4, 5]]
        assert x.at[7].set(0).tolist() == x.tolist()
        assert x.at[7].get(mode="clip").tolist() == [3, 4, 5]
        assert x.at[7].get(mode="fill", fill_value=9).tolist() == [9, 9, 9]
    finally:
        xt.config.update("jax_check_static_indices", False)
    assert x[2].tolist() == [3, 4, 5]
