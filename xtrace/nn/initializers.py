"""Initial values of weights: each name makes a function `init(key, shape, dtype=None, out_sharding=None)`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from xtrace import lax
from xtrace.core import dtypes
from xtrace.lax import elementwise as el
from xtrace.lax import shapes
from xtrace.random.arguments import as_key, canonical_shape, float_dtype, inexact_dtype, placed, sampler
from xtrace.random.continuous import truncated
from xtrace.random.keys import split_single
from xtrace.random.uniform_floats import between, gaussian, scalar, scaled_gaussian, unit

mul = el.mul_p.bind


@runtime_checkable
class Initializer(Protocol):
    """A function that makes the initial value of a weight."""

    def __call__(self, key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        """An array of `shape` and `dtype` (None: the initializer's own, or the default float)."""
        raise NotImplementedError


# -- constants -------------------------------------------------------------------------------------------------------


def _full(name: str, shape: Any, value: Any, dtype: Any, out_sharding: Any) -> Any:
    from xtrace import numpy as xnp

    dtype = dtypes.canonical_dtype(float if dtype is None else dtype)
    return placed(xnp.full(canonical_shape(name, shape), value, dtype), out_sharding)


def zeros(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """An array of zeros; `key` is not used.

    Args:
      key: any value.
      shape: of the array.
      dtype: of the array; None: the default float.
      out_sharding: how the array is laid out over devices.

    Returns:
      The array.

    Example:
      >>> import xtrace as xt
      >>> xt.nn.initializers.zeros(None, (2,))
      Array([0., 0.], dtype=float32)
    """
    return _full("zeros", shape, 0, dtype, out_sharding)


def ones(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """An array of ones; `key` is not used.

    Args:
      key: any value.
      shape: of the array.
      dtype: of the array; None: the default float.
      out_sharding: how the array is laid out over devices.

    Returns:
      The array.

    Example:
      >>> import xtrace as xt
      >>> xt.nn.initializers.ones(None, (2,))
      Array([1., 1.], dtype=float32)
    """
    return _full("ones", shape, 1, dtype, out_sharding)


def constant(value: Any, dtype: Any = None) -> Callable[..., Any]:
    """An initializer that fills arrays with `value`, which broadcasts to their shape.

    Args:
      value: a number or an array.
      dtype: of the arrays; None: the default float.

    Returns:
      A function init(key, shape, dtype, out_sharding) that returns the array.

    Example:
      >>> import xtrace as xt
      >>> xt.nn.initializers.constant(-7)(None, (2,))
      Array([-7., -7.], dtype=float32)
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Any:
        return _full("constant", shape, value, default if dtype is None else dtype, out_sharding)

    return init


# -- plain distributions ---------------------------------------------------------------------------------------------


@sampler("shape", "dtype")
def _scaled_uniform(key: Any, scale: Any, *, shape: Any, dtype: Any) -> Any:
    return mul(unit(key, shape, dtype), scale)


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Callable[..., Any]:
    """An initializer with uniform numbers in [0, scale).

    Args:
      scale: the upper bound.
      dtype: of the arrays; None: the default float.

    Returns:
      A function init(key, shape, dtype, out_sharding) that returns the array.

    Example:
      >>> import xtrace as xt
      >>> xt.nn.initializers.uniform(10.0)(xt.random.key(0), (2, 3)).shape
      (2, 3)
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Any:
        found = float_dtype("uniform", default if dtype is None else dtype)
        shape = canonical_shape("uniform", shape)
        return placed(_scaled_uniform("uniform", key, _in(scale, found), shape=shape, dtype=found), out_sharding)

    return init


def _in(x: Any, dtype: Any) -> Any:
    """A scale as a scalar of `dtype`."""
    return shapes.convert_element_type(x, dtype) if hasattr(x, "aval") else np.asarray(x).astype(dtype)[()]


def _scaled_gaussian(key: Any, shape: Any, dtype: Any, stddev: Any) -> Any:
    if dtypes.is_complex(dtype):
        return mul(gaussian(key, shape, dtype), stddev)
    return scaled_gaussian(key, shape, dtype, stddev)


_normal = sampler("shape", "dtype")(lambda key, stddev, *, shape, dtype: _scaled_gaussian(key, shape, dtype, stddev))
_normal.__name__ = "normal"


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Callable[..., Any]:
    """An initializer with normal numbers of mean 0.

    Args:
      stddev: standard deviation.
      dtype: of the arrays; None: the default float.

    Returns:
      A function init(key, shape, dtype, out_sharding) that returns the array.

    Example:
      >>> import xtrace as xt
      >>> xt.nn.initializers.normal(5.0)(xt.random.key(0), (2, 3)).shape
      (2, 3)
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Any:
        found = inexact_dtype("normal", default if dtype is None else dtype)
        shape = canonical_shape("normal", shape)
        return placed(_normal("normal", key, _in(stddev, found), shape=shape, dtype=found), out_sharding)

    return init


@sampler("shape", "dtype", "lower", "upper")
def _truncated_normal(key: Any, stddev: Any, *, shape: Any, dtype: Any, lower: Any, upper: Any) -> Any:
    return mul(truncated(key, scalar(lower, dtype), scalar(upper, dtype), shape, dtype), stddev)


def truncated_normal(stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0) -> Callable[..., Any]:
    """An initializer with normal numbers cut to (lower, upper), then scaled.

    Args:
      stddev: standard deviation before the cut.
      dtype: of the arrays; None: the default float.
      lower, upper: bounds, in standard deviations.

    Returns:
      A function init(key, shape, dtype, out_sharding) that returns the array.

    Example:
      >>> import xtrace as xt
      >>> xt.nn.initializers.truncated_normal(5.0)(xt.random.key(0), (2, 3)).shape
      (2, 3)
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Any:
        found = float_dtype("truncated_normal", default if dtype is None else dtype)
        out = _truncated_normal(
            "truncated_normal", key, _in(stddev, found),
            shape=canonical_shape("truncated_normal", shape), dtype=found, lower=float(lower), upper=float(upper),
        )  # fmt: skip
        return placed(out, out_sharding)

    return init


# -- variance scaling ------------------------------------------------------------------------------------------------

Axes = int | Sequence[int]


def _fans(shape: tuple[int, ...], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """How many inputs each output has, and how many outputs each input."""
    if len(shape) <= 1:
        if isinstance(in_axis, int) and isinstance(out_axis, int) and (in_axis, out_axis) == (-2, -1):
            raise ValueError(
                f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor with default "
                "in_axis. Must be at least 2D or specify in_axis explicitly."
            )
    sizes = []
    for name, axes in (("in_axis", in_axis), ("out_axis", out_axis), ("batch_axis", batch_axis)):
        axes = (axes,) if isinstance(axes, int) else tuple(axes)
        if any(not -len(shape) <= a < len(shape) for a in axes):
            raise ValueError(f"{name}={axes} is out of bounds for weights of shape {shape}")
        sizes.append(math.prod([shape[a] for a in axes]))
    ins, outs, batch = sizes
    total = ins * outs * batch
    receptive = math.prod(shape) / total if total else 0.0
    return ins * receptive, outs * receptive


_MODES: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda i, o: i,
    "fan_out": lambda i, o: o,
    "fan_avg": lambda i, o: (i + o) / 2,
    "fan_geo_avg": lambda i, o: math.sqrt(i * o),
}

#: Standard deviations of the standard normal distribution, and of the complex one, cut at 2.
_CUT, _COMPLEX_CUT = 0.87962566103423978, 0.95311164380491208


def _on_disk(key: Any, shape: Any, dtype: Any) -> Any:
    """Complex numbers with uniform angle and density, of variance 1."""
    real = dtypes.to_real(dtype)
    k1, k2 = split_single(key)
    radius = el.sqrt_p.bind(mul(scalar(2, real), unit(k1, shape, real)))
    return mul(shapes.convert_element_type(radius, dtype), _phase(k2, shape, dtype))


def _phase(key: Any, shape: Any, dtype: Any) -> Any:
    angle = shapes.convert_element_type(unit(key, shape, dtypes.to_real(dtype)), dtype)
    angle = mul(scalar(2 * np.pi, dtype), angle)
    return el.exp_p.bind(mul(scalar(1j, dtype), angle))


def _complex_cut_gaussian(key: Any, shape: Any, dtype: Any) -> Any:
    """Complex normal numbers of magnitude below 2."""
    real = dtypes.to_real(dtype)
    k1, k2 = split_single(key)
    mass = el.sub_p.bind(scalar(1, dtype), el.exp_p.bind(scalar(-4, dtype)))
    u = shapes.convert_element_type(unit(k1, shape, real), dtype)
    radius = el.sqrt_p.bind(el.neg_p.bind(el.log_p.bind(el.sub_p.bind(scalar(1, dtype), mul(mass, u)))))
    return mul(radius, _phase(k2, shape, dtype))


@sampler("shape", "dtype", "distribution")
def _of_scale(key: Any, factor: Any, *, shape: Any, dtype: Any, distribution: str) -> Any:
    if distribution == "truncated_normal":
        return mul(truncated(key, scalar(-2, dtype), scalar(2, dtype), shape, dtype), factor)
    if distribution == "normal":
        return _scaled_gaussian(key, shape, dtype, factor)
    if dtypes.is_complex(dtype):
        return mul(_on_disk(key, shape, dtype), factor)
    return mul(between(key, scalar(-1, dtype), scalar(1, dtype), shape, dtype), factor)


def _factor(variance: Any, dtype: Any, distribution: str) -> Any:
    """What numbers of the plain distribution are multiplied with.

    Computed here, in the dtype, where the variance is a number: in the program, division by a constant would become
    multiplication by its rounded reciprocal.
    """
    real = dtypes.to_real(dtype)
    cut = scalar(_COMPLEX_CUT if dtypes.is_complex(dtype) else _CUT, real)
    if hasattr(variance, "aval"):
        variance = shapes.convert_element_type(variance, real)
        root, times, over = el.sqrt_p.bind, mul, el.div_p.bind
    else:
        variance = scalar(variance, real)
        root, times, over = np.sqrt, np.multiply, np.divide
    if distribution == "truncated_normal":
        out = over(root(variance), cut)
    elif distribution == "normal" or dtypes.is_complex(dtype):
        out = root(variance)
    else:
        out = root(times(scalar(3, real), variance))
    return _in(out, dtype)


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Callable[..., Any]:
    """An initializer whose numbers have the variance scale / n, n given by the shape.

    Args:
      scale: a positive number.
      mode: n: "fan_in", "fan_out", their mean "fan_avg", or their geometric mean "fan_geo_avg".
      distribution: "truncated_normal" (cut at two standard deviations), "normal" or "uniform".
      in_axis, out_axis: axes of the inputs and outputs; the others are those of a receptive field.
      batch_axis: axes that aren't counted.
      dtype: of the arrays; None: the default float.

    Returns:
      A function init(key, shape, dtype, out_sharding) that returns the array.

    Raises:
      ValueError: there is no such mode or distribution; the shape has no such axes.

    Example:
      >>> import xtrace as xt
      >>> init = xt.nn.initializers.variance_scaling(2.0, "fan_in", "uniform")
      >>> init(xt.random.key(0), (4, 3)).shape
      (4, 3)
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Any:
        found = inexact_dtype("variance_scaling", default if dtype is None else dtype)
        shape = canonical_shape("variance_scaling", shape)
        fans = _fans(shape, in_axis, out_axis, batch_axis)
        if mode not in _MODES:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}; there are {', '.join(_MODES)}")
        if distribution not in ("truncated_normal", "normal", "uniform"):
            raise ValueError(
                f"invalid distribution for variance scaling initializer: {distribution}; "
                "there are truncated_normal, normal, uniform"
            )
        denominator = _MODES[mode](*fans)
        factor = _factor(scale / denominator if denominator else math.inf, found, distribution)
        if distribution == "truncated_normal" and dtypes.is_complex(found):
            # Operation by operation: compiled together, XLA would round some of the numbers otherwise.
            single, _ = as_key("variance_scaling", key)
            out = mul(_complex_cut_gaussian(single, shape, found), factor)
        else:
            out = _of_scale("variance_scaling", key, factor, shape=shape, dtype=found, distribution=distribution)
        return placed(out, out_sharding)

    return init


def _scaling(name: str, scale: float, mode: str, distribution: str, source: str) -> Callable[..., Any]:
    def make(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Callable[..., Any]:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""An initializer: variance_scaling({scale}, "{mode}", "{distribution}").

    Args:
      in_axis, out_axis: axes of the inputs and outputs; the others are those of a receptive field.
      batch_axis: axes that aren't counted.
      dtype: of the arrays; None: the default float.

    Returns:
      A function init(key, shape, dtype, out_sharding) that returns the array.

    Raises:
      ValueError: the shape has no such axes.

    Source: {source}.

    Example:
      >>> import xtrace as xt
      >>> xt.nn.initializers.{name}()(xt.random.key(0), (4, 3)).shape
      (4, 3)
    """
    return make


_GLOROT = 'Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010'
_HE = 'He et al., "Delving deep into rectifiers", 2015'
_LECUN = 'LeCun et al., "Efficient backprop", 1998'

glorot_uniform = xavier_uniform = _scaling("glorot_uniform", 1.0, "fan_avg", "uniform", _GLOROT)
glorot_normal = xavier_normal = _scaling("glorot_normal", 1.0, "fan_avg", "truncated_normal", _GLOROT)
lecun_uniform = _scaling("lecun_uniform", 1.0, "fan_in", "uniform", _LECUN)
lecun_normal = _scaling("lecun_normal", 1.0, "fan_in", "truncated_normal", _LECUN)
he_uniform = kaiming_uniform = _scaling("he_uniform", 2.0, "fan_in", "uniform", _HE)
he_normal = kaiming_normal = _scaling("he_normal", 2.0, "fan_in", "truncated_normal", _HE)


# -- orthogonal matrices ---------------------------------------------------------------------------------------------


@sampler("shape", "dtype", "column_axis")
def _orthogonal(key: Any, scale: Any, *, shape: Any, dtype: Any, column_axis: int) -> Any:
    from xtrace import numpy as xnp

    rows = shape[column_axis]
    columns = math.prod(shape) // rows if rows else 0
    tall = (rows, columns) if rows > columns else (columns, rows)
    q, r = xnp.linalg.qr(gaussian(key, tall, dtype))
    # Signs of R's diagonal make the decomposition unique, and Q uniform.
    signs = el.sign_p.bind(xnp.diagonal(r))
    q = mul(q, shapes.broadcast_in_dim(signs, (1, tall[1]), (1,)))
    if rows < columns:
        q = shapes.transpose(q, (1, 0))
    axis = column_axis % len(shape)
    q = shapes.reshape(q, (rows, *shape[:axis], *shape[axis + 1 :]))
    q = shapes.transpose(q, [*range(1, axis + 1), 0, *range(axis + 1, len(shape))])
    return mul(scale, q)


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Callable[..., Any]:
    """An initializer with matrices whose rows or columns, the fewer of them, are orthonormal, times `scale`.

    Args:
      scale: the factor.
      column_axis: the axis of the columns; the others together are the rows.
      dtype: of the arrays; None: the default float.

    Returns:
      A function init(key, shape, dtype, out_sharding) that returns the array.

    Raises:
      ValueError: the shape has fewer than two dimensions.

    Source: Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear networks", 2013.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> q = xt.nn.initializers.orthogonal()(xt.random.key(0), (3, 2))
      >>> np.allclose(q.T @ q, np.eye(2), atol=1e-5)
      True
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Any:
        found = inexact_dtype("orthogonal", default if dtype is None else dtype)
        shape = canonical_shape("orthogonal", shape)
        if len(shape) < 2:
            raise ValueError(f"orthogonal initializer requires at least a 2D shape, got {shape}")
        out = _orthogonal("orthogonal", key, _in(scale, found), shape=shape, dtype=found, column_axis=column_axis)
        return placed(out, out_sharding)

    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Callable[..., Any]:
    """An initializer of convolution kernels: zero but for an orthogonal matrix at the centre.

    Args:
      scale: the factor.
      column_axis: of that matrix.
      dtype: of the arrays; None: the default float.

    Returns:
      A function init(key, shape, dtype, out_sharding) that returns the array.

    Raises:
      ValueError: the shape isn't that of a 1-, 2- or 3-dimensional kernel, or has more inputs than outputs.

    Source: Xiao et al., "Dynamical isometry and a mean field theory of CNNs", 2018.

    Example:
      >>> import xtrace as xt
      >>> xt.nn.initializers.delta_orthogonal()(xt.random.key(0), (3, 3, 2, 4)).shape
      (3, 3, 2, 4)
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Any:
        found = inexact_dtype("delta_orthogonal", default if dtype is None else dtype)
        shape = canonical_shape("delta_orthogonal", shape)
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"Delta orthogonal initializer requires a 3D, 4D or 5D shape, got {shape}")
        if shape[-1] < shape[-2]:
            raise ValueError(f"`fan_in` must be less or equal than `fan_out`, got {shape[-2]} and {shape[-1]}")
        centre = orthogonal(scale, column_axis, found)(key, shape[-2:])
        centre = shapes.reshape(centre, (1,) * (len(shape) - 2) + shape[-2:])
        start = tuple([(d - 1) // 2 for d in shape[:-2]]) + (0, 0)
        empty = shapes.full(shape, 0, found)
        return placed(lax.dynamic_update_slice(empty, centre, start), out_sharding)

    return init


__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal",
    "truncated_normal", "uniform", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip
