"""platform_dependent: the branch for the target is compiled, and no other; programs for several platforms."""

import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import lax


def f(x):
    return lax.platform_dependent(x, cpu=lambda x: 3 * x, tpu=lambda x: xnp.sin(x), default=lambda x: x - 7)


@pytest.mark.parametrize("transform", [lambda g: g, xt.jit, lambda g: lambda x: g(x)], ids=["eager", "jit", "nested"])
def test_runs_the_branch_of_the_platform(transform):
    assert float(transform(f)(2.0)) == 6.0
    assert float(transform(xt.grad(f))(2.0)) == 3.0
    assert [float(v) for v in transform(xt.vmap(xt.grad(f)))(xnp.ones(2))] == [3.0, 3.0]
    assert [float(v) for v in transform(lambda x: xt.jvp(f, (x,), (x,)))(2.0)] == [6.0, 6.0]


def test_only_the_chosen_branch_is_lowered():
    gradient = xt.jit(xt.grad(lambda x: lax.fori_loop(0, 2, lambda i, c: xt.jit(f)(c), x)))
    for platform, there in (("cpu", False), ("tpu", True), ("cuda", False)):
        text = gradient.trace(1.0).lower(lowering_platforms=(platform,)).as_text()
        assert ("stablehlo.cosine" in text) == there and "stablehlo.case" not in text


def test_several_platforms_in_one_program():
    g = xt.jit(lambda x: xt.jit(f)(x) + lax.fori_loop(0, 2, lambda i, c: f(c), x))
    text = g.trace(1.0).lower(lowering_platforms=("cpu", "tpu")).as_text()
    assert 'tensor<i32> {jax.global_constant = "_platform_index"}' in text and "stablehlo.case" in text
    same = xt.jit(xnp.sin).trace(1.0).lower(lowering_platforms=("cpu", "tpu")).as_text()
    assert "_platform_index" in same and "stablehlo.case" not in same  # asked for though not needed


def test_messages():
    with pytest.raises(NotImplementedError, match="platform_dependent has no branch for cpu"):
        xt.jit(lambda x: lax.platform_dependent(x, tpu=lambda x: x))(1.0)
    with pytest.raises(ValueError, match="Use 'cuda', 'rocm'"):
        lax.platform_dependent(1.0, gpu=lambda x: x)
    with pytest.raises(TypeError, match="the 'cpu' branch must be a callable"):
        lax.platform_dependent(1.0, cpu=3)
    with pytest.raises(TypeError, match="platform_dependent branches must have equal output types"):
        xt.jit(lambda x: lax.platform_dependent(x, cpu=lambda x: x, default=lambda x: x > 0))(1.0)
