"""Reductions over dimensions: sums, products, extrema, logical ones, positions of extrema, and any computation."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.core import config, dtypes, pytree, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, Literal, eval_jaxpr
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.trace import Tracer
from xtrace.lax import elementwise as _elementwise
from xtrace.lax import shapes as _shapes
from xtrace.transforms.batching import MappedAxis, batch_flat, move_axis
from xtrace.transforms.jvp import jvp_flat, linear
from xtrace.transforms.staging import closed_call_operands, trace_to_jaxpr
from xtrace.transforms.zeros import Zero, zero_tangent

# Letters of dtypes.kind, and what they are called together in messages.
_KINDS = {"iufc": "number", "biu": "bool or integer", "biufc": "any", "biuf": "bool or real number"}


def check_axes(name: str, x: ShapedArray, axes: Sequence[int]) -> None:
    """Raise ValueError for reduced dimensions that don't exist or repeat."""
    if len(set(statics.integers(axes, "axes"))) != len(axes):
        raise ValueError(f"duplicate value in 'axes' of reduction: {name} got axes {tuple(axes)}")
    for a in axes:
        if not 0 <= a < x.ndim:
            raise ValueError(
                f"reduction axes {tuple(axes)} contains out-of-bounds indices for {x}: "
                f"{name} takes axes from 0 to {x.ndim - 1}."
            )


def kept_shape(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, ...]:
    """`shape` without the dimensions `axes`."""
    return tuple([d for i, d in enumerate(shape) if i not in axes])


def _reduction_aval(name: str, kinds: str) -> Callable[..., ShapedArray]:
    def rule(x: ShapedArray, *, axes: tuple[int, ...], **params: Any) -> ShapedArray:
        check_axes(name, x, axes)
        if dtypes.kind(x.dtype) not in kinds:
            raise TypeError(f"{name} does not accept dtype {x.dtype}; it takes {_KINDS[kinds]} dtypes.")
        return ShapedArray(kept_shape(x.shape, axes), x.dtype, x.weak_type)

    return rule


def reduction_batch(primitive: Primitive) -> Any:
    """The batching rule of a reduction with parameter `axes`."""

    def rule(axis: MappedAxis, args: Any, dims: Any, *, axes: tuple[int, ...], **params: Any) -> Any:
        (d,) = dims
        moved = tuple([a + (a >= d) for a in axes])
        out_dim = d - sum([a < d for a in moved])
        return primitive.bind(args[0], axes=moved, **params), out_dim

    return rule


def _reduction(name: str, kinds: str) -> Primitive:
    primitive = Primitive(name, _reduction_aval(name, kinds))
    primitive.batch = reduction_batch(primitive)
    return primitive


reduce_sum_p = _reduction("reduce_sum", "iufc")


def _reduce_sum_aval(x: ShapedArray, *, axes: tuple[int, ...], **params: Any) -> ShapedArray:
    out = _any_sum_aval(x, axes=axes, **params)
    if not _allow_f16.value and x.dtype in (dtypes.float16, dtypes.bfloat16) and any(x.shape[a] != 1 for a in axes):
        raise ValueError(
            f"reduce_sum on operand {x.str_short()} is not allowed when jax_allow_f16_reductions=False; "
            "sum with dtype=float32"
        )
    return out


def _forget_sums(value: Any) -> Callable[[], None]:
    """What is known of sums was found under another value of the flag."""
    reduce_sum_p._out_avals.clear()
    reduce_sum_p.eager_cache.clear()
    return lambda: None if value else _forget_sums(True)  # type: ignore[func-returns-value,return-value]


_allow_f16 = config.allow_f16_reductions
_any_sum_aval = reduce_sum_p.abstract_eval
reduce_sum_p.abstract_eval = _reduce_sum_aval  # type: ignore[method-assign]
_allow_f16.on_update = _allow_f16.on_override = _forget_sums  # type: ignore[assignment]

reduce_prod_p = _reduction("reduce_prod", "iufc")
reduce_max_p = _reduction("reduce_max", "biufc")
reduce_min_p = _reduction("reduce_min", "biufc")
reduce_and_p = _reduction("reduce_and", "biu")
reduce_or_p = _reduction("reduce_or", "biu")
reduce_xor_p = _reduction("reduce_xor", "biu")


