"""Lowering of elementwise operations. Operands arrive widened to the result's shape."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.lax import elementwise as el
from xtrace.lowering.lower import Body, lower_as
from xtrace.transforms.accumulate import add_any_p

for _primitive, _name in {
    el.neg_p: "negate",
    el.sign_p: "sign",
    el.floor_p: "floor",
    el.ceil_p: "ceil",
    el.is_finite_p: "is_finite",
    el.exp_p: "exponential",
    el.expm1_p: "exponential_minus_one",
    el.log_p: "log",
    el.log1p_p: "log_plus_one",
    el.logistic_p: "logistic",
    el.sin_p: "sine",
    el.cos_p: "cosine",
    el.tan_p: "tan",
    el.tanh_p: "tanh",
    el.sqrt_p: "sqrt",
    el.rsqrt_p: "rsqrt",
    el.cbrt_p: "cbrt",
    el.abs_p: "abs",
    el.real_p: "real",
    el.imag_p: "imag",
    el.not_p: "not",
    el.population_count_p: "popcnt",
    el.clz_p: "count_leading_zeros",
    el.add_p: "add",
    el.sub_p: "subtract",
    el.mul_p: "multiply",
    el.div_p: "divide",
    el.rem_p: "remainder",
    el.max_p: "maximum",
    el.min_p: "minimum",
    el.atan2_p: "atan2",
    el.complex_p: "complex",
    el.and_p: "and",
    el.or_p: "or",
    el.xor_p: "xor",
    el.shift_left_p: "shift_left",
    el.shift_right_logical_p: "shift_right_logical",
    el.shift_right_arithmetic_p: "shift_right_arithmetic",
    add_any_p: "add",
}.items():
    lower_as(_primitive, "stablehlo." + _name)

for _primitive, _name in {
    el.asin_p: "asin",
    el.acos_p: "acos",
    el.atan_p: "atan",
    el.sinh_p: "sinh",
    el.cosh_p: "cosh",
    el.asinh_p: "asinh",
    el.acosh_p: "acosh",
    el.atanh_p: "atanh",
    el.square_p: "square",
    el.nextafter_p: "next_after",
}.items():
    lower_as(_primitive, "chlo." + _name)


def compare(ctx: Body, direction: str, x: Any, y: Any, aval: Any, out: Any) -> Any:
    """`stablehlo.compare` with the comparison type that the dtype of `aval` calls for."""
    kind = {"f": "FLOAT", "c": "FLOAT", "i": "SIGNED"}.get(dtypes.kind(aval.dtype), "UNSIGNED")
    attributes = {
        "comparison_direction": ctx.mlir.parsed(f"#stablehlo<comparison_direction {direction}>"),
        "compare_type": ctx.mlir.parsed(f"#stablehlo<comparison_type {kind}>"),
    }
    return ctx.op("stablehlo.compare", out, [x, y], attributes)


def _comparison(direction: str) -> Any:
    return lambda ctx, eqn, x, y: compare(ctx, direction, x, y, eqn.invars[0].aval, eqn.outvars[0].aval)


for _primitive in (el.eq_p, el.ne_p, el.lt_p, el.le_p, el.gt_p, el.ge_p):
    _primitive.lower = _comparison(_primitive.name.upper())
