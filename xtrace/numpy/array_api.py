"""What the Python array API standard asks of an array library about itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.runtime import backends

__array_api_version__ = "2025.12"

#: Kind of dtypes -> the names of its dtypes in the standard.
_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]
_DEFAULTS = {"real floating": float, "complex floating": complex, "integral": int, "indexing": int}


def array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """Return the module with the functions of the Python array API standard.

    Args:
      api_version: the version of the standard that is wanted; None is the one that there is.

    Returns:
      The module `xtrace.numpy`.

    Raises:
      ValueError: another version is asked for.

    Example:
      >>> import xtrace as xt
      >>> xt.numpy.arange(3).__array_namespace__() is xt.numpy
      True
    """
    if api_version not in (None, __array_api_version__):
        raise ValueError(
            f"api_version={api_version!r} of the array API is not available; there is {__array_api_version__!r}"
        )
    from xtrace import numpy

    return numpy


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """Return what the Python array API standard lets a library say about itself.

    Returns:
      An object with the methods `capabilities`, `default_device`, `default_dtypes`, `devices` and `dtypes`.

    Example:
      >>> import xtrace as xt
      >>> sorted(xt.numpy.__array_namespace_info__().dtypes(kind="real floating"))
      ['float32']
    """
    return ArrayNamespaceInfo()


class ArrayNamespaceInfo:
    """The devices, dtypes and capabilities of the library, as the Python array API standard has them asked for."""

    def capabilities(self) -> dict[str, Any]:
        """Return the optional parts of the standard that work, under transformations too.

        Returns:
          A dictionary: whether arrays are indexed by masks, whether shapes may depend on data (neither, as shapes
          are static under `jit`; both work on plain arrays), and the greatest number of axes.
        """
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """Return None: an array that is not put on a device may be moved to where it is used."""

    def devices(self) -> tuple[Any, ...]:
        """Return the devices that arrays can be put on: None, for an array that is on no device in particular, too."""
        return (None, *[d for platform in backends.backends() for d in backends.devices(platform)])

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """Return the dtypes of arrays that are made without one.

        Args:
          device: any device; they don't differ.

        Returns:
          A dictionary with the keys "real floating", "complex floating", "integral" and "indexing".
        """
        return {kind: dtypes.canonical_dtype(scalar) for kind, scalar in _DEFAULTS.items()}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype]:
        """Return the dtypes of the standard that arrays can have, with 64-bit ones where those are turned on.

        Args:
          device: any device; they don't differ.
          kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
            "numeric", or a tuple of those; None is all.

        Returns:
          A dictionary from names to dtypes.

        Raises:
          KeyError: no such kind.
        """
        if kind is None:
            kind = ("bool", "numeric")
        names = [name for k in ((kind,) if isinstance(kind, str) else kind) for name in _KINDS[k]]
        return {name: np.dtype(name) for name in names if dtypes.canonical_dtype(name) == np.dtype(name)}
