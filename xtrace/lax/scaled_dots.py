"""Dot products of operands with one scale for each block along the contracted dimensions."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from xtrace.core import dtypes, statics
from xtrace.core.primitive import shaped
from xtrace.lax import composites, creation, dots, elementwise, shapes
from xtrace.lax.shapes import convert_element_type

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def _widened(scale: Any, shape: tuple[int, ...]) -> Any:
    """The scales of blocks repeated to the operand's shape."""
    found = shaped(scale).shape
    if found == shape:
        return scale
    split = [n for blocks, size in zip(found, shape) for n in (blocks, size // blocks if blocks else 0)]
    kept = tuple(range(0, 2 * len(shape), 2))
    return shapes.reshape(shapes.broadcast_in_dim(scale, tuple(split), kept), shape)


def _decomposed(
    lhs: Any, rhs: Any, lhs_scale: Any, rhs_scale: Any, *, dimension_numbers: Any, preferred_element_type: Any
) -> Any:
    operands = []
    for x, scale in ((lhs, lhs_scale), (rhs, rhs_scale)):
        scale = convert_element_type(_widened(scale, shaped(x).shape), _BFLOAT16)
        operands.append(elementwise.mul(convert_element_type(x, _BFLOAT16), scale))
    return dots.dot_general(*operands, dimension_numbers, preferred_element_type=np.dtype(preferred_element_type))


_composite = composites.composite(_decomposed, "xla.scaled_dot")


def _check_scale(side: str, operand: Any, scale: Any, contracted: Any) -> None:
    if len(scale) != len(operand):
        raise TypeError(
            f"All input tensors must have the same rank: the {side} has shape {operand}, its scale {scale}."
        )
    for i, (blocks, size) in enumerate(zip(scale, operand)):
        if i not in contracted and blocks != size:
            raise TypeError(f"The {side} of shape {operand} and its scale {scale} differ in dimension {i}.")
        if i in contracted and (blocks == 0 or size % blocks):
            raise TypeError(
                f"The {side} contracting dimension {i} of size {size} is no multiple of its scale's, {blocks}."
            )


def scaled_dot(
    lhs: Any,
    rhs: Any,
    *,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    dimension_numbers: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """dot_general of lhs times lhs_scale and rhs times rhs_scale, both rounded to bfloat16.

    It is the composite "xla.scaled_dot", which compilers may compute with the hardware's own operation. Derivatives
    are those of the plain operations.

    Args:
      lhs: array.
      rhs: array of the same rank.
      lhs_scale: of the shape of lhs, except that its contracted dimensions may be divisors: one number scales a block.
        None: 1.
      rhs_scale: likewise.
      dimension_numbers: ((lhs contracted, rhs contracted), (lhs batch, rhs batch)); None: a matrix product, leading
        dimensions are batches.
      preferred_element_type: of the result; None: bfloat16.

    Returns:
      The result of dot_general.

    Raises:
      TypeError: shapes that don't fit.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> ones, scale = np.ones((1, 4), np.float32), np.array([[2.0, 0.5]], np.float32)
      >>> xt.lax.scaled_dot(ones, ones.T, lhs_scale=scale).tolist()
      [[5.0]]
    """
    a, b = shaped(lhs).shape, shaped(rhs).shape
    if len(a) != len(b):
        raise TypeError(f"All input tensors must have the same rank, got lhs {a} and rhs {b}.")
    if dimension_numbers is None:
        if len(a) < 2:
            raise TypeError("scaled_dot does not support 0-rank and 1-rank operands.")
        batch = tuple(range(len(a) - 2))
        dimension_numbers = (((len(a) - 1,), (len(a) - 2,)), (batch, batch))
    numbers = statics.pairs(dimension_numbers, "dimension_numbers")
    (a_contracted, b_contracted), (a_batch, b_batch) = numbers
    scales = []
    for side, shape, scale, contracted in (
        ("LHS", a, lhs_scale, numbers[0][0]),
        ("RHS", b, rhs_scale, numbers[0][1]),
    ):
        if scale is None:
            ones = tuple([1 if i in contracted else n for i, n in enumerate(shape)])
            scale = creation.full_like(lhs, 1, _BFLOAT16, ones)
        _check_scale(side, shape, shaped(scale).shape, contracted)
        scales.append(scale)
    dtype = _BFLOAT16 if preferred_element_type is None else dtypes.canonical_dtype(preferred_element_type)
    return _composite(lhs, rhs, *scales, dimension_numbers=numbers, preferred_element_type=str(dtype))
