"""Private questions about values, under JAX's names for them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from xtrace.core import dtypes
from xtrace.core.primitive import shaped
from xtrace.core.trace import current
from xtrace.lax import shapes
from xtrace.runtime import host_calls, transfers


def is_weakly_typed(x: Any) -> bool:
    """Whether a value takes the dtype of what it is combined with, as Python numbers do."""
    return bool(shaped(x).weak_type)


def _convert_element_type(operand: Any, new_dtype: Any = None, weak_type: bool = False, sharding: Any = None) -> Any:
    """An array in another dtype, which is weak or not as said."""
    dtype = shaped(operand).dtype if new_dtype is None else dtypes.canonical_dtype(new_dtype)
    if getattr(operand, "aval", None) is None and current.trace is None:  # an array even where a scalar would do
        params = {"new_dtype": dtype, "weak_type": bool(weak_type), "sharding": sharding}
        return shapes.convert_element_type_p.bind(operand, **params)
    return shapes.convert(operand, dtype, weak_type)


def register_canonicalize_value_handler(kind: type, handler: Callable[[Any], Any] | None) -> None:
    """Place values of a type, such as by device_put, as what `handler` makes of them; as they are for None."""
    if handler is not None:
        transfers.put_handlers[kind] = lambda x, where, committed: transfers.put_leaf(handler(x), where)


class _RuntimeTokens:
    """What is still to be done by programs with effects that were called."""

    def block_until_ready(self) -> None:
        host_calls.effects_barrier()

    def clear(self) -> None:
        """Wait for those programs as well; what went wrong in them is nobody's concern any more."""
        with contextlib.suppress(Exception):
            host_calls.effects_barrier()


runtime_tokens = _RuntimeTokens()
