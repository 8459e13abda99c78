"""Functions with a derivative where the formula has none."""

from __future__ import annotations

from typing import Any

from xtrace.core.primitive import shaped
from xtrace.lax import comparisons, elementwise, selection
from xtrace.lax.creation import full_like


def sqrt_of_sum(total: Any) -> Any:
    """The square root of a sum of squares, with slope 0 where the sum is 0: a subgradient of a norm there.

    The chain rule alone would give infinity times zero. Used for norms and standard deviations.
    """
    zero = comparisons.eq(total, elementwise.scalar_like(total, 0))
    one = full_like(total, 1) if shaped(total).shape else elementwise.scalar_like(total, 1)
    root = elementwise.sqrt(selection.select(zero, one, total))
    return selection.select(zero, full_like(root, 0), root)
