"""while_loop and fori_loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.core import config, dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, Var, eval_jaxpr
from xtrace.core.primitive import Primitive, scalar_of, shaped
from xtrace.core.trace import Tracer, use_trace
from xtrace.lax import comparisons, elementwise, reductions, selection, shapes
from xtrace.lax.control_flow import common, scans
from xtrace.transforms import refs
from xtrace.transforms.batching import MappedAxis, batch_jaxpr, move_axis
from xtrace.transforms.jvp import jvp_jaxpr
from xtrace.transforms.linearize import Tape, split_linear_jaxpr
from xtrace.transforms.staging import Transformed, closed_call_operands, memo_transformed, trace_to_jaxpr
from xtrace.transforms.zeros import Zero, instantiate, zero_tangent

# -- the functions ---------------------------------------------------------------------------------------------------


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Run `body_fun` on its own result as long as `cond_fun` holds of it.

    Args:
      cond_fun: takes the carry, returns a boolean scalar.
      body_fun: takes the carry, returns the next one, of the same structure and types.
      init_val: the first carry, an array or a pytree of arrays.

    Returns:
      The first carry of which `cond_fun` does not hold. The loop has a forward derivative, but no reverse one.

    Raises:
      TypeError: the functions' results don't fit.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.while_loop(lambda x: x < 100, lambda x: x * 2, 3)
      Array(192, dtype=int32, weak_type=True)
    """
    statics.check_callable("lax.while_loop: cond_fun", cond_fun)
    statics.check_callable("lax.while_loop: body_fun", body_fun)
    return _while("while_loop", cond_fun, cond_fun, body_fun, body_fun, init_val, None, 0)


def _while(
    what: str, cond_owner: Any, cond_fun: Any, body_owner: Any, body_fun: Any, init_val: Any, key: Any, argument: int
) -> Any:
    leaves, tree = common.checked_leaves(f"{what}: init_val", init_val)
    common.refuse_refs(what, leaves)
    if config.disable_jit.value and not any([isinstance(x, Tracer) for x in leaves]):
        value = init_val
        while bool(cond_fun(value)):
            value = body_fun(value)
        return value
    in_tree = common.flatten((init_val,))[1]
    avals = [shaped(x) for x in leaves]
    while True:  # weakly typed carries take the types that the body returns, until that changes nothing
        body = common.stage(body_owner, what, body_fun, in_tree, tuple(avals), common.carry_finish(0, avals), key)
        wider = common.widened_carry(avals, body.out_avals) if body.out_tree == tree else None
        if wider is None:
            break
        avals = wider
    common.check_carry(what, body_owner, argument, tree, avals, body.out_tree, body.out_avals, body.jaxpr)
    cond = common.stage(cond_owner, f"{what} cond_fun", cond_fun, in_tree, tuple(avals), None, key)
    if cond.out_tree.num_nodes != 1 or len(cond.out_avals) != 1:
        raise TypeError(f"cond_fun must return a boolean scalar, but got pytree {cond.out_tree}.")
    (out,) = cond.out_avals
    if out.shape or not dtypes.is_bool(out.dtype):
        raise TypeError(
            f"cond_fun must return a boolean scalar, but got output type {out.str_short(False)}. Compare it with "
            f"something, "
            "or reduce it with .any() or .all()."
        )
    body_jaxpr, body_consts, written = common.loop_body(body)
    cond_jaxpr, cond_consts = _reading_carried(what, cond, written)
    outs = while_p.bind(
        *cond_consts,
        *body_consts,
        *refs.resolved(written),
        *[common.cast(x, a) for x, a in zip(leaves, avals)],
        cond_nconsts=len(cond_consts),
        cond_jaxpr=cond_jaxpr,
        body_nconsts=len(body_consts),
        body_jaxpr=body_jaxpr,
    )
    if written:
        refs.write_back(written, outs)
        outs = outs[len(written) :]
    return tree.unflatten(outs)


