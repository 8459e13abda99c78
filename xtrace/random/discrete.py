"""Discrete distributions: booleans, integers, permutations and choices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import config, dtypes, statics
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import random_bits, shapes
from xtrace.random.arguments import (
    broadcast_shapes,
    canonical_shape,
    common_shape,
    float_dtype,
    integer_dtype,
    number_dtype,
    placed,
    sampler,
)
from xtrace.random.continuous import gumbel_mode, gumbel_of
from xtrace.random.keys import split_single
from xtrace.random.uniform_floats import broadcast_to, eps, parameter, scalar, signs, unit

# -- booleans --------------------------------------------------------------------------------------------------------


@sampler("shape", "dtype", "mode")
def _bernoulli(key: Any, p: Any, *, shape: Any, dtype: Any, mode: str) -> Any:
    p = parameter(p, dtype, len(shape))
    if mode == "low":
        return el.lt_p.bind(unit(key, shape, dtype), p)
    high, low = lax.unstack(unit(key, (2, *shape), dtype))
    return el.lt_p.bind(el.mul_p.bind(low, eps(dtype)), el.sub_p.bind(p, high))


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None) -> Any:
    """Booleans that are True with probability p.

    Args:
      key: a single key.
      p: probability, a float that broadcasts to `shape`.
      shape: of the result; None: that of `p`.
      mode: "high" uses twice the bits, for probabilities so small that one float's digits don't tell them.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Raises:
      TypeError: `p` isn't a float.
      ValueError: `p` doesn't broadcast to `shape`, or there is no such mode.

    Example:
      >>> import xtrace as xt
      >>> xt.random.bernoulli(xt.random.key(0), 0.5, (3,)).dtype
      dtype('bool')
    """
    if mode not in ("low", "high"):
        raise ValueError(f"got mode={mode!r}, expected 'high' or 'low'")
    dtype = dtypes.of_value(p)[0]
    if dtypes.kind(dtype) != "f":
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {dtype}.")
    shape = common_shape("bernoulli", shape, p)
    return placed(_bernoulli("bernoulli", key, p, shape=shape, dtype=dtype, mode=mode), out_sharding)


@sampler("shape", "dtype")
def _rademacher(key: Any, *, shape: Any, dtype: Any) -> Any:
    return signs(key, shape, dtype)


def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """1 or -1, each with probability one half.

    Args:
      key: a single key.
      shape: of the result.
      dtype: a numeric type; None: the default integer.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Example:
      >>> import xtrace as xt
      >>> xt.random.rademacher(xt.random.key(0), (2, 3)).shape
      (2, 3)
    """
    dtype = number_dtype("rademacher", dtype, int)
    shape = canonical_shape("rademacher", shape)
    return placed(_rademacher("rademacher", key, shape=shape, dtype=dtype), out_sharding)


# -- integers --------------------------------------------------------------------------------------------------------


def _below(key: Any, span: Any, shape: Any, dtype: Any) -> Any:
    """Unsigned integers in [0, span), out of twice as many bits so that the bias is small. `span` is unsigned.

    The high and the low half are reduced by themselves: (high * 2**bits + low) % span.
    """
    unsigned = np.dtype(f"uint{8 * dtype.itemsize}")
    bits = 8 * dtype.itemsize
    k1, k2 = split_single(key)
    high, low = random_bits.random_bits(k1, bits, shape), random_bits.random_bits(k2, bits, shape)
    rem, mul = el.rem_p.bind, el.mul_p.bind
    if isinstance(span, int):
        half = 2 ** (bits // 2) % span
        multiplier = unsigned.type(half * half % 2**bits % span)
        span = unsigned.type(span)
    else:
        half = rem(unsigned.type(2 ** (bits // 2)), span)
        multiplier = rem(mul(half, half), span)
    return rem(el.add_p.bind(mul(rem(high, span), multiplier), rem(low, span)), span)


def _integers_below(key: Any, low: int, high: int, shape: Any, dtype: Any) -> Any:
    """Integers in [low, high) for Python bounds: what depends on them alone is computed here."""
    info = np.iinfo(dtype)
    beyond = high > int(info.max)
    low, high = min(max(low, int(info.min)), int(info.max)), min(max(high, int(info.min)), int(info.max))
    limit = 2 ** (8 * dtype.itemsize)
    span = high - low if high > low else 1
    if beyond and high > low:
        span = (span + 1) % limit
    if span == 0:  # all integers of the dtype: nothing to reduce
        k1, k2 = split_single(key)
        offset = random_bits.random_bits(k2, 8 * dtype.itemsize, shape)
    else:
        offset = _below(key, span, shape, dtype)
    return el.add_p.bind(dtype.type(low), shapes.convert_element_type(offset, dtype))


@sampler("shape", "dtype")
def _randint(key: Any, minval: Any, maxval: Any, *, shape: Any, dtype: Any) -> Any:
    small = dtype.itemsize < 4
    work = np.dtype("int32") if small else dtype
    if type(minval) is int and type(maxval) is int:
        if small:
            info = np.iinfo(dtype)
            minval, maxval = [min(max(v, int(info.min)), int(info.max) + i) for i, v in enumerate((minval, maxval))]
        out = _integers_below(key, minval, maxval, shape, work)
        return shapes.convert_element_type(out, dtype)
    bounds = [_integer_parameter(v) for v in (minval, maxval)]
    info = np.iinfo(dtype)
    beyond: Any = False
    if small:
        bounds = [shapes.convert_element_type(v, work) if _bits(v) <= 32 else v for v in bounds]
        bounds = [_clip(v, int(info.min), int(info.max) + i) for i, v in enumerate(bounds)]
        bounds = [shapes.convert_element_type(v, work) for v in bounds]
    else:
        if _range(bounds[1])[1] > int(info.max):
            beyond = el.gt_p.bind(bounds[1], shaped(bounds[1]).dtype.type(info.max))
        bounds = [shapes.convert_element_type(_clip(v, int(info.min), int(info.max)), work) for v in bounds]
    low, high = [_ranked(v, len(shape)) for v in bounds]
    unsigned = np.dtype(f"uint{8 * work.itemsize}")
    one = unsigned.type(1)
    span = shapes.convert_element_type(el.sub_p.bind(high, low), unsigned)
    empty = el.le_p.bind(high, low)
    span = lax.select_n(empty, span, lax.full_like(span, 1))
    if beyond is not False:
        beyond = el.and_p.bind(_ranked(beyond, len(shape)), el.gt_p.bind(high, low))
        span = lax.select_n(beyond, span, el.add_p.bind(span, one))
    out = shapes.convert_element_type(_below(key, span, shape, work), work)
    return shapes.convert_element_type(el.add_p.bind(low, out), dtype)


def _integer_parameter(x: Any) -> Any:
    """A bound of integers: floats are truncated."""
    dtype = dtypes.of_value(x)[0]
    if dtypes.is_integer(dtype) and hasattr(x, "aval"):
        return shapes.convert(x, dtype, False)
    if dtypes.is_integer(dtype):
        return np.asarray(x, dtype)[()]
    return shapes.convert_element_type(x, dtypes.canonicalize(dtypes.int64))


def _range(x: Any) -> tuple[int, int]:
    info = np.iinfo(shaped(x).dtype)
    return int(info.min), int(info.max)


def _bits(x: Any) -> int:
    return 8 * shaped(x).dtype.itemsize


def _clip(x: Any, low: int, high: int) -> Any:
    """`x` between Python bounds, of which those that its dtype can't hold don't bind."""
    least, most = _range(x)
    typed = shaped(x).dtype.type
    if low > least:
        x = el.max_p.bind(typed(low), x)
    return el.min_p.bind(typed(high), x) if high < most else x


def _ranked(x: Any, ndim: int) -> Any:
    shape = shaped(x).shape
    if not shape or len(shape) == ndim:
        return x
    return shapes.broadcast_in_dim(x, (1,) * (ndim - len(shape)) + shape, range(ndim - len(shape), ndim))


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Uniform integers in [minval, maxval).

    Args:
      key: a single key.
      shape: of the result.
      minval, maxval: bounds, integers that broadcast to `shape`. Bounds beyond the dtype are cut to it; with maxval
        beyond it, its largest value is drawn too.
      dtype: an integer type; None: the default integer.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Raises:
      TypeError: the dtype isn't an integer type.
      ValueError: the bounds don't broadcast to `shape`.
      OverflowError: a Python bound doesn't fit in the default integer type.

    Example:
      >>> import xtrace as xt
      >>> xt.random.randint(xt.random.key(0), (3,), 0, 10)
      Array([9, 0, 2], dtype=int32)
    """
    dtype = integer_dtype("randint", dtype)
    shape = canonical_shape("randint", shape)
    for name, bound in (("minval", minval), ("maxval", maxval)):
        if type(bound) is int and not _fits(bound):
            raise OverflowError(
                f"randint: {name}={bound} does not fit in {dtypes.canonicalize(dtypes.int64)}; "
                "enable x64 mode, or pass an array of a wider dtype"
            )
    common_shape("randint", shape, minval, maxval)
    return placed(_randint("randint", key, minval, maxval, shape=shape, dtype=dtype), out_sharding)


