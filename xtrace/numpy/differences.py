"""Differences between neighbours and numerical gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace import lax
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.numpy import elementwise, joining, manipulation
from xtrace.numpy.arguments import as_array, canonical_axes, canonical_axis
from xtrace.numpy.promotion import promote_dtypes_inexact


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbouring elements, taken n times: each time the axis gets one shorter.

    Args:
      a: array with at least one dimension; of booleans, whether neighbours differ.
      n: how often.
      axis: along which axis.
      prepend: scalar or array to join before `a` first.
      append: the same, after it.

    Returns:
      The differences.

    Raises:
      ValueError: `n` is negative or `a` has no dimensions.

    >>> import xtrace.numpy as xnp
    >>> xnp.diff(xnp.array([1, 4, 9]))
    Array([3, 5], dtype=int32)
    """
    x = as_array("diff", a)
    n = statics.integer(n, "n")
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if x.aval.ndim == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a!r}")
    axis = canonical_axis(axis, x.aval.ndim)
    if n == 0:
        return x
    ends = [None if end is None else as_array("diff", end) for end in (prepend, append)]
    return _diff(x, *ends, n=n, axis=axis)


@composite(static_argnames=("n", "axis"))
def _diff(x: Any, prepend: Any, append: Any, n: int, axis: int) -> Any:
    def end(value: Any) -> list[Any]:
        if value is None:
            return []
        return [
            manipulation.broadcast_to(value, (*x.shape[:axis], 1, *x.shape[axis + 1 :])) if value.ndim == 0 else value
        ]

    if prepend is not None or append is not None:
        x = joining.concatenate([*end(prepend), x, *end(append)], axis)
    subtract = lax.ne if dtypes.is_bool(x.dtype) else lax.sub
    for _ in range(n):
        size = x.shape[axis]
        if size == 0:
            break
        x = subtract(lax.slice_in_dim(x, 1, size, axis=axis), lax.slice_in_dim(x, 0, size - 1, axis=axis))
    return x


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbouring elements of the flattened array, between given first and last elements.

    Args:
      ary: array of any shape.
      to_end: what to append to the differences; converted to their dtype.
      to_begin: what to put before them.

    Returns:
      A vector.

    >>> import xtrace.numpy as xnp
    >>> xnp.ediff1d(xnp.array([1, 4, 9]), to_begin=0)
    Array([0, 3, 5], dtype=int32)
    """
    x = as_array("ediff1d", ary)
    ends = [None if end is None else as_array("ediff1d", end) for end in (to_end, to_begin)]
    return _ediff1d(x, *ends)


@composite
def _ediff1d(x: Any, to_end: Any, to_begin: Any) -> Any:
    x = manipulation.ravel(x)
    size = x.shape[0]
    parts = [lax.sub(lax.slice(x, (min(1, size),), (size,)), lax.slice(x, (0,), (max(size - 1, 0),)))]
    if to_begin is not None:
        parts.insert(0, lax.convert_element_type(manipulation.ravel(to_begin), x.dtype))
    if to_end is not None:
        parts.append(lax.convert_element_type(manipulation.ravel(to_end), x.dtype))
    return joining.concatenate(parts)


def gradient(f: Any, *varargs: Any, axis: int | Sequence[int] | None = None, edge_order: int | None = None) -> Any:
    """The derivative of sampled values along axes: central differences inside, one-sided ones at the edges.

    Args:
      f: array of values with at least two along each axis.
      *varargs: the spacing: none (1), a number for all axes, or for each axis a number or the array of coordinates.
      axis: along which axes; None takes all.
      edge_order: 1, or 2 for one-sided differences of second order at the edges.

    Returns:
      An array for a single axis, a list with one array for each axis otherwise.

    Raises:
      TypeError: there are as many spacings as neither one nor the axes.
      ValueError: an axis is too short, or coordinates don't fit it.

    >>> import xtrace.numpy as xnp
    >>> xnp.gradient(xnp.array([0.0, 1.0, 4.0, 9.0]))
    Array([1., 2., 4., 5.], dtype=float32)
    """
    x = as_array("gradient", f)
    ndim = x.aval.ndim
    axes = tuple(range(ndim)) if axis is None else canonical_axes(axis, ndim)
    order = 1 if edge_order is None else statics.integer(edge_order, "edge_order")
    if order not in (1, 2):
        raise ValueError(f"edge_order is 1 or 2, got {edge_order}")
    for i in axes:
        if x.aval.shape[i] < order + 1:
            raise ValueError(
                f"Shape of array too small to calculate a numerical gradient, at least {order + 1} elements are "
                f"required: axis {i} has {x.aval.shape[i]}."
            )
    spacings = [as_array("gradient", v) for v in varargs]
    if not spacings:
        spacings = [None] * len(axes)
    elif len(spacings) == 1:
        spacings = spacings * len(axes)
    elif len(spacings) != len(axes):
        raise TypeError(
            f"Invalid number of spacing arguments {len(spacings)} for axis={axis}: give none, one, or {len(axes)}"
        )
    for i, h in zip(axes, spacings, strict=True):
        if h is not None and h.aval.ndim > 1:
            raise ValueError("Spacing arrays must be 1D arrays or scalars.")
        if h is not None and h.aval.ndim == 1 and h.aval.shape[0] != x.aval.shape[i]:
            raise ValueError(
                "Spacing arrays must have the same length as the dimension along which the gradient is calculated: "
                f"axis {i} has {x.aval.shape[i]}, the array {h.aval.shape[0]}."
            )
    out = _gradient(x, spacings, axes=axes, edge_order=order)
    return out[0] if len(axes) == 1 else out


@composite(static_argnames=("axes", "edge_order"))
def _gradient(x: Any, spacings: list[Any], axes: tuple[int, ...], edge_order: int) -> list[Any]:
    out = []
    for axis, h in zip(axes, spacings, strict=True):
        y, h = promote_dtypes_inexact(x, h) if h is not None else (*promote_dtypes_inexact(x), None)
        out.append(_uneven(y, h, axis, edge_order) if h is not None and h.ndim else _even(y, h, axis, edge_order))
    return out


def _part(y: Any, axis: int, start: int, stop: int) -> Any:
    return lax.slice_in_dim(y, start, stop, axis=axis)


def _even(y: Any, h: Any, axis: int, edge_order: int) -> Any:
    """Central differences (y[i+1] - y[i-1]) / 2h."""
    n = y.shape[axis]
    half = elementwise.multiply(elementwise.subtract(_part(y, axis, 2, n), _part(y, axis, 0, n - 2)), y.dtype.type(0.5))
    if edge_order == 1:
        first = elementwise.subtract(_part(y, axis, 1, 2), _part(y, axis, 0, 1))
        last = elementwise.subtract(_part(y, axis, n - 1, n), _part(y, axis, n - 2, n - 1))
    else:
        first = _weighted(y, axis, (0, 1, 2), (-1.5, 2.0, -0.5))
        last = _weighted(y, axis, (n - 3, n - 2, n - 1), (0.5, -2.0, 1.5))
    out = joining.concatenate([first, half, last], axis)
    return out if h is None else elementwise.true_divide(out, h)


def _weighted(y: Any, axis: int, places: Sequence[int], weights: Sequence[Any]) -> Any:
    terms = [
        elementwise.multiply(_part(y, axis, i, i + 1), w if hasattr(w, "aval") else y.dtype.type(w))
        for i, w in zip(places, weights, strict=True)
    ]
    out = terms[0]
    for t in terms[1:]:
        out = elementwise.add(out, t)
    return out


def _uneven(y: Any, x: Any, axis: int, edge_order: int) -> Any:
    """Differences of second order on uneven coordinates: the derivative of the parabola through three neighbours."""
    n = y.shape[axis]
    shape = [1] * y.ndim
    shape[axis] = -1
    steps = manipulation.reshape(lax.sub(lax.slice(x, (1,), (n,)), lax.slice(x, (0,), (n - 1,))), tuple(shape))
    difference = elementwise.subtract(_part(y, axis, 1, n), _part(y, axis, 0, n - 1))
    slope = elementwise.true_divide(difference, steps)
    left, right = _part(steps, axis, 0, n - 2), _part(steps, axis, 1, n - 1)
    before, after = _part(slope, axis, 0, n - 2), _part(slope, axis, 1, n - 1)
    total = elementwise.add(left, right)
    middle = elementwise.true_divide(
        elementwise.add(elementwise.multiply(before, right), elementwise.multiply(after, left)), total
    )
    first, last = _part(slope, axis, 0, 1), _part(slope, axis, n - 2, n - 1)
    if edge_order == 2:
        # Continue the slope of the parabola to the outermost points.
        def outward(edge: Any, inner: Any, near: Any, far: Any) -> Any:
            bend = elementwise.true_divide(elementwise.subtract(edge, inner), elementwise.add(near, far))
            return elementwise.add(edge, elementwise.multiply(bend, near))

        first = outward(first, _part(slope, axis, 1, 2), _part(steps, axis, 0, 1), _part(steps, axis, 1, 2))
        last = outward(
            last, _part(slope, axis, n - 3, n - 2), _part(steps, axis, n - 2, n - 1), _part(steps, axis, n - 3, n - 2)
        )
    return joining.concatenate([first, middle, last], axis)


__all__ = ["diff", "ediff1d", "gradient"]
