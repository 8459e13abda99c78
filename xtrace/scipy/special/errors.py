"""The error functions: scaled, complex, and the integrals of Dawson and Fresnel.

Source of the complex function: Al Azah and Chandler-Wilde, "Computation of the complex error function using modified
trapezoidal rules", 2021.
"""

from __future__ import annotations

import math
from typing import Any

from xtrace.core import dtypes
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import shapes
from xtrace.numpy import promotion
from xtrace.scipy.special.declare import arrays, evaluate, full_like, piece, unary, where, with_derivatives

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


@with_derivatives(lambda t, x: t * (2 * x * erfcx_real(x) - _TWO_OVER_ROOT_PI))
def erfcx_real(x: Any) -> Any:
    """exp(x^2) erfc(x): (1 + 2 |x|) times it is smooth in (|x| - 3.75) / (|x| + 3.75)."""
    size = el.abs(x)
    finite = el.min(size, full_like(x, 1e18))
    value = piece("erfcx", (finite - 3.75) / (finite + 3.75)) / (1 + 2 * size)
    # x^2 = high + low, so that its rounding isn't multiplied by x^2 in the exponential.
    high, low = split_square(where(x < 0, x, 0.0))
    return where(x < 0, 2 * el.exp(high) * (1 + low) - value, where(x != x, x, value))


def split_square(x: Any) -> tuple[Any, Any]:
    """The rounded square of x, and what is missing from it (0 where that isn't finite)."""
    factor = 134217729.0 if shaped(x).dtype.itemsize == 8 else 4097.0
    scaled = x * factor
    head = scaled - (scaled - x)
    tail = x - head
    square = x * x
    low = ((head * head - square) + 2 * head * tail) + tail * tail
    return square, where(el.abs(x) < (1e150 if factor > 1e6 else 1e15), low, 0.0)


@with_derivatives(lambda t, x: t * (1 - 2 * x * dawson(x)))
def dawson(x: Any) -> Any:
    """exp(-x^2) times the integral of exp(t^2) from 0 to x, in pieces of x^2, and beyond 5 of 1 / x^2."""
    size = el.abs(x)
    square = el.min(size, full_like(x, 5)) * el.min(size, full_like(x, 5))
    value = where(
        size < 1.5,
        x * piece("dawsn_0", square * (2 / 2.25) - 1),
        where(
            size < 3,
            x * piece("dawsn_1.5", (square - 5.625) / 3.375),
            x * piece("dawsn_3", (square - 17) / 8),
        ),
    )
    inverse = 1 / where(size < 5, 5.0, x)
    return where(size >= 5, 0.5 * inverse * piece("dawsn_5", 50 * inverse * inverse - 1), value)


# -- complex ---------------------------------------------------------------------------------------------------------


def _first_quadrant(z: Any) -> Any:
    """w(z) for Re z, Im z >= 0: sums over a shifted grid, and corrections where its poles are near."""
    count = 11 if shaped(z).dtype.itemsize == 16 else 6
    h = math.sqrt(math.pi / (count + 1))
    x, y = el.real(z), el.imag(z)
    square = z * z
    phase = x / h - el.floor(x / h)
    far = y >= el.max(x, full_like(x, math.pi / h))
    nodes_at_zero = (y < x) & (phase >= 0.25) & (phase <= 0.75) & ~far

    midpoint, trapezoid = full_like(z, 0), full_like(z, 0)
    for k in range(count + 1):
        t, tau = (k + 0.5) * h, k * h
        midpoint = midpoint + math.exp(-t * t) / (square - t * t)
        if k:
            trapezoid = trapezoid + math.exp(-tau * tau) / (square - tau * tau)
    scale = z * complex(0, 2 * h / math.pi)
    turn = el.exp(z * complex(0, -2 * math.pi / h))
    decay = 2 * el.exp(-square)
    near = scale * midpoint + where(far, 0.0, decay / (1 + turn))
    other = scale * trapezoid + complex(0, h / math.pi) / z + decay / (1 - turn)
    value = where(nodes_at_zero, other, near)
    distant = el.max(x, y) > (1e7 if count == 11 else 3e3)
    return where(distant, complex(0, 1 / math.sqrt(math.pi)) / z, value)


