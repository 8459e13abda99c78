"""Special functions that are primitives, or formulas of a line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import bessel, bitwise, comparisons, incomplete_beta, incomplete_gamma, selection
from xtrace.lax import elementwise as el
from xtrace.lax import special as lax_special
from xtrace.nn import normalization
from xtrace.nn.normalization import logsumexp as logsumexp
from xtrace.scipy.special.declare import full_like, operands, polynomial, unary, where, with_derivatives
from xtrace.scipy.special.normal import erfcinv_of


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x) scaled to the sum 1 over `axis`: an axis, several, or all of them, which is SciPy's default and not nn's.

    Args:
      x: array.
      axis: an axis, several, or None for all.

    Returns:
      An array of the shape of `x` and floating dtype.

    >>> import xtrace as xt
    >>> float(xt.scipy.special.softmax(xt.numpy.zeros((2, 2)))[0, 0])
    0.25
    """
    return normalization.softmax(x, axis)


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """Logarithm of `softmax`, which doesn't underflow.

    Args:
      x: array.
      axis: an axis, several, or None for all.

    Returns:
      An array of the shape of `x` and floating dtype.

    >>> import xtrace as xt
    >>> round(float(xt.scipy.special.log_softmax(xt.numpy.zeros((2, 2)))[0, 0]), 4)
    -1.3863
    """
    return normalization.log_softmax(x, axis)


def _zero_where_zero(x: Any, y: Any, product: Any) -> Any:
    """`product`, 0 where its factor `x` is and `y` isn't NaN."""
    zero = full_like(x, 0)
    nothing = bitwise.bitwise_and(comparisons.eq(x, zero), comparisons.eq(y, y))
    return selection.select(nothing, zero, product)


def _quotient(x: Any, y: Any) -> Any:
    """x / y, 0 where both are 0."""
    zero = full_like(x, 0)
    both = bitwise.bitwise_and(comparisons.eq(x, zero), comparisons.eq(y, zero))
    return el.div(x, selection.select(both, full_like(y, 1), y))


@with_derivatives(
    lambda t, x, y: el.mul(t, el.log(y)),
    lambda t, x, y: el.mul(t, _quotient(x, y)),
)
def _xlogy(x: Any, y: Any) -> Any:
    return _zero_where_zero(x, y, el.mul(x, el.log(y)))


@composite
def xlogy(x: Any, y: Any) -> Any:
    """x log(y), 0 where x is 0.

    Args:
      x, y: arrays, broadcast.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(xt.scipy.special.xlogy(0.0, 0.0))
    0.0
    """
    return _xlogy(*operands("xlogy", x, y))


@with_derivatives(
    lambda t, x, y: el.mul(t, el.log1p(y)),
    lambda t, x, y: el.mul(t, _quotient(x, el.add(y, full_like(y, 1)))),
)
def _xlog1py(x: Any, y: Any) -> Any:
    return _zero_where_zero(x, y, el.mul(x, el.log1p(y)))


@composite
def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), 0 where x is 0.

    Args:
      x, y: arrays, broadcast.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(xt.scipy.special.xlog1py(0.0, -1.0))
    0.0
    """
    return _xlog1py(*operands("xlog1py", x, y))


@with_derivatives(lambda t, x: el.mul(t, el.sub(full_like(x, -1), el.log(x))))
def _entr(x: Any) -> Any:
    zero = full_like(x, 0)
    positive = comparisons.gt(x, zero)
    value = el.neg(el.mul(x, el.log(selection.select(positive, x, full_like(x, 1)))))
    at_zero = selection.select(comparisons.eq(x, zero), zero, full_like(x, -np.inf))
    nan_or = selection.select(comparisons.ne(x, x), x, at_zero)
    return selection.select(positive, value, nan_or)


@composite
def entr(x: Any) -> Any:
    """-x log(x): the summand of an entropy; 0 at 0 and -inf below.

    Args:
      x: array.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(xt.scipy.special.entr(0.0))
    0.0
    """
    return _entr(*operands("entr", x))


def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q): the summand of a relative entropy; 0 where p is 0 and q at least 0, inf where it isn't defined.

    Args:
      p, q: arrays that broadcast against each other.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(xt.scipy.special.rel_entr(0.0, 1.0))
    0.0
    """
    return _rel_entr(p, q)


def _log_of_ratio(p: Any, q: Any) -> Any:
    """log(p / q) of positive numbers, where they are near each other and where their ratio isn't finite too."""
    ratio, relative = p / q, (p - q) / q
    near, fits = el.abs(relative) < 0.5, (ratio > 1e-37) & (ratio < 1e37)
    whole = el.log(where(fits, ratio, 1.0))
    return where(near, el.log1p(where(near, relative, 0.0)), where(fits, whole, el.log(p) - el.log(q)))


@composite
def _rel_entr(p: Any, q: Any) -> Any:
    p, q = operands("rel_entr", p, q)
    zero, one = full_like(p, 0), full_like(p, 1)
    both = comparisons.gt(el.min(p, q), zero)
    # Where the formula isn't used, its operands are 1: no derivative of it is infinite there.
    safe_p, safe_q = selection.select(both, p, one), selection.select(both, q, one)
    value = el.mul(safe_p, _log_of_ratio(safe_p, safe_q))
    edge = selection.select(comparisons.eq(p, zero), el.max(q, zero), full_like(p, -1))
    is_zero = comparisons.ge(el.min(edge, q), zero)
    return selection.select(both, value, selection.select(is_zero, zero, full_like(p, np.inf)))


