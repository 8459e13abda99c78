"""Callbacks: operations that call a Python function on the host, wherever and whenever the program runs.

`pure_callback` computes values and may be dropped or repeated; `io_callback` and `debug_callback` have effects. All
hold the function they call in their parameters, so nothing about them is kept in caches that outlive the jaxpr.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xtrace.core import dtypes, effects, pytree
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.trace import current
from xtrace.lax import joining, shapes, slicing
from xtrace.lax.control_flow import scans
from xtrace.transforms.batching import MappedAxis, move_axis
from xtrace.transforms.remat import repeatable_effects

# -- effects ---------------------------------------------------------------------------------------------------------


class DebugEffect(effects.Effect):
    """The effect of debugging output: kept by transformations, done as often as the computation it stands in."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("Debug")


class OrderedDebugEffect(effects.Effect):
    """The effect of debugging output that comes in program order."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("OrderedDebug", ordered=True)


class IOEffect(effects.Effect):
    """The effect of reading or changing something outside the program."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("IO")


class OrderedIOEffect(effects.Effect):
    """Like IOEffect, in program order."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("OrderedIO", ordered=True)


debug_effect = DebugEffect()
ordered_debug_effect = OrderedDebugEffect()
repeatable_effects.update([debug_effect, ordered_debug_effect])
io_effect = IOEffect()
ordered_io_effect = OrderedIOEffect()

# -- primitives ------------------------------------------------------------------------------------------------------


class FlatCallback(NamedTuple):
    """A user's function, called with flat arguments and returning flat results."""

    callback_func: Callable[..., Any]
    #: Structure of (args, kwargs).
    in_tree: Any

    def __call__(self, *flat: Any) -> list[Any]:
        args, kwargs = self.in_tree.unflatten(flat)
        return pytree.tree_leaves(self.callback_func(*args, **kwargs))

    def __repr__(self) -> str:
        # Without addresses: jaxprs print the same in every run.
        fun = re.sub(r" at 0x[0-9a-f]+", "", repr(self.callback_func))
        return f"FlatCallback(callback_func={fun}, in_tree={self.in_tree})"


class CallbackPrimitive(Primitive):
    """A primitive that calls Python. `host(**params)` is the function of flat arrays that it calls."""

    multiple_results = True
    takes_extended = True
    host: Callable[..., Callable[..., Sequence[Any]]]

    def bind(self, *args: Any, **params: Any) -> Any:
        # Outside any trace the function runs at once: never through the cache of eager programs, which would keep
        # it, and whatever it closes over, alive.
        trace = current.trace
        if trace is None:
            return self.impl(*args, **params)  # type: ignore[misc]
        return trace.process(self, args, params)

    def out_aval(self, avals: Any, params: dict[str, Any]) -> Any:
        return self._fresh_out_aval(avals, params)


