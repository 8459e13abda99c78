"""custom_jvp and custom_vjp: values, composition with every transformation, printed form, messages."""

import numpy as np
import pytest

import xtrace as xt
from xtrace.core import errors
from xtrace.lax import elementwise as el
from xtrace.lax import reductions

VALUES = np.array([0.5, 1.0, 1.5], np.float32)


def total(x):
    return reductions.reduce_sum(x, tuple(range(x.ndim)))


@xt.custom_jvp
def scaled_sine(x, y):
    return el.mul(el.sin(x), y)


@scaled_sine.defjvp
def scaled_sine_jvp(primals, tangents):
    (x, y), (tx, ty) = primals, tangents
    # Three times the true derivative in x: proof that the rule ran.
    return scaled_sine(x, y), el.add(el.mul(el.mul(3.0, tx), el.mul(el.cos(x), y)), el.mul(ty, el.sin(x)))


@xt.custom_vjp
def reversed_sine(x, y):
    return el.mul(el.sin(x), y)


def reversed_sine_fwd(x, y):
    return el.mul(el.sin(x), y), (x, y)


def reversed_sine_bwd(residuals, ct):
    x, y = residuals
    return el.mul(el.mul(3.0, ct), el.mul(el.cos(x), y)), el.mul(ct, el.sin(x))


reversed_sine.defvjp(reversed_sine_fwd, reversed_sine_bwd)

BOTH = pytest.mark.parametrize("f", [scaled_sine, reversed_sine], ids=["jvp", "vjp"])


@BOTH
def test_value(f):
    for g in (f, xt.jit(f), xt.vmap(f, in_axes=(0, None)), xt.jit(xt.vmap(f, in_axes=(0, None)))):
        np.testing.assert_allclose(g(VALUES, np.float32(2)), 2 * np.sin(VALUES), rtol=1e-6)
    assert float(f(1.0, y=2.0)) == float(f(1.0, 2.0))


@BOTH
def test_gradient_uses_the_rule_however_it_is_reached(f):
    expected = 3 * np.cos(1.0) * 2
    for g in (xt.grad(f), xt.jit(xt.grad(f)), xt.grad(xt.jit(f)), xt.grad(xt.jit(xt.jit(f)))):
        np.testing.assert_allclose(g(1.0, 2.0), expected, rtol=1e-6)
    np.testing.assert_allclose(xt.grad(f, 1)(1.0, 2.0), np.sin(1.0), rtol=1e-6)


@BOTH
def test_vmap_and_grad_compose(f):
    expected = 3 * np.cos(VALUES) * 2
    for g in (
        xt.vmap(xt.grad(f), in_axes=(0, None)),
        xt.jit(xt.vmap(xt.grad(f), in_axes=(0, None))),
        xt.vmap(xt.jit(xt.grad(xt.jit(f))), in_axes=(0, None)),
        xt.grad(lambda x, y: total(xt.vmap(f, in_axes=(0, None))(x, y))),
        xt.grad(lambda x, y: total(xt.vmap(xt.jit(f), in_axes=(0, None))(x, y))),
        xt.jit(xt.grad(lambda x, y: total(xt.vmap(xt.jit(f), in_axes=(0, None))(x, y)))),
    ):
        np.testing.assert_allclose(g(VALUES, np.float32(2)), expected, rtol=1e-6)


@BOTH
def test_cotangents_of_unmapped_arguments_are_summed(f):
    for g in (f, xt.jit(f)):
        gradient = xt.grad(lambda y: total(xt.vmap(g, in_axes=(0, None))(VALUES, y)))(2.0)
        np.testing.assert_allclose(gradient, np.sin(VALUES).sum(), rtol=1e-6)


@BOTH
def test_second_derivative(f):
    # The rule is differentiated in turn; calls of f in it use the rule again.
    for g in (xt.grad(xt.grad(f)), xt.jit(xt.grad(xt.grad(xt.jit(f))))):
        np.testing.assert_allclose(g(1.0, 2.0), -3 * np.sin(1.0) * 2, rtol=1e-6)
    _, t = xt.jvp(xt.grad(f), (1.0, 2.0), (1.0, 0.0))
    np.testing.assert_allclose(t, -3 * np.sin(1.0) * 2, rtol=1e-6)


