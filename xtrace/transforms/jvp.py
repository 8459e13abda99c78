"""Forward-mode derivatives: every value carries a tangent along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xtrace.core import config, dtypes, leaks
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, eval_jaxpr
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.trace import Trace, Tracer, TransformTrace, current, use_trace
from xtrace.transforms.accumulate import add_tangents
from xtrace.transforms.staging import Transformed, check_alive, closed_call_operands, memo_transformed, trace_to_jaxpr
from xtrace.transforms.zeros import Zero, broadcast_to, instantiate, zero_tangent

_check_leaks = config.check_tracer_leaks.state


class JVPTracer(Tracer):
    """A value and its tangent (an array, a tracer of an outer trace, or Zero)."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Trace, primal: Any, tangent: Any) -> None:
        self._trace = trace
        self.aval = shaped(primal)
        self.primal = primal
        self.tangent = tangent

    def to_concrete_value(self) -> Any:
        primal = self.primal
        return primal.to_concrete_value() if isinstance(primal, Tracer) else primal

    def __repr__(self) -> str:
        return f"JVPTracer(primal={self.primal!r}, tangent={self.tangent!r})"


class JVPTrace(TransformTrace):
    """Interprets an operation by its derivative rule."""

    __slots__ = ()

    def __init__(self, parent: Trace | None, made_for: Any = None) -> None:
        self.parent = parent
        self.made_for = made_for
        self.alive = True

    def split(self, x: Any) -> tuple[Any, Any]:
        """(primal, tangent) of any value."""
        if type(x) is JVPTracer:
            if x._trace is self:
                return x.primal, x.tangent
            check_alive(x)
        return x, zero_tangent(x)

    def wrap(self, primal: Any, tangent: Any) -> Any:
        return primal if type(tangent) is Zero else JVPTracer(self, primal, tangent)

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        pairs = [self.split(x) for x in args]
        with use_trace(self.parent):
            if all([type(t) is Zero for _, t in pairs]):
                return primitive.bind(*[p for p, _ in pairs], **params)
            out, tangent = jvp_of_bind(primitive, [p for p, _ in pairs], [t for _, t in pairs], params)
        if primitive.multiple_results:
            return [self.wrap(o, t) for o, t in zip(out, tangent)]
        return self.wrap(out, tangent)

    def process_custom_jvp(self, call: Any, args: tuple[Any, ...]) -> Any:
        pairs = [self.split(x) for x in args]
        with use_trace(self.parent):
            if all([type(t) is Zero for _, t in pairs]):
                return call.bind([p for p, _ in pairs])
            outs, tangents = call.apply_jvp([p for p, _ in pairs], [t for _, t in pairs])
        return [self.wrap(o, t) for o, t in zip(outs, tangents)]

    process_custom_vjp = process_custom_jvp  # the call knows which rule it applies


def jvp_of_bind(primitive: Primitive, primals: list[Any], tangents: list[Any], params: dict[str, Any]) -> Any:
    """(out, tangent) of one operation at `primals` along `tangents`, at least one of which isn't Zero."""
    jvps = primitive.jvps
    if jvps is not None:
        out = primitive.bind(*primals, **params)
        return out, tangent_by_operand(primitive, out, primals, tangents, params)
    if primitive.jvp is None:
        out = primitive.bind(*primals, **params)
        outs = out if primitive.multiple_results else [out]
        if any([dtypes.is_inexact(shaped(o).dtype) for o in outs]):
            raise NotImplementedError(f"the primitive {primitive.name} has no derivative rule")
        # Comparisons, integer operations: there is nothing to differentiate.
        zeros = [zero_tangent(o) for o in outs]
        return out, zeros if primitive.multiple_results else zeros[0]
    return primitive.jvp(primals, tangents, **params)


def tangent_by_operand(
    primitive: Primitive, out: Any, primals: list[Any], tangents: list[Any], params: dict[str, Any]
) -> Any:
    """The sum of the operands' terms, by the rules in `primitive.jvps`. A tangent of None is zero too."""
    total = None
    for rule, t in zip(primitive.jvps, tangents):  # type: ignore[arg-type]
        if rule is not None and t is not None and type(t) is not Zero:
            term = rule(t, out, *primals, **params)
            if type(term) is not Zero:
                shape = shaped(out).shape
                if shaped(term).shape != shape:
                    term = broadcast_to(term, shape)
                total = term if total is None else add_tangents(total, term)
    return zero_tangent(out) if total is None else total


def linear(primitive: Primitive, transpose: Callable[..., Any]) -> None:
    """Declare `primitive` linear in all its operands together, with its transpose rule."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            zeros = [zero_tangent(o) for o in out] if primitive.multiple_results else zero_tangent(out)
            return out, zeros
        return out, primitive.bind(*[instantiate(t) for t in tangents], **params)

    primitive.jvp = rule
    primitive.transpose = transpose


def jvp_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any], made_for: Any = None
) -> tuple[list[Any], list[Any]]:
    """Run a flat function on primals with tangents (arrays or Zero); return its outputs and their tangents."""
    trace = JVPTrace(current.trace, made_for)
    args = [trace.wrap(p, t) for p, t in zip(primals, tangents)]
    with use_trace(trace):
        outs = fun(*args)
        pairs = [trace.split(o) for o in outs]
    trace.alive = False
    if _check_leaks.value:
        del args, outs
        leaks.check(trace)
    return [p for p, _ in pairs], [t for _, t in pairs]


def jvp_jaxpr(
    jaxpr: Jaxpr, nonzeros: tuple[bool, ...], instantiate_outs: tuple[bool, ...] | bool = False
) -> Transformed:
    """The jaxpr (primals, nonzero tangents) -> (outs, nonzero out tangents), and which outs have tangents.

    `instantiate_outs` forces tangents of outputs to exist (for loop carries). Memoised on the jaxpr.
    """
    if instantiate_outs is False:
        instantiate_outs = (False,) * len(jaxpr.outvars)
    elif instantiate_outs is True:
        instantiate_outs = (True,) * len(jaxpr.outvars)
    return memo_transformed(jaxpr, ("jvp", nonzeros, instantiate_outs), _jvp_jaxpr, nonzeros, instantiate_outs)


def _jvp_jaxpr(jaxpr: Jaxpr, nonzeros: tuple[bool, ...], instantiate_outs: tuple[bool, ...]) -> Transformed:
    out_nonzeros: list[bool] = []
    n = len(jaxpr.invars)

    def fun(*args: Any) -> list[Any]:
        tangents_in = iter(args[n:])
        tangents = [next(tangents_in) if nz else zero_tangent(p) for p, nz in zip(args[:n], nonzeros)]
        outs, out_tangents = jvp_flat(lambda *xs: eval_jaxpr(jaxpr, (), *xs), args[:n], tangents)
        out_tangents = [
            instantiate(t) if force and type(t) is Zero and t.aval.dtype != dtypes.float0 else t
            for t, force in zip(out_tangents, instantiate_outs)
        ]
        out_nonzeros.extend(type(t) is not Zero for t in out_tangents)
        return [*outs, *[t for t in out_tangents if type(t) is not Zero]]

    avals: list[ShapedArray] = [v.aval for v in jaxpr.invars]
    tangent_avals = [a.tangent() for a, nz in zip(avals, nonzeros) if nz]
    with use_trace(None):
        closed, consts = closed_call_operands(trace_to_jaxpr(fun, [*avals, *tangent_avals], jaxpr.debug_info))
    return Transformed(closed, consts, out_nonzeros)
