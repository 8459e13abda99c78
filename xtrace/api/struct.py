"""ShapeDtypeStruct: an array's type without the array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.core.refs import AbstractRef, Ref


class ShapeDtypeStruct:
    """Shape, dtype and sharding of an array, in the place of one.

    Args:
      shape: sequence of ints. dtype: any dtype. sharding: where such an array lies, or None. weak_type: as Python
        numbers have it.

    >>> import xtrace as xt
    >>> xt.eval_shape(lambda x: x + x, xt.ShapeDtypeStruct((3,), "float32"))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """

    __slots__ = ("shape", "dtype", "sharding", "_dll", "weak_type", "vma", "is_ref")

    def __init__(
        self,
        shape: Sequence[int],
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        vma: Any = None,
        is_ref: bool = False,
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        self.shape = tuple(shape)
        self.dtype = dtypes.as_dtype(dtype)
        self.sharding = sharding
        self._dll = None
        self.weak_type = weak_type
        self.vma = vma
        self.is_ref = is_ref

    @property
    def aval(self) -> Any:
        aval = ShapedArray(self.shape, dtypes.canonicalize(self.dtype), self.weak_type)
        return AbstractRef(aval) if self.is_ref else aval

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(self.aval.size)

    @property
    def format(self) -> Any:
        return self.sharding

    @staticmethod
    def like(x: Any) -> ShapeDtypeStruct:
        """The type of an array, a number, or anything else with a shape and a dtype.

        Args:
          x: an array, traced or not, a number, or a ShapeDtypeStruct.

        Returns:
          A ShapeDtypeStruct, weakly typed where `x` is, with the sharding of an array that is committed to one.

        Raises:
          TypeError: `x` is no array, e.g. a list or a reference.

        >>> import xtrace as xt
        >>> xt.ShapeDtypeStruct.like(1.0)
        ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
        """
        if isinstance(x, ShapeDtypeStruct):
            return x
        aval = None
        if not isinstance(x, Ref):
            try:
                aval = shaped(x)
            except TypeError:
                if hasattr(x, "shape") and hasattr(x, "dtype"):
                    return ShapeDtypeStruct(x.shape, x.dtype)
        if aval is None:
            raise TypeError(
                f"ShapeDtypeStruct.like takes an array or a number, got {x!r} of type {type(x)}. The value of a "
                "reference is ref[...]; for a container write tree.map(ShapeDtypeStruct.like, x)."
            )
        sharding = x.sharding if getattr(x, "_committed", False) else None
        return ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding, weak_type=aval.weak_type)

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """A copy with some of shape, dtype, sharding, weak_type replaced."""
        return ShapeDtypeStruct(
            changes.get("shape", self.shape),
            changes.get("dtype", self.dtype),
            sharding=changes.get("sharding", self.sharding),
            weak_type=changes.get("weak_type", self.weak_type),
            is_ref=changes.get("is_ref", self.is_ref),
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapeDtypeStruct):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return (self.shape, self.dtype, self.sharding, self.weak_type, self.is_ref)

    def __repr__(self) -> str:
        sharding = f", sharding={self.sharding}" if self.sharding is not None else ""
        weak = f", weak_type={self.weak_type}" if self.weak_type else ""
        name = getattr(self.dtype, "name", self.dtype)
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={name}{sharding}{weak})"