def _reading_carried(what: str, cond: common.Body, written: list[Any]) -> tuple[Jaxpr, list[Any]]:
    """The condition of a loop whose body writes references, carried in front; and what else it closes over."""
    if cond.written:
        raise ValueError(
            f"{what} cond_fun writes to a mutable array reference of type {cond.consts[cond.written[0]].ref.aval}, but "
            "a condition can only read. Write to it in body_fun."
        )
    if not written:
        return cond.jaxpr, refs.resolved(cond.consts) if cond.captures else cond.consts
    n = len(cond.consts)
    place = {id(c): i for i, c in enumerate(cond.consts)}
    carried = [cond.jaxpr.invars[place[id(c)]] if id(c) in place else Var(c.aval) for c in written]
    kept = [i for i, c in enumerate(cond.consts) if not any([c is w for w in written])]
    invars = [*[cond.jaxpr.invars[i] for i in kept], *carried, *cond.jaxpr.invars[n:]]
    return common.rearranged(cond.jaxpr, invars, cond.jaxpr.outvars), refs.resolved([cond.consts[i] for i in kept])


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """Run `body_fun(i, carry)` for i from `lower` up to `upper`, exclusive.

    Args:
      lower, upper: integers. If both are Python or concrete numbers the loop has a reverse derivative (it is a scan).
      body_fun: takes the index and the carry, returns the next carry, of the same structure and types.
      init_val: the first carry, an array or a pytree of arrays.
      unroll: how many steps the compiled loop does at a time; needs bounds that are known.

    Returns:
      The last carry.

    Raises:
      TypeError: bounds are not integers of one type, or the body's result doesn't fit.
      ValueError: `unroll` with bounds that are traced.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.fori_loop(0, 5, lambda i, total: total + i, 0)
      Array(10, dtype=int32, weak_type=True)
    """
    statics.check_callable("lax.fori_loop: body_fun", body_fun)
    low, high = shaped(lower), shaped(upper)
    for name, aval in (("lower", low), ("upper", high)):
        if dtypes.kind(aval.dtype) not in "iuf":
            raise TypeError(
                f"lower and upper arguments to fori_loop must be numbers to count with, but {name} is of "
                f"type {aval.dtype}."
            )
        if aval.shape:
            raise TypeError(
                f"lower and upper arguments to fori_loop must be scalars, but {name} has shape {aval.shape}."
            )
    index_aval = low
    if low.dtype != high.dtype:
        dtype, _ = dtypes.promote(((low.dtype, low.weak_type), (high.dtype, high.weak_type)))
        weak = low.weak_type or high.weak_type
        if not weak or len({dtypes.kind(low.dtype), dtypes.kind(high.dtype)}) > 1:
            raise TypeError(
                f"lower and upper arguments to fori_loop must have equal types, got {low.dtype} and {high.dtype}."
            )
        index_aval = ShapedArray((), dtype, low.weak_type and high.weak_type)
    bounds = [_known(lower), _known(upper)]
    if None not in bounds:
        if config.disable_jit.value:
            for i in range(bounds[0], bounds[1]):
                init_val = body_fun(i, init_val)
            return init_val
        length = max(bounds[1] - bounds[0], 0)

        def step(carry: tuple[Any, Any], _: Any) -> Any:
            i, value = carry
            return (_next(i), body_fun(i, value)), None

        init = (bounds[0], init_val)  # the index counts as a Python number does
        (_, out), _ = scans.run_scan(
            "fori_loop", body_fun, step, init, None, length, False, unroll if unroll is not None else 1, False, 1
        )
        return out
    if unroll is not None and unroll is not False and unroll != 1:
        raise ValueError(
            "Can only use `unroll` in `fori_loop` if the loop bounds are statically known: they are traced here. Mark "
            "them as "
            "static (static_argnames of jit), or leave unroll out."
        )

    def body(carry: tuple[Any, Any, Any]) -> Any:
        i, end, value = carry
        return _next(i), end, body_fun(i, value)

    init_carry = (common.cast(lower, index_aval), common.cast(upper, index_aval), init_val)
    return _while("fori_loop", body_fun, _not_done, body_fun, body, init_carry, "dynamic", 1)[2]


