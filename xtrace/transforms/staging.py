"""Staging: run a Python function on tracers and record what it does as a jaxpr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from xtrace.core import config, errors, leaks, refs, source
from xtrace.core.avals import ShapedArray
from xtrace.core.axes import bound_axes
from xtrace.core.collection import rarer_collections
from xtrace.core.jaxpr import (
    DebugInfo,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    is_scalar_literal,
    literal,
    no_effects,
)
from xtrace.core.primitive import Primitive, aval_of
from xtrace.core.scopes import outermost
from xtrace.core.trace import Trace, Tracer, current, use_trace
from xtrace.transforms import replay

T = TypeVar("T")

_check_leaks = config.check_tracer_leaks.state
_own_file = source.is_own_file
_user_frame = source.user_frame
_getframe = sys._getframe
_new = object.__new__


class StagedTracer(Tracer):
    """A value inside a function that is being staged; `var` names it in the jaxpr."""

    __slots__ = ("_var",)

    _var: Var

    def __init__(self, trace: StagingTrace, aval: ShapedArray, var: Var) -> None:
        self._trace: StagingTrace = trace
        self.aval = aval
        self._var = var

    def __repr__(self) -> str:
        return f"JitTracer({self.aval})"

    __str__ = __repr__


class StagingTrace(Trace):
    """Records the operations of one function as equations."""

    __slots__ = (
        "eqns", "debug_info", "invars", "constvars", "consts", "const_vars_by_id", "alive", "effects",
        "ref_cells", "refs_in_rules",
    )  # fmt: skip

    tracer = StagedTracer

    def __init__(self, parent: Trace | None, debug_info: DebugInfo) -> None:
        self.parent = parent
        self.debug_info = debug_info
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.constvars: list[Var] = []
        self.consts: list[Any] = []
        self.const_vars_by_id: dict[int, Var] = {}
        self.alive = True
        self.effects: frozenset[Any] = no_effects
        self.ref_cells: dict[Any, Any] = {}
        #: Whether a rule of a function with custom derivatives was given a reference.
        self.refs_in_rules = False

    # -- inputs ------------------------------------------------------------------------------------------------

    def new_arg(self, aval: ShapedArray) -> StagedTracer:
        var = Var(aval)
        self.invars.append(var)
        return StagedTracer(self, aval, var)

    def as_atom(self, x: Any) -> Var | Literal:
        """The variable or literal of `x`: our own tracer, a scalar, or a value captured from outside."""
        if type(x) is StagedTracer and x._trace is self:
            return x._var
        if is_scalar_literal(x):
            return literal(x, aval_of(x))
        return self.capture(x)

    def capture(self, x: Any) -> Var:
        """The constvar of a closed-over array or outer tracer."""
        var = self.const_vars_by_id.get(id(x))
        if var is None:
            if isinstance(x, Tracer):
                check_alive(x)
                aval = x.aval
            else:
                if type(x) is refs.CapturedRef:  # of a rule's program, which reads the reference as it is now
                    return self.as_atom(refs.read(x.ref))  # type: ignore[return-value]
                aval = getattr(x, "aval", None) or aval_of(x)
                if type(aval) is refs.AbstractRef:
                    raise refs.not_an_array(aval)
            var = self.const_vars_by_id[id(x)] = Var(aval)
            self.constvars.append(var)
            self.consts.append(x)  # keeps x alive, so its id stays its own
        return var

    def capture_ref(self, ref: refs.Ref) -> refs.RefCell:
        var = Var(ref.inner_aval)
        cell = refs.RefCell(StagedTracer(self, var.aval, var), len(self.constvars))
        self.constvars.append(var)
        self.consts.append(ref.captured)
        self.ref_cells[ref] = cell
        return cell

    # -- recording ---------------------------------------------------------------------------------------------

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        # Loops and object.__new__ in place of comprehensions and constructors: a frame less for each.
        atoms: list[Var | Literal] = []
        known: list[ShapedArray] = []
        for a in args:
            if type(a) is StagedTracer and a._trace is self:
                atoms.append(a._var)
                known.append(a.aval)
            else:
                atom = self.as_atom(a)
                atoms.append(atom)
                known.append(atom.aval)
        avals = tuple(known)
        out = None if params else primitive._out_avals.get(avals)
        if out is None:
            out = primitive.out_aval(avals, params)
        position = current.position
        if position is None:
            frame = _user_frame(_getframe(2))
            position = None if frame is None else (frame.f_code, frame.f_lasti)
        effects = no_effects
        if primitive.effects is not None:
            effects = primitive.effects(avals, params)
            self.effects |= effects
        if primitive.multiple_results:
            outvars = [Var(a) for a in out]
            self.eqns.append(JaxprEqn(primitive, atoms, outvars, params, position, effects, current.name_stack))
            return [StagedTracer(self, v.aval, v) for v in outvars]
        var = _new(Var)
        var.aval = out
        self.eqns.append(JaxprEqn(primitive, atoms, (var,), params, position, effects, current.name_stack))
        tracer = _new(StagedTracer)
        tracer._trace = self
        tracer.aval = out
        tracer._var = var
        return tracer

    def stages(self) -> bool:
        return True

    def record(
        self, primitive: Primitive, invars: Sequence[Any], out: ShapedArray, params: dict[str, Any], position: Any
    ) -> StagedTracer:
        """Record an equation whose result aval is known already: the short way, for functions that keep plans."""
        var = _new(Var)
        var.aval = out
        self.eqns.append(JaxprEqn(primitive, invars, (var,), params, position, no_effects, current.name_stack))
        tracer = _new(StagedTracer)
        tracer._trace = self
        tracer.aval = out
        tracer._var = var
        return tracer

    def named(self, var: Var) -> StagedTracer:
        """The tracer of a variable of an equation that was recorded."""
        tracer = _new(StagedTracer)
        tracer._trace = self
        tracer.aval = var.aval
        tracer._var = var
        return tracer

    def inline(
        self, kept: dict[Any, Any], fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return replay.inline(self, kept, fun, args, kwargs)

    def process_custom_jvp(self, call: Any, args: tuple[Any, ...]) -> Any:
        return call.stage(args)

    def process_custom_vjp(self, call: Any, args: tuple[Any, ...]) -> Any:
        return call.stage(args)

    # -- results -----------------------------------------------------------------------------------------------

    def finish(self, outs: Sequence[Any]) -> Jaxpr:
        """The jaxpr, closed over what was captured. The trace is dead afterwards."""
        outvars = [self.as_atom(x) for x in outs]
        self.alive = False
        jaxpr = Jaxpr(self.constvars, self.invars, outvars, self.eqns, self.effects, self.debug_info, self.consts)
        self.const_vars_by_id = {}
        self.consts = []
        self.ref_cells = {}
        if config.check_jaxprs.value:
            from xtrace.core.check import check_jaxpr

            check_jaxpr(jaxpr)
        return jaxpr

    # -- messages ----------------------------------------------------------------------------------------------

    def origin(self) -> str:
        return f"{self.debug_info.func_src_info} for {self.debug_info.traced_for}"

    def history(self, tracer: Any) -> list[str]:
        """How `tracer` came from the function's arguments, for error messages."""
        lines = [f"  while tracing the function {self.origin()}"]
        made_by = {v: e for e in self.eqns for v in e.outvars}
        eqn = made_by.get(tracer._var)
        for _ in range(4):
            if eqn is None:
                break
            operands = ", ".join(v.aval.str_short() for v in eqn.invars)
            lines.append(f"  which is   {eqn.primitive.name}({operands}) at {source.describe(eqn.position)}")
            eqn = next((made_by[v] for v in eqn.invars if v in made_by), None)
        reached = self._arguments_behind(tracer._var, made_by)
        if reached:
            names = self.debug_info.arg_names
            shown = [names[i] if i < len(names) else f"number {i}" for i in reached]
            listed = ", ".join(shown[:5]) + (f" and {len(shown) - 5} more" if len(shown) > 5 else "")
            word = "argument" if len(shown) == 1 else "arguments"
            lines.append(f"  it depends on the {word} {listed} of {self.debug_info.func_name}")
        return lines

    def _arguments_behind(self, var: Any, made_by: dict[Any, JaxprEqn]) -> list[int]:
        """Positions of the arguments that `var` depends on, in order."""
        seen: set[Any] = set()
        todo = [var]
        while todo:
            v = todo.pop()
            if v not in seen:
                seen.add(v)
                if v in made_by:
                    todo.extend(made_by[v].invars)
        return [i for i, v in enumerate(self.invars) if v in seen]


