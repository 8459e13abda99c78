"""Calls of solver libraries' kernels: a primitive that only lowering rules bind, in functions written with lax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive
from xtrace.lowering.layouts import layouts
from xtrace.lowering.lower import Body

solver_call_p = Primitive("solver_call", lambda *avals, out_avals, **params: list(out_avals))
solver_call_p.multiple_results = True


def solver_call(
    target: str,
    operands: Sequence[Any],
    out_avals: Sequence[ShapedArray],
    attributes: dict[str, str] | None = None,
    *,
    batch: int,
    aliases: Sequence[tuple[int, int]] = (),
    row_major: bool = False,
) -> list[Any]:
    """Call a kernel of the typed FFI.

    Args:
      target: its name.
      operands, out_avals: what it takes and gives.
      attributes: by name, as MLIR text.
      batch: how many leading axes count the problems: what follows are matrices, vectors or numbers.
      aliases: (operand, result) pairs that share a buffer.
      row_major: whether matrices are handed over row by row; else column by column, as Fortran has them.
    """
    return solver_call_p.bind(
        *operands,
        target=target,
        out_avals=tuple(out_avals),
        attributes=tuple((attributes or {}).items()),
        batch=batch,
        aliases=tuple(aliases),
        row_major=row_major,
    )


def _order(rank: int, batch: int, row_major: bool) -> list[int]:
    order = list(range(rank - 1, -1, -1))
    if rank - batch == 2 and not row_major:
        order[:2] = [rank - 2, rank - 1]
    return order


def _lower(ctx: Body, eqn: Any, *operands: Any) -> Any:
    params, mlir = eqn.params, ctx.mlir
    outs, batch, row_major = params["out_avals"], params["batch"], params["row_major"]

    config = ", ".join([f"{k} = {v}" for k, v in params["attributes"]])
    attributes = {
        "call_target_name": mlir.string(params["target"]),
        "api_version": mlir.i32(4),
        "backend_config": mlir.parsed(f"{{{config}}}"),
        "operand_layouts": layouts(mlir, [_order(v.aval.ndim, batch, row_major) for v in eqn.invars]),
        "result_layouts": layouts(mlir, [_order(a.ndim, batch, row_major) for a in outs]),
    }
    if params["aliases"]:
        aliases = [
            f"#stablehlo.output_operand_alias<output_tuple_indices = [{o if len(outs) > 1 else ''}], "
            f"operand_index = {i}, operand_tuple_indices = []>"
            for i, o in params["aliases"]
        ]
        attributes["output_operand_aliases"] = mlir.parsed(f"[{', '.join(aliases)}]")
    return list(ctx.ops("stablehlo.custom_call", list(outs), operands, attributes).results)


solver_call_p.lower = _lower


def compiler_call(ctx: Body, target: str, operands: Sequence[Any], outs: Sequence[Any], config: str = "") -> list[Any]:
    """Append a custom call that XLA itself expands, on TPUs."""
    mlir = ctx.mlir
    attributes = {"call_target_name": mlir.string(target), "backend_config": mlir.string(config)}
    return list(ctx.ops("stablehlo.custom_call", list(outs), operands, attributes).results)
