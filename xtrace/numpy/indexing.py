"""x[...], x.at[...], iteration: NumPy's indexing on arrays and tracers.

On concrete arrays a read or an update is one compiled program, looked up by the structure of the index; integers and
starts of slices are operands of it, so that a loop over x[i] or x[i:i+3] compiles once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from xtrace.core import composite, config, dtypes, source, statics, warned
from xtrace.core.primitive import shaped
from xtrace.core.trace import Tracer, current
from xtrace.lax import joining, scatters, shapes, slicing
from xtrace.lax.gathers import GatherScatterMode
from xtrace.numpy import index_parsing, indexer, promotion
from xtrace.numpy.index_parsing import FULL, GAP, Parsed
from xtrace.numpy.indexer import CLIP, FILL_OR_DROP, PROMISE
from xtrace.transforms.placement import held

_check_static = config.check_static_indices.state
#: Compiled programs by the structure of the index and the options. Bounded: structures hold slice sizes.
_programs: dict[Any, Callable[..., Any]] = {}
#: ndim -> the program of x[i].
_rows: dict[int, Callable[..., Any]] = {}


def _program(key: Any, make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    program = _programs.get(key)
    if program is None:
        if len(_programs) > 4096:
            _programs.clear()
        program = _programs[key] = composite.compiled(make())
    return program


# -- reading -----------------------------------------------------------------------------------------------------


def getitem(x: Any, idx: Any) -> Any:
    """x[idx]."""
    trace = current.trace
    if trace is None:
        if type(idx) is int:
            shape = x.aval.shape
            if shape and shape[0] and (-shape[0] <= idx < shape[0] or not _check_static.value):
                size = shape[0]
                if idx < 0:
                    idx = idx + size if idx >= -size else 0
                elif idx >= size:
                    idx = size - 1
                run = _rows.get(len(shape))
                if run is None:
                    run = _rows[len(shape)] = _program(("row", len(shape)), lambda: _row)
                return run(x, idx)
        parsed = index_parsing.parse(x.aval.shape, idx)
        entries, leaves = parsed.entries, parsed.leaves
        if not leaves and not parsed.inserted and all([e[0] in (FULL, GAP) for e in entries]):
            return x
        run = _programs.get(entries)
        if run is None or parsed.inserted:
            run = _program((entries, parsed.inserted) if parsed.inserted else entries, lambda: _reader(parsed))
        return run(x, *leaves)
    shape = x.aval.shape
    # Positions that are known, the usual case in traced programs: what to emit is looked up.
    key: Any = None
    plan = None
    if type(idx) is int:
        key = (shape, idx)
    elif _keyed(idx):
        if type(idx) is tuple:
            key = (shape, *[(i.start, i.stop, i.step) if type(i) is slice else i for i in idx])
        else:
            key = (shape, (idx.start, idx.stop, idx.step) if type(idx) is slice else idx)
    if key is not None:
        plan = _plans.get(key)
    if plan is None:
        parsed = index_parsing.parse(shape, idx)
        if not parsed.static:
            return _at_one_position(trace, indexer.read, x, parsed)
        plan = indexer.static_plan(shape, parsed.entries, tuple(parsed.leaves))
        if key is not None:
            if len(_plans) > 4096:
                _plans.clear()
            _plans[key] = plan
    process = trace.process
    for primitive, params in plan:
        x = process(primitive, (x,), params)
    return x


def _at_one_position(trace: Any, fun: Callable[..., Any], *args: Any) -> Any:
    """`fun(*args)`, the user's line looked up once for all its operations."""
    if current.position is not None or not trace.stages():
        return fun(*args)
    current.position = source.here(2)
    try:
        return fun(*args)
    finally:
        current.position = None


#: (shape, index) -> the operations of a read at known positions.
_plans: dict[Any, Any] = {}
_PLAIN = frozenset([int, type(None), type(Ellipsis)])


def _keyed(idx: Any) -> bool:
    """Whether an index consists of ints, slices of ints, None and ... only. (As keys, True and 1.0 would equal 1.)"""
    for i in idx if type(idx) is tuple else (idx,):
        if type(i) is slice:
            if type(i.start) not in _PLAIN or type(i.stop) not in _PLAIN or type(i.step) not in _PLAIN:
                return False
        elif type(i) not in _PLAIN:
            return False
    return True


