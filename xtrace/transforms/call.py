"""Calls of jaxprs that stay calls, lowered once however often they are made: the `jit` primitive and its like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.core.jaxpr import Jaxpr
from xtrace.core.primitive import Primitive, as_array
from xtrace.core.trace import use_trace
from xtrace.transforms import logs, refs
from xtrace.transforms.batching import batch_jaxpr
from xtrace.transforms.dead_code import prune_calling_eqn
from xtrace.transforms.jvp import jvp_jaxpr
from xtrace.transforms.linearize import (
    LinearizedJaxpr,
    Tape,
    is_linear_as_it_is,
    linearize_jaxpr,
    split_linear_jaxpr,
    transpose_jaxpr,
)
from xtrace.transforms.saving import split_calling_eqn
from xtrace.transforms.zeros import UndefinedPrimal, Zero, zero_tangent


def _forwarding(primal: Jaxpr, num_residuals: int) -> tuple[Jaxpr, list[tuple[int, int]]]:
    """The primal half of a split without residuals that it needn't return, and where each residual is then.

    A residual that is an operand or another result is no result of its own: it would be a copy. Places are pairs
    (operands or results, index), told apart by 0 and 1.
    """
    n = len(primal.outvars) - num_residuals
    places: dict[Any, tuple[int, int]] = {v: (1, i) for i, v in reversed(list(enumerate(primal.outvars[:n])))}
    places.update([(v, (0, i)) for i, v in enumerate(primal.invars)])
    kept = list(primal.outvars[:n])
    sources = []
    for v in primal.outvars[n:]:
        if v not in places:
            places[v] = (1, len(kept))
            kept.append(v)
        sources.append(places[v])
    if len(kept) < len(primal.outvars):
        primal = Jaxpr([], primal.invars, kept, primal.eqns, primal.effects, primal.debug_info)
    return primal, sources


def call_primitive(
    name: str, of_tangents: Callable[[dict[str, Any]], dict[str, Any]] = lambda params: params
) -> Primitive:
    """A primitive that calls its parameter `jaxpr`, with all its rules: they call what they make of it the same way.

    Args:
      name: of the primitive.
      of_tangents: the other parameters of calls that compute tangents and cotangents alone, from those of the call.
    """
    call_p = Primitive(name, lambda *avals, jaxpr, **params: jaxpr.out_avals)

    def jvp(primals: list[Any], tangents: list[Any], *, jaxpr: Jaxpr, **params: Any) -> Any:
        nonzeros = tuple([type(t) is not Zero for t in tangents])
        derivative, consts, out_nonzeros = jvp_jaxpr(jaxpr, nonzeros)
        given = [t for t in tangents if type(t) is not Zero]
        results = call_p.bind(*consts, *primals, *given, jaxpr=derivative, **params)
        n = len(jaxpr.outvars)
        outs, rest = results[:n], iter(results[n:])
        return outs, [next(rest) if nz else zero_tangent(o) for o, nz in zip(outs, out_nonzeros)]

    def forward(split: LinearizedJaxpr, args: Sequence[Any], params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """Run the primal half of a split: its outputs, and the residuals."""
        n = split.num_residuals
        primal, sources = split.primal.memo(("forwarding", n), lambda: _forwarding(split.primal, n))
        # NumPy arrays can be written to before the backward pass: residuals must not be theirs.
        operands = [*split.consts, *[as_array(a) if type(a) is np.ndarray else a for a in args]]
        results = call_p.bind(*operands, jaxpr=primal, **params)
        places = operands, results
        return results[: len(split.primal.outvars) - n], [places[of][i] for of, i in sources]

    def linearize(tape: Tape, primals: list[Any], tangents: list[Any], *, jaxpr: Jaxpr, **params: Any) -> Any:
        nonzeros = tuple([type(t) is not Zero for t in tangents])
        split = linearize_jaxpr(jaxpr, nonzeros)
        outs, residuals = forward(split, primals, params)
        if not any(split.out_nonzeros):
            return outs, [zero_tangent(o) for o in outs]
        inputs = [t for t in tangents if type(t) is not Zero]
        rest = iter(tape.record(call_p, (*residuals, *inputs), dict(of_tangents(params), jaxpr=split.tangent)))
        return outs, [next(rest) if nz else zero_tangent(o) for o, nz in zip(outs, split.out_nonzeros)]

    def on_tape(tape: Tape, args: tuple[Any, ...], *, jaxpr: Jaxpr, **params: Any) -> list[Any]:
        linear = tuple([tape.owns(a) for a in args])
        split = split_linear_jaxpr(jaxpr, linear)
        if is_linear_as_it_is([split]):
            return tape.record(call_p, args, dict(params, jaxpr=jaxpr))
        with use_trace(tape.parent):
            known, residuals = forward(split, [a for a in args if not tape.owns(a)], params)
        inputs = [a for a in args if tape.owns(a)]
        outs: Any = ()
        if any(split.out_nonzeros):
            outs = tape.record(call_p, (*residuals, *inputs), dict(of_tangents(params), jaxpr=split.tangent))
        it, rest = iter(known), iter(outs)
        return [next(rest) if lin else next(it) for lin in split.out_nonzeros]

    def transpose(cts: list[Any], *args: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
        linear = tuple([type(a) is UndefinedPrimal for a in args])
        ct_nonzeros = tuple([type(c) is not Zero for c in cts])
        transposed, consts, arrives, log_tree, written = transpose_jaxpr(jaxpr, linear, ct_nonzeros, threads_refs=True)
        known = [a for a in args if type(a) is not UndefinedPrimal]
        given = [c for c in cts if type(c) is not Zero]
        outs = call_p.bind(*refs.resolved(consts), *known, *given, jaxpr=transposed, **params)
        results = iter(refs.call_results(written, outs))
        gives = iter(arrives)
        out = [(next(results) if next(gives) else None) if lin else None for lin in linear]
        logs.log_results(log_tree, results)
        return out

    def batch(axis: Any, args: list[Any], dims: list[int | None], *, jaxpr: Jaxpr, **params: Any) -> Any:
        batched, consts, out_dims = batch_jaxpr(jaxpr, axis, tuple(dims))
        return call_p.bind(*consts, *args, jaxpr=batched, **params), out_dims

    call_p.multiple_results = True
    call_p.holds_jaxprs = True
    call_p.prints_as_call = True
    call_p.effects = lambda avals, params: params["jaxpr"].effects
    call_p.jvp, call_p.linearize, call_p.on_tape = jvp, linearize, on_tape
    call_p.transpose, call_p.batch = transpose, batch
    call_p.split_saved, call_p.prune = split_calling_eqn, prune_calling_eqn
    return call_p


#: A call of what `jit` traced. Its other parameter is `name`.
jit_p = call_primitive("jit")
