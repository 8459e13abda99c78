"""Every parameter of every scipy function is given a value of its own at least once, and the result is SciPy's.

Calls are text: see tests/parameters.py. Where SciPy has no such parameter, what it should give stands beside the call.
"""

import numpy as np
import pytest
import scipy
import scipy.cluster.vq
import scipy.sparse.linalg

import xtrace as xt
from tests import parameters
from tests.test_api_names import NAMES

pytestmark = pytest.mark.filterwarnings("ignore")

_draw = np.random.default_rng(0)
_square = _draw.standard_normal((3, 3)) + 3 * np.eye(3)
VALUES = {
    "x": _draw.standard_normal((2, 3, 4)),
    "a": _square,
    "p": _square @ _square.T,
    "h": (_square + _square.T) / 2,
    "l": np.tril(_square),
    "b": _draw.standard_normal((3, 2)),
    "e": _draw.standard_normal((3, 3)) / 4,
    "m": _draw.random((3, 4)) < 0.6,
    "v": _draw.standard_normal(5),
    "w": np.arange(1.0, 6.0),
    "s": _draw.standard_normal((2, 48)),
    "r": _draw.standard_normal((2, 48)),
    "i": _draw.integers(0, 3, (4, 3)),
    "n": np.where(_draw.random((3, 4)) < 0.3, np.nan, _draw.standard_normal((3, 4))),
    "z": _draw.standard_normal((2, 5, 7)) + 1j * _draw.standard_normal((2, 5, 7)) * [[0], [1], [1], [1], [0]],
}

_FREE = "overwrite_a=True, check_finite=False"
_TRANSFORM = "fs=2.0, nperseg=16, noverlap=4, axis=0"

