"""Indices as users write them, taken apart: what each entry is, and the integers that may vary or be traced."""

from __future__ import annotations

import dataclasses
import operator
from typing import Any, NamedTuple

import numpy as np

from xtrace.core import config, dtypes, errors, pytree
from xtrace.core.primitive import shaped
from xtrace.core.trace import Tracer, current
from xtrace.lax import joining
from xtrace.runtime.jaxlib_api import ArrayImpl

_enable_x64 = config.enable_x64.state
_check_static = config.check_static_indices.state


#: Entries of a structure, first item of each tuple.
NEW, GAP, FULL, INT, SLICE, WINDOW, ARRAY = range(7)
_NEW, _GAP, _FULL = (NEW,), (GAP,), (FULL,)
_INT_IN, _INT_ANY = (INT, True), (INT, False)
_ARRAY_IN, _ARRAY_ANY = (ARRAY, True), (ARRAY, False)


@dataclasses.dataclass(frozen=True, slots=True)
class Slice:
    """A slice of fixed size whose start may be traced: `x[ds(start, size)]`. A pytree of its start, if an array.

    Attributes:
      start: the first index, an integer or an integer scalar array.
      size: how many elements, a Python integer.
      stride: the step between them, a Python integer.
    """

    start: Any
    size: int
    stride: int = 1


def _flatten_slice(s: Slice) -> tuple[tuple[Any, ...], Any]:
    return ((), (s.start, s.size, s.stride)) if type(s.start) is int else ((s.start,), (None, s.size, s.stride))


def _unflatten_slice(static: Any, children: Any) -> Slice:
    start, size, stride = static
    return Slice(children[0] if children else start, size, stride)


pytree.register_node(Slice, _flatten_slice, _unflatten_slice)


def ds(start: Any, size: int | None = None, stride: int = 1) -> Slice | slice:
    """A slice of fixed size at a position that may be traced, for use in an index.

    Args:
      start: the first index; None for 0. Given alone, it is the size, and the slice starts at 0.
      size: how many elements.
      stride: the step between them.

    Returns:
      What indexing understands as the slice start, start + stride, … of `size` elements.

    Example:
      >>> import xtrace as xt
      >>> xt.numpy.array([0, 1, 2, 3])[xt.ds(1, 2)].tolist()
      [1, 2]
    """
    if size is None and start is None:
        return slice(None, None, None if stride == 1 else stride)
    if size is None:
        start, size = 0, start
    return Slice(0 if start is None else start, operator.index(size), operator.index(stride))  # type: ignore[arg-type]


class Parsed(NamedTuple):
    """An index taken apart.

    entries: one tuple for each dimension of the operand, and for new axes (NEW) and empty ellipses (GAP):
      (FULL,); (INT, in_bounds); (SLICE, size, step); (WINDOW, size, stride); (ARRAY, in_bounds).
    leaves: for INT, SLICE (its lowest index), WINDOW and ARRAY the integers, in order.
    inserted: where 0-dimensional booleans stand: the operand gets dimensions of size 1 there first.
    static: whether every leaf is a Python int and in bounds.
    arrays: whether any entry is an ARRAY.
    """

    entries: tuple[tuple[Any, ...], ...]
    leaves: list[Any]
    inserted: tuple[int, ...]
    static: bool
    arrays: bool


def _complete(shape: tuple[int, ...], idx: Any) -> tuple[tuple[Any, ...], int]:
    """The index as a tuple with an ellipsis if it leaves dimensions out, and how many dimensions it names."""
    if type(idx) is not tuple:
        idx = _single(idx)
    consumed, ellipsis, special = 0, -1, False
    for position, i in enumerate(idx):
        t = type(i)
        if t is int or t is slice:
            consumed += 1
        elif i is None:
            pass
        elif i is Ellipsis:
            if ellipsis >= 0:
                raise IndexError("an index can only have a single ellipsis ('...')")
            ellipsis = position
        else:
            special = True
            break
    if special:
        idx, consumed, ellipsis = _arrays_of(shape, idx)
    ndim = len(shape)
    if consumed > ndim:
        raise IndexError(f"Too many indices: array is {ndim}-dimensional, but {consumed} were indexed")
    if ellipsis < 0 and consumed < ndim:
        idx = (*idx, Ellipsis)
    return idx, consumed


