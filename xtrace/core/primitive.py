"""Primitives: the operations of the language. A primitive owns its rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from xtrace.core import config, dtypes
from xtrace.core.avals import AbstractValue, ShapedArray
from xtrace.core.trace import current

_enable_x64 = config.enable_x64.state

#: How `Primitive.bind` runs an operation outside any trace; the runtime plugs itself in here (xtrace/__init__.py).
_evaluate: Callable[[Primitive, tuple[Any, ...], dict[str, Any]], Any]


def set_evaluator(evaluate: Callable[[Primitive, tuple[Any, ...], dict[str, Any]], Any]) -> None:
    """Plug in what runs primitives on concrete values."""
    global _evaluate
    _evaluate = evaluate


def _no_evaluator(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    raise RuntimeError("no runtime is plugged in; import xtrace, not xtrace.core alone")


_evaluate = _no_evaluator


_place: Callable[[Any, ShapedArray], Any]


def set_placer(place: Callable[[Any, ShapedArray], Any]) -> None:
    """Plug in what makes an array of a host value of known type."""
    global _place
    _place = place


def as_array(x: Any) -> Any:
    """`x` as an array or tracer: what transformations hand out where a rule produced a number or a numpy array."""
    if getattr(x, "aval", None) is not None:
        return x
    aval = aval_of(x)
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    return x if current.trace is not None else _place(x, aval)


def placed(x: Any) -> Any:
    """`x` as an array on the device or tracer, under a trace too: what a number with a number must not compute."""
    return x if getattr(x, "aval", None) is not None else _place(x, aval_of(x))


@functools.cache
def _scalar(value: Any, aval: ShapedArray, x64: bool) -> Any:
    if aval.weak_type:
        number = np.zeros((), aval.dtype).item().__class__(value)
        if dtypes.canonicalize(dtypes.PYTHON_SCALARS[type(number)]) == aval.dtype:
            return number
    return np.asarray(value, aval.dtype)[()]


def scalar_of(value: Any, aval: ShapedArray) -> Any:
    """The constant `value` as a scalar of the dtype of `aval`, weakly typed (a Python number) if that is."""
    try:
        return _scalar(value, aval, _enable_x64.value)
    except TypeError as error:
        _no_scalar(value, aval, error)


def _told(message: str) -> str:
    from xtrace.core import statics  # only on the way to an error

    return statics.told(message)


def _no_array(message: str) -> NoReturn:
    from xtrace.core import errors  # only on the way to an error

    raise errors.ArgumentError(_told(message))


def _no_scalar(value: Any, aval: ShapedArray, error: TypeError) -> NoReturn:
    from xtrace.core import errors, statics  # only on the way to an error

    if dtypes.is_extended(aval.dtype):
        raise errors.ArgumentError(
            f"{statics.asked()} takes numbers, got an array of type {aval.str_short()}."
        ) from None
    raise errors.ArgumentError(f"{statics.asked()} takes a number, got {statics.shown(value)}.") from error


class Primitive:
    """An operation, with its rules as attributes.

    abstract_eval  (*avals, **params) -> aval, or a list of them if `multiple_results`
    jvp            (primals, tangents, **params) -> (outs, tangent_outs); tangents may be Zero
    jvps           instead of jvp: one rule an operand, (tangent, out, *primals, **params) -> term or None (constant)
    linearize      instead of jvp, for primitives that hold jaxprs: see transforms.linearize
    transpose      (cotangents, *args, **params) -> a cotangent or None per arg; linear args are UndefinedPrimal
    on_tape        (tape, args, **params) -> outs; a tape's way with primitives that hold jaxprs: transforms.linearize
    batch          (axis, args, dims, **params) -> (outs, out_dims); see transforms.batching
    split_saved    (eqn, wanted, policy) -> equations and saved variables; what holds jaxprs: transforms.saving
    prune          (eqn, wanted) -> the equation without its unread results; what holds jaxprs: transforms.dead_code
    lower          (ctx, eqn, *operands) -> values; set by lowering/rules
    """

    multiple_results: bool = False
    #: Set where a primitive runs in Python on concrete values instead of being compiled (device_put …).
    impl: Callable[..., Any] | None = None
    jvp: Callable[..., Any] | None = None
    jvps: Sequence[Callable[..., Any] | None] | None = None
    linearize: Callable[..., Any] | None = None
    transpose: Callable[..., Any] | None = None
    batch: Callable[..., Any] | None = None
    on_tape: Callable[..., Any] | None = None
    split_saved: Callable[..., Any] | None = None
    prune: Callable[..., Any] | None = None
    #: Whether dead code is removed from such an equation when its program is lowered, and not only on request.
    prunes_where_lowered: bool = False
    lower: Callable[..., Any] | None = None
    #: Set where lowering without parameters is one operation without attributes, on operands of the result's shape.
    lower_op: str | None = None
    lower_on: dict[str, Callable[..., Any]] | None = None
    #: (avals, params) -> set of effects, for primitives that have any.
    effects: Callable[..., frozenset[Any]] | None = None
    #: Params kept out of `str(jaxpr)` where they are empty tuples.
    hidden_where_empty: frozenset[str] = frozenset()
    #: Params kept out of `str(jaxpr)`.
    hidden_params: frozenset[str] = frozenset()
    #: params -> what `str(jaxpr)` shows of them, where that takes more than leaving some out.
    shown_params: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    #: Params that lowering doesn't read: derivative rules and the like.
    params_not_lowered: frozenset[str] = frozenset()
    #: Printing: the variables of `jaxpr` go by the names of the operands and results they stand for.
    prints_as_call: bool = False
    #: Whether every operand is mapped element by element (fusion and batching treat these alike).
    elementwise: bool = False
    #: Whether the parameters hold jaxprs.
    holds_jaxprs: bool = False
    #: Whether the lowering rule takes arrays of extended dtypes. Where it doesn't, the operation is lowered on the
    #: arrays they are stored as, by its batching rule: right for all operations that move elements about.
    takes_extended: bool = False

    def __init__(self, name: str, abstract_eval: Callable[..., Any] | None = None) -> None:
        self.name = name
        if abstract_eval is not None:
            self.abstract_eval = abstract_eval  # type: ignore[method-assign]
        self._out_avals: dict[Any, Any] = {}
        self.eager_cache: dict[Any, Any] = {}

    def abstract_eval(self, *avals: AbstractValue, **params: Any) -> Any:
        raise NotImplementedError(f"primitive {self.name} has no abstract evaluation rule")

    def out_aval(self, avals: tuple[AbstractValue, ...], params: dict[str, Any]) -> Any:
        """Memoised `abstract_eval`: an aval, or a tuple of them if `multiple_results`."""
        if self.holds_jaxprs:  # their types are at hand, and jaxprs are not to be kept alive
            return self._fresh_out_aval(avals, params)
        key = (avals, tuple(params.items())) if params else avals
        try:
            out = self._out_avals.get(key)
        except TypeError:  # an unhashable parameter
            return self._fresh_out_aval(avals, params)
        if out is None:
            out = self._fresh_out_aval(avals, params)
            if len(self._out_avals) > 10_000:
                self._out_avals.clear()
            self._out_avals[key] = out
        return out

    def _fresh_out_aval(self, avals: tuple[AbstractValue, ...], params: dict[str, Any]) -> Any:
        try:
            out = self.abstract_eval(*avals, **params)
        except (TypeError, ValueError) as error:  # the user knows the function that was called, not the primitive
            if type(error) in (TypeError, ValueError) and len(error.args) == 1:
                error.args = (_told(str(error)),)
            raise
        return tuple(out) if self.multiple_results else out

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive: run it, or hand it to the current trace."""
        trace = current.trace
        if trace is None:
            return _evaluate(self, args, params)
        return trace.process(self, args, params)

    def impl_for(self, params: dict[str, Any]) -> Callable[..., Any] | None:
        """How the primitive runs on concrete values if not as a compiled program of one equation."""
        impl = self.impl
        return None if impl is None else lambda *args: impl(*args, **params)

    # Registration the way JAX programs write it.
    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        self.impl = impl
        return impl

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        self.abstract_eval = rule  # type: ignore[method-assign]
        self._out_avals.clear()
        return rule

    def __repr__(self) -> str:
        return self.name


