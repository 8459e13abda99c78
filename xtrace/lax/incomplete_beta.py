"""The regularized incomplete beta function, by its continued fraction."""

from __future__ import annotations

import math
from typing import Any

from xtrace.core import dtypes
from xtrace.core.primitive import shaped
from xtrace.lax import comparisons, incomplete_gamma, selection, special
from xtrace.lax import elementwise as el
from xtrace.lax.elementwise import FLOATING, described, elementwise, filled_like, scalar_like

regularized_incomplete_beta_p = elementwise("regularized_incomplete_beta", FLOATING, FLOATING, FLOATING)


@described(regularized_incomplete_beta_p, "betainc(2.0, 3.0, 0.5)", "0.6875")
def betainc(a: Any, b: Any, x: Any) -> Any:
    """Elementwise regularized incomplete beta function I_x(a, b)."""
    return regularized_incomplete_beta_p.bind(a, b, x)


def _density(t: Any, out: Any, a: Any, b: Any, x: Any) -> Any:
    one = scalar_like(x, 1)
    log_beta = el.sub(el.add(special.lgamma(a), special.lgamma(b)), special.lgamma(el.add(a, b)))
    log_x, log_rest = el.log(x), el.log1p(el.neg(x))
    powers = el.add(el.mul(el.sub(b, one), log_rest), el.mul(el.sub(a, one), log_x))
    return el.mul(el.exp(el.sub(powers, log_beta)), t)


regularized_incomplete_beta_p.jvps = (
    special.no_derivative("betainc", "a"),
    special.no_derivative("betainc", "b"),
    _density,
)


def _fraction(a: Any, b: Any, x: Any, active: Any) -> Any:
    """The continued fraction of I_x(a, b) by Lentz's method (Press et al., Numerical Recipes, chapter 6)."""
    one, two = scalar_like(a, 1), scalar_like(a, 2)
    floor = filled_like(a, float(dtypes.finfo(shaped(a).dtype).tiny) * 1e4)

    def clear_of_zero(v: Any) -> Any:
        return selection.select(comparisons.lt(el.abs(v), floor), floor, v)

    total, above, below = el.add(a, b), el.add(a, one), el.sub(a, one)
    eps = scalar_like(a, float(dtypes.finfo(shaped(a).dtype).eps))

    def step(m: Any, c: Any, d: Any, h: Any) -> Any:
        m2 = el.mul(two, m)
        at = el.add(a, m2)
        even = el.div(el.mul(el.mul(m, el.sub(b, m)), x), el.mul(el.add(below, m2), at))
        odd = el.div(el.mul(el.mul(el.neg(el.add(a, m)), el.add(total, m)), x), el.mul(at, el.add(above, m2)))
        factor = one
        for term in (even, odd):
            d = el.reciprocal(clear_of_zero(el.add(el.mul(term, d), one)))
            c = clear_of_zero(el.add(el.div(term, c), one))
            factor = el.mul(c, d)
            h = el.mul(h, factor)
        return comparisons.le(el.abs(el.sub(factor, one)), eps), [c, d, h]

    first = el.reciprocal(clear_of_zero(el.sub(one, el.div(el.mul(total, x), above))))
    return incomplete_gamma.converge(step, active, [filled_like(a, 1), first, first])[2]


def regularized(a: Any, b: Any, x: Any) -> Any:
    """betainc of arrays of one shape, of float32 or float64: what the primitive is lowered to."""
    zero, one, inf = scalar_like(a, 0), scalar_like(a, 1), scalar_like(a, math.inf)
    both, either = el.and_p.bind, el.or_p.bind
    outside = either(comparisons.lt(x, zero), comparisons.gt(x, one))
    outside = either(outside, either(comparisons.lt(a, zero), comparisons.lt(b, zero)))
    for v in (a, b, x):
        outside = either(outside, comparisons.ne(v, v))
    a_zero, b_zero = comparisons.eq(a, zero), comparisons.eq(b, zero)
    a_inf, b_inf = comparisons.eq(a, inf), comparisons.eq(b, inf)
    undefined = either(both(a_zero, b_zero), both(a_inf, b_inf))
    at_zero, at_one = comparisons.eq(x, zero), comparisons.eq(x, one)
    edge = either(either(outside, either(at_zero, at_one)), either(either(a_zero, b_zero), either(a_inf, b_inf)))
    half = filled_like(a, 0.5)
    sa, sb, sx = [selection.select(edge, half, v) for v in (a, b, x)]

    # The fraction converges fast below the mean; above it, I_x(a, b) = 1 - I_(1 - x)(b, a).
    swap = comparisons.gt(sx, el.div(el.add(sa, one), el.add(el.add(sa, sb), scalar_like(a, 2))))
    rest = el.sub(one, sx)
    p, q = selection.select(swap, sb, sa), selection.select(swap, sa, sb)
    y, z = selection.select(swap, rest, sx), selection.select(swap, sx, rest)
    fraction = _fraction(p, q, y, el.not_p.bind(edge))
    # y**p z**q / B(p, q), in the saddle point form of C. Loader, which keeps its digits for large p and q.
    n = el.add(p, q)
    errors = el.sub(
        el.sub(incomplete_gamma.stirling_error(n), incomplete_gamma.stirling_error(p)),
        incomplete_gamma.stirling_error(q),
    )
    deviances = el.add(incomplete_gamma.deviance(p, el.mul(n, y)), incomplete_gamma.deviance(q, el.mul(n, z)))
    root = el.sqrt(el.div(el.mul(p, el.div(q, n)), scalar_like(a, 2 * math.pi)))
    value = el.div(el.mul(el.mul(el.exp(el.sub(errors, deviances)), root), fraction), p)
    out = selection.select(swap, el.sub(one, value), value)
    for condition, constant in (
        (either(b_zero, a_inf), 0.0),
        (either(a_zero, b_inf), 1.0),
        (at_zero, 0.0),
        (at_one, 1.0),
        (either(outside, undefined), math.nan),
    ):
        out = selection.select(condition, filled_like(out, constant), out)
    return out


__all__ = ["betainc"]
