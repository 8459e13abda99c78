"""Distributions of counts: Poisson, binomial, multinomial."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import random_bits, reductions, shapes
from xtrace.random.arguments import (
    as_key,
    broadcast_shapes,
    canonical_shape,
    common_shape,
    float_dtype,
    integer_dtype,
    placed,
    sampler,
)
from xtrace.random.keys import split_single
from xtrace.random.uniform_floats import broadcast_to, gaussian, parameter, scalar, unit

add, sub, mul, div = el.add_p.bind, el.sub_p.bind, el.mul_p.bind, el.div_p.bind
le, lt, ge, gt, both, either = (
    el.le_p.bind, el.lt_p.bind, el.ge_p.bind, el.gt_p.bind, el.and_p.bind, el.or_p.bind,
)  # fmt: skip


class _Floats:
    """Constants and choices in one shape and dtype."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype
        self.axes = tuple(range(len(shape)))

    def __call__(self, value: float) -> Any:
        return scalar(value, self.dtype)

    def full(self, value: Any) -> Any:
        return shapes.broadcast_in_dim(self(value), self.shape, ())

    def falses(self) -> Any:
        return shapes.broadcast_in_dim(np.False_, self.shape, ())

    def where(self, mask: Any, yes: Any, no: Any) -> Any:
        """`yes` or `no`, each an array of the shape or a Python number."""
        yes, no = [self.full(v) if isinstance(v, (int, float)) else v for v in (yes, no)]
        return lax.select_n(mask, no, yes)

    def anywhere(self, mask: Any) -> Any:
        return reductions.reduce_or(mask, self.axes)


# -- Poisson -----------------------------------------------------------------------------------------------------------


def _poisson_by_products(key: Any, rate: Any, like: _Floats, dtype: Any, limit: int) -> Any:
    """Count uniform numbers until their product falls below exp(-rate). For small rates.

    Source: Knuth, "The art of computer programming", volume 2, section 3.4.1.
    """

    def going(i: Any, k: Any, key: Any, log_product: Any) -> Any:
        return both(like.anywhere(gt(log_product, el.neg_p.bind(rate))), lt(i, np.int32(limit)))

    def step(i: Any, k: Any, key: Any, log_product: Any) -> Any:
        key, subkey = split_single(key)
        more = gt(log_product, el.neg_p.bind(rate))
        k = lax.select_n(more, k, add(k, np.ones((), dtype)[()]))
        u = unit(subkey, like.shape, like.dtype)
        return add(i, np.int32(1)), k, key, add(log_product, el.log_p.bind(u))

    zeros = shapes.broadcast_in_dim(np.zeros((), dtype)[()], like.shape, ())
    start = (np.int32(0), zeros, key, like.full(0))
    _, k, _, _ = lax.while_loop(lambda s: going(*s), lambda s: step(*s), start)
    return sub(k, np.ones((), dtype)[()])


