"""Arrays as text. Print options are NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace.core import statics

get_printoptions = np.get_printoptions
printoptions = np.printoptions
set_printoptions = np.set_printoptions


def _width(given: Any) -> int | None:
    return None if given is None else statics.integer(given, "max_line_width")


def array_repr(
    arr: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """The text that `repr` gives for an array, with print options for this time.

    Args:
      arr: array of any shape and dtype.
      max_line_width: in characters. precision: digits after the point.
      suppress_small: whether numbers that would print as zeros do.

    Returns:
      The text.

    >>> import xtrace.numpy as xnp
    >>> xnp.array_repr(xnp.array([1.25, 2.0]), precision=1)
    'Array([1.2, 2. ], dtype=float32)'
    """
    options = {"linewidth": _width(max_line_width), "precision": precision, "suppress": suppress_small}
    with np.printoptions(**{name: value for name, value in options.items() if value is not None}):  # type: ignore[arg-type]
        return repr(arr) if hasattr(arr, "aval") else np.array_repr(np.asarray(arr))


def array_str(
    a: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """The text that `str` gives for an array, with print options for this time.

    Args:
      a: array of any shape and dtype.
      max_line_width: in characters. precision: digits after the point.
      suppress_small: whether numbers that would print as zeros do.

    Returns:
      The text.

    >>> import xtrace.numpy as xnp
    >>> xnp.array_str(xnp.array([1.25, 2.0]), precision=1)
    '[1.2 2. ]'
    """
    return np.array_str(np.asarray(a), _width(max_line_width), precision, suppress_small)


__all__ = ["array_repr", "array_str", "get_printoptions", "printoptions", "set_printoptions"]
