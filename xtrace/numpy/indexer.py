"""Reads and updates of indexed parts: from a parsed index to operations.

`read` and `update` take the integers of an index as operands where they aren't known, so that programs compiled for a
structure of an index serve every start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core import config, dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import creation as lax_creation
from xtrace.lax import elementwise, gathers, joining, scatters, shapes, slicing
from xtrace.lax.gathers import GatherDimensionNumbers, GatherScatterMode
from xtrace.numpy.index_parsing import ARRAY, FULL, GAP, INT, NEW, SLICE, WINDOW, Parsed, index_dtype
from xtrace.transforms.zeros import Zero, instantiate

_enable_x64 = config.enable_x64.state

CLIP, FILL_OR_DROP, PROMISE = (
    GatherScatterMode.CLIP,
    GatherScatterMode.FILL_OR_DROP,
    GatherScatterMode.PROMISE_IN_BOUNDS,
)

# -- reading -----------------------------------------------------------------------------------------------------


def read(
    x: Any,
    parsed: Parsed,
    mode: GatherScatterMode = PROMISE,
    fill_value: Any = None,
    unique: bool = False,
    is_sorted: bool = False,
    wrap: bool = True,
) -> Any:
    """The indexed part of `x`."""
    if parsed.inserted:
        x = shapes.expand_dims(x, parsed.inserted)
        parsed = parsed._replace(inserted=())
    if parsed.static:
        return read_static(x, parsed.entries, parsed.leaves)
    if not parsed.arrays and (
        mode is not FILL_OR_DROP or all([e[0] != WINDOW and e != (INT, False) for e in parsed.entries])
    ):
        return read_window(x, parsed.entries, parsed.leaves, wrap)
    where = locate(shaped(x).shape, parsed, wrap)
    if 0 in where.shape:
        out = instantiate(Zero(ShapedArray(where.shape, shaped(x).dtype)))
    else:
        if 0 in shaped(x).shape:
            _check_fits(where.slice_sizes, shaped(x).shape)
        out = gathers.gather(
            x,
            where.indices(),
            where.numbers,
            where.slice_sizes,
            unique_indices=unique or not parsed.arrays,
            indices_are_sorted=is_sorted or not parsed.arrays,
            mode=mode,
            fill_value=fill_value,
        )
        if where.reversed:
            out = shapes.rev(out, where.reversed)
    return shapes.expand_dims(out, where.new_axes) if where.new_axes else out


def read_static(x: Any, entries: Any, leaves: Any) -> Any:
    """Integers, slices and new axes only, all known: slice, rev, squeeze, broadcast_in_dim."""
    plan = static_plan(x.aval.shape if hasattr(x, "aval") else shaped(x).shape, entries, tuple(leaves))
    for primitive, params in plan:
        x = primitive.bind(x, **params)
    return x


_static_plans: dict[Any, Any] = {}


def static_plan(shape: tuple[int, ...], entries: Any, leaves: tuple[int, ...]) -> list[tuple[Any, dict[str, Any]]]:
    """The operations of a read at known positions."""
    key = (shape, entries, leaves)
    plan = _static_plans.get(key)
    if plan is not None:
        return plan  # type: ignore[no-any-return]
    starts, stops, strides = [], [], []
    reversed_, squeezed, new_axes = [], [], []
    kept = 0
    position = iter(leaves)
    for entry in entries:
        kind = entry[0]
        if kind == NEW:
            new_axes.append(kept + len(new_axes))
            continue
        if kind == GAP:
            continue
        d = len(starts)
        start, stop, step = 0, shape[d], 1
        if kind == INT:
            start = next(position)
            stop = start + 1
            squeezed.append(d)
        elif kind == SLICE:
            start, n, step = next(position), entry[1], entry[2]
            if step < 0:
                reversed_.append(d)
                step = -step
            stop = min(start + n * step, shape[d]) if n else start
        starts.append(start)
        stops.append(stop)
        strides.append(step)
        kept += kind != INT
    plan = []
    sizes = tuple([-(-(hi - lo) // s) for lo, hi, s in zip(starts, stops, strides)])
    if tuple(stops) != shape or any(starts) or any([s != 1 for s in strides]):
        params = {
            "start_indices": tuple(starts),
            "limit_indices": tuple(stops),
            "strides": None if all([s == 1 for s in strides]) else tuple(strides),
        }
        plan.append((slicing.slice_p, params))
    if reversed_:
        plan.append((shapes.rev_p, {"dimensions": tuple(reversed_)}))
    if squeezed:
        plan.append((shapes.squeeze_p, {"dimensions": tuple(squeezed)}))
        sizes = tuple([n for d, n in enumerate(sizes) if d not in squeezed])
    if new_axes:
        old = iter(sizes)
        wide = tuple([1 if d in new_axes else next(old) for d in range(len(sizes) + len(new_axes))])
        dims = tuple([d for d in range(len(wide)) if d not in new_axes])
        plan.append((shapes.broadcast_in_dim_p, {"shape": wide, "broadcast_dimensions": dims, "sharding": None}))
    if len(_static_plans) > 4096:
        _static_plans.clear()
    _static_plans[key] = plan
    return plan


def read_window(x: Any, entries: Any, leaves: Any, wrap: bool = True) -> Any:
    """Integers, slices and new axes only, some traced: dynamic_slice, then what `read_static` does within it."""
    shape = shaped(x).shape
    starts, sizes = [], []
    rest: list[tuple[Any, ...]] = []
    rest_leaves: list[int] = []
    position = iter(leaves)
    integer = _dtype_for(shape)
    for entry in entries:
        kind = entry[0]
        if kind <= GAP:
            rest.append(entry)
            continue
        size = shape[len(sizes)]
        if kind == FULL:
            starts.append(integer.type(0))
            sizes.append(size)
            rest.append(entry)
            continue
        start = as_start(next(position), size, integer, wrap and kind != SLICE and not (kind == INT and entry[1]))
        if kind == INT:
            n, step = 1, 1
            rest.append((INT, True))
            rest_leaves.append(0)
        else:
            n, step = entry[1], entry[2]
            if abs(step) == 1 and step > 0:
                rest.append((FULL,))
            else:
                rest.append((SLICE, n, step))
                rest_leaves.append(0)
        starts.append(start)
        sizes.append((n - 1) * abs(step) + 1 if n else 0)
    out = slicing.dynamic_slice_p.bind(x, *starts, slice_sizes=tuple(sizes))
    return read_static(out, tuple(rest), rest_leaves)


def _dtype_for(shape: tuple[int, ...]) -> np.dtype:
    return dtypes.int64 if _enable_x64.value and any([d >= 2**31 for d in shape]) else dtypes.int32


def as_start(start: Any, size: int, dtype: Any, wrap: bool) -> Any:
    """A start index as a scalar of `dtype`; with `wrap`, negative values counted from the end."""
    if isinstance(start, (int, np.integer)):
        k = int(start)
        return dtype.type(k + size if k < 0 and wrap else k)
    start = shapes.convert(start, dtype, False)
    return slicing.nonnegative(start, size) if wrap else start


# -- where the indexed part lies: gather's and scatter's numbers -----------------------------------------------------


class Location:
    """The indexed part of an array as gather and scatter see it.

    shape: of the part, without new axes. reversed: its dimensions that run backwards. new_axes: positions of new axes
    in the result. numbers, slice_sizes: gather's.
    """

    def __init__(self) -> None:
        self.shape: tuple[int, ...] = ()
        self.reversed: tuple[int, ...] = ()
        self.new_axes: tuple[int, ...] = ()
        self.slice_sizes: tuple[int, ...] = ()
        self.numbers = GatherDimensionNumbers((), (), ())
        #: (values, dimensions among the batch dimensions that they run along) of each index component.
        self.components: list[tuple[Any, tuple[int, ...]]] = []
        self.batch_shape: tuple[int, ...] = ()

    def indices(self) -> Any:
        """The array of index vectors."""
        shape = self.batch_shape
        if not self.components:
            return instantiate(Zero(ShapedArray((*shape, 0), dtypes.int32)))
        found = {shaped(v).dtype for v, _ in self.components}
        dtype = found.pop() if len(found) == 1 else _common_index_dtype(found)
        columns = []
        for value, dims in self.components:
            value = shapes.convert(value, dtype, False)
            own = shaped(value).shape
            full = tuple([shape[d] for d in dims])
            if own != full:
                value = shapes.broadcast_in_dim(value, full, range(len(full) - len(own), len(full)))
            columns.append(
                shapes.broadcast_in_dim_p.bind(value, shape=(*shape, 1), broadcast_dimensions=dims, sharding=None)
            )
        return columns[0] if len(columns) == 1 else joining.concatenate_p.bind(*columns, dimension=len(shape))


def _common_index_dtype(found: set[Any]) -> Any:
    return dtypes.int64 if _enable_x64.value and any([d.itemsize == 8 for d in found]) else dtypes.int32


def locate(shape: tuple[int, ...], parsed: Parsed, wrap: bool = True) -> Location:
    """Where the part lies that a parsed index names in an array of `shape`."""
    entries, arrays = parsed.entries, parsed.arrays
    block: tuple[int, ...] = ()
    first = -1
    if arrays:
        # NumPy's rule: index arrays and integers that stand together leave their dimensions there, others in front.
        places = [n for n, e in enumerate(entries) if e[0] in (INT, ARRAY)]
        block = _broadcast_index_shapes(parsed)
        first = places[0] if places[-1] - places[0] + 1 == len(places) else -2
    where = Location()
    batch: list[int] = []  # sizes of the dimensions of the indices
    out: list[int] = []
    offset, collapsed, sizes = [], [], []
    reversed_, new_axes = [], []
    block_dims: tuple[int, ...] = ()

    def add_block() -> None:
        nonlocal block_dims
        block_dims = tuple(range(len(batch), len(batch) + len(block)))
        batch.extend(block)
        out.extend(block)

    if first == -2:
        add_block()
    pending: list[tuple[int, Any]] = []  # components along the block, whose dimensions are known later
    components: dict[int, tuple[Any, Any]] = {}
    position = iter(parsed.leaves)
    d = 0
    for n, entry in enumerate(entries):
        kind = entry[0]
        if n == first:
            add_block()
        if kind == NEW:
            new_axes.append(len(out) + len(new_axes))
            continue
        if kind == GAP:
            continue
        size = shape[d]
        if kind == FULL:
            offset.append(len(out))
            out.append(size)
            sizes.append(size)
        elif kind in (INT, ARRAY):
            value = _component(next(position), entry, size, shape, wrap)
            if kind == INT and not arrays:
                components[d] = (value, ())
            else:
                pending.append((d, value))
            collapsed.append(d)
            sizes.append(1)
        else:
            length, step = entry[1], entry[2]
            start = as_start(next(position), size, _dtype_for(shape), wrap and kind == WINDOW)
            if step < 0:
                reversed_.append(len(out))
            if abs(step) == 1:
                components[d] = (start, ())
                offset.append(len(out))
                sizes.append(length)
            else:
                run = lax_creation.iota(_dtype_for(shape), length)
                run = _affine(run, abs(step), start)
                components[d] = (run, (len(batch),))
                batch.append(length)
                collapsed.append(d)
                sizes.append(1)
            out.append(length)
        d += 1
    for dim, value in pending:
        components[dim] = (value, block_dims)
    start_map = sorted(components)
    where.components = [components[d] for d in start_map]
    where.shape, where.batch_shape = tuple(out), tuple(batch)
    where.reversed, where.new_axes = tuple(reversed_), tuple(new_axes)
    where.slice_sizes = tuple(sizes)
    where.numbers = GatherDimensionNumbers(tuple(offset), tuple(collapsed), tuple(start_map))
    return where


def _check_fits(sizes: Sequence[int], shape: tuple[int, ...]) -> None:
    for axis, (size, available) in enumerate(zip(sizes, shape)):
        if size > available:
            raise IndexError(f"index is out of bounds for axis {axis} with size {available}")


def _component(value: Any, entry: tuple[Any, ...], size: int, shape: tuple[int, ...], wrap: bool) -> Any:
    """The positions that an INT or ARRAY entry names along a dimension of `size`, counted from its start."""
    kind, in_bounds = entry
    if not in_bounds:
        return _wrapped(value, size, wrap)
    if type(value) is int:
        return np.int32(value) if value < 2**31 else np.int64(value)
    return shapes.convert(value, _dtype_for(shape), False) if kind == INT else value


def _affine(run: Any, step: int, start: Any) -> Any:
    dtype = shaped(run).dtype
    if step != 1:
        run = elementwise.mul_p.bind(run, dtype.type(step))
    return elementwise.add_p.bind(run, start)


def _broadcast_index_shapes(parsed: Parsed) -> tuple[int, ...]:
    found = []
    position = iter(parsed.leaves)
    for e in parsed.entries:
        if e[0] >= INT:
            leaf = next(position)
            if e[0] == ARRAY:
                found.append(shaped(leaf).shape)
    if len(found) == 1:
        return found[0]
    return shapes.broadcast_shapes(*found)


def _wrapped(value: Any, size: int, wrap: bool) -> Any:
    """An index that may be out of bounds, negative ones counted from the end if `wrap`."""
    if type(value) is int:
        return np.int32(max(min(value, 2**31 - 1), -(2**31)))
    if isinstance(value, np.ndarray):
        value = value.astype(dtypes.canonicalize(value.dtype), copy=False)
        if not wrap or dtypes.kind(value.dtype) != "i":
            return value
        if size > slicing.int_max(value.dtype):
            value = value.astype(index_dtype())
        return np.where(value < 0, value + value.dtype.type(size), value)
    if shaped(value).weak_type:
        value = shapes.convert(value, shaped(value).dtype, False)
    return slicing.nonnegative(value, size) if wrap else value


# -- updates -----------------------------------------------------------------------------------------------------


def update(
    x: Any,
    parsed: Parsed,
    y: Any,
    kind: Any,
    mode: GatherScatterMode = FILL_OR_DROP,
    unique: bool = False,
    is_sorted: bool = False,
    wrap: bool = True,
    name: str = "set",
) -> Any:
    """`x` with the indexed part combined with `y`, of the same dtype, by a function of lax.scatters (`kind`)."""
    if parsed.inserted:
        wide = shapes.expand_dims(x, parsed.inserted)
        plain = parsed._replace(inserted=())
        return shapes.squeeze(update(wide, plain, y, kind, mode, unique, is_sorted, wrap, name), parsed.inserted)
    if name == "set" and not parsed.arrays and replaceable(parsed.entries):
        return _replace(x, parsed, y)
    where = locate(shaped(x).shape, parsed, wrap)
    y = _fit(y, where.shape, where.new_axes, name)
    if 0 in where.shape or 0 in shaped(x).shape:  # what is out of bounds is dropped, and in nothing all is
        return x
    if where.reversed:
        y = shapes.rev(y, where.reversed)
    numbers = scatters.ScatterDimensionNumbers(
        where.numbers.offset_dims, where.numbers.collapsed_slice_dims, where.numbers.start_index_map
    )
    return kind(
        x,
        where.indices(),
        y,
        numbers,
        indices_are_sorted=is_sorted or not parsed.arrays,
        unique_indices=unique or not parsed.arrays,
        mode=mode,
    )


def replaceable(entries: Any) -> bool:
    """Whether an index without arrays names a box that is known to lie in bounds: dynamic_update_slice replaces it."""
    return all(
        [e[0] in (NEW, GAP, FULL) or (e[0] == INT and e[1]) or (e[0] == SLICE and abs(e[2]) == 1) for e in entries]
    )


def _replace(x: Any, parsed: Parsed, y: Any) -> Any:
    shape = shaped(x).shape
    starts, sizes, part, reversed_, new_axes, integers = [], [], [], [], [], []
    position = iter(parsed.leaves)
    integer = _dtype_for(shape)
    for entry in parsed.entries:
        kind = entry[0]
        if kind == NEW:
            new_axes.append(len(part) + len(new_axes))
        elif kind != GAP:
            d = len(sizes)
            if kind == FULL:
                starts.append(integer.type(0))
                sizes.append(shape[d])
                part.append(shape[d])
                continue
            starts.append(as_start(next(position), shape[d], integer, False))
            sizes.append(1 if kind == INT else entry[1])
            if kind == INT:
                integers.append(d)
            else:
                part.append(entry[1])
                if entry[2] < 0:
                    reversed_.append(d)
    if not shaped(y).shape:
        y = shapes.broadcast_in_dim(y, tuple(sizes), ())
    else:
        y = _fit(y, tuple(part), tuple(new_axes), "set")
        if integers:
            y = shapes.expand_dims(y, integers)
        if reversed_:
            y = shapes.rev(y, reversed_)
    if 0 in sizes:
        return x
    if tuple(sizes) == shape:
        return y
    return slicing.dynamic_update_slice_p.bind(x, y, *starts)


def _fit(y: Any, part: tuple[int, ...], new_axes: tuple[int, ...], name: str) -> Any:
    """`y` broadcast to the shape of the indexed part, in which `new_axes` have size 1, and without these."""
    old = iter(part)
    target = tuple([1 if d in new_axes else next(old) for d in range(len(part) + len(new_axes))]) if new_axes else part
    shape = shaped(y).shape
    if shape != target:
        gap = len(target) - len(shape)
        if gap < 0 or any([n not in (1, m) for n, m in zip(shape, target[gap:])]):
            raise ValueError(
                f"Incompatible shapes for broadcasting: .at[...].{name}() got a value of shape {shape} for an indexed "
                f"part of shape {target}."
            )
        y = shapes.broadcast_in_dim(y, target, range(gap, len(target)))
    return shapes.squeeze(y, new_axes) if new_axes else y
