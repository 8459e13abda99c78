"""Functions with batching rules of their own: custom_vmap and sequential_vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from xtrace.core import dtypes, pytree, signature
from xtrace.core.avals import ShapedArray
from xtrace.core.jaxpr import Jaxpr, eval_jaxpr
from xtrace.core.primitive import Primitive
from xtrace.core.trace import current
from xtrace.lax.control_flow import common, scans
from xtrace.lax.custom_functions import forwarded_method, positional_arguments
from xtrace.transforms.batching import MappedAxis, batch_flat, move_axis
from xtrace.transforms.jvp import jvp_flat, jvp_jaxpr
from xtrace.transforms.linearize import Tape
from xtrace.transforms.zeros import instantiate, zero_tangent

_flatten = pytree.default_registry.flatten


class custom_vmap:
    """A function with a batching rule of its own.

    Args:
      fun: a function of arrays or pytrees.

    Returns:
      A function like `fun`, whose method `def_vmap` sets the rule. Forward mode differentiates the function, and under
      vmap the rule. For reverse mode wrap it in custom_vjp.

    Raises:
      AttributeError: called before a rule is set.
      ValueError: the rule's result doesn't fit; reverse mode.

    Example:
      >>> import xtrace as xt, xtrace.numpy as xnp
      >>> @xt.custom_batching.custom_vmap
      ... def f(x, y):
      ...     return x + y
      >>> @f.def_vmap
      ... def rule(axis_size, in_batched, xs, ys):
      ...     return xs * ys, True
      >>> xt.vmap(f)(xnp.arange(3), xnp.arange(1, 4))
      Array([0, 2, 6], dtype=int32)
    """

    vmap_rule: Callable[..., tuple[Any, Any]] | None = None

    def __init__(self, fun: Callable[..., Any]) -> None:
        if not callable(fun):
            raise TypeError(f"custom_vmap takes a function, got {fun!r} of type {type(fun)}")
        functools.update_wrapper(self, fun)
        self.fun = fun

    def __getattr__(self, name: str) -> Any:
        return forwarded_method(self, name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<custom_vmap function {signature.fun_name(self.fun)}>"

    def def_vmap(self, vmap_rule: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        """Set the rule, and return it, so that this serves as a decorator.

        Args:
          vmap_rule: `vmap_rule(axis_size, in_batched, *args)` returns (out, out_batched). `in_batched` is a list with
            for each argument a pytree of booleans: whether the leaf has the mapped axis, as its axis 0. `out_batched`
            says the same of the leaves of `out`.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fun = self.fun
        name = signature.fun_name(fun)
        args = positional_arguments("custom_vmap", fun, name, args, kwargs)
        if self.vmap_rule is None:
            raise AttributeError(f"No batching rule defined for custom_vmap function {name} using def_vmap.")
        if current.trace is None:
            return fun(*args)
        leaves, tree = common.checked_leaves(f"custom_vmap function {name}: args", args)
        body = common.stage(fun, "custom_vmap fun", fun, tree, tuple([common.shaped(x) for x in leaves]))
        body = common.read_only(f"custom_vmap function {name}", body)
        rule = _UserRule(self.vmap_rule, name, tree, body.out_tree, len(body.consts))
        return body.out_tree.unflatten(custom_vmap_p.bind(*body.consts, *leaves, call=body.jaxpr, rule=rule))


# A rule in the equation is flat: (axis, which operands are mapped, operands) -> (results, which of them are mapped).


class _UserRule:
    """The user's rule; the first `num_consts` operands are what the function closes over."""

    __slots__ = ("rule", "fun_name", "in_tree", "out_tree", "num_consts")

    def __init__(self, rule: Any, fun_name: str, in_tree: Any, out_tree: Any, num_consts: int) -> None:
        self.rule = rule
        self.fun_name = fun_name
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.num_consts = num_consts

    def __call__(self, axis: MappedAxis, mapped: Sequence[bool], args: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        n = self.num_consts
        name = signature.fun_name(self.rule)
        if any(mapped[:n]):
            raise ValueError(
                f"the custom_vmap function {self.fun_name} closes over a value that is being mapped, which its rule "
                f"{name} can't know of: pass the value as an argument."
            )
        unflatten = self.in_tree.unflatten
        pair = self.rule(axis.size, list(unflatten(list(mapped[n:]))), *unflatten(args[n:]))
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"custom vmap rule ({name}) must return a pair (out, out_batched), but got {pair}.")
        outs, out_tree = _flatten(pair[0])
        out_mapped, mapped_tree = _flatten(pair[1])
        if out_tree != mapped_tree:
            raise ValueError(
                "structure of output value and output batching specification returned by custom vmap rule "
                f"({name}) do not match.\nOutput values: {out_tree}\nBatching spec: {mapped_tree}"
            )
        if out_tree != self.out_tree:
            raise ValueError(
                f"structure of output returned by custom vmap rule ({name}) does not match that of original "
                f"custom-vmapped function.\nOriginal output: {self.out_tree}\nRule output: {out_tree}"
            )
        return outs, [bool(m) for m in out_mapped]

    def __repr__(self) -> str:
        return signature.fun_name(self.rule)


