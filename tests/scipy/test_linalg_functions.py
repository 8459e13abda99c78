"""Functions of matrices, factorizations and special matrices under SciPy's names, against SciPy."""

import numpy as np
import pytest
import scipy.linalg as reference

import xtrace as xt
from xtrace.scipy import linalg
from xtrace.test_util import check_grads

RNG = np.random.default_rng(0)
A = RNG.standard_normal((4, 4))
C = A + 1j * RNG.standard_normal((4, 4))
LONG, SHORT = RNG.standard_normal(5), RNG.standard_normal(4)
POSITIVE = C @ C.conj().T + np.eye(4)


@pytest.fixture(autouse=True)
def wide():
    with xt.enable_x64(True):
        yield


def same(name, *args, **kwargs):
    got, want = getattr(linalg, name)(*args, **kwargs), getattr(reference, name)(*args, **kwargs)
    pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    for g, w in pairs:
        np.testing.assert_allclose(g, w, atol=1e-9, rtol=1e-8, err_msg=name)


SPECIAL = [
    ("hilbert", 5), ("invhilbert", 5), ("dft", 5), ("dft", 4, "sqrtn"), ("dft", 4, "n"), ("hadamard", 8),
    ("helmert", 4), ("helmert", 4, True), ("pascal", 4), ("pascal", 4, "lower"), ("invpascal", 4, "upper"),
    ("invpascal", 4), ("toeplitz", LONG), ("toeplitz", LONG + 1j, SHORT), ("hankel", LONG), ("hankel", LONG, SHORT),
    ("circulant", LONG), ("leslie", LONG, SHORT), ("companion", LONG), ("fiedler", LONG), ("fiedler_companion", LONG),
    ("fiedler_companion", SHORT), ("block_diag", A, LONG, 3.0), ("block_diag",),
    *[("convolution_matrix", LONG, n, mode) for n in (3, 7) for mode in ("full", "same", "valid")],
]  # fmt: skip


@pytest.mark.parametrize("call", SPECIAL, ids=lambda c: f"{c[0]}-{len(c)}")
def test_special_matrices(call):
    same(*call)


@pytest.mark.parametrize("name", ["circulant", "toeplitz", "hankel", "companion", "fiedler", "fiedler_companion"])
def test_special_matrices_of_many_vectors(name):
    many = RNG.standard_normal((2, 5))
    want = np.stack([getattr(reference, name)(v) for v in many])
    np.testing.assert_allclose(getattr(linalg, name)(many), want)
    np.testing.assert_allclose(xt.vmap(getattr(linalg, name))(many), want)
    check_grads(getattr(linalg, name), (many,), order=1)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 0.5, 1, 3, 20])
@pytest.mark.parametrize("a", [A, C], ids=["real", "complex"])
def test_expm(a, scale):
    same("expm", a * scale)


def test_expm_of_many_and_its_derivatives():
    many = np.stack([A, 3 * A])
    np.testing.assert_allclose(linalg.expm(many), reference.expm(many))
    np.testing.assert_allclose(linalg.expm(np.triu(A), upper_triangular=True), reference.expm(np.triu(A)))
    assert np.isnan(linalg.expm(A * 1e3, max_squarings=2)).all()
    same("expm_frechet", A, C.real.T)
    check_grads(linalg.expm, (A,), order=1)
    with pytest.raises(ValueError, match=r"Expected A to be a \(batched\) square matrix, got A.shape=\(2, 3\)"):
        linalg.expm(np.zeros((2, 3)))


@pytest.mark.parametrize("a", [A, C, POSITIVE, np.zeros((3, 3))], ids=["real", "complex", "positive", "zero"])
def test_sqrtm(a):
    root = np.asarray(linalg.sqrtm(a))
    np.testing.assert_allclose(root @ root, a, atol=1e-10)
    assert (np.linalg.eigvals(root).real > -1e-9).all()


@pytest.mark.parametrize("a", [A, C, POSITIVE], ids=["real", "complex", "positive"])
def test_funm(a):
    got = linalg.funm(a, xt.numpy.sin)
    np.testing.assert_allclose(got, reference.sinm(a), atol=1e-9)
    assert linalg.funm(a, xt.numpy.sin, disp=False)[1] < 1e-10


@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_solve_sylvester(method):
    for a, b, c in ((A, A.T, A), (C, C.T, C), (A, A[:3, :3], A[:, :3])):
        x = np.asarray(linalg.solve_sylvester(a, b, c, method=method))
        np.testing.assert_allclose(a @ x + x @ b, c, atol=1e-8)
    assert np.isnan(linalg.solve_sylvester(np.eye(2), -np.eye(2), np.eye(2), method=method)).all()
    many = linalg.solve_sylvester(np.stack([A, C.real + 1]), A.T, A, method=method)
    assert many.shape == (2, 4, 4)


def test_rsf2csf():
    t, z = (np.asarray(x) for x in linalg.rsf2csf(*reference.schur(A)))
    np.testing.assert_allclose(z @ t @ z.conj().T, A, atol=1e-12)
    assert not np.tril(t, -1).any()
    # Of other matrices it makes what SciPy does, which reads and writes the same elements.
    for dtype in (float, complex):
        for got, want in zip(
            linalg.rsf2csf(A.astype(dtype), A.T), reference.rsf2csf(A.astype(dtype), A.T), strict=True
        ):
            np.testing.assert_allclose(got, want, atol=1e-12)


