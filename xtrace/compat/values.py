"""Private questions about values, under JAX's names for them."""

from __future__ import annotations

from typing import Any

from xtrace.core.primitive import shaped


def is_weakly_typed(x: Any) -> bool:
    """Whether a value takes the dtype of what it is combined with, as Python numbers do."""
    return bool(shaped(x).weak_type)
