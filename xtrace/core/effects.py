"""Effects: what an operation does besides computing its results.

An equation with effects is live though nobody reads its results, and keeps its place among those of its kind. A jaxpr
has the effects of its equations; a primitive that holds jaxprs has theirs.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Effect:
    """One kind of effect. Kinds that differ in nothing else are distinguished by identity.

    ordered: operations with this effect run in program order, one after the other, calls of compiled programs
      included: a token is threaded through them. Such operations can't be batched.
    """

    __slots__ = ("name", "ordered")

    def __init__(self, name: str, ordered: bool = False) -> None:
        self.name = name
        self.ordered = ordered

    def __repr__(self) -> str:
        return self.name


class NamedAxisEffect(NamedTuple):
    """Use of the mapped axis `name`: a jaxpr with it has meaning only under a transformation that binds the name."""

    name: Any

    @property
    def ordered(self) -> bool:
        return False


def keep_alive(effects: frozenset[Any]) -> bool:
    """Whether an operation with `effects` is needed though nobody reads its results. Use of an axis is no reason."""
    return any([type(e) is not NamedAxisEffect for e in effects])


def ordered_effects(effects: frozenset[Any]) -> list[Any]:
    """The ordered ones among `effects`, in an order that doesn't change from run to run."""
    return sorted([e for e in effects if getattr(e, "ordered", False)], key=repr)


def without_axis(effects: frozenset[Any], name: Any) -> frozenset[Any]:
    """What is left of `effects` where the axis `name` has been bound."""
    return frozenset([e for e in effects if e != NamedAxisEffect(name)]) if effects else effects
