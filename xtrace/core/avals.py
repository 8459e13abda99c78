"""Abstract values: what tracing knows of an array. Interned: equal avals are the same object."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace.core import dtypes


class AbstractValue:
    """Base of all avals. Identity is equality, hashing is by identity."""

    __slots__ = ("__weakref__",)

    #: Whether elements are stored as arrays of another dtype.
    extended: bool = False


class ShapedArray(AbstractValue):
    """An array's shape, dtype and weak type (whether it yields to others in promotion, as Python scalars do).

    `ShapedArray((2, 3), np.float32) is ShapedArray((2, 3), "float32")`: construction looks the aval up.
    """

    __slots__ = ("shape", "dtype", "weak_type", "ndim", "size", "extended", "sharding", "_strong", "_tangent")

    shape: tuple[int, ...]
    dtype: dtypes.DType
    weak_type: bool
    ndim: int
    size: int
    sharding: Any
    _strong: ShapedArray | None
    _tangent: ShapedArray | None

    _table: dict[tuple[Any, ...], ShapedArray] = {}

    def __new__(cls, shape: Any, dtype: Any, weak_type: bool = False, *, sharding: Any = None) -> ShapedArray:
        if not isinstance(dtype, np.dtype):
            dtype = dtypes.as_dtype(dtype)
        key = (shape, dtype, weak_type, sharding)
        try:
            return cls._table[key]
        except (KeyError, TypeError):  # TypeError: a shape given as a list
            return cls._make(shape, dtype, weak_type, sharding)

    @classmethod
    def _make(cls, shape: Any, dtype: Any, weak_type: bool, sharding: Any) -> ShapedArray:
        shape = tuple([int(d) for d in shape])
        if dtype is dtypes.token:
            if shape:
                raise TypeError(f"tokens have no axes: there is no array of tokens, such as one of shape {shape}")
            return abstract_token
        key = (shape, dtype, bool(weak_type), sharding)
        aval = cls._table.get(key)
        if aval is None:
            aval = object.__new__(cls)
            aval.shape = shape
            aval.dtype = dtype
            aval.weak_type = bool(weak_type)
            aval.ndim = len(shape)
            size = 1
            for d in shape:
                size *= d
            aval.size = size
            aval.extended = isinstance(dtype, dtypes.ExtendedDtype)
            aval.sharding = sharding
            aval._strong = None
            aval._tangent = None
            aval = cls._table.setdefault(key, aval)  # atomic: two threads get one object
        return aval

    def strong(self) -> ShapedArray:
        """This aval without its weak type."""
        strong = self._strong
        if strong is None:
            strong = self if not self.weak_type else ShapedArray(self.shape, self.dtype, False, sharding=self.sharding)
            self._strong = strong
        return strong

    strip_weak_type = strong

    def tangent(self) -> ShapedArray:
        """The aval of this value's tangent: itself if inexact, float0 otherwise."""
        tangent = self._tangent
        if tangent is None:
            tangent = self if dtypes.is_inexact(self.dtype) else ShapedArray(self.shape, dtypes.float0)
            self._tangent = tangent
        return tangent

    to_tangent_aval = tangent

    def update(self, **changes: Any) -> ShapedArray:
        """A copy with some of shape, dtype, weak_type, sharding replaced."""
        return ShapedArray(
            changes.get("shape", self.shape),
            changes.get("dtype", self.dtype),
            changes.get("weak_type", self.weak_type),
            sharding=changes.get("sharding", self.sharding),
        )

    def str_short(self, short_dtypes: bool = True) -> str:
        name = dtypes.SHORT_NAMES.get(self.dtype) if short_dtypes else None
        if name is None:
            name = getattr(self.dtype, "name", str(self.dtype))
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __reduce__(self) -> Any:
        return (ShapedArray, (self.shape, self.dtype, self.weak_type))

    def __copy__(self) -> ShapedArray:
        return self

    def __deepcopy__(self, memo: Any) -> ShapedArray:
        return self

    def __repr__(self) -> str:
        name = getattr(self.dtype, "name", str(self.dtype))
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({name}[{','.join(map(str, self.shape))}]{weak})"

    def __str__(self) -> str:
        name = getattr(self.dtype, "name", str(self.dtype))
        return f"{'~' if self.weak_type else ''}{name}[{','.join(map(str, self.shape))}]"


class AbstractToken(ShapedArray):
    """The aval of an ordering token, which carries no data: one object, with neither elements nor layout."""

    __slots__ = ()

    _only: AbstractToken | None = None

    def __new__(cls) -> AbstractToken:
        if cls._only is None:
            cls._only = token = object.__new__(cls)
            token.shape, token.dtype, token.weak_type, token.sharding = (), dtypes.token, False, None
            token.ndim, token.size, token.extended = 0, 1, False
            token._strong, token._tangent = token, None
        return cls._only

    def update(self, **changes: Any) -> ShapedArray:
        return self

    def str_short(self, short_dtypes: bool = True) -> str:
        return "Tok"

    def __reduce__(self) -> Any:
        return (AbstractToken, ())

    __repr__ = __str__ = lambda self: "AbstractToken()"


abstract_token = AbstractToken()