def _known(x: Any) -> int | None:
    """The value of a bound, if it has one now."""
    if isinstance(x, Tracer):
        concrete = x.to_concrete_value()
        return None if concrete is None else int(concrete)
    return int(x)


def _next(i: Any) -> Any:
    return elementwise.add(i, scalar_of(1, shaped(i)))


def _not_done(carry: tuple[Any, Any, Any]) -> Any:
    return comparisons.lt(carry[0], carry[1])


# -- the primitive: operands are what cond closes over, what body closes over, the carry -----------------------------


def _while_avals(*avals: ShapedArray, body_jaxpr: Jaxpr, **_: Any) -> list[ShapedArray]:
    return body_jaxpr.out_avals


while_p = Primitive("while", _while_avals)
while_p.multiple_results = True
while_p.holds_jaxprs = True
while_p.effects = lambda avals, params: params["body_jaxpr"].effects | params["cond_jaxpr"].effects


def _parts(operands: Any, cond_nconsts: int, body_nconsts: int) -> tuple[Any, Any, Any]:
    """(closed over by cond, closed over by body, carry)."""
    n = cond_nconsts + body_nconsts
    return operands[:cond_nconsts], operands[cond_nconsts:n], operands[n:]


def _while_jvp(
    primals: list[Any],
    tangents: list[Any],
    *,
    cond_nconsts: int,
    cond_jaxpr: Jaxpr,
    body_nconsts: int,
    body_jaxpr: Jaxpr,
) -> Any:
    args, nonzeros, params = _derivative(primals, tangents, cond_nconsts, cond_jaxpr, body_nconsts, body_jaxpr)
    n = len(body_jaxpr.outvars)
    results = while_p.bind(*args, **params)
    outs, rest = results[:n], iter(results[n:])
    return outs, [next(rest) if nz else zero_tangent(o) for o, nz in zip(outs, nonzeros)]


def _derivative(
    primals: list[Any], tangents: list[Any], cond_nconsts: int, cond_jaxpr: Jaxpr, body_nconsts: int, body_jaxpr: Jaxpr
) -> tuple[list[Any], tuple[bool, ...], dict[str, Any]]:
    """The operands and parameters of the loop that carries tangents too; which carries have one."""
    cond_consts, body_consts, carry = _parts(primals, cond_nconsts, body_nconsts)
    _, const_tangents, carry_tangents = _parts(tangents, cond_nconsts, body_nconsts)
    n = len(carry)
    flags = [type(t) is not Zero for t in (*const_tangents, *carry_tangents)]
    nonzeros = scans.grown(flags, body_nconsts, n, lambda f: jvp_jaxpr(body_jaxpr, f).outs)
    wanted = nonzeros[body_nconsts:]
    derivative, consts, _ = jvp_jaxpr(body_jaxpr, nonzeros, wanted)
    lead = len(consts) + body_nconsts
    n_const_tangents = sum(nonzeros[:body_nconsts])

    def arrange() -> tuple[Jaxpr, Jaxpr]:
        v = derivative.invars
        invars = [
            *v[:lead],
            *v[lead + n : lead + n + n_const_tangents],
            *v[lead : lead + n],
            *v[lead + n + n_const_tangents :],
        ]
        tangent_vars = [_var(v) for v, w in zip(body_jaxpr.outvars, wanted) if w]
        return (
            common.rearranged(derivative, invars, derivative.outvars),
            common.rearranged(cond_jaxpr, [*cond_jaxpr.invars, *tangent_vars], cond_jaxpr.outvars),
        )

    body, cond = derivative.memo(("while", cond_jaxpr), arrange)
    args = [
        *cond_consts,
        *consts,
        *body_consts,
        *[t for t in const_tangents if type(t) is not Zero],
        *carry,
        *[instantiate(t) for t, w in zip(carry_tangents, wanted) if w],
    ]
    params = dict(cond_nconsts=cond_nconsts, cond_jaxpr=cond, body_nconsts=lead + n_const_tangents, body_jaxpr=body)
    return args, wanted, params


