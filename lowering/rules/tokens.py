"""Lowering of ordering tokens."""

from __future__ import annotations

from typing import Any

from xtrace.lax.tokens import after_all_p, create_token_p
from xtrace.lowering.lower import Body


def _create(ctx: Body, eqn: Any) -> Any:
    return ctx.op("stablehlo.create_token", ctx.mlir.token, [])


def _join(ctx: Body, eqn: Any, *tokens: Any) -> Any:
    return ctx.op("stablehlo.after_all", ctx.mlir.token, list(tokens))


create_token_p.lower = _create
after_all_p.lower = _join