def _row(x: Any, i: Any) -> Any:
    shape = x.aval.shape
    zero = np.int32(0)
    starts = [shapes.convert(i, dtypes.int32, False), *[zero] * (len(shape) - 1)]
    out = slicing.dynamic_slice_p.bind(x, *starts, slice_sizes=(1, *shape[1:]))
    return shapes.squeeze_p.bind(out, dimensions=(0,))


def _reader(parsed: Parsed, **options: Any) -> Callable[..., Any]:
    """The program that reads at other leaves of the same structure."""
    pattern = parsed._replace(leaves=[], static=False)

    def getitem(x: Any, *leaves: Any) -> Any:
        return indexer.read(x, pattern._replace(leaves=list(leaves)), **options)

    return getitem


def read(
    x: Any,
    idx: Any,
    *,
    mode: Any = None,
    fill_value: Any = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    wrap_negative_indices: bool = True,
) -> Any:
    """x.at[idx].get(...)."""
    if mode is None and fill_value is None and wrap_negative_indices and not (indices_are_sorted or unique_indices):
        return getitem(x, idx)
    parsed_mode = PROMISE if mode is None and fill_value is None else GatherScatterMode.from_any(mode)
    if fill_value is not None and not isinstance(fill_value, (int, float, complex, np.generic)):
        fill_value = np.asarray(fill_value)[()]
    clamp = parsed_mode is not FILL_OR_DROP
    parsed = index_parsing.parse(shaped(x).shape, idx, wrap_negative_indices, clamp, parsed_mode is CLIP)
    if parsed.static and not parsed.leaves:
        return indexer.read_static(x, parsed.entries, parsed.leaves)
    if parsed_mode is not FILL_OR_DROP:
        fill_value = None
    options = {
        "mode": parsed_mode,
        "fill_value": fill_value,
        "unique": bool(unique_indices),
        "is_sorted": bool(indices_are_sorted),
        "wrap": bool(wrap_negative_indices),
    }
    if current.trace is not None:
        return _at_one_position(current.trace, functools.partial(indexer.read, **options), x, parsed)
    key = (parsed.entries, parsed.inserted, repr(fill_value), *options.values())
    return _program(key, lambda: _reader(parsed, **options))(x, *parsed.leaves)


# -- updates -----------------------------------------------------------------------------------------------------

#: Name of a method of x.at[...] -> the scatter it is.
_KINDS: dict[str, Callable[..., Any]] = {
    "set": scatters.scatter,
    "add": scatters.scatter_add,
    "subtract": scatters.scatter_sub,
    "multiply": scatters.scatter_mul,
    "min": scatters.scatter_min,
    "max": scatters.scatter_max,
}


