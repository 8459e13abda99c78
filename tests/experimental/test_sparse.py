"""Sparse arrays against scipy.sparse, NumPy, and the same function of the dense arrays."""

import warnings

import numpy as np
import pytest
import scipy.sparse

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import lax
from xtrace.experimental import sparse

RNG = np.random.default_rng(0)


def sparse_values(*shape, density=0.4):
    x = RNG.normal(size=shape).astype(np.float32)
    return np.where(RNG.random(shape) < density, x, 0).astype(np.float32)


MATRIX = sparse_values(4, 6)
CUBE = sparse_values(3, 4, 5)
LAYOUTS = [(0, 0), (1, 1), (0, 3), (2, 0)]
FORMATS = {"bcoo": sparse.BCOO, "bcsr": sparse.BCSR, "coo": sparse.COO, "csr": sparse.CSR, "csc": sparse.CSC}


@pytest.mark.parametrize("name", FORMATS)
def test_matrices_of_all_formats(name):
    x = FORMATS[name].fromdense(MATRIX)
    vector = RNG.normal(size=6).astype(np.float32)
    assert x.shape == (4, 6) and x.nse == np.count_nonzero(MATRIX) and len(x) == 4
    np.testing.assert_array_equal(x.todense(), MATRIX)
    np.testing.assert_allclose(x @ vector, MATRIX @ vector, rtol=1e-5)
    np.testing.assert_allclose(xt.jit(lambda x, v: x @ v)(x, vector), MATRIX @ vector, rtol=1e-5)
    np.testing.assert_array_equal(xt.jit(sparse.todense)(x), MATRIX)
    by_data = sparse.grad(lambda x: (x @ vector).sum())(x)
    assert type(by_data) is type(x)
    np.testing.assert_allclose(by_data.todense(), np.where(MATRIX != 0, vector, 0), rtol=1e-6)
    with pytest.raises(TypeError):
        hash(x)


def test_csr_buffers_are_those_of_scipy():
    want, got = scipy.sparse.csr_matrix(MATRIX), sparse.CSR.fromdense(MATRIX)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(got, name), getattr(want, name))
    for cls in (sparse.BCOO, sparse.BCSR):
        np.testing.assert_array_equal(cls.from_scipy_sparse(want.tocsc()).todense(), MATRIX)


def test_padding_doesnt_count():
    for cls in (sparse.CSR, sparse.BCOO):
        x = cls.fromdense(MATRIX, nse=20)
        np.testing.assert_array_equal(x.todense(), MATRIX)
        np.testing.assert_allclose(x @ np.ones(6, np.float32), MATRIX.sum(1), rtol=1e-5)
    x = sparse.BCOO((np.float32([1, 2, 100]), np.array([[1], [2], [5]])), shape=(5,))
    assert float(x.sum()) == 3 and (x @ x).todense() == 5


@pytest.mark.parametrize("n_batch, n_dense", LAYOUTS)
def test_layouts(n_batch, n_dense):
    x = sparse.BCOO.fromdense(CUBE, n_batch=n_batch, n_dense=n_dense)
    assert (x.n_batch, x.n_sparse, x.n_dense) == (n_batch, 3 - n_batch - n_dense, n_dense)
    np.testing.assert_array_equal(x.todense(), CUBE)
    np.testing.assert_allclose(x.sum(0).todense(), CUBE.sum(0), rtol=1e-5)
    np.testing.assert_array_equal(sparse.bcoo_slice(x, start_indices=(1, 0, 1), limit_indices=(3, 4, 4)).todense(),
                                  CUBE[1:3, :, 1:4])  # fmt: skip
    np.testing.assert_array_equal(sparse.bcoo_rev(x, (0, 2)).todense(), CUBE[::-1, :, ::-1])
    np.testing.assert_array_equal(x[None].todense(), CUBE[None])
    doubled = sparse.BCOO((xnp.concatenate([x.data] * 2, n_batch), xnp.concatenate([x.indices] * 2, n_batch)),
                          shape=x.shape)  # fmt: skip
    np.testing.assert_allclose(doubled.sum_duplicates().todense(), 2 * CUBE, rtol=1e-6)
    np.testing.assert_array_equal(x.update_layout(n_batch=0, n_dense=0).todense(), CUBE)


