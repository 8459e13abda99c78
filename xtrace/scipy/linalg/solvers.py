"""Solvers of linear systems, with the factors they use, under SciPy's names and conventions."""

from __future__ import annotations

from typing import Any

from xtrace.core import statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import linalg as lax_linalg
from xtrace.lax import shapes
from xtrace.lax.linalg import lu_factors
from xtrace.lax.linalg import matrices as mx
from xtrace.numpy import linear_systems, matrix_factors, promotion
from xtrace.numpy import reductions as red

_TRANS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def _with_columns(name: str, a: Any, b: Any) -> tuple[Any, Any, bool]:
    """`a` and `b` of one dtype with equal leading axes, `b` as matrices, and whether it was a vector."""
    a, b = promotion.promote(name, (a, b), "inexact", ranks=False)
    linear_systems.square(name, a)
    vector = shaped(b).ndim == 1
    b = mx.rows(b) if vector else b
    batch = red.common_shape([shaped(a).shape[:-2], shaped(b).shape[:-2]])
    return linear_systems.with_batch(a, batch), linear_systems.with_batch(b, batch), vector


def _without_columns(x: Any, vector: bool) -> Any:
    return shapes.squeeze(x, (shaped(x).ndim - 1,)) if vector else x


@composite(static_argnames=("lower", "overwrite_a", "check_finite"))
def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Cholesky factors: a = U^H U, or L L^H if `lower`.

    Args:
      a: [..., n, n], Hermitian and positive definite.
      lower: which factor.
      overwrite_a, check_finite: have no effect.

    Returns:
      [..., n, n], triangular; NaN where `a` isn't positive definite.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    """
    return matrix_factors.cholesky(a, upper=not lower)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """The Cholesky factor of a and which triangle it is, for `cho_solve`.

    Args:
      a: [..., n, n], Hermitian and positive definite.
      lower: which triangle.
      overwrite_a, check_finite: have no effect.

    Returns:
      (factor, lower). The other triangle of the factor is not to be read.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.cho_factor(np.eye(2))[1]
    False
    """
    return cholesky(a, lower=lower), lower


def _pair(name: str, value: Any, maker: str) -> tuple[Any, Any]:
    """The two parts of a factorization, as the function `maker` returns it."""
    parts = statics.parts(value, name, f"the pair that {maker} returns")
    if len(parts) != 2:
        raise ValueError(f"{name} must be the pair that {maker} returns, got {len(parts)} values")
    return parts[0], parts[1]


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """x with a x = b, given what `cho_factor(a)` returned.

    Args:
      c_and_lower: the pair.
      b: [n] or [..., n, k].
      overwrite_b, check_finite: have no effect.

    Returns:
      An array of the shape of `b`.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.cho_solve(xt.scipy.linalg.cho_factor(4 * np.eye(2)), np.ones(2)).tolist()
    [0.25, 0.25]
    """
    c, lower = _pair("c_and_lower", c_and_lower, "cho_factor")
    return _cho_solve(c, lower, b)


@composite(static_argnames=("lower",))
def _cho_solve(c: Any, lower: bool, b: Any) -> Any:
    c, b, vector = _with_columns("cho_solve", c, b)
    first = {"left_side": True, "lower": lower, "transpose_a": not lower, "conjugate_a": not lower}
    second = {"left_side": True, "lower": lower, "transpose_a": lower, "conjugate_a": lower}
    x = lax_linalg.triangular_solve(c, lax_linalg.triangular_solve(c, b, **first), **second)
    return _without_columns(x, vector)


@composite(static_argnames=("trans", "lower", "unit_diagonal", "overwrite_b", "debug", "check_finite"))
def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Any:
    """Solve op(a) x = b with triangular a.

    Args:
      a: [..., n, n].
      b: [n] or [..., n, k].
      trans: what op is: 0 or "N": nothing; 1 or "T": the transpose; 2 or "C": the adjoint.
      lower: whether a is lower triangular.
      unit_diagonal: whether its diagonal is taken as 1.
      overwrite_b, debug, check_finite: have no effect.

    Returns:
      An array of the shape of `b`.

    Raises:
      ValueError: there is no such `trans`.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 5.0]), lower=True).tolist()
    [1.0, 1.0]
    """
    op = _TRANS[statics.option(trans, "trans", _TRANS)]
    a, b, vector = _with_columns("solve_triangular", a, b)
    x = lax_linalg.triangular_solve(
        a,
        b,
        left_side=True,
        lower=lower,
        transpose_a=op > 0,
        conjugate_a=op == 2,
        unit_diagonal=unit_diagonal,
    )
    return _without_columns(x, vector)


