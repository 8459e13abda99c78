"""Values that a program declares compiled functions to depend on."""

from __future__ import annotations

import itertools
from typing import Any

from xtrace.core.config import Flag, Override, config

_numbers = itertools.count()


class UserContext:
    """A value that every jitted function is traced anew for; `with context(value):` sets it in the current thread."""

    __slots__ = ("_flag",)

    def __init__(self, flag: Flag) -> None:
        self._flag = flag

    @property
    def value(self) -> Any:
        """What the current thread sees."""
        return self._flag.value

    def __call__(self, new_val: Any = None) -> Override:
        """Set the value in the current thread while a block, or a decorated function, runs.

        Args:
          new_val: a hashable value.
        """
        hash(new_val)
        return Override(self._flag, new_val)


def make_user_context(default_value: Any = None) -> UserContext:
    """Make a value that jitted functions may read: one is traced again where it is another.

    Args:
      default_value: its value outside of blocks; hashable.

    Returns:
      A UserContext: `with context(value):` sets the value, `context.value` reads it.

    Example:
      >>> import xtrace as xt
      >>> scale = xt.make_user_context(1)
      >>> f = xt.jit(lambda x: x * scale.value)
      >>> with scale(10):
      ...     print(f(2))
      20
      >>> print(f(2))
      2
    """
    hash(default_value)
    name = f"user_context_{next(_numbers)}"
    return UserContext(
        config.define(name, default_value, "declared by the program", types=(), internal=True, in_jit_key=True)
    )
