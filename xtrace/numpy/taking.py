"""Taking, putting, deleting and inserting elements by their positions or by conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from xtrace import lax
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.core.trace import Tracer
from xtrace.lax import gathers, shapes, slicing
from xtrace.lax.gathers import GatherScatterMode
from xtrace.numpy import indexing
from xtrace.numpy.arguments import as_array, canonical_axis
from xtrace.numpy.positions import concrete, is_nonzero, nonzero
from xtrace.numpy.promotion import check_arraylike, promote_dtypes

# -- take --------------------------------------------------------------------------------------------------------


def _no_out(name: str, out: Any) -> None:
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to numpy.{name} is not supported: arrays never change.")


def _flat_if_none(x: Any, axis: Any) -> tuple[Any, int]:
    if axis is None:
        return lax.reshape(x, (x.size,)), 0
    return x, canonical_axis(axis, x.ndim)


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """The elements at given positions along an axis.

    Args:
      a: array.
      indices: integer array, of any shape.
      axis: the axis; None for positions in the flattened array.
      out: must be None.
      mode: what happens out of bounds: "fill" (the default) gives fill_value and counts negative positions from the
        end; "clip" the nearest in bounds, the first for negative ones; "wrap" goes around.
      unique_indices, indices_are_sorted: promises about indices.
      fill_value: in mode "fill", the value out of bounds; by default NaN, or the least integer.

    Returns:
      The array a with its axis replaced by the dimensions of indices.

    Raises:
      TypeError, ValueError: an argument isn't one of those above.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.take(xnp.array([[1, 2, 3], [4, 5, 6]]), xnp.array([2, 0]), axis=1).tolist()
      [[3, 1], [6, 4]]
    """
    _no_out("take", out)
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to numpy.take is not supported: use 'fill', 'clip' or 'wrap'.")
    x = as_array("take", a)
    check_arraylike("take", a, indices)
    if not isinstance(indices, int) or isinstance(indices, bool):
        indices = as_array("take", indices)
        if indices.dtype == dtypes.bool_:
            indices = lax.convert_element_type(indices, np.int32)
        if not dtypes.is_integer(indices.dtype):
            raise TypeError(f"take: indices must be integers, got {indices.dtype}. Round and cast them: .astype(int)")
    x, axis = _flat_if_none(x, axis)
    if mode != "wrap" and not isinstance(indices, int) and x.size and indices.aval.shape:
        parsed = GatherScatterMode.from_any(mode)
        if parsed is not GatherScatterMode.FILL_OR_DROP:
            fill_value = None
        elif fill_value is not None and not isinstance(fill_value, (int, float, complex, np.generic)):
            fill_value = np.asarray(fill_value)[()]
        return _slices_at(x, indices, axis, parsed, fill_value, bool(unique_indices), bool(indices_are_sorted))
    flags = {"unique_indices": unique_indices, "indices_are_sorted": indices_are_sorted}
    before = (slice(None),) * axis
    if mode == "wrap":
        size = x.shape[axis]
        if not size:
            raise IndexError(f"take: nothing to take along axis {axis} of size 0")
        indices = indices % size if isinstance(indices, int) else _wrapped(indices, size)
        return indexing.read(x, (*before, indices), mode="promise_in_bounds", **flags)
    if mode == "clip":
        return indexing.read(x, (*before, indices), mode="clip", wrap_negative_indices=False, **flags)
    return indexing.read(x, (*before, indices), mode=mode or "fill", fill_value=fill_value, **flags)


#: (shape, rank of the indices, axis) -> gather's numbers and slice sizes, and the dimensions of the index vectors.
_numbers: dict[Any, Any] = {}


@composite(static_argnames=("axis", "mode", "fill_value", "unique", "is_sorted"))
def _slices_at(x: Any, indices: Any, axis: int, mode: Any, fill_value: Any, unique: bool, is_sorted: bool) -> Any:
    """The usual way: what `indexing` emits for an index array along one axis, without looking for anything else."""
    shape, aval = x.aval.shape, indices.aval
    if aval.weak_type:
        indices = shapes.convert(indices, aval.dtype, False)
    if mode is not GatherScatterMode.CLIP:
        indices = slicing.nonnegative(indices, shape[axis])
    key = (shape, aval.ndim, axis)
    found = _numbers.get(key)
    if found is None:
        if len(_numbers) > 4096:
            _numbers.clear()
        batch = aval.ndim
        offset = (*range(axis), *range(axis + batch, len(shape) - 1 + batch))
        sizes = (*shape[:axis], 1, *shape[axis + 1 :])
        found = _numbers[key] = lax.GatherDimensionNumbers(offset, (axis,), (axis,)), sizes, tuple(range(batch))
    numbers, sizes, dims = found
    column = shapes.broadcast_in_dim_p.bind(indices, shape=(*aval.shape, 1), broadcast_dimensions=dims, sharding=None)
    if fill_value is None and mode is GatherScatterMode.FILL_OR_DROP:
        fill_value = gathers.default_fill(x.aval.dtype)
    return gathers.gather_p.bind(
        x,
        column,
        dimension_numbers=numbers,
        slice_sizes=sizes,
        unique_indices=unique,
        indices_are_sorted=is_sorted,
        mode=mode,
        fill_value=fill_value,
    )


@composite(static_argnames=("size",))
def _wrapped(i: Any, size: int) -> Any:
    """Indices modulo `size`."""
    i = lax.convert_element_type(i, dtypes.canonicalize(dtypes.int64))
    rest = lax.rem(i, lax.full_like(i, size))
    return lax.select_n(lax.lt(rest, lax.full_like(rest, 0)), rest, lax.add(rest, lax.full_like(rest, size)))


# -- along an axis -----------------------------------------------------------------------------------------------


class _Along:
    """How index arrays along an axis lie against an array: gather's numbering, and the indices without idle axes."""

    def __init__(self, name: str, shape: tuple[int, ...], own: tuple[int, ...], axis: int) -> None:
        if len(shape) != len(own):
            raise ValueError(f"indices and arr must have the same number of dimensions; {len(own)} vs. {len(shape)}")
        others = [n for d, n in enumerate(shape) if d != axis], [n for d, n in enumerate(own) if d != axis]
        if any([n != m and n != 1 and m != 1 for n, m in zip(*others)]):
            want = (*shape[:axis], own[axis], *shape[axis + 1 :])
            raise ValueError(f"Incompatible shapes for broadcasting: {name} got shapes={[own, want]}")
        offset, collapsed, batch, batch_indices, sizes, self.kept = [], [], [], [], [], []
        for d, (n, m) in enumerate(zip(shape, own)):
            if d == axis:
                collapsed.append(d)
                sizes.append(1)
                self.kept.append(m)
            elif n == m:
                batch.append(d)
                batch_indices.append(len(self.kept))
                sizes.append(1)
                self.kept.append(m)
            elif m == 1:
                offset.append(d)
                sizes.append(n)
            else:
                collapsed.append(d)
                sizes.append(1)
                self.kept.append(m)
        self.sizes = tuple(sizes)
        self.fields = (tuple(offset), tuple(collapsed), (axis,), tuple(batch), tuple(batch_indices))
        self.shape = tuple([max(n, m) if n and m else 0 for n, m in zip(shape, own)])
        self.shape = (*self.shape[:axis], own[axis], *self.shape[axis + 1 :])

    def vectors(self, indices: Any, size: int, wrap: bool) -> Any:
        from xtrace.lax import slicing

        indices = slicing.nonnegative(indices, size) if wrap else indices
        return lax.reshape(indices, (*self.kept, 1))


