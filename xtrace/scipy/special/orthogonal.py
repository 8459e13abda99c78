"""Bessel functions of integer order, and spherical harmonics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtrace.core import statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import joining, shapes
from xtrace.lax.control_flow import loops, scans
from xtrace.numpy import promotion
from xtrace.numpy import reductions as red
from xtrace.scipy.special.declare import arrays, evaluate, full_like, where, with_derivatives


def _hankel(size: Any) -> tuple[Any, Any]:
    """J0 and J1 of large arguments, by Hankel's expansion."""
    inverse = 1 / (8 * size)
    found = []
    for order in (0, 1):
        mu = 4 * order * order
        p, q, term = full_like(size, 1), full_like(size, 0), full_like(size, 1)
        for k in range(1, 24):
            term = term * ((mu - (2 * k - 1) ** 2) / k) * inverse
            sign = (-1) ** (k // 2)
            if k % 2:
                q = q + sign * term
            else:
                p = p + sign * term
        # cos and sin of size - (2 order + 1) pi / 4, without rounding that difference
        s, c = el.sin(size), el.cos(size)
        cos, sin = (c + s, s - c) if order == 0 else (s - c, -s - c)
        found.append(el.sqrt(1 / (math.pi * size)) * (p * cos - q * sin))
    return found[0], found[1]


def _all_orders(z: Any, v: int, n_iter: int) -> Any:
    """J of orders 0 to v: Miller's downward recurrence, or upward from Hankel's expansion where z is large."""
    start = max(n_iter, v + 40, 70)
    limit = start - 40.0
    size = el.abs(z)
    double = shaped(z).dtype.itemsize == 8
    tiny = size < (1e-4 if double else 1e-2)
    far = size > limit
    moderate = where(tiny | far, 1.0, size)

    def down(carry: Any, k: Any) -> Any:
        above, here, even_sum, scale = carry
        order = shapes.convert(k, shaped(z).dtype, False)
        below = 2 * (order + 1) / moderate * here - above
        even_sum = even_sum + where(full_like(z, 0) + (order - 2 * el.floor(order * 0.5)) == 0, 2 * below, 0.0)
        big = el.abs(below) > 1e8
        factor = where(big, 1e-8, full_like(z, 1))
        carry = (here * factor, below * factor, even_sum * factor, scale + where(big, 1.0, full_like(z, 0)))
        return carry, (below * factor, carry[3])

    zero = 0 * z
    init = (zero, zero + 1e-8, zero, zero)
    orders = np.arange(start - 1, -1, -1, dtype=np.int32)
    (_, zeroth, even_sum, total_scale), (values, scales) = scans.scan(down, init, orders)
    norm = even_sum - zeroth

    upward = list(_hankel(where(far, size, limit)))
    for k in range(1, v):
        upward.append(2 * k / where(far, size, limit) * upward[k] - upward[k - 1])
    half = where(tiny, size, 0.0) * 0.5
    leading: Any = full_like(z, 1)
    outs = []
    for k in range(v + 1):
        row = start - 1 - k
        value = values[row] / norm * el.exp((scales[row] - total_scale) * (8 * math.log(10)))
        square = half * half
        small = leading * (1 - square / (k + 1) * (1 - square / (2 * (k + 2))))
        leading = leading * half / (k + 1)
        value = where(tiny, small, where(far, upward[k], value))
        outs.append(where(z < 0, -value, value) if k % 2 else value)
    return outs


def _bessel(z: Any, v: int, n_iter: int) -> Any:
    def stacked(rows: Any) -> Any:
        return joining.concatenate([shapes.expand_dims(r, (0,)) for r in rows], 0)

    def slope(t: Any, z: Any) -> Any:
        rows = _all_orders(z, v + 1, n_iter)
        return stacked([t * (-rows[1] if k == 0 else 0.5 * (rows[k - 1] - rows[k + 1])) for k in range(v + 1)])

    @with_derivatives(slope)
    def bessel_jn(z: Any) -> Any:
        return stacked(_all_orders(z, v, n_iter))

    return bessel_jn(z)


def bessel_jn(z: Any, *, v: Any, n_iter: Any = 50) -> Any:
    """The Bessel functions of the first kind of orders 0 to `v`, of real numbers.

    Args:
      z: array.
      v: the highest order: a Python integer.
      n_iter: the least number of steps of the recurrence; more are taken where accuracy needs them.

    Returns:
      An array (v + 1, *z.shape) of floating dtype.

    Raises:
      TypeError: `v` is no integer.
      ValueError: `z` is complex, or `v` negative.

    Source: Zhang and Jin, "Computation of special functions", 1996; Hankel's expansion for large arguments.

    >>> import xtrace as xt
    >>> print([f"{j:.4f}" for j in xt.scipy.special.bessel_jn(1.0, v=1)])
    ['0.7652', '0.4401']
    """
    v, n_iter = statics.integer(v, "v"), statics.integer(n_iter, "n_iter")
    if v < 0:
        raise ValueError(f"bessel_jn: the order v must be at least 0, got {v}.")
    return _bessel_orders(z, v=v, n_iter=n_iter)


@composite(static_argnames=("v", "n_iter"))
def _bessel_orders(z: Any, *, v: int, n_iter: int) -> Any:
    (values,) = promotion.promote_args_inexact("bessel_jn", z)
    if shaped(values).dtype.kind == "c":
        raise ValueError(f"bessel_jn: complex input not supported, got {shaped(values).dtype}.")
    return evaluate("bessel_jn", lambda x: _bessel(x, v, n_iter), values)


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, diff_n: Any = None, n_max: Any = None) -> Any:
    """Spherical harmonics of degree `n` and order `m`, orthonormal on the sphere.

    Args:
      n: array of integers, at least 0: the degree.
      m: array of integers: the order; 0 is returned where |m| > n.
      theta: array, the angle from the pole, in radians.
      phi: array, the angle around it, in radians.
      diff_n: only None.
      n_max: a Python integer, the largest degree; higher ones are taken as this. Needed where `n` is traced.

    Returns:
      A complex array of the common shape.

    Raises:
      NotImplementedError: `diff_n` is given.

    Source: the recurrence of normalized associated Legendre functions, Holmes and Featherstone, 2002.

    >>> import xtrace as xt
    >>> print(xt.scipy.special.sph_harm_y(1, 0, 0.0, 0.0).real.round(4))
    0.4886
    """
    if diff_n is not None:
        raise NotImplementedError("sph_harm_y: diff_n is not supported: differentiate with jvp or jacfwd.")
    if n_max is None:
        n_max = np.max(n)
    return _spherical(n, m, theta, phi, n_max=statics.integer(n_max, "n_max"))


