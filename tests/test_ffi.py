"""Foreign functions: LAPACK's kernels by their names, and functions of this process through ctypes."""

from __future__ import annotations

import ctypes
import os

import numpy as np
import pytest
import scipy.linalg

import xtrace as xt
from xtrace import ffi
from xtrace.runtime import lapack

METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"]
Shape = xt.ShapeDtypeStruct


def _positive(*batch):
    x = np.random.default_rng(0).normal(size=(*batch, 3, 3)).astype(np.float32)
    return x @ np.swapaxes(x, -1, -2) + 3 * np.eye(3, dtype=np.float32)


def _cholesky(x, **options):
    n = x.ndim
    columns = (*range(n - 2), n - 1, n - 2)
    call = ffi.ffi_call(
        "lapack_spotrf_ffi",
        (Shape(x.shape, x.dtype), Shape(x.shape[:-2], np.int32)),
        input_layouts=[columns],
        output_layouts=[columns, None],
        input_output_aliases={0: 0},
        **options,
    )
    return call(x, uplo=np.uint8(ord("L")))


def test_a_kernel_of_lapack():
    x = _positive()
    for f in (_cholesky, xt.jit(_cholesky)):
        factor, info = f(x)
        np.testing.assert_allclose(np.tril(factor), scipy.linalg.cholesky(x, lower=True), rtol=1e-5)
        assert info == 0 and info.dtype == np.int32
    assert _cholesky(-x)[1] == 1  # LAPACK: the minor of order 1 is not positive
    np.testing.assert_allclose(np.tril(_cholesky(_positive(4))[0]), np.linalg.cholesky(_positive(4)), rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("compiled", [False, True])
def test_batching(method, compiled):
    x = _positive(4)
    f = xt.vmap(lambda x: _cholesky(x, vmap_method=method), in_axes=2)
    factor, info = (xt.jit(f) if compiled else f)(np.moveaxis(x, 0, 2))
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(x), rtol=1e-5)
    assert info.tolist() == [0] * 4


def _call_of(x, b, method):
    jaxpr = xt.make_jaxpr(xt.vmap(lambda x: ffi.ffi_call("foo", x, vmap_method=method)(x, b, k=1)))(x)
    return next(e for e in jaxpr.eqns if e.primitive.name == "ffi_call")


@pytest.mark.parametrize(
    ("method", "shape", "order"),
    # What JAX shows for an operand that is not mapped.
    [("expand_dims", (1, 4), (1, 0)), ("broadcast_all", (2, 4), (1, 0)), ("legacy_vectorized", (4,), (0,))],
)
def test_operands_that_are_not_mapped(method, shape, order):
    eqn = _call_of(np.ones((2, 3), np.float32), xt.numpy.ones(4), method)
    assert [v.aval.shape for v in eqn.invars] == [(2, 3), shape]
    assert eqn.params["input_layouts"] == ((1, 0), order) and eqn.params["output_layouts"] == ((1, 0),)
    assert [a.shape for a in eqn.params["result_avals"]] == [(2, 3)]


def test_no_batching():
    with pytest.raises(NotImplementedError, match="vmap_method"):
        _call_of(np.ones((2, 3), np.float32), 1.0, None)
    with pytest.raises(ValueError, match="vmap_method must be on of the allowed methods"):
        ffi.ffi_call("foo", Shape((), np.float32), vmap_method="bad")


def test_derivatives_are_refused_and_can_be_given():
    call = lambda x: ffi.ffi_call("foo", x)(x, options={"a": 1})  # noqa: E731
    for f in (
        lambda: xt.jvp(call, (0.5,), (0.5,)),
        lambda: xt.grad(call)(0.5),
        lambda: xt.linear_transpose(call, 0.5)(0.5),
    ):
        with pytest.raises(ValueError, match="The FFI call to `foo` cannot be differentiated"):
            f()

    # d logdet(x) = trace(inv(x) dx)
    @xt.custom_jvp
    def log_determinant(x):
        return 2 * xt.numpy.log(xt.numpy.diagonal(_cholesky(x)[0])).sum()

    log_determinant.defjvp(lambda p, t: (log_determinant(*p), xt.numpy.trace(xt.numpy.linalg.inv(p[0]) @ t[0])))
    x = _positive()
    np.testing.assert_allclose(log_determinant(x), np.linalg.slogdet(x)[1], rtol=1e-5)
    np.testing.assert_allclose(xt.jit(xt.grad(log_determinant))(x), np.linalg.inv(x).T, rtol=1e-4, atol=1e-6)


# -- functions of this process ---------------------------------------------------------------------------------------

_plain_function = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.POINTER(ctypes.c_float)))
_calls: list[float] = []


@_plain_function
def _twice(out, operands):
    _calls.append(operands[0][0])
    for i in range(3):
        out[i] = 2 * operands[0][i]


@_plain_function
def _note(out, operands):
    _calls.append(operands[0][0])