def _along_arguments(name: str, arr: Any, indices: Any, axis: int | None) -> tuple[Any, Any, int]:
    x, i = as_array(name, arr), as_array(name, indices)
    if not dtypes.is_integer(i.dtype):
        raise TypeError(f"{name} indices must be of integer type, got {i.dtype}")
    if axis is None:
        if i.ndim != 1:
            raise ValueError(f"{name} indices must be 1D if axis=None, got shape {i.shape}")
        x = lax.reshape(x, (x.size,))
    return x, i, canonical_axis(0 if axis is None else axis, x.ndim)


def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: Any = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool = True,
) -> Any:
    """The elements at positions along an axis that an array gives for each row: `argsort`'s counterpart.

    Args:
      arr: array.
      indices: integer array of as many dimensions, which broadcasts against arr in all but `axis`.
      axis: the axis; None for the flattened array.
      mode: what happens out of bounds: "fill" (the default), "clip" or "promise_in_bounds".
      fill_value: in mode "fill", the value out of bounds; by default NaN, or the least integer.
      wrap_negative_indices: whether negative positions count from the end.

    Returns:
      The array of the taken elements, along axis of the size that indices have.

    Raises:
      TypeError, ValueError: the indices aren't integers, or their shape doesn't fit.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.take_along_axis(xnp.array([[3, 1], [2, 4]]), xnp.array([[1], [0]]), axis=1).tolist()
      [[1], [2]]
    """
    x, i, axis = _along_arguments("take_along_axis", arr, indices, axis)
    mode = lax.GatherScatterMode.from_any(mode)
    if fill_value is not None:
        fill_value = np.asarray(fill_value)[()]
    return _take_along(x, i, axis, mode, fill_value, bool(wrap_negative_indices))


