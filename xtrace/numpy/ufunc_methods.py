"""What the methods of ufuncs do: reduce, accumulate, at, reduceat and outer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.numpy import elementwise as ew
from xtrace.numpy import reductions as red
from xtrace.numpy.arguments import as_array, canonical_axes, canonical_axis
from xtrace.numpy.dtypes import canonical
from xtrace.numpy.promotion import check_arraylike
from xtrace.numpy.reductions import operand
from xtrace.numpy.scalars import pick
from xtrace.transforms.staging import trace_to_jaxpr

#: Ufuncs whose results don't depend on how the elements are grouped.
_ASSOCIATIVE = frozenset(
    "add multiply maximum minimum bitwise_and bitwise_or bitwise_xor logaddexp logaddexp2 logical_and logical_or "
    "logical_xor".split()
)


def _result_dtype(u: Any, *args: Any) -> Any:
    """The dtype of the function's result for elements like those of these arrays."""
    avals = [ShapedArray((), *dtypes.of_value(x)) for x in args]
    return trace_to_jaxpr(lambda *xs: [u._func(*xs)], avals).outvars[0].aval.dtype


def _built_in(u: Any) -> bool:
    from xtrace.numpy import ufunc_objects

    return u.__name__ in _ASSOCIATIVE and getattr(ufunc_objects, u.__name__, None) is u


