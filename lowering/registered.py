"""Lowering rules of libraries: registered and written the way JAX has it (jax.interpreters.mlir)."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import JaxprEqn
from xtrace.core.primitive import Primitive, shaped
from xtrace.lowering import mlir_context
from xtrace.lowering.custom_calls import custom_call, ir_attribute
from xtrace.lowering.lower import Body


class ModuleContext:
    """The module being made: its `context` and `module`, the `platforms` it is for, and what must live as long."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.context = body.mlir.context
        self.module = body.builder.module
        self.platforms = tuple(body.platforms)
        self.keepalives = body.builder.keepalives

    def add_keepalive(self, keepalive: Any) -> None:
        """Keep an object alive as long as the compiled program."""
        self.keepalives.append(keepalive)


class LoweringRuleContext:
    """What a lowering rule knows of the equation it lowers: its primitive, and the types of operands and results."""

    def __init__(self, body: Body, primitive: Primitive, avals_in: Sequence[Any], avals_out: Sequence[Any]) -> None:
        self.body = body
        self.primitive = primitive
        self.avals_in = list(avals_in)
        self.avals_out = list(avals_out)
        self.module_context = ModuleContext(body)
        self.platforms = self.module_context.platforms

    def replace(self, **changes: Any) -> LoweringRuleContext:
        """A copy with other types or another primitive."""
        fields: dict[str, Any] = dict(primitive=self.primitive, avals_in=self.avals_in, avals_out=self.avals_out)
        fields.update({k: v for k, v in changes.items() if k in fields})
        return LoweringRuleContext(self.body, **fields)


def _values(out: Any) -> list[ir.Value]:
    """The values that a rule returned: values, operations with results, or nested sequences of them."""
    if isinstance(out, ir.Value):
        return [out]
    if isinstance(out, (list, tuple)):
        return [v for item in out for v in _values(item)]
    return list(out.results)  # an operation


def register_lowering(
    prim: Primitive, rule: Callable[..., Any], platform: str | None = None, inline: bool = True, cacheable: bool = True
) -> Callable[..., Any]:
    """Give a primitive its lowering: rule(ctx, *operands, **params) -> values.

    Args:
      prim: the primitive. platform: where the rule holds ("cpu", "cuda", "tpu"); everywhere by default.
      rule: `ctx` is a `LoweringRuleContext`, operands are MLIR values; it runs inside the block being made, so that
        `stablehlo.add(x, y)` and the like append to it.
      inline, cacheable: accepted; operations are always written where they are used.

    Returns:
      `rule`.
    """

    def lower(body: Body, eqn: JaxprEqn, *operands: ir.Value) -> Any:
        avals = ([v.aval for v in eqn.invars], [v.aval for v in eqn.outvars])
        with body.ip, body.loc:
            out = _values(rule(LoweringRuleContext(body, prim, *avals), *operands, **eqn.params))
        return out if prim.multiple_results else out[0]

    prim.lower_op = None
    if platform is None:
        prim.lower = lower
    else:
        name = {"gpu": "cuda"}.get(platform, platform)
        prim.lower_on = {**(prim.lower_on or {}), name: lower}
    prim.eager_cache.clear()
    return rule


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Callable[..., Any]:
    """A lowering rule that writes out what a function of arrays computes.

    Args:
      fun: (*arrays, **params) -> an array, or a sequence of them if `multiple_results`.
    """

    def rule(ctx: LoweringRuleContext, *operands: ir.Value, **params: Any) -> list[ir.Value]:
        return ctx.body.inline(functools.partial(fun, **params), ctx.avals_in, *operands)

    return rule


def jaxpr_subcomp(
    ctx: Any,
    jaxpr: Any,
    name_stack: Any,
    tokens: Any,
    consts_for_constvars: Sequence[ir.Value],
    *args: ir.Value,
    **details: Any,
) -> tuple[list[ir.Value], Any]:
    """Append the operations of a jaxpr to the block of `ctx`; returns its outputs, and the tokens as they were."""
    body = ctx.body if isinstance(ctx, LoweringRuleContext) else ctx._body
    return body.jaxpr(jaxpr, [*consts_for_constvars, *args]), tokens


