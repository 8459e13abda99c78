"""vmap: a function of one example as a function of many."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from xtrace.core import pytree, pytree_prefixes, signature, source
from xtrace.core.primitive import as_array, shaped
from xtrace.core.trace import current
from xtrace.transforms import refs, vmappable
from xtrace.transforms.batching import MappedAxis, batch_flat, move_axis, sum_axis

_flatten = pytree.default_registry.flatten


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Callable[..., Any]:
    """Map `fun` over an axis of its arguments, as one batched computation.

    Args:
      fun: a function of arrays or pytrees.
      in_axes: for each positional argument the axis to map (negative counts from the end), or None to pass it whole:
        an int, None, or a tuple of them or of pytree prefixes of the arguments. Keyword arguments map axis 0.
      out_axes: where the mapped axis appears in each result, an int, None (not mapped) or a pytree prefix.
      axis_name: a name for the axis, for collectives. axis_size: its size, where no argument is mapped.
      spmd_axis_name: the mesh axis, or axes, along which the mapped axis is laid out where the function says how its
        values are.
      sum_match: sum results over the mapped axis where out_axes is None for them.

    Returns:
      The batched function.

    Raises:
      ValueError: the mapped axes differ in size, or in_axes does not fit the arguments; each is named with its size.

    >>> import xtrace as xt, xtrace.numpy as xnp
    >>> xt.vmap(lambda x, y: x * y, in_axes=(0, None))(xnp.arange(3.0), 2.0)
    Array([0., 2., 4.], dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"vmap takes a function, got {fun!r} of type {type(fun)}")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if spmd_axis_name is not None and not isinstance(spmd_axis_name, tuple):
        spmd_axis_name = (spmd_axis_name,)
    _check_axes(in_axes, out_axes)

    @source.boundary
    @functools.wraps(fun) if hasattr(fun, "__name__") else (lambda f: f)
    def vmap_f(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments "
                f"passed to the function, but got len(in_axes)={len(in_axes)}, len(args)={len(args)}"
            )
        if vmappable.registered and vmappable.among((args, kwargs)):
            return _vmap_values(fun, args, kwargs, in_axes, out_axes, axis_name, axis_size, spmd_axis_name, sum_match)
        leaves, in_tree = _flatten((args, kwargs))
        avals, dims = _operands(fun, args, kwargs, leaves, _in_dims(in_axes, in_tree, len(leaves), args))
        has_refs = refs.has_refs(leaves)
        size = _mapped_size(fun, args, kwargs, avals, dims, axis_size)
        axis = MappedAxis(size, axis_name, spmd_axis_name)
        out_trees: list[Any] = []
        own_axes: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            a, k = in_tree.unflatten(xs)
            result = fun(*a, **k)
            if vmappable.registered and vmappable.among(result):
                result, wanted = _own_results(result, size, out_axes, sum_match)
                own_axes.append(wanted)
            outs, out_tree = _flatten(result)
            out_trees.append(out_tree)
            return signature.check_results(outs, out_tree, signature.fun_name(fun), "vmap")

        if has_refs:
            mapped = refs.MappedRefs(
                flat, leaves, dims, lambda: signature.leaf_names(fun, args, kwargs), signature.fun_name(fun)
            )
            outs, found = batch_flat(mapped, axis, mapped.leaves, dims, (fun, "vmap"))
            outs, found = mapped.results(outs, found, size)
        else:
            outs, found = batch_flat(flat, axis, leaves, dims, (fun, "vmap"))
        wanted = own_axes[0] if own_axes else _out_dims(out_axes, out_trees[0], len(outs))
        return _results(fun, outs, found, wanted, out_trees[0], size, sum_match)

    return vmap_f


