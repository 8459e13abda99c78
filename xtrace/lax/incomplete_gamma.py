"""Regularized incomplete gamma functions and their derivatives, by power series and continued fraction."""

from __future__ import annotations

import math
from typing import Any

from xtrace.core import dtypes
from xtrace.core.primitive import shaped
from xtrace.lax import comparisons, reductions, selection, special
from xtrace.lax import elementwise as el
from xtrace.lax.elementwise import FLOATING, binary, described, filled_like, scalar_like

igamma_p = binary("igamma", FLOATING)
igammac_p = binary("igammac", FLOATING)
igamma_grad_a_p = binary("igamma_grad_a", FLOATING)
random_gamma_grad_p = binary("random_gamma_grad", FLOATING)

#: Bound on the terms taken: about 8.5 sqrt(a) are needed where x is near a.
MAX_TERMS = 30_000


@described(igamma_p, "igamma(2.0, 1.0)", "0.2642")
def igamma(a: Any, x: Any) -> Any:
    """Elementwise regularized lower incomplete gamma function P(a, x)."""
    return igamma_p.bind(a, x)


@described(igammac_p, "igammac(2.0, 1.0)", "0.7358")
def igammac(a: Any, x: Any) -> Any:
    """Elementwise regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x), exact where that is near 1."""
    return igammac_p.bind(a, x)


@described(igamma_grad_a_p, "igamma_grad_a(2.0, 1.0)", "-0.2762")
def igamma_grad_a(a: Any, x: Any) -> Any:
    """Elementwise derivative of igamma(a, x) with respect to a."""
    return igamma_grad_a_p.bind(a, x)


@described(random_gamma_grad_p, "random_gamma_grad(2.0, 1.0)", "0.7508")
def random_gamma_grad(a: Any, x: Any) -> Any:
    """Elementwise derivative with respect to a of a gamma(a) distributed number x, at a fixed quantile."""
    return random_gamma_grad_p.bind(a, x)


# -- derivatives -------------------------------------------------------------------------------------------------------


def _density(a: Any, x: Any) -> Any:
    """The derivative of igamma(a, x) with respect to x: the gamma distribution's density."""
    one = scalar_like(a, 1)
    exponent = el.sub(el.add(el.neg(x), el.mul(el.sub(a, one), el.log(x))), special.lgamma(a))
    return el.exp(exponent)


igamma_p.jvps = (
    lambda t, out, a, x: el.mul(t, igamma_grad_a(a, x)),
    lambda t, out, a, x: el.mul(t, _density(a, x)),
)
igammac_p.jvps = (
    lambda t, out, a, x: el.mul(el.neg(t), igamma_grad_a(a, x)),
    lambda t, out, a, x: el.mul(el.neg(t), _density(a, x)),
)
igamma_grad_a_p.jvps = (
    special.no_derivative("igamma_grad_a", "a"),
    special.no_derivative("igamma_grad_a", "x"),
)
random_gamma_grad_p.jvps = (
    special.no_derivative("random_gamma_grad", "a"),
    special.no_derivative("random_gamma_grad", "x"),
)

# -- values ------------------------------------------------------------------------------------------------------------
# The rest lowers the primitives: functions of arrays of one shape, of float32 or float64.

#: Stirling's series for log Gamma(a + 1): B_2k / (2k (2k - 1)), the coefficients of a ** (1 - 2k).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)


def stirling_error(a: Any) -> Any:
    """log Gamma(a + 1) less Stirling's approximation of it, (a + 1/2) log(a) - a + log(2 pi) / 2."""
    large = comparisons.gt(a, scalar_like(a, 10))
    safe = selection.select(large, a, filled_like(a, 10))
    inverse = el.reciprocal(el.square(safe))
    series = filled_like(a, _STIRLING[-1])
    for c in reversed(_STIRLING[:-1]):
        series = el.add(el.mul(series, inverse), scalar_like(a, c))
    stirling = el.add(
        el.sub(el.mul(el.add(a, scalar_like(a, 0.5)), el.log(a)), a), scalar_like(a, math.log(2 * math.pi) / 2)
    )
    direct = el.sub(special.lgamma(el.add(a, scalar_like(a, 1))), stirling)
    return selection.select(large, el.div(series, safe), direct)


def deviance(x: Any, mean: Any) -> Any:
    """x log(x / mean) + mean - x, without cancellation where x is near the mean.

    Source: C. Loader, Fast and accurate computation of binomial probabilities, 2000.
    """
    difference, total = el.sub(x, mean), el.add(x, mean)
    near = comparisons.lt(el.abs(difference), el.mul(scalar_like(x, 0.1), total))
    v = selection.select(near, el.div(difference, total), filled_like(x, 0))
    # log(x / mean) = 2 artanh(v): v (x - mean) + 2 x (v**3 / 3 + v**5 / 5 + ...)
    square = el.square(v)
    series = filled_like(x, 0)
    for k in range(17, 1, -2):
        series = el.mul(square, el.add(series, scalar_like(x, 1 / k)))
    close = el.add(el.mul(difference, v), el.mul(scalar_like(x, 2), el.mul(x, el.mul(v, series))))
    far = el.sub(el.mul(x, el.log(el.div(x, mean))), difference)
    return selection.select(near, close, far)


