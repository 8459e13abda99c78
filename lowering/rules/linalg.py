"""Lowering of matrix decompositions: LAPACK on CPUs, cuSOLVER, cuSPARSE and XLA's own expansions elsewhere.

Rules are functions of arrays, written with lax around calls of the libraries' kernels. Where a kernel reports failure
the results are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import comparisons, selection, shapes
from xtrace.lax import elementwise as el
from xtrace.lax.linalg import (
    cholesky_factors,
    eigenvalues,
    lu_factors,
    orthogonal,
    products,
    reductions,
    singular_values,
    triangular,
    tridiagonal_systems,
)
from xtrace.lax.linalg import matrices as mx
from xtrace.lax.linalg.eigenvalues import EighImplementation
from xtrace.lax.linalg.singular_values import SvdAlgorithm
from xtrace.lowering.lower import Body, LoweringError
from xtrace.lowering.rules.solver_calls import compiler_call, solver_call
from xtrace.runtime import lapack

Rule = Callable[..., Any]

#: LAPACK's letter for each element type.
_LETTERS = dict(zip(mx.ROUTINES, "sdcz", strict=True))


def _routine(x: Any, real: str, complex_: str | None = None) -> str:
    name = complex_ if complex_ is not None and dtypes.is_complex(shaped(x).dtype) else real
    return f"lapack_{_LETTERS[shaped(x).dtype.name]}{name}_ffi"


def _char(letter: str) -> str:
    return f"{ord(letter)} : ui8"


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _aval(x: Any, *core: int, dtype: Any = None) -> ShapedArray:
    """The aval of a result for each of the matrices `x`: of shape `core`, of their dtype or another."""
    aval = shaped(x)
    return ShapedArray((*aval.shape[:-2], *core), aval.dtype if dtype is None else dtype)


def _batch(x: Any) -> int:
    return shaped(x).ndim - 2


def _checked(failed: Any, *outs: Any) -> list[Any]:
    """Results, NaN where `failed`, which has the batch's shape."""
    results = []
    for out in outs:
        aval = shaped(out)
        nan = shapes.full(aval.shape, np.array(math.nan).astype(aval.dtype), aval.dtype)
        mask = shapes.broadcast_in_dim(failed, aval.shape, tuple(range(shaped(failed).ndim)))
        results.append(selection.select(mask, nan, out))
    return results


def _nonzero(info: Any) -> Any:
    return comparisons.ne(info, shapes.full(shaped(info).shape, 0, dtypes.int32))


def _by_function(primitive: Primitive, function: Rule, *, cpu: bool) -> Rule:
    """The rule that inlines `function(*operands, **params) -> results`; for empty arrays, nothing is computed."""

    def rule(ctx: Body, eqn: Any, *operands: Any) -> Any:
        if cpu:
            lapack.ensure()
        outs = [v.aval for v in eqn.outvars]
        if any(v.aval.size == 0 for v in eqn.invars):
            values = [_of_nothing(ctx, eqn, a) for a in outs]
        else:
            params = eqn.params
            avals = [v.aval.strong() for v in eqn.invars]
            values = ctx.inline(lambda *xs: function(*xs, **params), avals, *operands)
        return values if primitive.multiple_results else values[0]

    return rule


def _of_nothing(ctx: Body, eqn: Any, out: ShapedArray) -> Any:
    """A result for empty operands: zeros, and orthogonal factors and permutations that change nothing."""
    if not out.size:
        return ctx.full_like(0, out)
    if dtypes.kind(out.dtype) in "iu":
        return ctx.constant(np.broadcast_to(np.arange(out.shape[-1]), out.shape), out)
    if out.ndim >= 2 and out.shape[-1] == out.shape[-2]:
        return ctx.constant(np.broadcast_to(np.eye(out.shape[-1]), out.shape), out)
    return ctx.full_like(0, out)


# -- triangular systems, Cholesky ---------------------------------------------------------------------------


