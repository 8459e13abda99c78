"""Names that programs import from JAX's private modules."""

import contextlib
import subprocess
import sys

import numpy as np
import pytest

import xtrace as xt
from xtrace.compat.private_names import SEARCHED


def test_a_private_module_has_the_public_objects():
    from xtrace.compat._src import core, tree_util
    from xtrace.compat._src.lax import lax as lax_core

    assert core.eval_jaxpr is xt.core.eval_jaxpr
    assert lax_core.add is xt.lax.add
    assert tree_util.tree_map is xt.tree_util.tree_map


def test_every_module_of_the_table_imports():
    import importlib

    for module in SEARCHED:
        assert importlib.import_module(f"xtrace.compat._src.{module}").__name__.endswith(module)


def test_an_unknown_private_name_says_so_when_used():
    from xtrace.compat._src.core import something_private

    with pytest.raises(NotImplementedError, match="jax._src.core.something_private is private to jax"):
        something_private()
    with pytest.raises(NotImplementedError, match="something_private.inner"):
        something_private.inner(3)


def test_clearing_the_cache_of_what_is_not_here_does_nothing():
    from xtrace.compat._src.lax import control_flow

    control_flow.common._dedup.cache_clear()


def test_options_of_jaxs_implementations_are_held():
    from xtrace.compat._src import config

    assert config.custom_vjp3.value is False
    with config.custom_vjp3(True):
        assert config.custom_vjp3.value is xt.config.jax_custom_vjp3 is True
    assert config.custom_vjp3.value is False
    assert config.custom_vjp3(True)(lambda: config.custom_vjp3.value)() is True


def test_programs_reach_them_under_the_alias():
    code = (
        "from xtrace.cli import alias; alias.install()\n"
        "from jax._src import tree_util\n"
        "import jax._src.dtypes, jax\n"
        "assert tree_util.tree_map is jax.tree_util.tree_map\n"
        "assert jax._src.dtypes.result_type is jax.dtypes.result_type\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("state", ["allow", "warn", "error"])
def test_legacy_prng_key(state):
    raw, key = xt.random.PRNGKey(0), xt.random.key(0)
    with xt.legacy_prng_key(state):
        assert xt.random.uniform(key).shape == ()
        if state == "allow":
            xt.random.uniform(raw)
        elif state == "warn":
            with pytest.warns(UserWarning, match="Legacy uint32 key"):
                xt.random.uniform(raw)
        else:
            for call in (xt.random.uniform, xt.jit(xt.random.normal), xt.random.split):
                with pytest.raises(ValueError, match="Legacy uint32 key"):
                    call(raw)


def test_flattened_prefixes():
    from xtrace.compat._src.tree_util import broadcast_flattened_prefix_with_treedef

    full = xt.tree.structure((0, [0, 0], {"a": 0}))
    leaves, prefix = xt.tree.flatten((1, 2, 3))
    assert broadcast_flattened_prefix_with_treedef(leaves, prefix, full) == [1, 2, 2, 3]


@pytest.mark.parametrize("name", ["pargmin", "pargmax"])
def test_arguments_of_extremes_along_a_mapped_axis(name):
    from xtrace.compat._src.lax import parallel

    x = np.array([[3.0, 1.0, 2.0], [3.0, 0.0, 5.0], [1.0, 4.0, 5.0]], np.float32)
    got = xt.vmap(lambda r: getattr(parallel, name)(r, "i"), axis_name="i", out_axes=None)(x)
    np.testing.assert_array_equal(got, getattr(np, name[1:])(x, axis=0))


def test_windows_of_maxima():
    from xtrace.compat._src.lax import windowed_reductions as wr

    x, pads = np.array([1.0, 5.0, 2.0, 4.0], np.float32), ((0, 0),)
    got = wr._select_and_scatter_add(np.array([10.0, 20.0], np.float32), x, xt.lax.ge_p, (2,), (2,), pads)
    np.testing.assert_array_equal(got, [0, 10, 0, 20])
    tangents = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    got = wr._select_and_gather_add(tangents, x, xt.lax.ge_p, (2,), (2,), pads, (1,), (1,))
    np.testing.assert_allclose(got, [0.2, 0.4], rtol=1e-6)


def test_weak_types_are_told():
    from xtrace.compat._src import dtypes

    assert dtypes.is_weakly_typed(1.0) and not dtypes.is_weakly_typed(np.float32(1))
    assert xt.jit(lambda x: x + dtypes.is_weakly_typed(x))(1.0) == 2.0


@pytest.mark.parametrize("dtype", ["int32", "float16", "complex64"])
@pytest.mark.parametrize("weak", [False, True])
def test_scalars_converted_to_a_dtype_are_arrays(dtype, weak):
    from xtrace.compat._src.lax.lax import _convert_element_type

    for value in (0, np.float32(0), True):
        out = _convert_element_type(value, np.dtype(dtype), weak_type=weak)
        assert isinstance(out, xt.Array) and (out.dtype, out.weak_type) == (dtype, weak)


def test_private_names_of_lax_are_found():
    from xtrace.compat._src.lax import lax

    assert lax.asarray is xt.numpy.asarray


def test_a_weak_unsigned_array_keeps_its_kind():
    from xtrace.compat._src.lax.lax import _convert_element_type

    x = _convert_element_type(0, np.dtype("uint16"), weak_type=True)
    for mode in ("standard", "strict"):
        with xt.numpy_dtype_promotion(mode):
            assert xt.numpy.result_type(x) == np.uint32


def test_values_of_a_type_are_placed_as_a_handler_says():
    from xtrace.compat._src import dtypes

    class Money:
        def __init__(self, cents):
            self.cents = cents

    dtypes.register_canonicalize_value_handler(Money, lambda m: np.float32(m.cents / 100))
    assert xt.device_put(Money(250)).tolist() == 2.5


def test_tokens_of_running_programs_are_waited_for():
    from xtrace.compat._src.dispatch import runtime_tokens

    seen = []
    xt.jit(lambda x: xt.debug.callback(lambda v: seen.append(float(v)), x))(2.0)
    runtime_tokens.block_until_ready()
    assert seen == [2.0]

    def fails(v):
        raise RuntimeError("on purpose")

    with contextlib.suppress(xt.errors.JaxRuntimeError):  # the call itself may see it
        xt.jit(lambda x: xt.debug.callback(fails, x))(2.0)
    runtime_tokens.clear()
    runtime_tokens.block_until_ready()
