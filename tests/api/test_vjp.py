"""The residuals of pullbacks: what is kept, what can be taken out and put back, and gradients that aren't wanted."""

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.api.vjp_function import NotNeeded, NotSaveable

X, W = xnp.arange(12.0).reshape(3, 4), xnp.ones((4, 4))
CT = xnp.ones((3, 4))


def layer(x, w):
    return 2.0 * ((1.0 * x) @ w)


def check_layer(cts, x=X, w=W):
    np.testing.assert_allclose(cts[0], 2 * np.asarray(CT) @ np.asarray(w).T)
    np.testing.assert_allclose(cts[1], 2 * np.asarray(x).T @ np.asarray(CT))


def test_an_argument_is_taken_out_and_put_back():
    _, pull = xt.vjp(layer, X, W)
    assert isinstance(pull.args_res[0], NotNeeded) and pull.args_res[1] is W
    pull.args_res[1] = None
    with pytest.raises(ValueError, match=r"args\[1\]"):
        pull(CT)
    pull.args_res[1] = 3 * W
    check_layer(pull(CT), w=3 * W)


def test_arguments_that_must_not_be_saved():
    _, pull = xt.vjp(layer, X, W, saveable_args=(True, False))
    assert isinstance(pull.args_res[1], NotSaveable)
    with pytest.raises(ValueError, match=r"not-saveable[\s\S]*args\[1\]"):
        pull(CT)
    pull.args_res[1] = W
    check_layer(pull(CT))


def test_nothing_is_saved_if_the_residuals_are_arguments():
    _, pull = xt.vjp(lambda d: d["x"] @ d["w"], {"x": X, "w": W}, saveable_args=False)
    assert xt.tree.leaves(pull) == []
    with pytest.raises(ValueError, match=r"args\[0\]\['w'\]"):
        pull(CT)
    restored = pull.replace(args_res=[{"x": X, "w": W}])
    np.testing.assert_allclose(restored(CT)[0]["w"], np.asarray(X).T @ np.asarray(CT))
    assert isinstance(pull.args_res[0]["x"], NotSaveable)


def test_tuples_of_flags_describe_any_container():
    _, pull = xt.vjp(lambda d: d["b"] @ d["a"], {"a": W, "b": X}, saveable_args=((False, True),))
    assert isinstance(pull.args_res[0]["a"], NotSaveable) and pull.args_res[0]["b"] is X


def test_residuals_go_through_compiled_functions():
    @xt.jit
    def forward(x, w):
        return xt.vjp(layer, x, w, saveable_args=(True, False))

    @xt.jit
    def backward(pull, w):
        pull.args_res[1] = w
        return pull(CT)

    _, pull = forward(X, W)
    assert isinstance(pull.args_res[1], NotSaveable)
    with pytest.raises(ValueError, match="not-saveable"):
        xt.jit(lambda pull: pull(CT))(pull)
    check_layer(backward(pull, W))


def test_computed_residuals_are_opaque():
    _, pull = xt.vjp(xnp.sin, 3.0)
    assert isinstance(pull.args_res[0], NotNeeded)
    np.testing.assert_allclose(pull.opaque_residuals, [np.cos(3.0)], rtol=1e-6)
    pull.opaque_residuals = [xnp.float32(0.5)]
    assert float(pull(1.0)[0]) == 0.5
    assert xt.vjp(lambda x: xt.lax.cond(x > 0, xnp.sin, xnp.cos, x), 3.0)[1].opaque_residuals


def test_numbers_are_told_from_equal_constants():
    _, pull = xt.vjp(lambda x, y: 2.0 * x * y, 2.0, 2.0)
    pull.args_res = [5.0, 7.0]
    # 2 x is computed in the forward pass: only y is read.
    assert [float(v) for v in pull(1.0)] == [14.0, 4.0]


def test_arguments_of_other_shapes_or_numbers_of_leaves():
    _, pull = xt.vjp(lambda x, w: x @ w, X, W)
    pull.args_res = [X, xnp.ones((5, 5))]
    with pytest.raises(ValueError, match=r"reads args\[1\].*4,4"):
        pull(CT)
    pull.args_res = [X]
    with pytest.raises(ValueError, match="2 arguments"):
        pull(CT)
    pull.args_res = [X, (W, W)]
    with pytest.raises(ValueError, match=r"args_res\[1\] has 2 leaves"):
        pull(CT)


def test_inputs_that_are_not_differentiated():
    out, pull = xt.vjp(lambda x, w: {"a": (x, [w, 2.0])}, X, W, in_nzs=(True, False))
    assert pull.out_nzs == {"a": (True, [False, False])}
    x_ct, w_ct = pull(xt.tree.map(xnp.ones_like, out))
    np.testing.assert_array_equal(x_ct, np.ones((3, 4)))
    np.testing.assert_array_equal(w_ct, np.zeros((4, 4)))
    assert w_ct.dtype == xnp.float32


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_that_are_not_wanted_are_not_computed(compiled):
    x = xnp.arange(3.0)
    f = lambda x, y: x * y  # noqa: E731
    _, pull = xt.vjp(xt.jit(f) if compiled else f, x, x)
    pull = pull.with_refs(xt.ad.DontWant(), xt.ad.GradValue())
    backward = xt.jit(lambda: pull(xnp.ones(3)))
    x_ct, y_ct = backward()
    assert x_ct == xt.ad.DidntWant()
    np.testing.assert_array_equal(y_ct, x)
    if not compiled:
        assert len(xt.make_jaxpr(lambda ct: pull(ct))(x).eqns) == 1


def test_gradients_added_to_references():
    _, pull = xt.vjp(lambda x, y: x * y, X, 2 * X)
    total = xt.new_ref(xnp.ones((3, 4)))
    for _ in range(2):
        x_ct, y_ct = pull.with_refs(total, xt.ad.DontWant())(CT)
        assert (x_ct, y_ct) == (xt.ad.GradRef(), xt.ad.DidntWant())
    np.testing.assert_allclose(total[...], 1 + 4 * np.asarray(X))
    with pytest.raises(ValueError, match="requires a ref of type"):
        pull.with_refs(xt.new_ref(xnp.ones(3)), xt.ad.DontWant())


def test_entries_of_with_refs_that_do_not_fit():
    _, pull = xt.vjp(lambda x, y: x * y, 1.0, 2.0)
    with pytest.raises(ValueError, match="tree structures differ"):
        pull.with_refs(xt.ad.GradValue())
    with pytest.raises(ValueError, match="None"):
        pull.with_refs(xt.ad.GradValue(), None)


def test_a_pullback_takes_one_cotangent():
    _, pull = xt.vjp(lambda x: (x, x), 1.0)
    with pytest.raises(TypeError, match="single argument"):
        pull(1.0, 1.0)


def test_compiled_functions_return_no_copies_of_arguments_or_results_as_residuals():
    _, pull = xt.vjp(xt.jit(lambda x, w: x @ w), X, W)
    assert pull.args_res[0] is X and pull.args_res[1] is W and pull.opaque_residuals == []
    program = xt.make_jaxpr(lambda x: xt.vjp(xt.jit(xnp.exp), x)[0])(X)
    assert [len(e.outvars) for e in program.eqns if e.primitive.name == "jit"] == [1]
    x = np.full(3, 2.0, np.float32)
    _, pull = xt.vjp(xt.jit(lambda x: x * x), x)
    x[:] = 0
    np.testing.assert_array_equal(pull(np.ones(3, np.float32))[0], np.full(3, 4.0))
