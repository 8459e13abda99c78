"""Sinks: they use a value and compute nothing, so that what computes it stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core.effects import Effect
from xtrace.core.primitive import Primitive, shaped
from xtrace.core.pytree import tree_leaves
from xtrace.transforms.batching import MappedAxis
from xtrace.transforms.remat import repeatable_effects
from xtrace.transforms.zeros import Zero

no_dce_effect = Effect("NoDCE")
repeatable_effects.add(no_dce_effect)

dce_sink_p = Primitive("dce_sink", lambda aval, *, prevent_mlir_dce: [])
dce_sink_p.multiple_results = True
dce_sink_p.takes_extended = True
dce_sink_p.impl = lambda x, *, prevent_mlir_dce: []
dce_sink_p.effects = lambda avals, params: frozenset([no_dce_effect])


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    dce_sink_p.bind(*primals, **params)
    if type(tangents[0]) is not Zero:
        dce_sink_p.bind(*tangents, **params)
    return [], []


def _batch(axis: MappedAxis, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
    return dce_sink_p.bind(*args, **params), []


dce_sink_p.jvp = _jvp
dce_sink_p.transpose = lambda cts, x, **params: [None]
dce_sink_p.batch = _batch


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Mark values as used: transformations of programs don't drop what computes them.

    Args:
      val: a pytree of arrays and numbers.
      prevent_mlir_dce: whether the compiler must keep them too. The compiled program then hands them to the custom
        call `dce_sink`, which a handler of that name may do something with and nobody needs to provide where the
        program is only looked at.

    Returns:
      None.

    Raises:
      TypeError: a leaf is not an array or a number.

    Example:
      >>> import xtrace as xt
      >>> def f(x):
      ...     xt.lax.dce_sink(xt.lax.sin(x))
      ...     return x
      >>> print(xt.make_jaxpr(f)(1.0))
      { lambda ; a:f32[]. let
          b:f32[] = sin a
          dce_sink[prevent_mlir_dce=False] b
        in (a,) }
    """
    for x in tree_leaves(val):
        shaped(x)  # complains about what isn't an array
        dce_sink_p.bind(x, prevent_mlir_dce=bool(prevent_mlir_dce))


__all__ = ["dce_sink", "dce_sink_p"]