def test_jvp():
    out, t = xt.jvp(scaled_sine, (1.0, 2.0), (1.0, 1.0))
    np.testing.assert_allclose([out, t], [2 * np.sin(1.0), 6 * np.cos(1.0) + np.sin(1.0)], rtol=1e-6)
    out, t = xt.jvp(xt.jit(scaled_sine), (1.0, 2.0), (1.0, 1.0))
    np.testing.assert_allclose(t, 6 * np.cos(1.0) + np.sin(1.0), rtol=1e-6)


def test_custom_vjp_has_no_forward_mode():
    for g in (reversed_sine, xt.jit(reversed_sine)):
        with pytest.raises(
            TypeError, match=r"can't apply forward-mode autodiff \(jvp\) to a custom_vjp function: reversed_sine"
        ):
            xt.jvp(g, (1.0, 2.0), (1.0, 1.0))


def test_printed_form():
    assert str(xt.make_jaxpr(scaled_sine)(1.0, 2.0)) == (
        """{ lambda ; a:f32[] b:f32[]. let
    c:f32[] = custom_jvp_call[
      name=scaled_sine
      call_jaxpr={ lambda ; d:f32[] e:f32[]. let
          f:f32[] = sin d
          g:f32[] = mul f e
        in (g,) }
      jvp=scaled_sine_jvp
      symbolic_zeros=False
    ] a b
  in (c,) }"""
    )
    text = str(xt.make_jaxpr(reversed_sine)(1.0, 2.0))
    assert "custom_vjp_call[\n      name=reversed_sine\n      bwd=reversed_sine_bwd" in text
    assert "fwd=reversed_sine_fwd" in text


def test_staged_once_per_type():
    traces = []

    @xt.custom_jvp
    def f(x):
        traces.append(1)
        return el.sin(x)

    f.defjvp(lambda p, t: (f(*p), t[0]))
    xt.make_jaxpr(lambda x: f(f(f(x))))(1.0)
    assert len(traces) == 1


def test_pytrees_defaults_and_keywords():
    @xt.custom_jvp
    def f(params, x=2.0, *, scale=1.0):
        return {"out": el.mul(params["w"], x)}

    with pytest.raises(TypeError, match="could not be resolved to positions: scale"):
        f.defjvp(lambda p, t: (f(*p), t[0]))
        xt.jit(f)({"w": 1.0}, scale=2.0)

    @xt.custom_jvp
    def g(params, x=2.0):
        return {"out": el.mul(params["w"], x)}

    g.defjvp(lambda p, t: (g(*p), {"out": el.mul(7.0, t[0]["w"])}))
    assert float(xt.grad(lambda w: g({"w": w})["out"])(3.0)) == 7.0
    assert float(xt.grad(lambda w: g(x=4.0, params={"w": w})["out"])(3.0)) == 7.0


def test_defjvps():
    @xt.custom_jvp
    def f(x, y, z):
        return el.mul(x, y)

    f.defjvps(lambda t, out, x, y, z: el.mul(5.0, t), None, lambda t, out, x, y, z: el.mul(out, t))
    assert [float(g) for g in xt.grad(f, (0, 1, 2))(2.0, 3.0, 1.0)] == [5.0, 0.0, 6.0]