ffi.register_ffi_target("tests_twice", ffi.pycapsule(_twice), api_version=0)
ffi.register_ffi_target("tests_note", ffi.pycapsule(_note), api_version=0)


def test_a_function_of_the_older_convention():
    x = np.array([1.0, 2.0, 3.0], np.float32)
    f = ffi.ffi_call("tests_twice", Shape((3,), np.float32), custom_call_api_version=1, legacy_backend_config="")
    np.testing.assert_array_equal(f(x), [2, 4, 6])
    np.testing.assert_array_equal(xt.jit(lambda x: f(f(x)) + 1)(x), [5, 9, 13])


def test_effects():
    call = ffi.ffi_call("tests_note", (), has_side_effect=True, custom_call_api_version=1)

    @xt.jit
    def f(x):
        assert call(x) == ()
        ffi.ffi_call("tests_note", [], custom_call_api_version=1)(-x)  # nobody needs it
        return x + 1

    _calls.clear()
    assert f(np.float32(3)) == 4
    xt.effects_barrier()
    assert _calls == [3.0]
    assert [str(e) for e in xt.make_jaxpr(f)(1.0).effects] == ["FFI"]
    assert "has_side_effect = true" in f.lower(1.0).as_text()
    assert xt.grad(xt.checkpoint(lambda x: (call(xt.lax.stop_gradient(x)), x * x)[1]))(3.0) == 6.0


# -- what the compiler is told ---------------------------------------------------------------------------------------


def _line(f, *args):
    return next(line for line in xt.jit(f).lower(*args).as_text().splitlines() if "stablehlo.custom_call" in line)


@pytest.mark.parametrize(
    ("value", "text"),
    [  # as JAX writes them
        (1, "1 : i64"),
        (-1, "-1 : i64"),
        (1.5, "1.500000e+00 : f64"),
        (True, "true"),
        ("a b", '"a b"'),
        (np.bool_(False), "false"),
        (np.uint8(200), "200 : ui8"),
        (np.int32(1), "1 : i32"),
        (np.float32(2), "2.000000e+00 : f32"),
        (xt.dtypes.bfloat16(1), "1.000000e+00 : bf16"),
        (np.dtype("int8"), "i8"),
        ((1, "x"), '[1, "x"]'),
        (np.arange(3), "dense<[0, 1, 2]> : tensor<3xi64>"),
        (np.ones((2, 2), np.uint8), "dense<1> : tensor<2x2xui8>"),
        (np.array(1, xt.numpy.int4), "dense<1> : tensor<i4>"),
        (np.array(1, xt.dtypes.bfloat16), "dense<1.000000e+00> : tensor<bf16>"),
        (np.zeros((), xt.dtypes.float0), "dense<false> : tensor<i1>"),
        ({"y": "z", "x": np.int32(1)}, '{x = 1 : i32, y = "z"}'),
    ],
)
def test_attributes(value, text):
    assert f"backend_config = {{a = {text}}}" in _line(lambda x: ffi.ffi_call("foo", x)(x, a=value), 0.5)


@pytest.mark.parametrize("value", [[1, 2], None, 1j, np.array(["a"]), {"b": [1]}, (1, None), object()])
def test_what_is_no_attribute(value):
    with pytest.raises(TypeError):
        xt.jit(lambda x: ffi.ffi_call("foo", x)(x, a=value)).lower(0.5)


def test_attributes_are_compared_with_their_types():
    params = []
    for value in (1, 1.0, True, np.int32(1), (1,), (1.0,), {"b": 1}, {"b": True}, np.ones(1), np.ones(1, np.float32)):
        jaxpr = xt.make_jaxpr(lambda x: ffi.ffi_call("foo", x)(x, a=value))(0.5)
        params.append(jaxpr.eqns[0].params["attributes"])
    assert all((a == b) == (i == j) == (not a != b) for i, a in enumerate(params) for j, b in enumerate(params))
    again = xt.make_jaxpr(lambda x: ffi.ffi_call("foo", x)(x, a=np.ones(1)))(0.5).eqns[0].params["attributes"]
    assert again == params[8] and hash(again) == hash(params[8])


def test_layouts_and_types():
    x = np.ones((2, 3), np.float32)
    line = _line(lambda x: ffi.ffi_call("foo", x, input_layouts=[(0, 1)], output_layouts=(1, 0))(x), x)
    assert "operand_layouts = [dense<[1, 0]>" in line and "result_layouts = [dense<[0, 1]>" in line
    line = _line(lambda: ffi.ffi_call("foo", Shape((), np.int64))())
    assert "-> tensor<i64>" in line  # x64 mode is off
    line = _line(lambda k: (ffi.ffi_call("foo", (), has_side_effect=True)(k), 1)[1], xt.random.key(0))
    assert "(tensor<2xui32>) -> ()" in line
    text = _line(lambda x: ffi.ffi_call("foo", x, custom_call_api_version=2, legacy_backend_config="12345")(x), x)
    assert "api_version = 2 : i32" in text and 'backend_config = "12345"' in text
    assert type(xt.eval_shape(lambda: ffi.ffi_call("foo", [x, x])())) is list
    assert type(xt.eval_shape(lambda: ffi.ffi_call("foo", (x, x))())) is tuple