def parse(shape: tuple[int, ...], idx: Any, wrap: bool = True, clamp: bool = True, clips: bool = False) -> Parsed:
    """Take an index of an array of `shape` apart.

    wrap: negative indices count from the end. clamp: integers out of bounds are moved to the nearest in bounds; else
    they are left to the mode of the operation. clips: that is asked for, and no error for checkify to find.

    Raises IndexError and TypeError for what can't be an index.
    """
    idx, consumed = _complete(shape, idx)
    ndim = len(shape)
    entries: list[tuple[Any, ...]] = []
    leaves: list[Any] = []
    inserted: list[int] = []
    static, arrays = True, False
    axis = 0
    for position, i in enumerate(idx):
        t = type(i)
        if t is int:
            size = shape[axis]
            if not size:
                raise IndexError(f"index {i} is out of bounds for axis {axis} with size 0")
            k = i + size if i < 0 and wrap else i
            if 0 <= k < size:
                entries.append(_INT_IN)
            elif clamp and not clips and _check_static.value:
                raise IndexError(f"index {i} out of bounds for axis {axis} with size {size}; flag check_static_indices")
            elif (
                wrap and current.trace is not None and not clips
            ):  # recorded as it is, for checkify to see; the operation treats it
                entries.append(_INT_ANY)
                k, static = i, False
            elif clamp:
                entries.append(_INT_IN)
                k = 0 if k < 0 else size - 1
            else:
                entries.append(_INT_ANY)
                k = size  # out of bounds on any side
                static = False
            leaves.append(k)
            axis += 1
        elif t is slice:
            size = shape[axis]
            start, stop, step = _bounds(i, size, position)
            n = len(range(start, stop, step))
            if step == 1 and n == size:
                entries.append(_FULL)
            else:
                entries.append((SLICE, n, step))
                low = start if step > 0 else start + (n - 1) * step
                leaves.append(low if n else 0)
            axis += 1
        elif i is None:
            entries.append(_NEW)
        elif i is Ellipsis:
            if ndim > consumed:
                entries.extend([_FULL] * (ndim - consumed))
                axis += ndim - consumed
            else:
                entries.append(_GAP)
        elif t is _Bool:
            inserted.append(axis + len(inserted))
            entries.append(_ARRAY_IN)
            leaves.append(np.zeros(int(i.value), np.int32))
            static, arrays = False, True
        elif t is _Mask:
            entries.append(_ARRAY_IN)
            leaves.append(i.positions)
            static, arrays = False, True
            axis += 1
        elif t is Slice:
            entries.append((WINDOW, i.size, i.stride))
            leaves.append(i.start)
            static = False
            axis += 1
        else:  # an integer array or tracer
            if shaped(i).shape:
                entries.append(_ARRAY_ANY)
                arrays = True
            else:
                entries.append(_INT_ANY)
            if not shape[axis] and not shaped(i).shape:
                raise IndexError(f"index is out of bounds for axis {axis} with size 0")
            leaves.append(i)
            static = False
            axis += 1
    return Parsed(tuple(entries), leaves, tuple(inserted), static, arrays)


class _Bool(NamedTuple):
    """A 0-dimensional boolean in an index."""

    value: bool


class _Mask(NamedTuple):
    """One dimension of a boolean array in an index: the positions where it is true."""

    positions: np.ndarray


def _no_strings(idx: Any) -> TypeError:
    return TypeError(f"JAX does not support string indexing; got idx={idx!r}. Arrays have no named fields.")


def _single(idx: Any) -> tuple[Any, ...]:
    if isinstance(idx, list):
        numbers = all([isinstance(i, (int, np.integer)) for i in idx])
        advice = (
            "`arr[tuple(seq)]` instead of `arr[seq]`, for one index per axis."
            if not numbers
            else f"`arr[array(seq)]` instead of `arr[seq]`: here, x[numpy.array({idx!r})] to pick elements along the "
            "first axis, or x[tuple(...)] for one index per axis."
        )
        raise TypeError(f"Using a non-tuple sequence for multidimensional indexing is not allowed; use {advice}")
    if isinstance(idx, str):
        raise _no_strings(idx)
    return tuple(idx) if isinstance(idx, tuple) else (idx,)


def _bounds(s: slice, size: int, position: int) -> tuple[int, int, int]:
    """Start, stop and step of a slice along an axis of `size` elements."""
    try:
        return s.indices(size)
    except TypeError:
        pass
    parts = []
    for part in (s.start, s.stop, s.step):
        if isinstance(part, Tracer):
            concrete = part.to_concrete_value()
            if concrete is None:
                raise IndexError(_traced_bounds(s, position, part)) from None
            part = int(concrete)
        parts.append(part if part is None else operator.index(part))
    return slice(*parts).indices(size)


def _traced_bounds(s: slice, position: int, tracer: Any) -> str:
    return errors._explain(
        "Array slice indices must have static start/stop/step to be used with NumPy indexing syntax. "
        f"Got {s} at position {position}: the size of the result would depend on a traced value.",
        tracer,
        "for a slice of fixed size at a traced position write x[jax.ds(start, size)] or "
        "lax.dynamic_slice_in_dim(x, start, size, axis); for a mask of varying extent, "
        "numpy.where(numpy.arange(n) < stop, x, 0); or pass the bound as static (static_argnums of jit).",
    )


