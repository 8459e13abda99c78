"""Traces and tracers: who interprets a primitive, and the stand-ins for values that carry the interpreter along.

Each thread has one current trace (None: nothing is being traced, operations run). A transformation pushes its own
trace, whose `parent` is the one it found; a trace interprets a primitive and speaks to its parent for the rest.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from xtrace.core import config, functions
from xtrace.core.avals import ShapedArray

if TYPE_CHECKING:
    from xtrace.core.primitive import Primitive


class _Current(threading.local):
    trace: Trace | None = None
    #: Position that equations get while one operation is interpreted: the user's line of that operation. Set by
    #: interpreters that record several equations for one; None means the frames are searched.
    position: Any = None
    #: Names of the scopes that are open in the function being traced, joined by slashes (core.scopes).
    name_stack: str = ""
    #: Whether a warning was given (core.warned) since this was last set to False.
    warned: bool = False


#: The current thread's trace. `current.trace` costs about 30 ns; reading it is the whole price of composability.
current = _Current()

_jit_key_state = config.trace_state.state


class Trace:
    """An interpreter of primitives. `parent` interprets what this one produces (None: operations run)."""

    __slots__ = ("parent", "__weakref__")

    parent: Trace | None
    #: Of staging traces: the cells of references from outside, by Ref (core.refs).
    ref_cells: dict[Any, Any] | None = None

    def capture_ref(self, ref: Any) -> Any:
        """The cell of a reference from outside, touched for the first time (staging traces)."""
        raise NotImplementedError

    def stages(self) -> bool:
        """Whether what this trace does ends up in a jaxpr: positions matter then."""
        return self.parent is not None and self.parent.stages()

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Interpret one application of `primitive`."""
        raise NotImplementedError

    def inline(
        self, kept: dict[Any, Any], fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call a function of the library that depends on nothing but its arguments' types, and the flags.

        kept: what staging traces know of it (transforms.replay).
        """
        return fun(*args, **kwargs)

    def process_custom_jvp(self, call: Any, args: tuple[Any, ...]) -> Any:
        """Interpret a call of a function with a custom forward derivative (see transforms.custom)."""
        raise NotImplementedError

    def process_custom_vjp(self, call: Any, args: tuple[Any, ...]) -> Any:
        """Interpret a call of a function with a custom reverse derivative (see transforms.custom)."""
        raise NotImplementedError


class TransformTrace(Trace):
    """A trace that transforms what one run of a function does."""

    __slots__ = ("alive", "made_for")

    #: Whether the function is still running.
    alive: bool
    #: The user's function and the transformation, for messages; None where a rule of ours runs.
    made_for: tuple[Callable[..., Any], str] | None

    def origin(self) -> str | None:
        """The function that is or was traced, with its line, and what for."""
        if self.made_for is None:
            return None
        fun, what = self.made_for
        return f"{functions.described(getattr(fun, 'stands_for', fun))} for {what}"


class use_trace:
    """Context manager that makes `trace` the current one; the previous one comes back at exit."""

    __slots__ = ("trace", "previous")

    def __init__(self, trace: Trace | None) -> None:
        self.trace = trace

    def __enter__(self) -> Trace | None:
        trace, previous = self.trace, current.trace
        self.previous = previous
        current.trace = trace
        # Compiled calls look this up in C++: while tracing they must come to Python.
        if trace is None or previous is None:
            _jit_key_state.swap_local(None if trace is None else True)
        return trace

    def __exit__(self, *exc: Any) -> None:
        previous = self.previous
        current.trace = previous
        if self.trace is None or previous is None:
            _jit_key_state.swap_local(None if previous is None else True)


class Tracer:
    """Stands for a value while a function is traced. Array operators are set on it by the numpy layer."""

    __slots__ = ("aval", "_trace", "__weakref__")

    __array_priority__ = 1000

    aval: ShapedArray
    _trace: Trace

    # What an array says about itself without knowing its values.
    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    @property
    def itemsize(self) -> int:
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.aval.size * self.aval.dtype.itemsize

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    def to_concrete_value(self) -> Any:
        """The array behind this tracer where there is one (eager grad or vmap of an unmapped value), else None."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(
                f"unsupported format string passed to {type(self).__name__}.__format__: {spec!r} formats a number, and "
                "a traced array has none yet. Print it as it is, or format the result outside the traced function."
            )
        return repr(self)

    def __hash__(self) -> int:
        raise TypeError(
            f"unhashable type: {type(self).__name__}. A traced array has no value to hash yet; "
            "use its shape or dtype, or pass the argument as static (static_argnums or static_argnames of jit)."
        )

    def __copy__(self) -> Tracer:
        return self

    def __deepcopy__(self, memo: Any) -> Tracer:
        return self

    def block_until_ready(self) -> Tracer:
        return self

    # Conversions to Python values need one: errors.py says what to do instead. Truth, index and int go by the value
    # where eager differentiation has one: branching on it is right. A float, or an array, would enter the computation
    # as a constant and silently lose its derivative, so those are refused everywhere.
    def _concrete(self, error: str, **details: Any) -> Any:
        value = self.to_concrete_value()
        if value is None:
            self._refuse(error, **details)
        return np.asarray(value) if isinstance(value, (bool, int, float, complex)) else value

    def _refuse(self, error: str, **details: Any) -> NoReturn:
        from xtrace.core import errors  # only on the way to an error

        raise getattr(errors, error)(self, **details)

    def __bool__(self) -> bool:
        if self.aval.size != 1:  # as of an array whose values are known
            raise ValueError(
                f"The truth value of an array of shape {self.aval.shape} is ambiguous: only arrays of one element have "
                "one. Use a.any(), a.all(), or a.size > 0."
            )
        return bool(self._concrete("TracerBoolConversionError"))

    def __index__(self) -> int:
        return self._concrete("TracerIntegerConversionError").__index__()

    def __int__(self) -> int:
        return int(self._concrete("ConcretizationTypeError", wanted="int"))

    def item(self, *args: Any) -> Any:
        return self._concrete("ConcretizationTypeError", wanted="Python scalar (item)").item(*args)

    def __float__(self) -> float:
        self._refuse("ConcretizationTypeError", wanted="float")

    def __complex__(self) -> complex:
        self._refuse("ConcretizationTypeError", wanted="complex")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse("TracerArrayConversionError")

    def tolist(self) -> Any:
        self._refuse("ConcretizationTypeError", wanted="list (tolist)")

    def tobytes(self, order: str = "C") -> bytes:
        self._refuse("ConcretizationTypeError", wanted="bytes object (tobytes)")


