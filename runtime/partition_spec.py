"""PartitionSpec: for each dimension of an array, the mesh axes that split it."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from xtrace.runtime import jaxlib_api


class _Unconstrained:
    """The entry of a dimension whose sharding the compiler may choose."""

    _instance: _Unconstrained | None = None

    def __new__(cls) -> _Unconstrained:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> Any:
        return (_Unconstrained, ())


UNCONSTRAINED = _Unconstrained()
jaxlib_api.set_pspec_unconstrained(UNCONSTRAINED)


class UnreducedKind(enum.Enum):
    """How the parts of an unreduced array would be combined."""

    sum = 1
    max = 2
    min = 3


Axes = str | None | tuple[str, ...] | _Unconstrained


def _entry(axes: Any) -> Any:
    """One axis in a tuple is that axis, no axis in a tuple is None; lists are tuples."""
    if isinstance(axes, (list, tuple)):
        axes = tuple(axes)
        if any(a is None or a is UNCONSTRAINED for a in axes):
            raise ValueError(
                "an entry of a PartitionSpec is an axis name, a tuple of axis names, None or UNCONSTRAINED; "
                f"got {axes!r}"
            )
        if not axes:
            return None
        return axes[0] if len(axes) == 1 else axes
    return axes


def _axis_set(name: str, axes: Any) -> frozenset[Any]:
    if isinstance(axes, str) or not isinstance(axes, (set, frozenset, tuple, list)):
        raise TypeError(
            f"PartitionSpec: `{name}` must be a set of axis names, for example {name}={{'x'}}; got {axes!r}"
        )
    axes = frozenset(axes)
    if None in axes:
        raise ValueError(f"PartitionSpec: `{name}` can't contain None; got {set(axes)!r}")
    return axes


class PartitionSpec:
    """Which mesh axes split each dimension of an array.

    Args:
      *partitions: one entry per dimension, leading dimensions first: an axis name, a tuple of axis names, None
        (not split) or `PartitionSpec.UNCONSTRAINED` (the compiler decides). Missing trailing entries mean None.
      unreduced: axes over which the array is a set of parts still to be combined.
      reduced: axes over which the array's gradient is such a set of parts.
      unreduced_kind: how parts are combined; "sum" by default.

    Raises:
      ValueError: an axis is both in `partitions` and in `unreduced` or `reduced`.

    Example:
      >>> import xtrace as xt
      >>> xt.sharding.PartitionSpec("data", None, ("x", "y"))
      P('data', None, ('x', 'y'))
    """

    __slots__ = ("_partitions", "unreduced", "reduced", "unreduced_kind", "_hash", "__weakref__")

    UNCONSTRAINED = UNCONSTRAINED

    _partitions: tuple[Any, ...]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]
    unreduced_kind: UnreducedKind | None

    def __init__(
        self,
        *partitions: Any,
        unreduced: Any = frozenset(),
        reduced: Any = frozenset(),
        unreduced_kind: UnreducedKind | str | None = None,
    ) -> None:
        self._partitions = tuple([_entry(axes) for axes in partitions])
        self.unreduced = _axis_set("unreduced", unreduced)
        self.reduced = _axis_set("reduced", reduced)
        if self.unreduced:
            if not isinstance(unreduced_kind, (UnreducedKind, str, type(None))):
                raise TypeError(
                    f"Expected unreduced_kind to be of type UnreducedKind, or the name of one; got {unreduced_kind!r}"
                )
            kind = UnreducedKind.sum if unreduced_kind is None else unreduced_kind
            self.unreduced_kind = UnreducedKind[kind] if isinstance(kind, str) else UnreducedKind(kind)
        else:
            self.unreduced_kind = None
        used = {axis for entry in self._partitions for axis in (entry if isinstance(entry, tuple) else (entry,))}
        for name, axes in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if used & axes:
                raise ValueError(
                    f"partitions cannot overlap with {name} axes passed to PartitionSpec. "
                    f"Got partitions: {self._partitions} and {name} axes: {axes}"
                )
        if self.unreduced & self.reduced:
            raise ValueError(
                "an axis can't be both unreduced and reduced in a PartitionSpec. "
                f"Got unreduced axes: {self.unreduced} and reduced axes: {self.reduced}"
            )
        self._hash = hash((self._partitions, self.unreduced, self.reduced, self.unreduced_kind))

    @property
    def partitions(self) -> tuple[Any, ...]:
        return self._partitions

    def update(self, **changes: Any) -> PartitionSpec:
        """A copy with `partitions`, `unreduced`, `reduced` or `unreduced_kind` replaced."""
        partitions = changes.pop("partitions", self._partitions)
        settings = {"unreduced": self.unreduced, "reduced": self.reduced, "unreduced_kind": self.unreduced_kind}
        return PartitionSpec(*partitions, **(settings | changes))

    def _normalized_spec_for_aval(self, ndim: int) -> PartitionSpec:
        """This spec with one entry per dimension of an array of rank `ndim`."""
        return self.update(partitions=self._partitions + (None,) * (ndim - len(self._partitions)))

    def __len__(self) -> int:
        return len(self._partitions)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._partitions)

    def __getitem__(self, index: Any) -> Any:
        return self._partitions[index]

    def __add__(self, other: Any) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(
                *self._partitions,
                *other._partitions,
                unreduced=self.unreduced | other.unreduced,
                reduced=self.reduced | other.reduced,
                unreduced_kind=self.unreduced_kind or other.unreduced_kind,
            )
        if isinstance(other, tuple):
            return self.update(partitions=self._partitions + other)
        return NotImplemented

    def __radd__(self, other: Any) -> PartitionSpec:
        if isinstance(other, tuple):
            return self.update(partitions=other + self._partitions)
        return NotImplemented

    def index(self, value: Any) -> int:
        return self._partitions.index(_entry(value))

    def count(self, value: Any) -> int:
        return self._partitions.count(_entry(value))

    def __eq__(self, other: Any) -> bool:
        if self is other:
            return True
        if not isinstance(other, PartitionSpec):
            return False
        return (
            self._partitions == other._partitions
            and self.unreduced == other.unreduced
            and self.reduced == other.reduced
            and self.unreduced_kind == other.unreduced_kind
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        kind = self.unreduced_kind.name if self.unreduced_kind else None
        return (_make, (self._partitions, self.unreduced, self.reduced, kind))

    def __repr__(self) -> str:
        parts = "".join(f"{entry!r}, " for entry in self._partitions)
        settings = []
        if self.unreduced:
            settings.append(f"unreduced={{{', '.join(sorted(map(repr, self.unreduced)))}}}")
        if self.reduced:
            settings.append(f"reduced={{{', '.join(sorted(map(repr, self.reduced)))}}}")
        if self.unreduced_kind is not None:
            settings.append(f"unreduced_kind={self.unreduced_kind.name}")
        if settings:
            return f"P({parts}{', '.join(settings)})"
        return f"P({parts.rstrip(' ') if len(self._partitions) == 1 else parts.removesuffix(', ')})"


def _make(partitions: Any, unreduced: Any, reduced: Any, unreduced_kind: Any) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced, unreduced_kind=unreduced_kind)


P = PartitionSpec