def check_alive(tracer: Tracer) -> None:
    """Raise UnexpectedTracerError if the trace of `tracer` has ended."""
    if not getattr(tracer._trace, "alive", True):
        raise errors.UnexpectedTracerError(tracer)


def trace_to_jaxpr(
    fun: Callable[..., Sequence[Any]],
    avals: Sequence[ShapedArray],
    debug_info: DebugInfo | None = None,
    threads_refs: bool = False,
) -> Jaxpr:
    """Stage `fun`, a function of flat positional arrays that returns a flat sequence, at `avals`.

    The result's `consts` are the values that `fun` closed over: arrays, tracers of the traces outside, or CapturedRefs.
    `threads_refs`: the caller knows of references. Last values of those that `fun` wrote are outputs at the end, and
    `written_refs` of the result tells which.
    """
    trace = StagingTrace(current.trace, debug_info or DebugInfo())
    args = [trace.new_arg(aval) for aval in avals]
    position, current.position = current.position, None  # the function's lines are its own, and so are its scopes
    scopes, current.name_stack = current.name_stack, outermost(current.name_stack)
    with use_trace(trace), rarer_collections():
        try:
            outs = fun(*args)
            written: tuple[int, ...] = ()
            if trace.ref_cells:
                cells = [(r, c) for r, c in trace.ref_cells.items() if c.written]
                if cells and not threads_refs:
                    raise _stray_write(cells[0][0], trace)
                outs = [*outs, *[c.value for _, c in cells]]
                written = tuple([c.const_index for _, c in cells])
            jaxpr = trace.finish(outs)
            jaxpr.written_refs = written
            jaxpr.refs_in_rules = trace.refs_in_rules
            del outs
        finally:
            trace.alive = False
            current.position = position
            current.name_stack = scopes
    if _check_leaks.value:
        del args
        leaks.check(trace)
    return jaxpr