def _trsm(
    a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool
) -> list[Any]:
    if conjugate_a and not transpose_a:
        a, conjugate_a = el.conj(a), False
    attributes = {
        "diag": _char("U" if unit_diagonal else "N"),
        "side": _char("L" if left_side else "R"),
        "trans_x": _char("C" if conjugate_a else "T" if transpose_a else "N"),
        "uplo": _char("L" if lower else "U"),
    }
    return solver_call(_routine(b, "trsm"), [a, b], [shaped(b)], attributes, batch=_batch(b), aliases=[(1, 0)])


def _triangular_by_xla(ctx: Body, eqn: Any, a: Any, b: Any) -> Any:
    params, out = eqn.params, eqn.outvars[0].aval
    transpose = "TRANSPOSE" if params["transpose_a"] else "NO_TRANSPOSE"
    if params["conjugate_a"]:
        if params["transpose_a"]:
            transpose = "ADJOINT"
        else:
            (a,) = ctx.inline(el.conj, [eqn.invars[0].aval], a)
    attributes = {
        "left_side": ctx.mlir.boolean(params["left_side"]),
        "lower": ctx.mlir.boolean(params["lower"]),
        "unit_diagonal": ctx.mlir.boolean(params["unit_diagonal"]),
        "transpose_a": ctx.mlir.parsed(f"#stablehlo<transpose {transpose}>"),
    }
    return ctx.op("stablehlo.triangular_solve", out, [a, b], attributes)


def _cholesky_by_xla(ctx: Body, eqn: Any, x: Any) -> Any:
    return ctx.op("stablehlo.cholesky", eqn.outvars[0].aval, [x], {"lower": ctx.mlir.boolean(True)})


def _potrf(target: Callable[[Any], str], attributes: dict[str, str]) -> Rule:
    def rule(x: Any) -> list[Any]:
        outs = [shaped(x), _aval(x, dtype=dtypes.int32)]
        out, info = solver_call(target(x), [x], outs, attributes, batch=_batch(x), aliases=[(0, 0)])
        return _checked(_nonzero(info), out)

    return rule


def _cuda_cholesky_update(r: Any, w: Any) -> list[Any]:
    aliases = [(0, 0), (1, 1)]
    return solver_call("cu_cholesky_update_ffi", [r, w], [shaped(r), shaped(w)], batch=_batch(r), aliases=aliases,
                       row_major=True)[:1]  # fmt: skip


def _syrk(a: Any, c: Any, *, alpha: float, beta: float) -> list[Any]:
    factors = [shapes.full((), v, shaped(a).dtype) for v in (alpha, beta)]
    return solver_call("cusolver_syrk_ffi", [a, c, *factors], [shaped(c)], {"transpose": "false"}, batch=_batch(a),
                       aliases=[(1, 0)], row_major=True)  # fmt: skip


# -- LU ---------------------------------------------------------------------------


def _permutation_by_kernel(pivots: Any, size: int) -> Any:
    aval = shaped(pivots)
    out = ShapedArray((*aval.shape[:-1], size), dtypes.int32)
    return solver_call("cu_lu_pivots_to_permutation", [pivots], [out], batch=aval.ndim - 1)[0]


def _getrf(target: Callable[[Any], str], permutation_of: Rule) -> Rule:
    def rule(x: Any) -> list[Any]:
        m, n = shaped(x).shape[-2:]
        outs = [shaped(x), _aval(x, min(m, n), dtype=dtypes.int32), _aval(x, dtype=dtypes.int32)]
        out, pivots, info = solver_call(target(x), [x], outs, batch=_batch(x), aliases=[(0, 0)])
        pivots = el.sub(pivots, shapes.full((), 1, dtypes.int32))  # libraries count rows from 1
        # A positive number names a vanishing pivot, which is no failure.
        failed = comparisons.lt(info, shapes.full(shaped(info).shape, 0, dtypes.int32))
        return [*_checked(failed, out), pivots, permutation_of(pivots, m)]

    return rule


