"""`remat_opt`: the fwd rule of a custom_vjp function that is the function itself wherever nobody reads residuals.

Rematerialization throws residuals away in the forward pass, and computes them again for the backward one. A rule given
with `optimize_remat=True` is staged as one equation beside the function's own program; removal of dead code puts the
function in its place where the results alone are wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core.jaxpr import DebugInfo, Jaxpr, JaxprEqn
from xtrace.core.primitive import Primitive, as_array, shaped
from xtrace.transforms import call, refs
from xtrace.transforms.batching import batch_jaxpr, move_axis
from xtrace.transforms.linearize import Tape
from xtrace.transforms.staging import closed_call_operands, trace_to_jaxpr

remat_opt_p = Primitive("remat_opt", lambda *avals, fwd_jaxpr, **_: fwd_jaxpr.out_avals)
remat_opt_p.multiple_results = True
remat_opt_p.holds_jaxprs = True
remat_opt_p.hidden_params = frozenset(["num_consts"])
remat_opt_p.effects = lambda avals, params: params["fwd_jaxpr"].effects


def bind(body: Any, name: str, fwd: Any, primals: Sequence[Any]) -> tuple[list[Any], list[Any], Any]:
    """(outs, residuals, info) of the rule `fwd(*primals)`, recorded together with the function, a StagedBody."""
    told: list[Any] = []

    def flat(*leaves: Any) -> list[Any]:
        outs, residuals, info = fwd(leaves)
        told[:] = len(outs), info
        return [*outs, *residuals]

    avals = [shaped(x) for x in primals]
    staged = trace_to_jaxpr(flat, avals, DebugInfo(f"{name}_fwd", "custom_vjp fwd"))
    fwd_jaxpr, fwd_consts = closed_call_operands(staged)
    consts = refs.resolved(body.consts) if body.captures else body.consts
    n, info = told
    results = remat_opt_p.bind(
        *consts,
        *fwd_consts,
        *[as_array(x) for x in primals],
        call_jaxpr=body.jaxpr,
        fwd_jaxpr=fwd_jaxpr,
        num_consts=(len(consts), len(fwd_consts)),
        name=name,
    )
    return results[:n], results[n:], info


def _halves(xs: Sequence[Any], num_consts: tuple[int, int]) -> tuple[list[Any], list[Any]]:
    """What the function is called with, and what the rule is, of the operands or of a list with one for each."""
    own, others = num_consts
    args = xs[own + others :]
    return [*xs[:own], *args], [*xs[own : own + others], *args]


def _prune(eqn: JaxprEqn, wanted: Sequence[bool]) -> JaxprEqn:
    jaxpr: Jaxpr = eqn.params["call_jaxpr"]
    n = len(jaxpr.outvars)
    if any(wanted[n:]):
        return eqn
    operands, _ = _halves(eqn.invars, eqn.params["num_consts"])
    called = JaxprEqn(
        call.jit_p,
        operands,
        eqn.outvars[:n],
        dict(jaxpr=jaxpr, name=eqn.params["name"]),
        eqn.position,
        jaxpr.effects,
        eqn.name_stack,
    )
    return call.jit_p.prune(called, wanted[:n])  # type: ignore[misc]


def _batch(
    axis: Any,
    args: list[Any],
    dims: list[int | None],
    *,
    call_jaxpr: Jaxpr,
    fwd_jaxpr: Jaxpr,
    num_consts: tuple[int, int],
    name: str,
) -> tuple[list[Any], list[int | None]]:
    moved = [x if d is None else move_axis(x, d, 0, axis.size) for x, d in zip(args, dims)]
    fun_dims, rule_dims = _halves([None if d is None else 0 for d in dims], num_consts)
    mapped = tuple([d is not None for d in batch_jaxpr(fwd_jaxpr, axis, tuple(rule_dims)).outs])
    n = len(call_jaxpr.outvars)
    of_fun = [d is not None for d in batch_jaxpr(call_jaxpr, axis, tuple(fun_dims)).outs]
    mapped = (*[a or b for a, b in zip(mapped, of_fun)], *mapped[n:])
    fun, fun_consts, _ = batch_jaxpr(call_jaxpr, axis, tuple(fun_dims), mapped[:n])
    rule, rule_consts, _ = batch_jaxpr(fwd_jaxpr, axis, tuple(rule_dims), mapped)
    own, others = num_consts
    outs = remat_opt_p.bind(
        *fun_consts,
        *moved[:own],
        *rule_consts,
        *moved[own:],
        call_jaxpr=fun,
        fwd_jaxpr=rule,
        num_consts=(own + len(fun_consts), others + len(rule_consts)),
        name=name,
    )
    return outs, [0 if m else None for m in mapped]


def _as_call(args: Sequence[Any], params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Operands and parameters of a call of the rule alone: what is differentiated once more is just a program."""
    _, operands = _halves(args, params["num_consts"])
    return operands, dict(jaxpr=params["fwd_jaxpr"], name=f"{params['name']}_fwd")


def _jvp(primals: list[Any], tangents: list[Any], **params: Any) -> Any:
    operands, called = _as_call(primals, params)
    return call.jit_p.jvp(operands, _as_call(tangents, params)[0], **called)  # type: ignore[misc]


def _linearize(tape: Tape, primals: list[Any], tangents: list[Any], **params: Any) -> Any:
    operands, called = _as_call(primals, params)
    return call.jit_p.linearize(tape, operands, _as_call(tangents, params)[0], **called)  # type: ignore[misc]


def _on_tape(tape: Tape, args: tuple[Any, ...], **params: Any) -> Any:
    operands, called = _as_call(args, params)
    return call.jit_p.on_tape(tape, tuple(operands), **called)  # type: ignore[misc]


remat_opt_p.prune = _prune
remat_opt_p.prunes_where_lowered = True
remat_opt_p.batch = _batch
remat_opt_p.jvp = _jvp
remat_opt_p.linearize = _linearize
remat_opt_p.on_tape = _on_tape

__all__ = ["bind", "remat_opt_p"]