def _vmap_values(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: Any,
    out_axes: Any,
    axis_name: Any,
    axis_size: int | None,
    spmd_axis_name: Any,
    sum_match: bool,
) -> Any:
    """vmap where values of registered types are mapped."""
    leaves, in_tree = pytree.tree_flatten((args, kwargs), is_leaf=vmappable.is_vmappable)
    n_kwargs = pytree.tree_structure(kwargs, is_leaf=vmappable.is_vmappable).num_leaves
    positional = pytree.tree_structure(args, is_leaf=vmappable.is_vmappable)
    specs = [*pytree_prefixes.flatten_prefix(in_axes, positional, "vmap in_axes"), *([0] * n_kwargs)]
    plain = [i for i, x in enumerate(leaves) if not vmappable.is_vmappable(x)]
    avals, dims = _operands(fun, args, kwargs, [leaves[i] for i in plain], [specs[i] for i in plain])
    for i, d in zip(plain, dims):
        specs[i] = d
    if axis_size is None and not any([d is not None for d in dims]):
        # Values of registered types that have shapes, as sparse arrays do, say how large their axes are.
        shaped_values = [(x.shape, d) for x, d in zip(leaves, specs) if isinstance(d, int) and hasattr(x, "shape")]
        axis_size = next((shape[d] for shape, d in shaped_values if -len(shape) <= d < len(shape)), None)
    size = _mapped_size(fun, args, kwargs, avals, dims, axis_size)
    out_trees: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        a, k = pytree.tree_unflatten(in_tree, xs)
        outs, out_tree = pytree.tree_flatten(fun(*a, **k), is_leaf=vmappable.is_vmappable)
        out_trees.append(out_tree)
        return outs

    def out_specs() -> list[Any]:
        return _out_dims(out_axes, out_trees[0], out_trees[0].num_leaves)

    axis = MappedAxis(size, axis_name, spmd_axis_name)
    results = vmappable.batch_values(flat, axis, leaves, specs, out_specs, sum_match, (fun, "vmap"))
    return pytree.tree_unflatten(out_trees[0], results)


def _own_results(result: Any, size: int, out_axes: Any, sum_match: bool) -> tuple[Any, list[int | None]]:
    """A mapped function's result with the values of registered types put together, and where other axes belong."""
    leaves, tree = pytree.tree_flatten(result, is_leaf=vmappable.is_vmappable)
    dims: list[int | None] = []
    for i, (x, spec) in enumerate(zip(leaves, _out_dims(out_axes, tree, len(leaves)))):
        if vmappable.is_vmappable(x):
            leaves[i] = vmappable.result_of(current.trace, sum_match, size, x, spec)
            dims += [None] * len(_flatten(leaves[i])[0])
        else:
            dims.append(spec)
    return tree.unflatten(leaves), dims


def _check_axes(in_axes: Any, out_axes: Any) -> None:
    own_types = bool(vmappable.registered)
    if own_types and vmappable.is_spec(in_axes):
        pass
    elif not (in_axes is None or isinstance(in_axes, (int, tuple))) or isinstance(in_axes, bool):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments passed "
            f"to the function, but got {in_axes!r}."
        )
    for where, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        for leaf in pytree.tree_leaves(axes):
            if own_types and vmappable.is_spec(leaf):
                continue
            if type(leaf) is not int and (type(leaf) is bool or not hasattr(leaf, "__index__")):
                raise TypeError(
                    f"vmap {where} must be an int, None, or (nested) containers of them, got a leaf {leaf!r} of type "
                    f"{type(leaf)}"
                )


def _operands(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any], dims: list[int | None]
) -> tuple[list[Any], list[int | None]]:
    """The avals of the leaves, and their mapped axes counted from the front."""
    avals = []
    for i, (x, d) in enumerate(zip(leaves, dims)):
        aval = getattr(x, "aval", None)
        if aval is None:
            aval = signature.check_arg(
                x, lambda i=i: signature.leaf_names(fun, args, kwargs)[i], f"vmap of {signature.fun_name(fun)}"
            )
        avals.append(aval)
        if d is not None:
            if not -aval.ndim <= d < aval.ndim:
                raise ValueError(
                    f"vmap was requested to map its argument along axis {d}, which implies that its rank should be "
                    f"at least {d + 1 if d >= 0 else -d}, but is only {aval.ndim} (its shape is {aval.shape}): "
                    f"argument {signature.leaf_names(fun, args, kwargs)[i]}"
                )
            dims[i] = d % aval.ndim
    return avals, dims


