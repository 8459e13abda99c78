"""Elementwise operations: the declaration of each, and the functions over arithmetic, exponentials and angles.

Their derivatives are in elementwise_derivatives.py; functions that compare, select and work on bits have files of
their own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.core.primitive import Primitive, scalar_of, shaped
from xtrace.lax import accuracy as _accuracy
from xtrace.lax import shapes as _shapes
from xtrace.lax.accuracy import RoundingMethod
from xtrace.lax.rules import accepted, broadcast_shapes, check_dtype, elementwise_aval, elementwise_batch

# Letters of dtypes.kind.
NUMERIC, REAL, INEXACT, FLOATING, COMPLEX, INTEGER, BITS, ANY = "iufc", "iuf", "fc", "f", "c", "iu", "biu", "biufc"


def elementwise(name: str, *kinds: str, result: Any = None) -> Primitive:
    """Declare an elementwise primitive: the dtype kinds of its operands, and its result's dtype if that differs."""
    primitive = Primitive(name, elementwise_aval(name, kinds, result))
    primitive.elementwise = True
    primitive.batch = elementwise_batch(primitive)
    primitive.kinds = kinds  # type: ignore[attr-defined]
    return primitive


def unary(name: str, kinds: str, result: Any = None) -> Primitive:
    """An elementwise primitive of one operand, whose dtype is of one of `kinds`."""
    return elementwise(name, kinds, result=result)


def binary(name: str, kinds: str, result: Any = None) -> Primitive:
    """An elementwise primitive of two operands of one dtype, which is of one of `kinds`."""
    return elementwise(name, kinds, kinds, result=result)


def scalar_like(x: Any, value: Any) -> Any:
    """`value`, a constant of a rule, as a scalar of the dtype and weak type of `x`."""
    return scalar_of(value, shaped(x))


def filled_like(x: Any, value: Any, weak: bool = True) -> Any:
    """`value`, a constant of a rule, as an array of the shape and dtype of `x`; with `weak`, weakly typed if `x` is."""
    aval = shaped(x) if weak else shaped(x).strong()
    scalar = scalar_of(value, aval)
    if not aval.shape:
        return scalar
    return _shapes.broadcast_in_dim_p.bind(scalar, shape=aval.shape, broadcast_dimensions=(), sharding=None)


def _complex_of(name: str) -> Callable[[Any], Any]:
    def result(dtype: Any) -> Any:
        if dtype not in (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128):
            raise TypeError(
                f"{name} does not accept dtype {dtype}: complex numbers have float32 or float64 parts; cast with "
                ".astype()"
            )
        return dtypes.to_complex(dtype)

    return result


# -- declarations ------------------------------------------------------------------------------------------------

neg_p = unary("neg", NUMERIC)
sign_p = unary("sign", NUMERIC)
floor_p = unary("floor", FLOATING)
ceil_p = unary("ceil", FLOATING)
round_p = unary("round", FLOATING)
is_finite_p = unary("is_finite", FLOATING, result=dtypes.bool_)
exp_p = unary("exp", INEXACT)
exp2_p = unary("exp2", INEXACT)
expm1_p = unary("expm1", INEXACT)
log_p = unary("log", INEXACT)
log2_p = unary("log2", INEXACT)
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
one_minus_square_p = unary("one_minus_square", INEXACT)
integer_pow_p = unary("integer_pow", NUMERIC)
abs_p = unary("abs", "ifc", result=dtypes.to_real)
real_p = unary("real", COMPLEX, result=dtypes.to_real)
imag_p = unary("imag", COMPLEX, result=dtypes.to_real)
conj_p = unary("conj", INEXACT, result=_complex_of("conj"))
not_p = unary("not", BITS)
population_count_p = unary("population_count", INTEGER)
clz_p = unary("clz", INTEGER)

add_p = binary("add", NUMERIC)
sub_p = binary("sub", NUMERIC)
mul_p = binary("mul", NUMERIC)
div_p = binary("div", NUMERIC)
rem_p = binary("rem", REAL)
pow_p = elementwise("pow", INEXACT, NUMERIC)
max_p = binary("max", ANY)
min_p = binary("min", ANY)
atan2_p = binary("atan2", INEXACT)
nextafter_p = binary("nextafter", FLOATING)
complex_p = binary("complex", FLOATING, result=_complex_of("complex"))
and_p = binary("and", BITS)
or_p = binary("or", BITS)
xor_p = binary("xor", BITS)
shift_left_p = binary("shift_left", INTEGER)
shift_right_logical_p = binary("shift_right_logical", INTEGER)
shift_right_arithmetic_p = binary("shift_right_arithmetic", INTEGER)
mulhi_p = binary("mulhi", INTEGER)
eq_p = binary("eq", ANY + "X", result=dtypes.bool_)
ne_p = binary("ne", ANY + "X", result=dtypes.bool_)
eq_p.takes_extended = ne_p.takes_extended = True
lt_p = binary("lt", "biuf", result=dtypes.bool_)
le_p = binary("le", "biuf", result=dtypes.bool_)
gt_p = binary("gt", "biuf", result=dtypes.bool_)
ge_p = binary("ge", "biuf", result=dtypes.bool_)
# Floats in total order: -nan < -inf < ... < -0 < +0 < ... < inf < nan.
eq_to_p = binary("eq_to", FLOATING, result=dtypes.bool_)
lt_to_p = binary("lt_to", FLOATING, result=dtypes.bool_)
le_to_p = binary("le_to", FLOATING, result=dtypes.bool_)

