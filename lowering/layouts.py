"""Layouts of operands and results of custom calls: axes in the order minor to major."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from xtrace.core import dtypes
from xtrace.core.avals import AbstractToken
from xtrace.lowering.mlir_context import MLIRContext


def row_major(aval: Any) -> tuple[int, ...]:
    """The order of axes in which Python and C have arrays. Keys and the like are stored with axes more."""
    if isinstance(aval, AbstractToken):
        return ()
    dtype = aval.dtype
    rank = aval.ndim + (len(dtype.physical_shape) if isinstance(dtype, dtypes.ExtendedDtype) else 0)
    return tuple(range(rank - 1, -1, -1))


def layouts(mlir: MLIRContext, orders: Sequence[Sequence[int]]) -> ir.Attribute:
    """The attribute `operand_layouts` or `result_layouts`."""
    each = [f"dense<{list(o) if o else ''}> : tensor<{len(o)}xindex>" for o in orders]
    return mlir.parsed(f"[{', '.join(each)}]")
