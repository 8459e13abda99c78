"""The whole way from a Python function to numbers, once, in seconds."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import xtrace as xt


def f(x, y):
    return xt.lax.sin(x) * y + 1.0


X = np.array([0.5, 1.0, 2.0], np.float32)


def test_import_in_a_fresh_process():
    command = "import xtrace, sys; assert 'jax' not in sys.modules; print(xtrace.__version__)"
    result = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == xt.__version__


def test_jit():
    np.testing.assert_allclose(xt.jit(f)(X, 2.0), np.sin(X) * 2 + 1, rtol=1e-6)


def test_grad():
    np.testing.assert_allclose(xt.grad(f)(0.5, 2.0), np.cos(0.5) * 2, rtol=1e-6)
    np.testing.assert_allclose(xt.jit(xt.grad(xt.grad(f)))(0.5, 2.0), -np.sin(0.5) * 2, rtol=1e-6)


def test_vmap():
    got = xt.vmap(xt.value_and_grad(f), in_axes=(0, None))(X, 3.0)
    np.testing.assert_allclose(got[0], np.sin(X) * 3 + 1, rtol=1e-6)
    np.testing.assert_allclose(got[1], np.cos(X) * 3, rtol=1e-6)


def test_jaxpr():
    assert str(xt.make_jaxpr(f)(X, X)) == (
        "{ lambda ; a:f32[3] b:f32[3]. let\n"
        "    c:f32[3] = sin a\n"
        "    d:f32[3] = mul c b\n"
        "    e:f32[3] = add d 1.0:f32[]\n"
        "  in (e,) }"
    )


def test_error_says_where_and_what():
    def branch(x):
        return x if x > 0 else -x

    with pytest.raises(xt.errors.TracerBoolConversionError) as raised:
        xt.jit(branch)(1.0)
    message = str(raised.value)
    assert "traced array" in message and "test_smoke.py" in message and "argument x" in message


def test_stablehlo():
    text = xt.jit(f).lower(X, X).as_text()
    assert "stablehlo.sine %arg0 : tensor<3xf32>" in text
    assert "func.func public @main" in text
