"""scan and map: a function applied along the leading axis, with a carry."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from xtrace.core import config, functions, pytree, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal, eval_jaxpr, live_eqns
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.refs import Ref, argument, read, write
from xtrace.core.trace import Tracer, use_trace
from xtrace.lax import joining, shapes, slicing
from xtrace.lax.control_flow import common
from xtrace.transforms import logs, refs
from xtrace.transforms.accumulate import add_tangents
from xtrace.transforms.batching import MappedAxis, batch_flat, batch_jaxpr, move_axis
from xtrace.transforms.jvp import jvp_jaxpr
from xtrace.transforms.linearize import (
    LinearizedJaxpr,
    Tape,
    TransposedJaxpr,
    is_linear_as_it_is,
    linearize_jaxpr,
    split_linear_jaxpr,
    transpose_jaxpr,
)
from xtrace.transforms.staging import Transformed, closed_call_operands, memo_transformed, trace_to_jaxpr
from xtrace.transforms.zeros import UndefinedPrimal, Zero, instantiate, zero_tangent

# -- the functions ---------------------------------------------------------------------------------------------------


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> Any:
    """Apply `f(carry, x) -> (carry, y)` along the leading axis of `xs`, and stack the ys.

    Args:
      f: a function of the carry and one element; it returns the next carry, of the same structure and types, and a
        result.
      init: the first carry, an array or a pytree of arrays.
      xs: arrays with leading axes of one size, in any structure; None: `f` gets None, and `length` says how often.
      length: number of steps.
      reverse: whether to go from the last element to the first; ys are stacked where their elements were.
      unroll: how many steps the compiled loop does at a time; True: all of them; 0 counts as 1.

    Returns:
      (last carry, ys): ys with a leading axis of the number of steps. `f` is traced once, however long xs is.

    Raises:
      TypeError: the results of `f` don't fit.
      ValueError: leading axes differ, or there is nothing to tell the length.

    Example:
      >>> import xtrace as xt, xtrace.numpy as xnp
      >>> xt.lax.scan(lambda total, x: (total + x, total), 0, xnp.array([1, 2, 3]))
      (Array(6, dtype=int32), Array([0, 1, 3], dtype=int32, weak_type=True))
    """
    statics.check_callable("lax.scan: f argument", f)
    return run_scan("scan", f, f, init, xs, length, reverse, unroll, _split_transpose, 0)


def run_scan(
    what: str,
    owner: Any,
    f: Any,
    init: Any,
    xs: Any,
    length: Any,
    reverse: bool,
    unroll: int | bool,
    split: bool,
    argument: int,
) -> Any:
    """scan, for `f` made from the user's function `owner`, whose parameter number `argument` is the carry."""
    if refs.has_refs(common.flatten(xs)[0]):
        return _scan_over_refs(what, f, init, xs, length, reverse, unroll, split, argument)
    carry, carry_tree = common.checked_leaves(f"{what}: init", init)
    common.refuse_refs(what, carry)
    x_leaves, x_tree = common.checked_leaves(f"{what}: xs", xs)
    n = _length(what, x_leaves, x_tree, length)
    unroll = _unroll(unroll, n)
    if config.disable_jit.value and not any([isinstance(x, Tracer) for x in (*carry, *x_leaves)]):
        return _python_scan(f, init, x_leaves, x_tree, n, reverse)
    in_tree = common.flatten((init, xs))[1]
    avals = [shaped(x) for x in carry]
    x_avals = [a.update(shape=a.shape[1:]) for a in [shaped(x) for x in x_leaves]]
    n_carry = len(carry)
    while True:  # weakly typed carries take the types that the body returns, until that changes nothing
        body = common.stage(owner, what, f, in_tree, (*avals, *x_avals), common.carry_finish(0, avals))
        out_carry_tree, y_tree = _pair(what, owner, body)
        if out_carry_tree != carry_tree:
            break
        wider = common.widened_carry(avals, body.out_avals[:n_carry])
        if wider is None:
            break
        avals = wider
    carried = body.out_avals[: out_carry_tree.num_leaves]
    if what == "fori_loop":
        # The index in front is ours: the user's carry is what follows it.
        before, after = carry_tree.children()[1], out_carry_tree.children()[1]
        common.check_carry(what, owner, argument, before, avals[1:], after, carried[1:], body.jaxpr, 1)
    else:
        common.check_carry(what, owner, argument, carry_tree, avals, out_carry_tree, carried, body.jaxpr)
    jaxpr, consts, written = common.loop_body(body)
    outs = scan_p.bind(
        *consts,
        *refs.resolved(written),
        *[common.cast(x, a) for x, a in zip(carry, avals)],
        *x_leaves,
        jaxpr=jaxpr,
        length=n,
        reverse=bool(reverse),
        unroll=unroll,
        num_consts=len(consts),
        num_carry=len(written) + n_carry,
        _split_transpose=bool(split),
    )
    if written:
        refs.write_back(written, outs)
        outs = outs[len(written) :]
    return carry_tree.unflatten(outs[:n_carry]), y_tree.unflatten(outs[n_carry:])


