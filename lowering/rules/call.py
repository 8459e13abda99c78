"""Lowering of calls."""

from __future__ import annotations

from typing import Any

from xtrace.lowering.lower import Body
from xtrace.transforms.call import jit_p


def _jit(ctx: Body, eqn: Any, *operands: Any) -> Any:
    return ctx.call(eqn.params["jaxpr"], eqn.params["name"], operands)


jit_p.lower = _jit
