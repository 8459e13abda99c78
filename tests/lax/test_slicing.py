"""Slices, updates of slices, shapes and joining against NumPy; derivatives, mapping, messages in full."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax

RNG = np.random.RandomState(0)
X = RNG.randn(2, 3, 4).astype(np.float32)

#: Name -> (function of one array, the same in NumPy). All are linear.
FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "squeeze": (lambda x: lax.squeeze(lax.slice(x, (0, 0, 0), (1, 3, 1)), (0, -1)), lambda x: x[0, :, 0]),
    "expand_dims": (lambda x: lax.expand_dims(x, (0, -1)), lambda x: x[None, ..., None]),
    "broadcast": (lambda x: lax.broadcast(x, (2, 1)), lambda x: np.broadcast_to(x, (2, 1, 2, 3, 4))),
    "broadcast_in_dim": (
        lambda x: lax.broadcast_in_dim(lax.slice_in_dim(x, 0, 1, axis=1), (2, 5, 3, 4), (0, 2, 3)),
        lambda x: np.broadcast_to(x[:, None, :1], (2, 5, 3, 4)),
    ),
    "collapse": (lambda x: lax.collapse(x, 0, 2), lambda x: x.reshape(6, 4)),
    "reshape": (lambda x: lax.reshape(x, (4, 6), (2, 0, 1)), lambda x: x.transpose(2, 0, 1).reshape(4, 6)),
    "transpose": (lambda x: lax.transpose(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    "rev": (lambda x: lax.rev(x, (0, 2)), lambda x: x[::-1, :, ::-1]),
    "tile": (lambda x: lax.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3))),
    "concatenate": (lambda x: lax.concatenate([x, lax.rev(x, (0,))], 1), lambda x: np.concatenate([x, x[::-1]], 1)),
    "stack": (lambda x: lax.stack([x, lax.rev(x, (0,))], -1), lambda x: np.stack([x, x[::-1]], -1)),
    "split": (lambda x: lax.split(x, (1, 0, 3), -1)[2], lambda x: x[..., 1:]),
    "unstack": (lambda x: lax.stack(lax.unstack(x, 1)[::-1]), lambda x: x.swapaxes(0, 1)[::-1]),
    "pad": (lambda x: lax.pad(x, 0.0, [(1, 2, 0), (0, 0, 0), (-1, 1, 0)]),
            lambda x: np.pad(x, [(1, 2), (0, 0), (0, 1)])[..., 1:]),
    "pad between": (lambda x: lax.pad(x, 0.0, [(0, 0, 1), (0, -1, 0), (0, 0, 0)]),
                    lambda x: np.insert(x, 1, 0, 0)[:, :-1]),
    "slice": (lambda x: lax.slice(x, (0, 1, 0), (2, 3, 4), (1, 2, 3)), lambda x: x[:, 1:3:2, ::3]),
    "slice to the end": (lambda x: lax.slice(x, (0, 0, 0), (2, 3, 3), (1, 1, 2)), lambda x: x[:, :, :3:2]),
    "slice_in_dim": (lambda x: lax.slice_in_dim(x, 1, -1, axis=-1), lambda x: x[..., 1:-1]),
    "index_in_dim": (lambda x: lax.index_in_dim(x, -1, 1, keepdims=False), lambda x: x[:, -1]),
    "dynamic_slice": (lambda x: lax.dynamic_slice(x, (1, -1, 9), (1, 2, 3)), lambda x: x[1:, 1:, 1:]),
    "dynamic_slice of an array": (lambda x: lax.dynamic_slice(x, np.array([0, 1, 1]), (2, 1, 2)),
                                  lambda x: x[:, 1:2, 1:3]),
    "dynamic_index_in_dim": (lambda x: lax.dynamic_index_in_dim(x, 1, 1, False), lambda x: x[:, 1]),
    "dynamic_update_slice": (
        lambda x: lax.dynamic_update_slice(x, lax.slice_in_dim(x, 0, 1), (-1, 0, 0)),
        lambda x: np.stack([x[0], x[0]]),
    ),
    "dynamic_update_index_in_dim": (
        lambda x: lax.dynamic_update_index_in_dim(x, lax.index_in_dim(x, 0, 0, False), 1, 0),
        lambda x: np.stack([x[0], x[0]]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str) -> None:
    f, reference = FUNCTIONS[name]
    for run in (f, xt.jit(f)):
        np.testing.assert_array_equal(np.asarray(run(xt.device_put(X))), reference(X))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_linear_functions(name: str) -> None:
    f, reference = FUNCTIONS[name]
    t = RNG.randn(*X.shape).astype(np.float32)
    out, tangent = xt.jvp(f, (X,), (t,))
    np.testing.assert_array_equal(np.asarray(tangent), reference(t))
    ct = RNG.randn(*out.shape).astype(np.float32)
    _, pull = xt.vjp(f, X)
    np.testing.assert_allclose((np.asarray(pull(ct)[0]) * t).sum(), (reference(t) * ct).sum(), rtol=1e-4)


@pytest.mark.parametrize("axis", range(4))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_mapping_equals_a_loop(name: str, axis: int) -> None:
    f, reference = FUNCTIONS[name]
    examples = [X, X + 1, X * 2]
    got = xt.vmap(f, in_axes=axis)(np.stack(examples, axis))
    np.testing.assert_array_equal(np.asarray(got), np.stack([reference(x) for x in examples]))


@pytest.mark.parametrize("mapped", [(0, 0), (None, 0), (0, None)])
def test_starts_of_their_own(mapped: tuple[Any, Any]) -> None:
    xs, starts = np.stack([X, X + 1, X * 2]), np.array([0, -1, 9], np.int32)
    update = np.full((1, 2, 4), 7, np.float32)

    def read(x: Any, i: Any) -> Any:
        return lax.dynamic_slice(x, (i, 0, 1), (1, 3, 2))

    def write(x: Any, i: Any) -> Any:
        return lax.dynamic_update_slice(x, update, (0, i, 0))

    def example(d: Any, values: Any, n: int) -> Any:
        return values[n] if d == 0 else values[0]

    for f in (read, write):
        args = [values if d == 0 else values[0] for d, values in zip(mapped, (xs, starts), strict=True)]
        loop = [np.asarray(f(example(mapped[0], xs, n), example(mapped[1], starts, n))) for n in range(3)]
        np.testing.assert_array_equal(np.asarray(xt.vmap(f, mapped)(*args)), np.stack(loop))


def test_padding_value_of_each_example() -> None:
    xs, values = np.stack([X, X + 1]), np.array([5, 6], np.float32)
    got = xt.vmap(lambda x, v: lax.pad(x, v, [(1, 2, 0)] * 3))(xs, values)
    expected = [np.pad(x, [(1, 2)] * 3, constant_values=v) for x, v in zip(xs, values, strict=True)]
    np.testing.assert_array_equal(np.asarray(got), np.stack(expected))
    grad = xt.grad(lambda v: lax.reduce_sum(lax.pad(X, v, [(1, 2, 1)] * 3), (0, 1, 2)))(1.0)
    assert grad == 6 * 8 * 10 - 24


def test_narrow_and_traced_starts() -> None:
    x = np.arange(300)
    for dtype in (np.int8, np.uint8, np.int32):
        assert int(lax.dynamic_slice_in_dim(x, dtype(100), 1)[0]) == 100
        assert int(xt.jit(lambda v, i: lax.dynamic_slice_in_dim(v, i, 1))(x, dtype(100))[0]) == 100
    assert int(xt.jit(lambda v, i: lax.dynamic_slice_in_dim(v, i, 1))(x, -3)[0]) == 297
    clamped = xt.jit(lambda v, i: lax.dynamic_slice_in_dim(v, i, 1, allow_negative_indices=False))(x, -3)
    assert int(clamped[0]) == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lax.squeeze(X, (0,)), ValueError,
         "cannot select an axis to squeeze out which has size not equal to one, got shape=(2, 3, 4) and "
         "dimensions=(0,)"),
        (lambda: lax.squeeze(X, (5,)), ValueError, "squeeze: axis 5 is out of bounds for array of dimension 3"),
        (lambda: lax.expand_dims(X, (0, 0)), ValueError, "repeated axis in lax.expand_dims: (0, 0)"),
        (lambda: lax.rev(X, (0, 0)), TypeError, "rev dimensions must be unique, got (0, 0)."),
        (lambda: lax.rev(X, (5,)), TypeError,
         "rev dimensions must all be less than operand ndim, got dimensions (5,) for operand ndim 3."),
        (lambda: lax.concatenate([], 0), ValueError, "concatenate requires a non-empty sequences of arrays"),
        (lambda: lax.concatenate([X, X[:, :1]], 0), TypeError,
         "Cannot concatenate arrays with shapes that differ in dimensions other than the one being concatenated: "
         "concatenating along dimension 0 for shapes (2, 3, 4), (2, 1, 4)."),
        (lambda: lax.concatenate([X, X], 5), TypeError,
         "concatenate dimension out of bounds: dimension 5 for shapes (2, 3, 4), (2, 3, 4)."),
        (lambda: lax.pad(X, X, [(0, 0, 0)] * 3), ValueError,
         "padding_value must be a scalar; got np.shape(padding_value)=(2, 3, 4)"),
        (lambda: lax.pad(X, np.int32(0), [(0, 0, 0)] * 3), TypeError,
         "pad operand and padding_value must be same dtype: got float32 and int32."),
        (lambda: lax.slice(X, (0, 0, 0), (1, 1, 9)), TypeError,
         "slice limit_indices must be less than or equal to operand shape, got limit_indices (1, 1, 9) for operand "
         "shape (2, 3, 4)."),
        (lambda: lax.dynamic_slice(X, (0, 0), (1, 1, 1)), ValueError,
         "Length of slice indices must match number of operand dimensions (2 vs (2, 3, 4))"),
        (lambda: lax.dynamic_slice(X, (0, 0, 0.0), (1, 1, 1)), TypeError,
         "index arguments to dynamic_slice must be integers of the same type, got: int32, int32, float32"),
        (lambda: lax.dynamic_update_slice(X[:1], X, (0, 0, 0)), TypeError,
         "dynamic_update_slice update shape must be smaller than operand shape, got update shape (2, 3, 4) for operand "
         "shape (1, 3, 4)."),
        (lambda: lax.index_in_dim(X, 9), IndexError, "index 9 is out of bounds for axis 0 with size 2"),
        (lambda: lax.reshape(X, (5,)), TypeError,
         "cannot reshape array of shape (2, 3, 4) (size 24) into shape (5,) (size 5)"),
        (lambda: lax.split(X, (1, 1), 1), ValueError,
         "split: Sum of sizes 2 must be equal to dimension 1 of the operand shape [2, 3, 4]"),
        (lambda: lax.collapse(X, 1, 0), ValueError, "Invalid dimension range passed to collapse: (2, 3, 4)[1:0]"),
        (lambda: lax.broadcast_shapes((2, 3), (4,)), ValueError,
         "Incompatible shapes for broadcasting: shapes=[(2, 3), (4,)]"),
    ],
)  # fmt: skip
def test_messages(call: Any, error: type, message: str) -> None:
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


def test_traced_sizes_are_explained() -> None:
    with pytest.raises(TypeError, match="concrete values of integer type"):
        xt.jit(lambda n: lax.full((n,), 0))(3)