def _scan_over_refs(what: str, f: Any, init: Any, xs: Any, *rest: Any) -> Any:
    """scan where `xs` holds references: the body gets references to their rows, which it may write."""
    leaves, tree = common.flatten(xs)
    where = [i for i, x in enumerate(leaves) if type(x) is Ref]
    refs.check_distinct(
        leaves, lambda: [f"xs{pytree.keystr(p)}" for p in common.paths_of(tree)], functions.fun_name(f), what
    )

    def step(carry: Any, rows: Any) -> Any:
        rows = list(rows)
        for i in where:
            rows[i] = argument(rows[i], lambda i=i: f"xs{pytree.keystr(common.paths_of(tree)[i])}", leaves[i].kind)
        carry, y = f(carry, tree.unflatten(rows))
        return carry, (y, [rows[i].cell.value for i in where])

    functools.update_wrapper(step, f)
    values = [read(x) if type(x) is Ref else x for x in leaves]
    carry, (ys, last) = run_scan(what, step, step, init, values, *rest)
    for i, value in zip(where, last):
        write(leaves[i], value)
    return carry, ys


def _pair(what: str, owner: Any, body: common.Body) -> tuple[Any, Any]:
    """The structures of (carry, y)."""
    children = body.out_tree.children()
    data = body.out_tree.node_data()
    if data is None or data[0] not in (tuple, list) or len(children) != 2:
        shown = body.out_tree.unflatten([a.str_short(False) for a in body.out_avals])
        raise TypeError(
            f"{what} body output must be a pair (carry, y), got {shown} from {functions.described(owner)}. "
            "Return (carry, None) where there is nothing to stack."
        )
    return children[0], children[1]


def _length(what: str, leaves: Sequence[Any], tree: Any, length: Any) -> int:
    avals = [shaped(x) for x in leaves]
    for x, a, path in zip(
        leaves, avals, common.paths_of(tree) if any(not a.shape for a in avals) else [()] * len(avals)
    ):
        if not a.shape:
            raise ValueError(f"{what} got value with no leading axis to scan over: xs{pytree.keystr(path)} is {x}.")
    sizes = [a.shape[0] for a in avals]
    if length is not None:
        n = common.concrete_int(
            length,
            f"The `length` argument to `{what}` expects a concrete `int` value. For scan-like iteration with a "
            f"dynamic length, "
            "use `while_loop` or `fori_loop`.",
        )
        if any(s != n for s in sizes):
            raise ValueError(f"{what} got `length` argument of {n} which disagrees with leading axis sizes {sizes}.")
        return n
    if not sizes:
        raise ValueError(f"{what} got no values to scan over and `length` not provided: give xs, or length=n.")
    if any(s != sizes[0] for s in sizes):
        shown = ", ".join([f"xs{pytree.keystr(p)} has {s}" for p, s in zip(common.paths_of(tree), sizes)])
        raise ValueError(f"{what} got values with different leading axis sizes: {shown}.")
    return sizes[0]


