"""Scatter: updates of an array at positions given by another array: set, add, sub, mul, min, max, apply."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xtrace.core import dtypes, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.trace import use_trace
from xtrace.lax import elementwise as _el
from xtrace.lax import gathers, shapes
from xtrace.lax.gathers import GatherDimensionNumbers, GatherScatterMode, check_batching, check_dims, check_indices, up
from xtrace.transforms import batching, zeros
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.staging import trace_to_jaxpr
from xtrace.transforms.zeros import UndefinedPrimal, Zero


class ScatterDimensionNumbers(NamedTuple):
    """How the dimensions of scatter's operand, indices and updates belong together.

    Attributes:
      update_window_dims: dimensions of updates that run over the slices, in order.
      inserted_window_dims: dimensions of operand that updates lack; slices have size 1 there.
      scatter_dims_to_operand_dims: the dimension of operand that each component of an index vector counts along.
      operand_batching_dims: dimensions of operand that run in step with those of the indices.
      scatter_indices_batching_dims: the dimensions of the indices that operand_batching_dims run in step with.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


# -- abstract evaluation -----------------------------------------------------------------------------------------


def _scatter_aval(
    x: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **params: Any,
) -> ShapedArray:
    window, inserted, to_operand, batch, batch_indices = dimension_numbers
    check_indices("scatter", indices)
    rank = indices.ndim - 1 + len(window)
    if updates.ndim != rank:
        raise TypeError(f"Updates tensor must be of rank {rank}; got {updates.ndim}.")
    check_dims("scatter", "update_window_dims", window, updates.ndim, True)
    check_dims("scatter", "inserted_window_dims", inserted, x.ndim, True)
    check_dims("scatter", "operand_batching_dims", batch, x.ndim, True)
    check_dims("scatter", "scatter_dims_to_operand_dims", to_operand, x.ndim)
    check_dims("scatter", "scatter_indices_batching_dims", batch_indices, indices.ndim - 1)
    check_batching("Scatter", x, indices, batch, batch_indices)
    if x.dtype != updates.dtype:
        raise TypeError(f"lax.scatter requires arguments to have the same dtypes, got {x.dtype}, {updates.dtype}.")
    if len(window) + len(inserted) + len(batch) != x.ndim:
        raise TypeError(
            f"Scatter op has window of size {len(window) + len(inserted) + len(batch)}; doesn't match operand of rank "
            f"{x.ndim}."
        )
    if len(to_operand) != indices.shape[-1]:
        raise TypeError(
            f"Scatter op has {len(to_operand)} elements in scatter_dims_to_operand_dims and the bound of dimension "
            f"index_vector_dim={indices.ndim - 1} of indices is {indices.shape[-1]}. These two numbers must be equal."
        )
    bounds = [d for i, d in enumerate(x.shape) if i not in inserted and i not in batch]
    for d, bound in zip(window, bounds):
        if updates.shape[d] > bound:
            raise TypeError(
                "Bounds of the window dimensions of updates must not exceed the bounds of the corresponding dimensions "
                f"of operand. For dimension {d}, updates bound is {updates.shape[d]}, operand bound is {bound}."
            )
    scattered = [i for i in range(updates.ndim) if i not in window]
    for d, bound in zip(scattered, indices.shape):
        if updates.shape[d] != bound:
            raise TypeError(
                "Bounds of the scatter dimensions of updates must be the same as the bounds of the corresponding "
                f"dimensions of scatter indices. For scatter dimension {d}, updates bound is {updates.shape[d]}, "
                f"indices bound is {bound}."
            )
    return x


def _numeric_scatter_aval(verb: str, kinds: str) -> Callable[..., ShapedArray]:
    def rule(x: ShapedArray, indices: ShapedArray, updates: ShapedArray, **params: Any) -> ShapedArray:
        if dtypes.kind(x.dtype) not in kinds:
            raise TypeError(f"{verb} does not accept dtype {x.dtype}: it needs numbers that have the operation")
        return _scatter_aval(x, indices, updates, **params)

    return rule


scatter_p = Primitive("scatter", _scatter_aval)
scatter_add_p = Primitive("scatter-add", _numeric_scatter_aval("scatter_add", "iufc0"))
scatter_sub_p = Primitive("scatter-sub", _numeric_scatter_aval("scatter_sub", "iufc0"))
scatter_mul_p = Primitive("scatter-mul", _numeric_scatter_aval("scatter_mul", "iufc"))
scatter_min_p = Primitive("scatter-min", _numeric_scatter_aval("scatter_min", "biufc"))
scatter_max_p = Primitive("scatter-max", _numeric_scatter_aval("scatter_max", "biufc"))
for _p in (scatter_p, scatter_add_p, scatter_sub_p, scatter_mul_p, scatter_min_p, scatter_max_p):
    _p.hidden_params = frozenset(["update_jaxpr", "update_consts"])

