"""Lowering of calls of foreign functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from xtrace.lax import foreign_calls
from xtrace.lax.attributes import plain
from xtrace.lowering.custom_calls import ffi_lowering
from xtrace.lowering.registered import LoweringRuleContext, register_lowering


def _ffi_call(
    ctx: LoweringRuleContext,
    *operands: ir.Value,
    target_name: str,
    has_side_effect: bool,
    input_layouts: tuple[tuple[int, ...], ...],
    output_layouts: tuple[tuple[int, ...], ...],
    input_output_aliases: tuple[tuple[int, int], ...],
    custom_call_api_version: int,
    legacy_backend_config: str | None,
    attributes: Any,
    **_: Any,
) -> Sequence[ir.Value]:
    rule = ffi_lowering(
        target_name,
        operand_layouts=input_layouts,
        result_layouts=output_layouts,
        backend_config=legacy_backend_config,
        has_side_effect=has_side_effect,
        operand_output_aliases=dict(input_output_aliases),
        api_version=custom_call_api_version,
    )
    return rule(ctx, *operands, **plain(attributes))


register_lowering(foreign_calls.ffi_call_p, _ffi_call)