def _var(v: Any) -> Any:
    from xtrace.core.jaxpr import Var

    return Var(v.aval.tangent())


def _while_linearize(tape: Tape, primals: list[Any], tangents: list[Any], **params: Any) -> Any:
    outs = while_p.bind(*primals, **params)
    args, nonzeros, derivative = _derivative(primals, tangents, **params)
    if not any(nonzeros):
        return outs, [zero_tangent(o) for o in outs]
    # The linear half is the whole loop again: how often it runs, and so what it would have to keep, is unknown.
    rest = iter(tape.record(while_p, tuple(args), derivative)[len(outs) :])
    return outs, [next(rest) if nz else zero_tangent(o) for o, nz in zip(outs, nonzeros)]


def _while_on_tape(
    tape: Tape, args: tuple[Any, ...], *, cond_nconsts: int, cond_jaxpr: Jaxpr, body_nconsts: int, body_jaxpr: Jaxpr
) -> list[Any]:
    params = dict(cond_nconsts=cond_nconsts, cond_jaxpr=cond_jaxpr, body_nconsts=body_nconsts, body_jaxpr=body_jaxpr)
    cond_consts, body_consts, carry = _parts(args, cond_nconsts, body_nconsts)
    n = len(carry)
    flags = [tape.owns(x) for x in (*body_consts, *carry)]
    linear = scans.grown(flags, body_nconsts, n, lambda f: split_linear_jaxpr(body_jaxpr, f).out_nonzeros)
    outs = tape.record(while_p, args, params)
    kept = [not lin for lin in linear[body_nconsts:]]
    if not any(kept):
        return outs
    # What does not depend on linear values is computed by a loop of its own.
    split = split_linear_jaxpr(body_jaxpr, linear)
    body = common.rearranged(split.primal, split.primal.invars, split.primal.outvars[: sum(kept)])
    cond_vars = [*cond_jaxpr.invars[:cond_nconsts], *[v for v, k in zip(cond_jaxpr.invars[cond_nconsts:], kept) if k]]
    known_consts = [x for x, lin in zip(body_consts, linear) if not lin]
    with use_trace(tape.parent):
        known = while_p.bind(
            *cond_consts,
            *split.consts,
            *known_consts,
            *[x for x, k in zip(carry, kept) if k],
            cond_nconsts=cond_nconsts,
            cond_jaxpr=common.rearranged(cond_jaxpr, cond_vars, cond_jaxpr.outvars),
            body_nconsts=len(split.consts) + len(known_consts),
            body_jaxpr=body,
        )
    it = iter(known)
    return [next(it) if k else o for k, o in zip(kept, outs)]


def _while_transpose(cts: list[Any], *args: Any, **_: Any) -> list[Any]:
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop "
        "values: how "
        "many intermediate values it would have to keep is not known. Use lax.scan, or fori_loop with start and stop "
        "values "
        "that are Python numbers; forward mode (jvp, jacfwd) works."
    )


