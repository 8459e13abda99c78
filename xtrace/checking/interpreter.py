"""Checks made part of a program: a jaxpr is interpreted with an error value carried along.

A jaxpr inside another (a call, a branch, the body of a loop) is rewritten once, to return its error in front of its
results: `checked`. Loops carry the error from step to step. Jaxprs without checks stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xtrace.checking.errors import (
    DivisionByZeroError,
    Error,
    ErrorEffect,
    FailedCheckError,
    NaNError,
    OOBError,
    init_error,
)
from xtrace.core import dtypes, source
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, eval_jaxpr, subjaxprs
from xtrace.core.primitive import Primitive, as_array, shaped
from xtrace.core.trace import Tracer, current, use_trace
from xtrace.lax import checks, elementwise, gathers, joining, scatters, shapes, slicing
from xtrace.lax.control_flow import common, conditionals, loops, scans
from xtrace.transforms import custom
from xtrace.transforms.staging import closed_call_operands, trace_to_jaxpr
from xtrace.transforms.zeros import zero_tangent

Enabled = frozenset[type]
Result = tuple[Error, list[Any]]


class Checked(NamedTuple):
    """A jaxpr that returns its error: `jaxpr(*consts, *args) -> (*error leaves, *results)`."""

    jaxpr: Jaxpr
    consts: list[Any]
    effects: tuple[ErrorEffect, ...]
    metadata: dict[int, Any]

    def error(self, leaves: Sequence[Any]) -> tuple[Error, list[Any]]:
        """(error, results) of what the jaxpr returned."""
        n = sum([2 + len(e.shape_dtypes) for e in self.effects])
        return Error.of_leaves(self.effects, self.metadata, leaves[:n]), list(leaves[n:])

    def __call__(self, *args: Any) -> tuple[Error, list[Any]]:
        return self.error(eval_jaxpr(self.jaxpr, (), *self.consts, *args))


def run(jaxpr: Jaxpr, consts: Sequence[Any], enabled: Enabled, args: Sequence[Any]) -> Result:
    """The error and the results of a jaxpr, its operations bound under the current trace."""
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts))
    env.update(zip(jaxpr.invars, args))
    error = init_error
    outer = current.position
    try:
        for eqn in jaxpr.eqns:
            values = [v.operand if type(v) is Literal else env[v] for v in eqn.invars]
            if eqn.position is not None:
                current.position = eqn.position
            rule = _RULES.get(eqn.primitive, _default)
            error, outs = rule(error, enabled, eqn, values)
            env.update(zip(eqn.outvars, outs))
    finally:
        current.position = outer
    return error, [v.operand if type(v) is Literal else env[v] for v in jaxpr.outvars]


def checked(jaxpr: Jaxpr, enabled: Enabled) -> Checked:
    """The jaxpr that returns its error too. Kept with `jaxpr`."""
    key = ("checkify", enabled)
    found: Checked | None = jaxpr._memo.get(key)
    if found is None:
        found_in: list[Any] = []

        def fun(*args: Any) -> list[Any]:
            error, outs = run(jaxpr, (), enabled, args)
            found_in.append((error.effects, error._metadata))  # not its values, which are tracers
            return [*error.leaves(), *outs]

        with use_trace(None):
            closed, consts = closed_call_operands(trace_to_jaxpr(fun, jaxpr.in_avals, jaxpr.debug_info))
        found = Checked(closed, consts, *found_in[0])
        if not any([isinstance(c, Tracer) for c in consts]):
            jaxpr._memo[key] = found
    return found


def _where(eqn: JaxprEqn) -> str:
    return source.describe(eqn.position) if eqn.position is not None else ""


def _bind(eqn: JaxprEqn, values: Sequence[Any]) -> list[Any]:
    out = eqn.primitive.bind(*values, **eqn.params)
    return out if eqn.primitive.multiple_results else [out]


# -- operations ------------------------------------------------------------------------------------------------------

#: Operations that only move values about: a NaN in their results was one before.
_MOVES = frozenset(
    """broadcast_in_dim reshape transpose slice squeeze expand_dims rev concatenate select_n gather dynamic_slice
    dynamic_update_slice scatter convert_element_type reduce_precision copy copy_p stop_gradient optimization_barrier
    pad iota device_put sort split tile""".split()
)


def _default(error: Error, enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Result:
    if eqn.primitive.holds_jaxprs:
        return _call(error, enabled, eqn, values)
    return _with_nan_check(error, enabled, eqn, _bind(eqn, values))


def _with_nan_check(error: Error, enabled: Enabled, eqn: JaxprEqn, outs: list[Any]) -> Result:
    if NaNError in enabled and eqn.primitive.name not in _MOVES:
        for out in outs:
            if dtypes.is_inexact(shaped(out).dtype):
                error = error.add(checks.any_nan(out), NaNError(_where(eqn), eqn.primitive.name))
    return error, outs


def _divide(error: Error, enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Result:
    if DivisionByZeroError in enabled:
        error = error.add(checks.any_zero(values[1]), DivisionByZeroError(_where(eqn)))
    return _with_nan_check(error, enabled, eqn, _bind(eqn, values))


def _out_of_bounds(
    error: Error, eqn: JaxprEqn, operand: Any, indices: Any, axes: Sequence[int], windows: Sequence[int]
) -> Error:
    """Add a check that windows of these sizes along `axes`, at `indices` (..., len(axes)), lie within `operand`."""
    shape = shaped(operand).shape
    sizes = tuple([shape[a] for a in axes])
    upper = tuple([s - w for s, w in zip(sizes, windows)])
    found = checks.first_out_of_bounds(indices, upper, tuple(axes), sizes)
    if found is None:
        return error
    failed, payload = found
    return error.add(failed, OOBError(_where(eqn), eqn.primitive.name, shape, payload))


def _gather(error: Error, enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Result:
    if OOBError in enabled and eqn.params["mode"] is not gathers.GatherScatterMode.CLIP:
        axes = eqn.params["dimension_numbers"].start_index_map
        windows = [eqn.params["slice_sizes"][a] for a in axes]
        error = _out_of_bounds(error, eqn, values[0], values[1], axes, windows)
    return _with_nan_check(error, enabled, eqn, _bind(eqn, values))


def _scatter(error: Error, enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Result:
    if OOBError in enabled and eqn.params["mode"] is not gathers.GatherScatterMode.CLIP:
        numbers = eqn.params["dimension_numbers"]
        operand, indices, updates = values
        window = iter([shaped(updates).shape[d] for d in numbers.update_window_dims])
        single = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        windows = [1 if d in single else next(window) for d in range(shaped(operand).ndim)]
        axes = numbers.scatter_dims_to_operand_dims
        error = _out_of_bounds(error, eqn, operand, indices, axes, [windows[a] for a in axes])
    return _with_nan_check(error, enabled, eqn, _bind(eqn, values))


def _slice_starts(error: Error, eqn: JaxprEqn, operand: Any, starts: Sequence[Any], windows: Sequence[int]) -> Error:
    if not starts:
        return error
    rows = [shapes.reshape(shapes.convert(s, dtypes.as_dtype("int32"), False), (1,)) for s in starts]
    return _out_of_bounds(error, eqn, operand, joining.concatenate(rows, 0), range(len(starts)), windows)


def _dynamic_slice(error: Error, enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Result:
    if OOBError in enabled:
        error = _slice_starts(error, eqn, values[0], values[1:], eqn.params["slice_sizes"])
    return error, _bind(eqn, values)


def _dynamic_update_slice(error: Error, enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Result:
    if OOBError in enabled:
        error = _slice_starts(error, eqn, values[0], values[2:], shaped(values[1]).shape)
    return error, _bind(eqn, values)


def _check(error: Error, enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Result:
    if FailedCheckError in enabled:
        error = error.merge(eqn.params["error_tree"].unflatten(values))
    return error, []


# -- operations that hold jaxprs -------------------------------------------------------------------------------------


def _call(error: Error, enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Result:
    """Calls: operations with one jaxpr, which takes their operands and gives their results."""
    inner = [(name, p) for name, p in eqn.params.items() if isinstance(p, Jaxpr)]
    if len(inner) != 1 or not _takes(inner[0][1], values):
        if any([checked(j, enabled).effects for j in subjaxprs(eqn.params) if not j.constvars]):
            raise NotImplementedError(
                f"checkify has no rule for the operation {eqn.primitive.name} (at {_where(eqn)}), whose function has "
                "checks in it."
            )
        return _with_nan_check(error, enabled, eqn, _bind(eqn, values))
    name, jaxpr = inner[0]
    new = checked(jaxpr, enabled)
    if not new.effects:
        return error, _bind(eqn, values)
    outs = eqn.primitive.bind(*new.consts, *values, **{**eqn.params, name: new.jaxpr})
    inner_error, results = new.error(outs)
    return error.merge(inner_error), results


def _takes(jaxpr: Jaxpr, values: Sequence[Any]) -> bool:
    avals = [shaped(v) for v in values]
    return len(jaxpr.invars) == len(avals) and all(
        [a.shape == b.shape and a.dtype == b.dtype for a, b in zip(jaxpr.in_avals, avals)]
    )


def _union(*parts: Checked) -> tuple[tuple[ErrorEffect, ...], dict[int, Any]]:
    effects = tuple(dict.fromkeys([e for p in parts for e in p.effects]))
    return effects, {code: tree for p in parts for code, tree in p.metadata.items()}


def _n_leaves(effects: Sequence[ErrorEffect]) -> int:
    return sum([2 + len(e.shape_dtypes) for e in effects])


def _staged(fun: Callable[..., list[Any]], avals: Sequence[Any], like: Jaxpr) -> tuple[Jaxpr, list[Any]]:
    with use_trace(None):
        return closed_call_operands(trace_to_jaxpr(fun, avals, like.debug_info))


def _error_avals(effects: Sequence[ErrorEffect]) -> list[Any]:
    with use_trace(None):
        return [shaped(x) for x in init_error.filled(effects).leaves()]


def _cond(error: Error, enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Result:
    branches = [checked(b, enabled) for b in eqn.params["branches"]]
    effects, metadata = _union(*branches)
    if not effects:
        return error, _bind(eqn, values)
    n = _n_leaves(effects)
    bodies = []
    for branch, old in zip(branches, eqn.params["branches"]):

        def body(*args: Any, branch: Checked = branch) -> list[Any]:
            inner, outs = branch(*args)
            return [*inner.filled(effects).leaves(), *outs]

        jaxpr, consts = _staged(body, old.in_avals, old)
        bodies.append(common.Body(jaxpr, consts, None))
    jaxprs, consts = conditionals._with_common_types(bodies)
    outs = eqn.primitive.bind(values[0], *consts, *values[1:], branches=jaxprs)
    return error.merge(Error.of_leaves(effects, metadata, outs[:n])), list(outs[n:])


def _scan(error: Error, enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Result:
    params = eqn.params
    body = checked(params["jaxpr"], enabled)
    effects, metadata = body.effects, body.metadata
    if not effects:
        return error, _bind(eqn, values)
    n, n_consts = _n_leaves(effects), params["num_consts"]

    def step(*args: Any) -> list[Any]:
        before = Error.of_leaves(effects, {}, args[n_consts : n_consts + n])
        inner, outs = body(*args[:n_consts], *args[n_consts + n :])
        return [*before.merge(inner).leaves(), *outs]

    old = params["jaxpr"]
    avals = [*old.in_avals[:n_consts], *_error_avals(effects), *old.in_avals[n_consts:]]
    jaxpr, consts = _staged(step, avals, old)
    outs = eqn.primitive.bind(
        *consts,
        *values[:n_consts],
        *init_error.filled(effects).leaves(),
        *values[n_consts:],
        **{
            **params,
            "jaxpr": jaxpr,
            "num_consts": len(consts) + n_consts,
            "num_carry": params["num_carry"] + n,
        },
    )
    return error.merge(Error.of_leaves(effects, metadata, outs[:n])), list(outs[n:])


def _while(error: Error, enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Result:
    """The condition is computed in front and at the end of each step, where its error can be carried on."""
    params = eqn.params
    cond, body = checked(params["cond_jaxpr"], enabled), checked(params["body_jaxpr"], enabled)
    effects, metadata = _union(cond, body)
    if not effects:
        return error, _bind(eqn, values)
    n, n_cond, n_body = _n_leaves(effects), params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts, carry = values[:n_cond], values[n_cond : n_cond + n_body], values[n_cond + n_body :]
    first_error, (first,) = cond(*cond_consts, *carry)

    def step(*args: Any) -> list[Any]:
        of_cond, of_body, rest = args[:n_cond], args[n_cond : n_cond + n_body], args[n_cond + n_body :]
        total = Error.of_leaves(effects, {}, rest[:n])
        inner, new = body(*of_body, *rest[n + 1 :])
        after, (again,) = cond(*of_cond, *new)
        total = total.merge(inner).merge(after)
        return [*total.leaves(), again, *new]

    old = params["body_jaxpr"]
    carry_avals = [*_error_avals(effects), shaped(params["cond_jaxpr"].outvars[0]), *old.in_avals[n_body:]]
    avals = [*params["cond_jaxpr"].in_avals[:n_cond], *old.in_avals[:n_body], *carry_avals]
    jaxpr, consts = _staged(step, avals, old)
    test, _ = _staged(lambda *carry: [carry[n]], carry_avals, params["cond_jaxpr"])
    outs = eqn.primitive.bind(
        *consts,
        *cond_consts,
        *body_consts,
        *first_error.filled(effects).leaves(),
        first,
        *carry,
        cond_nconsts=0,
        cond_jaxpr=test,
        body_nconsts=len(consts) + n_cond + n_body,
        body_jaxpr=jaxpr,
    )
    return error.merge(Error.of_leaves(effects, metadata, outs[:n])), list(outs[n + 1 :])


# -- functions with derivative rules of their own: the rules run without checks --------------------------------------


class _Function:
    """The function of a custom call with its error in front of its results."""

    def __init__(self, body: Checked) -> None:
        self.body = body
        self.ran = False

    def __call__(self, *args: Any) -> list[Any]:
        self.ran = True
        error, outs = self.body(*args)
        return [*error.leaves(), *outs]

    def no_error(self) -> list[Any]:
        return init_error.filled(self.body.effects).leaves()

    def result(self, error: Error, outs: list[Any]) -> Result:
        """What the call gave: without slots where a rule ran in place of the function."""
        inner, results = self.body.error(outs)
        return (error.merge(inner) if self.ran else error), results


def _custom_jvp(error: Error, enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Result:
    params = eqn.params
    body = checked(params["call_jaxpr"], enabled)
    if not body.effects:
        return error, _bind(eqn, values)
    fun, lead = _Function(body), params["num_consts"]

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        custom._check_consts(tangents[:lead], "custom_jvp", params["name"])
        outs, out_tangents = params["jvp"]([as_array(p) for p in primals[lead:]], tangents[lead:])
        front = fun.no_error()
        return [*front, *outs], [*[zero_tangent(x) for x in front], *out_tangents]

    call = custom.CustomJVPCall(fun, params["name"], params["symbolic_zeros"])
    call.rule = rule
    return fun.result(error, call.bind(values))


def _custom_vjp(error: Error, enabled: Enabled, eqn: JaxprEqn, values: list[Any]) -> Result:
    params = eqn.params
    body = checked(params["call_jaxpr"], enabled)
    if not body.effects:
        return error, _bind(eqn, values)
    fun, lead = _Function(body), params["num_consts"]

    def fwd(primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any], Any]:
        if any(perturbed[:lead]):
            custom._check_consts([None], "custom_vjp", params["name"])
        outs, residuals, info = params["fwd"]([as_array(p) for p in primals[lead:]], tuple(perturbed[lead:]))
        return [*fun.no_error(), *outs], residuals, info

    def bwd(info: Any, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        front = len(fun.no_error())
        return [*[None] * lead, *params["bwd"](info, residuals, cotangents[front:])]

    call = custom.CustomVJPCall(fun, params["name"], params["symbolic_zeros"])
    call.fwd, call.bwd = fwd, bwd
    return fun.result(error, call.bind(values))


_RULES: dict[Primitive, Callable[[Error, Enabled, JaxprEqn, list[Any]], Result]] = {
    checks.check_p: _check,
    elementwise.div_p: _divide,
    gathers.gather_p: _gather,
    slicing.dynamic_slice_p: _dynamic_slice,
    slicing.dynamic_update_slice_p: _dynamic_update_slice,
    conditionals.cond_p: _cond,
    scans.scan_p: _scan,
    loops.while_p: _while,
    custom.custom_jvp_call_p: _custom_jvp,
    custom.custom_vjp_call_p: _custom_vjp,
}
_RULES.update(dict.fromkeys([p for p in vars(scatters).values() if isinstance(p, Primitive)], _scatter))
