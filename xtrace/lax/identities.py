"""Operations that return their operands unchanged: for derivatives, for the compiler, for memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import literal
from xtrace.core.primitive import Primitive, as_array, placed, shaped
from xtrace.core.pytree import tree_flatten, tree_map, tree_unflatten
from xtrace.core.trace import current
from xtrace.lax.rules import linear_in
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.staging import StagedTracer, StagingTrace
from xtrace.transforms.zeros import Zero, instantiate, zero_tangent


def _same(x: ShapedArray) -> ShapedArray:
    return x


def _same_batch(primitive: Primitive) -> Any:
    return lambda axis, args, dims: (primitive.bind(args[0]), dims[0])


# -- stop_gradient ---------------------------------------------------------------------------------------------------

stop_gradient_p = Primitive("stop_gradient", _same)
stop_gradient_p.elementwise = True
stop_gradient_p.impl = as_array
stop_gradient_p.jvps = (None,)
stop_gradient_p.batch = _same_batch(stop_gradient_p)


def _stop_gradient(x: Any) -> Any:
    shaped(x)  # complains about what isn't an array
    return stop_gradient_p.bind(x)


def stop_gradient(x: Any) -> Any:
    """`x`, taken as a constant by differentiation.

    Args:
      x: a pytree of arrays.

    Returns:
      The same values.

    Raises:
      TypeError: a leaf is not an array or a number.

    Example:
      >>> import xtrace as xt
      >>> print(xt.grad(lambda x: x * xt.lax.stop_gradient(x))(3.0))
      3.0
    """
    return tree_map(_stop_gradient, x)


# -- copy ------------------------------------------------------------------------------------------------------------

copy_p = Primitive("copy", _same)
copy_p.elementwise = True
copy_p.jvps = (lambda t, out, x: copy_p.bind(t),)
copy_p.batch = _same_batch(copy_p)
linear_in(0, copy_p)

# -- stage -----------------------------------------------------------------------------------------------------------


def stage(x: Any, /) -> Any:
    """`x` as a value of the program being traced, or as an array where nothing is.

    Args:
      x: an array or a number.

    Returns:
      The same value: what is traced and arrays as they are, numbers as scalar arrays of their type.

    Raises:
      TypeError: `x` is not an array or a number.

    Example:
      >>> import xtrace as xt
      >>> xt.lax.stage(1.0)
      Array(1., dtype=float32, weak_type=True)
    """
    trace = current.trace
    if type(trace) is StagingTrace and getattr(x, "aval", None) is None and not np.ndim(x):
        aval = shaped(x)
        return StagedTracer(trace, aval, literal(np.asarray(x, aval.dtype)[()], aval))
    return placed(x)


# -- optimization_barrier --------------------------------------------------------------------------------------------

optimization_barrier_p = Primitive("optimization_barrier", lambda *avals: avals)
optimization_barrier_p.multiple_results = True


def optimization_barrier(operand: Any, /) -> Any:
    """`operand`, through which the compiler neither moves nor removes computation.

    All leaves are computed before any of the results is used.

    Args:
      operand: a pytree of arrays.

    Returns:
      The same values.

    Example:
      >>> import xtrace as xt
      >>> print(xt.lax.optimization_barrier(3.0))
      3.0
    """
    leaves, tree = tree_flatten(operand)
    return tree_unflatten(tree, optimization_barrier_p.bind(*leaves)) if leaves else operand


def _barrier_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    outs = optimization_barrier_p.bind(*primals)
    moving = [i for i, t in enumerate(tangents) if type(t) is not Zero]
    out_tangents: list[Any] = [zero_tangent(o) for o in outs]
    if moving:
        for i, t in zip(moving, optimization_barrier_p.bind(*[tangents[i] for i in moving])):
            out_tangents[i] = t
    return outs, out_tangents


def _barrier_transpose(cts: Sequence[Any], *args: Any) -> Sequence[Any]:
    moving = [i for i, c in enumerate(cts) if type(c) is not Zero]
    out = list(cts)
    for i, c in zip(moving, optimization_barrier_p.bind(*[instantiate(cts[i]) for i in moving])):
        out[i] = c
    return out


def _barrier_batch(axis: MappedAxis, args: Sequence[Any], dims: Sequence[int | None]) -> Any:
    return optimization_barrier_p.bind(*args), list(dims)


optimization_barrier_p.jvp = _barrier_jvp
optimization_barrier_p.transpose = _barrier_transpose
optimization_barrier_p.batch = _barrier_batch