def test_nondiff_arguments():
    @xt.custom_jvp
    def plain(f, x):
        return f(x)

    apply = xt.custom_jvp(lambda f, x: f(x), nondiff_argnums=(0,))
    apply.defjvp(lambda f, p, t: (f(*p), el.mul(2.0, t[0])))
    for g in (lambda x: apply(el.sin, x), xt.jit(lambda x: apply(el.sin, x))):
        np.testing.assert_allclose(g(1.0), np.sin(1.0), rtol=1e-6)
        assert float(xt.grad(g)(1.0)) == 2.0
    by_name = xt.custom_jvp(lambda x, f: f(x), nondiff_argnames="f")
    by_name.defjvp(lambda f, p, t: (f(*p), el.mul(2.0, t[0])))
    assert float(xt.grad(lambda x: by_name(x, f=el.cos))(1.0)) == 2.0
    clip = xt.custom_vjp(lambda limit, x: x, nondiff_argnums=(0,))
    clip.defvjp(lambda limit, x: (x, None), lambda limit, _, ct: (el.mul(limit, ct),))
    assert float(xt.grad(lambda x: clip(0.25, x))(1.0)) == 0.25
    assert float(xt.jit(xt.grad(lambda x: clip(0.25, x)))(1.0)) == 0.25
    with pytest.raises(errors.UnexpectedTracerError, match="got a traced array for its argument number 0"):
        xt.jit(clip)(1.0, 2.0)


def test_nondiff_tracers_of_custom_jvp_have_no_derivative():
    f = xt.custom_jvp(lambda a, x: el.mul(a, x), nondiff_argnums=(0,))
    f.defjvp(lambda a, p, t: (el.mul(a, p[0]), el.mul(a, t[0])))
    assert float(xt.grad(f, 0)(3.0, 2.0)) == 0.0
    assert float(xt.grad(f, 1)(3.0, 2.0)) == 3.0
    assert float(xt.grad(xt.jit(f), 0)(3.0, 2.0)) == 0.0
    assert float(xt.jit(xt.grad(f, 1))(3.0, 2.0)) == 3.0


def test_symbolic_zeros_forward():
    seen = []
    f = xt.custom_jvp(lambda x, y: el.mul(x, y))

    def rule(primals, tangents):
        seen.append([type(t) is xt.custom_derivatives.SymbolicZero for t in tangents])
        return el.mul(*primals), tangents[0]

    f.defjvp(rule, symbolic_zeros=True)
    assert float(xt.grad(f)(2.0, 3.0)) == 1.0
    assert float(xt.grad(f, 1)(2.0, 3.0)) == 0.0
    assert float(xt.grad(xt.jit(f), 1)(2.0, 3.0)) == 0.0
    assert seen == [[False, True], [True, False], [True, False]]


def test_symbolic_zeros_reverse():
    seen = []
    f = xt.custom_vjp(lambda x, y: (el.mul(x, y), el.sin(x)))

    def fwd(x, y):
        seen.append((x.perturbed, y.perturbed))
        return (el.mul(x.value, y.value), el.sin(x.value)), (x.value, y.value)

    def bwd(residuals, cts):
        seen.append([type(c) is xt.custom_derivatives.SymbolicZero for c in cts])
        return el.mul(cts[0], residuals[1]), None

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    assert float(xt.grad(lambda x, y: f(x, y)[0])(2.0, 3.0)) == 3.0
    assert seen == [(True, False), [False, True]]


def test_integer_arguments_and_results():
    @xt.custom_vjp
    def f(x, n):
        return el.mul(x, x), n

    f.defvjp(lambda x, n: (f(x, n), x), lambda x, ct: (el.mul(x, ct[0]), None))
    assert float(xt.grad(lambda x: f(x, 3)[0])(2.0)) == 2.0
    assert float(xt.grad(lambda x: xt.jit(f)(x, 3)[0])(2.0)) == 2.0

    @xt.custom_jvp
    def g(x, n):
        return el.mul(x, x), n

    g.defjvp(lambda p, t: (g(*p), (el.mul(4.0, t[0]), t[1])))
    assert float(xt.grad(lambda x: g(x, 3)[0])(2.0)) == 4.0
    assert float(xt.jit(xt.grad(lambda x: xt.jit(g)(x, 3)[0]))(2.0)) == 4.0


