"""Entries of elementwise operations: arithmetic, exponentials, angles, bits, comparisons, special functions."""

from __future__ import annotations

import numpy as np

from tests.catalogue.catalogue import (
    ALL,
    BOOL,
    COMPLEX,
    FLOATS,
    INEXACT,
    INTS,
    NUMERIC,
    REAL,
    SHAPES,
    SIGNED,
    UNSIGNED,
    Bad,
    Draw,
    Op,
    Sample,
    away_from_zero,
    between_integers,
    binary,
    chain,
    unary,
)

_INT = np.int32(3)
_NARROW = tuple(d for d in FLOATS if d.itemsize == 2)
_WIDE_FLOATS = tuple(d for d in FLOATS if d.itemsize > 2)


def _refuses(name: str, *args: object, **params: object) -> list[Bad]:
    return [Bad(TypeError, f"{name} does not accept dtype", *args, **params)]


#: Why there are no second derivatives.
_FIRST_ONLY = "the derivative with respect to the shape parameter has none itself"


def _three(dtypes, *limits):
    def samples(draw):
        for dtype in dtypes:
            for shape in SHAPES:
                yield Sample(*[draw.array(shape, dtype, *r) for r in limits])

    return samples


def _scipy(name: str):
    def reference(*args: object) -> object:
        import scipy.special

        return getattr(scipy.special, name)(*args)

    return reference


def _truncated_division(x, y):
    """Integers toward zero; -1 (all bits) where y is 0."""
    if x.dtype.kind not in "iu":
        return x / y
    quotient = np.trunc(x.astype(np.float64) / np.where(y == 0, 1, y))  # exact: the samples are small
    return np.where(y == 0, -1, quotient).astype(np.int64).astype(x.dtype)


def _lexicographic(better):
    def reference(x, y):
        if not np.iscomplexobj(x):
            return (np.maximum if better > 0 else np.minimum)(x, y)
        x, y = np.broadcast_arrays(x, y)
        first = np.where(x.real == y.real, better * (x.imag - y.imag), better * (x.real - y.real)) > 0
        return np.where(first, x, y)

    return reference


def _sign(x):
    return x / np.abs(x) if np.iscomplexobj(x) else np.sign(x)


_SHIFTS = lambda draw, shape, dtype: draw.array(shape, dtype, 0, 7)  # noqa: E731
_ANY_INT = (-100, 100)


def _shift_logical(x, y):
    bits = 8 * x.dtype.itemsize
    unsigned = x.astype(f"uint{bits}")
    return (unsigned >> y.astype(f"uint{bits}")).astype(x.dtype)


def _clz(x):
    bits = 8 * x.dtype.itemsize
    return np.vectorize(lambda v: bits - int(v % (1 << bits)).bit_length(), otypes=[x.dtype])(x.astype(object))


def _mulhi(x, y):
    high = x.astype(object) * y.astype(object)
    return np.vectorize(lambda v: v >> (8 * x.dtype.itemsize), otypes=[x.dtype])(high)


def _full_range(draw: Draw, shape, dtype):
    limits = np.iinfo(dtype)
    return np.asarray(draw.rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True))


def _unary(name, dtypes, low, high, reference, **options):
    bad = options.pop("bad", _refuses(name, _INT) if not set(dtypes) & set(INTS) else ())
    return Op(f"lax.{name}", unary(dtypes, low, high), reference, bad=bad, **options)


