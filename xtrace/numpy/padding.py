"""Padding: arrays made longer at the ends of their axes, in NumPy's modes; and trimming zeros off."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes, errors
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.core.trace import Tracer
from xtrace.numpy.arguments import as_array, canonical_axes

#: One axis: how many elements before and after.
Widths = tuple[tuple[int, int], ...]


def pad(array: Any, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any) -> Any:
    """An array with elements added at both ends of its axes.

    Args:
      array: array of any shape and dtype.
      pad_width: how many: an int for all, (before, after) for all axes, or a sequence of such pairs, one for each axis.
      mode: what the new elements are.
        "constant": `constant_values` (0), given like `pad_width`.
        "edge": the element at the edge. "empty": unspecified (zeros).
        "reflect", "symmetric": a mirror image, without or with the element at the edge; `reflect_type` "odd" mirrors
        at the edge's value, too ("even").
        "wrap": the elements from the other end.
        "linear_ramp": from the edge to `end_values` (0).
        "maximum", "mean", "median", "minimum": of the axis, or of its `stat_length` elements nearest to the end.
        A function: called as function(row, (before, after), axis, kwargs) for every row, it returns the new row.
      **kwargs: the settings above, for the modes that have them; those of a function are its own.

    Returns:
      The longer array, of the dtype of `array`.

    Raises:
      TypeError: `pad_width` isn't made of integers.
      ValueError: it has another form, or a setting that the mode doesn't have.

    >>> import xtrace.numpy as xnp
    >>> xnp.pad(xnp.array([1, 2, 3]), (2, 1), mode="reflect")
    Array([3, 2, 1, 2, 3, 2], dtype=int32)
    """
    x = as_array("pad", array)
    widths = _widths(pad_width, x.aval.ndim)
    if callable(mode):
        return _pad_by_function(x, widths, mode, kwargs)
    settings = _SETTINGS.get(mode) if isinstance(mode, str) else None
    if settings is None:
        raise NotImplementedError(
            f"Unimplemented padding mode {mode!r} for numpy.pad. The modes are {', '.join(_SETTINGS)}."
        )
    unknown = set(kwargs) - set(settings) if kwargs else None
    if unknown:
        takes = f"it takes {', '.join(settings)}" if settings else "it takes none"
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {unknown}; {takes}")
    for i, pair in enumerate(widths if mode in _COPIES else ()):
        if x.aval.shape[i] == 0 and sum(pair):
            raise ValueError(f"Cannot apply {mode!r} padding to empty axis {i} of an array of shape {x.aval.shape}")
    if mode == "constant" or mode == "empty":
        return _constant(x, kwargs.get("constant_values", 0), widths=widths)
    if mode == "linear_ramp":
        return _linear_ramp(x, kwargs.get("end_values", 0), widths=widths)
    if mode in _STATISTICS:
        lengths = _stat_lengths(kwargs.get("stat_length"), x.aval.shape)
        return _statistic(x, mode=mode, widths=widths, lengths=lengths)
    if mode == "reflect" or mode == "symmetric":
        kind = kwargs.get("reflect_type", "even")
        if kind not in ("even", "odd"):
            raise ValueError(f"reflect_type is 'even' or 'odd', got {kind!r}")
        return _mirror(x, widths=widths, with_edge=mode == "symmetric", odd=kind == "odd")
    return _edge(x, widths=widths) if mode == "edge" else _wrap(x, widths=widths)


#: Mode -> the settings it has.
_SETTINGS: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}
_COPIES = ("edge", "reflect", "symmetric", "wrap", "linear_ramp")
_STATISTICS = ("maximum", "mean", "median", "minimum")


def _pairs_shape_ok(shape: tuple[int, ...], ndim: int) -> bool:
    return shape in ((ndim, 2), (1, 2), (2,), (1,), ())


def _widths(pad_width: Any, ndim: int) -> Widths:
    if type(pad_width) is int and pad_width >= 0:
        return ((pad_width, pad_width),) * ndim
    if isinstance(pad_width, dict):
        rows = [(0, 0)] * ndim
        for axis, pair in pad_width.items():
            rows[canonical_axes(axis, ndim)[0]] = pair if isinstance(pair, tuple) else (pair, pair)
        pad_width = rows
    try:
        given = np.asarray(pad_width)
    except errors.TracerArrayConversionError:
        raise errors.ConcretizationTypeError(
            _first_tracer(pad_width), "pad_width of pad decides about the result's shape.", wanted="int"
        ) from None
    except ValueError:
        raise TypeError(f"`pad_width` entries must be the same shape: {pad_width}") from None
    if given.size and given.dtype.kind not in "iu" or given.dtype.kind == "b":
        raise TypeError(f"`pad_width` must be of integral type, got {pad_width!r}.")
    if not _pairs_shape_ok(given.shape, ndim):
        raise ValueError(
            f"numpy.pad: pad_width with nd={ndim} has unsupported shape {given.shape}. "
            f"Valid shapes are ({ndim}, 2), (1, 2), (2,), (1,), or ()."
        )
    if given.size and given.min() < 0:
        raise ValueError(f"pad_width: index can't contain negative values, got {pad_width!r}; slices take elements off")
    return tuple([(int(a), int(b)) for a, b in np.broadcast_to(given, (ndim, 2))])


def _first_tracer(tree: Any) -> Any:
    if isinstance(tree, (tuple, list)):
        return next((t for t in map(_first_tracer, tree) if t is not None), None)
    return tree if isinstance(tree, Tracer) else None


def _stat_lengths(given: Any, shape: tuple[int, ...]) -> Widths:
    """For each axis, of how many elements at its start and end the statistic is taken."""
    ndim = len(shape)
    if given is None:
        return tuple([(n, n) for n in shape])
    lengths = np.asarray(given)
    if not _pairs_shape_ok(lengths.shape, ndim) or lengths.dtype.kind not in "iu":
        raise ValueError(f"stat_length is an int, a pair of them, or one pair for each of {ndim} axes, got {given!r}")
    if lengths.min() <= 0:
        raise ValueError(f"stat_length of {int(lengths.min())} yields no value for padding: it must be positive")
    return tuple(
        [(min(int(a), n), min(int(b), n)) for (a, b), n in zip(np.broadcast_to(lengths, (ndim, 2)), shape, strict=True)]
    )


def _per_end(name: str, values: Any, ndim: int, dtype: Any) -> Any:
    """A function (axis, end) -> scalar of `dtype`, for values given like pad_width. They may be traced."""
    if isinstance(values, (tuple, list)):
        rows = [[_scalar(v, dtype) for v in row] if isinstance(row, (tuple, list)) else row for row in values]
        if rows and all(isinstance(r, list) for r in rows):
            if {len(r) for r in rows} <= {1, 2} and len(rows) in (1, ndim):
                return lambda axis, end: rows[axis if len(rows) > 1 else 0][end if len(rows[0]) > 1 else 0]
        elif len(rows) in (1, 2) and not any(isinstance(r, list) for r in rows):
            ends = [_scalar(v, dtype) for v in rows]
            return lambda axis, end: ends[end if len(ends) > 1 else 0]
        raise ValueError(f"{name} is a number, a pair of them, or one pair for each of {ndim} axes, got {values!r}")
    array = values if hasattr(values, "aval") else np.asarray(values)
    if array.ndim == 0:
        scalar = _scalar(values, dtype)
        return lambda axis, end: scalar
    if not _pairs_shape_ok(array.shape, ndim):
        raise ValueError(
            f"{name} of shape {array.shape} fits no array of {ndim} dimensions: "
            f"it is (), (1,), (2,), (1, 2) or ({ndim}, 2)"
        )

    def at(axis: int, end: int) -> Any:
        column = end if array.shape[-1] > 1 else 0
        index = (column,) if array.ndim == 1 else (axis if array.shape[0] > 1 else 0, column)
        return _scalar(_element(array, index), dtype)

    return at


def _element(array: Any, index: tuple[int, ...]) -> Any:
    if not hasattr(array, "aval"):
        return array[index]
    one = lax.slice(array, index, tuple([i + 1 for i in index]))
    return lax.reshape(one, ())


def _scalar(value: Any, dtype: Any) -> Any:
    if dtypes.kind(dtype) == "b":
        return lax.ne(value, value.dtype.type(0)) if hasattr(value, "aval") else np.bool_(bool(value))
    return lax.convert_element_type(value, dtype)


def _extend(x: Any, axis: int, before: Any, after: Any) -> Any:
    parts = [p for p in (before, x, after) if p is not None and p.shape[axis]]
    return parts[0] if len(parts) == 1 else lax.concatenate(parts, axis)


# -- modes -------------------------------------------------------------------------------------------------------


@composite(static_argnames=("widths",))
def _constant(x: Any, values: Any, widths: Widths) -> Any:
    if not isinstance(values, (tuple, list)) and not shaped(values).shape:
        return lax.pad(x, _scalar(values, x.dtype), [(a, b, 0) for a, b in widths])
    value = _per_end("constant_values", values, x.ndim, x.dtype)
    for axis, pair in enumerate(widths):
        for end in (0, 1):
            if pair[end]:
                config = [(0, 0, 0)] * x.ndim
                config[axis] = (pair[0], 0, 0) if end == 0 else (0, pair[1], 0)
                x = lax.pad(x, value(axis, end), config)
    return x


def _at_end(x: Any, axis: int, end: int, length: int = 1) -> Any:
    """The `length` elements at the start (end 0) or at the end (end 1) of an axis."""
    size = x.shape[axis]
    return (
        lax.slice_in_dim(x, 0, length, axis=axis) if end == 0 else lax.slice_in_dim(x, size - length, size, axis=axis)
    )


def _widen(x: Any, axis: int, size: int) -> Any:
    """`x`, of size 1 along the axis, repeated to `size`."""
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    return lax.broadcast_in_dim(x, shape, tuple(range(x.ndim)))


@composite(static_argnames=("widths",))
def _edge(x: Any, widths: Widths) -> Any:
    for axis, (a, b) in enumerate(widths):
        if a or b:
            before = _widen(_at_end(x, axis, 0), axis, a) if a else None
            after = _widen(_at_end(x, axis, 1), axis, b) if b else None
            x = _extend(x, axis, before, after)
    return x


@composite(static_argnames=("widths",))
def _wrap(x: Any, widths: Widths) -> Any:
    for axis, (a, b) in enumerate(widths):
        size = x.shape[axis]
        if a or b:
            whole_before, rest_before = divmod(a, size)
            whole_after, rest_after = divmod(b, size)
            parts = [x] * (whole_before + 1 + whole_after)
            if rest_before:
                parts.insert(0, _at_end(x, axis, 1, rest_before))
            if rest_after:
                parts.append(_at_end(x, axis, 0, rest_after))
            x = parts[0] if len(parts) == 1 else lax.concatenate(parts, axis)
    return x


@composite(static_argnames=("widths", "with_edge", "odd"))
def _mirror(x: Any, widths: Widths, with_edge: bool, odd: bool) -> Any:
    """Images of the whole axis one after the other, each mirrored at the end of the one before."""
    shared = 0 if with_edge else 1  # elements that an image has in common with the one before
    for axis, pair in enumerate(widths):
        size = x.shape[axis]
        if size == shared:  # a single element mirrored without itself
            x = _extend(x, axis, *[_widen(x, axis, n) if n else None for n in pair])
            continue
        ends: list[Any] = []
        for end in (0, 1):
            images: list[Any] = []
            image, missing = x, pair[end]
            while missing:
                mirrored = lax.rev(image, (axis,))
                if odd:
                    edge = _at_end(image, axis, end)
                    mirrored = lax.sub(_widen(lax.add(edge, edge), axis, size), mirrored)
                length = min(missing, size - shared)
                start = size - shared - length if end == 0 else shared
                images.append(lax.slice_in_dim(mirrored, start, start + length, axis=axis))
                image = mirrored
                missing -= length
            ends.append(images[::-1] if end == 0 else images)
        parts = [*ends[0], x, *ends[1]]
        x = x if len(parts) == 1 else lax.concatenate(parts, axis)
    return x


@composite(static_argnames=("widths",))
def _linear_ramp(x: Any, values: Any, widths: Widths) -> Any:
    target = _per_end("end_values", values, x.ndim, x.dtype)
    for axis, pair in enumerate(widths):
        ramps = [_ramp(x, axis, end, pair[end], target(axis, end)) if pair[end] else None for end in (0, 1)]
        if pair != (0, 0):
            x = _extend(x, axis, *ramps)
    return x


def _ramp(x: Any, axis: int, end: int, n: int, target: Any) -> Any:
    """n elements from `target`, which is the outermost, to the edge of x, which isn't among them."""
    # Whole numbers are rounded down, in exact arithmetic where the dtype leaves room for it.
    integral = not dtypes.is_inexact(x.dtype)
    exact = integral and not (dtypes.kind(x.dtype) == "u" and x.dtype.itemsize >= 4)
    dtype = dtypes.canonicalize(dtypes.int64 if exact else dtypes.float64) if integral else x.dtype
    shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
    edge = _widen(lax.convert_element_type(_at_end(x, axis, end), dtype), axis, n)
    goal = lax.broadcast_in_dim(lax.convert_element_type(target, dtype), shape, ())
    steps = np.arange(n)[:: -1 if end else 1]
    steps = lax.broadcast_in_dim((steps if exact else steps / n).astype(dtype), shape, (axis,))
    way = lax.mul(lax.sub(edge, goal), steps)
    if exact:
        count = lax.full(shape, n, dtype)
        below = lax.lt(lax.rem(way, count), lax.full(shape, 0, dtype))
        way = lax.sub(lax.div(way, count), lax.convert_element_type(below, dtype))
    ramp = lax.add(goal, way)
    return lax.convert_element_type(lax.floor(ramp) if integral and not exact else ramp, x.dtype)