def _fits(x: int) -> bool:
    bits = 64 if config.enable_x64.value else 32
    return -(2 ** (bits - 1)) <= x < 2 ** (bits - 1)


@sampler("shape", "dtype")
def _geometric(key: Any, p: Any, *, shape: Any, dtype: Any) -> Any:
    default = dtypes.canonicalize(dtypes.float64)
    p = parameter(p, shaped(p).dtype if dtypes.is_floating(shaped(p).dtype) else default, len(shape))
    real = shaped(p).dtype
    u = unit(key, shape, default)
    u = lax.select_n(el.eq_p.bind(u, scalar(0, default)), u, lax.full_like(u, 1))
    rate = broadcast_to(el.log1p_p.bind(el.neg_p.bind(p)), shape)
    if real != default:
        rate = shapes.convert_element_type(rate, default)
    out = el.add_p.bind(el.floor_p.bind(el.div_p.bind(el.log_p.bind(u), rate)), scalar(1, default))
    return shapes.convert_element_type(out, dtype)


def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """The number of trials up to the first success, each of probability p: 1, 2, …

    Args:
      key: a single key.
      p: probability; broadcasts to `shape`.
      shape: of the result; None: that of `p`.
      dtype: an integer type; None: the default integer.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the samples.

    Raises:
      ValueError: the dtype isn't an integer type.

    Example:
      >>> import xtrace as xt
      >>> xt.random.geometric(xt.random.key(0), 0.5, (2, 3)).shape
      (2, 3)
    """
    dtype = np.dtype(int) if dtype is None else dtypes.as_dtype(dtype)
    if not dtypes.is_integer(dtype):
        raise ValueError(f"dtype argument to `geometric` must be an int dtype, got {dtype}")
    dtype = integer_dtype("geometric", dtypes.canonicalize(dtype))
    return placed(_geometric("geometric", key, p, shape=common_shape("geometric", shape, p), dtype=dtype), out_sharding)