UNARY = [
    _unary("neg", NUMERIC, -3, 3, np.negative, bad=_refuses("neg", True)),
    _unary("abs", SIGNED + INEXACT, -3, 3, np.abs, bad=_refuses("abs", np.uint8(1))),
    _unary("sign", NUMERIC, -3, 3, _sign, bad=_refuses("sign", True)),
    _unary("floor", FLOATS, between_integers(-3, 3), 0, np.floor),
    _unary("ceil", FLOATS, between_integers(-3, 3), 0, np.ceil),
    _unary("exp", INEXACT, -3, 3, np.exp),
    _unary("exp2", INEXACT, -3, 3, lambda x: np.exp(x * np.log(2)), tolerance=2),
    _unary("expm1", INEXACT, -3, 3, lambda x: np.expm1(x)),
    _unary("log", INEXACT, 0.1, 3, np.log),
    _unary("log2", INEXACT, 0.1, 3, lambda x: np.log(x) / np.log(2), tolerance=2),
    _unary("log1p", INEXACT, -0.8, 3, np.log1p),
    _unary("logistic", INEXACT, -3, 3, lambda x: 1 / (1 + np.exp(-x))),
    _unary("sin", INEXACT, -3, 3, np.sin),
    _unary("cos", INEXACT, -3, 3, np.cos),
    _unary("tan", INEXACT, -1.2, 1.2, np.tan),
    _unary("asin", INEXACT, -0.9, 0.9, np.arcsin),
    _unary("acos", INEXACT, -0.9, 0.9, np.arccos),
    _unary("atan", INEXACT, -0.9, 0.9, np.arctan),
    _unary("sinh", INEXACT, -3, 3, np.sinh),
    _unary("cosh", INEXACT, -3, 3, np.cosh),
    _unary("tanh", INEXACT, -1.2, 1.2, np.tanh),
    _unary("asinh", INEXACT, -3, 3, np.arcsinh, tolerance=2),
    _unary("acosh", INEXACT, 1.2, 3, np.arccosh, tolerance=2),
    _unary("atanh", INEXACT, -0.9, 0.9, np.arctanh, tolerance=2),
    _unary("sqrt", INEXACT, 0.1, 3, np.sqrt),
    _unary("rsqrt", INEXACT, 0.1, 3, lambda x: 1 / np.sqrt(x)),
    _unary("cbrt", FLOATS, 0.1, 3, np.cbrt),
    _unary("square", NUMERIC, -3, 3, np.square, bad=_refuses("square", True)),
    _unary("one_minus_square", INEXACT, -3, 3, lambda x: 1 - x * x),
    _unary("reciprocal", INEXACT, 0.3, 3, lambda x: 1 / x, bad=[Bad(TypeError, "Integers cannot be raised", _INT)]),
    _unary("real", COMPLEX, -3, 3, np.real),
    _unary("imag", COMPLEX, -3, 3, np.imag),
    Op("lax.conj", unary(_WIDE_FLOATS + COMPLEX), lambda x: np.conj(x).astype(complex), bad=_refuses("conj", _INT)),
    _unary("is_finite", FLOATS, -3, 3, np.isfinite),
    _unary("erf", FLOATS, -3, 3, _scipy("erf")),
    _unary("erfc", FLOATS, -3, 3, _scipy("erfc"), tolerance=4),
    _unary("erf_inv", FLOATS, -0.9, 0.9, _scipy("erfinv")),
    _unary("lgamma", FLOATS, 0.2, 3, _scipy("gammaln"), tolerance=4),
    _unary("digamma", FLOATS, 0.2, 3, _scipy("digamma"), tolerance=4),
]

_ROUND = [
    Op(
        "lax.round",
        chain(*[unary(FLOATS, between_integers(-3, 3), rounding_method=m) for m in (0, 1)]),
        lambda x, rounding_method: np.rint(x),
        bad=_refuses("round", _INT),
    ),
]

_POSITIVE = (0.3, 2.0)
ARITHMETIC = [
    Op("lax.add", binary(NUMERIC), np.add, bad=[
        Bad(TypeError, "lax.add requires arguments to have the same dtypes, got float32, int32", np.float32(1), _INT),
        Bad(TypeError, "add got incompatible shapes for broadcasting: (2, 3), (3, 2)",
            np.ones((2, 3)), np.ones((3, 2))),
        Bad(TypeError, "add: arrays must have the same number of dimensions", np.ones((2, 3)), np.ones(3)),
        Bad(TypeError, "add does not accept dtype bool", True, False),
        Bad(TypeError, "not a valid array type", "one", 1),
    ]),
    Op("lax.sub", binary(NUMERIC), np.subtract, bad=_refuses("sub", True, True)),
    Op("lax.mul", chain(binary(NUMERIC), binary(FLOATS, out_dtype="float64")),
       lambda x, y, out_dtype=None: x * y, bad=_refuses("mul", True, True)),
    Op("lax.div", binary(NUMERIC, y=away_from_zero(1, 3)), _truncated_division, bad=_refuses("div", True, True)),
    Op("lax.rem", binary(REAL, y=away_from_zero(1, 2)), np.fmod, bad=_refuses("rem", 1j, 1j)),
    Op("lax.max", binary(ALL), _lexicographic(1), differentiable=(0, 1)),
    Op("lax.min", binary(ALL), _lexicographic(-1), differentiable=(0, 1)),
    Op("lax.atan2", binary(FLOATS, (0.5, 3)), np.arctan2, bad=_refuses("atan2", _INT, _INT)),
    Op("lax.nextafter", binary(_WIDE_FLOATS), np.nextafter, wide=False, bad=_refuses("nextafter", _INT, _INT)),
    Op("lax.complex", binary(_WIDE_FLOATS), lambda x, y: x + 1j * y,
       bad=_refuses("complex", np.float16(1), np.float16(2))),
    Op("lax.polygamma", binary(_WIDE_FLOATS, lambda d, s, t: np.round(d.array(s, t, 1, 3)), (0.5, 3)),
       lambda m, x: _scipy("polygamma")(m.astype(int), x), differentiable=(1,), tolerance=20),
    Op("lax.zeta", binary(_WIDE_FLOATS, (1.5, 3), (0.5, 3)), _scipy("zeta"), differentiable=(1,), tolerance=20),
    _unary("bessel_i0e", FLOATS, 0.2, 12, _scipy("i0e"), tolerance=4),
    _unary("bessel_i1e", FLOATS, 0.2, 12, _scipy("i1e"), tolerance=4),
    Op("lax.igamma", binary(FLOATS, (0.5, 6), (0.5, 6)), _scipy("gammainc"), tolerance=20,
       skip={"second": _FIRST_ONLY}),
    Op("lax.igammac", binary(FLOATS, (0.5, 6), (0.5, 6)), _scipy("gammaincc"), tolerance=20,
       skip={"second": _FIRST_ONLY}),
    Op("lax.igamma_grad_a", binary(FLOATS, (0.5, 6), (0.5, 6)), None, differentiable=()),
    Op("lax.random_gamma_grad", binary(FLOATS, (0.5, 6), (0.5, 6)), None, differentiable=(),
       skip={"types": "JAX's takes no Python scalars"}),
    Op("lax.betainc", _three(FLOATS, (0.5, 6), (0.5, 6), (0.1, 0.9)), _scipy("betainc"), differentiable=(2,),
       tolerance=20),
]  # fmt: skip


