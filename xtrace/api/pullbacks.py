"""Reverse mode in two functions: the forward pass hands its residuals to a backward pass that is compiled once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xtrace.api import autodiff
from xtrace.api.jit import jit
from xtrace.api.vjp_function import check_cotangent
from xtrace.core import dtypes, pytree, signature
from xtrace.core.jaxpr import DebugInfo, Jaxpr, eval_jaxpr
from xtrace.core.primitive import as_array, shaped
from xtrace.core.trace import current, use_trace
from xtrace.transforms.linearize import Tape, backward, linearize_flat
from xtrace.transforms.zeros import Zero, instantiate

_flatten = pytree.default_registry.flatten


class Residuals:
    """What a forward pass leaves for the backward pass: a pytree of arrays, with the linear program they belong to."""

    __slots__ = ("values", "program")

    def __init__(self, values: Sequence[Any], program: tuple[Any, ...]) -> None:
        self.values = values
        #: (linear jaxpr, avals of inputs, which are differentiated, in_tree, out_tree, avals of outputs, nonzero outs)
        self.program = program

    def pull_back(self, ct: Any) -> tuple[Any, ...]:
        """Cotangents of the arguments, given one of the output."""
        linear, in_avals, differentiated, in_tree, out_tree, out_avals, nonzeros = self.program
        cts, tree = _flatten(ct)
        if tree != out_tree:
            raise ValueError(
                f"unexpected tree structure of argument to vjp function: got {tree}, but expected to match {out_tree}"
            )
        checked = [check_cotangent(c, a, i) for i, (c, a) in enumerate(zip(cts, out_avals))]
        tape = Tape(current.trace)
        inputs = [tape.new_value(a.tangent()) for a, d in zip(in_avals, differentiated) if d]
        with use_trace(tape):
            outs = eval_jaxpr(linear, (), *self.values, *inputs)
        results = iter(backward(tape, outs, [c for c, nz in zip(checked, nonzeros) if nz], inputs))
        full = [
            as_array(instantiate(next(results))) if d else np.zeros(a.shape, dtypes.float0)
            for a, d in zip(in_avals, differentiated)
        ]
        return in_tree.unflatten(full)  # type: ignore[no-any-return]


pytree.register_node(Residuals, lambda r: (r.values, r.program), lambda program, values: Residuals(values, program))


def fwd_and_bwd(
    fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The forward and the backward pass of `fun` as two functions, each compiled once.

    Args:
      fun: a function of arrays or pytrees; it returns (out, aux) with has_aux.
      argnums: which positional arguments to differentiate.
      jitted: whether to compile both.

    Returns:
      (fwd, bwd): fwd(*args) gives (out, residuals), or (out, residuals, aux); bwd(residuals, cotangent) gives a tuple
      of cotangents, one for each of argnums.

    >>> import xtrace as xt
    >>> fwd, bwd = xt.fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
    >>> out, residuals = fwd(2.0, 3.0)
    >>> [float(v) for v in bwd(residuals, 1.0)]
    [3.0, 2.0]
    """
    autodiff._check_callable(fun, "fwd_and_bwd")
    name = signature.fun_name(fun)

    def fwd(*args: Any) -> Any:
        nums = autodiff._argnums(fun, argnums, args, "fwd_and_bwd")
        leaves, tree = _flatten(tuple([args[i] for i in nums]))
        for x in leaves:
            autodiff._check_leaf(x, "fwd_and_bwd", fun)
        aux_box: list[Any] = []
        main = autodiff._with_aux(fun, aux_box, "fwd_and_bwd") if has_aux else fun

        def partial(*chosen: Any) -> Any:
            full = list(args)
            for i, x in zip(nums, chosen):
                full[i] = x
            return main(*full)

        flat, out_trees = autodiff._flat_function(partial, tree, name, "fwd_and_bwd")
        avals = tuple([shaped(x) for x in leaves])
        differentiated = tuple([dtypes.is_inexact(a.dtype) for a in avals])
        outs, lin = linearize_flat(flat, leaves, differentiated, (fun, "fwd_and_bwd"))
        linear: Jaxpr
        linear, residuals = lin.jaxpr(DebugInfo(name, "fwd_and_bwd"))
        nonzeros = tuple([type(t) is not Zero for t in lin.outs])
        out_avals = tuple([shaped(o) for o in outs])
        program = (linear, avals, differentiated, tree, out_trees[0], out_avals, nonzeros)
        out = out_trees[0].unflatten([as_array(o) for o in outs])
        result = (out, Residuals([as_array(r) for r in residuals], program))
        return (*result, autodiff._without_tracers(aux_box[0], lin)) if has_aux else result

    def bwd(residuals: Residuals, ct: Any) -> tuple[Any, ...]:
        return residuals.pull_back(ct)

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


__all__ = ["Residuals", "fwd_and_bwd"]
