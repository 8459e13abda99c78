"""Types of users' own that vmap maps whole: how an element is taken out of such a value, and how results become one.

A handler is given a function that does the same to the arrays inside: `to_elt(element_of, index, value, spec)` and
`from_elt(result_of, size, element, spec)`. `spec`, given to vmap in in_axes or out_axes, says how the value is mapped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xtrace.core import pytree
from xtrace.core.axes import bind_axes
from xtrace.core.primitive import as_array, shaped
from xtrace.core.trace import current, use_trace
from xtrace.transforms.batching import BatchTrace, MappedAxis, move_axis, sum_axis


class Handlers(NamedTuple):
    """What is known of a type."""

    spec_type: type
    to_element: Callable[..., Any]
    from_element: Callable[..., Any]


#: The registered types. While there are none, vmap doesn't look for them.
registered: dict[type, Handlers] = {}
_index_makers: dict[type, Callable[[Any], Any]] = {}


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[[Any], Any] | None,
) -> None:
    """Let vmap map values of a type of your own.

    Args:
      data_type: the type.
      spec_type: the type of what stands for it in in_axes and out_axes.
      axis_size_type: the type of the sizes of its axes; make_iota makes of one the indices along the axis, or is None.
      to_elt: (element_of, index, value, spec) -> an element; element_of(array, axis) is an element of an array, and
        index() the element's index.
      from_elt: (result_of, size, element, spec) -> the results together; result_of(size, array, axis) puts those of an
        array together.
    """
    registered[data_type] = Handlers(spec_type, to_elt, from_elt)
    if make_iota is not None:
        _index_makers[axis_size_type] = make_iota


def unregister_vmappable(data_type: type) -> None:
    """Forget what `register_vmappable` was told of a type."""
    registered.pop(data_type, None)


def is_vmappable(x: Any) -> bool:
    """Whether vmap has been told how values of the type of `x` are mapped."""
    return type(x) in registered


def among(tree: Any) -> bool:
    """Whether there are values of registered types in a pytree."""
    return any([type(x) in registered for x in pytree.tree_leaves(tree, is_leaf=is_vmappable)])


def is_spec(x: Any) -> bool:
    """Whether `x` may stand in in_axes and out_axes for a value of a registered type, and for no array."""
    return any([isinstance(x, h.spec_type) for h in registered.values() if h.spec_type is not int])


def batch_values(
    fun: Callable[..., Sequence[Any]],
    axis: MappedAxis,
    values: Sequence[Any],
    specs: Sequence[Any],
    out_specs: Callable[[], Sequence[Any]],
    sum_match: bool,
    made_for: Any = None,
) -> list[Any]:
    """Run a flat function over the mapped axis of values that may be of registered types; the results together."""
    trace = BatchTrace(current.trace, axis, made_for)
    elements = [_element_of(trace, x, spec) for x, spec in zip(values, specs)]
    names = () if axis.name is None else ((axis.name, axis.size),)
    with use_trace(trace), bind_axes(*names):
        outs = fun(*elements)
        results = [result_of(trace, sum_match, axis.size, x, spec) for x, spec in zip(outs, out_specs())]
    trace.alive = False
    return results


def _element_of(trace: BatchTrace, x: Any, spec: Any) -> Any:
    handlers = registered.get(type(x))
    if handlers is not None:
        return handlers.to_element(lambda y, s: _element_of(trace, y, s), lambda: _index(trace), x, spec)
    return trace.wrap(x, None if spec is None else spec % shaped(x).ndim)


def _index(trace: BatchTrace) -> Any:
    size = trace.axis.size
    make = _index_makers.get(type(size))
    if make is not None:
        return trace.wrap(make(size), 0)
    return trace.wrap(as_array(np.arange(size, dtype=np.int32)), 0)


def result_of(trace: BatchTrace, sum_match: bool, size: int, x: Any, spec: Any) -> Any:
    """What `x`, one element's result under `trace`, is for all elements together."""
    handlers = registered.get(type(x))
    if handlers is not None:
        return handlers.from_element(lambda n, y, s: result_of(trace, sum_match, n, y, s), size, x, spec)
    value, dim = trace.split(x)
    with use_trace(trace.parent):
        if spec is None:
            if dim is not None and not sum_match:
                raise ValueError(f"vmap has mapped output but out_axes is {spec}: {x}")
            return value if dim is None else sum_axis(value, dim)
        rank = shaped(value).ndim + (dim is None)
        return move_axis(value, dim, spec % rank, size)


__all__ = [
    "Handlers",
    "among",
    "batch_values",
    "is_spec",
    "is_vmappable",
    "register_vmappable",
    "result_of",
    "registered",
    "unregister_vmappable",
]
