"""What JAX users try first and must not be wrong about."""

from __future__ import annotations

import math
import subprocess
import sys
import traceback
import warnings

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.core import config, errors, source


@pytest.mark.parametrize(
    "fun",
    [lambda x: float(x) * x, lambda x: math.exp(-x) * x, lambda x: complex(x).real * x, lambda x: x.tolist() * x],
)
@pytest.mark.parametrize("differentiate", [xt.grad, xt.hessian, lambda f: lambda x: xt.jvp(f, (x,), (1.0,))])
def test_numbers_of_differentiated_values_are_refused(fun, differentiate):
    with pytest.raises(errors.ConcretizationTypeError):
        differentiate(fun)(1.0)
    with pytest.raises(errors.TracerArrayConversionError):
        differentiate(lambda x: (np.asarray(x) * x).sum())(1.0)


def test_truth_and_integers_of_differentiated_values_are_theirs():
    assert float(xt.grad(lambda x: x * x if x > 0 else x)(2.0)) == 4.0
    assert float(xt.grad(lambda x: int(x) * x)(2.0)) == 2.0
    assert float(xt.grad(lambda x: x.item() * x)(3.0)) == 3.0
    assert float(xt.grad(lambda x: [x, 2 * x][int(x) % 2])(1.0)) == 2.0


def test_methods_of_tracers_are_not_hidden_by_their_fields():
    assert float(xt.jit(lambda x: x.var())(xnp.array([1.0, 3.0]))) == 1.0


@pytest.mark.parametrize("transform", [xt.jit, xt.grad, lambda f: xt.jit(xt.grad(f))])
def test_format_specifications_need_a_number(transform):
    with pytest.raises(TypeError, match="unsupported format string passed to"):
        transform(lambda x: (f"{x:.2f}", x)[1])(1.0)
    assert float(transform(lambda x: (f"{x}", x)[1])(1.0)) == 1.0


@pytest.mark.parametrize(
    "gradient",
    [
        xt.grad(lambda x: x**2),
        xt.grad(xnp.tanh),
        xt.jit(xt.grad(lambda x: xnp.sin(x) * x)),
        xt.grad(lambda x: 2.0),
        lambda x: xt.jvp(lambda x: x**2, (x,), (1.0,))[1],
        xt.grad(lambda x: xnp.where(x > 0, x, 0.0) * 3),
    ],
)
def test_gradients_of_python_numbers_are_weakly_typed(gradient):
    assert gradient(3.0).weak_type and not gradient(np.float32(3)).weak_type


def test_donated_arrays_say_that_they_are_gone():
    x = xnp.ones(3)
    xt.jit(lambda x: x + 1, donate_argnums=0)(x)
    for use in (lambda: x * 2, lambda: x[::-1], lambda: xnp.sin(x)):
        with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[3\]\."):
            use()


def test_debug_nans():
    f = xt.jit(lambda x: xnp.log(x) + 1)
    with xt.debug_nans(True):
        assert float(f(1.0)) == 1.0
        for call in (lambda: f(-1.0), lambda: xnp.log(-1.0)):
            with pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in"):
                call()
    assert math.isnan(f(-1.0))
    with xt.debug_infs(True), pytest.raises(FloatingPointError, match=r"\(inf\)"):
        xnp.log(0.0)


def layer(x, w):
    return x @ w


def test_tracebacks_show_the_users_calls():
    model = xt.jit(lambda x, w: layer(x, w).sum())
    with pytest.raises(TypeError) as caught:
        xt.grad(model)(xnp.ones(3), xnp.ones(4))
    frames = [f for f in traceback.extract_tb(caught.value.__traceback__) if not source.is_own_file.get(f.filename)]
    assert [f.name for f in frames][-2:] == ["<lambda>", "layer"]
    own = [f for f in traceback.extract_tb(caught.value.__traceback__) if source.is_own_file.get(f.filename)]
    assert {f.name for f in own} == {"wrapper"}
    with config.traceback_filtering("off"):
        with pytest.raises(TypeError) as caught:
            model(xnp.ones(3), xnp.ones(4))
    assert any(f.name == "dot_general" or f.name == "matmul" for f in traceback.extract_tb(caught.value.__traceback__))


