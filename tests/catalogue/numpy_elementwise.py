"""Catalogue entries of numpy's elementwise functions: they promote, where those of lax insist on one dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.catalogue.catalogue import (
    BF16,
    BOOL,
    Bad,
    Draw,
    Op,
    Range,
    Sample,
    away_from_zero,
    between_integers,
    chain,
    unary,
)


def _dtypes(names: str) -> tuple[np.dtype, ...]:
    return tuple(BF16 if n == "bfloat16" else np.dtype(n) for n in names.split())


FLOATING = _dtypes("float32 float64 bfloat16")
COMPLEXES = _dtypes("complex64")
INTEGERS = _dtypes("int32 uint8")
REALS = BOOL + INTEGERS + FLOATING
ANY = REALS + COMPLEXES
SHAPES = ((), (2, 3), (0,))
SHAPE_PAIRS = (((), ()), ((2, 3), (2, 3)), ((3,), (2, 1)), ((0, 3), (3,)))
#: Operands of different dtypes: kinds apart, sizes apart, and the pair of half precisions.
MIXED = tuple(
    _dtypes(pair)
    for pair in (
        "bool int32",
        "uint8 int32",
        "int8 uint8",
        "int32 float32",
        "float32 int64",
        "bfloat16 float16",
        "int32 bfloat16",
        "float32 complex64",
    )
)


def pairs(
    dtypes: Sequence[np.dtype], x: Range = (-3.0, 3.0), y: Range = None, mixed: bool = True
) -> Callable[[Draw], Any]:
    """Samples of two operands: of one dtype each time, and of the mixtures of those kinds."""
    kinds = {d.kind for d in dtypes}
    different = [p for p in MIXED if mixed and {d.kind for d in p} <= kinds]

    def operand(draw: Draw, shape: tuple[int, ...], dtype: np.dtype, limits: Range) -> np.ndarray:
        return np.asarray(limits(draw, shape, dtype)) if callable(limits) else draw.array(shape, dtype, *limits)

    def samples(draw: Draw) -> Any:
        for a, b in [*((d, d) for d in dtypes), *different]:
            for one, two in SHAPE_PAIRS if a == b else SHAPE_PAIRS[:2]:
                yield Sample(operand(draw, one, a, x), operand(draw, two, b, x if y is None else y))

    return samples


def _floating(reference: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy computes narrow integers in float16: they go in as float64."""

    def call(*args: np.ndarray, **params: Any) -> Any:
        return reference(*[x.astype(np.float64) if x.dtype.kind in "biu" else x for x in args], **params)

    return call


_TEXT = [Bad(TypeError, "", "text")]
_NOT_COMPLEX = [*_TEXT, Bad(ValueError, "complex", np.complex64(1j))]
_NOT_FLOATING = [Bad(TypeError, "", np.float32(1))]


def _unary(
    name: str, dtypes: Any, low: Range, high: float = 0.0, reference: Any = None, bad: Any = _TEXT, **options: Any
) -> Op:
    reference = getattr(np, name) if reference is None else reference
    return Op(f"numpy.{name}", unary(dtypes, low, high, SHAPES), _floating(reference), bad=bad, **options)


def _binary(name: str, samples: Any, reference: Any = None, bad: Any = None, **options: Any) -> Op:
    reference = getattr(np, name) if reference is None else reference
    bad = [Bad(TypeError, "", "text", np.float32(1))] if bad is None else bad
    return Op(f"numpy.{name}", samples, reference, bad=bad, **options)


def _sinc(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, 1, np.sin(np.pi * x) / np.where(x == 0, 1, np.pi * x))


