"""Collectives: operations between the elements of a mapped axis, which they know by its name.

An element is what the function sees: one row of a mapped array. Each operation has an equation of its own until the
axis is batched, where it becomes array operations along that axis. Over one whole axis that is one reduction,
transposition or gather; over several axes together, or within groups of an axis, it is done the plain way: all
elements are gathered, and each computes its part (`_by_gathering`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from xtrace.core import dtypes, pytree, statics
from xtrace.core.avals import ShapedArray
from xtrace.core.axes import axes_size
from xtrace.core.axes import axis_size as _bound_size
from xtrace.core.effects import NamedAxisEffect
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.trace import Tracer
from xtrace.lax import comparisons, creation, elementwise, gathers, reductions, selection, shapes, slicing
from xtrace.transforms.batching import MappedAxis, batch_flat, move_axis
from xtrace.transforms.jvp import linear

_registry = pytree.default_registry
Groups = tuple[tuple[int, ...], ...] | None


def _collective(name: str, param: str, abstract_eval: Callable[..., ShapedArray]) -> Primitive:
    """A primitive over the axes that its parameter `param` names."""
    primitive = Primitive(name, abstract_eval)

    def effects(avals: Any, params: dict[str, Any]) -> frozenset[Any]:
        return frozenset([NamedAxisEffect(n) for n in names_of(params[param])])

    primitive.effects = effects
    return primitive


def names_of(axis_name: Any) -> tuple[Any, ...]:
    """The axis names in `axis_name`, which is one or a sequence of them."""
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def _map_leaves(bind: Callable[[Any], Any], x: Any) -> Any:
    leaves, tree = _registry.flatten(x)
    return tree.unflatten([bind(leaf) for leaf in leaves])


def _canonical_groups(groups: Sequence[Sequence[int]] | None) -> Groups:
    if groups is None:
        return None
    listed = statics.parts(groups, "axis_index_groups", "a sequence of groups of indices")
    return tuple([statics.integers(g, "axis_index_groups") for g in listed])


def _checked_groups(function: str, groups: Sequence[Sequence[int]] | None, size: int, equal: bool) -> Groups:
    """Groups of indices as tuples; ValueError unless each index of an axis of `size` is in one of them."""
    found = _canonical_groups(groups)
    if found is None:
        return None
    members = [i for g in found for i in g]
    if sorted(members) != list(range(len(members))):
        raise ValueError(f"axis_index_groups must cover all indices exactly once: {function} got {found}")
    if len(members) != size:
        raise ValueError(
            f"axis_index_groups must cover all indices exactly once: {function} got {found}, which name "
            f"{len(members)} of the {size} indices of the axis"
        )
    if equal and len({len(g) for g in found}) > 1:
        raise ValueError(f"{function} needs axis_index_groups of one size, got {found}")
    return found


def _span(function: str, axis_name: Any, groups: Sequence[Sequence[int]] | None) -> tuple[int, Groups]:
    """How many elements take part in one operation, and the checked groups."""
    size = axes_size(names_of(axis_name), function)
    checked = _checked_groups(function, groups, size, equal=True)
    return (size if checked is None else len(checked[0])), checked


# -- the general way to batch --------------------------------------------------------------------------------------


def _flat_index(names: tuple[Any, ...]) -> Any:
    """This element's index along several axes taken as one, the first name varying slowest."""
    index: Any = None
    stride = 1
    for name in reversed(names):
        i = axis_index_p.bind(axis_name=name)
        if stride > 1:
            i = elementwise.mul(i, np.int32(stride))
        index = i if index is None else elementwise.add(i, index)
        stride *= _bound_size(name, "axis_index")
    return index


def _everyone(x: Any, names: tuple[Any, ...]) -> Any:
    """The values of all elements, stacked along a new axis 0."""
    return all_gather_p.bind(
        x,
        all_gather_dimension=0,
        axis_index_groups=None,
        axis_name=names,
        axis_size=axes_size(names, "all_gather"),
        tiled=False,
    )