def _lu_by_xla(ctx: Body, eqn: Any, x: Any) -> Any:
    return compiler_call(ctx, "LuDecomposition", [x], [v.aval for v in eqn.outvars])


# -- QR ---------------------------------------------------------------------------


def _orgqr(target: Callable[[Any], str]) -> Rule:
    def rule(a: Any, taus: Any) -> list[Any]:
        return solver_call(target(a), [a, taus], [shaped(a)], batch=_batch(a), aliases=[(0, 0)])

    return rule


def _geqrf(target: Callable[[Any], str]) -> Rule:
    def rule(x: Any) -> list[Any]:
        outs = [shaped(x), _aval(x, min(shaped(x).shape[-2:]))]
        return solver_call(target(x), [x], outs, batch=_batch(x), aliases=[(0, 0)])

    return rule


def _qr(geqrf: Rule, geqp3: Callable[[Any], tuple[str, dict[str, str]]], orgqr: Rule) -> Rule:
    """Both factors from the reflectors that the library finds."""

    def rule(x: Any, *, pivoting: bool, full_matrices: bool, use_magma: Any) -> list[Any]:
        m, n = shaped(x).shape[-2:]
        permutation = []
        if pivoting:
            columns = _aval(x, n, dtype=dtypes.int32)
            target, attributes = geqp3(x)
            free = shapes.full(columns.shape, 0, dtypes.int32)
            a, order, taus = solver_call(
                target,
                [x, free],
                [shaped(x), columns, _aval(x, min(m, n))],
                attributes,
                batch=_batch(x),
                aliases=[(0, 0), (1, 1)],
            )
            permutation = [el.sub(order, shapes.full((), 1, dtypes.int32))]
        else:
            a, taus = geqrf(x)
        return [*_q_and_r(a, taus, full_matrices, lambda b, t: orgqr(b, t)[0]), *permutation]

    return rule


def _q_and_r(a: Any, taus: Any, full_matrices: bool, product: Rule) -> list[Any]:
    m, n = shaped(a).shape[-2:]
    k = min(m, n)
    if full_matrices and m > n:
        reflectors = mx.padded(a, [(0, 0, 0)] * (_batch(a) + 1) + [(0, m - n, 0)])
        r = mx.triangle(a, lower=False)
    else:
        reflectors = mx.sliced(a, m, k)
        r = mx.triangle(mx.sliced(a, k, n), lower=False)
    return [product(reflectors, taus), r]


def _geqrf_by_xla(ctx: Body, eqn: Any, x: Any) -> Any:
    aval = eqn.invars[0].aval
    taus = ShapedArray((*aval.shape[:-2], min(aval.shape[-2:])), aval.dtype)
    return compiler_call(ctx, "Qr", [x], [aval, taus])


def _qr_by_xla(ctx: Body, eqn: Any, x: Any) -> Any:
    if eqn.params["pivoting"]:
        raise LoweringError("qr with pivoting=True has no lowering for tpu")

    def factors(x: Any) -> list[Any]:
        a, tau = orthogonal.geqrf_p.bind(x)
        return _q_and_r(a, tau, eqn.params["full_matrices"], orthogonal.householder_product_p.bind)

    return ctx.inline(factors, [eqn.invars[0].aval.strong()], x)


def _product_by_xla(ctx: Body, eqn: Any, a: Any, taus: Any) -> Any:
    return compiler_call(ctx, "ProductOfElementaryHouseholderReflectors", [a, taus], [eqn.outvars[0].aval])[0]