def modify(
    x: Any,
    idx: Any,
    name: str,
    y: Any,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    """x.at[idx].<name>(y) for the names in `_KINDS`."""
    parsed_mode = FILL_OR_DROP if mode is None else GatherScatterMode.from_any(mode)
    parsed = index_parsing.parse(
        shaped(x).shape, idx, wrap_negative_indices, parsed_mode is CLIP or parsed_mode is PROMISE
    )
    if not promotion.is_arraylike(y):  # a list or tuple of numbers
        from xtrace.numpy import creation

        y = creation.asarray(y)
    options = (parsed_mode, bool(unique_indices), bool(indices_are_sorted), bool(wrap_negative_indices))
    if type(y) is int and not -(2**31) <= y < 2**31 and dtypes.is_integer(x.dtype):
        info = dtypes.iinfo(x.dtype)
        if info.min <= y <= info.max:  # a Python int that the array can hold, though the default integer can't
            y = x.dtype.type(y)
    _check_cast(x, y)
    if current.trace is not None:
        return _at_one_position(current.trace, _modified, x, parsed, promotion.operand(y), name, options)
    key = (name, parsed.entries, parsed.inserted, options)
    run = _programs.get(key)
    if run is None:
        run = _program(key, lambda: _modifier(parsed, name, options))
    return run(x, y, *parsed.leaves)


def _modifier(parsed: Parsed, name: str, options: Any) -> Callable[..., Any]:
    pattern = parsed._replace(leaves=[], static=False)

    def scatter(x: Any, y: Any, *leaves: Any) -> Any:
        return _modified(x, pattern._replace(leaves=list(leaves)), y, name, options)

    return scatter


def _modified(x: Any, parsed: Parsed, y: Any, name: str, options: Any) -> Any:
    aval = shaped(x)
    if not dtypes.is_extended(aval.dtype):
        x, y = promotion.promote_dtypes(x, y)
    mode, unique, is_sorted, wrap = options
    out = indexer.update(x, parsed, y, _KINDS[name], mode, unique, is_sorted, wrap, name)
    return shapes.convert(out, aval.dtype, aval.weak_type)


def _check_cast(x: Any, y: Any) -> None:
    """Warn where a value is stored in an array whose dtype can't hold it."""
    old, weak = dtypes.of_value(y)
    new = shaped(x).dtype
    if old == new or dtypes.is_extended(new) or dtypes.is_extended(old):
        return
    try:
        promoted, _ = dtypes.promote(((new, False), (old, weak)))
    except dtypes.TypePromotionError:  # the promotion itself will say so
        return
    if promoted != new:
        warned.warn(
            f"scatter inputs have incompatible types: cannot safely cast value from dtype={old} to dtype={new} with "
            f"jax_numpy_dtype_promotion={config.numpy_dtype_promotion.value}. In future JAX releases this will result "
            f"in an error. Cast the value yourself, e.g. y.astype({str(new)!r}).",
            FutureWarning,
        )


class At:
    """`x.at`: index it to name the part to update, as in `x.at[idx].set(y)`."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdate:
        return IndexUpdate(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


_DOC = """

        Args:
          {values}: {meaning}
          indices_are_sorted: a promise that the indices are in ascending order.
          unique_indices: a promise that no element is named twice.
          mode: what happens out of bounds: "drop" (the default; also "fill") leaves such updates out, "clip" moves the
            index to the nearest in bounds, "promise_in_bounds" promises that there is none.
          out_sharding: placement of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          A new array; the old one is as it was.

        Raises:
          IndexError, TypeError: the index isn't one.
          ValueError: the values can't be broadcast to the indexed part."""


class IndexUpdate:
    """`x.at[idx]`: methods that return x with the indexed part changed.

    Example:
      >>> import xtrace as xt
      >>> x = xt.numpy.array([1, 2, 3])
      >>> x.at[1].set(7).tolist(), x.at[1:].add(10).tolist(), x.tolist()
      ([1, 7, 3], [1, 12, 13], [1, 2, 3])
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        mode: Any = None,
        fill_value: Any = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """The indexed part, with a choice of what happens out of bounds.

        Args:
          mode: "promise_in_bounds" (the default; reads are clamped), "clip", or "fill".
          fill_value: in mode "fill", the value out of bounds; by default NaN, or the least integer.
          indices_are_sorted: a promise that the indices are in ascending order.
          unique_indices: a promise that no element is named twice.
          out_sharding: placement of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          The part, as x[idx].

        Example:
          >>> import xtrace as xt
          >>> xt.numpy.array([1, 2]).at[xt.numpy.array([0, 5])].get(mode="fill", fill_value=-1).tolist()
          [1, -1]
        """
        out = read(
            self.array,
            self.index,
            mode=mode,
            fill_value=fill_value,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            wrap_negative_indices=wrap_negative_indices,
        )
        return held("at", out, out_sharding)

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """x with the function of one scalar applied to the indexed elements, as often as each is named."""
        statics.check_callable("at[...].apply: func", func)
        x, aval = self.array, shaped(self.array)
        parsed_mode = FILL_OR_DROP if mode is None else GatherScatterMode.from_any(mode)
        parsed = index_parsing.parse(aval.shape, self.index, wrap_negative_indices, parsed_mode in (CLIP, PROMISE))

        def kind(operand: Any, indices: Any, updates: Any, numbers: Any, **flags: Any) -> Any:
            def converted(v: Any) -> Any:
                return shapes.convert(func(v), aval.dtype, False)

            shape = shaped(updates).shape
            return scatters.scatter_apply(operand, indices, converted, numbers, update_shape=shape, **flags)

        zero = np.zeros((), aval.dtype)[()]
        out = indexer.update(
            x, parsed, zero, kind, parsed_mode, unique_indices, indices_are_sorted, wrap_negative_indices, "apply"
        )
        return held("at", out, out_sharding)


def _combine(x: Any, idx: Any, name: str, values: Any, *flags: Any) -> Any:
    """x.at[idx].<name>(values) for operations that no scatter has; `flags` as in `modify`.

    The other operand is ones, with the values where `idx` points: products of them where it points twice.
    """
    from xtrace import numpy as xnp

    ones = shapes.full(shaped(x).shape, np.ones((), shaped(x).dtype)[()])
    return getattr(xnp, name)(x, modify(ones, idx, "multiply", values, *flags))


def _method(name: str, summary: str, change: Callable[..., Any]) -> Callable[..., Any]:
    def method(
        self: IndexUpdate,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        out = change(
            self.array, self.index, name, values, indices_are_sorted, unique_indices, mode, wrap_negative_indices
        )
        return held("at", out, out_sharding)

    method.__name__, method.__qualname__ = name, f"IndexUpdate.{name}"
    method.__doc__ = summary + _DOC.format(values="values", meaning="what broadcasts to the indexed part.")
    return method


for _name, _summary in {
    "set": "x with the indexed part replaced by values.",
    "add": "x with values added to the indexed part, as often as each element is named.",
    "subtract": "x with values subtracted from the indexed part.",
    "multiply": "x with the indexed part multiplied by values.",
    "min": "x with the minimum of the indexed part and values in its place.",
    "max": "x with the maximum of the indexed part and values in its place.",
}.items():
    setattr(IndexUpdate, _name, _method(_name, _summary, modify))
for _name, _summary in {
    "divide": "x with the indexed part divided by values.",
    "power": "x with the indexed part raised to the power of values.",
}.items():
    setattr(IndexUpdate, _name, _method(_name, _summary, _combine))
IndexUpdate.mul = IndexUpdate.multiply  # type: ignore[attr-defined]
IndexUpdate.apply.__doc__ = (IndexUpdate.apply.__doc__ or "") + _DOC.format(
    values="func", meaning="a function of a scalar, made of array operations."
)


# -- iteration ---------------------------------------------------------------------------------------------------

#: Rows that one program hands out: a compromise between calls and the size of programs.
_CHUNK = 100


def _chunk(size: int) -> Callable[..., Any]:
    def rows(x: Any, start: Any) -> list[Any]:
        return joining.unstack(slicing.dynamic_slice_in_dim(x, start, size, 0, allow_negative_indices=False))

    return rows


def iterate(x: Any) -> Iterator[Any]:
    """Iterator over x[0], x[1], …"""
    shape = x.aval.shape
    if not shape:
        raise TypeError("iteration over a 0-d array")
    if current.trace is not None or isinstance(x, Tracer):
        return iter(joining.unstack(x))
    return _chunks(x, shape[0])


def _chunks(x: Any, size: int) -> Iterator[Any]:
    for start in range(0, size, _CHUNK):
        n = min(_CHUNK, size - start)
        yield from _program(("rows", n), functools.partial(_chunk, n))(x, start)


def _reversed(x: Any) -> Iterator[Any]:
    shape = x.aval.shape
    if not shape:
        raise TypeError("iteration over a 0-d array")
    return iterate(shapes.rev(x, (0,)))


# -- installing --------------------------------------------------------------------------------------------------


def show_index(idx: Any) -> str:
    """An index as the user wrote it between the brackets."""
    if isinstance(idx, tuple):
        return ", ".join(map(_show_entry, idx)) + ("," if len(idx) == 1 else "") if idx else "()"
    return _show_entry(idx)


def _show_entry(i: Any) -> str:
    if isinstance(i, slice):
        parts = ["" if p is None else _show_entry(p) for p in (i.start, i.stop)]
        return ":".join(parts) + ("" if i.step is None else f":{_show_entry(i.step)}")
    if i is Ellipsis:
        return "..."
    if isinstance(i, (int, np.integer, str)) or i is None:
        return str(i) if not isinstance(i, str) else repr(i)
    aval = getattr(i, "aval", None)
    return f"<{aval.str_short()}>" if aval is not None else repr(i)


def _setitem(self: Any, idx: Any, value: Any) -> None:
    where = show_index(idx)
    shown = repr(value) if isinstance(value, (int, float, complex)) else "y"
    raise TypeError(
        "JAX arrays are immutable and do not support in-place item assignment. "
        f"Instead of x[{where}] = {shown}, use x = x.at[{where}].set({shown}); x.at[...] has add, multiply, min and "
        "others in place of x[...] += y and the like."
    )


def install(cls: Any) -> None:
    """Set indexing and iteration on a class of arrays or tracers."""
    cls.__getitem__ = getitem
    cls.__setitem__ = _setitem
    cls.__iter__ = iterate
    cls.__reversed__ = _reversed
    cls.at = property(At, doc="Indexed updates: x.at[idx].set(y) and the like return an updated array.")


__all__ = ["At", "IndexUpdate", "getitem", "install", "iterate", "modify", "read", "show_index"]
