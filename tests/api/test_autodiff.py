"""grad and its relatives: values against mathematics, structure, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.core import dtypes

X = np.float32(0.7)


def test_grad_of_products_and_chains():
    assert float(xt.grad(lambda x: xnp.sin(x) * x)(X)) == pytest.approx(np.cos(X) * X + np.sin(X), rel=1e-6)
    assert float(xt.grad(lambda x: xnp.exp(xnp.sin(x * x)))(X)) == pytest.approx(
        np.exp(np.sin(X * X)) * np.cos(X * X) * 2 * X, rel=1e-5
    )


def test_higher_derivatives():
    f = xnp.tanh
    for _ in range(3):
        f = xt.grad(f)
    assert float(f(1.0)) == pytest.approx(0.621627, rel=1e-4)
    t, s = np.tanh(1.0), 1 - np.tanh(1.0) ** 2
    assert float(f(1.0)) == pytest.approx(-2 * s * (s - 2 * t * t), rel=1e-4)


def test_python_control_flow_on_concrete_values():
    f = lambda x: x * x if x > 0 else -x  # noqa: E731
    assert float(xt.grad(f)(2.0)) == 4.0 and float(xt.grad(f)(-2.0)) == -1.0


def test_argnums_and_structure():
    f = lambda a, b: a["w"] * b * b  # noqa: E731
    assert float(xt.grad(f)({"w": 2.0}, 3.0)["w"]) == 9.0
    assert float(xt.grad(f, argnums=1)({"w": 2.0}, 3.0)) == 12.0
    both = xt.grad(f, argnums=(0, 1))({"w": 2.0}, 3.0)
    assert isinstance(both, tuple) and float(both[0]["w"]) == 9.0 and float(both[1]) == 12.0
    assert float(xt.grad(f, argnums=-1)({"w": 2.0}, 3.0)) == 12.0


def test_value_and_grad_with_aux():
    (value, aux), slope = xt.value_and_grad(lambda x: (x * x, {"x": x}), has_aux=True)(3.0)
    assert float(value) == 9.0 and float(aux["x"]) == 3.0 and float(slope) == 6.0
    slope, aux = xt.jit(xt.grad(lambda x: (x * x, x + 1.0), has_aux=True))(3.0)
    assert float(slope) == 6.0 and float(aux) == 4.0


def test_unused_and_constant():
    gradient = xt.grad(lambda x: 2.0)(1.0)
    assert isinstance(gradient, xt.Array) and float(gradient) == 0.0
    a, b = xt.grad(lambda a, b: a * 2.0, argnums=(0, 1))(1.0, np.ones(3, np.float32))
    assert float(a) == 2.0 and np.array_equal(b, np.zeros(3))


def test_errors_name_the_problem():
    with pytest.raises(TypeError) as caught:
        xt.grad(lambda x: x)(3)
    assert str(caught.value) == (
        "grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got int32. "
        "If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True; or pass a float (1.0 "
        "in place of 1)."
    )
    with pytest.raises(TypeError, match=r"Output had shape: \(3,\)"):
        xt.grad(lambda x: x)(np.ones(3, np.float32))
    with pytest.raises(TypeError, match="pytree with 2 arrays"):
        xt.grad(lambda x: (x, x))(1.0)
    with pytest.raises(TypeError, match="only 1 positional arguments were passed"):
        xt.grad(lambda x, y: x, argnums=1)(1.0, y=2.0)
    with pytest.raises(TypeError, match="grad takes a function"):
        xt.grad(3)
    with pytest.raises(TypeError, match="two-element tuple"):
        xt.grad(lambda x: x, has_aux=True)(1.0)


def test_allow_int_gives_float0():
    a, b = xt.grad(lambda n, x: x * 2.0, argnums=(0, 1), allow_int=True)(3, 1.0)
    assert a.dtype == dtypes.float0 and a.shape == () and float(b) == 2.0


def test_jvp_and_vjp_agree():
    f = lambda x, y: xnp.sin(x) * y  # noqa: E731
    out, tangent = xt.jvp(f, (1.0, 2.0), (1.0, 0.5))
    assert float(tangent) == pytest.approx(np.cos(1.0) * 2 + np.sin(1.0) * 0.5, rel=1e-6)
    out2, pull = xt.vjp(f, 1.0, 2.0)
    assert float(out) == float(out2)
    dx, dy = pull(1.0)
    assert float(dx) == pytest.approx(np.cos(1.0) * 2, rel=1e-6) and float(dy) == pytest.approx(np.sin(1.0), rel=1e-6)


def test_jvp_argument_errors():
    f = lambda x: x  # noqa: E731
    with pytest.raises(TypeError, match="must be tuples or lists"):
        xt.jvp(f, 1.0, (1.0,))
    with pytest.raises(TypeError, match="same tree structure"):
        xt.jvp(f, (1.0,), ([1.0],))
    with pytest.raises(TypeError, match="dtypes must be equal"):
        xt.jvp(f, (np.float32(1),), (np.float16(1),))
    with pytest.raises(ValueError, match=r"primal shape \(\) and tangent shape \(1,\)"):
        xt.jvp(f, (np.float32(1),), (np.ones(1, np.float32),))


def test_vjp_argument_errors():
    _, pull = xt.vjp(lambda x: (x, x), 1.0)
    with pytest.raises(ValueError, match="unexpected tree structure"):
        pull(1.0)
    with pytest.raises(ValueError, match=r"expected f32\[\] because the corresponding output 0"):
        pull((np.ones(2, np.float32), np.float32(1)))


def test_a_linearized_function_is_a_pytree():
    f = lambda x, y: {"product": xnp.sin(x) * y, "constant": 3.0}
    out, push = xt.jit(lambda x, y: xt.linearize(f, x, y))(1.0, 2.0)
    assert isinstance(push, xt.tree_util.Partial)
    want = np.cos(1.0) * 2.0 * 0.5 + np.sin(1.0) * 4.0
    for call in (push, xt.jit(push), lambda *ts: xt.jit(lambda p, *us: p(*us))(push, *ts)):
        got = call(0.5, 4.0)
        np.testing.assert_allclose(got["product"], want, rtol=1e-6)
        assert got["constant"] == 0.0
    _, push = xt.linearize(xnp.sin, 2.0)
    np.testing.assert_allclose(xt.tree.leaves(push), [np.cos(2.0)], rtol=1e-6)
    np.testing.assert_allclose(xt.tree.map(lambda leaf: 2 * leaf, push)(1.0), 2 * np.cos(2.0), rtol=1e-6)
    xs = np.linspace(0, 1, 4, dtype=np.float32)
    pushes = xt.vmap(lambda x: xt.linearize(xnp.sin, x)[1])(xs)
    np.testing.assert_allclose(xt.vmap(lambda p, t: p(t))(pushes, xs), np.cos(xs) * xs, rtol=1e-6)


def test_linearize_and_transpose():
    out, push = xt.linearize(lambda x: xnp.sin(x) * x, 1.0)
    assert float(push(2.0)) == pytest.approx(2 * (np.cos(1.0) + np.sin(1.0)), rel=1e-6)
    transposed = xt.linear_transpose(lambda x, y: 2.0 * x + y * 3.0, 1.0, 1.0)
    assert [float(v) for v in transposed(1.0)] == [2.0, 3.0]


def test_through_jit_vmap_and_each_other():
    f = xt.jit(lambda x: xnp.sin(x) * x)
    xs = np.linspace(-1, 1, 5, dtype=np.float32)
    expected = np.cos(xs) * xs + np.sin(xs)
    np.testing.assert_allclose(xt.vmap(xt.grad(f))(xs), expected, rtol=1e-5)
    np.testing.assert_allclose(xt.jit(xt.vmap(xt.grad(f)))(xs), expected, rtol=1e-5)
    np.testing.assert_allclose(xt.vmap(xt.jit(xt.grad(f)))(xs), expected, rtol=1e-5)
    second = xt.grad(lambda x: xt.jvp(xt.grad(f), (x,), (1.0,))[0])
    assert float(second(0.3)) == pytest.approx(2 * np.cos(0.3) - 0.3 * np.sin(0.3), rel=1e-5)


def test_hidden_tracers_of_outer_differentiation():
    # perturbation confusion: d/dx (x * d/dy (x + y)) = 1
    assert float(xt.grad(lambda x: x * xt.grad(lambda y: x + y)(1.0))(1.0)) == 1.0
    assert float(xt.jvp(lambda x: x * xt.jvp(lambda y: x + y, (1.0,), (1.0,))[1], (1.0,), (1.0,))[1]) == 1.0


def test_equations_of_derivatives_point_at_the_primal_line():
    @xt.jit
    def inner(x):
        return xnp.sin(x)  # the sine

    def f(x):
        y = inner(x)
        return y * y  # the product

    text = xt.make_jaxpr(xt.grad(f))(1.0).pretty_print(source_info=True)
    with open(__file__) as file:
        lines = {line.strip(): i for i, line in enumerate(file, 1)}
    sine, product = lines["return xnp.sin(x)  # the sine"], lines["return y * y  # the product"]
    where = {
        name: [line.rsplit(":", 1)[1].split()[0] for line in text.splitlines() if f"= {name} " in line]
        for name in ("cos", "sin", "mul", "add_any")
    }
    assert where["sin"] == where["cos"] == [str(sine)]
    assert set(where["mul"]) == {str(sine), str(product)} and where["add_any"] == [str(product)]


def test_vjp_functions_are_pytrees():
    f = xt.custom_vjp(lambda x: x**2)

    def fwd(x):
        return xt.vjp(lambda x: x**2, x)

    f.defvjp(fwd, lambda pull, ct: pull(ct))
    pull = xt.jit(lambda x: xt.vjp(f, x)[1])(1.5)
    assert float(pull(2.0)[0]) == 6.0
    assert float(xt.jit(lambda pull, ct: pull(ct)[0])(pull, 2.0)) == 6.0
    _, constant = xt.vjp(lambda x: (x, 3.0), 1.0)
    assert float(xt.tree.map(lambda r: r, constant)((5.0, 1.0))[0]) == 5.0


def test_jacobians_with_respect_to_integers_are_zeros_of_their_type():
    i = np.arange(2, dtype=np.int32)
    jacobian = xt.jacrev(lambda x, i: x * 2.0, argnums=(0, 1), allow_int=True)(np.ones(3, np.float32), i)
    np.testing.assert_array_equal(jacobian[0], 2 * np.eye(3))
    assert jacobian[1].dtype == np.int32
    np.testing.assert_array_equal(jacobian[1], np.zeros((3, 2)))


def test_mapped_cotangents_of_integers():
    pull = xt.vjp(lambda x, i: x * 2.0, 1.0, np.arange(2))[1]
    x_ct, i_ct = xt.vmap(pull)(np.ones(3, np.float32))
    np.testing.assert_array_equal(x_ct, np.full(3, 2.0))
    assert (i_ct.dtype, i_ct.shape) == (xt.float0, (3, 2))


def test_arguments_are_told_apart_among_residuals():
    x, w = np.arange(12.0, dtype=np.float32).reshape(3, 4), np.ones((4, 4), np.float32)
    ct = np.ones((3, 4), np.float32)
    _, pull = xt.vjp(lambda x, w: x @ w, x, w)
    pull.args_res[1] = None
    with pytest.raises(ValueError, match=r"reads args\[1\] from args_res: an array of type f32\[4,4\]"):
        pull(ct)
    pull.args_res[1] = 2 * w
    np.testing.assert_allclose(pull(ct)[0], ct @ (2 * w).T)
    np.testing.assert_allclose(pull(ct)[1], x.T @ ct)

    _, pull = xt.vjp(xt.lax.sin, x)
    assert repr(pull.args_res) == "[NotNeeded()]"
    assert len(pull.opaque_residuals) == 1


@pytest.mark.parametrize("jitted", [False, True])
def test_arguments_that_are_not_saved(jitted):
    x, w = np.arange(12.0, dtype=np.float32).reshape(3, 4), np.full((4, 4), 2.0, np.float32)
    ct = np.ones((3, 4), np.float32)
    make = lambda x, w: xt.vjp(lambda x, w: (2.0 * x) @ w, x, w, saveable_args=(True, False))[1]  # noqa: E731
    pull = (xt.jit(make) if jitted else make)(x, w)
    assert repr(pull.args_res) == "[NotNeeded(), NotSaveable()]"
    assert [leaf.shape for leaf in xt.tree.leaves(pull)] == [(3, 4)]
    with pytest.raises(ValueError, match=r"not-saveable residuals.*\n  \* args\[1\]"):
        pull(ct)

    def restored(pull, w):
        pull.args_res[1] = w
        return pull(ct)

    x_ct, w_ct = (xt.jit(restored) if jitted else restored)(pull, w)
    np.testing.assert_allclose(x_ct, 2 * ct @ w.T)
    np.testing.assert_allclose(w_ct, 2 * x.T @ ct)


@pytest.mark.parametrize(
    "flags, message",
    [
        ((True,), "number of children"),
        ((True, (True, True)), "is a leaf"),
        ((1, True), r"tuple-tree of bools.*\[0\] is 1 of type int"),
        ([True, True], "tuple-tree of bools"),
    ],
)
@pytest.mark.parametrize("option", ["saveable_args", "in_nzs"])
def test_flags_of_arguments_are_prefixes(flags, message, option):
    with pytest.raises(ValueError, match=f"{option}.*{message}"):
        xt.vjp(lambda x, y: x * y, 2.0, 3.0, **{option: flags})


def test_inputs_left_out_of_the_derivative():
    out, pull = xt.vjp(lambda d: d["a"] * d["b"], {"a": 2.0, "b": 3.0}, in_nzs=((True, False),))
    assert [float(v) for v in xt.tree.leaves(pull(1.0))] == [3.0, 0.0]
    out, f_jvp = xt.linearize(lambda x, y: x * y, 2.0, 3.0, in_nzs=(True, False))
    assert float(f_jvp(1.0, 100.0)) == 3.0


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "vjp", "jvp", "linearize", "jacrev", "jacfwd"])
def test_aux_is_handed_through_as_it_is(name):
    given = {"int": 3, "float": 2.5, "bool": True, "array": np.arange(2)}
    if name != "jacfwd":  # whose function is mapped, and so are its results
        given |= {"big": 2**40, "scalar": np.int64(2**40)}

    def f(x):
        return x, given

    call = {
        "grad": lambda: xt.grad(f, has_aux=True)(1.0)[1],
        "value_and_grad": lambda: xt.value_and_grad(f, has_aux=True)(1.0)[0][1],
        "vjp": lambda: xt.vjp(f, 1.0, has_aux=True)[2],
        "jvp": lambda: xt.jvp(f, (1.0,), (1.0,), has_aux=True)[2],
        "linearize": lambda: xt.linearize(f, 1.0, has_aux=True)[2],
        "jacrev": lambda: xt.jacrev(f, has_aux=True)(1.0)[1],
        "jacfwd": lambda: xt.jacfwd(f, has_aux=True)(1.0)[1],
    }[name]
    aux = call()
    assert all(aux[key] is value for key, value in given.items())


@pytest.mark.parametrize("wrap", [lambda a: {"q": a}, lambda a: (a,), lambda a: [a]])
def test_a_container_around_the_scalar_is_no_scalar(wrap):
    with pytest.raises(TypeError, match="scalar-output functions.*container of one array"):
        xt.grad(wrap)(1.0)
    with pytest.raises(TypeError, match="scalar-output functions"):
        xt.value_and_grad(lambda a: (wrap(a), 1), has_aux=True)(1.0)


@pytest.mark.parametrize("fun", [lambda a, b: a * b, lambda a, b: (a + b) * a, lambda a, b: a / b])
def test_linear_transpose_of_what_is_not_linear_names_the_operation_and_the_line(fun):
    with pytest.raises(TypeError, match=r"is not linear in its arguments: it applies (mul|div) .*test_autodiff.py:\d+"):
        xt.linear_transpose(fun, 1.0, 1.0)