EXPONENTIALS = [
    _unary("exp", ANY, -3, 3),
    _unary("exp2", ANY, -3, 3, lambda x: np.exp(x * np.log(2)), tolerance=2),
    _unary("expm1", ANY, -3, 3),
    _unary("log", ANY, 0.1, 3),
    _unary("log2", ANY, 0.1, 3, lambda x: np.log(x) / np.log(2), tolerance=2),
    _unary("log10", ANY, 0.1, 3, tolerance=2),
    _unary("log1p", ANY, -0.8, 3),
    _unary("sqrt", ANY, 0.1, 3),
    _unary("cbrt", REALS, 0.1, 3),
    _binary("logaddexp", pairs(REALS), _floating(np.logaddexp)),
    _binary("logaddexp2", pairs(REALS), _floating(np.logaddexp2), tolerance=2),
]

_INVERSES = [
    _unary("acos", ANY, -0.9, 0.9, np.arccos, aliases=("numpy.arccos",)),
    _unary("acosh", ANY, 1.2, 3, np.arccosh, aliases=("numpy.arccosh",), tolerance=2),
    _unary("asin", ANY, -0.9, 0.9, np.arcsin, aliases=("numpy.arcsin",)),
    _unary("asinh", ANY, -3, 3, np.arcsinh, aliases=("numpy.arcsinh",), tolerance=2),
    _unary("atan", ANY, -0.9, 0.9, np.arctan, aliases=("numpy.arctan",)),
    _unary("atanh", ANY, -0.9, 0.9, np.arctanh, aliases=("numpy.arctanh",), tolerance=2),
    _binary("arctan2", pairs(REALS, (0.5, 3)), _floating(np.arctan2), aliases=("numpy.atan2",)),
]
ANGLES = [
    _unary("sin", ANY, -3, 3),
    _unary("cos", ANY, -3, 3),
    _unary("tan", ANY, -1.2, 1.2),
    _unary("sinh", ANY, -3, 3),
    _unary("cosh", ANY, -3, 3),
    _unary("tanh", ANY, -1.2, 1.2),
    *_INVERSES,
    _unary("sinc", ANY, 0.2, 3, _sinc, tolerance=4),
    _unary("deg2rad", REALS, -200, 200, aliases=("numpy.radians",)),
    _unary("rad2deg", REALS, -3, 3, aliases=("numpy.degrees",)),
    Op("numpy.angle", chain(unary(ANY, 0.3, 3, SHAPES), unary(COMPLEXES, 0.3, 3, SHAPES[1:2], deg=True)),
       _floating(np.angle), bad=_TEXT),
    _binary("hypot", pairs(REALS, (0.3, 3)), _floating(np.hypot)),
    _unary("i0", REALS, 0.3, 3, tolerance=20, skip={"second": "not defined by the derivative of i0e's rule at 0"}),
]  # fmt: skip

_SIGNED = tuple(d for d in ANY if d.kind not in "bu")
_NUMBERS = tuple(d for d in ANY if d.kind != "b")


def _sign(x: np.ndarray) -> np.ndarray:
    return x / np.abs(x) if np.iscomplexobj(x) else np.sign(x)


def _reciprocal(x: np.ndarray) -> np.ndarray:
    return 1 / x if x.dtype.kind in "fc" else np.trunc(1 / x)


def _round_samples(draw: Draw) -> Any:
    for dtype in _NUMBERS:
        for shape in SHAPES:
            whole = draw.rng.integers(-3, 3, shape) + draw.rng.uniform(0.1, 0.4, shape)
            yield Sample(np.abs(whole).astype(dtype), decimals=0)
            if dtype != BF16:  # a tenth is not much more than its last place
                yield Sample((np.abs(whole) / 10).astype(dtype), decimals=1)


def _nan_to_num_samples(draw: Draw) -> Any:
    for dtype in ANY:
        for shape in ((), (4,), (0,)):
            yield Sample(draw.array(shape, dtype))
        x = draw.array((4,), dtype)
        if dtype.kind not in "biu":
            x[:3] = np.nan, np.inf, -np.inf
        yield Sample(x, nan=2.0, posinf=3.0, neginf=-4.0)


