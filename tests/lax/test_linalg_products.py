"""Updates of Cholesky factors, products with reflectors, symmetric products, perturbed tridiagonal systems, qdwh."""

import numpy as np
import pytest
import scipy.linalg

import xtrace as xt
from xtrace import lax
from xtrace.test_util import check_grads

RNG = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def wide():
    with xt.enable_x64(True):
        yield


def test_cholesky_update():
    r, w = np.triu(RNG.standard_normal((2, 4, 4))) + 3 * np.eye(4), RNG.standard_normal((2, 4))
    w[1, 1] = 0
    for f in (lax.linalg.cholesky_update, xt.vmap(lax.linalg.cholesky_update)):
        out = np.asarray(f(r, w))
        want = np.swapaxes(r, 1, 2) @ r + w[:, :, None] * w[:, None]
        np.testing.assert_allclose(np.swapaxes(out, 1, 2) @ out, want)
        np.testing.assert_allclose(np.tril(out, -1), 0, atol=1e-14)
    with pytest.raises(ValueError, match="square matrices and a vector of the same size"):
        lax.linalg.cholesky_update(np.eye(3), np.ones(2))


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
def test_ormqr(left, transpose, complex_):
    a = RNG.standard_normal((5, 3)) + 1j * complex_ * RNG.standard_normal((5, 3))
    a = a if complex_ else a.real
    (h, taus), _ = scipy.linalg.qr(a, mode="raw")
    q = scipy.linalg.qr(a)[0]
    q = q.conj().T if transpose else q
    c = RNG.standard_normal((5, 2)).astype(a.dtype)
    c = c if left else c.T.copy()
    want = q @ c if left else c @ q
    h = np.ascontiguousarray(h)
    np.testing.assert_allclose(lax.linalg.ormqr(h, taus, c, left=left, transpose=transpose), want, atol=1e-12)
    # What platforms without a kernel run:
    from xtrace.lax.linalg import orthogonal

    got = xt.jit(lambda *xs: orthogonal.reflected(*xs, left=left, transpose=transpose))(h, taus, c)[0]
    np.testing.assert_allclose(got, want, atol=1e-12)


def test_symmetric_product():
    a, c = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((2, 3, 3))
    c = c + np.swapaxes(c, 1, 2)

    def f(a, c):
        return lax.linalg.symmetric_product(a, c, alpha=2.0, beta=3.0, symmetrize_output=True)

    np.testing.assert_allclose(f(a, c), 2 * a @ np.swapaxes(a, 1, 2) + 3 * c)
    np.testing.assert_allclose(xt.vmap(f)(a, c), f(a, c))
    check_grads(f, (a, c), order=2)


@pytest.mark.parametrize("perturb", [False, True])
def test_tridiagonal_systems_by_elimination(perturb):
    from xtrace.lax.linalg import tridiagonal_systems

    dl, d, du = RNG.standard_normal((3, 2, 6))
    dl[:, 0] = du[:, -1] = 0
    d[0, 0] = 0  # rows must be exchanged
    b = RNG.standard_normal((2, 6, 3))
    x = np.asarray(xt.jit(lambda *v: tridiagonal_systems.by_elimination(*v, perturb_singular=perturb))(dl, d, du, b)[0])
    for i in range(2):
        full = np.diag(d[i]) + np.diag(du[i, :-1], 1) + np.diag(dl[i, 1:], -1)
        np.testing.assert_allclose(full @ x[i], b[i], atol=1e-10)
    if perturb:
        np.testing.assert_allclose(lax.linalg.tridiagonal_solve(dl, d, du, b, perturb_singular=True), x)
        zero = np.zeros((2,))
        assert np.isfinite(lax.linalg.tridiagonal_solve(zero, zero, zero, np.ones((2, 1)), perturb_singular=True)).all()


@pytest.mark.parametrize("shape, complex_", [((4, 4), True), ((6, 3), False)])
def test_qdwh(shape, complex_):
    x = RNG.standard_normal(shape) + 1j * complex_ * RNG.standard_normal(shape)
    x = x if complex_ else x.real
    u, h, steps, converged = lax.linalg.qdwh(x)
    wanted = scipy.linalg.polar(x)
    np.testing.assert_allclose(u, wanted[0], atol=1e-12)
    np.testing.assert_allclose(h, wanted[1], atol=1e-12)
    assert converged and 0 < int(steps) <= 10
    padded = np.full((8, 5), np.nan, x.dtype)
    padded[: shape[0], : shape[1]] = x
    u, h, _, converged = lax.linalg.qdwh(padded, dynamic_shape=shape)
    np.testing.assert_allclose(np.asarray(u)[: shape[0], : shape[1]], wanted[0], atol=1e-12)
    assert converged


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_lowers_for_absent_hardware(platform):
    s = xt.ShapeDtypeStruct
    f32 = np.float32
    calls = [
        (lax.linalg.cholesky_update, s((3, 3), f32), s((3,), f32)),
        (lax.linalg.ormqr, s((3, 3), f32), s((3,), f32), s((3, 2), f32)),
        (lax.linalg.symmetric_product, s((3, 2), f32), s((3, 3), f32)),
        (lax.linalg.tridiagonal_solve, s((3,), f32), s((3,), f32), s((3,), f32), s((3, 1), f32)),
        (lax.linalg.qdwh, s((3, 3), f32)),
    ]
    kernels = ("cu_cholesky_update_ffi", "cusolver_ormqr_ffi", "cusolver_syrk_ffi", "cusparse_gtsv2_ffi")
    kernels += ("Qr", "ProductOfElementaryHouseholderReflectors")
    vouched = [xt.export.DisabledSafetyCheck.custom_call(k) for k in kernels]
    for f, *avals in calls:
        exported = xt.export.export(xt.jit(f), platforms=[platform], disabled_checks=vouched)
        assert exported(*avals).mlir_module()
