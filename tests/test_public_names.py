"""The names that most libraries written for JAX use are all there."""

from __future__ import annotations

import importlib
import pkgutil
import types

import pytest

import xtrace as xt

#: Used by eight or more of eighteen well-known libraries.
NAMES = """
Array ShapeDtypeStruct core core.Tracer custom_jvp dtypes.prng_key eval_shape grad jit jvp lax lax.cond
lax.scan lax.select lax.stop_gradient lax.switch lax.while_loop nn.relu numpy numpy.abs numpy.all numpy.any
numpy.arange numpy.array numpy.asarray numpy.bool_ numpy.broadcast_to numpy.clip numpy.concatenate numpy.cos
numpy.diag numpy.dot numpy.dtype numpy.einsum numpy.exp numpy.expand_dims numpy.eye numpy.finfo numpy.float32
numpy.float64 numpy.floating numpy.full numpy.inf numpy.int32 numpy.integer numpy.isfinite numpy.isinf
numpy.issubdtype numpy.logical_and numpy.matmul numpy.max numpy.maximum numpy.mean numpy.minimum
numpy.moveaxis numpy.nan numpy.ndarray numpy.newaxis numpy.ones numpy.ones_like numpy.pad numpy.repeat
numpy.reshape numpy.result_type numpy.shape numpy.sign numpy.size numpy.split numpy.sqrt numpy.square
numpy.squeeze numpy.stack numpy.sum numpy.take numpy.transpose numpy.where numpy.zeros numpy.zeros_like
random random.PRNGKey random.bernoulli random.key random.normal random.split random.uniform tree.leaves
tree.map tree_util tree_util.register_pytree_node_class tree_util.tree_flatten tree_util.tree_leaves
tree_util.tree_map tree_util.tree_structure tree_util.tree_unflatten value_and_grad vjp vmap
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_name_exists(name):
    found = xt
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(f"{found.__name__}.{part}")
    assert found is not None or name == "numpy.newaxis"


def test_names_are_listed():
    assert {n.split(".")[0] for n in NAMES} <= set(dir(xt))


@pytest.mark.parametrize("package", ["xtrace", "xtrace.lax", "xtrace.numpy", "xtrace.nn", "xtrace.random"])
def test_no_module_hides_a_function(package):
    """Importing a submodule sets it on its package: a function of that name would be gone."""
    found = importlib.import_module(package)
    modules = {m.name for m in pkgutil.iter_modules(found.__path__)}
    names = set(dir(found)) & modules
    functions = {name for name in names if not isinstance(getattr(found, name), types.ModuleType)}
    assert not functions