@composite(static_argnames=("axis", "mode", "fill_value", "wrap"))
def _take_along(x: Any, i: Any, axis: int, mode: Any, fill_value: Any, wrap: bool) -> Any:
    along = _Along("take_along_axis", x.shape, i.shape, axis)
    if 0 in along.shape:
        return lax.full(along.shape, np.zeros((), x.dtype)[()])
    vectors = along.vectors(i, x.shape[axis], wrap)
    numbers = lax.GatherDimensionNumbers(*along.fields)
    return lax.gather(x, vectors, numbers, along.sizes, mode=mode, fill_value=fill_value)


def put_along_axis(
    arr: Any, indices: Any, values: Any, axis: int | None, inplace: bool = True, *, mode: Any = None
) -> Any:
    """An array with the elements at positions along an axis, given for each row, replaced.

    Args:
      arr: array.
      indices: integer array of as many dimensions, which broadcasts against arr in all but `axis`.
      values: what broadcasts to the indexed elements.
      axis: the axis; None for the flattened array.
      inplace: must be False: arrays never change.
      mode: what happens out of bounds: "drop" (the default), "clip" or "promise_in_bounds".

    Returns:
      The updated array.

    Raises:
      ValueError: inplace isn't False, or shapes don't fit.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.put_along_axis(xnp.zeros((2, 2)), xnp.array([[1], [0]]), 5, axis=1, inplace=False).tolist()
      [[0.0, 5.0], [5.0, 0.0]]
    """
    if inplace:
        raise ValueError(
            "numpy.put_along_axis cannot modify arrays in-place, because JAX arrays are immutable. "
            "Pass inplace=False to instead return an updated array."
        )
    shape = as_array("put_along_axis", arr).shape
    x, i, axis = _along_arguments("put_along_axis", arr, indices, axis)
    check_arraylike("put_along_axis", arr, indices, values)
    out = _put_along(x, i, values, axis, lax.GatherScatterMode.from_any(mode))
    return lax.reshape(out, shape)