def _of_a_buffer(name: str) -> Callable[..., NoReturn]:
    """What only an array in memory has."""
    says = f"`{name}` belongs to arrays in memory: read it of the argument or result outside of the traced function."

    def refuse(self: Tracer, *args: Any) -> NoReturn:
        self._refuse("ConcretizationTypeError", context=says, wanted="array in memory")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Refused: {says}"
    return refuse


for _name in "addressable_data delete devices is_deleted on_device_size_in_bytes unsafe_buffer_pointer".split():
    setattr(Tracer, _name, _of_a_buffer(_name))
for _name in "addressable_shards committed global_shards is_fully_addressable is_fully_replicated traceback".split():
    setattr(Tracer, _name, property(_of_a_buffer(_name)))


def _of_the_type(name: str, error: type[Exception]) -> property:
    def refuse(self: Tracer) -> NoReturn:
        raise error(
            f"the {name!r} attribute is not available on a traced array of type {self.aval.str_short()}: "
            f"typeof(x).{name} says what its type knows of it"
        )

    return property(refuse, doc=f"Refused: see typeof(x).{name}.")


Tracer.sharding = _of_the_type("sharding", AttributeError)  # type: ignore[attr-defined]
Tracer.memory_space = _of_the_type("memory_space", ValueError)  # type: ignore[attr-defined]


def eval_context() -> use_trace:
    """`with eval_context():` operations run on concrete values, whatever is being traced outside."""
    return use_trace(None)


def ensure_compile_time_eval() -> use_trace:
    """`with ensure_compile_time_eval():` run operations on known values now, instead of recording them.

    >>> import xtrace as xt, xtrace.numpy as xnp
    >>> @xt.jit
    ... def f(x):
    ...     with xt.ensure_compile_time_eval():
    ...         n = int(xnp.sum(xnp.arange(4)))  # a Python number at trace time
    ...     return x * n
    >>> float(f(2.0))
    12.0
    """
    return use_trace(None)
