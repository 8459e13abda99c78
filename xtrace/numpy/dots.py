"""Products of vectors, matrices and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core import config, dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import bitwise, comparisons, creation, joining, selection, shapes, slicing
from xtrace.lax import dots as lax_dots
from xtrace.lax import elementwise as el
from xtrace.lax.precision import canonical_precision
from xtrace.numpy import promotion
from xtrace.numpy import reductions as red
from xtrace.numpy.arguments import canonical_axis
from xtrace.numpy.contraction import contract, plan_contraction
from xtrace.numpy.reductions import operand
from xtrace.transforms.placement import held

_STATIC = ("precision", "preferred_element_type", "out_sharding")
_enable_x64 = config.enable_x64.state
_dtype_promotion = config.numpy_dtype_promotion
_plans: dict[Any, Any] = {}


def product_dtype(preferred: Any, *operands: Any) -> tuple[Any, bool]:
    """(dtype, weak type) of a product: `preferred`, or what the operands promote to."""
    if preferred is not None:
        return dtypes.canonical_dtype(preferred), False
    return dtypes.promote(tuple([dtypes.of_value(x) for x in operands]))


def _finish(out: Any, dtype: Any, weak: bool) -> Any:
    return out if not weak else shapes.convert(out, dtype, True)


def planned_product(
    name: str, make_labels: Any, a: Any, b: Any, precision: Any, preferred: Any, out_sharding: Any = None
) -> Any:
    """A product of two arrays by labels; make_labels: ranks -> labels of the operands and the result."""
    a, b = operand(name, a), operand(name, b)
    left, right = shaped(a), shaped(b)
    if preferred is not None:
        preferred = dtypes.canonical_dtype(preferred)
    key = (name, left, right, preferred, _enable_x64.value, _dtype_promotion.value)
    found = _plans.get(key)
    if found is None:
        labels = make_labels(left.shape, right.shape)
        plan = plan_contraction(labels[0], left.shape, labels[1], right.shape, labels[2], f"numpy.{name}")
        if len(_plans) > 10_000:
            _plans.clear()
        found = _plans[key] = (plan, *product_dtype(preferred, a, b))
    plan, dtype, weak = found
    out = _finish(contract(plan, a, b, canonical_precision(precision), dtype), dtype, weak)
    return out if out_sharding is None else held(name, out, out_sharding)


def _matmul_labels(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[list[str], list[str], list[str]]:
    for i, shape in enumerate((left, right)):
        if not shape:
            raise ValueError(f"matmul input operand {i} must have ndim at least 1, but it has ndim 0")
    contracted = (left[-1], right[-2] if len(right) > 1 else right[0])
    if contracted[0] != contracted[1]:
        raise TypeError(
            f"matmul requires contracting dimensions to have the same shape, got ({contracted[0]},) and "
            f"({contracted[1]},): the last of {left} and the {'second to last' if len(right) > 1 else 'only'} one of "
            f"{right}."
        )
    rank = max(len(left), len(right)) - 2
    batch = [f"batch {i}" for i in range(rank)]
    for a, b in zip(left[:-2][::-1], right[:-2][::-1]):
        if a != b and 1 not in (a, b):
            raise ValueError(f"Incompatible shapes for matmul arguments: {left} and {right}")
    rows, columns = ["m"] if len(left) > 1 else [], ["n"] if len(right) > 1 else []
    left_batch = batch[rank - (len(left) - 2) :] if len(left) > 2 else []
    right_batch = batch[rank - (len(right) - 2) :] if len(right) > 2 else []
    return [*left_batch, *rows, "k"], [*right_batch, "k", *columns], [*batch, *rows, *columns]


@composite(static_argnames=_STATIC)
def matmul(
    a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None
) -> Any:
    """Matrix product over the last two dimensions, the ones in front broadcasting.

    Args:
      a: shape (..., m, k), or (k,).
      b: shape (..., k, n), or (k,).
      precision: as in `lax.dot_general`.
      preferred_element_type: dtype in which to sum and return.
      out_sharding: sharding of the result, if it should have a particular one.

    Returns:
      Shape (..., m, n), without m or n where an operand is a vector.

    Raises:
      ValueError: a scalar, or leading dimensions that don't broadcast.
      TypeError: sizes k that differ.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.matmul(np.ones((7, 2, 3)), np.ones((3, 4))).shape
    (7, 2, 4)
    """
    return planned_product("matmul", _matmul_labels, a, b, precision, preferred_element_type, out_sharding)


@composite(static_argnames=_STATIC)
def dot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """Sum of products over the last dimension of `a` and the second to last of `b` (or its only one).

    Args:
      a, b: arrays; with a scalar this is the elementwise product.
      precision: as in `lax.dot_general`.
      preferred_element_type: dtype in which to sum and return.
      out_sharding: sharding of the result, if it should have a particular one.

    Returns:
      An array with the other dimensions of `a`, then those of `b`.

    Raises:
      TypeError: sizes that differ.

    >>> import numpy as np, xtrace as xt
    >>> int(xt.numpy.dot(np.array([1, 2]), np.array([3, 4])))
    11
    """
    a, b = operand("dot", a), operand("dot", b)
    left, right = shaped(a).ndim, shaped(b).ndim
    if left == 0 or right == 0:
        numbers: lax_dots.Dimensions = (((), ()), ((), ()))
    else:
        numbers = (((left - 1,), (right - 2 if right > 1 else 0,)), ((), ()))
    return _bind(a, b, numbers, precision, preferred_element_type, out_sharding)


def _bind(
    a: Any, b: Any, numbers: lax_dots.Dimensions, precision: Any, preferred: Any, out_sharding: Any = None
) -> Any:
    dtype, weak = product_dtype(preferred, a, b)
    out = lax_dots.bind_dot(a, b, numbers, canonical_precision(precision), dtype, out_sharding)
    return _finish(out, dtype, weak)


@composite(static_argnames=("precision", "preferred_element_type"))
def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sum of the products of all elements, those of `a` conjugated.

    Args:
      a, b: arrays with the same number of elements.
      precision: as in `lax.dot_general`.
      preferred_element_type: dtype in which to sum and return.

    Returns:
      A scalar.

    Raises:
      TypeError: the numbers of elements differ.

    >>> import numpy as np, xtrace as xt
    >>> complex(xt.numpy.vdot(np.array([1j, 2]), np.array([1j, 3])))
    (7+0j)
    """
    a, b = operand("vdot", a), operand("vdot", b)
    if dtypes.is_complex(shaped(a).dtype):
        a = el.conj(a)
    return _bind(_flat(a), _flat(b), (((0,), (0,)), ((), ())), precision, preferred_element_type)


