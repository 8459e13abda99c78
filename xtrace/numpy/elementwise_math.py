"""Arithmetic of several operations: division with remainder, powers, logarithms of sums, hypotenuses, …"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import composite, dtypes
from xtrace.core.primitive import shaped
from xtrace.lax import shapes
from xtrace.numpy import elementwise as ew
from xtrace.numpy.elementwise import refuse_complex
from xtrace.numpy.promotion import check_arraylike, operand, promote
from xtrace.numpy.scalars import number, pick, scalar, weak_scalar, widen
from xtrace.numpy.ufuncs import Binary, unary
from xtrace.runtime.jaxlib_api import ArrayImpl

# ---------------------------------------------------------------------------------------------------------------
# Division


def _floor_divide_signed(x: Any, y: Any) -> Any:
    quotient = lax.div(x, y)
    inexact = lax.ne(lax.rem(x, y), weak_scalar(0, x))
    return pick(
        lax.bitwise_and(lax.ne(lax.sign(x), lax.sign(y)), inexact), lax.sub(quotient, weak_scalar(1, x)), quotient
    )


def _none_by_zero(quotient: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Division of integers with 0, as NumPy has it, where the divisor is 0."""

    def divide(x: Any, y: Any) -> Any:
        whole = quotient(x, y)
        if isinstance(y, (int, np.integer)) and y != 0:  # written in the program: most divisors are
            return whole
        return pick(lax.eq(y, weak_scalar(0, y)), weak_scalar(0, whole), whole)

    return divide


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """Python's divmod for floats."""
    rest = lax.rem(x, y)
    # Where y is 0 the quotient is that of x itself: infinite or NaN.
    whole = lax.div(pick(lax.eq(y, weak_scalar(0, y)), x, lax.sub(x, rest)), y)
    below = lax.bitwise_and(lax.ne(rest, weak_scalar(0, x)), lax.ne(lax.sign(y), lax.sign(rest)))
    rest = pick(below, lax.add(rest, y), rest)
    whole = pick(below, lax.sub(whole, weak_scalar(1, x)), whole)
    return lax.round(whole), rest


def _nonzero_divisor(y: Any) -> Any:
    """Integers with 1 in place of 0: dividing by 0 then leaves no remainder."""
    return pick(lax.eq(y, weak_scalar(0, y)), weak_scalar(1, y), y)


def _remainder(x: Any, y: Any) -> Any:
    if dtypes.is_integer(shaped(x).dtype):
        y = _nonzero_divisor(y)
    zero = weak_scalar(0, x)
    rest = lax.rem(x, y)
    other_sign = lax.ne(lax.lt(rest, zero), lax.lt(y, zero))
    return pick(lax.bitwise_and(other_sign, lax.ne(rest, zero)), lax.add(rest, y), rest)


def _fmod(x: Any, y: Any) -> Any:
    return lax.rem(x, _nonzero_divisor(y) if dtypes.is_integer(shaped(x).dtype) else y)


BINARY: dict[str, Binary] = {
    "floor_divide": Binary(
        "floor_divide",
        None,
        "x / y rounded down; 0 for integers divided by 0.",
        "numeric",
        {
            "i": _none_by_zero(_floor_divide_signed),
            "u": _none_by_zero(lax.div),
            "f": lambda x, y: _float_divmod(x, y)[0],
            "c": refuse_complex("floor_divide"),
        },
    ),
    "remainder": Binary(
        "remainder",
        None,
        "What is left of x after division by y, with the sign of y; 0 for integers divided by 0.",
        "numeric",
        {"iuf": _remainder, "c": refuse_complex("remainder")},
    ),
    "fmod": Binary(
        "fmod",
        None,
        "What is left of x after division by y, with the sign of x; 0 for integers divided by 0.",
        "numeric",
        {"iuf": _fmod, "c": refuse_complex("fmod")},
    ),
}
floor_divide = BINARY["floor_divide"].function
remainder = mod = BINARY["remainder"].function
fmod = BINARY["fmod"].function