def _clip_samples(draw: Draw) -> Any:
    for dtype in _dtypes("int32 uint8 float32 float64 bfloat16"):
        for shape in SHAPES:
            x = draw.array(shape, dtype, -5, 5)
            yield Sample(x, draw.array((), dtype, 0, 1), draw.array(shape[-1:], dtype, 2, 3))
            yield Sample(x, min=1)
            yield Sample(x, max=2)


ROUNDING = [
    _unary("abs", ANY, -3, 3, lambda x: x if x.dtype.kind == "b" else np.abs(x), aliases=("numpy.absolute",)),
    _unary("fabs", REALS, -3, 3),
    _unary("negative", _NUMBERS, -3, 3, lambda x: -x, bad=[*_TEXT, Bad(TypeError, "", True)]),
    _unary("positive", _NUMBERS, -3, 3),
    _unary("sign", _NUMBERS, -3, 3, _sign),
    _unary("square", ANY, -3, 3, lambda x: x * x),
    _unary("reciprocal", _NUMBERS, away_from_zero(0.3, 3), 0, _reciprocal),
    _unary("floor", REALS, between_integers(-3, 3)),
    _unary("ceil", REALS, between_integers(-3, 3)),
    _unary("trunc", REALS, between_integers(-3, 3)),
    Op("numpy.rint", unary(ANY, between_integers(-3, 3), 0, SHAPES), _floating(np.rint), bad=_TEXT),
    Op("numpy.round", _round_samples, _floating(np.round), aliases=("numpy.around",), bad=[
        Bad(TypeError, "", "text"), Bad(NotImplementedError, "out", np.ones(3), 0, np.ones(3)),
    ]),
    _unary("conj", ANY, -3, 3, aliases=("numpy.conjugate",)),
    _unary("real", ANY, -3, 3),
    _unary("imag", ANY, -3, 3),
    Op("numpy.nan_to_num", _nan_to_num_samples, lambda x, **params: _finite(x, **params), differentiable=(), bad=_TEXT,
       wide=False),
    Op("numpy.clip", _clip_samples, lambda x, *limits, **named: np.clip(x, *limits, **named), bad=[
        Bad(ValueError, "Complex", np.complex64(1j), 0, 1),
    ]),
]  # fmt: skip


