"""Reductions by segment, against loops over the rows."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import ops

REDUCTIONS = {
    "segment_sum": (np.add, lambda dtype: 0),
    "segment_prod": (np.multiply, lambda dtype: 1),
    "segment_max": (np.maximum, lambda dtype: -np.inf if dtype.kind == "f" else np.iinfo(dtype).min),
    "segment_min": (np.minimum, lambda dtype: np.inf if dtype.kind == "f" else np.iinfo(dtype).max),
}


def reference(name, data, ids, count):
    combine, empty = REDUCTIONS[name]
    out = np.full((count, *data.shape[1:]), empty(data.dtype), data.dtype)
    for row, segment in zip(data, ids):
        if 0 <= segment < count:
            out[segment] = combine(out[segment], row)
    return out


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("shape", [(6,), (6, 2), (0,)])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("bucket_size", [None, 2, 4])
def test_values(name, shape, dtype, bucket_size):
    if not shape[0] and bucket_size:
        pytest.skip("no buckets")
    data = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(dtype)
    ids = np.array([3, 0, -1, 3, 0, 7][: shape[0]], int)
    out = getattr(ops, name)(data, ids, 5, bucket_size=bucket_size)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, reference(name, data, ids, 5))
    compiled = xt.jit(lambda d, i: getattr(ops, name)(d, i, num_segments=5, bucket_size=bucket_size))
    np.testing.assert_array_equal(compiled(data, ids), out)


def test_number_of_segments_is_taken_from_the_values():
    assert ops.segment_sum(xnp.ones(3), xnp.array([0, 4, 0])).shape == (5,)
    assert ops.segment_sum(xnp.ones(0), xnp.zeros(0, int)).shape == (0,)
    with pytest.raises(xt.errors.ConcretizationTypeError, match="give it as num_segments"):
        xt.jit(lambda i: ops.segment_sum(xnp.ones(3), i))(xnp.array([0, 1, 1]))


def test_modes_and_promises():
    data, ids = xnp.array([1.0, 2.0, 4.0]), xnp.array([0, 1, 5])
    np.testing.assert_array_equal(ops.segment_sum(data, ids, 2, mode="clip"), [1, 6])
    np.testing.assert_array_equal(ops.segment_sum(data, ids, 2, indices_are_sorted=True), [1, 2])
    np.testing.assert_array_equal(ops.segment_sum(data, ids, 6, unique_indices=True), [1, 2, 0, 0, 0, 4])


def test_several_axes_of_ids():
    data, ids = np.arange(6.0, dtype="float32").reshape(2, 3), np.array([[0, 1, 1], [1, 0, 0]])
    np.testing.assert_array_equal(ops.segment_sum(data, ids), [0 + 4 + 5, 1 + 2 + 3])


def test_derivative_goes_to_the_rows():
    weights = np.array([2.0, 5.0], "float32")
    found = xt.grad(lambda d: (ops.segment_sum(d, xnp.array([1, 0, 1]), 2) * weights).sum())(xnp.ones(3))
    np.testing.assert_array_equal(found, [5, 2, 5])


def test_mapped():
    data, ids = np.arange(6.0, dtype="float32").reshape(2, 3), np.array([[0, 1, 1], [1, 0, 0]])
    out = xt.vmap(lambda d, i: ops.segment_max(d, i, 2))(data, ids)
    np.testing.assert_array_equal(out, [[0, 2], [5, 3]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ops.segment_sum(xnp.ones(3), xnp.array([0.0, 1.0, 2.0])), TypeError, "must be integers"),
        (lambda: ops.segment_sum(xnp.ones(3), xnp.array([0, 1])), ValueError, None),
        (lambda: ops.segment_sum(xnp.ones(2), xnp.array([0, 1]), -1), ValueError, "non-negative"),
        (lambda: ops.segment_sum([1.0, 2.0], xnp.array([0, 1])), TypeError, "numpy.asarray"),
        (lambda: ops.segment_sum(xnp.ones(2), xnp.array([0, 1]), bucket_size=0), ValueError, "positive"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