# -- permutations ----------------------------------------------------------------------------------------------------


def shuffle(key: Any, x: Any, axis: int) -> Any:
    """`x` with the slices along `axis`, each by itself, in random order: sorted by random keys.

    Equal keys keep their order, so that for large x one sort is biased: the number of rounds makes it negligible.
    """
    size = max(1, math.prod(shaped(x).shape))
    rounds = math.ceil(3 * math.log(size) / math.log(2**32 - 1))
    for _ in range(rounds):
        key, subkey = split_single(key)
        sort_keys = random_bits.random_bits(subkey, 32, shaped(x).shape)
        _, x = lax.sort((sort_keys, x), dimension=axis, num_keys=1)
    return x


@sampler("n", "dtype")
def _permuted_range(key: Any, *, n: int, dtype: Any) -> Any:
    return shuffle(key, lax.iota(dtype, n), 0)


def _permuted(key: Any, x: Any, axis: int, independent: bool) -> Any:
    if independent or shaped(x).ndim == 1:
        return shuffle(key, x, axis)
    order = shuffle(key, lax.iota(dtypes.canonicalize(dtypes.int64), shaped(x).shape[axis]), 0)
    return _take(x, order, axis, unique=True)


_permutation = sampler("axis", "independent")(lambda key, x, *, axis, independent: _permuted(key, x, axis, independent))
_permutation.__name__ = "permutation"


def _take(x: Any, indices: Any, axis: int, unique: bool = False) -> Any:
    """Slices of `x` along `axis` at indices known to be in bounds: `indices.shape` in place of that dimension."""
    from xtrace import numpy as xnp

    return xnp.take(x, indices, axis=axis, unique_indices=unique)


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None) -> Any:
    """A random permutation of the elements along an axis, or of a range.

    Args:
      key: a single key.
      x: an array, or an integer n for the range 0 … n - 1.
      axis: the axis to shuffle.
      independent: whether each slice along `axis` is shuffled by itself, instead of all alike.
      out_sharding: how the result is laid out over devices.

    Returns:
      The permuted array.

    Raises:
      TypeError: `x` is a scalar that is no integer.
      ValueError: there is no such axis.

    Example:
      >>> import xtrace as xt
      >>> xt.random.permutation(xt.random.key(0), 5)
      Array([0, 1, 4, 3, 2], dtype=int32)
    """
    n = _range_length(x)
    if n is not None:
        dtype = dtypes.canonicalize(dtypes.int64)
        return placed(_permuted_range("permutation", key, n=max(0, n), dtype=dtype), out_sharding)
    axis = canonical_axis(axis, shaped(x).ndim)
    return placed(_permutation("permutation", key, x, axis=axis, independent=bool(independent)), out_sharding)


