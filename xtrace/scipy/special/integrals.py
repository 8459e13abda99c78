"""Exponential, sine and cosine integrals, and the dilogarithm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import shapes
from xtrace.lax import special as lax_special
from xtrace.lax.control_flow import loops
from xtrace.numpy import promotion
from xtrace.scipy.special.declare import (
    arrays,
    distance_from,
    evaluate,
    full_like,
    piece,
    unary,
    where,
    with_derivatives,
)
from xtrace.scipy.special.tables import COSINE_INTEGRAL_ROOT, EXPI_ROOT


def _root_log(x: Any, root: tuple[float, float]) -> tuple[Any, Any]:
    """(x - root, log(x / root)) without cancellation near the root."""
    high, difference = root[0], distance_from(x, root)
    near = el.abs(difference) < 0.5 * high
    relative = difference / high
    return difference, where(near, el.log1p(where(near, relative, 0.0)), el.log(where(near, 1.0, x / high)))


def _exp1(x: Any) -> Any:
    small = el.min(x, full_like(x, 1))
    near = small * piece("exp1_0", 2 * small - 1) - np.euler_gamma - el.log(small)
    inverse = 1 / el.max(x, full_like(x, 1))
    middle = x < 4
    t1, t2 = where(middle, (2 * inverse - 1.25) / 0.75, 0.0), where(middle, 0.0, 8 * inverse - 1)
    far = el.exp(-x) * inverse * where(middle, piece("exp1_1", t1), piece("exp1_4", t2))
    return where(x < 0, math.nan, where(x < 1, near, far))


exp1_of = with_derivatives(lambda t, x: t * (-el.exp(-x) / x))(_exp1)


@with_derivatives(lambda t, x: t * (el.exp(x) / x))
def expi_of(x: Any) -> Any:
    small = el.min(x, full_like(x, 6))
    positive = where(small > 0, small, 1.0)
    difference, log = _root_log(positive, EXPI_ROOT)
    near = log + difference * piece("expi_0", positive / 3 - 1)
    inverse = 1 / el.max(x, full_like(x, 6))
    far = piece("expi_48", where(x >= 48, 96 * inverse - 1, 0.0))
    for name, begin in (("expi_24", 24), ("expi_12", 12), ("expi_6", 6)):
        high, low = 1 / begin, 0.5 / begin
        inside = (x >= begin) & (x < 2 * begin)
        t = where(inside, (2 * inverse - (high + low)) / (high - low), 0.0)
        far = where(inside, piece(name, t), far)
    # exp(x / 2) twice: it overflows before the integral does
    half = el.exp(0.5 * x)
    value = where(x < 6, near, half * (far * inverse) * half)
    value = where(x == math.inf, math.inf, where(x == 0, -math.inf, value))
    return where(x < 0, -exp1_of(-where(x < 0, x, -1.0)), value)


def _expn_value(n: Any, x: Any) -> Any:
    """E_n(x) for n >= 1: by its series up to 1, and Lentz's continued fraction beyond."""
    double = shaped(x).dtype.itemsize == 8
    small = el.max(el.min(x, full_like(x, 1)), full_like(x, 1e-37))
    order = n - 1
    last = order < 60
    bounded = where(last, order, 60.0)
    log_factorial = lax_special.lgamma(bounded + 1)
    odd = bounded != 2 * el.floor(bounded * 0.5)
    size = el.exp(bounded * el.log(small) - log_factorial)
    leading = where(odd, -size, size) * (lax_special.digamma(bounded + 1) - el.log(small))
    leading = where(last, leading, 0.0)
    series, power = full_like(x, 0), full_like(x, 1)
    for m in range(20 if double else 12):
        skipped = order == m
        series = series + where(skipped, 0.0, power / where(skipped, 1.0, m - order))
        power = power * (-small / (m + 1))
    near = leading - series

    start = el.max(x, full_like(x, 1))
    start = el.min(start, full_like(x, 1e4))

    def step(i: Any, carry: Any) -> Any:
        b, c, d, h = carry
        i = shapes.convert(i, shaped(x).dtype, False)
        a = -i * (n - 1 + i)
        b = b + 2
        d = 1 / (a * d + b)
        c = b + a / c
        return b, c, d, h * (c * d)

    b = start + n
    _, _, _, far = loops.fori_loop(1, 80 if double else 30, step, (b, full_like(x, 0) + 1e30, 1 / b, 1 / b))
    value = where(x <= 1, near, far * el.exp(-x))
    value = where(x == 0, where(n > 1, 1 / where(n > 1, n - 1, 1.0), math.inf), value)
    return where(n == 1, exp1_of(x), value)


@with_derivatives(None, lambda t, n, x: t * -_expn_lower(n, x))
def expn_of(n: Any, x: Any) -> Any:
    positive = where(x > 0, x, 1.0)
    zeroth = where(x == 0, math.inf, el.exp(-positive) / positive)
    value = where(n == 0, zeroth, _expn_value(el.max(n, full_like(n, 1)), x))
    value = where(x == math.inf, 0.0, value)
    return where((n < 0) | (x < 0) | (n != n) | (x != x), math.nan, value)


