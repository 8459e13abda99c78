"""Reading and writing references (core.refs) by NumPy's indexing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xtrace.core import dtypes, refs, source
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import as_array, shaped
from xtrace.core.refs import Ref
from xtrace.core.trace import use_trace
from xtrace.lax import shapes
from xtrace.numpy import filling, indexing


class RefView:
    """A part of a reference, `ref.at[index]`: read and written like a reference, without copying the whole around."""

    __slots__ = ("ref", "indices")

    def __init__(self, ref: Ref, indices: tuple[Any, ...]) -> None:
        self.ref = ref
        self.indices = indices

    @property
    def at(self) -> RefIndexer:
        return RefIndexer(self.ref, self.indices)

    @property
    def shape(self) -> tuple[int, ...]:
        return shaped(self[...]).shape

    @property
    def dtype(self) -> Any:
        return self.ref.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return len(self[...])

    def __getitem__(self, index: Any) -> Any:
        return _getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _setitem(self, index, value)

    def addupdate(self, value: Any, index: Any = ...) -> None:
        addupdate(self, index, value)

    def __repr__(self) -> str:
        return f"RefView({self.ref!r}, {', '.join(map(repr, self.indices))})"


class RefIndexer:
    """`ref.at`: index it to name a part."""

    __slots__ = ("ref", "indices")

    def __init__(self, ref: Ref, indices: tuple[Any, ...] = ()) -> None:
        self.ref = ref
        self.indices = indices

    def __getitem__(self, index: Any) -> RefView:
        return RefView(self.ref, (*self.indices, index))


def _parts(ref: Any, index: Any, what: str) -> tuple[Ref, list[Any]]:
    index = ... if index is None else index
    if isinstance(ref, Ref):
        return ref, [index]
    if isinstance(ref, RefView):
        return ref.ref, [*ref.indices, index]
    raise ValueError(
        f"`{what}` must be called on `Ref` types, got {ref!r} of type {type(ref)}. Make a reference with new_ref."
    )


def _whole(index: Any) -> bool:
    return index is Ellipsis or type(index) is tuple and not [i for i in index if i is not Ellipsis]


def get(ref: Any, idx: Any = None) -> Any:
    """The value of a reference, or of a part of it: `ref[idx]`.

    Args:
      ref: a Ref. idx: any NumPy index; None: everything.

    Returns:
      An array.

    Raises:
      ValueError: `ref` is no reference, or has been ended by freeze or free_ref.

    >>> import xtrace as xt, xtrace.numpy as xnp
    >>> xt.ref.get(xt.new_ref(xnp.arange(3)), 1)
    Array(1, dtype=int32)
    """
    ref, indices = _parts(ref, idx, "get")
    value = refs.read(ref)
    for i in indices:
        if not _whole(i):
            value = indexing.getitem(value, i)
    return value


def _fitting(ref: Ref, value: Any, what: str) -> Any:
    """`value` with the dtype of the reference. Raises ValueError unless it has it, or is a number that takes it."""
    if isinstance(value, (Ref, RefView)):
        raise refs.not_an_array(ref.aval if isinstance(value, RefView) else value.aval)
    if isinstance(value, (list, tuple)):
        from xtrace.numpy.creation import asarray

        value = asarray(value)
    aval = shaped(value)
    wanted = ref.inner_aval.dtype
    if aval.dtype != wanted:
        fits = aval.weak_type and dtypes.promote(((wanted, False), (aval.dtype, True)))[0] == wanted
        if not fits:
            raise ValueError(
                f"Invalid dtype for `{what}`. Ref dtype: {wanted}. Value dtype: {aval.dtype}. A reference keeps its "
                f"dtype: write value.astype({str(wanted)!r})."
            )
    if aval.dtype != wanted or aval.weak_type:
        return shapes.convert(value, wanted, False)
    return value


def _update(ref: Ref, indices: list[Any], value: Any, what: str, add: bool) -> None:
    whole = refs.read(ref)
    value = _fitting(ref, value, what)
    parts = [i for i in indices if not _whole(i)]
    chain = [whole]
    for i in parts[:-1]:
        chain.append(indexing.getitem(chain[-1], i))
    target = chain[-1]
    try:
        if parts:
            new = indexing.modify(target, parts[-1], "add" if add else "set", value)
        elif add:
            new = target + value
        else:
            new = value
        if not parts and shaped(new).shape != shaped(target).shape:
            if len(shaped(new).shape) > len(shaped(target).shape):
                raise ValueError
            shape = shaped(target).shape
            own = shaped(new).shape
            if any([n not in (1, m) for n, m in zip(own, shape[len(shape) - len(own) :])]):
                raise ValueError
            new = shapes.broadcast_in_dim(new, shape, range(len(shape) - len(own), len(shape)))
    except ValueError as e:
        part = shaped(get(ref, indices[0]) if len(indices) == 1 else get(RefView(ref, tuple(indices)))).shape
        if shaped(value).shape == part:
            raise
        raise ValueError(
            f"Invalid shape for `{what}`. Ref shape: {ref.shape}. Expected shape: {part}, or one that broadcasts to "
            f"it. Value shape: {shaped(value).shape}."
        ) from (e if str(e) else None)
    for outer, i in zip(reversed(chain[:-1]), reversed(parts[:-1])):
        new = indexing.modify(outer, i, "set", new)
    refs.write(ref, _settled(new))


def _settled(x: Any) -> Any:
    """`x` as something that has an aval: a reference's value can be indexed."""
    if getattr(x, "aval", None) is not None:
        return x
    with use_trace(None):
        return as_array(x)