def _effect_only(name: str, host: Callable[..., Any], effect: Callable[[dict[str, Any]], Any]) -> CallbackPrimitive:
    """A primitive without results that stays where it is under every transformation, on the primal values."""
    primitive = CallbackPrimitive(name, lambda *avals, **params: [])
    primitive.host = host
    primitive.effects = lambda avals, params: frozenset([effect(params)])
    primitive.jvp = lambda primals, tangents, **params: (primitive.bind(*primals, **params), [])
    primitive.transpose = lambda cts, *args, **params: [None] * len(args)

    def batch(axis: MappedAxis, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        for i in range(axis.size):
            primitive.bind(
                *[x if d is None else slicing.index_in_dim(x, i, d, keepdims=False) for x, d in zip(args, dims)],
                **params,
            )
        return [], []

    primitive.batch = batch
    return primitive


def _debug_host(*, callback: Callable[..., Any], effect: Any, partitioned: bool) -> Callable[..., Any]:
    def run(*args: Any) -> tuple[()]:
        callback(*args)
        return ()

    return run


def _print_host(
    *,
    fmt: str,
    ordered: bool,
    partitioned: bool,
    in_tree: Any,
    static_args: tuple[tuple[int, Any], ...],
    np_printoptions: tuple[tuple[str, Any], ...],
    has_placeholders: bool,
    logging_record: Any,
) -> Callable[..., Any]:
    def run(*arrays: Any) -> tuple[()]:
        from xtrace.core import formatting

        args, kwargs = in_tree.unflatten(merge_static(arrays, static_args))
        message = formatting.format_message(fmt, args, kwargs, dict(np_printoptions), has_placeholders)
        formatting.emit(message, logging_record)
        return ()

    return run


debug_callback_p = _effect_only("debug_callback", _debug_host, lambda params: params["effect"])
debug_print_p = _effect_only(
    "debug_print", _print_host, lambda params: ordered_debug_effect if params["ordered"] else debug_effect
)


# How the compiler splits an array: `callback(devices, hlo_sharding)` is called when the program is compiled.
inspect_sharding_p = CallbackPrimitive("inspect_sharding", lambda aval, *, callback: [])
inspect_sharding_p.effects = lambda avals, params: frozenset([debug_effect])
inspect_sharding_p.jvp = lambda primals, tangents, **params: (inspect_sharding_p.bind(*primals, **params), [])
inspect_sharding_p.transpose = lambda cts, *args, **params: [None]
inspect_sharding_p.batch = lambda axis, args, dims, **params: (inspect_sharding_p.bind(*args, **params), [])


def _result_avals(*avals: Any, result_avals: tuple[ShapedArray, ...], **_: Any) -> tuple[ShapedArray, ...]:
    return result_avals


def _user_host(*, callback: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    return callback


def _refuse(message: str) -> Callable[..., Any]:
    def rule(*args: Any, **params: Any) -> Any:
        raise ValueError(message)

    return rule


pure_callback_p = CallbackPrimitive("pure_callback", _result_avals)
pure_callback_p.host = _user_host
pure_callback_p.jvp = _refuse(
    "Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while taking gradients: what the "
    "Python function computes is unknown to us, so its derivative has to be given."
)
pure_callback_p.transpose = _refuse(
    "Pure callbacks do not support transpose. Please use `jax.custom_vjp` to use callbacks while taking gradients."
)

io_callback_p = CallbackPrimitive("io_callback", _result_avals)
io_callback_p.host = _user_host
io_callback_p.effects = lambda avals, params: frozenset([ordered_io_effect if params["ordered"] else io_effect])
io_callback_p.jvp = _refuse(
    "IO callbacks do not support JVP. Pass stop_gradient(x) instead of x, or give a derivative with custom_jvp."
)
io_callback_p.transpose = _refuse("IO callbacks do not support transpose.")

#: How vmap may treat a pure callback.
VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized", None)


def _pure_batch(
    axis: MappedAxis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    vmap_method: str | None,
    result_avals: tuple[ShapedArray, ...],
    **params: Any,
) -> Any:
    n = axis.size
    wider = tuple([a.update(shape=(n, *a.shape)) for a in result_avals])
    args = [x if d is None else move_axis(x, d, 0, n) for x, d in zip(args, dims)]
    out_dims = [0] * len(result_avals)
    if vmap_method == "legacy_vectorized":
        pass  # the function is told nothing of operands that are not mapped
    elif vmap_method in ("expand_dims", "broadcast_all"):
        size = n if vmap_method == "broadcast_all" else 1
        args = [
            shapes.broadcast_in_dim(x, (size, *shaped(x).shape), tuple(range(1, shaped(x).ndim + 1)))
            if d is None
            else x
            for x, d in zip(args, dims)
        ]
    elif vmap_method in ("sequential", "sequential_unrolled"):
        outs = one_by_one(
            pure_callback_p,
            axis,
            args,
            dims,
            vmap_method == "sequential_unrolled",
            dict(vmap_method=vmap_method, result_avals=result_avals, **params),
        )
        return outs, out_dims
    else:
        raise NotImplementedError(
            "vmap is only supported for the pure_callback primitive when vmap_method is one of 'sequential', "
            "'sequential_unrolled', 'expand_dims', 'broadcast_all', or 'legacy_vectorized'. Got "
            f"vmap_method={vmap_method!r}. Pass vmap_method='sequential' to pure_callback to call the function once "
            "for each example, or 'expand_dims' if it takes arrays with a leading axis more."
        )
    return pure_callback_p.bind(*args, vmap_method=vmap_method, result_avals=wider, **params), out_dims


def one_by_one(
    primitive: Primitive,
    axis: MappedAxis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    unrolled: bool,
    params: dict[str, Any],
) -> list[Any]:
    """The results for each example, stacked: one call an example, in order. Mapped axes are the leading ones."""

    def step(carry: Any, elements: Any) -> Any:
        mapped = iter(elements)
        return carry, primitive.bind(*[x if d is None else next(mapped) for x, d in zip(args, dims)], **params)

    if current.trace is None:  # the function can be called right here
        rows = [
            step((), [slicing.index_in_dim(x, i, 0, keepdims=False) for x, d in zip(args, dims) if d is not None])[1]
            for i in range(axis.size)
        ]
        if rows:
            return [joining.concatenate([shapes.expand_dims(y, (0,)) for y in column], 0) for column in zip(*rows)]
    xs = [x for x, d in zip(args, dims) if d is not None]
    return list(scans.scan(step, (), xs, length=axis.size, unroll=bool(unrolled) or 1)[1])


def _io_batch(
    axis: MappedAxis, args: Sequence[Any], dims: Sequence[int | None], *, ordered: bool, **params: Any
) -> Any:
    if ordered:
        raise ValueError(
            "Cannot `vmap` ordered IO callback. Use ordered=False, or loop over the examples with lax.map, which keeps "
            "their order."
        )
    args = [x if d is None else move_axis(x, d, 0, axis.size) for x, d in zip(args, dims)]
    outs = one_by_one(io_callback_p, axis, args, dims, False, dict(ordered=False, **params))
    return outs, [0] * len(params["result_avals"])


pure_callback_p.batch = _pure_batch
io_callback_p.batch = _io_batch

# -- arguments that are arrays, and others ---------------------------------------------------------------------------


def split_static(leaves: Sequence[Any]) -> tuple[list[Any], dict[int, Any]]:
    """(the leaves that are arrays or numbers, the others by position): others reach the function as they are."""
    arrays, static = [], {}
    for i, x in enumerate(leaves):
        if getattr(x, "aval", None) is None:
            try:
                shaped(x)
            except (TypeError, ValueError):
                static[i] = x
                continue
        arrays.append(x)
    return arrays, static


def merge_static(arrays: Sequence[Any], static: Sequence[tuple[int, Any]]) -> list[Any]:
    """The leaves again, as `split_static` found them."""
    by_position = dict(static)
    rest = iter(arrays)
    return [by_position[i] if i in by_position else next(rest) for i in range(len(arrays) + len(by_position))]


def result_avals_of(result_shape_dtypes: Any) -> tuple[tuple[ShapedArray, ...], Any]:
    """(avals, structure) of what a callback is said to return: a pytree of things with shape and dtype.

    Raises ValueError for 64-bit types that x64 mode off doesn't have.
    """
    leaves, tree = pytree.tree_flatten(result_shape_dtypes)
    avals = []
    for leaf in leaves:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            leaf = shaped(leaf)
        dtype = leaf.dtype if dtypes.is_extended(leaf.dtype) else dtypes.as_dtype(leaf.dtype)
        if not dtypes.is_extended(dtype) and dtypes.canonicalize(dtype) != dtype:
            raise ValueError(
                "result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is disabled: got "
                f"{dtype}. Use {dtypes.canonicalize(dtype)}, or enable x64 mode."
            )
        avals.append(ShapedArray(tuple(leaf.shape), dtype))
    return tuple(avals), tree


__all__ = [
    "DebugEffect",
    "IOEffect",
    "OrderedDebugEffect",
    "OrderedIOEffect",
    "debug_callback_p",
    "debug_print_p",
    "inspect_sharding_p",
    "io_callback_p",
    "pure_callback_p",
]
