"""Special functions: error functions and the gamma family."""

from __future__ import annotations

import math
from typing import Any

from xtrace.core import dtypes
from xtrace.core.primitive import shaped
from xtrace.lax import accuracy as _accuracy
from xtrace.lax import conversions, identities, selection, shapes
from xtrace.lax import elementwise as el
from xtrace.lax.elementwise import FLOATING, binary, described, scalar_like, unary

erf_p = unary("erf", FLOATING)
erfc_p = unary("erfc", FLOATING)
erf_inv_p = unary("erf_inv", FLOATING)
lgamma_p = unary("lgamma", FLOATING)
digamma_p = unary("digamma", FLOATING)
polygamma_p = binary("polygamma", FLOATING)
zeta_p = binary("zeta", FLOATING)


@described(erf_p, "erf(1.0)", "0.8427")
def erf(x: Any) -> Any:
    """Elementwise error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x."""
    return erf_p.bind(x)


@described(erfc_p, "erfc(1.0)", "0.1573")
def erfc(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise 1 - erf(x), exact for large x."""
    if accuracy is None:
        return erfc_p.bind(x)
    return erfc_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(erf_inv_p, "erf_inv(0.5)", "0.4769")
def erf_inv(x: Any) -> Any:
    """Elementwise inverse of erf; infinite at 1 and -1, NaN beyond."""
    return erf_inv_p.bind(x)


@described(lgamma_p, "lgamma(5.0)", "3.1781")
def lgamma(x: Any) -> Any:
    """Elementwise logarithm of the absolute value of the gamma function."""
    return lgamma_p.bind(x)


@described(digamma_p, "digamma(1.0)", "-0.5772")
def digamma(x: Any) -> Any:
    """Elementwise derivative of the logarithm of the gamma function."""
    return digamma_p.bind(x)


@described(polygamma_p, "polygamma(1.0, 1.0)", "1.6449")
def polygamma(m: Any, x: Any) -> Any:
    """Elementwise m-th derivative of digamma at x, for whole m."""
    return polygamma_p.bind(m, x)


@described(zeta_p, "zeta(2.0, 1.0)", "1.6449")
def zeta(x: Any, q: Any) -> Any:
    """Elementwise Hurwitz zeta function: the sum of (k + q) ** -x over k = 0, 1, …"""
    return zeta_p.bind(x, q)


def _gaussian(x: Any) -> Any:
    """exp(-x * x), as exact as exp is.

    The square is split: x = h + (x - h), where h has so few bits that h * h is exact (W. J. Cody, Rational Chebyshev
    approximations for the error function, 1969).
    """
    dtype = shaped(x).dtype
    x = shapes.convert(x, dtype, False)
    limits = dtypes.finfo(dtype)
    # Beyond this the result is 0, and infinities would give NaN.
    bound = scalar_like(x, math.ceil(math.sqrt(-math.log(float(limits.smallest_subnormal)))) + 1)
    x = selection.clamp(el.neg(bound), x, bound)
    h = identities.stop_gradient(
        conversions.reduce_precision(x, dtypes.itemsize_bits(dtype) - int(limits.nmant) - 1, int(limits.nmant) // 2)
    )
    rest = el.mul(el.sub(x, h), el.add(x, h))
    return el.mul(el.exp(el.neg(el.mul(h, h))), el.exp(el.neg(rest)))


def no_derivative(name: str, operand: str) -> Any:
    def rule(t: Any, *args: Any) -> Any:
        raise ValueError(
            f"the derivative of {name} with respect to {operand} is not known; hold it constant (lax.stop_gradient)"
        )

    return rule


_SLOPE = 2 / math.sqrt(math.pi)

erf_p.jvps = (lambda t, out, x: el.mul(scalar_like(x, _SLOPE), el.mul(t, _gaussian(x))),)
erfc_p.jvps = (lambda t, out, x, accuracy=None: el.mul(scalar_like(x, -_SLOPE), el.mul(t, _gaussian(x))),)
erf_inv_p.jvps = (lambda t, out, x: el.mul(scalar_like(x, 1 / _SLOPE), el.mul(t, el.exp(el.square(out)))),)
lgamma_p.jvps = (lambda t, out, x: el.mul(t, digamma(x)),)
digamma_p.jvps = (lambda t, out, x: el.mul(t, polygamma(scalar_like(x, 1), x)),)
polygamma_p.jvps = (
    no_derivative("polygamma", "m"),
    lambda t, out, m, x: el.mul(t, polygamma(el.add(m, scalar_like(m, 1)), x)),
)
zeta_p.jvps = (
    no_derivative("zeta", "x"),
    lambda t, out, x, q: el.mul(t, el.mul(el.neg(x), zeta(el.add(x, scalar_like(x, 1)), q))),
)