def test_rules_close_over_arrays():
    weights = np.array([1.0, 2.0, 3.0], np.float32)

    @xt.custom_jvp
    def f(x):
        return el.sin(x)

    f.defjvp(lambda p, t: (f(*p), el.mul(weights, t[0])))

    @xt.custom_vjp
    def g(x):
        return el.sin(x)

    g.defvjp(lambda x: (el.sin(x), None), lambda _, ct: (el.mul(weights, ct),))
    for h in (f, xt.jit(f), g, xt.jit(g)):
        np.testing.assert_array_equal(xt.grad(lambda x: total(h(x)))(VALUES), weights)
        np.testing.assert_array_equal(xt.jit(xt.grad(lambda x: total(h(x))))(VALUES), weights)
        np.testing.assert_array_equal(xt.vmap(xt.grad(lambda x: total(h(x))))(VALUES[None]), weights[None])


def test_rule_that_is_jitted():
    @xt.custom_jvp
    def f(x):
        return el.sin(x)

    @f.defjvp
    @xt.jit
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return el.sin(x), el.mul(t, el.mul(el.cos(x), 2.0))

    for g in (f, xt.jit(f)):
        np.testing.assert_allclose(xt.grad(g)(1.0), 2 * np.cos(1.0), rtol=1e-6)
        np.testing.assert_allclose(xt.vmap(xt.grad(g))(VALUES), 2 * np.cos(VALUES), rtol=1e-6)
        np.testing.assert_allclose(xt.grad(xt.grad(g))(1.0), -2 * np.sin(1.0), rtol=1e-6)


def test_closing_over_traced_values():
    def outer(z):
        @xt.custom_jvp
        def f(x):
            return el.mul(x, z)

        f.defjvp(lambda p, t: (f(*p), el.mul(t[0], z)))
        return xt.grad(f)(2.0)

    np.testing.assert_array_equal(xt.vmap(outer)(VALUES), VALUES)
    assert float(xt.jit(outer)(3.0)) == 3.0

    def eagerly(z):
        f = xt.custom_jvp(lambda x: el.mul(x, z))
        f.defjvp(lambda p, t: (f(*p), el.mul(t[0], z)))
        return f(2.0)

    np.testing.assert_array_equal(xt.vmap(eagerly)(VALUES), 2 * VALUES)
    assert float(xt.jit(eagerly)(3.0)) == 6.0

    def differentiated(z):
        @xt.custom_jvp
        def f(x):
            return el.mul(x, z)

        f.defjvp(lambda p, t: (f(*p), el.mul(t[0], z)))
        return xt.jit(f)(2.0)

    with pytest.raises(errors.UnexpectedTracerError, match="closes over a value that is being differentiated"):
        xt.grad(lambda z: eagerly(z))(3.0)
    with pytest.raises(
        Exception, match="Detected differentiation of the custom_jvp function f with respect to a closed-over value"
    ):
        xt.grad(xt.jit(differentiated))(3.0)


def test_zeros_from_a_rule_are_constants():
    f = xt.custom_jvp(lambda x: el.sin(x))
    f.defjvp(lambda p, t: (f(*p), np.zeros((), np.float32)))
    assert float(xt.grad(f)(1.0)) == 0.0
    assert float(xt.jit(xt.grad(xt.jit(f)))(1.0)) == 0.0


def test_methods():
    class Layer:
        @xt.custom_jvp
        def forward(self, x):
            return el.sin(x)

    assert isinstance(Layer.forward, xt.custom_jvp)


# -- messages ------------------------------------------------------------------------------------------------------


def test_no_rule():
    def f(x):
        return x

    with pytest.raises(AttributeError, match="^No JVP defined for custom_jvp function f using defjvp.$"):
        xt.custom_jvp(f)(1.0)
    with pytest.raises(AttributeError, match="^No VJP defined for custom_vjp function f using defvjp.$"):
        xt.custom_vjp(f)(1.0)


def jvp_message(rule):
    def f(x, y):
        return el.mul(x, y)

    g = xt.custom_jvp(f)
    rule.__name__ = "rule"
    g.defjvp(rule)
    with pytest.raises(TypeError) as e:
        xt.jvp(g, (1.0, 2.0), (1.0, 1.0))
    return str(e.value)


