"""Ragged products against NumPy group by group, their derivatives, batching and messages."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax

RNG = np.random.default_rng(0)
CONTRACTING = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
BATCHED = lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (0,))), [1], [1])


@pytest.fixture(autouse=True)
def double():
    with xt.enable_x64(True):
        yield


def rows(x, y, sizes):
    """The product of each group of rows with its matrix."""
    out, at = np.zeros((x.shape[0], y.shape[2]), np.result_type(x, y)), 0
    for g, n in enumerate(sizes):
        out[at : at + n] = x[at : at + n] @ y[g]
        at += n
    return out


def sums(x, y, sizes):
    """The product of the transpose of each group of rows with that of the other."""
    ends = np.cumsum(sizes)
    return np.stack([x[e - n : e].T @ y[e - n : e] for e, n in zip(ends, sizes)])


X, Y, Z = RNG.normal(size=(7, 3)), RNG.normal(size=(4, 3, 2)), RNG.normal(size=(7, 2))


@pytest.mark.parametrize("sizes", [[2, 0, 4, 1], [1, 1, 1, 1], [0, 0, 0, 0], [7, 0, 0, 0]], ids=str)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_free_and_contracting(sizes, dtype):
    sizes = np.array(sizes, dtype)
    np.testing.assert_allclose(lax.ragged_dot(X, Y, sizes), rows(X, Y, sizes), atol=1e-12)
    np.testing.assert_allclose(xt.jit(lax.ragged_dot)(X, Y, sizes), rows(X, Y, sizes), atol=1e-12)
    found = lax.ragged_dot_general(X, Z, sizes, CONTRACTING)
    np.testing.assert_allclose(found, sums(X, Z, sizes), atol=1e-12)


def test_batch_dimensions_with_sizes_of_their_own():
    x, y = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(2, 4, 3, 6))
    sizes = np.array([[1, 2, 0, 2], [3, 0, 1, 0]])
    found = lax.ragged_dot_general(x, y, sizes, BATCHED)
    np.testing.assert_allclose(found, np.stack([rows(*a) for a in zip(x, y, sizes)]), atol=1e-12)
    found = lax.ragged_dot_general(x, y, sizes[0], BATCHED)
    np.testing.assert_allclose(found, np.stack([rows(*a, sizes[0]) for a in zip(x, y)]), atol=1e-12)


def test_ragged_batch_dimension():
    numbers = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), [0], [])
    x, y = RNG.normal(size=(4, 5, 3)), RNG.normal(size=(4, 3, 2))
    np.testing.assert_allclose(lax.ragged_dot_general(x, y, np.array([1, 3]), numbers), x @ y, atol=1e-12)


CALLS = {
    "free": (lambda x, y, s: lax.ragged_dot(x, y, s), X, Y, rows),
    "contracting": (lambda x, y, s: lax.ragged_dot_general(x, y, s, CONTRACTING), X, Z, sums),
}
SIZES = np.array([2, 0, 3, 1])


@pytest.mark.parametrize("name", CALLS)
def test_derivatives(name):
    call, x, y, reference = CALLS[name]
    w = RNG.normal(size=reference(x, y, SIZES).shape)
    for i, a in enumerate((x, y)):
        found = xt.grad(lambda *xy: (w * call(*xy, SIZES)).sum(), i)(x, y)
        # Linear in each operand: the derivative along a unit vector is the value there.
        wanted = [(w * reference(*((e, y) if i == 0 else (x, e)), SIZES)).sum() for e in _units(a.shape)]
        np.testing.assert_allclose(found, np.reshape(wanted, a.shape), atol=1e-12)
    _, tangent = xt.jvp(lambda x, y: call(x, y, SIZES), (x, y), (x, y))
    np.testing.assert_allclose(tangent, 2 * reference(x, y, SIZES), atol=1e-12)


def _units(shape):
    return np.eye(int(np.prod(shape))).reshape(-1, *shape)


@pytest.mark.parametrize("name", CALLS)
def test_second_derivatives(name):
    call, x, y, reference = CALLS[name]
    f = lambda x: (call(x, y, SIZES) ** 2).sum()
    gradient = xt.grad(f)
    found = xt.jvp(gradient, (x,), (x,))[1]
    np.testing.assert_allclose(found, gradient(x), atol=1e-12)  # quadratic: the gradient is homogeneous
    again = xt.grad(lambda x: (gradient(x) * x).sum())(x)  # Euler: the product is twice f
    np.testing.assert_allclose(again, 2 * gradient(x), atol=1e-12)


def test_derivatives_with_batch_dimensions():
    x, y, sizes = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(2, 4, 3, 6)), np.array([[1, 2, 0, 2], [3, 0, 1, 0]])
    w = RNG.normal(size=(2, 5, 6))
    f = lambda x, y: (w * lax.ragged_dot_general(x, y, sizes, BATCHED)).sum()
    for a, found, other in zip((x, y), xt.grad(f, (0, 1))(x, y), (y, x)):
        value = f(x, y)
        np.testing.assert_allclose((np.asarray(found) * a).sum(), value, atol=1e-12)
        shift = RNG.normal(size=a.shape)
        moved = f(a + shift, other) if a is x else f(other, a + shift)
        np.testing.assert_allclose((np.asarray(found) * shift).sum(), moved - value, atol=1e-10)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "mapped", [(0, 0, 0), (0, None, None), (None, 1, None), (1, 2, None), (None, None, 1), (2, None, 0)]
)
def test_batching(name, mapped):
    call, x, y, reference = CALLS[name]
    many = [
        (RNG.normal(size=(3, *x.shape)), RNG.normal(size=(3, *y.shape)), np.array([SIZES, [1, 1, 1, 1], [0, 5, 0, 2]]))
    ]
    (stacks,) = many
    ones = (x, y, SIZES)
    args = [one if d is None else np.moveaxis(stack, 0, d) for stack, one, d in zip(stacks, ones, mapped)]
    found = xt.vmap(call, mapped)(*args)
    for i in range(3):
        one = [o if d is None else stack[i] for stack, o, d in zip(stacks, ones, mapped)]
        np.testing.assert_allclose(found[i], reference(*one), atol=1e-12)


def test_batching_of_batched_sizes():
    x, y = RNG.normal(size=(3, 2, 5, 3)), RNG.normal(size=(2, 4, 3, 6))
    sizes = np.array([[1, 2, 0, 2], [3, 0, 1, 0]])
    found = xt.vmap(lambda x: lax.ragged_dot_general(x, y, sizes, BATCHED))(x)
    wanted = [lax.ragged_dot_general(one, y, sizes, BATCHED) for one in x]
    np.testing.assert_allclose(found, np.stack(wanted), atol=1e-12)
    found = xt.vmap(lambda s: lax.ragged_dot_general(x[0], y, s, BATCHED))(sizes)
    wanted = [lax.ragged_dot_general(x[0], y, s, BATCHED) for s in sizes]
    np.testing.assert_allclose(found, np.stack(wanted), atol=1e-12)


def test_element_types():
    out = lax.ragged_dot(X.astype("float32"), Y.astype("float32"), SIZES, preferred_element_type="float64")
    assert out.dtype == np.float64
    assert lax.ragged_dot(X.astype(int), Y.astype(int), SIZES).dtype == np.int64


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: lax.ragged_dot(X, Y, SIZES[:3]), TypeError, "group dimension size to be 3, got 4"),
        (lambda: lax.ragged_dot(X, Y[:, :2], SIZES), TypeError, "contracting dimensions to have the same shape"),
        (lambda: lax.ragged_dot(X, Y, SIZES.astype(float)), TypeError, "subtype of np.integer"),
        (lambda: lax.ragged_dot(X, Y, SIZES[0]), TypeError, "rank of group_sizes to be >=1"),
        (lambda: lax.ragged_dot(X, Y, SIZES[None]), TypeError, "expected group_sizes to have shape"),
        (lambda: lax.ragged_dot(X, Y, SIZES, group_offset=np.array([1])), NotImplementedError, "group_offset"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_tpus_have_an_operation_for_it():
    x, y, z = (a.astype("float32") for a in (X, Y, Z))
    for call, rhs in ((lax.ragged_dot, y), (CALLS["contracting"][0], z)):
        traced = xt.jit(call).trace(x, rhs, SIZES)
        text = traced.lower(lowering_platforms=("tpu",)).as_text()
        assert "chlo.ragged_dot" in text and "lhs_ragged_dimensions = [0]" in text
        assert "chlo.ragged_dot" not in traced.lower(lowering_platforms=("cuda",)).as_text()
    batched = xt.jit(lambda x, y: lax.ragged_dot_general(x, y, SIZES, BATCHED))
    text = batched.trace(x[None], y[None]).lower(lowering_platforms=("tpu",)).as_text()
    assert "lhs_batching_dimensions = [0]" in text
