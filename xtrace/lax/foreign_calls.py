"""Calls of functions of other languages, which are registered by name with the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.core.effects import Effect
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax import callbacks, shapes
from xtrace.transforms.batching import MappedAxis, move_axis
from xtrace.transforms.remat import repeatable_effects

#: The effect of calls that do something besides computing their results.
ffi_effect = Effect("FFI")
repeatable_effects.add(ffi_effect)

# -- the primitive ---------------------------------------------------------------------------------------------------


def _result_avals(*avals: Any, result_avals: tuple[ShapedArray, ...], **_: Any) -> tuple[ShapedArray, ...]:
    return result_avals


def _no_derivative(*args: Any, target_name: str, **_: Any) -> Any:
    raise ValueError(
        f"The FFI call to `{target_name}` cannot be differentiated: what it computes is not known here. Give it a "
        "derivative with `jax.custom_jvp` or `jax.custom_vjp`."
    )


def _deeper(order: tuple[int, ...]) -> tuple[int, ...]:
    """A layout with one leading axis more, the slowest."""
    return (*[n + 1 for n in order], 0)


def _batch(
    axis: MappedAxis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    vmap_method: str | None,
    result_avals: tuple[ShapedArray, ...],
    **params: Any,
) -> Any:
    n, out_dims = axis.size, [0] * len(result_avals)
    args = [x if d is None else move_axis(x, d, 0, n) for x, d in zip(args, dims)]
    if vmap_method in ("sequential", "sequential_unrolled"):
        each = dict(vmap_method=vmap_method, result_avals=result_avals, **params)
        unrolled = vmap_method == "sequential_unrolled"
        return callbacks.one_by_one(ffi_call_p, axis, args, dims, unrolled, each), out_dims
    if vmap_method not in ("expand_dims", "broadcast_all", "legacy_vectorized"):
        raise NotImplementedError(
            "vmap is only supported for the ffi_call primitive when vmap_method is one of 'sequential', "
            f"'sequential_unrolled', 'expand_dims', 'broadcast_all', or 'legacy_vectorized'. Got {vmap_method=}. Pass "
            "vmap_method='sequential' to ffi_call for one call an example, or 'broadcast_all' if the function takes "
            "arrays with leading axes more."
        )
    mapped = [d is not None for d in dims]
    if vmap_method != "legacy_vectorized":
        size = n if vmap_method == "broadcast_all" else 1
        args = [
            x if m else shapes.broadcast_in_dim(x, (size, *shaped(x).shape), tuple(range(1, shaped(x).ndim + 1)))
            for x, m in zip(args, mapped)
        ]
        mapped = [True] * len(args)
    params["input_layouts"] = tuple([_deeper(o) if m else o for o, m in zip(params["input_layouts"], mapped)])
    params["output_layouts"] = tuple(map(_deeper, params["output_layouts"]))
    wider = tuple([a.update(shape=(n, *a.shape)) for a in result_avals])
    return ffi_call_p.bind(*args, vmap_method=vmap_method, result_avals=wider, **params), out_dims


ffi_call_p = Primitive("ffi_call", _result_avals)
ffi_call_p.multiple_results = True
ffi_call_p.takes_extended = True
ffi_call_p.effects = lambda avals, params: frozenset([ffi_effect] if params["has_side_effect"] else [])
ffi_call_p.jvp = _no_derivative
ffi_call_p.transpose = _no_derivative
ffi_call_p.batch = _batch

__all__ = ["ffi_call_p"]
