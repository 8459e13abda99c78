"""Reverse-mode derivatives: linearize once onto a tape, then transpose the whole tape in one backward walk.

`LinearizeTrace` runs a function on its primal values; the linear (tangent) half of each derivative rule is recorded
on a `Tape`. Residuals are simply the primal values that tape nodes hold. No jaxpr is built for an eager gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xtrace.core import config, leaks, source
from xtrace.core.avals import ShapedArray
from xtrace.core.effects import keep_alive
from xtrace.core.jaxpr import (
    DebugInfo,
    Jaxpr,
    JaxprEqn,
    Var,
    eval_jaxpr,
    is_scalar_literal,
    literal,
    live_eqns,
    no_effects,
)
from xtrace.core.primitive import Primitive, aval_of, shaped
from xtrace.core.trace import Trace, Tracer, TransformTrace, current, use_trace
from xtrace.transforms import logs
from xtrace.transforms.accumulate import add_tangents
from xtrace.transforms.jvp import JVPTracer, jvp_of_bind, tangent_by_operand
from xtrace.transforms.staging import (
    StagingTrace,
    check_alive,
    closed_call_operands,
    memo_transformed,
    trace_to_jaxpr,
)
from xtrace.transforms.zeros import UndefinedPrimal, Zero, zero_tangent

_check_leaks = config.check_tracer_leaks.state
_debug_nans = config.debug_nans.state
_debug_infs = config.debug_infs.state


def bind_under(
    parent: Trace | None, this: Trace, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]
) -> Any:
    """Bind with `parent` as the current trace in place of `this`: `use_trace` written out, since it is the hot path."""
    if parent is None:
        with use_trace(None):
            return primitive.bind(*args, **params)
    current.trace = parent
    try:
        return parent.process(primitive, args, params)
    finally:
        current.trace = this


class LinearTracer(Tracer):
    """A tangent on a tape: `index` is its place among the tape's values."""

    __slots__ = ("index",)

    def __init__(self, tape: Tape, aval: ShapedArray, index: int) -> None:
        self._trace = tape
        self.aval = aval
        self.index = index


class TapeNode:
    """One linear operation: `args` are LinearTracers, or values that the operation is parametrised by."""

    __slots__ = ("primitive", "args", "params", "outs", "position")

    def __init__(
        self,
        primitive: Primitive,
        args: tuple[Any, ...],
        params: dict[str, Any],
        outs: list[LinearTracer],
        position: Any,
    ) -> None:
        self.primitive = primitive
        self.args = args
        self.params = params
        self.outs = outs
        #: The user's line of the primal operation: its transpose is recorded under that line too.
        self.position = position

    def effects(self) -> frozenset[Any]:
        primitive = self.primitive
        if primitive.effects is None:
            return no_effects
        return primitive.effects(
            tuple([a.aval if type(a) is LinearTracer else shaped(a) for a in self.args]), self.params
        )


