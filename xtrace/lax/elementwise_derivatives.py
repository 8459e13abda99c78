"""Derivatives and transposes of the elementwise operations, by table: one rule an operand, (tangent, out, *operands).

Where an operation isn't differentiable the rules choose as JAX does: ties of max and min share the derivative
equally, |x| has 1 at 0 (and 0 at complex 0), clamp has 0 at its bounds, x ** y has 0 along y where x is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.primitive import Primitive, scalar_of, shaped
from xtrace.lax import comparisons, identities, selection
from xtrace.lax import elementwise as el
from xtrace.lax import shapes as _shapes
from xtrace.lax.elementwise import abs as abs_
from xtrace.lax.elementwise import (
    add,
    conj,
    cos,
    cosh,
    div,
    exp,
    filled_like,
    floor,
    imag,
    integer_pow,
    log,
    mul,
    neg,
    one_minus_square,
    real,
    rsqrt,
    scalar_like,
    sign,
    sin,
    sinh,
    square,
    sub,
)
from xtrace.lax.elementwise import complex as complex_
from xtrace.lax.elementwise import max as max_
from xtrace.lax.elementwise import pow as pow_
from xtrace.lax.rules import is_linear, linear_in, unbroadcast
from xtrace.transforms.zeros import zero_tangent

Rule = Callable[..., Any]


def _strong_like(x: Any, value: Any) -> Any:
    """`value` as a scalar of the dtype of `x` that is not weakly typed: neither is then what is computed with it."""
    return scalar_of(value, shaped(x).strong())


def _one_where(mask: Any, x: Any) -> Any:
    """`x` with 1 where `mask` holds."""
    return selection.select_n(mask, x, filled_like(x, 1))


# -- rules that take more than a line ------------------------------------------------------------------------------


def _abs(t: Any, out: Any, x: Any) -> Any:
    if not dtypes.is_complex(shaped(x).dtype):
        return selection.select_n(comparisons.ge(x, scalar_like(x, 0)), neg(t), t)
    size = _shapes.convert_element_type(out, shaped(x).dtype)
    unit = div(conj(x), _one_where(comparisons.eq(size, scalar_like(size, 0)), size))
    return real(mul(t, unit))


def _sign(t: Any, out: Any, x: Any) -> Any:
    """Only the angle of a complex number changes its sign."""
    if not dtypes.is_complex(shaped(x).dtype):
        return zero_tangent(out)
    size = abs_(x)
    turn = div(imag(mul(conj(out), t)), _one_where(comparisons.eq(size, scalar_like(size, 0)), size))
    return mul(out, complex_(filled_like(turn, 0), turn))


def _inverse_hypotenuse(x: Any) -> Any:
    """1 / sqrt(1 + x * x) without overflow: both sides of the fraction are scaled by a constant of differentiation."""
    aval = shaped(x)
    complex_valued = dtypes.is_complex(aval.dtype)
    limits = dtypes.finfo(dtypes.to_real(aval.dtype))
    exponent = int(limits.maxexp) // 2 - 2
    parts = (real(x), imag(x)) if complex_valued else (x,)
    size = max_(abs_(parts[0]), abs_(parts[1])) if complex_valued else abs_(x)
    r = parts[0]
    scale = selection.clamp(
        scalar_like(r, 1.0), mul(size, scalar_like(r, 2.0**-exponent)), scalar_like(r, 2.0 ** (exponent + 4))
    )
    inverse = integer_pow(identities.stop_gradient(scale), -1)
    if not complex_valued:
        return mul(inverse, rsqrt(add(square(mul(x, inverse)), square(inverse))))
    a, b = mul(parts[0], inverse), mul(parts[1], inverse)
    # inverse**2 - b**2 as a product, which is exact near the branch points i and -i
    inside = complex_(add(square(a), mul(add(inverse, b), sub(inverse, b))), mul(scalar_like(a, 2.0), mul(a, b)))
    root = rsqrt(inside)
    value = complex_(mul(real(root), inverse), mul(imag(root), inverse))
    return selection.select_n(comparisons.eq(size, scalar_like(size, np.inf)), value, filled_like(value, 0))


def _integer_pow(t: Any, out: Any, x: Any, *, y: int) -> Any:
    if y == 0:
        return zero_tangent(out)
    if y == 1:
        return t
    return mul(t, mul(scalar_like(x, y), x if y == 2 else integer_pow(x, y - 1)))


def _pow_base(t: Any, out: Any, x: Any, y: Any) -> Any:
    if dtypes.is_inexact(shaped(y).dtype):
        return mul(t, mul(y, pow_(x, sub(y, _strong_like(y, 1)))))
    y = _shapes.convert_element_type(y, shaped(x).dtype)
    at_zero = comparisons.eq(y, scalar_like(y, 0))
    slope = mul(_one_where(at_zero, y), pow_(x, sub(y, scalar_like(y, 1))))
    shape = shaped(slope).shape
    at_zero = _shapes.broadcast_in_dim(at_zero, shape, range(shaped(at_zero).ndim))
    return mul(t, selection.select_n(at_zero, slope, filled_like(slope, 0)))


def _pow_exponent(t: Any, out: Any, x: Any, y: Any) -> Any:
    return mul(t, mul(log(_one_where(comparisons.eq(x, scalar_like(x, 0)), x)), out))


def _rem_divisor(t: Any, out: Any, x: Any, y: Any) -> Any:
    quotient = div(x, y)
    return mul(neg(t), mul(sign(quotient), floor(abs_(quotient))))


def _shared(above: Primitive) -> Rule:
    """The rule of max or min along x: 1 where x is chosen, 0 where y is, 1/2 where they are equal."""

    def rule(t: Any, out: Any, x: Any, y: Any) -> Any:
        # Complex numbers have no `above`; they are compared with the result.
        chosen = comparisons.eq(out, x) if dtypes.is_complex(shaped(out).dtype) else above.bind(x, y)
        one, half, zero = [filled_like(out, v, weak=False) for v in (1.0, 0.5, 0.0)]
        return mul(t, selection.select_n(comparisons.eq(x, y), selection.select_n(chosen, zero, one), half))

    return rule


def _swapped(rule: Rule) -> Rule:
    return lambda t, out, x, y: rule(t, out, y, x)


_max = _shared(el.gt_p)
_min = _shared(el.lt_p)


def _real_transpose(ct: Any, x: Any) -> list[Any]:
    return [complex_(ct, _strong_like(ct, 0))]


def _imag_transpose(ct: Any, x: Any) -> list[Any]:
    return [complex_(_strong_like(ct, 0), neg(ct))]


def _conj_transpose(ct: Any, x: Any, *, input_dtype: Any) -> list[Any]:
    return [conj(ct) if dtypes.is_complex(input_dtype) else real(ct)]


def _complex_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [
        unbroadcast(real(ct), x.aval) if is_linear(x) else None,
        unbroadcast(imag(neg(ct)), y.aval) if is_linear(y) else None,
    ]


# -- the table -----------------------------------------------------------------------------------------------------

_LN2 = float(np.log(2.0))

#: Rules of functions with an accuracy take it as a keyword argument and hand it on where they call a function again.
DERIVATIVES: dict[Primitive, tuple[Rule | None, ...]] = {
    el.neg_p: (lambda t, out, x: neg(t),),
    el.sign_p: (_sign,),
    el.abs_p: (_abs,),
    el.exp_p: (lambda t, out, x, accuracy=None: mul(t, out),),
    el.exp2_p: (lambda t, out, x, accuracy=None: mul(scalar_like(x, _LN2), mul(t, out)),),
    el.expm1_p: (lambda t, out, x, accuracy=None: mul(t, exp(x)),),
    el.log_p: (lambda t, out, x, accuracy=None: div(t, x),),
    el.log2_p: (lambda t, out, x, accuracy=None: div(t, mul(x, scalar_like(x, _LN2))),),
    el.log1p_p: (lambda t, out, x, accuracy=None: div(t, add(x, scalar_like(x, 1))),),
    el.logistic_p: (lambda t, out, x, accuracy=None: mul(t, mul(out, sub(scalar_like(x, 1), out))),),
    el.sin_p: (lambda t, out, x, accuracy=None: mul(t, cos(x, accuracy=accuracy)),),
    el.cos_p: (lambda t, out, x, accuracy=None: neg(mul(t, sin(x, accuracy=accuracy))),),
    el.tan_p: (lambda t, out, x, accuracy=None: mul(t, add(scalar_like(x, 1), square(out))),),
    el.asin_p: (lambda t, out, x: mul(t, rsqrt(one_minus_square(x))),),
    el.acos_p: (lambda t, out, x: mul(t, neg(rsqrt(one_minus_square(x)))),),
    el.atan_p: (lambda t, out, x: div(t, add(scalar_like(x, 1), square(x))),),
    el.sinh_p: (lambda t, out, x: mul(t, cosh(x)),),
    el.cosh_p: (lambda t, out, x: mul(t, sinh(x)),),
    el.tanh_p: (lambda t, out, x, accuracy=None: mul(t, one_minus_square(out)),),
    el.asinh_p: (lambda t, out, x: mul(t, _inverse_hypotenuse(x)),),
    el.acosh_p: (lambda t, out, x: mul(t, mul(rsqrt(sub(x, scalar_like(x, 1))), rsqrt(add(x, scalar_like(x, 1))))),),
    el.atanh_p: (lambda t, out, x: div(t, one_minus_square(x)),),
    el.sqrt_p: (lambda t, out, x, accuracy=None: mul(t, div(scalar_like(x, 0.5), out)),),
    el.rsqrt_p: (lambda t, out, x, accuracy=None: mul(t, mul(scalar_like(x, -0.5), div(out, x))),),
    el.cbrt_p: (lambda t, out, x, accuracy=None: mul(t, mul(scalar_like(x, 1 / 3), integer_pow(out, -2))),),
    el.square_p: (lambda t, out, x: mul(t, mul(scalar_like(x, 2), x)),),
    el.one_minus_square_p: (lambda t, out, x: mul(t, mul(scalar_like(x, -2), x)),),
    el.integer_pow_p: (_integer_pow,),
    el.real_p: (lambda t, out, x: real(t),),
    el.imag_p: (lambda t, out, x: imag(t),),
    el.conj_p: (lambda t, out, x, input_dtype: el.conj_p.bind(t, input_dtype=input_dtype),),
    el.add_p: (lambda t, out, x, y: t, lambda t, out, x, y: t),
    el.sub_p: (lambda t, out, x, y: t, lambda t, out, x, y: neg(t)),
    el.mul_p: (
        lambda t, out, x, y, out_dtype=None: mul(t, y, out_dtype=out_dtype),
        lambda t, out, x, y, out_dtype=None: mul(x, t, out_dtype=out_dtype),
    ),
    el.div_p: (lambda t, out, x, y: div(t, y), lambda t, out, x, y: mul(mul(neg(t), x), integer_pow(y, -2))),
    el.rem_p: (lambda t, out, x, y: t, _rem_divisor),
    el.pow_p: (_pow_base, _pow_exponent),
    el.max_p: (_max, _swapped(_max)),
    el.min_p: (_min, _swapped(_min)),
    el.atan2_p: (
        lambda t, out, x, y: mul(t, div(y, add(square(x), square(y)))),
        lambda t, out, x, y: mul(t, div(neg(x), add(square(x), square(y)))),
    ),
    el.nextafter_p: (lambda t, out, x, y: t, None),
    el.complex_p: (
        lambda t, out, x, y: complex_(t, scalar_like(t, 0)),
        lambda t, out, x, y: complex_(scalar_like(t, 0), t),
    ),
}

#: Constant between jumps, or without real operands: no derivative.
FLAT = (
    el.floor_p, el.ceil_p, el.round_p, el.is_finite_p, el.not_p, el.population_count_p, el.clz_p, el.and_p, el.or_p,
    el.xor_p, el.shift_left_p, el.shift_right_logical_p, el.shift_right_arithmetic_p, el.mulhi_p, el.eq_p, el.ne_p,
    el.lt_p, el.le_p, el.gt_p, el.ge_p, el.eq_to_p, el.lt_to_p, el.le_to_p,
)  # fmt: skip

for _primitive, _rules in DERIVATIVES.items():
    _primitive.jvps = _rules
for _primitive in FLAT:
    _primitive.jvps = (None, None)

# -- transposes of the operations that are linear --------------------------------------------------------------------


def _transpose_add(ct: Any, x: Any, y: Any) -> list[Any]:
    return [unbroadcast(ct, v.aval) if is_linear(v) else None for v in (x, y)]


def _transpose_sub(ct: Any, x: Any, y: Any) -> list[Any]:
    return [unbroadcast(ct, x.aval) if is_linear(x) else None, unbroadcast(neg(ct), y.aval) if is_linear(y) else None]


def _transpose_mul(ct: Any, x: Any, y: Any, *, out_dtype: Any = None) -> list[Any]:
    if is_linear(x):
        return [unbroadcast(mul(ct, y, out_dtype=None if out_dtype is None else x.aval.dtype), x.aval), None]
    return [None, unbroadcast(mul(x, ct, out_dtype=None if out_dtype is None else y.aval.dtype), y.aval)]


el.add_p.transpose = _transpose_add
el.sub_p.transpose = _transpose_sub
el.mul_p.transpose = _transpose_mul
el.real_p.transpose = _real_transpose
el.imag_p.transpose = _imag_transpose
el.conj_p.transpose = _conj_transpose
el.complex_p.transpose = _complex_transpose
linear_in(0, el.neg_p)
linear_in(0, el.div_p)