def _flat(x: Any) -> Any:
    return shapes.reshape(x, (shaped(x).size,))


def _vecdot_labels(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[list[str], list[str], list[str]]:
    rank = max(len(left), len(right)) - 1
    batch = [f"batch {i}" for i in range(rank)]
    return [*batch[rank - len(left) + 1 :], "n"], [*batch[rank - len(right) + 1 :], "n"], batch


@composite(static_argnames=("axis", "precision", "preferred_element_type"))
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sums of products along an axis, elements of `x1` conjugated, other dimensions broadcasting.

    Args:
      x1, x2: arrays of at least one dimension.
      axis: axis of both to sum over.
      precision: as in `lax.dot_general`.
      preferred_element_type: dtype in which to sum and return.

    Returns:
      The broadcast shape without the axis.

    Raises:
      ValueError: sizes along the axis that differ, or other dimensions that don't broadcast.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.vecdot(np.array([[1, 2], [3, 4]]), np.array([1, 1])).tolist()
    [3, 7]
    """
    x1, x2 = operand("vecdot", x1), operand("vecdot", x2)
    left, right = shaped(x1), shaped(x2)
    i, j = canonical_axis(axis, left.ndim), canonical_axis(axis, right.ndim)
    if left.shape[i] != right.shape[j]:
        raise ValueError(f"axes must match; got shapes {left.shape} and {right.shape} with axis={axis}")
    if dtypes.is_complex(left.dtype):
        x1 = el.conj(x1)
    return planned_product("vecdot", _vecdot_labels, _last(x1, i), _last(x2, j), precision, preferred_element_type)


def _last(x: Any, axis: int) -> Any:
    """`x` with `axis` moved to the end."""
    ndim = shaped(x).ndim
    return shapes.transpose(x, [*[i for i in range(ndim) if i != axis], axis])


def _matvec_labels(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[list[str], list[str], list[str]]:
    _at_least("matvec", left, 2, right, 1)
    _same("matvec", left, -1, right, -1)
    rank = max(len(left) - 2, len(right) - 1)
    batch = [f"batch {i}" for i in range(rank)]
    return [*batch[rank - len(left) + 2 :], "m", "n"], [*batch[rank - len(right) + 1 :], "n"], [*batch, "m"]


def _vecmat_labels(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[list[str], list[str], list[str]]:
    _at_least("vecmat", left, 1, right, 2)
    _same("vecmat", left, -1, right, -2)
    rank = max(len(left) - 1, len(right) - 2)
    batch = [f"batch {i}" for i in range(rank)]
    return [*batch[rank - len(left) + 1 :], "n"], [*batch[rank - len(right) + 2 :], "n", "m"], [*batch, "m"]


def _at_least(name: str, left: tuple[int, ...], left_rank: int, right: tuple[int, ...], right_rank: int) -> None:
    if len(left) < left_rank or len(right) < right_rank:
        raise ValueError(
            f"{name} needs operands of at least {left_rank} and {right_rank} dimensions, got shapes {left} and {right}"
        )


def _same(name: str, left: tuple[int, ...], i: int, right: tuple[int, ...], j: int) -> None:
    if left[i] != right[j]:
        raise ValueError(
            f"{name} sums over the sizes {left[i]} and {right[j]}, which differ: shapes {left} and {right}"
        )


@composite
def matvec(x1: Any, x2: Any, /) -> Any:
    """Products of matrices and vectors: shapes (..., m, n) and (..., n) to (..., m).

    Args:
      x1: matrices, (..., m, n).
      x2: vectors, (..., n); leading dimensions broadcast.

    Returns:
      The products, (..., m).

    Raises:
      ValueError: shapes that don't fit.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.matvec(np.array([[1, 2], [3, 4]]), np.array([1, 1])).tolist()
    [3, 7]
    """
    return planned_product("matvec", _matvec_labels, x1, x2, None, None)


@composite
def vecmat(x1: Any, x2: Any, /) -> Any:
    """Products of conjugated vectors and matrices: shapes (..., n) and (..., n, m) to (..., m).

    Args:
      x1: vectors, (..., n).
      x2: matrices, (..., n, m); leading dimensions broadcast.

    Returns:
      The products, (..., m).

    Raises:
      ValueError: shapes that don't fit.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.vecmat(np.array([1, 1]), np.array([[1, 2], [3, 4]])).tolist()
    [4, 6]
    """
    x1 = operand("vecmat", x1)
    if dtypes.is_complex(shaped(x1).dtype):
        x1 = el.conj(x1)
    return planned_product("vecmat", _vecmat_labels, x1, x2, None, None)


@composite(static_argnames=("precision", "preferred_element_type"))
def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Sums of products over the last dimensions of both arrays.

    Args:
      a, b: arrays whose last dimensions have one size; scalars multiply.
      precision: as in `lax.dot_general`.
      preferred_element_type: dtype in which to sum and return.

    Returns:
      An array with the other dimensions of `a`, then those of `b`.

    Raises:
      TypeError: last dimensions of different sizes.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.inner(np.array([[1, 2], [3, 4]]), np.array([1, 1])).tolist()
    [3, 7]
    """
    a, b = operand("inner", a), operand("inner", b)
    left, right = shaped(a).ndim, shaped(b).ndim
    if left == 0 or right == 0:
        numbers: lax_dots.Dimensions = (((), ()), ((), ()))
    else:
        numbers = (((left - 1,), (right - 1,)), ((), ()))
    return _bind(a, b, numbers, precision, preferred_element_type)


@composite
def outer(a: Any, b: Any, out: None = None) -> Any:
    """Products of all pairs of elements: shape (size of a, size of b).

    Args:
      a, b: arrays, which are flattened.
      out: not supported.

    Returns:
      A matrix.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.outer(np.array([1, 2]), np.array([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    red.refuse_out("outer", out)
    promotion.check_arraylike("outer", a, b)
    a, b = promotion.promote_dtypes(promotion.operand(a), promotion.operand(b))
    column, row = shapes.expand_dims(_flat(a), (1,)), shapes.expand_dims(_flat(b), (0,))
    if shaped(column).dtype == dtypes.bool_:
        shape = (shaped(column).shape[0], shaped(row).shape[1])
        return bitwise.bitwise_and(red.broadcast(column, shape), red.broadcast(row, shape))
    return el.mul(column, row)


def _tensordot_axes(axes: Any, left: int, right: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions of each operand that `axes` contracts."""
    if not hasattr(axes, "__iter__"):
        n = statics.integer(axes, "axes")
        if n > min(left, right):
            raise TypeError(f"Number of tensordot axes (axes {n}) exceeds input ranks ({left} and {right})")
        return tuple(range(left - n, left)), tuple(range(n))
    if len(axes) != 2:
        raise TypeError(f"tensordot axes must be an integer or two sequences of axes (or two axes), got {axes}")
    first, second = (tuple(x) if isinstance(x, Sequence) or hasattr(x, "__iter__") else (x,) for x in axes)
    if len(first) != len(second):
        raise TypeError(f"tensordot requires axes of one length, got {len(first)} and {len(second)}: {axes}")
    return tuple([canonical_axis(i, left) for i in first]), tuple([canonical_axis(i, right) for i in second])


def tensordot(
    a: Any,
    b: Any,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Sums of products over pairs of axes.

    Args:
      a, b: arrays.
      axes: how many of the last axes of `a` meet the first ones of `b`; or the axes of each.
      precision: as in `lax.dot_general`.
      preferred_element_type: dtype in which to sum and return.
      out_sharding: sharding of the result, if it should have a particular one.

    Returns:
      An array with the other dimensions of `a`, then those of `b`.

    Raises:
      TypeError: axes that don't pair up.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.tensordot(np.ones((2, 3, 4)), np.ones((3, 4, 5))).shape
    (2, 5)
    """
    a, b = operand("tensordot", a), operand("tensordot", b)
    contracted = _tensordot_axes(axes, shaped(a).ndim, shaped(b).ndim)
    return _tensordot(a, b, contracted, precision, preferred_element_type, out_sharding)


@composite(static_argnames=("contracted", "precision", "preferred", "out_sharding"))
def _tensordot(a: Any, b: Any, contracted: Any, precision: Any, preferred: Any, out_sharding: Any) -> Any:
    return _bind(a, b, (contracted, ((), ())), precision, preferred, out_sharding)


@composite
def kron(a: Any, b: Any) -> Any:
    """Kronecker product: each element of `a` times the whole of `b`, in blocks.

    Args:
      a, b: arrays; the one with fewer dimensions gets leading ones of size 1.

    Returns:
      An array whose sizes are the products of theirs.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.kron(np.array([1, 10]), np.array([1, 2])).tolist()
    [1, 2, 10, 20]
    """
    promotion.check_arraylike("kron", a, b)
    a, b = promotion.promote_dtypes(promotion.operand(a), promotion.operand(b))
    left, right = shaped(a).shape, shaped(b).shape
    rank = max(len(left), len(right))
    left, right = (1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right
    a, b = shapes.reshape(a, left), shapes.reshape(b, right)
    a = shapes.expand_dims(a, tuple(range(1, 2 * rank, 2)))
    b = shapes.expand_dims(b, tuple(range(0, 2 * rank, 2)))
    product = el.mul(a, b) if shaped(a).dtype != dtypes.bool_ else _and(a, b)
    return shapes.reshape(product, [x * y for x, y in zip(left, right)])


def _and(a: Any, b: Any) -> Any:
    shape = red.common_shape((shaped(a).shape, shaped(b).shape))
    return bitwise.bitwise_and(red.broadcast(a, shape), red.broadcast(b, shape))


@composite(static_argnames=("axisa", "axisb", "axisc", "axis"))
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Cross product of vectors of three elements, other dimensions broadcasting.

    Args:
      a, b: arrays with a dimension of size 3.
      axisa, axisb, axisc: that dimension in `a`, `b` and the result.
      axis: all three of them.

    Returns:
      The products.

    Raises:
      ValueError: a dimension of another size.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.cross(np.array([1, 0, 0]), np.array([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    promotion.check_arraylike("cross", a, b)
    a, b = promotion.promote_dtypes(promotion.operand(a), promotion.operand(b))
    parts = []
    for x, place in ((a, axisa), (b, axisb)):
        i = canonical_axis(place, shaped(x).ndim)
        if shaped(x).shape[i] != 3:
            raise ValueError(
                f"Dimension must be 3 for cross product, got size {shaped(x).shape[i]} along axis {place} of shape "
                f"{shaped(x).shape}; put a 0 in third place of vectors of two elements."
            )
        parts.append([slicing.index_in_dim(x, k, i, keepdims=False) for k in range(3)])
    shape = red.common_shape((shaped(parts[0][0]).shape, shaped(parts[1][0]).shape))
    u, v = ([red.broadcast(x, shape) for x in part] for part in parts)
    out = [el.sub(el.mul(u[i], v[j]), el.mul(u[j], v[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    place = canonical_axis(axisc, len(shape) + 1)
    return joining.concatenate([shapes.expand_dims(x, (place,)) for x in out], place)


@composite(static_argnames=("offset", "axis1", "axis2", "dtype"))
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None) -> Any:
    """Sum of a diagonal of two axes.

    Args:
      a: array of at least two dimensions.
      offset: how far the diagonal is above the main one.
      axis1, axis2: the axes.
      dtype: dtype to sum in and return; as in `sum`.
      out: not supported.

    Returns:
      The sums, without the two axes.

    Raises:
      ValueError: `a` has fewer than two dimensions, or the axes are one.

    >>> import numpy as np, xtrace as xt
    >>> int(xt.numpy.trace(np.array([[1, 2], [3, 4]])))
    5
    """
    red.refuse_out("trace", out)
    a = operand("trace", a)
    aval = shaped(a)
    if aval.ndim < 2:
        raise ValueError(f"trace needs at least two dimensions, got shape {aval.shape}")
    i, j = canonical_axis(axis1, aval.ndim), canonical_axis(axis2, aval.ndim)
    if i == j:
        raise ValueError(f"trace: axis1 and axis2 can not be same, got axis1={axis1} and axis2={axis2}")
    row = creation.broadcasted_iota(dtypes.int32, aval.shape, i)
    column = creation.broadcasted_iota(dtypes.int32, aval.shape, j)
    if not (isinstance(offset, int) and offset == 0):
        row = el.add(row, shapes.convert(offset, dtypes.int32, False))
    zeros = red.filled(aval.shape, el.scalar_like(a, 0))
    diagonal = selection.select(comparisons.eq(row, column), shapes.convert(a, aval.dtype, False), zeros)
    return red.reduce(red.SUM, diagonal, (i, j), dtype)
