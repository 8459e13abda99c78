"""Lowering of reductions over windows, and of scattering to the elements chosen in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive
from xtrace.lax import joining, window_rules, windows
from xtrace.lax.reductions import highest, lowest
from xtrace.lax.windows import LEAST_CHOSEN, Window
from xtrace.lowering.lower import Body
from xtrace.lowering.rules.elementwise import compare

Fill = Callable[[Body, list[Any]], Sequence[Any]]


def _pads(ctx: Body, padding: Sequence[tuple[int, int]]) -> Any:
    return ctx.mlir.dense(np.array(padding, np.int64).reshape(-1, 2), (len(padding), 2), dtypes.int64)


def reduce_window(
    ctx: Body,
    operands: Sequence[Any],
    initial: Sequence[Any],
    avals: Sequence[ShapedArray],
    window: Window,
    outs: Sequence[ShapedArray],
    fill: Fill,
) -> list[Any]:
    """`stablehlo.reduce_window`. `fill` writes its reducer: from (accumulators, elements) to new accumulators."""
    if not window.window_dimensions:  # of scalars: one window with one element
        return list(fill(ctx, [*initial, *operands]))
    mlir = ctx.mlir
    attributes = {
        "window_dimensions": mlir.i64_array(window.window_dimensions),
        "window_strides": mlir.i64_array(window.window_strides),
        "base_dilations": mlir.i64_array(window.base_dilation),
        "window_dilations": mlir.i64_array(window.window_dilation),
        "padding": _pads(ctx, window.padding),
    }
    operation = ctx.ops("stablehlo.reduce_window", outs, [*operands, *initial], attributes, regions=1)
    types = [mlir.tensor_type((), a.dtype) for a in avals]
    body, arguments = ctx.region(operation, 0, [*types, *types])
    body.return_(fill(body, arguments))
    return list(operation.results)


def _one_operation(primitive: Primitive, op: str, identity: Callable[[Any], Any]) -> None:
    def rule(ctx: Body, eqn: Any, x: Any) -> Any:
        aval, out = eqn.invars[0].aval, eqn.outvars[0].aval
        scalar = ShapedArray((), aval.dtype)
        initial = ctx.constant(np.asarray(identity(aval.dtype)), scalar)
        window = Window(**eqn.params)
        return reduce_window(
            ctx, [x], [initial], [aval], window, [out], lambda body, args: [body.op("stablehlo." + op, scalar, args)]
        )[0]

    primitive.lower = rule


_one_operation(windows.reduce_window_sum_p, "add", lambda dtype: 0)
_one_operation(windows.reduce_window_max_p, "maximum", lowest)
_one_operation(windows.reduce_window_min_p, "minimum", highest)


def _any_computation(ctx: Body, eqn: Any, *values: Any) -> Any:
    n = len(values) // 2
    params = {k: v for k, v in eqn.params.items() if k not in ("jaxpr", "consts")}
    jaxpr = eqn.params["jaxpr"]
    avals, outs = [v.aval for v in eqn.invars[:n]], [v.aval for v in eqn.outvars]
    window = Window(**params)
    return reduce_window(ctx, values[:n], values[n:], avals, window, outs, lambda body, args: body.jaxpr(jaxpr, args))


windows.reduce_window_p.lower = _any_computation


def _gather_add(ctx: Body, eqn: Any, tangents: Any, operand: Any) -> Any:
    """A reduction of pairs (operand, tangent) to the pair that is chosen."""
    params = dict(eqn.params)
    select_prim = params.pop("select_prim")
    window = Window(**params)
    aval, out = eqn.invars[1].aval, eqn.outvars[0].aval
    if "tpu" in ctx.platforms:  # where reductions of pairs over windows are not to be relied on
        avals = [v.aval for v in eqn.invars]
        return ctx.inline(
            lambda t, x: window_rules.gather_by_offsets(t, x, select_prim, window), avals, tangents, operand
        )[0]
    scalar, truth = ShapedArray((), aval.dtype), ShapedArray((), dtypes.bool_)

    def fill(body: Body, arguments: list[Any]) -> Sequence[Any]:
        x, t, y, u = arguments
        first = compare(body, select_prim.name.upper(), x, y, scalar, truth)
        return [body.op("stablehlo.select", scalar, [first, *pair]) for pair in ((x, y), (t, u))]

    initial = [ctx.constant(np.asarray(LEAST_CHOSEN[select_prim](aval.dtype)), scalar), ctx.constant(0, scalar)]
    return reduce_window(ctx, [operand, tangents], initial, [aval, aval], window, [out, out], fill)[1]


windows.select_and_gather_add_p.lower = _gather_add


def _select_and_scatter(
    ctx: Body,
    operand: Any,
    source: Any,
    initial: Any,
    aval: ShapedArray,
    params: dict[str, Any],
    padding: Sequence[tuple[int, int]],
    select: Fill,
    scatter: Fill,
) -> Any:
    """`stablehlo.select_and_scatter`, with the regions that `select` and `scatter` write."""
    if not params["window_dimensions"]:
        return scatter(ctx, [initial, source])[0]
    attributes = {
        "window_dimensions": ctx.mlir.i64_array(params["window_dimensions"]),
        "window_strides": ctx.mlir.i64_array(params["window_strides"]),
        "padding": _pads(ctx, padding),
    }
    operation = ctx.ops("stablehlo.select_and_scatter", [aval], [operand, source, initial], attributes, regions=2)
    type_ = ctx.mlir.tensor_type((), aval.dtype)
    for index, fill in enumerate((select, scatter)):
        body, arguments = ctx.region(operation, index, [type_, type_])
        body.return_(fill(body, arguments))
    return operation.results[0]


def _scatter_add(ctx: Body, eqn: Any, source: Any, operand: Any) -> Any:
    params, out = eqn.params, eqn.outvars[0].aval
    select_prim, padding = params["select_prim"], params["padding"]
    aval = eqn.invars[1].aval
    if 0 in (out.size, eqn.invars[0].aval.size):
        return ctx.constant(0, out)
    scalar, truth = ShapedArray((), out.dtype), ShapedArray((), dtypes.bool_)
    config = tuple([(lo, hi, 0) for lo, hi in padding])
    padded = any([lo or hi for lo, hi in padding])
    if padded:  # with what is never chosen: padding by the operation itself would choose between zeros
        least = LEAST_CHOSEN[select_prim](aval.dtype)
        (operand,) = ctx.inline(lambda x: joining.pad_p.bind(x, least, padding_config=config), [aval], operand)
        aval = aval.update(shape=tuple([d + lo + hi for d, (lo, hi) in zip(aval.shape, padding)]))
    result = _select_and_scatter(
        ctx,
        operand,
        source,
        ctx.constant(0, scalar),
        aval,
        params,
        ((0, 0),) * aval.ndim,
        lambda body, args: [compare(body, select_prim.name.upper(), args[0], args[1], scalar, truth)],
        lambda body, args: [body.op("stablehlo.add", scalar, args)],
    )
    if padded:
        (result,) = ctx.inline(lambda x: joining.unpad(x, config, out.shape), [aval.strong()], result)
    return result


windows.select_and_scatter_add_p.lower = _scatter_add


def _scatter_any(ctx: Body, eqn: Any, operand: Any, source: Any, initial: Any) -> Any:
    params, out = eqn.params, eqn.outvars[0].aval
    if any([lo or hi for lo, hi in params["padding"]]) or 0 in (out.size, eqn.invars[1].aval.size):
        # Padding would be compared with elements as if it were one, and nothing is known that is never chosen.
        window, select, scatter = window_rules.general_params(**params)
        avals = [v.aval for v in eqn.invars]

        def by_offsets(x: Any, source: Any, initial: Any) -> Any:
            return window_rules.general_scatter_by_offsets(x, source, initial, select, scatter, window)

        return ctx.inline(by_offsets, avals, operand, source, initial)[0]
    return _select_and_scatter(
        ctx,
        operand,
        source,
        initial,
        out,
        params,
        params["padding"],
        lambda body, args: body.jaxpr(params["select_jaxpr"], args),
        lambda body, args: body.jaxpr(params["scatter_jaxpr"], args),
    )


windows.select_and_scatter_p.lower = _scatter_any
