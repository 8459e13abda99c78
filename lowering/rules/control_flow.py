"""Lowering of control flow: cond as stablehlo.case, loops as stablehlo.while."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace.core import dtypes, source
from xtrace.core.avals import ShapedArray
from xtrace.core.effects import ordered_effects
from xtrace.lax.control_flow import conditionals, loops, platforms, scans, solves
from xtrace.lowering.lower import Body, LoweringError
from xtrace.lowering.physical import physical
from xtrace.lowering.rules.elementwise import compare

_INDEX = ShapedArray((), np.dtype(np.int32))
_BOOL = ShapedArray((), dtypes.bool_)


class _Threaded:
    """The tokens of an equation's ordered effects, threaded through its regions in front of other values."""

    def __init__(self, ctx: Body, eqn: Any) -> None:
        self.effects = ordered_effects(eqn.effects) if eqn.effects else []
        self.n = len(self.effects)
        self.types = [ctx.mlir.token] * self.n

    def of(self, body: Body) -> list[Any]:
        return [body.tokens[e] for e in self.effects]

    def take(self, body: Body, values: Any) -> list[Any]:
        """Give the first values to `body` as its tokens; return the rest."""
        values = list(values)
        body.tokens.update(zip(self.effects, values))
        return values[self.n :]


def _cond(ctx: Body, eqn: Any, index: Any, *operands: Any) -> Any:
    branches = eqn.params["branches"]
    if "branches_platforms" in eqn.params:
        return _chosen_by_platform(ctx, eqn, lambda body, i: body.jaxpr(branches[i], operands))
    tokens = _Threaded(ctx, eqn)
    types = [*tokens.types, *[v.aval for v in eqn.outvars]]
    operation = ctx.ops("stablehlo.case", types, [index], regions=len(branches))
    for i, branch in enumerate(branches):
        body, _ = ctx.region(operation, i, [])
        outs = body.jaxpr(branch, operands)
        body.return_([*tokens.of(body), *outs])
    return tokens.take(ctx, operation.results)


def _chosen_by_platform(ctx: Body, eqn: Any, fill: Any) -> Any:
    """What `fill(body, i)` appends for the branch i of a platform_dependent that is for the target."""
    names = eqn.params["branches_platforms" if "branches_platforms" in eqn.params else "platforms"]
    chosen = [platforms.branch_for(p, names) for p in ctx.platforms]
    if None in chosen:
        missing = [p for p, i in zip(ctx.platforms, chosen) if i is None]
        listed = ", ".join(n for branch in names for n in branch or ())
        raise LoweringError(
            f"platform_dependent has no branch for {' and '.join(missing)}: it has branches for {listed}, and no "
            f"default. It is used at {source.describe(eqn.position)}."
        )
    if len(set(chosen)) == 1:
        return fill(ctx, chosen[0])
    return ctx.by_platform([v.aval for v in eqn.outvars], lambda body, i: fill(body, chosen[i]))


def _platform_index(ctx: Body, eqn: Any) -> Any:
    return _chosen_by_platform(ctx, eqn, lambda body, i: [body.constant(i, _INDEX)])[0]


def _while(ctx: Body, eqn: Any, *operands: Any) -> Any:
    params = eqn.params
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts = operands[:n_cond], operands[n_cond : n_cond + n_body]
    init = operands[n_cond + n_body :]
    tokens = _Threaded(ctx, eqn)
    # A condition can't return tokens. One with ordered effects is evaluated in front of the loop and at the end of its
    # body, and its value is carried.
    ahead = bool(ordered_effects(params["cond_jaxpr"].effects)) if tokens.n else False
    if ahead:
        init = (*ctx.jaxpr(params["cond_jaxpr"], [*cond_consts, *init]), *init)
    state = [*tokens.of(ctx), *init]
    types = [x.type for x in state]
    operation = ctx.ops("stablehlo.while", types, state, regions=2)
    cond, values = ctx.region(operation, 0, types)
    carry = tokens.take(cond, values)
    cond.return_(carry[:1] if ahead else cond.jaxpr(params["cond_jaxpr"], [*cond_consts, *carry]))
    body, values = ctx.region(operation, 1, types)
    carry = tokens.take(body, values)
    outs = body.jaxpr(params["body_jaxpr"], [*body_consts, *carry[ahead:]])
    if ahead:
        outs = [*body.jaxpr(params["cond_jaxpr"], [*cond_consts, *outs]), *outs]
    body.return_([*tokens.of(body), *outs])
    return tokens.take(ctx, operation.results)[ahead:]