def reduce_sum(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """Sum over the dimensions `axes`.

    Args:
      operand: array of numbers.
      axes: the dimensions, not negative.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the dtype of `operand` without those dimensions.

    Raises:
      ValueError: a dimension that doesn't exist.
      TypeError: a dtype that the operation isn't defined for.

    >>> import numpy as np, xtrace as xt
    >>> xt.lax.reduce_sum(np.arange(6).reshape(2, 3), (1,)).tolist()
    [3, 12]
    """
    axes = statics.parts(axes, "axes", "a sequence of dimensions")
    return reduce_sum_p.bind(operand, axes=axes, out_sharding=out_sharding) if axes else operand


def reduce_prod(operand: Any, axes: Sequence[int]) -> Any:
    """Product over the dimensions `axes`.

    Args:
      operand: array of numbers.
      axes: the dimensions, not negative.

    Returns:
      An array of the dtype of `operand` without those dimensions.

    Raises:
      ValueError: a dimension that doesn't exist.
      TypeError: a dtype that the operation isn't defined for.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.lax.reduce_prod(np.array([[1, 2], [3, 4]]), (1,)).tolist()
      [2, 12]
    """
    axes = statics.parts(axes, "axes", "a sequence of dimensions")
    return reduce_prod_p.bind(operand, axes=axes, out_sharding=None) if axes else operand


def reduce_max(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """Maximum over the dimensions `axes`; NaN where there is one. Complex numbers compare by real part first.

    Args:
      operand: array of numbers.
      axes: the dimensions, not negative.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the dtype of `operand` without those dimensions.

    Raises:
      ValueError: a dimension that doesn't exist.
      TypeError: a dtype that the operation isn't defined for.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.lax.reduce_max(np.array([[1, 2], [3, 4]]), (1,)).tolist()
      [2, 4]
    """
    axes = statics.parts(axes, "axes", "a sequence of dimensions")
    return reduce_max_p.bind(operand, axes=axes, out_sharding=out_sharding) if axes else operand


def reduce_min(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """Minimum over the dimensions `axes`; NaN where there is one. Complex numbers compare by real part first.

    Args:
      operand: array of numbers.
      axes: the dimensions, not negative.
      out_sharding: how the result is laid out over devices.

    Returns:
      An array of the dtype of `operand` without those dimensions.

    Raises:
      ValueError: a dimension that doesn't exist.
      TypeError: a dtype that the operation isn't defined for.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.lax.reduce_min(np.array([[1, 2], [3, 4]]), (1,)).tolist()
      [1, 3]
    """
    axes = statics.parts(axes, "axes", "a sequence of dimensions")
    return reduce_min_p.bind(operand, axes=axes, out_sharding=out_sharding) if axes else operand


def reduce_and(operand: Any, axes: Sequence[int]) -> Any:
    """Logical (bool) or bitwise (integers) AND over the dimensions `axes`.

    Args:
      operand: array of bool or integer dtype.
      axes: the dimensions, not negative.

    Returns:
      An array of the dtype of `operand` without those dimensions.

    Raises:
      ValueError: a dimension that doesn't exist.
      TypeError: a dtype that the operation isn't defined for.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.lax.reduce_and(np.array([[True, False], [True, True]]), (1,)).tolist()
      [False, True]
    """
    axes = statics.parts(axes, "axes", "a sequence of dimensions")
    return reduce_and_p.bind(operand, axes=axes) if axes else operand


def reduce_or(operand: Any, axes: Sequence[int]) -> Any:
    """Logical (bool) or bitwise (integers) OR over the dimensions `axes`.

    Args:
      operand: array of bool or integer dtype.
      axes: the dimensions, not negative.

    Returns:
      An array of the dtype of `operand` without those dimensions.

    Raises:
      ValueError: a dimension that doesn't exist.
      TypeError: a dtype that the operation isn't defined for.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.lax.reduce_or(np.array([[1, 2], [4, 4]]), (1,)).tolist()
      [3, 4]
    """
    axes = statics.parts(axes, "axes", "a sequence of dimensions")
    return reduce_or_p.bind(operand, axes=axes) if axes else operand


def reduce_xor(operand: Any, axes: Sequence[int]) -> Any:
    """Logical (bool) or bitwise (integers) XOR over the dimensions `axes`.

    Args:
      operand: array of bool or integer dtype.
      axes: the dimensions, not negative.

    Returns:
      An array of the dtype of `operand` without those dimensions.

    Raises:
      ValueError: a dimension that doesn't exist.
      TypeError: a dtype that the operation isn't defined for.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> xt.lax.reduce_xor(np.array([[1, 3], [4, 4]]), (1,)).tolist()
      [2, 0]
    """
    axes = statics.parts(axes, "axes", "a sequence of dimensions")
    return reduce_xor_p.bind(operand, axes=axes) if axes else operand


def lowest(dtype: Any) -> Any:
    """The identity of max: the least value of a dtype (-inf, where it has one)."""
    kind = dtypes.kind(dtype)
    if kind == "b":
        return np.False_
    if kind in "iu":
        return np.asarray(int(dtypes.iinfo(dtype).min)).astype(dtype)[()]
    if kind == "c":
        return np.asarray(complex(-np.inf, -np.inf), dtype)[()]
    return _floating_limit(dtype, -1)


def highest(dtype: Any) -> Any:
    """The identity of min: the greatest value of a dtype (inf, where it has one)."""
    kind = dtypes.kind(dtype)
    if kind == "b":
        return np.True_
    if kind in "iu":
        return np.asarray(int(dtypes.iinfo(dtype).max), np.uint64 if kind == "u" else np.int64).astype(dtype)[()]
    if kind == "c":
        return np.asarray(complex(np.inf, np.inf), dtype)[()]
    return _floating_limit(dtype, 1)


def _floating_limit(dtype: Any, sign: int) -> Any:
    infinity = np.asarray(sign * np.inf, np.float32).astype(dtype)
    if np.isinf(infinity.astype(np.float32)):
        return infinity[()]
    limits = dtypes.finfo(dtype)  # a narrow type without infinities
    return np.asarray(limits.max if sign > 0 else limits.min).astype(dtype)[()]


# -- derivatives -------------------------------------------------------------------------------------------------


def _reduce_sum_transpose(ct: Any, x: Any, *, axes: tuple[int, ...], out_sharding: Any) -> list[Any]:
    kept = [i for i in range(x.aval.ndim) if i not in axes]
    return [_shapes.broadcast_in_dim(ct, x.aval.shape, kept)]


linear(reduce_sum_p, _reduce_sum_transpose)


def _extremum_jvp(t: Any, out: Any, x: Any, *, axes: tuple[int, ...], out_sharding: Any) -> Any:
    """The mean of the tangents at the positions where the extremum is: ties share evenly."""
    aval = shaped(x)
    shape = tuple([1 if i in axes else d for i, d in enumerate(aval.shape)])
    where = _elementwise.eq_p.bind(x, _shapes.reshape(out, shape))
    mask = _shapes.convert_element_type(where, aval.dtype)
    count = reduce_sum(mask, axes)
    return _elementwise.div(reduce_sum(_elementwise.mul(t, mask), axes), count)


reduce_max_p.jvps = reduce_min_p.jvps = (_extremum_jvp,)


def halving_reduce(
    operands: Sequence[Any], combine: Callable[..., Sequence[Any]], identities: Sequence[Any], axes: Sequence[int]
) -> list[Any]:
    """Reduce by combining neighbours along each dimension until one element is left: log2(n) elementwise steps.

    This is how a reduction is differentiated when nothing is known of its computation, and how a product is where
    dividing by an element would fail at zeros. `identities`: the values of an empty reduction.
    """
    from xtrace.lax import joining, slicing

    operands = list(operands)
    for axis in axes:
        while (n := shaped(operands[0]).shape[axis]) > 1:
            left = [slicing.slice_in_dim(x, 0, n - n % 2, 2, axis) for x in operands]
            right = [slicing.slice_in_dim(x, 1, n, 2, axis) for x in operands]
            combined = combine(*left, *right)
            if n % 2:
                rest = [slicing.slice_in_dim(x, n - 1, n, 1, axis) for x in operands]
                combined = [joining.concatenate([x, r], axis) for x, r in zip(combined, rest)]
            operands = list(combined)
        if n == 0:
            shape = list(shaped(operands[0]).shape)
            shape[axis] = 1
            operands = [_shapes.broadcast_in_dim(v, shape, ()) for v in identities]
    out_shape = kept_shape(shaped(operands[0]).shape, axes)
    return [_shapes.reshape(x, out_shape) for x in operands]


def _reduce_prod_jvp(primals: Any, tangents: Any, *, axes: tuple[int, ...], out_sharding: Any) -> Any:
    (x,), (t,) = primals, tangents
    out = reduce_prod_p.bind(x, axes=axes, out_sharding=out_sharding)
    if type(t) is Zero or not dtypes.is_inexact(shaped(x).dtype):
        return out, zero_tangent(out)
    one = np.asarray(1, shaped(x).dtype)[()]

    def product(x: Any) -> list[Any]:
        return halving_reduce([x], lambda a, b: [_elementwise.mul(a, b)], [one], axes)

    _, (tangent,) = jvp_flat(product, [x], [t])
    return out, tangent


reduce_prod_p.jvp = _reduce_prod_jvp

# -- positions of extrema ----------------------------------------------------------------------------------------


def _arg_aval(name: str) -> Callable[..., ShapedArray]:
    def rule(x: ShapedArray, *, axes: tuple[int, ...], index_dtype: Any) -> ShapedArray:
        (axis,) = axes
        if not 0 <= axis < x.ndim:
            raise ValueError(f"Invalid axis {axis} for operand shape {x.shape}")
        if not dtypes.is_integer(index_dtype):
            raise TypeError(f"index_dtype must be an integer type, but got {index_dtype}")
        if x.shape[axis] < 1:
            raise ValueError(
                f"argmin and argmax require non-empty reduced dimension. operand.shape={x.shape} axis={axis}"
            )
        if dtypes.kind(x.dtype) not in "biuf":
            raise TypeError(f"{name} does not accept dtype {x.dtype}; it takes {_KINDS['biuf']} dtypes.")
        return ShapedArray(kept_shape(x.shape, axes), index_dtype)

    return rule


def _arg_primitive(name: str) -> Primitive:
    primitive = Primitive(name, _arg_aval(name))
    primitive.batch = reduction_batch(primitive)
    primitive.jvps = (None,)
    return primitive


argmax_p = _arg_primitive("argmax")
argmin_p = _arg_primitive("argmin")


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Position of the maximum along a dimension: the first of equals, the first NaN if there is one.

    Args:
      operand: array of bool, integer or floating dtype, not empty along `axis`.
      axis: dimension, not negative.
      index_dtype: integer dtype of the result.

    Returns:
      An array of `index_dtype` with the shape of `operand` without `axis`.

    Raises:
      ValueError: a dimension that doesn't exist or is empty.
      TypeError: an index_dtype that is no integer type.

    >>> import numpy as np, xtrace as xt
    >>> int(xt.lax.argmax(np.array([1, 5, 5]), 0, np.int32))
    1
    """
    return argmax_p.bind(
        operand, axes=(statics.integer(axis, "axis"),), index_dtype=dtypes.canonical_dtype(index_dtype)
    )


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Position of the minimum along a dimension: the first of equals, the first NaN if there is one.

    Args:
      operand: array of bool, integer or floating dtype, not empty along `axis`.
      axis: dimension, not negative.
      index_dtype: integer dtype of the result.

    Returns:
      An array of `index_dtype` with the shape of `operand` without `axis`.

    Raises:
      ValueError: a dimension that doesn't exist or is empty.
      TypeError: an index_dtype that is no integer type.

    Example:
      >>> import numpy as np, xtrace as xt
      >>> int(xt.lax.argmin(np.array([5, 1, 1]), 0, np.int32))
      1
    """
    return argmin_p.bind(
        operand, axes=(statics.integer(axis, "axis"),), index_dtype=dtypes.canonical_dtype(index_dtype)
    )


# -- any computation ---------------------------------------------------------------------------------------------


def _reduce_avals(*avals: ShapedArray, jaxpr: Jaxpr, dimensions: tuple[int, ...], **params: Any) -> list[ShapedArray]:
    n = len(avals) // 2
    operands, inits = avals[:n], avals[n:]
    for x in operands:
        check_axes("reduce", x, dimensions)
        if x.shape != operands[0].shape:
            raise TypeError(f"reduce needs operands of one shape, got {', '.join([a.str_short() for a in operands])}")
    for x, init in zip(operands, inits):
        if init.shape:
            raise TypeError(f"reduce takes scalars as init_values, got shape {init.shape}")
        if init.dtype != x.dtype:
            raise TypeError(
                f"reduce needs init_values of the operands' dtypes, got {init.dtype} for an operand of {x.dtype}"
            )
    shape = kept_shape(operands[0].shape, dimensions)
    return [ShapedArray(shape, x.dtype, x.weak_type) for x in operands]


reduce_p = Primitive("reduce", _reduce_avals)
reduce_p.multiple_results = True
reduce_p.holds_jaxprs = True


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """Reduce over dimensions by any associative computation of two elements.

    Args:
      operands: an array or a tree of arrays of one shape.
      init_values: scalars, of the structure and dtypes of `operands`: the identity of `computation`.
      computation: function of two (trees of) scalars that returns one; it must be associative, as the order of its
        applications isn't specified.
      dimensions: dimensions to reduce.
      out_sharding: sharding of the result, if it should have a particular one.

    Returns:
      The structure of `operands`, without the dimensions.

    Raises:
      TypeError: structures, shapes or dtypes that don't go together.
      ValueError: dimensions that don't exist or repeat.

    >>> import numpy as np, xtrace as xt
    >>> float(xt.lax.reduce(np.float32([1, 2, 3]), np.float32(1), lambda a, b: a * b, (0,)))
    6.0
    """
    flat, tree = pytree.tree_flatten(operands)
    flat_inits, init_tree = pytree.tree_flatten(init_values)
    if tree != init_tree:
        raise TypeError(f"reduce needs operands and init_values of one structure, got {tree} and {init_tree}")
    if not flat:
        raise ValueError("reduce needs at least one operand")
    flat = [
        _shapes.convert(x, shaped(x).dtype, False) if shaped(x).weak_type and not shaped(v).weak_type else x
        for x, v in zip(flat, flat_inits)
    ]
    flat_inits = [
        _shapes.convert(v, shaped(x).dtype, False) if shaped(v).weak_type else v for v, x in zip(flat_inits, flat)
    ]
    axes = statics.integers(dimensions, "dimensions")
    scalars = tuple([ShapedArray((), shaped(x).dtype) for x in flat])
    jaxpr = computation_jaxpr("reduce", computation, tree, scalars)
    if len(flat) == 1 and (named := monoid(jaxpr, flat_inits[0], scalars[0].dtype)) is not None:
        if not axes:
            return tree.unflatten(flat)
        params: dict[str, Any] = (
            {} if named in (reduce_and_p, reduce_or_p, reduce_xor_p) else {"out_sharding": out_sharding}
        )
        return tree.unflatten([named.bind(flat[0], axes=axes, **params)])
    outs = reduce_p.bind(*flat, *flat_inits, jaxpr=jaxpr, dimensions=axes, out_sharding=out_sharding)
    return tree.unflatten(outs)


reduce_p.hidden_params = frozenset(["out_sharding"])

#: computation -> (structure, scalars' avals) -> its jaxpr, so that a named function is traced (and compiled) once.
_computations: weakref.WeakKeyDictionary[Any, dict[Any, Jaxpr]] = weakref.WeakKeyDictionary()


def computation_jaxpr(
    name: str,
    computation: Callable[[Any, Any], Any],
    tree: Any,
    scalars: tuple[ShapedArray, ...],
    results: tuple[ShapedArray, ...] | None = None,
) -> Jaxpr:
    """The jaxpr of a computation of two trees of scalars, checked to return a tree of the same types (or `results`).

    name: the operation that it is given to.
    """
    try:
        known = _computations.setdefault(computation, {})
    except TypeError:  # a callable that can't be referred to weakly
        known = {}
    key = (tree, scalars, results)
    found = known.get(key)
    if found is None:
        found = known[key] = _trace_computation(name, computation, tree, scalars, results or scalars)
    return found


def _trace_computation(
    name: str,
    computation: Callable[[Any, Any], Any],
    tree: Any,
    scalars: tuple[ShapedArray, ...],
    results: tuple[ShapedArray, ...],
) -> Jaxpr:
    n = len(scalars)
    statics.check_callable(f"{name}: computation", computation)

    def combine(*values: Any) -> Sequence[Any]:
        out = computation(tree.unflatten(values[:n]), tree.unflatten(values[n:]))
        outs, out_tree = pytree.tree_flatten(out)
        if out_tree != tree:
            raise _StructureError(
                f"{name} output must have the same tree structure as the operands {tree} vs. {out_tree}: the "
                "computation must return the structure that it is given"
            )
        return outs

    jaxpr, consts = closed_call_operands(trace_to_jaxpr(combine, [*scalars, *scalars]))
    if consts:
        raise NotImplementedError(
            f"{name}'s computation closes over arrays or traced values; it may use constants only."
        )
    for aval, found in zip(results, jaxpr.out_avals):
        if found.dtype != aval.dtype or found.shape:
            raise TypeError(
                f"{name}'s computation must return scalars of the operands' dtypes; "
                f"got {found.str_short()} for {aval.str_short()}"
            )
    return jaxpr


class _StructureError(TypeError, ValueError):
    """A computation returned another structure: a TypeError of reduce, a ValueError of reduce_window."""


#: The name of a computation's primitive -> (the reduction by it, its identity in a dtype).
_MONOIDS: dict[str, tuple[Primitive, Callable[[Any], Any]]] = {
    "add": (reduce_sum_p, lambda dtype: 0),
    "mul": (reduce_prod_p, lambda dtype: 1),
    "max": (reduce_max_p, lowest),
    "min": (reduce_min_p, highest),
    "and": (reduce_and_p, lambda dtype: True if dtypes.is_bool(dtype) else -1),
    "or": (reduce_or_p, lambda dtype: 0),
    "xor": (reduce_xor_p, lambda dtype: 0),
}


def monoid(jaxpr: Jaxpr, init: Any, dtype: Any) -> Primitive | None:
    """The reduction that a computation of two scalars is: one operation, with `init` known to be its identity."""
    if len(jaxpr.eqns) != 1 or isinstance(init, Tracer):
        return None
    (eqn,) = jaxpr.eqns
    found = _MONOIDS.get(eqn.primitive.name)
    if found is None or list(jaxpr.outvars) != list(eqn.outvars) or any(type(v) is Literal for v in eqn.invars):
        return None
    if set(eqn.invars) != set(jaxpr.invars):
        return None
    reduction, identity = found
    value = np.asarray(init)
    if value.shape != ():
        return None
    with np.errstate(over="ignore"):
        wanted = np.asarray(identity(dtype)).astype(dtype)
    return reduction if value.astype(dtype) == wanted else None


def _reduce_by_halves(jaxpr: Jaxpr, dimensions: tuple[int, ...], flat: Sequence[Any]) -> list[Any]:
    """The reduction as elementwise operations; the initial values are combined in at the end, once."""
    n = len(flat) // 2
    operands, inits = list(flat[:n]), list(flat[n:])

    def combine(*values: Any) -> list[Any]:
        return eval_elementwise(jaxpr, values)

    empty = any([shaped(operands[0]).shape[d] == 0 for d in dimensions])
    outs = halving_reduce(operands, combine, inits, dimensions)
    shape = shaped(outs[0]).shape
    return outs if empty else combine(*[_shapes.broadcast_in_dim(v, shape, ()) for v in inits], *outs)


def eval_elementwise(jaxpr: Jaxpr, values: Sequence[Any]) -> list[Any]:
    """A computation of scalars applied to every element of arrays of one shape: mapped over a flattened dimension."""
    shape = shaped(values[0]).shape
    size = shaped(values[0]).size
    flat = [_shapes.reshape(v, (size,)) for v in values]
    axis = MappedAxis(size)
    outs, dims = batch_flat(lambda *xs: eval_jaxpr(jaxpr, (), *xs), axis, flat, [0] * len(flat))
    return [_shapes.reshape(move_axis(o, d, 0, size), shape) for o, d in zip(outs, dims)]


def _reduce_jvp(primals: Any, tangents: Any, *, jaxpr: Jaxpr, dimensions: tuple[int, ...], **params: Any) -> Any:
    outs = reduce_p.bind(*primals, jaxpr=jaxpr, dimensions=dimensions, **params)
    _, out_tangents = jvp_flat(lambda *xs: _reduce_by_halves(jaxpr, dimensions, xs), primals, tangents)
    return outs, out_tangents


def _reduce_batch(
    axis: MappedAxis, args: Any, dims: Any, *, jaxpr: Jaxpr, dimensions: tuple[int, ...], **params: Any
) -> Any:
    n = len(args) // 2
    if any(d is not None for d in dims[n:]):
        outs, found = batch_flat(lambda *xs: _reduce_by_halves(jaxpr, dimensions, xs), axis, args, dims)
        return outs, found
    operands = [move_axis(x, d, 0, axis.size) for x, d in zip(args[:n], dims[:n])]
    outs = reduce_p.bind(*operands, *args[n:], jaxpr=jaxpr, dimensions=tuple([d + 1 for d in dimensions]), **params)
    return outs, [0] * n


reduce_p.jvp = _reduce_jvp
reduce_p.batch = _reduce_batch
