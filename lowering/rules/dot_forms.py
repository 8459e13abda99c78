"""The forms in which a dot product can be written for XLA's CPU backend, and which of them a product gets."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.lax.dots import Dimensions, free_dimensions
from xtrace.lowering.lower import Body
from xtrace.lowering.rules.reductions import reduce_by
from xtrace.runtime import jaxlib_api


class Product(NamedTuple):
    """A product of two arrays: their dimensions by what becomes of them, and sizes of the product of each kind."""

    lhs: ShapedArray
    rhs: ShapedArray
    out: ShapedArray
    numbers: Dimensions
    lhs_free: list[int]
    rhs_free: list[int]
    batch: int
    contracted: int
    rows: int
    columns: int


@functools.lru_cache(maxsize=4096)
def product_of(lhs: ShapedArray, rhs: ShapedArray, out: ShapedArray, numbers: Dimensions) -> Product | None:
    """The product, or None where a size is not known."""
    if any([type(n) is not int for n in (*lhs.shape, *rhs.shape)]):
        return None
    (lc, rc), (lb, rb) = numbers
    lhs_free, rhs_free = free_dimensions(lhs.ndim, lc, lb), free_dimensions(rhs.ndim, rc, rb)
    return Product(
        lhs=lhs,
        rhs=rhs,
        out=out,
        numbers=numbers,
        lhs_free=lhs_free,
        rhs_free=rhs_free,
        batch=math.prod([lhs.shape[d] for d in lb]),
        contracted=math.prod([lhs.shape[d] for d in lc]),
        rows=math.prod([lhs.shape[d] for d in lhs_free]),
        columns=math.prod([rhs.shape[d] for d in rhs_free]),
    )


def _computed(p: Product) -> Any:
    """The dtype to multiply and sum in: XLA's dots sum what is narrower than float32 in float32."""
    out = p.out.dtype
    if dtypes.is_integer(out):
        return out
    wide = np.result_type(np.float32, *[d for d in (p.lhs.dtype, out) if d.itemsize >= 4])
    return dtypes.as_dtype(wide)


def _convert(ctx: Body, x: Any, aval: ShapedArray, dtype: Any) -> Any:
    return x if aval.dtype == dtype else ctx.op("stablehlo.convert", aval.update(dtype=dtype), [x])


def _places(p: Product) -> tuple[list[int], list[int]]:
    """Where the dimensions of each operand lie among those of the result followed by the contracted ones."""
    (lc, rc), (lb, rb) = p.numbers
    n, rank = len(lb), p.out.ndim
    found = []
    for ndim, contract, batch, free, start in (
        (p.lhs.ndim, lc, lb, p.lhs_free, n),
        (p.rhs.ndim, rc, rb, p.rhs_free, n + len(p.lhs_free)),
    ):
        place = [0] * ndim
        for dims, first in ((batch, 0), (free, start), (contract, rank)):
            for i, d in enumerate(dims):
                place[d] = first + i
        found.append(place)
    return found[0], found[1]


def _multiply(ctx: Body, operands: Any, places: Any, wide: ShapedArray) -> Any:
    """The product element by element of arrays whose dimensions lie at `places` among those of `wide`."""
    broadcast = [
        ctx.op("stablehlo.broadcast_in_dim", wide, [x], {"broadcast_dimensions": ctx.mlir.i64_array(place)})
        for x, place in zip(operands, places)
    ]
    return ctx.op("stablehlo.multiply", wide, broadcast)


def _outer(ctx: Body, p: Product, lhs: Any, rhs: Any, attributes: dict[str, Any]) -> Any:
    """Multiplied element by element, where nothing is summed."""
    (lc, rc), _ = p.numbers
    operands, places = [], []
    for x, aval, contract, place in zip((lhs, rhs), (p.lhs, p.rhs), (lc, rc), _places(p)):
        kept = [d for d in range(aval.ndim) if d not in contract]
        if contract:
            aval = aval.update(shape=tuple([aval.shape[d] for d in kept]))
            x = ctx.op("stablehlo.reshape", aval, [x])
        operands.append(_convert(ctx, x, aval, p.out.dtype))
        places.append([place[d] for d in kept])
    out = _multiply(ctx, operands, places, p.out)
    ctx.outer_products[out] = (operands, places)
    return out


