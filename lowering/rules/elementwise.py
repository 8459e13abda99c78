"""Lowering of elementwise operations. Operands arrive widened to the result's shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.avals import ShapedArray
from xtrace.lax import elementwise as el
from xtrace.lax import polynomials, reductions, special
from xtrace.lax.accuracy import AccuracyMode, RoundingMethod
from xtrace.lowering.lower import Body, lower_as
from xtrace.lowering.physical import physical, trailing
from xtrace.transforms.accumulate import add_any_p

#: Operations that are one StableHLO operation.
_STABLEHLO = {
    el.neg_p: "negate",
    el.floor_p: "floor",
    el.ceil_p: "ceil",
    el.is_finite_p: "is_finite",
    el.real_p: "real",
    el.imag_p: "imag",
    el.not_p: "not",
    el.population_count_p: "popcnt",
    el.clz_p: "count_leading_zeros",
    el.add_p: "add",
    el.sub_p: "subtract",
    el.div_p: "divide",
    el.rem_p: "remainder",
    el.atan2_p: "atan2",
    el.complex_p: "complex",
    el.and_p: "and",
    el.or_p: "or",
    el.xor_p: "xor",
    el.shift_left_p: "shift_left",
    el.shift_right_logical_p: "shift_right_logical",
    el.shift_right_arithmetic_p: "shift_right_arithmetic",
    add_any_p: "add",
}
#: Those that may be asked for an accuracy.
_WITH_ACCURACY = {
    el.exp_p: "exponential",
    el.expm1_p: "exponential_minus_one",
    el.log_p: "log",
    el.log1p_p: "log_plus_one",
    el.logistic_p: "logistic",
    el.tan_p: "tan",
    el.tanh_p: "tanh",
    el.sqrt_p: "sqrt",
    el.rsqrt_p: "rsqrt",
    el.cbrt_p: "cbrt",
}
#: Those that CHLO decomposes for each backend.
_CHLO = {
    el.acos_p: "acos",
    el.atan_p: "atan",
    el.sinh_p: "sinh",
    el.cosh_p: "cosh",
    el.asinh_p: "asinh",
    el.acosh_p: "acosh",
    el.atanh_p: "atanh",
    el.nextafter_p: "next_after",
    special.erf_p: "erf",
    special.erfc_p: "erfc",
    special.erf_inv_p: "erf_inv",
    special.lgamma_p: "lgamma",
    special.digamma_p: "digamma",
    special.polygamma_p: "polygamma",
    special.zeta_p: "zeta",
}

for _primitive, _name in _STABLEHLO.items():
    lower_as(_primitive, "stablehlo." + _name)
for _primitive, _name in _CHLO.items():
    lower_as(_primitive, "chlo." + _name)


def accuracy_attributes(ctx: Body, accuracy: Any) -> dict[str, Any] | None:
    """The attribute that asks StableHLO for an accuracy; None asks for nothing."""
    if accuracy is None:
        return None
    if isinstance(accuracy, AccuracyMode):
        text = f"mode = #stablehlo.result_accuracy_mode<{accuracy.name}>"
    else:
        text = (
            f"atol = {float(accuracy.atol)!r}, rtol = {float(accuracy.rtol)!r}, ulps = {int(accuracy.ulps)}, "
            "mode = #stablehlo.result_accuracy_mode<TOLERANCE>"
        )
    return {"result_accuracy": ctx.mlir.parsed(f"#stablehlo.result_accuracy<{text}>")}


def _with_accuracy(op: str) -> Any:
    def rule(ctx: Body, eqn: Any, x: Any) -> Any:
        params = eqn.params
        attributes = accuracy_attributes(ctx, params["accuracy"]) if params else None
        return ctx.op(op, eqn.outvars[0].aval, [x], attributes)

    return rule


for _primitive, _name in _WITH_ACCURACY.items():
    _primitive.lower_op = "stablehlo." + _name
    _primitive.lower = _with_accuracy(_primitive.lower_op)


def _circular(op: str, vanishing: str) -> Any:
    """sin and cos: on the imaginary axis one part of the result vanishes, even where the other overflows."""
    plain = _with_accuracy(op)

    def rule(ctx: Body, eqn: Any, x: Any) -> Any:
        aval = eqn.outvars[0].aval
        out = plain(ctx, eqn, x)
        if not dtypes.is_complex(aval.dtype):
            return out
        part, flag = aval.update(dtype=dtypes.to_real(aval.dtype)), aval.update(dtype=dtypes.bool_)
        zero = ctx.full_like(0, part)
        on_axis = compare(ctx, "EQ", ctx.op("stablehlo.real", part, [x]), zero, part, flag)
        parts = {name: ctx.op("stablehlo." + name, part, [out]) for name in ("real", "imag")}
        parts[vanishing] = ctx.op("stablehlo.select", part, [on_axis, zero, parts[vanishing]])
        return ctx.op("stablehlo.complex", aval, [parts["real"], parts["imag"]])

    return rule


def _abs(ctx: Body, eqn: Any, x: Any) -> Any:
    """Of complex numbers with an infinite part it is infinite, even where the other part is no number (C99)."""
    aval = eqn.outvars[0].aval
    out = ctx.op("stablehlo.abs", aval, [x])
    if not dtypes.is_complex(eqn.invars[0].aval.dtype):
        return out
    infinity, flag = ctx.full_like(np.inf, aval), aval.update(dtype=dtypes.bool_)
    for name in ("real", "imag"):
        part = ctx.op("stablehlo.abs", aval, [ctx.op("stablehlo." + name, aval, [x])])
        infinite = compare(ctx, "EQ", part, infinity, aval, flag)
        out = ctx.op("stablehlo.select", aval, [infinite, infinity, out])
    return out


el.abs_p.lower = _abs
el.sin_p.lower = _circular("stablehlo.sine", "real")
el.cos_p.lower = _circular("stablehlo.cosine", "imag")


def _compare(ctx: Body, direction: str, kind: str, x: Any, y: Any, out: Any) -> Any:
    attributes = {
        "comparison_direction": ctx.mlir.parsed(f"#stablehlo<comparison_direction {direction}>"),
        "compare_type": ctx.mlir.parsed(f"#stablehlo<comparison_type {kind}>"),
    }
    return ctx.op("stablehlo.compare", out, [x, y], attributes)


def compare(ctx: Body, direction: str, x: Any, y: Any, aval: Any, out: Any) -> Any:
    """`stablehlo.compare` with the comparison type that the dtype of `aval` calls for."""
    kind = {"f": "FLOAT", "c": "FLOAT", "i": "SIGNED"}.get(dtypes.kind(aval.dtype), "UNSIGNED")
    return _compare(ctx, direction, kind, x, y, out)


def _comparison(direction: str) -> Any:
    def rule(ctx: Body, eqn: Any, x: Any, y: Any) -> Any:
        aval, out = eqn.invars[0].aval, eqn.outvars[0].aval
        if not trailing(aval):
            return compare(ctx, direction, x, y, aval, out)
        stored = physical(aval.update(shape=out.shape))
        flags = ShapedArray(stored.shape, dtypes.bool_)
        found = compare(ctx, direction, x, y, stored, flags)
        reduce = reductions.reduce_and if direction == "EQ" else reductions.reduce_or
        axes = tuple(range(out.ndim, stored.ndim))
        return ctx.inline(lambda f: [reduce(f, axes)], [flags], found)[0]

    return rule


for _primitive in (el.eq_p, el.ne_p, el.lt_p, el.le_p, el.gt_p, el.ge_p):
    _primitive.lower = _comparison(_primitive.name.upper())


def _total_order(direction: str) -> Any:
    def rule(ctx: Body, eqn: Any, x: Any, y: Any) -> Any:
        return _compare(ctx, direction, "TOTALORDER", x, y, eqn.outvars[0].aval)

    return rule


for _primitive in (el.eq_to_p, el.lt_to_p, el.le_to_p):
    _primitive.lower = _total_order(_primitive.name[:2].upper())


def _sign(ctx: Body, eqn: Any, x: Any) -> Any:
    aval = eqn.outvars[0].aval
    if dtypes.kind(aval.dtype) != "u":
        return ctx.op("stablehlo.sign", aval, [x])
    zero, one = ctx.full_like(0, aval), ctx.full_like(1, aval)
    return ctx.op(
        "stablehlo.select", aval, [compare(ctx, "EQ", x, zero, aval, aval.update(dtype=dtypes.bool_)), zero, one]
    )


def _mul(ctx: Body, eqn: Any, x: Any, y: Any) -> Any:
    out = eqn.outvars[0].aval
    if eqn.params:
        x, y = [
            v if a.aval.dtype == out.dtype else ctx.op("stablehlo.convert", out, [v])
            for v, a in zip((x, y), eqn.invars)
        ]
    return ctx.op("stablehlo.multiply", out, [x, y])


def _square(ctx: Body, eqn: Any, x: Any) -> Any:
    aval = eqn.outvars[0].aval
    if dtypes.is_complex(aval.dtype):
        return ctx.op("chlo.square", aval, [x])
    return ctx.op("stablehlo.multiply", aval, [x, x])


def _one_minus_square(ctx: Body, eqn: Any, x: Any) -> Any:
    aval = eqn.outvars[0].aval
    one = ctx.full_like(1, aval)
    above, below = ctx.op("stablehlo.add", aval, [one, x]), ctx.op("stablehlo.subtract", aval, [one, x])
    return ctx.op("stablehlo.multiply", aval, [above, below])


def _asin(ctx: Body, eqn: Any, x: Any) -> Any:
    """Real: the angle of (sqrt(1 - x * x), x), with the root's argument as a product, exact near 1 and -1."""
    aval = eqn.outvars[0].aval
    if dtypes.is_complex(aval.dtype):
        return ctx.op("chlo.asin", aval, [x])
    root = ctx.op("stablehlo.sqrt", aval, [_one_minus_square(ctx, eqn, x)])
    return ctx.op("stablehlo.atan2", aval, [x, root])


