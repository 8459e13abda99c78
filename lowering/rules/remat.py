"""Lowering of rematerialized calls: a call, behind a barrier where the compiler might undo the recomputation."""

from __future__ import annotations

from typing import Any

from xtrace.lowering.lower import Body
from xtrace.transforms.remat import name_p, remat_p


def _remat(ctx: Body, eqn: Any, *operands: Any) -> Any:
    params = eqn.params
    cse = params["prevent_cse"]
    flags = (cse,) * len(operands) if isinstance(cse, bool) else cse
    values = list(operands)
    if params["differentiated"] and any(flags):
        # Behind it, what is computed again isn't the expression that the forward pass has computed already.
        held = [i for i, flag in enumerate(flags) if flag]
        avals = [eqn.invars[i].aval for i in held]
        results = ctx.ops("stablehlo.optimization_barrier", avals, [values[i] for i in held]).results
        for i, value in zip(held, results):
            values[i] = value
    return ctx.call(params["jaxpr"], "checkpoint", values)


remat_p.lower = _remat
name_p.lower = lambda ctx, eqn, x: x
