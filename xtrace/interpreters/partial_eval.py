"""Tracing to jaxprs, and taking jaxprs apart (jax.interpreters.partial_eval)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core.jaxpr import Jaxpr
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.trace import current, use_trace
from xtrace.extend.linear_util import WrappedFun
from xtrace.transforms.dead_code import prune_jaxpr
from xtrace.transforms.staging import StagedTracer as DynamicJaxprTracer
from xtrace.transforms.staging import StagingTrace, closed_call_operands, trace_to_jaxpr

JaxprTracer = DynamicJaxprTracer


class PartialVal(tuple[Any, Any]):
    """A value that is known, (None, value), or of which only the type is, (aval, None)."""

    __slots__ = ()

    def __new__(cls, xs: tuple[Any, Any]) -> PartialVal:
        return tuple.__new__(cls, xs)

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        return cls((None, const))

    @classmethod
    def unknown(cls, aval: Any) -> PartialVal:
        return cls((aval, None))

    def is_known(self) -> bool:
        return self[0] is None

    def get_known(self) -> Any:
        return self[1] if self[0] is None else None

    def get_aval(self) -> Any:
        return shaped(self[1]) if self[0] is None else self[0]


class _PartialTrace(StagingTrace):
    """Records what depends on unknown values; the rest is computed."""

    __slots__ = ()

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if any([type(a) is DynamicJaxprTracer and a._trace is self for a in args]):
            return super().process(primitive, args, params)
        with use_trace(self.parent):
            return primitive.bind(*args, **params)


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Evaluate a flat function on what is known, and trace the rest.

    Args:
      fun: the function; pvals: one for each argument.
      instantiate: outputs that the jaxpr has though they are known.

    Returns:
      (jaxpr, outs, consts): a jaxpr (consts, unknown arguments) -> outputs that are unknown; and a value for each
      output.
    """
    trace = _PartialTrace(current.trace, fun.debug_info)
    args = [p.get_known() if p.is_known() else trace.new_arg(p.get_aval()) for p in pvals]
    with use_trace(trace):
        outs = list(fun.call_wrapped(*args))
    wanted = [instantiate] * len(outs) if isinstance(instantiate, bool) else list(instantiate)
    unknown = [w or (type(o) is DynamicJaxprTracer and o._trace is trace) for o, w in zip(outs, wanted)]
    consts = trace.consts
    jaxpr = trace.finish([o for o, u in zip(outs, unknown) if u])
    values = [PartialVal.unknown(shaped(o)) if u else PartialVal.known(o) for o, u in zip(outs, unknown)]
    return convert_constvars_jaxpr(jaxpr), values, consts


def trace_to_jaxpr_dynamic(
    fun: WrappedFun, in_avals: Sequence[Any], *, keep_inputs: Any = None, lower: bool = False, auto_dce: bool = False
) -> tuple[Jaxpr, list[Any], list[Any]]:
    """Trace a flat function at types: (jaxpr, types of its outputs, values it closed over)."""
    jaxpr = trace_to_jaxpr(fun.call_wrapped, in_avals, fun.debug_info)
    return jaxpr, jaxpr.out_avals, list(jaxpr.consts)


def dce_jaxpr(
    jaxpr: Jaxpr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
    live_inputs: Any = True,
) -> tuple[Jaxpr, list[bool]]:
    """The jaxpr of the outputs marked used, without what they don't need, and which inputs it has.

    instantiate: inputs that stay though nothing reads them.
    """
    n_out, n_in = len(jaxpr.outvars), len(jaxpr.invars)
    used = (used_outputs,) * n_out if isinstance(used_outputs, bool) else tuple(used_outputs)
    keep = (instantiate,) * n_in if isinstance(instantiate, bool) else tuple(instantiate)
    made = prune_jaxpr(jaxpr, used, keep)
    return made.jaxpr, list(made.used)


def dce_jaxpr_consts(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool], list[bool]]:
    """As `dce_jaxpr` of a jaxpr with constvars: (jaxpr, which constvars it has, which inputs)."""
    made, used = dce_jaxpr(convert_constvars_jaxpr(jaxpr), used_outputs, instantiate)
    n = sum(used[: len(jaxpr.constvars)])
    split = Jaxpr(made.invars[:n], made.invars[n:], made.outvars, made.eqns, made.effects, made.debug_info)
    return split, used[: len(jaxpr.constvars)], used[len(jaxpr.constvars) :]


def close_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """A jaxpr without constvars, as one closed over no values."""
    if jaxpr.constvars:
        raise ValueError(f"close_jaxpr: the jaxpr has {len(jaxpr.constvars)} constvars")
    return jaxpr


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr with its constvars as leading inputs."""
    return closed_call_operands(jaxpr)[0]


__all__ = [
    "DynamicJaxprTracer",
    "JaxprTracer",
    "PartialVal",
    "close_jaxpr",
    "convert_constvars_jaxpr",
    "dce_jaxpr",
    "dce_jaxpr_consts",
    "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]
