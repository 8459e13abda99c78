"""Activation functions. Elementwise; integers become floats unless it says otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.nn.custom_rule import with_derivative
from xtrace.nn.operands import axes_of, beside_floats, filled, inexact, like, strong_inexact
from xtrace.numpy.elementwise import tanh as tanh
from xtrace.numpy.promotion import promote
from xtrace.transforms.staging import StagedTracer

add, sub, mul, div = el.add_p.bind, el.sub_p.bind, el.mul_p.bind, el.div_p.bind
greatest_of, least_of = el.max_p.bind, el.min_p.bind


def _where_positive(t: Any, out: Any, x: Any) -> Any:
    return lax.select_n(el.gt_p.bind(x, like(x, 0)), filled(t, 0), t)


@with_derivative(_where_positive)
def _relu(x: Any) -> Any:
    return greatest_of(x, like(x, 0))


@composite
def relu(x: Any) -> Any:
    """Rectified linear unit: max(x, 0). Its derivative at 0 is 0. Integers stay integers.

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.relu(np.array([-2.0, 0.0, 3.0], np.float32))
      Array([0., 0., 3.], dtype=float32)
    """
    if type(x) is not StagedTracer or x.aval.dtype == np.bool_:
        x = promote("relu", (x, 0))[0]
    return _relu(x)


def _where_between_0_and_6(t: Any, out: Any, x: Any) -> Any:
    inside = el.and_p.bind(el.gt_p.bind(x, like(x, 0)), el.lt_p.bind(x, like(x, 6)))
    return lax.select_n(inside, filled(t, 0), t)


@with_derivative(_where_between_0_and_6)
def _relu6(x: Any) -> Any:
    return least_of(greatest_of(x, like(x, 0)), like(x, 6))


@composite
def relu6(x: Any) -> Any:
    """Rectified linear unit cut at 6: min(max(x, 0), 6). Its derivatives at 0 and 6 are 0.

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`; integers become floats.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.relu6(np.array([-2.0, 3.0, 8.0], np.float32))
      Array([0., 3., 6.], dtype=float32)
    """
    return _relu6(beside_floats("relu6", x))


@composite
def sigmoid(x: Any) -> Any:
    """Logistic sigmoid: 1 / (1 + exp(-x)).

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`.

    Raises:
      TypeError: `x` is of an integer type.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.sigmoid(np.array([-np.inf, 0.0, np.inf], np.float32))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    return el.logistic_p.bind(promote("sigmoid", (x,))[0])


@with_derivative(lambda t, out, x: mul(t, el.logistic_p.bind(x)))
def _softplus(x: Any) -> Any:
    tail = el.log1p_p.bind(el.exp_p.bind(el.neg_p.bind(el.abs_p.bind(x))))
    return add(greatest_of(x, like(x, 0)), tail)


@composite
def softplus(x: Any) -> Any:
    """log(1 + exp(x)), which doesn't overflow.

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`; integers become floats.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.softplus(np.array([-np.inf, 100.0], np.float32))
      Array([  0., 100.], dtype=float32)
    """
    return _softplus(inexact("softplus", x))


@composite
def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)) = -softplus(-x), which doesn't underflow.

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`; integers become floats.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.log_sigmoid(np.array([-100.0, np.inf], np.float32))
      Array([-100.,   -0.], dtype=float32)
    """
    return el.neg_p.bind(_softplus(el.neg_p.bind(inexact("log_sigmoid", x))))


@composite
def sparse_plus(x: Any) -> Any:
    """0 below -1, (x + 1)**2 / 4 up to 1, x above: the integral of `sparse_sigmoid`.

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`; integers become floats.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.sparse_plus(np.array([-2.0, 0.0, 3.0], np.float32))
      Array([0.  , 0.25, 3.  ], dtype=float32)
    """
    x = beside_floats("sparse_plus", x)
    middle = div(lax.integer_pow(add(x, like(x, 1)), 2), like(x, 4))
    upper = lax.select_n(el.ge_p.bind(x, like(x, 1)), middle, x)
    return lax.select_n(el.le_p.bind(x, like(x, -1)), upper, filled(x, 0))


@composite
def sparse_sigmoid(x: Any) -> Any:
    """0 below -1, (x + 1) / 2 up to 1, 1 above.

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`; integers become floats.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.sparse_sigmoid(np.array([-2.0, 0.0, 3.0], np.float32))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    x = beside_floats("sparse_sigmoid", x)
    return mul(like(x, 0.5), least_of(like(x, 2), greatest_of(like(x, 0), add(x, like(x, 1)))))


@composite
def soft_sign(x: Any) -> Any:
    """x / (1 + |x|).

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`; integers become floats.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.soft_sign(np.array([-1.0, 0.0, 3.0], np.float32))
      Array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    x = inexact("soft_sign", x)
    return div(x, add(el.abs_p.bind(x), like(x, 1)))