@composite(static_argnames=("mode", "widths", "lengths"))
def _statistic(x: Any, mode: str, widths: Widths, lengths: Widths) -> Any:
    for axis, pair in enumerate(widths):
        ends: list[Any] = []
        for end in (0, 1):
            if pair[end]:
                window = _at_end(x, axis, end, lengths[axis][end])
                ends.append(_widen(lax.expand_dims(_reduce(window, mode, axis), (axis,)), axis, pair[end]))
            else:
                ends.append(None)
        if pair != (0, 0):
            x = _extend(x, axis, *ends)
    return x


def _reduce(x: Any, mode: str, axis: int) -> Any:
    import xtrace.numpy as xnp

    if mode == "median":
        middle = (x.shape[axis] - 1) // 2, x.shape[axis] // 2
        ordered = lax.sort(x, dimension=axis)
        window = lax.slice_in_dim(ordered, middle[0], middle[1] + 1, axis=axis)
        out = xnp.mean(window, axis=axis)
    else:
        out = {"maximum": xnp.max, "minimum": xnp.min, "mean": xnp.mean}[mode](x, axis=axis)
    if not dtypes.is_inexact(x.dtype) and dtypes.is_inexact(out.dtype):
        out = xnp.round(out)
    return lax.convert_element_type(out, x.dtype)