def _ormqr(target: Callable[[Any], str]) -> Rule:
    def rule(a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> list[Any]:
        attributes = {"left": _flag(left), "transpose": _flag(transpose)}
        return solver_call(target(a), [a, taus, c], [shaped(c)], attributes, batch=_batch(a), aliases=[(2, 0)])

    return rule


# -- eigenvalues ---------------------------------------------------------------------------


def _syevd(target: Callable[[Any], str], attributes_of: Callable[[bool, Any], dict[str, str]]) -> Rule:
    def rule(x: Any, *, lower: bool, algorithm: Any, **_: Any) -> list[Any]:
        n = shaped(x).shape[-1]
        real = dtypes.to_real(shaped(x).dtype)
        outs = [shaped(x), _aval(x, n, dtype=real), _aval(x, dtype=dtypes.int32)]
        v, w, info = solver_call(
            target(x), [x], outs, attributes_of(lower, algorithm), batch=_batch(x), aliases=[(0, 0)]
        )
        return _checked(_nonzero(info), v, w)

    return rule


def _lapack_syevd(lower: bool, algorithm: Any) -> dict[str, str]:
    if algorithm not in (None, EighImplementation.QR):
        raise LoweringError(f"eigh on CPUs takes implementation=None or EighImplementation.QR, got {algorithm}")
    return {"mode": _char("V"), "uplo": _char("L" if lower else "U")}


def _cusolver_syevd(lower: bool, algorithm: Any) -> dict[str, str]:
    numbers = {None: 0, EighImplementation.QR: 1, EighImplementation.JACOBI: 2}
    if algorithm not in numbers:
        raise LoweringError(f"eigh on CUDA GPUs has no implementation {algorithm}; take QR or JACOBI")
    return {"algorithm": f"{numbers[algorithm]} : ui8", "lower": _flag(lower)}


def _eigh_by_xla(ctx: Body, eqn: Any, x: Any) -> Any:
    params = eqn.params
    n = eqn.invars[0].aval.shape[-1]
    config = f"{int(params['lower'])},{int(params['sort_eigenvalues'])},{max(100, n)},1e-6"
    return compiler_call(ctx, "Eigh", [x], [v.aval for v in eqn.outvars], config)


def _geev(hybrid: bool) -> Rule:
    def rule(
        x: Any,
        *,
        compute_left_eigenvectors: bool,
        compute_right_eigenvectors: bool,
        implementation: Any,
        **_: Any,
    ) -> list[Any]:
        n, dtype = shaped(x).shape[-1], shaped(x).dtype
        is_complex = dtypes.is_complex(dtype)
        wide = dtype if is_complex else dtypes.to_complex(dtype)
        values = [_aval(x, n)] * (1 if is_complex else 2)
        outs = [*values, _aval(x, n, n, dtype=wide), _aval(x, n, n, dtype=wide), _aval(x, dtype=dtypes.int32)]
        wanted = {"left": compute_left_eigenvectors, "right": compute_right_eigenvectors}
        if hybrid:
            target = f"cuhybrid_eig_{'comp' if is_complex else 'real'}"
            magma = {None: "auto", "magma": "on", "lapack": "off"}.get(getattr(implementation, "value", None), "auto")
            attributes = {"magma": f'"{magma}"', **{k: _flag(v) for k, v in wanted.items()}}
        else:
            target = _routine(x, "geev")
            attributes = {f"compute_{k}": _char("V" if v else "N") for k, v in wanted.items()}
        *w, left, right, info = solver_call(target, [x], outs, attributes, batch=_batch(x))
        value = w[0] if is_complex else el.complex(*w)
        kept = [v for v, wish in zip((left, right), wanted.values(), strict=True) if wish]
        return _checked(_nonzero(info), value, *kept)

    return rule


# -- singular values ---------------------------------------------------------------------------


def _lapack_svd(x: Any, *, full_matrices: bool, compute_uv: bool, algorithm: Any, **_: Any) -> list[Any]:
    routines = {SvdAlgorithm.QR: "gesvd"} | dict.fromkeys(
        (None, SvdAlgorithm.DEFAULT, SvdAlgorithm.DIVIDE_AND_CONQUER), "gesdd"
    )
    if algorithm not in routines:
        raise LoweringError(
            f"svd on CPUs takes algorithm=None, SvdAlgorithm.DEFAULT, QR or DIVIDE_AND_CONQUER, got {algorithm}"
        )
    m, n = shaped(x).shape[-2:]
    k = min(m, n)
    u, vh = ((m, m), (n, n)) if full_matrices or not compute_uv else ((m, k), (k, n))
    real = dtypes.to_real(shaped(x).dtype)
    outs = [shaped(x), _aval(x, k, dtype=real), _aval(x, *u), _aval(x, *vh), _aval(x, dtype=dtypes.int32)]
    mode = "N" if not compute_uv else "A" if full_matrices else "S"
    target = _routine(x, routines[algorithm])
    _, s, left, right, info = solver_call(target, [x], outs, {"mode": _char(mode)}, batch=_batch(x), aliases=[(0, 0)])
    return _checked(_nonzero(info), s, *([left, right] if compute_uv else []))


def _cusolver_svd(x: Any, *, full_matrices: bool, compute_uv: bool, algorithm: Any, **_: Any) -> list[Any]:
    if algorithm == SvdAlgorithm.DIVIDE_AND_CONQUER:
        raise LoweringError("svd on GPUs of NVIDIA has no algorithm DIVIDE_AND_CONQUER: take QR, JACOBI or POLAR")
    m, n = shaped(x).shape[-2:]
    k = min(m, n)
    real = dtypes.to_real(shaped(x).dtype)
    small = algorithm in (None, SvdAlgorithm.DEFAULT) and m <= 1024 and n <= 1024
    info = _aval(x, dtype=dtypes.int32)
    flags = {"compute_uv": _flag(compute_uv)}
    if algorithm == SvdAlgorithm.QR or not (small or algorithm in (SvdAlgorithm.JACOBI, SvdAlgorithm.POLAR)):
        # gesvd takes tall matrices: others are handed over row by row, which transposes them.
        wide = m < n
        u, vh = ((m, m), (n, n)) if full_matrices else ((m, k), (k, n))
        first, second = (vh, u) if wide else (u, vh)
        flags |= {"full_matrices": _flag(full_matrices), "transposed": _flag(wide)}
        outs = [shaped(x), _aval(x, k, dtype=real), _aval(x, *first), _aval(x, *second), info]
        _, s, a, b, failed = solver_call(
            "cusolver_gesvd_ffi", [x], outs, flags, batch=_batch(x), aliases=[(0, 0)], row_major=wide
        )
        left, right = (b, a) if wide else (a, b)
    else:
        # These give V, not its adjoint.
        target = "cusolver_gesvdp_ffi" if algorithm == SvdAlgorithm.POLAR else "cusolver_gesvdj_ffi"
        whole = full_matrices or (k <= 32 and m <= 32 and n <= 32)  # batches of small matrices come whole
        flags["full_matrices"] = _flag(whole)
        u, v = ((m, m), (n, n)) if whole else ((m, k), (n, k))
        outs = [shaped(x), _aval(x, k, dtype=real), _aval(x, *u), _aval(x, *v), info]
        _, s, left, right, failed = solver_call(target, [x], outs, flags, batch=_batch(x), aliases=[(0, 0)])
        right = mx.adjoint(right)
        if not full_matrices:
            left, right = mx.sliced(left, m, k), mx.sliced(right, k, n)
    return _checked(_nonzero(failed), s, *([left, right] if compute_uv else []))


# -- Schur, Hessenberg and tridiagonal form ---------------------------------------------------------------------------


def _gees(x: Any, *, compute_schur_vectors: bool, **_: Any) -> list[Any]:
    n = shaped(x).shape[-1]
    count = _aval(x, dtype=dtypes.int32)
    values = [_aval(x, n)] * (1 if dtypes.is_complex(shaped(x).dtype) else 2)
    attributes = {"mode": _char("V" if compute_schur_vectors else "N"), "sort": _char("N")}
    results = solver_call(
        _routine(x, "gees"),
        [x],
        [shaped(x), shaped(x), *values, count, count],
        attributes,
        batch=_batch(x),
        aliases=[(0, 0)],
    )
    matrices = results[: 1 + compute_schur_vectors]
    return _checked(_nonzero(results[-1]), *matrices)


def _gehrd(x: Any) -> list[Any]:
    n = shaped(x).shape[-1]
    outs = [shaped(x), _aval(x, n - 1), _aval(x, dtype=dtypes.int32)]
    attributes = {"high": f"{n} : i32", "low": "1 : i32"}
    h, taus, info = solver_call(_routine(x, "gehrd"), [x], outs, attributes, batch=_batch(x), aliases=[(0, 0)])
    return _checked(_nonzero(info), h, taus)


def _sytrd(target: Callable[[Any], str], attributes_of: Callable[[bool], dict[str, str]]) -> Rule:
    def rule(x: Any, *, lower: bool) -> list[Any]:
        n, real = shaped(x).shape[-1], dtypes.to_real(shaped(x).dtype)
        outs = [
            shaped(x),
            _aval(x, n, dtype=real),
            _aval(x, n - 1, dtype=real),
            _aval(x, n - 1),
            _aval(x, dtype=dtypes.int32),
        ]
        a, d, e, taus, info = solver_call(target(x), [x], outs, attributes_of(lower), batch=_batch(x), aliases=[(0, 0)])
        return _checked(_nonzero(info), a, d, e, taus)

    return rule


def _gtsv(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> list[Any]:
    if perturb_singular:
        return tridiagonal_systems.by_elimination(dl, d, du, b, perturb_singular=True)
    vectors = [shaped(v) for v in (dl, d, du)]
    outs = [*vectors, shaped(b), _aval(b, dtype=dtypes.int32)]
    operands = [dl, d, du, b]
    *_, x, info = solver_call(_routine(b, "gtsv"), operands, outs, batch=_batch(b), aliases=[(i, i) for i in range(4)])
    return _checked(_nonzero(info), x)


def _cusparse_gtsv(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> list[Any]:
    if perturb_singular:
        return tridiagonal_systems.by_elimination(dl, d, du, b, perturb_singular=True)
    return solver_call("cusparse_gtsv2_ffi", [dl, d, du, b], [shaped(b)], batch=_batch(b), aliases=[(3, 0)])


# -- which platform has what ---------------------------------------------------------------------------

_lapack_geqrf = _geqrf(lambda x: _routine(x, "geqrf"))
_cusolver_geqrf = _geqrf(lambda x: "cusolver_geqrf_ffi")
_lapack_orgqr = _orgqr(lambda x: _routine(x, "orgqr", "ungqr"))
_cusolver_orgqr = _orgqr(lambda x: "cusolver_orgqr_ffi")

_CPU: dict[Primitive, Rule] = {
    cholesky_factors.cholesky_p: _potrf(lambda x: _routine(x, "potrf"), {"uplo": _char("L")}),
    lu_factors.lu_p: _getrf(lambda x: _routine(x, "getrf"), lu_factors.permutation_by_exchanges),
    orthogonal.householder_product_p: _lapack_orgqr,
    orthogonal.ormqr_p: _ormqr(lambda x: _routine(x, "ormqr", "unmqr")),
    orthogonal.geqrf_p: _lapack_geqrf,
    orthogonal.qr_p: _qr(_lapack_geqrf, lambda x: (_routine(x, "geqp3"), {}), _lapack_orgqr),
    eigenvalues.eigh_p: _syevd(lambda x: _routine(x, "syevd", "heevd"), _lapack_syevd),
    eigenvalues.eig_p: _geev(hybrid=False),
    singular_values.svd_p: _lapack_svd,
    reductions.schur_p: _gees,
    reductions.hessenberg_p: _gehrd,
    reductions.tridiagonal_p: _sytrd(
        lambda x: _routine(x, "sytrd", "hetrd"), lambda lower: {"uplo": _char("L" if lower else "U")}
    ),
    tridiagonal_systems.tridiagonal_solve_p: _gtsv,
}
_CUDA: dict[Primitive, Rule] = {
    cholesky_factors.cholesky_p: _potrf(lambda x: "cusolver_potrf_ffi", {"lower": "true"}),
    lu_factors.lu_p: _getrf(lambda x: "cusolver_getrf_ffi", _permutation_by_kernel),
    orthogonal.householder_product_p: _cusolver_orgqr,
    orthogonal.ormqr_p: _ormqr(lambda x: "cusolver_ormqr_ffi"),
    cholesky_factors.cholesky_update_p: _cuda_cholesky_update,
    products.symmetric_product_p: _syrk,
    orthogonal.geqrf_p: _cusolver_geqrf,
    orthogonal.qr_p: _qr(_cusolver_geqrf, lambda x: ("cuhybrid_geqp3", {"magma": '"auto"'}), _cusolver_orgqr),
    eigenvalues.eigh_p: _syevd(lambda x: "cusolver_syevd_ffi", _cusolver_syevd),
    eigenvalues.eig_p: _geev(hybrid=True),
    singular_values.svd_p: _cusolver_svd,
    reductions.tridiagonal_p: _sytrd(lambda x: "cusolver_sytrd_ffi", lambda lower: {"lower": _flag(lower)}),
    tridiagonal_systems.tridiagonal_solve_p: _cusparse_gtsv,
}
#: Rules of any other platform, where XLA itself expands the operation.
_XLA: dict[Primitive, Rule] = {
    triangular.triangular_solve_p: _triangular_by_xla,
    cholesky_factors.cholesky_p: _cholesky_by_xla,
    lu_factors.lu_p: _lu_by_xla,
    orthogonal.geqrf_p: _geqrf_by_xla,
    orthogonal.qr_p: _qr_by_xla,
    orthogonal.householder_product_p: _product_by_xla,
    eigenvalues.eigh_p: _eigh_by_xla,
}
#: Those that are written with lax wherever there is no kernel.
_LAX: dict[Primitive, Rule] = {
    tridiagonal_systems.tridiagonal_solve_p: tridiagonal_systems.by_elimination,
    orthogonal.ormqr_p: orthogonal.reflected,
    cholesky_factors.cholesky_update_p: cholesky_factors.updated,
    products.symmetric_product_p: products.by_dots,
}

for _primitive, _function in _CPU.items():
    _primitive.lower_on = {"cpu": _by_function(_primitive, _function, cpu=True)}
for _primitive, _function in _CUDA.items():
    if _primitive.lower_on is None:
        _primitive.lower_on = {}
    _primitive.lower_on["cuda"] = _by_function(_primitive, _function, cpu=False)
for _primitive, _function in _XLA.items():
    _primitive.lower = _function
for _primitive, _function in _LAX.items():
    _primitive.lower = _by_function(_primitive, _function, cpu=False)


def _permutation(ctx: Body, eqn: Any, pivots: Any) -> Any:
    size = eqn.params["permutation_size"]
    return ctx.inline(lambda p: lu_factors.permutation_by_exchanges(p, size), [eqn.invars[0].aval], pivots)[0]


lu_factors.lu_pivots_to_permutation_p.lower = _permutation

_by_trsm = _by_function(triangular.triangular_solve_p, _trsm, cpu=True)


def _triangular_on_cpu(ctx: Body, eqn: Any, a: Any, b: Any) -> Any:
    rule = _by_trsm if eqn.invars[0].aval.dtype.name in _LETTERS else _triangular_by_xla
    return rule(ctx, eqn, a, b)


triangular.triangular_solve_p.lower_on = {"cpu": _triangular_on_cpu}
