"""Operations on the bits of integers, elementwise; on booleans they are logic."""

from __future__ import annotations

from typing import Any

from xtrace.lax.elementwise import (
    and_p,
    clz_p,
    described,
    mulhi_p,
    not_p,
    or_p,
    population_count_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    xor_p,
)


@described(not_p, "bitwise_not(5)", "-6")
def bitwise_not(x: Any) -> Any:
    """Elementwise ~x: all bits flipped."""
    return not_p.bind(x)


@described(and_p, "bitwise_and(6, 3)", "2")
def bitwise_and(x: Any, y: Any) -> Any:
    """Elementwise x & y."""
    return and_p.bind(x, y)


@described(or_p, "bitwise_or(6, 3)", "7")
def bitwise_or(x: Any, y: Any) -> Any:
    """Elementwise x | y."""
    return or_p.bind(x, y)


@described(xor_p, "bitwise_xor(6, 3)", "5")
def bitwise_xor(x: Any, y: Any) -> Any:
    """Elementwise x ^ y."""
    return xor_p.bind(x, y)


@described(shift_left_p, "shift_left(1, 4)", "16")
def shift_left(x: Any, y: Any) -> Any:
    """Elementwise x << y; 0 where y is negative or not below the number of bits."""
    return shift_left_p.bind(x, y)


@described(shift_right_arithmetic_p, "shift_right_arithmetic(-16, 2)", "-4")
def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """Elementwise x >> y, filled with the sign bit of x."""
    return shift_right_arithmetic_p.bind(x, y)


@described(shift_right_logical_p, "shift_right_logical(-1, 28)", "15")
def shift_right_logical(x: Any, y: Any) -> Any:
    """Elementwise x >> y, filled with zeros."""
    return shift_right_logical_p.bind(x, y)


@described(population_count_p, "population_count(7)", "3")
def population_count(x: Any) -> Any:
    """Elementwise number of bits that are set."""
    return population_count_p.bind(x)


@described(clz_p, "clz(1)", "31")
def clz(x: Any) -> Any:
    """Elementwise number of zero bits in front of the first set one."""
    return clz_p.bind(x)


@described(mulhi_p, "mulhi(1 << 30, 1 << 30)", "268435456")
def mulhi(x: Any, y: Any, /) -> Any:
    """Elementwise upper half of the product x * y, taken with twice the bits."""
    return mulhi_p.bind(x, y)
