"""Operations that a compiler may know by name, with a decomposition for those that don't."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.core import pytree
from xtrace.core.jaxpr import DebugInfo, Jaxpr
from xtrace.core.primitive import Primitive, placed, shaped
from xtrace.core.trace import Tracer
from xtrace.lax.attributes import hashable
from xtrace.transforms.call import jit_p
from xtrace.transforms.staging import closed_call_operands, trace_to_jaxpr

_flatten = pytree.default_registry.flatten


def _avals(*avals: Any, jaxpr: Jaxpr, name: str, attributes: Any, version: int) -> list[Any]:
    return jaxpr.out_avals


composite_p = Primitive("composite", _avals)
composite_p.multiple_results = True
composite_p.holds_jaxprs = True
composite_p.effects = lambda avals, params: params["jaxpr"].effects


def _attribute(name: str, key: str, value: Any) -> Any:
    """A user's value as one that `hashable` takes: lists become tuples, NumPy scalars arrays."""
    if value is None or isinstance(value, (bool, int, float, str, np.dtype, np.ndarray)):
        return value
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, dict):
        return {str(k): _attribute(name, key, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple([_attribute(name, key, v) for v in value])
    raise TypeError(
        f"the attribute {key} of the composite {name} is a {type(value).__name__}: attributes are numbers, strings, "
        "dtypes, NumPy arrays, and lists, tuples and dictionaries of them. Pass arrays by position."
    )


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A function that is lowered to one operation with a name, and with `decomposition` as its meaning.

    A compiler that knows the name may put something better in its place. Derivatives and batches are those of the
    decomposition, and no longer composites.

    Args:
      decomposition: a function of arrays by position and of attributes by keyword, which are Python values.
      name: of the operation, such as "my.softmax".
      version: of its meaning.

    Returns:
      A function of the same arguments. Attributes that are None are not written out.

    Raises:
      TypeError: an attribute that is no number, string, dtype, NumPy array, list or dictionary.
      UnexpectedTracerError: decomposition closes over a traced value.

    Example:
      >>> import xtrace as xt
      >>> double = xt.lax.composite(lambda x, *, by: x * by, "my.scale")
      >>> print(double(3.0, by=2.0))
      6.0
      >>> "stablehlo.composite" in xt.jit(lambda x: double(x, by=2.0)).lower(3.0).as_text()
      True
    """
    bodies: dict[Any, tuple[Jaxpr, list[Any], Any]] = {}

    def staged(args: tuple[Any, ...], leaves: list[Any], tree: Any, attributes: Any, given: dict[str, Any]) -> Any:
        key = (tuple([shaped(x) for x in leaves]), tree, attributes)
        found = bodies.get(key)
        if found is not None:
            return found
        out_tree: Any = None

        def flat(*xs: Any) -> list[Any]:
            nonlocal out_tree
            outs, out_tree = _flatten(decomposition(*tree.unflatten(xs), **given))
            return outs

        jaxpr, consts = closed_call_operands(trace_to_jaxpr(flat, key[0], DebugInfo(name)))
        if any(isinstance(c, Tracer) for c in consts):
            from xtrace.errors import UnexpectedTracerError

            raise UnexpectedTracerError(
                f"the decomposition of the composite {name} closes over a traced value: pass it as an argument"
            )
        if len(bodies) > 256:
            bodies.clear()
        bodies[key] = found = jaxpr, consts, out_tree
        return found

    def call(*args: Any, **kwargs: Any) -> Any:
        attributes = hashable({k: _attribute(name, k, v) for k, v in kwargs.items()})
        leaves, tree = _flatten(args)
        leaves = [placed(x) for x in leaves]
        jaxpr, consts, out_tree = staged(args, leaves, tree, attributes, kwargs)
        outs = composite_p.bind(*consts, *leaves, jaxpr=jaxpr, name=name, attributes=attributes, version=version)
        return out_tree.unflatten(outs)

    return call


def _plain(rule: str) -> Callable[..., Any]:
    """The rule of the decomposition, called as a function: it loses the name, which promises only the values."""

    def apply(first: Any, *rest: Any, jaxpr: Jaxpr, name: str, attributes: Any, version: int) -> Any:
        return getattr(jit_p, rule)(first, *rest, jaxpr=jaxpr, name=name)

    return apply


composite_p.jvp = _plain("jvp")
composite_p.linearize = _plain("linearize")
composite_p.transpose = _plain("transpose")
composite_p.batch = _plain("batch")


def _on_tape(tape: Any, args: tuple[Any, ...], *, jaxpr: Jaxpr, name: str, attributes: Any, version: int) -> Any:
    return jit_p.on_tape(tape, args, jaxpr=jaxpr, name=name)  # type: ignore[misc]


composite_p.on_tape = _on_tape