def _poisson_by_rejection(key: Any, rate: Any, like: _Floats, dtype: Any, limit: int) -> Any:
    """Transformed rejection with squeeze. For large rates.

    Source: Hörmann, "The transformed rejection method for generating Poisson random variables" (PTRS), 1993.
    """
    c = like
    log_rate = el.log_p.bind(rate)
    b = add(c(0.931), mul(c(2.53), el.sqrt_p.bind(rate)))
    a = add(c(-0.059), mul(c(0.02483), b))
    inverse_alpha = add(c(1.1239), div(c(1.1328), sub(b, c(3.4))))
    v_r = sub(c(0.9277), div(c(3.6224), sub(b, c(2))))

    def going(i: Any, out: Any, accepted: Any, key: Any) -> Any:
        return both(like.anywhere(el.not_p.bind(accepted)), lt(i, np.int32(limit)))

    def step(i: Any, out: Any, accepted: Any, key: Any) -> Any:
        key, k1, k2 = split_single(key, 3)
        u = sub(unit(k1, c.shape, c.dtype), c(0.5))
        v = unit(k2, c.shape, c.dtype)
        us = sub(c(0.5), el.abs_p.bind(u))
        k = el.floor_p.bind(add(add(mul(add(div(mul(c(2), a), us), b), u), rate), c(0.43)))
        s = el.log_p.bind(div(mul(v, inverse_alpha), add(div(a, mul(us, us)), b)))
        t = sub(add(el.neg_p.bind(rate), mul(k, log_rate)), lax.lgamma(add(k, c(1))))
        quick = both(ge(us, c(0.07)), le(v, v_r))
        reject = either(lt(k, c(0)), both(lt(us, c(0.013)), gt(v, us)))
        accept = either(quick, both(el.not_p.bind(reject), le(s, t)))
        return add(i, np.int32(1)), c.where(accept, k, out), either(accepted, accept), key

    start = (np.int32(0), c.full(-1), c.falses(), key)
    _, out, _, _ = lax.while_loop(lambda s: going(*s), lambda s: step(*s), start)
    return shapes.convert_element_type(out, dtype)


def _excess(x: Any, c: _Floats) -> Any:
    """(1 - x**2 + 2 x log x) / (1 - x)**2, by its series where x is near 1."""
    y = sub(x, c(1))
    near = lt(el.abs_p.bind(y), c(0.25))
    series: Any = c.full(0)
    for n in (-1 / 55, 1 / 45, -1 / 36, 1 / 28, -1 / 21, 1 / 15, -1 / 10, 1 / 6, -1 / 3):
        series = mul(y, add(c(n), series))
    far, distance = c.where(near, 2.0, x), c.where(near, 1.0, y)
    top = add(sub(c(1), el.square_p.bind(far)), mul(mul(c(2), far), el.log_p.bind(far)))
    return c.where(near, series, div(top, el.square_p.bind(distance)))


def _poisson_approximately(key: Any, rate: Any, like: _Floats, dtype: Any) -> Any:
    """Quantiles of one normal number each: summed probabilities below 7, else Cornish and Fisher's expansion,
    corrected by at most one with Peizer and Pratt's approximation of the distribution function.

    Source: Peizer and Pratt, "A normal approximation for binomial, F, beta and other common tail probabilities", 1968.
    """
    c = like
    z = gaussian(key, c.shape, c.dtype)
    quantile = mul(c(0.5), _twice_normal_cdf(mul(z, c(np.sqrt(0.5))), c))
    term = el.exp_p.bind(el.neg_p.bind(rate))
    total = term
    small = shapes.convert_element_type(lt(total, quantile), c.dtype)
    for k in range(1, 19):
        term = mul(term, div(rate, c(k)))
        total = add(total, term)
        small = add(small, shapes.convert_element_type(lt(total, quantile), c.dtype))
    root, square = el.sqrt_p.bind(rate), el.square_p.bind(z)
    guess = add(sub(add(rate, mul(root, z)), c(2 / 3)), div(square, c(6)))
    guess = add(guess, div(mul(z, sub(c(1), square)), mul(c(72), root)))
    guess = el.ceil_p.bind(add(guess, c(0.6)))

    def reaches(k: Any) -> Any:
        at = el.max_p.bind(k, c(0))
        excess = _excess(div(add(at, c(0.5)), rate), c)
        deviation = add(add(sub(at, rate), c(2 / 3)), div(c(0.02), add(at, c(1))))
        score = mul(deviation, el.sqrt_p.bind(div(add(c(1), excess), rate)))
        score = c.where(lt(k, c(0)), -np.inf, score)
        return shapes.convert_element_type(ge(score, z), c.dtype)

    large = sub(sub(add(guess, c(1)), reaches(guess)), reaches(sub(guess, c(1))))
    out = c.where(lt(rate, c(7)), small, el.max_p.bind(large, c(0)))
    return shapes.convert_element_type(out, dtype)