def _exp2(ctx: Body, eqn: Any, x: Any) -> Any:
    aval = eqn.outvars[0].aval
    scaled = ctx.op("stablehlo.multiply", aval, [x, ctx.full_like(np.log(2), aval)])
    return ctx.op("stablehlo.exponential", aval, [scaled], accuracy_attributes(ctx, eqn.params.get("accuracy")))


def _log2(ctx: Body, eqn: Any, x: Any) -> Any:
    """log(x) * (1 / log(2)), part by part for complex x."""
    aval = eqn.outvars[0].aval
    log = ctx.op("stablehlo.log", aval, [x], accuracy_attributes(ctx, eqn.params.get("accuracy")))
    part = aval.update(dtype=dtypes.to_real(aval.dtype))
    factor = ctx.full_like(1 / np.log(2), part)
    if part is aval:
        return ctx.op("stablehlo.multiply", aval, [log, factor])
    parts = [
        ctx.op("stablehlo.multiply", part, [ctx.op(op, part, [log]), factor])
        for op in ("stablehlo.real", "stablehlo.imag")
    ]
    return ctx.op("stablehlo.complex", aval, parts)


def _conj(ctx: Body, eqn: Any, x: Any) -> Any:
    old, out = eqn.invars[0].aval, eqn.outvars[0].aval
    part = out.update(dtype=dtypes.to_real(out.dtype))
    if old.dtype == part.dtype:
        return ctx.op("stablehlo.complex", out, [x, ctx.full_like(0, part)])
    imag = ctx.op("stablehlo.negate", part, [ctx.op("stablehlo.imag", part, [x])])
    return ctx.op("stablehlo.complex", out, [ctx.op("stablehlo.real", part, [x]), imag])


