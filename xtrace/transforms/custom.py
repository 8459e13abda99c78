"""Calls of functions with derivative rules of their own.

A call is an object that the traces interpret (`Trace.process_custom_jvp`, `process_custom_vjp`). It holds flat
functions:

* `fun(*leaves) -> outs`
* forward rule: `rule(primals, tangents) -> (outs, tangent_outs)`; tangents on either side may be Zero
* reverse rule: `fwd(primals, perturbed) -> (outs, residuals, info)`, `bwd(info, residuals, cotangents) -> cotangents`;
  `info` is what `bwd` must know of the residuals' structure; cotangents may be Zero

Staged, a call is one equation with the function as a jaxpr and the rules as they are: a rule runs when a
derivative is taken, under the trace that is current then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import DebugInfo, Jaxpr, eval_jaxpr
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.trace import current
from xtrace.transforms import batching, logs, refs
from xtrace.transforms.batching import BatchTrace, MappedAxis, batch_jaxpr, move_axis, resumed
from xtrace.transforms.linearize import Tape
from xtrace.transforms.staging import Transformed, closed_call_operands, trace_to_jaxpr
from xtrace.transforms.zeros import UndefinedPrimal, Zero, zero_tangent


class CustomVJPException(Exception):
    """A function with a custom rule was differentiated with respect to a value it closes over."""


class StagedBody:
    """The function of a call as a closed jaxpr, the operands it closes over, and the structure of its result."""

    __slots__ = ("jaxpr", "consts", "out_tree", "captures", "written")

    def __init__(self, jaxpr: Jaxpr, consts: list[Any], out_tree: Any, written: tuple[int, ...] = ()) -> None:
        self.jaxpr = jaxpr
        self.consts = consts
        self.out_tree = out_tree
        #: Whether there are mutable references among the consts; those written, whose last values are the last outputs.
        self.captures = refs.captures(consts)
        self.written = [consts[i] for i in written]


class CustomCall:
    """What the two kinds of calls share. `out_tree` is known once the function or a rule has run."""

    __slots__ = ("fun", "name", "out_tree", "out_avals", "debug_info", "bodies", "key", "holds_refs")

    kind = "custom_jvp"
    symbolic_zeros: bool

    def __init__(
        self,
        fun: Callable[..., list[Any]],
        name: str,
        debug_info: DebugInfo | None = None,
        bodies: dict[Any, StagedBody] | None = None,
        key: Any = None,
    ) -> None:
        self.fun = fun
        self.name = name
        self.out_tree: Any = None
        #: Types of the results, known once the function is staged.
        self.out_avals: Sequence[ShapedArray] | None = None
        self.debug_info = debug_info
        #: Staged versions of the function by `key` and avals, kept by the function's owner; None: not kept.
        self.bodies = bodies
        self.key = key
        #: Whether there are mutable references among the arguments, which function and rules close over here.
        self.holds_refs = False

    def bind_staged(self, args: Sequence[Any], primitive: Primitive, **params: Any) -> list[Any]:
        """Record the call as one equation of the current (staging) trace."""
        body = self.body(args)
        consts = refs.resolved(body.consts) if body.captures else body.consts
        if self.holds_refs or body.written:
            refs.mark_rules()
        params.update(call_jaxpr=body.jaxpr, num_consts=len(consts), symbolic_zeros=self.symbolic_zeros)
        outs = primitive.bind(*consts, *args, name=self.name, **params)
        return refs.call_results(body.written, outs) if body.written else outs  # type: ignore[return-value]

    def run(self, args: Sequence[Any]) -> list[Any]:
        """The function itself, under the current trace."""
        return self.fun(*args)

    def body(self, args: Sequence[Any]) -> StagedBody:
        """The function staged at the types of `args`."""
        avals = tuple([shaped(x) for x in args])
        bodies = self.bodies
        key = (self.key, avals)
        if bodies is not None:
            found = bodies.get(key)
            if found is not None:
                self.out_tree, self.out_avals = found.out_tree, found.jaxpr.out_avals
                return found
        staged = trace_to_jaxpr(self.fun, avals, self.debug_info or DebugInfo(self.name), threads_refs=True)
        jaxpr, consts = closed_call_operands(staged)
        body = StagedBody(jaxpr, consts, self.out_tree, staged.written_refs)
        self.out_avals = jaxpr.out_avals
        if bodies is not None and not refs.transient(consts):
            if len(bodies) > 256:
                bodies.clear()
            bodies[key] = body
        return body


class CustomJVPCall(CustomCall):
    """A call of a function with a forward rule."""

    __slots__ = ("rule", "symbolic_zeros")

    def __init__(self, fun: Callable[..., list[Any]], name: str, symbolic_zeros: bool, *rest: Any) -> None:
        super().__init__(fun, name, *rest)
        self.rule: Any = None
        self.symbolic_zeros = symbolic_zeros

    def bind(self, args: Sequence[Any]) -> list[Any]:
        trace = current.trace
        return self.fun(*args) if trace is None else trace.process_custom_jvp(self, tuple(args))

    def stage(self, args: Sequence[Any]) -> list[Any]:
        return self.bind_staged(args, custom_jvp_call_p, jvp=self.rule)

    def apply_jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return self.rule(primals, tangents)

    def batch(self, trace: BatchTrace, vals: Sequence[Any], dims: tuple[int | None, ...]) -> Any:
        """(outs, out_dims) of the call over the mapped axis of `trace`."""
        fun = BatchedFunction(self.fun, trace, dims)
        call = CustomJVPCall(fun, self.name, self.symbolic_zeros)
        call.rule = BatchedJVPRule(self.rule, fun)
        call.holds_refs = self.holds_refs
        return call.bind(vals), fun.out_dims


class CustomVJPCall(CustomCall):
    """A call of a function with a reverse rule."""

    __slots__ = ("fwd", "bwd", "symbolic_zeros")

    kind = "custom_vjp"

    def __init__(self, fun: Callable[..., list[Any]], name: str, symbolic_zeros: bool, *rest: Any) -> None:
        super().__init__(fun, name, *rest)
        self.fwd: Any = None
        self.bwd: Any = None
        self.symbolic_zeros = symbolic_zeros

    def bind(self, args: Sequence[Any]) -> list[Any]:
        trace = current.trace
        return self.fun(*args) if trace is None else trace.process_custom_vjp(self, tuple(args))

    def stage(self, args: Sequence[Any]) -> list[Any]:
        return self.bind_staged(args, custom_vjp_call_p, fwd=self.fwd, bwd=self.bwd)

    def linearize(self, tape: Tape, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return _forward(tape.record, self.fwd, self.bwd, primals, tangents, self.symbolic_zeros, self.name)

    def apply_jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return _forward(_bind_linear, self.fwd, self.bwd, primals, tangents, self.symbolic_zeros, self.name)

    def batch(self, trace: BatchTrace, vals: Sequence[Any], dims: tuple[int | None, ...]) -> Any:
        """(outs, out_dims) of the call over the mapped axis of `trace`."""
        fun = BatchedFunction(self.fun, trace, dims)
        call = CustomVJPCall(fun, self.name, self.symbolic_zeros)
        call.fwd, call.bwd = BatchedForward(self.fwd, fun), BatchedBackward(self.bwd, fun)
        call.holds_refs = self.holds_refs
        return call.bind(vals), fun.out_dims


def _forward(
    record: Callable[..., list[Any]],
    fwd: Any,
    bwd: Any,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    symbolic_zeros: bool,
    name: str,
    out_avals: Sequence[ShapedArray] | None = None,
) -> tuple[list[Any], list[Any]]:
    """Run the forward pass, and record one linear operation from tangents to out tangents that only transposes."""
    perturbed = tuple([type(t) is not Zero for t in tangents])
    outs, residuals, info = fwd(primals, perturbed)
    if out_avals is not None:
        check_out_avals("custom VJP fwd", fwd, name, outs, out_avals)
    params = dict(
        name=name,
        bwd=bwd,
        info=info,
        num_res=len(residuals),
        in_zeros=tuple([not p for p in perturbed]),
        out_avals=tuple([shaped(o).tangent() for o in outs]),
        symbolic_zeros=symbolic_zeros,
    )
    results = record(custom_lin_p, (*residuals, *[t for t in tangents if type(t) is not Zero]), params)
    return outs, [r if shaped(o).tangent() is shaped(o) else zero_tangent(o) for o, r in zip(outs, results)]


def _bind_linear(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
    return primitive.bind(*args, **params)


def check_out_avals(what: str, rule: Any, name: str, outs: Sequence[Any], expected: Sequence[ShapedArray]) -> None:
    """Raise TypeError unless what a rule gives as the function's results has the function's types."""
    got = [shaped(o) for o in outs]
    if len(got) != len(expected) or any(g.shape != e.shape or g.dtype != e.dtype for g, e in zip(got, expected)):
        purpose = (
            f"where the first element represents the primal output (equal in value to the output of the "
            f"custom_jvp-decorated function {name}, and in particular with leaves of the same shape/dtype), but "
            "instead "
            "the JVP rule"
            if "JVP" in what
            else f"where the first element represents the primal output (equal to the output of the "
            f"custom_vjp-decorated function {name}) and the second element represents residuals (i.e. values stored "
            "from the forward pass for use on the backward pass), but instead the fwd rule"
        )
        kind = "custom_jvp" if "JVP" in what else "custom_vjp"
        raise TypeError(
            f"{what} rule {rule.__name__} for function {name} must produce a pair (list or tuple of length two) "
            f"{purpose} output's first element had shapes/dtypes of:\n    {_types(got)}\nwhile the {kind}-decorated "
            f"function {name} had output shapes/dtypes of:\n    {_types(expected)}"
        )


def _types(avals: Sequence[ShapedArray]) -> str:
    shown = ", ".join([a.str_short(False) for a in avals])
    return shown if len(avals) == 1 else f"({shown})"


# -- batched functions and rules -----------------------------------------------------------------------------------


class BatchedFunction:
    """A flat function over the mapped axis of `trace`, its arguments mapped at `dims`.

    `out_dims` is where its results are mapped: at 0, or not at all where no argument is mapped and the first run finds
    that nothing else is.
    """

    __slots__ = ("inner", "trace", "axis", "dims", "out_dims")

    def __init__(self, inner: Any, trace: BatchTrace, dims: tuple[int | None, ...]) -> None:
        self.inner = inner
        self.trace = trace
        self.axis = trace.axis
        self.dims = dims
        self.out_dims: list[int | None] | None = None

    def __call__(self, *args: Any) -> list[Any]:
        with resumed(self.trace) as trace:
            outs = self.inner(*[trace.wrap(x, d) for x, d in zip(args, self.dims)])
            pairs = [trace.split(o) for o in outs]
        return self.conform(pairs)

    def decide(self, mapped: Sequence[bool]) -> list[int | None]:
        """Where results are mapped, given whether they are found to be."""
        if self.out_dims is None:
            some = any([d is not None for d in self.dims])
            self.out_dims = [0 if m or some else None for m in mapped]
        return self.out_dims

    def conform(self, pairs: Sequence[tuple[Any, int | None]], mapped: Sequence[bool] | None = None) -> list[Any]:
        """Results with their mapped axes where they belong."""
        out_dims = self.decide([d is not None for _, d in pairs] if mapped is None else mapped)
        return [self.at(o, d, want) for (o, d), want in zip(pairs, out_dims)]

    def at(self, x: Any, dim: int | None, want: int | None) -> Any:
        """A result of the function or of a rule, mapped at `dim`, where it is wanted: at 0, or not mapped."""
        if want is not None:
            return move_axis(x, dim, 0, self.axis.size)
        if dim is not None:
            raise ValueError(
                f"a derivative rule gives a result that is batched along the mapped axis {self.axis.name!r}, of a "
                "function whose arguments and results are not: write the function so that an argument of it is "
                "mapped wherever its rule makes use of the axis."
            )
        return x


class _BatchedRule:
    """A rule over the mapped axis of `fun`."""

    __slots__ = ("inner", "fun", "__name__")

    def __init__(self, inner: Any, fun: BatchedFunction) -> None:
        self.inner = inner
        self.fun = fun
        self.__name__ = getattr(inner, "__name__", "rule")


class BatchedJVPRule(_BatchedRule):
    """A forward rule for one element of a mapped axis, applied to all of them."""

    __slots__ = ()

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        fun = self.fun
        with resumed(fun.trace) as trace:
            elements = [trace.wrap(p, d) for p, d in zip(primals, fun.dims)]
            element_tangents = [
                zero_tangent(p) if type(t) is Zero else trace.wrap(t, d)
                for p, t, d in zip(elements, tangents, fun.dims)
            ]
            outs, out_tangents = self.inner(elements, element_tangents)
            pairs = [trace.split(o) for o in outs]
            tangent_pairs = [(t, None) if type(t) is Zero else trace.split(t) for t in out_tangents]
        outs = fun.conform(pairs, [d is not None or e is not None for (_, d), (_, e) in zip(pairs, tangent_pairs)])
        return outs, [
            zero_tangent(o) if type(t) is Zero else fun.at(t, d, want)
            for o, (t, d), want in zip(outs, tangent_pairs, fun.decide(()))
        ]


class BatchedForward(_BatchedRule):
    """The fwd half of a reverse rule for one element of a mapped axis, applied to all of them."""

    __slots__ = ()

    def __call__(self, primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any], Any]:
        fun = self.fun
        with resumed(fun.trace) as trace:
            elements = [trace.wrap(p, d) for p, d in zip(primals, fun.dims)]
            outs, residuals, info = self.inner(elements, perturbed)
            pairs = [trace.split(o) for o in outs]
            kept = [trace.split(r) for r in residuals]
        return fun.conform(pairs), [r for r, _ in kept], (info, tuple([d for _, d in kept]))


class BatchedBackward(_BatchedRule):
    """Cotangents of arguments that are not mapped are summed over the axis."""

    __slots__ = ()

    def __call__(self, info: Any, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        inner_info, residual_dims = info
        fun = self.fun
        out_dims = fun.decide(())
        with resumed(fun.trace) as trace:
            element_residuals = [trace.wrap(r, d) for r, d in zip(residuals, residual_dims)]
            element_cts = [
                _element_zero(c, d) if type(c) is Zero else trace.wrap(c, d) for c, d in zip(cotangents, out_dims)
            ]
            sink: dict[Any, Any] | None = {} if logs.wanted() else None
            with logs.into(sink):
                results = self.inner(inner_info, element_residuals, element_cts)
            if sink:
                leaves, log_tree = logs.flatten(sink)
                logged = [trace.split(x) for x in leaves]
            pairs = [(None, None) if r is None or type(r) is Zero else trace.split(r) for r in results]
        if sink:
            logs.log(log_tree.unflatten([x if d is None else move_axis(x, d, 0, fun.axis.size) for x, d in logged]))
        out: list[Any] = []
        for (r, d), dim in zip(pairs, fun.dims):
            if r is None or dim is None and d is None and all([o is None for o in out_dims]):
                out.append(r)
            elif dim is None:
                out.append(batching.sum_axis(move_axis(r, d, 0, fun.axis.size), 0))
            else:
                out.append(move_axis(r, d, dim, fun.axis.size))
        return out


def _element_zero(zero: Zero, dim: int | None) -> Zero:
    shape = zero.aval.shape
    return zero if dim is None else Zero(zero.aval.update(shape=shape[:dim] + shape[dim + 1 :]))


# -- the primitives --------------------------------------------------------------------------------------------------


def _call_avals(*avals: ShapedArray, call_jaxpr: Jaxpr, **_: Any) -> list[ShapedArray]:
    return call_jaxpr.out_avals


def _call_primitive(name: str) -> Primitive:
    primitive = Primitive(name, _call_avals)
    primitive.multiple_results = True
    primitive.holds_jaxprs = True
    primitive.hidden_params = frozenset(["num_consts"])
    primitive.params_not_lowered = frozenset(["name", "jvp", "fwd", "bwd", "num_consts", "symbolic_zeros", "out_trees"])
    primitive.effects = lambda avals, params: params["call_jaxpr"].effects
    primitive.on_tape = lambda tape, args, *, call_jaxpr, **_: eval_jaxpr(call_jaxpr, (), *args)
    return primitive


custom_jvp_call_p = _call_primitive("custom_jvp_call")
custom_vjp_call_p = _call_primitive("custom_vjp_call")


def _check_consts(tangents: Sequence[Any], kind: str, name: str) -> None:
    if any([type(t) is not Zero for t in tangents]):
        raise CustomVJPException(
            f"Detected differentiation of the {kind} function {name} with respect to a closed-over value. Its rule "
            f"only "
            "says how to differentiate with respect to its arguments: pass the closed-over value as an argument, and "
            "adapt the rule."
        )


def _custom_jvp_jvp(
    primals: list[Any],
    tangents: list[Any],
    *,
    name: str,
    call_jaxpr: Jaxpr,
    jvp: Any,
    num_consts: int,
    symbolic_zeros: bool,
) -> tuple[list[Any], list[Any]]:
    _check_consts(tangents[:num_consts], "custom_jvp", name)
    outs, out_tangents = jvp(primals[num_consts:], tangents[num_consts:])
    check_out_avals("custom JVP", jvp, name, outs, call_jaxpr.out_avals)
    return outs, out_tangents


def _custom_jvp_batch(
    axis: MappedAxis,
    args: list[Any],
    dims: list[int | None],
    *,
    call_jaxpr: Jaxpr,
    jvp: Any,
    num_consts: int,
    **params: Any,
) -> tuple[list[Any], list[int | None]]:
    args, dims = _consts_in_front(axis, args, dims, num_consts)
    batched, consts, out_dims = _batch_body(call_jaxpr, axis, tuple(dims))
    rule = BatchedJVPRule(jvp, _staged_function(axis, dims[num_consts:], out_dims))
    params |= dict(call_jaxpr=batched, jvp=rule, num_consts=num_consts + len(consts))
    return custom_jvp_call_p.bind(*consts, *args, **params), out_dims


def _batch_body(jaxpr: Jaxpr, axis: MappedAxis, dims: tuple[int | None, ...]) -> Transformed:
    """The function of a call as a batched jaxpr. Where no operand is mapped, nor need results be."""
    if any([d is not None for d in dims]):
        mapped = (True,) * len(jaxpr.outvars)
    else:
        mapped = tuple([d is not None for d in batch_jaxpr(jaxpr, axis, dims).outs])
    batched, consts, _ = batch_jaxpr(jaxpr, axis, dims, mapped)
    return Transformed(batched, consts, [0 if m else None for m in mapped])


def _staged_function(axis: MappedAxis, dims: Sequence[int | None], out_dims: list[int | None]) -> BatchedFunction:
    """What rules need to know of a function that is batched as a jaxpr."""
    trace = BatchTrace(None, axis)
    trace.alive = False
    fun = BatchedFunction(None, trace, tuple(dims))
    fun.out_dims = out_dims
    return fun


def _consts_in_front(axis: MappedAxis, args: list[Any], dims: list[int | None], n: int) -> tuple[list[Any], list[Any]]:
    """The first `n` operands with their mapped axes moved to 0: the positions by which batched jaxprs are kept."""
    moved = [x if d is None else move_axis(x, d, 0, axis.size) for x, d in zip(args[:n], dims)]
    return [*moved, *args[n:]], [*[None if d is None else 0 for d in dims[:n]], *dims[n:]]


custom_jvp_call_p.jvp = _custom_jvp_jvp
custom_jvp_call_p.batch = _custom_jvp_batch


def _custom_vjp_linearize(
    tape: Tape,
    primals: list[Any],
    tangents: list[Any],
    *,
    name: str,
    call_jaxpr: Jaxpr,
    fwd: Any,
    bwd: Any,
    num_consts: int,
    symbolic_zeros: bool,
    record: Any = None,
) -> tuple[list[Any], list[Any]]:
    _check_consts(tangents[:num_consts], "custom_vjp", name)
    record = tape.record if record is None else record
    primals, tangents = primals[num_consts:], tangents[num_consts:]
    return _forward(record, fwd, bwd, primals, tangents, symbolic_zeros, name, call_jaxpr.out_avals)


def _custom_vjp_batch(
    axis: MappedAxis,
    args: list[Any],
    dims: list[int | None],
    *,
    call_jaxpr: Jaxpr,
    fwd: Any,
    bwd: Any,
    num_consts: int,
    **params: Any,
) -> tuple[list[Any], list[int | None]]:
    args, dims = _consts_in_front(axis, args, dims, num_consts)
    batched, consts, out_dims = _batch_body(call_jaxpr, axis, tuple(dims))
    fun = _staged_function(axis, dims[num_consts:], out_dims)
    params |= dict(fwd=BatchedForward(fwd, fun), bwd=BatchedBackward(bwd, fun))
    params |= dict(call_jaxpr=batched, num_consts=num_consts + len(consts))
    return custom_vjp_call_p.bind(*consts, *args, **params), out_dims


custom_vjp_call_p.linearize = _custom_vjp_linearize
custom_vjp_call_p.jvp = lambda primals, tangents, **params: _custom_vjp_linearize(
    None,
    primals,
    tangents,
    record=_bind_linear,
    **params,  # type: ignore[arg-type]
)
custom_vjp_call_p.batch = _custom_vjp_batch


custom_lin_p = Primitive("custom_lin", lambda *avals, out_avals, **_: out_avals)
custom_lin_p.multiple_results = True
custom_lin_p.hidden_params = frozenset(["info", "name", "out_avals"])


def no_forward_mode(name: str) -> TypeError:
    """The error for jvp of a function that has only a reverse rule."""
    return TypeError(
        f"can't apply forward-mode autodiff (jvp) to a custom_vjp function: {name} has only a reverse rule (defvjp). "
        "Use grad or vjp, or write the rule with custom_jvp, which serves both modes."
    )


def _custom_lin_impl(*args: Any, name: str, **_: Any) -> Any:
    raise no_forward_mode(name)


def _custom_lin_transpose(
    cts: list[Any], *args: Any, bwd: Any, info: Any, num_res: int, in_zeros: tuple[bool, ...], **_: Any
) -> list[Any]:
    results = bwd(info, args[:num_res], cts)
    kept = [None if type(r) is Zero else r for r, zero in zip(results, in_zeros) if not zero]
    return [*[None] * num_res, *[r if type(a) is UndefinedPrimal else None for r, a in zip(kept, args[num_res:])]]


def _custom_lin_jvp(primals: list[Any], tangents: list[Any], **params: Any) -> Any:
    raise no_forward_mode(params["name"])


custom_lin_p.impl = _custom_lin_impl
custom_lin_p.transpose = _custom_lin_transpose
custom_lin_p.jvp = _custom_lin_jvp
custom_lin_p.batch = lambda axis, args, dims, name, **_: _custom_lin_impl(name=name)
