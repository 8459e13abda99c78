"""Lowering of sinks: nothing, or a call that the compiler must keep."""

from __future__ import annotations

from typing import Any

from xtrace.lax import sinks
from xtrace.lowering.layouts import layouts, row_major
from xtrace.lowering.lower import Body


def _dce_sink(ctx: Body, eqn: Any, operand: Any) -> list[Any]:
    if eqn.params["prevent_mlir_dce"]:
        mlir = ctx.mlir
        attributes = {
            "call_target_name": mlir.string("dce_sink"),
            "api_version": mlir.i32(4),
            "has_side_effect": mlir.boolean(True),
            "backend_config": mlir.parsed("{}"),
            "operand_layouts": layouts(mlir, [row_major(eqn.invars[0].aval)]),
            "result_layouts": layouts(mlir, []),
        }
        ctx.ops("stablehlo.custom_call", [], [operand], attributes)
    return []


sinks.dce_sink_p.lower = _dce_sink