_plain_integer_pow_aval = integer_pow_p.abstract_eval
_plain_mul_aval = mul_p.abstract_eval


def _integer_pow_aval(x: ShapedArray, *, y: int) -> ShapedArray:
    out = _plain_integer_pow_aval(x)
    if y < 0 and not dtypes.is_inexact(x.dtype):
        raise TypeError(f"Integers cannot be raised to negative powers, got integer_pow({x.str_short()}, {y})")
    return out


def _mul_aval(x: ShapedArray, y: ShapedArray, *, out_dtype: Any = None) -> ShapedArray:
    if out_dtype is None:
        return _plain_mul_aval(x, y)
    check_dtype("mul", x, NUMERIC, "operand 0")
    check_dtype("mul", y, NUMERIC, "operand 1")
    return ShapedArray(broadcast_shapes("mul", [x.shape, y.shape]), out_dtype, x.weak_type and y.weak_type)


def _pow_aval(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    check_dtype("pow", x, INEXACT, "operand 0")
    check_dtype("pow", y, NUMERIC, "operand 1")
    if x.dtype != y.dtype and dtypes.is_inexact(y.dtype):
        raise TypeError(
            f"lax.pow takes an exponent of the base's dtype or of an integer dtype, got {x.dtype} and {y.dtype}. "
            "(numpy.power promotes its arguments; or cast one with .astype().)"
        )
    return ShapedArray(broadcast_shapes("pow", [x.shape, y.shape]), x.dtype, x.weak_type and y.weak_type)


integer_pow_p.abstract_eval = _integer_pow_aval  # type: ignore[method-assign]
mul_p.abstract_eval = _mul_aval  # type: ignore[method-assign]
pow_p.abstract_eval = _pow_aval  # type: ignore[method-assign]

# -- functions ---------------------------------------------------------------------------------------------------

F = TypeVar("F", bound=Callable[..., Any])


#: What the parameters are that aren't operands.
_OPTIONS = {
    "accuracy": "an AccuracyMode or a Tolerance; None leaves the choice to the backend.",
    "out_dtype": "dtype that the operands are converted to first; None: theirs.",
    "rounding_method": "a RoundingMethod.",
    "y": "a Python integer.",
}


def described(primitive: Primitive, call: str = "", printed: str = "") -> Callable[[F], F]:
    """Decorator: complete a function's docstring with what the declaration of its primitive says, and an example.

    call, printed: an expression such as "sin(1.0)" in lax's names, and what printing its value shows.
    """

    def decorate(fun: F) -> F:
        code = fun.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        kinds = primitive.kinds  # type: ignore[attr-defined]
        lines = [f"  {n}: array or number of {accepted(k)} dtype." for n, k in zip(names, kinds)]
        lines += [f"  {n}: {_OPTIONS[n]}" for n in names[len(kinds) :]]
        if len(kinds) == 1:
            result, raised = "operand's", "the dtype is another one"
        else:
            result, raised = "operands' common", "dtypes differ or are other ones, or shapes don't broadcast"
        fun.__doc__ = (
            f"{fun.__doc__}\n\nArgs:\n{chr(10).join(lines)}\n\nReturns:\n  An array of the {result} shape.\n\n"
            f"Raises:\n  TypeError: {raised}.\n"
        )
        if call:
            # Last digits differ among backends.
            shown = f'f"{{xt.lax.{call}:.4f}}"' if len(printed.partition(".")[2]) == 4 else f"xt.lax.{call}"
            fun.__doc__ += f"\nExample:\n  >>> import xtrace as xt\n  >>> print({shown})\n  {printed}\n"
        return fun

    return decorate


@described(neg_p, "neg(2.0)", "-2.0")
def neg(x: Any) -> Any:
    """Elementwise -x."""
    return neg_p.bind(x)


@described(sign_p, "sign(-3)", "-1")
def sign(x: Any) -> Any:
    """Elementwise sign: -1, 0 or 1 (NaN stays NaN), and x / |x| for complex x."""
    return sign_p.bind(x)


@described(floor_p, "floor(-1.5)", "-2.0")
def floor(x: Any) -> Any:
    """Elementwise largest integer not above x."""
    return floor_p.bind(x)


@described(ceil_p, "ceil(-1.5)", "-1.0")
def ceil(x: Any) -> Any:
    """Elementwise smallest integer not below x."""
    return ceil_p.bind(x)


@described(exp_p, "exp(1.0)", "2.7183")
def exp(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise exponential, e ** x."""
    if accuracy is None:
        return exp_p.bind(x)
    return exp_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(exp2_p, "exp2(3.0)", "8.0")
def exp2(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise 2 ** x."""
    if accuracy is None:
        return exp2_p.bind(x)
    return exp2_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(expm1_p, "expm1(1e-10)", "1e-10")
def expm1(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise e ** x - 1, exact for small x."""
    if accuracy is None:
        return expm1_p.bind(x)
    return expm1_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(log_p, "log(2.0)", "0.6931")
def log(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise natural logarithm."""
    if accuracy is None:
        return log_p.bind(x)
    return log_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(log2_p, "log2(8.0)", "3.0")
def log2(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise logarithm to base 2."""
    if accuracy is None:
        return log2_p.bind(x)
    return log2_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(log1p_p, "log1p(1e-10)", "1e-10")
def log1p(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise log(1 + x), exact for small x."""
    if accuracy is None:
        return log1p_p.bind(x)
    return log1p_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(logistic_p, "logistic(0.0)", "0.5")
def logistic(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise logistic function, 1 / (1 + e ** -x)."""
    if accuracy is None:
        return logistic_p.bind(x)
    return logistic_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(sin_p, "sin(1.0)", "0.8415")
def sin(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise sine of x in radians."""
    if accuracy is None:
        return sin_p.bind(x)
    return sin_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(cos_p, "cos(1.0)", "0.5403")
def cos(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise cosine of x in radians."""
    if accuracy is None:
        return cos_p.bind(x)
    return cos_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(tan_p, "tan(1.0)", "1.5574")
def tan(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise tangent of x in radians."""
    if accuracy is None:
        return tan_p.bind(x)
    return tan_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(asin_p, "asin(0.5)", "0.5236")
def asin(x: Any) -> Any:
    """Elementwise inverse sine, in radians."""
    return asin_p.bind(x)


@described(acos_p, "acos(0.5)", "1.0472")
def acos(x: Any) -> Any:
    """Elementwise inverse cosine, in radians."""
    return acos_p.bind(x)


@described(atan_p, "atan(1.0)", "0.7854")
def atan(x: Any) -> Any:
    """Elementwise inverse tangent, in radians."""
    return atan_p.bind(x)


@described(sinh_p, "sinh(1.0)", "1.1752")
def sinh(x: Any) -> Any:
    """Elementwise hyperbolic sine."""
    return sinh_p.bind(x)


@described(cosh_p, "cosh(1.0)", "1.5431")
def cosh(x: Any) -> Any:
    """Elementwise hyperbolic cosine."""
    return cosh_p.bind(x)


@described(tanh_p, "tanh(1.0)", "0.7616")
def tanh(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise hyperbolic tangent."""
    if accuracy is None:
        return tanh_p.bind(x)
    return tanh_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(asinh_p, "asinh(1.0)", "0.8814")
def asinh(x: Any) -> Any:
    """Elementwise inverse hyperbolic sine."""
    return asinh_p.bind(x)


@described(acosh_p, "acosh(2.0)", "1.3170")
def acosh(x: Any) -> Any:
    """Elementwise inverse hyperbolic cosine."""
    return acosh_p.bind(x)


@described(atanh_p, "atanh(0.5)", "0.5493")
def atanh(x: Any) -> Any:
    """Elementwise inverse hyperbolic tangent."""
    return atanh_p.bind(x)


@described(sqrt_p, "sqrt(2.0)", "1.4142")
def sqrt(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise square root; NaN for negative real x."""
    if accuracy is None:
        return sqrt_p.bind(x)
    return sqrt_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(rsqrt_p, "rsqrt(4.0)", "0.5")
def rsqrt(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise 1 / sqrt(x)."""
    if accuracy is None:
        return rsqrt_p.bind(x)
    return rsqrt_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(cbrt_p, "cbrt(-8.0)", "-2.0")
def cbrt(x: Any, *, accuracy: Any = None) -> Any:
    """Elementwise cube root."""
    if accuracy is None:
        return cbrt_p.bind(x)
    return cbrt_p.bind(x, accuracy=_accuracy.checked(accuracy))


@described(square_p, "square(3)", "9")
def square(x: Any) -> Any:
    """Elementwise x * x."""
    return square_p.bind(x)


@described(one_minus_square_p, "one_minus_square(0.5)", "0.75")
def one_minus_square(x: Any) -> Any:
    """Elementwise 1 - x * x, computed as (1 + x) * (1 - x), which is exact near 1 and -1."""
    return one_minus_square_p.bind(x)


@described(abs_p, "abs(-2)", "2")
def abs(x: Any) -> Any:
    """Elementwise absolute value; real for complex x."""
    return abs_p.bind(x)


@described(real_p, "real(1+2j)", "1.0")
def real(x: Any) -> Any:
    """Elementwise real part of complex x."""
    return real_p.bind(x)


@described(imag_p, "imag(1+2j)", "2.0")
def imag(x: Any) -> Any:
    """Elementwise imaginary part of complex x."""
    return imag_p.bind(x)


@described(add_p, "add(1, 2)", "3")
def add(x: Any, y: Any) -> Any:
    """Elementwise x + y."""
    return add_p.bind(x, y)


@described(sub_p, "sub(1, 2)", "-1")
def sub(x: Any, y: Any) -> Any:
    """Elementwise x - y."""
    return sub_p.bind(x, y)


@described(div_p, "div(-7, 2)", "-3")
def div(x: Any, y: Any) -> Any:
    """Elementwise x / y; integers truncate toward zero, and give -1 (all bits set) where y is 0."""
    return div_p.bind(x, y)


@described(rem_p, "rem(-7, 2)", "-1")
def rem(x: Any, y: Any) -> Any:
    """Elementwise remainder of x / y with the sign of x, as C has it; an integer x where y is 0."""
    return rem_p.bind(x, y)


@described(max_p, "max(1, 2)", "2")
def max(x: Any, y: Any) -> Any:
    """Elementwise maximum; NaN where an operand is NaN. Complex numbers are ordered by real, then imaginary part."""
    return max_p.bind(x, y)


@described(min_p, "min(1, 2)", "1")
def min(x: Any, y: Any) -> Any:
    """Elementwise minimum; NaN where an operand is NaN. Complex numbers are ordered by real, then imaginary part."""
    return min_p.bind(x, y)


@described(atan2_p, "atan2(1.0, -1.0)", "2.3562")
def atan2(x: Any, y: Any) -> Any:
    """Elementwise angle of the point (y, x), in radians: the inverse tangent of x / y in the right quadrant."""
    return atan2_p.bind(x, y)


@described(complex_p, "complex(1.0, 2.0)", "(1+2j)")
def complex(x: Any, y: Any) -> Any:
    """Elementwise complex number with real part x and imaginary part y."""
    return complex_p.bind(x, y)


@described(nextafter_p, "nextafter(1.0, 2.0)", "1.0000")
def nextafter(x1: Any, x2: Any) -> Any:
    """Elementwise next number after x1 in the direction of x2."""
    return nextafter_p.bind(x1, x2)


@described(mul_p, "mul(2, 3)", "6")
def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    """Elementwise x * y; `out_dtype` converts the operands to a dtype first."""
    if out_dtype is None:
        return mul_p.bind(x, y)
    return mul_p.bind(x, y, out_dtype=dtypes.canonical_dtype(out_dtype))


@described(pow_p, "pow(2.0, 3)", "8.0")
def pow(x: Any, y: Any) -> Any:
    """Elementwise x ** y; the exponent has the base's dtype or an integer one. 0 ** 0 is 1."""
    return pow_p.bind(x, y)


@described(integer_pow_p, "integer_pow(3, 4)", "81")
def integer_pow(x: Any, y: int) -> Any:
    """Elementwise x ** y for one Python integer y, by repeated multiplication."""
    if not isinstance(y, int):
        try:
            y = operator.index(y)
        except TypeError:
            y = _whole(y)
    return integer_pow_p.bind(x, y=y)


def _whole(y: Any) -> int:
    if isinstance(y, (float, np.floating)) and y == int(y):
        return int(y)
    raise TypeError(f"integer_pow takes one Python integer as its exponent, got {y!r}; lax.pow takes arrays and floats")


@described(integer_pow_p, "reciprocal(4.0)", "0.25")
def reciprocal(x: Any) -> Any:
    """Elementwise 1 / x."""
    return integer_pow_p.bind(x, y=-1)


@described(conj_p, "conj(1+2j)", "(1-2j)")
def conj(x: Any) -> Any:
    """Elementwise complex conjugate; a real x becomes complex."""
    return conj_p.bind(x, input_dtype=shaped(x).dtype)


@described(round_p, "round(2.5)", "3.0")
def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """Elementwise nearest integer; halfway cases by `rounding_method`: away from zero, or to the even one."""
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


# Sets the rules of the primitives above, and calls the functions.
from xtrace.lax import elementwise_derivatives as _elementwise_derivatives  # noqa: E402, F401
