"""Mutable references: cells that hold an array, read and written in place.

There are no operations on references in jaxprs. A Ref is a Python object whose cell holds its present value, an array
or a tracer, and a read or write is ordinary indexing of that value. What needs care is staging: while a function is
staged, a reference from outside has a cell of its own in that trace. Its first value there is an input of the program
(a constvar, whose const is the reference's CapturedRef), and if it was written its last value becomes an output; who
binds the program reads the inputs then and writes the outputs back (transforms.refs).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.core.avals import AbstractValue, ShapedArray
from xtrace.core.trace import Trace, Tracer, current


class AbstractRef(AbstractValue):
    """The aval of a reference to an array of type `inner_aval`. Interned, as arrays' avals are."""

    __slots__ = ("inner_aval", "memory_space", "kind")

    inner_aval: ShapedArray
    memory_space: Any
    kind: Any

    _table: dict[Any, AbstractRef] = {}

    def __new__(cls, inner_aval: ShapedArray, memory_space: Any = None, kind: Any = None) -> AbstractRef:
        key = (inner_aval, memory_space, kind)
        aval = cls._table.get(key)
        if aval is None:
            aval = object.__new__(cls)
            aval.inner_aval, aval.memory_space, aval.kind = key
            aval = cls._table.setdefault(key, aval)
        return aval

    shape = property(lambda self: self.inner_aval.shape)
    dtype = property(lambda self: self.inner_aval.dtype)
    ndim = property(lambda self: self.inner_aval.ndim)
    size = property(lambda self: self.inner_aval.size)
    weak_type = property(lambda self: self.inner_aval.weak_type)
    sharding = property(lambda self: self.inner_aval.sharding)

    def str_short(self, short_dtypes: bool = True) -> str:
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}}}"

    def tangent(self) -> ShapedArray:
        raise not_an_array(self)

    def __repr__(self) -> str:
        return f"Ref{{{self.inner_aval}}}"

    __str__ = __repr__


class RefCell:
    """Where a reference's value is kept, by the trace that created it or by one that threads it through a program."""

    __slots__ = ("value", "written", "const_index")

    def __init__(self, value: Any, const_index: int = -1) -> None:
        self.value = value
        self.written = False
        #: Of a cell in a staging trace: the place of the first value among the trace's constvars.
        self.const_index = const_index


class Ref:
    """A reference to a mutable array: `ref[...]` reads it, `ref[...] = x` writes it, any NumPy index names a part.

    Made by `new_ref`. It is no array: operations take what it holds, `ref[...]`.
    """

    __slots__ = ("inner_aval", "owner", "cell", "kind", "ended", "passed", "origin", "_captured", "__weakref__")

    inner_aval: ShapedArray
    owner: Trace | None
    cell: RefCell

    def __init__(self, value: Any, aval: ShapedArray, kind: Any = None) -> None:
        self.inner_aval = aval
        #: The trace under which it was created: what the values belong to.
        self.owner = current.trace
        self.cell = RefCell(value)
        self.kind = kind
        #: What ended it, "freeze" or "free_ref"; None while it lives.
        self.ended: str | None = None
        #: Whether it stands, in a function that is being traced, for a reference that the function was given.
        self.passed = False
        #: Where it comes from, for messages.
        self.origin: Callable[[], str] | None = None
        self._captured: CapturedRef | None = None

    @property
    def aval(self) -> AbstractRef:
        return AbstractRef(self.inner_aval, None, self.kind)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        return self.inner_aval.ndim

    @property
    def size(self) -> int:
        return self.inner_aval.size

    @property
    def sharding(self) -> Any:
        return read(self).sharding

    @property
    def format(self) -> Any:
        return read(self).format

    @property
    def committed(self) -> bool:
        return bool(read(self).committed)

    _committed = committed

    def unsafe_buffer_pointer(self) -> int:
        """Address of the buffer that holds the value now; a write may move it."""
        return int(read(self).unsafe_buffer_pointer())

    def __len__(self) -> int:
        if not self.inner_aval.shape:
            raise TypeError("len() of unsized object")
        return self.inner_aval.shape[0]

    def __repr__(self) -> str:
        if self.ended is not None:
            return f"Ref(ended by {self.ended}, {self.inner_aval.str_short(False)})"
        if isinstance(self.cell.value, Tracer):
            return f"Ref({self.inner_aval.str_short(False)})"
        text = repr(read(self))
        return "Ref" + text[text.index("(") :] if text.startswith("Array(") else f"Ref({text})"

    @property
    def captured(self) -> CapturedRef:
        found = self._captured
        if found is None:
            found = self._captured = CapturedRef(self)
        return found


