"""Prefix combinations of an associative operation, in a logarithmic number of parallel steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xtrace.core import statics
from xtrace.core.primitive import shaped
from xtrace.lax import joining, shapes, slicing
from xtrace.lax.control_flow import common


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All prefixes of `elems` combined by an associative function.

    Element i of the result is elems[0] ∘ elems[1] ∘ … ∘ elems[i]. The number of steps that depend on one another grows
    with the logarithm of the length; see `scan` for steps in sequence.

    Args:
      fn: `fn(a, b)` combines arrays or pytrees of many elements at once, elementwise along `axis`; it must be
        associative.
      elems: arrays or pytrees with leaves of equal size along `axis`.
      reverse: scan from the end: the result at i is fn(… fn(elems[n-1], elems[n-2]) …, elems[i]).
      axis: which axis to scan along.

    Returns:
      Arrays of the structure and shapes of `elems`.

    Raises:
      TypeError: `fn` is not a function. ValueError: leaves differ in size along `axis`; `fn` returns another structure.

    Source: R. E. Ladner, M. J. Fischer, "Parallel prefix computation", Journal of the ACM 27 (1980).

    Example:
      >>> import xtrace as xt, xtrace.numpy as xnp
      >>> xt.lax.associative_scan(xnp.multiply, xnp.array([1, 2, 3, 4]))
      Array([ 1,  2,  6, 24], dtype=int32)
    """
    if not callable(fn):
        raise TypeError(f"lax.associative_scan: fn argument should be callable, got {fn!r}.")
    leaves, tree = common.checked_leaves("associative_scan: elems", elems)
    if not leaves:
        return elems
    leaves = [x if getattr(x, "aval", None) is not None else shapes.convert(x, shaped(x).dtype, False) for x in leaves]
    ndim = shaped(leaves[0]).ndim
    if not -ndim <= statics.integer(axis, "axis") < ndim:
        raise ValueError(f"lax.associative_scan: axis {axis} is out of bounds for elements of {ndim} dimensions.")
    axis %= ndim
    avals = [shaped(x) for x in leaves]
    if any([a.ndim <= axis for a in avals]) or len({a.shape[axis] for a in avals}) > 1:
        raise ValueError(
            "Array inputs to associative_scan must have the same first dimension, or that along axis if given. "
            f"(saw: {[a.shape for a in avals]}, axis={axis})"
        )

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        outs, out_tree = common.flatten(fn(tree.unflatten(a), tree.unflatten(b)))
        if out_tree != tree:
            raise ValueError(
                f"lax.associative_scan: fn must return the structure of elems, {tree}; it gave {out_tree}."
            )
        return outs

    if reverse:
        leaves = [shapes.rev(x, (axis,)) for x in leaves]
    outs = _prefixes(leaves, combine, axis)
    if reverse:
        outs = [shapes.rev(x, (axis,)) for x in outs]
    return tree.unflatten(outs)


def _prefixes(xs: Sequence[Any], combine: Callable[[list[Any], list[Any]], list[Any]], axis: int) -> list[Any]:
    n = shaped(xs[0]).shape[axis]
    if n < 2:
        return list(xs)

    def part(values: Sequence[Any], start: int, stop: int, stride: int = 1) -> list[Any]:
        return [slicing.slice_in_dim(x, start, stop, stride, axis) for x in values]

    # Prefixes of pairs are the odd prefixes; each gives the even one after it.
    pairs = combine(part(xs, 0, n - 1, 2), part(xs, 1, n, 2))
    odd = _prefixes(pairs, combine, axis)
    first = part(xs, 0, 1)
    if n == 2:
        return [joining.concatenate([a, b], axis) for a, b in zip(first, odd)]
    even = combine(part(odd, 0, (n - 1) // 2), part(xs, 2, n, 2))
    even = [joining.concatenate([a, b], axis) for a, b in zip(first, even)]
    return [_interleave(a, b, axis) for a, b in zip(even, odd)]


def _interleave(a: Any, b: Any, axis: int) -> Any:
    """a[0], b[0], a[1], b[1], …; `a` may have one element more."""
    shape, n = shaped(a).shape, shaped(b).shape[axis]
    head = a if shape[axis] == n else slicing.slice_in_dim(a, 0, n, axis=axis)
    columns = [shapes.expand_dims(x, (axis + 1,)) for x in (head, b)]
    mixed = shapes.reshape(joining.concatenate(columns, axis + 1), (*shape[:axis], 2 * n, *shape[axis + 1 :]))
    if shape[axis] == n:
        return mixed
    return joining.concatenate([mixed, slicing.slice_in_dim(a, n, n + 1, axis=axis)], axis)


__all__ = ["associative_scan"]
