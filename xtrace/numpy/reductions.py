"""Reductions: sums, means, variances, extrema and logical ones.

What a reduction does to its operand (conversions, axes, shapes) depends on its aval and the options alone: it is
worked out once and kept as a plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from xtrace.core import config, dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.axes import axes_size, split_axes
from xtrace.core.composite import composite
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.records import Record
from xtrace.core.trace import Tracer
from xtrace.lax import comparisons, selection, shapes
from xtrace.lax import elementwise as el
from xtrace.lax import reductions as lax_reductions
from xtrace.lax.subgradients import sqrt_of_sum
from xtrace.numpy import promotion
from xtrace.numpy.arguments import canonical_axes, canonical_axis, common_shape
from xtrace.numpy.dtypes import canonical

_enable_x64 = config.enable_x64.state
_NARROW_FLOATS = (dtypes.float16, dtypes.bfloat16)


class Reduction(NamedTuple):
    """A reduction by one primitive: its name in numpy, and what it asks of its operand."""

    name: str
    primitive: Primitive
    params: tuple[tuple[str, Any], ...]
    combine: Any  # with `initial`
    identity: Any  # dtype -> what masked elements become; None: there is none that users could mean
    upcasts: bool = False  # computes float16 and bfloat16 in float32
    promotes: bool = False  # bool and narrow integers become the default integers
    logical: bool = False  # operands become bool
    across: str = ""  # the collective that reduces over named axes; without one, elements' results are gathered


class _Plan(Record):
    __slots__ = ("dtype", "axes", "names", "params", "back", "keep")

    dtype: Any  # to convert the operand to, or None
    axes: tuple[int, ...]
    names: tuple[Any, ...]  # of mapped axes to reduce over as well
    params: dict[str, Any]
    back: Any  # to convert the result to, or None
    keep: dict[str, Any] | None  # parameters of broadcast_in_dim that give reduced dimensions size 1


_plans: dict[Any, _Plan] = {}


def operand(name: str, x: Any) -> Any:
    """An argument of the function `name`: an array, a tracer, or a number, which stays one under a trace."""
    if not hasattr(x, "aval"):
        promotion.check_arraylike(name, x)
        x = promotion.operand(x)
    return x


def reduction_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions that an `axis` argument means: all for None. Names of mapped axes have been taken out."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, Sequence):
        axes = tuple([canonical_axis(a, ndim) for a in axis])
        if len(set(axes)) != len(axes):
            raise ValueError(f"duplicate value in 'axis': {tuple(axis)}")
        return axes
    return canonical_axes(axis, ndim)


def refuse_out(name: str, out: Any) -> None:
    if out is not None:
        raise NotImplementedError(
            f"The 'out' argument to numpy.{name} is not supported: arrays can't be written to. Use the returned array."
        )


def kept(shape: tuple[int, ...], axes: Sequence[int]) -> dict[str, Any] | None:
    """Parameters of the broadcast_in_dim that gives the reduced dimensions back with size 1."""
    if not axes:
        return None
    wide = tuple([1 if i in axes else d for i, d in enumerate(shape)])
    return {
        "shape": wide,
        "broadcast_dimensions": tuple([i for i in range(len(shape)) if i not in axes]),
        "sharding": None,
    }


def default_integer(dtype: Any) -> Any:
    """What sums of bool and narrow integers are computed in: the default integer of the same sign."""
    if dtype == dtypes.bool_:
        return dtypes.canonicalize(dtypes.int64)
    kind = dtypes.kind(dtype)
    default = dtypes.canonicalize(dtypes.int64 if kind == "i" else np.dtype("uint64"))
    return default if kind in "iu" and dtype.itemsize < default.itemsize else dtype


def _make_plan(spec: Reduction, aval: ShapedArray, axis: Any, dtype: Any, keepdims: bool, promote: bool) -> _Plan:
    names, axis = split_axes(axis)
    axes = reduction_axes(axis, aval.ndim)
    back = None
    if dtype is not None:
        used = dtype
    elif spec.logical:
        used = dtypes.bool_
    else:
        used = default_integer(aval.dtype) if spec.promotes and (promote or aval.dtype == dtypes.bool_) else aval.dtype
        if spec.upcasts and used in _NARROW_FLOATS:
            used, back = dtypes.float32, used
    change = used if used != aval.dtype or aval.weak_type else None
    keep = kept(aval.shape, axes) if keepdims else None
    return _Plan(change, axes, names, {"axes": axes, **dict(spec.params)}, back, keep)


def check_mask(name: str, where: Any) -> None:
    """Raise ValueError unless the `where` of the function `name` is None or boolean."""
    if where is not None and shaped(where).dtype != dtypes.bool_:
        raise ValueError(f"jnp.{name}: where must be None or a boolean array; got where.dtype={shaped(where).dtype}.")


def mask(where: Any, x: Any, otherwise: Any) -> Any:
    """`x` where a boolean mask holds, `otherwise` elsewhere; the two broadcast against each other."""
    shape = common_shape((shaped(where).shape, shaped(x).shape))
    return selection.select(broadcast(where, shape), broadcast(x, shape), filled(shape, otherwise))


def broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` broadcast to `shape`, by numpy's rules."""
    old = shaped(x).shape
    if old == shape:
        return x
    missing = len(shape) - len(old)
    wide = [i for i, d in enumerate(old) if d == 1 and shape[missing + i] != 1]
    if wide:  # sizes of 1 are dropped, so that every dimension goes to one of the same size
        x = shapes.reshape(x, [d for i, d in enumerate(old) if i not in wide])
    dims = [missing + i for i in range(len(old)) if i not in wide]
    return shapes.broadcast_in_dim(x, shape, dims)