@with_derivatives(lambda t, z: t * (complex(0, _TWO_OVER_ROOT_PI) - 2 * z * faddeeva(z)))
def faddeeva(z: Any) -> Any:
    """exp(-z^2) erfc(-i z)."""
    x, y = el.real(z), el.imag(z)
    first = el.complex(el.abs(x), el.abs(y))
    value = _first_quadrant(first)
    # w(-conj(z)) = conj(w(z)), and w(-z) = 2 exp(-z^2) - w(z)
    below = y < 0
    turned = where((x < 0) != below, el.conj(value), value)
    out = where(below, 2 * el.exp(-(z * z)) - turned, turned)
    on_axis = el.complex(el.exp(-x * x), _TWO_OVER_ROOT_PI * dawson(x))
    return where(y == 0, on_axis, where(x == 0, el.complex(erfcx_real(y), full_like(y, 0)), out))


@composite
def wofz(z: Any) -> Any:
    """The Faddeeva function: exp(-z^2) erfc(-i z).

    Args:
      z: array; real numbers become complex.

    Returns:
      An array of complex dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.wofz(1j).real:.4f}")
    0.4276
    """
    (x,) = arrays(*promotion.promote_args_inexact("wofz", z))
    dtype = shaped(x).dtype
    if dtype.kind != "c":
        x = shapes.convert(x, dtypes.complex128 if dtype.itemsize == 8 else dtypes.complex64, False)
    return faddeeva(x)


def _erfcx(x: Any) -> Any:
    return faddeeva(x * 1j) if shaped(x).dtype.kind == "c" else erfcx_real(x)


# -- Fresnel ---------------------------------------------------------------------------------------------------------


def _angle(x: Any) -> tuple[Any, Any]:
    """sin and cos of pi x^2 / 2, by the square modulo 4."""
    square, low = split_square(x)
    rest = (square - 4 * el.floor(square * 0.25)) + low
    return el.sin(rest * (math.pi / 2)), el.cos(rest * (math.pi / 2))


@with_derivatives(lambda t, x: tuple(t * v for v in _angle(x)))
def _fresnel(x: Any) -> tuple[Any, Any]:
    size = el.abs(x)
    small = size < 1.6
    near = where(small, x, 0.0)
    square = near * near
    t = square * square * (2 / 1.6**4) - 1
    s0, c0 = near * square * piece("fresnel_s", t), near * piece("fresnel_c", t)
    large = el.max(size, full_like(x, 1.6))
    inverse = 1 / (math.pi * large)
    u = 1 / (large * large)
    u = u * u
    low, high = 1 / 2.4**4, 1 / 1.6**4
    t1, t2 = (2 * u - (low + high)) / (high - low), u * (2 / low) - 1
    middle = large < 2.4
    t1, t2 = where(middle, t1, 0.0), where(middle, 0.0, t2)
    f = inverse * where(middle, piece("fresnel_f_1.6", t1), piece("fresnel_f_2.4", t2))
    g = inverse / (math.pi * large * large) * where(middle, piece("fresnel_g_1.6", t1), piece("fresnel_g_2.4", t2))
    bounded = el.min(large, full_like(x, 1e7))
    sin, cos = _angle(bounded)
    sign = el.sign(x)
    s1, c1 = sign * (0.5 - f * cos - g * sin), sign * (0.5 + f * sin - g * cos)
    return where(small, s0, s1), where(small, c0, c1)


@composite
def fresnel(x: Any) -> Any:
    """The Fresnel integrals S and C, of sin(pi t^2 / 2) and cos(pi t^2 / 2) from 0 to x.

    Args:
      x: array.

    Returns:
      Two arrays of floating dtype: S and C.

    >>> import xtrace as xt
    >>> s, c = xt.scipy.special.fresnel(1.0)
    >>> print(f"{s:.4f} {c:.4f}")
    0.4383 0.7799
    """
    return evaluate("fresnel", _fresnel, x)


erfcx = unary("erfcx", _erfcx, "exp(x^2) erfc(x), of real or complex numbers.", "1.0", "0.4276", accepts_complex=True)
dawsn = unary("dawsn", dawson, "Dawson's integral: exp(-x^2) times that of exp(t^2) from 0 to x.", "1.0", "0.5381")
