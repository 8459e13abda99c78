"""Cases of with_sharding_constraint on eight devices; run by test_multi_device.py."""

import re

import numpy as np
import pytest

import xtrace as xt
from xtrace import lax
from xtrace import numpy as jnp

MESH = xt.sharding.Mesh(np.array(xt.devices()).reshape(4, 2), ("x", "y"))
P = xt.P
SPLIT = xt.NamedSharding(MESH, P("x", "y"))
VALUE = np.arange(32, dtype=np.float32).reshape(8, 4)


def _held(x, sharding=SPLIT):
    return lax.with_sharding_constraint(x * 2, sharding)


def _constraints(text):
    return re.findall(r"sdy.sharding_constraint %\S+ <@mesh, (\[.*?\])>", text)


def test_in_a_program():
    f = xt.jit(_held)
    assert _constraints(f.lower(VALUE).as_text()) == ['[{"x"}, {"y"}]']
    out = f(VALUE)
    np.testing.assert_array_equal(out, VALUE * 2)
    assert out.sharding == SPLIT
    assert f(VALUE).sharding == SPLIT  # the C++ path


def test_outside_of_programs():
    assert _held(VALUE).sharding == SPLIT
    tree = lax.with_sharding_constraint({"a": VALUE, "b": (VALUE, 2 * VALUE)}, {"a": SPLIT, "b": SPLIT})
    assert {x.sharding for x in xt.tree.leaves(tree)} == {SPLIT}


def test_specs_take_the_mesh_in_effect():
    with xt.set_mesh(MESH):
        out = xt.jit(lambda x: lax.with_sharding_constraint(x, P("y")))(VALUE)
    assert out.sharding == xt.NamedSharding(MESH, P("y"))
    with pytest.raises(RuntimeError, match="no mesh is set"):
        lax.with_sharding_constraint(VALUE, P("y"))


def test_derivatives_are_held_too():
    text = xt.jit(xt.grad(lambda x: jnp.sum(jnp.sin(_held(x))))).lower(VALUE).as_text()
    assert len(_constraints(text)) == 2
    np.testing.assert_allclose(
        xt.jit(xt.grad(lambda x: jnp.sum(jnp.sin(_held(x)))))(VALUE), 2 * np.cos(2 * VALUE), rtol=1e-5
    )


def test_mapped_dimensions():
    stack = np.stack([VALUE] * 4)
    free = xt.jit(xt.vmap(lambda x: _held(x, xt.NamedSharding(MESH, P("y"))), in_axes=1, out_axes=1))
    moved = np.moveaxis(stack, 0, 1)
    assert _constraints(free.lower(moved).as_text()) == ['[{"y"}, {?}, {}]']
    named = xt.jit(xt.vmap(lambda x: _held(x, xt.NamedSharding(MESH, P("y"))), spmd_axis_name="x"))
    assert _constraints(named.lower(stack).as_text()) == ['[{"x"}, {"y"}, {}]']
    np.testing.assert_array_equal(named(stack), 2 * stack)


def test_inside_control_flow():
    def body(c, _):
        return _held(c), jnp.sum(c)

    out, sums = xt.jit(lambda x: lax.scan(body, x, None, length=3))(VALUE)
    np.testing.assert_array_equal(out, VALUE * 8)
    np.testing.assert_allclose(sums, [VALUE.sum() * 2**i for i in range(3)])
    assert out.sharding.device_set == set(xt.devices())


def test_unconstrained_dimensions_and_several_meshes():
    other = xt.sharding.Mesh(np.array(xt.devices()).reshape(8), ("z",))

    def f(x):
        x = lax.with_sharding_constraint(x, xt.NamedSharding(MESH, P(P.UNCONSTRAINED, "y")))
        return lax.with_sharding_constraint(x, xt.NamedSharding(other, P("z")))

    text = xt.jit(f).lower(VALUE).as_text()
    assert "@mesh, [{?}, {" in text and "@mesh1, [{" in text
    np.testing.assert_array_equal(xt.jit(f)(VALUE), VALUE)


def test_arguments_of_the_same_devices():
    x = xt.device_put(VALUE, xt.NamedSharding(MESH, P("y")))
    assert xt.jit(_held)(x).sharding == SPLIT
    alone = xt.device_put(VALUE, xt.devices()[1])
    with pytest.raises(ValueError, match="arguments are committed to"):
        xt.jit(_held)(alone)


def test_errors():
    with pytest.raises(ValueError, match=r"x\['a'\] has type f32\[8\], of 1 dimensions, .* at least 2"):
        lax.with_sharding_constraint({"a": VALUE[:, 0]}, SPLIT)
    with pytest.raises(ValueError, match="given None"):
        lax.with_sharding_constraint(VALUE, None)
    with pytest.raises(TypeError, match="takes NamedShardings"):
        xt.jit(lambda x: lax.with_sharding_constraint(x, 3))(VALUE)
    with pytest.raises(ValueError, match="shardings"):
        lax.with_sharding_constraint((VALUE, VALUE), [SPLIT])


