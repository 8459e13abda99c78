"""Bits in bytes: packing, unpacking, and reading an array's bytes as another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes, statics
from xtrace.core.composite import composite
from xtrace.numpy import manipulation
from xtrace.numpy.arguments import as_array, canonical_axis
from xtrace.numpy.dtypes import canonical


def _weights(bitorder: str) -> np.ndarray:
    if bitorder not in ("little", "big"):
        raise ValueError(f"'order' must be either 'little' or 'big', got bitorder={bitorder!r}")
    places = np.arange(8, dtype=np.uint8)
    return np.left_shift(np.uint8(1), places[::-1] if bitorder == "big" else places)


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Bytes out of bits: eight elements, zero or not, become one uint8.

    Args:
      a: array of integers or booleans.
      axis: along which axis to pack; None packs the flattened array. Missing bits at the end are zero.
      bitorder: whether the first of eight elements is the highest bit ("big") or the lowest ("little").

    Returns:
      A uint8 array.

    Raises:
      TypeError: `a` has another dtype.

    >>> import xtrace.numpy as xnp
    >>> xnp.packbits(xnp.array([1, 0, 1]))
    Array([160], dtype=uint8)
    """
    x = as_array("packbits", a)
    if dtypes.kind(x.aval.dtype) not in "iub":
        raise TypeError(f"Expected an input array of integer or boolean data type, got {x.aval.dtype}")
    _weights(bitorder)
    return _pack(x, axis=None if axis is None else canonical_axis(axis, x.aval.ndim), bitorder=bitorder)


@composite(static_argnames=("axis", "bitorder"))
def _pack(x: Any, axis: int | None, bitorder: str) -> Any:
    if axis is None:
        x, axis = manipulation.ravel(x), 0
    bits = lax.convert_element_type(lax.ne(x, lax.full(x.shape, x.dtype.type(0), x.dtype)), np.uint8)
    bits = manipulation.swapaxes(bits, axis, -1)
    missing = -bits.shape[-1] % 8
    if missing:
        bits = lax.pad(bits, np.uint8(0), [(0, 0, 0)] * (bits.ndim - 1) + [(0, missing, 0)])
    eights = lax.reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    weighted = lax.mul(eights, lax.broadcast_in_dim(_weights(bitorder), eights.shape, (eights.ndim - 1,)))
    return manipulation.swapaxes(lax.reduce_sum(weighted, (eights.ndim - 1,)), axis, -1)


def unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Any:
    """Bits out of bytes: each uint8 becomes eight elements, zero or one.

    Args:
      a: array of uint8.
      axis: along which axis to unpack; None unpacks the flattened array.
      count: how many bits to keep: more than there are pads with zeros, a negative number cuts that many off.
      bitorder: whether the first of eight elements is the highest bit ("big") or the lowest ("little").

    Returns:
      A uint8 array of zeros and ones.

    Raises:
      TypeError: `a` has another dtype.

    >>> import xtrace.numpy as xnp
    >>> xnp.unpackbits(xnp.array([160], dtype="uint8"), count=4)
    Array([1, 0, 1, 0], dtype=uint8)
    """
    x = as_array("unpackbits", a)
    if x.aval.dtype != np.uint8:
        raise TypeError(f"Expected an input array of unsigned byte data type, got {x.aval.dtype}; cast it to uint8")
    _weights(bitorder)
    return _unpack(x, axis=None if axis is None else canonical_axis(axis, x.aval.ndim), count=count, bitorder=bitorder)