def reduce(u: Any, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """`u.reduce`, of arguments as the user gave them."""
    name = f"{u.__name__}.reduce"
    check_arraylike(name, a, *[x for x in (initial, where) if x is not None])
    if where is not None:
        if u.identity is None and initial is None:
            raise ValueError(
                f"reduction operation {u.__name__!r} does not have an identity, so to use a where mask one has to "
                "specify 'initial'."
            )
        if dtypes.of_value(where)[0] != dtypes.bool_:
            raise ValueError(f"where argument must have dtype=bool; got dtype={dtypes.of_value(where)[0]}")
    dtype = None if dtype is None else canonical(dtype, name)
    way = u._ways["reduce"]
    if way is not None:
        return way(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
    ndim = shaped(operand(name, a)).ndim
    axes = None if axis is None else canonical_axes(axis, ndim)
    return _reduce_by_loop(a, initial, where, u=u, axes=axes, dtype=dtype, keepdims=bool(keepdims))


@composite(static_argnames=("u", "axes", "dtype", "keepdims"))
def _reduce_by_loop(a: Any, initial: Any, where: Any, *, u: Any, axes: Any, dtype: Any, keepdims: bool) -> Any:
    a = as_array(u.__name__, a)
    shape = shaped(a).shape
    axes = tuple(range(len(shape))) if axes is None else axes
    initial = u.identity if initial is None else initial
    dtype = _result_dtype(u, a, a) if dtype is None else dtype
    kept = tuple([d for i, d in enumerate(shape) if i not in axes])
    length = math.prod([shape[i] for i in axes])

    def lined_up(x: Any) -> Any:
        """The reduced axes as one, in front."""
        order = [*axes, *[i for i in range(len(shape)) if i not in axes]]
        return lax.reshape(lax.transpose(x, order), (length, *kept))

    if initial is None and not length:
        raise ValueError(f"zero-size array to reduction operation {u.__name__} which has no identity")
    rows = lined_up(lax.convert_element_type(a, dtype))
    mask = None if where is None else lined_up(red.broadcast(where, shape))
    start = 0
    if initial is None:
        out, start = lax.index_in_dim(rows, 0, keepdims=False), 1
    else:
        out = red.broadcast(lax.convert_element_type(initial, dtype), kept)

    def step(i: Any, out: Any) -> Any:
        new = lax.convert_element_type(u(out, lax.dynamic_index_in_dim(rows, i, keepdims=False)), dtype)
        return new if mask is None else lax.select(lax.dynamic_index_in_dim(mask, i, keepdims=False), new, out)

    if length > start:
        out = lax.fori_loop(start, length, step, out)
    return lax.reshape(out, [1 if i in axes else d for i, d in enumerate(shape)]) if keepdims else out


def accumulate(u: Any, a: Any, axis: Any, dtype: Any) -> Any:
    """`u.accumulate`, of arguments as the user gave them."""
    name = f"{u.__name__}.accumulate"
    a = operand(name, a)
    if axis is None or isinstance(axis, tuple):
        raise ValueError(f"accumulate does not allow multiple axes; got axis={axis}")
    axis = canonical_axis(axis, shaped(a).ndim)
    dtype = None if dtype is None else canonical(dtype, name)
    way = u._ways["accumulate"]
    if way is not None:
        return way(a, axis=axis, dtype=dtype)
    return _accumulate(a, u=u, axis=axis, dtype=dtype)


@composite(static_argnames=("u", "axis", "dtype"))
def _accumulate(a: Any, *, u: Any, axis: int, dtype: Any) -> Any:
    dtype = _result_dtype(u, a, a) if dtype is None else dtype
    a = lax.convert_element_type(a, dtype)
    if not shaped(a).size:
        return a

    def combine(x: Any, y: Any) -> Any:
        return lax.convert_element_type(u(x, y), dtype)

    if _built_in(u):
        return lax.associative_scan(combine, a, axis=axis)
    order = [axis, *[i for i in range(shaped(a).ndim) if i != axis]]
    rows = lax.transpose(a, order)

    def step(carried: Any, row: Any) -> Any:
        out = combine(carried, row)
        return out, out

    first = lax.slice_in_dim(rows, 0, 1)
    _, rest = lax.scan(step, lax.squeeze(first, (0,)), lax.slice_in_dim(rows, 1, None))
    return lax.transpose(lax.concatenate([first, rest], 0), [order.index(i) for i in range(len(order))])


# -- at --------------------------------------------------------------------------------------------------------------


def at(u: Any, a: Any, indices: Any, b: Any) -> Any:
    """`u.at` on a copy of `a`."""
    name = f"{u.__name__}.at"
    operands = (a,) if b is None else (a, b)
    if len(operands) != u.nin:
        raise ValueError(f"{name} takes {u.nin - 1} operands beside the array and the indices, got {len(operands) - 1}")
    a, *rest = [as_array(name, x) for x in operands]
    way = u._ways["at"]
    if way is not None and rest:
        return way(a, indices, rest[0])
    return _at_by_loop(u, a, indices, rest)


def update(method: str, a: Any, indices: Any, b: Any) -> Any:
    """`a.at[indices].METHOD(b)`; of booleans as numbers."""
    dtype = shaped(a).dtype
    if dtypes.is_bool(dtype):
        numbers = (lax.convert_element_type(x, np.int32) for x in (a, b))
        return lax.convert_element_type(update(method, next(numbers), indices, next(numbers)), dtype)
    return getattr(a.at[indices], method)(b)


def _at_by_loop(u: Any, a: Any, indices: Any, rest: list[Any]) -> Any:
    """One place after the other: the same one may come several times."""
    dtype = _result_dtype(u, a, *rest)
    a, *rest = [lax.convert_element_type(x, dtype) for x in (a, *rest)]
    given = indices if isinstance(indices, tuple) else (indices,)
    places = [i if isinstance(i, slice) or i is None or i is Ellipsis else as_array(u.__name__, i) for i in given]
    arrays = [i for i in places if hasattr(i, "aval")]
    shape = lax.broadcast_shapes(*[shaped(i).shape for i in arrays]) if arrays else ()
    if not shape or any([dtypes.is_bool(shaped(i).dtype) for i in arrays]):
        return a.at[indices].set(u(a[indices], *rest))
    count = math.prod(shape)
    flat = [lax.reshape(red.broadcast(i, shape), (count,)) if hasattr(i, "aval") else i for i in places]

    def place(k: Any) -> tuple[Any, ...]:
        return tuple([lax.dynamic_index_in_dim(i, k, keepdims=False) if hasattr(i, "aval") else i for i in flat])

    window = shaped(a[place(0)]).shape if count else ()
    rest = [lax.reshape(red.broadcast(x, (*shape, *window)), (count, *window)) for x in rest]

    def step(k: Any, a: Any) -> Any:
        there = place(k)
        return a.at[there].set(u(a[there], *[lax.dynamic_index_in_dim(x, k, keepdims=False) for x in rest]))

    return lax.fori_loop(0, count, step, a) if count else a


# -- reduceat and outer ----------------------------------------------------------------------------------------------


def reduceat(u: Any, a: Any, indices: Any, axis: Any, dtype: Any) -> Any:
    """`u.reduceat`, of arguments as the user gave them."""
    name = f"{u.__name__}.reduceat"
    a = operand(name, a)
    indices = np.asarray(indices) if isinstance(indices, (list, tuple)) else operand(name, indices)
    if not shaped(a).ndim:
        raise ValueError("reduceat: a must have 1 or more dimension, got a.shape=()")
    if shaped(indices).ndim != 1:
        raise ValueError(f"reduceat: indices must be one-dimensional, got indices.shape={shaped(indices).shape}")
    if axis is None or isinstance(axis, (tuple, list)):
        raise ValueError(f"reduceat requires a single integer axis; got axis={axis}")
    axis = canonical_axis(axis, shaped(a).ndim)
    dtype = None if dtype is None else canonical(dtype, name)
    way = u._ways["reduceat"]
    if way is not None:
        return way(a, indices, axis=axis, dtype=dtype)
    return _reduceat(a, indices, u=u, axis=axis, dtype=dtype)


@composite(static_argnames=("u", "axis", "dtype"))
def _reduceat(a: Any, indices: Any, *, u: Any, axis: int, dtype: Any) -> Any:
    from xtrace.numpy.taking import take

    if dtype is not None:
        a = lax.convert_element_type(a, dtype)
    shape = shaped(a).shape
    size, parts = shape[axis], shaped(indices).shape[0]
    starts = as_array(u.__name__, indices)
    out = take(a, starts, axis=axis)
    if not parts:
        return out
    ends = lax.concatenate([lax.slice_in_dim(starts, 1, None), lax.full((1,), size, shaped(starts).dtype)], 0)
    across = [parts if i == axis else 1 for i in range(len(shape))]
    starts, ends = lax.reshape(starts, across), lax.reshape(ends, across)

    def step(i: Any, out: Any) -> Any:
        inside = ew.bitwise_and(ew.greater(i, starts), ew.less(i, ends))
        row = lax.dynamic_index_in_dim(a, i, axis)
        return pick(inside, lax.convert_element_type(u(out, row), shaped(out).dtype), out)

    return lax.fori_loop(0, size, step, out)


@composite(static_argnames=("u",))
def _outer(a: Any, b: Any, *, u: Any) -> Any:
    left, right = shaped(a).shape, shaped(b).shape
    return u(lax.reshape(a, (*left, *[1] * len(right))), lax.reshape(b, (*[1] * len(left), *right)))


def outer(u: Any, a: Any, b: Any) -> Any:
    """`u.outer`."""
    check_arraylike(f"{u.__name__}.outer", a, b)
    return _outer(as_array(u.__name__, a), as_array(u.__name__, b), u=u)


def _of_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction that takes a dtype to compute in."""

    def reduce(a: Any, *, dtype: Any, **options: Any) -> Any:
        return function(a if dtype is None else lax.convert_element_type(a, dtype), **options)

    return reduce


reduce_max = _of_dtype(red.max)
reduce_min = _of_dtype(red.min)


# -- reductions that numpy has no function for -----------------------------------------------------------------------


def _reduction(core: Callable[..., Any], combine: str, identity: Any) -> Callable[..., Any]:
    """A reduction from `core(x, axes)`: with a mask (`identity` stands for what it leaves out) and an initial value."""

    @composite(static_argnames=("axis", "dtype", "keepdims"))
    def reduce(
        a: Any, initial: Any = None, where: Any = None, *, axis: Any = None, dtype: Any = None, keepdims: bool = False
    ) -> Any:
        from xtrace import numpy as xnp

        a = as_array(combine, a)
        if combine.startswith("logical"):
            a = xnp.not_equal(a, 0) if shaped(a).dtype != dtypes.bool_ else a
        elif dtype is not None:
            a = lax.convert_element_type(a, dtype)
        elif combine.startswith("logaddexp"):
            a = lax.convert_element_type(a, dtypes.canonicalize(dtypes.to_inexact(shaped(a).dtype)))
        if where is not None:
            red.check_mask(f"{combine}.reduce", where)
            a = red.mask(where, a, np.asarray(identity).astype(shaped(a).dtype)[()])
        shape = shaped(a).shape
        axes = red.reduction_axes(axis, len(shape))
        out = core(a, axes)
        if initial is not None:
            out = getattr(xnp, combine)(out, lax.convert_element_type(as_array(combine, initial), shaped(out).dtype))
        if dtype is not None and shaped(out).dtype != dtype:
            out = lax.convert_element_type(out, dtype)
        return lax.expand_dims(out, axes) if keepdims else out

    return reduce


def _log_sum(base: float) -> Callable[..., Any]:
    def core(x: Any, axes: tuple[int, ...]) -> Any:
        from xtrace.nn import logsumexp

        scale = np.asarray(math.log(base), shaped(x).dtype)[()]
        return logsumexp(x, axes) if base == math.e else lax.div(logsumexp(lax.mul(x, scale), axes), scale)

    return core


reduce_and = _reduction(lax.reduce_and, "bitwise_and", -1)
reduce_or = _reduction(lax.reduce_or, "bitwise_or", 0)
reduce_xor = _reduction(lax.reduce_xor, "bitwise_xor", 0)
reduce_all = _reduction(lax.reduce_and, "logical_and", True)
reduce_any = _reduction(lax.reduce_or, "logical_or", False)
reduce_parity = _reduction(lax.reduce_xor, "logical_xor", False)
reduce_logaddexp = _reduction(_log_sum(math.e), "logaddexp", -math.inf)
reduce_logaddexp2 = _reduction(_log_sum(2.0), "logaddexp2", -math.inf)
