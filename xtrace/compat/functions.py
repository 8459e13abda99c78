"""Small functions of functions, under the names that JAX's private `util` module gives them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["curry", "subvals", "tuple_update"]


def curry(f: Callable[..., Any]) -> Callable[..., Callable[..., Any]]:
    """`curry(f)(*a)(*b)` is `f(*a, *b)`.

    >>> curry(divmod)(17)(5)
    (3, 2)
    """
    return functools.wraps(f)(functools.partial(functools.partial, f))


def subvals(values: Iterable[Any], new: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """The values, with others at some positions.

    >>> subvals("abc", [(1, "x")])
    ('a', 'x', 'c')
    """
    out = list(values)
    for position, value in new:
        out[position] = value
    return tuple(out)


def tuple_update(t: tuple[Any, ...], idx: int, val: Any) -> tuple[Any, ...]:
    """The tuple, with another value at one position, counted from its start.

    >>> tuple_update((1, 2, 3), 2, 5)
    (1, 2, 5)
    """
    if not 0 <= idx < len(t):
        raise ValueError(f"idx={idx} is no position of a tuple of {len(t)}")
    return subvals(t, [(idx, val)])