def _row(table: Any, index: Any) -> Any:
    """Row `index`, known at run time, of an array."""
    return slicing.dynamic_index_in_dim(table, index, 0, keepdims=False, allow_negative_indices=False)


def _taken(x: Any, indices: Any, axis: int = 0) -> Any:
    """`x` at `indices` (one-dimensional) along `axis`, which stays where it is."""
    return move_axis(gathers.index_take(x, [indices], (axis,)), 0, axis, 0)


def _my_group(x: Any, names: tuple[Any, ...], groups: Groups) -> tuple[Any, Any]:
    """The values in this element's group, stacked along axis 0, and this element's place in the group."""
    everyone, me = _everyone(x, names), _flat_index(names)
    if groups is None:
        return everyone, me
    n = sum([len(g) for g in groups])
    members, places = np.zeros((n, len(groups[0])), np.int32), np.zeros(n, np.int32)
    for group in groups:
        for place, i in enumerate(group):
            members[i], places[i] = group, place
    return _taken(everyone, _row(members, me)), _row(places, me)


def _by_gathering(compute: Callable[..., Any], axis: MappedAxis, args: Any, dims: Any, params: Any) -> tuple[Any, Any]:
    """Batch by running `compute`, which says what one element does, over the mapped axis."""
    outs, out_dims = batch_flat(lambda *xs: [compute(*xs, **params)], axis, args, dims)
    return outs[0], out_dims[0]


# -- reductions: psum, pmax, pmin ----------------------------------------------------------------------------------


def _reduced_aval(x: ShapedArray, *, axes: tuple[Any, ...], axis_index_groups: Groups) -> ShapedArray:
    return ShapedArray(x.shape, x.dtype)


def _reduction(name: str, reduce: Callable[..., Any], repeated: Callable[..., Any], neutral: Any) -> Primitive:
    """reduce: along dimensions of an array. repeated: (x, n) -> what n equal elements reduce to."""
    primitive = _collective(name, "axes", _reduced_aval)

    def batch(
        axis: MappedAxis, args: Any, dims: Any, *, axes: tuple[Any, ...], axis_index_groups: Groups
    ) -> tuple[Any, Any]:
        (x,), (d,) = args, dims
        if axis.name is None or axis.name not in axes:
            return primitive.bind(x, axes=axes, axis_index_groups=axis_index_groups), d
        if axis_index_groups is not None:
            return _by_gathering(within_group, axis, args, dims, dict(axes=axes, axis_index_groups=axis_index_groups))
        rest = tuple([n for n in axes if n != axis.name])
        out = repeated(x, axis.size) if d is None else reduce(x, (d,))
        return (primitive.bind(out, axes=rest, axis_index_groups=None) if rest else out), None

    def within_group(x: Any, *, axes: tuple[Any, ...], axis_index_groups: Any) -> Any:
        everyone, me = _everyone(x, axes), _flat_index(axes)
        n = shaped(everyone).shape[0]
        together = np.zeros((n, n), bool)
        for group in axis_index_groups:
            together[np.ix_(group, group)] = True
        mine = shapes.broadcast_in_dim(_row(together, me), shaped(everyone).shape, (0,))
        return reduce(
            selection.select(mine, everyone, shapes.full(shaped(everyone).shape, neutral(shaped(x).dtype))), (0,)
        )

    primitive.batch = batch
    return primitive


def _times(x: Any, n: int) -> Any:
    """`x` added up n times."""
    return elementwise.mul(x, shapes.convert(n, shaped(x).dtype, shaped(x).weak_type))


psum_p = _reduction("psum", reductions.reduce_sum, _times, lambda dtype: np.zeros((), dtype)[()])
pmax_p = _reduction("pmax", reductions.reduce_max, lambda x, n: x, reductions.lowest)
pmin_p = _reduction("pmin", reductions.reduce_min, lambda x, n: x, reductions.highest)

# The sum is what each element gets, so each element's cotangent counts for every element.
linear(psum_p, lambda ct, x, **params: [psum_p.bind(ct, **params)])