def _results(
    fun: Callable[..., Any],
    outs: list[Any],
    dims: list[int | None],
    out_dims: Sequence[int | None],
    out_tree: Any,
    size: int,
    sum_match: bool,
) -> Any:
    """The results as a pytree, each with its mapped axis where `out_dims` wants it."""
    results = []
    for i, (out, d, wanted) in enumerate(zip(outs, dims, out_dims)):
        if wanted is None:
            if d is not None and sum_match:
                out = sum_axis(out, d)
            elif d is not None:
                raise ValueError(
                    f"vmap has mapped output but out_axes is None: {signature.result_names(out_tree)[i]} of "
                    f"{signature.fun_name(fun)} depends on mapped arguments; give it an axis in out_axes"
                )
            results.append(out)  # as the function returned it
            continue
        rank = shaped(out).ndim + (d is None)
        if not -rank <= wanted < rank:
            raise ValueError(
                f"axis {wanted} is out of bounds for array of dimension {rank}: out_axes of vmap of "
                f"{signature.fun_name(fun)} at {signature.result_names(out_tree)[i]}"
            )
        results.append(as_array(move_axis(out, d, wanted % rank, size)))
    return out_tree.unflatten(results)


def _in_dims(in_axes: Any, in_tree: Any, n: int, args: tuple[Any, ...]) -> list[int | None]:
    """The mapped axis of each leaf of (args, kwargs)."""
    if type(in_axes) is int and in_tree.num_leaves:
        return [in_axes] * n
    n_kwargs = n - len(_flatten(args)[0])
    positional = pytree_prefixes.flatten_prefix(in_axes, pytree.tree_structure(args), "vmap in_axes")
    return [*positional, *([0] * n_kwargs)]


def _out_dims(out_axes: Any, out_tree: Any, n: int) -> list[int | None]:
    if type(out_axes) is int or out_axes is None:
        return [out_axes] * n
    return pytree_prefixes.flatten_prefix(out_axes, out_tree, "vmap out_axes")  # type: ignore[no-any-return]


def _mapped_size(
    fun: Any, args: Any, kwargs: Any, avals: Sequence[Any], dims: Sequence[int | None], given: int | None
) -> int:
    sizes = {a.shape[d] for a, d in zip(avals, dims) if d is not None}
    if given is not None:
        sizes.add(given)
    if len(sizes) == 1:
        return sizes.pop()
    if not sizes:
        raise ValueError(
            f"vmap of {signature.fun_name(fun)} must have at least one non-None value in in_axes, or an axis_size: "
            "nothing is mapped"
        )
    names = signature.leaf_names(fun, args, kwargs)
    lines = [f"vmap got inconsistent sizes for array axes to be mapped (function {signature.fun_name(fun)}):"]
    if given is not None:
        lines.append(f"  * axis_size is {given}")
    by_size: dict[int, list[str]] = {}
    for name, a, d in zip(names, avals, dims):
        if d is not None:
            by_size.setdefault(a.shape[d], []).append(
                f"axis {d} of argument {name} of type {a.str_short(short_dtypes=False)}"
            )
    for size, found in sorted(by_size.items(), key=lambda item: -len(item[1])):
        if len(found) == 1:
            lines.append(f"  * one axis had size {size}: {found[0]}")
        else:
            shown = "; ".join(found[:5]) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
            lines.append(f"  * {len(found)} axes had size {size}: {shown}")
    lines.append("Give arguments that are not mapped the axis None in in_axes.")
    raise ValueError("\n".join(lines))