def _twice_normal_cdf(x: Any, c: _Floats) -> Any:
    """1 + erf(x), with the digits of its tails."""
    size = el.abs_p.bind(x)
    tail = lax.erfc(size)
    outside = c.where(gt(x, c(0)), sub(c(2), tail), tail)
    return c.where(lt(size, c(np.sqrt(0.5))), add(c(1), lax.erf(x)), outside)


@sampler("shape", "dtype", "method")
def _poisson(key: Any, lam: Any, *, shape: Any, dtype: Any, method: str) -> Any:
    like = _Floats(shape, dtypes.float32)
    rate = broadcast_to(parameter(lam, like.dtype, len(shape)), shape)
    if method == "approximate":
        return _poisson_approximately(key, rate, like, dtype)
    limit = int(np.iinfo(np.int32).max)
    small = either(el.ne_p.bind(rate, rate), lt(rate, like(10)))
    few = _poisson_by_products(key, like.where(small, rate, 0.0), like, dtype, limit)
    many = _poisson_by_rejection(key, like.where(small, 1e5, rate), like, dtype, limit)
    out = lax.select_n(small, many, few)
    zeros = shapes.broadcast_in_dim(np.zeros((), dtype)[()], shape, ())
    return lax.select_n(el.eq_p.bind(rate, like(0)), out, zeros)


def poisson(
    key: Any, lam: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact", out_sharding: Any = None
) -> Any:
    """Poisson numbers: k with probability lam**k exp(-lam) / k!.

    Args:
      key: a single key of the threefry2x32 generator, if the method is exact.
      lam: the rate; broadcasts to `shape`. Negative and NaN rates give -1.
      shape: of the result; None: that of `lam`.
      dtype: an integer type; None: the default integer.
      method: "exact", by loops, or "approximate", without.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Raises:
      NotImplementedError: the exact method with another generator, whose bits depend on how often the loop runs.

    Example:
      >>> import xtrace as xt
      >>> xt.random.poisson(xt.random.key(0), 3.0, (2,)).shape
      (2,)
    """
    _check_method("poisson", method)
    impl = as_key("poisson", key)[0].aval.dtype.impl
    if impl is not random_bits.threefry2x32 and method == "exact":
        raise NotImplementedError(
            f"`poisson` with method='exact' is only implemented for the threefry2x32 RNG, not {impl.name}"
        )
    dtype = integer_dtype("poisson", dtype)
    shape = common_shape("poisson", shape, lam)
    return placed(_poisson("poisson", key, lam, shape=shape, dtype=dtype, method=method), out_sharding)


def _check_method(name: str, method: str) -> None:
    if method not in ("exact", "approximate"):
        raise ValueError(f"method argument to `{name}` must be one of {{'exact', 'approximate'}}, got {method!r}")


# -- binomial ----------------------------------------------------------------------------------------------------------

#: log(k!) minus Stirling's approximation of it, for k = 0 … 9.
_STIRLING_TAILS = np.array([
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.0207906721037650, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
])  # fmt: skip


def _stirling_tail(k: Any, c: _Floats) -> Any:
    """log(k!) minus Stirling's approximation."""
    from xtrace import numpy as xnp

    inside = lax.clamp(c(0), k, c(9))
    raised = add(inside, c(1))
    square = mul(raised, raised)
    series = div(sub(c(1 / 12), div(sub(c(1 / 360), div(c(1 / 1260), square)), square)), raised)
    places = shapes.convert_element_type(el.floor_p.bind(inside), dtypes.int32)
    table = xnp.take(_STIRLING_TAILS.astype(c.dtype), places, mode="clip")
    return c.where(le(k, c(9)), table, series)


