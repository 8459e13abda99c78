"""A primitive defined the way libraries written for JAX do it, in every transformation."""

import functools

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.core import ShapedArray
from xtrace.extend.core import Primitive
from xtrace.interpreters import ad, batching, mlir, xla


def make_scale():
    """y = factor * x, linear."""
    scale_p = Primitive("scale")
    scale_p.def_impl(functools.partial(xla.apply_primitive, scale_p))
    scale_p.def_abstract_eval(lambda x, *, factor: ShapedArray(x.shape, x.dtype))
    mlir.register_lowering(scale_p, mlir.lower_fun(lambda x, *, factor: x * factor, multiple_results=False))
    ad.deflinear2(scale_p, lambda ct, x, *, factor: [scale_p.bind(ct, factor=factor)])
    batching.defvectorized(scale_p)
    return lambda x: scale_p.bind(x, factor=3.0)


def make_product():
    """x * y, with a lowering in MLIR and rules by operand."""
    product_p = Primitive("product")
    product_p.def_abstract_eval(lambda x, y: ShapedArray(x.shape, x.dtype))

    def lower(ctx, x, y):
        from jaxlib.mlir.dialects import stablehlo

        assert [a.shape for a in ctx.avals_in] == [a.shape for a in (*ctx.avals_out, *ctx.avals_out)]
        return [stablehlo.multiply(x, y)]

    mlir.register_lowering(product_p, lower)
    ad.defbilinear(product_p, lambda ct, x, y: product_p.bind(ct, y), lambda ct, x, y: product_p.bind(x, ct))

    def batch(args, dims):
        size = next(x.shape[d] for x, d in zip(args, dims) if d is not batching.not_mapped)
        return product_p.bind(*[batching.bdim_at_front(x, d, size) for x, d in zip(args, dims)]), 0

    batching.primitive_batchers[product_p] = batch
    return product_p.bind


def make_cube():
    cube_p = Primitive("cube")
    cube_p.def_abstract_eval(lambda x: ShapedArray(x.shape, x.dtype))
    mlir.register_lowering(cube_p, mlir.lower_fun(lambda x: x * x * x, multiple_results=False))
    ad.defjvp2(cube_p, lambda t, out, x: 3 * t * x * x)
    batching.defbroadcasting(cube_p)
    return cube_p.bind


@pytest.mark.parametrize("wrap", [lambda f: f, xt.jit], ids=["eager", "jit"])
def test_linear_primitive(wrap):
    scale = wrap(make_scale())
    x = xnp.arange(3.0)
    np.testing.assert_array_equal(scale(x), [0, 3, 6])
    np.testing.assert_array_equal(xt.vmap(scale)(x), [0, 3, 6])
    assert xt.grad(scale)(2.0) == 3.0
    assert xt.jvp(scale, (2.0,), (5.0,)) == (6.0, 15.0)
    assert xt.jit(xt.vmap(xt.grad(scale)))(x).tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("wrap", [lambda f: f, xt.jit], ids=["eager", "jit"])
def test_bilinear_primitive_with_an_mlir_rule(wrap):
    product = wrap(make_product())
    x, y = xnp.array([2.0, 3.0]), xnp.array([5.0, 7.0])
    np.testing.assert_array_equal(product(x, y), [10, 21])
    gx, gy = xt.grad(lambda x, y: product(x, y).sum(), argnums=(0, 1))(x, y)
    np.testing.assert_array_equal(gx, [5, 7])
    np.testing.assert_array_equal(gy, [2, 3])
    np.testing.assert_array_equal(xt.vmap(product, in_axes=(None, 0))(x, xnp.stack([y, x])), [[10, 21], [4, 9]])


def test_rule_by_operand_to_second_order():
    cube = make_cube()
    assert cube(2.0) == 8.0
    assert xt.grad(cube)(2.0) == 12.0
    assert xt.grad(xt.grad(cube))(2.0) == 12.0
    np.testing.assert_array_equal(xt.vmap(xt.grad(cube))(xnp.array([1.0, 2.0])), [3, 12])


def test_tables_show_what_a_primitive_owns():
    from xtrace.lax import mul_p

    assert mul_p in ad.primitive_transposes and mul_p in batching.primitive_batchers
    out, dim = batching.primitive_batchers[mul_p]((xnp.ones((3, 2)), xnp.ones((2, 3))), (0, 1))
    assert out.shape[dim] == 3
    fresh = Primitive("fresh")
    assert fresh not in ad.primitive_jvps
    with pytest.raises(KeyError):
        ad.primitive_jvps[fresh]
    ad.primitive_jvps[fresh] = len
    assert ad.primitive_jvps[fresh] is len and list(ad.primitive_jvps) == [fresh]
    del ad.primitive_jvps[fresh]
    assert fresh not in ad.primitive_jvps


def test_rules_by_platform():
    p = Primitive("by_platform")
    p.def_abstract_eval(lambda x: ShapedArray(x.shape, x.dtype))
    mlir.register_lowering(p, mlir.lower_fun(lambda x: x + 1, multiple_results=False), platform="cpu")
    mlir.register_lowering(p, mlir.lower_fun(lambda x: x + 2, multiple_results=False), platform="cuda")
    assert p.bind(1.0) == 2.0
    text = xt.jit(p.bind).trace(1.0).lower(lowering_platforms=("cuda",)).as_text()
    assert "2.000000e+00" in text
