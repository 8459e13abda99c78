"""Continuous distributions that are functions of uniform and normal numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import reductions, shapes
from xtrace.random.arguments import (
    broadcast_shapes,
    canonical_shape,
    common_shape,
    float_dtype,
    inexact_dtype,
    placed,
    sampler,
)
from xtrace.random.keys import split_single
from xtrace.random.uniform_floats import (
    between,
    broadcast_to,
    eps,
    exponential_of,
    gaussian,
    parameter,
    scalar,
    signs,
    symmetric,
    tiny,
    unit,
)

# -- uniform and normal ----------------------------------------------------------------------------------------------


@sampler("shape", "dtype")
def _unit(key: Any, *, shape: Any, dtype: Any) -> Any:
    return unit(key, shape, dtype)


@sampler("shape", "dtype")
def _uniform(key: Any, low: Any, high: Any, *, shape: Any, dtype: Any) -> Any:
    n = len(shape)
    return between(key, parameter(low, dtype, n), parameter(high, dtype, n), shape, dtype)


def uniform(
    key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0, *, out_sharding: Any = None
) -> Any:
    """Uniform floats in [minval, maxval).

    Args:
      key: a single key.
      shape: of the result.
      dtype: a floating type; None: the default float.
      minval, maxval: bounds, which broadcast to `shape`.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Raises:
      ValueError: the dtype isn't floating, or the bounds don't broadcast to `shape`.

    Example:
      >>> import xtrace as xt
      >>> xt.random.uniform(xt.random.key(42), (2,))
      Array([0.48870957, 0.6797972 ], dtype=float32)
    """
    shape = canonical_shape("uniform", shape)
    dtype = float_dtype("uniform", dtype)
    if type(minval) is float and type(maxval) is float and minval == 0 and maxval == 1:
        return placed(_unit("uniform", key, shape=shape, dtype=dtype), out_sharding)
    common_shape("uniform", shape, minval, maxval)
    return placed(_uniform("uniform", key, minval, maxval, shape=shape, dtype=dtype), out_sharding)


@sampler("shape", "dtype")
def _normal(key: Any, *, shape: Any, dtype: Any) -> Any:
    return gaussian(key, shape, dtype)


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Standard normal numbers. Complex ones have variance 1, one half of it in each part.

    Args:
      key: a single key.
      shape: of the result.
      dtype: a floating or complex type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Raises:
      ValueError: the dtype is neither floating nor complex.

    Example:
      >>> import xtrace as xt
      >>> xt.random.normal(xt.random.key(42), (2,))
      Array([-0.02830462,  0.46713185], dtype=float32)
    """
    dtype = inexact_dtype("normal", dtype)
    return placed(_normal("normal", key, shape=canonical_shape("normal", shape), dtype=dtype), out_sharding)


def truncated(key: Any, lower: Any, upper: Any, shape: Any, dtype: Any) -> Any:
    """Standard normal numbers in (lower, upper) for a traced key and bounds of `dtype`."""
    sqrt2 = scalar(np.sqrt(2), dtype)
    low, high = lax.erf(el.div_p.bind(lower, sqrt2)), lax.erf(el.div_p.bind(upper, sqrt2))
    out = el.mul_p.bind(sqrt2, lax.erf_inv(between(key, low, high, shape, dtype)))
    # Rounding must not reach the bounds.
    least = lax.nextafter(lax.stop_gradient(lower), scalar(np.inf, dtype))
    most = lax.nextafter(lax.stop_gradient(upper), scalar(-np.inf, dtype))
    return el.min_p.bind(most, el.max_p.bind(least, out))


@sampler("shape", "dtype")
def _truncated_normal(key: Any, lower: Any, upper: Any, *, shape: Any, dtype: Any) -> Any:
    n = len(shape)
    return truncated(key, parameter(lower, dtype, n), parameter(upper, dtype, n), shape, dtype)


