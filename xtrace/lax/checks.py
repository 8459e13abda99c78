"""The primitive behind checkify.check: it raises an error of run-time values, and only `checkify` can compile it."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import elementwise, joining, reductions, selection, shapes, slicing
from xtrace.transforms.batching import MappedAxis, move_axis

_INT = dtypes.as_dtype("int32")

#: Operands are the leaves of an error value with structure `error_tree` (xtrace/checking/errors.py).
#: `debug`: the check is left out where nothing collects errors.
check_p = Primitive("check", lambda *avals, error_tree, debug: [])
check_p.multiple_results = True
check_p.hidden_params = frozenset(["error_tree"])
check_p.effects = lambda avals, params: frozenset(params["error_tree"].unflatten(avals).effects)


def _run(*leaves: Any, error_tree: Any, debug: bool) -> list[Any]:
    if not debug:
        error_tree.unflatten(leaves).raise_now()
    return []


def _batch(axis: MappedAxis, args: list[Any], dims: list[int | None], *, error_tree: Any, debug: bool) -> Any:
    rows = [move_axis(x, d, 0, axis.size) for x, d in zip(args, dims)]
    error = error_tree.unflatten(rows)
    leaves = [x for slot in error.slots() for x in first_failure(slot)]
    return check_p.bind(*leaves, error_tree=error_tree, debug=debug), []


def first_failure(slot: list[Any]) -> list[Any]:
    """Of (failed, code, *payload) with a leading axis, the row that failed first; some row if none did."""
    failed = slot[0]
    if not shaped(failed).shape[0]:
        return [shapes.full(shaped(x).shape[1:], 0, shaped(x).dtype) for x in slot]
    which = reductions.argmax(shapes.convert(failed, _INT, False), 0, _INT)
    rest = [slicing.dynamic_index_in_dim(x, which, 0, keepdims=False) for x in slot[1:]]
    return [reductions.reduce_or(failed, (0,)), *rest]


check_p.impl = _run
check_p.batch = _batch


def any_of(x: Any) -> Any:
    """Whether any element of a boolean array is true."""
    return reductions.reduce_or(x, tuple(range(shaped(x).ndim)))


def any_nan(x: Any) -> Any:
    """Whether any element of an array of floating or complex type is NaN."""
    return any_of(elementwise.ne_p.bind(x, x))


def any_zero(x: Any) -> Any:
    """Whether any element of an array is 0."""
    aval = shaped(x)
    return any_of(elementwise.eq_p.bind(x, shapes.full(aval.shape, 0, aval.dtype)))


def first_out_of_bounds(indices: Any, upper: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    """(whether any index is out of bounds, int32[3] with the first one that is, its axis, and the axis's size).

    indices: integers of shape (..., n). upper: the largest of each of the n components that is in bounds. axes, sizes:
    the axis that each component counts along, and its size.
    """
    aval = shaped(indices)
    n = len(upper)
    count = aval.size // n if n else 0
    if not count:
        return None
    rows = shapes.reshape(indices, (count, n))
    bounds = _row(upper, aval.dtype, count)
    bad = elementwise.gt_p.bind(rows, bounds)
    if aval.dtype.kind == "i":
        below = elementwise.lt_p.bind(rows, shapes.full((count, n), 0, aval.dtype))
        bad = elementwise.or_p.bind(bad, below)
    flat = shapes.reshape(bad, (count * n,))
    which = reductions.argmax(shapes.convert(flat, _INT, False), 0, _INT)
    columns = [shapes.convert(rows, _INT, False), _row(axes, _INT, count), _row(sizes, _INT, count)]
    picked = [slicing.dynamic_index_in_dim(shapes.reshape(c, (count * n,)), which, 0, keepdims=False) for c in columns]
    return any_of(bad), joining.concatenate([shapes.reshape(p, (1,)) for p in picked], 0)


def _row(values: tuple[int, ...], dtype: Any, count: int) -> Any:
    """`values` as each row of a matrix of `count` rows, made of literals: no constant is closed over."""
    columns = [shapes.full((count, 1), v, dtype) for v in values]
    return columns[0] if len(columns) == 1 else joining.concatenate(columns, 1)


def select(which: Any, if_true: Any, if_false: Any) -> Any:
    """One of two arrays of the same type, by a boolean scalar."""
    return selection.select_n(which, if_false, if_true)


__all__ = ["any_nan", "any_of", "any_zero", "check_p", "first_failure", "first_out_of_bounds", "select"]