def _while_batch(
    axis: MappedAxis,
    args: list[Any],
    dims: list[int | None],
    *,
    cond_nconsts: int,
    cond_jaxpr: Jaxpr,
    body_nconsts: int,
    body_jaxpr: Jaxpr,
) -> Any:
    cond_consts, body_consts, carry = _parts(args, cond_nconsts, body_nconsts)
    cond_dims, body_dims, carry_dims = _parts(tuple(dims), cond_nconsts, body_nconsts)
    n = len(carry)
    mapped = [d is not None for d in carry_dims]
    while True:
        at_zero = tuple([0 if m else None for m in mapped])
        out = batch_jaxpr(body_jaxpr, axis, (*body_dims, *at_zero), tuple(mapped)).outs
        grown = [m or d is not None for m, d in zip(mapped, out)]
        pred_mapped = batch_jaxpr(cond_jaxpr, axis, (*cond_dims, *at_zero)).outs[0] is not None
        if pred_mapped:
            grown = [True] * n
        if grown == mapped:
            break
        mapped = grown
    carry = [move_axis(x, d, 0, axis.size) if m else x for x, d, m in zip(carry, carry_dims, mapped)]
    out_dims = [0 if m else None for m in mapped]
    body, body_extra, _ = batch_jaxpr(body_jaxpr, axis, (*body_dims, *at_zero), tuple(mapped))
    cond, cond_extra, _ = batch_jaxpr(cond_jaxpr, axis, (*cond_dims, *at_zero), (pred_mapped,))
    body_consts, cond_consts = [*body_extra, *body_consts], [*cond_extra, *cond_consts]
    if not pred_mapped:
        outs = while_p.bind(
            *cond_consts,
            *body_consts,
            *carry,
            cond_nconsts=len(cond_consts),
            cond_jaxpr=cond,
            body_nconsts=len(body_consts),
            body_jaxpr=body,
        )
        return outs, out_dims
    if any([getattr(e, "forbids_masking", False) for e in (*body_jaxpr.effects, *cond_jaxpr.effects)]):
        raise ValueError(
            "checkify-of-vmap-of-while is not supported: the elements of a while_loop under vmap end at different "
            "times, and its checks would go on for those that have ended. Put checkify inside of vmap: "
            "vmap(checkify.checkify(f))."
        )
    common.refuse_io("while_loop with batched predicate", (cond_jaxpr, body_jaxpr))
    # Elements end at different times: the loop runs until the last has ended, and those that have keep their values.
    # The condition's value is carried along, so that it is computed once a step.
    first = eval_jaxpr(cond, (), *cond_consts, *carry)
    n_cond, n_body = len(cond_consts), len(body_consts)
    step = memo_transformed(body, ("while batch", cond, n_cond, axis.size), _masked_body, cond, n_cond, axis.size)
    any_left = body.memo(("while any", axis.size), lambda: _any_left(axis.size, [v.aval for v in body.outvars]))
    outs = while_p.bind(
        *cond_consts,
        *body_consts,
        *first,
        *carry,
        cond_nconsts=0,
        cond_jaxpr=any_left,
        body_nconsts=n_cond + n_body,
        body_jaxpr=step.jaxpr,
    )
    return outs[1:], out_dims


def _masked_body(body: Jaxpr, cond: Jaxpr, n_cond: int, size: int) -> Transformed:
    n = len(body.outvars)
    n_body = len(body.invars) - n

    def step(*args: Any) -> list[Any]:
        cond_consts, body_consts = args[:n_cond], args[n_cond : n_cond + n_body]
        running, *carry = args[n_cond + n_body :]
        new = eval_jaxpr(body, (), *body_consts, *carry)
        kept = [
            selection.select_n(_rows(running, new_x), old, common.cast(new_x, shaped(old)))
            for old, new_x in zip(carry, new)
        ]
        return [*eval_jaxpr(cond, (), *cond_consts, *kept), *kept]

    pred = ShapedArray((size,), dtypes.bool_)
    avals = [*[v.aval for v in cond.invars[:n_cond]], *[v.aval for v in body.invars[:n_body]], pred]
    with use_trace(None):
        closed, consts = closed_call_operands(trace_to_jaxpr(step, [*avals, *body.in_avals[n_body:]], body.debug_info))
    return Transformed(closed, consts, [])


def _any_left(size: int, avals: list[ShapedArray]) -> Jaxpr:
    with use_trace(None):
        pred = ShapedArray((size,), dtypes.bool_)
        return trace_to_jaxpr(lambda running, *_: [reductions.reduce_or(running, (0,))], [pred, *avals])


def _rows(which: Any, like: Any) -> Any:
    shape = shaped(like).shape
    return shapes.broadcast_in_dim(which, shape, (0,)) if len(shape) > 1 else which


while_p.jvp = _while_jvp
while_p.linearize = _while_linearize
while_p.on_tape = _while_on_tape
while_p.transpose = _while_transpose
while_p.batch = _while_batch

__all__ = ["fori_loop", "while_loop", "while_p"]
