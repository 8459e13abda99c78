"""Decompositions put together again, their derivatives by differences, and programs for absent GPUs."""

import numpy as np
import pytest

import xtrace as xt
from xtrace.lax import linalg
from xtrace.test_util import check_grads

RNG = np.random.default_rng(0)
DTYPES = ["float32", "float64", "complex64", "complex128"]


@pytest.fixture(autouse=True)
def wide():
    with xt.enable_x64(True):
        yield


def matrices(dtype, *shape):
    x = RNG.standard_normal(shape)
    if dtype.startswith("complex"):
        x = x + 1j * RNG.standard_normal(shape)
    return x.astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def close(x, y):
    digits = 1e-4 if np.asarray(y).dtype.name in ("float32", "complex64") else 1e-12
    np.testing.assert_allclose(x, y, rtol=digits, atol=digits)


def arrays(results):
    return [np.asarray(x) for x in results]


def positive(dtype):
    x = matrices(dtype, 2, 4, 4)
    return (x @ adjoint(x) + np.eye(4)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(dtype):
    x = positive(dtype)
    close(linalg.cholesky(x), np.linalg.cholesky(x))
    assert np.isnan(np.asarray(linalg.cholesky(-x))[:, -1, -1]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left_side", [False, True])
@pytest.mark.parametrize("lower", [False, True])
def test_triangular_solve(dtype, left_side, lower):
    a = matrices(dtype, 2, 4, 4) + 3 * np.eye(4, dtype=dtype)
    b = matrices(dtype, 2, 4, 3) if left_side else matrices(dtype, 2, 3, 4)
    triangle = np.tril(a) if lower else np.triu(a)
    for transpose in (False, True):
        for conjugate in (False, True):
            op = np.swapaxes(triangle, -1, -2) if transpose else triangle
            op = np.conj(op) if conjugate else op
            options = {"left_side": left_side, "lower": lower, "transpose_a": transpose, "conjugate_a": conjugate}
            x = np.asarray(linalg.triangular_solve(a, b, **options))
            close(op @ x if left_side else x @ op, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 4, 4), (2, 5, 3), (2, 3, 5), (4, 2)])