@composite
def silu(x: Any) -> Any:
    """Sigmoid-weighted linear unit, also called swish: x * sigmoid(x).

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`.

    Raises:
      TypeError: `x` is of an integer type.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.silu(np.array([-100.0, 0.0, 100.0], np.float32))
      Array([ -0.,   0., 100.], dtype=float32)
    """
    (x,) = promote("silu", (x,))
    return mul(x, el.logistic_p.bind(x))


swish = silu


@composite
def mish(x: Any) -> Any:
    """x * tanh(softplus(x)).

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`; integers become floats.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.mish(np.array([0.0, 100.0], np.float32))
      Array([  0., 100.], dtype=float32)
    """
    x = inexact("mish", x)
    return mul(x, el.tanh_p.bind(_softplus(x)))


@composite
def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """x where x >= 0, negative_slope * x elsewhere.

    Args:
      x: an array.
      negative_slope: array or number that broadcasts with `x`.

    Returns:
      An array of the shape of `x` and `negative_slope`, broadcast; integers become floats.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.leaky_relu(np.array([-1.0, 0.0, 3.0], np.float32))
      Array([-0.01,  0.  ,  3.  ], dtype=float32)
    """
    x, slope = promote("leaky_relu", (x, negative_slope), "inexact")
    shape = np.broadcast_shapes(shaped(x).shape, shaped(slope).shape)
    return lax.select_n(el.ge_p.bind(x, like(x, 0)), _wide(mul(slope, x), shape), _wide(x, shape))


def _wide(x: Any, shape: tuple[int, ...]) -> Any:
    own = shaped(x).shape
    return x if own == shape else lax.broadcast_in_dim(x, shape, range(len(shape) - len(own), len(shape)))


@composite
def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6.

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`; integers become floats.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.hard_sigmoid(np.array([-4.0, 0.0, 4.0], np.float32))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    x = beside_floats("hard_sigmoid", x)
    return div(_relu6(add(x, like(x, 3))), like(x, 6))


@composite
def hard_silu(x: Any) -> Any:
    """x * hard_sigmoid(x), also called hard_swish.

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`; integers become floats.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.hard_silu(np.array([-4.0, 0.0, 4.0], np.float32))
      Array([-0.,  0.,  4.], dtype=float32)
    """
    x = beside_floats("hard_silu", x)
    return mul(x, div(_relu6(add(x, like(x, 3))), like(x, 6)))


hard_swish = hard_silu


@composite
def hard_tanh(x: Any) -> Any:
    """-1 below -1, x up to 1, 1 above. Integers stay integers.

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.hard_tanh(np.array([-4.0, 0.5, 4.0], np.float32))
      Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    (x,) = promote("hard_tanh", (x,), "numeric")
    lower = lax.select_n(el.lt_p.bind(x, like(x, -1)), x, filled(x, -1))
    return lax.select_n(el.gt_p.bind(x, like(x, 1)), lower, filled(x, 1))


@composite
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """Continuously differentiable exponential linear unit: max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1).

    Args:
      x: an array.
      alpha: array or number that broadcasts with `x`: what the negative side tends to, negated.

    Returns:
      An array of the shape of `x` and `alpha`, broadcast; integers become floats.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.celu(np.array([-1.0, 0.0, 3.0], np.float32))
      Array([-0.63212055,  0.        ,  3.        ], dtype=float32)
    """
    x, alpha = promote("celu", (x, alpha), "inexact")
    negative = el.expm1_p.bind(div(least_of(x, like(x, 0)), alpha))
    return add(greatest_of(x, like(x, 0)), mul(alpha, negative))


def _elu(x: Any, alpha: Any) -> Any:
    positive = el.gt_p.bind(x, like(x, 0))
    # exp of large x would overflow in the derivative, though it isn't used.
    negative = mul(alpha, el.expm1_p.bind(lax.select_n(positive, x, filled(x, 0))))
    return lax.select_n(positive, negative, x) if shaped(negative).shape == shaped(x).shape else _elu_wide(x, negative)