class CapturedRef:
    """A reference as a const of a staged program: whoever binds the program passes the value it has then."""

    __slots__ = ("ref",)

    def __init__(self, ref: Ref) -> None:
        self.ref = ref

    @property
    def aval(self) -> ShapedArray:
        return self.ref.inner_aval


def not_an_array(aval: Any) -> TypeError:
    """The error for a reference in the place of an array."""
    return TypeError(
        f"got a reference of type {aval}, but a Ref can't be passed where an array is expected. Did you forget to read "
        "its value with `ref[...]`?"
    )


def holder(ref: Ref) -> tuple[RefCell, Trace | None]:
    """The cell in which code that runs now finds the reference's value, and the trace that keeps it."""
    if ref.ended is not None:
        raise ValueError(
            f"the reference of type {ref.aval} was ended by {ref.ended} and has no value any more. Use what "
            "freeze returned, or make a new one with new_ref."
        )
    trace, owner = current.trace, ref.owner
    while trace is not owner and trace is not None:
        cells = trace.ref_cells
        if cells is not None:
            cell = cells.get(ref)
            return trace.capture_ref(ref) if cell is None else cell, trace
        trace = trace.parent
    if owner is not None and not getattr(owner, "alive", True):
        raise ValueError(
            f"the reference of type {ref.aval} belongs to a function whose tracing is over. A reference made inside a "
            "traced function, or passed to one as an argument, can be used only while the function runs: keep what it "
            "holds (ref[...]), or create it outside. (When a loop is differentiated, a custom_vjp rule in it "
            "can't write to a reference that the loop's body made or got as a row of xs.)"
        )
    return ref.cell, owner


def read(ref: Ref) -> Any:
    """The whole value."""
    return holder(ref)[0].value


def write(ref: Ref, value: Any) -> None:
    """Replace the whole value by one of the same type."""
    cell, keeper = holder(ref)
    if isinstance(value, Tracer):
        trace: Any = current.trace
        while trace is not keeper and trace is not None:
            if getattr(value, "_trace", None) is trace:
                if ref.kind is None or not hasattr(value, "primal"):
                    raise ValueError(_too_deep(ref, trace))
                value = value.primal  # no_grad
            trace = trace.parent
    cell.value = value
    cell.written = True


def _too_deep(ref: Ref, trace: Any) -> str:
    kind = type(trace).__name__
    if kind == "BatchTrace":
        return (
            f"performing a set/swap operation with vmapped value on an unbatched array reference of type {ref.aval}: "
            "which element's value it should have afterwards is not defined. Move the array reference to be an "
            "argument of the mapped function."
        )
    return (
        "performing a set/swap operation with a differentiated value on a non-differentiated array reference of type "
        f"{ref.aval}. Write jax.lax.stop_gradient(value), or create the reference inside the differentiated function. "
        "To differentiate with respect to it: Move the array reference to be an argument, of vjp."
    )


def argument(value: Any, name: Callable[[], str], kind: Any = None) -> Ref:
    """The reference that stands, in a function being traced, for one that is its argument."""
    ref = Ref(value, value.aval, kind)
    ref.passed = True
    ref.origin = lambda: f"was passed in as the argument {name()}"
    return ref


def cannot_return(ref: Ref, where: str, name: str, traced_for: str) -> ValueError:
    """The error for a reference among the results of a traced function."""
    if ref.owner is not current.trace:
        told = "was closed over by the function, rather than passed in as an argument or created inside it"
    else:
        told = "comes from inside" if ref.origin is None else ref.origin()
    return ValueError(
        f"function {name} traced for {traced_for} returned a mutable array reference of type {ref.aval} at {where}, "
        "but mutable array references cannot be returned. Return its value, ref[...], or pass the reference as an "
        f"argument and write to it.\n\nThe returned mutable array {told}."
    )
