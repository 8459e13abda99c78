"""Choosing between arrays, elementwise: select_n, select, clamp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import bitwise, comparisons
from xtrace.lax import shapes as _shapes
from xtrace.lax.elementwise import filled_like, scalar_like
from xtrace.lax.rules import is_linear
from xtrace.transforms.batching import MappedAxis, move_axis
from xtrace.transforms.zeros import Zero, instantiate, zero_tangent

# -- select_n --------------------------------------------------------------------------------------------------------


def _select_n_aval(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if not cases:
        raise ValueError("select_n() must have at least one case")
    first = cases[0]
    if any(c.shape != first.shape for c in cases):
        raise TypeError(f"select cases must have the same shapes, got [{', '.join(str(c.shape) for c in cases)}].")
    if any(c.dtype != first.dtype for c in cases):
        raise TypeError(
            f"lax.select requires arguments to have the same dtypes, got {', '.join(str(c.dtype) for c in cases)}. "
            "(numpy.where promotes its arguments; or cast one with .astype().)"
        )
    if dtypes.kind(which.dtype) not in "biu":
        raise TypeError(f"select `which` must be boolean or integer type, got {which.dtype}.")
    if which.dtype == dtypes.bool_ and len(cases) > 2:
        raise TypeError("select with boolean `which` cannot have > 2 cases.")
    if which.shape not in ((), first.shape):
        raise TypeError(
            "select `which` must be scalar or have the same shape as cases, "
            f"got `which` shape {which.shape} but case shape {first.shape}."
        )
    return ShapedArray(first.shape, first.dtype, all([c.weak_type for c in cases]))


select_n_p = Primitive("select_n", _select_n_aval)


def select_n(which: Any, *cases: Any) -> Any:
    """Choose each element from one of several arrays.

    Args:
      which: booleans (False takes the first case, True the second) or integers (which case), of the cases' shape or
        a scalar. Integers outside the range take the nearest case.
      cases: one or more arrays of one shape and dtype.

    Returns:
      An array like the cases.

    Raises:
      TypeError: shapes or dtypes don't fit.

    Example:
      >>> import xtrace as xt
      >>> print(xt.lax.select_n(True, 1.0, 2.0))
      2.0
    """
    if not cases:
        raise ValueError("select_n() must have at least one case")
    return select_n_p.bind(which, *cases)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Choose each element from `on_true` where `pred` holds and from `on_false` elsewhere.

    Args:
      pred: booleans, of the shape of the two arrays or a scalar.
      on_true, on_false: arrays of one shape and dtype.

    Returns:
      An array like them.

    Raises:
      TypeError: shapes or dtypes don't fit; numpy.where broadcasts and promotes.

    Example:
      >>> import xtrace as xt
      >>> print(xt.lax.select(True, 1.0, 2.0))
      1.0
    """
    return select_n_p.bind(pred, on_false, on_true)


def _zeros(aval: ShapedArray) -> Any:
    return instantiate(Zero(aval))


def _select_n_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    which, *cases = primals
    out = select_n_p.bind(which, *cases)
    if all([type(t) is Zero for t in tangents[1:]]):
        return out, zero_tangent(out)
    return out, select_n_p.bind(which, *[instantiate(t) for t in tangents[1:]])


def _select_n_transpose(ct: Any, which: Any, *cases: Any) -> list[Any]:
    zeros = _zeros(shaped(ct))
    out: list[Any] = [None]
    if shaped(which).dtype == dtypes.bool_ or len(cases) == 1:
        for i, case in enumerate(cases):
            picked = ct if len(cases) == 1 else select_n_p.bind(which, *((ct, zeros) if i == 0 else (zeros, ct)))
            out.append(picked if is_linear(case) else None)
        return out
    bounded = clamp(scalar_like(which, 0), which, scalar_like(which, len(cases) - 1))
    for i, case in enumerate(cases):
        mask = comparisons.eq(bounded, scalar_like(which, i)) if is_linear(case) else None
        out.append(None if mask is None else select_n_p.bind(mask, zeros, ct))
    return out