def _elu_wide(x: Any, negative: Any) -> Any:
    shape = shaped(negative).shape
    x = _wide(x, shape)
    return lax.select_n(el.gt_p.bind(x, like(x, 0)), negative, x)


@composite
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """Exponential linear unit: x where x > 0, alpha * (exp(x) - 1) elsewhere.

    Args:
      x: an array.
      alpha: array or number that broadcasts with `x`: what the negative side tends to, negated.

    Returns:
      An array of the shape of `x` and `alpha`, broadcast; integers become floats.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.elu(np.array([-np.inf, 0.0, 3.0], np.float32))
      Array([-1.,  0.,  3.], dtype=float32)
    """
    return _elu(*promote("elu", (x, alpha), "inexact"))


@composite
def selu(x: Any) -> Any:
    """Scaled exponential linear unit: 1.0507… * elu(x, 1.6732…).

    Args:
      x: an array.

    Returns:
      An array of the shape of `x`; integers become floats.

    Source: Klambauer et al., "Self-normalizing neural networks", 2017.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.selu(np.array([0.0, 1.0], np.float32))
      Array([0.      , 1.050701], dtype=float32)
    """
    x = beside_floats("selu", x)
    return mul(like(x, 1.0507009873554804934193349852946), _elu(x, like(x, 1.6732632423543772848170429916717)))


@composite(static_argnames=("approximate",))
def gelu(x: Any, approximate: bool = True) -> Any:
    """Gaussian error linear unit: x times the normal distribution function of x.

    Args:
      x: an array.
      approximate: whether to use 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) for that function.

    Returns:
      An array of the shape of `x`; integers become floats.

    Source: Hendrycks and Gimpel, "Gaussian error linear units", 2016.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.gelu(np.array([-10.0, 0.0, 10.0], np.float32))
      Array([-0.,  0., 10.], dtype=float32)
    """
    x = strong_inexact("gelu", x)
    if approximate:
        inner = add(x, mul(like(x, 0.044715), lax.integer_pow(x, 3)))
        cdf = mul(like(x, 0.5), add(like(x, 1.0), el.tanh_p.bind(mul(like(x, math.sqrt(2 / math.pi)), inner))))
        return mul(x, cdf)
    return mul(mul(like(x, 0.5), x), lax.erfc(mul(el.neg_p.bind(x), like(x, math.sqrt(0.5)))))


@composite
def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + sqrt(x**2 + b)) / 2: a softplus without exponentials.

    Args:
      x: an array.
      b: array or number that broadcasts with `x`: how wide the bend at 0 is.

    Returns:
      An array of the shape of `x` and `b`, broadcast; integers become floats.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.squareplus(np.array([0.0, 1.5], np.float32))
      Array([1., 2.], dtype=float32)
    """
    x, b = promote("squareplus", (x, b), "inexact")
    return div(add(x, el.sqrt_p.bind(add(el.square_p.bind(x), b))), like(x, 2))


@composite(static_argnames=("axis",))
def glu(x: Any, axis: int = -1) -> Any:
    """Gated linear unit: the first half of `x` along `axis` times the sigmoid of the second.

    Args:
      x: an array.
      axis: the axis that is halved.

    Returns:
      An array of the shape of `x`, but half as long along `axis`.

    Raises:
      ValueError: the axis has an odd size.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.nn.glu(np.array([1.0, 2.0, 0.0, 100.0], np.float32))
      Array([0.5, 2. ], dtype=float32)
    """
    (x,) = promote("glu", (x,))
    shape = shaped(x).shape
    (place,) = axes_of("glu", axis, len(shape))
    if shape[place] % 2:
        raise ValueError(f"glu: axis size must be divisible by 2, got {shape[place]} (axis {axis} of shape {shape})")
    first, second = lax.split(x, (shape[place] // 2,) * 2, place)
    return mul(first, el.logistic_p.bind(second))


def identity(x: Any) -> Any:
    """`x` itself, as an array.

    Args:
      x: an array, or what can be made one.

    Returns:
      `x` as an array.

    Example:
      >>> import xtrace as xt
      >>> xt.nn.identity([1, 2])
      Array([1, 2], dtype=int32)
    """
    from xtrace import numpy as xnp

    return xnp.asarray(x)