def test_the_runtime_is_quiet():
    code = """
import xtrace as xt, xtrace.numpy as xnp
x = xnp.ones(3)
xt.jit(lambda x: x + 1, donate_argnums=0)(x)
try:
    x * 2
except RuntimeError as e:
    print(e)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("Array has been deleted with shape=float32[3].\n", "")


def test_tracers_print_as_jaxs_do():
    seen = []

    def look(x):
        seen.append(repr(x))
        return x * 1.0

    xt.grad(look)(3.0)
    xt.vmap(look)(xnp.ones((2, 3)))
    xt.jvp(look, (3.0,), (1.0,))
    xt.jit(look)(xnp.ones(2))
    xt.vmap(xt.grad(look))(xnp.ones(2))
    xt.jit(xt.grad(look))(3.0)
    assert seen == [  # as JAX 0.12 prints them
        "GradTracer(primal=3.0, typeof(tangent)=f32[])",
        "VmapTracer(aval=float32[3], batched=float32[2,3])",
        "JVPTracer(primal=3.0, tangent=1.0)",
        "JitTracer(float32[2])",
        "GradTracer(primal=VmapTracer(aval=float32[], batched=float32[2]), typeof(tangent)=f32[])",
        "GradTracer(primal=JitTracer(~float32[]), typeof(tangent)=f32[])",
    ]


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda: xt.jit(lambda x: bool(x))(xt.numpy.ones((3, 4)))),
        (ValueError, lambda: xt.jit(lambda x: bool(x))(xt.numpy.ones(0))),
        (xt.errors.TracerBoolConversionError, lambda: xt.jit(lambda x: bool(x))(xt.numpy.ones(1))),
        (ValueError, lambda: xt.vjp(lambda x: x * 2, 1.0)[1](1)),
        (ValueError, lambda: xt.vjp(lambda x: x * 2, xt.numpy.float16(1))[1](1.0)),
        (ValueError, lambda: xt.linearize(lambda x: x * 2, 1.0)[1](1)),
        (ValueError, lambda: xt.linearize(lambda x: x * 2, 1.0)[1](xt.numpy.ones(2))),
        (TypeError, lambda: xt.linearize(lambda x: x * 2, 1.0)[1]((1.0,))),
        (TypeError, lambda: xt.jvp(lambda x: x * 2, [1.0], (1.0,))),
        (ValueError, lambda: xt.random.fold_in(xt.random.key(0), "a")),
        (ValueError, lambda: xt.random.fold_in(xt.random.key(0), None)),
        (IndexError, lambda: xt.numpy.swapaxes(xt.numpy.ones(3), 0, 1)),
        (TypeError, lambda: xt.numpy.promote_types("number", "digit")),
    ],
)
def test_classes_of_errors(error, call):
    with pytest.raises(error) as caught:
        call()
    assert error is not ValueError or not isinstance(caught.value, TypeError)


def test_conversions_to_64_bits_warn_where_they_are_off():
    x = xt.numpy.arange(4.0)
    for dtype in (xt.numpy.float64, "int64", "complex128"):
        with pytest.warns(UserWarning, match="Explicitly requested dtype .*(64|128) in astype"):
            x.astype(dtype)
    with pytest.warns(UserWarning, match="Explicitly requested dtype float64 in view"):
        x.view("float64")
    for name in ("sum", "prod", "mean", "var", "std", "cumsum", "cumprod"):
        with pytest.warns(UserWarning, match=f"Explicitly requested dtype float64 in {name}"):
            assert getattr(xt.numpy, name)(xt.numpy.ones(7), dtype="float64").dtype == "float32"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.astype(float).dtype == "float32" and x.astype(int).dtype == "int32"


def test_weak_types_of_results():
    lax, xnp = xt.lax, xt.numpy
    weak = {
        "int": lax.while_loop(lambda x: x < 3, lambda x: x + 1, 1),
        "position": xnp.unravel_index(5, (2, 3))[0],
        "gcd": xnp.gcd(12, 18),
        "array of position": xnp.unravel_index(xnp.int32(5), (2, 3))[0],
        "widened": lax.while_loop(lambda x: x < 3, lambda x: x + 1.0, 1),
        "widened fori": lax.fori_loop(0, 3, lambda i, x: x + 1.0, 1),
        "widened scan": lax.scan(lambda c, _: (c + 1.0, c), 1, None, length=2)[0],
    }  # recorded from JAX
    assert {name: x.weak_type for name, x in weak.items()} == {
        "int": True, "position": True, "gcd": True, "array of position": False,
        "widened": False, "widened fori": False, "widened scan": False,
    }  # fmt: skip
    assert weak["widened"].dtype == weak["widened fori"].dtype == weak["widened scan"].dtype == "float32"


def test_containers_and_unmapped_results():
    values, positions = out = xt.lax.top_k(xt.numpy.arange(4.0), 2)
    assert isinstance(out, list) and values.tolist() == [3, 2] and positions.tolist() == [3, 2]
    assert xt.vmap(lambda x: 3, out_axes=None)(xt.numpy.ones(2)) == 3
    assert type(xt.vmap(lambda x: 3, out_axes=None)(xt.numpy.ones(2))) is int
