"""Functions whose closures matter to custom rules: closure_convert, and custom_gradient, whose rule is a closure."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from xtrace.core import dtypes, pytree, signature
from xtrace.core.jaxpr import DebugInfo, Jaxpr, eval_jaxpr
from xtrace.core.primitive import shaped
from xtrace.core.trace import Tracer
from xtrace.lax.custom_functions import custom_vjp, pair_with_logs
from xtrace.transforms.batching import BatchTracer
from xtrace.transforms.jvp import JVPTracer
from xtrace.transforms.staging import closed_call_operands, trace_to_jaxpr
from xtrace.transforms.zeros import Zero

_flatten = pytree.default_registry.flatten


def _may_be_differentiated(x: Any) -> bool:
    """Whether a closed-over value can carry a tangent: a tracer of inexact type that isn't known to be constant."""
    if not isinstance(x, Tracer) or not dtypes.is_inexact(x.dtype):
        return False
    if isinstance(x, BatchTracer):
        return _may_be_differentiated(x.val)
    if isinstance(x, JVPTracer) and type(x.tangent) is Zero:
        return _may_be_differentiated(x.primal)
    return True


def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """`fun` as a function that takes the traced values it closes over as arguments, and those values.

    Custom rules see arguments, not closures: a function that takes functions converts them first, and passes the
    values along as ordinary arguments.

    Args:
      fun: a pure function of arrays or pytrees.
      example_args: arrays or pytrees of the types it will be called with.

    Returns:
      (converted, values): `converted(*args, *values)` equals `fun(*args)`. Only values that may be differentiated are
      taken out: arrays and integers stay in the closure.

    Raises:
      TypeError: the converted function is called with arguments of another structure.

    Example:
      >>> import xtrace as xt
      >>> def slope_by_c(c):
      ...     converted, values = xt.closure_convert(lambda x: c * x, 1.0)
      ...     return converted(3.0, *values)
      >>> float(xt.grad(slope_by_c)(2.0))
      3.0
    """
    leaves, tree = _flatten(example_args)
    name = signature.fun_name(fun)
    for i, x in enumerate(leaves):
        signature.check_arg(x, lambda i=i: signature.leaf_names(fun, example_args, {})[i], f"closure_convert of {name}")
    avals = [shaped(x) for x in leaves]
    out_trees: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        outs, out_tree = _flatten(fun(*tree.unflatten(xs)))
        out_trees.append(out_tree)
        return signature.check_results(outs, out_tree, name, "closure_convert")

    info = DebugInfo(name, "closure_convert", code=signature.code_of(fun))
    jaxpr, values = closed_call_operands(trace_to_jaxpr(flat, avals, info))
    hoisted = [_may_be_differentiated(v) for v in values]
    kept = [v for v, h in zip(values, hoisted) if not h]
    given = [v for v, h in zip(values, hoisted) if h]

    def converted(*args: Any) -> Any:
        n = len(args) - len(given)
        found, found_tree = _flatten(args[:n])
        if found_tree != tree:
            raise TypeError(
                "The inputs to the closure produced by closure_convert must have the same Pytree structure as the "
                f"example arguments passed when closure_convert was called: {tree}. Got {found_tree}, followed by the "
                f"{len(given)} values from the closure, which are separate arguments (converted(*args, *values))."
            )
        rest, own = iter(args[n:]), iter(kept)
        consts = [next(rest) if h else next(own) for h in hoisted]
        return out_trees[0].unflatten(eval_jaxpr(jaxpr, (), *consts, *found))

    return converted, given


class _Pullback:
    """The rule that a custom_gradient function returned, staged: a jaxpr of what it closes over and the cotangents."""

    __slots__ = ("jaxpr", "out_tree")

    def __init__(self, jaxpr: Jaxpr, out_tree: Any) -> None:
        self.jaxpr = jaxpr
        self.out_tree = out_tree


def custom_gradient(
    fun: Callable[..., Any] | None = None, *, with_logs: bool = False, remat: bool = False, with_accums: Any = None
) -> Callable[..., Any]:
    """A function with a reverse rule of its own, written as one function that returns its value and its rule.

    Args:
      fun: takes arrays or pytrees and returns (out, rule); `rule(out_cotangent)` gives the arguments' cotangents, a
        tuple (the cotangent itself where there is one argument). The rule may close over values computed for `out`, and
        can't branch in Python on them: it is traced.
      with_logs: the rule returns (cotangents, logs), logs being a dict of pytrees or None.
      remat: `fun` returns (out, again), where `again(*args)` returns (out, rule): what the rule needs is computed
        again, from the arguments.
      with_accums: not None is an error: cotangents are returned, not accumulated in place.

    Returns:
      A function of the same arguments that returns `out`.

    Raises:
      TypeError: `fun` or its rule return something else than a pair where one is asked for.

    Example:
      >>> import xtrace as xt
      >>> @xt.custom_gradient
      ... def f(x):
      ...     return x ** 2, lambda g: (g * x,)
      >>> float(f(3.0)), float(xt.grad(f)(3.0))
      (9.0, 3.0)
    """
    if with_accums is not None:
        raise TypeError(
            "custom_gradient: with_accums is not None. Rules return cotangents here: leave with_accums out, and return "
            "the cotangents."
        )
    if fun is None:
        return functools.partial(custom_gradient, with_logs=with_logs, remat=remat)
    name = signature.fun_name(fun)

    def pair_of(f: Any, args: tuple[Any, ...], who: str) -> Any:
        pair = f(*args)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(f"{who} must return a pair (out, rule), the rule being a function; it returned {pair}.")
        return pair

    def value_and_rule(args: tuple[Any, ...]) -> Any:
        out, rule = pair_of(fun, args, f"custom_gradient function {name}")
        if remat:
            out, rule = pair_of(rule, args, f"what custom_gradient function {name} returned with remat=True")
        return out, rule

    @functools.wraps(fun)
    def primal(*args: Any) -> Any:
        return pair_of(fun, args, f"custom_gradient function {name}")[0]

    def forward(*args: Any) -> Any:
        out, rule = value_and_rule(args)
        outs, out_tree = _flatten(out)
        in_trees: list[Any] = []

        def flat(*cts: Any) -> list[Any]:
            result = rule(out_tree.unflatten(cts))
            if with_logs:
                result = pair_with_logs(result, f"The rule of custom_gradient function {name}, with with_logs=True,")
            found, in_tree = _flatten(result)
            in_trees.append(in_tree)
            return found

        info = DebugInfo(f"{name}_rule", "custom_gradient", code=signature.code_of(rule))
        avals = [shaped(o).tangent() for o in outs]
        jaxpr, values = closed_call_operands(trace_to_jaxpr(flat, avals, info))
        return out, (values, _Pullback(jaxpr, in_trees[0]), len(args))

    def backward(residuals: Any, cotangent: Any) -> Any:
        values, rule, n_args = residuals
        result = rule.out_tree.unflatten(eval_jaxpr(rule.jaxpr, (), *values, *_flatten(cotangent)[0]))
        entries = None
        if with_logs:
            result, entries = result
        if n_args == 1 and not isinstance(result, (tuple, list)):
            result = (result,)
        return (result, entries) if with_logs else result

    wrapped = custom_vjp(primal)
    forward.__name__ = f"{name}_fwd"
    backward.__name__ = f"{name}_bwd"
    (wrapped.defvjp_with_logs if with_logs else wrapped.defvjp)(forward, backward)
    return wrapped


__all__ = ["closure_convert", "custom_gradient"]
