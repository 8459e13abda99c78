"""Rules of vmap (jax.interpreters.batching). An operand that is not mapped has the dimension `not_mapped`, None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.core.jaxpr import Jaxpr
from xtrace.core.primitive import Primitive
from xtrace.interpreters.rule_tables import RuleTable
from xtrace.lax.rules import elementwise_batch
from xtrace.transforms.batching import MappedAxis as AxisData
from xtrace.transforms.batching import batch_jaxpr, move_axis
from xtrace.transforms.vmappable import register_vmappable, unregister_vmappable

not_mapped = None


def _without_axis(rule: Callable[..., Any]) -> Callable[..., Any]:
    def batch(axis: AxisData, args: Any, dims: Any, **params: Any) -> Any:
        return rule(args, dims, **params)

    batch.given = rule  # type: ignore[attr-defined]
    return batch


def _as_given(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule that was registered; of xtrace's own rules, one for an axis whose size the operands tell."""
    given = getattr(rule, "given", None)
    if given is not None:
        return given  # type: ignore[no-any-return]

    def shown(args: Any, dims: Any, **params: Any) -> Any:
        size = next(x.shape[d] for x, d in zip(args, dims) if d is not None)
        return rule(AxisData(size), args, dims, **params)

    return shown


#: primitive -> rule(args, dims, **params) -> (out, its mapped dimension), lists of them if `multiple_results`.
primitive_batchers = RuleTable("batch", _without_axis, _as_given)
#: primitive -> rule(axis, args, dims, **params), where `axis` tells the mapped axis's size and name.
fancy_primitive_batchers = RuleTable("batch")
axis_primitive_batchers = fancy_primitive_batchers


def defvectorized(prim: Primitive) -> None:
    """Give the rule of an operation on each element: applied to operands with aligned mapped axes."""
    prim.batch = elementwise_batch(prim)


def defbroadcasting(prim: Primitive) -> None:
    """Give the rule of an operation on each element of operands that broadcast."""
    prim.batch = elementwise_batch(prim)


def defreducer(prim: Primitive) -> None:
    """Give the rule of a reduction with the parameter `axes`."""

    def rule(axis: AxisData, args: Any, dims: Any, *, axes: Any, **params: Any) -> Any:
        (x,), (dim,) = args, dims
        moved = tuple([a + (a >= dim) for a in axes])
        return prim.bind(x, axes=moved, **params), dim - sum(a < dim for a in moved)

    prim.batch = rule


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """`x` with its mapped dimension in front, repeated `size` times if it is not mapped."""
    return move_axis(x, bdim, 0, size)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any = None) -> Any:
    """`x` repeated `sz` times along a new dimension `axis`."""
    return move_axis(x, None, axis, sz)


def batch_jaxpr_axes(
    closed_jaxpr: Jaxpr, axis_data: AxisData, in_axes: Any, out_axes_dest: Any
) -> tuple[Jaxpr, list[Any]]:
    """The jaxpr of all examples at once, its outputs mapped at 0 where `out_axes_dest` is 0, and where they are."""
    wanted = tuple([a is not None for a in out_axes_dest])
    made = batch_jaxpr(closed_jaxpr, axis_data, tuple(in_axes), wanted)
    return made.jaxpr, made.outs


__all__ = [
    "AxisData",
    "axis_primitive_batchers",
    "batch_jaxpr_axes",
    "bdim_at_front",
    "broadcast",
    "defbroadcasting",
    "defreducer",
    "defvectorized",
    "fancy_primitive_batchers",
    "not_mapped",
    "primitive_batchers",
    "register_vmappable",
    "unregister_vmappable",
]
