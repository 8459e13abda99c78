"""Exported functions: portable, versioned, for several platforms, differentiable, and read back as they were."""

from __future__ import annotations

import collections
import os
import subprocess
import sys

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import export

X = np.array([0.1, 0.2, 0.3], np.float32)


def mixed(x, y):
    return {"s": x * 2, "t": (x.sum(), y)}


def cube_sums(x):
    return xnp.cumsum(x**3)


def there_and_back(fun, *args, order=0, **options):
    return export.deserialize(export.export(xt.jit(fun), **options)(*args).serialize(order))


def test_what_an_export_says():
    e = export.export(xt.jit(mixed), platforms=["cpu", "gpu"])(X, np.arange(2, dtype=np.int32))
    assert e.fun_name == "mixed" and e.platforms == ("cpu", "cuda") and e.nr_devices == 1
    assert [a.str_short() for a in e.in_avals] == ["f32[3]", "i32[2]"]
    assert [a.str_short() for a in e.out_avals] == ["f32[3]", "f32[]", "i32[2]"]
    assert e.module_kept_var_idx == (0, 1) and e.calling_convention_version == 10 and e.uses_global_constants
    assert str(e) == "Exported(fun_name=mixed, ...)" and e.has_vjp()
    assert 'jax.global_constant = "_platform_index"' in e.mlir_module()
    assert export.default_export_platform() == "cpu"


def test_called_as_the_function_itself():
    e = there_and_back(mixed, X, np.arange(2, dtype=np.int32))
    out = e.call(X, np.arange(2, dtype=np.int32))
    np.testing.assert_array_equal(out["s"], 2 * X)
    np.testing.assert_allclose(out["t"][0], X.sum(), rtol=1e-6)
    np.testing.assert_array_equal(out["t"][1], [0, 1])


def test_keywords_unused_arguments_and_constants():
    large = np.arange(1000, dtype=np.float32)
    key = xt.random.key(7)

    def f(x, unused, *, scale):
        return (x + large) * scale + xt.random.uniform(key, ())

    e = export.deserialize(export.export(xt.jit(f))(X[0], X, scale=X[1]).serialize())
    assert e.module_kept_var_idx == (0, 2)
    np.testing.assert_allclose(e.call(X[0], X, scale=X[1]), f(X[0], X, scale=X[1]), rtol=1e-6)


@pytest.mark.parametrize("platforms", [["cpu"], ["cpu", "tpu"], ["tpu", "cuda", "cpu"]])
def test_platforms_with_rules_of_their_own(platforms):
    e = there_and_back(cube_sums, X, platforms=platforms)  # cumulative sums are lowered differently on each
    np.testing.assert_allclose(e.call(X), np.cumsum(X**3), rtol=1e-6)
    twice = xt.jit(lambda x: e.call(x) + e.call(2 * x))
    np.testing.assert_allclose(twice(X), 9 * np.cumsum(X**3), rtol=1e-5)


def test_a_platform_it_was_not_exported_for():
    e = there_and_back(cube_sums, X, platforms=["tpu"])
    with pytest.raises(ValueError, match=r"exported for platforms '\('tpu',\)' but it is used on '\('cpu',\)'"):
        e.call(X)
    unchecked = there_and_back(
        lambda x: x + 1, X, platforms=["tpu"], disabled_checks=[export.DisabledSafetyCheck.platform()]
    )
    np.testing.assert_array_equal(unchecked.call(X), X + 1)


def test_derivatives_to_the_order_serialized():
    for order in (0, 1, 2):
        e = there_and_back(cube_sums, X, order=order)
        assert e.has_vjp() == (order > 0)
    grad = lambda f: xt.grad(lambda x: xnp.sum(f(x) ** 2))
    grad_twice = lambda f: xt.grad(lambda x: xnp.sum(grad(f)(x) ** 2))
    np.testing.assert_allclose(grad(e.call)(X), grad(cube_sums)(X), rtol=1e-5)
    np.testing.assert_allclose(grad_twice(e.call)(X), grad_twice(cube_sums)(X), rtol=1e-5)
    once = there_and_back(cube_sums, X, order=1)
    with pytest.raises(ValueError, match="No VJP is available"):
        grad_twice(once.call)(X)
    with pytest.raises(ValueError, match="vjp_order"):
        there_and_back(cube_sums, X).vjp()


