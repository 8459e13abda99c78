"""Ordinary differential equations: an adaptive Runge-Kutta method with its adjoint.

The pair of formulas is Dormand and Prince's (1980) of order 5 with an error estimate of order 4, as in Hairer,
Norsett and Wanner, Solving Ordinary Differential Equations I, II.4-6: step size control, the choice of the first step,
and values between steps from a polynomial of degree 4. Derivatives are those of the continuous equation: the adjoint
is integrated backward in time (Pontryagin 1962), so memory doesn't grow with the number of steps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import xtrace.lax as lax
import xtrace.numpy as xnp
from xtrace.api.autodiff import vjp
from xtrace.core import dtypes, pytree
from xtrace.core.primitive import shaped
from xtrace.flatten_util import ravel_pytree
from xtrace.lax.closures import closure_convert
from xtrace.lax.custom_functions import custom_vjp

# The tableau: nodes, stages, weights, and the difference of the weights to those of order 4.
_NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_WEIGHTS = (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0)
_WEIGHTS_4 = (5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40)
_ERROR = tuple(b - c for b, c in zip(_WEIGHTS, _WEIGHTS_4))
#: Weights of the solution in the middle of a step (Shampine 1986).
_MIDDLE = (
    6025192743 / 30085553152 / 2,
    0.0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)


def _weighted(weights: tuple[float, ...], slopes: Any) -> Any:
    """The sum of the rows of `slopes`, (n, size), with these weights."""
    return np.asarray(weights, slopes.dtype) @ slopes


def abs2(x: Any) -> Any:
    """The squared magnitude of real or complex numbers."""
    return x.real**2 + x.imag**2 if dtypes.issubdtype(x.dtype, np.complexfloating) else x**2


def runge_kutta_step(func: Callable[..., Any], y0: Any, f0: Any, t0: Any, dt: Any) -> tuple[Any, Any, Any, Any]:
    """One step of the Dormand-Prince pair.

    Args:
      func: (y, t) -> dy/dt. y0: state, shape (n,). f0: its slope. t0: time. dt: size of the step.

    Returns:
      (state, slope, error estimate, all slopes (7, n)) at the end of the step.
    """
    slopes = [f0]
    for node, row in zip(_NODES, _STAGES):
        y = y0 + dt.astype(y0.dtype) * _weighted(row, xnp.stack(slopes))
        slopes.append(func(y, t0 + dt * node))
    k = xnp.stack(slopes)
    # The last stage is evaluated at the new state: its slope is the next step's first.
    return y, slopes[-1], dt.astype(y0.dtype) * _weighted(_ERROR, k), k


def fit_4th_order_polynomial(y0: Any, y1: Any, y_mid: Any, dy0: Any, dy1: Any, dt: Any) -> tuple[Any, ...]:
    """Coefficients, highest first, of the polynomial on [0, 1] with these values at 0, 1/2, 1 and slopes at 0, 1."""
    s0, s1 = dt * dy0, dt * dy1
    a = 2.0 * (s1 - s0) - 8.0 * (y0 + y1) + 16.0 * y_mid
    b = 5.0 * s0 - 3.0 * s1 + 18.0 * y0 + 14.0 * y1 - 32.0 * y_mid
    c = s1 - 4.0 * s0 - 11.0 * y0 - 5.0 * y1 + 16.0 * y_mid
    return a, b, c, s0, y0


def interp_fit_dopri(y0: Any, y1: Any, k: Any, dt: Any) -> Any:
    """Coefficients, shape (5, n), of the solution within a step from y0 to y1 with slopes `k` (7, n)."""
    dt = dt.astype(y0.dtype)
    return xnp.stack(fit_4th_order_polynomial(y0, y1, y0 + dt * _weighted(_MIDDLE, k), k[0], k[-1], dt))


def mean_error_ratio(error_estimate: Any, rtol: Any, atol: Any, y0: Any, y1: Any) -> Any:
    """The root mean square of the error over what is tolerated: at most 1 where the step is good enough."""
    tolerated = atol + rtol * xnp.maximum(xnp.abs(y0), xnp.abs(y1))
    return xnp.sqrt(xnp.mean(abs2(error_estimate / tolerated.astype(error_estimate.dtype))))


def initial_step_size(fun: Callable[..., Any], t0: Any, y0: Any, order: int, rtol: Any, atol: Any, f0: Any) -> Any:
    """The size of the first step: Hairer, Norsett and Wanner II.4."""
    dtype = y0.dtype
    scale = atol + xnp.abs(y0) * rtol
    d0 = xnp.linalg.norm(y0 / scale.astype(dtype))
    d1 = xnp.linalg.norm(f0 / scale.astype(dtype))
    h0 = xnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
    f1 = fun(y0 + h0.astype(dtype) * f0, t0 + h0)
    d2 = xnp.linalg.norm((f1 - f0) / scale.astype(dtype)) / h0
    largest = xnp.maximum(d1, d2)
    h1 = xnp.where(largest <= 1e-15, xnp.maximum(1e-6, h0 * 1e-3), (0.01 / largest) ** (1.0 / (order + 1.0)))
    return xnp.minimum(100.0 * h0, h1)


def optimal_step_size(
    last_step: Any,
    mean_error_ratio: Any,
    safety: float = 0.9,
    ifactor: float = 10.0,
    dfactor: float = 0.2,
    order: float = 5.0,
) -> Any:
    """The size of the next step by the error of the last: at most `ifactor` times it, and no smaller if it was good."""
    lowest = xnp.where(mean_error_ratio < 1, 1.0, dfactor)
    factor = xnp.minimum(ifactor, xnp.maximum(mean_error_ratio ** (-1.0 / order) * safety, lowest))
    return xnp.where(mean_error_ratio == 0, last_step * ifactor, last_step * factor)


def ravel_first_arg(f: Callable[..., Any], unravel: Callable[[Any], Any]) -> Callable[..., Any]:
    """`f` of a tree and more, as a function of its vector and more, to a vector."""

    def flat(y: Any, *args: Any) -> Any:
        return ravel_pytree(f(unravel(y), *args))[0]

    return flat


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
) -> Any:
    """Integrate dy/dt = func(y, t, *args) by an adaptive Dormand-Prince method.

    Args:
      func: slope of the state: (y, t, *args) -> a tree like `y`. It may close over traced arrays.
      y0: state at t[0], a tree of arrays.
      t: floats, shape (n,), increasing: the times at which the state is wanted.
      args: arrays, in any structure, that `func` gets; odeint is differentiable in them, in y0 and in t.
      rtol, atol: the error of a step may be rtol times the state plus atol.
      mxstep: most steps between two times. Integration stops short there.
      hmax: largest step.

    Returns:
      The states at the times: a tree like `y0`, each array with a leading axis of size n.

    Raises:
      TypeError: an argument is no array, or `t` isn't of floats.

    The derivative is reverse mode; it solves the adjoint equation backward in time with the same tolerances.

    Example:
      >>> import xtrace as xt
      >>> from xtrace.experimental.ode import odeint
      >>> states = odeint(lambda y, t, rate: -rate * y, 1.0, xt.numpy.array([0.0, 1.0, 2.0]), 1.0)
      >>> [round(float(y), 4) for y in states]
      [1.0, 0.3679, 0.1353]
    """
    for leaf in pytree.tree_leaves(args):
        try:
            shaped(leaf)
        except TypeError:
            raise TypeError(
                f"The contents of odeint *args must be arrays or scalars, but got {leaf!r}: close over it instead"
            ) from None
    t = xnp.asarray(t)
    if not dtypes.issubdtype(t.dtype, np.floating):
        raise TypeError(f"t must be an array of floats, but got {t.dtype}{list(t.shape)}; use t.astype(float)")
    y0 = pytree.tree_map(xnp.asarray, y0)
    converted, consts = closure_convert(func, y0, t[0], *args)
    vector, _ = ravel_pytree(y0)
    if not dtypes.issubdtype(vector.dtype, np.inexact):
        raise TypeError(f"odeint: y0 must be floating-point, got {vector.dtype}; its slope has no integers")
    slope = ravel_first_arg(converted, lambda y: _unravel(y0, y))
    out = _solve(slope, rtol, atol, mxstep, hmax, vector, t, *args, *consts)
    return _unravel(y0, out)


def _unravel(tree: Any, flat: Any) -> Any:
    """Arrays like those of `tree`, with the leading axes of `flat`, of the pieces of its last axis."""
    leaves, structure = pytree.tree_flatten(tree)
    start, out = 0, []
    for leaf in leaves:
        part = flat[..., start : start + leaf.size]
        if not dtypes.issubdtype(leaf.dtype, np.complexfloating):
            part = part.real
        out.append(part.reshape(*flat.shape[:-1], *leaf.shape).astype(leaf.dtype))
        start += leaf.size
    return structure.unflatten(out)


@functools.partial(custom_vjp, nondiff_argnums=(0, 1, 2, 3, 4))
def _solve(func: Any, rtol: Any, atol: Any, mxstep: Any, hmax: Any, y0: Any, t: Any, *args: Any) -> Any:
    """States at the times, shape (n, size), of a state that is one vector."""

    def slope(y: Any, t: Any) -> Any:
        return func(y, t, *args).astype(y0.dtype)

    f0 = slope(y0, t[0])
    dt = xnp.clip(initial_step_size(slope, t[0], y0, 4, rtol, atol, f0), 0.0, hmax).astype(t.dtype)

    def to(carry: Any, target: Any) -> Any:
        def unfinished(state: Any) -> Any:
            count, _, _, now, dt, _, _ = state
            return (now < target) & (count.astype(dt.dtype) < mxstep) & (dt > 0)

        def step(state: Any) -> Any:
            count, y, f, now, dt, last, coefficients = state
            new_y, new_f, error, k = runge_kutta_step(slope, y, f, now, dt)
            ratio = mean_error_ratio(error, rtol, atol, y, new_y)
            new_dt = xnp.clip(optimal_step_size(dt, ratio), 0.0, hmax).astype(t.dtype)
            good = (count + 1, new_y, new_f, now + dt, new_dt, now, interp_fit_dopri(y, new_y, k, dt))
            bad = (count + 1, y, f, now, new_dt, last, coefficients)
            return tuple([xnp.where(ratio <= 1.0, g, b) for g, b in zip(good, bad)])

        state = lax.while_loop(unfinished, step, (np.int32(0), *carry))
        _, _, _, now, _, last, coefficients = state
        length = now - last
        where = xnp.where(length == 0, 0.0, (target - last) / xnp.where(length == 0, 1.0, length))
        return state[1:], xnp.polyval(coefficients, where.astype(y0.dtype))

    coefficients = xnp.stack([xnp.zeros_like(y0)] * 4 + [y0])
    _, ys = lax.scan(to, (y0, f0, t[0], dt, t[0], coefficients), t[1:])
    return xnp.concatenate([y0[None], ys])


def _forward(func: Any, rtol: Any, atol: Any, mxstep: Any, hmax: Any, y0: Any, t: Any, *args: Any) -> Any:
    ys = _solve(func, rtol, atol, mxstep, hmax, y0, t, *args)
    return ys, (ys, t, args)


def _backward(func: Any, rtol: Any, atol: Any, mxstep: Any, hmax: Any, residuals: Any, g: Any) -> Any:
    ys, t, args = residuals

    def augmented(state: Any, reversed_time: Any, *args: Any) -> Any:
        """Slopes, in reversed time, of the state, its cotangent, and the cotangents of time and arguments."""
        y, y_bar, _, _ = state
        f, pull = vjp(func, y, -reversed_time, *args)
        y_slope, t_slope, *arg_slopes = pull(y_bar)
        return -f, y_slope, t_slope, tuple([_as_tangent(a, s) for a, s in zip(args_bar, arg_slopes)])

    leaves, structure = pytree.tree_flatten(args)
    inexact = [dtypes.issubdtype(shaped(x).dtype, np.inexact) for x in leaves]
    args_bar = tuple([pytree.tree_map(lambda x: xnp.zeros(np.shape(x), _tangent_type(x)), a) for a in args])

    def back(carry: Any, rows: Any) -> Any:
        y_bar, t0_bar, args_bar = carry
        y, row_bar, now, before, previous_bar = rows
        # Moving the time of this row moves its value along the slope.
        t_bar = xnp.sum(func(y, now, *args) * row_bar).real.astype(t.dtype)
        start = (y, y_bar, t0_bar - t_bar, args_bar)
        times = xnp.stack([-now, -before])
        ends = odeint(augmented, start, times, *args, rtol=rtol, atol=atol, mxstep=mxstep, hmax=hmax)
        _, y_bar, t0_bar, args_bar = pytree.tree_map(lambda x: x[1], ends)
        return (y_bar + previous_bar, t0_bar, args_bar), t_bar

    start = (g[-1], xnp.zeros((), t.dtype), args_bar)
    (y_bar, t0_bar, args_bar), t_bars = lax.scan(back, start, (ys[1:], g[1:], t[1:], t[:-1], g[:-1]), reverse=True)
    t_bar = xnp.concatenate([t0_bar[None], t_bars])
    bars = [
        b if exact else np.zeros(np.shape(x), dtypes.float0)
        for x, b, exact in zip(leaves, pytree.tree_leaves(args_bar), inexact)
    ]
    return (y_bar, t_bar, *structure.unflatten(bars))


def _tangent_type(x: Any) -> Any:
    dtype = shaped(x).dtype
    return dtype if dtypes.issubdtype(dtype, np.inexact) else dtypes.float32


def _as_tangent(zeros: Any, slopes: Any) -> Any:
    """Slopes of cotangents as arrays; those of integer arguments, which have none, as zeros."""
    return pytree.tree_map(lambda z, s: z if shaped(s).dtype == dtypes.float0 else s, zeros, slopes)


_solve.defvjp(_forward, _backward)

__all__ = [
    "abs2",
    "fit_4th_order_polynomial",
    "initial_step_size",
    "interp_fit_dopri",
    "mean_error_ratio",
    "odeint",
    "optimal_step_size",
    "ravel_first_arg",
    "runge_kutta_step",
]