def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """Quotient rounded down and remainder: (x1 // x2, x1 % x2).

    Args:
      x1, x2: arrays that broadcast against each other, not complex.

    Returns:
      Two arrays of the common shape and dtype.

    Raises:
      TypeError: an argument is complex, or no array.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.divmod(xnp.array([7, -7]), 2)
      (Array([ 3, -4], dtype=int32), Array([1, 1], dtype=int32))
    """
    check_arraylike("divmod", x1, x2)
    return _divmod(x1, x2)


@composite.composite
def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    x, y = promote("divmod", (x, y), "numeric")
    kind = dtypes.kind(shaped(x).dtype)
    if kind == "f":
        return _float_divmod(x, y)
    return BINARY["floor_divide"].general(x, y), BINARY["remainder"].general(x, y)


@functools.cache
def _greatest_common_divisor() -> Callable[..., Any]:
    @composite.composite
    def gcd(x: Any, y: Any) -> Any:
        x, y = _strong_arrays(*promote("gcd", (x, y), "numeric"))
        x, y = [lax.abs(v) if dtypes.kind(shaped(v).dtype) == "i" else v for v in (x, y)]
        shape = lax.broadcast_shapes(shaped(x).shape, shaped(y).shape)
        x, y = [widen(v, shaped(v).shape, shape) for v in (x, y)]
        if not shape:
            x, y = [shapes.expand_dims(v, (0,)) for v in (x, y)]
        zero = weak_scalar(0, x)

        def more(pair: Any) -> Any:
            return lax.reduce_or(lax.ne(pair[1], zero), tuple(range(pair[1].ndim)))

        def step(pair: Any) -> Any:
            a, b = pair
            running = lax.ne(b, zero)
            return pick(running, b, a), pick(running, lax.rem(a, pick(running, b, weak_scalar(1, b))), zero)

        out = lax.while_loop(more, step, (x, y))[0]
        return out if shape else lax.squeeze(out, (0,))

    return gcd


def _integers(name: str, *args: Any) -> None:
    check_arraylike(name, *args)
    if not dtypes.is_integer(dtypes.result_type(*args)):
        raise ValueError(f"{name} takes integers, got dtypes {', '.join([str(shaped(x).dtype) for x in args])}")


def _strong_arrays(x: Any, y: Any) -> list[Any]:
    """Both without weak types, unless both are numbers."""
    if not shaped(x).shape and not shaped(y).shape:
        return [x, y]
    return [shapes.convert(v, shaped(v).dtype, False) for v in (x, y)]


def gcd(x1: Any, x2: Any) -> Any:
    """Greatest common divisor of integers, elementwise; gcd(0, 0) is 0.

    Args:
      x1, x2: integer arrays that broadcast against each other.

    Returns:
      An integer array, not negative.

    Raises:
      ValueError: an argument is not of integers.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.gcd(xnp.array([12, -18]), 8)
      Array([4, 2], dtype=int32)
    """
    _integers("gcd", x1, x2)
    return _greatest_common_divisor()(x1, x2)


def lcm(x1: Any, x2: Any) -> Any:
    """Least common multiple of integers, elementwise; 0 where either is 0.

    Args:
      x1, x2: integer arrays that broadcast against each other.

    Returns:
      An integer array, not negative.

    Raises:
      ValueError: an argument is not of integers.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.lcm(xnp.array([4, 0]), 6)
      Array([12,  0], dtype=int32)
    """
    _integers("lcm", x1, x2)
    return _lcm(x1, x2)


@composite.composite
def _lcm(x: Any, y: Any) -> Any:
    x, y = [ew.absolute(v) for v in _strong_arrays(*promote("lcm", (x, y), "numeric"))]
    divisor = gcd(x, y)
    none = lax.eq(divisor, weak_scalar(0, divisor))
    out = ew.multiply(x, lax.div(*promote("lcm", (y, pick(none, weak_scalar(1, divisor), divisor)))))
    return pick(none, weak_scalar(0, out), out)


