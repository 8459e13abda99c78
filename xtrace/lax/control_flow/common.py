"""What control flow shares: bodies staged once per function, messages about their results, and jaxprs rearranged."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from xtrace.core import dtypes, errors, functions, pytree, source, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import DebugInfo, Jaxpr, Var
from xtrace.core.primitive import aval_of, shaped
from xtrace.core.refs import Ref, cannot_return
from xtrace.core.trace import Tracer, use_trace
from xtrace.lax import shapes
from xtrace.runtime import jaxlib_api
from xtrace.transforms import refs
from xtrace.transforms.linearize import LinearizedJaxpr
from xtrace.transforms.staging import closed_call_operands, trace_to_jaxpr
from xtrace.transforms.zeros import Zero, instantiate

flatten = pytree.default_registry.flatten
_trace_context = jaxlib_api.trace_context


class Body:
    """A user function staged: its closed jaxpr, the operands it closes over, and the structure of its result."""

    __slots__ = ("jaxpr", "consts", "out_tree", "written", "captures")

    def __init__(self, jaxpr: Jaxpr, consts: list[Any], out_tree: Any, written: tuple[int, ...] = ()) -> None:
        self.jaxpr = jaxpr
        self.consts = consts
        self.out_tree = out_tree
        #: Which consts are references that the function writes: their last values are the last outputs.
        self.written = written
        #: Whether there are references among the consts.
        self.captures = refs.captures(consts)

    @property
    def out_avals(self) -> list[ShapedArray]:
        """Types of the function's own results."""
        avals = self.jaxpr.out_avals
        return avals[: len(avals) - len(self.written)] if self.written else avals


def stage(
    owner: Callable[..., Any],
    kind: str,
    fun: Callable[..., Any],
    in_tree: Any,
    avals: tuple[ShapedArray, ...],
    finish: Callable[[list[Any], Any], list[Any]] | None = None,
    key: Any = None,
) -> Body:
    """`fun`, a function of arguments with structure `in_tree`, as a closed jaxpr.

    It is traced once for each `kind`, `key` and types: the result is kept with `owner`, the function the user gave.
    `finish(outs, out_tree)` may change the flat results.
    """
    cache = functions.cache_of(owner)
    full_key = (kind, key, in_tree, avals, _trace_context())
    found = cache.get(full_key)
    if found is not None:
        return found  # type: ignore[no-any-return]
    name = functions.fun_name(owner)
    out_trees: list[Any] = []

    def flat(*leaves: Any) -> list[Any]:
        outs, out_tree = flatten(fun(*in_tree.unflatten(leaves)))
        out_trees.append(out_tree)
        outs = [_as_array(x, i, out_tree, name, kind) for i, x in enumerate(outs)]
        return outs if finish is None else finish(outs, out_tree)

    code = functions.code_of(owner)
    info = DebugInfo(name, kind, code=code)
    staged = trace_to_jaxpr(flat, avals, info, threads_refs=True)
    if staged.refs_in_rules:
        refs.mark_rules()
    jaxpr, consts = closed_call_operands(staged)
    body = Body(jaxpr, consts, out_trees[0], staged.written_refs)
    if not (refs.transient(consts) or staged.refs_in_rules):
        cache[full_key] = body
    return body


def _as_array(x: Any, i: int, out_tree: Any, name: str, kind: str) -> Any:
    if getattr(x, "aval", None) is not None and type(x) is not Ref:
        return x
    try:
        aval_of(x)
    except TypeError:
        path = pytree.keystr(paths_of(out_tree)[i])
        if type(x) is Ref:
            raise cannot_return(x, f"result{path}", name, kind) from None
        raise TypeError(
            f"function {name} traced for {kind} returned a value of type {type(x)} at result{path}, which is not a "
            f"valid "
            "type: functions that are traced return arrays, numbers and containers of them."
        ) from None
    convert = getattr(x, "__jax_array__", None)
    return x if convert is None else convert()


def paths_of(tree: Any) -> list[Any]:
    """Key paths of the leaves of a structure."""
    dummy = tree.unflatten(range(tree.num_leaves))
    return [path for path, _ in pytree.tree_flatten_with_path(dummy)[0]]


