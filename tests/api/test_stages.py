"""The stages of jit: trace, lower, compile, and what they tell."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.api.stages import ArgInfo

X = np.arange(3, dtype=np.float32)


def f(x, scale=2.0):
    return {"y": xnp.sin(x) * scale}


def test_traced():
    traced = xt.jit(f).trace(X, scale=np.float32(3))
    assert str(traced.jaxpr) == "{ lambda ; a:f32[3] b:f32[]. let c:f32[3] = sin a; d:f32[3] = mul c b in (d,) }"
    assert traced.out_info == {"y": xt.ShapeDtypeStruct((3,), np.float32)}
    assert traced.fun_name == "f" and traced.donate_argnums == ()
    assert traced.args_info[0][0] == ArgInfo(xt.typeof(X), False)
    assert str(traced.out_tree) == "PyTreeDef({'y': *})"


def test_lowered_text_and_locations():
    lowered = xt.jit(f).lower(X)
    text = lowered.as_text()
    assert text.startswith("module @jit_f") and "stablehlo.sine" in text and "jax.result_info = \"result['y']\"" in text
    located = lowered.as_text(debug_info=True)
    assert "test_stages.py" in located and 'loc("sin"' in located
    assert "test_stages.py" not in text  # nothing of the machine outside locations
    assert "HloModule" in lowered.as_text(dialect="hlo")
    assert lowered.cost_analysis()["flops"] > 0
    with pytest.raises(ValueError, match="'stablehlo' or 'hlo'"):
        lowered.as_text("mlir")


def test_lowering_is_the_same_every_time():
    assert xt.jit(lambda x: f(x)).lower(X).as_text() == xt.jit(lambda x: f(x)).lower(X).as_text()


def test_compiled():
    compiled = xt.jit(f).lower(X).compile()
    np.testing.assert_allclose(compiled(X)["y"], 2 * np.sin(X), rtol=1e-6)
    assert "HloModule" in compiled.as_text()
    assert compiled.cost_analysis()["flops"] > 0
    assert compiled.memory_analysis().argument_size_in_bytes == 12
    assert compiled.in_avals[0][0] is xt.typeof(X)
    assert compiled.input_shardings[0][0].device_set == compiled.output_shardings["y"].device_set == {xt.devices()[0]}


def test_compiled_refuses_other_types():
    compiled = xt.jit(f).lower(X).compile()
    with pytest.raises(TypeError) as caught:
        compiled(np.ones(4, np.float32))
    assert str(caught.value) == (
        "Argument types differ from the types for which f was compiled: x was compiled as f32[3], called with f32[4]. "
        "Call the jitted function itself to compile for other types."
    )
    with pytest.raises(TypeError, match="does not match the input pytree"):
        compiled(X, X)
    with pytest.raises(TypeError, match="Transform the jitted function itself"):
        xt.grad(lambda x: compiled(x)["y"][0])(X)


def test_compiled_with_static_arguments_takes_the_others():
    g = xt.jit(lambda x, n: x * n, static_argnums=1)
    compiled = g.lower(X, 3).compile()
    np.testing.assert_allclose(compiled(X), 3 * X)


def test_structs_stand_for_arrays():
    struct = xt.ShapeDtypeStruct((3,), np.float32)
    assert xt.jit(f).lower(struct).as_text() == xt.jit(f).lower(X).as_text()
    assert xt.eval_shape(f, struct) == {"y": struct}
    assert xt.jit(f).eval_shape(struct) == {"y": struct}


def test_compiler_options():
    good = xt.jit(f).lower(X).compile({"xla_cpu_enable_fast_math": True})
    np.testing.assert_allclose(good(X)["y"], 2 * np.sin(X), rtol=1e-5)
    with pytest.raises(Exception, match="xla_no_such_option"):
        xt.jit(f, compiler_options={"xla_no_such_option": 1})(X)


def test_jitted_functions_are_wrapped():
    from xtrace.stages import Wrapped

    assert isinstance(xt.jit(f), Wrapped) and not isinstance(f, Wrapped)


def test_lowering_for_another_platform():
    text = xt.jit(f).trace(X).lower(lowering_platforms=("tpu",)).as_text()
    assert "stablehlo.sine" in text


def test_the_type_of_a_value():
    like = xt.ShapeDtypeStruct.like
    assert like(np.ones((2, 3), np.float32)) == xt.ShapeDtypeStruct((2, 3), "float32")
    assert like(1.0) == xt.ShapeDtypeStruct((), "float32", weak_type=True)
    struct = xt.ShapeDtypeStruct((2,), "int32")
    assert like(struct) is struct
    assert like(xt.random.key(0)).dtype == xt.random.key(0).dtype
    seen = []
    xt.jit(lambda x: seen.append(like(x)))(2)
    assert seen == [xt.ShapeDtypeStruct((), "int32", weak_type=True)]
    placed = xt.device_put(np.ones(3, np.float32), xt.devices()[0])
    assert like(placed).sharding == placed.sharding and like(xt.numpy.ones(3)).sharding is None
    for other in ([1], xt.new_ref(1.0)):
        with pytest.raises(TypeError, match="like takes an array or a number, got"):
            like(other)