#: Calls; SciPy's beside those that it spells otherwise.
CALLS: list[str | tuple[str, str]] = [
    "sp.cluster.vq.vq(b, b[:2] + 0.1, check_finite=False)",
    *[f"sp.fft.{name}(x, type=2, n=5, axis=1, norm='{norm}')"
      for name in ("dct", "idct") for norm in ("ortho", "backward")],
    *[f"sp.fft.{name}(x, type=2, s=(3, 5), axes=(2, 0), norm='ortho')" for name in ("dctn", "idctn")],
    "sp.integrate.trapezoid(x, x=w[:3], axis=1)",
    "sp.integrate.trapezoid(x, dx=0.5)",
    f"np.triu(sp.linalg.cho_factor(p, lower=False, {_FREE})[0])",
    f"np.tril(sp.linalg.cho_factor(p, lower=True, {_FREE})[0])",
    "sp.linalg.cho_solve(sp.linalg.cho_factor(p, lower=True), b, overwrite_b=True, check_finite=False)",
    f"sp.linalg.cholesky(p, lower=True, {_FREE})",
    *[f"sp.linalg.convolution_matrix(v, 4, mode='{mode}')" for mode in ("full", "same", "valid")],
    f"sp.linalg.det(a, {_FREE})",
    *[f"sp.linalg.dft(4, scale={scale!r})" for scale in (None, "sqrtn", "n")],
    ("sp.linalg.dft(4, dtype='complex64')", "sp.linalg.dft(4)"),
    ("sp.linalg.eigh(h, b=None, lower=False, eigvals_only=True, overwrite_a=True, overwrite_b=True, turbo=True, "
     "eigvals=None, type=1, check_finite=False)", "sp.linalg.eigh(h, eigvals_only=True)"),
    "sp.linalg.eigh_tridiagonal(w, v[:4], eigvals_only=True, select='i', select_range=(1, 3), tol=1e-7)",
    "sp.linalg.eigh_tridiagonal(w, v[:4], eigvals_only=True, select='a')",
    ("abs(sp.linalg.eigh_tridiagonal(w, v[:4], eigvals_only=False, key=xt.random.key(1))[1])",
     "abs(sp.linalg.eigh_tridiagonal(w, v[:4])[1])"),
    ("sp.linalg.expm(l.T, upper_triangular=True, max_squarings=20)", "sp.linalg.expm(l.T)"),
    ("sp.linalg.expm_frechet(e, a, method='SPS', compute_expm=False)",
     "sp.linalg.expm_frechet(e, a, compute_expm=False)"),
    ("sp.linalg.funm(a, np.exp, disp=True).real", "sp.linalg.expm(a)"),
    "sp.linalg.hadamard(4, dtype='float32')",
    "sp.linalg.hankel(v, r=w)",
    "sp.linalg.toeplitz(v, r=w)",
    "sp.linalg.helmert(4, full=True)",
    f"[abs(f) for f in sp.linalg.hessenberg(a, calc_q=True, {_FREE})]",
    f"sp.linalg.inv(a, {_FREE})",
    *[(f"sp.linalg.{name}(4, kind='{kind}')", f"sp.linalg.{name}(4, kind='{kind}') * 1.0")
      for name in ("pascal", "invpascal")
      for kind in ("symmetric", "lower", "upper")],
    f"sp.linalg.lu(a, permute_l=True, {_FREE})",
    f"sp.linalg.lu_factor(a, {_FREE})[0]",
    *[f"sp.linalg.lu_solve(sp.linalg.lu_factor(a), b, trans={trans}, overwrite_b=True, check_finite=False)"
      for trans in (0, 1, 2)],
    *[(f"sp.linalg.polar(a, side='{side}', method='svd')", f"sp.linalg.polar(a, side='{side}')")
      for side in ("left", "right")],
    ("sp.linalg.polar(a, side='right', method='qdwh', eps=1e-7, max_iterations=12)", "sp.linalg.polar(a)"),
    *[f"abs(np.asarray(sp.linalg.qr(b, lwork=None, mode='{mode}', {_FREE})[-1]))" for mode in ("economic", "r")],
    f"sp.linalg.qr(a, pivoting=True, mode='economic', {_FREE})[2]",
    *[f"abs(sp.linalg.qr_multiply(a, a + 1, mode='{mode}', pivoting=False, conjugate={conjugate}, overwrite_a=True, "
      "overwrite_c=True)[0])" for mode in ("left", "right") for conjugate in (True, False)],
    "(lambda t, z: (z @ t @ z.conj().T).real)(*sp.linalg.rsf2csf(*sp.linalg.schur(a), check_finite=False))",
    *[f"(lambda t, z: (z @ t @ z.conj().T).real)(*sp.linalg.schur(a, output='{output}'))"
      for output in ("real", "complex")],
    ("sp.linalg.solve(a, b, lower=False, overwrite_a=True, overwrite_b=True, debug=False, check_finite=False, "
     "assume_a='gen')", "sp.linalg.solve(a, b)"),
    "sp.linalg.solve(p, b, lower=True, assume_a='pos')",
    *[(f"sp.linalg.solve_sylvester(a, a.T, e, method='{method}', tol=1e-6)", "sp.linalg.solve_sylvester(a, a.T, e)")
      for method in ("schur", "eigen")],
    *[(f"sp.linalg.solve_triangular(l, b, trans={trans!r}, lower=True, unit_diagonal={unit}, overwrite_b=True, "
       "debug=None, check_finite=False)",
       f"sp.linalg.solve_triangular(l, b, trans={trans!r}, lower=True, unit_diagonal={unit})")
      for trans in (0, 1, "T", "C") for unit in (True, False)],
    ("sp.linalg.sqrtm(p, blocksize=1).real", "sp.linalg.sqrtm(p)"),
    f"sp.linalg.svd(b, full_matrices=False, compute_uv=False, lapack_driver='gesdd', {_FREE})",
    *[(f"sp.ndimage.map_coordinates(x[0], [w[:3] - 1.6, w[:3] + 0.7], order={order}, mode='{mode}', cval=7.0)",
       f"sp.ndimage.map_coordinates(x[0], [w[:3] - 1.6, w[:3] + 0.7], order={order}, mode='{theirs}', cval=7.0)")
      for order in (0, 1) for mode, theirs in [
          ("constant", "grid-constant"), ("nearest", "nearest"), ("wrap", "grid-wrap"), ("mirror", "mirror"),
          ("reflect", "reflect")]],
    ("sp.optimize.minimize(lambda q, c: ((q - c) ** 2).sum(), w, (v,), method='BFGS', tol=1e-4, "
     "options={'maxiter': 30}).x", "v"),
    *[(f"sp.signal.{name}(v, w[:3], mode='{mode}', method='{method}', precision=None)",
       f"sp.signal.{name}(v, w[:3], mode='{mode}', method='{method}')")
      for name in ("convolve", "correlate") for mode in ("full", "same", "valid") for method in ("direct", "fft")],
    *[(f"sp.signal.{name}(x[0], e[:2, :2], mode='{mode}', boundary='fill', fillvalue=0.0, precision=None)",
       f"sp.signal.{name}(x[0], e[:2, :2], mode='{mode}', boundary='fill', fillvalue=0.0)")
      for name in ("convolve2d", "correlate2d") for mode in ("full", "same", "valid")],
    *[f"sp.signal.csd(s.T, r.T, {_TRANSFORM}, window='{window}', nfft=20, detrend={detrend!r}, "
      f"return_onesided={one}, scaling='{scaling}', average='{average}')"
      for window, detrend, one, scaling, average in [
          ("hann", "constant", True, "density", "mean"), ("hamming", "linear", False, "spectrum", "median")]],
    *[f"sp.signal.welch(s.T, {_TRANSFORM}, window='{window}', nfft=20, detrend={detrend!r}, return_onesided={one}, "
      f"scaling='{scaling}', average='{average}')"
      for window, detrend, one, scaling, average in [
          ("hann", False, True, "density", "median"), ("boxcar", "constant", False, "spectrum", "mean")]],
    *[f"sp.signal.stft(s.T, {_TRANSFORM}, window='{window}', nfft=20, detrend={detrend!r}, return_onesided={one}, "
      f"boundary={boundary!r}, padded={padded})"
      for window, detrend, one, boundary, padded in [
          ("hann", False, True, "zeros", True), ("blackman", "constant", False, "even", True),
          ("hann", "linear", True, None, False), ("hann", False, True, "odd", True),
          ("hann", False, True, "constant", True)]],
    "sp.signal.istft(z, fs=2.0, window='hann', nperseg=8, noverlap=6, nfft=8, input_onesided=True, boundary=False)[1]"
    "[..., 2:-2]",
    "sp.signal.istft(np.moveaxis(z, 1, 2), nperseg=8, noverlap=4, time_axis=-2, freq_axis=-1)",
    *[f"sp.signal.detrend(x, axis=1, type='{kind}', bp=0)" for kind in ("linear", "constant")],
    "sp.signal.detrend(s, axis=-1, type='linear', bp=(0, 10, 30))",
    *[f"sp.signal.fftconvolve(x, x[:, :2, :2], mode='{mode}', axes=(1, 2))" for mode in ("full", "same", "valid")],
    *[(f"sp.sparse.linalg.{name}(p, b[:, 0], x0=b[:, 1], tol=1e-6, atol=1e-8, maxiter=50, M=np.eye(3) / 3{more})[0]",
       "np.linalg.solve(p, b[:, 0])")
      for name, more in [("cg", ""), ("bicgstab", ""), ("gmres", ", restart=3, solve_method='batched'"),
                         ("gmres", ", restart=2, solve_method='incremental'")]],
    ("sp.special.bessel_jn(w, v=2, n_iter=30)", "np.stack([sp.special.jv(k, w) for k in range(3)])"),
    "sp.special.comb(w + 5, w, repetition=True)",
    ("sp.special.factorial(w, exact=False)", "sp.special.factorial(w)"),
    ("sp.special.log_ndtr(v * 9, series_order=4)", "sp.special.log_ndtr(v * 9)"),
    *[f"sp.special.{name}(x, axis={axis})" for name in ("softmax", "log_softmax") for axis in (1, (0, 2))],
    "sp.special.logsumexp(x, axis=(0, -1), b=x, keepdims=True, return_sign=True)",
    ("sp.special.logsumexp(n, axis=1, where=~np.isnan(n))", "np.log(np.nansum(np.exp(n), axis=1))"),
    ("sp.special.sph_harm_y(i[:, 0], 0, w[:4], v[:4], diff_n=None, n_max=4)",
     "sp.special.sph_harm_y(i[:, 0], 0, w[:4], v[:4])"),
    "sp.special.zeta(w + 1, q=w)",
    *[(f"tuple(sp.stats.mode(i, axis={axis}, nan_policy='propagate', keepdims={keepdims}))",) * 2
      for axis in (0, 1, None) for keepdims in (True, False)],
    *[(f"sp.stats.rankdata(i, method='{method}', axis={axis}, nan_policy='propagate')",
       f"sp.stats.rankdata(i, method='{method}', axis={axis}) * 1.0")  # the kind of SciPy's ranks is its version's
      for method in ("average", "min", "max", "dense", "ordinal") for axis in (0, 1, None)],
    "sp.stats.sem(n, axis=1, ddof=0, nan_policy='omit', keepdims=True)",
    "sp.stats.sem(n, axis=0, ddof=1, nan_policy='propagate', keepdims=False)",
]  # fmt: skip

MODULES = [
    module
    for module in NAMES
    if module.startswith("jax.scipy.") and not module.startswith("jax.scipy.stats.")  # those: tests/scipy/test_stats.py
]
CASES = [c if isinstance(c, tuple) else (c, c) for c in CALLS]


@pytest.mark.parametrize(("call", "scipy_call"), CASES, ids=[c[0] for c in CASES])
def test_value(call, scipy_call):
    values = {name: xt.numpy.asarray(value) for name, value in VALUES.items()}
    copies = {name: value.copy() for name, value in VALUES.items()}  # SciPy may overwrite them
    found = parameters.evaluate(call, {"np": xt.numpy, "sp": xt.scipy, "xt": xt}, values)
    parameters.check(found, parameters.evaluate(scipy_call, {"np": np, "sp": scipy}, copies))


def test_every_parameter_is_given():
    given = set().union(*[parameters.given(call, {"np": "jax.numpy", "sp": "jax.scipy"}) for call, _ in CASES])
    assert not parameters.optional(MODULES, {("detrend", "overwrite_data"): "not supported, as in JAX"}) - given