@composite(static_argnames=("overwrite_a", "check_finite"))
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """LU factors and pivots, for `lu_solve`.

    Args:
      a: [..., m, n].
      overwrite_a, check_finite: have no effect.

    Returns:
      (LU, pivots): L below the diagonal of LU and U above; row i was swapped with row pivots[i].

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.lu_factor(np.array([[0.0, 1.0], [2.0, 0.0]]))[1].tolist()
    [1, 1]
    """
    (a,) = promotion.promote_args_inexact("linalg.lu_factor", a)
    factors, pivots, _ = lax_linalg.lu(a)
    return factors, pivots


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """x with op(a) x = b, given what `lu_factor(a)` returned.

    Args:
      lu_and_piv: the pair.
      b: [n] or [..., n, k].
      trans: what op is: 0: nothing; 1: the transpose; 2: the adjoint.
      overwrite_b, check_finite: have no effect.

    Returns:
      An array of the shape of `b`.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.lu_solve(xt.scipy.linalg.lu_factor(4 * np.eye(2)), np.ones(2)).tolist()
    [0.25, 0.25]
    """
    factors, pivots = _pair("lu_and_piv", lu_and_piv, "lu_factor")
    return _lu_solve(factors, pivots, b, trans=statics.option(trans, "trans", _TRANS))


@composite(static_argnames=("trans",))
def _lu_solve(factors: Any, pivots: Any, b: Any, *, trans: int) -> Any:
    factors, b, vector = _with_columns("lu_solve", factors, b)
    permutation = lax_linalg.lu_pivots_to_permutation(pivots, shaped(factors).shape[-1])
    return _without_columns(lu_factors.solve_factored(factors, permutation, b, _TRANS[trans]), vector)


@composite(static_argnames=("lower", "overwrite_a", "overwrite_b", "debug", "check_finite", "assume_a"))
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Any:
    """Solve a x = b.

    Args:
      a: [..., n, n].
      b: [n] or [..., n, k].
      lower: which triangle of a positive definite a is read.
      overwrite_a, overwrite_b, debug, check_finite: have no effect.
      assume_a: "gen", "sym" or "her"; or "pos" for a Hermitian positive definite a.

    Returns:
      An array of the shape of `b`.

    Raises:
      ValueError: there is no such `assume_a`.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.solve(4 * np.eye(2), np.ones(2), assume_a="pos").tolist()
    [0.25, 0.25]
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"Expected assume_a to be one of ('gen', 'sym', 'her', 'pos'); got {assume_a!r}")
    if assume_a != "pos":
        return linear_systems.solve(a, b)
    a, b, vector = _with_columns("solve", a, b)
    return _without_columns(_cho_solve(lax_linalg.cholesky(a if lower else mx.adjoint(a), symmetrize_input=False),
                                       True, b), vector)  # fmt: skip


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverses of square matrices: see `numpy.linalg.inv`.

    Args:
      a: [..., n, n].
      overwrite_a, check_finite: have no effect.

    Returns:
      [..., n, n]; infinities or NaN where a is singular.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.scipy.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
      [[0.5, 0.0], [0.0, 0.25]]
    """
    return linear_systems.inv(a)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Determinants: see `numpy.linalg.det`.

    Args:
      a: [..., n, n].
      overwrite_a, check_finite: have no effect.

    Returns:
      An array of shape [...].

    Example:
      >>> import numpy as np, xtrace as xt
      >>> float(xt.scipy.linalg.det(np.array([[2.0, 0.0], [0.0, 3.0]])))
      6.0
    """
    return linear_systems.det(a)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Singular value decomposition: see `numpy.linalg.svd`.

    Args:
      a: [..., m, n].
      full_matrices: whether U and Vh are square; else they have min(m, n) columns and rows.
      compute_uv: whether they are wanted.
      overwrite_a, check_finite, lapack_driver: have no effect.

    Returns:
      (U, S, Vh), or S, which is real and descends.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.scipy.linalg.svd(np.array([[3.0, 0.0], [0.0, 4.0]]))[1].tolist()
      [4.0, 3.0]
    """
    out = matrix_factors.svd(a, full_matrices, compute_uv)
    return tuple(out) if compute_uv else out


@composite(static_argnames=("output",))
def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """Schur decomposition: a = Z T Z^H; output="complex" makes T triangular for real a too.

    Args:
      a: [..., n, n].
      output: "real" or "complex".

    Returns:
      (T, Z).

    Raises:
      ValueError: there is no such output.

    >>> import numpy as np, xtrace as xt
    >>> xt.scipy.linalg.schur(np.array([[1.0, 2.0], [0.0, 3.0]]))[0].tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    from xtrace.core import dtypes

    if output not in ("real", "complex"):
        raise ValueError(f"Expected 'output' to be either 'real' or 'complex', got output={output!r}.")
    (a,) = promotion.promote_args_inexact("linalg.schur", a)
    if output == "complex" and not dtypes.is_complex(shaped(a).dtype):
        a = shapes.convert_element_type(a, dtypes.to_complex(shaped(a).dtype))
    t, z = lax_linalg.schur(a)
    return t, z