def transposed_outer(ctx: Body, x: Any, out: ShapedArray, permutation: Any) -> Any:
    """The transpose of an outer product, as an outer product; None where `x` isn't one.

    XLA writes an outer product that is transposed in the order of the product and copies it: twice the memory traffic,
    one pass of it in strides. The product of operands broadcast to the transposed shape is written once, in order.
    """
    found = ctx.outer_products.get(x)
    if found is None:
        return None
    operands, places = found
    new = [0] * len(permutation)
    for position, d in enumerate(permutation):
        new[d] = position
    return _multiply(ctx, operands, [[new[d] for d in place] for place in places], out)


def _sum(ctx: Body, p: Product, lhs: Any, rhs: Any, attributes: dict[str, Any]) -> Any:
    """Multiplied element by element, and summed."""
    dtype = _computed(p)
    wide = ShapedArray((*p.out.shape, *[p.lhs.shape[d] for d in p.numbers[0][0]]), dtype)
    operands = [_convert(ctx, x, aval, dtype) for x, aval in ((lhs, p.lhs), (rhs, p.rhs))]
    products = _multiply(ctx, operands, _places(p), wide)
    summed = p.out.update(dtype=dtype)
    out = reduce_by(ctx, "add", products, wide, tuple(range(p.out.ndim, wide.ndim)), summed)
    return _convert(ctx, out, summed, p.out.dtype)


class _Side(NamedTuple):
    """How an operand becomes a matrix, or one for every batch: its order if that changes, its shape if that does."""

    order: tuple[int, ...] | None
    moved: ShapedArray
    flat: ShapedArray | None


@functools.lru_cache(maxsize=4096)
def _as_matrices(
    lhs: ShapedArray, rhs: ShapedArray, out: ShapedArray, numbers: Dimensions
) -> tuple[_Side, _Side, Dimensions, ShapedArray]:
    """Both sides, and the numbers and the type of the product of matrices."""
    p = product_of(lhs, rhs, out, numbers)
    assert p is not None
    (lc, rc), (lb, rb) = numbers
    lead = (p.batch,) if lb else ()
    n = len(lead)

    # Each side keeps its free and contracted dimensions in the order in which they lie, and none of size one.
    def side(aval: ShapedArray, batch: Any, free: list[int], contract: Any, size: int) -> tuple[_Side, int]:
        first = bool(contract) and bool(free) and min(contract) < min(free)
        order = (*batch, *contract, *free) if first else (*batch, *free, *contract)
        moved = aval.update(shape=tuple([aval.shape[d] for d in order]))
        own = () if size == 1 else (size,)
        shape = (*lead, p.contracted, *own) if first else (*lead, *own, p.contracted)
        return _Side(
            None if order == tuple(range(aval.ndim)) else order,
            moved,
            None if moved.shape == shape else aval.update(shape=shape),
        ), n if first else n + len(own)

    left, left_place = side(lhs, lb, p.lhs_free, lc, p.rows)
    right, right_place = side(rhs, rb, p.rhs_free, rc, p.columns)
    batch = tuple(range(n))
    flat = out.update(shape=(*lead, *[size for size in (p.rows, p.columns) if size != 1]))
    return left, right, (((left_place,), (right_place,)), (batch, batch)), flat


def _matrices(ctx: Body, p: Product, lhs: Any, rhs: Any, attributes: dict[str, Any]) -> Any:
    """A product of two matrices, or of one pair for every batch: (batch,) rows by contracted by columns."""
    *sides, numbers, flat = _as_matrices(p.lhs, p.rhs, p.out, p.numbers)
    operands = []
    for x, side in zip((lhs, rhs), sides):
        if side.order is not None:
            x = ctx.op("stablehlo.transpose", side.moved, [x], {"permutation": ctx.mlir.i64_array(side.order)})
        operands.append(x if side.flat is None else ctx.op("stablehlo.reshape", side.flat, [x]))
    out = ctx.op(
        "stablehlo.dot_general", flat, operands, attributes | {"dot_dimension_numbers": dimension_numbers(ctx, numbers)}
    )
    return out if flat.shape == p.out.shape else ctx.op("stablehlo.reshape", p.out, [out])


def _integers(values: Any) -> str:
    return f"[{', '.join(map(str, values))}]"


def dimension_numbers(ctx: Body, numbers: Dimensions) -> Any:
    """The attribute for ((contracting pair), (batch pair)); looked up by the numbers, since its text is long."""
    key = ("dot", numbers)
    found = ctx.mlir.attributes.get(key)
    if found is None:
        (lc, rc), (lb, rb) = numbers
        found = ctx.mlir.attributes[key] = ctx.mlir.parsed(
            f"#stablehlo.dot<lhs_batching_dimensions = {_integers(lb)}, rhs_batching_dimensions = {_integers(rb)}, "
            f"lhs_contracting_dimensions = {_integers(lc)}, rhs_contracting_dimensions = {_integers(rc)}>"
        )
    return found


