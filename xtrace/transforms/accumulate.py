"""Addition of tangents and cotangents: the one operation that differentiation itself performs."""

from __future__ import annotations

from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive
from xtrace.transforms import batching
from xtrace.transforms.zeros import Zero


def _add_any_aval(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    if x.shape != y.shape or x.dtype != y.dtype:
        raise TypeError(f"add_any needs operands of one type, got {x.str_short()} and {y.str_short()}")
    return x if x is y else x.strong()


add_any_p = Primitive("add_any", _add_any_aval)
add_any_p.elementwise = True


def _add_any_jvp(primals: Any, tangents: Any) -> Any:
    out = add_any_p.bind(*primals)
    return out, add_tangents(*tangents)


add_any_p.jvp = _add_any_jvp
add_any_p.transpose = lambda ct, x, y: [ct, ct]
add_any_p.batch = lambda axis, args, dims: (
    add_any_p.bind(*[batching.move_axis(x, d, 0, axis.size) for x, d in zip(args, dims)]),
    0,
)


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents or cotangents, either of which may be a symbolic zero."""
    if type(x) is Zero:
        return y
    if type(y) is Zero:
        return x
    return add_any_p.bind(x, y)


__all__ = ["add_any_p", "add_tangents"]