def test_messages_of_forward_rules():
    assert jvp_message(lambda p, t: p[0]) == (
        "Custom JVP rule rule for function f must produce a pair (list or tuple of length two) representing primal and "
        "tangent outputs, but got 1.0."
    )
    assert jvp_message(lambda p, t: (p[0], (t[0], t[1]))) == (
        "Custom JVP rule rule for function f must produce primal and tangent outputs with equal container (pytree) "
        "structures, but got PyTreeDef(*) and PyTreeDef((*, *)) respectively."
    )
    assert jvp_message(lambda p, t: ({"a": p[0]}, {"a": np.ones(3, np.float32)})) == (
        "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes. Expected "
        "float32[] (tangent type of float32[]) but got float32[3]. That is result['a'] of the rule rule for function f."
    )


def test_results_of_a_rule_must_be_the_functions():
    f = xt.custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (np.ones(3, np.float32), np.ones(3, np.float32)))
    with pytest.raises(TypeError, match=r"had shapes/dtypes of:\n    float32\[3\]\nwhile the .* of:\n    float32\[\]"):
        xt.jvp(xt.jit(f), (1.0,), (1.0,))


def vjp_error(fwd, bwd, wrap=lambda f: f):
    def f(x, y):
        return el.mul(x, y)

    g = xt.custom_vjp(f)
    fwd.__name__, bwd.__name__ = "fwd", "bwd"
    g.defvjp(fwd, bwd)
    with pytest.raises((TypeError, ValueError)) as e:
        xt.grad(wrap(g), (0, 1))(1.0, 2.0)
    return f"{type(e.value).__name__}: {e.value}"


def good_fwd(x, y):
    return el.mul(x, y), (x, y)


def test_messages_of_reverse_rules():
    must = (
        "TypeError: Custom VJP fwd rule fwd for function f must produce a pair (list or tuple of length two) where "
        "the first "
        "element represents the primal output (equal to the output of the custom_vjp-decorated function f) and the "
        "second "
        "element represents residuals (i.e. values stored from the forward pass for use on the backward pass), but "
        "instead "
    )
    assert vjp_error(lambda x, y: x, lambda r, c: (c, c)) == must + "of a pair the fwd rule fwd produced 1.0."
    assert vjp_error(lambda x, y: ((x, x), x), lambda r, c: (c, c), xt.jit) == must + (
        "the fwd rule output's first element had container/pytree structure:\n    (float32[], float32[])\nwhile the "
        "custom_vjp-decorated function f had output container/pytree structure:\n    float32[]."
    )
    structure = (
        "TypeError: Custom VJP bwd rule bwd for function f must produce an output with the same container (pytree) "
        "structure "
        "as the args tuple of the primal function, and in particular must produce a tuple of length equal to the "
        "number of "
        "arguments to the primal function, but got bwd output structure {} for primal input structure (*, *)."
    )
    assert vjp_error(good_fwd, lambda r, c: c) == structure.format("*")
    assert vjp_error(good_fwd, lambda r, c: (c,)) == structure.format("(*,)")
    assert vjp_error(good_fwd, lambda r, c: (c, np.ones(3, np.float32))) == (
        "ValueError: Custom VJP bwd rule must produce an output with the same type as the args tuple of the primal "
        "function, but at output[1] the bwd rule attached to f (bwd) produced an output of type float32[3] "
        "corresponding to an input of type float32[], so the shapes do not match."
    )


def test_arguments_that_do_not_bind():
    def f(x, y):
        return x

    g = xt.custom_jvp(f)
    g.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(TypeError, match="could not be resolved to positional-only arguments"):
        xt.jit(lambda x: g(x, z=1.0))(1.0)
    with pytest.raises(TypeError, match="custom_jvp function f got 'a' for its argument y"):
        xt.jit(lambda x: g(x, "a"))(1.0)