def _finite(x: np.ndarray, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> np.ndarray:
    if x.dtype.kind in "biu":
        return x
    if x.dtype.kind == "c":
        return _finite(x.real, nan, posinf, neginf) + 1j * _finite(x.imag, nan, posinf, neginf)
    x = np.where(np.isnan(x), np.asarray(nan, x.dtype), x)
    x = np.where(x == np.inf, np.asarray(posinf, x.dtype) if posinf is not None else x, x)
    return np.where(x == -np.inf, np.asarray(neginf, x.dtype) if neginf is not None else x, x)


def _quotient_samples(dtypes: Sequence[np.dtype]) -> Callable[[Draw], Any]:
    """Quotients clear of whole numbers, where remainders jump."""

    def samples(draw: Draw) -> Any:
        for a, b in [*((d, d) for d in dtypes), *(p for p in MIXED if {d.kind for d in p} <= {"i", "u", "f", "V"})]:
            for one, two in SHAPE_PAIRS if a == b else SHAPE_PAIRS[:2]:
                divisor = away_from_zero(1, 2)(draw, two, b)
                if a.kind in "iu" or b.kind in "iu":
                    yield Sample(draw.array(one, a, -9, 9), divisor)
                else:
                    yield Sample((between_integers(-3, 3)(draw, one, np.float64) * 1.5).astype(a), np.sign(divisor) * 3)

    return samples


_DIVIDED = _dtypes("int32 uint8 float32 float64 bfloat16")
_DIVISORS = away_from_zero(1, 3)


def _power_samples(draw: Draw) -> Any:
    yield from pairs(_NUMBERS[2:], (0.3, 2.0), (-2.0, 2.0), mixed=False)(draw)
    yield from pairs(_dtypes("int32 uint8"), (0, 3), (0, 3), mixed=False)(draw)
    for base, exponent in (("float32", "int32"), ("int32", "float32"), ("bfloat16", "uint8"), ("complex64", "int32")):
        yield Sample(draw.array((2, 3), _dtypes(base)[0], 0.6, 2), draw.array((3,), exponent, 1, 3))


def _ldexp_samples(draw: Draw) -> Any:
    for dtype in _dtypes("int32 float32 float64 bfloat16"):
        for one, two in SHAPE_PAIRS:
            yield Sample(draw.array(one, dtype), draw.array(two, "int32"))


def _integer_pairs(high: int) -> Callable[[Draw], Any]:
    return pairs(_dtypes("int32 uint8 int64"), (1, high))


def _heaviside(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(x == 0, y, (x > 0) * 1.0)


ARITHMETIC = [
    _binary("add", pairs(ANY), bad=[
        Bad(TypeError, "", "text", np.float32(1)),
        Bad(TypeError, "incompatible shapes", np.ones((2, 3)), np.ones((3, 2))),
    ]),
    _binary("subtract", pairs(_NUMBERS)),
    _binary("multiply", pairs(ANY)),
    _binary("divide", pairs(_NUMBERS, (-3, 3), _DIVISORS), _floating(np.divide), aliases=("numpy.true_divide",)),
    _binary("floor_divide", _quotient_samples(_DIVIDED)),
    _binary("remainder", _quotient_samples(_DIVIDED), aliases=("numpy.mod",)),
    _binary("fmod", _quotient_samples(_DIVIDED)),
    _binary("divmod", _quotient_samples(_DIVIDED), np.divmod),
    Op("numpy.power", _power_samples, lambda x, y: np.power(x, y), aliases=("numpy.pow",), tolerance=4, bad=[
        Bad(TypeError, "", "text", 1),
    ]),
    _binary("float_power", pairs(REALS + COMPLEXES, (0.6, 2)), _floating(np.float_power), tolerance=4),
    _binary("maximum", pairs(ANY)),
    _binary("minimum", pairs(ANY)),
    _binary("fmax", pairs(REALS)),
    _binary("fmin", pairs(REALS)),
    _binary("copysign", pairs(REALS, (0.3, 3), away_from_zero(1, 3)), _floating(np.copysign)),
    _binary("nextafter", pairs(_dtypes("float32 float64")), wide=False),
    _binary("heaviside", pairs(REALS), _floating(_heaviside)),
    _binary("ldexp", _ldexp_samples, lambda x, e: x * 2.0**e),
    _binary("gcd", _integer_pairs(30), bad=[Bad(ValueError, "integer", np.float32(1), np.int32(2))]),
    _binary("lcm", _integer_pairs(12), bad=[Bad(ValueError, "integer", np.float32(1), np.int32(2))]),
    Op("numpy.frexp", unary(FLOATING, away_from_zero(0.3, 3), 0, SHAPES), np.frexp, differentiable=(), bad=_TEXT),
    Op("numpy.modf", unary(REALS, between_integers(-3, 3), 0, SHAPES), _floating(np.modf), bad=_TEXT),
    Op("numpy.spacing", unary(_dtypes("float32 float64"), 0.3, 3, SHAPES), np.spacing, wide=False, differentiable=(),
       bad=[Bad(ValueError, "complex", np.complex64(1))]),
]  # fmt: skip

_BITS = BOOL + INTEGERS
_ANY_INT = (-100, 100)
_SHIFTS = (0, 6)
BITWISE = [
    _binary("bitwise_and", pairs(_BITS, _ANY_INT), bad=[Bad(TypeError, "", np.float32(1), 1)]),
    _binary("bitwise_or", pairs(_BITS, _ANY_INT), bad=[Bad(TypeError, "", np.float32(1), 1)]),
    _binary("bitwise_xor", pairs(_BITS, _ANY_INT), bad=[Bad(TypeError, "", np.float32(1), 1)]),
    Op("numpy.invert", unary(_BITS, *_ANY_INT, SHAPES), np.invert, bad=_NOT_FLOATING,
       aliases=("numpy.bitwise_not", "numpy.bitwise_invert")),
    _binary("left_shift", pairs(INTEGERS, _ANY_INT, _SHIFTS), bad=[Bad(TypeError, "", np.float32(1), 1)],
            aliases=("numpy.bitwise_left_shift",)),
    _binary("right_shift", pairs(INTEGERS, _ANY_INT, _SHIFTS), bad=[Bad(TypeError, "", np.float32(1), 1)],
            aliases=("numpy.bitwise_right_shift",)),
    Op("numpy.bitwise_count", unary(INTEGERS, *_ANY_INT, SHAPES), np.bitwise_count, bad=_NOT_FLOATING),
]  # fmt: skip


def _special(dtypes: Sequence[np.dtype]) -> Callable[[Draw], Any]:
    """NaN and both infinities among finite numbers."""

    def samples(draw: Draw) -> Any:
        for dtype in dtypes:
            yield from unary([dtype], -3, 3, ((), (0,)))(draw)
            x = draw.array((2, 3), dtype)
            if dtype.kind not in "biu":
                x[0] = np.nan, np.inf, -np.inf
            yield Sample(x)

    return samples


def _close_samples(draw: Draw) -> Any:
    for a, b in [*((d, d) for d in ANY), *MIXED]:
        for one, two in SHAPE_PAIRS[:3] if a == b else SHAPE_PAIRS[1:2]:
            yield Sample(draw.array(one, a, 0, 2), draw.array(two, b, 0, 2), rtol=0.5, atol=0.25)
    x = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    yield Sample(x, x[::-1].copy())
    yield Sample(x, x.copy(), equal_nan=True)


def _equal_samples(draw: Draw) -> Any:
    for a, b in [*((d, d) for d in ANY), *MIXED]:
        x = draw.array((2, 3), a, 0, 1)
        yield Sample(x, draw.array((2, 3), b, 0, 1))
        yield Sample(x, x.copy())
        yield Sample(x, draw.array((3,), b, 0, 1))


_LOOSE = {"differentiable": (), "bad": [Bad(TypeError, "", "text", 1)]}
LOGIC = [
    *[
        _binary(name, pairs(ANY, (0, 2)))
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    ],
    *[_binary(name, pairs(ANY, (0, 1))) for name in ("logical_and", "logical_or", "logical_xor")],
    _unary("logical_not", ANY, 0, 1),
    *[
        Op(f"numpy.{name}", _special(ANY), getattr(np, name), bad=_TEXT)
        for name in ("isfinite", "isinf", "isnan")
    ],
    *[Op(f"numpy.{name}", _special(REALS), getattr(np, name), bad=_NOT_COMPLEX) for name in ("isneginf", "isposinf")],
    _unary("signbit", REALS, away_from_zero(1, 3)),
    Op("numpy.isclose", _close_samples, np.isclose, **_LOOSE),
    Op("numpy.allclose", _close_samples, np.allclose, **_LOOSE),
    Op("numpy.array_equal", _equal_samples, np.array_equal, differentiable=()),
    Op("numpy.array_equiv", _equal_samples, np.array_equiv, differentiable=()),
]  # fmt: skip


def _where_samples(draw: Draw) -> Any:
    for a, b in [*((d, d) for d in ANY), *MIXED]:
        for one, two in SHAPE_PAIRS if a == b else SHAPE_PAIRS[:2]:
            yield Sample(draw.array((3,) if one else (), "bool"), draw.array(one, a), draw.array(two, b))
    yield Sample(draw.array((3,), "int32", 0, 1), draw.array((3,), "float32"), draw.array((3,), "float32"))


WHERE = [
    Op("numpy.where", _where_samples, np.where, bad=[
        Bad(TypeError, "", np.ones(3, bool), "text", 1),
        Bad(TypeError, "position 2", np.ones(3, bool), 1),
    ]),
]  # fmt: skip

OPS = [*EXPONENTIALS, *ANGLES, *ROUNDING, *ARITHMETIC, *BITWISE, *LOGIC, *WHERE]
