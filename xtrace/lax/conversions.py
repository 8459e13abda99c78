"""Other views of the same numbers: their bits as another dtype, or rounded to fewer bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax.rules import check_dtype, linear_in
from xtrace.transforms.batching import MappedAxis, move_axis

# -- dtype -----------------------------------------------------------------------------------------------------------


def dtype(x: Any) -> Any:
    """The dtype that `x` has as an array.

    Args:
      x: an array, a scalar, or a dtype, scalar type or name of a dtype.

    Returns:
      A dtype: 64-bit ones only if jax_enable_x64 is set.

    Raises:
      TypeError: a value that is no array.
      ValueError: None.

    >>> import xtrace as xt
    >>> xt.lax.dtype(1.0), xt.lax.dtype("int8")
    (dtype('float32'), dtype('int8'))
    """
    if x is None:
        raise ValueError("Invalid argument to dtype: None. Give an array, a scalar or a dtype.")
    return dtypes.of_value(x)[0]


# -- bitcast_convert_type --------------------------------------------------------------------------------------------


def _bitcast_aval(x: ShapedArray, *, new_dtype: Any) -> ShapedArray:
    old = x.dtype
    if old != new_dtype and (dtypes.kind(old) not in "iuf" or dtypes.kind(new_dtype) not in "iuf"):
        raise TypeError(
            f"bitcast_convert_type changes integer and floating dtypes into each other, got {old} and {new_dtype}. "
            "Consider using the arr.view() method instead."
        )
    if old == new_dtype:
        return ShapedArray(x.shape, new_dtype)
    before, after = dtypes.itemsize_bits(old), dtypes.itemsize_bits(new_dtype)
    if before == after:
        return ShapedArray(x.shape, new_dtype)
    if before > after:
        return ShapedArray((*x.shape, before // after), new_dtype)
    if not x.shape or x.shape[-1] * before != after:
        raise ValueError(
            f"bitcast_convert_type from {old} ({before} bits) to {new_dtype} ({after} bits) joins the last dimension, "
            f"which must have size {after // before}; got an array of shape {x.shape}"
        )
    return ShapedArray(x.shape[:-1], new_dtype)


bitcast_convert_type_p = Primitive("bitcast_convert_type", _bitcast_aval)
bitcast_convert_type_p.jvps = (None,)


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of `operand` taken as another dtype.

    Args:
      operand: array of an integer or floating dtype.
      new_dtype: such a dtype too. A narrower one appends a dimension (least significant bits first), a wider one
        joins the last dimension, which must hold just enough bits.

    Returns:
      An array of `new_dtype`.

    Raises:
      TypeError: a boolean or complex dtype that changes.
      ValueError: the last dimension doesn't hold the bits of one element.

    Example:
      >>> import xtrace as xt
      >>> print(xt.lax.bitcast_convert_type(1.0, "int32"))
      1065353216
    """
    return bitcast_convert_type_p.bind(operand, new_dtype=dtypes.canonical_dtype(new_dtype))


def _bitcast_batch(axis: MappedAxis, args: Sequence[Any], dims: Sequence[int | None], *, new_dtype: Any) -> Any:
    # The last dimension may come or go: the mapped one stays clear of it.
    return bitcast_convert_type_p.bind(move_axis(args[0], dims[0], 0, axis.size), new_dtype=new_dtype), 0


bitcast_convert_type_p.batch = _bitcast_batch

# -- reduce_precision ------------------------------------------------------------------------------------------------


def _reduce_precision_aval(x: ShapedArray, *, exponent_bits: int, mantissa_bits: int) -> ShapedArray:
    check_dtype("reduce_precision", x, "f")
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive; got {exponent_bits}")
    if mantissa_bits < 0:
        raise ValueError(f"reduce_precision: mantissa_bits must be non-negative; got {mantissa_bits}")
    return x


reduce_precision_p = Primitive("reduce_precision", _reduce_precision_aval)
reduce_precision_p.elementwise = True
reduce_precision_p.jvps = (lambda t, out, x, **params: reduce_precision_p.bind(t, **params),)
reduce_precision_p.batch = lambda axis, args, dims, **params: (reduce_precision_p.bind(*args, **params), dims[0])
linear_in(0, reduce_precision_p)


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Round floating point numbers to those of a narrower format, keeping the dtype.

    Args:
      operand: array of floating dtype.
      exponent_bits, mantissa_bits: the format: 5 and 10 are float16, 8 and 7 bfloat16.

    Returns:
      An array like `operand`.

    Raises:
      TypeError: not a floating dtype, or bits that are not integers.
      ValueError: no exponent bits, or negative mantissa bits.

    Example:
      >>> import xtrace as xt
      >>> print(xt.lax.reduce_precision(3.14159, 8, 7))
      3.140625
    """
    shaped(operand)
    return reduce_precision_p.bind(
        operand,
        exponent_bits=statics.integer(exponent_bits, "exponent_bits"),
        mantissa_bits=statics.integer(mantissa_bits, "mantissa_bits"),
    )