def _binomial_by_waiting(key: Any, count: Any, prob: Any, c: _Floats) -> Any:
    """Count geometric waiting times until their sum passes `count`. For small count * prob.

    Source: Devroye, "Non-uniform random variate generation", 1986, chapter X.4.
    """
    log1_p = el.log1p_p.bind(el.neg_p.bind(prob))

    def step(i: Any, found: Any, waited: Any, key: Any) -> Any:
        subkey, key = split_single(key)
        more = le(waited, count)
        found = c.where(more, add(found, c(1)), found)
        wait = el.ceil_p.bind(div(el.log_p.bind(unit(subkey, c.shape, c.dtype)), log1_p))
        return add(i, np.int32(1)), found, add(waited, wait), key

    start = (np.int32(0), c.full(0), c.full(0), key)
    _, found, _, _ = lax.while_loop(lambda s: c.anywhere(le(s[2], count)), lambda s: step(*s), start)
    return sub(found, c(1))


def _binomial_by_rejection(key: Any, count: Any, prob: Any, c: _Floats) -> Any:
    """Transformed rejection with squeeze.

    Source: Hörmann, "The generation of binomial random variates" (BTRS), 1993.
    """
    one, half = c(1), c(0.5)
    spread = el.sqrt_p.bind(mul(mul(count, prob), sub(one, prob)))
    b = add(c(1.15), mul(c(2.53), spread))
    a = add(add(c(-0.0873), mul(c(0.0248), b)), mul(c(0.01), prob))
    centre = add(mul(count, prob), half)
    v_r = sub(c(0.92), div(c(4.2), b))
    r = div(prob, sub(one, prob))
    alpha = mul(add(c(2.83), div(c(5.1), b)), spread)
    m = el.floor_p.bind(mul(add(count, one), prob))

    def step(i: Any, out: Any, accepted: Any, key: Any) -> Any:
        key, k1, k2 = split_single(key, 3)
        u, v = unit(k1, c.shape, c.dtype), unit(k2, c.shape, c.dtype)
        u = sub(u, half)
        us = sub(half, el.abs_p.bind(u))
        quick = both(ge(us, c(0.07)), le(v, v_r))
        k = el.floor_p.bind(add(mul(add(div(mul(c(2), a), us), b), u), centre))
        reject = either(lt(k, c(0)), gt(k, count))
        log = el.log_p.bind
        v = log(div(mul(v, alpha), add(div(a, mul(us, us)), b)))

        def rest(x: Any) -> Any:
            return add(sub(count, x), one)

        bound = add(
            mul(add(m, half), log(div(add(m, one), mul(r, rest(m))))),
            mul(add(count, one), log(div(rest(m), rest(k)))),
        )
        bound = add(bound, mul(add(k, half), log(div(mul(r, rest(k)), add(k, one)))))
        bound = add(add(bound, _stirling_tail(m, c)), _stirling_tail(sub(count, m), c))
        bound = sub(sub(bound, _stirling_tail(k, c)), _stirling_tail(sub(count, k), c))
        accept = either(quick, both(el.not_p.bind(reject), le(v, bound)))
        return add(i, np.int32(1)), c.where(accept, k, out), either(accepted, accept), key

    start = (np.int32(0), c.full(-1), c.falses(), key)
    out = lax.while_loop(lambda s: c.anywhere(el.not_p.bind(s[2])), lambda s: step(*s), start)
    return out[1]


def _binomial_of(key: Any, count: Any, prob: Any, shape: Any, dtype: Any) -> Any:
    """Binomial numbers for a traced key and parameters of `shape` and `dtype`."""
    c = _Floats(shape, dtype)
    below = lt(prob, c(0.5))
    q = c.where(below, prob, sub(c(1), prob))
    bad_count = either(el.ne_p.bind(count, count), lt(count, c(0)))
    infinite = el.eq_p.bind(el.abs_p.bind(count), c(np.inf))
    undefined, negative = el.ne_p.bind(q, q), lt(q, c(0))
    q = c.where(either(undefined, negative), 0.01, q)
    waits = either(bad_count, le(mul(count, q), c(10)))
    whole = el.floor_p.bind(count)
    few = _binomial_by_waiting(key, c.where(waits, whole, 0.0), q, c)
    many = _binomial_by_rejection(key, c.where(waits, 1e4, whole), c.where(waits, 0.5, q), c)
    out = c.where(waits, few, many)
    bad = either(either(negative, undefined), bad_count)
    out = c.where(bad, np.nan, out)
    out = c.where(both(infinite, el.not_p.bind(bad)), np.inf, out)
    as_is = either(either(either(below, bad_count), undefined), infinite)
    return c.where(as_is, out, sub(whole, out))


