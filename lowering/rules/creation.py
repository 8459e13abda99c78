"""Lowering of arrays made from nothing."""

from __future__ import annotations

from typing import Any

from xtrace.lax import creation
from xtrace.lowering.lower import Body


def _iota(ctx: Body, eqn: Any) -> Any:
    return ctx.op("stablehlo.iota", eqn.outvars[0].aval, [], {"iota_dimension": ctx.mlir.i64(eqn.params["dimension"])})


creation.iota_p.lower = _iota