def checked_leaves(what: str, tree: Any) -> tuple[list[Any], Any]:
    """Flatten operands. Raises TypeError for a leaf that isn't an array."""
    leaves, treedef = flatten(tree)
    for i, x in enumerate(leaves):
        if getattr(x, "aval", None) is None:
            try:
                aval_of(x)
            except TypeError:
                path = pytree.keystr(paths_of(treedef)[i])
                raise TypeError(
                    f"{what}{path} is {x!r} of type {type(x)}, which is not a valid type: pass arrays, numbers and "
                    f"containers "
                    "of them, and close over other values (lambda, functools.partial)."
                ) from None
    return leaves, treedef


def concrete_int(x: Any, message: str) -> int:
    """`x` as a Python int. Raises ConcretizationTypeError with `message` if it is traced."""
    if isinstance(x, Tracer) and x.to_concrete_value() is None:
        raise errors.ConcretizationTypeError(x, message)
    return statics.integer(x, "length")


# -- references --


def loop_body(body: Body) -> tuple[Jaxpr, list[Any], list[Any]]:
    """A loop's body with the references it writes carried in front: (jaxpr, other consts, CapturedRefs written)."""
    if not body.captures:
        return body.jaxpr, body.consts, []
    consts = [c for i, c in enumerate(body.consts) if i not in body.written]
    written = [body.consts[i] for i in body.written]
    jaxpr = body.jaxpr
    if written:
        key = ("carried refs", len(body.consts), body.written)
        jaxpr = jaxpr.memo(key, lambda: refs.carried(body.jaxpr, len(body.consts), body.written))
    return jaxpr, refs.resolved(consts), written


def read_only(what: str, body: Body) -> Body:
    """`body` closed over the present values of references. Raises ValueError if it writes to one."""
    if not body.captures:
        return body
    if body.written:
        raise ValueError(
            f"{what} writes to a mutable array reference of type {body.consts[body.written[0]].ref.aval}, which isn't "
            "defined: how often such a function runs, and in which order, depends on what is done with it. Return the "
            "value instead."
        )
    return Body(body.jaxpr, refs.resolved(body.consts), body.out_tree)


def refuse_refs(what: str, leaves: Sequence[Any]) -> None:
    """Raise ValueError for references in a loop's carry, which would have to be returned."""
    for x in leaves:
        if type(x) is Ref:
            raise ValueError(
                f"{what} got a mutable array reference of type {x.aval} in its carry, but the body returns its carry, "
                "and mutable array references cannot be returned. Close over the reference instead."
            )