@composite(static_argnames=("axis", "mode"))
def _put_along(x: Any, i: Any, values: Any, axis: int, mode: Any) -> Any:
    if any([n == 1 != m for d, (n, m) in enumerate(zip(x.shape, i.shape)) if d != axis]):
        raise ValueError(
            f"put_along_axis: indices of shape {i.shape} have more rows than the array of shape {x.shape} can take"
        )
    along = _Along("put_along_axis", x.shape, i.shape, axis)
    values = lax.convert_element_type(as_array("put_along_axis", values), x.dtype)
    if 0 in along.shape:
        return x
    gap = len(along.shape) - values.ndim
    values = lax.broadcast_in_dim(values, along.shape, range(gap, len(along.shape)))
    numbers = lax.ScatterDimensionNumbers(*along.fields)
    return lax.scatter(x, along.vectors(i, x.shape[axis], True), values, numbers, mode=mode)


# -- put, place --------------------------------------------------------------------------------------------------


def _refuse_inplace(name: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(
            f"numpy.{name} cannot modify arrays in-place, because JAX arrays are immutable. "
            "Pass inplace=False to instead return an updated array."
        )


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """An array with the elements at flat positions replaced.

    Args:
      a: array.
      ind: integer array of positions in the flattened array; negative ones count from the end.
      v: the values, flattened and repeated as needed.
      mode: what happens out of bounds: "clip" (the default of NumPy's is to raise; ours leaves them out), or "wrap".
      inplace: must be False: arrays never change.

    Returns:
      The updated array.

    Raises:
      ValueError: inplace isn't False.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.put(xnp.zeros((2, 2)), xnp.array([0, 3]), 5, inplace=False).tolist()
      [[5.0, 0.0], [0.0, 5.0]]
    """
    _refuse_inplace("put", inplace)
    x, i, values = as_array("put", a), as_array("put", ind), as_array("put", v)
    if not i.size or not values.size:
        return x
    i = lax.reshape(i, (i.size,))
    values = _repeated(lax.reshape(values, (values.size,)), i.size)
    flat = lax.reshape(x, (x.size,))
    if mode == "wrap":
        i, scatter_mode = _wrapped(i, x.size), "promise_in_bounds"
    elif mode in (None, "clip"):
        scatter_mode = "clip" if mode == "clip" else "drop"
    else:
        raise ValueError(f"mode={mode!r} not supported: numpy.put takes None, 'clip' or 'wrap'")
    return lax.reshape(flat.at[i].set(values, mode=scatter_mode), x.shape)


def _repeated(values: Any, n: int) -> Any:
    """The first n of the values, repeated as needed."""
    size = values.shape[0]
    if size < n:
        values = lax.tile(values, (-(-n // size),))
    return values if values.shape[0] == n else lax.slice(values, (0,), (n,))


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """An array with the elements where a mask holds replaced, in order, by values that repeat.

    Args:
      arr: array.
      mask: array of the same size.
      vals: the values; the first goes to the first place where the mask holds.
      inplace: must be False: arrays never change.

    Returns:
      The updated array.

    Raises:
      ValueError: inplace isn't False, sizes differ, or there are no values.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.place(xnp.arange(4), xnp.arange(4) > 1, xnp.array([7, 8]), inplace=False).tolist()
      [0, 1, 7, 8]
    """
    _refuse_inplace("place", inplace)
    x, m, v = as_array("place", arr), as_array("place", mask), as_array("place", vals)
    if x.size != m.size:
        raise ValueError(f"place: arr and mask must be the same size, got shapes {x.shape} and {m.shape}")
    if not v.size:
        raise ValueError("Cannot place values from an empty array")
    return _place(x, m, v) if x.size else x


@composite
def _place(x: Any, m: Any, v: Any) -> Any:
    n = x.size
    mask = lax.reshape(is_nonzero(m), (n,))
    dtype = dtypes.canonicalize(dtypes.int64)
    order = lax.sub(lax.cumsum(lax.convert_element_type(mask, dtype), 0), dtype.type(1))
    values = lax.convert_element_type(lax.reshape(v, (v.size,)), x.dtype)
    chosen = (
        indexing.getitem(values, _modulo(order, v.size)) if v.size > 1 else lax.broadcast_in_dim(values, (n,), (0,))
    )
    return lax.reshape(lax.select_n(mask, lax.reshape(x, (n,)), chosen), x.shape)


def _modulo(i: Any, size: int) -> Any:
    """`i`, at least -1, modulo size; -1 gives 0 or so: it is not used."""
    return lax.rem(lax.max(i, lax.full_like(i, 0)), lax.full_like(i, size))


# -- by conditions -----------------------------------------------------------------------------------------------


def compress(
    condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0, out: None = None
) -> Any:
    """The slices along an axis for which a condition holds.

    Args:
      condition: array of one dimension.
      a: array.
      axis: the axis; None for the flattened array.
      size: how many slices to return; needed where the condition is traced. Missing ones are fill_value.
      fill_value: the value of missing slices.
      out: must be None.

    Returns:
      The array with the chosen slices along axis.

    Raises:
      ValueError: the condition hasn't one dimension, or holds beyond the end of the axis.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.compress(xnp.array([True, False, True]), xnp.array([1, 2, 3])).tolist()
      [1, 3]
    """
    _no_out("compress", out)
    mask, x = as_array("compress", condition), as_array("compress", a)
    if mask.ndim != 1:
        raise ValueError(f"condition must be a 1D array, got shape {mask.shape}")
    x, axis = _flat_if_none(x, axis)
    n = min(mask.shape[0], x.shape[axis])
    if mask.shape[0] > n:
        mask, beyond = lax.split(mask, (n, mask.shape[0] - n), 0)
        if not isinstance(beyond, Tracer) and np.asarray(beyond).any():
            raise ValueError("condition contains entries that are out of bounds")
    if n < x.shape[axis]:
        x = lax.slice_in_dim(x, 0, n, axis=axis)
    before = (slice(None),) * axis
    if size is None:
        chosen = concrete(mask, "The size argument of compress must be given where the condition is traced.")
        return indexing.getitem(x, (*before, np.flatnonzero(chosen).astype(np.int32)))
    if not 0 <= statics.integer(size, "size") <= n:
        raise ValueError(f"size must be positive and not greater than the size of the array axis; got {size=} for {n}")
    (places,) = nonzero(mask, size=size, fill_value=n)
    return indexing.read(x, (*before, places), mode="fill", fill_value=fill_value)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements where a condition holds, in one dimension.

    Args:
      condition: array; both are flattened.
      arr: array of the same size.
      size: how many elements to return; needed where the condition is traced.
      fill_value: the value of missing elements.

    Returns:
      A vector.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.extract(xnp.arange(4) > 1, xnp.arange(4)).tolist()
      [2, 3]
    """
    mask, x = as_array("extract", condition), as_array("extract", arr)
    return compress(lax.reshape(mask, (mask.size,)), x, size=size, fill_value=fill_value)


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """Each element from one of several arrays, by number.

    Args:
      a: integer array: which of choices.
      choices: a sequence of arrays (or an array, whose first axis is the sequence); all broadcast against a.
      out: must be None.
      mode: what happens where there is no such choice: "raise" (on concrete values only), "wrap" or "clip".

    Returns:
      The array of chosen elements.

    Raises:
      ValueError: a isn't integers, or names a choice that isn't there.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.choose(xnp.array([0, 1]), [xnp.array([1, 2]), xnp.array([3, 4])]).tolist()
      [1, 4]
    """
    _no_out("choose", out)
    which = as_array("choose", a)
    if not dtypes.is_integer(which.dtype):
        raise ValueError(f"choose: `a` array must be integer typed, got {which.dtype}")
    items = list(choices) if isinstance(choices, (list, tuple)) else list(as_array("choose", choices))
    check_arraylike("choose", *items)
    if not items:
        raise ValueError("choose needs at least one choice")
    if mode == "raise":
        values = concrete(which, "choose can't check traced values: give mode='wrap' or mode='clip'.")
        if values.size and (values.min() < 0 or values.max() >= len(items)):
            raise ValueError(f"invalid entry in choice array: there are {len(items)} choices")
    elif mode not in ("wrap", "clip"):
        raise ValueError(f"{mode=} not understood. Must be 'raise', 'wrap', or 'clip'")
    return _choose(which, *items, mode=mode)


@composite(static_argnames=("mode",))
def _choose(which: Any, *items: Any, mode: str) -> Any:
    if mode == "wrap":
        which = _wrapped(which, len(items))
    items = [as_array("choose", x) for x in promote_dtypes(*items)]
    shape = lax.broadcast_shapes(which.shape, *[x.shape for x in items])

    def wide(x: Any) -> Any:
        return lax.broadcast_in_dim(x, shape, range(len(shape) - x.ndim, len(shape)))

    which = lax.convert_element_type(
        lax.clamp(np.zeros((), which.dtype)[()], which, which.dtype.type(len(items) - 1)), np.int32
    )
    return lax.select_n(wide(which), *map(wide, items)) if len(items) > 1 else wide(items[0])


# -- delete, insert ----------------------------------------------------------------------------------------------


def delete(arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Any:
    """An array without the slices at some positions along an axis.

    Args:
      arr: array.
      obj: the positions: an integer, a slice, an integer array, or a boolean array along axis.
      axis: the axis; None for the flattened array.
      assume_unique_indices: promises that no position in obj repeats, so that obj may be traced.

    Returns:
      The array without these slices.

    Raises:
      IndexError: there is no such position.
      ConcretizationTypeError: obj is traced, and the size of the result depends on it.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.delete(xnp.arange(5), xnp.array([0, 2])).tolist()
      [1, 3, 4]
    """
    x, axis = _flat_if_none(as_array("delete", arr), axis)
    n = x.shape[axis]
    if isinstance(obj, slice):
        gone = np.arange(n)[obj]
    else:
        check_arraylike("delete", arr, obj)
        obj = as_array("delete", obj)
        if assume_unique_indices and dtypes.is_integer(obj.dtype) and isinstance(obj, Tracer):
            return _delete_unique(x, obj, axis)
        hint = "obj decides the shape of delete's result; for an integer array without repetitions, pass "
        gone = concrete(obj, hint + "assume_unique_indices=True.")
        if gone.dtype == np.bool_:
            if gone.shape != (n,):
                raise ValueError(
                    "numpy.delete(arr, obj): for boolean indices, obj must be one-dimensional with length matching "
                    f"specified axis, which has size {n}; got shape {gone.shape}"
                )
            gone = np.flatnonzero(gone)
        elif not np.issubdtype(gone.dtype, np.integer):
            raise ValueError(f"numpy.delete(arr, obj): obj must be integers or booleans, got {gone.dtype}")
    wrong = np.asarray(gone)[(np.asarray(gone) < -n) | (np.asarray(gone) >= n)]
    if wrong.size:
        raise AxisError(f"index {int(wrong.ravel()[0])} is out of bounds for axis {axis} with size {n}")
    kept = np.delete(np.arange(n), gone)
    if len(kept) == n:
        return x
    if len(kept) and kept[-1] - kept[0] + 1 == len(kept):  # what remains is one piece
        return lax.slice_in_dim(x, int(kept[0]), int(kept[-1]) + 1, axis=axis)
    if np.size(gone) == 1:
        i = int(np.ravel(gone)[0]) % n
        return lax.concatenate([lax.slice_in_dim(x, 0, i, axis=axis), lax.slice_in_dim(x, i + 1, n, axis=axis)], axis)
    return indexing.getitem(x, (*(slice(None),) * axis, kept.astype(np.int32)))


def _delete_unique(x: Any, obj: Any, axis: int) -> Any:
    n = x.shape[axis]
    mask = lax.full((n,), True).at[lax.reshape(obj, (obj.size,))].set(False)
    (places,) = nonzero(mask, size=max(n - obj.size, 0))
    return indexing.getitem(x, (*(slice(None),) * axis, places))


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """An array with values inserted before some positions along an axis.

    Args:
      arr: array.
      obj: the positions in arr: an integer, a slice, or an integer array of one dimension.
      values: what is inserted; broadcasts to one slice for each position.
      axis: the axis; None for the flattened array.

    Returns:
      The longer array, of arr's dtype.

    Raises:
      ValueError: obj isn't integers of at most one dimension.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.insert(xnp.array([1, 2, 3]), 1, 9).tolist()
      [1, 9, 2, 3]
    """
    x, axis = _flat_if_none(as_array("insert", arr), axis)
    n = x.shape[axis]
    scalar = False
    if isinstance(obj, slice):
        obj = np.arange(n)[obj].astype(np.int32)
    else:
        check_arraylike("insert", arr, obj, values)
        scalar = isinstance(obj, (int, np.integer)) or not as_array("insert", obj).ndim
    places = as_array("insert", obj)
    if not dtypes.is_integer(places.dtype):
        raise ValueError(f"numpy.insert: obj must be integers, got {places.dtype}")
    if places.ndim > 1:
        raise ValueError(f"numpy.insert: obj must be one-dimensional, got shape {places.shape}")
    v = lax.convert_element_type(as_array("insert", values), x.dtype)
    return _insert(x, lax.reshape(places, (places.size,)), v, axis, scalar)


@composite(static_argnames=("axis", "scalar"))
def _insert(x: Any, places: Any, v: Any, axis: int, scalar: bool) -> Any:
    n = x.shape[axis]
    if scalar and v.ndim:
        # A single position takes the whole of values: its axis comes to the front, as NumPy has it.
        v = lax.transpose(v, (*range(1, axis + 1), 0, *range(axis + 1, v.ndim))) if v.ndim == x.ndim else v
        m = v.shape[axis] if v.ndim == x.ndim else 1
    else:
        m = places.shape[0]
    one = (*x.shape[:axis], m, *x.shape[axis + 1 :])
    if scalar and v.ndim and v.ndim < x.ndim:
        v = lax.expand_dims(v, (axis,)) if v.ndim == x.ndim - 1 else v
    if x.ndim == 1 and v.ndim == 1 and scalar:
        m = v.shape[0]
        one = (m,)
    v = lax.broadcast_in_dim(v, one, range(x.ndim - v.ndim, x.ndim))
    dtype = dtypes.canonicalize(dtypes.int64)
    places = lax.convert_element_type(places, dtype)
    places = lax.select_n(lax.lt(places, lax.full_like(places, 0)), places, lax.add(places, lax.full_like(places, n)))
    places = lax.clamp(dtype.type(0), places, dtype.type(n))
    if places.shape[0] != m:
        places = lax.broadcast_in_dim(places, (m,), (0,))
    # Positions in the result: in order of the positions in x, each moved by how many come before it.
    order, numbers = lax.sort_key_val(places, lax.iota(dtype, m))
    moved = lax.add(order, lax.iota(dtype, m))
    places = places.at[numbers].set(moved, unique_indices=True)
    rows = lax.full((n + m,), True).at[places].set(False, unique_indices=True)
    (olds,) = nonzero(rows, size=n)
    before = (slice(None),) * axis
    out = lax.full((*x.shape[:axis], n + m, *x.shape[axis + 1 :]), np.zeros((), x.dtype)[()])
    out = out.at[(*before, places)].set(v, unique_indices=True)
    return out.at[(*before, olds)].set(x, unique_indices=True, indices_are_sorted=True)


__all__ = [
    "choose", "compress", "delete", "extract", "insert", "place", "put", "put_along_axis", "take", "take_along_axis",
]  # fmt: skip
