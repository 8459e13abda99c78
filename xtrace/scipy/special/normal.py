"""The normal distribution: its integral, the logarithm and inverse of that, and Owen's T."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import special as lax_special
from xtrace.scipy.special.declare import evaluate, full_like, polynomial, unary, where, with_derivatives
from xtrace.scipy.special.errors import erfcx_real, split_square

_ROOT_HALF = math.sqrt(0.5)
_DENSITY = 1 / math.sqrt(2 * math.pi)


@with_derivatives(lambda t, x: t * (_DENSITY * el.exp(-0.5 * x * x)))
def ndtr_of(x: Any) -> Any:
    scaled = x * _ROOT_HALF
    center = 0.5 + 0.5 * lax_special.erf(scaled)
    # The rounding of x / sqrt(2) and of its square would be multiplied by x^2 in the tail: exp(-x^2 / 2) erfcx.
    square, rest = split_square(x)
    tail = 0.5 * el.exp(-0.5 * square) * (1 - 0.5 * rest) * erfcx_real(el.abs(scaled))
    return where(el.abs(x) < 1, center, where(x < 0, tail, 1 - tail))


def _log_ndtr_slope(x: Any) -> Any:
    """The density over the integral, which grows as -x."""
    low = math.sqrt(2 / math.pi) / erfcx_real(el.max(-x, full_like(x, 0)) * _ROOT_HALF)
    high = _DENSITY * el.exp(-0.5 * x * x) / ndtr_of(el.max(x, full_like(x, 0)))
    return where(x < 0, low, high)


@with_derivatives(lambda t, x: t * _log_ndtr_slope(x))
def log_ndtr_of(x: Any) -> Any:
    scaled = erfcx_real(el.abs(x) * _ROOT_HALF)
    square, rest = split_square(x)
    low = el.log(0.5 * scaled) - 0.5 * x * x
    high = el.log1p(-0.5 * el.exp(-0.5 * square) * (1 - 0.5 * rest) * scaled)
    return where(x < -1, low, where(x > 1, high, el.log1p(-0.5 * lax_special.erfc(x * _ROOT_HALF))))


#: Wichura, "Algorithm AS 241: the percentage points of the normal distribution", 1988: for |p - 1/2| <= 0.425, and in
#: two pieces of sqrt(-log p); numerator and denominator, lowest power first.
_CENTER = (
    (3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946, 45921.95393154987,
     67265.7709270087, 33430.57558358813, 2509.0809287301227),
    (1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597, 39307.89580009271,
     28729.085735721943, 5226.495278852854),
)  # fmt: skip
_MIDDLE = (
    (1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045, 1.2704582524523684,
     0.2417807251774506, 0.022723844989269184, 0.0007745450142783414),
    (1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008, 0.015198666563616457,
     0.0005475938084995345, 1.0507500716444169e-09),
)  # fmt: skip
_TAIL = (
    (6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487, 0.026532189526576124,
     0.0012426609473880784, 2.7115555687434876e-05, 2.0103343992922881e-07),
    (1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 0.0007868691311456133, 1.8463183175100548e-05,
     1.421511758316446e-07, 2.0442631033899397e-15),
)  # fmt: skip


@with_derivatives(lambda t, p: t * (math.sqrt(2 * math.pi) * el.exp(0.5 * ndtri_of(p) * ndtri_of(p))))
def ndtri_of(p: Any) -> Any:
    q = p - 0.5
    central = el.abs(q) <= 0.425
    r = 0.180625 - q * q
    middle = q * (polynomial(r, *_CENTER[0]) / polynomial(r, *_CENTER[1]))
    smaller = where(central, 0.5, el.min(p, 1 - p))
    root = el.sqrt(-el.log(where(smaller > 0, smaller, 0.5)))
    r1, r2 = root - 1.6, root - 5
    near = polynomial(r1, *_MIDDLE[0]) / polynomial(r1, *_MIDDLE[1])
    far = polynomial(r2, *_TAIL[0]) / polynomial(r2, *_TAIL[1])
    outer = el.sign(q) * where(root <= 5, near, far)
    value = where(central, middle, outer)
    value = where(p == 0, -math.inf, where(p == 1, math.inf, value))
    return where((p < 0) | (p > 1) | (p != p), math.nan, value)


def erfcinv_of(y: Any) -> Any:
    return -ndtri_of(y * 0.5) * _ROOT_HALF


ndtr = unary("ndtr", ndtr_of, "The normal distribution function.", "0.0", "0.5000")
ndtri = unary("ndtri", ndtri_of, "The inverse of the normal distribution function.", "0.5", "0.0000", argument="p")
erfcinv = unary("erfcinv", erfcinv_of, "The inverse of erfc.", "0.5", "0.4769", argument="y")


@composite(static_argnames=("series_order",))
def log_ndtr(x: Any, series_order: Any = 3) -> Any:
    """The logarithm of the normal distribution function, accurate in both tails.

    Args:
      x: array.
      series_order: 0 to 30, the terms of an asymptotic series. It is checked and else unused: the result is accurate
        without one.

    Returns:
      An array of floating dtype.

    Raises:
      TypeError: `series_order` is not a Python integer.
      ValueError: it is out of its range.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.log_ndtr(-10.0):.4f}")
    -53.2313
    """
    if not isinstance(series_order, int):
        raise TypeError(f"log_ndtr: series_order must be a Python integer, got {series_order!r}.")
    if series_order < 0:
        raise ValueError(f"log_ndtr: series_order must be non-negative, got {series_order}.")
    if series_order > 30:
        raise ValueError(f"log_ndtr: series_order must be <= 30, got {series_order}.")
    return evaluate("log_ndtr", log_ndtr_of, x)


def _upper_tail(x: Any) -> Any:
    return 0.5 * lax_special.erfc(x * _ROOT_HALF)


@with_derivatives(
    lambda t, h, a: t * (-_DENSITY * el.exp(-0.5 * h * h) * 0.5 * lax_special.erf(a * h * _ROOT_HALF)),
    lambda t, h, a: t * (el.exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a))),
)
def _owens_t(h: Any, a: Any) -> Any:
    h, size = el.abs(h), el.abs(a)
    steep = size > 1
    bounded = where(steep, size, 1.0)
    scaled, slope = where(steep, h * bounded, h), where(steep, 1 / bounded, size)
    scaled = where((h == 0) & steep, 0.0, scaled)
    # Gauss-Legendre over what of [0, slope] the Gaussian doesn't make vanish
    width = el.min(slope, 9 / el.max(scaled, full_like(h, 1e-3)))
    nodes, weights = np.polynomial.legendre.leggauss(24 if shaped(h).dtype.itemsize == 8 else 12)
    total = full_like(h, 0)
    for node, weight in zip(nodes.tolist(), weights.tolist()):
        x = width * (0.5 + 0.5 * node)
        total = total + weight * el.exp(-0.5 * (scaled * x) * (scaled * x)) / (1 + x * x)
    value = total * width * el.exp(-0.5 * scaled * scaled) * (0.25 / math.pi)
    one, other = _upper_tail(h), _upper_tail(scaled)
    value = where(steep, 0.5 * (one + other) - one * other - value, value)
    value = where((h == math.inf) & (a == a), 0.0, value)
    return where((a != a) | (h != h), math.nan, el.sign(a) * value)


@composite
def owens_t(h: Any, a: Any) -> Any:
    """Owen's T: the probability that X > h and 0 < Y < a X, for independent standard normal X and Y.

    Args:
      h, a: arrays, broadcast.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.owens_t(0.0, 1.0):.4f}")
    0.1250
    """
    return evaluate("owens_t", _owens_t, h, a)
