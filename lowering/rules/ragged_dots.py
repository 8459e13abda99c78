"""Lowering of ragged products: by masks and one dot_general, and as an operation of their own on TPUs."""

from __future__ import annotations

from functools import partial
from typing import Any

from xtrace.lax.ragged_dots import by_masks, mode, ragged_dot_general_p
from xtrace.lowering.lower import Body


def _lower(ctx: Body, eqn: Any, *operands: Any) -> Any:
    return ctx.inline(partial(by_masks, **eqn.params), [v.aval for v in eqn.invars], *operands)[0]


def _lower_on_tpu(ctx: Body, eqn: Any, *operands: Any) -> Any:
    """The operation that TPU compilers have, except for what they know no words for."""
    numbers, precision = eqn.params["ragged_dot_dimension_numbers"], eqn.params["precision"]
    lhs, rhs, _ = [v.aval for v in eqn.invars]
    plain = precision is None or type(precision) is tuple
    if not plain or lhs.dtype != rhs.dtype or mode(lhs.ndim, numbers) == "batch":
        return _lower(ctx, eqn, *operands)
    (lc, rc), (lb, rb) = numbers.dot_dimension_numbers
    fields = {
        "lhs_batching_dimensions": lb,
        "rhs_batching_dimensions": rb,
        "lhs_contracting_dimensions": lc,
        "rhs_contracting_dimensions": rc,
        "lhs_ragged_dimensions": numbers.lhs_ragged_dimensions,
        "rhs_group_dimensions": numbers.rhs_group_dimensions,
    }
    text = ", ".join([f"{name} = [{', '.join(map(str, dims))}]" for name, dims in fields.items() if dims])
    names = [p.name for p in precision] if precision else ["DEFAULT", "DEFAULT"]
    attributes = {
        "ragged_dot_dimension_numbers": ctx.mlir.parsed(f"#chlo.ragged_dot<{text}>"),
        "precision_config": ctx.mlir.parsed(f"[{', '.join([f'#chlo<precision {n}>' for n in names])}]"),
    }
    return ctx.op("chlo.ragged_dot", eqn.outvars[0].aval, operands, attributes)


ragged_dot_general_p.lower = _lower
ragged_dot_general_p.lower_on = {"tpu": _lower_on_tpu}