def core_call_lowering(
    ctx: LoweringRuleContext, *args: ir.Value, name: str, call_jaxpr: Any, **params: Any
) -> list[ir.Value]:
    """The rule of primitives that call `call_jaxpr`: a call of its function."""
    return ctx.body.call(call_jaxpr, name, args)


def dtype_to_ir_type(dtype: Any) -> ir.Type:
    """The MLIR element type of a dtype."""
    return mlir_context.mlir_context_in_use().element_type(np.dtype(dtype))


def aval_to_ir_type(ctx: Any, aval: Any = None) -> ir.Type:
    """The MLIR type of an array type; `ctx` may be left out."""
    return mlir_context.mlir_context_in_use().aval_type(ctx if aval is None else aval)


def aval_to_ir_types(ctx: Any, aval: Any = None) -> tuple[ir.Type, ...]:
    """The MLIR types of an array type, as a tuple."""
    return (aval_to_ir_type(ctx, aval),)


def ir_constant(val: Any, *, const_lowering: Any = None, aval: Any = None) -> ir.Value:
    """A constant in the current block."""
    from jaxlib.mlir.dialects import stablehlo

    aval = shaped(val) if aval is None else aval
    array = np.asarray(val, dtypes.canonicalize(aval.dtype))
    return stablehlo.constant(mlir_context.mlir_context_in_use().dense(array, aval.shape, aval.dtype))


def ir_constants(val: Any, *, const_lowering: Any = None, aval: Any = None) -> tuple[ir.Value, ...]:
    """A constant in the current block, as a tuple."""
    return (ir_constant(val, const_lowering=const_lowering, aval=aval),)


def i32_attr(i: int) -> ir.Attribute:
    """A 32-bit integer attribute."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), i)


def i64_attr(i: int) -> ir.Attribute:
    """A 64-bit integer attribute."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), i)


def dense_int_elements(xs: Sequence[int]) -> ir.Attribute:
    """A tensor attribute of 64-bit integers."""
    return ir.DenseIntElementsAttr.get(np.asarray(xs, np.int64))


def dense_int_array(xs: Sequence[int]) -> ir.Attribute:
    """An array attribute of 64-bit integers."""
    return ir.DenseI64ArrayAttr.get(np.asarray(xs, np.int64))


def shape_tensor(ctx: Any, sizes: Sequence[int]) -> ir.Value:
    """A constant vector of 32-bit sizes."""
    return ir_constant(np.asarray(sizes, np.int32), aval=ShapedArray((len(sizes),), np.dtype(np.int32)))


def make_ir_context() -> ir.Context:
    """A new MLIR context with all dialects loaded."""
    return mlir_context.MLIRContext().context


def module_to_string(module: ir.Module, enable_debug_info: bool | None = None) -> str:
    """A module as text."""
    out = io.StringIO()
    module.operation.print(file=out, enable_debug_info=bool(enable_debug_info))
    return out.getvalue()


def module_to_bytecode(module: ir.Module) -> bytes:
    """A module as MLIR bytecode."""
    out = io.BytesIO()
    module.operation.write_bytecode(file=out)
    return out.getvalue()


def flatten_ir_values(xs: Any) -> list[ir.Value]:
    """The values in nested sequences, in order."""
    return _values(xs)


def flatten_ir_types(xs: Any) -> list[ir.Type]:
    """The types in nested sequences, in order."""
    return [xs] if isinstance(xs, ir.Type) else [t for item in xs for t in flatten_ir_types(item)]


__all__ = [
    "LoweringRuleContext",
    "ModuleContext",
    "aval_to_ir_type",
    "aval_to_ir_types",
    "core_call_lowering",
    "custom_call",
    "dense_int_array",
    "dense_int_elements",
    "dtype_to_ir_type",
    "flatten_ir_types",
    "flatten_ir_values",
    "i32_attr",
    "i64_attr",
    "ir_attribute",
    "ir_constant",
    "ir_constants",
    "jaxpr_subcomp",
    "lower_fun",
    "make_ir_context",
    "module_to_bytecode",
    "module_to_string",
    "register_lowering",
    "shape_tensor",
]
