"""Lowering of calls of exported programs."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from xtrace.core import dtypes
from xtrace.lowering import portable
from xtrace.lowering.lower import Body
from xtrace.runtime import lapack
from xtrace.transforms.exported import call_exported_p


def _call_exported(ctx: Body, eqn: Any, *operands: Any) -> Any:
    exported = eqn.params["exported"]
    (platform,) = ctx.platforms
    unchecked = any(str(check) == "platform" for check in exported.disabled_safety_checks)
    if platform not in exported.platforms and not unchecked:
        raise ValueError(
            f"Function '{exported.fun_name}' was exported for platforms '{exported.platforms}' but it is used on "
            f"'{ctx.platforms}'. Export it with platforms=[..., {platform!r}]."
        )
    shared = ctx.builder.shared_functions
    key = ("exported", id(exported))
    symbol = shared.get(key)
    if symbol is None:
        if platform == "cpu":
            lapack.ensure_for(exported.mlir_module_serialized)
        module = portable.from_portable(exported.mlir_module_serialized, ctx.mlir.context)
        symbol = portable.absorb(
            ctx.builder.module, module, lambda old: ctx.builder.fresh_name(f"{exported.fun_name}_{old}")
        )
        shared[key] = symbol
    real = [i for i, a in enumerate(exported.in_avals) if a.dtype != dtypes.float0]
    by_position = dict(zip(real, operands))
    passed = [by_position[i] for i in exported.module_kept_var_idx]
    if len(exported.platforms) > 1:
        index = exported.platforms.index(platform) if platform in exported.platforms else 0
        passed.insert(0, ctx.scalar(index, dtypes.as_dtype("int32")))
    types = [ctx.mlir.aval_type(a) for a in exported.out_avals]
    callee = {"callee": ir.FlatSymbolRefAttr.get(symbol, ctx.mlir.context)}
    results = list(ctx.ops("func.call", types, passed, callee).results)
    return [r for r, a in zip(results, exported.out_avals) if a.dtype != dtypes.float0]


call_exported_p.lower = _call_exported
