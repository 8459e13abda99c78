"""Hypergeometric functions of real arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import reductions, shapes
from xtrace.lax import special as lax_special
from xtrace.lax.control_flow import loops
from xtrace.scipy.special.declare import evaluate, full_like, where, with_derivatives
from xtrace.scipy.special.gammas import gamma_of, reciprocal_gamma, sign_of_gamma

#: A ratio of successive terms at index k, and its derivative by one parameter.
Ratio = Callable[[Any], Any]

_MOST_TERMS = 20_000


def _sum(like: Any, ratio: Ratio, slope: Ratio | None = None) -> Any:
    """1 + r(0) + r(0) r(1) + … until nothing changes any more; with `slope`, the derivative of that sum."""
    dtype = shaped(like).dtype
    eps = float(np.finfo(dtype).eps) / 4
    zero, one = 0 * like, 0 * like + 1

    def goes_on(carry: Any) -> Any:
        k, term, total, d_term, d_total = carry
        moving = (el.abs(term) > eps * el.abs(total)) | (el.abs(d_term) > eps * el.abs(d_total))
        moving = moving & el.is_finite_p.bind(total) & el.is_finite_p.bind(d_total)
        return reductions.reduce_or(moving, tuple(range(moving.ndim))) & (k < _MOST_TERMS)

    def step(carry: Any) -> Any:
        k, term, total, d_term, d_total = carry
        at = shapes.convert(k, dtype, False)
        r = ratio(at)
        if slope is not None:
            d_term = d_term * r + term * slope(at)
            d_total = d_total + d_term
        term = term * r
        return k + 1, term, total + term, d_term, d_total

    _, _, total, _, d_total = loops.while_loop(goes_on, step, (np.int32(0), one, one, zero, zero))
    return total if slope is None else d_total


# -- 1F1 -------------------------------------------------------------------------------------------------------------


def _confluent(a: Any, b: Any, x: Any) -> Any:
    """The series for x >= 0; beyond 100 the asymptotic one."""
    far = x > 100
    near = where(far, 0.0, x)
    series = _sum(near, lambda k: (a + k) / (b + k) * (near / (k + 1)))
    inverse = 1 / where(far, x, 100.0)
    total, term = full_like(x, 0) + 1, full_like(x, 0) + 1
    for k in range(30):
        following = term * ((1 - a + k) * (b - a + k) / (k + 1)) * inverse
        term = where(el.abs(following) < el.abs(term), following, 0.0)
        total = total + term
    signs = sign_of_gamma(b) * where(el.floor(a) == a, where(a <= 0, 0.0, full_like(a, 1)), sign_of_gamma(a))
    exponent = lax_special.lgamma(b) - lax_special.lgamma(a) + x - (b - a) * el.log(where(far, x, 100.0))
    return where(far, signs * el.exp(exponent) * total, series)


def _hyp1f1_slope(name: str, a: Any, b: Any, x: Any) -> Any:
    if name == "a":
        return _sum(x, lambda k: (a + k) / (b + k) * (x / (k + 1)), lambda k: x / ((b + k) * (k + 1)))
    return _sum(
        x, lambda k: (a + k) / (b + k) * (x / (k + 1)), lambda k: -(a + k) / ((b + k) * (b + k)) * (x / (k + 1))
    )


@with_derivatives(
    lambda t, a, b, x: t * _hyp1f1_slope("a", a, b, x),
    lambda t, a, b, x: t * _hyp1f1_slope("b", a, b, x),
    lambda t, a, b, x: t * (a / b * _hyp1f1(a + 1, b + 1, x)),
)
def _hyp1f1(a: Any, b: Any, x: Any) -> Any:
    # exp(x) 1F1(b - a; b; -x): all terms of one sign
    negative = x < 0
    value = _confluent(where(negative, b - a, a), b, el.abs(x))
    value = where(negative, el.exp(x) * value, value)
    pole = (b <= 0) & (el.floor(b) == b)
    value = where(pole, math.inf, value)
    value = where((a == b) & ~pole, el.exp(x), value)
    return where((x == 0) | (a == 0), 1.0, value)


@composite
def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """The confluent hypergeometric function 1F1(a; b; x) of real arguments.

    Digits cancel for negative x where a is much larger than b.

    Args:
      a, b, x: arrays, broadcast.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.hyp1f1(1.0, 2.0, 1.0):.4f}")
    1.7183
    """
    return evaluate("hyp1f1", _hyp1f1, a, b, x)


# -- 2F1 -------------------------------------------------------------------------------------------------------------


def _gauss(a: Any, b: Any, c: Any, x: Any) -> Any:
    return _sum(x, lambda k: (a + k) * (b + k) / (c + k) * (x / (k + 1)))


def _gauss_slope(name: str, a: Any, b: Any, c: Any, x: Any) -> Any:
    """The derivative of the series by a parameter; x below -1/2 by Pfaff's transformation."""
    negative = x < -0.5
    z = where(negative, x / (x - 1), x)
    q = where(negative, c - b, b)

    def ratio(k: Any) -> Any:
        return (a + k) * (q + k) / (c + k) * (z / (k + 1))

    def slope(which: str) -> Any:
        by = {
            "a": lambda k: (q + k) / (c + k) * (z / (k + 1)),
            "b": lambda k: (a + k) / (c + k) * (z / (k + 1)),
            "c": lambda k: -(a + k) * (q + k) / ((c + k) * (c + k)) * (z / (k + 1)),
        }[which]
        return _sum(z, ratio, by)

    log = el.log1p(-where(negative, x, 0.0))
    scale = where(negative, el.exp(-a * log), 1.0)
    if name == "a":
        return scale * (slope("a") - log * _sum(z, ratio))
    if name == "b":
        return scale * where(negative, -1.0, full_like(x, 1)) * slope("b")
    return scale * (slope("c") + where(negative, slope("b"), 0.0))