class _DerivativeOfRule:
    """The rule for a function's forward derivative, whose operands are primals and the tangents of inexact ones.

    Where primal and tangent are both mapped, the rule gets them as such. Where one of them is, the derivative of the
    rule for unmapped operands is mapped itself, so that what doesn't depend on the axis stays unmapped.
    """

    __slots__ = ("inner", "num_consts", "has_tangent")

    def __init__(self, inner: Any, num_consts: int, has_tangent: tuple[bool, ...]) -> None:
        self.inner = inner
        self.num_consts = num_consts
        self.has_tangent = has_tangent

    def __call__(self, axis: MappedAxis, mapped: Sequence[bool], args: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        mapped, args = list(mapped[self.num_consts :]), list(args[self.num_consts :])
        n = len(self.has_tangent)
        places: list[int | None] = []
        at = n
        for has in self.has_tangent:
            places.append(at if has else None)
            at += has
        both = [mapped[i] and (p is None or mapped[p]) for i, p in enumerate(places)]
        if any(both):
            for i, p in enumerate(places):
                if p is not None and mapped[i] != mapped[p]:
                    lacking = p if mapped[i] else i
                    args[lacking] = move_axis(args[lacking], None, 0, axis.size)
                    mapped[lacking] = both[i] = True
        extra: list[int | None] = [0 if m else None for m in mapped]
        for i, p in enumerate(places):
            if both[i]:
                extra[i] = None
                if p is not None:
                    extra[p] = None
        rule_mapped: list[bool] = []

        def rule(*primals: Any) -> list[Any]:
            outs, out_mapped = self.inner(axis, both, primals)
            rule_mapped.extend(out_mapped)
            return outs

        def derivative(*xs: Any) -> list[Any]:
            tangents = [zero_tangent(xs[i]) if p is None else xs[p] for i, p in enumerate(places)]
            outs, out_tangents = jvp_flat(rule, xs[:n], tangents)
            inexact = [t for o, t in zip(outs, out_tangents) if dtypes.is_inexact(common.shaped(o).dtype)]
            return [*outs, *[instantiate(t) for t in inexact]]

        outs, dims = batch_flat(derivative, MappedAxis(axis.size), args, extra)
        n_outs = len(rule_mapped)
        inexact = [i for i in range(n_outs) if dtypes.is_inexact(common.shaped(outs[i]).dtype)]
        out_mapped = [*rule_mapped, *[rule_mapped[i] for i in inexact]]
        outs = [o if d is None else move_axis(o, d, 0, axis.size) for o, d in zip(outs, dims)]
        return outs, [m or d is not None for m, d in zip(out_mapped, dims)]

    def __repr__(self) -> str:
        return f"jvp of {self.inner!r}"


def _avals(*avals: ShapedArray, call: Jaxpr, **_: Any) -> list[ShapedArray]:
    return call.out_avals


custom_vmap_p = Primitive("custom_vmap_call", _avals)
custom_vmap_p.multiple_results = True
custom_vmap_p.holds_jaxprs = True
custom_vmap_p.effects = lambda avals, params: params["call"].effects


def _batch(axis: MappedAxis, args: list[Any], dims: list[int | None], *, call: Jaxpr, rule: Any) -> Any:
    args = [x if d is None else move_axis(x, d, 0, axis.size) for x, d in zip(args, dims)]
    outs, mapped = rule(axis, [d is not None for d in dims], args)
    return outs, [0 if m else None for m in mapped]


def _jvp(primals: list[Any], tangents: list[Any], *, call: Jaxpr, rule: Any) -> Any:
    has_tangent = tuple([dtypes.is_inexact(v.aval.dtype) for v in call.invars])
    derivative, consts, out_nonzeros = jvp_jaxpr(call, has_tangent, True)
    given = [instantiate(t) for t, has in zip(tangents, has_tangent) if has]
    outs = custom_vmap_p.bind(
        *consts, *primals, *given, call=derivative, rule=_DerivativeOfRule(rule, len(consts), has_tangent)
    )
    n = len(call.outvars)
    rest = iter(outs[n:])
    return outs[:n], [next(rest) if nz else zero_tangent(o) for o, nz in zip(outs[:n], out_nonzeros)]


def _linearize(tape: Tape, primals: list[Any], tangents: list[Any], *, call: Jaxpr, rule: Any) -> Any:
    raise ValueError(
        "Linearization failed to produce known values for all output primals: "
        f"the custom_vmap function {call.debug_info.func_name} has no reverse mode. Wrap it in custom_vjp (custom_vjp "
        "outside, custom_vmap inside) and define both rules, or differentiate it with jvp."
    )


custom_vmap_p.batch = _batch
custom_vmap_p.jvp = _jvp
custom_vmap_p.linearize = _linearize
custom_vmap_p.on_tape = lambda tape, args, *, call, **_: eval_jaxpr(call, (), *args)


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """`f`, called for one element after the other where it is mapped: for functions that can't be batched.

    Args:
      f: a function of arrays or pytrees.

    Returns:
      A custom_vmap function.

    Example:
      >>> import xtrace as xt, xtrace.numpy as xnp
      >>> f = xt.custom_batching.sequential_vmap(lambda x: x + 1)
      >>> xt.vmap(f)(xnp.arange(3))
      Array([1, 2, 3], dtype=int32)
    """
    wrapped = custom_vmap(f)

    def rule(axis_size: int, in_batched: list[Any], *args: Any) -> Any:
        leaves, tree = _flatten(args)
        flags = _flatten(tuple(in_batched))[0]

        def one(mapped: list[Any]) -> Any:
            elements = iter(mapped)
            return wrapped(*tree.unflatten([next(elements) if m else x for x, m in zip(leaves, flags)]))

        out = scans.map(one, [x for x, m in zip(leaves, flags) if m])
        return out, pytree.tree_map(lambda _: True, out)

    wrapped.def_vmap(rule)
    return wrapped


__all__ = ["custom_vmap", "custom_vmap_p", "sequential_vmap"]
