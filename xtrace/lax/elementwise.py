"""Elementwise operations: declaration and derivative of each, by table."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.primitive import Primitive, shaped
from xtrace.lax.rules import elementwise_aval, elementwise_batch, is_linear, linear_in, unbroadcast

# Letters of dtypes.kind.
NUMERIC, REAL, INEXACT, FLOATING, COMPLEX, INTEGER, BITS, ANY = "iufc", "iuf", "fc", "f", "c", "iu", "biu", "biufc"


def elementwise(name: str, *kinds: str, result: Any = None) -> Primitive:
    """Declare an elementwise primitive: the dtype kinds of its operands, and its result's dtype if that differs."""
    primitive = Primitive(name, elementwise_aval(name, kinds, result))
    primitive.elementwise = True
    primitive.batch = elementwise_batch(primitive)
    return primitive


def unary(name: str, kinds: str, result: Any = None) -> Primitive:
    return elementwise(name, kinds, result=result)


def binary(name: str, kinds: str, result: Any = None) -> Primitive:
    return elementwise(name, kinds, kinds, result=result)


@functools.cache
def _scalar(value: Any, dtype: Any) -> Any:
    return np.asarray(value, dtype)[()]


def scalar_like(x: Any, value: Any) -> Any:
    """`value`, a constant of a rule, as a scalar of the dtype of `x`."""
    return _scalar(value, shaped(x).dtype)


# -- declarations ------------------------------------------------------------------------------------------------

neg_p = unary("neg", NUMERIC)
sign_p = unary("sign", NUMERIC)
floor_p = unary("floor", FLOATING)
ceil_p = unary("ceil", FLOATING)
is_finite_p = unary("is_finite", FLOATING, result=dtypes.bool_)
exp_p = unary("exp", INEXACT)
exp2_p = unary("exp2", INEXACT)
expm1_p = unary("expm1", INEXACT)
log_p = unary("log", INEXACT)
log1p_p = unary("log1p", INEXACT)
logistic_p = unary("logistic", INEXACT)
sin_p = unary("sin", INEXACT)
cos_p = unary("cos", INEXACT)
tan_p = unary("tan", INEXACT)
asin_p = unary("asin", INEXACT)
acos_p = unary("acos", INEXACT)
atan_p = unary("atan", INEXACT)
sinh_p = unary("sinh", INEXACT)
cosh_p = unary("cosh", INEXACT)
tanh_p = unary("tanh", INEXACT)
asinh_p = unary("asinh", INEXACT)
acosh_p = unary("acosh", INEXACT)
atanh_p = unary("atanh", INEXACT)
sqrt_p = unary("sqrt", INEXACT)
rsqrt_p = unary("rsqrt", INEXACT)
cbrt_p = unary("cbrt", FLOATING)
square_p = unary("square", NUMERIC)
abs_p = unary("abs", NUMERIC, result=dtypes.to_real)
real_p = unary("real", COMPLEX, result=dtypes.to_real)
imag_p = unary("imag", COMPLEX, result=dtypes.to_real)
not_p = unary("not", BITS)
population_count_p = unary("population_count", INTEGER)
clz_p = unary("clz", INTEGER)

add_p = binary("add", NUMERIC)
sub_p = binary("sub", NUMERIC)
mul_p = binary("mul", NUMERIC)
div_p = binary("div", NUMERIC)
rem_p = binary("rem", REAL)
max_p = binary("max", ANY)
min_p = binary("min", ANY)
atan2_p = binary("atan2", INEXACT)
nextafter_p = binary("nextafter", FLOATING)
complex_p = binary("complex", FLOATING, result=dtypes.to_complex)
and_p = binary("and", BITS)
or_p = binary("or", BITS)
xor_p = binary("xor", BITS)
shift_left_p = binary("shift_left", INTEGER)
shift_right_logical_p = binary("shift_right_logical", INTEGER)
shift_right_arithmetic_p = binary("shift_right_arithmetic", INTEGER)
eq_p = binary("eq", ANY, result=dtypes.bool_)
ne_p = binary("ne", ANY, result=dtypes.bool_)
lt_p = binary("lt", ANY, result=dtypes.bool_)
le_p = binary("le", ANY, result=dtypes.bool_)
gt_p = binary("gt", ANY, result=dtypes.bool_)
ge_p = binary("ge", ANY, result=dtypes.bool_)

