"""Compiled programs as bytes, in JAX's form; `Compiled.save` and `load_compiled` are for files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.api import saving
from xtrace.core.pytree import PyTreeDef
from xtrace.runtime import backends
from xtrace.stages import Compiled

__all__ = ["deserialize_and_load", "serialize"]


def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """A compiled program as bytes, without pickle, for the same kind of device and versions.

    Args:
      compiled: what `jit(f).lower(...).compile()` returned.

    Returns:
      (bytes, the structure of the arguments, the structure of the results).

    Raises:
      ValueError: the program calls back into this process, or was compiled for a device that is not here.

    >>> import xtrace as xt
    >>> from xtrace.experimental import serialize_executable
    >>> saved = serialize_executable.serialize(xt.jit(lambda x: x + 1).lower(1.0).compile())
    >>> print(serialize_executable.deserialize_and_load(*saved)(2.0))
    3.0
    """
    return saving.to_bytes(compiled), compiled.in_tree, compiled.out_tree


def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    backend: Any = None,
    execution_devices: Sequence[Any] | None = None,
) -> Compiled:
    """The program that `serialize` made bytes of.

    Args:
      serialized: the bytes.
      in_tree: the structure of the arguments that `serialize` returned.
      out_tree: that of the results.
      backend: a platform's name or a client; None: the platform it was compiled for.
      execution_devices: the devices to run on; None: the first of the platform.

    Raises:
      ValueError: the bytes are damaged, were made for another kind of device or version, or have other structures.
    """
    if execution_devices is None and backend is not None:
        execution_devices = backends.devices(backend) if isinstance(backend, str) else backend.devices()
        execution_devices = execution_devices[: saving.device_count(serialized)]
    loaded = saving.from_bytes(serialized, execution_devices, "the serialized program")
    for what, given, found in (("in_tree", in_tree, loaded.in_tree), ("out_tree", out_tree, loaded.out_tree)):
        if given != found:
            raise ValueError(f"{what} is {given}, but the serialized program has {found}")
    return loaded
