"""The memories of a device."""

from __future__ import annotations

import enum
from typing import Any


class Space(enum.Enum):
    """A memory, whatever the device calls it: its own, or the host's from which it reads directly."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    __str__ = __repr__


def kind_on(space: Space, device: Any) -> str | None:
    """What `device` calls a memory; None for its default."""
    if space is not Space.Host:
        return None if space is Space.Any else device.default_memory().kind
    kinds = [m.kind for m in device.addressable_memories()]
    return next((k for k in ("pinned_host", "unpinned_host") if k in kinds), None)


def in_space(sharding: Any, space: Space) -> Any:
    """The sharding, in another memory of the same devices."""
    kind = kind_on(space, next(iter(sharding.device_set)))
    return sharding if kind is None else sharding.with_memory_kind(kind)
