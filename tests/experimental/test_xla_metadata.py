"""Attributes for the compiler: where they show in programs, and that they change no value."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax
from xtrace import numpy as xnp
from xtrace.experimental.compute_on import compute_on
from xtrace.experimental.xla_metadata import (
    fuse_limit,
    must_fuse_call,
    set_xla_metadata,
    xla_metadata_call,
    xla_metadata_call2,
)

Space = xt.memory.Space


def program(f, *args):
    return xt.jit(f).lower(*(args or (1.0,))).as_text()


def test_operations_in_a_block():
    inner = xt.jit(xnp.cos)
    inner(1.0)  # traced without attributes before: it is traced again

    def f(x):
        with set_xla_metadata(k=1, flag=True), xt.named_scope("named"):
            y = lax.fori_loop(0, 3, lambda i, c: c * 2, xnp.sin(x) + inner(x))
            with set_xla_metadata(k=2):
                y = xnp.tan(y)
        return -y

    text = program(f)
    outer = '{mhlo.frontend_attributes = {flag = "true", k = "1"}}'
    expected = dict.fromkeys(("sine", "cosine", "multiply", "add"), outer) | {"tan": outer.replace('"1"', '"2"')}
    for name, attributes in expected.items():
        assert any(f"stablehlo.{name} " in line and attributes in line for line in text.splitlines()), name
    assert not any("stablehlo.negate" in line and "frontend_attributes" in line for line in text.splitlines())
    assert "mhlo.frontend_attributes" not in program(lambda x: inner(x) + 1)
    np.testing.assert_allclose(xt.jit(f)(0.1), -np.tan(8 * (np.sin(0.1) + np.cos(0.1))), rtol=1e-5)


def test_decorated_functions_and_values():
    assert 'stablehlo.add %arg0, %cst {mhlo.frontend_attributes = {a = "1"}}' in (
        set_xla_metadata(a=1)(xt.jit(lambda x: x + 1)).lower(1.0).as_text()
    )
    assert '{mhlo.frontend_attributes = {FUSE_LIMIT = "true"}}' in program(fuse_limit()(lambda x: x + 1))
    tagged = lambda x: set_xla_metadata(xnp.sin(x), w=0.5)  # noqa: E731
    assert 'stablehlo.sine %arg0 {mhlo.frontend_attributes = {w = "0.5"}}' in program(tagged)
    np.testing.assert_allclose(xt.vmap(xt.grad(tagged))(xnp.arange(3.0)), np.cos(np.arange(3.0)), rtol=1e-6)
    assert set_xla_metadata({"x": 2.0}, w=1) == {"x": 2.0}


def test_calls_and_their_derivatives():
    block = xla_metadata_call(xnp.sin, tag="b", n=1)
    call = 'call @xla_metadata_call(%arg0) {mhlo.frontend_attributes = {n = "1", tag = "b"}}'
    assert call in program(block)
    assert program(xt.grad(block)).count('{n = "1", tag = "b"}') == 2
    dropped = xla_metadata_call2({"tag": "b"}, ad_metadata="drop")(xnp.sin)
    assert program(xt.grad(dropped)).count("frontend_attributes") == 1
    other = xla_metadata_call2(xnp.sin, {"tag": "b"}, ad_metadata={"tag": "c"})
    assert 'tag = "c"' in program(xt.grad(other)) and 'tag = "c"' not in program(other)
    assert 'MUST_FUSE = "3"' in program(must_fuse_call("3")(xnp.sin))
    x = xnp.arange(3.0)
    for f in (block, dropped, other):
        np.testing.assert_allclose(f(x), np.sin(x), rtol=1e-6)
        np.testing.assert_allclose(xt.vmap(xt.grad(f))(x), np.cos(x), rtol=1e-6)
        np.testing.assert_allclose(xt.jvp(lambda x: f(x) * x[0], (x,), (xnp.ones(3),))[1], np.sin(x), rtol=1e-6)


def test_computations_elsewhere():
    y = 3.0

    @xt.grad
    def slope(x):
        @compute_on(compute_type="device_host", out_memory_spaces=(Space.Host, Space.Device))
        def on_host(a, b):
            return a * y * x, b

        return on_host(x, b=2.0)[0]

    assert slope(2.0) == 12
    assert program(slope).count('_xla_compute_type = "host"') == 2
    kept = compute_on(abs, compute_type="device_host", out_memory_spaces=Space.Host)
    assert '_xla_buffer_placement = "pinned_host"' in program(kept) and kept(-2.0) == 2
    stream = compute_on(abs, compute_type="gpu_stream:1", out_memory_spaces=Space.Device)
    assert '{_xla_stream_annotation = "1", inlineable = "false"}' in program(stream)
    sparse = compute_on(abs, compute_type="tpu_sparsecore", out_memory_spaces=Space.Device, compiler_options={"a": 1})
    assert '_xla_compute_type = "sparseoffload", backend_config = "{\\22a\\22: 1}"' in program(sparse)
    np.testing.assert_array_equal(xt.vmap(stream)(xnp.array([-1.0, 2.0])), [1, 2])


def test_memory_spaces():
    x = xnp.arange(3.0)
    device = xt.devices()[0]
    assert xt.device_put(x, Space.Device).sharding.memory_kind == device.default_memory().kind
    assert "host" in xt.device_put(x, Space.Host).sharding.memory_kind
    np.testing.assert_array_equal(xt.device_put([1, 2], Space.Host), [1, 2])
    assert repr(Space.Device) == "MemorySpace.Device" and [s.name for s in Space] == ["Device", "Host", "Any"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: set_xla_metadata(a=[1]), TypeError, "must be str, bool, int, or float.*'a'"),
        (lambda: xla_metadata_call(abs, a=None), TypeError, "must be str, bool, int, or float"),
        (lambda: xla_metadata_call2(3), TypeError, "expected a callable"),
        (lambda: xla_metadata_call2(abs, 3), TypeError, "metadata must be a dict"),
        (lambda: xla_metadata_call2(abs, {}, ad_metadata="x"), TypeError, "ad_metadata must be"),
        (lambda: compute_on(abs, compute_type=1, out_memory_spaces=None), TypeError, "must be a string"),
        (lambda: compute_on(abs, compute_type="moon", out_memory_spaces=None), ValueError, "Invalid compute type moon"),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