def _round(ctx: Body, eqn: Any, x: Any) -> Any:
    even = eqn.params["rounding_method"] is RoundingMethod.TO_NEAREST_EVEN
    return ctx.op("stablehlo.round_nearest_even" if even else "stablehlo.round_nearest_afz", eqn.outvars[0].aval, [x])


def _pow(ctx: Body, eqn: Any, x: Any, y: Any) -> Any:
    out = eqn.outvars[0].aval
    if eqn.invars[1].aval.dtype != out.dtype:
        y = ctx.op("stablehlo.convert", out, [y])
    return ctx.op("stablehlo.power", out, [x, y])


def _integer_pow(ctx: Body, eqn: Any, x: Any) -> Any:
    """Square and multiply, from the exponent's lowest bit."""
    aval = eqn.outvars[0].aval
    exponent = eqn.params["y"]
    power, n = None, abs(exponent)
    while n:
        if n & 1:
            power = x if power is None else ctx.op("stablehlo.multiply", aval, [power, x])
        n >>= 1
        if n:
            x = ctx.op("stablehlo.multiply", aval, [x, x])
    one = ctx.full_like(1, aval)
    if power is None:
        return one
    return ctx.op("stablehlo.divide", aval, [one, power]) if exponent < 0 else power


def _extremum(op: str, direction: str) -> Any:
    def rule(ctx: Body, eqn: Any, x: Any, y: Any) -> Any:
        aval = eqn.outvars[0].aval
        if not dtypes.is_complex(aval.dtype):
            return ctx.op(op, aval, [x, y])
        part, flag = aval.update(dtype=dtypes.to_real(aval.dtype)), aval.update(dtype=dtypes.bool_)
        rx, ry = [ctx.op("stablehlo.real", part, [v]) for v in (x, y)]
        ix, iy = [ctx.op("stablehlo.imag", part, [v]) for v in (x, y)]
        same = compare(ctx, "EQ", rx, ry, part, flag)
        by_real, by_imag = compare(ctx, direction, rx, ry, part, flag), compare(ctx, direction, ix, iy, part, flag)
        return ctx.op("stablehlo.select", aval, [ctx.op("stablehlo.select", flag, [same, by_imag, by_real]), x, y])

    return rule