def test_factors_multiply_to_the_matrix(dtype, shape):
    x = matrices(dtype, *shape)
    m, n = shape[-2:]
    k = min(m, n)

    @xt.jit
    def factors(x):
        full = [[linalg.qr(x, full_matrices=f), linalg.qr(x, full_matrices=f, pivoting=True),
                 linalg.svd(x, full_matrices=f)] for f in (False, True)]  # fmt: skip
        algorithms = None, linalg.SvdAlgorithm.QR, linalg.SvdAlgorithm.DIVIDE_AND_CONQUER
        lu = linalg.lu(x)
        order = linalg.lu_pivots_to_permutation(lu[1], m)
        return lu, order, full, [linalg.svd(x, compute_uv=False, algorithm=a) for a in algorithms]

    lu, permutation, by_full, values = factors(x)
    lu, _, order = arrays(lu)
    lower, upper = np.tril(lu[..., :k], -1) + np.eye(m, k, dtype=dtype), np.triu(lu[..., :k, :])
    close(lower @ upper, np.take_along_axis(x, order[..., None], -2))
    np.testing.assert_array_equal(permutation, order)
    for full, (plain, pivoted, singular) in zip((False, True), by_full):
        q, r = arrays(plain)
        close(q @ r, x)
        close(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1], dtype=dtype), (*shape[:-2], *q.shape[-1:] * 2)))
        q, r, columns = arrays(pivoted)
        close(q @ r, np.take_along_axis(x, columns[..., None, :], -1))
        u, s, vh = arrays(singular)
        assert u.shape[-1] == (m if full else k) and vh.shape[-2] == (n if full else k)
        close(u[..., :k] * s[..., None, :] @ vh[..., :k, :], x)
    for found in values:
        close(found, np.linalg.svd(x, compute_uv=False))


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues(dtype):
    x = positive(dtype)
    v, w = arrays(linalg.eigh(x))
    close(v * w[..., None, :] @ adjoint(v), x)
    close(w, np.linalg.eigvalsh(x))
    x = matrices(dtype, 2, 4, 4)
    w, u, v = arrays(linalg.eig(x))
    close(x @ v, v * w[..., None, :])
    close(adjoint(u) @ x, w[..., None] * adjoint(u))


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_by_similarity(dtype):
    x = matrices(dtype, 2, 4, 4)
    t, z = arrays(linalg.schur(x))
    close(z @ t @ adjoint(z), x)
    h, taus = arrays(linalg.hessenberg(x))
    q = np.zeros_like(x)
    q[:, 0, 0] = 1
    q[:, 1:, 1:] = np.asarray(linalg.householder_product(h[:, 1:, :-1], taus))
    close(q @ np.triu(h, -1) @ adjoint(q), x)
    x = positive(dtype)
    _, d, e, _ = arrays(linalg.tridiagonal(x))
    form = np.stack([np.diag(d[i]) + np.diag(e[i], 1) + np.diag(e[i], -1) for i in range(2)])
    close(np.linalg.eigvalsh(form), np.linalg.eigvalsh(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_tridiagonal_solve(dtype):
    dl, d, du = matrices(dtype, 4), matrices(dtype, 4) + 5, matrices(dtype, 4)
    a = np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)
    b = matrices(dtype, 4, 2)
    close(a @ np.asarray(linalg.tridiagonal_solve(dl, d, du, b)), b)


def _spectrum(x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    return (u * xt.numpy.sin(s)) @ vh


def _symmetric(x):
    return (x + xt.numpy.conj(x.T)) / 2


SQUARE = matrices("float64", 3, 3) + 3 * np.eye(3)
COMPLEX = matrices("complex128", 3, 3) + 3 * np.eye(3)
DERIVATIVES = {
    "cholesky": (linalg.cholesky, lambda x: x @ adjoint(x)),
    "lu": (lambda x: linalg.lu(x)[0], lambda x: x),
    "lu of tall": (lambda x: linalg.lu(x)[0], lambda x: np.concatenate([x, x[:1] + 0.3])),
    "lu of wide": (lambda x: linalg.lu(x)[0], lambda x: x[:2]),
    "qr": (linalg.qr, lambda x: x),
    "qr of tall": (lambda x: linalg.qr(x, full_matrices=False), lambda x: x[:, :2]),
    "eigenvalues": (lambda x: linalg.eigh(x)[1], lambda x: x @ adjoint(x)),
    "eigenvectors": (lambda x: xt.numpy.abs(linalg.eigh(_symmetric(x))[0]), lambda x: x @ adjoint(x)),
    "singular values": (lambda x: linalg.svd(x, compute_uv=False), lambda x: x[:2]),
    "singular vectors": (_spectrum, lambda x: x),
    "singular vectors of tall": (_spectrum, lambda x: x[:, :2]),
    "singular vectors of wide": (_spectrum, lambda x: x[:2]),
    "general eigenvalues": (
        lambda x: linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0],
        lambda x: x,
    ),
    "general eigenvectors": (lambda x: linalg.eig(x, enable_eigvec_derivs=True), lambda x: x),
    "left eigenvectors": (
        lambda x: linalg.eig(x, compute_right_eigenvectors=False, enable_eigvec_derivs=True),
        lambda x: x,
    ),
}


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("matrix", [SQUARE, COMPLEX], ids=["real", "complex"])
def test_derivatives(name, matrix):
    function, operand = DERIVATIVES[name]
    check_grads(function, (operand(matrix),), 1, modes=("fwd", "rev"), rtol=1e-4, atol=1e-4, eps=1e-5)


def test_derivatives_of_solvers():
    a, b = COMPLEX, matrices("complex128", 3, 2)
    options = {"left_side": True, "lower": True, "transpose_a": True, "conjugate_a": True}
    check_grads(lambda a, b: linalg.triangular_solve(a, b, **options), (a, b), 2, rtol=1e-4, atol=1e-4, eps=1e-5)
    unit = {"lower": False, "unit_diagonal": True}
    check_grads(lambda a, b: linalg.triangular_solve(a, b.T, **unit), (a, b), 1, rtol=1e-4, atol=1e-4, eps=1e-5)
    diagonals = SQUARE[0], SQUARE[1] + 5, SQUARE[2]
    check_grads(linalg.tridiagonal_solve, (*diagonals, b.real), 1, rtol=1e-4, atol=1e-4, eps=1e-5)


def test_triangular_systems_in_half_precision():
    a, b = np.array([[2, 0], [1, 4]], "float16"), np.array([[2], [5]], "float16")
    for x in (
        linalg.triangular_solve(a, b, left_side=True, lower=True),
        xt.scipy.linalg.solve_triangular(a, b, lower=True),
    ):
        assert x.dtype == "float16" and x.tolist() == [[1], [1]]


def test_reflectors():
    from xtrace.lax.linalg.orthogonal import geqrf

    x = matrices("float64", 3, 5, 3)
    packed, taus = geqrf(x)
    q, r = linalg.qr(x, full_matrices=False)
    np.testing.assert_allclose(linalg.householder_product(packed, taus), q, atol=1e-12)
    np.testing.assert_allclose(np.triu(packed)[:, :3], r, atol=1e-12)
    np.testing.assert_array_equal(xt.vmap(geqrf)(x)[1], taus)


def test_vmap():
    x = positive("float64")
    close(xt.vmap(linalg.cholesky)(x), np.linalg.cholesky(x))
    b = matrices("float64", 5, 4, 2)
    solve = lambda b: linalg.triangular_solve(x[0], b, left_side=True, lower=True)  # noqa: E731
    close(np.tril(x[0]) @ np.asarray(xt.vmap(solve)(b)), b)
    solve = lambda b: linalg.triangular_solve(x[0], b, lower=True)  # noqa: E731
    close(np.asarray(xt.vmap(solve, in_axes=2)(b.transpose(2, 1, 0))) @ np.tril(x[0]), b.transpose(0, 2, 1))


def test_empty_matrices():
    assert linalg.cholesky(np.zeros((2, 0, 0))).shape == (2, 0, 0)
    q, r = linalg.qr(np.zeros((3, 0)))
    np.testing.assert_array_equal(q, np.eye(3))
    assert r.shape == (3, 0)
    u, s, vh = linalg.svd(np.zeros((0, 2)))
    assert u.shape == (0, 0) and s.shape == (0,)
    np.testing.assert_array_equal(vh, np.eye(2))


def test_refusals():
    with pytest.raises(ValueError, match=r"cholesky.*square.*\(2, 3\)"):
        linalg.cholesky(np.zeros((2, 3)))
    with pytest.raises(TypeError, match="lu does not accept dtype int64"):
        linalg.lu(np.eye(2, dtype=int))
    for dtype in ("float16", xt.numpy.bfloat16):
        for name in ("cholesky", "eig", "eigh", "hessenberg", "lu", "qdwh", "qr", "schur", "svd", "tridiagonal"):
            with pytest.raises(TypeError, match=f"{name} does not accept dtype .*float16"):
                xt.eval_shape(getattr(linalg, name), np.eye(2, dtype=dtype))
    with pytest.raises(ValueError, match=r"b must have size 2 in axis -1, got \(2, 3\)"):
        linalg.triangular_solve(np.eye(2), np.zeros((2, 3)))


@pytest.mark.parametrize(
    "name", ["cholesky", "lu", "qr", "eigh", "svd", "tridiagonal", "householder_product", "triangular_solve"]
)
def test_programs_for_cuda(name):
    """The programs for GPUs name cuSOLVER's kernels (whether or not there is a plugin here)."""
    x = positive("float32")
    operands = {"householder_product": (x, x[..., 0]), "triangular_solve": (x, x)}.get(name, (x,))
    exported = xt.export.export(xt.jit(getattr(linalg, name)), platforms=["cuda"])(*operands)
    module = exported.mlir_module()
    assert "lapack" not in module
    assert "cusolver" in module or "triangular_solve" in module


def test_scipy_is_loaded_at_the_first_need():
    import subprocess
    import sys

    code = (
        "import sys, numpy as np, xtrace as xt; xt.lax.linalg.cholesky_p; xt.numpy.sin(1.0)\n"
        "assert 'scipy' not in sys.modules\n"
        "xt.lax.linalg.cholesky(np.eye(2, dtype=np.float32)); assert 'scipy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
