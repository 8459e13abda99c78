"""Calls of linear functions that bring their own transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xtrace.core import pytree
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, eval_jaxpr
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax.control_flow import common
from xtrace.transforms.accumulate import add_tangents
from xtrace.transforms.batching import MappedAxis, batch_jaxpr, move_axis
from xtrace.transforms.jvp import jvp_flat
from xtrace.transforms.linearize import Tape
from xtrace.transforms.zeros import UndefinedPrimal, Zero, instantiate, zero_tangent

_flatten = pytree.default_registry.flatten


def linear_call(
    fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: Any, linear_args: Any
) -> Any:
    """`fun(residual_args, linear_args)`, whose transpose is `fun_transpose`.

    Args:
      fun: linear in its second argument.
      fun_transpose: `fun_transpose(residual_args, out_cotangent)` gives the cotangent of `linear_args`, of the same
        structure and types.
      residual_args, linear_args: arrays or pytrees.

    Returns:
      What `fun` returns. Transposing twice gives `fun` again.

    Raises:
      TypeError: `fun_transpose` gives another structure or other types than those of `linear_args`.

    Example:
      >>> import xtrace as xt
      >>> halve = lambda x: xt.custom_derivatives.linear_call(lambda r, x: x / r, lambda r, t: 10 * t, 2.0, x)
      >>> float(halve(3.0)), float(xt.linear_transpose(halve, 1.0)(3.0)[0])
      (1.5, 30.0)
    """
    residuals, res_tree = common.checked_leaves("linear_call: residual_args", residual_args)
    operands, lin_tree = common.checked_leaves("linear_call: linear_args", linear_args)
    in_avals = tuple([shaped(x) for x in (*residuals, *operands)])
    tree = pytree.tree_structure((residual_args, linear_args))
    there = common.read_only("linear_call fun", common.stage(fun, "linear_call fun", fun, tree, in_avals))
    out_avals = tuple([a.tangent() for a in there.out_avals])
    example = there.out_tree.unflatten(out_avals)
    back_tree = _flatten((residual_args, example))[1]
    res_avals = in_avals[: len(residuals)]
    what = "linear_call fun_transpose"
    back = common.stage(fun_transpose, what, fun_transpose, back_tree, (*res_avals, *out_avals))
    back = common.read_only(what, back)
    if back.out_tree != lin_tree:
        raise TypeError(
            f"transpose output pytree structure must match that of linear inputs, got output structure {back.out_tree} "
            f"and input structure {lin_tree}."
        )
    for path, want, got in zip(common.paths_of(lin_tree), in_avals[len(residuals) :], back.out_avals):
        if not common.same_type(want.tangent(), got):
            raise TypeError(
                f"linear_call: fun_transpose gives {got.str_short(False)} as the cotangent of linear_args"
                f"{pytree.keystr(path)}, which has type {want.str_short(False)}."
            )
    outs = linear_call_p.bind(
        *there.consts,
        *back.consts,
        *residuals,
        *operands,
        fun=there.jaxpr,
        fun_transpose=back.jaxpr,
        num_consts=(len(there.consts), len(back.consts)),
        num_res=len(residuals),
    )
    return there.out_tree.unflatten(outs)


def _parts(args: Sequence[Any], num_consts: tuple[int, int], num_res: int) -> list[list[Any]]:
    """Operands: what each function closes over, residuals, linear operands."""
    out, start = [], 0
    for n in (*num_consts, num_res):
        out.append(list(args[start : start + n]))
        start += n
    return [*out, list(args[start:])]


def _avals(*avals: ShapedArray, fun: Jaxpr, **_: Any) -> list[ShapedArray]:
    return fun.out_avals


linear_call_p = Primitive("linear_call", _avals)
linear_call_p.multiple_results = True
linear_call_p.holds_jaxprs = True
linear_call_p.effects = lambda avals, params: params["fun"].effects


def _run(args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The function itself, without its transpose."""
    consts, _, res, operands = _parts(args, params["num_consts"], params["num_res"])
    return eval_jaxpr(params["fun"], (), *consts, *res, *operands)


def _jvp(primals: list[Any], tangents: list[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    outs = linear_call_p.bind(*primals, **params)
    n = sum(params["num_consts"]) + params["num_res"]
    out_tangents: list[Any] = [zero_tangent(o) for o in outs]
    if any([type(t) is not Zero for t in tangents[n:]]):
        out_tangents = linear_call_p.bind(*primals[:n], *[instantiate(t) for t in tangents[n:]], **params)
    if any([type(t) is not Zero for t in tangents[:n]]):  # nonlinear in those: by the function itself
        fixed = primals[n:]
        _, more = jvp_flat(lambda *xs: _run((*xs, *fixed), params), primals[:n], tangents[:n])
        out_tangents = [
            b if type(a) is Zero else a if type(b) is Zero else add_tangents(a, b) for a, b in zip(out_tangents, more)
        ]
    return outs, out_tangents


def _on_tape(tape: Tape, args: tuple[Any, ...], **params: Any) -> list[Any]:
    n = sum(params["num_consts"]) + params["num_res"]
    if any([tape.owns(a) for a in args[:n]]):
        return _run(args, params)
    return tape.record(linear_call_p, args, params)  # type: ignore[no-any-return]


def _transpose(
    cts: list[Any],
    *args: Any,
    fun: Jaxpr,
    fun_transpose: Jaxpr,
    num_consts: tuple[int, int],
    num_res: int,
) -> list[Any]:
    consts, back_consts, res, operands = _parts(args, num_consts, num_res)
    results = linear_call_p.bind(
        *back_consts,
        *consts,
        *res,
        *[instantiate(c) for c in cts],
        fun=fun_transpose,
        fun_transpose=fun,
        num_consts=num_consts[::-1],
        num_res=num_res,
    )
    n = len(args) - len(operands)
    return [*[None] * n, *[r if type(x) is UndefinedPrimal else None for x, r in zip(operands, results)]]


def _batch(
    axis: MappedAxis,
    args: list[Any],
    dims: list[int | None],
    *,
    fun: Jaxpr,
    fun_transpose: Jaxpr,
    num_consts: tuple[int, int],
    num_res: int,
) -> Any:
    # Linear operands and results are all mapped, so that the two functions stay each other's transpose.
    consts, back_consts, res, operands = _parts(args, num_consts, num_res)
    const_dims, back_dims, res_dims, operand_dims = _parts(dims, num_consts, num_res)
    operands = [move_axis(x, d, 0, axis.size) for x, d in zip(operands, operand_dims)]
    n_in, n_out = len(operands), len(fun.outvars)
    there = batch_jaxpr(fun, axis, (*const_dims, *res_dims, *[0] * n_in), (True,) * n_out)
    back = batch_jaxpr(fun_transpose, axis, (*back_dims, *res_dims, *[0] * n_out), (True,) * n_in)
    outs = linear_call_p.bind(
        *there.consts,
        *consts,
        *back.consts,
        *back_consts,
        *res,
        *operands,
        fun=there.jaxpr,
        fun_transpose=back.jaxpr,
        num_consts=(len(there.consts) + len(consts), len(back.consts) + len(back_consts)),
        num_res=num_res,
    )
    return outs, [0] * n_out


linear_call_p.jvp = _jvp
linear_call_p.on_tape = _on_tape
linear_call_p.transpose = _transpose
linear_call_p.batch = _batch

__all__ = ["linear_call", "linear_call_p"]