# -- functions ---------------------------------------------------------------------------------------------------


def neg(x: Any) -> Any:
    """Elementwise negation: -x."""
    return neg_p.bind(x)


def sin(x: Any, accuracy: Any = None) -> Any:
    """Elementwise sine."""
    return sin_p.bind(x)


def cos(x: Any, accuracy: Any = None) -> Any:
    """Elementwise cosine."""
    return cos_p.bind(x)


def add(x: Any, y: Any) -> Any:
    """Elementwise sum: x + y."""
    return add_p.bind(x, y)


def sub(x: Any, y: Any) -> Any:
    """Elementwise difference: x - y."""
    return sub_p.bind(x, y)


def mul(x: Any, y: Any) -> Any:
    """Elementwise product: x * y."""
    return mul_p.bind(x, y)


def div(x: Any, y: Any) -> Any:
    """Elementwise quotient: x / y; integers truncate toward zero."""
    return div_p.bind(x, y)


def exp(x: Any, accuracy: Any = None) -> Any:
    """Elementwise exponential."""
    return exp_p.bind(x)


def log(x: Any, accuracy: Any = None) -> Any:
    """Elementwise natural logarithm."""
    return log_p.bind(x)


def tanh(x: Any, accuracy: Any = None) -> Any:
    """Elementwise hyperbolic tangent."""
    return tanh_p.bind(x)


# -- derivatives: one rule an operand, (tangent, out, *operands) -> term ---------------------------------------------

Rule = Callable[..., Any]

_DERIVATIVES: dict[Primitive, tuple[Rule | None, ...]] = {
    neg_p: (lambda t, out, x: neg(t),),
    sin_p: (lambda t, out, x: mul(t, cos(x)),),
    cos_p: (lambda t, out, x: neg(mul(t, sin(x))),),
    exp_p: (lambda t, out, x: mul(t, out),),
    log_p: (lambda t, out, x: div(t, x),),
    tanh_p: (lambda t, out, x: mul(t, mul(add(out, scalar_like(x, 1)), sub(scalar_like(x, 1), out))),),
    add_p: (lambda t, out, x, y: t, lambda t, out, x, y: t),
    sub_p: (lambda t, out, x, y: t, lambda t, out, x, y: neg(t)),
    mul_p: (lambda t, out, x, y: mul(t, y), lambda t, out, x, y: mul(x, t)),
    div_p: (lambda t, out, x, y: div(t, y), lambda t, out, x, y: mul(mul(neg(t), out), reciprocal(y))),
}


def reciprocal(x: Any) -> Any:
    """Elementwise 1 / x."""
    return div(scalar_like(x, 1), x)


for _primitive, _rules in _DERIVATIVES.items():
    _primitive.jvps = _rules

# -- transposes of the operations that are linear --------------------------------------------------------------------


def _transpose_add(ct: Any, x: Any, y: Any) -> list[Any]:
    return [unbroadcast(ct, v.aval) if is_linear(v) else None for v in (x, y)]


def _transpose_sub(ct: Any, x: Any, y: Any) -> list[Any]:
    return [unbroadcast(ct, x.aval) if is_linear(x) else None, unbroadcast(neg(ct), y.aval) if is_linear(y) else None]


def _transpose_mul(ct: Any, x: Any, y: Any) -> list[Any]:
    if is_linear(x):
        return [unbroadcast(mul(ct, y), x.aval), None]
    return [None, unbroadcast(mul(x, ct), y.aval)]


add_p.transpose = _transpose_add
sub_p.transpose = _transpose_sub
mul_p.transpose = _transpose_mul
linear_in(0, neg_p)
linear_in(0, div_p)