# -- functions ---------------------------------------------------------------------------------------------------


def _bind(
    primitive: Primitive,
    operands: tuple[Any, Any, Any],
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: Any,
    unique_indices: Any,
    mode: Any,
    update_jaxpr: Any,
) -> Any:
    return primitive.bind(
        *operands,
        dimension_numbers=gathers.int_tuples(dimension_numbers),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode),
        update_jaxpr=update_jaxpr,
        update_consts=(),
    )


def _function(primitive: Primitive, name: str, summary: str, example: str) -> Callable[..., Any]:
    def function(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Any:
        operands = (operand, scatter_indices, updates)
        return _bind(primitive, operands, dimension_numbers, indices_are_sorted, unique_indices, mode, None)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{summary}

    Args:
      operand: an array.
      scatter_indices: an integer array; its last dimension holds the index vectors.
      updates: an array of operand's dtype: for each index vector, a slice.
      dimension_numbers: how dimensions of operand, scatter_indices and updates belong together.
      indices_are_sorted: a promise that the index vectors are in ascending order.
      unique_indices: a promise that no element is updated twice.
      mode: what happens out of bounds, a GatherScatterMode or its name; "drop" by default.

    Returns:
      The updated array, of operand's shape and dtype.

    Raises:
      TypeError, ValueError: the numbers don't fit the arrays.

    Example:
      >>> import xtrace as xt
      >>> elements = xt.lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> indices, updates = xt.numpy.array([[2], [0]]), xt.numpy.array([30, 10])
      >>> xt.lax.{name}(xt.numpy.array([1, 2, 3]), indices, updates, elements).tolist()
      {example}
    """
    return function


scatter = _function(
    scatter_p,
    "scatter",
    "`operand` with slices at the given positions replaced by updates; which one wins where several meet is undefined.",
    "[10, 2, 30]",
)
scatter_add = _function(
    scatter_add_p, "scatter_add", "`operand` with updates added at the given positions.", "[11, 2, 33]"
)
scatter_sub = _function(
    scatter_sub_p, "scatter_sub", "`operand` with updates subtracted at the given positions.", "[-9, 2, -27]"
)
scatter_mul = _function(
    scatter_mul_p, "scatter_mul", "`operand` multiplied by updates at the given positions.", "[10, 2, 90]"
)
scatter_min = _function(
    scatter_min_p, "scatter_min", "The minimum of `operand` and updates at the given positions.", "[1, 2, 3]"
)
scatter_max = _function(
    scatter_max_p, "scatter_max", "The maximum of `operand` and updates at the given positions.", "[10, 2, 30]"
)


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """`operand` with a scalar function applied to the elements at the given positions.

    Args:
      operand: an array.
      scatter_indices: an integer array; its last dimension holds the index vectors. func is applied as often as an
        element is named.
      func: a function of one scalar.
      dimension_numbers: how dimensions of operand and scatter_indices belong together.
      update_shape: the shape that updates would have.
      indices_are_sorted, unique_indices: promises, as in `scatter`. Derivatives need unique_indices.
      mode: what happens out of bounds, a GatherScatterMode or its name; "drop" by default.

    Returns:
      The updated array.

    Raises:
      TypeError: `func` returns no scalar of operand's dtype.

    Example:
      >>> import xtrace as xt
      >>> elements = xt.lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> x, indices = xt.numpy.array([1, 2, 3]), xt.numpy.array([[1]])
      >>> xt.lax.scatter_apply(x, indices, xt.lax.neg, elements, update_shape=(1,)).tolist()
      [1, -2, 3]
    """
    statics.check_callable("scatter_apply: func", func)
    x = shaped(operand)
    scalar = ShapedArray((), x.dtype, x.weak_type)

    def element(a: Any) -> list[Any]:
        out = func(a)
        found = shaped(out)
        if found.shape or found.dtype != x.dtype:
            raise TypeError(
                f"scatter_apply: func must return a scalar of operand's dtype {x.dtype}, got "
                f"{found.str_short(short_dtypes=False)}"
            )
        return [out]

    with use_trace(None):
        jaxpr = trace_to_jaxpr(element, [scalar])
    updates = zeros.instantiate(Zero(ShapedArray(shapes.canonical_shape(update_shape), x.dtype)))
    operands = (operand, scatter_indices, updates)
    return _bind(scatter_p, operands, dimension_numbers, indices_are_sorted, unique_indices, mode, jaxpr)


# -- the gather that reads what a scatter writes ---------------------------------------------------------------------


def gather_like(
    x: Any, indices: Any, updates_shape: tuple[int, ...], params: dict[str, Any], fill_value: Any = 0
) -> Any:
    """The elements of `x` at the positions that a scatter with `params` updates, in the shape of its updates."""
    window, inserted, to_operand, batch, batch_indices = params["dimension_numbers"]
    numbers = GatherDimensionNumbers(window, inserted, to_operand, batch, batch_indices)
    sizes = iter([updates_shape[d] for d in window])
    rank = shaped(x).ndim
    slice_sizes = tuple([1 if d in inserted or d in batch else next(sizes) for d in range(rank)])
    mode = params["mode"]
    return gathers.gather_p.bind(
        x,
        indices,
        dimension_numbers=numbers,
        slice_sizes=slice_sizes,
        unique_indices=params["unique_indices"],
        indices_are_sorted=params["indices_are_sorted"],
        mode=mode,
        fill_value=fill_value if mode is GatherScatterMode.FILL_OR_DROP else None,
    )


# -- derivatives -------------------------------------------------------------------------------------------------


def _linear_jvp(primitive: Primitive) -> Callable[..., Any]:
    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        x, indices, updates = primals
        out = primitive.bind(x, indices, updates, **params)
        t, _, tu = tangents
        if type(t) is Zero and type(tu) is Zero:
            return out, zeros.zero_tangent(out)
        return out, primitive.bind(zeros.instantiate(t), indices, zeros.instantiate(tu), **params)

    return rule


def _mul_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    x, indices, updates = primals
    out = scatter_mul_p.bind(x, indices, updates, **params)
    t, _, tu = tangents
    total = None if type(t) is Zero else scatter_mul_p.bind(t, indices, updates, **params)
    if type(tu) is not Zero:
        if not params["unique_indices"]:
            raise NotImplementedError(
                "scatter_mul gradients are only implemented if `unique_indices=True`: pass it where no element is "
                "multiplied twice, e.g. x.at[idx].multiply(y, unique_indices=True)"
            )
        zero = zeros.instantiate(Zero(shaped(x).strong()))
        term = _el.mul(x, scatter_add_p.bind(zero, indices, tu, **params))
        total = term if total is None else _el.add(total, term)
    return out, zeros.zero_tangent(out) if total is None else total


def _extremal_jvp(primitive: Primitive) -> Callable[..., Any]:
    """Of scatter_min and scatter_max: operand and updates that equal the result share its tangent evenly."""

    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        from xtrace.lax import comparisons

        x, indices, updates = primals
        out = primitive.bind(x, indices, updates, **params)
        t, _, tu = tangents
        if type(t) is Zero and type(tu) is Zero:
            return out, zeros.zero_tangent(out)
        dtype, shape = shaped(x).dtype, shaped(updates).shape
        hits = shapes.convert(comparisons.eq(updates, gather_like(out, indices, shape, params)), dtype, False)
        kept = shapes.convert(comparisons.eq(x, out), dtype, False)
        winners = scatter_add_p.bind(kept, indices, hits, **params)
        total = None
        if type(t) is not Zero:
            total = _el.mul(t, _el.div(kept, winners))
        if type(tu) is not Zero:
            share = _el.div(hits, gather_like(winners, indices, shape, params, 1))
            base = zeros.instantiate(Zero(shaped(x).strong())) if total is None else total
            total = scatter_add_p.bind(base, indices, _el.mul(tu, share), **params)
        return out, total

    return rule


def _scatter_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    x, indices, updates = primals
    out = scatter_p.bind(x, indices, updates, **params)
    t, _, tu = tangents
    if params["update_jaxpr"] is not None:
        return out, _apply_tangent(x, indices, shaped(updates).shape, t, params, out)
    if type(t) is Zero and type(tu) is Zero:
        return out, zeros.zero_tangent(out)
    t = zeros.instantiate(t)
    if params["unique_indices"] or type(tu) is Zero:
        return out, scatter_p.bind(t, indices, zeros.instantiate(tu), **params)
    # Where several updates meet, one wins, which one we see by scattering numbers of updates the same way.
    from xtrace.lax import comparisons, creation

    shape = shaped(updates).shape
    numbers = shapes.reshape(creation.iota(np.uint32, math.prod(shape)), shape)
    none = shapes.full(shaped(x).shape, np.uint32(math.prod(shape)))
    winners = scatter_p.bind(none, indices, numbers, **params)
    won = comparisons.eq(numbers, gather_like(winners, indices, shape, params))
    cleared = scatter_p.bind(t, indices, zeros.instantiate(Zero(shaped(updates).strong())), **params)
    mask = shapes.convert(won, shaped(updates).dtype, False)
    return out, scatter_add_p.bind(cleared, indices, _el.mul(tu, mask), **params)


def _apply_tangent(x: Any, indices: Any, shape: Any, t: Any, params: dict[str, Any], out: Any) -> Any:
    from xtrace.core.jaxpr import eval_jaxpr
    from xtrace.transforms.jvp import jvp_flat

    if type(t) is Zero:
        return zeros.zero_tangent(out)
    if not params["unique_indices"]:
        raise NotImplementedError(
            "scatter_apply has a derivative only if `unique_indices=True`: pass it where no element is named twice, "
            "e.g. x.at[idx].apply(f, unique_indices=True)"
        )
    jaxpr: Jaxpr = params["update_jaxpr"]
    old = gather_like(x, indices, shape, params)
    told = gather_like(t, indices, shape, params)
    # The scalar function is made of operations that map over arrays: batch it over the flat updates.
    size = math.prod(shape)

    def tangent(primal: Any, tangent: Any) -> list[Any]:
        _, (dt,) = jvp_flat(lambda v: eval_jaxpr(jaxpr, jaxpr.consts, v), [primal], [tangent])
        return [zeros.instantiate(dt)]

    (new,), (d,) = batching.batch_flat(
        tangent, MappedAxis(size), [shapes.reshape(old, (size,)), shapes.reshape(told, (size,))], [0, 0]
    )
    new = shapes.reshape(batching.move_axis(new, d, 0, size), shape)
    return scatter_p.bind(t, indices, new, **{**params, "update_jaxpr": None})


scatter_add_p.jvp = _linear_jvp(scatter_add_p)
scatter_sub_p.jvp = _linear_jvp(scatter_sub_p)
scatter_mul_p.jvp = _mul_jvp
scatter_min_p.jvp = _extremal_jvp(scatter_min_p)
scatter_max_p.jvp = _extremal_jvp(scatter_max_p)
scatter_p.jvp = _scatter_jvp

# -- transposes --------------------------------------------------------------------------------------------------


def _transpose_add(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    given = gather_like(ct, indices, shaped(updates).shape, params) if type(updates) is UndefinedPrimal else None
    return [ct if type(x) is UndefinedPrimal else None, None, given]


def _transpose_sub(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    to_x, _, given = _transpose_add(ct, x, indices, updates, **params)
    return [to_x, None, None if given is None else _el.neg(given)]


def _transpose_mul(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    return [scatter_mul_p.bind(ct, indices, updates, **params), None, None]


def _transpose_set(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    shape = shaped(updates).shape
    to_x = given = None
    if type(x) is UndefinedPrimal:
        to_x = scatter_p.bind(ct, indices, zeros.instantiate(Zero(shaped(updates).strong())), **params)
    if type(updates) is UndefinedPrimal:
        if not params["unique_indices"]:
            raise NotImplementedError("scatter transpose is only implemented where unique_indices=True")
        given = gather_like(ct, indices, shape, params)
    return [to_x, None, given]


scatter_add_p.transpose = _transpose_add
scatter_sub_p.transpose = _transpose_sub
scatter_mul_p.transpose = _transpose_mul
scatter_p.transpose = _transpose_set

# -- batching ----------------------------------------------------------------------------------------------------


def _batch(primitive: Primitive) -> Callable[..., Any]:
    def rule(axis: MappedAxis, args: Any, dims: Any, *, dimension_numbers: Any, **params: Any) -> Any:
        (x, indices, updates), (d, di, du) = args, dims
        window, inserted, to_operand, batch, batch_indices = dimension_numbers
        x = batching.move_axis(x, d, 0, axis.size)
        updates = batching.move_axis(updates, du, 0, axis.size)
        if di is None:
            numbers = ScatterDimensionNumbers((0, *up(window)), up(inserted), up(to_operand), up(batch), batch_indices)
        else:
            indices = batching.move_axis(indices, di, 0, axis.size)
            numbers = ScatterDimensionNumbers(
                up(window), up(inserted), up(to_operand), (0, *up(batch)), (0, *up(batch_indices))
            )
        return primitive.bind(x, indices, updates, dimension_numbers=numbers, **params), 0

    return rule


for _p in (scatter_p, scatter_add_p, scatter_sub_p, scatter_mul_p, scatter_min_p, scatter_max_p):
    _p.batch = _batch(_p)

__all__ = [
    "GatherScatterMode", "ScatterDimensionNumbers", "scatter", "scatter_add", "scatter_add_p", "scatter_apply",
    "scatter_max", "scatter_max_p", "scatter_min", "scatter_min_p", "scatter_mul", "scatter_mul_p", "scatter_p",
    "scatter_sub", "scatter_sub_p",
]  # fmt: skip