def set(ref: Any, idx: Any, value: Any) -> None:
    """Write to a reference: `ref[idx] = value`.

    Args:
      ref: a Ref. idx: any NumPy index; None: everything.
      value: an array of the reference's dtype, or a Python number, of a shape that broadcasts to the part's.

    Raises:
      ValueError: shape or dtype doesn't fit, or the value belongs to a transformation inside which the reference was
        not created.

    >>> import xtrace as xt, xtrace.numpy as xnp
    >>> r = xt.new_ref(xnp.zeros(3))
    >>> xt.ref.set(r, 0, 5.0)
    >>> r
    Ref([5., 0., 0.], dtype=float32)
    """
    ref, indices = _parts(ref, idx, "swap")
    _update(ref, indices, value, "swap", False)


def swap(ref: Any, idx: Any, value: Any) -> Any:
    """Write to a reference and return what was there: `old, ref[idx] = ref[idx], value`.

    Args:
      ref: a Ref. idx: any NumPy index; None: everything. value: as in `set`.

    Returns:
      The old value of the part.

    Raises:
      ValueError: as in `set`.

    >>> import xtrace as xt, xtrace.numpy as xnp
    >>> r = xt.new_ref(xnp.arange(3))
    >>> xt.ref.swap(r, 1, 7), r
    (Array(1, dtype=int32), Ref([0, 7, 2], dtype=int32))
    """
    old = get(ref, idx)
    set(ref, idx, value)
    return old


def addupdate(ref: Any, idx: Any, x: Any) -> None:
    """Add to a reference: `ref[idx] += x`, elements that an index array names twice added to twice.

    Args:
      ref: a Ref. idx: any NumPy index; None: everything. x: as the value of `set`.

    Raises:
      ValueError: as in `set`.

    >>> import xtrace as xt, xtrace.numpy as xnp
    >>> r = xt.new_ref(xnp.zeros(3))
    >>> xt.ref.addupdate(r, xnp.array([0, 0, 2]), xnp.ones(3))
    >>> r
    Ref([2., 0., 1.], dtype=float32)
    """
    ref, indices = _parts(ref, idx, "addupdate")
    _update(ref, indices, x, "addupdate", True)


