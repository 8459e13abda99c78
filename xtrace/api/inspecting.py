"""Looking at a function without running it: make_jaxpr, eval_shape."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from xtrace.api.jit import jit
from xtrace.api.struct import ShapeDtypeStruct
from xtrace.core import pytree
from xtrace.core.axes import bind_axes
from xtrace.core.primitive import shaped


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Any = None,
    return_shape: bool = False,
    abstracted_axes: Any = None,
) -> Callable[..., Any]:
    """A function that returns the jaxpr of `fun` at its arguments instead of running it.

    Args:
      fun: a function of arrays or pytrees. static_argnums: arguments passed as they are.
      axis_env: pairs (name, size) of the named axes that `fun` is mapped over.
      return_shape: whether to return (jaxpr, output structs).

    >>> import xtrace as xt
    >>> xt.make_jaxpr(lambda x: 2.0 * x)(1.0)
    { lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }
    """
    if not callable(fun):
        raise TypeError(f"make_jaxpr takes a function, got {fun!r}")

    @functools.wraps(fun) if hasattr(fun, "__name__") else (lambda f: f)
    def jaxpr_maker(*args: Any, **kwargs: Any) -> Any:
        with bind_axes(*axis_env or ()):
            traced = jit(fun, static_argnums=static_argnums or None).trace(*args, **kwargs)
        return (traced.jaxpr, traced.out_info) if return_shape else traced.jaxpr

    return jaxpr_maker


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of the result of `fun(*args, **kwargs)`, without computing it.

    Args:
      fun: a function of arrays or pytrees. args, kwargs: arrays, or anything with shape and dtype.

    Returns:
      The structure of the result, with a ShapeDtypeStruct at each leaf.

    >>> import xtrace as xt, numpy as np
    >>> xt.eval_shape(lambda a: a.T @ a, np.ones((2, 3), np.float32))
    ShapeDtypeStruct(shape=(3, 3), dtype=float32)
    """

    def typed(x: Any) -> Any:
        if getattr(x, "aval", None) is None and hasattr(x, "shape") and hasattr(x, "dtype"):
            return ShapeDtypeStruct(x.shape, x.dtype, weak_type=getattr(x, "weak_type", False))
        return x

    args, kwargs = pytree.tree_map(typed, (args, kwargs))
    return jit(fun).eval_shape(*args, **kwargs)


def typeof(x: Any) -> Any:
    """The aval of any value: its shape, dtype and weak type.

    >>> import xtrace as xt
    >>> xt.typeof(1.0)
    ShapedArray(float32[], weak_type=True)
    """
    return shaped(x)
