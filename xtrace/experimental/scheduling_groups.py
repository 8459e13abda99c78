"""Operations that the compiler schedules together (jax.experimental.scheduling_groups)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.experimental.xla_metadata import xla_metadata_call

__all__ = ["scheduling_group", "xla_metadata_call"]


def scheduling_group(name: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions whose operations are one group for the scheduler.

    Args:
      name: of the group.

    >>> import xtrace as xt
    >>> step = scheduling_group("a")(lambda x: x + 1)
    >>> 'scheduling_group = "a"' in xt.jit(step).lower(1.0).as_text()
    True
    """
    return xla_metadata_call(scheduling_group=name)