# ---------------------------------------------------------------------------------------------------------------
# Powers


def power(x1: Any, x2: Any, /) -> Any:
    """x1 ** x2, elementwise.

    Args:
      x1, x2: arrays that broadcast against each other. An integer as `x2`, Python's or a 0-dimensional array whose
        value is known, is a repeated multiplication and keeps the dtype of `x1`.

    Returns:
      An array of the common dtype.

    Raises:
      TypeError: integers are raised to a negative integer that is known.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.power(xnp.arange(4), 2), xnp.power(2.0, xnp.arange(3))
      (Array([0, 1, 4, 9], dtype=int32), Array([1., 2., 4.], dtype=float32))
    """
    check_arraylike("power", x1, x2)
    if isinstance(x2, (int, np.integer, np.bool_)) or _is_known_integer(x2):
        x1, exponent = operand(x1), int(x2)
        base = shaped(x1).dtype
        if exponent < 0 and not dtypes.is_inexact(base):
            raise TypeError(
                f"Integers cannot be raised to negative powers, got a base of dtype {base} and the exponent "
                f"{exponent}: convert the base to float"
            )
        return _integer_power(x1, exponent)
    return _power.function(x1, x2)


def _is_known_integer(x: Any) -> bool:
    """Whether `x` is a 0-dimensional integer array whose value is known: its dtype doesn't widen the base's then."""
    return isinstance(x, (ArrayImpl, np.ndarray)) and x.ndim == 0 and dtypes.is_integer(x.dtype)


def _whole_power(x: Any, y: int) -> Any:
    (x,) = promote("power", (x,), "numeric")
    return lax.integer_pow(x, y)


_integer_powers: dict[int, Callable[[Any], Any]] = {}


def _integer_power(x: Any, y: int) -> Any:
    from xtrace.core.trace import current

    if current.trace is not None:
        return _whole_power(x, y)
    run = _integer_powers.get(y)
    if run is None:
        if len(_integer_powers) > 256:
            _integer_powers.clear()
        run = _integer_powers[y] = composite.compiled(lambda x: _whole_power(x, y))
    return run(x)


def _general_power(x: Any, y: Any) -> Any:
    kinds = [dtypes.kind(shaped(v).dtype) for v in (x, y)]
    if kinds[0] in "fc" and kinds[1] in "iu":
        # The exponent stays an integer: powers of negative numbers are exact.
        (base, _), (_, exponent) = promote("power", (x, y)), promote("power", (x, y), ranks=True)
        exponent = _same_rank(y, shaped(exponent).ndim)
        return lax.pow(base, exponent)
    if kinds[1] in "fc" or kinds[0] in "fc":
        return lax.pow(*promote("power", (x, y)))
    return _integers_power(*promote("power", (x, y), "numeric"))


def _same_rank(x: Any, rank: int) -> Any:
    aval = shaped(x)
    if not aval.shape or aval.ndim == rank:
        return x
    missing = rank - aval.ndim
    return shapes.broadcast_in_dim(x, (1,) * missing + aval.shape, range(missing, rank))


def _integers_power(x: Any, y: Any) -> Any:
    """Integers to integer powers, by squaring: one round a bit of the exponent."""
    dtype = shaped(x).dtype
    one = scalar(1, x)
    bits = dtypes.itemsize_bits(dtype) - (dtypes.kind(dtype) == "i")
    shape = lax.broadcast_shapes(shaped(x).shape, shaped(y).shape)
    out = shapes.broadcast_in_dim(one, shape, ()) if shape else one
    for i in range(bits):
        odd = lax.ne(lax.bitwise_and(y, one), scalar(0, y))
        out = pick(odd, lax.mul(out, x), out)
        if i + 1 < bits:
            x = lax.mul(x, x)
            y = lax.shift_right_logical(y, one)
    return out


