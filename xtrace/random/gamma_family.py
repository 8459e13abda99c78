"""The gamma distribution, and those made of it."""

from __future__ import annotations

from typing import Any

from xtrace import lax
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import elementwise as el
from xtrace.lax import random_bits, reductions, shapes
from xtrace.random.arguments import broadcast_shapes, canonical_shape, common_shape, float_dtype, placed, sampler
from xtrace.random.keys import split_single
from xtrace.random.uniform_floats import broadcast_to, exponential_of, gaussian, parameter, scalar, signs, tiny, unit
from xtrace.transforms.batching import MappedAxis, move_axis

add, sub, mul, div = el.add_p.bind, el.sub_p.bind, el.mul_p.bind, el.div_p.bind

# -- the primitive: keys and shape parameters to samples ---------------------------------------------------------------


def _gamma_aval(keys: ShapedArray, a: ShapedArray, *, log_space: bool) -> ShapedArray:
    if a.shape[: keys.ndim] != keys.shape:
        raise TypeError(f"random_gamma needs one key for each leading index of its parameters, got {keys}, {a}")
    return a.strong()


random_gamma_p = Primitive("random_gamma", _gamma_aval)


def _gamma_batch(axis: MappedAxis, args: Any, dims: Any, *, log_space: bool) -> Any:
    keys, a = [move_axis(x, d, 0, axis.size) for x, d in zip(args, dims, strict=True)]
    return random_gamma_p.bind(keys, a, log_space=log_space), 0


random_gamma_p.batch = _gamma_batch


def _gamma_tangent(t: Any, out: Any, keys: Any, a: Any, *, log_space: bool) -> Any:
    """The derivative of a sample at a fixed quantile."""
    if not log_space:
        return mul(t, lax.random_gamma_grad(a, out))
    # Samples so small that their exponential vanishes have the quantile x**a / Gamma(a + 1).
    dtype = shaped(out).dtype
    sample = el.exp_p.bind(out)
    vanished = el.lt_p.bind(sample, lax.full_like(sample, tiny(dtype)))
    kept = lax.select_n(vanished, sample, lax.full_like(sample, 1))
    slope = div(lax.random_gamma_grad(a, kept), kept)
    small = div(sub(lax.digamma(add(a, scalar(1, dtype))), out), a)
    return mul(t, lax.select_n(vanished, slope, small))


random_gamma_p.jvps = (None, _gamma_tangent)