@composite(static_argnames=("n_max",))
def _spherical(n: Any, m: Any, theta: Any, phi: Any, *, n_max: int) -> Any:
    theta, phi = promotion.promote_args_inexact("sph_harm_y", theta, phi)
    dtype = shaped(theta).dtype
    n, m = [shapes.convert(x, dtype, False) for x in (n, m)]
    shape = red.common_shape([shaped(x).shape for x in (n, m, theta, phi)])
    n, m, theta, phi = arrays(*[red.broadcast(x, shape) for x in (n, m, theta, phi)])
    order, degree = el.abs(m), el.min(n, full_like(n, n_max))
    x, radius = el.cos(theta), el.abs(el.sin(theta))

    def sector(k: Any, value: Any) -> Any:
        j = shapes.convert(k, dtype, False)
        return where(order >= j, -value * radius * el.sqrt((2 * j + 1) / (2 * j)), value)

    top = loops.fori_loop(1, n_max + 1, sector, full_like(x, 0) * x + math.sqrt(0.25 / math.pi))

    def raised(k: Any, carry: Any) -> Any:
        before, here = carry
        degree_here = order + shapes.convert(k, dtype, False)
        a = el.sqrt((4 * degree_here * degree_here - 1) / (degree_here * degree_here - order * order))
        lower = degree_here - 1
        b = el.sqrt(el.max(lower * lower - order * order, full_like(x, 0)) / (4 * lower * lower - 1))
        following = a * (x * here - b * before)
        more = degree_here <= degree
        return where(more, here, before), where(more, following, here)

    _, value = loops.fori_loop(1, n_max + 1, raised, (full_like(x, 0) * x, top))
    value = where(order > degree, 0.0, value)
    angle = order * phi
    odd = order != 2 * el.floor(order * 0.5)
    cos, sin = value * el.cos(angle), value * el.sin(angle)
    negative = m < 0
    flipped = negative & odd
    return el.complex(where(flipped, -cos, cos), where(negative & ~odd, -sin, sin))
