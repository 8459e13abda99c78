"""Elementwise functions and operators against recorded results of JAX: dtypes pair by pair, and values."""

import json
import operator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.core.avals import ShapedArray
from xtrace.lax import shapes

DATA = json.loads((Path(__file__).parent.parent / "data" / "elementwise.json").read_text())
PYTHON = {"py_bool": True, "py_int": 2, "py_float": 1.5, "py_complex": 1 + 2j}
OPERATORS = {n: divmod if n == "divmod" else getattr(operator, f"__{n}__") for n in DATA["operators"]}


def operand(name):
    if name in PYTHON:
        return PYTHON[name]
    x = xnp.asarray([1, 0, 1], name.removesuffix("*"))
    return shapes.convert(x, x.dtype, True) if name.endswith("*") else x


def result_types(function, *args):
    """What the function returns, in the words of the recording."""
    arrays = [x for x in args if not isinstance(x, (bool, int, float, complex))]

    def call(*traced):
        given = iter(traced)
        return function(*[x if isinstance(x, (bool, int, float, complex)) else next(given) for x in args])

    try:
        out = xt.eval_shape(call, *arrays) if arrays else call()
    except (TypeError, ValueError, NotImplementedError):
        return "!"
    leaves = xt.tree.leaves(out)
    if not all([hasattr(x, "weak_type") for x in leaves]):
        return "!"
    return "+".join([f"{x.dtype.name}{'*' * x.weak_type}" for x in leaves])


@pytest.mark.parametrize("name", [n for n, rows in DATA["types"].items() if isinstance(rows, str)])
def test_result_types_of_functions_of_one_operand(name):
    function = getattr(xnp, name)
    # JAX sometimes takes Python numbers alone for constants of the program; for us they are weak arrays.
    recorded = {a: t for a, t in zip(DATA["operands"], DATA["types"][name].split()) if a not in PYTHON}
    assert {a: result_types(function, operand(a)) for a in recorded} == recorded


def differing(function, rows):
    """Pairs of operands whose result differs from the recorded one: (got, recorded)."""
    # JAX compares a Python number in Python here, and gives weak results that it doesn't give for weak arrays.
    left_alone = PYTHON if function is xnp.heaviside else ()
    found = {}
    for a, row in zip(DATA["operands"], rows):
        for b, want in zip(DATA["operands"], row.split()):
            if a in left_alone or (a in PYTHON and b in PYTHON):
                continue
            got = result_types(function, operand(a), operand(b))
            if got != want:
                found[a, b] = (got, want)
    return found


@pytest.mark.parametrize("name", [n for n, rows in DATA["types"].items() if isinstance(rows, list)])
def test_result_types_of_functions_of_two_operands(name):
    assert differing(getattr(xnp, name), DATA["types"][name]) == {}


@pytest.mark.parametrize("name", OPERATORS)
def test_result_types_of_operators(name):
    assert differing(OPERATORS[name], DATA["operators"][name]) == {}


def numbers(x):
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return [[float(v.real), float(v.imag)] for v in x]
    return [float(v) for v in x]


def inputs(dtype):
    return [
        np.array([complex(*v) if isinstance(v, list) else v for v in values]).astype(dtype)
        for values in DATA["inputs"][dtype]
    ]