def _expn_lower(n: Any, x: Any) -> Any:
    """E of order n - 1; that of order -1 is exp(-x) (1 + x) / x^2."""
    return where(n == 0, el.exp(-x) * (1 + x) / (x * x), expn_of(el.max(n - 1, full_like(n, 0)), x))


@composite
def expn(n: Any, x: Any) -> Any:
    """The generalized exponential integral E_n(x): that of exp(-x t) / t^n from 1 to infinity.

    Args:
      n: array of integers, at least 0; without derivative.
      x: array, at least 0.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.expn(2, 1.0):.4f}")
    0.1485
    """
    return evaluate("expn", expn_of, n, x)


exp1 = unary("exp1", exp1_of, "The exponential integral E1: that of exp(-t) / t from x to infinity.", "1.0", "0.2194")
expi = unary("expi", expi_of, "The exponential integral Ei: that of exp(t) / t from -infinity to x.", "1.0", "1.8951")


@with_derivatives(lambda t, x: (t * where(x == 0, 1.0, el.sin(x) / where(x == 0, 1.0, x)), t * (el.cos(x) / x)))
def _sici(x: Any) -> tuple[Any, Any]:
    size = el.abs(x)
    small = size < 4
    near = where(small, size, 1.0)
    t = near * near * 0.125 - 1
    difference, log = _root_log(near, COSINE_INTEGRAL_ROOT)
    root = COSINE_INTEGRAL_ROOT[0]
    s0 = near * piece("si_0", t)
    c0 = log + difference * (near + root) * piece("ci_0", t)
    inverse = 1 / el.max(size, full_like(x, 4))
    u = inverse * inverse
    middle = size < 8
    t1, t2 = where(middle, (2 * u - 5 / 64) / (3 / 64), 0.0), where(middle, 0.0, 128 * u - 1)
    f = inverse * where(middle, piece("sici_f_4", t1), piece("sici_f_8", t2))
    g = u * where(middle, piece("sici_g_4", t1), piece("sici_g_8", t2))
    finite = where(size < math.inf, size, 0.0)
    sin, cos = el.sin(finite), el.cos(finite)
    s1, c1 = (math.pi / 2 - f * cos) - g * sin, f * sin - g * cos
    s = el.sign(x) * where(small, s0, s1)
    c = where(x == 0, -math.inf, where(small, c0, c1))
    return where(x != x, x, s), where(x != x, x, where(x == -math.inf, math.nan, c))


@composite
def sici(x: Any) -> Any:
    """The sine and cosine integrals Si(x) and Ci(x); for negative x the real part of Ci.

    Args:
      x: array.

    Returns:
      Two arrays of floating dtype: Si and Ci.

    Raises:
      ValueError: `x` is complex.

    >>> import xtrace as xt
    >>> si, ci = xt.scipy.special.sici(1.0)
    >>> print(f"{si:.4f} {ci:.4f}")
    0.9461 0.3374
    """
    (values,) = promotion.promote_args_inexact("sici", x)
    if shaped(values).dtype.kind == "c":
        raise ValueError(f"Argument `x` to sici must be real-valued, got {shaped(values).dtype}.")
    return evaluate("sici", _sici, values)


def _spence_slope(x: Any) -> Any:
    one = x == 1
    return where(one, -1.0, el.log(x) / where(one, 1.0, 1 - x))


@with_derivatives(lambda t, x: t * _spence_slope(x))
def _spence(x: Any) -> Any:
    """By reflection to [1/2, 3/2]: x -> 1 / x above, x -> 1 - x below."""
    above = x > 1.5
    w = where(above, 1 / where(above, x, 1.0), x)
    under = w < 0.5
    v = where(under, 1 - w, w)
    value = (1 - v) * piece("spence", 2 * (v - 1))
    log = el.log(where(w > 0, w, 1.0))
    product = where(w > 0, log * el.log1p(-where(under, w, 0.0)), 0.0)
    value = where(under, math.pi**2 / 6 - product - value, value)
    log_x = el.log(where(above, x, 1.0))
    value = where(above, -0.5 * log_x * log_x - value, value)
    return where((x < 0) | (x != x), math.nan, value)


@composite
def spence(x: Any) -> Any:
    """Spence's function, the dilogarithm of 1 - x: the integral of log(t) / (1 - t) from 1 to x.

    Args:
      x: array of float32 or float64, at least 0 (nan below).

    Returns:
      An array of the dtype of `x`.

    Raises:
      TypeError: another dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.spence(0.0):.4f}")
    1.6449
    """
    (values,) = arrays(*promotion.promote_args("spence", x))
    dtype = shaped(values).dtype
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"spence needs an array of float32 or float64, got x of dtype={dtype}: convert it first.")
    return evaluate("spence", _spence, values)