def _pad_by_function(x: Any, widths: Widths, function: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    from xtrace.numpy import mapping

    out = _constant(x, 0, widths=widths)
    for axis, pair in enumerate(widths):

        def row(values: Any, pair: Any = pair, axis: int = axis) -> Any:
            new = function(values, pair, axis, kwargs)
            if new is None:
                raise ValueError(
                    "the padding function returned None: it must return the new row, arrays can't be written to"
                )
            return new

        out = mapping.apply_along_axis(row, axis, out)
    return out


# -- trim_zeros --------------------------------------------------------------------------------------------------


def trim_zeros(filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Any:
    """An array without the zeros at its ends: the smallest block that holds all its nonzero elements.

    Args:
      filt: array of any shape; its values must be known, as the result's shape depends on them.
      trim: "f" trims at the front, "b" at the back, "fb" at both.
      axis: which axes to trim; None trims all.

    Returns:
      The block.

    Raises:
      ConcretizationTypeError: `filt` is traced.
      TypeError: `trim` is no string.

    >>> import xtrace.numpy as xnp
    >>> xnp.trim_zeros(xnp.array([0, 0, 1, 2, 0]))
    Array([1, 2], dtype=int32)
    """
    x = as_array("trim_zeros", filt)
    concrete = x.to_concrete_value() if isinstance(x, Tracer) else x
    if concrete is None or isinstance(concrete, Tracer):
        raise errors.ConcretizationTypeError(x, "The `filt` argument of trim_zeros decides about the result's shape.")
    if not isinstance(trim, str):
        raise TypeError(f"trim is a string: 'f', 'b' or 'fb', got {trim!r}")
    axes = tuple(range(x.ndim)) if axis is None else canonical_axes(axis, x.ndim)
    if not x.ndim:
        return x
    nonzero = np.nonzero(np.asarray(concrete))
    starts, stops = [0] * x.ndim, list(x.shape)
    for i in axes:
        if not nonzero[i].size:
            stops[i] = 0
            continue
        if "f" in trim.lower():
            starts[i] = int(nonzero[i].min())
        if "b" in trim.lower():
            stops[i] = operator.index(int(nonzero[i].max()) + 1)
    return lax.slice(x, tuple(starts), tuple(stops))


__all__ = ["pad", "trim_zeros"]
