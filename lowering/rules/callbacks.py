"""Lowering of callbacks: custom calls that name a Python function by its place among those of the program."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from xtrace.core import effects, source
from xtrace.core.host_calls import HostCall
from xtrace.lax import callbacks
from xtrace.lowering.layouts import layouts, row_major
from xtrace.lowering.lower import Body, LoweringError
from xtrace.runtime import jaxlib_api

#: Platform -> the name by which jaxlib's custom calls know it.
_DEVICES = {"cpu": "cpu", "cuda": "gpu", "rocm": "gpu"}


def _host_call(ctx: Body, eqn: Any, *operands: Any) -> Any:
    params, name, mlir = eqn.params, eqn.primitive.name, ctx.mlir
    platforms = ctx.builder.platforms
    if len(platforms) != 1 or platforms[0] not in _DEVICES:
        raise LoweringError(
            f"{name} at {source.describe(eqn.position)} can't be compiled for {' and '.join(platforms)}: calls "
            f"into Python are compiled for one platform at a time, which is one of {', '.join(_DEVICES)}."
        )
    ordered = effects.ordered_effects(eqn.effects)
    in_avals = tuple([v.aval for v in eqn.invars])
    out_avals = tuple([v.aval for v in eqn.outvars])
    call = HostCall(name, eqn.primitive.host(**params), in_avals, out_avals, bool(ordered))
    kept = ctx.builder.keepalives
    index = sum([isinstance(k, HostCall) for k in kept])
    kept.append(call)
    partitioned = "_partitioned" if params.get("partitioned") else ""
    tokens = [ctx.tokens[e] for e in ordered]
    result_types = [*[mlir.token for _ in ordered], *[mlir.aval_type(a) for a in out_avals]]
    attributes = {
        "call_target_name": mlir.string(f"xla_ffi{partitioned}_python_{_DEVICES[platforms[0]]}_callback"),
        "api_version": mlir.i32(4),
        "has_side_effect": mlir.boolean(bool(eqn.effects)),
        "backend_config": mlir.parsed(f"{{index = {index} : ui64}}"),
        # Python sees arrays in row-major order, however the compiler would like to lay them out.
        "operand_layouts": layouts(mlir, [*[() for _ in tokens], *map(row_major, in_avals)]),
        "result_layouts": layouts(mlir, [*[() for _ in tokens], *map(row_major, out_avals)]),
    }
    if ctx.builder.num_partitions > 1 and not partitioned:
        # Called once, by one device, with whole arrays.
        device = _device_index(ctx, params.get("sharding"))
        found = ", ".join([f"<mesh<[], device_ids=[{device}]>, []>"] * max(len(result_types), 1))
        attributes["sdy.sharding"] = mlir.parsed(f"#sdy.sharding_per_value<[{found}]>")
    operation = ctx.ops("stablehlo.custom_call", result_types, [*tokens, *operands], attributes)
    results = list(operation.results)
    ctx.tokens.update(zip(ordered, results))
    return results[len(ordered) :]


def _device_index(ctx: Body, sharding: Any) -> int:
    """Which of the program's devices calls: the one that `sharding` names, or the first."""
    if sharding is None:
        return 0
    (device,) = sharding.device_set
    return next((i for i, d in enumerate(ctx.builder.devices) if d == device), 0)


def _inspect_sharding(ctx: Body, eqn: Any, operand: Any) -> Any:
    devices, callback = ctx.builder.devices, eqn.params["callback"]
    if ctx.builder.num_partitions == 1:
        callback(devices, jaxlib_api.HloSharding.replicate())
        return []

    def found(sharding: Any) -> None:  # what the partitioner tells
        callback(devices, sharding)

    ctx.builder.keepalives.append(found)
    mlir = ctx.mlir
    attributes = {
        "call_target_name": mlir.string("InspectSharding"),
        "has_side_effect": mlir.boolean(True),
        "api_version": mlir.i32(1),
        "backend_config": ir.StringAttr.get(jaxlib_api.encode_inspect_sharding_callback(found), mlir.context),
    }
    ctx.ops("stablehlo.custom_call", [operand.type], [operand], attributes)
    return []


callbacks.inspect_sharding_p.lower = _inspect_sharding
for _primitive in (
    callbacks.debug_callback_p,
    callbacks.debug_print_p,
    callbacks.io_callback_p,
    callbacks.pure_callback_p,
):
    _primitive.lower = _host_call