@sampler("shape", "dtype")
def _binomial(key: Any, n: Any, p: Any, *, shape: Any, dtype: Any) -> Any:
    n, p = [broadcast_to(parameter(v, dtype, len(shape)), shape) for v in (n, p)]
    return _binomial_of(key, n, p, shape, dtype)


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Binomial numbers: how many of n trials succeed, each with probability p.

    Args:
      key: a single key.
      n: number of trials; p: probability. They broadcast to `shape`. Values that make no sense give NaN.
      shape: of the result; None: that of the parameters.
      dtype: a floating type; None: the default float.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.binomial(xt.random.key(0), 10, 0.5, (2,)).shape
      (2,)
    """
    dtype = float_dtype("binomial", dtype)
    return _binomial("binomial", key, n, p, shape=common_shape("binomial", shape, n, p), dtype=dtype)


# -- multinomial -------------------------------------------------------------------------------------------------------


@sampler("shape", "dtype", "unroll")
def _multinomial(key: Any, n: Any, p: Any, *, shape: Any, dtype: Any, unroll: int) -> Any:
    from xtrace import numpy as xnp

    batch, kinds = shape[:-1], shape[-1]
    n = broadcast_to(parameter(n, dtype, len(batch)), batch)
    p = broadcast_to(parameter(p, dtype, len(shape)), shape)
    p = shapes.transpose(p, [len(batch), *range(len(batch))])
    left = lax.cumsum(p, axis=0, reverse=True)
    c = _Floats(shaped(left).shape, dtype)
    ratios = div(p, c.where(el.eq_p.bind(left, c(0)), 1.0, left))
    keys = random_bits.random_split(key, (kinds,))

    def step(remaining: Any, one: Any) -> Any:
        ratio, key = one
        drawn = _binomial_of(key, remaining, xnp.clip(ratio, 0, 1), batch, dtype)
        return sub(remaining, drawn), drawn

    _, counts = lax.scan(step, n, (ratios, keys), unroll=unroll)
    return shapes.transpose(counts, [*range(1, len(batch) + 1), 0])


def multinomial(key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: int = 1) -> Any:
    """Multinomial numbers: how often each of several outcomes comes in n trials.

    Args:
      key: a single key.
      n: number of trials, [...].
      p: [..., k], probability of each outcome.
      shape: of the batch; None: that of the parameters.
      dtype: a floating type; None: the default float.
      unroll: how many outcomes one step of the loop draws.

    Returns:
      [..., k], with sum n along the last axis.

    Raises:
      ValueError: `p` is a scalar, or the batches don't fit.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.random.multinomial(xt.random.key(0), 5, np.array([0.5, 0.5, 0.0], np.float32)).sum()
      Array(5., dtype=float32)
    """
    dtype = float_dtype("multinomial", dtype)
    own = shaped(p).shape
    if not own:
        raise ValueError("multinomial requires p.ndim >= 1, got p.ndim == 0")
    batch = broadcast_shapes("multinomial", shaped(n).shape, own[:-1])
    if shape is not None:
        shape = canonical_shape("multinomial", shape)
        if broadcast_shapes("multinomial", shape, batch) != shape:
            raise ValueError(f"multinomial: shape {shape} doesn't hold the parameters' batch shape {batch}")
        batch = shape
    return _multinomial("multinomial", key, n, p, shape=(*batch, own[-1]), dtype=dtype, unroll=unroll)
