"""Comparisons, elementwise."""

from __future__ import annotations

from typing import Any

from xtrace.lax.elementwise import described, eq_p, ge_p, gt_p, is_finite_p, le_p, lt_p, ne_p


@described(eq_p, "eq(1, 2)", "False")
def eq(x: Any, y: Any) -> Any:
    """Elementwise x == y; NaN equals nothing."""
    return eq_p.bind(x, y)


@described(ne_p, "ne(1, 2)", "True")
def ne(x: Any, y: Any) -> Any:
    """Elementwise x != y; NaN differs from everything."""
    return ne_p.bind(x, y)


@described(lt_p, "lt(1, 2)", "True")
def lt(x: Any, y: Any) -> Any:
    """Elementwise x < y."""
    return lt_p.bind(x, y)


@described(le_p, "le(1, 2)", "True")
def le(x: Any, y: Any) -> Any:
    """Elementwise x <= y."""
    return le_p.bind(x, y)


@described(gt_p, "gt(1, 2)", "False")
def gt(x: Any, y: Any) -> Any:
    """Elementwise x > y."""
    return gt_p.bind(x, y)


@described(ge_p, "ge(1, 2)", "False")
def ge(x: Any, y: Any) -> Any:
    """Elementwise x >= y."""
    return ge_p.bind(x, y)


@described(is_finite_p, "is_finite(1e30)", "True")
def is_finite(x: Any) -> Any:
    """Elementwise whether x is a number, neither infinite nor NaN."""
    return is_finite_p.bind(x)
