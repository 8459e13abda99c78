"""Private collectives of JAX, for programs that call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.core.primitive import shaped
from xtrace.lax import collectives, comparisons, creation, selection, shapes


def _arg_of(best: Callable[[Any, Any], Any], x: Any, axis_name: Any) -> Any:
    here = comparisons.eq(x, best(x, axis_name))
    index = shapes.broadcast(collectives.axis_index(axis_name), shaped(x).shape)
    nowhere = creation.full_like(index, collectives.axis_size(axis_name))
    return collectives.pmin(selection.select(here, index, nowhere), axis_name)


def pargmin(x: Any, axis_name: Any) -> Any:
    """Where along a mapped axis each element is least; the first place where several are."""
    return _arg_of(collectives.pmin, x, axis_name)


def pargmax(x: Any, axis_name: Any) -> Any:
    """Where along a mapped axis each element is greatest; the first place where several are."""
    return _arg_of(collectives.pmax, x, axis_name)
