"""Linear systems and determinants: solve, inv, det, lstsq, pinv and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import comparisons, creation, custom_functions, identities, reductions, selection, shapes, slicing
from xtrace.lax import elementwise as el
from xtrace.lax.control_flow import solves
from xtrace.lax.linalg import lu_factors
from xtrace.lax.linalg import matrices as mx
from xtrace.numpy import promotion
from xtrace.numpy import reductions as red
from xtrace.numpy.arguments import canonical_axes


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Any
    logabsdet: Any


def square(name: str, a: Any) -> tuple[int, ...]:
    """The shape of `a`; raises unless it is of square matrices."""
    shape = shaped(a).shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"Argument to {name}() must have shape [..., n, n], got {shape}")
    return shape  # type: ignore[no-any-return]


def with_batch(x: Any, batch: tuple[int, ...]) -> Any:
    """Matrices broadcast to a batch's shape."""
    return red.broadcast(x, (*batch, *shaped(x).shape[-2:]))


def solve_with(a: Any, b: Any) -> Any:
    """x with a x = b, of matrices with equal leading axes; derivatives solve with the same factors."""
    factors, _, permutation = lu_factors.lu(identities.stop_gradient(a))
    return solves.custom_linear_solve(
        lambda x: mx.matmul(a, x),
        b,
        lambda _, y: lu_factors.solve_factored(factors, permutation, y),
        lambda _, y: lu_factors.solve_factored(factors, permutation, y, 1),
    )


@composite
def solve(a: Any, b: Any) -> Any:
    """Solve a x = b.

    Args:
      a: [..., n, n].
      b: [n], or [..., n, k].

    Returns:
      x: of the shape of b, with the leading axes broadcast.

    Raises:
      ValueError: shapes that don't match.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.linalg.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 4.0])).tolist()
    [1.0, 1.0]
    """
    a, b = promotion.promote("linalg.solve", (a, b), "inexact", ranks=False)
    shape, shape_b = square("solve", a), shaped(b).shape
    vector = len(shape_b) == 1
    if not shape_b or shape_b[0 if vector else -2] != shape[-1]:
        raise ValueError(f"solve: b must have size {shape[-1]} in its {'first' if vector else 'second to last'} axis, "
                         f"got shapes {shape} and {shape_b}")  # fmt: skip
    if vector:
        b = mx.rows(b)
    batch = red.common_shape([shape[:-2], shaped(b).shape[:-2]])
    out = solve_with(with_batch(a, batch), with_batch(b, batch))
    return shapes.squeeze(out, (len(batch) + 1,)) if vector else out


