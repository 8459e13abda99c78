"""Small functions on lists, under the names that JAX's private `util` module gives them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["merge_lists", "partition_list", "safe_zip", "split_list", "unzip2", "unzip3"]


def safe_zip(*sequences: Sequence[Any]) -> list[tuple[Any, ...]]:
    """`zip` as a list, of sequences that must have one length."""
    return list(zip(*sequences, strict=True))


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The first and the second elements of pairs."""
    found = list(pairs)
    return tuple([a for a, _ in found]), tuple([b for _, b in found])


def unzip3(triples: Iterable[tuple[Any, Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """The first, second and third elements of triples."""
    found = list(triples)
    return tuple([a for a, _, _ in found]), tuple([b for _, b, _ in found]), tuple([c for _, _, c in found])


def split_list(values: Sequence[Any], sizes: Sequence[int]) -> list[list[Any]]:
    """`values` cut into pieces of these sizes, and a last piece with the rest."""
    values = list(values)
    out = []
    for n in sizes:
        if n > len(values):
            raise ValueError(f"split_list: {len(values)} values are left for a piece of {n}")
        out.append(values[:n])
        values = values[n:]
    return [*out, values]


def partition_list(which: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """(values where `which` is false, values where it is true)."""
    return [v for w, v in safe_zip(which, values) if not w], [v for w, v in safe_zip(which, values) if w]


def merge_lists(which: Sequence[bool], where_false: Sequence[Any], where_true: Sequence[Any]) -> list[Any]:
    """The list that `partition_list` split."""
    no, yes = iter(where_false), iter(where_true)
    return [next(yes) if w else next(no) for w in which]