def _extremum_jvp(t: Any, out: Any, x: Any, **params: Any) -> Any:
    """Elements that attain the extremum share its derivative equally, as along a dimension of an array."""
    attained = shapes.convert(comparisons.eq(x, out), shaped(t).dtype, False)
    count = psum_p.bind(attained, **params)
    return psum_p.bind(elementwise.mul(t, elementwise.div(attained, count)), **params)


pmax_p.jvps = pmin_p.jvps = (_extremum_jvp,)


def _reduced_axes(function: str, axis_name: Any, groups: Any) -> tuple[tuple[Any, ...], tuple[int, ...], Groups]:
    """Named axes, positional axes and groups of a reduction."""
    axes = names_of(axis_name)
    named = tuple([a for a in axes if not isinstance(a, int)])
    positional = tuple([a for a in axes if isinstance(a, int)])
    if positional and groups is not None:
        raise ValueError(f"axis_index_groups only supported for sums over just named axes; {function} got axes {axes}")
    for name in named:
        if not isinstance(name, Hashable):
            statics.refuse("axis_name", name, "a name, or a sequence of names")
    if len(set(named)) != len(named):
        raise ValueError(f"duplicate value in 'axes' of reduction: {function} got axes {axes}")
    size = axes_size(named, function)
    return named, positional, _checked_groups(function, groups, size, equal=False)