def _mulhi(ctx: Body, eqn: Any, x: Any, y: Any) -> Any:
    """Up to 32 bits by a multiplication in 64; 64 bits by long multiplication in halves."""
    aval = eqn.outvars[0].aval
    bits = dtypes.itemsize_bits(aval.dtype)
    signed = dtypes.kind(aval.dtype) == "i"
    if bits < 64:
        wide = aval.update(dtype=dtypes.int64 if signed else np.dtype("uint64"))
        x, y = [ctx.op("stablehlo.convert", wide, [v]) for v in (x, y)]
        product = ctx.op("stablehlo.multiply", wide, [x, y])
        shift = "stablehlo.shift_right_arithmetic" if signed else "stablehlo.shift_right_logical"
        return ctx.op("stablehlo.convert", aval, [ctx.op(shift, wide, [product, ctx.full_like(bits, wide)])])
    unsigned = aval.update(dtype=np.dtype("uint64"))

    def op(name: str, a: Any, b: Any, to: ShapedArray = unsigned) -> Any:
        return ctx.op("stablehlo." + name, to, [a, b])

    half, low = ctx.full_like(32, unsigned), ctx.full_like(0xFFFFFFFF, unsigned)
    ux, uy = [ctx.op("stablehlo.convert", unsigned, [v]) if signed else v for v in (x, y)]
    x0, y0 = op("and", ux, low), op("and", uy, low)
    x1, y1 = op("shift_right_logical", ux, half), op("shift_right_logical", uy, half)
    cross = op("add", op("multiply", x1, y0), op("shift_right_logical", op("multiply", x0, y0), half))
    other = op("add", op("multiply", x0, y1), op("and", cross, low))
    high = op("add", op("multiply", x1, y1), op("shift_right_logical", cross, half))
    high = op("add", high, op("shift_right_logical", other, half))
    if not signed:
        return high
    # Two's complement: a negative operand stands for itself plus 2**64.
    result, places = ctx.op("stablehlo.convert", aval, [high]), ctx.full_like(63, aval)
    for a, b in ((x, y), (y, x)):
        result = op("subtract", result, op("and", op("shift_right_arithmetic", a, places, aval), b, aval), aval)
    return result


def _polynomial(ctx: Body, eqn: Any, x: Any, *coeffs: Any) -> Any:
    """Horner's rule, highest power first."""
    aval = eqn.outvars[0].aval
    out = coeffs[-1]
    for c in reversed(coeffs[:-1]):
        out = ctx.op("stablehlo.add", aval, [ctx.op("stablehlo.multiply", aval, [out, x]), c])
    return out


el.sign_p.lower = _sign
polynomials.polynomial_p.lower = _polynomial
el.mul_p.lower_op, el.mul_p.lower = "stablehlo.multiply", _mul
el.square_p.lower = _square
el.one_minus_square_p.lower = _one_minus_square
el.asin_p.lower = _asin
el.exp2_p.lower = _exp2
el.log2_p.lower = _log2
el.conj_p.lower = _conj
el.round_p.lower = _round
el.pow_p.lower = _pow
el.integer_pow_p.lower = _integer_pow
el.max_p.lower = _extremum("stablehlo.maximum", "GT")
el.min_p.lower = _extremum("stablehlo.minimum", "LT")
el.mulhi_p.lower = _mulhi
