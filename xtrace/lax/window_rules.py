"""Derivatives and batching of operations on windows.

A sum's transpose sums the dilated cotangent. An extremum's tangent is that of the element chosen, the first of equals
(select_and_gather_add), and its transpose adds where that element is (select_and_scatter_add). Computations of which
nothing is known are differentiated position by position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.jaxpr import Jaxpr
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import elementwise as el
from xtrace.lax import joining, selection, shapes, windows
from xtrace.lax.convolution_rules import lhs_cotangent_padding
from xtrace.lax.reductions import eval_elementwise
from xtrace.lax.windows import LEAST_CHOSEN, Offsets, Window, reduce_by_offsets
from xtrace.transforms.batching import MappedAxis, batch_flat, move_axis
from xtrace.transforms.jvp import jvp_flat, linear
from xtrace.transforms.zeros import Zero, instantiate, zero_tangent

# -- sums --------------------------------------------------------------------------------------------------------


def _sum_transpose(ct: Any, x: Any, **params: Any) -> list[Any]:
    window = Window(**params)
    aval = x.aval
    if aval.size == 0 or shaped(ct).size == 0:
        return [instantiate(Zero(aval))]
    padding = lhs_cotangent_padding(
        aval.shape,
        window.window_dimensions,
        window.window_strides,
        shaped(ct).shape,
        window.padding,
        window.base_dilation,
        window.window_dilation,
    )
    config = [(lo, hi, stride - 1) for (lo, hi), stride in zip(padding, window.window_strides)]
    ones = (1,) * aval.ndim
    # Padded beforehand, since compilers do best with windows over an array as it is.
    out = windows.reduce_window_sum_p.bind(
        joining.pad(ct, el.scalar_like(ct, 0), config),
        window_dimensions=window.window_dimensions,
        window_strides=window.base_dilation,
        padding=((0, 0),) * aval.ndim,
        base_dilation=ones,
        window_dilation=window.window_dilation,
    )
    return [out]


linear(windows.reduce_window_sum_p, _sum_transpose)

# -- extrema -----------------------------------------------------------------------------------------------------


def _extremum(primitive: Primitive, select_prim: Primitive) -> None:
    def jvp(t: Any, out: Any, x: Any, **params: Any) -> Any:
        return windows.select_and_gather_add_p.bind(t, x, select_prim=select_prim, **params)

    primitive.jvps = (jvp,)


_extremum(windows.reduce_window_max_p, el.ge_p)
_extremum(windows.reduce_window_min_p, el.le_p)


def gather_by_offsets(tangents: Any, operand: Any, select_prim: Primitive, window: Window) -> Any:
    """select_and_gather_add as elementwise operations; 0 for windows of padding alone."""
    offsets = Offsets(shaped(operand).shape, window)
    fill, zero = _least(operand, select_prim), el.scalar_like(tangents, 0)
    _, chosen = windows.winners(select_prim.bind, operand, fill, offsets)
    padded = offsets.pad(tangents, zero)
    out = shapes.full(offsets.count, zero)
    for k, offset in enumerate(offsets.offsets):
        out = selection.select_n(chosen(k), out, offsets.take(padded, offset))
    return out


def scatter_by_offsets(source: Any, operand: Any, select_prim: Primitive, window: Window) -> Any:
    """The transpose of `gather_by_offsets`: select_and_scatter_add, dilations included."""
    offsets = Offsets(shaped(operand).shape, window)
    zero = el.scalar_like(source, 0)
    _, chosen = windows.winners(select_prim.bind, operand, _least(operand, select_prim), offsets)
    nothing = shapes.full(offsets.count, zero)
    total = shapes.full(tuple(offsets.padded), zero)
    for k, offset in enumerate(offsets.offsets):
        total = el.add(total, offsets.put(selection.select_n(chosen(k), nothing, source), zero, offset))
    return offsets.unpad(total)


def _least(operand: Any, select_prim: Primitive) -> Any:
    return LEAST_CHOSEN[select_prim](shaped(operand).dtype)


def _gather_add_transpose(ct: Any, tangents: Any, operand: Any, *, select_prim: Primitive, **params: Any) -> list[Any]:
    window = Window(**params)
    shape = tangents.aval.shape
    if any([d != 1 for d in window.window_dilation]):  # select_and_scatter has no dilations
        return [scatter_by_offsets(ct, operand, select_prim, window), None]
    between = tuple([(0, 0, b - 1) for b in window.base_dilation])
    spread = any([b != 1 for b in window.base_dilation])
    if spread:
        operand = joining.pad(operand, _least(operand, select_prim), between)
    out = windows.select_and_scatter_add_p.bind(
        ct,
        operand,
        select_prim=select_prim,
        window_dimensions=window.window_dimensions,
        window_strides=window.window_strides,
        padding=window.padding,
    )
    return [joining.unpad(out, between, shape) if spread else out, None]


def _gather_add_jvp(t: Any, out: Any, tangents: Any, operand: Any, **params: Any) -> Any:
    return windows.select_and_gather_add_p.bind(t, operand, **params)


windows.select_and_gather_add_p.jvps = (_gather_add_jvp, None)
windows.select_and_gather_add_p.transpose = _gather_add_transpose


def _scatter_add_jvp(t: Any, out: Any, source: Any, operand: Any, **params: Any) -> Any:
    return windows.select_and_scatter_add_p.bind(t, operand, **params)


def _scatter_add_transpose(ct: Any, source: Any, operand: Any, *, select_prim: Primitive, **params: Any) -> list[Any]:
    window = windows.undilated(**params)
    return [windows.select_and_gather_add_p.bind(ct, operand, select_prim=select_prim, **window._asdict()), None]


windows.select_and_scatter_add_p.jvps = (_scatter_add_jvp, None)
windows.select_and_scatter_add_p.transpose = _scatter_add_transpose

# -- any computation ---------------------------------------------------------------------------------------------


def _by_offsets(jaxpr: Jaxpr, window: Window, values: Sequence[Any]) -> list[Any]:
    n = len(values) // 2
    return reduce_by_offsets(lambda *xs: eval_elementwise(jaxpr, xs), values[:n], values[n:], window)


def _reduce_window_jvp(primals: Any, tangents: Any, *, jaxpr: Jaxpr, consts: Any, **params: Any) -> Any:
    outs = windows.reduce_window_p.bind(*primals, jaxpr=jaxpr, consts=consts, **params)
    window = Window(**params)
    _, out_tangents = jvp_flat(lambda *xs: _by_offsets(jaxpr, window, xs), primals, tangents)
    return outs, out_tangents


windows.reduce_window_p.jvp = _reduce_window_jvp


def general_scatter_by_offsets(
    operand: Any, source: Any, init_value: Any, select_jaxpr: Jaxpr, scatter_jaxpr: Jaxpr, window: Window
) -> Any:
    """select_and_scatter as elementwise operations: windows share no element at one position, so each is one step."""
    offsets = Offsets(shaped(operand).shape, window)
    fill = np.zeros((), shaped(operand).dtype)[()]
    _, chosen = windows.winners(lambda a, b: eval_elementwise(select_jaxpr, (a, b))[0], operand, fill, offsets)
    total = shapes.broadcast_in_dim(init_value, tuple(offsets.padded), ())
    for k, offset in enumerate(offsets.offsets):
        here = offsets.put(chosen(k), False, offset)
        combined = eval_elementwise(scatter_jaxpr, (total, offsets.put(source, fill, offset)))[0]
        total = selection.select_n(here, total, combined)
    return offsets.unpad(total)


def _select_and_scatter_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    out = windows.select_and_scatter_p.bind(*primals, **params)
    if all([type(t) is Zero for t in tangents]) or not dtypes.is_inexact(shaped(out).dtype):
        return out, zero_tangent(out)
    window, select, scatter = general_params(**params)
    _, (tangent,) = jvp_flat(lambda *xs: [general_scatter_by_offsets(*xs, select, scatter, window)], primals, tangents)
    return out, tangent


def general_params(*, select_jaxpr: Jaxpr, scatter_jaxpr: Jaxpr, **params: Any) -> tuple[Window, Jaxpr, Jaxpr]:
    """The parameters of select_and_scatter as `general_scatter_by_offsets` takes them."""
    return windows.undilated(**params), select_jaxpr, scatter_jaxpr


windows.select_and_scatter_p.jvp = _select_and_scatter_jvp

# -- batching ----------------------------------------------------------------------------------------------------

_UNMAPPED = {
    "window_dimensions": 1,
    "window_strides": 1,
    "padding": (0, 0),
    "base_dilation": 1,
    "window_dilation": 1,
}


def with_dimension(params: dict[str, Any], d: int) -> dict[str, Any]:
    """The parameters of windows of size 1 along one more dimension, at d."""
    return {k: (*v[:d], _UNMAPPED[k], *v[d:]) if k in _UNMAPPED else v for k, v in params.items()}


def _batch_one(primitive: Primitive) -> None:
    def rule(axis: MappedAxis, args: Any, dims: Any, **params: Any) -> Any:
        (d,) = dims
        return primitive.bind(args[0], **with_dimension(params, d)), d

    primitive.batch = rule


def _batch_two(primitive: Primitive) -> None:
    def rule(axis: MappedAxis, args: Any, dims: Any, **params: Any) -> Any:
        args = [move_axis(x, d, 0, axis.size) for x, d in zip(args, dims)]
        return primitive.bind(*args, **with_dimension(params, 0)), 0

    primitive.batch = rule


_batch_one(windows.reduce_window_sum_p)
_batch_one(windows.reduce_window_max_p)
_batch_one(windows.reduce_window_min_p)
_batch_two(windows.select_and_scatter_add_p)
_batch_two(windows.select_and_gather_add_p)


def _reduce_window_batch(axis: MappedAxis, args: Any, dims: Any, *, jaxpr: Jaxpr, **params: Any) -> Any:
    n = len(args) // 2
    if any([d is not None for d in dims[n:]]):
        window = Window(**{k: v for k, v in params.items() if k != "consts"})
        return batch_flat(lambda *xs: _by_offsets(jaxpr, window, xs), axis, args, dims)
    operands = [move_axis(x, d, 0, axis.size) for x, d in zip(args[:n], dims[:n])]
    outs = windows.reduce_window_p.bind(*operands, *args[n:], jaxpr=jaxpr, **with_dimension(params, 0))
    return outs, [0] * n


windows.reduce_window_p.batch = _reduce_window_batch


def _select_and_scatter_batch(axis: MappedAxis, args: Any, dims: Any, **params: Any) -> Any:
    if dims[2] is not None:
        window, select, scatter = general_params(**params)
        (out,), (d,) = batch_flat(
            lambda *xs: [general_scatter_by_offsets(*xs, select, scatter, window)], axis, args, dims
        )
        return out, d
    operand, source = [move_axis(x, d, 0, axis.size) for x, d in zip(args[:2], dims[:2])]
    return windows.select_and_scatter_p.bind(operand, source, args[2], **with_dimension(params, 0)), 0


windows.select_and_scatter_p.batch = _select_and_scatter_batch