def psum(x: Any, axis_name: Any, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Any:
    """Sum over the elements of one or several mapped axes.

    Args:
      x: array or pytree of arrays; booleans are summed as int32. Of constants the sum is computed at once: the sum of
        1 is the size of the axes, a Python int.
      axis_name: the name of the axis, or a tuple of names; a number among them is a dimension of `x`.
      axis_index_groups: sum within these groups of indices only; each index is in one of them.

    Returns:
      The sum, of the shape of `x` without the dimensions that were summed over, the same for all elements.

    Raises:
      NameError: no axis of the name is mapped here.
      ValueError: the groups don't cover the axis, or axes repeat.

    Example:
      >>> import xtrace as xt
      >>> xt.vmap(lambda x: x / xt.lax.psum(x, "i"), axis_name="i")(xt.numpy.array([1.0, 3.0])).tolist()
      [0.25, 0.75]
    """
    if axis_name in ((), []):
        return x
    named, positional, groups = _reduced_axes("psum", axis_name, axis_index_groups)
    leaves, tree = _registry.flatten(x)
    leaves = [shapes.convert_element_type(v, np.int32) if shaped(v).dtype == dtypes.bool_ else v for v in leaves]
    if not any([isinstance(v, Tracer) for v in leaves]):
        size = _group_size(named, groups)
        return tree.unflatten([_constant_sum(v, size, positional) for v in leaves])
    outs = []
    for v in leaves:
        v = reductions.reduce_sum(v, positional)
        outs.append(psum_p.bind(v, axes=named, axis_index_groups=groups) if named else v)
    return tree.unflatten(outs)


def _group_size(names: tuple[Any, ...], groups: Groups) -> Any:
    """How many elements are in this element's group: a Python int, or an array where groups differ in size."""
    if groups is None:
        return axes_size(names, "psum")
    sizes = np.zeros(sum([len(g) for g in groups]), np.int32)
    for group in groups:
        sizes[list(group)] = len(group)
    return len(groups[0]) if (sizes == sizes[0]).all() else _row(sizes, _flat_index(names))


def _constant_sum(x: Any, size: Any, positional: tuple[int, ...]) -> Any:
    if type(size) is int and type(x) in dtypes.PYTHON_SCALARS and not positional:
        return size * x
    x = reductions.reduce_sum(x, positional)
    if type(size) is int and isinstance(x, np.generic):
        return np.asarray(size * x, x.dtype)[()]
    return _times(x, size)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Any:
    """Mean over the elements of one or several mapped axes.

    Args:
      x: array or pytree of arrays.
      axis_name: the name of the axis, or a tuple of names.
      axis_index_groups: take means within these groups of indices only.

    Returns:
      The mean, of the shape of `x`.

    Raises:
      NameError: no axis of the name is mapped here.

    Example:
      >>> import xtrace as xt
      >>> xt.vmap(lambda x: x - xt.lax.pmean(x, "i"), axis_name="i")(xt.numpy.array([1.0, 3.0])).tolist()
      [-1.0, 1.0]
    """
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    n = psum(1, axis_name, axis_index_groups=axis_index_groups)
    return _map_leaves(lambda v: v / n, total)


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Any:
    """Maximum over the elements of one or several mapped axes; NaN where there is one.

    Args:
      x: array or pytree of arrays.
      axis_name: the name of the axis, or a tuple of names; a number among them is a dimension of `x`.
      axis_index_groups: within these groups of indices only; each index is in one of them.

    Returns:
      The maximum, of the shape of `x`, the same for all elements.

    Raises:
      NameError: no axis of the name is mapped here.
      ValueError: the groups don't cover the axis, or axes repeat.

    Example:
      >>> import xtrace as xt
      >>> xt.vmap(lambda x: xt.lax.pmax(x, "i"), axis_name="i")(xt.numpy.array([1, 3])).tolist()
      [3, 3]
    """
    return _extremum("pmax", pmax_p, reductions.reduce_max, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Any:
    """Minimum over the elements of one or several mapped axes; NaN where there is one.

    Args:
      x: array or pytree of arrays.
      axis_name: the name of the axis, or a tuple of names; a number among them is a dimension of `x`.
      axis_index_groups: within these groups of indices only; each index is in one of them.

    Returns:
      The minimum, of the shape of `x`, the same for all elements.

    Raises:
      NameError: no axis of the name is mapped here.
      ValueError: the groups don't cover the axis, or axes repeat.

    Example:
      >>> import xtrace as xt
      >>> xt.vmap(lambda x: xt.lax.pmin(x, "i"), axis_name="i")(xt.numpy.array([1, 3])).tolist()
      [1, 1]
    """
    return _extremum("pmin", pmin_p, reductions.reduce_min, x, axis_name, axis_index_groups)


def _extremum(function: str, primitive: Primitive, reduce: Any, x: Any, axis_name: Any, groups: Any) -> Any:
    if axis_name in ((), []):
        return x
    named, positional, groups = _reduced_axes(function, axis_name, groups)

    def bind(v: Any) -> Any:
        v = reduce(v, positional)
        return primitive.bind(v, axes=named, axis_index_groups=groups) if named else v

    return _map_leaves(bind, x)


# -- axis_index, axis_size -----------------------------------------------------------------------------------------


axis_index_p = _collective("axis_index", "axis_name", lambda *, axis_name: ShapedArray((), np.dtype(np.int32)))
axis_index_p.batch = lambda axis, args, dims, *, axis_name: (creation.iota(np.int32, axis.size), 0)


def axis_index(axis_name: Any) -> Any:
    """This element's index along a mapped axis.

    Args:
      axis_name: the name of the axis; or a tuple of names, whose axes are taken as one, the first varying slowest.

    Returns:
      An int32 scalar from 0 to the size of the axis less one.

    Raises:
      NameError: no axis of the name is mapped here.

    Example:
      >>> import xtrace as xt
      >>> xt.vmap(lambda x: x + xt.lax.axis_index("i"), axis_name="i")(xt.numpy.zeros(3, int)).tolist()
      [0, 1, 2]
    """
    names = names_of(axis_name)
    for name in names:
        _bound_size(name, "axis_index")
    return _flat_index(names) if names else creation.full_like(np.int32(0), 0)


def axis_size(axis_name: Any) -> int:
    """The size of a mapped axis, or of several taken together.

    Args:
      axis_name: the name, or a tuple of names.

    Returns:
      An int; of several axes the product of their sizes.

    Raises:
      NameError: no axis of the name is mapped here.

    Example:
      >>> import xtrace as xt
      >>> xt.vmap(lambda x: x * xt.lax.axis_size("i"), axis_name="i")(xt.numpy.ones(3)).tolist()
      [3.0, 3.0, 3.0]
    """
    return axes_size(names_of(axis_name), "axis_size")


# -- permutations: ppermute, pshuffle, pbroadcast ------------------------------------------------------------------


def _permute_batch(axis: MappedAxis, args: Any, dims: Any, *, axis_name: tuple[Any, ...], perm: Any) -> tuple[Any, Any]:
    (x,), (d,) = args, dims
    if axis.name is None or axis.name not in axis_name:
        return ppermute_p.bind(x, axis_name=axis_name, perm=perm), d
    if len(axis_name) > 1:
        return _by_gathering(_permute, axis, args, dims, dict(axis_name=axis_name, perm=perm))
    sources, received = _sources(perm, axis.size)
    if d is None:
        if received.all():
            return x, None
        x, d = move_axis(x, None, 0, axis.size), 0
    return _zeros_where_not(_taken(x, sources, d), received, d), d


def _sources(perm: Any, size: int) -> tuple[Any, Any]:
    """For each index of the axis: where its value comes from, and whether anything does."""
    sources, received = np.zeros(size, np.int32), np.zeros(size, bool)
    for source, destination in perm:
        sources[destination], received[destination] = source, True
    return sources, received


def _zeros_where_not(x: Any, received: Any, axis: int) -> Any:
    if isinstance(received, np.ndarray) and received.all():
        return x
    aval = shaped(x)
    which = shapes.broadcast_in_dim(received, aval.shape, () if shaped(received).ndim == 0 else (axis,))
    return selection.select(which, x, shapes.full(aval.shape, np.zeros((), aval.dtype)[()]))


def _permute(x: Any, *, axis_name: tuple[Any, ...], perm: Any) -> Any:
    everyone, me = _everyone(x, axis_name), _flat_index(axis_name)
    sources, received = _sources(perm, shaped(everyone).shape[0])
    return _zeros_where_not(_row(everyone, _row(sources, me)), _row(received, me), 0)


ppermute_p = _collective("ppermute", "axis_name", lambda x, *, axis_name, perm: x)
ppermute_p.batch = _permute_batch
linear(
    ppermute_p,
    lambda ct, x, *, axis_name, perm: [ppermute_p.bind(ct, axis_name=axis_name, perm=tuple([(d, s) for s, d in perm]))],
)


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Send values from element to element of a mapped axis.

    Args:
      x: array or pytree of arrays.
      axis_name: the name of the axis, or a tuple of names whose axes are taken as one.
      perm: list of pairs (source index, destination index); no source and no destination occurs twice.

    Returns:
      What this element was sent, of the shape of `x`; zeros where it is no destination.

    Raises:
      NameError: no axis of the name is mapped here.
      TypeError: `perm` is no list or tuple. IndexError: an index lies outside the axis.
      ValueError: a source or a destination occurs twice.

    Example:
      >>> import xtrace as xt
      >>> shift = lambda x: xt.lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)])
      >>> xt.vmap(shift, axis_name="i")(xt.numpy.array([10, 20, 30])).tolist()
      [30, 10, 20]
    """
    if not isinstance(perm, (list, tuple)):
        raise TypeError(
            f"`perm` passed to `lax.ppermute` must be a list or a tuple of pairs. Got perm of type {type(perm)}"
        )
    names = names_of(axis_name)
    size = axes_size(names, "ppermute")
    pairs = []
    for source, destination in perm:
        for i in (source, destination):
            if not -size <= i < size:
                raise IndexError(f"index {i} is out of bounds for axis {axis_name} with size {size}: ppermute {perm}")
        pairs.append((int(source) % size, int(destination) % size))
    if len({s for s, _ in pairs}) != len(pairs) or len({d for _, d in pairs}) != len(pairs):
        raise ValueError(f"ppermute sources and destinations must be unique, got {perm}.")
    return _map_leaves(lambda v: ppermute_p.bind(v, axis_name=names, perm=tuple(pairs)), x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Reorder the elements of a mapped axis: element i gets the value of element perm[i].

    Args:
      x: array or pytree of arrays.
      axis_name: the name of the axis.
      perm: a permutation of 0, …, size of the axis less one.

    Returns:
      An array or pytree like `x`.

    Raises:
      ValueError: `perm` is no permutation. NameError: no axis of the name is mapped here.

    Example:
      >>> import xtrace as xt
      >>> xt.vmap(lambda x: xt.lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(xt.numpy.array([5, 6, 7])).tolist()
      [7, 5, 6]
    """
    perm = statics.integers(perm, "perm")
    if set(perm) != set(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)))))