def _range_length(x: Any) -> int | None:
    """The integer that a scalar x is, None for arrays."""
    if isinstance(x, (str, bytes, list, tuple)):
        raise TypeError(f"permutation takes an array or an integer, got {x!r} of type {type(x).__name__}")
    aval = shaped(x)
    if aval.ndim:
        return None
    if not dtypes.is_integer(aval.dtype):
        raise TypeError(f"x must be an integer or at least 1-dimensional, got {x!r}")
    return statics.integer(x, "x")


def canonical_axis(axis: int, ndim: int, error: type[Exception] = ValueError) -> int:
    """`axis` counted from the front. Raises `error`."""
    axis = statics.integer(axis, "axis")
    if not -ndim <= axis < ndim:
        raise error(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


# -- choices ---------------------------------------------------------------------------------------------------------


def _choose(key: Any, a: Any, p: Any, n: int, shape: Any, replace: bool, axis: int, mode: str) -> Any:
    """`a` None: the range 0 … n - 1 itself."""
    count = math.prod(shape)
    index_dtype = dtypes.canonicalize(dtypes.int64)
    if p is None and not replace:
        if a is None:
            order = shuffle(key, lax.iota(index_dtype, n), 0)
            return shapes.reshape(lax.slice_in_dim(order, 0, count), shape)
        out = lax.slice_in_dim(_permuted(key, a, axis, False), 0, count, axis=axis)
        full = shaped(out).shape
        return shapes.reshape(out, (*full[:axis], *shape, *full[axis + 1 :]))
    if p is None:
        chosen = _integers_below(key, 0, n, shape, index_dtype)
    elif replace:
        from xtrace import numpy as xnp

        total = xnp.cumsum(p)
        dtype = shaped(total).dtype
        last = lax.index_in_dim(total, n - 1, keepdims=False)
        r = el.mul_p.bind(last, el.sub_p.bind(scalar(1, dtype), unit(key, shape, dtype)))
        chosen = xnp.searchsorted(total, r)
    else:
        noise = gumbel_of(key, (n,), shaped(p).dtype, mode)
        chosen = lax.top_k(el.add_p.bind(noise, el.log_p.bind(p)), count)[1]
        chosen = shapes.reshape(shapes.convert_element_type(chosen, index_dtype), shape)
    return chosen if a is None else _take(a, chosen, axis)


@sampler("n", "shape", "replace", "axis", "mode")
def _choice_of_range(key: Any, *p: Any, n: int, shape: Any, replace: bool, axis: int, mode: str) -> Any:
    return _choose(key, None, p[0] if p else None, n, shape, replace, axis, mode)


@sampler("n", "shape", "replace", "axis", "mode")
def _choice_of_array(key: Any, a: Any, *p: Any, n: int, shape: Any, replace: bool, axis: int, mode: str) -> Any:
    return _choose(key, a, p[0] if p else None, n, shape, replace, axis, mode)


def choice(
    key: Any,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Any:
    """Random elements of an array, or of a range.

    Args:
      key: a single key.
      a: an array, whose slices along `axis` are chosen from, or an integer n for the range 0 … n - 1.
      shape: of the choice; it takes the place of dimension `axis` of `a`.
      replace: whether an element may be chosen more than once.
      p: probability of each element, a vector; None: all alike. It needn't be normalised.
      axis: of `a`.
      mode: "high" or "low": digits of the Gumbel noise behind a weighted choice without replacement.

    Returns:
      An array of the chosen elements.

    Raises:
      TypeError: `a` is a list.
      ValueError: nothing to choose from, more than there is, or `p` of the wrong length.

    Example:
      >>> import xtrace as xt
      >>> xt.random.choice(xt.random.key(0), 5, (2, 2)).shape
      (2, 2)
    """
    if isinstance(a, (list, tuple)):
        raise TypeError(
            f"choice requires ndarray or scalar arguments, got {type(a)} at position 0. "
            "Convert it with numpy.asarray(...)."
        )
    if not isinstance(shape, Sequence):
        raise TypeError(f"shape argument of random.choice must be a sequence, got {shape}: write a tuple of sizes")
    shape = canonical_shape("choice", shape)
    aval = shaped(a)
    if aval.ndim:
        axis = canonical_axis(axis, aval.ndim)
        n = aval.shape[axis]
    else:
        canonical_axis(axis, 1)
        n = int(a)
        axis = 0
    count = math.prod(shape)
    if n <= 0 and count:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and count > n:
        raise ValueError(f"Cannot take a larger sample (size {count}) than population (size {n}) when 'replace=False'")
    weights: list[Any] = []
    if p is not None:
        if isinstance(p, (list, tuple)):
            raise TypeError(f"choice requires ndarray or scalar arguments for p, got {type(p)}")
        if shaped(p).shape != (n,):
            raise ValueError(
                "p must be None or a 1D vector with the same size as a.shape[axis]. "
                f"p has shape {shaped(p).shape} and a.shape[axis] is {n}."
            )
        inexact = dtypes.canonicalize(dtypes.to_inexact(shaped(p).dtype))
        weights = [shapes.convert_element_type(p, inexact)]
    static = {
        "n": n, "shape": shape, "replace": bool(replace), "axis": axis,
        "mode": gumbel_mode(mode) if weights and not replace else "low",
    }  # fmt: skip
    if aval.ndim:
        return _choice_of_array("choice", key, a, *weights, **static)
    return _choice_of_range("choice", key, *weights, **static)


@sampler("axis", "shape", "mode", "replace")
def _categorical(key: Any, logits: Any, *, axis: int, shape: Any, mode: str, replace: bool) -> Any:
    aval = shaped(logits)
    dtype, n = aval.dtype, aval.shape[axis]
    rest = (*aval.shape[:axis], *aval.shape[axis + 1 :])
    index = dtypes.canonicalize(dtypes.int64)
    if replace:
        extra = shape[: len(shape) - len(rest)]
        own = shape[len(shape) - len(rest) :]
        full = (*extra, *own[:axis], n, *own[axis:])
        noise = gumbel_of(key, full, dtype, mode)
        scores = el.add_p.bind(noise, _ranked(logits, len(full)))
        return lax.argmax(scores, axis + len(extra), index)
    count = math.prod(shape[: len(shape) - len(rest)])
    scores = el.add_p.bind(gumbel_of(key, aval.shape, dtype, mode), logits)
    chosen = lax.top_k(scores, count, axis=axis)[1]
    order = [axis, *[d for d in range(aval.ndim) if d != axis]]
    return shapes.reshape(shapes.transpose(chosen, order), shape)


def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Categories drawn with probability softmax(logits).

    Args:
      key: a single key.
      logits: unnormalised logarithms of the probabilities.
      axis: of the categories.
      shape: of the result, which ends with the shape of `logits` without `axis`; None: just that.
      replace: whether a category may be drawn more than once for the same logits.
      mode: "high" or "low": digits of the Gumbel noise. None: "low".
      out_sharding: how the result is laid out over devices.

    Returns:
      Integers below logits.shape[axis].

    Raises:
      IndexError: there is no such axis.
      ValueError: `shape` doesn't fit the logits, or asks for more categories than there are without replacement.

    Example:
      >>> import numpy as np
      >>> import xtrace as xt
      >>> xt.random.categorical(xt.random.key(0), np.zeros((3, 4), np.float32)).shape
      (3,)
    """
    if isinstance(logits, (list, tuple)):
        raise TypeError(f"categorical requires ndarray or scalar arguments, got {type(logits)} at position 0.")
    aval = shaped(logits)
    axis = canonical_axis(axis, aval.ndim, IndexError)
    if not dtypes.is_floating(aval.dtype):
        logits = shapes.convert_element_type(logits, float_dtype("categorical", None))
    rest = (*aval.shape[:axis], *aval.shape[axis + 1 :])
    if shape is None:
        shape = rest
    else:
        shape = canonical_shape("categorical", shape)
        if broadcast_shapes("categorical", shape, rest) != shape:
            raise ValueError(f"categorical: shape {shape} doesn't hold the logits' batch shape {rest}")
    if not replace:
        count, n = math.prod(shape[: len(shape) - len(rest)]), aval.shape[axis]
        if shape[len(shape) - len(rest) :] != rest:
            raise ValueError(f"categorical: without replacement, shape {shape} must end with the batch shape {rest}")
        if count > n:
            raise ValueError(
                f"Number of samples without replacement ({count}) cannot exceed number of categories ({n})."
            )
    out = _categorical(
        "categorical", key, logits, axis=axis, shape=shape, mode=gumbel_mode(mode), replace=bool(replace)
    )
    return placed(out, out_sharding)
