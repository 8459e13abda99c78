"""Elementwise operations at the edges, against recorded JAX; messages, options, printed forms."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import xtrace as xt
from tests.lax.edge_cases import PATH, cases, numbers
from xtrace import lax
from xtrace.core.fingerprint import fingerprint
from xtrace.lax import elementwise as el

_RECORDED = json.loads(PATH.read_text())


def test_edges_are_as_recorded():
    """Infinities, NaNs, zeros of both signs, ties, limits of integers, branch points: values and derivatives."""
    wrong, seen = [], set()
    for name, values in cases(xt):
        seen.add(name)
        for i, (got, wanted) in enumerate(zip(numbers(xt, values), _RECORDED[name], strict=True)):
            got, wanted = np.array(got, np.float64), np.array(wanted, np.float64)
            bad = ~np.isclose(got, wanted, rtol=2e-5, atol=1e-12, equal_nan=True)
            wrong += [f"{name}[{i}][{j}]: {got[j]}, recorded {wanted[j]}" for j in np.flatnonzero(bad)]
    assert not wrong, "\n".join(wrong)
    assert seen == set(_RECORDED)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_zeros_keep_their_sign(sign):
    zero = np.float32(0.0) * np.float32(sign)
    for fun in (
        lax.sin,
        lax.tan,
        lax.asin,
        lax.atan,
        lax.sinh,
        lax.tanh,
        lax.asinh,
        lax.atanh,
        lax.sqrt,
        lax.cbrt,
        lax.erf,
    ):
        assert np.signbit(fun(zero)) == (sign < 0), fun.__name__


def test_total_order():
    x = np.array([-np.nan, -np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan], np.float32)
    x[0] = -np.abs(x[0])  # the sign bit of NaN counts
    rows, columns = np.indices((8, 8))
    a, b = x[rows], x[columns]
    np.testing.assert_array_equal(el.lt_to_p.bind(a, b), rows < columns)
    np.testing.assert_array_equal(el.le_to_p.bind(a, b), rows <= columns)
    np.testing.assert_array_equal(el.eq_to_p.bind(a, b), rows == columns)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32", "int64", "uint64"])
def test_mulhi_of_limits(dtype):
    limits = np.iinfo(dtype)
    v = np.array(
        [0, 1, 3, limits.max, limits.min, limits.max // 2, limits.min // 2 - 1 if limits.min else 12345], dtype
    )
    a, b = [m.ravel() for m in np.meshgrid(v, v)]
    with xt.enable_x64(True):
        got = lax.mulhi(a, b)
    assert np.asarray(got).tolist() == [(int(x) * int(y)) >> limits.bits for x, y in zip(a, b)]


def test_derivatives_in_wide_range():
    """The derivative of asinh neither overflows nor underflows; that of erf keeps its relative precision."""
    x = np.array([1e-20, 1.0, 1e10, 1e19, 1e25, 5e37], np.float32)
    np.testing.assert_allclose(xt.vmap(xt.grad(lax.asinh))(x), 1 / np.hypot(1, x.astype("f8")), rtol=1e-6)
    x = np.linspace(-9, 9, 37).astype(np.float32)
    exact = 2 / np.sqrt(np.pi) * np.exp(-(x.astype("f8") ** 2))
    np.testing.assert_allclose(xt.vmap(xt.grad(lax.erf))(x), exact, rtol=1e-6)
    np.testing.assert_allclose(xt.vmap(xt.grad(lax.erfc))(x), -exact, rtol=1e-6)
    assert xt.grad(lax.erf)(np.float32(np.inf)) == 0


def test_no_derivative_along_the_order():
    for fun in (lax.polygamma, lax.zeta):
        with pytest.raises(ValueError, match=f"the derivative of {fun.__name__} with respect to"):
            xt.grad(fun)(2.0, 3.0)


def test_accuracy():
    jaxpr = str(xt.make_jaxpr(lambda x: lax.cos(lax.exp(x, accuracy=lax.AccuracyMode.HIGHEST)))(1.0))
    assert "b:f32[] = exp[accuracy=AccuracyMode.HIGHEST] a" in jaxpr
    assert "c:f32[] = cos b" in jaxpr
    text = xt.jit(lambda x: lax.exp(x, accuracy=lax.Tolerance(1e-3, 1e-4, 2))).lower(1.0).as_text()
    assert "atol = 1.000000e-03, rtol = 1.000000e-04, ulps = 2" in text
    np.testing.assert_allclose(
        xt.grad(lambda x: lax.sin(x, accuracy=lax.AccuracyMode.HIGHEST))(1.0), np.cos(1), rtol=1e-6
    )
    with pytest.raises(TypeError, match="accuracy must be a lax.AccuracyMode"):
        lax.exp(1.0, accuracy="high")
    with pytest.raises(ValueError, match="At least one of atol, rtol, or ulps must be set."):
        lax.Tolerance()
    with pytest.raises(ValueError, match="Tolerances must be non-negative."):
        lax.Tolerance(atol=-1.0)


def test_tolerances_are_values():
    one = lax.Tolerance(rtol=1e-4, ulps=2)
    assert one == lax.Tolerance(0.0, 1e-4, 2) and hash(one) == hash(lax.Tolerance(0.0, 1e-4, 2))
    assert one != lax.Tolerance(rtol=1e-3, ulps=2) and one != (0.0, 1e-4, 2)
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert repr(one) == "Tolerance(atol=0.0, rtol=0.0001, ulps=2)"
    with pytest.raises(AttributeError, match="a Tolerance can't be changed"):
        one.ulps = 3
    with pytest.raises(AttributeError, match="a Tolerance can't be changed"):
        del one.ulps


def test_a_tolerance_is_part_of_a_fingerprint():
    def key(ulps):
        return fingerprint(xt.make_jaxpr(lambda x: lax.exp(x, accuracy=lax.Tolerance(ulps=ulps)))(1.0).jaxpr)

    assert key(2) == key(2) != key(3)


@pytest.mark.parametrize(
    "call, printed",
    [
        (lambda x: lax.reciprocal(x), "integer_pow[y=-1] a"),
        (lambda x: lax.pow(x, 2), "pow a 2:i32[]"),
        (lambda x: lax.pow(2.0, x), "pow 2.0:f32[] a"),
        (lambda x: lax.conj(x), "conj[input_dtype=float32] a"),
        (lambda x: lax.round(x), "round[rounding_method=0] a"),
        (lambda x: lax.mul(x, x, out_dtype="float16"), "mul[out_dtype=float16] a a"),
        (lambda x: lax.clamp(0.0, x, 1.0), "clamp 0.0:f32[] a 1.0:f32[]"),
        (lambda x: lax.stop_gradient(x), "stop_gradient a"),
        (lambda x: lax.reduce_precision(x, 5, 10), "reduce_precision[exponent_bits=5 mantissa_bits=10] a"),
        (lambda x: lax.bitcast_convert_type(x, "int32"), "bitcast_convert_type[new_dtype=int32] a"),
    ],
)
def test_printed_equations(call, printed):
    assert printed in str(xt.make_jaxpr(call)(np.ones(3, np.float32)))


def test_polynomial_of_one_array_of_coefficients():
    coeffs = np.array([1, 10, 100], np.float32)
    assert lax.polynomial(np.float32(2), coeffs) == 421
    np.testing.assert_array_equal(xt.grad(lambda c: lax.polynomial(np.float32(2), c))(coeffs), [1, 2, 4])
    assert lax.polynomial(np.ones(2, np.float32), []).tolist() == [0, 0]
    text = str(xt.make_jaxpr(lambda x: lax.polynomial(x, [1.0, 2.0, 3.0], unroll=2))(np.float32(1)))
    assert "polynomial[unroll=2] a 1.0:f32[] 2.0:f32[] 3.0:f32[]" in text


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: lax.sin(3),
            "sin does not accept dtype int32 for its operand; it accepts floating, complex dtypes. "
            "Cast it with .astype('float32'); the functions of xtrace.numpy convert by themselves",
        ),
        (
            lambda: lax.mul(np.float32(1), 3),
            "lax.mul requires arguments to have the same dtypes, got float32, int32. "
            "(numpy.multiply promotes its arguments; or cast one with .astype().)",
        ),
        (
            lambda: lax.sub(np.ones((2, 3)), np.ones(3)),
            "sub: arrays must have the same number of dimensions (or none), got shapes (2, 3), (3,); "
            "numpy.subtract broadcasts ranks, lax.sub doesn't",
        ),
        (
            lambda: lax.complex(np.float16(1), np.float16(2)),
            "complex does not accept dtype float16: complex numbers have float32 or float64 parts; cast with .astype()",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value) == message


def test_magnitude_of_infinite_complex_numbers():
    parts = [-np.inf, -1.0, np.inf, np.nan]
    x = np.array([complex(a, b) for a in parts for b in parts], np.complex64)
    np.testing.assert_array_equal(xt.jit(lax.abs)(x), np.hypot(x.real, x.imag))  # C99: infinite beside nan too