def _broadcast_batch(axis: MappedAxis, args: Any, dims: Any, *, axis_name: Any, source: int) -> tuple[Any, Any]:
    (x,), (d,) = args, dims
    names = names_of(axis_name)
    if axis.name is None or axis.name not in names:
        return pbroadcast_p.bind(x, axis_name=axis_name, source=source), d
    if len(names) > 1:
        params = dict(names=names, source=source)
        return _by_gathering(lambda x, names, source: _row(_everyone(x, names), source), axis, args, dims, params)
    return (x if d is None else slicing.index_in_dim(x, source, d, keepdims=False)), None


def _broadcast_transpose(ct: Any, x: Any, *, axis_name: Any, source: int) -> list[Any]:
    names = names_of(axis_name)
    total = psum_p.bind(ct, axes=names, axis_index_groups=None)
    return [_zeros_where_not(total, comparisons.eq(_flat_index(names), np.int32(source)), 0)]


pbroadcast_p = _collective("pbroadcast", "axis_name", lambda x, *, axis_name, source: x)
pbroadcast_p.batch = _broadcast_batch
linear(pbroadcast_p, _broadcast_transpose)


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """The value that one element of a mapped axis has, for all elements.

    Args:
      x: array or pytree of arrays.
      axis_name: the name of the axis.
      source: the index of the element.

    Returns:
      The value, of the shape of `x`.

    Raises:
      NameError: no axis of the name is mapped here. ValueError: `source` lies outside the axis.

    Example:
      >>> import xtrace as xt
      >>> xt.vmap(lambda x: xt.lax.pbroadcast(x, "i", 1), axis_name="i")(xt.numpy.array([5, 6, 7])).tolist()
      [6, 6, 6]
    """
    size = axes_size(names_of(axis_name), "pbroadcast")
    if not 0 <= statics.integer(source, "source") < size:
        raise ValueError(f"pbroadcast: source {source} doesn't fit in axis {axis_name}, which has {size} elements")
    axis_name = tuple(axis_name) if isinstance(axis_name, list) else axis_name
    return _map_leaves(lambda v: pbroadcast_p.bind(v, axis_name=axis_name, source=int(source)), x)


