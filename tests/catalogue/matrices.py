"""Catalogue entries of linear algebra: numpy.linalg, scipy.linalg and lax.linalg.

Factors whose signs or phases are free are turned to what both sides agree on: see `_turned`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from tests.catalogue.catalogue import Bad, Draw, Op, Sample, find

SAMPLED = True

_REAL, _ANY = ("float32", "float64"), ("float32", "float64", "complex64")
_ON_CPU = {"lowering": "there is no lowering for TPU yet"}
_NO_SECOND = {"second": "there is a first derivative alone"}
_VALUES_ALONE = {"derivative": "it has none"}
_RECTANGLE = [Bad(ValueError, "", np.ones((2, 3), np.float32))]

Maker = Callable[[Draw, str], Any]


# -- operands --------------------------------------------------------------------------------------------------------


def square(draw: Draw, dtype: str) -> Any:
    """A matrix that is far from singular, with eigenvalues apart."""
    return (draw.array((3, 3), dtype, -0.5, 0.5) + np.diag([1, 2.5, 4])).astype(dtype)


def triangle(draw: Draw, dtype: str) -> Any:
    return np.tril(square(draw, dtype))


def upper(draw: Draw, dtype: str) -> Any:
    return np.triu(square(draw, dtype))


def positive(draw: Draw, dtype: str) -> Any:
    m = square(draw, dtype)
    return (m @ m.conj().T).astype(dtype)


def hermitian(draw: Draw, dtype: str) -> Any:
    m = square(draw, dtype)
    return ((m + m.conj().T) / 2).astype(dtype)


def small(draw: Draw, dtype: str) -> Any:
    return draw.array((3, 3), dtype, -0.5, 0.5)


def array(*shape: int, low: float = -2.0, high: float = 2.0) -> Maker:
    return lambda draw, dtype: draw.array(shape, dtype, low, high)


def stacked(maker: Maker) -> Maker:
    return lambda draw, dtype: np.stack([maker(draw, dtype) for _ in range(2)])


tall = array(4, 2)
vector = array(3)


def _of(*makers: Maker, dtypes: Any = _REAL, calls: Any = ({},)) -> Any:
    def samples(draw: Draw) -> Any:
        for dtype in dtypes:
            for params in calls:
                yield Sample(*[make(draw, dtype) for make in makers], **params)

    return samples


def _turned(np: Any, q: Any, r: Any = None) -> Any:
    """Columns of q, and with them the rows of r, turned so that the largest entry of each column of q is positive."""
    lead = np.take_along_axis(q, np.argmax(np.abs(q), axis=-2, keepdims=True), axis=-2)
    phase = lead / np.abs(lead)
    turned = q * phase.conj()
    return turned if r is None else (turned, r * np.swapaxes(phase, -1, -2))


# -- entries ---------------------------------------------------------------------------------------------------------


def _op(
    name: str, *makers: Maker, finish: Callable[..., Any] | None = None, reference: Any = None, theirs: str = "",
    dtypes: Any = _REAL, calls: Any = ({},), **options: Any,
) -> Op:  # fmt: skip
    """An entry; `finish` (np, result) -> what is compared."""
    library, _, function = name.rpartition(".")
    libraries = {"scipy.linalg": scipy.linalg, "numpy.linalg": np.linalg}
    if reference is None and library in libraries:
        reference = getattr(libraries[library], theirs or function)
    made = None
    if finish is not None:
        plain = reference

        def reference(*args: Any, **params: Any) -> Any:  # noqa: F811
            return finish(np, plain(*args, **params))

        def made(root: Any) -> Any:
            found = find(root, name)
            return lambda *args, **params: finish(root.numpy, found(*args, **params))

    options = {"tolerance": 32, "bad": _RECTANGLE if makers in [(square,), (positive,)] else ()} | options
    return Op(name, _of(*makers, dtypes=dtypes, calls=calls), reference, made, **options)


def _both(name: str, *makers: Maker, **options: Any) -> list[Op]:
    return [_op(f"{library}.{name}", *makers, **options) for library in ("scipy.linalg", "numpy.linalg")]


_SORTED = lambda np, w: np.sort(np.real(w)) if w.ndim == 1 else w  # noqa: E731
_EIGH = lambda np, r: (r[0], _turned(np, r[1]))  # noqa: E731
_QR = lambda np, r: _turned(np, *r) if isinstance(r, tuple) else np.abs(r)  # noqa: E731
_SVD = lambda np, r: (r[1], r[0] * r[1][None, :] @ r[2]) if isinstance(r, tuple) else r  # noqa: E731
_MODES = ({"mode": "reduced"}, {"mode": "r"})


def _spectrum(np: Any, r: Any) -> Any:
    """Eigenvalues in order, and the matrix they belong to."""
    w, v = r[0], r[1]
    return np.sort(w.real), (v * w[None, :] @ np.linalg.inv(v)).real


NUMPY = [
    *_both("det", square, dtypes=_ANY),
    *_both("inv", square, dtypes=_ANY),
    *_both("solve", square, array(3, 2), dtypes=_ANY),
    _op("numpy.linalg.cholesky", positive, calls=({}, {"upper": True})),
    _op("numpy.linalg.cond", square,
        calls=({}, {"p": "fro"}, {"p": 1}, {"p": -2}), tolerance=256, bad=(), skip=_ON_CPU),
    _op("numpy.linalg.cross", array(2, 3), array(2, 3), calls=({}, {"axis": -1})),
    _op("numpy.linalg.diagonal", array(2, 3, 3), calls=({}, {"offset": 1})),
    _op("numpy.linalg.eig", square, finish=_spectrum, tolerance=256,
        skip=_ON_CPU | {"derivative": "of eigenvectors it has to be asked for"}),
    _op("numpy.linalg.eigh", hermitian, finish=_EIGH, dtypes=_ANY, calls=({}, {"UPLO": "U"}), tolerance=256),
    _op("numpy.linalg.eigvals", square, finish=_SORTED, tolerance=256, skip=_ON_CPU | _NO_SECOND),
    _op("numpy.linalg.eigvalsh", hermitian, calls=({}, {"UPLO": "U"}), tolerance=64),
    _op("numpy.linalg.lstsq", tall, array(4, 2), finish=lambda np, r: (r[0], r[3]), tolerance=256, skip=_ON_CPU),
    _op("numpy.linalg.matmul", array(2, 3, 2), array(2, 4), dtypes=_ANY),
    _op("numpy.linalg.matrix_rank", square, bad=(), calls=({}, {"hermitian": True}), skip=_ON_CPU | _VALUES_ALONE),
    Op(
        "numpy.linalg.multi_dot",
        _of(array(2, 3), array(3, 4), array(4, 2)),
        lambda *xs: np.linalg.multi_dot(xs),
        lambda root: lambda *xs: root.numpy.linalg.multi_dot(xs),
        tolerance=8,
    ),
    _op("numpy.linalg.outer", vector, array(2), dtypes=_ANY),
    _op("numpy.linalg.pinv", tall, dtypes=_ANY, tolerance=256, skip=_ON_CPU),
    _op("numpy.linalg.qr", tall, finish=_QR, dtypes=_ANY, calls=_MODES, tolerance=256),
    _op("numpy.linalg.slogdet", square, dtypes=_ANY, finish=lambda np, r: tuple(r)),
    _op("numpy.linalg.svd", tall, finish=_SVD, dtypes=_ANY, tolerance=256, skip=_ON_CPU,
        calls=({"full_matrices": False}, {"compute_uv": False})),
    _op("numpy.linalg.svdvals", tall, dtypes=_ANY, tolerance=64, skip=_ON_CPU),
    _op("numpy.linalg.tensordot", array(2, 3), array(3, 4), calls=({"axes": 1}, {"axes": ((1,), (0,))})),
    _op("numpy.linalg.tensorinv", lambda draw, dtype: square(draw, dtype).reshape(3, 3, 1), calls=({"ind": 1},)),
    _op("numpy.linalg.tensorsolve", lambda draw, dtype: square(draw, dtype).reshape(3, 3, 1), vector),
    _op("numpy.linalg.trace", array(2, 3, 3), calls=({}, {"offset": 1, "dtype": "float64"})),
    _op("numpy.linalg.vecdot", array(2, 3), array(2, 3), dtypes=_ANY, calls=({}, {"axis": 0})),
]  # fmt: skip


def _factor_and_solve(name: str) -> Callable[[Any], Any]:
    return lambda linalg: lambda a, b: getattr(linalg, f"{name}_solve")(getattr(linalg, f"{name}_factor")(a), b)


SCIPY = [
    Op("scipy.linalg.block_diag", _of(array(2, 3), array(1, 2)), scipy.linalg.block_diag),
    _op("scipy.linalg.cho_factor", positive, finish=lambda np, r: np.triu(r[0])),
    Op("scipy.linalg.cho_solve", _of(positive, vector), _factor_and_solve("cho")(scipy.linalg),
       lambda root: _factor_and_solve("cho")(find(root, "scipy.linalg")), tolerance=64),
    _op("scipy.linalg.cholesky", positive, calls=({}, {"lower": True})),
    _op("scipy.linalg.circulant", vector),
    _op("scipy.linalg.companion", array(4, low=0.5)),
    _op("scipy.linalg.convolution_matrix", vector, calls=({"n": 4}, {"n": 4, "mode": "same"})),
    Op("scipy.linalg.dft", lambda draw: (Sample(n=n, scale=s) for n in (1, 4) for s in (None, "sqrtn", "n")),
       scipy.linalg.dft, skip={"types": "there are no operands"}),
    _op("scipy.linalg.eigh", hermitian, finish=lambda np, r: _EIGH(np, r) if isinstance(r, tuple) else r,
        calls=({}, {"eigvals_only": True, "lower": False}), tolerance=256),
    _op("scipy.linalg.eigh_tridiagonal", lambda draw, dtype: np.array([1, 2.5, 4, 6], dtype) +
        draw.array((4,), dtype, -0.2, 0.2), array(3, low=0.3, high=0.8), calls=({"eigvals_only": True},), tolerance=256,
        skip={"derivative": "found by bisection, in loops that end by a condition"}),
    _op("scipy.linalg.expm", small, dtypes=_ANY, tolerance=64),
    _op("scipy.linalg.expm_frechet", small, small, finish=lambda np, r: tuple(r), tolerance=64),
    _op("scipy.linalg.fiedler", vector, tolerance=4, bad=()),
    _op("scipy.linalg.fiedler_companion", array(4, low=0.5), tolerance=4, bad=()),
    Op("scipy.linalg.funm", _of(square),
       lambda a: scipy.linalg.expm(a), lambda root: lambda a: find(root, "scipy.linalg.funm")(a, root.numpy.exp).real,
       tolerance=512, skip=_ON_CPU | _VALUES_ALONE),
    Op("scipy.linalg.hadamard", lambda draw: (Sample(n=n) for n in (1, 4)), scipy.linalg.hadamard,
       bad=[Bad(ValueError, "power of 2", 3)]),
    _op("scipy.linalg.hankel", vector, array(4)),
    Op("scipy.linalg.helmert", lambda draw: (Sample(n=n, full=f) for n in (1, 4) for f in (False, True)),
       scipy.linalg.helmert),
    _op("scipy.linalg.hessenberg", square, finish=lambda np, r: np.abs(r), skip=_ON_CPU | _VALUES_ALONE),
    *[Op(f"scipy.linalg.{name}", lambda draw: (Sample(n=n) for n in (1, 4)), getattr(scipy.linalg, name), tolerance=8)
      for name in ("hilbert", "invhilbert")],
    *[Op(f"scipy.linalg.{name}", lambda draw: (Sample(n=4, kind=k) for k in ("symmetric", "lower", "upper")),
         getattr(scipy.linalg, name)) for name in ("pascal", "invpascal")],
    _op("scipy.linalg.leslie", vector, array(2)),
    _op("scipy.linalg.lu", square, bad=(), dtypes=_ANY, finish=lambda np, r: (r[1], r[2]) if len(r) == 3 else r,
        calls=({}, {"permute_l": True})),
    _op("scipy.linalg.lu_factor", square, bad=(), finish=lambda np, r: r[0]),
    Op("scipy.linalg.lu_solve", _of(square, vector), _factor_and_solve("lu")(scipy.linalg),
       lambda root: _factor_and_solve("lu")(find(root, "scipy.linalg")), tolerance=64),
    _op("scipy.linalg.polar", square, reference=lambda a, side="right", **_: scipy.linalg.polar(a, side),
        bad=(), calls=({}, {"side": "left", "method": "svd"}), tolerance=256, skip=_ON_CPU | _VALUES_ALONE),
    _op("scipy.linalg.qr", tall, finish=_QR, calls=({"mode": "economic"},), tolerance=256),
    _op("scipy.linalg.qr_multiply", tall, array(3, 4), finish=lambda np, r: np.abs(r[0]),
        tolerance=256, skip={"second": "of absolute values", "derivative": "of absolute values"}),
    Op("scipy.linalg.rsf2csf", _of(square),
       lambda a: a, lambda root: lambda a: (lambda t, z: (z @ t @ z.conj().T).real)(
           *find(root, "scipy.linalg.rsf2csf")(*find(root, "scipy.linalg.schur")(a))),
       tolerance=256, skip=_ON_CPU | _VALUES_ALONE),
    Op("scipy.linalg.schur", _of(square), lambda a: a,
       lambda root: lambda a: (lambda t, z: z @ t @ z.T)(*find(root, "scipy.linalg.schur")(a)),
       tolerance=256, skip=_ON_CPU | _VALUES_ALONE),
    _op("scipy.linalg.solve_sylvester", square, square, array(3, 3), tolerance=512, skip=_ON_CPU | _VALUES_ALONE),
    _op("scipy.linalg.solve_triangular", upper, array(3, 2), dtypes=_ANY,
        calls=({}, {"trans": 1}, {"unit_diagonal": True}), tolerance=64),
    _op("scipy.linalg.sqrtm", square, finish=lambda np, r: np.real(r), tolerance=512, skip=_ON_CPU | _VALUES_ALONE),
    _op("scipy.linalg.svd", tall, finish=_SVD, tolerance=256, skip=_ON_CPU,
        calls=({"full_matrices": False}, {"compute_uv": False})),
    _op("scipy.linalg.toeplitz", vector, array(4)),
]  # fmt: skip


def _lax(name: str, *makers: Maker, reference: Any, **options: Any) -> Op:
    return _op(f"lax.linalg.{name}", *makers, reference=reference, **options)


def _reflectors(draw: Draw, dtype: str) -> Any:
    (h, tau), _ = scipy.linalg.qr(draw.array((4, 2), dtype), mode="raw")
    return np.asarray(h, dtype), np.asarray(tau, dtype)


def _with_reflectors(*more: Maker, calls: Any = ({},)) -> Any:
    def samples(draw: Draw) -> Any:
        for dtype in _REAL:
            for params in calls:
                yield Sample(*_reflectors(draw, dtype), *[make(draw, dtype) for make in more], **params)

    return samples


def _q_of(h: Any, tau: Any, columns: int) -> Any:
    q = np.eye(len(h))
    for i, t in enumerate(tau):
        v = np.append(np.zeros(i), np.append(1, h[i + 1 :, i]))
        q = q @ (np.eye(len(h)) - t * np.outer(v, v))
    return q[:, :columns]


def _bands(draw: Draw, dtype: str) -> Any:
    return draw.array((4,), dtype, 0.2, 1)


def _tridiagonal_solution(dl: Any, d: Any, du: Any, b: Any) -> Any:
    return np.linalg.solve(np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1), b)


LAX = [
    _lax("cholesky", positive, reference=np.linalg.cholesky, dtypes=_ANY),
    _lax("cholesky_update", upper, vector, reference=lambda r, w: np.abs(np.linalg.cholesky(
        r.T @ r + np.outer(w, w)).T), finish=lambda np, r: np.abs(r), tolerance=256,
         skip=_VALUES_ALONE),
    _lax("eig", square, reference=lambda a, **_: np.linalg.eig(a), finish=lambda np, r: np.sort(r[0].real),
         calls=({"compute_left_eigenvectors": False, "compute_right_eigenvectors": False},), tolerance=256,
         skip=_ON_CPU | _NO_SECOND),
    _lax("eigh", hermitian, reference=lambda a: np.linalg.eigh(a)[::-1], dtypes=_ANY, tolerance=256,
         finish=lambda np, r: (_turned(np, r[0]), r[1])),
    _lax("hessenberg", square, reference=lambda a: scipy.linalg.hessenberg(a), tolerance=64,
         finish=lambda np, r: np.abs(np.triu(r[0] if isinstance(r, (tuple, list)) else r, -1)),
         skip=_ON_CPU | _VALUES_ALONE),
    Op("lax.linalg.householder_product", _with_reflectors(), lambda h, tau: _q_of(h, tau, 2), tolerance=64,
       skip=_VALUES_ALONE),
    _lax("lu", square, bad=(), reference=lambda a: scipy.linalg.lu_factor(a), finish=lambda np, r: r[0], dtypes=_ANY),
    Op("lax.linalg.lu_pivots_to_permutation", lambda draw: iter([Sample(np.array([2, 2, 2], np.int32),
       permutation_size=3)]), lambda pivots, permutation_size: np.array([2, 0, 1])),
    Op("lax.linalg.ormqr", _with_reflectors(array(4, 3), calls=({}, {"transpose": True})),
       lambda h, tau, c, transpose=False: (_q_of(h, tau, 4).T if transpose else _q_of(h, tau, 4)) @ c, tolerance=64,
       skip=_VALUES_ALONE),
    _lax("qdwh", square, reference=lambda a: scipy.linalg.polar(a), finish=lambda np, r: tuple(r[:2]), tolerance=512,
         skip=_VALUES_ALONE),
    _lax("qr", tall, reference=lambda a, **_: np.linalg.qr(a), finish=lambda np, r: _turned(np, *r), dtypes=_ANY,
         calls=({"full_matrices": False},), tolerance=256),
    _lax("schur", square, reference=lambda a: a, finish=lambda np, r: r[1] @ r[0] @ r[1].T if isinstance(
         r, (tuple, list)) else r, tolerance=256, skip=_ON_CPU | _VALUES_ALONE),
    _lax("svd", tall, reference=lambda a, **_: np.linalg.svd(a, full_matrices=False), finish=_SVD, tolerance=256,
         calls=({"full_matrices": False},), skip=_ON_CPU),
    _lax("symmetric_product", square, hermitian, calls=({"alpha": 2.0, "beta": 0.5, "symmetrize_output": True},),
         reference=lambda a, c, **_: 2 * a @ a.T + 0.5 * c),
    _lax("triangular_solve", triangle, array(3, 2), dtypes=_ANY, tolerance=64,
         calls=({"left_side": True, "lower": True}, {"left_side": True, "lower": True, "transpose_a": True}),
         reference=lambda a, b, transpose_a=False, **_: np.linalg.solve(a.T if transpose_a else a, b)),
    _lax("tridiagonal", hermitian, reference=lambda a: np.linalg.eigvalsh(a), tolerance=64,
         skip=_ON_CPU | _VALUES_ALONE,
         finish=lambda np, r: r if not isinstance(r, (tuple, list)) else np.linalg.eigvalsh(
             np.diag(r[1]) + np.diag(r[2], 1) + np.diag(r[2], -1))),
    Op("lax.linalg.tridiagonal_solve", _of(_bands, lambda draw, dtype: draw.array((4,), dtype, 3, 4), _bands,
       array(4, 2)), _tridiagonal_solution, tolerance=32),
]  # fmt: skip

OPS = [*NUMPY, *SCIPY, *LAX]