@composite(static_argnames=("axis", "count", "bitorder"))
def _unpack(x: Any, axis: int | None, count: int | None, bitorder: str) -> Any:
    if axis is None:
        x, axis = manipulation.ravel(x), 0
    x = manipulation.swapaxes(x, axis, -1)
    shape = (*x.shape, 8)
    spread = lax.broadcast_in_dim(x, shape, tuple(range(x.ndim)))
    masks = lax.broadcast_in_dim(_weights(bitorder), shape, (x.ndim,))
    hit = lax.ne(lax.bitwise_and(spread, masks), lax.full(shape, np.uint8(0), np.uint8))
    bits = lax.reshape(lax.convert_element_type(hit, np.uint8), (*x.shape[:-1], 8 * x.shape[-1]))
    size = bits.shape[-1]
    if count is not None:
        wanted = count if statics.integer(count, "count") >= 0 else max(size + count, 0)
        if wanted > size:
            bits = lax.pad(bits, np.uint8(0), [(0, 0, 0)] * (bits.ndim - 1) + [(0, wanted - size, 0)])
        else:
            bits = lax.slice_in_dim(bits, 0, wanted, axis=bits.ndim - 1)
    return manipulation.swapaxes(bits, axis, -1)


def view(x: Any, dtype: Any) -> Any:
    """The bytes of an array read as another dtype; where the widths differ, the last axis changes its size.

    Raises:
      TypeError: the last axis doesn't hold a whole number of the new elements.
    """
    if dtype is None:
        return x
    new = canonical(dtype, "view")
    old = x.aval.dtype
    if new == old:
        return x
    if dtypes.is_bool(old):
        return view(lax.convert_element_type(x, np.uint8), new)
    if dtypes.is_bool(new):
        return lax.convert_element_type(view(x, np.uint8), new)
    if dtypes.is_complex(old) or dtypes.is_complex(new):
        return _complex_view(x, old=old, new=new)
    wide, narrow = dtypes.itemsize_bits(old), dtypes.itemsize_bits(new)
    shape = x.aval.shape
    if wide == narrow:
        return lax.bitcast_convert_type(x, new)
    if not shape:
        raise TypeError("view() only supports 0d arrays when the itemsize is unchanged.")
    if wide > narrow:
        return _split_elements(x, dtype=new)
    if shape[-1] * wide % narrow:
        raise TypeError(
            f"When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis: "
            f"{shape[-1]} elements of {old} aren't a whole number of {new}."
        )
    return _merge_elements(x, dtype=new, count=narrow // wide)


@composite(static_argnames=("dtype",))
def _split_elements(x: Any, dtype: Any) -> Any:
    parts = lax.bitcast_convert_type(x, dtype)
    return lax.reshape(parts, (*x.shape[:-1], x.shape[-1] * parts.shape[-1]))


@composite(static_argnames=("dtype", "count"))
def _merge_elements(x: Any, dtype: Any, count: int) -> Any:
    return lax.bitcast_convert_type(lax.reshape(x, (*x.shape[:-1], x.shape[-1] // count, count)), dtype)


@composite(static_argnames=("old", "new"))
def _complex_view(x: Any, old: Any, new: Any) -> Any:
    if dtypes.is_complex(old):
        pairs = lax.concatenate(
            [lax.expand_dims(lax.real(x), (x.ndim,)), lax.expand_dims(lax.imag(x), (x.ndim,))], x.ndim
        )
        flat = lax.reshape(pairs, (*x.shape[:-1], 2 * x.shape[-1])) if x.ndim else lax.reshape(pairs, (2,))
        return view(flat, new)
    halves = view(x, dtypes.to_real(new))
    if halves.ndim == 0 or halves.shape[-1] % 2:
        raise TypeError(f"{x.shape} elements of {old} aren't a whole number of {new} along the last axis")
    pairs = lax.reshape(halves, (*halves.shape[:-1], halves.shape[-1] // 2, 2))
    real, imag = lax.unstack(pairs, pairs.ndim - 1)
    return lax.complex(real, imag)


def byteswap(x: Any) -> Any:
    """The array with the bytes of each element in reverse order."""
    return _swap_bytes(x)


@composite
def _swap_bytes(x: Any) -> Any:
    width = x.dtype.itemsize
    if width == 1:
        return x
    if dtypes.is_complex(x.dtype):
        return lax.complex(_swap_bytes(lax.real(x)), _swap_bytes(lax.imag(x)))
    separate = lax.bitcast_convert_type(x, np.uint8)
    return lax.bitcast_convert_type(lax.rev(separate, (separate.ndim - 1,)), x.dtype)


__all__ = ["byteswap", "packbits", "unpackbits", "view"]
