"""Dot products against numpy.einsum, their derivatives, batching and messages."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrace as xt
from xtrace import lax


def einsum_of(lhs, rhs, dimension_numbers):
    """The product by numpy: letters in place of dimension numbers."""
    (lc, rc), (lb, rb) = dimension_numbers
    letters = iter("abcdefghijklmnop")
    left, right = [None] * lhs.ndim, [None] * rhs.ndim
    for a, b in (*zip(lb, rb), *zip(lc, rc)):
        left[a] = right[b] = next(letters)
    left = [x or next(letters) for x in left]
    right = [x or next(letters) for x in right]
    out = [left[d] for d in lb]
    out += [x for d, x in enumerate(left) if d not in lb and d not in lc]
    out += [x for d, x in enumerate(right) if d not in rb and d not in rc]
    return np.einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", lhs, rhs)


CASES = [
    ((3, 4), (4, 5), (((1,), (0,)), ((), ()))),
    ((3, 4), (5, 4), (((1,), (1,)), ((), ()))),
    ((4,), (4,), (((0,), (0,)), ((), ()))),
    ((2, 3), (4,), (((), ()), ((), ()))),
    ((7, 3, 4), (7, 4, 5), (((2,), (1,)), ((0,), (0,)))),
    ((3, 7, 4), (4, 5, 7), (((2,), (0,)), ((1,), (2,)))),
    ((2, 3, 4, 5), (5, 3, 6, 2), (((1, 3), (1, 0)), ((0,), (3,)))),
    ((2, 3, 4, 5), (4, 2, 3, 5), (((3,), (3,)), ((0, 2), (1, 0)))),
    ((0, 4), (4, 5), (((1,), (0,)), ((), ()))),
    ((3, 0), (0, 5), (((1,), (0,)), ((), ()))),
]


@pytest.mark.parametrize("left, right, numbers", CASES)
def test_value_and_derivatives_against_einsum(left, right, numbers):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(left).astype(np.float32), rng.standard_normal(right).astype(np.float32)
    out = lax.dot_general(x, y, numbers)
    expected = einsum_of(x, y, numbers)
    assert out.shape == expected.shape
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
    # The product is bilinear: <ct, dot(x, y)> must equal <x, its cotangent> and <y, its cotangent>.
    ct = rng.standard_normal(expected.shape).astype(np.float32)
    _, back = xt.vjp(lambda x, y: lax.dot_general(x, y, numbers), x, y)
    ct_x, ct_y = back(ct)
    assert ct_x.shape == left and ct_y.shape == right
    np.testing.assert_allclose(np.sum(ct * expected), np.sum(np.asarray(ct_x) * x), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.sum(ct * expected), np.sum(np.asarray(ct_y) * y), rtol=1e-4, atol=1e-4)
    direction = rng.standard_normal(left).astype(np.float32)
    _, tangent = xt.jvp(lambda x: lax.dot_general(x, y, numbers), (x,), (direction,))
    np.testing.assert_allclose(tangent, einsum_of(direction, y, numbers), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("left, right, numbers", [CASES[0], CASES[3], CASES[5], CASES[7]])
def test_batching_equals_a_loop(left, right, numbers):
    rng = np.random.default_rng(1)
    for dim_x, dim_y in itertools.product([None, *range(len(left) + 1)], [None, *range(len(right) + 1)]):
        if dim_x is None and dim_y is None:
            continue
        x = rng.standard_normal(left if dim_x is None else (*left[:dim_x], 2, *left[dim_x:])).astype(np.float32)
        y = rng.standard_normal(right if dim_y is None else (*right[:dim_y], 2, *right[dim_y:])).astype(np.float32)
        out = np.asarray(xt.vmap(lambda x, y: lax.dot_general(x, y, numbers), (dim_x, dim_y))(x, y))
        for i in range(2):
            one_x = x if dim_x is None else x.take(i, dim_x)
            one_y = y if dim_y is None else y.take(i, dim_y)
            np.testing.assert_allclose(out[i], einsum_of(one_x, one_y, numbers), rtol=1e-4, atol=1e-4)


def test_batching_broadcasts_nothing():
    x, y = np.ones((7, 3, 4), np.float32), np.ones((4, 5), np.float32)
    text = str(xt.make_jaxpr(xt.vmap(lax.dot, (0, None)))(x, y))
    assert (
        text.split()
        == (
            "{ lambda ; a:f32[7,3,4] b:f32[4,5]. let "
            "c:f32[7,3,5] = dot_general[dimension_numbers=(([2], [0]), ([], []))] a b in (c,) }"
        ).split()
    )


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_any_dimension_numbers(data):
    rank = data.draw(st.integers(0, 3))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    roles = data.draw(st.lists(st.sampled_from("cbl"), min_size=rank, max_size=rank))
    extra = data.draw(st.lists(st.integers(1, 3), max_size=2))
    shared = [i for i, r in enumerate(roles) if r != "l"]
    order = data.draw(st.permutations([*shared, *range(rank, rank + len(extra))]))
    right = tuple([sizes[i] if i < rank else extra[i - rank] for i in order])
    contract = [i for i in shared if roles[i] == "c"]
    batch = [i for i in shared if roles[i] == "b"]
    numbers = ((contract, [order.index(i) for i in contract]), (batch, [order.index(i) for i in batch]))
    rng = np.random.default_rng(0)
    x, y = rng.integers(-3, 3, tuple(sizes)).astype(np.int32), rng.integers(-3, 3, right).astype(np.int32)
    np.testing.assert_array_equal(lax.dot_general(x, y, numbers), einsum_of(x, y, numbers))


@pytest.mark.parametrize("name", ["int8", "uint8", "int32", "bfloat16", "float16", "float32", "complex64", "bool"])
def test_dtypes(name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    x, y = np.array([[1, 2], [3, 1]]), np.array([[1, 0], [2, 1]])
    out = lax.dot(x.astype(dtype), y.astype(dtype))
    assert out.dtype == dtype
    expected = (x @ y).astype(dtype)
    np.testing.assert_array_equal(np.asarray(out).astype(np.complex64), expected.astype(np.complex64))


def test_preferred_element_type():
    x = np.full((2, 3), 100, np.int8)
    out = lax.dot(x, x.T, preferred_element_type=np.int32)
    assert out.dtype == np.int32 and np.asarray(out).tolist() == [[30000] * 2] * 2
    half = np.full((1, 4096), 1, ml_dtypes.bfloat16)
    total = lax.dot(half, half.T, preferred_element_type=np.float32)
    assert total.dtype == np.float32 and float(np.asarray(total)[0, 0]) == 4096
    grads = xt.grad(lambda x, y: lax.dot(x, y, preferred_element_type=np.float32), (0, 1))(half[0], half[0])
    assert [g.dtype for g in grads] == [half.dtype] * 2


def test_mixed_dtypes_meet_in_the_wider():
    x = np.float32([[1, 2]])
    assert lax.dot(x, np.ones((2, 1), ml_dtypes.bfloat16)).dtype == np.float32
    assert lax.dot(x, np.ones((2, 1), np.int32)).dtype == np.float32
    assert lax.dot(x, np.ones((2, 1), np.complex64)).dtype == np.complex64
    # Recorded from JAX 0.12.0.1.
    recorded = [
        ("int8", "int16", "int16"),
        ("uint8", "int8", "int8"),
        ("float16", "bfloat16", "bfloat16"),
        ("float8_e4m3fn", "float8_e5m2", "float8_e5m2"),
    ]
    for names in recorded:
        a, b, out = (np.dtype(getattr(ml_dtypes, n, n)) for n in names)
        assert xt.eval_shape(lax.dot, np.ones((2, 2), a), np.ones((2, 2), b)).dtype == out
    with pytest.raises(TypeError, match="neither holds the other"):
        lax.dot(np.ones((2, 2), ml_dtypes.float8_e5m2), np.ones((2, 2), ml_dtypes.float8_e5m2fnuz))


def lowered(precision):
    x = np.ones((2, 2), np.float32)
    return xt.jit(lambda x: lax.dot(x, x, precision=precision)).lower(x).as_text()


def test_precision_reaches_the_program():
    assert "precision = [DEFAULT, DEFAULT]" in lowered(None)
    for name, attribute in [
        ("highest", "HIGHEST"),
        ("float32", "HIGHEST"),
        ("tensorfloat32", "HIGH"),
        ("fastest", "DEFAULT"),
    ]:
        assert f"precision = [{attribute}, {attribute}]" in lowered(name)
    assert "precision = [HIGH, DEFAULT]" in lowered((lax.Precision.HIGH, "default"))
    assert "accumulation_type = f32" in lowered("BF16_BF16_F32")
    assert "num_primitive_operations = 3" in lowered("BF16_BF16_F32_X3")
    assert "tensor<2x2xf16>" in lowered(lax.DotAlgorithmPreset.F16_F16_F16)
    assert lowered(lax.DotAlgorithm(np.float32, np.float32, np.float32)) == lowered("F32_F32_F32")
    with pytest.raises(NotImplementedError, match="TF32_TF32_F32 of dot_general is not supported on CPU"):
        lowered("TF32_TF32_F32")
    with pytest.raises(ValueError, match="precision is 'sharp'"):
        lowered("sharp")


def test_default_matmul_precision():
    x = np.ones((2, 2), np.float32)
    with xt.default_matmul_precision("highest"):
        (eqn,) = xt.make_jaxpr(lambda x: lax.dot(x, x))(x).eqns
        assert eqn.params["precision"] == (lax.Precision.HIGHEST, lax.Precision.HIGHEST)
        (eqn,) = xt.make_jaxpr(lambda x: lax.dot(x, x, precision="default"))(x).eqns
        assert eqn.params["precision"] == (lax.Precision.DEFAULT, lax.Precision.DEFAULT)


def test_dot_and_batch_matmul():
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
    for a, b in [(x, y), (x[0], y), (x, y[:, 0]), (x[0], y[:, 0])]:
        np.testing.assert_array_equal(lax.dot(a, b), a @ b)
    np.testing.assert_array_equal(lax.batch_matmul(np.stack([x] * 3), np.stack([y] * 3)), np.stack([x @ y] * 3))


@pytest.mark.parametrize(
    "numbers, message",
    [
        ((((0,), (0,)), ((), ())), r"contracting dimensions to have the same shape, got \(3,\) and \(4,\)"),
        ((((1,), (0,)), ((0,), (1,))), r"batch dimensions to have the same shape, got \(3,\) and \(5,\)"),
        ((((1,), (0,)), ((1,), (0,))), "disjoint from contracting"),
        ((((1,), (0,)), ((0,), ())), "equal numbers of lhs_batch and rhs_batch"),
        ((((5,), (0,)), ((), ())), "nonnegative and less than the number of axes"),
        ((((1,), (0,)), ((0, 0), (1, 1))), "to be distinct"),
    ],
)
def test_messages(numbers, message):
    with pytest.raises(TypeError, match=message):
        lax.dot_general(np.ones((3, 4)), np.ones((4, 5)), numbers)


def test_dot_says_which_shapes():
    with pytest.raises(ValueError, match=r"lhs_shape=\(3,\) rhs_shape=\(4,\)"):
        lax.dot(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match=r"equal rank, at least 2; got shapes \(2, 2\) and \(2,\)"):
        lax.batch_matmul(np.ones((2, 2)), np.ones(2))
