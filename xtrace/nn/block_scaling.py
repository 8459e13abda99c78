"""Dots of arrays quantized to narrow floats, with one scale for each block along the contracted axis.

Computed by plain operations: the values are what the formats (OCP MX "mxfp8", NVIDIA's "nvfp4") define, and every
platform has them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.core import dtypes, statics, warned
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax.custom_functions import custom_vjp

__all__ = ["BlockScaleConfig", "get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"]


@dataclasses.dataclass(slots=True)
class BlockScaleConfig:
    """How an operand is quantized: `block_size` numbers of `data_type` share a scale of `scale_type`.

    Args:
      mode: "mxfp8" or "nvfp4".
      global_scale: float32 [1], a scale of all blocks (nvfp4 alone).
      infer_only: there for the sake of programs that set it.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool


def get_scaled_dot_general_config(mode: str, global_scale: Any = None) -> BlockScaleConfig:
    """How scaled_dot_general quantizes in a named mode.

    Args:
      mode: "mxfp8" (blocks of 32 float8_e4m3fn, scales that are powers of two) or "nvfp4" (blocks of 16
        float4_e2m1fn, scales in float8_e4m3fn).
      global_scale: with nvfp4, float32 [1] that divides the whole operand first; None: 1.

    Returns:
      The configuration of one operand.

    Raises:
      ValueError: another mode.

    >>> import xtrace as xt
    >>> xt.nn.get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if mode == "nvfp4":
        scale = xnp.ones((1,), "float32") if global_scale is None else global_scale
        return BlockScaleConfig(mode, 16, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn, scale, False)
    if mode == "mxfp8":
        return BlockScaleConfig(mode, 32, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, None, False)
    raise ValueError(f"Unsupported mode: {mode}. It is 'nvfp4' or 'mxfp8'")


def _scaled(x: Any, scales: Any, dtype: Any) -> Any:
    """x [B, M, K] times scales [B, M, K / block], in dtype."""
    blocks = shaped(scales).shape[-1]
    parts = x.astype(dtype).reshape(*shaped(x).shape[:-1], blocks, -1)
    return (parts * scales.astype(dtype)[..., None]).reshape(shaped(x).shape)


@composite(static_argnames=("dtype",))
def _matmul(lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any, dtype: Any) -> Any:
    numbers = (((2,), (2,)), ((0,), (0,)))
    a, b = _scaled(lhs, lhs_scales, dtype), _scaled(rhs, rhs_scales, dtype)
    return lax.dot_general(a, b, numbers, preferred_element_type=dtype)


def scaled_matmul(
    lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any, preferred_element_type: Any = np.float32
) -> Any:
    """lhs times the transpose of rhs, where each block along the last axis has a scale.

    Args:
      lhs: [B, M, K].
      rhs: [B, N, K].
      lhs_scales: [B, M, k], where k divides K: a scale of each K / k numbers.
      rhs_scales: [B, N, k].
      preferred_element_type: of the computation and the result.

    Returns:
      [B, M, N].

    Raises:
      ValueError: shapes that don't fit.

    >>> import numpy as np, xtrace as xt
    >>> ones, scales = np.ones((1, 1, 4), np.float32), np.array([[[2.0, 0.5]]], np.float32)
    >>> xt.nn.scaled_matmul(ones, ones, scales, scales).tolist()
    [[[8.5]]]
    """
    dtype = dtypes.canonical_dtype(preferred_element_type)
    shapes = [shaped(x).shape for x in (lhs, rhs, lhs_scales, rhs_scales)]
    if any(len(shape) != 3 for shape in shapes):
        raise ValueError(f"scaled_matmul requires all inputs to be 3-dimensional arrays, got shapes {shapes}")
    a, b, a_scales, b_scales = shapes
    if (a[0], a[2]) != (b[0], b[2]):
        raise ValueError(
            "scaled_matmul requires inputs a and b to have matching batch (B) and contract (K) dimensions, but got "
            f"shapes {a} and {b}"
        )
    if (a_scales[0], a_scales[2]) != (b_scales[0], b_scales[2]):
        raise ValueError(
            "scaled_matmul requires scales to have matching batch (B) and contract (K) dimensions, but got shapes "
            f"{a_scales} and {b_scales}"
        )
    if a[:2] != a_scales[:2] or b[:2] != b_scales[:2]:
        raise ValueError(
            "scaled_matmul requires scales to match non-contract dimensions of inputs, but got shapes "
            f"a: {a}, b: {b}, a_scales: {a_scales}, b_scales: {b_scales}"
        )
    if not a_scales[2] or a[2] % a_scales[2]:
        raise ValueError(f"the {a_scales[2]} scales of scaled_matmul do not divide the contract dimension {a[2]}")
    return _matmul(lhs, rhs, lhs_scales, rhs_scales, dtype=dtype)


def _power_of_two_above(x: Any) -> Any:
    """The least powers of two not below x >= 0, as float8_e8m0fnu, which holds nothing but an exponent."""
    bits = lax.bitcast_convert_type(x.astype("float32"), "uint32")
    exponent, mantissa = bits >> 23, bits & 0x7FFFFF
    # The exponent 0 stands for 2^-127, which in float32 is a subnormal number of mantissa 0x400000.
    up = (mantissa > 0) & (exponent != 254) & ((exponent > 0) | (mantissa > 0x400000))
    return lax.bitcast_convert_type((exponent + up.astype("uint32")).astype("uint8"), ml_dtypes.float8_e8m0fnu)


def _quantized(x: Any, config: BlockScaleConfig) -> tuple[Any, Any]:
    """x [B, M, K] in config's data type, and the scales [B, M, K / block_size]."""
    *rows, size = shaped(x).shape
    if size < config.block_size or size % config.block_size:
        raise ValueError(
            f"the mode {config.mode} takes blocks of {config.block_size} along the contracted dimensions, whose size "
            f"{size} is no multiple of it: pad with zeros"
        )
    blocks = x.reshape(*rows, size // config.block_size, config.block_size)
    largest = float(ml_dtypes.finfo(config.data_type).max)
    if config.mode == "nvfp4":
        blocks = blocks / config.global_scale
    scales = xnp.max(xnp.abs(blocks), axis=-1, keepdims=True) / largest
    if config.mode == "mxfp8":
        scales = _power_of_two_above(scales)
    else:
        limit = float(ml_dtypes.finfo(config.scale_type).max)
        # The rounding of the scale must be seen: without a barrier the compiler may leave it out.
        scales = lax.optimization_barrier(xnp.clip(scales, 0, limit).astype(config.scale_type))
    wide = scales.astype("float32")
    # A block of zeros has the scale 0 in nvfp4: nothing divided by nothing is nothing here.
    parts = xnp.where(wide == 0, 0, blocks / xnp.where(wide == 0, 1, wide)).astype(shaped(blocks).dtype)
    return xnp.clip(parts, -largest, largest).astype(config.data_type).reshape(*rows, size), scales[..., 0]


def _as_three(x: Any, contracted: Sequence[int], batch: Sequence[int]) -> Any:
    """x as [batch, others, contracted]; pairs of axes are kept in the order given."""
    shape = shaped(x).shape
    kept = [i for i in range(len(shape)) if i not in contracted and i not in batch]
    sizes = [math.prod(shape[i] for i in axes) for axes in (batch, kept, contracted)]
    return lax.transpose(x, (*batch, *kept, *contracted)).reshape(sizes)


def _quantized_dot(lhs: Any, rhs: Any, configs: Sequence[BlockScaleConfig], dtype: Any) -> Any:
    """[B, M, K] and [B, N, K] to [B, M, N]."""
    (a, a_scales), (b, b_scales) = _quantized(lhs, configs[0]), _quantized(rhs, configs[1])
    if configs[0].mode != "nvfp4":
        return scaled_matmul(a, b, a_scales, b_scales, dtype)
    out = scaled_matmul(a, b, a_scales, b_scales, np.float32)
    return (out * (configs[0].global_scale * configs[1].global_scale)).astype(dtype)


def _backward_dot(g: Any, y: Any, configs: Sequence[BlockScaleConfig], dtype: Any) -> Any:
    """The cotangent g [B, M, N] times y [B, K, N]: quantized by mxfp8, in full by nvfp4."""
    if configs[0].mode == "nvfp4":
        return lax.dot_general(g, y, (((2,), (2,)), ((0,), (0,))), preferred_element_type=dtype)
    return _quantized_dot(g, y, configs, dtype)


def _within(x: Any, gradient: Any, config: BlockScaleConfig) -> Any:
    """The gradient where quantizing did not clip x, and 0 elsewhere (straight-through estimator)."""
    if config.mode != "nvfp4":
        return gradient
    limit = float(ml_dtypes.finfo(config.data_type).max) * float(ml_dtypes.finfo(config.scale_type).max)
    return xnp.where(xnp.abs(x) <= config.global_scale * limit, gradient, 0)


def scaled_dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    preferred_element_type: Any = np.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: str | None = None,
) -> Any:
    """lax.dot_general of operands quantized in blocks; in the derivative too.

    Args:
      lhs: floating array.
      rhs: floating array.
      dimension_numbers: ((lhs contracted, rhs contracted), (lhs batch, rhs batch)) axes.
      preferred_element_type: dtype of the result.
      configs: how lhs, rhs and the cotangent are quantized (get_scaled_dot_general_config); None: not at all.
      implementation: has no effect.

    Returns:
      Batch axes, then those of lhs, then those of rhs.

    Raises:
      ValueError: contracted axes that are not whole blocks.

    >>> import numpy as np, xtrace as xt
    >>> configs = [xt.nn.get_scaled_dot_general_config("mxfp8")] * 3
    >>> x = np.full((2, 32), 0.3, np.float32)
    >>> xt.nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs).round(4).tolist()
    [[3.125, 3.125], [3.125, 3.125]]
    """
    if implementation is not None:
        warned.warn("implementation has no effect: there is one for all platforms", DeprecationWarning)
    if configs is not None:
        configs = statics.parts(configs, "configs", "three BlockScaleConfigs")
        for config in configs:
            statics.check_instance(config, BlockScaleConfig, "configs", "three BlockScaleConfigs")
        if len(configs) != 3:
            raise ValueError(f"configs are three, for lhs, rhs and the cotangent; got {len(configs)}")
    if configs is None:
        return lax.dot_general(lhs, rhs, dimension_numbers, preferred_element_type=preferred_element_type)
    dtype = (
        xnp.result_type(lhs, rhs) if preferred_element_type is None else dtypes.canonical_dtype(preferred_element_type)
    )
    (a_contracted, b_contracted), (a_batch, b_batch) = dimension_numbers
    a_shape, b_shape = shaped(lhs).shape, shaped(rhs).shape
    out_shape = [
        *[a_shape[i] for i in a_batch],
        *[s for i, s in enumerate(a_shape) if i not in a_contracted and i not in a_batch],
        *[s for i, s in enumerate(b_shape) if i not in b_contracted and i not in b_batch],
    ]

    def forward(a: Any, b: Any) -> tuple[Any, Any]:
        return _quantized_dot(a, b, configs, dtype), (a, b)

    def backward(residuals: Any, g: Any) -> tuple[Any, Any]:
        a, b = residuals
        to_a = _backward_dot(g, xnp.matrix_transpose(b), (configs[2], configs[1]), dtype)
        to_b = _backward_dot(xnp.matrix_transpose(g), xnp.matrix_transpose(a), (configs[2], configs[0]), dtype)
        to_a, to_b = to_a.astype(shaped(a).dtype), to_b.astype(shaped(b).dtype)
        if configs[2].mode == "nvfp4":
            to_a, to_b = _within(a, to_a, configs[0]), _within(b, to_b, configs[1])
        return to_a, to_b

    dot = custom_vjp(lambda a, b: forward(a, b)[0])
    dot.defvjp(forward, backward)
    return dot(_as_three(lhs, a_contracted, a_batch), _as_three(rhs, b_contracted, b_batch)).reshape(out_shape)
