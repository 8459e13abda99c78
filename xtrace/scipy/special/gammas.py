"""The gamma and beta functions and their kin.

Source: the rational form of the Lanczos approximation, Pugh, "An analysis of the Lanczos gamma approximation", 2004,
with the coefficients of 13 terms that John Maddock computed for g = 6.0246800407767296.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtrace.core import statics
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import special as lax_special
from xtrace.scipy.special import tables
from xtrace.scipy.special.declare import (
    distance_from,
    evaluate,
    full_like,
    piece,
    polynomial,
    unary,
    where,
    with_derivatives,
)

_G = 6.024680040776729583740234375
_NUMERATOR = (
    23531376880.41075968857200767445163675473076, 42919803642.64909876895789904700198885093263,
    35711959237.35566804944018545154716670596718, 17921034426.03720969991975575445893111267403,
    6039542586.352028005064291644307297921070, 1439720407.311721673663223072794912393972,
    248874557.8620541565114603864132294232163, 31426415.58540019438061423162831820536287,
    2876370.628935372441225409051620849613599, 186056.2653952234950402949897160456992822,
    8071.672002365816210638002902272250613822, 210.8242777515793458725097339207133627117,
    2.506628274631000270164908177133837338626,
)  # fmt: skip
_DENOMINATOR = (
    0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0, 2637558.0, 357423.0, 32670.0,
    1925.0, 66.0, 1.0,
)  # fmt: skip
_EVEN = el.RoundingMethod.TO_NEAREST_EVEN
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def sin_pi(x: Any) -> Any:
    """sin(pi x), by the distance from the nearest integer, which is exact."""
    remainder = x - 2 * el.round(x * 0.5, _EVEN)
    folded = where(el.abs(remainder) > 0.5, el.sign(remainder) - remainder, remainder)
    return el.sin(math.pi * where(el.abs(x) <= 0.5, x, folded))


def _is_integer(x: Any) -> Any:
    return el.floor(x) == x


def _largest(x: Any) -> float:
    """Beyond it gamma overflows."""
    return 171.6243769563027 if shaped(x).dtype.itemsize == 8 else 35.04010009765625


@with_derivatives(lambda t, x: t * gamma_of(x) * lax_special.digamma(x))
def gamma_of(x: Any) -> Any:
    """gamma of real arrays; at the poles nan, and at 0 the infinity of its sign."""
    reflected = x < 0.5
    z = where(reflected, 1 - x, x)
    limit = _largest(x)
    inside = el.min(z, full_like(z, limit))
    base = inside + (_G - 0.5)
    # The rounding of `base` is an error of power and exponential alike, with opposite signs.
    power = el.pow(base, inside * 0.5 - 0.25)
    value = polynomial(inside, *_NUMERATOR) / polynomial(inside, *_DENOMINATOR) * power * el.exp(-base) * power
    exact = _is_integer(inside) & (value < 0.25 / np.finfo(shaped(x).dtype).eps)
    value = where(exact, el.round(value, _EVEN), value)
    value = where(z > limit, math.inf, where(z != z, z, value))
    # What 1 - x lost to rounding changes gamma by its logarithm's slope.
    slope = el.log(inside) - 0.5 / inside - 1 / (12 * inside * inside)
    reflection = value * (1 + where(reflected & (inside == z), (1 - z) - x, 0.0) * slope)
    value = where(reflected, math.pi / (sin_pi(x) * reflection), value)
    return where(_is_integer(x) & (x < 0), math.nan, value)


def reciprocal_gamma(x: Any) -> Any:
    """1 / gamma, which is 0 at the poles."""
    return where(_is_integer(x) & (x <= 0), 0.0, 1 / gamma_of(x))


@with_derivatives(None)
def sign_of_gamma(x: Any) -> Any:
    negative = x < 0
    odd = el.floor(x) != 2 * el.floor(el.floor(x) * 0.5)
    value = where(negative & odd, -1.0, full_like(x, 1))
    value = where(x == 0, where(1 / x < 0, -1.0, full_like(x, 1)), value)
    return where((negative & _is_integer(x)) | (x != x), math.nan, value)


# -- complex ---------------------------------------------------------------------------------------------------------

#: B(2k) / (2k (2k - 1)): Stirling's series.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)


def _stirling_rest(z: Any) -> Any:
    """What Stirling's formula lacks."""
    r = 1 / z
    return r * polynomial(r * r, *_STIRLING)


