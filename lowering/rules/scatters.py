"""Lowering of scatter and its kinds."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.lax import elementwise as el
from xtrace.lax import scatters
from xtrace.lax.gathers import GatherScatterMode
from xtrace.lowering.lower import Body
from xtrace.lowering.physical import physical, trailing, with_trailing
from xtrace.lowering.rules.gathers import along_vectors, dimension_list, last_starts


def _clipped(ctx: Body, eqn: Any, indices: Any) -> Any:
    """The indices, moved so that each slice lies within the operand."""
    aval, index_aval, updates = [v.aval for v in eqn.invars]
    numbers = eqn.params["dimension_numbers"]
    window = iter([updates.shape[d] for d in numbers.update_window_dims])
    out_of_window = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    sizes = [1 if d in out_of_window else next(window) for d in range(aval.ndim)]
    last = last_starts(aval, sizes, numbers.scatter_dims_to_operand_dims, index_aval)
    index_aval = index_aval.strong()
    bounds = [ctx.constant(0, index_aval), indices, along_vectors(ctx, last, index_aval)]
    return ctx.op("stablehlo.clamp", index_aval, bounds)


def _scatter(op: str | None, primitive: Any = None) -> Any:
    """The rule of a kind of scatter that combines elements by `op` (None: takes the update)."""

    def rule(ctx: Body, eqn: Any, x: Any, indices: Any, updates: Any) -> Any:
        out, index_aval, update_aval = eqn.outvars[0].aval, eqn.invars[1].aval, eqn.invars[2].aval
        params = eqn.params
        numbers = params["dimension_numbers"]
        if 0 in update_aval.shape:
            return x
        if params["mode"] is GatherScatterMode.CLIP and index_aval.shape[-1]:
            indices = _clipped(ctx, eqn, indices)
        window = with_trailing(numbers.update_window_dims, update_aval.ndim, trailing(out))
        fields = [
            dimension_list("update_window_dims", window),
            dimension_list("inserted_window_dims", numbers.inserted_window_dims),
            dimension_list("input_batching_dims", numbers.operand_batching_dims),
            dimension_list("scatter_indices_batching_dims", numbers.scatter_indices_batching_dims),
            dimension_list("scatter_dims_to_operand_dims", numbers.scatter_dims_to_operand_dims),
            f"index_vector_dim = {index_aval.ndim - 1}",
        ]
        attributes = {
            "scatter_dimension_numbers": ctx.mlir.parsed(f"#stablehlo.scatter<{', '.join(fields)}>"),
            "indices_are_sorted": ctx.mlir.boolean(params["indices_are_sorted"]),
            "unique_indices": ctx.mlir.boolean(params["unique_indices"]),
        }
        operation = ctx.ops("stablehlo.scatter", [out], [x, indices, updates], attributes, regions=1)
        scalar = ShapedArray((), physical(out).dtype)
        type_ = ctx.mlir.aval_type(scalar)
        body, (old, new) = ctx.region(operation, 0, [type_, type_])
        jaxpr = params["update_jaxpr"]
        if jaxpr is not None:
            constants = [body.constant(c, v.aval) for c, v in zip(jaxpr.consts, jaxpr.constvars)]
            body.return_(body.jaxpr(jaxpr, [*constants, old]))
        elif op is None:
            body.return_([new])
        elif primitive is not None and dtypes.is_complex(scalar.dtype):
            body.return_(body.inline(primitive.bind, [scalar, scalar], old, new))
        else:
            body.return_([body.op(op, scalar, [old, new])])
        return operation.results[0]

    return rule


scatters.scatter_p.lower = _scatter(None)
scatters.scatter_add_p.lower = _scatter("stablehlo.add")
scatters.scatter_sub_p.lower = _scatter("stablehlo.subtract")
scatters.scatter_mul_p.lower = _scatter("stablehlo.multiply")
scatters.scatter_min_p.lower = _scatter("stablehlo.minimum", el.min_p)
scatters.scatter_max_p.lower = _scatter("stablehlo.maximum", el.max_p)
