"""Small functions of functions, under the names that JAX's private `util` module gives them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["curry"]


def curry(f: Callable[..., Any]) -> Callable[..., Callable[..., Any]]:
    """`curry(f)(*a)(*b)` is `f(*a, *b)`.

    >>> curry(divmod)(17)(5)
    (3, 2)
    """
    return functools.wraps(f)(functools.partial(functools.partial, f))