@composite
def inv(a: Any) -> Any:
    """The inverses of square matrices.

    Args:
      a: [..., n, n].

    Returns:
      [..., n, n]; infinities or NaN where a is singular.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    (a,) = promotion.promote_args_inexact("linalg.inv", a)
    shape = square("inv", a)
    return solve_with(a, mx.identity(shape, shaped(a).dtype))


def _sign_and_pivots(a: Any) -> tuple[Any, Any]:
    """The sign of the row exchanges of an LU decomposition, and the diagonal of U."""
    factors, pivots, _ = lu_factors.lu(a)
    axis = shaped(pivots).ndim - 1
    aval = shaped(pivots)
    moved = comparisons.ne(pivots, creation.broadcasted_iota(dtypes.int32, aval.shape, axis))
    count = reductions.reduce_sum(shapes.convert_element_type(moved, dtypes.int32), (axis,))
    odd = el.rem(count, el.scalar_like(count, 2))
    sign = el.sub(el.scalar_like(odd, 1), el.mul(el.scalar_like(odd, 2), odd))
    return shapes.convert_element_type(sign, shaped(a).dtype), mx.diagonal(factors)


def _slogdet(a: Any) -> tuple[Any, Any]:
    sign, pivots = _sign_and_pivots(a)
    axis = shaped(pivots).ndim - 1
    size = el.abs(pivots)
    log = reductions.reduce_sum(el.log(size), (axis,))
    zero = shapes.full(shaped(pivots).shape, 0, shaped(pivots).dtype)
    units = el.sign(pivots)
    singular = reductions.reduce_or(comparisons.eq(pivots, zero), (axis,))
    sign = el.mul(sign, reductions.reduce_prod(units, (axis,)))
    shape = shaped(sign).shape
    sign = selection.select(singular, shapes.full(shape, 0, shaped(sign).dtype), sign)
    return sign, selection.select(singular, shapes.full(shape, -math.inf, shaped(log).dtype), log)


_slogdet_rule = custom_functions.custom_jvp(_slogdet)


@_slogdet_rule.defjvp
def _slogdet_jvp(primals: Any, tangents: Any) -> Any:
    """d log|det a| + i d arg(det a) = the trace of a^-1 da."""
    (a,), (a_dot,) = primals, tangents
    sign, log = _slogdet_rule(a)
    ratio = mx.diagonal(solve_with(a, a_dot))
    trace = reductions.reduce_sum(ratio, (shaped(ratio).ndim - 1,))
    if not dtypes.is_complex(shaped(a).dtype):
        return (sign, log), (el.mul(sign, el.scalar_like(sign, 0)), trace)
    real = el.real(trace)
    turn = el.sub(trace, el.complex(real, el.mul(real, el.scalar_like(real, 0))))
    return (sign, log), (el.mul(turn, sign), real)


@composite(static_argnames=("method",))
def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """Signs and logarithms of absolute values of determinants.

    Args:
      a: [..., n, n].
      method: "lu" or None.

    Returns:
      (sign, logabsdet); sign 0 and -inf where a is singular.

    Raises:
      ValueError: there is no such method, or a matrix isn't square.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.linalg.slogdet(np.array([[0.0, 1.0], [1.0, 0.0]])).sign)
    -1.0
    """
    if method not in (None, "lu"):
        raise ValueError(f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`).")
    (a,) = promotion.promote_args_inexact("linalg.slogdet", a)
    square("slogdet", a)
    return SlogdetResult(*_slogdet_rule(a))


def _det(a: Any) -> Any:
    sign, pivots = _sign_and_pivots(a)
    return el.mul(sign, reductions.reduce_prod(pivots, (shaped(pivots).ndim - 1,)))


_det_rule = custom_functions.custom_jvp(_det)


@_det_rule.defjvp
def _det_jvp(primals: Any, tangents: Any) -> Any:
    """d det a = the trace of adj(a) da.

    The adjugate of a = u diag(s) vh is det(u vh) v diag(products of the other s) u^H, for singular a too.
    """
    from xtrace.lax.linalg.singular_values import svd

    (a,), (a_dot,) = primals, tangents
    u, s, vh = svd(a)
    n = shaped(s).shape[-1]
    square_s = red.broadcast(mx.columns(s), (*shaped(s).shape, n))
    eye = mx.identity(shaped(square_s).shape, dtypes.bool_)
    others = selection.select(eye, shapes.full(shaped(square_s).shape, 1, shaped(s).dtype), square_s)
    products = shapes.convert_element_type(reductions.reduce_prod(others, (shaped(others).ndim - 1,)), shaped(a).dtype)
    turn = _det_rule(mx.matmul(u, vh))
    inner = mx.matmul(mx.matmul(mx.adjoint(u), a_dot), mx.adjoint(vh))
    total = reductions.reduce_sum(el.mul(products, mx.diagonal(inner)), (shaped(s).ndim - 1,))
    return _det_rule(a), el.mul(turn, total)


@composite
def det(a: Any) -> Any:
    """Determinants.

    Args:
      a: [..., n, n].

    Returns:
      An array of shape [...].

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.linalg.det(np.array([[2.0, 0.0], [1.0, 3.0]])))
    6.0
    """
    (a,) = promotion.promote_args_inexact("linalg.det", a)
    n = square("det", a)[-1]
    if n == 0:
        return shapes.full(shaped(a).shape[:-2], 1, shaped(a).dtype)
    if n <= 3:
        return _small_det(a, n)
    return _det_rule(a)


def _small_det(a: Any, n: int) -> Any:
    def at(i: int, j: int) -> Any:
        row = slicing.index_in_dim(a, i, shaped(a).ndim - 2, keepdims=False)
        return slicing.index_in_dim(row, j, shaped(row).ndim - 1, keepdims=False)

    if n == 1:
        return at(0, 0)
    if n == 2:
        return el.sub(el.mul(at(0, 0), at(1, 1)), el.mul(at(0, 1), at(1, 0)))
    terms = []
    for j in range(3):
        k, m = (j + 1) % 3, (j + 2) % 3
        terms.append(el.mul(at(0, j), el.sub(el.mul(at(1, k), at(2, m)), el.mul(at(1, m), at(2, k)))))
    return el.add(el.add(terms[0], terms[1]), terms[2])


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of a tensor as a linear map from its last axes to its first `ind`.

    Args:
      a: array whose first `ind` sizes and other sizes have one product.
      ind: how many.

    Returns:
      The inverse, with the last dimensions of `a` first.

    Raises:
      ValueError: `ind` isn't positive, or the two products differ.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.linalg.tensorinv(np.eye(4).reshape(2, 2, 4), 2).shape
    (4, 2, 2)
    """
    ind = statics.integer(ind, "ind")
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be a positive integer, got {ind}")
    a = red.operand("linalg.tensorinv", a)
    shape = shaped(a).shape
    n = math.prod(shape[:ind])
    if math.prod(shape[ind:]) != n:
        raise ValueError(f"tensorinv: the products of {shape[:ind]} and {shape[ind:]} must be equal")
    return shapes.reshape(inv(shapes.reshape(a, (n, n))), (*shape[ind:], *shape[:ind]))


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Any:
    """x with tensordot(a, x, x.ndim) = b.

    Args:
      a: array of shape (*b.shape, *x.shape), both of one size.
      b: array.
      axes: axes of `a` to move to its end first.

    Returns:
      The solution x.

    Raises:
      ValueError: `a` is no square map.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.linalg.tensorsolve(np.eye(4).reshape(2, 2, 4), np.ones((2, 2))).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    a, b = red.operand("linalg.tensorsolve", a), red.operand("linalg.tensorsolve", b)
    ndim = shaped(a).ndim
    if axes is not None:
        moved = canonical_axes(axes, ndim, "axes")
        a = shapes.transpose(a, [*[i for i in range(ndim) if i not in moved], *moved])
    rest = shaped(a).shape[shaped(b).ndim :]
    n = math.prod(shaped(b).shape)
    if math.prod(rest) != n:
        raise ValueError(f"tensorsolve: a of shape {shaped(a).shape} is no square map for b of shape {shaped(b).shape}")
    return shapes.reshape(solve(shapes.reshape(a, (n, n)), shapes.reshape(b, (n,))), rest)
