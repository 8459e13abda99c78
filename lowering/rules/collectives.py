"""Collectives outside of what maps their axis: there is nothing to lower them to."""

from __future__ import annotations

from typing import Any, NoReturn

from xtrace.core import source
from xtrace.core.trace import current
from xtrace.lax import collectives, exchanges
from xtrace.lowering.lower import Body


def _unmapped(ctx: Body, eqn: Any, *operands: Any) -> NoReturn:
    params, primitive = eqn.params, eqn.primitive
    names = collectives.names_of(params["axes"] if "axes" in params else params["axis_name"])
    where = source.describe(eqn.position or current.position)
    raise NameError(
        f"Found an unbound axis name: {', '.join(map(str, names))}. {primitive.name} at {where} works along that axis, "
        f"and the function that is compiled is not mapped over it. Map it first, as by vmap(f, axis_name={names[0]!r})."
    )


for _primitive in (
    collectives.all_gather_p,
    collectives.axis_index_p,
    collectives.pbroadcast_p,
    collectives.pmax_p,
    collectives.pmin_p,
    collectives.ppermute_p,
    collectives.psum_p,
    exchanges.all_to_all_p,
    exchanges.ragged_all_to_all_p,
    exchanges.reduce_scatter_p,
):
    _primitive.lower = _unmapped