def test_staged_calls_of_arguments_that_are_not_mapped():
    total = xt.custom_vjp(lambda x: xt.lax.psum(x, "i"))
    total.defvjp(lambda x: (xt.lax.psum(x, "i"), None), lambda _, ct: (ct,))
    doubled = xt.custom_jvp(lambda x: xt.lax.psum(x, "i"))
    doubled.defjvp(lambda primals, tangents: (xt.lax.psum(primals[0], "i"), tangents[0]))
    for f in (total, doubled, xt.jit(total), xt.jit(doubled)):

        def g(_, x, f=f):
            return f(x)

        mapped = xt.vmap(g, in_axes=(0, None), out_axes=None, axis_name="i")
        assert float(mapped(np.arange(4.0), 2.0)) == 8.0


def test_a_rule_that_alone_depends_on_the_mapped_axis():
    f = xt.custom_jvp(lambda x: xt.lax.psum(x, "i"))

    @f.defjvp
    def rule(primals, tangents):
        return f(*primals), el.mul(tangents[0], el.add(1.0, xt.lax.axis_index("i").astype(np.float32)))

    over = xt.vmap(lambda x, c: el.mul(x, xt.jit(f)(c)), in_axes=(0, None), axis_name="i")
    with pytest.raises(ValueError, match="batched along the mapped axis 'i'"):
        xt.jvp(lambda c: over(np.ones(3, np.float32), c), (1.0,), (1.0,))


def _logging():
    f = xt.custom_vjp(lambda x, y: el.mul(el.sin(x), y))

    def bwd(residuals, g):
        x, y = residuals
        return (el.mul(el.mul(el.cos(x), g), y), el.mul(el.sin(x), g)), {"f": {"ct": g, "y": y}}

    f.defvjp_with_logs(lambda x, y: (f(x, y), (x, y)), bwd)
    return f


def test_reverse_rules_log():
    f = _logging()
    xs = np.arange(1.0, 4.0, dtype=np.float32)
    for g in (f, xt.jit(f), xt.checkpoint(f)):
        (x_ct, y_ct), logs = xt.vjp(g, 1.0, 2.0)[1].with_logs(3.0)
        np.testing.assert_allclose([x_ct, y_ct], [6 * np.cos(1.0), 3 * np.sin(1.0)], rtol=1e-6)
        assert (float(logs["f"]["ct"]), float(logs["f"]["y"])) == (3.0, 2.0)
        np.testing.assert_allclose(xt.vjp(g, 1.0, 2.0)[1](3.0)[0], x_ct)
        np.testing.assert_allclose(xt.grad(g)(1.0, 2.0), 2 * np.cos(1.0), rtol=1e-6)
    _, logs = xt.jit(lambda ct: xt.vjp(f, 1.0, 2.0)[1].with_logs(ct))(3.0)
    assert float(logs["f"]["ct"]) == 3.0

    (ct,), logs = xt.vjp(lambda xs: xt.lax.scan(lambda c, x: (c + f(x, 2.0), None), 0.0, xs)[0], xs)[1].with_logs(5.0)
    np.testing.assert_allclose(ct, 10 * np.cos(xs), rtol=1e-6)
    np.testing.assert_array_equal(logs["f"]["ct"], np.full(3, 5.0))
    np.testing.assert_array_equal(logs["f"]["y"], np.full(3, 2.0))

    _, logs = xt.vjp(lambda xs: xt.vmap(f, in_axes=(0, None))(xs, 2.0), xs)[1].with_logs(xs)
    np.testing.assert_array_equal(logs["f"]["ct"], xs)
    (ct, _), logs = xt.vmap(lambda x, ct: xt.vjp(f, x, 2.0)[1].with_logs(ct))(xs, xs)
    np.testing.assert_allclose(ct, 2 * xs * np.cos(xs), rtol=1e-6)
    np.testing.assert_array_equal(logs["f"]["ct"], xs)
    branch = xt.vjp(lambda x: xt.lax.cond(x > 0, lambda x: f(x, 2.0), lambda x: x, x), 1.0)[1]
    assert branch.with_logs(1.0)[1] == {}


def test_rules_that_log_return_pairs():
    f = xt.custom_vjp(lambda x: x)
    for result, message in (lambda g: (g,), "must produce a pair"), (lambda g: ((g,), [1.0]), "None or a dict"):
        f.defvjp_with_logs(lambda x: (x, None), lambda _, g, result=result: result(g))
        with pytest.raises(TypeError, match=message):
            xt.grad(f)(1.0)
    f.defvjp_with_logs(lambda x: (x, None), lambda _, g: ((g,), None))
    assert xt.vjp(f, 1.0)[1].with_logs(1.0)[1] == {}