@composite
def kl_div(p: Any, q: Any) -> Any:
    """p log(p / q) - p + q: the summand of the Kullback-Leibler divergence.

    Args:
      p, q: arrays that broadcast against each other.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(xt.scipy.special.kl_div(1.0, 1.0))
    0.0
    """
    p, q = operands("kl_div", p, q)
    value = el.add(el.sub(_rel_entr(p, q), p), q)
    # Where they are near each other, q (1 + d) log(1 + d) - q d by its series in d.
    both = comparisons.gt(el.min(p, q), full_like(p, 0))
    relative = (p - q) / where(both, q, 1.0)
    near = both & (el.abs(relative) < 0.2)
    d = where(near, relative, 0.0)
    series = polynomial(d, *[(-1) ** k / ((k + 1) * (k + 2)) for k in range(23)])
    return where(near, q * d * d * series, value)


def _logit(x: Any) -> Any:
    value = el.log(el.div(x, el.sub(el.scalar_like(x, 1), x)))
    if shaped(x).dtype.kind == "c":
        return value
    # Around 1/2, where the logarithm is near 0, 2 x - 1 is exact.
    middle = el.abs(x - 0.5) < 0.25
    return where(middle, 2 * el.atanh(where(middle, 2 * x - 1, 0.0)), value)


# log(x / (1 - x)) is steep near 1, where the derivative by its formula would cancel.
_logit_with_derivative = with_derivatives(lambda t, x: el.div(t, el.mul(x, el.sub(full_like(x, 1), x))))(_logit)

expit = unary(
    "expit",
    el.logistic,
    "The logistic function: 1 / (1 + exp(-x)).",
    "0.0",
    "0.5000",
    accepts_complex=True,
    keeps_weak=True,
)
logit = unary(
    "logit",
    _logit_with_derivative,
    "The inverse of the logistic function: log(x / (1 - x)).",
    "0.5",
    "0.0000",
    accepts_complex=True,
    keeps_weak=True,
)
erf = unary("erf", lax_special.erf, "The error function.", "0.5", "0.5205", keeps_weak=True)
erfc = unary(
    "erfc",
    lax_special.erfc,
    "1 minus the error function, exact where that is near 1.",
    "0.5",
    "0.4795",
    keeps_weak=True,
)


@with_derivatives(lambda t, x: t * (0.5 * math.sqrt(math.pi) * el.exp(_erfinv(x) * _erfinv(x))))
def _erfinv(x: Any) -> Any:
    """By the distance to 1 where x is near that."""
    size = el.abs(x)
    center = size < 0.5
    outer = el.sign(x) * erfcinv_of(where(center, 1.0, 1 - size))
    return where(center, lax_special.erf_inv(where(center, x, 0.0)), outer)


erfinv = unary("erfinv", _erfinv, "The inverse of the error function.", "0.5", "0.4769", keeps_weak=True)


@composite
def zeta(x: Any, q: Any = None) -> Any:
    """The Hurwitz zeta function: the sum of 1 / (q + k)^x over k from 0 on.

    Args:
      x: array: the exponent.
      q: array that broadcasts with `x`; None: 1, for the Riemann zeta function.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.zeta(2.0, 1.0):.4f}")
    1.6449
    """
    return lax_special.zeta(*operands("zeta", x, 1.0 if q is None else q))


@composite
def polygamma(n: Any, x: Any) -> Any:
    """The nth derivative of digamma.

    Args:
      n: array of whole numbers from 0 on.
      x: array that broadcasts with `n`.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.polygamma(1, 1.0):.4f}")
    1.6449
    """
    return lax_special.polygamma(*operands("polygamma", n, x))


i0e = unary(
    "i0e",
    bessel.bessel_i0e,
    "exp(-|x|) I0(x), with the modified Bessel function of order 0.",
    "1.0",
    "0.4658",
    keeps_weak=True,
)
i1e = unary(
    "i1e",
    bessel.bessel_i1e,
    "exp(-|x|) I1(x), with the modified Bessel function of order 1.",
    "1.0",
    "0.2079",
    keeps_weak=True,
)
i0 = unary(
    "i0",
    lambda x: el.mul(el.exp(el.abs(x)), bessel.bessel_i0e(x)),
    "The modified Bessel function of the first kind of order 0.",
    "1.0",
    "1.2661",
    keeps_weak=True,
)
i1 = unary(
    "i1",
    lambda x: el.mul(el.exp(el.abs(x)), bessel.bessel_i1e(x)),
    "The modified Bessel function of the first kind of order 1.",
    "1.0",
    "0.5652",
    keeps_weak=True,
)


@composite
def gammainc(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function P(a, x).

    Args:
      a: array of positive numbers.
      x: array of numbers from 0 on, which broadcasts with `a`.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.gammainc(2.0, 1.0):.4f}")
    0.2642
    """
    return incomplete_gamma.igamma(*operands("gammainc", a, x))


@composite
def gammaincc(a: Any, x: Any) -> Any:
    """The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x).

    Args:
      a: array of positive numbers.
      x: array of numbers from 0 on, which broadcasts with `a`.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.gammaincc(2.0, 1.0):.4f}")
    0.7358
    """
    return incomplete_gamma.igammac(*operands("gammaincc", a, x))


@composite
def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function I_x(a, b).

    Args:
      a, b: arrays of positive numbers.
      x: array of numbers from 0 to 1. All broadcast against each other.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.betainc(2.0, 3.0, 0.5):.4f}")
    0.6875
    """
    return incomplete_beta.betainc(*operands("betainc", a, b, x))
