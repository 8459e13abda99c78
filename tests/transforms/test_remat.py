"""checkpoint: values under every transformation, what is saved, what runs again, how it is lowered."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace import checkpoint_policies as policies
from xtrace import lax
from xtrace.ad_checkpoint import checkpoint_name, print_saved_residuals

X = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(3, 3)).astype(np.float32)


def plain(x, w):
    return xnp.sin(xnp.sin(checkpoint_name(xnp.sin(x @ w), "a")) @ w)


def scanned(x, w):
    def body(carry, y):
        carry = xnp.sin(carry @ w) * checkpoint_name(xnp.cos(y), "b")
        return carry, xnp.exp(carry)

    carry, ys = lax.scan(body, x, xnp.stack([x, w, x]))
    return carry + ys.sum(0)


def branching(x, w):
    return lax.cond(x.sum() > 0, lambda x, w: xnp.sin(x @ w), lambda x, w: xnp.cos(x) + x @ w, x, w)


def nested(x, w):
    return xt.checkpoint(plain)(xnp.sin(x), w) + xt.jit(plain)(x, w)


POLICIES = [None, policies.everything_saveable, policies.dots_saveable, policies.save_only_these_names("a", "b")]


@pytest.mark.parametrize("policy", POLICIES, ids=["none", "everything", "dots", "names"])
@pytest.mark.parametrize("f", [plain, scanned, branching, nested])
def test_derivatives_are_those_without_checkpoint(f, policy):
    g = xt.checkpoint(f, policy=policy)
    total = lambda h: lambda x, w: (h(x, w) ** 2).sum()  # noqa: E731
    for transform in (
        lambda h: xt.jit(xt.grad(total(h), (0, 1))),
        lambda h: xt.jit(lambda x, w: xt.jvp(xt.grad(total(h)), (x, w), (w, x))),
    ):
        for got, want in zip(xt.tree.leaves(transform(g)(X, W)), xt.tree.leaves(transform(f)(X, W))):
            np.testing.assert_allclose(got, want, rtol=3e-4, atol=3e-4)


def test_vmap():
    xs = np.stack([X, W])
    got = xt.vmap(xt.checkpoint(plain), (0, None))(xs, W)
    np.testing.assert_allclose(got, np.stack([plain(x, W) for x in xs]), rtol=1e-5)


def backward(f, *args):
    """The jaxpr that the gradient's last equation holds."""
    return [e for e in xt.make_jaxpr(xt.grad(f))(*args).eqns if e.primitive.name == "remat2"][-1].params["jaxpr"]


def count(jaxpr, name):
    return len([e for e in jaxpr.eqns if e.primitive.name == name])


def test_the_backward_pass_computes_again_what_it_needs():
    f = lambda x: xnp.sin(xnp.sin(xnp.sin(x)))  # noqa: E731
    jaxpr = backward(xt.checkpoint(f), 2.0)
    assert (count(jaxpr, "sin"), count(jaxpr, "cos")) == (2, 3)
    jaxpr = backward(xt.checkpoint(f, policy=policies.everything_saveable), 2.0)
    assert (count(jaxpr, "sin"), count(jaxpr, "cos")) == (0, 0)
    jaxpr = backward(xt.checkpoint(f, policy=lambda p, *_, **__: p.name == "sin"), 2.0)
    assert (count(jaxpr, "sin"), count(jaxpr, "cos")) == (0, 3)


def test_names_and_what_is_saved(capsys):
    def f(x):
        return xnp.sin(checkpoint_name(xnp.sin(x), "inner"))

    print_saved_residuals(xt.checkpoint(f), 2.0)
    assert capsys.readouterr().out == "f32[] from the argument x\n"
    print_saved_residuals(xt.checkpoint(f, policy=policies.save_only_these_names("inner")), 2.0)
    out = capsys.readouterr().out
    assert out.startswith("f32[] from the argument x\nf32[] named 'inner' from ")


def test_reverse_mode_of_scan_stacks_the_carry_alone(capsys):
    def f(x, w):
        body = xt.checkpoint(lambda c, _: (xnp.sin(c @ w), None))
        return lax.scan(body, x, None, length=4)[0].sum()

    print_saved_residuals(f, X, W)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "f32[3,3] from the argument w"
    assert len(lines) == 2 and lines[1].startswith("f32[4,3,3] output of scan")


def test_barrier():
    f = lambda x: xnp.sin(xnp.sin(x))  # noqa: E731
    assert "optimization_barrier" in xt.jit(xt.grad(xt.checkpoint(f))).lower(2.0).as_text()
    free = xt.checkpoint(f, prevent_cse=False)
    assert "optimization_barrier" not in xt.jit(xt.grad(free)).lower(2.0).as_text()
    some = xt.checkpoint(lambda x, y: xnp.sin(x) * xnp.sin(y), prevent_cse=(False, True))
    text = xt.jit(xt.grad(some, (0, 1))).lower(2.0, 3.0).as_text()
    assert text.count("optimization_barrier") == 1


def test_static_arguments():
    f = xt.checkpoint(lambda x, flag: xnp.sin(x) if flag else x, static_argnums=1)
    np.testing.assert_allclose(xt.grad(f)(1.0, True), np.cos(1.0), rtol=1e-6)
    assert float(xt.checkpoint(lambda x, ys: x * len(ys), static_argnums=1)(2.0, [1, 2])) == 4
    with pytest.raises(ValueError, match=r"`static_argnums` .* but got \(3,\), while `len\(args\)` = 2"):
        xt.checkpoint(lambda x, y: x, static_argnums=3)(1.0, 2)
    with pytest.raises(xt.errors.TracerBoolConversionError, match="Consider using the `static_argnums` parameter"):
        xt.checkpoint(lambda x: x if x > 0 else -x)(1.0)


def test_traced_once():
    calls = []

    @xt.checkpoint
    def f(x):
        calls.append(x)
        return xnp.sin(x)

    for _ in range(3):
        xt.grad(f)(1.0)
    assert len(calls) == 1


def test_a_policy_must_answer():
    f = xt.checkpoint(xnp.sin, policy=lambda *_, **__: None)
    with pytest.raises(TypeError, match="Value returned by a remat policy should be a bool"):
        xt.grad(f)(1.0)
    with pytest.raises(ValueError, match="should be exclusive"):
        policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"],
            names_which_can_be_offloaded=["a"],
            offload_src="device",
            offload_dst="pinned_host",
        )