def index_dtype() -> Any:
    """The default integer type, which positions have."""
    return dtypes.canonicalize(dtypes.int64)


def filled(shape: tuple[int, ...], value: Any) -> Any:
    """An array of `shape` filled with a numpy scalar."""
    return value if not shape else shapes.broadcast_in_dim(value, shape, ())


def _of_truth_values(spec: Reduction, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """A sum or product in the dtype bool: whether any element, or every one, is true."""
    result = reduce(ANY if spec is SUM else ALL, operand(spec.name, a), axis, None, None, keepdims, None, where)
    if initial is None:
        return result
    truth = broadcast(initial_value(initial, dtypes.bool_), shaped(result).shape)
    return (el.or_p if spec is SUM else el.and_p).bind(result, truth)


def reduce(
    spec: Reduction,
    a: Any,
    axis: Any,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """A reduction as numpy's functions do it."""
    if out is not None:
        refuse_out(spec.name, out)
    if dtype is not None:
        dtype = canonical(dtype, spec.name)
        if dtype == dtypes.bool_ and spec.promotes:
            return _of_truth_values(spec, a, axis, keepdims, initial, where)
    a = operand(spec.name, a)
    if where is not None:
        check_mask(spec.name, where)
        if spec.identity is None:
            if initial is None:
                raise ValueError(
                    f"reduction operation {spec.name} does not have an identity, so to use a where mask one has to "
                    "specify 'initial'"
                )
            a = mask(where, a, initial_value(initial, shaped(a).dtype))
    aval = shaped(a)
    key = (
        spec.name,
        aval,
        axis if type(axis) is not list else tuple(axis),
        dtype,
        keepdims,
        promote_integers,
        _enable_x64.value,
    )
    try:
        plan = _plans.get(key)
    except TypeError:  # an axis that can't be hashed
        plan, key = None, None
    if plan is None:
        plan = _make_plan(spec, aval, axis, dtype, keepdims, promote_integers)
        if key is not None:
            if len(_plans) > 10_000:
                _plans.clear()
            _plans[key] = plan
    if plan.dtype is not None:
        a = shapes.convert(a, plan.dtype, False)
    if where is not None and spec.identity is not None:
        a = mask(where, a, typed(spec.identity(shaped(a).dtype), shaped(a).dtype))
        if shaped(a).shape != aval.shape:
            plan = _make_plan(spec, shaped(a), axis, dtype, keepdims, promote_integers)
    if initial is None and spec.identity is None and 0 in aval.shape:
        _check_not_empty(spec.name, aval, plan.axes)
    result = spec.primitive.bind(a, **plan.params) if plan.axes else a
    if plan.names:
        result = _across(spec, result, plan.names)
    if initial is not None:
        value = initial_value(initial, shaped(result).dtype)
        result = spec.combine(value, result) if not shaped(value).shape else result
    if plan.back is not None:
        result = shapes.convert(result, plan.back, False)
    if plan.keep is not None:
        result = shapes.broadcast_in_dim_p.bind(result, **plan.keep)
    return result


def _across(spec: Reduction, x: Any, names: tuple[Any, ...]) -> Any:
    """The reduction of what the elements of mapped axes have."""
    from xtrace.lax import collectives

    if spec.across:
        return getattr(collectives, spec.across)(x, names)
    return spec.primitive.bind(collectives.all_gather(x, names), axes=(0,), **dict(spec.params))


def typed(value: Any, dtype: Any) -> Any:
    """A constant as a numpy scalar of `dtype`."""
    return np.asarray(value).astype(dtype)[()]


def initial_value(initial: Any, dtype: Any) -> Any:
    """An `initial` argument as a scalar of `dtype`."""
    if shaped(initial).shape:
        raise ValueError(f"initial value must be a scalar. Got array of shape {shaped(initial).shape}")
    return shapes.convert(initial, dtype, False)


def _check_not_empty(name: str, aval: ShapedArray, axes: Sequence[int]) -> None:
    if 0 in [aval.shape[i] for i in axes]:  # (`any` is this module's own)
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")


_AXES = (("out_sharding", None),)
SUM = Reduction("sum", lax_reductions.reduce_sum_p, _AXES, el.add, lambda dtype: 0, True, True, across="psum")
PROD = Reduction("prod", lax_reductions.reduce_prod_p, _AXES, el.mul, lambda dtype: 1, upcasts=True, promotes=True)
MAX = Reduction("max", lax_reductions.reduce_max_p, _AXES, el.max, None, across="pmax")
MIN = Reduction("min", lax_reductions.reduce_min_p, _AXES, el.min, None, across="pmin")
ALL = Reduction("all", lax_reductions.reduce_and_p, (), None, lambda dtype: True, logical=True)
ANY = Reduction("any", lax_reductions.reduce_or_p, (), None, lambda dtype: False, logical=True)

_STATIC = ("axis", "dtype", "keepdims", "promote_integers")


@composite(static_argnames=_STATIC)
def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """Sum over axes.

    bool and narrow integers are summed as the default integers, float16 and bfloat16 in float32.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce, names of mapped axes among them; None: all dimensions.
      dtype: dtype to sum in and return.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.
      initial: scalar to begin with.
      where: boolean mask of elements to include, broadcast against `a`.
      promote_integers: whether narrow integers are widened.

    Returns:
      The reduced array.

    Raises:
      ValueError: an axis that doesn't exist or repeats, an initial that is no scalar, a where that isn't boolean.
      NotImplementedError: `out` is given.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.sum(np.arange(6).reshape(2, 3), axis=1).tolist()
    [3, 12]
    """
    return reduce(SUM, a, axis, dtype, out, keepdims, initial, where, promote_integers)


@composite(static_argnames=_STATIC)
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """Product over axes.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce, names of mapped axes among them; None: all dimensions.
      dtype: dtype to multiply in and return.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.
      initial: scalar to begin with.
      where: boolean mask of elements to include, broadcast against `a`.
      promote_integers: whether narrow integers are widened.

    Returns:
      The reduced array.

    Raises:
      ValueError: an axis that doesn't exist or repeats, an initial that is no scalar, a where that isn't boolean.
      NotImplementedError: `out` is given.

    >>> import numpy as np, xtrace as xt
    >>> int(xt.numpy.prod(np.array([2, 3, 4])))
    24
    """
    return reduce(PROD, a, axis, dtype, out, keepdims, initial, where, promote_integers)


@composite(static_argnames=("axis", "keepdims"))
def max(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Maximum over axes; NaN where there is one.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.
      initial: scalar, the least result.
      where: boolean mask of elements to include; needs `initial`.

    Returns:
      The reduced array, of the dtype of `a`.

    Raises:
      ValueError: nothing to reduce and no initial; where without initial; an axis that doesn't exist or repeats.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.max(np.array([[1, 5], [7, 2]]), axis=0).tolist()
    [7, 5]
    """
    return reduce(MAX, a, axis, None, out, keepdims, initial, where)


@composite(static_argnames=("axis", "keepdims"))
def min(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Minimum over axes; NaN where there is one.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.
      initial: scalar, the greatest result.
      where: boolean mask of elements to include; needs `initial`.

    Returns:
      The reduced array, of the dtype of `a`.

    Raises:
      ValueError: nothing to reduce and no initial; where without initial; an axis that doesn't exist or repeats.

    >>> import numpy as np, xtrace as xt
    >>> xt.numpy.min(np.array([[1, 5], [7, 2]]), axis=0).tolist()
    [1, 2]
    """
    return reduce(MIN, a, axis, None, out, keepdims, initial, where)


amax, amin = max, min


@composite(static_argnames=("axis", "keepdims"))
def minmax(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> tuple[Any, Any]:
    """(minimum, maximum) over axes. Arguments, results and errors as in `max`; `initial` may be one for each.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.
      initial: the least maximum and greatest minimum: a scalar, or one for each.
      where: boolean mask of elements to include; needs `initial`.

    Returns:
      The pair of reduced arrays, of the dtype of `a`.

    Raises:
      ValueError: nothing to reduce and no initial; where without initial; an axis that doesn't exist or repeats.

    >>> import numpy as np, xtrace as xt
    >>> [int(x) for x in xt.numpy.minmax(np.array([3, -1, 2]))]
    [-1, 3]
    """
    first, second = initial if isinstance(initial, tuple) else (initial, initial)
    return (
        reduce(MIN, a, axis, None, out, keepdims, first, where),
        reduce(MAX, a, axis, None, out, keepdims, second, where),
    )


@composite(static_argnames=("axis", "keepdims"))
def all(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Whether all elements along axes are nonzero.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.
      where: boolean mask of elements to include.

    Returns:
      A boolean array.

    >>> import numpy as np, xtrace as xt
    >>> bool(xt.numpy.all(np.array([1, 2, 0])))
    False
    """
    return reduce(ALL, a, axis, None, out, keepdims, None, where)


@composite(static_argnames=("axis", "keepdims"))
def any(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Whether any element along axes is nonzero.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.
      where: boolean mask of elements to include.

    Returns:
      A boolean array.

    >>> import numpy as np, xtrace as xt
    >>> bool(xt.numpy.any(np.array([0, 2, 0])))
    True
    """
    return reduce(ANY, a, axis, None, out, keepdims, None, where)


@composite(static_argnames=("axis", "keepdims"))
def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """Maximum minus minimum over axes ("peak to peak").

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.

    Returns:
      The reduced array, of the dtype of `a`.

    >>> import numpy as np, xtrace as xt
    >>> int(xt.numpy.ptp(np.array([3, 9, 5])))
    6
    """
    refuse_out("ptp", out)
    return el.sub(reduce(MAX, a, axis, None, None, keepdims), reduce(MIN, a, axis, None, None, keepdims))


@composite(static_argnames=("axis", "keepdims"))
def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements along axes are nonzero.

    Args:
      a: array.
      axis: axis or tuple of axes; None: all.
      keepdims: whether reduced axes stay, with size 1.

    Returns:
      An array of the default integer dtype.

    >>> import numpy as np, xtrace as xt
    >>> int(xt.numpy.count_nonzero(np.array([3, 0, 5])))
    2
    """
    a = operand("count_nonzero", a)
    return reduce(SUM, comparisons.ne(a, el.scalar_like(a, 0)), axis, dtypes.canonicalize(dtypes.int64), None, keepdims)


# -- means and variances -----------------------------------------------------------------------------------------------


def computation_dtype(dtype: Any) -> Any:
    """float32 for narrower floating types; others as they are."""
    return dtypes.float32 if dtype in _NARROW_FLOATS else dtype


def _count(shape: tuple[int, ...], axis: Any) -> int:
    if type(axis) is int:
        return shape[axis]
    names, axis = split_axes(axis)
    count = math.prod([shape[i] for i in reduction_axes(axis, len(shape))])
    return count * axes_size(names, "a reduction") if names else count


def _masked_count(a: Any, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    """How many elements a mask includes, as `dtype`."""
    shape = common_shape((shaped(where).shape, shaped(a).shape))
    ones = shapes.convert(shapes.convert(where, dtypes.canonicalize(dtypes.int64), False), dtype, False)
    return reduce(SUM, broadcast(ones, shape), axis, dtype, None, keepdims)


@composite(static_argnames=("axis", "dtype", "keepdims"))
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Arithmetic mean over axes, computed in at least float32 if no dtype is given.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      dtype: dtype of the computation and result; the default is that of `a`, and the default float for integers.
      out: not supported.
      keepdims: whether reduced axes stay, with size 1.
      where: boolean mask of elements to include.

    Returns:
      The means; NaN where there are no elements.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.mean(np.array([1, 2, 6])))
    3.0
    """
    refuse_out("mean", out)
    check_mask("mean", where)
    a = operand("mean", a)
    aval = shaped(a)
    if dtype is None:
        result = dtypes.canonicalize(dtypes.to_inexact(aval.dtype))
        used = computation_dtype(result)
    else:
        used = result = canonical(dtype, "mean")
    total = reduce(SUM, a, axis, used, None, keepdims, None, where)
    if where is None:
        count = el.scalar_like(total, _count(aval.shape, axis))
    else:
        count = _masked_count(a, axis, used, keepdims, where)
    return shapes.convert(el.div_p.bind(total, count), result, False)


@composite(static_argnames=("axis", "dtype", "ddof", "keepdims", "correction"))
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: int | float | None = None,
) -> Any:
    """Variance over axes: the mean square of the distances from the mean.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      dtype: dtype of the computation; the default is that of `a`, and the default float for integers.
      out: not supported.
      ddof: degrees of freedom to take off the number of elements that the sum of squares is divided by.
      keepdims: whether reduced axes stay, with size 1.
      where: boolean mask of elements to include.
      mean: the mean if it is known, with reduced axes of size 1.
      correction: another name of `ddof`.

    Returns:
      The variances, real; NaN where there are no degrees of freedom.

    Raises:
      ValueError: both ddof and correction; a real dtype for complex elements.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.var(np.array([1.0, 3.0])))
    1.0
    """
    return _variance("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


@composite(static_argnames=("axis", "dtype", "ddof", "keepdims", "correction"))
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: int | float | None = None,
) -> Any:
    """Standard deviation over axes: the root of the variance.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      dtype: dtype of the computation; the default is that of `a`, and the default float for integers.
      out: not supported.
      ddof: degrees of freedom to take off the number of elements that the sum of squares is divided by.
      keepdims: whether reduced axes stay, with size 1.
      where: boolean mask of elements to include.
      mean: the mean if it is known, with reduced axes of size 1.
      correction: another name of `ddof`.

    Returns:
      The standard deviations, real; NaN where there are no degrees of freedom.

    Raises:
      ValueError: both ddof and correction; a real dtype for complex elements.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.std(np.array([1.0, 5.0])))
    2.0
    """
    return sqrt_of_sum(_variance("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction))


def variance_dtypes(name: str, dtype: Any, wanted: Any) -> tuple[Any, Any]:
    """(dtype of the computation, dtype of the result) of a variance."""
    if wanted is not None:
        asked = canonical(wanted, name)
        if name == "std" and not dtypes.is_inexact(asked):
            raise ValueError(f"dtype argument to jnp.{name} must be inexact; got {asked}")
        wanted = dtypes.canonicalize(dtypes.to_inexact(asked))
        if dtypes.is_complex(dtype) and not dtypes.is_complex(wanted):
            raise ValueError(
                f"numpy.{name} of complex elements needs a complex dtype, got {wanted}: "
                "take .real first, or leave dtype out."
            )
        return computation_dtype(wanted), wanted
    dtype = dtypes.canonicalize(dtypes.to_inexact(dtype))
    return computation_dtype(dtype), dtypes.to_real(dtype)


def square_of_distance(x: Any, center: Any) -> Any:
    """|x - center|², real; `center` has the rank of `x`."""
    distance = el.sub(x, center)
    if dtypes.is_complex(shaped(distance).dtype):
        return el.real(el.mul(distance, el.conj(distance)))
    return el.square(distance)


def _variance(
    name: str,
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    ddof: Any,
    keepdims: bool,
    where: Any,
    known_mean: Any,
    correction: Any,
) -> Any:
    refuse_out(name, out)
    check_mask(name, where)
    if correction is not None:
        if ddof:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    a = operand(name, a)
    used, result = variance_dtypes(name, shaped(a).dtype, dtype)
    a = shapes.convert(a, used, False)
    if where is not None:
        a = broadcast(a, common_shape((shaped(where).shape, shaped(a).shape)))
    shape = shaped(a).shape
    if known_mean is None:
        total = reduce(SUM, a, axis, used, None, True, None, where)
        if where is None:
            count = el.scalar_like(total, _count(shape, axis))
        else:
            count = _masked_count(a, axis, used, True, where)
        center = el.div(total, count)
    else:
        center = broadcast(shapes.convert(known_mean, used, False), shape)
    squares = square_of_distance(a, center)
    total = reduce(SUM, squares, axis, shaped(squares).dtype, None, keepdims, None, where)
    if isinstance(ddof, Tracer) and not shaped(ddof).ndim:
        ddof = broadcast(shapes.convert(ddof, shaped(total).dtype, False), shaped(total).shape)
    elif where is None:
        freedom = _count(shape, axis) - statics.number(ddof, "ddof")
        if freedom <= 0:
            nothing = filled(shaped(total).shape, el.scalar_like(total, np.nan))
            return shapes.convert(nothing, result, False)
        return shapes.convert(el.div(total, el.scalar_like(total, freedom)), result, False)
    if where is None:
        count = filled(shaped(total).shape, el.scalar_like(total, _count(shape, axis)))
    else:
        count = _masked_count(a, axis, shaped(total).dtype, keepdims, where)
    return shapes.convert(divide_where_positive(total, count, ddof), result, False)


def divide_where_positive(total: Any, count: Any, ddof: Any) -> Any:
    """total / (count - ddof), NaN where that isn't positive."""
    if isinstance(ddof, Tracer):
        freedom = el.sub(count, ddof)
    else:
        freedom = el.sub(count, el.scalar_like(count, ddof)) if ddof else count
    nan = filled(shaped(total).shape, el.scalar_like(total, np.nan))
    return selection.select(comparisons.gt(freedom, el.scalar_like(freedom, 0)), el.div(total, freedom), nan)


@composite(static_argnames=("axis", "returned", "keepdims"))
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    """Weighted mean over axes.

    Args:
      a: array.
      axis: axis or tuple of axes to reduce; None: all.
      weights: array of the shape of `a`, or of the shape of its axes `axis`; None: all 1.
      returned: whether to return the sums of the weights as well.
      keepdims: whether reduced axes stay, with size 1.

    Returns:
      The averages, or (averages, sums of weights).

    Raises:
      ValueError: weights of another shape.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.numpy.average(np.array([1.0, 5.0]), weights=np.array([3, 1])))
    2.0
    """
    if weights is None:
        a = operand("average", a)
        out = mean(a, axis=axis, keepdims=keepdims)
        if not returned:
            return out
        total = el.scalar_like(out, _count(shaped(a).shape, axis))
        return out, filled(shaped(out).shape, total)
    promotion.check_arraylike("average", a, weights)
    a, weights = promotion.promote_dtypes_inexact(promotion.operand(a), promotion.operand(weights))
    shape, weights_shape = shaped(a).shape, shaped(weights).shape
    if shape != weights_shape:
        if axis is None:
            raise ValueError("Axis must be specified when shapes of a and weights differ.")
        axes = reduction_axes(axis, len(shape))
        if weights_shape != tuple([shape[i] for i in axes]):
            raise ValueError(
                "Shape of weights must be consistent with shape of a along specified axis; "
                f"got weights {weights_shape} for axis {axis} of a, of shape {shape}"
            )
        order = sorted(range(len(axes)), key=lambda i: axes[i])
        weights = shapes.broadcast_in_dim(shapes.transpose(weights, order), shape, sorted(axes))
    total = reduce(SUM, weights, axis, None, None, keepdims)
    out = el.div(reduce(SUM, el.mul(a, weights), axis, None, None, keepdims), total)
    return (out, total) if returned else out
