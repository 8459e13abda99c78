"""Rematerialization: a function whose derivative keeps its inputs, and what a policy allows, in place of all else.

`remat_p` calls a jaxpr. Differentiated, it becomes two: the forward call gives the outputs and what the policy saves;
the linear one, recorded on the tape, takes those, the inputs it reads and the tangents, and computes the rest again.
`name_p` gives a value the name by which policies know it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, JaxprEqn, Literal
from xtrace.core.primitive import Primitive
from xtrace.core.trace import use_trace
from xtrace.transforms import logs, refs
from xtrace.transforms.batching import batch_jaxpr
from xtrace.transforms.dead_code import prune_calling_eqn, prune_jaxpr
from xtrace.transforms.jvp import jvp_jaxpr
from xtrace.transforms.linearize import (
    LinearizedJaxpr,
    Tape,
    linearize_jaxpr,
    split_linear_jaxpr,
    transpose_jaxpr,
)
from xtrace.transforms.saving import Policy, real_effects, split_calling_eqn, split_saved
from xtrace.transforms.staging import memo_transformed
from xtrace.transforms.zeros import UndefinedPrimal, Zero, zero_tangent

remat_p = Primitive("remat2", lambda *avals, jaxpr, **_: jaxpr.out_avals)
remat_p.multiple_results = True
remat_p.holds_jaxprs = True
remat_p.effects = lambda avals, params: params["jaxpr"].effects
remat_p.split_saved = split_calling_eqn
remat_p.prune = prune_calling_eqn

#: Effects that may happen twice, in the forward pass and in the recomputation: those of debugging.
repeatable_effects: set[Any] = set()

#: Called with (saved inputs, variables saved, forward jaxpr) of every function that is differentiated.
on_saved: Any = None


def set_observer(observe: Any) -> None:
    """Plug in what is told about residuals."""
    global on_saved
    on_saved = observe


class RematHalves(NamedTuple):
    """A jaxpr split in two. `forward`: (consts, args) -> (outs, saved); `linear`: (saved, some of those, tangents)."""

    forward: Jaxpr
    consts: list[Any]
    linear: Jaxpr
    num_saved: int
    #: Which of (consts, args) the linear half reads.
    used: list[bool]
    out_nonzeros: list[bool]


def _joined(split: LinearizedJaxpr, policy: Policy | None) -> RematHalves:
    """The halves of a linearized jaxpr, with what is computed again moved to the front of the linear one."""
    n = len(split.primal.outvars) - split.num_residuals
    wanted = (*[False] * n, *[True] * split.num_residuals)
    forward, saved, recompute, used = split_saved(split.primal, wanted, policy)
    tangent = split.tangent
    value = dict(zip(tangent.invars[: split.num_residuals], recompute.outvars))
    eqns = [*recompute.eqns, *[_substituted(e, value) for e in tangent.eqns]]
    inputs = [*recompute.invars, *tangent.invars[split.num_residuals :]]
    effects = recompute.effects | tangent.effects
    linear = Jaxpr([], inputs, tangent.outvars, eqns, effects, tangent.debug_info)
    every_tangent = [*[False] * len(recompute.invars), *[True] * (len(inputs) - len(recompute.invars))]
    linear, read = prune_jaxpr(linear, (True,) * len(linear.outvars), tuple(every_tangent))
    k = len(saved)
    saved = [v for v, r in zip(saved, read) if r]
    rest = iter(read[k:])
    used = [next(rest) if u else False for u in used]
    outs = [*[True] * n, *[False] * split.num_residuals, *read[:k]]
    forward, _ = prune_jaxpr(forward, tuple(outs), (True,) * len(forward.invars))
    return RematHalves(forward, split.consts, linear, len(saved), used, split.out_nonzeros)


def _substituted(eqn: JaxprEqn, value: dict[Any, Any]) -> JaxprEqn:
    invars = [v if type(v) is Literal else value.get(v, v) for v in eqn.invars]
    return eqn if invars == list(eqn.invars) else eqn.replace(invars=invars)


def _flags(prevent_cse: bool | tuple[bool, ...], n: int) -> Sequence[bool]:
    return (prevent_cse,) * n if isinstance(prevent_cse, bool) else prevent_cse


def _simplest(flags: Sequence[bool]) -> bool | tuple[bool, ...]:
    """One bool where all operands have the same."""
    return tuple(flags) if len(set(flags)) > 1 else (flags[0] if flags else True)


def _check_effects(jaxpr: Jaxpr) -> None:
    refused = [e for e in real_effects(jaxpr.effects) if e not in repeatable_effects]
    if refused:
        raise NotImplementedError(
            f"Effects not supported in AD of `checkpoint`/`remat`: {refused}. The function "
            f"{jaxpr.debug_info.func_name} "
            "would run twice, once forward and once to compute its intermediate results again; take what has effects "
            "out of it."
        )


def _linearize(
    tape: Tape, primals: list[Any], tangents: list[Any], *, jaxpr: Jaxpr, prevent_cse: Any, policy: Any, **params: Any
) -> Any:
    _check_effects(jaxpr)
    nonzeros = tuple([type(t) is not Zero for t in tangents])
    halves: RematHalves = memo_transformed(
        jaxpr, ("remat", nonzeros, policy), lambda j, *_: _joined(linearize_jaxpr(j, nonzeros), policy)
    )
    if on_saved is not None:
        on_saved(jaxpr, halves)
    inputs = [t for t in tangents if type(t) is not Zero]
    outs, touts = _run_halves(tape, halves, primals, inputs, _flags(prevent_cse, len(primals)), policy, params)
    rest = iter(touts)
    return outs, [next(rest) if nz else zero_tangent(o) for o, nz in zip(outs, halves.out_nonzeros)]


def _run_halves(
    tape: Tape,
    halves: RematHalves,
    known: Sequence[Any],
    inputs: Sequence[Any],
    flags: Sequence[bool],
    policy: Any,
    params: dict[str, Any],
) -> tuple[list[Any], list[Any]]:
    """Run the forward half, and record the linear one if there is anything to it."""
    operands = [*halves.consts, *known]
    cse = [*[True] * len(halves.consts), *flags]
    with use_trace(tape.parent):
        results = remat_p.bind(
            *operands, jaxpr=halves.forward, prevent_cse=_simplest(cse), policy=policy, differentiated=False
        )
    n = len(results) - halves.num_saved
    if not halves.linear.outvars:
        return results[:n], []
    read = [x for x, used in zip(operands, halves.used) if used]
    cse = [True] * halves.num_saved + [c for c, used in zip(cse, halves.used) if used] + [any(flags)] * len(inputs)
    if not any(flags):
        cse = [False] * len(cse)
    linear = dict(jaxpr=halves.linear, prevent_cse=_simplest(cse), policy=policy, differentiated=True)
    return results[:n], tape.record(remat_p, (*results[n:], *read, *inputs), linear)


def _on_tape(
    tape: Tape, args: tuple[Any, ...], *, jaxpr: Jaxpr, prevent_cse: Any, policy: Any, **params: Any
) -> list[Any]:
    linear = tuple([tape.owns(a) for a in args])
    split = split_linear_jaxpr(jaxpr, linear)
    if all(split.out_nonzeros):  # linear as a whole: transposition tells the known operands apart
        return tape.record(  # type: ignore[no-any-return]
            remat_p, args, dict(jaxpr=jaxpr, prevent_cse=prevent_cse, policy=policy, **params)
        )
    halves: RematHalves = memo_transformed(
        jaxpr, ("remat split", linear, policy), lambda j, *_: _joined(split_linear_jaxpr(j, linear), policy)
    )
    flags = [f for f, lin in zip(_flags(prevent_cse, len(args)), linear) if not lin]
    known = [a for a in args if not tape.owns(a)]
    outs, louts = _run_halves(tape, halves, known, [a for a in args if tape.owns(a)], flags, policy, params)
    it, rest = iter(outs), iter(louts)
    return [next(rest) if lin else next(it) for lin in split.out_nonzeros]


def _transpose(
    cts: list[Any], *args: Any, jaxpr: Jaxpr, prevent_cse: Any, policy: Any, differentiated: bool
) -> list[Any]:
    linear = tuple([type(a) is UndefinedPrimal for a in args])
    ct_nonzeros = tuple([type(c) is not Zero for c in cts])
    transposed, consts, arrives, log_tree, written = transpose_jaxpr(jaxpr, linear, ct_nonzeros, threads_refs=True)
    body, used = prune_jaxpr(transposed, (True,) * len(transposed.outvars))
    given = [c for c in cts if type(c) is not Zero]
    flags = _flags(prevent_cse, len(args))
    pinned = any(flags)
    operands = [*refs.resolved(consts), *[a for a, lin in zip(args, linear) if not lin], *given]
    cse = [*[pinned] * len(consts), *[f for f, lin in zip(flags, linear) if not lin], *[pinned] * len(given)]
    outs = remat_p.bind(
        *[x for x, u in zip(operands, used) if u],
        jaxpr=body,
        prevent_cse=_simplest([c for c, u in zip(cse, used) if u]),
        policy=policy,
        differentiated=differentiated,
    )
    results = iter(refs.call_results(written, outs))
    gives = iter(arrives)
    out = [(next(results) if next(gives) else None) if lin else None for lin in linear]
    logs.log_results(log_tree, results)
    return out


def _jvp(primals: list[Any], tangents: list[Any], *, jaxpr: Jaxpr, prevent_cse: Any, **params: Any) -> Any:
    nonzeros = tuple([type(t) is not Zero for t in tangents])
    derivative, consts, out_nonzeros = jvp_jaxpr(jaxpr, nonzeros)
    flags = _flags(prevent_cse, len(primals))
    cse = [*[True] * len(consts), *flags, *[f for f, nz in zip(flags, nonzeros) if nz]]
    results = remat_p.bind(
        *consts,
        *primals,
        *[t for t in tangents if type(t) is not Zero],
        jaxpr=derivative,
        prevent_cse=_simplest(cse),
        **params,
    )
    n = len(jaxpr.outvars)
    outs, rest = results[:n], iter(results[n:])
    return outs, [next(rest) if nz else zero_tangent(o) for o, nz in zip(outs, out_nonzeros)]


def _batch(axis: Any, args: list[Any], dims: list[int | None], *, jaxpr: Jaxpr, prevent_cse: Any, **params: Any) -> Any:
    batched, consts, out_dims = batch_jaxpr(jaxpr, axis, tuple(dims))
    cse = [*[True] * len(consts), *_flags(prevent_cse, len(args))]
    return remat_p.bind(*consts, *args, jaxpr=batched, prevent_cse=_simplest(cse), **params), out_dims


remat_p.jvp = _jvp
remat_p.linearize = _linearize
remat_p.on_tape = _on_tape
remat_p.transpose = _transpose
remat_p.batch = _batch


# -- names -----------------------------------------------------------------------------------------------------------


def _same(x: ShapedArray, *, name: str) -> ShapedArray:
    return x


name_p = Primitive("name", _same)
name_p.elementwise = True
name_p.impl = lambda x, *, name: x
# The tangent has no name: policies speak of primal values.
name_p.jvp = lambda primals, tangents, *, name: (name_p.bind(primals[0], name=name), tangents[0])
name_p.transpose = lambda ct, x, *, name: [ct]
name_p.batch = lambda axis, args, dims, *, name: (name_p.bind(args[0], name=name), dims[0])

__all__ = ["RematHalves", "name_p", "remat_p", "repeatable_effects", "set_observer"]
