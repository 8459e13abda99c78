"""Arrays of other libraries, shared through the DLPack protocol (jax.dlpack)."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.numpy import interchange

#: Element types that DLPack has a code for and arrays can have.
_SUPPORTED = frozenset(
    np.dtype(t)
    for t in (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
        + [dtypes.bfloat16]
    )
)


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """Make an array of another library's, sharing its memory where that is possible.

    Args:
      external_array: object with `__dlpack__` and `__dlpack_device__`.
      device: a Device or Sharding to place the array on.
      copy: True: always copy. False: never, or raise.

    Returns:
      An array of the same shape and element type.

    Raises:
      TypeError: the object doesn't speak DLPack.
      ValueError: `copy` is False and a copy is needed.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.dlpack.from_dlpack(np.arange(3, dtype=np.int32))
      Array([0, 1, 2], dtype=int32)
    """
    return interchange.from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of an element type can be handed over.

    Args:
      dtype: what `numpy.dtype` takes.

    Example:
      >>> import xtrace as xt
      >>> xt.dlpack.is_supported_dtype("float32"), xt.dlpack.is_supported_dtype(xt.dtypes.float0)
      (True, False)
    """
    return np.dtype(dtype) in _SUPPORTED


__all__ = ["from_dlpack", "is_supported_dtype"]