@pytest.mark.parametrize("a", [A, C, A[:, :3], A[:3]], ids=["real", "complex", "tall", "wide"])
def test_factorizations(a):
    same("lu", a)
    same("lu", a, permute_l=True)
    for mode in ("full", "economic"):
        q, r, p = linalg.qr(a, mode=mode, pivoting=True)
        np.testing.assert_allclose(q @ r, a[:, p], atol=1e-12)
    m, n = a.shape
    k, c = min(m, n), C if np.iscomplexobj(a) else C.imag
    for kwargs in ({}, {"pivoting": True}, {"conjugate": True}):
        same("qr_multiply", a, c[:2, :m], "right", **kwargs)
        same("qr_multiply", a, c[:k, :2], "left", **kwargs)
    side = "right" if m >= n else "left"
    for method in ("qdwh", "svd"):
        u, p = linalg.polar(a, side, method=method)
        wanted = reference.polar(a, side)
        np.testing.assert_allclose(u, wanted[0], atol=1e-9)
        np.testing.assert_allclose(p, wanted[1], atol=1e-9)


@pytest.mark.parametrize("a", [A, C], ids=["real", "complex"])
def test_hessenberg(a):
    same("hessenberg", a)
    same("hessenberg", a, calc_q=True)


def test_eigh():
    same("eigh", POSITIVE, eigvals_only=True)
    w, v = linalg.eigh(POSITIVE)
    np.testing.assert_allclose(POSITIVE @ v, v * np.asarray(w), atol=1e-10)
    with pytest.raises(NotImplementedError, match="Only the b=None case of eigh is implemented"):
        linalg.eigh(POSITIVE, np.eye(4))


def _tridiagonals():
    for n in (2, 5, 30):
        yield RNG.standard_normal(n), RNG.standard_normal(n - 1)
    yield np.full(9, 2.0), -np.ones(8)
    # Clusters, multiple eigenvalues, and nothing at all.
    yield np.ones(6), np.zeros(5)
    yield np.array([1, 1, 1, 5.0, 5]), np.array([1e-9, 1e-12, 0, 1e-10])
    yield np.zeros(3), np.zeros(2)


@pytest.mark.parametrize("d, e", list(_tridiagonals()))
def test_eigh_tridiagonal(d, e):
    w, v = (np.asarray(x) for x in linalg.eigh_tridiagonal(d, e))
    np.testing.assert_allclose(w, reference.eigh_tridiagonal(d, e, eigvals_only=True), atol=1e-13)
    np.testing.assert_allclose(v.T @ v, np.eye(len(d)), atol=1e-13)
    np.testing.assert_allclose((np.diag(d) + np.diag(e, 1) + np.diag(e, -1)) @ v, v * w, atol=1e-13)


def test_part_of_the_eigenvalues():
    d, e = RNG.standard_normal(6), RNG.standard_normal(5) + 1j
    full = np.diag(d) + np.diag(e, 1) + np.diag(e.conj(), -1)
    w, v = linalg.eigh_tridiagonal(d + 0j, e, select="i", select_range=(1, 3))
    np.testing.assert_allclose(w, np.linalg.eigvalsh(full)[1:4], atol=1e-12)
    np.testing.assert_allclose(full @ v, v * np.asarray(w), atol=1e-12)
    with pytest.raises(ValueError, match="select_range must be specified"):
        linalg.eigh_tridiagonal(d, d[1:], select="i")


ERRORS = [
    (lambda: linalg.leslie(np.ones(1), np.ones(0)), "length of f along the last axis"),
    (lambda: linalg.leslie(np.ones(3), np.ones(1)), "Incorrect lengths for f and s"),
    (lambda: linalg.companion(np.ones(1)), "length of `a` along the last axis"),
    (lambda: linalg.fiedler_companion(np.ones(0)), "nonzero"),
    (lambda: linalg.convolution_matrix(np.ones(2), 0), "n must be a positive integer"),
    (lambda: linalg.convolution_matrix(np.ones(2), 3, "bad"), "mode must be one of"),
    (lambda: linalg.hadamard(6), "positive power of 2"),
    (lambda: linalg.dft(4, "bad"), "scale must be"),
    (lambda: linalg.dft(4, dtype=np.float32), "dtype must be"),
    (lambda: linalg.invpascal(3, "bad"), "Expected kind to be one of"),
    (lambda: linalg.block_diag(np.ones((1, 1, 1))), "at most 2 dimensions"),
    (lambda: linalg.qr(A, mode="bad"), "Unsupported QR decomposition mode 'bad'"),
    (lambda: linalg.qr_multiply(A, np.ones(3)), "Array shapes are not compatible for c @ Q operation"),
    (lambda: linalg.solve_sylvester(A, A, np.ones((2, 2))), "Incompatible shapes for Sylvester equation"),
]


@pytest.mark.parametrize("call, message", ERRORS)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_systems_with_a_vector_raise_no_rank():
    a, b = np.eye(4, dtype=np.float32), np.ones(4, np.float32)
    with xt.numpy_rank_promotion("raise"):
        np.testing.assert_array_equal(xt.numpy.linalg.solve(a, b), b)
        np.testing.assert_allclose(xt.numpy.linalg.lstsq(a, b)[0], b, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_functions_of_matrices_where_promotion_is_forbidden(dtype):
    a = (np.diag([3.0, 2.0, 1.5]) + np.triu(np.ones((3, 3)), 1)).astype(dtype)
    with xt.numpy_dtype_promotion("strict"), xt.numpy_rank_promotion("raise"):
        root = np.asarray(xt.scipy.linalg.sqrtm(a))
        t, z = xt.scipy.linalg.rsf2csf(a, np.eye(3, dtype=dtype))
        sine = xt.scipy.linalg.funm(a, xt.numpy.sin)
    np.testing.assert_allclose(sine, reference.sinm(a), atol=1e-5)
    np.testing.assert_allclose(root @ root, a, atol=1e-5)
    np.testing.assert_allclose(np.asarray(z) @ np.asarray(t) @ np.asarray(z).conj().T, a, atol=1e-5)