def truncated_normal(
    key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Standard normal numbers in (lower, upper).

    Args:
      key: a single key.
      lower, upper: bounds, which broadcast to `shape`.
      shape: of the result; None: that of the bounds.
      dtype: a floating type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.truncated_normal(xt.random.key(0), -1.0, 1.0, (2, 3)).shape
      (2, 3)
    """
    dtype = float_dtype("truncated_normal", dtype)
    shape = common_shape("truncated_normal", shape, lower, upper)
    return placed(_truncated_normal("truncated_normal", key, lower, upper, shape=shape, dtype=dtype), out_sharding)


# -- one uniform number each, no parameters ----------------------------------------------------------------------------


def _exponential(key: Any, shape: Any, dtype: Any) -> Any:
    return exponential_of(unit(key, shape, dtype))


def _laplace(key: Any, shape: Any, dtype: Any) -> Any:
    u = symmetric(key, shape, dtype)
    return el.mul_p.bind(el.sign_p.bind(u), el.log1p_p.bind(el.neg_p.bind(el.abs_p.bind(u))))


def _logistic(key: Any, shape: Any, dtype: Any) -> Any:
    x = between(key, tiny(dtype), scalar(1, dtype), shape, dtype)
    return el.sub_p.bind(el.log_p.bind(x), el.log1p_p.bind(el.neg_p.bind(x)))


def _cauchy(key: Any, shape: Any, dtype: Any) -> Any:
    u = between(key, eps(dtype), scalar(1, dtype), shape, dtype)
    return el.tan_p.bind(el.mul_p.bind(scalar(np.pi, dtype), el.sub_p.bind(u, scalar(0.5, dtype))))


def _maxwell(key: Any, shape: Any, dtype: Any) -> Any:
    x = gaussian(key, (*shape, 3), dtype)
    # Narrow floats are summed in float32.
    squares = shapes.convert_element_type(el.mul_p.bind(x, x), dtypes.float32 if dtype.itemsize < 4 else dtype)
    total = reductions.reduce_sum(squares, (len(shape),))
    return el.sqrt_p.bind(shapes.convert_element_type(total, dtype))


def _parameterless(name: str, fun: Callable[..., Any], doc: str) -> Callable[..., Any]:
    @sampler("shape", "dtype")
    def program(key: Any, *, shape: Any, dtype: Any) -> Any:
        return fun(key, shape, dtype)

    program.__name__ = name

    def distribution(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
        dtype = float_dtype(name, dtype)
        return placed(program(name, key, shape=canonical_shape(name, shape), dtype=dtype), out_sharding)

    distribution.__name__ = distribution.__qualname__ = name
    distribution.__module__ = "xtrace.random"
    distribution.__doc__ = f"""{doc}

    Args:
      key: a single key.
      shape: of the result.
      dtype: a floating type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Raises:
      ValueError: the dtype isn't floating.

    Example:
      >>> import xtrace as xt
      >>> xt.random.{name}(xt.random.key(0), (2, 3)).shape
      (2, 3)
    """
    return distribution


exponential = _parameterless("exponential", _exponential, "Exponential numbers with rate 1: density exp(-x), x >= 0.")
laplace = _parameterless("laplace", _laplace, "Standard Laplace numbers: density exp(-|x|) / 2.")
logistic = _parameterless("logistic", _logistic, "Standard logistic numbers: density exp(-x) / (1 + exp(-x))**2.")
cauchy = _parameterless("cauchy", _cauchy, "Standard Cauchy numbers: density 1 / (pi (1 + x**2)).")
maxwell = _parameterless(
    "maxwell", _maxwell, "Maxwell numbers: the length of a vector of three standard normal numbers."
)


def gumbel_of(key: Any, shape: Any, dtype: Any, mode: str) -> Any:
    """Standard Gumbel numbers for a traced key."""
    if mode == "low":
        u = between(key, tiny(dtype), scalar(1, dtype), shape, dtype)
        return el.neg_p.bind(el.log_p.bind(el.neg_p.bind(el.log_p.bind(u))))
    # Two numbers give the small values the digits that one has near 1 only.
    high, low = lax.unstack(unit(key, (2, *shape), dtype))
    step = eps(dtype)
    fine = el.add_p.bind(el.add_p.bind(high, el.mul_p.bind(step, low)), scalar(float(step) ** 2 / 2, dtype))
    u = lax.select_n(el.ge_p.bind(high, scalar(0.5, dtype)), fine, high)
    return el.neg_p.bind(el.log_p.bind(el.neg_p.bind(el.log1p_p.bind(el.neg_p.bind(u)))))


@sampler("shape", "dtype", "mode")
def _gumbel(key: Any, *, shape: Any, dtype: Any, mode: str) -> Any:
    return gumbel_of(key, shape, dtype, mode)


def gumbel_mode(mode: str | None) -> str:
    """ "low" or "high"; None is the default, "low". Raises ValueError."""
    if mode not in ("low", "high", None):
        raise ValueError(f"Must provide valid mode for gumbel, 'low' or 'high'; got: {mode}")
    return mode or "low"


def gumbel(key: Any, shape: Any = (), dtype: Any = None, mode: str | None = None, *, out_sharding: Any = None) -> Any:
    """Standard Gumbel numbers: density exp(-(x + exp(-x))).

    Args:
      key: a single key.
      shape: of the result.
      dtype: a floating type; None: the default float.
      mode: "high" uses twice the bits, so that large values keep all their digits; None: "low".
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.gumbel(xt.random.key(0), (2, 3)).shape
      (2, 3)
    """
    dtype, mode = float_dtype("gumbel", dtype), gumbel_mode(mode)
    return placed(_gumbel("gumbel", key, shape=canonical_shape("gumbel", shape), dtype=dtype, mode=mode), out_sharding)


# -- with parameters -------------------------------------------------------------------------------------------------


@sampler("shape", "dtype")
def _lognormal(key: Any, sigma: Any, *, shape: Any, dtype: Any) -> Any:
    x = gaussian(key, shape, dtype)
    return el.exp_p.bind(el.mul_p.bind(x, parameter(sigma, dtype, len(shape))))


#: The default sigma.
_ONE = np.float32(1)


def lognormal(key: Any, sigma: Any = _ONE, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """exp(sigma * x) of standard normal numbers x.

    Args:
      key: a single key.
      sigma: standard deviation of the logarithm; broadcasts to `shape`.
      shape: of the result; None: that of `sigma`.
      dtype: a floating type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.lognormal(xt.random.key(0), 1.0, (2, 3)).shape
      (2, 3)
    """
    dtype = inexact_dtype("lognormal", dtype)
    shape = common_shape("lognormal", shape, sigma)
    return placed(_lognormal("lognormal", key, sigma, shape=shape, dtype=dtype), out_sharding)


@sampler("shape", "dtype")
def _pareto(key: Any, b: Any, *, shape: Any, dtype: Any) -> Any:
    return el.exp_p.bind(el.div_p.bind(_exponential(key, shape, dtype), parameter(b, dtype, len(shape))))


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Pareto numbers: density b / x**(b + 1), x >= 1.

    Args:
      key: a single key.
      b: shape of the distribution; broadcasts to `shape`.
      shape: of the result; None: that of `b`.
      dtype: a floating type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.pareto(xt.random.key(0), 2.0, (2, 3)).shape
      (2, 3)
    """
    dtype = float_dtype("pareto", dtype)
    return placed(_pareto("pareto", key, b, shape=common_shape("pareto", shape, b), dtype=dtype), out_sharding)


@sampler("shape", "dtype")
def _rayleigh(key: Any, scale: Any, *, shape: Any, dtype: Any) -> Any:
    u = unit(key, shape, dtype)
    return el.mul_p.bind(
        parameter(scale, dtype, len(shape)), el.sqrt_p.bind(el.mul_p.bind(el.log_p.bind(u), scalar(-2, dtype)))
    )


def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Rayleigh numbers: density x / scale**2 * exp(-(x / scale)**2 / 2), x >= 0.

    Args:
      key: a single key.
      scale: broadcasts to `shape`.
      shape: of the result; None: that of `scale`.
      dtype: a floating type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.rayleigh(xt.random.key(0), 1.0, (2, 3)).shape
      (2, 3)
    """
    dtype = float_dtype("rayleigh", dtype)
    shape = common_shape("rayleigh", shape, scale)
    return placed(_rayleigh("rayleigh", key, scale, shape=shape, dtype=dtype), out_sharding)


@sampler("shape", "dtype")
def _weibull_min(key: Any, scale: Any, concentration: Any, *, shape: Any, dtype: Any) -> Any:
    n = max(len(shape), shaped(scale).ndim, shaped(concentration).ndim)
    power = el.div_p.bind(scalar(1, dtype), parameter(concentration, dtype, n))
    return el.mul_p.bind(lax.pow(_exponential(key, shape, dtype), power), parameter(scale, dtype, n))


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Weibull numbers: density c / scale * (x / scale)**(c - 1) * exp(-(x / scale)**c), c the concentration, x >= 0.

    Args:
      key: a single key.
      scale, concentration: they broadcast with `shape`.
      shape: of the numbers drawn; the parameters then transform them, broadcasting.
      dtype: a floating type; None: the default float.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.weibull_min(xt.random.key(0), 1.0, 2.0, (2, 3)).shape
      (2, 3)
    """
    dtype = float_dtype("weibull_min", dtype)
    shape = canonical_shape("weibull_min", shape)
    rank = len(broadcast_shapes("weibull_min", shape, *[shaped(p).shape for p in (scale, concentration)]))
    shape = (1,) * (rank - len(shape)) + shape if shape else shape
    return _weibull_min("weibull_min", key, scale, concentration, shape=shape, dtype=dtype)


@sampler("shape", "dtype")
def _wald(key: Any, mean: Any, *, shape: Any, dtype: Any) -> Any:
    k1, k2 = split_single(key)
    mean = broadcast_to(parameter(mean, dtype, len(shape)), shape)
    v, z = gaussian(k1, shape, dtype), unit(k2, shape, dtype)
    two = scalar(2, dtype)
    y = lax.integer_pow(v, 2)
    y2, mean2 = lax.integer_pow(y, 2), lax.integer_pow(mean, 2)
    root = el.sqrt_p.bind(
        el.add_p.bind(el.mul_p.bind(el.mul_p.bind(scalar(4, dtype), mean), y), el.mul_p.bind(mean2, y2))
    )
    x = el.sub_p.bind(
        el.add_p.bind(mean, el.div_p.bind(el.mul_p.bind(mean2, y), two)), el.mul_p.bind(el.div_p.bind(mean, two), root)
    )
    first = el.le_p.bind(z, el.div_p.bind(mean, el.add_p.bind(mean, x)))
    return lax.select_n(first, el.div_p.bind(mean2, x), x)


def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Wald (inverse Gaussian) numbers with scale 1: density (2 pi x**3)**-0.5 * exp(-(x - mean)**2 / (2 mean**2 x)).

    Args:
      key: a single key.
      mean: broadcasts to `shape`.
      shape: of the result; None: that of `mean`.
      dtype: a floating type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.wald(xt.random.key(0), 2.0, (2, 3)).shape
      (2, 3)
    """
    dtype = float_dtype("wald", dtype)
    return placed(_wald("wald", key, mean, shape=common_shape("wald", shape, mean), dtype=dtype), out_sharding)


@sampler("shape", "dtype")
def _triangular(key: Any, left: Any, mode: Any, right: Any, *, shape: Any, dtype: Any) -> Any:
    n = len(shape)
    sub, mul = el.sub_p.bind, el.mul_p.bind
    left, mode, right = [parameter(p, dtype, n) for p in (left, mode, right)]
    u = unit(key, shape, dtype)
    border = el.div_p.bind(sub(mode, left), sub(right, left))
    below = el.add_p.bind(left, el.sqrt_p.bind(mul(mul(u, sub(right, left)), sub(mode, left))))
    above = sub(right, el.sqrt_p.bind(mul(mul(sub(scalar(1, dtype), u), sub(right, left)), sub(right, mode))))
    return lax.select_n(el.lt_p.bind(u, border), above, below)


def triangular(
    key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers in (left, right) whose density rises linearly to `mode` and falls linearly after it.

    Args:
      key: a single key.
      left, mode, right: broadcast to `shape`.
      shape: of the result; None: that of the parameters.
      dtype: a floating type; None: the default float.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.triangular(xt.random.key(0), 0.0, 1.0, 2.0, (2, 3)).shape
      (2, 3)
    """
    dtype = float_dtype("triangular", dtype)
    shape = common_shape("triangular", shape, left, mode, right)
    return placed(_triangular("triangular", key, left, mode, right, shape=shape, dtype=dtype), out_sharding)


@sampler("shape", "dtype")
def _double_sided_maxwell(key: Any, loc: Any, scale: Any, *, shape: Any, dtype: Any) -> Any:
    k1, k2 = split_single(key)
    out = el.mul_p.bind(signs(k2, shape, dtype), _maxwell(k1, shape, dtype))
    n = len(shape)
    return el.add_p.bind(el.mul_p.bind(out, parameter(scale, dtype, n)), parameter(loc, dtype, n))


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """loc + scale * x of Maxwell numbers x with random signs.

    Args:
      key: a single key.
      loc, scale: location and scale; they broadcast.
      shape: of the samples for each element of the parameters: the result has shape + the parameters' shape.
      dtype: a floating type; None: the default float.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.double_sided_maxwell(xt.random.key(0), 0.0, 1.0, (2, 3)).shape
      (2, 3)
    """
    dtype = float_dtype("double_sided_maxwell", dtype)
    own = common_shape("double_sided_maxwell", None, loc, scale)
    shape = (canonical_shape("double_sided_maxwell", shape) or own) + own
    return _double_sided_maxwell("double_sided_maxwell", key, loc, scale, shape=shape, dtype=dtype)