def without_refs(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """`f` and arguments of it, references among the arguments closed over instead."""
    leaves, tree = flatten(args)
    if not refs.has_refs(leaves):
        return f, args
    closed = refs.ClosedOver(leaves)

    @functools.wraps(f)
    def closing(*arrays: Any) -> Any:
        return f(*tree.unflatten(closed.restored(arrays)))

    return closing, tuple(closed.leaves)


# -- types of carries and branches -----------------------------------------------------------------------------------


def same_type(a: ShapedArray, b: ShapedArray) -> bool:
    """Whether two avals differ at most in weak type."""
    return a is b or (a.shape == b.shape and a.dtype == b.dtype)


def widened_carry(before: Sequence[ShapedArray], after: Sequence[ShapedArray]) -> list[ShapedArray] | None:
    """The carry's types, with weakly typed ones giving way to what the body returns; None if nothing has to change."""
    wider = []
    for a, b in zip(before, after):
        # A number where the body returns an array of the same dtype needs no second trace: the first one holds.
        if a.weak_type and a.shape == b.shape and a.dtype != b.dtype:
            # Strong even where the body's result is weak: a type that the loop chose is no longer the caller's number.
            dtype, _ = dtypes.promote(((a.dtype, a.weak_type), (b.dtype, b.weak_type)))
            wider.append(ShapedArray(a.shape, dtype, False))
        else:
            wider.append(a)
    return None if all([w is a for w, a in zip(wider, before)]) else wider


def cast(x: Any, aval: ShapedArray) -> Any:
    """`x` with the dtype and weak type of `aval`."""
    if shaped(x) is aval:
        return x
    out = shapes.convert(x, aval.dtype, aval.weak_type)
    return out


def carry_finish(n_lead: int, avals: Sequence[ShapedArray]) -> Callable[[list[Any], Any], list[Any]]:
    """Results at `n_lead` and after, as many as `avals`, that are weakly typed where the carry isn't take its type."""

    def finish(outs: list[Any], out_tree: Any) -> list[Any]:
        for i, want in enumerate(avals):
            if n_lead + i < len(outs):
                got = shaped(outs[n_lead + i])
                if got is not want and same_type(got, want) and not want.weak_type:
                    outs[n_lead + i] = cast(outs[n_lead + i], want)
        return outs

    return finish


def made_at(jaxpr: Jaxpr, i: int) -> str:
    """The user's line that made output `i`, as the end of a sentence about it; empty if it is an input or unknown."""
    var = jaxpr.outvars[i]
    for eqn in jaxpr.eqns:
        if eqn.position is not None and any([v is var for v in eqn.outvars]):
            return f" (made at {source.describe(eqn.position)})"
    return ""


def check_carry(
    what: str,
    fun: Callable[..., Any],
    argument: int,
    before: Any,
    before_avals: Any,
    after: Any,
    after_avals: Any,
    jaxpr: Jaxpr,
    first: int = 0,
) -> None:
    """Raise TypeError, naming the leaf, unless a body returns a carry of the structure and types it takes.

    argument: which parameter of `fun` is the carry. jaxpr: the body staged; `first`: its output where the carry begins.
    """
    names = functions.parameter_names(functions.code_of(fun))
    name = names[argument] if argument < len(names) else "carry"
    where = f"The body is {functions.described(fun)}."
    if before != after:
        raise TypeError(
            f"{what} body function carry input and carry output must have the same pytree structure, but they "
            f"differ:\n\n"
            + "\n".join(_tree_differences(f"the input carry {name}", before, "the carry output", after))
            + f"\n\n{where} Revise it so that the carry output has the structure of the carry input."
        )
    lines = []
    for i, (path, a, b) in enumerate(zip(paths_of(before), before_avals, after_avals), first):
        if not same_type(a, b):
            leaf = f"{name}{pytree.keystr(path)}"
            lines.append(
                f"The input carry {'component ' if path else ''}{leaf} has type {a.str_short(False)} but the "
                f"corresponding "
                f"output carry component has type {b.str_short(False)}{made_at(jaxpr, i)}, so the {_difference(a, b)} "
                "do not match. "
                f"{_remedy(leaf, a, b)}"
            )
    if lines:
        raise TypeError(
            f"{what} body function carry input and carry output must have equal types, but they differ:\n\n"
            + "\n".join(lines)
            + f"\n\n{where}"
        )


def _difference(a: ShapedArray, b: ShapedArray) -> str:
    parts = ["dtypes"] * (a.dtype != b.dtype) + ["shapes"] * (a.shape != b.shape)
    return " and ".join(parts)


def _remedy(leaf: str, a: ShapedArray, b: ShapedArray) -> str:
    if a.shape == b.shape:
        return (
            f"Write .astype({a.dtype}) on what the body returns for {leaf}, or .astype({b.dtype}) on the initial value."
        )
    return f"Make the initial value of {leaf} of shape {b.shape}, or what the body returns of shape {a.shape}."


def _tree_differences(a: str, tree_a: Any, b: str, tree_b: Any) -> list[str]:
    from xtrace.core import pytree_errors

    dummy = tree_a.unflatten(range(tree_a.num_leaves))
    found = pytree_errors.differences(dummy, tree_b) or pytree_errors.differences(
        tree_b.unflatten(range(tree_b.num_leaves)), tree_a
    )
    if not pytree_errors.differences(dummy, tree_b):
        a, b = b, a
    return [f"{s[0].upper()}{s[1:]}." for s in (d.sentence(a, b) for d in found)] or [f"{tree_a} and {tree_b}."]


def check_branches(what: str, names: Sequence[str], funs: Sequence[Any], bodies: Sequence[Body]) -> None:
    """Raise TypeError, naming the leaf, unless all branches return the same structure and types."""
    first = bodies[0]
    for i, body in enumerate(bodies[1:], 1):
        who = f"{names[0]} is {functions.described(funs[0])}\n{names[i]} is {functions.described(funs[i])}\n"
        if first.out_tree != body.out_tree:
            lines = _tree_differences(f"the output of {names[0]}", first.out_tree, f"that of {names[i]}", body.out_tree)
            raise TypeError(
                f"{what} branch outputs must have the same pytree structure, but they differ:\n\n{who}\n"
                + "\n".join(lines)
                + f"\n\nRevise {names[0]} or {names[i]} so that they have the same pytree structure."
            )
        lines = []
        for j, (path, a, b) in enumerate(zip(paths_of(first.out_tree), first.out_avals, body.out_avals)):
            if not same_type(a, b):
                at = f" at {pytree.keystr(path)}" if path else ""
                cure = (
                    f"Write .astype({a.dtype}) on that of {names[i]}."
                    if a.shape == b.shape
                    else "Broadcast one of them."
                )
                lines.append(
                    f"The output of {names[0]}{at} has type {a.str_short(False)}{made_at(first.jaxpr, j)} but the "
                    f"corresponding output of {names[i]} has "
                    f"type {b.str_short(False)}{made_at(body.jaxpr, j)}, so the {_difference(a, b)} do not match. "
                    f"{cure}"
                )
        if lines:
            raise TypeError(
                f"{what} branches must have equal output types but they differ.\n\n{who}\n" + "\n".join(lines)
            )


def refuse_io(where: str, jaxprs: Sequence[Jaxpr]) -> None:
    """Raise NotImplementedError for IO in code that, batched, runs for elements that would not run it."""
    found = sorted({str(e) for jaxpr in jaxprs for e in jaxpr.effects if str(e) in ("IO", "OrderedIO")})
    if found:
        kind = "Unordered IO effects" if where.startswith("while") else "IO effect"
        raise NotImplementedError(
            f"{kind} not supported in {where}. The elements don't all run the same code, so it would be done for too "
            "many. Loop over the elements with lax.map instead of vmap, or use debug.callback, which is "
            "allowed to run more often."
        )


# -- jaxprs rearranged -----------------------------------------------------------------------------------------------


def rearranged(jaxpr: Jaxpr, invars: Sequence[Any], outvars: Sequence[Any]) -> Jaxpr:
    """The same equations with inputs and outputs in another order."""
    return Jaxpr([], invars, outvars, jaxpr.eqns, jaxpr.effects, jaxpr.debug_info)


def forced_linear(split: LinearizedJaxpr, wanted: Sequence[bool], splits: bool) -> LinearizedJaxpr:
    """`split` with the outputs marked `wanted` in its linear half, also those that turned out not to be linear.

    They are zero tangents where a jaxpr was linearized. Where a linear jaxpr was split (`splits`), they are values,
    which go through the linear half as residuals.
    """
    if list(wanted) == list(split.out_nonzeros):
        return split
    key = ("forced", tuple(wanted), splits)
    return split.tangent.memo(key, lambda: _forced_linear(split, wanted, splits))  # type: ignore[no-any-return]


def _forced_linear(split: LinearizedJaxpr, wanted: Sequence[bool], splits: bool) -> LinearizedJaxpr:
    primal, tangent, n = split.primal, split.tangent, split.num_residuals
    old = iter(tangent.outvars)
    outvars: list[Any] = []
    if not splits:
        eqns = list(tangent.eqns)
        for flag, want, aval in zip(split.out_nonzeros, wanted, primal.out_avals):
            if flag:
                outvars.append(next(old))
            elif want:
                zeros = zeros_jaxpr(aval.tangent())
                eqns += zeros.eqns
                outvars += zeros.outvars
        forced = Jaxpr([], tangent.invars, outvars, eqns, tangent.effects, tangent.debug_info)
        return split._replace(tangent=forced, out_nonzeros=list(wanted))
    n_known = len(primal.outvars) - n
    known = iter(primal.outvars[:n_known])
    kept, moved, moved_vars = [], [], []
    for flag, want in zip(split.out_nonzeros, wanted):
        if flag:
            outvars.append(next(old))
        elif want:
            value = next(known)
            var = Var(value.aval)
            moved.append(value)
            moved_vars.append(var)
            outvars.append(var)
        else:
            kept.append(next(known))
    new_primal = rearranged(primal, primal.invars, [*kept, *primal.outvars[n_known:], *moved])
    invars = [*tangent.invars[:n], *moved_vars, *tangent.invars[n:]]
    return LinearizedJaxpr(new_primal, split.consts, rearranged(tangent, invars, outvars), n + len(moved), list(wanted))


def zeros_jaxpr(aval: ShapedArray) -> Jaxpr:
    """A jaxpr without inputs whose output is zeros."""
    with use_trace(None):
        return trace_to_jaxpr(lambda: [instantiate(Zero(aval))], ())
