"""Arrays from and to buffers, texts, files and other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace.core import dtypes, statics
from xtrace.numpy.creation import array, asarray, place
from xtrace.runtime import backends, jaxlib_api


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Make an array of another library's, through the DLPack protocol.

    Args:
      x: object with `__dlpack__` and `__dlpack_device__`.
      device: a Device or Sharding to place the array on.
      copy: True: always copy. False: never, or raise.

    Returns:
      An array, sharing memory with `x` where that is possible.

    Raises:
      TypeError: `x` doesn't speak DLPack.
      ValueError: `copy` is False and a copy is needed.

    Example:
      >>> import numpy as np
      >>> import xtrace.numpy as xnp
      >>> xnp.from_dlpack(np.arange(3, dtype=np.int32))
      Array([0, 1, 2], dtype=int32)
    """
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"from_dlpack takes objects with __dlpack__ and __dlpack_device__, got {type(x).__name__}")
    kind, number = x.__dlpack_device__()
    if int(kind) == 1 and isinstance(x, np.ndarray):
        # NumPy may write to its memory at any time: it is copied.
        if copy is False:
            raise ValueError("from_dlpack: the memory of NumPy arrays is never shared, so copy=False can't be had")
        out = asarray(x)
    else:
        out = jaxlib_api.from_dlpack(x.__dlpack__(), _device_of(int(kind), number), None, copy)
        if copy:  # jaxlib shares the memory of its own arrays even so
            out = array(out)
    return place(out, device)


def _device_of(kind: int, number: int) -> Any:
    """The device that DLPack calls by this kind and number."""
    platform = {1: "cpu", 2: "cuda", 3: "cpu", 10: "rocm"}.get(kind)
    if platform is None:
        raise ValueError(f"from_dlpack: no device of DLPack's kind {kind} is known; copy the array to the host first")
    for found in backends.get_backend(platform).local_devices():
        if platform == "cpu" or found.local_hardware_id == number:
            return found
    raise ValueError(f"from_dlpack: there is no {platform} device number {number}")


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """Make a 1-D array of the bytes in a buffer.

    Args:
      buffer: bytes, bytearray, memoryview, or anything with the buffer protocol.
      dtype: dtype in which the bytes are read.
      count: number of elements; -1 for all.
      offset: byte to start at.

    Returns:
      An array of shape (count,).

    Raises:
      ValueError: the buffer's size doesn't fit.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.frombuffer(bytes([1, 2, 3]), dtype="uint8")
      Array([1, 2, 3], dtype=uint8)
    """
    count, offset = statics.integer(count, "count"), statics.integer(offset, "offset")
    try:
        memoryview(buffer)
    except TypeError:
        statics.refuse("buffer", buffer, "bytes, or another object with a buffer,")
    return asarray(np.frombuffer(buffer, dtype=dtypes.as_dtype(dtype), count=count, offset=offset))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """Make a 1-D array of the numbers in a text.

    Args:
      string: the text.
      dtype: dtype in which the numbers are read.
      count: how many numbers to read; -1 for all.
      sep: what separates the numbers.

    Returns:
      An array of shape (count,).

    Raises:
      ValueError: the text holds something else than numbers.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.fromstring("1, 2, 3", dtype=int, sep=",")
      Array([1, 2, 3], dtype=int32)
    """
    statics.check_instance(string, (str, bytes), "string", "a string")
    statics.check_instance(sep, str, "sep", "a string")
    count = statics.integer(count, "count")
    return asarray(np.fromstring(string, dtype=dtypes.as_dtype(dtype), count=count, sep=sep))


def _impure(name: str, example: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{name} reads from outside the program, which a transformed function must not do: it would be read once, "
            f"at tracing. Read with NumPy and pass the array in: asarray(np.{name}(...))."
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"""Always refuses, as JAX's does: a program must not read from outside.

    Args:
      args, kwargs: any.

    Returns:
      Never.

    Raises:
      NotImplementedError: always. Read with NumPy and pass the array in.

    Example:
      >>> import numpy as np
      >>> import xtrace.numpy as xnp
      >>> {example}
      Array([0, 1, 4], dtype=int32)
    """
    return refuse


fromfile = _impure(
    "fromfile",
    """import tempfile
      >>> with tempfile.TemporaryFile() as f:
      ...     _ = f.write(np.array([0, 1, 4]).tobytes()), f.seek(0)
      ...     x = xnp.asarray(np.fromfile(f, np.int64))
      >>> x""",
)
fromiter = _impure("fromiter", "xnp.asarray(np.fromiter((i * i for i in range(3)), int))")


def save(file: Any, arr: Any, *args: Any, **kwargs: Any) -> None:
    """Save an array to a .npy file, as numpy.save.

    Args:
      file: path or file object.
      arr: the array.
      args, kwargs: passed on to numpy.save.

    Returns:
      None.

    Example:
      >>> import io
      >>> import xtrace.numpy as xnp
      >>> xnp.save(io.BytesIO(), xnp.arange(3))
    """
    np.save(file, np.asarray(arr), *args, **kwargs)


def savez(file: Any, *args: Any, **kwargs: Any) -> None:
    """Save arrays to an .npz file, as numpy.savez.

    Args:
      file: path or file object.
      args, kwargs: the arrays, positionally or by the names they get.

    Returns:
      None.

    Example:
      >>> import io
      >>> import xtrace.numpy as xnp
      >>> xnp.savez(io.BytesIO(), a=xnp.arange(3))
    """
    np.savez(file, *[np.asarray(a) for a in args], **{k: np.asarray(v) for k, v in kwargs.items()})


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """Load an array from a .npy file, or the arrays of an .npz file as NumPy's lazy mapping.

    Args:
      file: path or file object.
      args, kwargs: passed on to numpy.load.

    Returns:
      An array, or a mapping of NumPy arrays.

    Example:
      >>> import io
      >>> import xtrace.numpy as xnp
      >>> f = io.BytesIO()
      >>> xnp.save(f, xnp.arange(3))
      >>> _ = f.seek(0)
      >>> xnp.load(f)
      Array([0, 1, 2], dtype=int32)
    """
    out = np.load(file, *args, **kwargs)
    if not isinstance(out, np.ndarray):
        return out
    if out.dtype.kind == "V" and out.dtype.names is None:  # bfloat16 and the like are saved as raw bytes
        names = {2: dtypes.bfloat16}
        out = out.view(names.get(out.dtype.itemsize, out.dtype))
    return asarray(out)


__all__ = ["from_dlpack", "frombuffer", "fromfile", "fromiter", "fromstring", "load", "save", "savez"]
