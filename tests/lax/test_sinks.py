"""dce_sink: what it marks stays in jaxprs, and on request in compiled programs."""

from __future__ import annotations

import re

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax

X = np.arange(3, dtype=np.float32)


def _sinking(prevent_mlir_dce=False):
    def f(x):
        lax.dce_sink({"a": lax.sin(x), "b": (2,)}, prevent_mlir_dce=prevent_mlir_dce)
        return x * 2

    return f


def _sunk(jaxpr) -> int:
    return len(re.findall("dce_sink", str(jaxpr)))


def test_values_are_untouched():
    assert lax.dce_sink({"a": 1.0, "b": X}) is None
    for prevent in (False, True):
        assert _sinking(prevent)(1.5) == 3.0
    f = _sinking()
    assert xt.jit(f)(1.5) == 3.0
    assert xt.grad(f)(1.5) == 2.0 and xt.jit(xt.grad(f))(1.5) == 2.0
    assert xt.grad(xt.checkpoint(f))(1.5) == 2.0
    np.testing.assert_array_equal(xt.vmap(f)(X), 2 * X)
    np.testing.assert_array_equal(xt.jit(xt.vmap(f))(X), 2 * X)
    assert xt.jit(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0])(1.0) == 8.0
    keys = xt.random.split(xt.random.key(0), 3)
    assert xt.jit(lambda k: (lax.dce_sink(k), 1)[1])(keys) == 1


def test_transformations_keep_them():
    f = _sinking()
    assert _sunk(xt.make_jaxpr(f)(1.0)) == 2
    assert _sunk(xt.make_jaxpr(xt.vmap(f))(X)) == 2
    assert _sunk(xt.make_jaxpr(xt.grad(f))(1.0)) == 2
    # The tangent of what is used is used; the 2 has none.
    assert _sunk(xt.make_jaxpr(lambda x: xt.jvp(f, (x,), (x,)))(1.0)) == 3
    assert _sunk(xt.make_jaxpr(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2))(1.0)) == 2


def test_what_the_compiler_is_told():
    text = xt.jit(_sinking()).lower(1.0).as_text()
    assert "stablehlo.sine" in text and "custom_call" not in text
    text = xt.jit(_sinking(True)).lower(1.0).as_text()
    call = next(line for line in text.splitlines() if "@dce_sink" in line)
    assert "has_side_effect = true" in call and call.rstrip().endswith("(tensor<f32>) -> ()")


def test_what_is_no_array():
    with pytest.raises(TypeError, match="not a valid array type"):
        lax.dce_sink({"a": "text"})