@with_derivatives(
    lambda t, a, b, c, x: t * _gauss_slope("a", a, b, c, x),
    lambda t, a, b, c, x: t * _gauss_slope("b", a, b, c, x),
    lambda t, a, b, c, x: t * _gauss_slope("c", a, b, c, x),
    lambda t, a, b, c, x: t * (a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x)),
)
def _hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    a_ends, b_ends = (a <= 0) & (el.floor(a) == a), (b <= 0) & (el.floor(b) == b)
    ends = a_ends | b_ends
    degree = where(a_ends & b_ends, el.min(-a, -b), where(a_ends, -a, where(b_ends, -b, math.inf)))
    excess = c - a - b
    # Below -1/2: (1 - x)^-a 2F1(a, c - b; c; x / (x - 1)); towards 1: a sum of two series in 1 - x.
    pfaff = (x < -0.5) & ~ends
    z = where(pfaff, x / where(pfaff, x - 1, 1.0), x)
    q = where(pfaff, c - b, b)
    s = c - a - q
    apart = el.abs(s - el.round(s, el.RoundingMethod.TO_NEAREST_EVEN)) > 1e-3
    close = (z > 0.9) & (z < 1) & apart & ~ends
    inside = where(close, 0.0, where((el.abs(z) < 1) | ends, z, 0.0))
    value = _gauss(a, q, c, inside)
    y = where(close, 1 - z, 0.0)
    one_of = lambda v: where(close, v, 1.5)  # noqa: E731
    first = _gauss(a, q, one_of(1 - s), y) * gamma_of(c) * gamma_of(s)
    first = first * reciprocal_gamma(c - a) * reciprocal_gamma(c - q)
    second = _gauss(c - a, c - q, one_of(1 + s), y) * gamma_of(c) * gamma_of(-s)
    second = second * reciprocal_gamma(a) * reciprocal_gamma(q) * el.pow(where(close, y, 1.0), where(close, s, 1.0))
    value = where(close, first + second, value)
    value = where(pfaff, el.exp(-a * el.log1p(-where(pfaff, x, 0.0))) * value, value)
    at_one = gamma_of(c) * gamma_of(excess) * reciprocal_gamma(c - a) * reciprocal_gamma(c - b)
    value = where((x == 1) & ~ends, where(excess > 0, at_one, math.inf), value)
    value = where((x > 1) & ~ends, math.inf, value)
    pole = (c <= 0) & (el.floor(c) == c) & (degree > -c)
    value = where(pole, math.inf, value)
    value = where((x == 0) | (a == 0) | (b == 0), 1.0, value)
    return where((a != a) | (b != b) | (c != c) | (x != x), math.nan, value)


@composite
def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """The hypergeometric function 2F1(a, b; c; x) of real arguments.

    Args:
      a, b, c, x: arrays, broadcast; `x` at most 1, unless a or b is an integer at most 0.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.hyp2f1(1.0, 1.0, 2.0, 0.5):.4f}")
    1.3863
    """
    return evaluate("hyp2f1", _hyp2f1, a, b, c, x)
