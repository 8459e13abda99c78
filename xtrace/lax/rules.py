"""Shared rules of families: abstract evaluation, batching and transposition that differ only in data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import reductions as _reductions
from xtrace.lax import shapes as _shapes
from xtrace.transforms.batching import MappedAxis, move_axis
from xtrace.transforms.zeros import UndefinedPrimal

#: What the letters of `dtypes.kind` are called in messages.
KIND_NAMES = {
    "b": "bool", "i": "signed integer", "u": "unsigned integer", "f": "floating", "c": "complex", "X": "random key",
}  # fmt: skip

#: What NumPy calls the operations that lax has other names for.
NUMPY_NAMES = {
    "sub": "subtract", "mul": "multiply", "div": "true_divide", "max": "maximum", "min": "minimum", "eq": "equal",
    "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "rem": "fmod",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "shift_left": "left_shift",
    "shift_right_arithmetic": "right_shift", "atan2": "arctan2",
}  # fmt: skip


def accepted(kinds: str) -> str:
    """What `kinds` (letters of dtypes.kind) stand for, in words."""
    return ", ".join(KIND_NAMES[k] for k in kinds)


def check_dtype(name: str, aval: ShapedArray, kinds: str, operand: str = "operand") -> None:
    """Raise TypeError unless the dtype of `aval` is of one of `kinds` (letters of dtypes.kind)."""
    if dtypes.kind(aval.dtype) not in kinds:
        exact = dtypes.kind(aval.dtype) in "biu" and "f" in kinds
        hint = ". Cast it with .astype('float32'); the functions of xtrace.numpy convert by themselves" if exact else ""
        raise TypeError(
            f"{name} does not accept dtype {aval.dtype} for its {operand}; it accepts {accepted(kinds)} dtypes{hint}"
        )


def broadcast_shapes(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape of elementwise operands: equal ranks with sizes equal or 1, and scalars.

    Raises TypeError naming the operation and the shapes.
    """
    first = shapes[0]
    if all(s == first for s in shapes):
        return first
    ranked = [s for s in shapes if s]
    if len({len(s) for s in ranked}) > 1:
        ranks = ", ".join(str(s) for s in shapes)
        raise TypeError(
            f"{name}: arrays must have the same number of dimensions (or none), got shapes {ranks}; "
            f"numpy.{NUMPY_NAMES.get(name, name)} broadcasts ranks, lax.{name} doesn't"
        )
    result = []
    for sizes in zip(*ranked):
        wide = {d for d in sizes if d != 1}
        if len(wide) > 1:
            raise TypeError(f"{name} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}.")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def elementwise_aval(name: str, kinds: Sequence[str], result: Any) -> Callable[..., ShapedArray]:
    """The abstract evaluation of an elementwise operation.

    `kinds`: the dtype kinds each operand accepts. `result`: None for the operands' dtype, a dtype, or a function of it.
    """

    def rule(*avals: ShapedArray, **params: Any) -> ShapedArray:
        if len(avals) != len(kinds):
            raise TypeError(f"{name} takes {len(kinds)} operands, got {len(avals)}")
        for i, (a, k) in enumerate(zip(avals, kinds)):
            check_dtype(name, a, k, "operand" if len(avals) == 1 else f"operand {i}")
        dtype = avals[0].dtype
        for a in avals:
            if a.dtype != dtype:
                got = ", ".join(str(a.dtype) for a in avals)
                raise TypeError(
                    f"lax.{name} requires arguments to have the same dtypes, got {got}. "
                    f"(numpy.{NUMPY_NAMES.get(name, name)} promotes its arguments; or cast one with .astype().)"
                )
        shape = broadcast_shapes(name, [a.shape for a in avals])
        weak = all([a.weak_type for a in avals])
        if result is not None:
            dtype = result(dtype) if callable(result) else result
        return ShapedArray(shape, dtype, weak)

    return rule


def elementwise_batch(primitive: Primitive) -> Callable[..., Any]:
    """The batching rule of an elementwise operation: align the mapped axes, let the operation broadcast."""

    def rule(axis: MappedAxis, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, int]:
        if len(args) == 1:
            return primitive.bind(args[0], **params), dims[0]  # type: ignore[return-value]
        if len(args) == 2:  # the usual cases without the bookkeeping: it would take as long as the operation
            (x, y), (dx, dy) = args, dims
            rank_x, rank_y = shaped(x).ndim, shaped(y).ndim
            if dx is None and rank_x == 0 or dy is not None and dx == dy and rank_x == rank_y:
                return primitive.bind(x, y, **params), dy  # type: ignore[return-value]
            if dy is None and rank_y == 0:
                return primitive.bind(x, y, **params), dx  # type: ignore[return-value]
        ranks = [shaped(x).ndim for x in args]
        mapped = [(d, r) for d, r in zip(dims, ranks) if d is not None]
        dim, rank = mapped[0]
        if all(m == (dim, rank) for m in mapped) and all(d is not None or r == 0 for d, r in zip(dims, ranks)):
            return primitive.bind(*args, **params), dim
        rank = max(r - (d is not None) for d, r in zip(dims, ranks))
        return primitive.bind(*[align_mapped(x, d, r, rank, axis) for x, d, r in zip(args, dims, ranks)], **params), 0

    return rule


def align_mapped(x: Any, dim: int | None, ndim: int, rank: int, axis: MappedAxis) -> Any:
    """`x` with its mapped axis in front and `rank` dimensions behind it; unmapped arrays get size 1 in front."""
    if dim is None:
        return x if ndim == 0 else _shapes.expand_dims(x, (0,))
    x = move_axis(x, dim, 0, axis.size)
    missing = rank - (ndim - 1)
    return _shapes.expand_dims(x, tuple(range(1, 1 + missing))) if missing else x


def unbroadcast(ct: Any, aval: ShapedArray) -> Any:
    """Sum a cotangent over the dimensions along which an operand of type `aval` was broadcast."""
    shape = ct.aval.shape if hasattr(ct, "aval") else shaped(ct).shape
    if shape == aval.shape:
        return ct
    if not aval.shape:
        return _reductions.reduce_sum(ct, tuple(range(len(shape))))
    axes = tuple([i for i, (d, have) in enumerate(zip(aval.shape, shape)) if d == 1 and have != 1])
    return _shapes.expand_dims(_reductions.reduce_sum(ct, axes), axes)


def linear_in(position: int, primitive: Primitive) -> None:
    """Mark an elementwise primitive linear in one operand (its rule applies the primitive to the cotangent)."""

    def transpose(ct: Any, *args: Any, **params: Any) -> list[Any]:
        out: list[Any] = [None] * len(args)
        rest = list(args)
        rest[position] = ct
        out[position] = unbroadcast(primitive.bind(*rest, **params), args[position].aval)
        return out

    primitive.transpose = transpose


def is_linear(x: Any) -> bool:
    """Whether an operand of a transpose rule is one that the operation is linear in."""
    return type(x) is UndefinedPrimal
