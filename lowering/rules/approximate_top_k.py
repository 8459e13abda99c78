"""Lowering of the approximate top k: a call that XLA expands, exactly except on TPUs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.lax.approximate_top_k import approx_top_k_p
from xtrace.lowering.lower import Body
from xtrace.lowering.rules.elementwise import compare

_BOOL = ShapedArray((), dtypes.bool_)
_POSITION = ShapedArray((), dtypes.int32)


def _comparison(ctx: Body, direction: str, value: ShapedArray) -> str:
    """The symbol of the function that says whether the first of two values, with their positions, comes first."""

    def fill(body: Body, x: Any, y: Any, *positions: Any) -> list[Any]:
        return [compare(body, direction, x, y, value, _BOOL)]

    name = f"top_k_{direction.lower()}_{value.dtype}_comparator"
    return ctx.builder.shared_function(name, [value, value, _POSITION, _POSITION], [_BOOL], fill)


def _lower(ctx: Body, eqn: Any, x: Any, fallback: bool = True) -> list[Any]:
    aval, params, mlir = eqn.invars[0].aval, eqn.params, ctx.mlir
    dimension, value = params["reduction_dimension"], ShapedArray((), aval.dtype)
    positions = ctx.op("stablehlo.iota", aval.update(dtype=dtypes.int32), [], {"iota_dimension": mlir.i64(dimension)})
    worst = ctx.scalar(np.asarray(-np.inf if params["is_max_k"] else np.inf, aval.dtype), aval.dtype)
    symbol = _comparison(ctx, "GT" if params["is_max_k"] else "LT", value)
    config = {
        "reduction_dim": f"{dimension} : i64",
        "recall_target": f"{params['recall_target']:.9e} : f32",
        "aggregate_to_topk": str(params["aggregate_to_topk"]).lower(),
        "reduction_input_size_override": f"{params['reduction_input_size_override']} : i64",
        "top_k": f"{params['k']} : i64",
    }
    if fallback:
        config["is_fallback"] = "true"
    attributes = {
        "call_target_name": mlir.string("ApproxTopK"),
        "called_computations": mlir.parsed(f"[@{symbol}]"),
        "backend_config": mlir.string(""),
        "mhlo.backend_config": mlir.parsed(f"{{{', '.join([f'{k} = {v}' for k, v in config.items()])}}}"),
    }
    operands = [x, positions, worst, ctx.scalar(-1, dtypes.int32)]
    return list(ctx.ops("stablehlo.custom_call", [v.aval for v in eqn.outvars], operands, attributes).results)


approx_top_k_p.lower = _lower
approx_top_k_p.lower_on = {"tpu": partial(_lower, fallback=False)}
