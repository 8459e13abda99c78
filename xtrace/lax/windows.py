"""Reductions over sliding windows (pooling), and the operations that choose one element of each window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xtrace.core import dtypes, pytree, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import elementwise as _elementwise
from xtrace.lax import reductions as _reductions
from xtrace.lax import shapes as _shapes
from xtrace.lax.window_shapes import Pads, dilated, int_pairs, padtype_to_pads, windows_that_fit


class Window(NamedTuple):
    """Windows over the dimensions of an array; the fields are parameters of the primitives."""

    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    padding: Pads
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]


# -- shapes ------------------------------------------------------------------------------------------------------


def padded_sizes(shape: Sequence[int], window: Window) -> list[int]:
    """The sizes of an array once dilated and padded."""
    return [dilated(d, b) + lo + hi for d, b, (lo, hi) in zip(shape, window.base_dilation, window.padding)]


def window_count(shape: Sequence[int], window: Window) -> tuple[int, ...]:
    """How many windows there are along each dimension."""
    sizes = padded_sizes(shape, window)
    extents = map(dilated, window.window_dimensions, window.window_dilation)
    return tuple([windows_that_fit(d, w, s) for d, w, s in zip(sizes, extents, window.window_strides)])


def check_window(name: str, shape: tuple[int, ...], window: Window) -> None:
    """Raise TypeError or ValueError for windows that don't fit an array's dimensions, naming the operation."""
    rank = len(shape)
    if len(window.window_dimensions) != rank:
        raise TypeError(
            f"{name} got the wrong number of window_dimensions for operand: got operand shape {shape} with "
            f"window_dimensions {window.window_dimensions}: give one for each of {rank} dimensions, 1 where there is "
            "no window."
        )
    for field in ("window_strides", "base_dilation", "window_dilation"):
        if len(getattr(window, field)) != rank:
            raise TypeError(
                f"{name} got inconsistent {field} and window_dimensions: got {field} {getattr(window, field)} and "
                f"window_dimensions {window.window_dimensions}."
            )
    if len(window.padding) != rank:
        raise ValueError(f"{name} needs a (low, high) pair of padding for each of {rank} dimensions: {window.padding}")
    for field in ("window_dimensions", "window_strides", "base_dilation", "window_dilation"):
        if any([v < 1 for v in getattr(window, field)]):
            raise ValueError(f"{name} {field} must be positive, got {getattr(window, field)}")
    if any([d < 0 for d in padded_sizes(shape, window)]):
        raise ValueError(f"{name} has negative padding {window.padding} that is larger than its operand {shape}")


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of the result of `reduce_window`.

    Args:
      operand_shape: the operand's shape.
      window_dimensions, window_strides, padding, base_dilation, window_dilation: as there, padding as pairs.

    Returns:
      The shape.

    >>> import xtrace as xt
    >>> xt.lax.reduce_window_shape_tuple((8, 9), (2, 3), (2, 3), [(0, 0), (0, 0)])
    (4, 3)
    """
    operand_shape = statics.integers(operand_shape, "operand_shape")
    ones = (1,) * len(operand_shape)
    window = Window(
        statics.integers(window_dimensions, "window_dimensions"),
        statics.integers(window_strides, "window_strides"),
        int_pairs("reduce_window", padding),
        ones if base_dilation is None else statics.integers(base_dilation, "base_dilation"),
        ones if window_dilation is None else statics.integers(window_dilation, "window_dilation"),
    )
    return window_count(operand_shape, window)


# -- primitives --------------------------------------------------------------------------------------------------

_KINDS = {"reduce_window_sum": "iufc", "reduce_window_max": "biuf", "reduce_window_min": "biuf"}


def _reduction_aval(name: str) -> Callable[..., ShapedArray]:
    kinds = _KINDS[name]

    def rule(x: ShapedArray, **params: Any) -> ShapedArray:
        window = Window(**params)
        check_window(name, x.shape, window)
        if dtypes.kind(x.dtype) not in kinds:
            if name == "reduce_window_sum":
                raise TypeError(f"operand to reduce_window_sum must have a number dtype, got {x.dtype}")
            raise TypeError(f"{name} does not accept dtype {x.dtype}: it needs an order")
        return ShapedArray(window_count(x.shape, window), x.dtype, x.weak_type)

    return rule


reduce_window_sum_p = Primitive("reduce_window_sum", _reduction_aval("reduce_window_sum"))
reduce_window_max_p = Primitive("reduce_window_max", _reduction_aval("reduce_window_max"))
reduce_window_min_p = Primitive("reduce_window_min", _reduction_aval("reduce_window_min"))


