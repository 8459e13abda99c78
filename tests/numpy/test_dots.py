"""Products and einsum against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrace as xt

jnp = xt.numpy


def sample(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def check(actual, expected):
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)


MATMULS = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (7, 3, 4)),
    ((2, 2, 3), (7, 1, 3, 4)),
    ((3,), (7, 3, 4)),
    ((7, 2, 3), (3,)),
    ((1, 2, 3), (1, 3, 4)),
    ((4, 1, 2, 3), (1, 5, 3, 2)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
]


@pytest.mark.parametrize("left, right", MATMULS)
def test_matmul(left, right):
    x, y = sample(*left), sample(*right, seed=1)
    check(jnp.matmul(x, y), np.matmul(x, y))
    ct = sample(*np.matmul(x, y).shape, seed=2)
    _, back = xt.vjp(jnp.matmul, x, y)
    ct_x, ct_y = back(ct)
    assert ct_x.shape == left and ct_y.shape == right
    check(np.sum(np.asarray(ct_x) * x), np.sum(ct * np.matmul(x, y)))
    check(np.sum(np.asarray(ct_y) * y), np.sum(ct * np.matmul(x, y)))


def test_matmul_of_equal_batches_is_one_product():
    text = str(xt.make_jaxpr(jnp.matmul)(sample(2, 3, 4), sample(2, 4, 5)))
    assert "dimension_numbers=(([2], [1]), ([0], [0]))" in text and "transpose" not in text


EINSUMS = [
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk->ki", (2, 3), (3, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iij->j", (3, 3, 2)),
    ("iii->i", (2, 2, 2)),
    ("ii,ij->j", (3, 3), (3, 2)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("ba", (2, 3)),
    ("bthd,bshd->bhts", (2, 3, 4, 5), (2, 6, 4, 5)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("ij,ji->", (2, 3), (3, 2)),
    ("i,j->ij", (2,), (3,)),
    ("i,j->ji", (2,), (3,)),
    ("ij,j->ij", (2, 3), (3,)),
    ("ij,k->i", (2, 3), (4,)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (7, 4, 5)),
    ("i...,i...", (3, 2), (3, 2)),
    ("...", (2, 3)),
    ("b...a,a...->...b", (2, 4, 3), (3, 4)),
    ("ij,jk->ik", (3, 1), (4, 5)),
    ("ij,ij->ij", (3, 1), (3, 5)),
    ("a,ab,abc->abc", (2,), (2, 3), (2, 3, 4)),
    ("ab,bc,cd,de->ae", (2, 3), (3, 4), (4, 5), (5, 2)),
    ("ea,fb,abcd,gc,hd->efgh", (3, 2), (3, 2), (2, 2, 2, 2), (3, 2), (3, 2)),
    ("i,i,i->i", (3,), (3,), (3,)),
    (",ij->ij", (), (2, 3)),
    ("i,->i", (3,), ()),
    ("i->", (0,)),
]


@pytest.mark.parametrize("subscripts, shapes", [(s, shapes) for s, *shapes in EINSUMS])
@pytest.mark.parametrize("optimize", ["auto", False, "greedy"])
def test_einsum(subscripts, shapes, optimize):
    operands = [sample(*s, seed=i) for i, s in enumerate(shapes)]
    expected = np.einsum(subscripts, *operands)
    check(jnp.einsum(subscripts, *operands, optimize=optimize), expected)
    check(xt.jit(lambda *xs: jnp.einsum(subscripts, *xs, optimize=optimize))(*operands), expected)


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_any_einsum_of_two(data):
    sizes = {c: data.draw(st.integers(1, 3)) for c in "abcd"}
    left, right = ("".join(data.draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=3))) for _ in "ab")
    labels = sorted(set(left + right))
    out = "".join(data.draw(st.lists(st.sampled_from(labels), unique=True))) if labels else ""
    x, y = (sample(*[sizes[c] for c in t]) for t in (left, right))
    check(jnp.einsum(f"{left},{right}->{out}", x, y), np.einsum(f"{left},{right}->{out}", x, y))


def test_einsum_in_its_other_forms():
    x, y = sample(2, 3), sample(4, 3, seed=1)
    check(jnp.einsum(x, [0, 1], y, [2, 1], [0, 2]), x @ y.T)
    check(jnp.einsum(x, [0, 1], y, [2, 1]), np.einsum(x, [0, 1], y, [2, 1]))
    check(jnp.einsum(" i j , k j -> i k ", x, y), x @ y.T)
    path, _ = jnp.einsum_path("ij,kj,kl->il", x, y, sample(4, 5))
    check(jnp.einsum("ij,kj,kl->il", x, y, sample(4, 5), optimize=path), x @ y.T @ sample(4, 5))


def test_einsum_dtypes():
    x, i = sample(2, 3), np.ones((2, 3), np.int32)
    assert jnp.einsum("ij,ij->i", x, i).dtype == np.float32
    assert jnp.einsum("ij,ij->", i > 0, i > 0).dtype == bool
    assert jnp.einsum(",", 2, 3).weak_type and int(jnp.einsum(",", 2, 3)) == 6
    assert jnp.einsum("ij,ij->i", x, x, preferred_element_type=np.float16).dtype == np.float16


def test_einsum_is_one_product_where_it_can_be():
    text = str(xt.make_jaxpr(lambda x, y: jnp.einsum("bthd,bshd->bhts", x, y))(sample(2, 3, 4, 5), sample(2, 6, 4, 5)))
    assert "dimension_numbers=(([3], [3]), ([0, 2], [0, 2]))" in text and text.count(" = ") == 1


def test_einsum_derivative_and_batching():
    x, y = sample(5, 2, 3), sample(3, 4, seed=1)
    out = xt.vmap(lambda x: jnp.einsum("ij,jk->ik", x, y))(x)
    check(out, x @ y)
    gradient = xt.grad(lambda y: jnp.sum(jnp.einsum("bij,jk->bik", x, y)))(y)
    check(gradient, np.einsum("bij,bik->jk", x, np.ones((5, 2, 4), np.float32)))


@pytest.mark.parametrize(
    "subscripts, shapes, message",
    [
        ("ij,jk", [(3, 4), (3, 4)], "size of label 'j' for operand 1"),
        ("ij,jk", [(3, 4)], "Number of einsum subscripts, 2, must be equal to the number of operands, 1"),
        ("ijk", [(3, 4)], "does not contain the correct number of indices for operand 0, of shape"),
        ("ij->k", [(3, 4)], "Output character 'k' of 'ij->k' did not appear in the input"),
        ("ij->ii", [(3, 4)], "appeared more than once in the output"),
        ("i?", [(3, 4)], "got '\\?'"),
    ],
)
def test_einsum_messages(subscripts, shapes, message):
    with pytest.raises(ValueError, match=message):
        jnp.einsum(subscripts, *[sample(*s) for s in shapes])


def test_other_products():
    x, y = sample(3, 4), sample(3, 4, seed=1)
    z = (x + 1j * y).astype(np.complex64)
    check(jnp.dot(x, y.T), x @ y.T)
    check(jnp.dot(2, x), 2 * x)
    check(jnp.dot(sample(2, 3, 4), sample(5, 4, 6)), np.dot(sample(2, 3, 4), sample(5, 4, 6)))
    check(jnp.inner(x, y), np.inner(x, y))
    check(jnp.inner(2, y), 2 * y)
    check(jnp.outer(x, y), np.outer(x, y))
    check(jnp.tensordot(x, y), np.tensordot(x, y))
    check(jnp.tensordot(x, y, ((0,), (0,))), np.tensordot(x, y, ((0,), (0,))))
    check(jnp.tensordot(x, y, [1, 1]), np.tensordot(x, y, [1, 1]))
    check(jnp.tensordot(x, y, 0), np.tensordot(x, y, 0))
    check(jnp.vdot(z, x), np.vdot(z, x))
    check(jnp.vecdot(z, z[0]), np.sum(z.conj() * z[0], -1))
    check(jnp.vecdot(x, y, axis=0), np.sum(x * y, 0))
    check(jnp.matvec(sample(5, 3, 4), x[0]), sample(5, 3, 4) @ x[0])
    check(jnp.vecmat(z[:, 0], x), z[:, 0].conj() @ x)
    for a, b in [(x, y), (x[0], y), (sample(2, 1, 3), x)]:
        check(jnp.kron(a, b), np.kron(a, b))
    check(jnp.cross(x[:, :3], y[0, :3]), np.cross(x[:, :3], y[0, :3]))
    check(jnp.cross(x[:3, :].copy(), y[:3], axis=0), np.cross(x[:3], y[:3], axis=0))
    for offset in (-1, 0, 2):
        check(jnp.trace(x, offset), np.trace(x, offset))
        check(jnp.trace(sample(2, 3, 4), offset, 1, 2), np.trace(sample(2, 3, 4), offset, 1, 2))
    assert jnp.dot(2, 3).weak_type and jnp.trace(x > 0).dtype == np.int32


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: jnp.matmul(x, x), TypeError, "contracting dimensions to have the same shape"),
        (lambda x: jnp.matmul(2, x), ValueError, "matmul input operand 0 must have ndim at least 1"),
        (
            lambda x: jnp.matmul(np.ones((2, 3, 4)), np.ones((3, 4, 2))),
            ValueError,
            "Incompatible types|shapes for matmul",
        ),
        (lambda x: jnp.dot(x, [1, 2]), TypeError, "dot requires ndarray or scalar arguments, got <class 'list'>"),
        (lambda x: jnp.tensordot(x, x, 3), TypeError, "exceeds input ranks"),
        (lambda x: jnp.cross(x, x), ValueError, "Dimension must be 3 for cross product"),
        (lambda x: jnp.vecdot(x, x[:, 0]), ValueError, r"axes must match; got shapes \(3, 4\) and \(3,\)"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call(np.ones((3, 4), np.float32))