class _Power(Binary):
    """x ** y, whose operands are promoted by its own rule."""

    def __init__(self) -> None:
        super().__init__("power", None, power.__doc__ or "", "")
        self.general = _general_power
        self.kept = ""


_power = _Power()
pow = power


def float_power(x1: Any, x2: Any, /) -> Any:
    """x1 ** x2, elementwise, in floating point.

    Args:
      x1, x2: arrays that broadcast against each other.

    Returns:
      An array of their inexact common dtype.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.float_power(xnp.array([1, 2]), -1)
      Array([1. , 0.5], dtype=float32)
    """
    return _float_power.function(x1, x2)


_float_power = Binary("float_power", lax.pow_p, float_power.__doc__ or "", "inexact")

reciprocal = unary("reciprocal", None, "1 / x, in floating point.", "inexact", {"fc": lambda x: lax.integer_pow(x, -1)})

# ---------------------------------------------------------------------------------------------------------------
# Logarithms, angles


def _log10(x: Any) -> Any:
    return _scaled(lax.log(x), 1 / math.log(10))


def _scaled(x: Any, factor: float) -> Any:
    """x times a real factor; complex numbers part by part, so that infinite parts stay what they are."""
    if dtypes.is_complex(shaped(x).dtype):
        re, im = lax.real(x), lax.imag(x)
        return lax.complex(lax.mul(re, scalar(factor, re)), lax.mul(im, scalar(factor, im)))
    return lax.mul(x, scalar(factor, x))


log10 = unary("log10", None, "Logarithm to base 10.", "inexact", {"fc": _log10})
deg2rad = radians = unary(
    "deg2rad", None, "Degrees to radians.", "inexact", {"fc": lambda x: lax.mul(x, number(math.pi / 180, x))}
)
rad2deg = degrees = unary(
    "rad2deg", None, "Radians to degrees.", "inexact", {"fc": lambda x: lax.mul(x, number(180 / math.pi, x))}
)


def _wrap(z: Any, half: float) -> Any:
    """Complex `z` with its imaginary part between -half and half."""
    im = lax.imag(z)
    turned = lax.rem(lax.add(im, number(half, im)), number(2 * half, im))
    turned = pick(lax.lt(turned, number(0, im)), lax.add(turned, number(2 * half, im)), turned)
    return lax.complex(lax.real(z), lax.sub(turned, number(half, im)))


@functools.cache
def _log_of_sum(base: float) -> Callable[[Any, Any], Any]:
    """log_base(base ** x + base ** y) without overflow, with its derivative."""
    from xtrace.lax.custom_functions import custom_jvp

    raised = lax.exp if base == math.e else lax.exp2
    per_log = 1 / math.log(base)

    def value(x: Any, y: Any) -> Any:
        larger = lax.max(x, y)
        if dtypes.is_complex(shaped(x).dtype):
            rest = lax.log1p(raised(lax.sub(lax.add(x, y), lax.mul(larger, number(2, x)))))
            return _wrap(lax.add(larger, lax.mul(number(per_log, x), rest)), math.pi * per_log)
        distance = lax.sub(x, y)
        rest = lax.log1p(raised(lax.neg(lax.abs(distance))))
        rest = rest if base == math.e else lax.mul(number(per_log, rest), rest)
        # Equal infinities have no distance; their sum is right.
        return pick(lax.ne(distance, distance), lax.add(x, y), lax.add(larger, rest))

    function = custom_jvp(value)

    def weight(x: Any, out: Any) -> Any:
        """The share of one operand in the sum; a +inf counts as 0, so that it has weight 1 beside an infinite sum."""
        if dtypes.is_complex(shaped(x).dtype):
            return raised(lax.sub(x, out))
        infinity, zero = number(math.inf, x), number(0, x)
        x, out = [pick(lax.eq(v, infinity), zero, v) for v in (x, out)]
        return raised(lax.sub(x, out))

    @function.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        x, y = primals
        out = function(x, y)
        terms = [lax.mul(t, weight(v, out)) for v, t in zip(primals, tangents, strict=True)]
        return out, lax.add(*[widen(t, shaped(t).shape, shaped(out).shape) for t in terms])

    return function