# -- pcast: values as they are -------------------------------------------------------------------------------------

_CASTS = ("reduced", "unreduced", "varying")


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """Say how a value is to be seen along mapped axes; along those of vmap that changes nothing.

    Args:
      x: array or pytree of arrays.
      axis_name: the name of the axis, or a tuple of names.
      to: "varying" (each element has a value of its own), "reduced" or "unreduced".

    Returns:
      `x` as it is.

    Raises:
      NameError: no axis of the name is mapped here. ValueError: `to` is none of these.

    Example:
      >>> import xtrace as xt
      >>> xt.vmap(lambda x: xt.lax.pcast(x, "i", to="varying"), axis_name="i")(xt.numpy.array([5, 6])).tolist()
      [5, 6]
    """
    if to not in _CASTS:
        raise ValueError(f"Got unexpected `to` value {to!r}. Allowed `to` values are: {', '.join(map(repr, _CASTS))}")
    axes_size(names_of(axis_name), "pcast")
    return x


# -- all_gather ----------------------------------------------------------------------------------------------------


def _gathered_shape(shape: tuple[int, ...], dim: int, size: int, tiled: bool) -> tuple[int, ...]:
    if tiled:
        return (*shape[:dim], shape[dim] * size, *shape[dim + 1 :])
    return (*shape[:dim], size, *shape[dim:])


def _gather_aval(x: ShapedArray, *, all_gather_dimension: int, axis_size: int, tiled: bool, **_: Any) -> ShapedArray:
    return x.update(shape=_gathered_shape(x.shape, all_gather_dimension, axis_size, tiled))


