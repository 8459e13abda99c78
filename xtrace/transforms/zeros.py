"""Symbolic zeros and other stand-ins of differentiation."""

from __future__ import annotations

from typing import Any

from xtrace.core.avals import ShapedArray


class Zero:
    """A tangent or cotangent known to be zero, of the tangent type `aval`. Interned: one per aval."""

    __slots__ = ("aval",)

    aval: ShapedArray
    _table: dict[ShapedArray, Zero] = {}

    def __new__(cls, aval: ShapedArray) -> Zero:
        zero = cls._table.get(aval)
        if zero is None:
            zero = object.__new__(cls)
            zero.aval = aval
            cls._table[aval] = zero
        return zero

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short()})"


class UndefinedPrimal:
    """In a transpose rule, an operand that the operation is linear in: only its type exists."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval.str_short()})"


def zero_tangent(primal: Any) -> Zero:
    """The symbolic zero of the tangent type of `primal` (any array)."""
    from xtrace.core.primitive import shaped

    return Zero(shaped(primal).tangent())


_make_zeros: Any = None
_broadcast: Any = None


def set_array_makers(make_zeros: Any, broadcast: Any) -> None:
    """Plug in lax's makers: `make_zeros(aval)` and `broadcast(x, shape)`. This layer has no operations of its own."""
    global _make_zeros, _broadcast
    _make_zeros, _broadcast = make_zeros, broadcast


def instantiate(t: Any) -> Any:
    """An array in place of a symbolic zero; anything else as it is."""
    return _make_zeros(t.aval) if type(t) is Zero else t


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` repeated to `shape`, whose last dimensions are its own."""
    return _broadcast(x, shape)
