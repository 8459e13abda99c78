"""Attributes of operations that users name: Python values as parameters, compared by value and by type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class ArrayAttribute:
    """An array as an attribute: a copy that can't change, so that equal ones are equal parameters."""

    fingerprint_fields = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array = np.array(array)
        self.array.flags.writeable = False

    def _key(self) -> tuple[Any, ...]:
        return self.array.shape, self.array.dtype, self.array.tobytes()

    def __eq__(self, other: object) -> bool:
        return type(other) is ArrayAttribute and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return repr(self.array)


class Attributes(tuple[tuple[str, Any], ...]):
    """(name, value) pairs in the order of names. 1, 1.0 and True differ: the function that is called sees that."""

    __slots__ = ()
    fingerprint_fields = ("pairs",)

    @property
    def pairs(self) -> tuple[tuple[str, Any], ...]:
        return tuple(self)

    def __eq__(self, other: object) -> bool:
        return type(other) is Attributes and tuple.__eq__(self, other) and _kinds(self) == _kinds(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


def _kinds(value: Any) -> Any:
    return tuple(map(_kinds, value)) if isinstance(value, tuple) else type(value)


class DictAttribute:
    """A dictionary as an attribute."""

    fingerprint_fields = ("entries",)

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self.entries = hashable(entries)

    def __eq__(self, other: object) -> bool:
        return type(other) is DictAttribute and self.entries == other.entries

    def __hash__(self) -> int:
        return hash(self.entries)

    def __repr__(self) -> str:
        return repr(dict(self.entries))


def hashable(attributes: Mapping[str, Any]) -> Attributes:
    """Attributes by name as a parameter of the primitive.

    Raises TypeError for values that can't be one.
    """
    found = []
    for name, value in sorted(attributes.items()):
        value = _fixed(value)
        if not isinstance(value, (ArrayAttribute, DictAttribute)):
            try:
                hash(value)
            except TypeError:
                raise TypeError(
                    f"Non-hashable keyword argument to ffi_call {name}: {value}. Attributes are numbers, strings, "
                    "NumPy arrays, dtypes, and tuples or dictionaries of these."
                ) from None
        found.append((name, value))
    return Attributes(found)


def _fixed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ArrayAttribute(value)
    if isinstance(value, tuple):
        return tuple(map(_fixed, value))
    return DictAttribute(value) if isinstance(value, dict) else value


def plain(attributes: Attributes) -> dict[str, Any]:
    """The attributes as they were given."""
    return {name: _plain_value(value) for name, value in attributes}


def _plain_value(value: Any) -> Any:
    if isinstance(value, ArrayAttribute):
        return value.array
    if isinstance(value, tuple):
        return tuple(map(_plain_value, value))
    return plain(value.entries) if isinstance(value, DictAttribute) else value
