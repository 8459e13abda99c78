"""Lowering of placement."""

from __future__ import annotations

from typing import Any

from xtrace.core.sharding_text import sharding_text
from xtrace.lowering.layouts import layouts, row_major
from xtrace.lowering.lower import Body
from xtrace.transforms.placement import device_put_p, layout_constraint_p, sharding_constraint_p

#: Memory space -> what XLA calls it.
_MEMORIES = {"Device": "device", "Host": "pinned_host"}


def _device_put(ctx: Body, eqn: Any, x: Any) -> Any:
    placement = _MEMORIES.get(getattr(eqn.params["device"], "name", ""))
    if placement is None:
        return x  # one program runs on one set of devices: there is nothing to move inside it
    attributes = {
        "call_target_name": ctx.mlir.string("annotate_device_placement"),
        "has_side_effect": ctx.mlir.parsed("true"),
        "mhlo.frontend_attributes": ctx.mlir.parsed(f'{{_xla_buffer_placement = "{placement}"}}'),
    }
    return ctx.op("stablehlo.custom_call", eqn.outvars[0].aval, [x], attributes)


device_put_p.lower = _device_put


def _sharding_constraint(ctx: Body, eqn: Any, x: Any) -> Any:
    sharding = eqn.params["sharding"]
    if ctx.builder.num_partitions == 1 or getattr(sharding, "spec", None) is None:
        return x
    aval = eqn.outvars[0].aval
    attribute = ctx.mlir.parsed(sharding_text(sharding, aval.ndim, ctx.builder.mesh_symbol(sharding.mesh)))
    return ctx.op("sdy.sharding_constraint", aval, [x], {"sharding": attribute})


sharding_constraint_p.lower = _sharding_constraint


def _layout_constraint(ctx: Body, eqn: Any, x: Any) -> Any:
    aval = eqn.outvars[0].aval
    attributes = {
        "call_target_name": ctx.mlir.string("LayoutConstraint"),
        "operand_layouts": layouts(ctx.mlir, [row_major(aval)]),
        "result_layouts": layouts(ctx.mlir, [eqn.params["layout"].major_to_minor[::-1]]),
    }
    return ctx.op("stablehlo.custom_call", aval, [x], attributes)


layout_constraint_p.lower = _layout_constraint