def shaped(x: Any) -> ShapedArray:
    """The aval of any value an operation accepts: array, tracer, numpy array, Python scalar."""
    aval = getattr(x, "aval", None)
    return aval if aval is not None else aval_of(x)


#: Avals of Python and numpy scalars by (type, x64).
_scalar_avals: dict[tuple[type, bool], ShapedArray] = {}


def _number_dtype(x: Any) -> np.dtype:
    if dtypes.kind(x.dtype) not in "biufc0":
        _no_array(f"Value {x!r} with dtype {x.dtype} is not a valid array type: only arrays of numbers are.")
    return x.dtype


def aval_of(x: Any) -> ShapedArray:
    """The aval of a value that doesn't carry one. Raises TypeError for what isn't an array."""
    python = dtypes.PYTHON_SCALARS.get(type(x))
    if python is not None:
        if type(x) is int:
            check_int_range(x)
        key = (type(x), _enable_x64.value)
        aval = _scalar_avals.get(key)
        if aval is None:
            aval = ShapedArray((), dtypes.canonicalize(python), python is not dtypes.bool_)
            _scalar_avals[key] = aval
        return aval
    if isinstance(x, np.generic):
        key = (type(x), _enable_x64.value)
        aval = _scalar_avals.get(key)
        if aval is None:
            aval = ShapedArray((), dtypes.canonicalize(_number_dtype(x)))
            if type(x) is not np.void:
                _scalar_avals[key] = aval
        return aval
    if isinstance(x, np.ndarray):
        return ShapedArray(x.shape, dtypes.canonicalize(_number_dtype(x)))
    convert = getattr(x, "__jax_array__", None)
    if convert is not None:
        return shaped(convert())
    if isinstance(x, (bool, int, float, complex)):  # subclasses, such as enum.IntEnum
        base = next(t for t in (bool, int, float, complex) if isinstance(x, t))
        return ShapedArray((), dtypes.canonicalize(dtypes.PYTHON_SCALARS[base]), base is not bool)
    _no_array(f"Value {x!r} of type {type(x)} is not a valid array type: expected an array or a number.")


def check_int_range(x: int) -> None:
    """Raise OverflowError for a Python int that the default integer type can't hold."""
    if -(2**31) <= x < 2**31:
        return
    bits = 64 if _enable_x64.value else 32
    if not -(2 ** (bits - 1)) <= x < 2 ** (bits - 1):
        raise OverflowError(
            f"An overflow was encountered: Python int {x} does not fit in int{bits}. "
            "Give it a dtype, e.g. numpy.uint32(x), or enable x64 mode."
        )