def _reduce_window_avals(*avals: ShapedArray, jaxpr: Jaxpr, consts: tuple[()], **params: Any) -> list[ShapedArray]:
    n = len(avals) // 2
    operands, inits = avals[:n], avals[n:]
    if any([x.dtype != v.dtype for x, v in zip(operands, inits)]):
        raise TypeError(
            f"reduce_window got inconsistent dtypes for operands and init_values: got operand dtypes "
            f"{[str(x.dtype) for x in operands]} and init_value dtypes {[str(v.dtype) for v in inits]}."
        )
    if any([v.shape for v in inits]):
        raise TypeError(
            f"reduce_window expected init_values to be scalars but init_values have shapes {[v.shape for v in inits]}."
        )
    if any([x.shape != operands[0].shape for x in operands]):
        raise TypeError(f"reduce_window needs operands of one shape, got {[x.shape for x in operands]}")
    window = Window(**params)
    check_window("reduce_window", operands[0].shape, window)
    shape = window_count(operands[0].shape, window)
    return [ShapedArray(shape, x.dtype, x.weak_type) for x in operands]


reduce_window_p = Primitive("reduce_window", _reduce_window_avals)
reduce_window_p.multiple_results = True
reduce_window_p.holds_jaxprs = True


def _check_source(name: str, source: ShapedArray, operand: ShapedArray, window: Window) -> None:
    """Raise TypeError unless `source` has one element for each window over `operand`."""
    check_window(name, operand.shape, window)
    if source.dtype != operand.dtype:
        raise TypeError(f"{name} needs source and operand of one dtype, got {source.dtype} and {operand.dtype}")
    shape = window_count(operand.shape, window)
    if source.shape != shape:
        raise TypeError(f"{name} needs a source element for each window: shape {shape}, got {source.shape}")


def undilated(window_dimensions: tuple[int, ...], window_strides: tuple[int, ...], padding: Pads) -> Window:
    """Windows without dilation."""
    ones = (1,) * len(window_dimensions)
    return Window(window_dimensions, window_strides, padding, ones, ones)


def _select_and_scatter_add_aval(
    source: ShapedArray,
    operand: ShapedArray,
    *,
    select_prim: Primitive,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: Pads,
) -> ShapedArray:
    window = undilated(window_dimensions, window_strides, padding)
    _check_source("select_and_scatter_add", source, operand, window)
    return operand.strong()


select_and_scatter_add_p = Primitive("select_and_scatter_add", _select_and_scatter_add_aval)


def _select_and_scatter_aval(
    operand: ShapedArray,
    source: ShapedArray,
    init_value: ShapedArray,
    *,
    select_jaxpr: Jaxpr,
    scatter_jaxpr: Jaxpr,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: Pads,
) -> ShapedArray:
    window = undilated(window_dimensions, window_strides, padding)
    _check_source("select_and_scatter", source, operand, window)
    if init_value.shape or init_value.dtype != operand.dtype:
        raise TypeError(
            f"select_and_scatter needs a scalar init_value of operand's dtype {operand.dtype}, "
            f"got {init_value.str_short(short_dtypes=False)}"
        )
    return operand.strong()


select_and_scatter_p = Primitive("select_and_scatter", _select_and_scatter_aval)
select_and_scatter_p.holds_jaxprs = True


def _select_and_gather_add_aval(
    tangents: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **params: Any
) -> ShapedArray:
    if tangents.shape != operand.shape or tangents.dtype != operand.dtype:
        raise TypeError(
            "select_and_gather_add tangents and operand shapes must match, and their dtypes, "
            f"got {tangents.str_short()} and {operand.str_short()}."
        )
    window = Window(**params)
    check_window("select_and_gather_add", operand.shape, window)
    return ShapedArray(window_count(operand.shape, window), operand.dtype)


select_and_gather_add_p = Primitive("select_and_gather_add", _select_and_gather_add_aval)

#: What select_prim may be: the comparison that keeps the first of two elements, and the element it never prefers.
LEAST_CHOSEN: dict[Primitive, Callable[[Any], Any]] = {
    _elementwise.ge_p: _reductions.lowest,
    _elementwise.le_p: _reductions.highest,
}

# -- functions ---------------------------------------------------------------------------------------------------