def _columns(ctx: Body, p: Product, lhs: Any, rhs: Any, attributes: dict[str, Any]) -> Any:
    """Products of matrices, one pair for every batch, the left ones lying by columns.

    Where the right operand lies so already the two are exchanged, and the product is transposed: a kernel that reads
    it does that. The left operand is transposed otherwise, which pays where it is a transpose itself, as the heads of
    queries are: XLA makes one of the two, and undoes the transpose of any other operand.
    """
    (_, (contracted,)), (batch, _) = p.numbers
    n = len(batch)
    permutation = {"permutation": ctx.mlir.i64_array((*batch, n + 1, n))}
    exchanged = contracted == n
    if exchanged:
        out = p.out.update(shape=(*p.out.shape[:n], p.columns, p.rows))
        lhs, rhs, contracted = rhs, lhs, n + 1
        precision = attributes["precision_config"]
        attributes = attributes | {"precision_config": type(precision).get([*precision][::-1])}
    else:
        out = p.out
        by_columns = p.lhs.update(shape=(*p.lhs.shape[:n], p.contracted, p.rows))
        lhs = ctx.op("stablehlo.transpose", by_columns, [lhs], permutation)
    numbers = dimension_numbers(ctx, (((n,), (contracted,)), (batch, batch)))
    made = ctx.op("stablehlo.dot_general", out, [lhs, rhs], attributes | {"dot_dimension_numbers": numbers})
    return ctx.op("stablehlo.transpose", p.out, [made], permutation) if exchanged else made


def _can_lie_by_columns(p: Product) -> bool:
    """Whether the product is one of matrices, row by row of the left ones, behind common batch dimensions."""
    (lc, rc), (lb, rb) = p.numbers
    n = len(lb)
    leading = (*range(n),)
    return n > 0 and lc == (n + 1,) and len(rc) == 1 and lb == leading == rb and p.lhs.ndim == p.rhs.ndim == n + 2


Form = Callable[[Body, Product, Any, Any, dict[str, Any]], Any]

FORMS: dict[str, Form] = {"outer": _outer, "sum": _sum, "matrices": _matrices, "columns": _columns}

#: Multiplications up to which reshaping to one contracted dimension costs no time to run.
_SMALL = 1 << 20

#: Most matrices of a batch, fewest and most multiplications in all of them, for which lying by columns is faster.
_FEW, _DIVIDED, _WORTH_DIVIDING = 8, 1 << 16, 5 << 17

_forced: str | None = None


@contextmanager
def forced(name: str) -> Iterator[None]:
    """Lower every product in one form, "dot" or a key of FORMS: for measuring."""
    global _forced
    before, _forced = _forced, name
    try:
        yield
    finally:
        _forced = before


def form_of(p: Product) -> str:
    """The name of the form that is best, by the table of `python -m bench.dot_forms`.

    Measured in float32 on two cores. Nothing contracted, or one element: XLA multiplies too, but ours can be written
    transposed (`transposed_outer`); per-example gradients take a third of the time. Several dimensions contracted: as
    one they compile in 6 ms, not in 30, and run as fast at 0.8M multiplications, 1.2 times slower at 8M. Written as
    multiplications and sums, matrix times vector compiles in a third of the time, but runs 1 to 9 times slower; tiny
    matrices compile slower that way. Neither these nor transposed operands gain by another form.

    A few small matrices, as attention's heads are: newer versions divide them among threads, which takes them longer
    (16 to 23 µs of processor for eight of 32×16×32) than multiplying them one by one (11), as XLA does where the left
    ones lie by columns. More and smaller ones, or more than 0.65 million multiplications, are worth dividing.
    """
    if _forced is not None:
        fits = {"outer": p.contracted == 1, "columns": _can_lie_by_columns(p)}
        return _forced if fits.get(_forced, True) else "dot"
    contracting = p.numbers[0][0]
    if p.contracted == 1:
        return "outer"
    size = p.batch * p.rows * p.contracted * p.columns
    if len(contracting) > 1 and size <= _SMALL:
        return "matrices"
    if (
        1 < p.batch <= _FEW
        and _DIVIDED <= size <= _WORTH_DIVIDING
        and min(p.rows, p.columns) > 1
        and p.lhs.dtype == p.rhs.dtype == p.out.dtype == np.float32
        and jaxlib_api.DIVIDES_SMALL_PRODUCTS
        and _can_lie_by_columns(p)
    ):
        return "columns"
    return "dot"