def _draw(keys: Any, a: Any, log_space: bool) -> Any:
    """One sample for each key and parameter, by rejection; parameters below 1 are raised by 1 first.

    Source: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
    """
    shape, dtype = shaped(a).shape, shaped(a).dtype
    one, third, half = scalar(1, dtype), scalar(1 / 3, dtype), scalar(0.5, dtype)
    last = len(shape)
    large = el.ge_p.bind(a, one)
    d = sub(lax.select_n(large, add(a, one), a), third)
    c = div(third, el.sqrt_p.bind(d))

    def children(keys: Any, n: int) -> list[Any]:
        return lax.unstack(random_bits.random_split(keys, (n,)), last)

    def filled(value: float) -> Any:
        return shapes.broadcast_in_dim(scalar(value, dtype), shape, ())

    def anywhere(mask: Any) -> Any:
        return reductions.reduce_or(mask, tuple(range(last)))

    def rejected(x2: Any, v: Any, u: Any) -> Any:
        quickly = el.ge_p.bind(u, sub(one, mul(scalar(0.0331, dtype), mul(x2, x2))))
        bound = add(mul(x2, half), mul(d, add(sub(one, v), el.log_p.bind(v))))
        return el.and_p.bind(quickly, el.ge_p.bind(el.log_p.bind(u), bound))

    def draw_normal(state: Any) -> Any:
        keys, x, v = state
        again = el.le_p.bind(v, scalar(0, dtype))
        rest, key = children(keys, 2)
        new = gaussian(key, (), dtype)
        fresh = (rest, new, add(one, mul(new, c)))
        return tuple([lax.select_n(again, old, made) for old, made in zip(state, fresh, strict=True)])

    def attempt(state: Any) -> Any:
        keys, x2, v, u = state
        again = rejected(x2, v, u)
        rest, normal_key, uniform_key = children(keys, 3)
        _, x, w = lax.while_loop(
            lambda s: anywhere(el.le_p.bind(s[2], scalar(0, dtype))),
            draw_normal,
            (normal_key, filled(0), filled(-1)),
        )
        fresh = (rest, mul(x, x), mul(mul(w, w), w), unit(uniform_key, (), dtype))
        return tuple([lax.select_n(again, old, made) for old, made in zip(state, fresh, strict=True)])

    keys, boost_key = children(keys, 2)
    start = (keys, filled(0), filled(1), filled(2))
    _, _, v, _ = lax.while_loop(lambda s: anywhere(rejected(*s[1:])), attempt, start)
    if log_space:
        log_u = el.neg_p.bind(exponential_of(unit(boost_key, (), dtype)))
        nothing = el.or_p.bind(large, el.eq_p.bind(log_u, scalar(0, dtype)))
        boost = lax.select_n(nothing, mul(log_u, div(one, a)), filled(0))
        return add(add(el.log_p.bind(d), el.log_p.bind(v)), boost)
    u = sub(one, unit(boost_key, (), dtype))
    boost = lax.select_n(large, lax.pow(u, div(one, a)), filled(1))
    return mul(mul(d, v), boost)


def _lower_gamma(ctx: Any, eqn: Any, words: Any, a: Any) -> Any:
    keys_aval, a_aval = [v.aval for v in eqn.invars]
    a_aval = a_aval.strong()

    log_space = eqn.params["log_space"]

    def fun(keys: Any, a: Any) -> Any:
        keys = random_bits.random_split(keys, a_aval.shape[keys_aval.ndim :])
        if keys_aval.dtype.impl is random_bits.threefry2x32:
            return _draw(keys, a, log_space)
        # Other generators use one state for all keys of an array, so the samples are drawn one after another.
        flat = [shapes.reshape(x, (a_aval.size,)) for x in (keys, a)]
        return shapes.reshape(lax.map(lambda pair: _draw(*pair, log_space), tuple(flat)), a_aval.shape)

    return ctx.inline(fun, [keys_aval, a_aval], words, a)[0]


random_gamma_p.lower = _lower_gamma
random_gamma_p.takes_extended = True

# -- gamma itself ------------------------------------------------------------------------------------------------------


def _check_method(name: str, method: str) -> None:
    if method not in ("exact", "approximate"):
        raise ValueError(f"method argument to `{name}` must be one of {{'exact', 'approximate'}}, got {method!r}")


#: Coefficients of the cube root of a gamma number over a: a polynomial in z of degree 6, each coefficient one in
#: 1 / (2 a). The three lines are the terms of that: constant, linear, quadratic.
_CUBE_ROOT = tuple(
    zip(
        (1.0, 0.4713941, 0.0001348028, -0.008553069, 0.00312558, -0.0008426812, 9.780499e-05),
        (-0.2237368, 0.02607083, 0.01128186, -0.01153761, 0.005169654, 0.00253001, -0.001450117),
        (-0.01513904, -0.008986007, 0.02277679, -0.01323293, -0.006950356, 0.001060438, 0.001565326),
        strict=True,
    )
)