def _log_add(base: float) -> dict[str, Callable[[Any, Any], Any]]:
    return {"fc": lambda x, y: _log_of_sum(base)(x, y)}


logaddexp = Binary("logaddexp", None, "log(exp(x) + exp(y)), without overflow.", "inexact", _log_add(math.e)).function
logaddexp2 = Binary("logaddexp2", None, "log2(2 ** x + 2 ** y), without overflow.", "inexact", _log_add(2)).function


def _hypot(x: Any, y: Any) -> Any:
    """sqrt(x² + y²), scaled by a power of two where squares would overflow or vanish."""
    info = dtypes.finfo(shaped(x).dtype)
    bits = info.maxexp // 2
    larger = lax.max(lax.abs(x), lax.abs(y))
    large = lax.ge(larger, weak_scalar(2.0 ** (bits - 1), x))
    small = lax.le(larger, weak_scalar(2.0 ** (info.minexp // 2 + info.nmant // 2), x))
    down, up, one = [
        weak_scalar(2.0**e, x) for e in (-(bits + 11 if bits > 30 else bits), bits + 11 if bits > 30 else bits, 0)
    ]
    scale = pick(large, down, pick(small, up, one))
    back = pick(large, up, pick(small, down, one))
    sum_ = lax.add(lax.square(lax.mul(x, scale)), lax.square(lax.mul(y, scale)))
    out = lax.mul(lax.sqrt(sum_), back)
    infinite = weak_scalar(math.inf, x)
    either = lax.bitwise_or(lax.eq(lax.abs(x), infinite), lax.eq(lax.abs(y), infinite))
    return pick(either, infinite, out)


hypot = Binary(
    "hypot",
    None,
    "sqrt(x**2 + y**2), without overflow.",
    "inexact",
    {"f": _hypot, "c": refuse_complex("hypot", ValueError)},
).function


def _heaviside(x: Any, at_zero: Any) -> Any:
    zero = number(0, x)
    out = pick(lax.ne(x, x), x, at_zero)
    return pick(lax.lt(x, zero), zero, pick(lax.gt(x, zero), number(1, x), out))


heaviside = Binary(
    "heaviside",
    None,
    "The step function: 0 for negative x, 1 for positive x, the second operand where x is 0.",
    "inexact",
    {"f": _heaviside, "c": refuse_complex("heaviside")},
).function

# ---------------------------------------------------------------------------------------------------------------
# sinc, i0


def _sinc(x: Any) -> Any:
    """sin(pi x) / (pi x) by the distance r of x from the nearest integer n: (-1)**n sin(pi r) / (pi x).

    The sine is its Taylor series, so that the function is smooth at 0 in every derivative.
    """
    nearest = lax.stop_gradient(lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN))
    zero, one, two = [number(v, x) for v in (0, 1, 2)]
    r = pick(lax.eq(lax.abs(x), number(math.inf, x)), zero, lax.sub(x, nearest))
    square = lax.mul(r, r)
    # |pi r| <= pi / 2: the first neglected term is below half a unit in the last place.
    terms = 11 if dtypes.finfo(shaped(x).dtype).nmant > 23 else 6
    series = _horner(square, [(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(terms, 0, -1)])
    series = lax.mul(square, series)
    sine = lax.add(r, lax.mul(r, series))  # over pi
    even = lax.eq(
        lax.mul(two, lax.round(lax.mul(nearest, number(0.5, x)), lax.RoundingMethod.TO_NEAREST_EVEN)), nearest
    )
    at_zero = lax.eq(nearest, zero)
    divisor = pick(at_zero, one, x)
    away = lax.div(sine, pick(even, divisor, lax.neg(divisor)))
    return pick(at_zero, lax.add(one, series), away)


def _horner(x: Any, coefficients: list[float]) -> Any:
    out = number(coefficients[0], x)
    for c in coefficients[1:]:
        out = lax.add(lax.mul(out, x), number(c, x))
    return out


def _complex_sinc(x: Any) -> Any:
    z = lax.mul(number(math.pi, x), x)
    near = lax.lt(lax.abs(z), number(0.5, lax.abs(z)))
    square = lax.square(pick(near, z, number(0, z)))
    series = _horner(square, [(-1) ** k / math.factorial(2 * k + 1) for k in range(7, -1, -1)])
    far = pick(near, number(1, z), z)
    return pick(near, series, lax.div(lax.sin(far), far))


sinc = unary("sinc", None, "sin(pi x) / (pi x); 1 at 0.", "inexact", {"f": _sinc, "c": _complex_sinc})


@functools.cache
def _bessel_series() -> tuple[list[float], list[float]]:
    """Chebyshev coefficients of exp(-x) I0(x) on [0, 8], in x/4 - 1, and of sqrt(x) exp(-x) I0(x) beyond, in 16/x - 1.

    Fitted at 64 Chebyshev nodes to the power series of I0 and to its integral (1/pi) ∫ exp(x (cos t - 1)) dt.
    """
    nodes = np.cos(np.pi * (np.arange(64) + 0.5) / 64)
    t = np.pi * (np.arange(4000) + 0.5) / 4000  # the midpoint rule converges exponentially for periodic functions

    def scaled(x: np.ndarray) -> np.ndarray:
        return np.mean(np.exp(x[:, None] * (np.cos(t) - 1)), axis=1)

    near = scaled(4 * (nodes + 1))
    wide = 16 / (nodes + 1)
    far = np.empty(64)
    direct = wide < 1e5
    far[direct] = np.sqrt(wide[direct]) * scaled(wide[direct])
    y = 1 / wide[~direct]
    far[~direct] = (1 + y / 8 + 9 * y * y / 128) / np.sqrt(2 * np.pi)
    angles = np.arccos(nodes)
    fits = []
    for values, count in ((near, 30), (far, 25)):
        fit = [2 / 64 * float(np.sum(values * np.cos(k * angles))) for k in range(count)]
        fit[0] /= 2
        fits.append(fit)
    return fits[0], fits[1]


def _chebyshev(x: Any, coefficients: list[float]) -> Any:
    """The sum of c[k] T_k(x), by Clenshaw's recurrence."""
    twice = lax.mul(scalar(2, x), x)
    a, b = scalar(0, x), scalar(0, x)
    for c in reversed(coefficients[1:]):
        a, b = lax.add(lax.sub(lax.mul(twice, a), b), scalar(c, x)), a
    return lax.add(lax.sub(lax.mul(x, a), b), scalar(coefficients[0], x))


def bessel_i0e(x: Any) -> Any:
    """exp(-|x|) I0(x) for floating x."""
    near, far = _bessel_series()
    x = lax.abs(x)
    eight = scalar(8, x)
    inside = lax.le(x, eight)
    small = _chebyshev(lax.sub(lax.mul(pick(inside, x, eight), scalar(0.25, x)), scalar(1, x)), near)
    outer = pick(inside, eight, x)
    large = _chebyshev(lax.sub(lax.div(scalar(16, x), outer), scalar(1, x)), far)
    return pick(inside, small, lax.mul(large, lax.rsqrt(outer)))


def _i0(x: Any) -> Any:
    wide = shapes.convert(x, dtypes.float32, False) if shaped(x).dtype.itemsize < 4 else x
    out = lax.mul(lax.exp(lax.abs(wide)), bessel_i0e(wide))
    return shapes.convert(out, shaped(x).dtype, shaped(x).weak_type)


i0 = unary(
    "i0", None, "The modified Bessel function of the first kind, order 0.", "inexact",
    {"f": _i0, "c": refuse_complex("i0", ValueError)},
)  # fmt: skip
