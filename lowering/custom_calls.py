"""Custom calls, as lowering rules of libraries write them, and attributes made of Python values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from xtrace.core import dtypes
from xtrace.lowering import mlir_context
from xtrace.lowering.layouts import layouts, row_major


def attribute(mlir: mlir_context.MLIRContext, value: Any) -> ir.Attribute:
    """A Python or NumPy value as an attribute.

    Args:
      value: a bool, int (64 bits), float (64 bits), string, NumPy scalar, NumPy array (a tensor), dtype (a type), a
        tuple, list or dictionary of these, or an attribute.

    Raises:
      TypeError: anything else.
    """
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, (bool, np.bool_)):
        return mlir.boolean(bool(value))
    if isinstance(value, str):
        return mlir.string(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(mlir.element_type(np.dtype(np.int64)), value)
    if isinstance(value, (float, np.generic)):
        return _scalar(mlir, np.asarray(value)[()])
    if isinstance(value, np.ndarray):
        if dtypes.kind(value.dtype) not in "biufc0":
            raise TypeError(f"an array of dtype {value.dtype} can't be an attribute: only numbers can.")
        return mlir.dense(value, value.shape, value.dtype)
    if isinstance(value, (tuple, list)):
        return ir.ArrayAttr.get([attribute(mlir, v) for v in value], mlir.context)
    if isinstance(value, dict):
        return ir.DictAttr.get({str(k): attribute(mlir, v) for k, v in value.items()}, mlir.context)
    if isinstance(value, np.dtype):
        return ir.TypeAttr.get(mlir.element_type(value))
    raise TypeError(
        f"No attribute handler defined for type: {type(value)}. Attributes are numbers, strings, NumPy arrays, dtypes, "
        f"and tuples or dictionaries of these; got {value!r}."
    )


def _scalar(mlir: mlir_context.MLIRContext, value: Any) -> ir.Attribute:
    kind = dtypes.kind(value.dtype)
    if kind in "iu":
        return ir.IntegerAttr.get(mlir.element_type(value.dtype), int(value))
    if kind == "f":
        return ir.FloatAttr.get(mlir.element_type(value.dtype), float(value), mlir.location("attribute", None))
    raise TypeError(f"Unsupported scalar attribute type: {value!r} of dtype {value.dtype}.")


def ir_attribute(val: Any) -> ir.Attribute:
    """A Python or NumPy value as an attribute of the module that is being made."""
    return attribute(mlir_context.mlir_context_in_use(), val)


def custom_call(
    call_target_name: str,
    *,
    result_types: Sequence[ir.Type],
    operands: Sequence[ir.Value],
    backend_config: str | bytes | Mapping[str, ir.Attribute] | None = "",
    has_side_effect: bool = False,
    result_shapes: Sequence[ir.Value] | None = None,
    called_computations: Sequence[str] = (),
    api_version: int = 2,
    operand_output_aliases: Mapping[int, int] | None = None,
    operand_layouts: Sequence[Sequence[int]] | None = None,
    result_layouts: Sequence[Sequence[int]] | None = None,
    extra_attributes: Mapping[str, ir.Attribute] | None = None,
) -> ir.OpView:
    """Append a custom call to the current block.

    Args:
      call_target_name: the name that the function is registered by.
      result_types, operands: types of the results, and the values that are handed over.
      backend_config: attributes by name, for functions of the typed FFI; a string for others.
      has_side_effect: whether the call must stay though nobody reads its results.
      result_shapes: sizes of results whose types leave them open.
      called_computations: names of functions of the module that the call may call.
      api_version: the calling convention; that of the typed FFI where `backend_config` has attributes.
      operand_output_aliases: operand -> result that takes its buffer.
      operand_layouts, result_layouts: axes in the order minor to major, of each.
      extra_attributes: further attributes of the operation.

    Returns:
      The operation.
    """
    from jaxlib.mlir.dialects import stablehlo

    mlir = mlir_context.mlir_context_in_use()
    operands = list(operands)
    if isinstance(backend_config, Mapping):
        config, api_version = ir.DictAttr.get(dict(backend_config), mlir.context), 4
    else:
        config = ir.StringAttr.get(backend_config or "", mlir.context)
    attributes: dict[str, Any] = {
        "call_target_name": mlir.string(call_target_name),
        "has_side_effect": mlir.boolean(has_side_effect),
        "api_version": mlir.i32(api_version),
        "backend_config": config,
    }
    if called_computations:
        attributes["called_computations"] = ir.ArrayAttr.get(
            [ir.FlatSymbolRefAttr.get(name, mlir.context) for name in called_computations], mlir.context
        )
    if operand_output_aliases:
        several = len(result_types) > 1
        aliases = [
            f"#stablehlo.output_operand_alias<output_tuple_indices = [{o if several else ''}], operand_index = {i}, "
            "operand_tuple_indices = []>"
            for i, o in operand_output_aliases.items()
        ]
        attributes["output_operand_aliases"] = mlir.parsed(f"[{', '.join(aliases)}]")
    sizes = list(result_shapes or ())
    if sizes:
        attributes["indices_of_shape_operands"] = ir.DenseIntElementsAttr.get(
            np.arange(len(operands), len(operands) + len(sizes)), context=mlir.context
        )
    if operand_layouts is not None:
        attributes["operand_layouts"] = layouts(mlir, [*map(tuple, operand_layouts), *[(0,) for _ in sizes]])
    if result_layouts is not None:
        attributes["result_layouts"] = layouts(mlir, [*map(tuple, result_layouts)])
    attributes.update(extra_attributes or {})
    return stablehlo.CustomCallOp.build_generic(
        results=list(result_types), operands=[*operands, *sizes], attributes=attributes
    )


def minor_to_major(aval: Any, layout: Any) -> tuple[int, ...]:
    """The order of axes of a Layout, of None (row by row), or one that is given in this order already."""
    if layout is None:
        return row_major(aval)
    order = getattr(layout, "major_to_minor", None)
    if order is None:
        return tuple(map(operator.index, layout))
    if getattr(layout, "tiling", None) is not None:
        raise ValueError("The FFI does not support layouts with tiling: foreign functions get plain arrays.")
    return tuple(order)[::-1]


def _orders(avals: Sequence[Any], given: Sequence[Any] | None) -> list[tuple[int, ...]]:
    return [minor_to_major(a, o) for a, o in zip(avals, [None] * len(avals) if given is None else given)]


def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    backend_config: Mapping[str, ir.Attribute] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., ir.OpView]:
    """A function that writes the call of a foreign function: as `ffi_lowering`, but returning the operation.

    Args:
      call_target_name: the name that the function is registered by.
      operand_layouts, result_layouts: for each a Layout, axes in the order minor to major, or None: row by row.
      backend_config: attributes by name; a string for functions that are not of the typed FFI.
      skip_ffi_layout_processing: leave layouts to the compiler.
      lowering_args: further arguments of `custom_call`.

    Returns:
      (ctx, *operands, **attributes) -> the operation.
    """

    def write(ctx: Any, *operands: ir.Value, **params: Any) -> ir.OpView:
        call = dict(lowering_args)
        version = call.setdefault("api_version", 4)
        if version >= 4:
            if backend_config is not None and not isinstance(backend_config, Mapping):
                raise ValueError(
                    f"backend_config of {call_target_name} must be a dictionary of attributes where api_version is 4 "
                    f"or more, got {backend_config!r}."
                )
            call["backend_config"] = {**(backend_config or {}), **{k: ir_attribute(v) for k, v in params.items()}}
        elif params:
            raise ValueError(
                "The use of ffi_call attributes requires a custom call API version of at least 4; got "
                f"api_version={version}. Pass them as one string, legacy_backend_config."
            )
        else:
            call["backend_config"] = backend_config
        if "result_types" not in call:
            call["result_types"] = [ctx.body.mlir.aval_type(a) for a in ctx.avals_out]
        if not skip_ffi_layout_processing:
            call["operand_layouts"] = _orders(ctx.avals_in, operand_layouts)
            call["result_layouts"] = _orders(ctx.avals_out, result_layouts)
        return custom_call(call_target_name, operands=operands, **call)

    return write


def ffi_lowering(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    backend_config: Mapping[str, ir.Attribute] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Sequence[ir.Value]]:
    """The lowering rule of a primitive that a foreign function computes, for `interpreters.mlir.register_lowering`.

    The primitive's parameters become attributes of the call.

    Args:
      call_target_name: the name that the function is registered by.
      operand_layouts, result_layouts: for each a Layout, axes in the order minor to major (`ffi_call` has them the
        other way round), or None: row by row.
      backend_config: further attributes by name; a string for functions that are not of the typed FFI.
      skip_ffi_layout_processing: leave layouts to the compiler.
      lowering_args: has_side_effect, operand_output_aliases (operand -> result), api_version and the like.

    Returns:
      The rule: (ctx, *operands, **params) -> values.
    """
    layouts = {"operand_layouts": operand_layouts, "result_layouts": result_layouts}
    write = build_ffi_lowering_function(
        call_target_name,
        skip_ffi_layout_processing=skip_ffi_layout_processing,
        backend_config=backend_config,
        **layouts,
        **lowering_args,
    )
    return lambda ctx, *operands, **params: list(write(ctx, *operands, **params).operation.results)