@pytest.mark.parametrize("name", DATA["values"])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_values(name, compiled):
    count = 1 if isinstance(DATA["types"][name], str) else 2
    function = xt.jit(getattr(xnp, name)) if compiled else getattr(xnp, name)
    for dtype, recorded in DATA["values"][name].items():
        out = xt.tree.leaves(function(*[xnp.asarray(v) for v in inputs(dtype)[:count]]))
        for got, want in zip(out, recorded, strict=True):
            if (name, dtype) == ("fmod", "bool"):  # JAX gives a remainder of division by 0; NumPy, and we, 0
                assert numbers(got) == [0, 0, 0, 0]
                continue
            if (name, dtype) == ("power", "int32"):  # a negative exponent of an integer gives nothing meaningful
                got, want = np.delete(np.asarray(got), 1), want[:1] + want[2:]
            if name in ("floor_divide", "divmod") and np.dtype(dtype).kind in "biu":  # by 0: JAX -1 or -2, NumPy 0
                want = np.where(inputs(dtype)[1] == 0, 0, want)
            np.testing.assert_allclose(numbers(got), want, rtol=3e-6, atol=1e-7, err_msg=f"{name} of {dtype}")


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint16", "uint32"])
def test_integers_divided_by_zero_are_zero(dtype):
    x = np.array([0, 1, 7, -3 if dtype[0] == "i" else 250], dtype)
    y = np.array([[0], [1], [2], [-2 if dtype[0] == "i" else 3]], dtype)
    with np.errstate(divide="ignore"):
        quotient, rest = np.divmod(x, y)
    for run in (lambda f: f, xt.jit):
        np.testing.assert_array_equal(run(xnp.floor_divide)(x, y), quotient)
        np.testing.assert_array_equal(run(lambda x, y: x // y)(xnp.asarray(x), xnp.asarray(y)), quotient)
        for got, want in zip(run(xnp.divmod)(x, y), (quotient, rest), strict=True):
            np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(run(lambda x: x // 0)(xnp.asarray(x)), 0)
    # A divisor known not to be 0 costs nothing.
    assert str(xt.make_jaxpr(lambda x: x // 2)(xnp.asarray(x))).count("select_n") <= 1


class Scaled(NamedTuple):
    values: Any

    def __rmul__(self, other):
        return Scaled(other * self.values)


def test_named_tuples_have_operators_of_their_own():
    for multiply in (operator.mul, xt.jit(operator.mul)):
        np.testing.assert_array_equal(multiply(xnp.arange(2), Scaled(3)).values, [0, 3])


def test_operands_that_are_no_arrays():
    x = xnp.ones(3)
    for other in ([1.0, 1.0, 1.0], (1.0,), {"a": 1}):
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'ArrayImpl' and"):
            x + other
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+"):
            other + x
    with pytest.raises(TypeError, match="Convert it with numpy.asarray"):
        x * [1, 2, 3]
    assert (x == None) is False  # noqa: E711
    assert (x == "text") is False
    with pytest.raises(TypeError, match="'<' not supported"):
        x < None  # noqa: B015
    with pytest.raises(
        TypeError, match=r"add requires ndarray or scalar arguments, got <class 'list'> at position 1\. Convert"
    ):
        xnp.add(x, [1])


def test_other_classes_get_their_turn():
    class Other:
        def __radd__(self, left):
            return "mine"

        def __eq__(self, right):
            return "equal"

    x = xnp.ones(3)
    assert x + Other() == "mine"
    assert (x == Other()) == "equal"
    assert xt.eval_shape(lambda v: (v + Other() == "mine") * v, x).shape == (3,)


def test_objects_that_become_arrays():
    class Wrapped:
        def __jax_array__(self):
            return xnp.arange(3)

    assert (xnp.ones(3) + Wrapped()).tolist() == [1, 2, 3]
    assert (Wrapped() * 1 if hasattr(Wrapped, "__mul__") else xnp.multiply(Wrapped(), 2)).tolist() == [0, 2, 4]


def test_integers_out_of_range():
    x = xnp.ones(3)
    for call in (lambda: x + 2**40, lambda: xt.make_jaxpr(lambda v: v + 2**40)(x)):
        with pytest.raises(OverflowError, match="Python int 1099511627776 does not fit in int32"):
            call()
    assert (xnp.arange(3, dtype=xnp.int8) + 1000).tolist() == [-24, -23, -22]


def jaxpr(function, *args):
    return " ".join(str(xt.make_jaxpr(function)(*args)).split())


def test_jaxprs_have_the_operations_of_jax():
    x, i, w = xnp.ones(3), xnp.arange(3), 1.0
    assert jaxpr(lambda x: x + 1, x) == "{ lambda ; a:f32[3]. let b:f32[3] = add a 1.0:f32[] in (b,) }"
    converted = "b:f32[3] = convert_element_type[new_dtype=float32 weak_type=True] a c:f32[3] = add b 1.5:f32[]"
    assert jaxpr(lambda i: i + 1.5, i) == f"{{ lambda ; a:i32[3]. let {converted} in (c,) }}"
    strong = "c:f32[] = convert_element_type[new_dtype=float32 weak_type=False] b d:f32[3] = mul a c"
    assert jaxpr(lambda x, w: x * w, x, w) == f"{{ lambda ; a:f32[3] b:f32[]. let {strong} in (d,) }}"
    wide = "c:f32[1,3] = broadcast_in_dim[broadcast_dimensions=(1,)] a d:f32[2,3] = add c b"
    assert jaxpr(lambda x, y: x + y, x, xnp.ones((2, 3))) == f"{{ lambda ; a:f32[3] b:f32[2,3]. let {wide} in (d,) }}"
    assert "integer_pow[y=2] a" in jaxpr(lambda x: x**2, x)
    assert "pow 2.0:f32[] a" in jaxpr(lambda x: 2**x, x)
    assert jaxpr(lambda x: +x, x) == "{ lambda ; a:f32[3]. let in (a,) }"


def test_equations_know_the_user_line():
    def f(x):
        return 1.0 - x  # this line

    (eqn,) = xt.make_jaxpr(f)(xnp.ones(3)).eqns
    assert eqn.source_info.line.file == __file__
    assert eqn.source_info.line.function.endswith("f")


def test_weak_operands_and_signed_zeros():
    assert np.signbit(np.asarray(xnp.ones(()) * -0.0))
    program = xt.make_jaxpr(lambda x: (x * 0.0, x * -0.0, x * 0, x * -0.0, x * 0.0))(xnp.ones(()))
    assert [bool(np.signbit(e.invars[1].val)) for e in program.eqns] == [False, True, False, True, False]


def test_numpy_functions_on_tracers_trace():
    n = np.arange(3, dtype=np.float32)

    def f(x):
        return np.sin(x), np.float32(2) * x, n * x, np.add(x, n), np.where(x > 0, x, 0), np.maximum(n, x)

    program = xt.make_jaxpr(f)(xnp.ones(3))
    names = [e.primitive.name for e in program.eqns]
    assert names == ["sin", "mul", "mul", "add", "gt", "broadcast_in_dim", "select_n", "max"]
    with pytest.raises(TypeError, match="can't be written into a NumPy array"):
        xt.make_jaxpr(lambda x: np.sin(x, out=np.ones(3)))(xnp.ones(3))
    assert isinstance(np.sin(xnp.ones(3)), np.ndarray)  # concrete arrays keep NumPy's meaning
    assert isinstance(n + xnp.ones(3), xt.Array)


def test_rank_promotion_modes():
    x, y = xnp.ones(3), xnp.ones((2, 3))
    with xt.numpy_rank_promotion("raise"), pytest.raises(ValueError, match=r"for add on shapes \(3,\) \(2, 3\)"):
        xt.make_jaxpr(lambda a, b: a + b)(x, y)
    with xt.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="numpy_rank_promotion='warn'"):
        xt.make_jaxpr(lambda a, b: a + b)(x, y)


def test_derivatives_of_functions_with_rules_of_their_own():
    assert float(xt.grad(xnp.logaddexp)(1.0, 2.0)) == pytest.approx(np.exp(1) / (np.exp(1) + np.exp(2)), rel=1e-6)
    inf = np.inf
    assert float(xt.grad(xnp.logaddexp)(-inf, 1.0)) == 0.0
    assert float(xt.grad(xnp.logaddexp2, argnums=1)(1.0, 2.0)) == pytest.approx(2 / 3, rel=1e-6)
    assert float(xt.grad(xnp.hypot)(3.0, 4.0)) == pytest.approx(0.6)
    assert float(xt.grad(xnp.sinc)(0.0)) == 0.0
    assert float(xt.grad(xt.grad(xnp.sinc))(0.0)) == pytest.approx(-(np.pi**2) / 3, rel=1e-6)
    assert float(xt.grad(xnp.sinc)(1.0)) == pytest.approx(-1.0, rel=1e-6)
    assert float(xt.grad(xnp.i0)(1.0)) == pytest.approx(0.5651591, rel=1e-5)  # I1(1)
    assert float(xt.grad(lambda x: xnp.ldexp(x, 3))(1.5)) == 8.0
    assert float(xt.grad(lambda x: xnp.frexp(x)[0])(10.0)) == 1 / 16


def test_avals_are_interned():
    assert xnp.add(xnp.ones(3), 1.0).aval is ShapedArray((3,), "float32")


def test_where():
    x, wide = xnp.arange(3.0), xnp.ones((2, 3))
    assert xnp.where(x > 1, x, 0).tolist() == [0, 0, 2]
    assert xnp.where(x, 1, 2).tolist() == [2, 1, 1]
    assert xnp.where(x > 1, wide, x).tolist() == [[0, 1, 1], [0, 1, 1]]
    assert xnp.where(True, 1, 2.5).weak_type
    names = [e.primitive.name for e in xt.make_jaxpr(lambda x: xnp.where(x > 1, x, 0))(x).eqns]
    assert names == ["gt", "broadcast_in_dim", "select_n"]
    with pytest.raises(ValueError, match=r"where: incompatible shapes for broadcasting: \(3,\), \(4,\), \(3,\)"):
        xnp.where(x > 1, xnp.ones(4), x)
    with pytest.raises(TypeError, match="where requires ndarray or scalar arguments, got <class 'NoneType'>"):
        xnp.where(x > 1, x)


def test_clip_and_round():
    assert xnp.clip(xnp.arange(5), 1, 3).tolist() == [1, 1, 2, 3, 3]
    assert xnp.clip(xnp.arange(3), 0.5).dtype == np.float32
    assert xnp.arange(5).clip(max=2).tolist() == [0, 1, 2, 2, 2]
    assert round(xnp.array([0.5, 1.5, 2.25]), 1).tolist() == [0.5, 1.5, pytest.approx(2.2)]
    with pytest.raises(ValueError, match="Complex values have no ordering and cannot be clipped"):
        xnp.clip(xnp.array([1j]), 0, 1)
    with pytest.raises(NotImplementedError, match="integers can't be rounded to decimals < 0"):
        xnp.round(xnp.arange(3), -1)
    with pytest.raises(TypeError, match="Integers cannot be raised to negative powers, got a base of dtype int32"):
        xnp.arange(3) ** -1


def test_shapes_of_different_ranks_that_do_not_broadcast():
    for f in (xnp.add, xnp.power, xnp.less, xnp.arctan2, xnp.logaddexp):
        with pytest.raises(ValueError, match=r"Incompatible shapes for broadcasting: .*shapes=\[\(3, 4\), \(5,\)\]"):
            f(xnp.ones((3, 4)), xnp.ones(5))
        with pytest.raises(TypeError, match="incompatible shapes for broadcasting"):
            f(xnp.ones((3, 4)), xnp.ones((3, 5)))


def test_pythons_round():
    # Without ndigits an integer, as of Python's numbers; recorded from JAX.
    for x, value in ((2.6, 3), (2.5, 2), ([2.6, 3.5], [3, 4]), (xnp.float16(2.5), 2), (7, 7), (xnp.int8(3), 3)):
        out = round(xnp.array(x))
        assert (out.dtype, out.weak_type, out.tolist()) == (xnp.int32, False, value)
    out = round(xnp.array(2.66), 1)
    assert (out.dtype, out.weak_type, float(out)) == (xnp.float32, True, pytest.approx(2.7))
    assert round(xnp.array([2.6]), 0).dtype == xnp.float32


@pytest.mark.parametrize("base", ["int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32"])
@pytest.mark.parametrize("exponent", [2, np.uint8(2), np.int32(2), np.array(2), "int8", "int32", "uint32"])
def test_a_known_integer_exponent_keeps_the_dtype(base, exponent):
    exponent = xnp.asarray(2, exponent) if isinstance(exponent, str) else exponent
    x = xnp.arange(1, 4).astype(base)
    for out in (x**exponent, xnp.power(x, exponent), xt.jit(lambda x: x**exponent)(x)):
        assert (out.dtype, out.tolist()) == (base, [1, 4, 9])


@pytest.mark.parametrize(
    ("base", "exponent", "result"),
    [("int8", "int32", "int32"), ("int16", "uint32", "int32"), ("uint32", "int8", "int32"), ("uint8", "int8", "int16"),
     ("bool", "uint8", "uint8"), ("int8", "bool", "int8"), ("int8", "float16", "float16")],
)  # fmt: skip
def test_arrays_of_exponents_promote(base, exponent, result):
    assert (xnp.ones(3, base) ** xnp.ones(3, exponent)).dtype == result


def test_known_exponents_of_bases_that_are_not_floats():
    assert (xnp.array([True, False]) ** xnp.uint32(3)).dtype == xnp.int32
    for exponent in (-1, np.int8(-1), xnp.int8(-1)):
        for base in ("bool", "int8", "uint32"):
            with pytest.raises(TypeError, match="Integers cannot be raised to negative powers"):
                xnp.ones(3, base) ** exponent