def _prefactor(a: Any, x: Any) -> Any:
    """x ** a exp(-x) / Gamma(a + 1), with the digits that its logarithm wouldn't have for large a."""
    direct = el.exp(el.sub(el.sub(el.mul(a, el.log(x)), x), special.lgamma(el.add(a, scalar_like(a, 1)))))
    exponent = el.neg(el.add(stirling_error(a), deviance(a, x)))
    saddle = el.div(el.exp(exponent), el.sqrt(el.mul(scalar_like(a, 2 * math.pi), a)))
    return selection.select(comparisons.gt(a, scalar_like(a, 10)), saddle, direct)


def converge(step: Any, active: Any, state: list[Any]) -> list[Any]:
    """`step(i, *state) -> (converged, new state)` where `active`, until converged there; i counts from 1."""
    from xtrace.lax.control_flow import loops

    axes = tuple(range(shaped(active).ndim))

    def cond(carry: Any) -> Any:
        i, going, *_ = carry
        some = reductions.reduce_or(going, axes)
        return el.and_p.bind(some, comparisons.lt(i, scalar_like(i, MAX_TERMS)))

    def body(carry: Any) -> Any:
        i, going, *old = carry
        converged, new = step(i, *old)
        kept = [selection.select(going, n, o) for n, o in zip(new, old, strict=True)]
        return (el.add(i, scalar_like(i, 1)), el.and_p.bind(going, el.not_p.bind(converged)), *kept)

    start = scalar_like(reductions.reduce_sum(state[0], axes), 1)
    return list(loops.while_loop(cond, body, (start, active, *state)))[2:]


def _epsilon(x: Any) -> Any:
    return scalar_like(x, float(dtypes.finfo(shaped(x).dtype).eps) / 2)


def _series(a: Any, x: Any, active: Any, slope: bool) -> tuple[Any, Any]:
    """S = the sum of x ** n / ((a + 1) ... (a + n)), and its derivative with respect to a. P = prefactor * S."""
    one, zero = filled_like(a, 1), filled_like(a, 0)

    def step(i: Any, term: Any, total: Any, *slopes: Any) -> Any:
        divisor = el.add(a, i)
        term = el.div(el.mul(term, x), divisor)
        total = el.add(total, term)
        converged = comparisons.le(term, el.mul(_epsilon(a), total))
        if not slopes:
            return converged, [term, total]
        term_slope, total_slope = slopes
        term_slope = el.div(el.sub(el.mul(term_slope, x), term), divisor)
        total_slope = el.add(total_slope, term_slope)
        small = comparisons.le(el.abs(term_slope), el.mul(_epsilon(a), el.abs(total_slope)))
        return el.and_p.bind(converged, small), [term, total, term_slope, total_slope]

    out = converge(step, active, [one, one, zero, zero] if slope else [one, one])
    return out[1], out[3] if slope else None


def _fraction(a: Any, x: Any, active: Any, slope: bool) -> tuple[Any, Any]:
    """Legendre's continued fraction h = 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), and (log h)' in a.

    Q = x ** a exp(-x) / Gamma(a) * h. Evaluated by Lentz's method (Press et al., Numerical Recipes, chapter 5).
    """
    first = el.add(el.sub(x, a), scalar_like(a, 1))
    one, zero = filled_like(a, 1), filled_like(a, 0)
    tiny = float(dtypes.finfo(shaped(a).dtype).tiny)
    huge = filled_like(a, 1 / (tiny * 1e4) if tiny * 1e4 > 0 else 1e30)

    def step(i: Any, c: Any, d: Any, h: Any, *slopes: Any) -> Any:
        numerator = el.neg(el.mul(i, el.sub(i, a)))
        b = el.add(first, el.mul(scalar_like(a, 2), i))
        old_c, old_d = c, d
        d = el.reciprocal(el.add(el.mul(numerator, d), b))
        ratio = el.div(numerator, c)
        c = el.add(b, ratio)
        factor = el.mul(c, d)
        h = el.mul(h, factor)
        converged = comparisons.le(el.abs(el.sub(factor, one)), el.mul(scalar_like(a, 2), _epsilon(a)))
        if not slopes:
            return converged, [c, d, h]
        c_slope, d_slope, log_slope = slopes
        inner = el.add(el.mul(i, old_d), el.sub(el.mul(numerator, d_slope), one))
        d_slope = el.neg(el.mul(el.square(d), inner))
        c_slope = el.sub(el.div(el.sub(i, el.mul(ratio, c_slope)), old_c), one)
        change = el.add(el.div(d_slope, d), el.div(c_slope, c))
        log_slope = el.add(log_slope, change)
        small = comparisons.le(el.abs(change), el.mul(_epsilon(a), el.abs(log_slope)))
        return el.and_p.bind(converged, small), [c, d, h, c_slope, d_slope, log_slope]

    d = el.reciprocal(first)
    state = [huge, d, d]
    if slope:
        state += [zero, el.square(d), d]
    out = converge(step, active, state)
    return out[2], out[5] if slope else None