def _arrays_of(shape: tuple[int, ...], idx: tuple[Any, ...]) -> tuple[tuple[Any, ...], int, int]:
    """The index with every entry of a plain type or an integer array; how many dimensions it indexes; its ellipsis."""
    found: list[Any] = []
    consumed, ellipsis = 0, -1
    masks: list[tuple[int, Any]] = []
    for i in idx:
        if i is None:
            pass
        elif i is Ellipsis:
            if ellipsis >= 0:
                raise IndexError("an index can only have a single ellipsis ('...')")
            ellipsis = len(found)
        elif type(i) in (int, slice, Slice):
            consumed += 1
        elif isinstance(i, (bool, np.bool_)):
            i = _Bool(bool(i))
        elif isinstance(i, np.integer):
            i = int(i)
            consumed += 1
        else:
            i = _as_index_array(i, idx)
            aval = shaped(i)
            if aval.dtype == dtypes.bool_:
                if not aval.shape:
                    i = _Bool(bool(_concrete_mask(i)))
                else:
                    masks.append((len(found), _concrete_mask(i)))
                    consumed += aval.ndim
            else:
                if isinstance(i, np.ndarray) and not aval.shape:
                    i = int(i)
                consumed += 1
        found.append(i)
    if not masks:
        return tuple(found), consumed, ellipsis
    # Each mask becomes one index array per dimension; its dimensions must be those of the array.
    out: list[Any] = []
    positions = dict(masks)
    axis = 0
    for n, i in enumerate(found):
        mask = positions.get(n)
        if mask is not None:
            expected = shape[axis : axis + mask.ndim]
            if any([n not in (0, m) for n, m in zip(mask.shape, expected)]) and consumed <= len(shape):
                raise IndexError(
                    f"boolean index did not match shape of indexed array in index {n}: got {mask.shape}, "
                    f"expected {list(expected)}"
                )
            out.extend([_Mask(p.astype(index_dtype())) for p in np.nonzero(mask)])
            axis += mask.ndim
        else:
            if i is Ellipsis:
                axis += max(len(shape) - consumed, 0)
            elif i is not None and type(i) is not _Bool:
                axis += 1
            out.append(i)
    return tuple(out), consumed, next((n for n, i in enumerate(out) if i is Ellipsis), -1)


_ARRAYS = (Tracer, ArrayImpl)


def index_dtype() -> np.dtype:
    """The default integer type, which index arrays have."""
    return dtypes.int64 if _enable_x64.value else dtypes.int32


def _holds_arrays(items: Any) -> bool:
    """Whether a nested list has arrays or tracers in it."""
    return any([_holds_arrays(v) if isinstance(v, (list, tuple)) else isinstance(v, _ARRAYS) for v in items])


def _stacked(items: Any) -> Any:
    """A nested list of numbers, arrays and tracers as one array."""
    return joining.stack([_stacked(v) if isinstance(v, (list, tuple)) else v for v in items])


def _as_index_array(i: Any, idx: Any) -> Any:
    if isinstance(i, (list, tuple)):
        # Within a tuple, a list stands for an array, as in NumPy.
        i = _stacked(i) if _holds_arrays(i) else np.asarray(i)
        if isinstance(i, np.ndarray) and not i.size:
            i = i.astype(np.int32)
    elif not hasattr(i, "aval"):
        convert = getattr(i, "__jax_array__", None)
        if convert is not None:
            i = convert()
        elif isinstance(i, (float, complex)):
            i = np.asarray(i)
        elif not isinstance(i, (np.ndarray, np.generic)):
            if hasattr(i, "__index__"):
                return np.asarray(operator.index(i))
            if isinstance(i, str):
                raise _no_strings(idx)
            shown = idx[0] if len(idx) == 1 else idx
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean arrays are "
                f"valid indices. Got {shown!r}"
            )
    dtype = i.dtype
    if dtypes.kind(dtype) not in "iub":
        raise TypeError(
            f"Indexer must have integer or boolean type, got indexer with type {dtype}"
            + (f" ({i!r}): round it and make it an int, e.g. int(i) or i.astype(int)" if not shaped(i).shape else "")
        )
    return i


def _concrete_mask(i: Any) -> np.ndarray:
    if isinstance(i, Tracer):
        concrete = i.to_concrete_value()
        if concrete is None:
            raise errors.NonConcreteBooleanIndexError(i)
        i = concrete
    return np.asarray(i)