def test_custom_gradient_logs():
    f = xt.custom_gradient(lambda x: (el.sin(x), lambda g: (el.mul(g, el.cos(x)), {"g": g})), with_logs=True)
    (ct,), logs = xt.vjp(f, 1.0)[1].with_logs(2.0)
    np.testing.assert_allclose(ct, 2 * np.cos(1.0), rtol=1e-6)
    assert float(logs["g"]) == 2.0


def _closes_over(w, kind):
    """A function with a custom rule that closes over `w`, which it doesn't know to be differentiated."""
    if kind == "jvp":
        f = xt.custom_jvp(lambda a: a * w.sum())
        f.defjvp(lambda primals, tangents: (f(primals[0]), tangents[0] * w.sum()))
    else:
        f = xt.custom_vjp(lambda a: a * w.sum())
        f.defvjp(lambda a: (f(a), None), lambda _, g: (g * w.sum(),))
    return f(2.0)


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_a_rule_that_closes_over_a_differentiated_value_is_told_to_take_it_as_argument(kind):
    with pytest.raises(
        xt.errors.UnexpectedTracerError, match="closes over a value(.|\n)*pass the value as an argument"
    ):
        xt.grad(lambda w: _closes_over(w, kind))(np.ones(3, np.float32))


def _tangent_or_sine(**options):
    """A function whose fwd rule gives another value than the function, so that one sees which of them ran."""

    @xt.custom_vjp
    def f(x):
        return el.tan(x)

    f.defvjp(lambda x: (el.sin(x), x), lambda x, g: (el.mul(el.cos(x), g),), **options)
    return f


def test_optimize_remat_runs_the_function_where_nobody_reads_residuals():
    f = _tangent_or_sine(optimize_remat=True)

    def squared(x):
        return el.square(xt.checkpoint(f)(x))

    value, slope = np.tan(0.7) ** 2, 2 * np.tan(0.7) * np.cos(0.7)
    derivative = xt.value_and_grad(squared)
    for g in (derivative, xt.jit(derivative), lambda x: xt.value_and_grad(xt.jit(squared))(x)):
        np.testing.assert_allclose(g(0.7), (value, slope), rtol=1e-5)
    many = np.full(3, 0.7, np.float32)
    for g in (xt.vmap(derivative), xt.jit(xt.vmap(derivative))):
        np.testing.assert_allclose(g(many), ([value] * 3, [slope] * 3), rtol=1e-5)
    np.testing.assert_allclose(xt.jit(lambda x: xt.vjp(f, x)[0])(0.7), np.tan(0.7), rtol=1e-5)
    looped = xt.value_and_grad(lambda x: xt.lax.scan(lambda c, _: (xt.checkpoint(f)(c), None), x, length=2)[0])
    np.testing.assert_allclose(looped(0.3)[0], np.tan(np.tan(0.3)), rtol=1e-5)


def test_optimize_remat_runs_the_rule_where_residuals_are_read():
    f = _tangent_or_sine(optimize_remat=True)
    np.testing.assert_allclose(xt.jit(xt.value_and_grad(f))(0.7), (np.sin(0.7), np.cos(0.7)), rtol=1e-5)
    plain = _tangent_or_sine()
    np.testing.assert_allclose(xt.jit(lambda x: xt.vjp(plain, x)[0])(0.7), np.sin(0.7), rtol=1e-5)
    second = xt.jit(xt.grad(xt.grad(xt.checkpoint(f))))
    np.testing.assert_allclose(second(0.7), -np.sin(0.7), rtol=1e-5)


def test_optimize_remat_and_symbolic_zeros():
    with pytest.raises(NotImplementedError, match="optimize_remat.*symbolic_zeros"):
        _tangent_or_sine(optimize_remat=True, symbolic_zeros=True)
