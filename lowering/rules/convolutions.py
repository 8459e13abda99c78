"""Lowering of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.lax import convolutions, shapes
from xtrace.lax import elementwise as el
from xtrace.lowering.lower import Body
from xtrace.lowering.rules.dots import precision_config

#: Platforms whose libraries have real convolutions only.
_REAL_ONLY = ("cuda", "rocm")


def _layout(spec: Sequence[int], letters: str) -> str:
    names = [""] * len(spec)
    for position, name in zip(spec, [*letters, *map(str, range(len(spec) - 2))]):
        names[position] = name
    return f"[{', '.join(names)}]"


def _dimension_numbers(ctx: Body, numbers: Any) -> Any:
    """The attribute for ConvDimensionNumbers; looked up by the numbers, since its text is long."""
    key = ("conv", numbers)
    found = ctx.mlir.attributes.get(key)
    if found is None:
        lhs, rhs, out = numbers
        text = f"#stablehlo.conv<{_layout(lhs, 'bf')}x{_layout(rhs, 'oi')}->{_layout(out, 'bf')}>"
        found = ctx.mlir.attributes[key] = ctx.mlir.parsed(text)
    return found


def _conv(ctx: Body, eqn: Any, lhs: Any, rhs: Any) -> Any:
    params = eqn.params
    lhs_aval, rhs_aval, out = eqn.invars[0].aval, eqn.invars[1].aval, eqn.outvars[0].aval
    if 0 in (lhs_aval.size, rhs_aval.size, out.size):  # sums of nothing, which compilers don't all know
        return ctx.constant(np.zeros((), bool), out)
    if dtypes.is_complex(out.dtype) and any([p in _REAL_ONLY for p in ctx.platforms]):
        return _of_real_ones(ctx, eqn, lhs, rhs)
    mlir, padding = ctx.mlir, params["padding"]
    attributes = {
        "window_strides": mlir.i64_array(params["window_strides"]),
        "padding": mlir.dense(np.array(padding, np.int64).reshape(-1, 2), (len(padding), 2), dtypes.int64),
        "lhs_dilation": mlir.i64_array(params["lhs_dilation"]),
        "rhs_dilation": mlir.i64_array(params["rhs_dilation"]),
        "dimension_numbers": _dimension_numbers(ctx, params["dimension_numbers"]),
        "feature_group_count": mlir.i64(params["feature_group_count"]),
        "batch_group_count": mlir.i64(params["batch_group_count"]),
        "precision_config": precision_config(ctx, params["precision"]),
    }
    return ctx.op("stablehlo.convolution", out, [lhs, rhs], attributes)


def _of_real_ones(ctx: Body, eqn: Any, lhs: Any, rhs: Any) -> Any:
    """A complex convolution as three real ones (Gauss's product)."""
    params, dtype = {**eqn.params, "preferred_element_type": None}, eqn.outvars[0].aval.dtype

    def conv(x: Any, y: Any) -> Any:
        return convolutions.conv_general_dilated_p.bind(x, y, **params)

    def product(x: Any, y: Any) -> Any:
        x, y = shapes.convert(x, dtype, False), shapes.convert(y, dtype, False)
        a, b, c, d = el.real(x), el.imag(x), el.real(y), el.imag(y)
        first, second, third = conv(el.add(a, b), c), conv(a, el.sub(d, c)), conv(b, el.add(c, d))
        return el.complex(el.sub(first, third), el.add(first, second))

    return ctx.inline(product, [v.aval for v in eqn.invars], lhs, rhs)[0]


convolutions.conv_general_dilated_p.lower = _conv
