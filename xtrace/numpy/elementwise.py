"""Elementwise functions that are one primitive after promotion: declared by table."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from xtrace.core import dtypes
from xtrace.core.primitive import Primitive
from xtrace.lax import elementwise as el
from xtrace.lax import shapes
from xtrace.numpy.arguments import as_array
from xtrace.numpy.ufuncs import Binary, ByKind, unary

#: `x` itself: an array or tracer also where a number was given.
itself = functools.partial(as_array, "an elementwise function")


def refuse_complex(name: str, error: type[Exception] = TypeError) -> Callable[..., Any]:
    """What a function does with complex numbers that it isn't defined for."""

    def refuse(*args: Any) -> Any:
        raise error(f"{name} does not support complex numbers: take their .real or .imag, or abs(x), first")

    refuse.raises = error  # type: ignore[attr-defined]  # for the docstring
    return refuse


def _lexicographic(compare: Primitive) -> Callable[[Any, Any], Any]:
    """A comparison of complex numbers: by real part, by imaginary part where those are equal."""

    def compare_complex(x: Any, y: Any) -> Any:
        from xtrace import lax

        xr, yr = lax.real(x), lax.real(y)
        return lax.select(lax.eq(xr, yr), compare.bind(lax.imag(x), lax.imag(y)), compare.bind(xr, yr))

    return compare_complex


def _binary(name: str, primitive: Primitive, doc: str, to: str = "", by_kind: ByKind | None = None) -> Any:
    made = BINARY[name] = Binary(name, primitive, doc, to, by_kind)
    return made.function


#: The functions of two operands by name, for the operators.
BINARY: dict[str, Binary] = {}

_INTEGERS_ARE_WHOLE = {"biu": itself}

exp = unary("exp", el.exp_p, "Exponential: e to the power x.")
exp2 = unary("exp2", el.exp2_p, "2 to the power x.")
expm1 = unary("expm1", el.expm1_p, "exp(x) - 1, accurate near 0.")
log = unary("log", el.log_p, "Natural logarithm.")
log2 = unary("log2", el.log2_p, "Logarithm to base 2.")
log1p = unary("log1p", el.log1p_p, "log(1 + x), accurate near 0.")
sin = unary("sin", el.sin_p, "Sine of x in radians.")
cos = unary("cos", el.cos_p, "Cosine of x in radians.")
tan = unary("tan", el.tan_p, "Tangent of x in radians.")
arcsin = asin = unary("arcsin", el.asin_p, "Angle in radians, -pi/2 to pi/2, whose sine is x.")
arccos = acos = unary("arccos", el.acos_p, "Angle in radians, 0 to pi, whose cosine is x.")
arctan = atan = unary("arctan", el.atan_p, "Angle in radians, -pi/2 to pi/2, whose tangent is x.")
sinh = unary("sinh", el.sinh_p, "Hyperbolic sine.")
cosh = unary("cosh", el.cosh_p, "Hyperbolic cosine.")
tanh = unary("tanh", el.tanh_p, "Hyperbolic tangent.")
arcsinh = asinh = unary("arcsinh", el.asinh_p, "Inverse of the hyperbolic sine.")
arccosh = acosh = unary("arccosh", el.acosh_p, "Inverse of the hyperbolic cosine.")
arctanh = atanh = unary("arctanh", el.atanh_p, "Inverse of the hyperbolic tangent.")
sqrt = unary("sqrt", el.sqrt_p, "Square root; NaN for negative real numbers.")
cbrt = unary("cbrt", el.cbrt_p, "Cube root.")
fabs = unary("fabs", el.abs_p, "Absolute value as a float.", "inexact", {"c": refuse_complex("fabs")})
square = unary(
    "square", el.square_p, "x * x; of booleans, as int32.", "",
    {"b": lambda x: el.square_p.bind(shapes.convert(x, dtypes.int32, False))},
)  # fmt: skip
negative = unary("negative", el.neg_p, "-x.", "")
positive = unary("positive", None, "+x: x itself.", "", {"biufc": itself})
absolute = unary("absolute", el.abs_p, "Absolute value; the modulus of complex numbers.", "", {"bu": itself})
abs = absolute
sign = unary("sign", el.sign_p, "-1, 0 or 1 by the sign of x; x / |x| for complex numbers.", "")
floor = unary("floor", el.floor_p, "Largest integer not above x, in the dtype of x.", "", _INTEGERS_ARE_WHOLE)
ceil = unary("ceil", el.ceil_p, "Smallest integer not below x, in the dtype of x.", "", _INTEGERS_ARE_WHOLE)
invert = bitwise_not = bitwise_invert = unary(
    "invert", el.not_p, "Bits (of integers) or truth values inverted: ~x.", ""
)

add = _binary("add", el.add_p, "x + y; logical or for booleans.", "", {"b": el.or_p})
subtract = _binary("subtract", el.sub_p, "x - y.")
multiply = _binary("multiply", el.mul_p, "x * y; logical and for booleans.", "", {"b": el.and_p})
true_divide = divide = _binary("true_divide", el.div_p, "x / y, in floating point.", "inexact")
maximum = _binary("maximum", el.max_p, "The larger of x and y; NaN if either is.")
minimum = _binary("minimum", el.min_p, "The smaller of x and y; NaN if either is.")
arctan2 = atan2 = _binary(
    "arctan2", el.atan2_p, "Angle of the point (y, x) = (first, second operand), -pi to pi.", "inexact"
)
nextafter = _binary("nextafter", el.nextafter_p, "The next number after x in the direction of y.", "inexact")
bitwise_and = _binary("bitwise_and", el.and_p, "Bits set in both: x & y.")
bitwise_or = _binary("bitwise_or", el.or_p, "Bits set in either: x | y.")
bitwise_xor = _binary("bitwise_xor", el.xor_p, "Bits set in one of the two: x ^ y.")
left_shift = bitwise_left_shift = _binary("left_shift", el.shift_left_p, "x with its bits moved left by y.", "numeric")
right_shift = bitwise_right_shift = _binary(
    "right_shift",
    el.shift_right_arithmetic_p,
    "x with its bits moved right by y; the sign is kept.",
    "numeric",
    {"u": el.shift_right_logical_p},
)
equal = _binary("equal", el.eq_p, "x == y.")
not_equal = _binary("not_equal", el.ne_p, "x != y.")
less = _binary("less", el.lt_p, "x < y; complex numbers in lexicographic order.", "", {"c": _lexicographic(el.lt_p)})
less_equal = _binary(
    "less_equal", el.le_p, "x <= y; complex numbers in lexicographic order.", "", {"c": _lexicographic(el.le_p)}
)
greater = _binary(
    "greater", el.gt_p, "x > y; complex numbers in lexicographic order.", "", {"c": _lexicographic(el.gt_p)}
)
greater_equal = _binary(
    "greater_equal", el.ge_p, "x >= y; complex numbers in lexicographic order.", "", {"c": _lexicographic(el.ge_p)}
)
