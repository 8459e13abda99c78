"""Normalisation along axes: softmax and its logarithm, log-sum-exp, standardisation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes
from xtrace.core.axes import axes_size, split_axes
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import shapes
from xtrace.nn.custom_rule import with_derivative
from xtrace.nn.operands import axes_of, filled, greatest, inexact, keep_dims, like, masked, strong_inexact, total
from xtrace.numpy.promotion import promote

add, sub, mul, div = el.add_p.bind, el.sub_p.bind, el.mul_p.bind, el.div_p.bind


def _shifted(x: Any, where: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """(x minus its maximum over `axes`, exp of that with 0 where the mask doesn't hold)."""
    x = masked(where, x, -math.inf)
    top = lax.stop_gradient_p.bind(greatest(x, axes, keepdims=True))
    difference = sub(x, top)
    return difference, el.exp_p.bind(difference)


@composite(static_argnames=("axis",))
def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """exp(x) divided by its sum over `axis`.

    Args:
      x: an array.
      axis: an axis, several, or None for all. Names of mapped axes may be among them.
      where: booleans that broadcast to `x`: elements to take into account. The others are 0 in the result.

    Returns:
      An array of the shape of `x`.

    Raises:
      ValueError: there is no such axis.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.softmax(np.zeros(4, np.float32))
      Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    x = inexact("softmax", x)
    axes = axes_of("softmax", axis, shaped(x).ndim)
    _, unnormalized = _shifted(x, where, axes)
    out = div(unnormalized, total(masked(where, unnormalized, 0), axes, keepdims=True))
    return masked(where, out, 0)


@composite(static_argnames=("axis",))
def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """The logarithm of `softmax`: x minus its log-sum-exp over `axis`.

    Args:
      x: an array.
      axis: an axis, several, or None for all. Names of mapped axes may be among them.
      where: booleans that broadcast to `x`: elements to take into account. The others are -inf in the result.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.log_softmax(np.array([0.0, 100.0], np.float32))
      Array([-100.,    0.], dtype=float32)
    """
    x = inexact("log_softmax", x)
    axes = axes_of("log_softmax", axis, shaped(x).ndim)
    difference, exponentials = _shifted(x, where, axes)
    norm = el.log_p.bind(total(masked(where, exponentials, 0), axes, keepdims=True))
    return masked(where, sub(difference, norm), -math.inf)


def _logsumexp(a: Any, axis: Any, b: Any, keepdims: bool, where: Any, return_sign: bool = False) -> Any:
    if b is None:
        a = strong_inexact("logsumexp", a)
    else:
        a, b = [strong_inexact("logsumexp", v) for v in promote("logsumexp", (a, b), "inexact")]
        shape = np.broadcast_shapes(shaped(a).shape, shaped(b).shape)
        a, b = [shapes.broadcast_in_dim(v, shape, range(len(shape) - shaped(v).ndim, len(shape))) for v in (a, b)]
        # What b makes 0 must not decide the shift.
        a = masked(el.ne_p.bind(b, like(b, 0)), a, -math.inf)
    if dtypes.is_complex(shaped(a).dtype):
        return _complex_logsumexp(a, axis, b, keepdims, where, return_sign)
    axes = axes_of("logsumexp", axis, shaped(a).ndim)
    shape = shaped(a).shape
    a = masked(where, a, 0)
    top = greatest(masked(where, a, -math.inf), axes)
    top = lax.select_n(el.is_finite_p.bind(top), filled(top, 0), top)
    top = lax.stop_gradient_p.bind(top)
    out = el.exp_p.bind(sub(a, keep_dims(top, shape, axes)))
    if b is not None:
        out = mul(out, b)
    return _finish(masked(where, out, 0), top, shape, axes, keepdims, b, return_sign)


def _finish(terms: Any, top: Any, shape: Any, axes: Any, keepdims: bool, b: Any, return_sign: bool) -> Any:
    summed = total(terms, axes)
    sign = el.sign_p.bind(summed)
    if return_sign or b is None:
        magnitude = el.abs_p.bind(summed)
    else:  # the logarithm of a negative sum is NaN
        magnitude = summed
    if b is None:
        # Of nothing, or minus infinities alone, the result is constant; unguarded, its derivative would be 1/0 * 0.
        nothing = el.eq_p.bind(magnitude, like(magnitude, 0))
        logarithm = el.log_p.bind(lax.select_n_p.bind(nothing, magnitude, filled(magnitude, 1)))
        logarithm = lax.select_n_p.bind(nothing, logarithm, filled(logarithm, -math.inf))
    else:
        logarithm = el.log_p.bind(magnitude)
    out = add(logarithm, top)
    if keepdims:
        out, sign = keep_dims(out, shape, axes), keep_dims(sign, shape, axes)
    return (out, sign) if return_sign else out


def _complex_logsumexp(a: Any, axis: Any, b: Any, keepdims: bool, where: Any, return_sign: bool) -> Any:
    """The shift is that of the real parts."""
    axes = axes_of("logsumexp", axis, shaped(a).ndim)
    shape, dtype = shaped(a).shape, shaped(a).dtype
    a = masked(where, a, 0)
    top = greatest(masked(where, el.real_p.bind(a), -math.inf), axes)
    top = lax.stop_gradient_p.bind(lax.select_n(el.is_finite_p.bind(top), filled(top, 0), top))
    wide = shapes.convert_element_type(keep_dims(top, shape, axes), dtype)
    out = el.exp_p.bind(sub(a, wide))
    if b is not None:
        out = mul(out, b)
    summed = total(masked(where, out, 0), axes)
    if return_sign:
        sign = el.sign_p.bind(summed)
        result = add(el.log_p.bind(el.abs_p.bind(summed)), top)
    else:
        sign = summed
        result = add(el.log_p.bind(summed), shapes.convert_element_type(top, dtype))
    if keepdims:
        result, sign = keep_dims(result, shape, axes), keep_dims(sign, shape, axes)
    return (result, sign) if return_sign else result


@composite(static_argnames=("axis", "keepdims", "return_sign"))
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False, where: Any = None
) -> Any:
    """log(sum(b * exp(a))) over axes, which doesn't overflow.

    Args:
      a: an array.
      axis: an axis, several, or None for all. Names of mapped axes may be among them.
      b: factors that broadcast with `a`; None: 1.
      keepdims: whether the reduced axes stay, with size 1.
      return_sign: whether to return (log of the magnitude of the sum, its sign).
      where: booleans that broadcast to `a`: elements to take into account.

    Returns:
      An array without the reduced axes; with `return_sign` a pair of them.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> print(xt.nn.logsumexp(np.full(4, 1000.0, np.float32)))
      1001.3863
    """
    return _logsumexp(a, axis, b, keepdims, where, return_sign)


@composite(static_argnames=("axis", "keepdims"))
def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """log(mean(exp(x))) over axes, which doesn't overflow.

    Args:
      x: an array.
      axis: an axis, several, or None for all. Names of mapped axes may be among them.
      where: booleans that broadcast to `x`: elements to take into account.
      keepdims: whether the reduced axes stay, with size 1.

    Returns:
      An array without the reduced axes.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.logmeanexp(np.array([5.0, 5.0], np.float32))
      Array(5., dtype=float32)
    """
    out = _logsumexp(x, axis, None, keepdims, where)
    return sub(out, el.log_p.bind(_count(out, x, where, axis, keepdims)))


def _count(like_: Any, x: Any, where: Any, axis: Any, keepdims: bool) -> Any:
    """How many elements are taken into account, in the dtype of `like_`."""
    shape = np.shape(x) if not hasattr(x, "aval") else x.aval.shape
    axes = axes_of("mean", axis, len(shape))
    if where is None:
        names, dims = split_axes(axes)
        return like(like_, float(math.prod([shape[a] for a in dims]) * axes_size(names, "a mean")))
    ones = shapes.convert_element_type(masked(where, filled(_zeros(shape, like_), 1.0), 0), shaped(like_).dtype)
    return total(ones, axes, keepdims)


def _zeros(shape: tuple[int, ...], like_: Any) -> Any:
    return shapes.broadcast_in_dim(np.zeros((), shaped(like_).dtype)[()], shape, ())


def _less_than_log2(x: Any) -> Any:
    return el.lt_p.bind(x, like(x, math.log(2)))


@with_derivative(lambda t, out, x: div(t, el.expm1_p.bind(x)))
def _log1mexp(x: Any) -> Any:
    minus = el.neg_p.bind(x)
    near = el.log_p.bind(el.neg_p.bind(el.expm1_p.bind(minus)))
    far = el.log1p_p.bind(el.neg_p.bind(el.exp_p.bind(minus)))
    return lax.select_n(_less_than_log2(x), far, near)


@composite
def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)), accurate for small and large x >= 0.

    Args:
      x: an array of positive numbers.

    Returns:
      An array of the shape of `x`; integers become floats.

    Source: Maechler, "Accurately computing log(1 - exp(-|a|))", 2012.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.log1mexp(np.array([0.0, np.inf], np.float32))
      Array([-inf,  -0.], dtype=float32)
    """
    return _log1mexp(inexact("log1mexp", x))


@composite(static_argnames=("axis", "algorithm"))
def standardize(
    x: Any,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """(x - mean) / sqrt(variance + epsilon) along axes.

    Args:
      x: an array.
      axis: an axis, several, or None for all. Names of mapped axes may be among them.
      mean, variance: to use; None: those of `x` over `axis`.
      epsilon: added to the variance.
      where: booleans that broadcast to `x`: elements that mean and variance are taken over.
      algorithm: "fast" takes the variance as mean(x**2) - mean(x)**2, "stable" as mean((x - mean(x))**2).

    Returns:
      An array of the shape of `x`.

    Raises:
      ValueError: there is no such axis or algorithm.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.standardize(np.array([1.0, 3.0], np.float32), epsilon=0.0)
      Array([-1.,  1.], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize: algorithm must be 'fast' or 'stable', got {algorithm!r}")
    x = inexact("standardize", x)
    if mean is None:
        mean = _mean(x, axis, where)
    else:
        x, mean = promote("standardize", (x, mean), "inexact")
    if variance is None:
        if algorithm == "fast":
            # Rounding can make the difference negative.
            variance = sub(_mean(el.square_p.bind(x), axis, where), el.square_p.bind(mean))
            variance = el.max_p.bind(like(variance, 0), variance)
        else:
            variance = _mean(el.square_p.bind(sub(x, mean)), axis, where)
    difference = sub(x, mean)
    variance, epsilon = promote("standardize", (variance, epsilon), "inexact")
    scale = el.rsqrt_p.bind(add(variance, epsilon))
    difference, scale = promote("standardize", (difference, scale), "inexact")
    return mul(difference, scale)


def _mean(x: Any, axis: Any, where: Any) -> Any:
    """Narrow floats are summed in float32."""
    axes = axes_of("standardize", axis, shaped(x).ndim)
    aval = shaped(x)
    narrow = dtypes.is_floating(aval.dtype) and aval.dtype.itemsize < 4
    wide = shapes.convert_element_type(x, dtypes.float32) if narrow else x
    summed = total(masked(where, wide, 0), axes, keepdims=True)
    if narrow:
        summed = shapes.convert_element_type(summed, aval.dtype)
    return div(summed, _count(summed, x, where, axis, True))