class Tape(Trace):
    """Records linear operations; everything else goes to the parent."""

    __slots__ = ("nodes", "size")

    def __init__(self, parent: Trace | None) -> None:
        self.parent = parent
        self.nodes: list[TapeNode] = []
        self.size = 0

    def new_value(self, aval: ShapedArray) -> LinearTracer:
        value = LinearTracer(self, aval, self.size)
        self.size += 1
        return value

    def owns(self, x: Any) -> bool:
        return type(x) is LinearTracer and x._trace is self

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        for a in args:
            if type(a) is LinearTracer and a._trace is self:
                if primitive.on_tape is not None:
                    return primitive.on_tape(self, args, **params)
                return self.record(primitive, args, params)
        return bind_under(self.parent, self, primitive, args, params)

    def record(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        out = primitive.out_aval(tuple([a.aval if type(a) is LinearTracer else shaped(a) for a in args]), params)
        if primitive.multiple_results:
            outs = [self.new_value(a) for a in out]
            self.nodes.append(TapeNode(primitive, args, params, outs, current.position))
            return outs
        value = self.new_value(out)
        self.nodes.append(TapeNode(primitive, args, params, [value], current.position))
        return value

    def process_custom_jvp(self, call: Any, args: tuple[Any, ...]) -> Any:
        if any(self.owns(a) for a in args):  # linear as it is: its own operations are recorded
            return call.run(args)
        with use_trace(self.parent):
            return call.bind(args)

    process_custom_vjp = process_custom_jvp


class LinearizeTracer(JVPTracer):
    """A primal value and its tangent on the tape, a LinearTracer."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"GradTracer(primal={self.primal!r}, typeof(tangent)={self.tangent.aval.str_short()})"


class LinearizeTrace(TransformTrace):
    """Runs operations on primals and records their linearization on `tape`."""

    __slots__ = ("tape", "keep_positions")

    def __init__(self, parent: Trace | None, made_for: Any = None) -> None:
        self.parent = parent
        self.made_for = made_for
        self.tape = Tape(parent)
        self.alive = True
        self.keep_positions = self.stages() or _debug_nans.value or _debug_infs.value

    def new_arg(self, primal: Any) -> LinearizeTracer:
        return LinearizeTracer(self, primal, self.tape.new_value(shaped(primal).tangent()))

    def split(self, x: Any) -> tuple[Any, Any]:
        """(primal, tangent) of any value."""
        if type(x) is LinearizeTracer:
            if x._trace is self:
                return x.primal, x.tangent
            check_alive(x)
        return x, zero_tangent(x)

    def wrap(self, primal: Any, tangent: Any) -> Any:
        # A tangent that depends on no input, such as a custom rule's zeros, is a constant: nothing flows back.
        if type(tangent) is not LinearTracer or tangent._trace is not self.tape:
            return primal
        return LinearizeTracer(self, primal, tangent)

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        primals, tangents, linear = [], [], False
        for x in args:
            if type(x) is LinearizeTracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                linear = True
            else:
                primals.append(x)
                tangents.append(None)
        if not linear:
            return bind_under(self.parent, self, primitive, args, params)
        outermost = self.keep_positions and current.position is None
        if outermost:
            current.position = source.here(2)
        try:
            if primitive.jvps is not None:
                out = bind_under(self.parent, self, primitive, tuple(primals), params)
                current.trace = self.tape
                try:
                    tangent = tangent_by_operand(primitive, out, primals, tangents, params)
                finally:
                    current.trace = self
            else:
                tangents = [zero_tangent(p) if t is None else t for p, t in zip(primals, tangents)]
                if primitive.linearize is not None:
                    with use_trace(self.parent):
                        out, tangent = primitive.linearize(self.tape, primals, tangents, **params)
                else:
                    with use_trace(self.tape):
                        out, tangent = jvp_of_bind(primitive, primals, tangents, params)
        finally:
            if outermost:
                current.position = None
        if primitive.multiple_results:
            return [self.wrap(o, t) for o, t in zip(out, tangent)]
        return self.wrap(out, tangent)

    def process_custom_jvp(self, call: Any, args: tuple[Any, ...]) -> Any:
        pairs = [self.split(x) for x in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        if all([type(t) is Zero for t in tangents]):
            with use_trace(self.parent):
                return call.bind(primals)
        with use_trace(self.tape):
            outs, out_tangents = call.apply_jvp(primals, tangents)
        return [self.wrap(o, t) for o, t in zip(outs, out_tangents)]

    def process_custom_vjp(self, call: Any, args: tuple[Any, ...]) -> Any:
        pairs = [self.split(x) for x in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        with use_trace(self.parent):
            if all([type(t) is Zero for t in tangents]):
                return call.bind(primals)
            outs, out_tangents = call.linearize(self.tape, primals, tangents)
        return [self.wrap(o, t) for o, t in zip(outs, out_tangents)]


def backward(
    tape: Tape, outs: Sequence[Any], cotangents: Sequence[Any], wanted: Sequence[LinearTracer], prune: bool = False
) -> list[Any]:
    """Cotangents of the tangents `wanted`, given cotangents of `outs` (LinearTracer or Zero). Zero where none arrives.

    One walk over the tape, newest first; an operation whose outputs received nothing is never transposed, nor with
    `prune` one that no wanted tangent leads to.
    """
    nodes = _reached(tape, wanted) if prune else tape.nodes
    received: list[Any] = [None] * tape.size
    for out, ct in zip(outs, cotangents):
        if type(out) is LinearTracer and type(ct) is not Zero:
            old = received[out.index]
            received[out.index] = ct if old is None else add_tangents(old, ct)
    outer_position = current.position
    if _debug_nans.value or _debug_infs.value:
        for node in tape.nodes:
            if node.position is not None:
                node.position = source.Backward(node.position)
    try:
        for node in reversed(nodes):
            _transpose_node(node, tape, received)
    finally:
        current.position = outer_position
    return [Zero(w.aval.tangent()) if (c := received[w.index]) is None else c for w in wanted]


def _reached(tape: Tape, tangents: Sequence[LinearTracer]) -> list[TapeNode]:
    """The operations that depend on some of the tangents."""
    reached = {t.index for t in tangents}
    nodes = []
    for node in tape.nodes:
        if any([type(a) is LinearTracer and a._trace is tape and a.index in reached for a in node.args]):
            reached.update([o.index for o in node.outs])
            nodes.append(node)
    return nodes


def _transpose_node(node: TapeNode, tape: Tape, received: list[Any]) -> None:
    """Send what the outputs of one operation have received on to its linear operands."""
    primitive = node.primitive
    ct: Any
    if primitive.multiple_results:
        cts = [received[o.index] for o in node.outs]
        if all([c is None for c in cts]):
            return
        ct = [Zero(o.aval.tangent()) if c is None else c for o, c in zip(node.outs, cts)]
        for o in node.outs:  # what has been used is free
            received[o.index] = None
    else:
        index = node.outs[0].index
        ct = received[index]
        if ct is None:
            return
        received[index] = None
    if primitive.transpose is None:
        raise NotImplementedError(f"the primitive {primitive.name} has no transpose rule")
    if node.position is not None:
        current.position = node.position
    args = [UndefinedPrimal(a.aval) if type(a) is LinearTracer and a._trace is tape else a for a in node.args]
    for a, c in zip(node.args, primitive.transpose(ct, *args, **node.params)):
        if c is not None and type(a) is LinearTracer and a._trace is tape and type(c) is not Zero:
            old = received[a.index]
            received[a.index] = c if old is None else add_tangents(old, c)


class Linearized:
    """The linearization of a function at a point: what `linearize` and `vjp` return functions over."""

    __slots__ = ("tape", "inputs", "outs")

    def __init__(self, tape: Tape, inputs: list[LinearTracer | None], outs: list[Any]) -> None:
        self.tape = tape
        #: One per argument; None where the argument was not differentiated.
        self.inputs = inputs
        #: Out tangents: LinearTracer or Zero.
        self.outs = outs

    def pull_back(self, cotangents: Sequence[Any]) -> list[Any]:
        """Cotangents of the differentiated inputs (array or Zero)."""
        return backward(self.tape, self.outs, cotangents, [i for i in self.inputs if i is not None])

    def jaxpr(self, debug_info: DebugInfo | None = None, kept: frozenset[int] = frozenset()) -> tuple[Jaxpr, list[Any]]:
        """The tape as a jaxpr (residuals, input tangents) -> nonzero out tangents, and the residual values.

        Numbers whose id is in `kept` are residuals too, not literals.
        """
        return tape_to_jaxpr(self.tape, [i for i in self.inputs if i is not None], self.outs, debug_info, kept)


class StagedLinearization:
    """A linearization taken off its tape: a jaxpr, and the values of its residuals. What `Linearized` is, as data."""

    __slots__ = ("program", "residuals", "nonzeros")

    def __init__(self, program: Jaxpr, residuals: Sequence[Any], nonzeros: tuple[bool, ...]) -> None:
        #: (residuals, input tangents) -> nonzero out tangents.
        self.program = program
        self.residuals = residuals
        #: Which outputs have tangents.
        self.nonzeros = nonzeros

    def pull_back(self, cotangents: Sequence[Any], wanted: Sequence[bool] | None = None) -> list[Any]:
        """Cotangents of the differentiated inputs (array or Zero), or of the `wanted` ones among them."""
        tape = Tape(current.trace)
        inputs = [tape.new_value(v.aval) for v in self.program.invars[len(self.residuals) :]]
        with use_trace(tape):
            outs = eval_jaxpr(self.program, (), *self.residuals, *inputs)
        cts = [c for c, nz in zip(cotangents, self.nonzeros) if nz]
        if wanted is None:
            return backward(tape, outs, cts, inputs)
        return backward(tape, outs, cts, [i for i, w in zip(inputs, wanted) if w], prune=True)


def linearize_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], differentiated: Sequence[bool], made_for: Any = None
) -> tuple[list[Any], Linearized]:
    """Run a flat function at `primals`, recording how its outputs depend on the `differentiated` arguments."""
    trace = LinearizeTrace(current.trace, made_for)
    args = [trace.new_arg(p) if d else p for p, d in zip(primals, differentiated)]
    with use_trace(trace):
        outs = fun(*args)
        pairs = [trace.split(o) for o in outs]
    trace.alive = False
    inputs = [a.tangent if d else None for a, d in zip(args, differentiated)]
    if _check_leaks.value:
        del args, outs
        leaks.check(trace)
    return [p for p, _ in pairs], Linearized(trace.tape, inputs, [t for _, t in pairs])


def tape_to_jaxpr(
    tape: Tape,
    inputs: Sequence[LinearTracer],
    outs: Sequence[Any],
    debug_info: DebugInfo | None,
    kept: frozenset[int] = frozenset(),
) -> tuple[Jaxpr, list[Any]]:
    """The live part of a tape as a jaxpr (residuals, inputs) -> the nonzero outs; the residuals beside it.

    Numbers are literals, except those whose id is in `kept`.
    """
    live = [False] * tape.size
    for o in outs:
        if type(o) is LinearTracer:
            live[o.index] = True
    nodes = []
    all_effects = no_effects
    for node in reversed(tape.nodes):
        effects = node.effects()
        if keep_alive(effects) or any([live[o.index] for o in node.outs]):
            all_effects |= effects
            nodes.append(node)
            for a in node.args:
                if type(a) is LinearTracer and a._trace is tape:
                    live[a.index] = True
    nodes.reverse()
    env: dict[int, Var] = {i.index: Var(i.aval) for i in inputs}
    invars = [env[i.index] for i in inputs]
    residual_vars: dict[int, Var] = {}
    residuals: list[Any] = []

    def atom(a: Any) -> Any:
        if type(a) is LinearTracer and a._trace is tape:
            return env[a.index]
        if is_scalar_literal(a) and id(a) not in kept:
            return literal(a, aval_of(a))
        var = residual_vars.get(id(a))
        if var is None:
            var = residual_vars[id(a)] = Var(shaped(a))
            residuals.append(a)
        return var

    eqns = []
    for node in nodes:
        operands = [atom(a) for a in node.args]
        outvars = [Var(o.aval) for o in node.outs]
        env.update(zip([o.index for o in node.outs], outvars))
        eqns.append(JaxprEqn(node.primitive, operands, outvars, node.params, node.position, node.effects()))
    out_atoms = [env[o.index] for o in outs if type(o) is LinearTracer]
    jaxpr = Jaxpr([], [*residual_vars.values(), *invars], out_atoms, eqns, all_effects, debug_info)
    return jaxpr, residuals


# -- whole jaxprs: how primitives that hold jaxprs are linearized and transposed ---------------------------------


class LinearizedJaxpr(NamedTuple):
    """A jaxpr split in two. `primal`: (consts, args) -> (outs, residuals); `tangent`: (residuals, tangents) -> outs.

    Made by linearizing: the primal half has all outputs, the tangent half those marked in `out_nonzeros`. Made by
    splitting a jaxpr that is linear in some arguments: each output belongs to one half.
    """

    primal: Jaxpr
    consts: list[Any]
    tangent: Jaxpr
    num_residuals: int
    out_nonzeros: list[bool]


def linearize_jaxpr(jaxpr: Jaxpr, nonzeros: tuple[bool, ...]) -> LinearizedJaxpr:
    """Split a closed jaxpr for reverse mode, where `nonzeros` says which arguments have tangents. Memoised."""
    return memo_transformed(jaxpr, ("linearize", nonzeros), _linearize_jaxpr, nonzeros)


def _linearize_jaxpr(jaxpr: Jaxpr, nonzeros: tuple[bool, ...]) -> LinearizedJaxpr:
    with use_trace(None):
        trace = StagingTrace(None, jaxpr.debug_info)
        args = [trace.new_arg(v.aval) for v in jaxpr.invars]
        with use_trace(trace):
            outs, lin = linearize_flat(lambda *xs: eval_jaxpr(jaxpr, (), *xs), args, nonzeros)
            tangent, residuals = lin.jaxpr(jaxpr.debug_info)
            primal, consts = closed_call_operands(trace.finish([*outs, *residuals]))
    return LinearizedJaxpr(primal, consts, tangent, len(residuals), [type(t) is not Zero for t in lin.outs])


def split_linear_jaxpr(jaxpr: Jaxpr, linear: tuple[bool, ...]) -> LinearizedJaxpr:
    """Split a closed jaxpr into what does not depend on the `linear` arguments, and the linear rest. Memoised.

    `primal`: the other args -> (outs that are not linear, residuals); `tangent`: (residuals, linear args) -> the rest.
    """
    return memo_transformed(jaxpr, ("split", linear), _split_linear_jaxpr, linear)


def is_linear_as_it_is(splits: Sequence[LinearizedJaxpr]) -> bool:
    """Whether jaxprs, split by `split_linear_jaxpr`, compute nothing beside their linear halves.

    The linear halves that differentiation makes are such: a call of one goes onto a tape whole, its known operands are
    the residuals. Splitting it would add, at each level of a nest, a call that does nothing.
    """
    depends = zip(*[s.out_nonzeros for s in splits])
    return not any([live_eqns(s.primal) for s in splits]) and all([any(flags) for flags in depends])


def _split_linear_jaxpr(jaxpr: Jaxpr, linear: tuple[bool, ...]) -> LinearizedJaxpr:
    with use_trace(None):
        trace = StagingTrace(None, jaxpr.debug_info)
        tape = Tape(trace)
        args = [tape.new_value(v.aval) if lin else trace.new_arg(v.aval) for v, lin in zip(jaxpr.invars, linear)]
        with use_trace(tape):
            outs = eval_jaxpr(jaxpr, (), *args)
        with use_trace(trace):
            inputs = [a for a, lin in zip(args, linear) if lin]
            tangent, residuals = tape_to_jaxpr(tape, inputs, outs, jaxpr.debug_info)
            primal, consts = closed_call_operands(trace.finish([*[o for o in outs if not tape.owns(o)], *residuals]))
    return LinearizedJaxpr(primal, consts, tangent, len(residuals), [tape.owns(o) for o in outs])


class TransposedJaxpr(NamedTuple):
    """The jaxpr (consts, non-linear args, nonzero cotangents) -> nonzero cotangents of the linear args, then logs."""

    jaxpr: Jaxpr
    consts: list[Any]
    #: Which of the linear args get cotangents.
    outs: list[bool]
    #: The structure of what is logged; None: nothing is.
    logs: Any
    #: CapturedRefs among the consts that rules write to; their last values are the last outputs.
    written: list[Any]


def transpose_jaxpr(
    jaxpr: Jaxpr, linear: tuple[bool, ...], ct_nonzeros: tuple[bool, ...], threads_refs: bool = False
) -> TransposedJaxpr:
    """The transpose of a jaxpr that is linear in the arguments marked so. Memoised on the jaxpr.

    `threads_refs`: the caller knows of references among the consts, and of `written`.
    """
    key = ("transpose", linear, ct_nonzeros, logs.wanted())
    return memo_transformed(jaxpr, key, _transpose_jaxpr, linear, ct_nonzeros, threads_refs)


def _transpose_jaxpr(
    jaxpr: Jaxpr, linear: tuple[bool, ...], ct_nonzeros: tuple[bool, ...], threads_refs: bool
) -> TransposedJaxpr:
    arrives: list[bool] = []
    log_trees: list[Any] = []
    n = len(linear) - sum(linear)

    def fun(*args: Any) -> list[Any]:
        known, given = iter(args[:n]), iter(args[n:])
        tape = Tape(current.trace)
        values = [tape.new_value(v.aval) if lin else next(known) for v, lin in zip(jaxpr.invars, linear)]
        with use_trace(tape):
            outs = eval_jaxpr(jaxpr, (), *values)
        cts = [next(given) if nz else Zero(v.aval.tangent()) for v, nz in zip(jaxpr.outvars, ct_nonzeros)]
        inputs = [v for v, lin in zip(values, linear) if lin]
        sink: dict[Any, Any] | None = {} if logs.wanted() else None
        with logs.into(sink):
            results = backward(tape, outs, cts, inputs)
        logged, log_tree = logs.flatten(sink or {})
        log_trees.append(log_tree)
        arrives.extend(type(r) is not Zero for r in results)
        return [*[r for r in results if type(r) is not Zero], *logged]

    known_avals = [v.aval for v, lin in zip(jaxpr.invars, linear) if not lin]
    ct_avals = [v.aval.tangent() for v, nz in zip(jaxpr.outvars, ct_nonzeros) if nz]
    with use_trace(None):
        staged = trace_to_jaxpr(fun, [*known_avals, *ct_avals], jaxpr.debug_info, threads_refs)
    closed, consts = closed_call_operands(staged)
    return TransposedJaxpr(closed, consts, arrives, log_trees[0], [consts[i] for i in staged.written_refs])


__all__ = [
    "LinearTracer",
    "Linearized",
    "LinearizedJaxpr",
    "LinearizeTrace",
    "LinearizeTracer",
    "StagedLinearization",
    "Tape",
    "TransposedJaxpr",
    "backward",
    "linearize_flat",
    "linearize_jaxpr",
    "is_linear_as_it_is",
    "split_linear_jaxpr",
    "tape_to_jaxpr",
    "transpose_jaxpr",
]