def _select_n_batch(axis: MappedAxis, args: Sequence[Any], dims: Sequence[int | None]) -> Any:
    which, *cases = args
    which_dim, *case_dims = dims
    front = next(d for d in dims if d is not None)
    if all([d == front for d in dims]) and (shaped(which).ndim > 1 or shaped(cases[0]).ndim == 1):
        return select_n_p.bind(which, *cases), front
    cases = [move_axis(c, d, 0, axis.size) for c, d in zip(cases, case_dims)]
    scalar = shaped(which).ndim == (which_dim is not None)
    if which_dim is None and scalar:
        return select_n_p.bind(which, *cases), 0
    which = move_axis(which, which_dim, 0, axis.size)
    if scalar:
        which = _shapes.broadcast_in_dim(which, shaped(cases[0]).shape, (0,))
    return select_n_p.bind(which, *cases), 0


select_n_p.jvp = _select_n_jvp
select_n_p.transpose = _select_n_transpose
select_n_p.batch = _select_n_batch

# -- clamp -----------------------------------------------------------------------------------------------------------


def _clamp_aval(low: ShapedArray, x: ShapedArray, high: ShapedArray) -> ShapedArray:
    for name, bound in (("min", low), ("max", high)):
        if bound.shape not in ((), x.shape):
            raise TypeError(
                f"clamp requires {name}.shape == operand.shape or {name}.shape == (), "
                f"got {name}.shape={bound.shape}, operand.shape={x.shape}."
            )
    if not low.dtype == x.dtype == high.dtype:
        raise TypeError(
            f"lax.clamp requires arguments to have the same dtypes, got {low.dtype}, {x.dtype}, {high.dtype}. "
            "(numpy.clip promotes its arguments; or cast one with .astype().)"
        )
    return ShapedArray(x.shape, x.dtype, low.weak_type and x.weak_type and high.weak_type)


clamp_p = Primitive("clamp", _clamp_aval)


def clamp(min: Any, x: Any, max: Any) -> Any:
    """Limit each element of `x` to lie between `min` and `max`.

    Args:
      min, max: the bounds: arrays of the shape of `x`, or scalars.
      x: array of the bounds' dtype.

    Returns:
      An array like `x`: `min` where x is below it, `max` where x is above it; `max` where the bounds cross.

    Raises:
      TypeError: shapes or dtypes don't fit.

    Example:
      >>> import xtrace as xt
      >>> print(xt.lax.clamp(0.0, 3.5, 1.0))
      1.0
    """
    return clamp_p.bind(min, x, max)


def _kept_where(mask: Any, t: Any, like: Any) -> Any:
    """`t` where `mask` holds and 0 elsewhere, in the shape of `like`."""
    shape = shaped(like).shape
    mask, t = [_shapes.broadcast_in_dim(v, shape, ()) if shaped(v).shape != shape else v for v in (mask, t)]
    return select_n(mask, filled_like(t, 0), t)


clamp_p.jvps = (
    lambda t, out, lo, x, hi: _kept_where(bitwise.bitwise_and(comparisons.gt(lo, x), comparisons.lt(lo, hi)), t, out),
    lambda t, out, lo, x, hi: _kept_where(bitwise.bitwise_and(comparisons.gt(x, lo), comparisons.lt(x, hi)), t, out),
    lambda t, out, lo, x, hi: _kept_where(comparisons.lt(hi, x), t, out),
)


def _clamp_batch(axis: MappedAxis, args: Sequence[Any], dims: Sequence[int | None]) -> Any:
    low, x, high = args
    if all([d is None for d in (dims[0], dims[2])]) and shaped(low).ndim == shaped(high).ndim == 0:
        return clamp_p.bind(low, x, high), dims[1]
    x = move_axis(x, dims[1], 0, axis.size)
    shape = shaped(x).shape
    bounds = []
    for bound, d in ((low, dims[0]), (high, dims[2])):
        if d is None and shaped(bound).ndim == 0:
            pass  # a scalar fits any shape
        elif shaped(bound).ndim == 1 and d is not None:
            bound = _shapes.broadcast_in_dim(bound, shape, (0,))
        else:
            bound = move_axis(bound, d, 0, axis.size)
        bounds.append(bound)
    return clamp_p.bind(bounds[0], x, bounds[1]), 0


clamp_p.batch = _clamp_batch
