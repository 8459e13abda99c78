"""Every message about a tracer, in full: what, where, the way from the argument, what to write instead."""

from __future__ import annotations

import re

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.core import errors

HERE = __file__


def line_of(text: str) -> int:
    with open(HERE) as file:
        return next(i for i, line in enumerate(file, 1) if line.strip().endswith(text))


def message(fun, *args, error):
    with pytest.raises(error) as caught:
        xt.jit(fun)(*args)
    return str(caught.value)


def test_condition_on_a_tracer():
    def relu(x, slope):
        y = x * slope
        if y > 0:  # the condition
            return y
        return 0.0

    assert message(relu, 1.0, 2.0, error=errors.TracerBoolConversionError) == "\n".join(
        [
            "Attempted boolean conversion of traced array with shape bool[].",
            f"  asked at   {HERE}:{line_of('# the condition')} (test_condition_on_a_tracer.<locals>.relu)",
            f"  while tracing the function relu at {HERE}:{line_of('def relu(x, slope):')} for jit",
            f"  which is   gt(f32[], f32[]) at {HERE}:{line_of('# the condition')} "
            "(test_condition_on_a_tracer.<locals>.relu)",
            f"  which is   mul(f32[], f32[]) at {HERE}:{line_of('y = x * slope')} "
            "(test_condition_on_a_tracer.<locals>.relu)",
            "  it depends on the arguments x, slope of relu",
            "Instead: for a condition on array values write numpy.where(condition, a, b) or lax.cond(condition, f, g, "
            "x); for a loop lax.while_loop or lax.fori_loop; to branch in Python, mark the argument as static: "
            "jit(f, static_argnames=...).",
        ]
    )


def test_integer_of_a_tracer():
    def f(n):
        return [1, 2, 3][n]  # the index

    text = message(f, 1, error=errors.TracerIntegerConversionError)
    assert text.startswith("The __index__() method was called on traced array with shape i32[].\n")
    assert f"asked at   {HERE}:{line_of('# the index')}" in text and "the argument n of f" in text
    assert text.endswith("mark the argument as static: jit(f, static_argnames=...).")


def test_numpy_conversion_of_a_tracer():
    def f(x):
        return np.asarray(x)

    text = message(f, 1.0, error=errors.TracerArrayConversionError)
    assert text.startswith(
        "The numpy.ndarray conversion method __array__() was called on traced array with shape f32[].\n"
    )
    assert "call the function of xtrace.numpy" in text


@pytest.mark.parametrize("convert, wanted", [(float, "float"), (int, "int"), (complex, "complex")])
def test_number_of_a_tracer(convert, wanted):
    text = message(lambda x: convert(x), 1.0, error=errors.ConcretizationTypeError)
    assert text.startswith(f"A concrete {wanted} was asked of a traced array of type f32[].\n")


def test_errors_are_the_classes_that_jax_has():
    assert issubclass(errors.TracerBoolConversionError, errors.ConcretizationTypeError)
    assert issubclass(errors.ConcretizationTypeError, TypeError)
    assert issubclass(errors.TracerIntegerConversionError, TypeError)
    assert issubclass(errors.NonConcreteBooleanIndexError, IndexError)
    assert issubclass(errors.UnexpectedTracerError, TypeError)
    assert issubclass(errors.KeyReuseError, RuntimeError)


def test_hash_of_a_tracer():
    with pytest.raises(TypeError, match="unhashable type: StagedTracer. A traced array has no value to hash yet"):
        xt.jit(lambda x: {x: 1})(1.0)


def test_leaked_tracer():
    kept = []

    def keep(x):
        kept.append(x + 1.0)
        return x

    xt.jit(keep)(1.0)
    expected = (
        "Encountered an unexpected tracer: a traced value of type f32[] was used after its trace had ended. It was "
        f"made while tracing keep at {HERE}:{line_of('def keep(x):')} for jit. A side effect let it escape"
    )
    for use in (lambda t: t + 1, lambda t: xnp.sin(t), xt.jit(lambda y: y)):
        with pytest.raises(errors.UnexpectedTracerError) as caught:
            use(kept[0])
        assert str(caught.value).startswith(expected)
    with pytest.raises(errors.UnexpectedTracerError, match="it depends on the argument x of keep"):
        xt.jit(lambda y: y + kept[0])(1.0)


LEAKING = {
    "grad": lambda f: xt.grad(f)(1.0),
    "value_and_grad": lambda f: xt.value_and_grad(f)(1.0),
    "vjp": lambda f: xt.vjp(f, 1.0),
    "jvp": lambda f: xt.jvp(f, (1.0,), (1.0,)),
    "linearize": lambda f: xt.linearize(f, 1.0),
    "vmap": lambda f: xt.vmap(f)(xnp.ones(3)),
}


@pytest.mark.parametrize("transformation", [*LEAKING, "jacfwd", "jacrev"])
def test_leaks_out_of_transformations_name_the_function(transformation):
    kept = []

    def hold(x):
        kept.append(x * 2.0)
        return x * x

    made_for = {"jacfwd": "jvp", "jacrev": "vjp"}.get(transformation, transformation)
    if transformation in LEAKING:
        LEAKING[transformation](hold)
    else:
        getattr(xt, transformation)(hold)(1.0)
    origin = re.escape(f"made while tracing hold at {HERE}:{line_of('def hold(x):')} for {made_for}. A side effect")
    with pytest.raises(errors.UnexpectedTracerError, match=origin):
        kept[0] + 1.0


def test_python_numbers_name_the_conversion():
    for number in (int, float, complex):
        with pytest.raises(TypeError, match=rf"Try using `x.astype\({number.__name__}\)`"):
            xt.jit(lambda x, number=number: number(x))(1.0)
