"""Lowering of concatenate, stack, split, unstack and pad."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.lax import joining
from xtrace.lowering.lower import Body
from xtrace.lowering.physical import physical, trailing
from xtrace.lowering.rules.slicing import slice_value


def _concatenate(ctx: Body, eqn: Any, *operands: Any) -> Any:
    return ctx.op(
        "stablehlo.concatenate", eqn.outvars[0].aval, operands, {"dimension": ctx.mlir.i64(eqn.params["dimension"])}
    )


def _stack(ctx: Body, eqn: Any, *operands: Any) -> Any:
    axis, aval, out = eqn.params["axis"], eqn.invars[0].aval, eqn.outvars[0].aval
    one = aval.update(shape=(*aval.shape[:axis], 1, *aval.shape[axis:]))
    apart = [ctx.op("stablehlo.reshape", one, [x]) for x in operands]
    return (
        apart[0] if len(apart) == 1 else ctx.op("stablehlo.concatenate", out, apart, {"dimension": ctx.mlir.i64(axis)})
    )


def _pieces(ctx: Body, x: Any, aval: ShapedArray, sizes: Any, axis: int) -> list[Any]:
    pieces, start = [], 0
    starts, limits = [0] * aval.ndim, list(aval.shape)
    for n in sizes:
        starts[axis], limits[axis] = start, start + n
        out = aval.update(shape=(*aval.shape[:axis], n, *aval.shape[axis + 1 :]))
        pieces.append(slice_value(ctx, x, aval, starts, limits, None, out))
        start += n
    return pieces


def _split(ctx: Body, eqn: Any, x: Any) -> list[Any]:
    return _pieces(ctx, x, eqn.invars[0].aval, eqn.params["sizes"], eqn.params["axis"])


def _unstack(ctx: Body, eqn: Any, x: Any) -> list[Any]:
    aval, axis = eqn.invars[0].aval, eqn.params["axis"]
    pieces = _pieces(ctx, x, aval, (1,) * aval.shape[axis], axis)
    return [ctx.op("stablehlo.reshape", v.aval, [piece]) for v, piece in zip(eqn.outvars, pieces)]


def _pad(ctx: Body, eqn: Any, x: Any, value: Any) -> Any:
    aval, out, config = eqn.invars[0].aval, eqn.outvars[0].aval, eqn.params["padding_config"]
    extra = trailing(aval)
    if not dtypes.is_extended(aval.dtype):
        return pad_value(ctx, x, value, config, out)
    # The padding value is an array here: pad with anything, then choose.
    config = (*config, *[(0, 0, 0) for _ in extra])
    old, new = physical(aval), physical(out)
    padded = pad_value(ctx, x, ctx.scalar(0, old.dtype), config, new)
    mask = new.update(dtype=dtypes.bool_)
    inside = pad_value(
        ctx, ctx.constant(True, old.update(dtype=dtypes.bool_)), ctx.scalar(False, dtypes.bool_), config, mask
    )
    dims = ctx.mlir.i64_array(range(out.ndim, new.ndim))
    values = ctx.op("stablehlo.broadcast_in_dim", new, [value], {"broadcast_dimensions": dims})
    return ctx.op("stablehlo.select", new, [inside, padded, values])


def pad_value(ctx: Body, x: Any, value: Any, config: Any, out: ShapedArray) -> Any:
    """`stablehlo.pad` by (low, high, interior) of each dimension."""
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    attributes = {name: ctx.mlir.i64_array([c[i] for c in config]) for i, name in enumerate(names)}
    return ctx.op("stablehlo.pad", out, [x, value], attributes)


joining.concatenate_p.lower = _concatenate
joining.stack_p.lower = _stack
joining.split_p.lower = _split
joining.unstack_p.lower = _unstack
joining.pad_p.lower = _pad
