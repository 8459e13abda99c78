"""Tables from primitives to one kind of rule: views of the attributes that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from xtrace.core.primitive import Primitive


class RuleTable(MutableMapping[Primitive, Any]):
    """`table[primitive]` is the primitive's attribute `name`, seen through `shown` and stored through `stored`.

    Iteration and length are of the primitives that were registered through the table.
    """

    def __init__(
        self,
        name: str,
        stored: Callable[[Any], Any] = lambda rule: rule,
        shown: Callable[[Any], Any] = lambda rule: rule,
    ) -> None:
        self._name = name
        self._stored = stored
        self._shown = shown
        self._registered: dict[Primitive, None] = {}

    def __setitem__(self, primitive: Primitive, rule: Any) -> None:
        setattr(primitive, self._name, self._stored(rule))
        self._registered[primitive] = None

    def __getitem__(self, primitive: Primitive) -> Any:
        rule = getattr(primitive, self._name, None)
        if rule is None:
            raise KeyError(primitive)
        return self._shown(rule)

    def __contains__(self, primitive: object) -> bool:
        return getattr(primitive, self._name, None) is not None

    def __delitem__(self, primitive: Primitive) -> None:
        if primitive not in self:
            raise KeyError(primitive)
        setattr(primitive, self._name, None)
        self._registered.pop(primitive, None)

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self._registered)

    def __len__(self) -> int:
        return len(self._registered)
