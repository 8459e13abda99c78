"""How exact a result must be: rounding methods and the accuracy asked of transcendental functions."""

from __future__ import annotations

import enum
from typing import Any


class RoundingMethod(enum.IntEnum):
    """Where `round` sends values halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class AccuracyMode(enum.Enum):
    """The implementation of a function: the most exact one there is, or the backend's usual choice."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """The error that a function may make: absolute, relative, or in units of the last place.

    Raises ValueError when one of them is negative or all are zero.
    """

    __slots__ = ("atol", "rtol", "ulps")
    fingerprint_fields = __slots__

    atol: float
    rtol: float
    ulps: int

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> None:
        if min(atol, rtol, ulps) < 0.0:
            raise ValueError("Tolerances must be non-negative.")
        if atol == rtol == ulps == 0:
            raise ValueError("At least one of atol, rtol, or ulps must be set.")
        for name, value in zip(self.__slots__, (atol, rtol, ulps)):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Tolerance can't be changed (its {name}); make another one")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tolerance) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __reduce__(self) -> tuple[Any, ...]:
        return Tolerance, self._fields()

    def _fields(self) -> tuple[float, float, int]:
        return self.atol, self.rtol, self.ulps

    def __repr__(self) -> str:
        return f"Tolerance(atol={self.atol!r}, rtol={self.rtol!r}, ulps={self.ulps!r})"


def checked(accuracy: Any) -> AccuracyMode | Tolerance:
    """`accuracy` if an operation takes it, else TypeError."""
    if not isinstance(accuracy, (AccuracyMode, Tolerance)):
        raise TypeError(f"accuracy must be a lax.AccuracyMode, a lax.Tolerance or None, got {accuracy!r}")
    return accuracy