def _log_sin_pi(z: Any) -> Any:
    """log(sin(pi z)) with a magnitude that doesn't overflow, up to multiples of 2 pi i; Im z >= 0."""
    x, y = el.real(z), el.imag(z)
    s, c = sin_pi(x), sin_pi(0.5 - x)
    decay = el.exp(-2 * math.pi * y)
    direction = el.complex(s * (1 + decay), c * (1 - decay))
    log = el.log(direction * 0.5)
    return el.complex(el.real(log) + math.pi * y, el.imag(log))


def _complex_log_gamma(z: Any) -> Any:
    """The branch that is real on the positive axis; source: Hare, "Computing the principal branch", 1997."""
    below = (el.imag(z) < 0) | ((el.imag(z) == 0) & (1 / el.imag(z) < 0))
    upper = where(below, el.conj(z), z)
    reflected = el.real(upper) < 0.5
    w = where(reflected, el.conj(1 - upper), upper)
    near = el.abs(w) < 12
    shifted, product_log = w, full_like(w, 0)
    for _ in range(12):
        product_log = product_log + where(near, el.log(shifted), 0.0)
        shifted = where(near, shifted + 1, shifted)
    value = (shifted - 0.5) * el.log(shifted) - shifted + _HALF_LOG_2PI + _stirling_rest(shifted) - product_log
    mirrored = el.conj(value)
    turns = el.floor(0.5 * el.real(upper) + 0.25) * (2 * math.pi)
    other = math.log(math.pi) + el.complex(el.real(full_like(z, 0)) + 0 * turns, turns) - _log_sin_pi(upper) - mirrored
    value = where(reflected, other, value)
    pole = (el.imag(z) == 0) & (el.real(z) <= 0) & _is_integer(el.real(z))
    return where(pole, full_like(z, 0) + complex(math.nan, math.nan), where(below, el.conj(value), value))


@with_derivatives(lambda t, x: t * lax_special.polygamma(full_like(x, 1), x))
def digamma_of(x: Any) -> Any:
    """digamma of real arrays: around its positive root by a polynomial, so that what is near 0 is exact."""
    middle = el.abs(x - 1.475) < 0.275
    near = where(middle, x, 1.475)
    value = distance_from(near, tables.DIGAMMA_ROOT) * piece("digamma", (near - 1.475) / 0.275)
    return where(middle, value, lax_special.digamma(x))


@with_derivatives(lambda t, x: t * digamma_of(x))
def log_abs_gamma(x: Any) -> Any:
    """log |gamma| of real arrays: around its roots 1 and 2 by a polynomial, so that what is near 0 is exact."""
    middle = el.abs(x - 1.675) < 0.925
    near = where(middle, x, 1.675)
    value = (near - 1) * (near - 2) * piece("gammaln", (near - 1.675) / 0.925)
    return where(middle, value, lax_special.lgamma(x))


def _log_gamma(x: Any) -> Any:
    if shaped(x).dtype.kind == "c":
        return _complex_log_gamma(x)
    return where((x < 0) | ((x == 0) & (1 / x < 0)), math.nan, log_abs_gamma(x))


def _gamma(x: Any) -> Any:
    if shaped(x).dtype.kind == "c":
        return el.exp(_complex_log_gamma(x))
    return gamma_of(x)


gamma = unary(
    "gamma", _gamma, "The gamma function, of real or complex numbers.", "5.0", "24.0000", accepts_complex=True
)
loggamma = unary(
    "loggamma", _log_gamma,
    "The logarithm of the gamma function: of complex numbers the branch that is real on the positive axis; nan for "
    "negative numbers.",
    "5.0", "3.1781", accepts_complex=True, keeps_weak=True,
)  # fmt: skip
gammaln = unary(
    "gammaln", log_abs_gamma, "The logarithm of the absolute value of the gamma function.", "4.0", "1.7918",
    keeps_weak=True,
)  # fmt: skip
digamma = unary(
    "digamma", digamma_of, "The derivative of the logarithm of the gamma function.", "1.0", "-0.5772", keeps_weak=True
)
gammasgn = unary("gammasgn", sign_of_gamma, "The sign of the gamma function; nan at its poles.", "-0.5", "-1.0000")


