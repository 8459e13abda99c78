"""Lowering of choices between arrays."""

from __future__ import annotations

from typing import Any

from xtrace.core import dtypes
from xtrace.lax import selection
from xtrace.lowering.lower import Body
from xtrace.lowering.rules.elementwise import compare


def _select_n(ctx: Body, eqn: Any, which: Any, *cases: Any) -> Any:
    index, out = eqn.invars[0].aval, eqn.outvars[0].aval

    def choose(lo: int, hi: int) -> Any:
        """The case among `lo` to `hi` - 1, by bisection of the index."""
        if hi - lo == 1:
            return cases[lo]
        middle = (lo + hi) // 2
        flag = index.update(dtype=dtypes.bool_, weak_type=False)
        below = compare(ctx, "LT", which, ctx.full_like(middle, index), index, flag)
        return ctx.op("stablehlo.select", out, [below, choose(lo, middle), choose(middle, hi)])

    if index.dtype == dtypes.bool_ and len(cases) == 2:
        return ctx.op("stablehlo.select", out, [which, cases[1], cases[0]])
    return choose(0, len(cases))


def _clamp(ctx: Body, eqn: Any, low: Any, x: Any, high: Any) -> Any:
    return ctx.op("stablehlo.clamp", eqn.outvars[0].aval, [low, x, high])


selection.select_n_p.lower = _select_n
selection.clamp_p.lower = _clamp
