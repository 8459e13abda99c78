"""Lowering of dot products."""

from __future__ import annotations

import functools
from typing import Any

from xtrace.core import dtypes
from xtrace.lax import dots
from xtrace.lowering.lower import Body, LoweringError
from xtrace.lowering.rules import dot_forms

#: The algorithms XLA's CPU backend has; asked for another one it would compute with none.
_ON_CPU = (
    "DEFAULT",
    "F16_F16_F16",
    "BF16_BF16_F32",
    "BF16_BF16_F32_X3",
    "BF16_BF16_F32_X6",
    "F32_F32_F32",
    "F64_F64_F64",
)


@functools.cache
def _cpu_algorithms() -> set[Any]:
    from xtrace.lax.dot_algorithms import DotAlgorithmPreset, lowered_algorithm

    return {lowered_algorithm(DotAlgorithmPreset[name], None, None, None) for name in _ON_CPU if name != "DEFAULT"}


def precision_config(ctx: Body, precision: Any) -> Any:
    """The attribute `precision_config` of a pair of Precision (None and algorithms: default)."""
    key = ("precision", precision if type(precision) is tuple else None)
    found = ctx.mlir.attributes.get(key)
    if found is None:
        names = [p.name for p in precision] if type(precision) is tuple else ["DEFAULT", "DEFAULT"]
        text = ", ".join(f"#stablehlo<precision {n}>" for n in names)
        found = ctx.mlir.attributes[key] = ctx.mlir.parsed(f"[{text}]")
    return found


def _algorithm(ctx: Body, eqn: Any, lhs: Any, rhs: Any, out: Any) -> Any:
    """The attribute `algorithm`, where the target has it."""
    from xtrace.lax.dot_algorithms import lowered_algorithm  # programs that name an algorithm are rare

    precision = eqn.params["precision"]
    found = lowered_algorithm(precision, lhs, rhs, out)
    if "cpu" in ctx.platforms and found not in _cpu_algorithms():
        raise LoweringError(
            f"the precision {precision} of dot_general is not supported on CPU; there are {', '.join(_ON_CPU)}."
        )
    fields = (
        f"lhs_precision_type = {found.lhs}, rhs_precision_type = {found.rhs}, "
        f"accumulation_type = {found.accumulation}, lhs_component_count = {found.lhs_components}, rhs_component_count "
        f"= {found.rhs_components}, num_primitive_operations = {found.products}, allow_imprecise_accumulation = "
        f"{str(found.imprecise).lower()}"
    )
    return ctx.mlir.parsed(f"#stablehlo.dot_algorithm<{fields}>")


def _dot_general(ctx: Body, eqn: Any, lhs: Any, rhs: Any) -> Any:
    params = eqn.params
    lhs_aval, rhs_aval, out = eqn.invars[0].aval, eqn.invars[1].aval, eqn.outvars[0].aval
    precision, computed = params["precision"], out
    if lhs_aval.dtype != rhs_aval.dtype and not (_is_float8(lhs_aval.dtype) and _is_float8(rhs_aval.dtype)):
        common = dots.result_dtype(lhs_aval.dtype, rhs_aval.dtype)
        lhs, lhs_aval = _cast(ctx, lhs, lhs_aval, common)
        rhs, rhs_aval = _cast(ctx, rhs, rhs_aval, common)
    algorithm = None
    if precision is not None and type(precision) is not tuple and getattr(precision, "name", "") != "DEFAULT":
        if getattr(precision, "supported_lhs_types", None) is not None:  # a preset, not one that is spelled out
            operands = [dtypes.as_dtype(t) for t in precision.supported_lhs_types]
            if lhs_aval.dtype not in operands:
                lhs, lhs_aval = _cast(ctx, lhs, lhs_aval, operands[0])
            if rhs_aval.dtype not in operands:
                rhs, rhs_aval = _cast(ctx, rhs, rhs_aval, operands[0])
            if out.dtype not in (*operands, dtypes.as_dtype(precision.accumulation_type)):
                computed = out.update(dtype=dtypes.as_dtype(precision.accumulation_type))
        algorithm = _algorithm(ctx, eqn, lhs_aval.dtype, rhs_aval.dtype, computed.dtype)
    attributes = {
        "dot_dimension_numbers": dot_forms.dimension_numbers(ctx, params["dimension_numbers"]),
        "precision_config": precision_config(ctx, precision),
    }
    if algorithm is not None:
        attributes["algorithm"] = algorithm
    elif ctx.platforms == ("cpu",) and ctx.builder.num_partitions == 1 and computed.dtype in _FORMED:
        return _formed(ctx, lhs, rhs, lhs_aval, rhs_aval, computed, params["dimension_numbers"], attributes)
    result = ctx.op("stablehlo.dot_general", computed, [lhs, rhs], attributes)
    return _cast(ctx, result, computed, out.dtype)[0]


#: Dtypes of results that XLA's CPU backend computes with the same semantics in every form of a product.
_FORMED = frozenset(
    map(
        dtypes.as_dtype,
        (
            *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
            *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
        ),
    )
)


def _formed(
    ctx: Body, lhs: Any, rhs: Any, lhs_aval: Any, rhs_aval: Any, out: Any, numbers: Any, attributes: dict[str, Any]
) -> Any:
    """The product in the form that is best on CPU."""
    product = dot_forms.product_of(lhs_aval, rhs_aval, out, numbers) if lhs_aval.dtype in _FORMED else None
    form = "dot" if product is None else dot_forms.form_of(product)
    if product is None or form == "dot":
        return ctx.op("stablehlo.dot_general", out, [lhs, rhs], attributes)
    return dot_forms.FORMS[form](ctx, product, lhs, rhs, attributes)


def _is_float8(dtype: Any) -> bool:
    return dtype.name.startswith("float8")


def _cast(ctx: Body, x: Any, aval: Any, dtype: Any) -> Any:
    """(value, aval) converted to `dtype`."""
    if aval.dtype == dtype:
        return x, aval
    new = aval.update(dtype=dtype)
    return ctx.op("stablehlo.convert", new, [x]), new


dots.dot_general_p.lower = _dot_general