# -- beta ------------------------------------------------------------------------------------------------------------


@with_derivatives(
    lambda t, a, b: t * (lax_special.digamma(a) - lax_special.digamma(a + b)),
    lambda t, a, b: t * (lax_special.digamma(b) - lax_special.digamma(a + b)),
)
def log_beta(a: Any, b: Any) -> Any:
    """log|B(a, b)|; for large arguments by the differences of Stirling's rests, so that nothing cancels."""
    p, q = el.min(a, b), el.max(a, b)
    plain = lax_special.lgamma(p) + (lax_special.lgamma(q) - lax_special.lgamma(p + q))
    large = (p > 0) & (q >= 10)
    p1, q1 = where(large, p, 1.0), where(large, q, 10.0)
    total = p1 + q1
    shared = _stirling_rest(q1) - _stirling_rest(total)
    log_ratio = el.log1p(-p1 / total)
    small = lax_special.lgamma(p1) + shared + p1 - p1 * el.log(total) + (q1 - 0.5) * log_ratio
    p10 = el.max(p1, full_like(p1, 10))
    both = _HALF_LOG_2PI - 0.5 * el.log(q1) + shared + _stirling_rest(p10)
    both = both + (p1 - 0.5) * el.log(p1 / total) + q1 * log_ratio
    return where(large & (q < math.inf), where(p1 >= 10, both, small), plain)


@with_derivatives(
    lambda t, a, b: t * _beta(a, b) * (lax_special.digamma(a) - lax_special.digamma(a + b)),
    lambda t, a, b: t * _beta(a, b) * (lax_special.digamma(b) - lax_special.digamma(a + b)),
)
def _beta(a: Any, b: Any) -> Any:
    total = a + b
    limit = _largest(a) - 1
    direct = (el.max(el.max(el.abs(a), el.abs(b)), el.abs(total)) < limit) & (el.min(el.abs(a), el.abs(b)) > 1e-3)
    signs = sign_of_gamma(a) * sign_of_gamma(b) * sign_of_gamma(total)
    return where(direct, gamma_of(a) * gamma_of(b) * reciprocal_gamma(total), signs * el.exp(log_beta(a, b)))


@composite
def beta(a: Any, b: Any) -> Any:
    """The beta function: gamma(a) gamma(b) / gamma(a + b).

    Args:
      a, b: arrays that broadcast against each other.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.beta(2.0, 3.0):.4f}")
    0.0833
    """
    return evaluate("beta", _beta, a, b)


@composite
def betaln(a: Any, b: Any) -> Any:
    """The logarithm of the absolute value of the beta function, accurate where its arguments are large.

    Args:
      a, b: arrays that broadcast against each other.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.betaln(2.0, 3.0):.4f}")
    -2.4849
    """
    return evaluate("betaln", log_beta, a, b, keeps_weak=True)


# -- counting --------------------------------------------------------------------------------------------------------


def factorial(n: Any, exact: bool = False) -> Any:
    """n! as a float: gamma(n + 1), exact while the result's dtype holds it; 0 for negative n.

    Args:
      n: array.
      exact: only False: integers of any size are Python's (`math.factorial`).

    Returns:
      An array of floating dtype.

    Raises:
      NotImplementedError: `exact` is true.

    >>> import xtrace as xt
    >>> print(xt.scipy.special.factorial(5))
    120.0
    """
    if exact:
        raise NotImplementedError("factorial with exact=True: use math.factorial for integers of any size.")
    return _factorial(n)


@composite
def _factorial(n: Any) -> Any:
    return evaluate("factorial", lambda x: where(x < 0, 0.0, gamma_of(where(x < 0, 0.0, x) + 1)), n, keeps_weak=True)


def _comb(n: Any, k: Any) -> Any:
    allowed = (k <= n) & (n >= 0) & (k >= 0)
    n, k = where(allowed, n, 0.0), where(allowed, k, 0.0)
    direct = n + 1 < _largest(n)
    small = where(direct, n, 1.0), where(direct, k, 1.0)
    value = gamma_of(small[0] + 1) / (gamma_of(small[1] + 1) * gamma_of(small[0] - small[1] + 1))
    value = where(direct, value, el.exp(-log_beta(n - k + 1, k + 1)) / (n + 1))
    exact = _is_integer(n) & _is_integer(k) & (value < 0.25 / np.finfo(shaped(n).dtype).eps)
    rounded = value + _without_derivative(where(exact, el.round(value, _EVEN) - value, 0.0))
    return where(allowed, rounded, 0.0)