_OF_MONOID = {
    _reductions.reduce_sum_p: reduce_window_sum_p,
    _reductions.reduce_max_p: reduce_window_max_p,
    _reductions.reduce_min_p: reduce_window_min_p,
}


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Reduce each of the windows that slide over an array: pooling.

    Args:
      operand: an array or a tree of arrays of one shape.
      init_value: scalars, of the structure and dtypes of operand: the identity of `computation`, with which windows
        begin.
      computation: function of two (trees of) scalars that returns one; it must be associative.
      window_dimensions: the window's size along each dimension of operand.
      window_strides: how far apart windows are; 1 by default.
      padding: "VALID", "SAME", "SAME_LOWER", or (low, high) pairs, one a dimension.
      base_dilation: how far apart the elements of operand are set; 1 by default.
      window_dilation: how far apart the elements of a window are; 1 by default.

    Returns:
      The structure of operand; along each dimension, one element a window.

    Raises:
      ValueError: trees of different structure, or padding without meaning.
      TypeError: shapes, dtypes or numbers of dimensions that don't go together.

    >>> import numpy as np, xtrace as xt
    >>> x = np.float32([3, 1, 4, 1, 5, 9])
    >>> xt.lax.reduce_window(x, -np.inf, xt.lax.max, (2,), (2,)).tolist()
    [3.0, 4.0, 9.0]
    """
    flat, tree = pytree.tree_flatten(operand)
    inits, init_tree = pytree.tree_flatten(init_value)
    if tree != init_tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree} (of reduce_window)"
        )
    if not flat:
        raise ValueError("reduce_window must have at least one operand.")
    avals = [shaped(x) for x in flat]
    dimensions = statics.integers(window_dimensions, "window_dimensions")
    ones = (1,) * len(dimensions)
    strides = ones if window_strides is None else statics.integers(window_strides, "window_strides")
    base = ones if base_dilation is None else statics.integers(base_dilation, "base_dilation")
    apart = ones if window_dilation is None else statics.integers(window_dilation, "window_dilation")
    if isinstance(padding, str):
        sizes = [*map(dilated, avals[0].shape, base)]
        padding = tuple(padtype_to_pads(sizes, [*map(dilated, dimensions, apart)], strides, padding))
    else:
        padding = int_pairs("reduce_window", padding)
    window = Window(dimensions, strides, padding, base, apart)
    # Weakly typed initial values take the operand's dtype.
    inits = [_shapes.convert(v, a.dtype, False) if shaped(v).weak_type else v for v, a in zip(inits, avals)]
    scalars = tuple([ShapedArray((), a.dtype) for a in avals])
    jaxpr = _reductions.computation_jaxpr("reduce_window", computation, tree, scalars)
    if len(flat) == 1 and shaped(inits[0]).dtype == scalars[0].dtype:
        named = _OF_MONOID.get(_reductions.monoid(jaxpr, inits[0], scalars[0].dtype))  # type: ignore[arg-type]
        if named is not None and dtypes.kind(scalars[0].dtype) in _KINDS[named.name]:
            return tree.unflatten([named.bind(flat[0], **window._asdict())])
    return tree.unflatten(reduce_window_p.bind(*flat, *inits, jaxpr=jaxpr, consts=(), **window._asdict()))


def select_and_scatter(
    operand: Any,
    select: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    source: Any,
    init_value: Any,
    scatter: Callable[[Any, Any], Any],
) -> Any:
    """Choose an element of each window over an array, and combine source elements where the chosen ones are.

    Args:
      operand: an array.
      select: function of two scalars that says whether the first is kept.
      window_dimensions, window_strides, padding: as in `reduce_window`.
      source: array of operand's dtype, with one element a window.
      init_value: a scalar: what the result is before anything is scattered.
      scatter: function of two scalars that combines the result so far with an element of source.

    Returns:
      An array of operand's shape and dtype.

    >>> import numpy as np, xtrace as xt
    >>> from xtrace.lax.windows import select_and_scatter
    >>> x, source = np.float32([3, 1, 4, 1]), np.float32([10, 20])
    >>> select_and_scatter(x, xt.lax.ge, (2,), (2,), "VALID", source, np.float32(0), xt.lax.add).tolist()
    [10.0, 0.0, 20.0, 0.0]
    """
    aval = shaped(operand)
    dimensions, strides = (
        statics.integers(window_dimensions, "window_dimensions"),
        statics.integers(window_strides, "window_strides"),
    )
    if isinstance(padding, str):
        padding = tuple(padtype_to_pads(aval.shape, dimensions, strides, padding))
    scalar = ShapedArray((), aval.dtype)
    leaf = pytree.tree_structure(0)
    return select_and_scatter_p.bind(
        operand,
        source,
        init_value,
        select_jaxpr=_reductions.computation_jaxpr(
            "select_and_scatter", select, leaf, (scalar,), (ShapedArray((), dtypes.bool_),)
        ),
        scatter_jaxpr=_reductions.computation_jaxpr("select_and_scatter", scatter, leaf, (scalar,)),
        window_dimensions=dimensions,
        window_strides=strides,
        padding=int_pairs("select_and_scatter", padding),
    )


# -- windows element by element ----------------------------------------------------------------------------------


class Offsets:
    """Goes through the elements of all windows at once: for each position in the window, a strided slice.

    This is how operations on windows are written in terms of elementwise ones, where a derivative is wanted of an
    unknown computation or a backend has no better way: as many steps as a window has elements.
    """

    def __init__(self, shape: Sequence[int], window: Window) -> None:
        self.shape = tuple(shape)
        self.window = window
        self.padded = padded_sizes(shape, window)
        self.count = window_count(shape, window)
        self.offsets = list(np.ndindex(*window.window_dimensions))

    def config(self) -> list[tuple[int, int, int]]:
        """The padding of the array, as `pad` takes it."""
        return [(lo, hi, b - 1) for (lo, hi), b in zip(self.window.padding, self.window.base_dilation)]

    def pad(self, x: Any, fill: Any) -> Any:
        from xtrace.lax import joining

        config = self.config()
        return x if all([c == (0, 0, 0) for c in config]) else joining.pad(x, fill, config)

    def unpad(self, x: Any) -> Any:
        from xtrace.lax import joining

        return joining.unpad(x, tuple(self.config()), self.shape)

    def starts(self, offset: tuple[int, ...]) -> list[int]:
        return [o * a for o, a in zip(offset, self.window.window_dilation)]

    def take(self, padded: Any, offset: tuple[int, ...]) -> Any:
        """The elements at one position of all windows."""
        from xtrace.lax import slicing

        starts, strides = self.starts(offset), self.window.window_strides
        limits = [a + (n - 1) * s + 1 if n else a for a, n, s in zip(starts, self.count, strides)]
        return slicing.slice(padded, starts, limits, strides)

    def put(self, x: Any, fill: Any, offset: tuple[int, ...]) -> Any:
        """An array of the padded shape with `x` at one position of all windows, and `fill` elsewhere."""
        from xtrace.lax import joining

        config = []
        for start, n, stride, size in zip(self.starts(offset), self.count, self.window.window_strides, self.padded):
            extent = dilated(n, stride)
            config.append((start, size - start - extent, stride - 1))
        return joining.pad(x, fill, config)

    def inside(self, offset: tuple[int, ...]) -> Any:
        """True where this position of a window is an element of the array, False where it is padding: a numpy array."""
        masks = []
        for start, n, stride, (lo, _), base, size in zip(
            self.starts(offset),
            self.count,
            self.window.window_strides,
            self.window.padding,
            self.window.base_dilation,
            self.shape,
        ):
            place = start + stride * np.arange(n) - lo
            masks.append((place >= 0) & (place % base == 0) & (place // base < size))
        if all([m.all() for m in masks]):
            return None
        out = np.ones((), bool)
        for m in masks:
            out = out[..., None] & m
        return out


def reduce_by_offsets(
    combine: Callable[..., Sequence[Any]], operands: Sequence[Any], inits: Sequence[Any], window: Window
) -> list[Any]:
    """`reduce_window` as elementwise operations, one for each position in the window. Padding takes no part."""
    from xtrace.lax import selection

    offsets = Offsets(shaped(operands[0]).shape, window)
    padded = [offsets.pad(x, v) for x, v in zip(operands, inits)]
    state = [_shapes.broadcast_in_dim(v, offsets.count, ()) for v in inits]
    for offset in offsets.offsets:
        combined = combine(*state, *[offsets.take(x, offset) for x in padded])
        inside = offsets.inside(offset)
        state = [c if inside is None else selection.select_n(inside, s, c) for s, c in zip(state, combined)]
    return list(state)


def winners(
    better: Callable[[Any, Any], Any], operand: Any, fill: Any, offsets: Offsets
) -> tuple[Any, Callable[[int], Any]]:
    """For each window the number of the position whose element is chosen; and a function of a number: who has it."""
    from xtrace.lax import comparisons, selection

    padded = offsets.pad(operand, fill)
    best = offsets.take(padded, offsets.offsets[0])
    index = _shapes.full(offsets.count, np.int32(0))
    found = offsets.inside(offsets.offsets[0])
    seen = np.ones((), bool) if found is None else found
    for k, offset in enumerate(offsets.offsets[1:], 1):
        element, inside = offsets.take(padded, offset), offsets.inside(offset)
        replaced = _elementwise.not_p.bind(better(best, element))
        if not seen.all():  # where nothing but padding has been seen
            replaced = _elementwise.or_p.bind(replaced, np.broadcast_to(~seen, offsets.count))
        if inside is not None:
            replaced = _elementwise.and_p.bind(replaced, inside)
        best = selection.select_n(replaced, best, element)
        index = selection.select_n(replaced, index, _shapes.full(offsets.count, np.int32(k)))
        seen = np.ones((), bool) if inside is None else seen | inside
    return index, lambda k: comparisons.eq(index, _shapes.full(offsets.count, np.int32(k)))


from xtrace.lax import window_rules as _window_rules  # noqa: E402, F401  (sets the primitives' rules)