def _stray_write(ref: refs.Ref, trace: StagingTrace) -> ValueError:
    return ValueError(
        f"a mutable array reference of type {ref.aval} was written to in {trace.origin()}, from where its value "
        "can't be carried out: a derivative or batching rule of a function inside a loop or another compiled call "
        "wrote to it. "
        "Return the value from the function, or differentiate outside of that call."
    )


def closed_call_operands(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Any]]:
    """Turn constvars into leading invars: the form in which parameters of equations hold jaxprs.

    Returns the closed jaxpr and the values for its new leading arguments.
    """
    if not jaxpr.constvars:
        return jaxpr, []
    invars = [*jaxpr.constvars, *jaxpr.invars]
    closed = Jaxpr([], invars, jaxpr.outvars, jaxpr.eqns, jaxpr.effects, jaxpr.debug_info)
    return closed, jaxpr.consts


class Transformed(NamedTuple):
    """A closed jaxpr made from another; `consts` go in front of its operands; `outs` tells of its outputs."""

    jaxpr: Jaxpr
    consts: list[Any]
    outs: list[Any]


def memo_transformed(jaxpr: Jaxpr, key: Any, make: Callable[..., T], *args: Any) -> T:
    """`make(jaxpr, *args)`, kept with `jaxpr` unless it closes over tracers, which are good for this time only.

    A transformed jaxpr closes over something where a rule written by the user does. Such rules may ask for named axes.
    """
    axes = bound_axes()
    if axes:
        key = (key, axes)
    found: T | None = jaxpr._memo.get(key)
    if found is None:
        found = make(jaxpr, *args)
        if not any([isinstance(c, (Tracer, refs.CapturedRef)) for c in found.consts]):  # type: ignore[attr-defined]
            jaxpr._memo[key] = found
    return found
