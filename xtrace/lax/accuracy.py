"""How exact a result must be: rounding methods and the accuracy asked of transcendental functions."""

from __future__ import annotations

import dataclasses
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


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """The error that a function may make: absolute, relative, or in units of the last place.

    Raises ValueError when one of them is negative or all are zero.
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        if min(self.atol, self.rtol, self.ulps) < 0.0:
            raise ValueError("Tolerances must be non-negative.")
        if self.atol == self.rtol == self.ulps == 0:
            raise ValueError("At least one of atol, rtol, or ulps must be set.")


def checked(accuracy: Any) -> AccuracyMode | Tolerance:
    """`accuracy` if an operation takes it, else TypeError."""
    if not isinstance(accuracy, (AccuracyMode, Tolerance)):
        raise TypeError(f"accuracy must be a lax.AccuracyMode, a lax.Tolerance or None, got {accuracy!r}")
    return accuracy