def test_derivatives_beside_integers():
    e = there_and_back(mixed, X, np.arange(2, dtype=np.int32), order=1)
    found = xt.grad(lambda x: e.call(x, np.arange(2, dtype=np.int32))["t"][0])(X)
    np.testing.assert_array_equal(found, [1, 1, 1])
    derivative = e.vjp()
    assert [str(a.dtype.name) for a in derivative.in_avals[:4]] == ["float32", "int32", "float32", "float32"]
    assert derivative.in_avals[4].dtype == xt.float0 == derivative.out_avals[1].dtype


@pytest.mark.parametrize(
    "args, message",
    [
        ((X[:2],), r"Shape mismatch for args\[0\].shape\[0\]"),
        ((X.astype(np.int32),), r"Dtype mismatch for args\[0\]: expected float32 and called with int32"),
        ((X[None],), r"Rank mismatch for args\[0\]"),
        ((X, X), "same pytree structure"),
    ],
)
def test_wrong_arguments(args, message):
    e = there_and_back(cube_sums, X)
    with pytest.raises(ValueError, match=message):
        e.call(*args)


def test_what_can_not_be_exported():
    with pytest.raises(ValueError, match="must be the result of `jit`"):
        export.export(cube_sums)
    with pytest.raises(ValueError, match="checksum"):
        data = export.export(xt.jit(cube_sums))(X).serialize()
        data[-1] ^= 1
        export.deserialize(data)
    with pytest.raises(ValueError, match="not a program that xtrace wrote"):
        export.deserialize(b"x" * 100)
    with pytest.raises(NotImplementedError, match="batching rule"):
        xt.vmap(there_and_back(cube_sums, X).call)(np.stack([X, X]))


Point = collections.namedtuple("Point", "x y")
Loose = collections.namedtuple("Loose", "x")


def test_named_tuples_and_own_nodes():
    export.register_namedtuple_serialization(Point, serialized_name="tests.Point")
    out = there_and_back(lambda p: Point(p.y, {"a": [p.x], "none": None}), Point(X, X + 1)).call(Point(X, X + 1))
    np.testing.assert_array_equal(out.y["a"][0], X)
    with pytest.raises(ValueError, match="Duplicate"):
        export.register_namedtuple_serialization(Point, serialized_name="tests.Other")
    with pytest.raises(ValueError, match="unregistered"):
        export.export(xt.jit(lambda p: p))(Loose(X)).serialize()

    class Box:
        def __init__(self, inside, label):
            self.inside, self.label = inside, label

    xt.tree_util.register_pytree_node(Box, lambda b: ((b.inside,), b.label), lambda label, c: Box(*c, label))
    export.register_pytree_node_serialization(
        Box, serialized_name="tests.Box", serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode
    )
    box = there_and_back(lambda b: Box(b.inside + 1, "out"), Box(X, "in")).call(Box(X, "in"))
    assert box.label == "out"
    np.testing.assert_array_equal(box.inside, X + 1)


def test_another_process_runs_it(tmp_path):
    (tmp_path / "f").write_bytes(export.export(xt.jit(cube_sums), platforms=["tpu", "cpu"])(X).serialize(1))
    program = (
        "import numpy as np, xtrace as xt\n"
        "e = xt.export.deserialize(open('f', 'rb').read())\n"
        "print(xt.grad(lambda x: e.call(x)[0])(np.ones(3, np.float32)).tolist())"
    )
    env = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[3.0, 0.0, 0.0]"
