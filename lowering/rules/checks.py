"""Lowering of checks: there is none, unless they are for debugging."""

from __future__ import annotations

from typing import Any

from xtrace.core import source
from xtrace.lax.checks import check_p
from xtrace.lowering.lower import Body


def _check(ctx: Body, eqn: Any, *operands: Any) -> list[Any]:
    if not eqn.params["debug"]:
        raise ValueError(
            "Cannot abstractly evaluate a checkify.check which was not functionalized: the check at "
            f"{source.describe(eqn.position)} is compiled, and a compiled program can't raise errors. Wrap the "
            "function in checkify.checkify, which returns the error as a value: "
            "err, out = jit(checkify.checkify(f))(x); err.throw(). Or write checkify.debug_check, which is left out of "
            "programs that are not wrapped."
        )
    return []


check_p.lower = _check