def _approximate_log(key: Any, a: Any) -> Any:
    """Logarithms of gamma numbers without rejection: a quantile expansion at a + 4, taken back by four divisions.

    Source: Goldstein's expansion of quantiles of the chi-squared distribution, CACM algorithm 451, 1973.
    """
    shape, dtype = shaped(a).shape, shaped(a).dtype
    normal_key, uniform_key = split_single(key)
    raised = add(a, scalar(4, dtype))
    degrees = mul(scalar(2, dtype), raised)
    z = gaussian(normal_key, shape, dtype)
    inverse = div(scalar(1, dtype), degrees)
    x = mul(z, el.rsqrt_p.bind(degrees))
    coefficients = [lax.polynomial(inverse, row) for row in _CUBE_ROOT]
    root = el.max_p.bind(lax.polynomial(x, coefficients), tiny(dtype))
    out = add(el.log_p.bind(raised), mul(scalar(3, dtype), el.log_p.bind(root)))
    steps = (4,) + (1,) * len(shape)
    steps_of = shapes.reshape(lax.iota(dtype, 4), steps)
    logs = el.neg_p.bind(exponential_of(unit(uniform_key, (4, *shape), dtype)))
    logs = div(logs, add(shapes.expand_dims(a, (0,)), steps_of))
    return add(out, reductions.reduce_sum(logs, (0,)))


def gamma_of(key: Any, a: Any, shape: Any, dtype: Any, *, log_space: bool, method: str = "exact") -> Any:
    """Gamma numbers, or their logarithms, for a traced key."""
    a = broadcast_to(parameter(a, dtype, len(shape)), shape)
    if method == "exact":
        return random_gamma_p.bind(key, a, log_space=log_space)
    out = _approximate_log(key, a)
    return out if log_space else el.exp_p.bind(out)


@sampler("shape", "dtype", "log_space", "method")
def _gamma(key: Any, a: Any, *, shape: Any, dtype: Any, log_space: bool, method: str) -> Any:
    return gamma_of(key, a, shape, dtype, log_space=log_space, method=method)


def gamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact", out_sharding: Any = None
) -> Any:
    """Gamma numbers of scale 1: density x**(a - 1) exp(-x) / Gamma(a), x > 0.

    Args:
      key: a single key.
      a: shape of the distribution; broadcasts to `shape`.
      shape: of the result; None: that of `a`.
      dtype: a floating type; None: the default float.
      method: "exact", by rejection, or "approximate", without loops.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.gamma(xt.random.key(0), 2.0, (2, 3)).shape
      (2, 3)
    """
    _check_method("gamma", method)
    dtype = float_dtype("gamma", dtype)
    shape = common_shape("gamma", shape, a)
    return placed(_gamma("gamma", key, a, shape=shape, dtype=dtype, log_space=False, method=method), out_sharding)


def loggamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact", out_sharding: Any = None
) -> Any:
    """Logarithms of gamma numbers, which keep their digits where `a` is small.

    Args:
      key: a single key.
      a: shape of the distribution; broadcasts to `shape`.
      shape: of the result; None: that of `a`.
      dtype: a floating type; None: the default float.
      method: "exact", by rejection, or "approximate", without loops.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.loggamma(xt.random.key(0), 2.0, (2, 3)).shape
      (2, 3)
    """
    _check_method("loggamma", method)
    dtype = float_dtype("loggamma", dtype)
    shape = common_shape("loggamma", shape, a)
    return placed(_gamma("loggamma", key, a, shape=shape, dtype=dtype, log_space=True, method=method), out_sharding)


# -- made of gamma -----------------------------------------------------------------------------------------------------


@sampler("shape", "dtype", "method")
def _beta(key: Any, a: Any, b: Any, *, shape: Any, dtype: Any, method: str) -> Any:
    k1, k2 = split_single(key)
    x = gamma_of(k1, a, shape, dtype, log_space=True, method=method)
    y = gamma_of(k2, b, shape, dtype, log_space=True, method=method)
    top = el.max_p.bind(x, y)
    x, y = el.exp_p.bind(sub(x, top)), el.exp_p.bind(sub(y, top))
    return div(x, add(x, y))


