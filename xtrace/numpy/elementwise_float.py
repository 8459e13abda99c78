"""What numbers are made of: signs, exponents, fractions, NaN and infinities, real and imaginary parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace import lax
from xtrace.core import composite, dtypes, statics
from xtrace.core.primitive import shaped
from xtrace.lax import shapes
from xtrace.numpy.elementwise import itself, refuse_complex
from xtrace.numpy.promotion import check_arraylike, promote
from xtrace.numpy.scalars import pick, scalar, weak_scalar
from xtrace.numpy.ufunc_docs import document
from xtrace.numpy.ufuncs import Binary, unary


def _constant(value: bool) -> Callable[[Any], Any]:
    """A function whose result is one truth value, in the shape of its argument."""

    def filled(x: Any) -> Any:
        return shapes.broadcast_in_dim_p.bind(
            np.bool_(value), shape=shaped(x).shape, broadcast_dimensions=(), sharding=None
        )

    return filled


def _no_out(name: str, out: Any) -> None:
    if out is not None:
        raise NotImplementedError(f"{name}: arrays can't be written to, so `out` isn't supported; use the result")


# ---------------------------------------------------------------------------------------------------------------
# NaN and infinities


def _is_infinite(x: Any) -> Any:
    size = lax.abs(x)
    return lax.eq(size, scalar(math.inf, size))


def _parts(combine: Callable[[Any, Any], Any], test: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A test of complex numbers: of both parts."""
    return lambda z: combine(test(lax.real(z)), test(lax.imag(z)))


isnan = unary("isnan", None, "Whether x is NaN.", "", {"biufc": lambda x: lax.ne(x, x)})
isinf = unary(
    "isinf", None, "Whether x, or a part of it, is infinite.", "",
    {"biu": _constant(False), "f": _is_infinite, "c": _parts(lax.bitwise_or, _is_infinite)},
)  # fmt: skip
isfinite = unary(
    "isfinite", lax.is_finite_p, "Whether x is neither NaN nor infinite.", "",
    {"biu": _constant(True), "c": _parts(lax.bitwise_and, lax.is_finite)},
)  # fmt: skip


