"""Comparison of dimensions. Sizes are ints today; symbolic dimensions will be compared here too."""

from __future__ import annotations


def max_dim(a: int, b: int) -> int:
    """The larger of two dimension sizes."""
    return max(a, b)


def min_dim(a: int, b: int) -> int:
    """The smaller of two dimension sizes."""
    return min(a, b)
