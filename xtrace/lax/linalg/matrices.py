"""What decompositions share: checks, batching, and the small operations on the last two axes of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import comparisons, creation, dots, joining, reductions, selection, shapes, slicing
from xtrace.lax import elementwise as el
from xtrace.lax.precision import Precision
from xtrace.lax.rules import check_dtype
from xtrace.transforms.batching import MappedAxis, move_axis

#: Dtypes that matrices are decomposed in: those of LAPACK's routines.
ROUTINES = ("float32", "float64", "complex64", "complex128")


def check_matrices(
    name: str, aval: ShapedArray, square: bool = False, operand: str = "operand", any_width: bool = False
) -> None:
    """Raise unless `aval` is of (square) matrices of an inexact dtype, one that has routines if not `any_width`."""
    check_dtype(name, aval, "fc", operand)
    if not any_width and aval.dtype.name not in ROUTINES:
        raise TypeError(
            f"{name} does not accept dtype {aval.dtype} for its {operand}: there are routines for "
            f"{', '.join(ROUTINES)}; cast it with .astype('float32')"
        )
    if aval.ndim < 2 or (square and aval.shape[-1] != aval.shape[-2]):
        wanted = "square matrices: shape [..., n, n]" if square else "matrices: shape [..., m, n]"
        raise ValueError(f"{name}: the {operand} must be {wanted}; got shape {aval.shape}")


def decomposition(name: str, abstract_eval: Any, multiple_results: bool = True) -> Primitive:
    """Declare a primitive that works on the last axes of its operands, each leading index by itself."""
    primitive = Primitive(name, abstract_eval)
    primitive.multiple_results = multiple_results

    def batch(axis: MappedAxis, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        outs = primitive.bind(*[move_axis(x, d, 0, axis.size) for x, d in zip(args, dims, strict=True)], **params)
        return (outs, [0] * len(outs)) if multiple_results else (outs, 0)

    primitive.batch = batch
    return primitive


def transposed(x: Any) -> Any:
    """The matrices transposed."""
    n = shaped(x).ndim
    return shapes.transpose(x, (*range(n - 2), n - 1, n - 2))


def conjugated(x: Any) -> Any:
    """The complex conjugate; a real `x` as it is."""
    return el.conj(x) if dtypes.is_complex(shaped(x).dtype) else x


def adjoint(x: Any) -> Any:
    """The matrices transposed and conjugated."""
    return conjugated(transposed(x))


def matmul(x: Any, y: Any) -> Any:
    """Products of matrices with equal leading axes, in the highest precision."""
    n = shaped(x).ndim
    lead = tuple(range(n - 2))
    return dots.dot_general(x, y, (((n - 1,), (n - 2,)), (lead, lead)), precision=Precision.HIGHEST)


def _positions(shape: tuple[int, ...]) -> tuple[Any, Any]:
    n = len(shape)
    return tuple(creation.broadcasted_iota(dtypes.int32, shape, d) for d in (n - 2, n - 1))  # type: ignore[return-value]


def triangle(x: Any, lower: bool, k: int = 0) -> Any:
    """`x` with zeros above (below, if not `lower`) its kth diagonal."""
    shape, dtype = shaped(x).shape, shaped(x).dtype
    row, column = _positions(shape)
    row = el.add(row, shapes.full((), k, dtypes.int32)) if k else row
    kept = comparisons.ge(row, column) if lower else comparisons.le(row, column)
    return selection.select(kept, x, shapes.full(shape, 0, dtype))


def identity(shape: tuple[int, ...], dtype: Any) -> Any:
    """Matrices with ones on the diagonal, of `shape`."""
    row, column = _positions(shape)
    return shapes.convert_element_type(comparisons.eq(row, column), dtype)


def diagonal(x: Any) -> Any:
    """The diagonals of matrices."""
    aval = shaped(x)
    size = min(aval.shape[-2:])
    x = sliced(x, size, size)
    row, column = _positions(shaped(x).shape)
    kept = selection.select(comparisons.eq(row, column), x, shapes.full(shaped(x).shape, 0, aval.dtype))
    return reductions.reduce_sum(kept, (aval.ndim - 2,))


def columns(v: Any) -> Any:
    """Vectors [..., n] as [..., 1, n]: they scale the columns of matrices."""
    return shapes.expand_dims(v, (shaped(v).ndim - 1,))


def rows(v: Any) -> Any:
    """Vectors [..., n] as [..., n, 1]: they scale the rows of matrices."""
    return shapes.expand_dims(v, (shaped(v).ndim,))


def constant(x: Any, value: Any) -> Any:
    """`value` as a scalar of the dtype of `x`."""
    return el.scalar_like(x, value)


def symmetrized(x: Any) -> Any:
    """The mean of matrices and their adjoints."""
    return el.div(el.add(x, adjoint(x)), constant(x, 2))


def padded(x: Any, config: Any) -> Any:
    """`x` with zeros around it."""
    return joining.pad(x, el.scalar_like(x, 0), config)


def sliced(x: Any, rows: int, columns: int) -> Any:
    """The first rows and columns of matrices."""
    aval = shaped(x)
    if aval.shape[-2:] == (rows, columns):
        return x
    return slicing.slice(x, (0,) * aval.ndim, (*aval.shape[:-2], rows, columns))