@pytest.mark.parametrize("name", ["bernoulli", "loggamma", "normal", "poisson"])
def test_programs_that_take_keys(name):
    """A key has no dimensions where its words have one."""
    given = () if name == "normal" else (0.5,)
    sample = lambda key: getattr(xt.random, name)(key, *given, shape=(8,), out_sharding=xt.NamedSharding(MESH, P("x")))
    key = xt.random.key(0)
    inside, outside = xt.jit(sample)(key), sample(key)
    assert inside.sharding == outside.sharding == xt.NamedSharding(MESH, P("x"))
    np.testing.assert_allclose(inside, outside, rtol=1e-5)


def test_keys_are_held():
    keys = xt.random.split(xt.random.key(0), 8)
    held = lambda k: lax.with_sharding_constraint(k, xt.NamedSharding(MESH, P("x")))
    out = xt.jit(held)(keys)
    assert out.sharding == held(keys).sharding == xt.NamedSharding(MESH, P("x"))
    np.testing.assert_array_equal(xt.random.key_data(out), xt.random.key_data(keys))


def _rows(x):
    return jnp.arange(8.0) + x[0, :1]


#: Function with an `out_sharding`, of VALUE and a sharding.
RESULTS = {
    "matmul": lambda x, s: jnp.matmul(x, x.T, out_sharding=s),
    "tensordot": lambda x, s: jnp.tensordot(x, x.T, 1, out_sharding=s),
    "einsum": lambda x, s: jnp.einsum("ij,kj->ik", x, x, out_sharding=s),
    "reshape": lambda x, s: jnp.reshape(x, (4, 8), out_sharding=s),
    "reshape by columns": lambda x, s: jnp.reshape(x, (4, 8), order="F", out_sharding=s),
    "reshape to its shape": lambda x, s: jnp.reshape(x, (8, 4), out_sharding=s),
    "ravel": lambda x, s: jnp.ravel(x, out_sharding=s),
    "broadcast_to": lambda x, s: jnp.broadcast_to(_rows(x), (4, 8), out_sharding=s),
    "repeat": lambda x, s: jnp.repeat(x, 2, axis=0, total_repeat_length=16, out_sharding=s),
    "histogram": lambda x, s: jnp.histogram(x, 4, out_sharding=s)[0],
    "bincount": lambda x, s: jnp.bincount(x.astype(int)[0], length=8, out_sharding=s),
    "percentile": lambda x, s: jnp.percentile(x, _rows(x), out_sharding=s),
    "get": lambda x, s: x.at[np.arange(4)].get(out_sharding=s),
    "zeros_like": lambda x, s: jnp.zeros_like(x, out_sharding=s),
    "lax.reshape": lambda x, s: lax.reshape(x, (4, 8), out_sharding=s),
    "lax.broadcast": lambda x, s: lax.broadcast(x, (4,), out_sharding=s),
    "lax.broadcasted_iota": lambda x, s: lax.broadcasted_iota("int32", (8, 3), 0, out_sharding=s),
    "lax.empty": lambda x, s: lax.empty((8, 3), "float32", out_sharding=s),
    "lax.dot": lambda x, s: lax.dot(x, x.T, out_sharding=s),
    "lax.ragged_dot": lambda x, s: lax.ragged_dot(x, jnp.ones((2, 4, 2)), np.array([4, 4]), out_sharding=s),
    "lax.conv_general_dilated": lambda x, s: lax.conv_general_dilated(
        x[:, None], jnp.ones((1, 1, 2), x.dtype), (1,), "SAME", out_sharding=s
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_shardings_of_results(name):
    call, x = RESULTS[name], jnp.asarray(VALUE)
    plain, split = np.asarray(call(x, None)), xt.NamedSharding(MESH, P("x"))
    found = call(x, split)
    assert found.sharding == split
    np.testing.assert_allclose(found, plain, rtol=1e-6)
    text = xt.jit(lambda x: call(x, split)).lower(xt.ShapeDtypeStruct((8, 4), x.dtype, sharding=SPLIT)).as_text()
    assert len(_constraints(text)) == 1
    with xt.set_mesh(MESH):
        assert call(x, P("x")).sharding == split
    with pytest.raises(ValueError, match="no mesh is set"):
        call(x, P("x"))
    with pytest.raises(TypeError, match="`out_sharding` argument of .* is a NamedSharding or PartitionSpec"):
        call(x, 3)
    with pytest.raises(ValueError, match="its out_sharding is for at least 5"):
        call(x, xt.NamedSharding(MESH, P(None, None, None, None, "x")))