def beta(
    key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact", out_sharding: Any = None
) -> Any:
    """Beta numbers: density proportional to x**(a - 1) (1 - x)**(b - 1), 0 < x < 1.

    Args:
      key: a single key.
      a, b: shape parameters, which broadcast to `shape`.
      shape: of the result; None: that of the parameters.
      dtype: a floating type; None: the default float.
      method: of `gamma`.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.beta(xt.random.key(0), 2.0, 3.0, (2, 3)).shape
      (2, 3)
    """
    _check_method("beta", method)
    dtype = float_dtype("beta", dtype)
    return placed(
        _beta("beta", key, a, b, shape=common_shape("beta", shape, a, b), dtype=dtype, method=method), out_sharding
    )


@sampler("shape", "dtype")
def _dirichlet(key: Any, alpha: Any, *, shape: Any, dtype: Any) -> Any:
    from xtrace import nn

    return nn.softmax(gamma_of(key, alpha, shape, dtype, log_space=True), axis=-1)


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Dirichlet vectors: positive, with sum 1, density proportional to the product of x_i**(alpha_i - 1).

    Args:
      key: a single key.
      alpha: [..., n], concentrations.
      shape: of the batch, which the batch of `alpha` broadcasts to; None: that batch.
      dtype: a floating type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      shape + (n,).

    Raises:
      ValueError: `alpha` is a scalar, or its batch doesn't broadcast.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.random.dirichlet(xt.random.key(0), np.ones(3, np.float32), (2,)).shape
      (2, 3)
    """
    own = shaped(alpha).shape
    if not own:
        raise ValueError("dirichlet requires alpha.ndim >= 1, got alpha.ndim == 0")
    dtype = float_dtype("dirichlet", dtype)
    if shape is None:
        batch = own[:-1]
    else:
        batch = canonical_shape("dirichlet", shape)
        if broadcast_shapes("dirichlet", batch, own[:-1]) != batch:
            raise ValueError(f"dirichlet: shape {batch} doesn't hold alpha's batch shape {own[:-1]}")
    return placed(_dirichlet("dirichlet", key, alpha, shape=(*batch, own[-1]), dtype=dtype), out_sharding)


@sampler("shape", "dtype", "method")
def _chisquare(key: Any, df: Any, *, shape: Any, dtype: Any, method: str) -> Any:
    return _chisquare_of(key, parameter(df, dtype, len(shape)), shape, dtype, method)


def _chisquare_of(key: Any, df: Any, shape: Any, dtype: Any, method: str = "exact") -> Any:
    two = scalar(2, dtype)
    return mul(el.exp_p.bind(gamma_of(key, div(df, two), shape, dtype, log_space=True, method=method)), two)


def chisquare(
    key: Any, df: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact", out_sharding: Any = None
) -> Any:
    """Chi-squared numbers: sums of squares of `df` standard normal numbers.

    Args:
      key: a single key.
      df: degrees of freedom; broadcasts to `shape`.
      shape: of the result; None: that of `df`.
      dtype: a floating type; None: the default float.
      method: of `gamma`.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.chisquare(xt.random.key(0), 4, (2, 3)).shape
      (2, 3)
    """
    _check_method("chisquare", method)
    dtype = float_dtype("chisquare", dtype)
    shape = common_shape("chisquare", shape, df)
    return placed(_chisquare("chisquare", key, df, shape=shape, dtype=dtype, method=method), out_sharding)


@sampler("shape", "dtype")
def _t(key: Any, df: Any, *, shape: Any, dtype: Any) -> Any:
    k1, k2 = split_single(key)
    half = div(parameter(df, dtype, len(shape)), scalar(2, dtype))
    scale = el.sqrt_p.bind(div(half, gamma_of(k2, half, shape, dtype, log_space=False)))
    return mul(gaussian(k1, shape, dtype), scale)


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Student's t numbers: density proportional to (1 + x**2 / df)**(-(df + 1) / 2).

    Args:
      key: a single key.
      df: degrees of freedom; broadcasts to `shape`.
      shape: of the result; None: that of `df`.
      dtype: a floating type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.t(xt.random.key(0), 3.0, (2, 3)).shape
      (2, 3)
    """
    dtype = float_dtype("t", dtype)
    return placed(_t("t", key, df, shape=common_shape("t", shape, df), dtype=dtype), out_sharding)


