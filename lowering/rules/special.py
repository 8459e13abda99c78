"""Lowering of incomplete gamma and beta functions and Bessel functions: series and fractions written with lax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xtrace.core import dtypes
from xtrace.lax import bessel, incomplete_beta, incomplete_gamma, shapes
from xtrace.lowering.lower import Body

#: The primitives, and the functions of float32 or float64 arrays that compute them.
_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    bessel.bessel_i0e_p: lambda x: bessel.scaled(x, 0),
    bessel.bessel_i1e_p: lambda x: bessel.scaled(x, 1),
    incomplete_gamma.igamma_p: lambda a, x: incomplete_gamma.regularized(a, x, upper=False),
    incomplete_gamma.igammac_p: lambda a, x: incomplete_gamma.regularized(a, x, upper=True),
    incomplete_gamma.igamma_grad_a_p: lambda a, x: incomplete_gamma.slope_in_a(a, x, of_sample=False),
    incomplete_gamma.random_gamma_grad_p: lambda a, x: incomplete_gamma.slope_in_a(a, x, of_sample=True),
    incomplete_beta.regularized_incomplete_beta_p: incomplete_beta.regularized,
}


def _by_composition(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(ctx: Body, eqn: Any, *operands: Any) -> Any:
        out = eqn.outvars[0].aval.strong()
        wide = out.dtype if dtypes.itemsize_bits(out.dtype) >= 32 else dtypes.float32

        def fill(body: Body, *xs: Any) -> Any:
            def computed(*arrays: Any) -> Any:
                widened = [shapes.convert_element_type(x, wide) for x in arrays]
                return shapes.convert_element_type(function(*widened), out.dtype)

            return body.inline(computed, [out] * len(xs), *xs)

        return ctx.call_shared(eqn.primitive.name, [out] * len(operands), [out], fill, operands)[0]

    return rule


for _primitive, _function in _FUNCTIONS.items():
    _primitive.lower = _by_composition(_function)