@with_derivatives(None)
def _without_derivative(x: Any) -> Any:
    return x + 0


@composite(static_argnames=("repetition",))
def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """The number of ways to choose k of N things, as a float; 0 unless 0 <= k <= N.

    Args:
      N, k: arrays, broadcast.
      repetition: whether a thing may be chosen several times.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(xt.scipy.special.comb(5, 2), xt.scipy.special.comb(5, 2, repetition=True))
    10.0 15.0
    """

    def repeated(n: Any, k: Any) -> Any:
        return where((k == 0) & (n >= 0), 1.0, _comb(n + k - 1, k))

    return evaluate("comb", repeated if repetition else _comb, N, k, keeps_weak=True)


@with_derivatives(
    lambda t, z, m: t * _poch(z, m) * (lax_special.digamma(z + m) - lax_special.digamma(z)),
    lambda t, z, m: t * _poch(z, m) * lax_special.digamma(z + m),
)
def _poch(z: Any, m: Any) -> Any:
    total = z + m
    direct = el.max(el.abs(z), el.abs(total)) < _largest(z) - 1
    signs = sign_of_gamma(total) * sign_of_gamma(z)
    value = where(
        direct, gamma_of(total) * reciprocal_gamma(z),
        # log(gamma(z + m) / gamma(z)) without a difference of large numbers
        signs * el.exp(lax_special.lgamma(el.abs(m)) * el.sign(m) - el.sign(m) * log_beta(el.min(z, total), el.abs(m))),
    )  # fmt: skip
    return where(m == 0, 1.0, value)


@composite
def poch(z: Any, m: Any) -> Any:
    """The Pochhammer symbol: gamma(z + m) / gamma(z).

    Args:
      z, m: arrays that broadcast against each other.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.poch(2.0, 3.0):.4f}")
    24.0000
    """
    return evaluate("poch", _poch, z, m)


@composite(static_argnames=("d",))
def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function of dimension `d`.

    Args:
      a: array, above (d - 1) / 2.
      d: the dimension: a Python integer.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{xt.scipy.special.multigammaln(3.0, 2):.4f}")
    1.5502
    """
    d = int(statics.number(d, "d"))

    def summed(a: Any) -> Any:
        total = full_like(a, d * (d - 1) / 4 * math.log(math.pi))
        for j in range(d):
            total = total + lax_special.lgamma(a - j / 2)
        return total

    return evaluate("multigammaln", summed, a)


def bernoulli(n: Any) -> Any:
    """The Bernoulli numbers 0 to `n`, with B(1) = -1/2; rounded from exact fractions.

    Args:
      n: a Python integer, at least 0.

    Returns:
      An array (n + 1,) of the default floating dtype.

    Raises:
      ValueError: `n` is negative.

    Source: Brent and Harvey, "Fast computation of Bernoulli, tangent and secant numbers", 2011.

    >>> import xtrace as xt
    >>> print(xt.scipy.special.bernoulli(4)[2:4])
    [0.16666667 0.        ]
    """
    from xtrace.numpy.creation import array

    n = statics.integer(n, "n")
    if n < 0:
        raise ValueError(f"bernoulli: n must be a non-negative integer, got {n}.")
    values = [1.0, -0.5] + [0.0] * max(n - 1, 0)
    half = n // 2
    tangents = [0, 1] + [0] * half
    for k in range(2, half + 1):
        tangents[k] = (k - 1) * tangents[k - 1]
    for k in range(2, half + 1):
        for j in range(k, half + 1):
            tangents[j] = (j - k) * tangents[j - 1] + (j - k + 2) * tangents[j]
    for k in range(1, half + 1):
        sign = 1 if k % 2 else -1
        try:
            values[2 * k] = sign * (2 * k * tangents[k] / (4**k * (4**k - 1)))
        except OverflowError:
            values[2 * k] = sign * math.inf
    from xtrace.core import dtypes

    with np.errstate(over="ignore"):
        return array(np.asarray(values[: n + 1], dtypes.canonicalize(dtypes.float64)))