def _pow_samples(draw: Draw):
    yield from binary(INEXACT, _POSITIVE, (-2.0, 2.0))(draw)
    for base in FLOATS + COMPLEX[:1]:
        for exponent in (np.dtype("int32"), np.dtype("uint8")):
            for a, b in (((), ()), ((2, 3), ()), ((2, 3), (2, 3))):
                yield Sample(draw.array(a, base, 0.3, 2.0), draw.array(b, exponent, 1, 3))


POWERS = [
    Op("lax.pow", _pow_samples, np.power, tolerance=4, bad=[
        Bad(TypeError, "takes an exponent of the base's dtype or of an integer dtype", np.float32(1), np.float16(1)),
        *_refuses("pow", _INT, _INT),
    ]),
    Op("lax.integer_pow",
       chain(unary(INEXACT, 0.3, 2, y=-3), unary(INEXACT, 0.3, 2, y=-1),
             *[unary(NUMERIC, -2, 2, y=n) for n in (0, 1, 2, 5)]),
       lambda x, y: np.power(x, np.asarray(y).astype(x.dtype) if x.dtype.kind in "iu" else y), tolerance=4, bad=[
        Bad(TypeError, "Integers cannot be raised to negative powers, got integer_pow(i32[], -1)", _INT, -1),
        Bad(TypeError, "integer_pow takes one Python integer", 1.0, 0.5),
    ]),
]  # fmt: skip


def _polynomial_samples(draw: Draw):
    for dtype in NUMERIC:
        for shapes in (((), ()), ((2, 3), (), (), ()), ((3,), (3,), ()), ((0,), ()), ((2, 3), (2, 1), (1, 3), ())):
            yield Sample(*[draw.array(s, dtype, -2, 2) for s in shapes])


POLYNOMIALS = [
    Op(
        "lax.polynomial",
        _polynomial_samples,
        lambda x, *coeffs: sum(c * np.power(x, np.asarray(k).astype(x.dtype)) for k, c in enumerate(coeffs)) + 0 * x,
        function=lambda root: lambda x, *coeffs: root.lax.polynomial(x, coeffs),
        python_scalars=False,
    )
]

_BITS = BOOL + INTS
BITWISE = [
    Op("lax.bitwise_not", unary(_BITS, *_ANY_INT), np.invert, bad=_refuses("not", 1.0)),
    Op("lax.bitwise_and", binary(_BITS, _ANY_INT), np.bitwise_and, bad=_refuses("and", 1.0, 1.0)),
    Op("lax.bitwise_or", binary(_BITS, _ANY_INT), np.bitwise_or, bad=_refuses("or", 1.0, 1.0)),
    Op("lax.bitwise_xor", binary(_BITS, _ANY_INT), np.bitwise_xor, bad=_refuses("xor", 1.0, 1.0)),
    Op("lax.shift_left", binary(INTS, _ANY_INT, _SHIFTS), np.left_shift, bad=_refuses("shift_left", True, True)),
    Op("lax.shift_right_arithmetic", binary(SIGNED, _ANY_INT, _SHIFTS), np.right_shift),
    Op("lax.shift_right_logical", binary(INTS, _ANY_INT, _SHIFTS), _shift_logical),
    Op("lax.population_count", unary(UNSIGNED, *_ANY_INT),
       lambda x: np.vectorize(int.bit_count, otypes=[x.dtype])(x.astype(object)),
       bad=_refuses("population_count", 1.0)),
    Op("lax.clz", unary(INTS, *_ANY_INT), _clz, bad=_refuses("clz", 1.0)),
    Op("lax.mulhi", binary(INTS, _full_range), _mulhi, python_scalars=False, bad=_refuses("mulhi", 1.0, 1.0)),
]  # fmt: skip

_ORDERED = BOOL + REAL
COMPARISONS = [
    Op("lax.eq", binary(ALL, (0, 2)), np.equal),
    Op("lax.ne", binary(ALL, (0, 2)), np.not_equal),
    *[
        Op(f"lax.{name}", binary(_ORDERED, (0, 2)), reference, bad=_refuses(name, 1j, 1j))
        for name, reference in (("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal))
    ],
]

OPS = [*UNARY, *_ROUND, *ARITHMETIC, *POWERS, *POLYNOMIALS, *BITWISE, *COMPARISONS]