@sampler("shape", "dtype")
def _f(key: Any, dfnum: Any, dfden: Any, *, shape: Any, dtype: Any) -> Any:
    k_den, k_num = split_single(key)
    dfnum, dfden = [parameter(p, dtype, len(shape)) for p in (dfnum, dfden)]
    num = div(_chisquare_of(k_num, dfnum, shape, dtype), dfnum)
    den = div(_chisquare_of(k_den, dfden, shape, dtype), dfden)
    return div(num, den)


def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """F numbers: ratios of two chi-squared numbers, each over its degrees of freedom.

    Args:
      key: a single key.
      dfnum, dfden: degrees of freedom of numerator and denominator; they broadcast to `shape`.
      shape: of the result; None: that of the parameters.
      dtype: a floating type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.f(xt.random.key(0), 2.0, 3.0, (2, 3)).shape
      (2, 3)
    """
    dtype = float_dtype("f", dtype)
    return placed(_f("f", key, dfnum, dfden, shape=common_shape("f", shape, dfnum, dfden), dtype=dtype), out_sharding)


def _generalized_normal_of(key: Any, p: Any, shape: Any, dtype: Any) -> Any:
    k1, k2 = lax.unstack(random_bits.random_split(key, (2,)))
    power = div(scalar(1, dtype), parameter(p, dtype, 0))
    x = gamma_of(k1, power, shape, dtype, log_space=False)
    return mul(signs(k2, shape, dtype), lax.pow(x, power))


@sampler("shape", "dtype")
def _generalized_normal(key: Any, p: Any, *, shape: Any, dtype: Any) -> Any:
    return _generalized_normal_of(key, p, shape, dtype)


def generalized_normal(key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers with density proportional to exp(-|x|**p).

    Args:
      key: a single key.
      p: the exponent, a scalar.
      shape: of the result.
      dtype: a floating type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.generalized_normal(xt.random.key(0), 3.0, (2, 3)).shape
      (2, 3)
    """
    dtype = float_dtype("generalized_normal", dtype)
    shape = canonical_shape("generalized_normal", shape)
    return placed(_generalized_normal("generalized_normal", key, p, shape=shape, dtype=dtype), out_sharding)


@sampler("shape", "dtype")
def _ball(key: Any, p: Any, *, shape: Any, dtype: Any) -> Any:
    k1, k2 = split_single(key)
    g = _generalized_normal_of(k1, p, shape, dtype)
    e = exponential_of(unit(k2, shape[:-1], dtype))
    exponent = parameter(p, dtype, 0)
    total = reductions.reduce_sum(lax.pow(el.abs_p.bind(g), exponent), (len(shape) - 1,))
    norm = lax.pow(add(total, e), div(scalar(1, dtype), exponent))
    return div(g, shapes.expand_dims(norm, (len(shape) - 1,)))


def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Uniform points of the unit ball of the p-norm in d dimensions.

    Args:
      key: a single key.
      d: number of dimensions.
      p: of the norm, a scalar.
      shape: of the batch.
      dtype: a floating type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      shape + (d,).

    Source: Barthe et al., "A probabilistic approach to the geometry of the l_p^n-ball", 2005.

    Example:
      >>> import xtrace as xt
      >>> xt.random.ball(xt.random.key(0), 2, shape=(3,)).shape
      (3, 2)
    """
    dtype = float_dtype("ball", dtype)
    shape = (*canonical_shape("ball", shape), *canonical_shape("ball", d))
    return placed(_ball("ball", key, p, shape=shape, dtype=dtype), out_sharding)
