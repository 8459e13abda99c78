"""Arguments of a wrong kind: the error is of JAX's class, and names function, argument and what was given."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax
from xtrace import numpy as xnp
from xtrace.experimental import sparse

X = np.ones((3, 3), np.float32)
V = np.ones(3, np.float32)
KEY = xt.random.key(0)
TREE = xt.tree.structure((1, 2))
SOLVED = (X, np.arange(3))

#: kind -> [(call, what the message must hold)]; every call raises an error that is a TypeError and a ValueError.
KINDS: dict[str, list[tuple[Callable[[], Any], str]]] = {
    "integers": [
        (lambda: xnp.sum(X, axis=1.5), "sum takes an integer as its argument `axis`, got 1.5 of type float"),
        (lambda: xnp.cumsum(X, axis="a"), "cumsum takes an integer as its argument `axis`, got 'a' of type str"),
        (lambda: X_().swapaxes("a", 1), "swapaxes takes an integer as its argument `axis`"),
        (lambda: xnp.diagonal(X, offset=X), "`offset`, got a numpy array of shape (3, 3) and dtype float32"),
        (lambda: xnp.fft.fft(X, n="a"), "fft takes a sequence of integers as its argument `s`"),
        (lambda: lax.iota("int32", "a"), "iota"),
        (lambda: lax.top_k(X, 1.5), "top_k takes an integer as its argument `k`"),
        (lambda: lax.collapse(X, 0, 1.5), "collapse takes an integer as its argument `stop_dimension`"),
        (lambda: lax.slice(X, None, (1, 1)), "slice takes a sequence of integers as its argument `start_indices`"),
        (lambda: xt.ops.segment_sum(V, np.arange(3), num_segments="a"), "segment_sum takes an integer"),
        (lambda: xt.random.orthogonal(KEY, 1.5), "orthogonal takes an integer as its argument `n`"),
        (lambda: xt.scipy.linalg.hilbert(None), "hilbert takes an integer as its argument `n`, got None"),
        (lambda: xt.scipy.signal.stft(V, nperseg=1.5), "stft takes an integer as its argument `nperseg`"),
        (lambda: xt.nn.one_hot(np.arange(3), "a"), "one_hot takes an integer as its argument `num_classes`"),
    ],
    "numbers": [
        (lambda: xnp.hanning("a"), "hanning takes a number as its argument `M`, got 'a'"),
        (lambda: xnp.std(X, ddof=(1,)), "std takes a number as its argument `ddof`, got (1,)"),
        (lambda: lax.approx_max_k(X, 1, recall_target=None), "approx_max_k takes a number as its argument"),
    ],
    "dtypes": [
        (lambda: xnp.zeros(3, "float99"), "zeros takes a dtype, such as 'float32' or numpy.float32; got 'float99'"),
        (lambda: xnp.zeros(3, xnp.ones(2)), "got an array of type f32[2]"),
        (lambda: lax.convert_element_type(X, 3), "convert_element_type takes a dtype"),
        (lambda: xnp.dot(X, X, preferred_element_type="U3"), "Arrays hold numbers and booleans"),
        (lambda: xt.random.normal(KEY, dtype="float99"), "normal takes a dtype"),
    ],
    "functions": [
        (lambda: xt.tree.map(1, [1]), "tree_map takes a function as its argument `f`, got 1 of type int"),
        (lambda: xt.tree.reduce("a", [1]), "tree_reduce takes a function as its argument `function`"),
    ],
    "structures": [
        (lambda: xt.tree_util.treedef_children(1), "treedef_children takes a PyTreeDef"),
        (lambda: xt.tree.transpose(1, TREE, [(1, 2)]), "tree_transpose takes a PyTreeDef"),
        (lambda: xt.tree_util.treedef_tuple([None]), "as its argument `treedefs`, got None"),
        (lambda: xt.tree.unflatten(TREE, None), "tree_unflatten takes a sequence as its argument `leaves`"),
    ],
    "sequences": [
        (lambda: lax.pad(X, 0.0, 3), "pad takes a sequence of (low, high, interior) integers"),
        (lambda: lax.dot_general(X, X, ((1, 0), ())), "as its argument `dimension_numbers`, got ((1, 0), ())"),
        (lambda: lax.gather(X, [[0]], None, (1, 1)), "gather takes GatherDimensionNumbers or ScatterDimensionNumbers"),
        (lambda: lax.concatenate(None, 0), "concatenate takes a sequence of arrays as its argument `operands`"),
        (lambda: xnp.select(None, [X]), "select takes a sequence of arrays as its argument `condlist`"),
        (lambda: xt.scipy.linalg.lu_solve(1, V), "lu_solve takes the pair that lu_factor returns"),
        (lambda: xt.scipy.linalg.lu_solve(SOLVED, V, trans=1.5), "lu_solve takes one of 0, 1, 2"),
        (lambda: xnp.linalg.multi_dot(None), "multi_dot takes a sequence of arrays"),
        (lambda: xnp.sum(X, axis={}), "sum takes an option that can be hashed"),
        (lambda: xt.nn.scaled_dot_general(X[None], X[None], (((2,), (2,)), ((0,), (0,))), configs="abc"), "`configs`"),
        (lambda: sparse.grad(xnp.sum, argnums="a"), "grad takes a sequence of integers as its argument `argnums`"),
    ],
    "sparse arrays": [
        (lambda: sparse.bcoo_todense(X), "bcoo_todense takes a BCOO array as its argument `mat`, got a numpy array"),
        (lambda: sparse.bcoo_reduce_sum(None, axes=(0,)), "bcoo_reduce_sum takes a BCOO array"),
        (lambda: sparse.csr_matvec(X, V), "csr_matvec takes a CSR array"),
        (lambda: sparse.bcoo_concatenate([X], dimension=0), "bcoo_concatenate takes a BCOO array"),
        (lambda: sparse.bcoo_fromdense(X, nse="a"), "bcoo_fromdense takes an integer as its argument `nse`"),
        (lambda: sparse.BCOO(None, shape=(3,)), "as its argument `args`, got None"),
    ],
}


def X_() -> Any:  # noqa: N802  (an array of xtrace's, made when a test runs)
    return xnp.asarray(X)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_kinds(kind: str) -> None:
    for call, words in KINDS[kind]:
        with pytest.raises(xt.errors.ArgumentError) as raised:
            call()
        assert isinstance(raised.value, TypeError)
        assert isinstance(raised.value, ValueError)
        assert words in str(raised.value)


#: Calls whose errors have a class of their own, and a part of the message.
OTHERS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: xnp.sum(X, axis=5), IndexError, "sum: axis 5 is out of bounds for array of dimension 2"),
    (lambda: lax.sin(None), TypeError, "sin: Value None of type <class 'NoneType'> is not a valid array type"),
    (lambda: lax.sin(None), ValueError, "sin: Value None of type"),
    (lambda: xnp.concatenate([KEY[None], V]), TypeError, "concatenate: dtype key<fry> takes no part in promotion"),
    (lambda: xt.nn.softmax(X, where=np.array([1, 0, 1])), ValueError, "softmax: where must be None or a boolean array"),
    (lambda: xnp.linalg.norm(KEY), TypeError, "norm: mul does not accept dtype key<fry>"),
    (lambda: xnp.array([[1, 2], [3]]), ValueError, "array: the sequence has an inhomogeneous shape"),
    (lambda: X_() + np.ones(4), ValueError, "Incompatible shapes for broadcasting: add got shapes=[(3, 3), (4,)]"),
    (lambda: lax.reduce(X, 0.0, None, (0,)), TypeError, "reduce: computation should be a callable, got None"),
    (lambda: xnp.apply_along_axis(1, 0, X), TypeError, "apply_along_axis: func1d should be a callable, got 1"),
    (lambda: X_().at[0].apply(3), TypeError, "at[...].apply: func should be a callable"),
    (lambda: xt.tree.leaves([1], is_leaf=3), TypeError, "is_leaf should be a callable, got 3"),
    (lambda: xnp.linalg.tensorsolve(X, V, axes=(0, 5)), ValueError, "tensorsolve: axis 5 is out of bounds"),
    (lambda: lax.padtype_to_pads((8, 8), (3, 3), (1,), "SAME"), ValueError, "window_strides must have the same number"),
    (lambda: lax.padtype_to_pads((8,), (3,), (0,), "SAME"), ValueError, "window_strides must be positive, got (0,)"),
    (lambda: lax.index_take(V, [np.arange(2)], (3,)), ValueError, "index_take takes one of idxs for each of axes"),
]


@pytest.mark.parametrize(("call", "error", "words"), OTHERS)
def test_other_errors(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("fun", "words"),
    [
        (lambda i: xnp.sum(X, axis=i), "sum takes an integer as its argument `axis`"),
        (lambda i: xnp.tril_indices(3, k=i), "tril_indices takes an integer as its argument `k`"),
        (lambda i: lax.top_k(X, i), "top_k takes an integer as its argument `k`"),
        (lambda i: lax.dynamic_slice(X, (0, 0), (i, i)), "dynamic_slice takes a sequence of integers"),
        (lambda i: xt.scipy.linalg.hilbert(i), "hilbert takes an integer as its argument `n`"),
    ],
)
def test_traced_values_where_the_program_needs_them(fun: Callable[[Any], Any], words: str) -> None:
    """The classes are those of a concrete value that is missing, and what compiled functions raise in JAX."""
    with pytest.raises(xt.errors.StaticArgumentError) as raised:
        xt.jit(fun)(1)
    for other in (xt.errors.TracerIntegerConversionError, xt.errors.ConcretizationTypeError, ValueError):
        assert isinstance(raised.value, other)
    message = str(raised.value)
    assert words in message
    assert "known while tracing; got a traced array of type i32[]" in message
    assert os.path.basename(__file__) in message
    assert "static_argnames" in message


def test_the_function_is_the_one_that_was_called() -> None:
    """Inside a traced function it is the call there, not the transformation around it."""
    with pytest.raises(TypeError, match="^cumsum takes an integer"):
        xt.grad(lambda x: xnp.cumsum(x, axis="a").sum())(V)
    with pytest.raises(TypeError, match="^roll "):
        xt.jit(xt.vmap(lambda x: xnp.roll(x, "a")))(X)
    with pytest.raises(TypeError, match="by float|float was asked"):
        xt.jit(lambda x: float(x))(1.0)


def test_options_given_as_arrays_of_one_number() -> None:
    x = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    np.testing.assert_allclose(xnp.std(x, ddof=xnp.array(1)), np.std(x, ddof=1), rtol=1e-6)
    np.testing.assert_allclose(xt.jit(lambda d: xnp.std(x, axis=0, ddof=d))(2), np.std(x, axis=0, ddof=2), rtol=1e-6)
    np.testing.assert_allclose(
        xt.jit(lambda d: xnp.var(x, ddof=d, where=x > 1))(1), np.var(x[x > 1], ddof=1), rtol=1e-6
    )
    assert np.isnan(xt.jit(lambda d: xnp.var(x, ddof=d))(9))


def test_no_segments() -> None:
    for reduction in (xt.ops.segment_sum, xt.ops.segment_max):
        assert reduction(X, np.arange(3), num_segments=0).shape == (0, 3)
