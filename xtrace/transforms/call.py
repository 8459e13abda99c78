"""The `jit` primitive: a call of a jaxpr that stays a call, lowered once however often it is called."""

from __future__ import annotations

from typing import Any

from xtrace.core.jaxpr import Jaxpr
from xtrace.core.primitive import Primitive
from xtrace.core.trace import use_trace
from xtrace.transforms import logs
from xtrace.transforms.batching import batch_jaxpr
from xtrace.transforms.dead_code import prune_calling_eqn
from xtrace.transforms.jvp import jvp_jaxpr
from xtrace.transforms.linearize import (
    Tape,
    is_linear_as_it_is,
    linearize_jaxpr,
    split_linear_jaxpr,
    transpose_jaxpr,
)
from xtrace.transforms.saving import split_calling_eqn
from xtrace.transforms.zeros import UndefinedPrimal, Zero, zero_tangent


def _jit_avals(*avals: Any, jaxpr: Jaxpr, name: str) -> list[Any]:
    return jaxpr.out_avals


jit_p = Primitive("jit", _jit_avals)
jit_p.multiple_results = True
jit_p.holds_jaxprs = True
jit_p.prints_as_call = True
jit_p.effects = lambda avals, params: params["jaxpr"].effects


def _jvp(primals: list[Any], tangents: list[Any], *, jaxpr: Jaxpr, name: str) -> Any:
    nonzeros = tuple([type(t) is not Zero for t in tangents])
    derivative, consts, out_nonzeros = jvp_jaxpr(jaxpr, nonzeros)
    results = jit_p.bind(*consts, *primals, *[t for t in tangents if type(t) is not Zero], jaxpr=derivative, name=name)
    n = len(jaxpr.outvars)
    outs, rest = results[:n], iter(results[n:])
    return outs, [next(rest) if nz else zero_tangent(o) for o, nz in zip(outs, out_nonzeros)]


def _linearize(tape: Tape, primals: list[Any], tangents: list[Any], *, jaxpr: Jaxpr, name: str) -> Any:
    nonzeros = tuple([type(t) is not Zero for t in tangents])
    split = linearize_jaxpr(jaxpr, nonzeros)
    results = jit_p.bind(*split.consts, *primals, jaxpr=split.primal, name=name)
    n = len(jaxpr.outvars)
    outs, residuals = results[:n], results[n:]
    if not any(split.out_nonzeros):
        return outs, [zero_tangent(o) for o in outs]
    inputs = [t for t in tangents if type(t) is not Zero]
    rest = iter(tape.record(jit_p, (*residuals, *inputs), dict(jaxpr=split.tangent, name=name)))
    return outs, [next(rest) if nz else zero_tangent(o) for o, nz in zip(outs, split.out_nonzeros)]


def _on_tape(tape: Tape, args: tuple[Any, ...], *, jaxpr: Jaxpr, name: str) -> list[Any]:
    linear = tuple([tape.owns(a) for a in args])
    split = split_linear_jaxpr(jaxpr, linear)
    if is_linear_as_it_is([split]):
        return tape.record(jit_p, args, dict(jaxpr=jaxpr, name=name))
    with use_trace(tape.parent):
        known = jit_p.bind(*split.consts, *[a for a in args if not tape.owns(a)], jaxpr=split.primal, name=name)
    n = len(known) - split.num_residuals
    inputs = [a for a in args if tape.owns(a)]
    outs: Any = ()
    if any(split.out_nonzeros):
        outs = tape.record(jit_p, (*known[n:], *inputs), dict(jaxpr=split.tangent, name=name))
    it, rest = iter(known), iter(outs)
    return [next(rest) if lin else next(it) for lin in split.out_nonzeros]


def _transpose(cts: list[Any], *args: Any, jaxpr: Jaxpr, name: str) -> list[Any]:
    linear = tuple([type(a) is UndefinedPrimal for a in args])
    ct_nonzeros = tuple([type(c) is not Zero for c in cts])
    transposed, consts, arrives, log_tree = transpose_jaxpr(jaxpr, linear, ct_nonzeros)
    known = [a for a in args if type(a) is not UndefinedPrimal]
    results = iter(jit_p.bind(*consts, *known, *[c for c in cts if type(c) is not Zero], jaxpr=transposed, name=name))
    gives = iter(arrives)
    out = [(next(results) if next(gives) else None) if lin else None for lin in linear]
    logs.log_results(log_tree, results)
    return out


def _batch(axis: Any, args: list[Any], dims: list[int | None], *, jaxpr: Jaxpr, name: str) -> Any:
    batched, consts, out_dims = batch_jaxpr(jaxpr, axis, tuple(dims))
    return jit_p.bind(*consts, *args, jaxpr=batched, name=name), out_dims


jit_p.jvp = _jvp
jit_p.linearize = _linearize
jit_p.on_tape = _on_tape
jit_p.transpose = _transpose
jit_p.batch = _batch
jit_p.split_saved = split_calling_eqn
jit_p.prune = prune_calling_eqn