def _placed(stacked: Any, dim: int, tiled: bool) -> Any:
    """Values stacked along axis 0 as all_gather gives them: stacked or strung together along `dim`."""
    out = move_axis(stacked, 0, dim, 0)
    return shapes.collapse(out, dim, dim + 2) if tiled else out


def _gather_batch(
    axis: MappedAxis,
    args: Any,
    dims: Any,
    *,
    all_gather_dimension: int,
    axis_index_groups: Groups,
    axis_name: tuple[Any, ...],
    axis_size: int,
    tiled: bool,
) -> tuple[Any, Any]:
    (x,), (d,) = args, dims
    common = dict(axis_name=axis_name, axis_index_groups=axis_index_groups, axis_size=axis_size, tiled=tiled)
    if axis.name is None or axis.name not in axis_name:
        if d is not None:
            if d <= all_gather_dimension:
                all_gather_dimension += 1
            elif not tiled:
                d += 1
        return all_gather_p.bind(x, all_gather_dimension=all_gather_dimension, **common), d
    if axis_index_groups is not None:
        params = dict(names=axis_name, groups=axis_index_groups, dim=all_gather_dimension, tiled=tiled)
        return _by_gathering(_gather_group, axis, args, dims, params)
    place = axis_name.index(axis.name)
    major, minor = axis_name[:place], axis_name[place + 1 :]
    if minor:
        x = _everyone(x, minor)
        d = None if d is None else d + 1
    x = move_axis(x, d, 0, axis.size)
    if major:
        x = _everyone(x, major)
    if major or minor:
        leading = 1 + bool(major) + bool(minor)
        x = shapes.reshape(x, (axis_size, *shaped(x).shape[leading:]))
    return _placed(x, all_gather_dimension, tiled), None


def _gather_group(x: Any, *, names: tuple[Any, ...], groups: Groups, dim: int, tiled: bool) -> Any:
    return _placed(_my_group(x, names, groups)[0], dim, tiled)


def _gather_transpose(ct: Any, x: Any, *, all_gather_dimension: int, **params: Any) -> list[Any]:
    from xtrace.lax import exchanges

    return [exchanges.reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)]


all_gather_p = _collective("all_gather", "axis_name", _gather_aval)
all_gather_p.batch = _gather_batch
linear(all_gather_p, _gather_transpose)

_SEEN_AS = ("varying", "reduced", "invarying")


def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """The values that all elements of a mapped axis have, in one array.

    Args:
      x: array or pytree of arrays.
      axis_name: the name of the axis, or a tuple of names whose axes are taken as one.
      axis_index_groups: gather within these groups of indices only; all of one size.
      axis: where the values are stacked in the result.
      tiled: string the values together along dimension `axis` of `x` instead of stacking them along a new one.
      to: how the result is to be seen along the axis: "varying", "reduced" or "invarying". Along an axis of vmap that
        changes nothing.

    Returns:
      An array of the shape of `x` with a dimension of the axis's size at `axis`; tiled, with dimension `axis` as many
      times as long.

    Raises:
      NameError: no axis of the name is mapped here. ValueError: `to` is none of these, the groups don't cover the axis.

    Example:
      >>> import xtrace as xt
      >>> xt.vmap(lambda x: xt.lax.all_gather(x, "i"), axis_name="i")(xt.numpy.array([5, 6])).tolist()
      [[5, 6], [5, 6]]
    """
    if to not in _SEEN_AS:
        allowed = ", ".join(map(repr, _SEEN_AS))
        raise ValueError(f"Got unexpected `to` value for `lax.all_gather`: {to!r}. Allowed `to` values are: {allowed}")
    names = names_of(axis_name)
    if not names:
        return x
    size, groups = _span("all_gather", axis_name, axis_index_groups)

    def bind(v: Any) -> Any:
        dim = shapes.canonical_axis(axis, shaped(v).ndim + (not tiled))
        return all_gather_p.bind(
            v, all_gather_dimension=dim, axis_index_groups=groups, axis_name=names, axis_size=size, tiled=tiled
        )

    return _map_leaves(bind, x)