def test_lowering_rule_of_a_primitive():
    lapack.ensure()
    factor_p = xt.extend.core.Primitive("factor")
    factor_p.def_abstract_eval(lambda x, *, uplo: x)
    square = (0, 1)  # minor to major

    def rule(ctx, x, **params):
        info = ctx.avals_out[0].update(shape=(), dtype=np.dtype(np.int32))
        both = ctx.replace(avals_out=[*ctx.avals_out, info])
        write = ffi.ffi_lowering("lapack_spotrf_ffi", operand_layouts=[square], result_layouts=[square, None])
        return write(both, x, **params)[:1]

    xt.interpreters.mlir.register_lowering(factor_p, rule)
    x = _positive()
    np.testing.assert_allclose(
        np.tril(xt.jit(lambda x: factor_p.bind(x, uplo=np.uint8(ord("L"))))(x)), np.linalg.cholesky(x), rtol=1e-5
    )
    for version, error in ((4, "must be a dictionary"), (2, "requires a custom call API version of at least 4")):
        rule = ffi.ffi_lowering("foo", backend_config="text", api_version=version)
        xt.interpreters.mlir.register_lowering(factor_p, rule)
        with pytest.raises(ValueError, match=error):
            xt.jit(lambda x: factor_p.bind(x, uplo=1)).lower(x)
    xt.interpreters.mlir.register_lowering(factor_p, ffi.build_ffi_lowering_function("foo", has_side_effect=True))
    assert "has_side_effect = true" in _line(lambda x: factor_p.bind(x, uplo=1), x)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"input_layouts": []}, r"The number of input arguments \(1\) must equal the number of input layouts \(0\)"),
        ({"input_layouts": [(0,)]}, "each axis of f32.2,3. once"),
        ({"input_layouts": [(0, 2)]}, "each axis of f32.2,3. once"),
        ({"output_layouts": [(0, 1), (1, 0)]}, "each axis of f32.2,3. once"),
        ({"input_output_aliases": {1: 0}}, "with input index 1 outside the range"),
        ({"input_output_aliases": {0: 1}}, "with output index 1 outside the range"),
        ({"input_output_aliases": {0: 0}, "input_layouts": [(1, 0)]}, "with a different layout"),
        ({"legacy_backend_config": "x"}, "requires custom_call_api_version < 4"),
    ],
)
def test_options_that_do_not_fit(options, error):
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match=error):
        ffi.ffi_call("foo", x, **options)(x)


def test_results_that_do_not_fit():
    x = np.ones((2, 3), np.float32)
    for wrong in (Shape((2, 3), np.int32), Shape((7,), np.float32)):
        with pytest.raises(ValueError, match="with abstract value"):
            ffi.ffi_call("foo", wrong, input_output_aliases={0: 0})(x)
    with pytest.raises(ValueError, match="All elements of result_shape_dtypes.*position 0"):
        ffi.ffi_call("foo", None)
    with pytest.raises(ValueError, match="All elements of result_shape_dtypes.*position 1"):
        ffi.ffi_call("foo", (x, ()))
    with pytest.raises(ValueError, match="at least 4"):
        xt.jit(lambda x: ffi.ffi_call("foo", x, custom_call_api_version=2)(x, a=1)).lower(x)
    with pytest.raises(TypeError, match="not a valid array type"):
        ffi.ffi_call("foo", x)("text")
    with pytest.raises(xt.errors.JaxRuntimeError, match="foo"):
        ffi.ffi_call("foo", x)(x)


# -- registering -----------------------------------------------------------------------------------------------------


def test_headers():
    folder = os.path.join(ffi.include_dir(), "xla", "ffi", "api")
    assert {"api.h", "c_api.h", "ffi.h"} <= set(os.listdir(folder))


def test_types_get_an_identity():
    identity = ctypes.c_int64(0)
    ffi.register_ffi_type("tests_type", {"type_id": ffi.pycapsule(ctypes.addressof(identity))})
    assert identity.value > 0


def test_what_can_not_be_registered():
    for name, fn, version in (("a", 3, 1), ("a", {"execute": 3}, 1), ("a", ffi.pycapsule(_note), 7)):
        with pytest.raises(xt.errors.JaxRuntimeError):
            ffi.register_ffi_target(name, fn, api_version=version)
    with pytest.raises(xt.errors.JaxRuntimeError):
        ffi.register_ffi_type("tests_no_type", {"type_id": 3})
    with pytest.raises(ValueError, match="register_ffi_type"):
        ffi.register_ffi_type_id("tests_no_type", None)