def _is_infinity(name: str, infinity: float, doc: str) -> Callable[..., Any]:
    test = unary(
        name, None, doc, "",
        {"biu": _constant(False), "f": lambda x: lax.eq(x, scalar(infinity, x)), "c": refuse_complex(name, ValueError)},
    )  # fmt: skip

    def function(x: Any, /, out: None = None) -> Any:
        _no_out(name, out)
        return test(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = document(name, doc, 1, "", ValueError, "out: not supported.")
    return function


isposinf = _is_infinity("isposinf", math.inf, "Whether x is +infinity.")
isneginf = _is_infinity("isneginf", -math.inf, "Whether x is -infinity.")


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Replace NaN and infinities by numbers.

    Args:
      x: array.
      copy: of no effect: arrays are never changed.
      nan: what NaN becomes.
      posinf, neginf: what infinities become; by default the largest and smallest numbers of the dtype.

    Returns:
      An array like `x`.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.nan_to_num(xnp.array([1.0, xnp.nan]), nan=7)
      Array([1., 7.], dtype=float32)
    """
    check_arraylike("nan_to_num", x)
    return _nan_to_num(x, nan, posinf, neginf)


@composite.composite
def _nan_to_num(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    (x,) = promote("nan_to_num", (x,))
    dtype = shaped(x).dtype
    if not dtypes.is_inexact(dtype):
        return itself(x)
    if dtypes.is_complex(dtype):
        return lax.complex(*[_nan_to_num(part, nan, posinf, neginf) for part in (lax.real(x), lax.imag(x))])
    info = dtypes.finfo(dtype)
    for wrong, value in (
        (lax.ne(x, x), nan),
        (lax.eq(x, scalar(math.inf, x)), info.max if posinf is None else posinf),
        (lax.eq(x, scalar(-math.inf, x)), info.min if neginf is None else neginf),
    ):
        x = pick(wrong, shapes.convert(value, dtype, False), x)
    return x


# ---------------------------------------------------------------------------------------------------------------
# Signs


def _sign_bit(x: Any) -> Any:
    dtype = shaped(x).dtype
    bits = dtype.itemsize * 8
    pattern = lax.bitcast_convert_type(x, np.dtype(f"int{bits}"))
    return lax.lt(pattern, scalar(0, pattern))


signbit = unary(
    "signbit", None, "Whether the sign bit is set: x < 0, or x is -0.0 or a negative NaN.", "",
    {
        "b": _constant(False),
        "iu": lambda x: lax.lt(x, scalar(0, x)),
        "f": _sign_bit,
        "c": refuse_complex("signbit", ValueError),
    },
)  # fmt: skip


def _copy_sign(x: Any, y: Any) -> Any:
    size = lax.abs(x)
    return pick(_sign_bit(y), lax.neg(size), size)


copysign = Binary(
    "copysign", None, "x with the sign of y.", "inexact", {"f": _copy_sign, "c": refuse_complex("copysign")}
).function

# ---------------------------------------------------------------------------------------------------------------
# Rounding


def _round_even(x: Any) -> Any:
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def _as_default_float(x: Any) -> Any:
    """Of float64 where that is enabled, whatever the size of x."""
    return shapes.convert(x, dtypes.canonicalize(dtypes.float64), False)


def _truncated(x: Any) -> Any:
    return pick(lax.lt(x, weak_scalar(0, x)), lax.ceil(x), lax.floor(x))


trunc = unary(
    "trunc", None, "x without its fraction, in the dtype of x.", "",
    {"biu": itself, "f": _truncated, "c": refuse_complex("trunc")},
)  # fmt: skip
rint = unary(
    "rint", None, "The nearest integer, as a float; halves go to the even one.", "",
    {
        "biu": _as_default_float,
        "f": _round_even,
        "c": lambda z: lax.complex(_round_even(lax.real(z)), _round_even(lax.imag(z))),
    },
)  # fmt: skip


def round(a: Any, decimals: int = 0, out: None = None) -> Any:
    """Round to a number of decimals; halves go to the even neighbour.

    Args:
      a: array.
      decimals: how many digits are left behind the point; negative: in front of it.
      out: not supported.

    Returns:
      An array like `a`.

    Raises:
      NotImplementedError: integers are to be rounded in front of the point, or `out` is given.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.round(xnp.array([0.5, 1.5, 2.345]), 1)
      Array([0.5, 1.5, 2.3], dtype=float32)
    """
    _no_out("round", out)
    check_arraylike("round", a)
    decimals = statics.integer(decimals, "decimals")
    dtype = dtypes.of_value(a)[0]
    if dtypes.is_bool(dtype):
        raise ValueError("round takes numbers, got booleans: convert them with .astype(int) first")
    if not dtypes.is_inexact(dtype):
        if decimals < 0:
            raise NotImplementedError("round: integers can't be rounded to decimals < 0; convert to float first")
        return promote("round", (a,))[0] if hasattr(a, "aval") else _rounded(a, 0)
    return _rounded(a, decimals)


@composite.composite(static_argnames=("decimals",))
def _rounded(x: Any, decimals: int) -> Any:
    (x,) = promote("round", (x,))
    dtype = shaped(x).dtype
    if not dtypes.is_inexact(dtype):
        return itself(x)
    if dtypes.is_complex(dtype):
        return lax.complex(_rounded(lax.real(x), decimals), _rounded(lax.imag(x), decimals))
    if decimals == 0:
        return _round_even(x)
    if decimals > np.log10(float(dtypes.finfo(dtype).max)):
        return x  # 10**decimals is infinite in this dtype, and its numbers have fewer decimals than that
    factor = weak_scalar(10.0**decimals, x)
    return lax.div(_round_even(lax.mul(x, factor)), factor)


around = round


def modf(x: Any, /, out: None = None) -> tuple[Any, Any]:
    """Split numbers into fraction and whole part, both with the sign of the number.

    Args:
      x: real array.
      out: not supported.

    Returns:
      (fractions, whole parts), floats like `x`.

    Raises:
      TypeError: `x` is complex.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.modf(xnp.array([1.5, -2.25]))
      (Array([ 0.5 , -0.25], dtype=float32), Array([ 1., -2.], dtype=float32))
    """
    _no_out("modf", out)
    check_arraylike("modf", x)
    return _modf(x)


@composite.composite
def _modf(x: Any) -> tuple[Any, Any]:
    (x,) = promote("modf", (x,), "inexact")
    whole = pick(lax.ge(x, weak_scalar(0, x)), lax.floor(x), lax.ceil(x))
    return lax.sub(x, whole), whole


# ---------------------------------------------------------------------------------------------------------------
# Exponents


def _power_of_two(e: Any, dtype: Any) -> Any:
    """2 ** e in a floating dtype, for integers e between its least and greatest normal exponents."""
    info = dtypes.finfo(dtype)
    pattern = np.dtype(f"int{dtype.itemsize * 8}")
    bits = lax.shift_left(
        lax.convert_element_type(lax.add(e, scalar(info.maxexp - 1, e)), pattern), _bits(info.nmant, pattern)
    )
    return lax.bitcast_convert_type(bits, dtype)


def _bits(value: int, dtype: Any) -> Any:
    return np.asarray(value, dtype)[()]


def _scaled_by_power(x: Any, e: Any) -> Any:
    """x * 2 ** e for any int32 e: in four steps, each with a normal factor."""
    info = dtypes.finfo(shaped(x).dtype)
    limit = 4 * (info.maxexp - 2)
    e = lax.clamp(scalar(-limit, e), e, scalar(limit, e))
    quarter = lax.shift_right_arithmetic(e, scalar(2, e))
    last = lax.sub(e, lax.mul(quarter, scalar(3, e)))
    factor = _power_of_two(quarter, shaped(x).dtype)
    for f in (factor, factor, factor, _power_of_two(last, shaped(x).dtype)):
        x = lax.mul(x, f)
    return x


def ldexp(x1: Any, x2: Any, /) -> Any:
    """x1 * 2 ** x2.

    Args:
      x1: real array.
      x2: integer array that broadcasts against it.

    Returns:
      A floating array of the common shape.

    Raises:
      ValueError: `x1` is complex, or `x2` not of integers.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.ldexp(xnp.array([0.5, 3.0]), xnp.array([3, -1]))
      Array([4. , 1.5], dtype=float32)
    """
    check_arraylike("ldexp", x1, x2)
    kinds = [dtypes.kind(dtypes.of_value(x)[0]) for x in (x1, x2)]
    if kinds[0] == "c" or kinds[1] not in "biu":
        found = " and ".join([str(dtypes.of_value(x)[0]) for x in (x1, x2)])
        raise ValueError(f"ldexp takes real numbers and integers, got {found}")
    return _ldexp(x1, x2)


@composite.composite
def _ldexp(x: Any, e: Any) -> Any:
    (x,), (e,) = promote("ldexp", (x,), "inexact"), promote("ldexp", (e,), "numeric")
    dtype = shaped(x).dtype
    shape = lax.broadcast_shapes(*_aligned(shaped(x).shape, shaped(e).shape))
    x, e = [v if shaped(v).shape == shape else _spread(v, shape) for v in (x, e)]
    if shaped(e).dtype != np.int32:
        e = lax.convert_element_type(lax.clamp(*_int32_range(e)), np.dtype(np.int32))
    wide = x if dtype.itemsize >= 4 else lax.convert_element_type(x, np.dtype(np.float32))
    return shapes.convert(_scaled_by_power(wide, e), dtype, False)


def _aligned(*found: tuple[int, ...]) -> list[tuple[int, ...]]:
    rank = max([len(s) for s in found])
    return [(1,) * (rank - len(s)) + s for s in found]


def _spread(x: Any, shape: tuple[int, ...]) -> Any:
    ndim = shaped(x).ndim
    return shapes.broadcast_in_dim(x, shape, range(len(shape) - ndim, len(shape)))


def _int32_range(e: Any) -> tuple[Any, Any, Any]:
    info, wide = np.iinfo(np.int32), dtypes.iinfo(shaped(e).dtype)
    return scalar(max(info.min, wide.min), e), e, scalar(min(info.max, wide.max), e)


def frexp(x: Any, /) -> tuple[Any, Any]:
    """Split numbers into fraction and exponent: x = fraction * 2 ** exponent with 0.5 <= |fraction| < 1.

    Args:
      x: real array.

    Returns:
      (fractions, floats like `x`; exponents, int32). Zero, NaN and infinities have the exponent 0.

    Raises:
      TypeError: `x` is complex.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.frexp(xnp.array([1.0, 10.0]))
      (Array([0.5  , 0.625], dtype=float32), Array([1, 4], dtype=int32))
    """
    check_arraylike("frexp", x)
    if dtypes.is_complex(dtypes.of_value(x)[0]):
        refuse_complex("frexp")()
    return _frexp(x)


@composite.composite
def _frexp(x: Any) -> tuple[Any, Any]:
    (x,) = promote("frexp", (x,), "inexact")
    dtype = shaped(x).dtype
    wide = x if dtype.itemsize >= 4 else lax.convert_element_type(x, np.dtype(np.float32))
    info = dtypes.finfo(shaped(wide).dtype)
    small = lax.lt(lax.abs(wide), scalar(info.smallest_normal, wide))
    normal = pick(small, lax.mul(wide, scalar(2.0 ** (info.nmant + 1), wide)), wide)
    pattern = np.dtype(f"int{shaped(wide).dtype.itemsize * 8}")
    bits = lax.bitcast_convert_type(lax.stop_gradient(normal), pattern)
    field = lax.bitwise_and(
        lax.shift_right_logical(bits, _bits(info.nmant, pattern)), _bits(2 * info.maxexp - 1, pattern)
    )
    exponent = lax.sub(lax.convert_element_type(field, np.dtype(np.int32)), np.int32(info.maxexp - 2))
    exponent = pick(small, lax.sub(exponent, np.int32(info.nmant + 1)), exponent)
    # Not `wide`: where the processor takes subnormal numbers for zeros, the product above is a zero.
    plain = lax.bitwise_and(lax.is_finite(wide), lax.ne(normal, scalar(0, normal)))
    exponent = pick(plain, exponent, np.int32(0))
    return shapes.convert(_scaled_by_power(wide, lax.neg(exponent)), dtype, False), exponent


def _spacing(x: Any) -> Any:
    info = dtypes.finfo(shaped(x).dtype)
    outward = pick(_sign_bit(x), scalar(-math.inf, x), scalar(math.inf, x))
    distance = lax.sub(lax.nextafter(x, outward), x)
    least = scalar(float(info.smallest_subnormal), x)
    return pick(lax.eq(distance, scalar(0, x)), pick(_sign_bit(x), lax.neg(least), least), distance)


spacing = unary(
    "spacing", None, "The distance from x to the next number away from zero, with the sign of x.", "inexact",
    {"f": _spacing, "c": refuse_complex("spacing", ValueError)},
)  # fmt: skip

# ---------------------------------------------------------------------------------------------------------------
# Complex numbers


def _no_imaginary(x: Any) -> Any:
    aval = shaped(x)
    return shapes.broadcast_in_dim_p.bind(weak_scalar(0, x), shape=aval.shape, broadcast_dimensions=(), sharding=None)


conjugate = conj = unary(
    "conjugate", None, "The complex conjugate; real x itself.", "", {"biuf": itself, "c": lax.conj}
)
real = unary("real", lax.real_p, "The real part; real x itself.", "", {"biuf": itself})
imag = unary("imag", lax.imag_p, "The imaginary part; zeros for real x.", "", {"biuf": _no_imaginary})


def angle(z: Any, deg: bool = False) -> Any:
    """The angle of complex numbers: 0 for positive numbers, pi for negative ones.

    Args:
      z: array.
      deg: in degrees rather than radians.

    Returns:
      A floating array, between -pi and pi.

    Example:
      >>> import xtrace.numpy as xnp
      >>> xnp.angle(1j, deg=True)
      Array(90., dtype=float32, weak_type=True)
    """
    check_arraylike("angle", z)
    return _angle(z, bool(deg))


@composite.composite(static_argnames=("deg",))
def _angle(z: Any, deg: bool) -> Any:
    (z,) = promote("angle", (z,))
    if not dtypes.is_inexact(shaped(z).dtype) or not shaped(z).shape and dtypes.kind(shaped(z).dtype) == "f":
        z = _as_default_float(z)
    out = lax.atan2(imag(z), real(z)) if shaped(z).shape else lax.atan2(*promote("angle", (imag(z), real(z))))
    return lax.mul(out, weak_scalar(180 / math.pi, out)) if deg else out


__all__ = [
    "angle", "around", "conj", "conjugate", "copysign", "frexp", "imag", "isfinite", "isinf", "isnan", "isneginf",
    "isposinf", "ldexp", "modf", "nan_to_num", "real", "rint", "round", "signbit", "spacing", "trunc",
]  # fmt: skip
