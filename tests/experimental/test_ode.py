"""odeint: solutions known in closed form, SciPy's for a pendulum, derivatives against finite differences."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import xtrace as xt
import xtrace.numpy as xnp
from xtrace.experimental import ode
from xtrace.experimental.ode import odeint


def pendulum(state, t, friction, pull):
    angle, speed = state
    return [speed, -friction * speed - pull * xnp.sin(angle)]


def weighted_states(angle, t, friction, pull):
    states = xnp.stack(odeint(pendulum, [angle, xnp.zeros(())], t, friction, pull))
    return xnp.sum(states * xnp.arange(10.0).reshape(2, 5))


def arguments():
    return xnp.array(1.0), xnp.linspace(0.0, 2.0, 5), xnp.array(0.25), xnp.array(9.8)


def test_pendulum_against_scipy():
    times = np.linspace(0, 5, 11)
    known = solve_ivp(
        lambda t, s: [s[1], -0.25 * s[1] - 9.8 * np.sin(s[0])], (0, 5), [3.0, 0.0], t_eval=times, rtol=1e-11, atol=1e-11
    )
    with xt.enable_x64():
        found = odeint(pendulum, [xnp.array(3.0), xnp.array(0.0)], times, 0.25, 9.8)
    np.testing.assert_allclose(found, known.y, atol=1e-6)


def test_exponential_in_trees_and_complex_numbers():
    t = xnp.linspace(0.0, 1.0, 4)
    with xt.enable_x64():
        found = odeint(lambda y, t: {"a": y["a"], "b": 1j * y["b"]}, {"a": xnp.ones(2), "b": xnp.array(1.0 + 0j)}, t)
        np.testing.assert_allclose(found["a"], np.exp(np.asarray(t))[:, None] * [1, 1], rtol=1e-6)
        np.testing.assert_allclose(found["b"], np.exp(1j * np.asarray(t)), rtol=1e-6)
        assert found["a"].dtype == "float64"


def test_gradients_against_finite_differences():
    with xt.enable_x64():
        args, value = arguments(), xt.jit(weighted_states)
        found = xt.grad(value, (0, 1, 2, 3))(*args)
        step = 1e-5
        for place, gradient in enumerate(found):
            for index in np.ndindex(gradient.shape):
                ends = []
                for sign in (1, -1):
                    moved = list(args)
                    moved[place] = moved[place].at[index].add(sign * step)
                    ends.append(value(*moved))
                np.testing.assert_allclose(gradient[index], (ends[0] - ends[1]) / (2 * step), rtol=1e-4)


def test_second_derivative():
    """d2/da2 of exp(-a t) at t=1 is exp(-a)."""
    with xt.enable_x64():
        end = lambda a: odeint(lambda y, t, a: -a * y, 1.0, xnp.array([0.0, 1.0]), a)[-1]  # noqa: E731
        np.testing.assert_allclose(xt.grad(xt.grad(end))(0.5), np.exp(-0.5), rtol=1e-5)


def test_jit_and_vmap():
    args = arguments()
    plain = weighted_states(*args)
    np.testing.assert_allclose(xt.jit(weighted_states)(*args), plain, rtol=1e-5)
    mapped = xt.vmap(weighted_states, (0, None, None, None))(xnp.array([1.0, 2.0]), *args[1:])
    np.testing.assert_allclose(mapped[0], plain, rtol=1e-5)


def test_closed_over_tracers_and_integer_arguments():
    t = xnp.array([0.0, 1.0])
    rate = xt.grad(lambda rate: odeint(lambda y, t: -rate * y, 1.0, t)[-1])(2.0)
    np.testing.assert_allclose(rate, -np.exp(-2.0), rtol=1e-4)
    start = xt.grad(lambda y, n: odeint(lambda y, t, n: -y * n, y, t, n)[-1])(1.0, xnp.array(2))
    np.testing.assert_allclose(start, np.exp(-2.0), rtol=1e-4)


def test_most_steps():
    stopped = odeint(lambda y, t: -50 * y, 1.0, xnp.array([0.0, 10.0]), mxstep=2)
    assert np.isfinite(stopped).all()


def test_polynomial_between_steps():
    """The quartic x^4 - x is fitted exactly."""
    values = [np.float32(x**4 - x) for x in (0.0, 1.0, 0.5)]
    found = ode.fit_4th_order_polynomial(*values, np.float32(-1), np.float32(3), np.float32(1))
    np.testing.assert_allclose(found, [1, 0, 0, -1, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: odeint(lambda y, t: y, 1.0, xnp.array([0, 1])), "array of floats"),
        (lambda: odeint(lambda y, t, a: y, 1.0, xnp.array([0.0, 1.0]), "a"), "arrays or scalars"),
        (lambda: odeint(lambda y, t: y, 1, xnp.array([0.0, 1.0])), "floating-point"),
    ],
)
def test_errors(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_no_dtype_is_promoted():
    with xt.numpy_dtype_promotion("strict"):
        y = odeint(lambda y, t: -y, xnp.ones(2), xnp.linspace(0.0, 1.0, 3))
    np.testing.assert_allclose(y[:, 0], np.exp([0, -0.5, -1]), rtol=1e-5)