def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None, pin: bool = False) -> Ref:
    """A mutable reference to an array.

    Args:
      init_val: the first value, an array or a number. It is not changed by writes to the reference.
      kind: "no_grad" or "no_grad_no_remat": values written to it are cut off from differentiation, instead of refused.
      memory_space, pin: accepted; the value lies where `init_val` does.

    Returns:
      A Ref: `ref[...]` reads, `ref[...] = x` writes, `ref[i] += x` adds to a part. jit and control flow take it as an
      argument or close over it, and write to it in program order.

    Raises:
      TypeError: `init_val` is no array.

    >>> import xtrace as xt, xtrace.numpy as xnp
    >>> r = xt.new_ref(xnp.zeros(3))
    >>> @xt.jit
    ... def f():
    ...     r[1] += 1.0
    >>> f(); f(); r
    Ref([0., 2., 0.], dtype=float32)
    """
    if isinstance(init_val, (Ref, RefView)):
        raise TypeError("new_ref takes an array, got a reference: references to references don't exist. Pass ref[...].")
    aval = shaped(init_val)
    if aval.weak_type:
        init_val = shapes.convert(init_val, aval.dtype, False)
        aval = aval.strong()
    return _created(Ref(_settled(init_val), aval, kind))


def _created(ref: Ref) -> Ref:
    position = source.here(2)
    ref.origin = lambda: f"was created on line {source.describe(position)}"
    return ref


def empty_ref(ty: Any, memory_space: Any = None, pin: bool = False) -> Ref:
    """A mutable reference whose first value is unspecified (zeros).

    Args:
      ty: its type: anything with shape and dtype, e.g. a ShapeDtypeStruct. memory_space, pin: accepted.

    Returns:
      A Ref.

    >>> import xtrace as xt
    >>> xt.empty_ref(xt.ShapeDtypeStruct((2,), "int32")).shape
    (2,)
    """
    aval = ShapedArray(tuple(ty.shape), dtypes.canonicalize(dtypes.as_dtype(ty.dtype)))
    return _created(Ref(_settled(filling.zeros(aval.shape, aval.dtype)), aval))


def _end(ref: Any, how: str) -> Any:
    if not isinstance(ref, Ref):
        raise TypeError(f"{how} takes a reference, got {ref!r} of type {type(ref)}")
    cell, keeper = refs.holder(ref)
    if keeper is not ref.owner or ref.passed:
        raise ValueError(
            f"{how} can only be called where the reference was created, but the one of type {ref.aval} was created "
            f"outside of this traced function. Read it with ref[...] here, and call {how} outside."
        )
    ref.ended = how
    value, cell.value = cell.value, None
    return value


def freeze(ref: Ref) -> Any:
    """End a reference and return its last value.

    Args:
      ref: a Ref created in this function, not passed to it or closed over.

    Returns:
      An array. Reads and writes of the reference are errors from now on.

    Raises:
      ValueError: the reference was created elsewhere, or has ended.

    >>> import xtrace as xt
    >>> xt.freeze(xt.new_ref(1.0))
    Array(1., dtype=float32)
    """
    return _end(ref, "freeze")


def free_ref(ref: Ref) -> None:
    """End a reference, whose last value nobody needs.

    Args:
      ref: a Ref created in this function.

    Raises:
      ValueError: the reference was created elsewhere, or has ended.

    >>> import xtrace as xt
    >>> xt.free_ref(xt.new_ref(1.0))
    """
    _end(ref, "free_ref")


def _rows(ref: Ref) -> Iterator[Any]:
    return iter(refs.read(ref))


def _getitem(ref: Any, index: Any) -> Any:
    return get(ref, (None,) if index is None else index)


def _setitem(ref: Any, index: Any, value: Any) -> None:
    set(ref, (None,) if index is None else index, value)


def install() -> None:
    """Set the indexing methods on references."""
    methods: dict[str, Any] = {
        "__getitem__": _getitem,
        "__setitem__": _setitem,
        "__iter__": _rows,
        "at": property(RefIndexer),
        "addupdate": lambda self, value, idx=...: addupdate(self, idx, value),
    }
    for name, method in methods.items():
        setattr(Ref, name, method)


__all__ = [
    "RefIndexer",
    "RefView",
    "addupdate",
    "empty_ref",
    "free_ref",
    "freeze",
    "get",
    "install",
    "new_ref",
    "set",
    "swap",
]