def _scan(ctx: Body, eqn: Any, *operands: Any) -> Any:
    params = eqn.params
    jaxpr, length, reverse = params["jaxpr"], params["length"], params["reverse"]
    n_consts, n_carry = params["num_consts"], params["num_carry"]
    consts, xs = operands[:n_consts], operands[n_consts + n_carry :]
    carry = list(operands[n_consts : n_consts + n_carry])
    x_avals = [v.aval for v in eqn.invars[n_consts + n_carry :]]
    y_avals = [v.aval for v in eqn.outvars[n_carry:]]
    carry_avals = [v.aval for v in eqn.outvars[:n_carry]]
    ys = [ctx.full_like(False if dtypes.is_bool(a.dtype) else 0, physical(a)) for a in y_avals]
    if length == 0:
        return [*carry, *ys]
    unroll = min(params["unroll"], length)

    def step(body: Body, i: Any, carry: Any, ys: Any) -> tuple[list[Any], list[Any]]:
        """One step at index `i`, a value."""
        if reverse:
            i = body.op("stablehlo.subtract", _INDEX, [body.constant(length - 1, _INDEX), i])
        slices = [_read(body, x, a, i) for x, a in zip(xs, x_avals)]
        outs = body.jaxpr(jaxpr, [*consts, *carry, *slices])
        new = [
            _write(body, y, a, out, v.aval, i)
            for y, a, out, v in zip(ys, y_avals, outs[n_carry:], jaxpr.outvars[n_carry:])
        ]
        return outs[:n_carry], new

    def steps(body: Body, i: Any, n: int, carry: Any, ys: Any) -> tuple[list[Any], list[Any]]:
        for k in range(n):
            at = i if k == 0 else body.op("stablehlo.add", _INDEX, [i, body.constant(k, _INDEX)])
            carry, ys = step(body, at, carry, ys)
        return carry, ys

    rounds, rest = divmod(length, unroll)
    if rounds == 1:  # one trip: no loop
        carry, ys = steps(ctx, ctx.constant(0, _INDEX), unroll, carry, ys)
    else:
        tokens = _Threaded(ctx, eqn)
        state = [*tokens.of(ctx), ctx.constant(0, _INDEX), *carry, *ys]
        operation = ctx.ops("stablehlo.while", [*tokens.types, _INDEX, *carry_avals, *y_avals], state, regions=2)
        types = [x.type for x in operation.results]
        cond, values = ctx.region(operation, 0, types)
        i = values[tokens.n]
        cond.return_([compare(cond, "LT", i, cond.constant(rounds * unroll, _INDEX), _INDEX, _BOOL)])
        body, arguments = ctx.region(operation, 1, types)
        i, *values = tokens.take(body, arguments)
        carry, ys = steps(body, i, unroll, values[:n_carry], values[n_carry:])
        next_i = body.op("stablehlo.add", _INDEX, [i, body.constant(unroll, _INDEX)])
        body.return_([*tokens.of(body), next_i, *carry, *ys])
        _, *values = tokens.take(ctx, operation.results)
        carry, ys = values[:n_carry], values[n_carry:]
    if rest:
        carry, ys = steps(ctx, ctx.constant(rounds * unroll, _INDEX), rest, carry, ys)
    return [*carry, *ys]


def _linear_solve(ctx: Body, eqn: Any, *operands: Any) -> Any:
    lengths = eqn.params["const_lengths"]
    start = lengths.matvec + lengths.vecmat
    rest = operands[start + lengths.solve + lengths.transpose_solve :]
    return ctx.jaxpr(eqn.params["jaxprs"].solve, [*operands[start : start + lengths.solve], *rest])


def _physical(aval: Any) -> tuple[int, ...]:
    """The shape of what an array is stored as."""
    dtype = aval.dtype
    return (*aval.shape, *dtype.physical_shape) if isinstance(dtype, dtypes.ExtendedDtype) else aval.shape


def _read(ctx: Body, x: Any, aval: ShapedArray, i: Any) -> Any:
    """Element `i` along axis 0."""
    shape = _physical(aval)
    zero = ctx.constant(0, _INDEX)
    sizes = {"slice_sizes": ctx.mlir.i64_array((1, *shape[1:]))}
    row = ctx.op(
        "stablehlo.dynamic_slice", aval.update(shape=(1, *aval.shape[1:])), [x, i, *[zero] * (len(shape) - 1)], sizes
    )
    return ctx.op("stablehlo.reshape", aval.update(shape=aval.shape[1:]), [row])


def _write(ctx: Body, ys: Any, aval: ShapedArray, y: Any, y_aval: ShapedArray, i: Any) -> Any:
    """`ys` with element `i` along axis 0 replaced."""
    zero = ctx.constant(0, _INDEX)
    row = ctx.op("stablehlo.reshape", y_aval.update(shape=(1, *y_aval.shape)), [y])
    return ctx.op("stablehlo.dynamic_update_slice", aval, [ys, row, i, *[zero] * (len(_physical(aval)) - 1)])


conditionals.cond_p.lower = _cond
loops.while_p.lower = _while
platforms.platform_index_p.lower = _platform_index
scans.scan_p.lower = _scan
solves.linear_solve_p.lower = _linear_solve