def _unroll(unroll: int | bool, length: int) -> int:
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    n = statics.integer(unroll, "unroll")
    if n < 0:
        raise ValueError(f"`unroll` must be a `bool` or a non-negative `int`, got {unroll}.")
    return max(n, 1)


def _python_scan(f: Any, carry: Any, leaves: list[Any], tree: Any, n: int, reverse: bool) -> Any:
    """The loop in Python, for disable_jit."""
    if n == 0:
        raise ValueError("zero-length scan is not supported in disable_jit() mode, because the output type is unknown.")
    ys = []
    for i in reversed(range(n)) if reverse else range(n):
        elements = [slicing.index_in_dim(x, i, keepdims=False) for x in leaves]
        carry, y = f(carry, tree.unflatten(elements))
        ys.append(common.flatten(y))
    if reverse:
        ys.reverse()
    stacked = [
        joining.concatenate([shapes.expand_dims(y, (0,)) for y in column], 0) for column in zip(*[y for y, _ in ys])
    ]
    return carry, ys[0][1].unflatten(stacked)


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply `f` to each element along the leading axis of `xs`, one after another.

    Args:
      f: a function of one element.
      xs: arrays with leading axes of one size, in any structure.
      batch_size: how many elements to compute at once, as vmap does; None or 0: one.

    Returns:
      The results, stacked along a leading axis.

    Raises:
      ValueError: leading axes differ, or there are none.

    Example:
      >>> import xtrace as xt, xtrace.numpy as xnp
      >>> xt.lax.map(lambda x: x * x, xnp.array([1, 2, 3]))
      Array([1, 4, 9], dtype=int32)
    """
    statics.check_callable("lax.map: f", f)
    if not batch_size:
        return run_scan("map", f, lambda _, x: ((), f(x)), (), xs, None, False, 1, False, 0)[1]
    leaves, tree = common.checked_leaves("map: xs", xs)
    n = _length("map", leaves, tree, None)
    if statics.integer(batch_size, "batch_size") < 1:
        raise ValueError(f"map: batch_size must be positive, got {batch_size}.")
    whole = n // batch_size
    parts = []
    if whole or not n:
        head = [slicing.slice_in_dim(x, 0, whole * batch_size) for x in leaves]
        head = [shapes.reshape(x, (whole, batch_size, *shaped(x).shape[1:])) for x in head]
        rows = run_scan(
            "map", f, lambda _, x: ((), _mapped(f, x, batch_size)), (), tree.unflatten(head), None, False, 1, False, 0
        )[1]
        out, out_tree = common.flatten(rows)
        parts.append([shapes.reshape(y, (whole * batch_size, *shaped(y).shape[2:])) for y in out])
    if n % batch_size:
        tail = tree.unflatten([slicing.slice_in_dim(x, whole * batch_size, n) for x in leaves])
        out, out_tree = common.flatten(_mapped(f, tail, n % batch_size))
        parts.append(out)
    return out_tree.unflatten([c[0] if len(c) == 1 else joining.concatenate(c, 0) for c in zip(*parts)])


def _mapped(f: Any, xs: Any, size: int) -> Any:
    """`f` over the leading axis of `xs`, all at once."""
    leaves, tree = common.flatten(xs)
    out_trees: list[Any] = []

    def flat(*elements: Any) -> list[Any]:
        outs, out_tree = common.flatten(f(tree.unflatten(elements)))
        out_trees.append(out_tree)
        return outs

    outs, dims = batch_flat(flat, MappedAxis(size), leaves, [0] * len(leaves))
    return out_trees[0].unflatten([move_axis(o, d, 0, size) for o, d in zip(outs, dims)])


# -- the primitive: operands are what the body closes over, the carry, the arrays scanned over -----------------------


def _scan_avals(*avals: ShapedArray, jaxpr: Jaxpr, length: int, num_carry: int, **_: Any) -> list[ShapedArray]:
    outs = jaxpr.out_avals
    return [*outs[:num_carry], *[a.update(shape=(length, *a.shape)) for a in outs[num_carry:]]]


scan_p = Primitive("scan", _scan_avals)
scan_p.multiple_results = True
scan_p.holds_jaxprs = True
scan_p.effects = lambda avals, params: params["jaxpr"].effects


def grown(
    flags: Sequence[bool], n_lead: int, n_carry: int, outs_of: Callable[[tuple[bool, ...]], Any]
) -> tuple[bool, ...]:
    """Grow the carry's flags, at `n_lead` and after, until the body's outputs ask for no more."""
    current = list(flags)
    while True:
        outs = outs_of(tuple(current))
        before = current[n_lead : n_lead + n_carry]
        after = [f or bool(o) for f, o in zip(before, outs)]
        if after == before:
            return tuple(current)
        current[n_lead : n_lead + n_carry] = after


def _parts(operands: Any, num_consts: int, num_carry: int) -> tuple[Any, Any, Any]:
    n = num_consts + num_carry
    return operands[:num_consts], operands[num_consts:n], operands[n:]


def _scan_jvp(
    primals: list[Any], tangents: list[Any], *, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> Any:
    flags = [type(t) is not Zero for t in tangents]
    nonzeros = grown(flags, num_consts, num_carry, lambda f: jvp_jaxpr(jaxpr, f).outs)
    n_outs = len(jaxpr.outvars)
    carry_nz = nonzeros[num_consts : num_consts + num_carry]
    derivative, extra, out_nz = jvp_jaxpr(jaxpr, nonzeros, (*carry_nz, *[False] * (n_outs - num_carry)))
    n, lead = len(jaxpr.invars), len(extra)
    counts = [sum(p) for p in _parts(nonzeros, num_consts, num_carry)]

    def arrange() -> Jaxpr:
        primal_vars = _parts(derivative.invars[lead : lead + n], num_consts, num_carry)
        tangent_vars = _parts(derivative.invars[lead + n :], counts[0], counts[1])
        invars = [*derivative.invars[:lead]]
        for p, t in zip(primal_vars, tangent_vars):
            invars += [*p, *t]
        outs, touts = derivative.outvars[:n_outs], derivative.outvars[n_outs:]
        k = counts[1]
        return common.rearranged(derivative, invars, [*outs[:num_carry], *touts[:k], *outs[num_carry:], *touts[k:]])

    body = derivative.memo(("scan jvp", num_consts, num_carry), arrange)
    operands = [*extra]
    for p, t, nz in zip(
        _parts(primals, num_consts, num_carry),
        _parts(tangents, num_consts, num_carry),
        _parts(nonzeros, num_consts, num_carry),
    ):
        operands += [*p, *[instantiate(x) for x, keep in zip(t, nz) if keep]]
    results = scan_p.bind(
        *operands, jaxpr=body, num_consts=lead + num_consts + counts[0], num_carry=num_carry + counts[1], **params
    )
    k = num_carry + counts[1]
    outs = [*results[:num_carry], *results[k : k + n_outs - num_carry]]
    rest = iter([*results[num_carry:k], *results[k + n_outs - num_carry :]])
    return outs, [next(rest) if nz else zero_tangent(o) for o, nz in zip(outs, out_nz)]


# -- linearization: the body is split in two, and what the linear half needs of the other is stacked -----------------


class _Residuals:
    """Where the residuals of a split body come from.

    Those that don't change from step to step are computed once, in front; those that are elements of xs or of ys are
    not stacked again.
    """

    __slots__ = ("primal", "sources", "hoisted", "tangent")

    def __init__(
        self, split: LinearizedJaxpr, num_consts: int, num_carry: int, n_lin_consts: int, n_lin_carry: int
    ) -> None:
        primal = split.primal
        n_outs = len(primal.outvars) - split.num_residuals
        n_known_carry = num_carry
        consts, carry, xs = _parts(primal.invars, num_consts, n_known_carry)
        place: dict[Any, tuple[str, int]] = {v: ("const", i) for i, v in enumerate(consts)}
        place.update({v: ("xs", i) for i, v in enumerate(xs)})
        for i, v in enumerate(primal.outvars[n_known_carry:n_outs]):
            if type(v) is not Literal:
                place.setdefault(v, ("ys", i))
        invariant = set(consts)
        fixed_eqns: list[JaxprEqn] = []
        for eqn in primal.eqns:
            if not eqn.effects and all([type(v) is Literal or v in invariant for v in eqn.invars]):
                invariant.update(eqn.outvars)
                fixed_eqns.append(eqn)
        outvars = list(primal.outvars[:n_outs])
        hoisted: list[Any] = []
        #: For each residual: (where it comes from, which one).
        self.sources: list[tuple[str, int]] = []
        for v in primal.outvars[n_outs:]:
            if type(v) is Literal or (v in invariant and v not in place):
                hoisted.append(v)
                found = ("hoisted", len(hoisted) - 1)
            elif v in place:
                found = place[v]
            else:
                found = ("ys", len(outvars) - n_known_carry)
                outvars.append(v)
            if type(v) is not Literal:
                place[v] = found
            self.sources.append(found)
        self.primal = common.rearranged(primal, primal.invars, outvars)
        self.hoisted: Jaxpr | None = None
        if hoisted:
            self.hoisted = Jaxpr([], consts, hoisted, live_eqns(Jaxpr([], consts, hoisted, fixed_eqns)))
        # The linear half as a body: constants first, then the carry, then what is scanned over.
        n = split.num_residuals
        residual_vars = split.tangent.invars[:n]
        fixed = [v for v, (kind, _) in zip(residual_vars, self.sources) if kind in ("const", "hoisted")]
        stacked = [v for v, (kind, _) in zip(residual_vars, self.sources) if kind in ("xs", "ys")]
        lin_consts, lin_carry, lin_xs = _parts(split.tangent.invars[n:], n_lin_consts, n_lin_carry)
        self.tangent = common.rearranged(
            split.tangent, [*fixed, *lin_consts, *lin_carry, *lin_xs, *stacked], split.tangent.outvars
        )

    def values(
        self, operands: Sequence[Any], num_consts: int, num_carry: int, ys: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """(residuals that stay the same, residuals to scan over), given the operands and stacked results."""
        consts, _, xs = _parts(operands, num_consts, num_carry)
        hoisted = eval_jaxpr(self.hoisted, (), *consts) if self.hoisted is not None else []
        values = {"const": consts, "hoisted": hoisted, "xs": xs, "ys": ys}
        fixed = [values[kind][i] for kind, i in self.sources if kind in ("const", "hoisted")]
        return fixed, [values[kind][i] for kind, i in self.sources if kind in ("xs", "ys")]


def _run_halves(
    tape: Tape,
    split: LinearizedJaxpr,
    known: Sequence[Sequence[Any]],
    linear: Sequence[Sequence[Any]],
    params: dict[str, Any],
) -> tuple[list[Any], list[Any]]:
    """Scan the known half of a body, and record the scan of its linear half; returns what each gives.

    known, linear: the operands of each half (consts, carry, xs).
    """
    num_consts = len(split.consts) + len(known[0])
    num_carry = len(known[1])
    key = ("scan residuals", num_consts, num_carry, len(linear[0]), len(linear[1]), tuple(split.out_nonzeros))
    plan: _Residuals = split.tangent.memo(
        key, lambda: _Residuals(split, num_consts, num_carry, len(linear[0]), len(linear[1]))
    )
    operands = [*split.consts, *known[0], *known[1], *known[2]]
    with use_trace(tape.parent):
        results = scan_p.bind(*operands, jaxpr=plan.primal, num_consts=num_consts, num_carry=num_carry, **params)
        n_outs = len(split.primal.outvars) - split.num_residuals
        if not any(split.out_nonzeros):
            return results[:n_outs], []
        fixed, stacked = plan.values(operands, num_consts, num_carry, results[num_carry:])
        carry = [instantiate(t) for t in linear[1]]
    outs = tape.record(
        scan_p,
        (*fixed, *linear[0], *carry, *linear[2], *stacked),
        dict(jaxpr=plan.tangent, num_consts=len(fixed) + len(linear[0]), num_carry=len(carry), **params),
    )
    return results[:n_outs], outs


def _scan_linearize(
    tape: Tape, primals: list[Any], tangents: list[Any], *, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> Any:
    flags = [type(t) is not Zero for t in tangents]
    nonzeros = grown(flags, num_consts, num_carry, lambda f: linearize_jaxpr(jaxpr, f).out_nonzeros)
    split = linearize_jaxpr(jaxpr, nonzeros)
    carry_nz = nonzeros[num_consts : num_consts + num_carry]
    split = common.forced_linear(split, [*carry_nz, *split.out_nonzeros[num_carry:]], False)
    linear = [
        [t for t, nz in zip(ts, nzs) if nz]
        for ts, nzs in zip(_parts(tangents, num_consts, num_carry), _parts(nonzeros, num_consts, num_carry))
    ]
    outs, touts = _run_halves(tape, split, _parts(primals, num_consts, num_carry), linear, params)
    rest = iter(touts)
    return outs, [next(rest) if nz else zero_tangent(o) for o, nz in zip(outs, split.out_nonzeros)]


def _scan_on_tape(
    tape: Tape, args: tuple[Any, ...], *, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> list[Any]:
    flags = [tape.owns(x) for x in args]
    linear = grown(flags, num_consts, num_carry, lambda f: split_linear_jaxpr(jaxpr, f).out_nonzeros)
    split = split_linear_jaxpr(jaxpr, linear)
    carry_linear = linear[num_consts : num_consts + num_carry]
    if all(carry_linear) and is_linear_as_it_is([split]):
        whole = dict(jaxpr=jaxpr, num_consts=num_consts, num_carry=num_carry, **params)
        return tape.record(scan_p, args, whole)  # type: ignore[no-any-return]
    split = common.forced_linear(split, [*carry_linear, *split.out_nonzeros[num_carry:]], True)
    halves = [
        [
            [x for x, lin in zip(xs, lins) if bool(lin) == want]
            for xs, lins in zip(_parts(args, num_consts, num_carry), _parts(linear, num_consts, num_carry))
        ]
        for want in (False, True)
    ]
    known, outs = _run_halves(tape, split, halves[0], halves[1], params)
    k, it = iter(known), iter(outs)
    return [next(it) if lin else next(k) for lin in split.out_nonzeros]


# -- transposition: the linear scan, run backwards, with sums of the constants' cotangents in the carry --------------


def _scan_transpose(
    cts: list[Any], *args: Any, jaxpr: Jaxpr, num_consts: int, num_carry: int, reverse: bool, length: int, **params: Any
) -> list[Any]:
    consts, init, xs = _parts(args, num_consts, num_carry)
    const_linear = [type(x) is UndefinedPrimal for x in consts]
    xs_linear = [type(x) is UndefinedPrimal for x in xs]
    linear = (*const_linear, *[True] * num_carry, *xs_linear)
    ct_carry, ct_ys = cts[:num_carry], cts[num_carry:]
    ys_nz = [type(c) is not Zero for c in ct_ys]
    n_lin_consts = sum(const_linear)

    def arrives(flags: tuple[bool, ...]) -> list[bool]:
        outs = transpose_jaxpr(jaxpr, linear, flags, threads_refs=True).outs
        return outs[n_lin_consts : n_lin_consts + num_carry]

    flags = grown([*[type(c) is not Zero for c in ct_carry], *ys_nz], 0, num_carry, arrives)
    transposed = transpose_jaxpr(jaxpr, linear, flags, threads_refs=True)
    key = ("scan transpose", num_consts, num_carry, linear, flags, logs.wanted())
    parts = (num_consts, num_carry, linear, flags, transposed)
    step = (
        _transposed_body(jaxpr, *parts)
        if transposed.written
        else memo_transformed(jaxpr, key, _transposed_body, *parts)
    )
    body, extra, (const_arrives, xs_arrives, log_tree, written) = step
    known_consts = [x for x in consts if type(x) is not UndefinedPrimal]
    known_xs = [x for x in xs if type(x) is not UndefinedPrimal]
    sums = [
        instantiate(Zero(x.aval.tangent()))
        for x, a in zip([c for c in consts if type(c) is UndefinedPrimal], const_arrives)
        if a
    ]
    carried = [instantiate(c) for c, f in zip(ct_carry, flags) if f]
    given = [c for c in ct_ys if type(c) is not Zero]
    results = scan_p.bind(
        *refs.resolved(extra),
        *known_consts,
        *refs.resolved(written),
        *sums,
        *carried,
        *known_xs,
        *given,
        jaxpr=body,
        num_consts=len(extra) + len(known_consts),
        num_carry=len(written) + len(sums) + len(carried),
        reverse=not reverse,
        length=length,
        **params,
    )
    refs.write_back(written, results)
    it = iter(results[len(written) :])
    arrive_c = iter(const_arrives)
    out = [(next(it) if next(arrive_c) else None) if lin else None for lin in const_linear]
    for x, f in zip(init, flags):
        ct = next(it) if f else None
        out.append(ct if type(x) is UndefinedPrimal else None)
    arrive_x = iter(xs_arrives)
    out += [(next(it) if next(arrive_x) else None) if lin else None for lin in xs_linear]
    logs.log_results(log_tree, it)
    return out


def _transposed_body(
    jaxpr: Jaxpr,
    num_consts: int,
    num_carry: int,
    linear: tuple[bool, ...],
    flags: tuple[bool, ...],
    step_transposed: TransposedJaxpr,
) -> Transformed:
    """The body: (known consts; written references, sums, carry cotangents; known xs, ys cotangents) ->
    (written references, sums, carry cotangents; xs cotangents, logs).
    """
    transposed, extra, arrives, log_tree, written = step_transposed
    is_written = [any([c is w for w in written]) for c in extra]
    n_fixed = len(extra) - len(written)
    n_lin_consts = sum(linear[:num_consts])
    const_arrives, carry_arrives, xs_arrives = _parts(arrives, n_lin_consts, num_carry)
    n_known_consts = num_consts - n_lin_consts
    xs_linear = linear[num_consts + num_carry :]
    n_known_xs = len(xs_linear) - sum(xs_linear)
    n_sums, n_carried = sum(const_arrives), sum(flags[:num_carry])
    carry_avals = [v.aval.tangent() for v in jaxpr.invars[num_consts : num_consts + num_carry]]
    lin_const_avals = [v.aval.tangent() for v, lin in zip(jaxpr.invars[:num_consts], linear) if lin]

    def step(*args: Any) -> list[Any]:
        it = iter(args)
        take = lambda n: [next(it) for _ in range(n)]  # noqa: E731
        fixed, known, values, sums, carried, known_xs = (
            take(n_fixed),
            take(n_known_consts),
            take(len(written)),
            take(n_sums),
            take(n_carried),
            take(n_known_xs),
        )
        rest = iter(fixed)
        held = dict(zip([id(w) for w in written], values))
        more = [held[id(c)] if w else next(rest) for c, w in zip(extra, is_written)]
        outs = eval_jaxpr(transposed, (), *more, *known, *known_xs, *carried, *it)
        n = len(outs) - len(written)
        results = iter(outs[:n])
        new_sums = [add_tangents(s, next(results)) for s in sums]
        new_carry = []
        for arrived, flag, aval in zip(carry_arrives, flags, carry_avals):
            if arrived:
                new_carry.append(next(results))
            elif flag:
                new_carry.append(instantiate(Zero(aval)))
        return [*outs[n:], *new_sums, *new_carry, *results]

    in_avals = jaxpr.in_avals
    avals = [
        *[v.aval for v, w in zip(transposed.invars, is_written) if not w],
        *[v.aval for v in transposed.invars[len(extra) : len(extra) + n_known_consts]],
        *[w.aval for w in written],
        *[a for a, arrived in zip(lin_const_avals, const_arrives) if arrived],
        *[a for a, f in zip(carry_avals, flags) if f],
        *[a for a, lin in zip(in_avals[num_consts + num_carry :], xs_linear) if not lin],
        *[v.aval.tangent() for v, f in zip(jaxpr.outvars[num_carry:], flags[num_carry:]) if f],
    ]
    with use_trace(None):
        closed, more_consts = closed_call_operands(trace_to_jaxpr(step, avals, jaxpr.debug_info))
    fixed_consts = [c for c, w in zip(extra, is_written) if not w]
    return Transformed(closed, [*more_consts, *fixed_consts], [const_arrives, xs_arrives, log_tree, written])


def _scan_batch(
    axis: MappedAxis,
    args: list[Any],
    dims: list[int | None],
    *,
    jaxpr: Jaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    consts, carry, xs = _parts(args, num_consts, num_carry)
    const_dims, carry_dims, xs_dims = _parts(dims, num_consts, num_carry)
    fixed_dims = [None if d is None else 0 for d in (*const_dims, *xs_dims)]
    n_ys = len(jaxpr.outvars) - num_carry

    def in_dims(mapped: Sequence[bool]) -> tuple[int | None, ...]:
        return (*fixed_dims[:num_consts], *[0 if m else None for m in mapped], *fixed_dims[num_consts:])

    def outs_of(mapped: tuple[bool, ...]) -> list[bool]:
        wanted = (*mapped, *[False] * n_ys)
        return [d is not None for d in batch_jaxpr(jaxpr, axis, in_dims(mapped), wanted).outs[:num_carry]]

    mapped = grown([d is not None for d in carry_dims], 0, num_carry, outs_of)
    body, extra, out_dims = batch_jaxpr(jaxpr, axis, in_dims(mapped), (*mapped, *[False] * n_ys))
    consts = [x if d is None else move_axis(x, d, 0, axis.size) for x, d in zip(consts, const_dims)]
    carry = [move_axis(x, d, 0, axis.size) if m else x for x, d, m in zip(carry, carry_dims, mapped)]
    xs = [x if d is None else move_axis(x, d, 1, axis.size) for x, d in zip(xs, xs_dims)]
    outs = scan_p.bind(
        *extra, *consts, *carry, *xs, jaxpr=body, num_consts=len(extra) + num_consts, num_carry=num_carry, **params
    )
    return outs, [*[0 if m else None for m in mapped], *[None if d is None else d + 1 for d in out_dims[num_carry:]]]


scan_p.jvp = _scan_jvp
scan_p.linearize = _scan_linearize
scan_p.on_tape = _scan_on_tape
scan_p.transpose = _scan_transpose
scan_p.batch = _scan_batch

__all__ = ["map", "run_scan", "scan", "scan_p"]
