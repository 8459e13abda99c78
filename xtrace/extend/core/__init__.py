"""The intermediate language, for programs that read or build it (jax.extend.core)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import AbstractToken, ShapedArray
from xtrace.core.axes import bound_axes
from xtrace.core.check import check_jaxpr
from xtrace.core.errors import InconclusiveDimensionOperation, JaxprTypeError
from xtrace.core.jaxpr import (
    ClosedJaxpr,
    DebugInfo,
    DropVar,
    Effect,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    count_names,
    eval_jaxpr,
    no_effects,
)
from xtrace.core.jaxpr import subjaxprs as held_jaxprs
from xtrace.core.primitive import Primitive, aval_of
from xtrace.core.trace import Tracer, current, use_trace
from xtrace.extend.core import primitives
from xtrace.extend.core.calls import create_call_primitive, eval_jaxpr_transpose, register_call_primitive_rules
from xtrace.lax.tokens import Token
from xtrace.runtime.jaxlib_api import ArrayImpl
from xtrace.transforms.batching import BatchTrace

Effects = frozenset[Any]


def jaxpr_as_fun(jaxpr: Jaxpr) -> Callable[..., list[Any]]:
    """A function of flat arrays that evaluates a closed jaxpr.

    >>> import xtrace as xt
    >>> from xtrace.extend.core import jaxpr_as_fun
    >>> [float(v) for v in jaxpr_as_fun(xt.make_jaxpr(lambda x: x + 1.0)(0.0))(2.0)]
    [3.0]
    """
    return lambda *args: eval_jaxpr(jaxpr, jaxpr.consts, *args)


def gensym(suffix: str = "") -> Callable[[Any], Var]:
    """A function that makes new variables of a given aval."""
    return Var


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs in an equation's parameters."""
    return held_jaxprs(params)


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The jaxprs that the equations of a jaxpr hold; not those inside them.

    >>> import xtrace as xt
    >>> from xtrace.extend.core import subjaxprs
    >>> [j.eqns[0].primitive for j in subjaxprs(xt.make_jaxpr(xt.jit(xt.lax.sin))(0.0))]
    [sin]
    """
    for eqn in jaxpr.eqns:
        yield from held_jaxprs(eqn.params)


def new_jaxpr_eqn(
    invars: Any,
    outvars: Any,
    primitive: Primitive,
    params: dict[str, Any],
    effects: Any = no_effects,
    source_info: Any = None,
) -> JaxprEqn:
    """An equation. source_info: that of another equation, to point at its line."""
    position = getattr(source_info, "position", None)
    return JaxprEqn(primitive, invars, outvars, params, position, effects)


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The aval of one example of an array whose `axis`, of this size, is mapped."""
    return aval if axis is None else aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1 :])


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The aval of `size` examples stacked along `axis`."""
    return aval if axis is None else aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """The dtype of tangents of values of `primal_dtype`: itself if inexact, else float0."""
    return primal_dtype if dtypes.is_inexact(primal_dtype) else dtypes.float0


def valid_jaxtype(x: Any) -> bool:
    """Whether `x` is an array, a number or a tracer."""
    if isinstance(x, (ArrayImpl, Tracer)):
        return True
    try:
        aval_of(x)
    except TypeError:
        return False
    return True


def concrete_or_error(force: Any, value: Any, context: str = "") -> Any:
    """`force(value)` (or the value), which must not be traced. Raises ConcretizationTypeError otherwise."""
    from xtrace.core.errors import ConcretizationTypeError

    if isinstance(value, Tracer):
        concrete = value.to_concrete_value()
        if concrete is None:
            raise ConcretizationTypeError(value, context)
        value = concrete
    return value if force is None else force(value)


def find_top_trace(values: Any) -> Any:
    """The current trace."""
    return current.trace


def get_opaque_trace_state(convention: Any = None) -> Any:
    """An object that compares equal as long as the same trace is current."""
    return current.trace


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether a function is being staged."""
    trace = current.trace
    return trace is not None and trace.stages()


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether a function is being mapped."""
    trace = current.trace
    while trace is not None:
        if isinstance(trace, BatchTrace):
            return True
        trace = trace.parent
    return False


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether any named axis is bound."""
    return bool(bound_axes())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """The names of the axes that are bound, the innermost last."""
    return list(dict(bound_axes()))


class set_current_trace(use_trace):
    """Context manager that makes `trace` the one that interprets operations; the previous one comes back at exit.

    check_leaks: accepted for compatibility: staging checks for leaked tracers itself, where the flag is set.
    """

    __slots__ = ()

    def __init__(self, trace: Any, check_leaks: bool = False) -> None:
        super().__init__(trace)


class take_current_trace(use_trace):
    """Context manager that gives the current trace and suspends it: operations inside run at once.

    >>> import xtrace as xt
    >>> from xtrace.extend.core import take_current_trace
    >>> @xt.jit
    ... def f(x):
    ...     with take_current_trace() as trace:
    ...         assert not isinstance(xt.numpy.ones(3), xt.core.Tracer)
    ...     return x
    >>> float(f(1.0))
    1.0
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None)

    def __enter__(self) -> Any:
        super().__enter__()
        return self.previous


class TraceTag:
    """Marks the traces of one transformation. All are alike, as programs that keep results by them expect."""

    def __hash__(self) -> int:
        return hash(TraceTag)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TraceTag)


#: Types of host values that count as arrays.
array_types: set[type] = {
    np.ndarray,
    np.longlong,
    *[dtype.type for dtype in dtypes.SHORT_NAMES if dtype != dtypes.float0],
}


__all__ = [
    "AbstractToken",
    "ClosedJaxpr",
    "DebugInfo",
    "DropVar",
    "Effect",
    "Effects",
    "InconclusiveDimensionOperation",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "Token",
    "TraceTag",
    "Var",
    "array_types",
    "check_jaxpr",
    "concrete_or_error",
    "count_names",
    "create_call_primitive",
    "eval_jaxpr_transpose",
    "find_top_trace",
    "gensym",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "new_jaxpr_eqn",
    "no_effects",
    "nonempty_axis_env_DO_NOT_USE",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "register_call_primitive_rules",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
]