@pytest.mark.parametrize("n_batch", [0, 1])
def test_contractions_with_dense(n_batch):
    x, y = sparse.BCOO.fromdense(CUBE, n_batch=n_batch), RNG.normal(size=(3, 5, 2)).astype(np.float32)
    numbers = ([2], [1]), ([0], [0]) if n_batch else ([], [])
    want = lax.dot_general(CUBE, y, numbers)
    np.testing.assert_allclose(sparse.bcoo_dot_general(x, y, dimension_numbers=numbers), want, rtol=1e-5, atol=1e-5)

    def loss(data, y):
        z = sparse.BCOO((data, x.indices), shape=x.shape)
        return (sparse.bcoo_dot_general(z, y, dimension_numbers=numbers) ** 2).sum()

    by_data, by_y = xt.grad(loss, (0, 1))(x.data, y)
    dense, dense_y = xt.grad(lambda a, b: (lax.dot_general(a, b, numbers) ** 2).sum(), (0, 1))(CUBE, y)
    np.testing.assert_allclose(by_y, dense_y, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(by_data, sparse.bcoo_extract(x, dense).data * (x.data != 0), rtol=1e-4, atol=1e-4)


def test_sparse_by_sparse():
    x, y = sparse.BCOO.fromdense(MATRIX), sparse.BCOO.fromdense(sparse_values(6, 3))
    out = x @ y
    assert out.nse == min(x.nse * y.nse, 12)
    np.testing.assert_allclose(out.todense(), MATRIX @ np.asarray(y.todense()), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose((x * x).todense(), MATRIX**2, rtol=1e-6)
    row = sparse.BCOO.fromdense(MATRIX[:1])
    np.testing.assert_allclose((x * row).todense(), MATRIX * MATRIX[:1], rtol=1e-6)
    with pytest.raises(ValueError, match="unused batch dims"):
        sparse.bcoo_dot_general(x, sparse.BCOO.fromdense(sparse_values(3, 6), n_batch=1),
                                dimension_numbers=(([1], [1]), ([], [])))  # fmt: skip


def test_vmap_over_batch_dimensions():
    x = sparse.BCOO.fromdense(CUBE, n_batch=1)
    out = xt.vmap(lambda m: (m @ np.ones(5, np.float32), m.sort_indices()))(x)
    np.testing.assert_allclose(out[0], CUBE.sum(2), rtol=1e-5)
    np.testing.assert_array_equal(out[1].todense(), CUBE)
    np.testing.assert_array_equal(xt.vmap(lambda m: sparse.BCSR.fromdense(m, nse=12))(CUBE).todense(), CUBE)
    with pytest.raises(ValueError, match="must correspond to a batch dimension"):
        xt.vmap(lambda m: m, in_axes=1)(x)


@pytest.mark.parametrize(
    "index", [1, -1, (slice(None), 2), slice(1, 3), (slice(None, None, 2), slice(1, None)), np.array([2, 0, 0]),
              (np.array([[1], [2]]), slice(1, 4)), (None, 1, np.array([3])), np.array([True, False, True, True])]
)  # fmt: skip
def test_indexing(index):
    np.testing.assert_array_equal(sparse.BCOO.fromdense(MATRIX)[index].todense(), MATRIX[index])


def test_dynamic_slices_and_gradients_of_slices():
    x = sparse.BCOO.fromdense(MATRIX)
    got = xt.jit(lambda x, i: sparse.bcoo_dynamic_slice(x, (i, 0), (2, 3)))(x, 1)
    np.testing.assert_array_equal(got.todense(), MATRIX[1:3, :3])
    by_data = sparse.grad(lambda x: x[1].sum())(x).todense()
    np.testing.assert_array_equal(by_data, (MATRIX != 0) * (np.arange(4)[:, None] == 1))


def test_shapes():
    x = sparse.BCOO.fromdense(MATRIX)
    np.testing.assert_array_equal(x.reshape(3, 8).todense(), MATRIX.reshape(3, 8))
    np.testing.assert_array_equal(x.T.todense(), MATRIX.T)
    np.testing.assert_array_equal(
        sparse.bcoo_concatenate([x, x], dimension=1).todense(), np.concatenate([MATRIX] * 2, 1)
    )
    np.testing.assert_array_equal(sparse.sparsify(xnp.stack)([x, x]).todense(), np.stack([MATRIX] * 2))
    with pytest.raises(ValueError, match="cannot mix batch and sparse"):
        sparse.bcoo_reshape(sparse.BCOO.fromdense(MATRIX, n_batch=1), new_sizes=(3, 8))
    with pytest.raises(sparse.SparseEfficiencyError):
        x.update_layout(n_batch=1)
    with pytest.warns(sparse.SparseEfficiencyWarning):
        assert x.update_layout(n_dense=1, on_inefficient="warn").n_dense == 1


def test_operators():
    x = sparse.BCOO.fromdense(MATRIX)
    for name, got, want in (
        ("neg", -x, -MATRIX), ("abs", abs(x), abs(MATRIX)), ("scalar", 2 * x, 2 * MATRIX), ("power", x**2, MATRIX**2),
        ("add", x + x, 2 * MATRIX), ("sub", x - x, 0 * MATRIX), ("divide", x / 2, MATRIX / 2),
        ("row", x * np.arange(6, dtype=np.float32), MATRIX * np.arange(6)), ("type", x.astype(int), MATRIX.astype(int)),
    ):  # fmt: skip
        np.testing.assert_allclose(got.todense(), want, rtol=1e-6, err_msg=name)
    np.testing.assert_array_equal(x + MATRIX, 2 * MATRIX)
    np.testing.assert_array_equal(MATRIX + x, 2 * MATRIX)
    np.testing.assert_allclose(np.ones(4, np.float32) @ x, MATRIX.sum(0), rtol=1e-5)
    for refused in (lambda: x + 1.0, lambda: 1 / x, lambda: x > 1, lambda: x**-1):
        with pytest.raises(NotImplementedError):
            refused()


@pytest.mark.parametrize("use_tracer", [False, True])
def test_sparsify(use_tracer):
    x, v = sparse.BCOO.fromdense(MATRIX), np.arange(4, dtype=np.float32)

    def f(x, v):
        y = lax.fori_loop(0, 3, lambda _, c: 2 * c, xnp.sin(x))
        y = lax.cond(v[0] > 1, lambda y: y, lambda y: -y, y)
        return xt.jit(lambda y: y.T @ v)(y)

    run = sparse.sparsify(f, use_tracer=use_tracer)
    np.testing.assert_allclose(run(x, v), f(MATRIX, v), rtol=1e-5)
    np.testing.assert_allclose(xt.jit(run)(x, v), f(MATRIX, v), rtol=1e-5)
    got = xt.grad(lambda d: run(sparse.BCOO((d, x.indices), shape=x.shape), v).sum())(x.data)
    want = xt.grad(lambda m: f(m, v).sum())(MATRIX)
    np.testing.assert_allclose(got, np.asarray(want)[MATRIX != 0], rtol=1e-5)
    with pytest.raises(NotImplementedError, match="cos is not implemented because it would result in dense output"):
        sparse.sparsify(xnp.cos, use_tracer=use_tracer)(x)


def test_sizes_under_jit():
    with pytest.raises(xt.errors.ConcretizationTypeError, match="nse"):
        xt.jit(sparse.BCOO.fromdense)(MATRIX)
    with pytest.raises(ValueError, match="nse must be specified"):
        xt.jit(lambda x: x.sum_duplicates())(sparse.BCOO.fromdense(MATRIX))
    with pytest.raises(ValueError, match="data.shape"):
        sparse.BCOO((np.ones(3), np.zeros((2, 1), int)), shape=(4,))


@pytest.mark.parametrize("k", [-5, -1, 2])
def test_eye_and_empty(k):
    for name in ("bcoo", "coo", "csr", "csc"):
        np.testing.assert_array_equal(sparse.eye(4, 6, k, sparse_format=name).todense(), np.eye(4, 6, k))
        np.testing.assert_array_equal(sparse.empty((2, 3), sparse_format=name).todense(), np.zeros((2, 3)))
    np.testing.assert_array_equal(sparse.eye(4, 6, k, n_batch=1).todense(), np.eye(4, 6, k))


def test_random_bcoo():
    x = sparse.random_bcoo(xt.random.key(0), (4, 10, 3), nse=0.5, n_batch=1, n_dense=1, sorted_indices=True)
    assert x.nse == 5 and x.sum_duplicates(remove_zeros=False).nse == 5 and np.all(np.diff(x.indices[..., 0]) > 0)


def test_derivative_transforms():
    x, v = sparse.BCOO.fromdense(MATRIX), np.ones(6, np.float32)
    value, (by_x, by_v) = sparse.value_and_grad(lambda x, v: (x @ v).sum(), (0, 1))(x, v)
    np.testing.assert_allclose(value, MATRIX.sum(), rtol=1e-5)
    np.testing.assert_allclose(by_v, MATRIX.sum(0), rtol=1e-5)
    assert isinstance(by_x, sparse.BCOO)
    for jacobian in (sparse.jacfwd, sparse.jacrev):
        got = jacobian(lambda x: x @ v)(x)
        want = np.einsum("ab,bc->abc", np.eye(4), MATRIX != 0)
        np.testing.assert_array_equal(got.todense(), want)


def test_solvers():
    matrix = MATRIX[:, :4] + 3 * np.eye(4, dtype=np.float32)
    csr, b = scipy.sparse.csr_matrix(matrix), np.arange(1, 5, dtype=np.float32)
    got = sparse.linalg.spsolve(csr.data, csr.indices, csr.indptr, b)
    np.testing.assert_allclose(matrix @ np.asarray(got), b, rtol=1e-4)
    by_b = xt.jacrev(lambda b: sparse.linalg.spsolve(csr.data, csr.indices, csr.indptr, b))(b)
    np.testing.assert_allclose(by_b, np.linalg.inv(matrix), rtol=1e-3, atol=1e-5)
    with pytest.raises(ValueError, match="data types do not match"):
        sparse.linalg.spsolve(csr.data, csr.indices, csr.indptr, b.astype(np.int32))

    n, k = 60, 3
    basis = np.linalg.qr(RNG.normal(size=(n, n)))[0]
    values = np.linspace(1, 10, n) ** 2
    symmetric = ((basis * values) @ basis.T).astype(np.float32)
    theta, vectors, steps = sparse.linalg.lobpcg_standard(symmetric, RNG.normal(size=(n, k)).astype(np.float32))
    np.testing.assert_allclose(theta, values[::-1][:k], rtol=1e-4)
    np.testing.assert_allclose(symmetric @ np.asarray(vectors), np.asarray(vectors * theta), atol=2e-2)
    assert 0 < int(steps) <= 100
    with pytest.raises(ValueError, match="search dim"):
        sparse.linalg.lobpcg_standard(symmetric[:10, :10], symmetric[:10, :3])


def test_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparse.BCSR.fromdense(MATRIX) @ np.ones(6, np.float32)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 3)])
def test_nothing_stored(shape):
    x = sparse.BCOO.fromdense(np.zeros(shape, np.float32))
    assert x.nse == 0
    np.testing.assert_array_equal(x.todense(), np.zeros(shape))
    np.testing.assert_array_equal(x @ np.ones(shape[1], np.float32), np.zeros(shape[0]))
    np.testing.assert_array_equal(x.sum_duplicates().todense(), np.zeros(shape))