def _where(cases: list[tuple[Any, float]], x: Any) -> Any:
    """`x`, replaced by constants where conditions hold; later ones prevail."""
    for condition, value in cases:
        x = selection.select(condition, filled_like(x, value), x)
    return x


def _parts(a: Any, x: Any, slope: bool) -> Any:
    """What every function needs: where to use the series, safe operands, and both expansions there."""
    zero = scalar_like(a, 0)
    both = el.and_p.bind
    finite = both(comparisons.is_finite(a), comparisons.is_finite(x))
    inside = both(finite, both(comparisons.gt(a, zero), comparisons.gt(x, zero)))
    one = filled_like(a, 1)
    a, x = selection.select(inside, a, one), selection.select(inside, x, one)
    by_series = el.or_p.bind(comparisons.le(x, one), comparisons.le(x, a))
    series = _series(a, x, both(inside, by_series), slope)
    fraction = _fraction(
        selection.select(by_series, filled_like(a, 0.5), a),
        selection.select(by_series, filled_like(x, 2), x),
        both(inside, el.not_p.bind(by_series)),
        slope,
    )
    return a, x, by_series, series, fraction


def _edges(a: Any, x: Any, upper: bool) -> list[tuple[Any, float]]:
    zero, inf = scalar_like(a, 0), scalar_like(a, math.inf)
    both, either = el.and_p.bind, el.or_p.bind
    low, high = (1.0, 0.0) if upper else (0.0, 1.0)
    a_zero, x_zero = comparisons.eq(a, zero), comparisons.eq(x, zero)
    a_inf, x_inf = comparisons.eq(a, inf), comparisons.eq(x, inf)
    negative = either(comparisons.lt(a, zero), comparisons.lt(x, zero))
    nan = either(comparisons.ne(a, a), comparisons.ne(x, x))
    undefined = either(both(a_zero, x_zero), both(a_inf, x_inf))
    return [
        (either(x_zero, a_inf), low),
        (either(a_zero, x_inf), high),
        (either(undefined, either(negative, nan)), math.nan),
    ]


def regularized(a: Any, x: Any, upper: bool) -> Any:
    """igamma(a, x), or igammac(a, x) if `upper`."""
    safe_a, safe_x, by_series, (total, _), (h, _) = _parts(a, x, False)
    scale = _prefactor(safe_a, safe_x)
    one = scalar_like(a, 1)
    p = el.mul(scale, total)
    q = el.mul(el.mul(scale, safe_a), h)
    out = selection.select(by_series, el.sub(one, p), q) if upper else selection.select(by_series, p, el.sub(one, q))
    return _where(_edges(a, x, upper), out)


def slope_in_a(a: Any, x: Any, of_sample: bool) -> Any:
    """igamma_grad_a(a, x), or random_gamma_grad(a, x) if `of_sample`: that over minus the density."""
    safe_a, safe_x, by_series, (total, total_slope), (h, log_slope) = _parts(a, x, True)
    log_x = el.log(safe_x)
    above = special.digamma(el.add(safe_a, scalar_like(a, 1)))
    lower = el.add(el.mul(total, el.sub(log_x, above)), total_slope)
    upper = el.mul(el.mul(h, safe_a), el.add(el.sub(log_x, special.digamma(safe_a)), log_slope))
    out = selection.select(by_series, lower, el.neg(upper))
    if of_sample:
        out = el.neg(el.mul(out, el.div(safe_x, safe_a)))
    else:
        out = el.mul(_prefactor(safe_a, safe_x), out)
    zero, inf = scalar_like(a, 0), scalar_like(a, math.inf)
    either = el.or_p.bind
    outside = either(comparisons.le(a, zero), comparisons.lt(x, zero))
    outside = either(outside, either(comparisons.ne(a, a), comparisons.ne(x, x)))
    unknown = either(comparisons.eq(a, inf), comparisons.eq(x, inf))
    return _where([(unknown, math.nan), (comparisons.eq(x, zero), 0.0), (outside, math.nan)], out)


__all__ = ["igamma", "igamma_grad_a", "igammac", "random_gamma_grad"]
