"""Polynomials, as one operation: their derivative is another polynomial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import joining
from xtrace.lax.elementwise import NUMERIC, elementwise, filled_like, scalar_like
from xtrace.lax.rules import elementwise_aval
from xtrace.transforms.accumulate import add_tangents
from xtrace.transforms.zeros import Zero, broadcast_to, zero_tangent

polynomial_p = elementwise("polynomial", NUMERIC)


def _polynomial_aval(x: ShapedArray, *coeffs: ShapedArray, unroll: int | None = None) -> ShapedArray:
    return elementwise_aval("polynomial", (NUMERIC,) * (1 + len(coeffs)), None)(x, *coeffs)


polynomial_p.abstract_eval = _polynomial_aval  # type: ignore[method-assign]


def polynomial(x: Any, coeffs: Any, *, unroll: int | None = None) -> Any:
    """Elementwise polynomial: coeffs[0] + coeffs[1] * x + coeffs[2] * x**2 + …, by Horner's rule.

    Args:
      x: array.
      coeffs: coefficients, lowest power first: a sequence of scalars or of arrays that broadcast against `x`, or one
        array whose first axis counts them. Numbers take the dtype of `x`.
      unroll: how many steps a compiler that loops should take at once; the steps are written out here.

    Returns:
      An array of the common shape.

    Raises:
      TypeError: dtypes differ.

    Example:
      >>> import xtrace as xt
      >>> print(xt.lax.polynomial(2.0, [1.0, 10.0, 100.0]))
      421.0
    """
    if not isinstance(coeffs, (list, tuple)):
        coeffs = joining.unstack(coeffs, axis=0)
    if not coeffs:
        return filled_like(x, 0)
    coeffs = [scalar_like(x, c) if isinstance(c, (int, float, complex)) else c for c in coeffs]
    params = {} if unroll is None else {"unroll": unroll}
    return polynomial_p.bind(x, *coeffs, **params)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    x, *coeffs = primals
    out = polynomial_p.bind(x, *coeffs, **params)
    total: Any = zero_tangent(out)
    if type(tangents[0]) is not Zero and len(coeffs) > 1:
        slope = [el.mul(scalar_like(c, k), c) for k, c in enumerate(coeffs)][1:]
        total = _widened(el.mul(tangents[0], polynomial_p.bind(x, *slope, **params)), out)
    for k, t in enumerate(tangents[1:]):
        if type(t) is not Zero:
            total = add_tangents(total, _widened(el.mul(t, el.integer_pow(x, k)) if k else t, out))
    return out, total


def _widened(t: Any, like: Any) -> Any:
    shape = shaped(like).shape
    return t if shaped(t).shape == shape else broadcast_to(t, shape)


polynomial_p.jvp = _jvp
