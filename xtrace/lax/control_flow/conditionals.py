"""cond and switch: one of several branches runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from xtrace.core import config, dtypes, functions, signature, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.effects import NamedAxisEffect
from xtrace.core.jaxpr import Jaxpr, Literal, Var, used_inputs
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.trace import Tracer, current, use_trace
from xtrace.lax import comparisons, identities, selection, shapes
from xtrace.lax.control_flow import common
from xtrace.transforms import logs, refs
from xtrace.transforms.batching import MappedAxis, batch_jaxpr, move_axis
from xtrace.transforms.jvp import jvp_jaxpr
from xtrace.transforms.linearize import (
    LinearizedJaxpr,
    Tape,
    is_linear_as_it_is,
    linearize_jaxpr,
    split_linear_jaxpr,
    transpose_jaxpr,
)
from xtrace.transforms.staging import Transformed
from xtrace.transforms.zeros import UndefinedPrimal, Zero, zero_tangent

_INDEX = ShapedArray((), dtypes.as_dtype("int32"))

# -- the functions ---------------------------------------------------------------------------------------------------


def cond(pred: Any, true_fun: Any, false_fun: Any, *operands: Any, operand: Any = ..., linear: Any = None) -> Any:
    """Run one of two functions, as a condition on array values says.

    Args:
      pred: a scalar; numbers count as true unless they are 0.
      true_fun, false_fun: functions of `operands` that return the same structure of arrays of the same types.
      operands: arrays or pytrees that the functions take. What they close over needs no mention.
      operand: one operand by keyword; `linear` is accepted and ignored.

    Returns:
      What the function that ran returned. Under vmap with a mapped `pred` both run, and results are selected.

    Raises:
      TypeError: `pred` is not a scalar, or the functions' results differ in structure or type.

    Example:
      >>> import xtrace as xt
      >>> xt.jit(lambda x: xt.lax.cond(x > 0, lambda x: 2 * x, lambda x: -x, x))(-3)
      Array(3, dtype=int32, weak_type=True)
    """
    if not (callable(true_fun) and callable(false_fun)):
        if callable(false_fun) and len(operands) == 2 and callable(operands[1]):
            # The older form: cond(pred, true_operand, true_fun, false_operand, false_fun)
            true_operand, false_operand, other = true_fun, *operands
            return cond(pred, lambda x, y: false_fun(x), lambda x, y: other(y), true_operand, false_operand)
        raise TypeError(
            f"lax.cond: true_fun and false_fun arguments should be callable, got {true_fun!r} and {false_fun!r}."
        )
    if operand is not ...:
        if operands:
            raise TypeError("cond takes operands by position or one operand by keyword, not both.")
        operands = (operand,)
    index = _predicate(pred)
    if config.disable_jit.value and not isinstance(index, Tracer):
        return (true_fun if bool(index) else false_fun)(*operands)
    if getattr(index, "aval", None) is None:
        index = int(index)
    index = shapes.convert(index, _INDEX.dtype, False)
    return conditional(
        "cond", index, ("false_fun", "true_fun"), (false_fun, true_fun), operands, reported=("true_fun", "false_fun")
    )


def _predicate(pred: Any) -> Any:
    """`pred` as a boolean scalar."""
    try:
        aval = shaped(pred)
    except TypeError:
        raise TypeError(f"Pred must be a scalar, got {pred!r} of type {type(pred)} as the predicate of cond") from None
    if aval.shape:
        raise TypeError(
            f"Pred must be a scalar, got {pred} of shape {aval.shape}. Reduce it with .any() or .all(), select "
            f"elementwise "
            "with numpy.where, or map cond over it with vmap."
        )
    kind = dtypes.kind(aval.dtype)
    if kind not in "biuf":
        raise TypeError(f"Pred type must be either boolean or number, got {aval.dtype}.")
    if kind == "b":
        return pred
    if getattr(pred, "aval", None) is None:
        return bool(pred)
    return comparisons.ne(pred, shapes.convert(0, aval.dtype, False))


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = ...) -> Any:
    """Run one of several functions, chosen by a number.

    Args:
      index: an integer scalar; values outside the range take the nearest branch.
      branches: functions of `operands` that return the same structure of arrays of the same types.
      operands: arrays or pytrees that the functions take.
      operand: a single operand, by keyword: the form of older versions.

    Returns:
      What the function that ran returned. Under vmap with a mapped `index` all run, and results are selected.

    Raises:
      TypeError: `index` is not an integer scalar, or the functions' results differ in structure or type.
      ValueError: there are no branches.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.switch(1, [lambda x: x, lambda x: 10 * x], 3)
      Array(30, dtype=int32, weak_type=True)
    """
    branches = statics.parts(branches, "branches", "a sequence of functions")
    for i, branch in enumerate(branches):
        statics.check_callable(f"lax.switch: branch {i}", branch)
    if operand is not ...:
        if operands:
            raise TypeError("switch takes operands by position or one operand by keyword, not both.")
        operands = (operand,)
    if not branches:
        raise ValueError("Empty branch sequence: switch needs at least one function.")
    aval = shaped(index)
    if aval.shape:
        raise TypeError(
            f"Branch index must be scalar, got {index} of shape {aval.shape}; map switch over it with vmap."
        )
    if dtypes.kind(aval.dtype) not in "iu":
        raise TypeError(f"Index type must be an integer, got {index} as {aval.dtype}")
    if len(branches) == 1:
        return branches[0](*operands)
    last = len(branches) - 1
    if config.disable_jit.value and not isinstance(index, Tracer):
        return branches[min(max(int(index), 0), last)](*operands)
    if getattr(index, "aval", None) is None:
        index = min(max(int(index), 0), last)
    index = shapes.convert(index, _INDEX.dtype, False)
    bounds = [shapes.convert(i, _INDEX.dtype, False) for i in (0, last)]
    index = selection.clamp(bounds[0], index, bounds[1])
    names = [f"branch {i}" for i in range(len(branches))]
    return conditional("switch", index, names, branches, operands, reported=names)


def conditional(
    what: str,
    index: Any,
    names: Sequence[str],
    funs: Sequence[Any],
    operands: tuple[Any, ...],
    reported: Sequence[str],
    **params: Any,
) -> Any:
    """Bind cond_p to user functions; messages speak of `what`, and of the functions as `names` in the order `reported`.

    index: int32, in bounds. params: of the primitive.
    """
    flat = common.flatten(operands)[0]
    if refs.has_refs(flat):
        for f in funs:
            name = functions.fun_name(f)
            refs.check_distinct(flat, functools.partial(signature.leaf_names, f, operands, {}), name, what)
        funs, operands = [common.without_refs(f, operands)[0] for f in funs], common.without_refs(len, operands)[1]
    leaves, tree = common.checked_leaves(f"an operand of {what}: operands", operands)
    avals = tuple([shaped(x) for x in leaves])
    bodies = [common.stage(f, what, f, tree, avals) for f in funs]
    order = [list(names).index(n) for n in reported]
    common.check_branches(what, reported, [funs[i] for i in order], [bodies[i] for i in order])
    written: list[Any] = []
    out_tree = bodies[0].out_tree
    captures = any([b.captures for b in bodies])
    if captures:
        bodies, written = _with_common_writes(bodies)
    branches, consts = _with_common_types(bodies)
    if captures:
        consts = refs.resolved(consts)
    outs = cond_p.bind(index, *consts, *leaves, branches=branches, **params)
    return out_tree.unflatten(refs.call_results(written, outs))


def _with_common_writes(bodies: Sequence[common.Body]) -> tuple[list[common.Body], list[Any]]:
    """Branches that all return last values of the references that any of them writes; and these references."""
    written: list[Any] = []
    for body in bodies:
        written += [body.consts[i] for i in body.written if not any([body.consts[i] is w for w in written])]
    made = []
    for body in bodies:
        jaxpr, consts = body.jaxpr, list(body.consts)
        invars, outvars = list(jaxpr.invars), list(jaxpr.outvars)
        last = dict(zip([id(consts[i]) for i in body.written], outvars[len(outvars) - len(body.written) :]))
        outvars = outvars[: len(outvars) - len(body.written)]
        for c in written:
            if not any([c is x for x in consts]):
                invars.insert(len(consts), Var(c.aval))
                consts.append(c)
            place = next(i for i, x in enumerate(consts) if x is c)
            outvars.append(last.get(id(c), invars[place]))
        made.append(common.Body(common.rearranged(jaxpr, invars, outvars), consts, body.out_tree))
    return made, written


def _with_common_types(bodies: Sequence[common.Body]) -> tuple[tuple[Jaxpr, ...], list[Any]]:
    """Branches that all take all of what any closes over, and return strong types where any does."""
    consts: list[Any] = []
    position: dict[int, int] = {}
    for body in bodies:
        for c in body.consts:
            if id(c) not in position:
                position[id(c)] = len(consts)
                consts.append(c)
    outs = list(zip(*[b.out_avals for b in bodies]))
    strong = [a[0].strong() if any(not x.weak_type for x in a) else a[0] for a in outs]
    branches = []
    for body in bodies:
        places = tuple([position[id(c)] for c in body.consts])
        key = ("branch", len(consts), places, tuple(strong), tuple([shaped(c) for c in consts]))
        branches.append(body.jaxpr.memo(key, functools.partial(_branch, body, places, consts, strong)))
    return tuple(branches), consts


def _branch(body: common.Body, places: tuple[int, ...], consts: list[Any], outs: list[ShapedArray]) -> Jaxpr:
    jaxpr = body.jaxpr
    n = len(places)
    invars: list[Var] = [Var(shaped(c)) for c in consts]
    for place, var in zip(places, jaxpr.invars):
        invars[place] = var
    if all(o is a for o, a in zip(jaxpr.out_avals, outs)):
        in_order = places == tuple(range(len(consts)))
        return jaxpr if in_order else common.rearranged(jaxpr, [*invars, *jaxpr.invars[n:]], jaxpr.outvars)
    eqns, outvars = list(jaxpr.eqns), []
    for var, want in zip(jaxpr.outvars, outs):
        if var.aval is want:
            outvars.append(var)
        elif type(var) is Literal:
            outvars.append(Literal(var.val, want))
        else:
            new = Var(want)
            params = dict(new_dtype=want.dtype, weak_type=False, sharding=None)
            eqns.append(_equation(shapes.convert_element_type_p, [var], [new], params))
            outvars.append(new)
    return Jaxpr([], [*invars, *jaxpr.invars[n:]], outvars, eqns, jaxpr.effects, jaxpr.debug_info)


def _equation(primitive: Primitive, invars: list[Any], outvars: list[Any], params: dict[str, Any]) -> Any:
    from xtrace.core.jaxpr import JaxprEqn

    return JaxprEqn(primitive, invars, outvars, params)


# -- the primitive: operands are the index (int32) and what every branch takes ---------------------------------------


def _cond_avals(index: ShapedArray, *ops: ShapedArray, branches: tuple[Jaxpr, ...], **_: Any) -> list[ShapedArray]:
    return branches[0].out_avals


cond_p = Primitive("cond", _cond_avals)
cond_p.multiple_results = True
cond_p.holds_jaxprs = True
cond_p.effects = lambda avals, params: frozenset().union(*[b.effects for b in params["branches"]])


def _with_consts(transformed: Sequence[Transformed]) -> tuple[tuple[Jaxpr, ...], list[Any]]:
    """The jaxprs of all branches, each taking what any of them closes over in front; and those values."""
    if not any(t.consts for t in transformed):
        return tuple([t.jaxpr for t in transformed]), []
    bodies = [common.Body(t.jaxpr, t.consts, None) for t in transformed]
    return _with_common_types(bodies)


def _cond_jvp(primals: list[Any], tangents: list[Any], *, branches: tuple[Jaxpr, ...], **params: Any) -> Any:
    index, *ops = primals
    nonzeros = tuple([type(t) is not Zero for t in tangents[1:]])
    found = [jvp_jaxpr(b, nonzeros) for b in branches]
    wanted = tuple([any(f) for f in zip(*[d.outs for d in found])])
    derivatives, consts = _with_consts([jvp_jaxpr(b, nonzeros, wanted) for b in branches])
    moving = [t for t in tangents[1:] if type(t) is not Zero]
    results = cond_p.bind(index, *consts, *ops, *moving, branches=derivatives, **params)
    n = len(branches[0].outvars)
    outs, rest = results[:n], iter(results[n:])
    return outs, [next(rest) if nz else zero_tangent(o) for o, nz in zip(outs, wanted)]


class _Halves:
    """Branches split in two: what runs forward, and the linear rest, which takes residuals of any branch."""

    __slots__ = ("primals", "tangents", "consts", "num_residuals")

    def __init__(self, splits: Sequence[LinearizedJaxpr]) -> None:
        # Branches share slots for residuals of one type: only one of them runs.
        slots: list[ShapedArray] = []
        places: list[list[int]] = []
        for split in splits:
            free: dict[Any, list[int]] = {}
            for i, aval in enumerate(slots):
                free.setdefault(aval, []).append(i)
            mine = []
            n = len(split.primal.outvars) - split.num_residuals
            for aval in split.primal.out_avals[n:]:
                if not free.get(aval):
                    free[aval] = [len(slots)]
                    slots.append(aval)
                mine.append(free[aval].pop(0))
            places.append(mine)
        primals = [_pack_residuals(s, p, slots) for s, p in zip(splits, places)]
        self.primals, self.consts = _with_consts([Transformed(p, s.consts, []) for p, s in zip(primals, splits)])
        self.tangents = tuple([_take_residuals(s, p, slots) for s, p in zip(splits, places)])
        self.num_residuals = len(slots)


def _pack_residuals(split: LinearizedJaxpr, places: list[int], slots: list[ShapedArray]) -> Jaxpr:
    primal = split.primal
    n = len(primal.outvars) - split.num_residuals
    residuals: list[Any] = [None] * len(slots)
    for place, var in zip(places, primal.outvars[n:]):
        residuals[place] = var
    eqns = list(primal.eqns)
    for i, aval in enumerate(slots):
        if residuals[i] is None:
            zeros = common.zeros_jaxpr(aval)
            eqns += zeros.eqns
            residuals[i] = zeros.outvars[0]
    return Jaxpr([], primal.invars, [*primal.outvars[:n], *residuals], eqns, primal.effects, primal.debug_info)


def _take_residuals(split: LinearizedJaxpr, places: list[int], slots: list[ShapedArray]) -> Jaxpr:
    tangent = split.tangent
    n = split.num_residuals
    invars: list[Var] = [Var(a) for a in slots]
    for place, var in zip(places, tangent.invars[:n]):
        invars[place] = var
    return common.rearranged(tangent, [*invars, *tangent.invars[n:]], tangent.outvars)


def _halves(branches: tuple[Jaxpr, ...], flags: tuple[bool, ...], splits: bool) -> tuple[_Halves, list[bool]]:
    split = split_linear_jaxpr if splits else linearize_jaxpr
    found = [split(b, flags) for b in branches]
    wanted = [any(f) for f in zip(*[s.out_nonzeros for s in found])]

    def make() -> _Halves:
        return _Halves([common.forced_linear(s, wanted, splits) for s in found])

    if any(s.consts for s in found):
        return make(), wanted
    return branches[0].memo(("cond halves", branches[1:], flags, splits), make), wanted


def _cond_linearize(
    tape: Tape, primals: list[Any], tangents: list[Any], *, branches: tuple[Jaxpr, ...], **params: Any
) -> Any:
    index, *ops = primals
    flags = tuple([type(t) is not Zero for t in tangents[1:]])
    halves, wanted = _halves(branches, flags, False)
    results = cond_p.bind(index, *halves.consts, *ops, branches=halves.primals, **params)
    n = len(results) - halves.num_residuals
    outs, residuals = results[:n], results[n:]
    if not any(wanted):
        return outs, [zero_tangent(o) for o in outs]
    inputs = [t for t in tangents[1:] if type(t) is not Zero]
    rest = iter(tape.record(cond_p, (index, *residuals, *inputs), dict(branches=halves.tangents, **params)))
    return outs, [next(rest) if w else zero_tangent(o) for o, w in zip(outs, wanted)]


def _cond_on_tape(tape: Tape, args: tuple[Any, ...], *, branches: tuple[Jaxpr, ...], **params: Any) -> list[Any]:
    index, *ops = args
    flags = tuple([tape.owns(x) for x in ops])
    if is_linear_as_it_is([split_linear_jaxpr(b, flags) for b in branches]):
        return tape.record(cond_p, args, dict(branches=branches, **params))  # type: ignore[no-any-return]
    halves, wanted = _halves(branches, flags, True)
    with use_trace(tape.parent):
        known = [x for x in ops if not tape.owns(x)]
        results = cond_p.bind(index, *halves.consts, *known, branches=halves.primals, **params)
    n = len(results) - halves.num_residuals
    known_outs, residuals = iter(results[:n]), results[n:]
    linear: Any = iter(())
    if any(wanted):
        inputs = [x for x in ops if tape.owns(x)]
        linear = iter(tape.record(cond_p, (index, *residuals, *inputs), dict(branches=halves.tangents, **params)))
    return [next(linear) if w else next(known_outs) for w in wanted]


def _cond_transpose(cts: list[Any], index: Any, *ops: Any, branches: tuple[Jaxpr, ...], **params: Any) -> list[Any]:
    linear = tuple([type(x) is UndefinedPrimal for x in ops])
    ct_nonzeros = tuple([type(c) is not Zero for c in cts])
    with logs.into(None):  # which branch ran is not known
        found = [Transformed(*transpose_jaxpr(b, linear, ct_nonzeros)[:3]) for b in branches]
    wanted = [any(f) for f in zip(*[t.outs for t in found])]
    avals = [x.aval.tangent() for x in ops if type(x) is UndefinedPrimal]
    transposed, consts = _with_consts([_with_zeros(t, wanted, avals) for t in found])
    known = [x for x in ops if type(x) is not UndefinedPrimal]
    given = [c for c in cts if type(c) is not Zero]
    results = iter(cond_p.bind(index, *consts, *known, *given, branches=transposed, **params))
    arrives = iter(wanted)
    return [None, *[(next(results) if next(arrives) else None) if lin else None for lin in linear]]


def _with_zeros(t: Transformed, wanted: list[bool], avals: list[ShapedArray]) -> Transformed:
    """The transposed branch, with zeros for the cotangents that arrive in other branches only."""

    def make() -> Jaxpr:
        old = iter(t.jaxpr.outvars)
        eqns, outvars = list(t.jaxpr.eqns), []
        for have, want, aval in zip(t.outs, wanted, avals):
            if have:
                outvars.append(next(old))
            elif want:
                zeros = common.zeros_jaxpr(aval)
                eqns += zeros.eqns
                outvars += zeros.outvars
        return Jaxpr([], t.jaxpr.invars, outvars, eqns, t.jaxpr.effects, t.jaxpr.debug_info)

    if wanted == t.outs:
        return t
    return Transformed(t.jaxpr.memo(("zeros", tuple(wanted), tuple(avals)), make), t.consts, wanted)


def _cond_batch(
    axis: MappedAxis, args: list[Any], dims: list[int | None], *, branches: tuple[Jaxpr, ...], **params: Any
) -> Any:
    index, *ops = args
    op_dims = tuple(dims[1:])
    n = len(branches[0].outvars)
    if dims[0] is None:
        found = [batch_jaxpr(b, axis, op_dims) for b in branches]
        wanted = tuple([any(d is not None for d in out) for out in zip(*[t.outs for t in found])])
        batched, consts = _with_consts([batch_jaxpr(b, axis, op_dims, wanted) for b in branches])
        outs = cond_p.bind(index, *consts, *ops, branches=batched, **params)
        return outs, [0 if w else None for w in wanted]
    # Elements take different branches: all run, and results are selected.
    common.refuse_io("vmap-of-cond", branches)
    index = move_axis(index, dims[0], 0, axis.size)
    results = []
    for i, branch in enumerate(branches):
        args, arg_dims = ops, op_dims
        if current.trace is not None and not any([type(e) is NamedAxisEffect for e in branch.effects]):
            takes = comparisons.eq(index, shapes.convert(i, _INDEX.dtype, False))
            args, arg_dims = _guarded(axis, takes, ops, op_dims, used_inputs(branch))
        batched_one, consts, _ = batch_jaxpr(branch, axis, arg_dims, (True,) * n)
        results.append(_inline(batched_one, [*consts, *args]))
    which = index
    if len(branches) == 2:
        which = comparisons.ne(index, shapes.convert(0, _INDEX.dtype, False))
    return [selection.select_n(_widen(which, cases[0]), *cases) for cases in zip(*results)], [0] * n


def _guarded(
    axis: MappedAxis, takes: Any, ops: list[Any], dims: tuple[int | None, ...], used: list[bool]
) -> tuple[list[Any], tuple[int | None, ...]]:
    """The operands of a branch, constant to differentiation for the elements that don't take it.

    The derivative of a branch that isn't taken may be infinite or NaN, and 0 times that would spoil the gradient. An
    operand that all elements share is spread out for it, since what each contributes is summed. In a branch with
    collectives elements that don't take it contribute too: it is left alone.
    """
    args, arg_dims = [], []
    for x, d, is_used in zip(ops, dims, used):
        if is_used and dtypes.is_inexact(shaped(x).dtype):
            x, d = move_axis(x, d, 0, axis.size), 0
            x = selection.select_n(_widen(takes, x), identities.stop_gradient_p.bind(x), x)
        args.append(x)
        arg_dims.append(d)
    return args, tuple(arg_dims)


def _inline(jaxpr: Jaxpr, args: list[Any]) -> list[Any]:
    from xtrace.core.jaxpr import eval_jaxpr

    return eval_jaxpr(jaxpr, (), *args)


def _widen(which: Any, like: Any) -> Any:
    """A mapped scalar as an array of the shape of `like`, whose axis 0 is the mapped one."""
    shape = shaped(like).shape
    return shapes.broadcast_in_dim(which, shape, (0,)) if len(shape) > 1 else which


cond_p.jvp = _cond_jvp
cond_p.linearize = _cond_linearize
cond_p.on_tape = _cond_on_tape
cond_p.transpose = _cond_transpose
cond_p.batch = _cond_batch

__all__ = ["cond", "cond_p", "conditional", "switch"]
