"""Minima of scalar functions, found with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.api.autodiff import value_and_grad
from xtrace.core import dtypes, statics
from xtrace.core.primitive import shaped

__all__ = ["OptimizeResults", "minimize"]

#: Strong Wolfe conditions: the decrease is at least this part of what the slope promises, the slope's at most that.
_DECREASE, _SLOPE = 1e-4, 0.9
_MAX_REFINEMENTS = 30

_Evaluate = Callable[[Any], tuple[Any, Any]]


class OptimizeResults(NamedTuple):
    """What a minimization found.

    Fields: x [n], where it ended; success; status; fun and jac, the function and its gradient there; hess_inv [n, n],
    the estimate of the inverse Hessian, None from L-BFGS; nfev, njev, nit: evaluations of the function and of the
    gradient, and steps.

    The status of BFGS is 0: the gradient is small, 1: maxiter steps made, 3 and 5: no step was found, by refining an
    interval or by growing one; -1: the function was not finite. That of L-BFGS is 0: the gradient is small; 1, 2, 3:
    maxiter steps made, maxfun values or maxgrad gradients computed; 4: the last step gained less than ftol; 5: no step
    was found.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class _Search(NamedTuple):
    """A line search: `lo` is the best step that decreases enough; once `refining`, a minimum is between lo and hi."""

    lo: Any
    f_lo: Any
    g_lo: Any
    slope_lo: Any
    hi: Any
    f_hi: Any
    slope_hi: Any
    refining: Any
    done: Any
    grown: Any
    refined: Any


class _State(NamedTuple):
    x: Any
    f: Any
    g: Any
    inverse: Any
    previous_f: Any
    converged: Any
    failure: Any
    evaluations: Any
    k: Any


class _LimitedState(NamedTuple):
    """Of L-BFGS. moved, turned [maxcor, n] and rho [maxcor]: the last steps, what they changed in the gradient, and
    the inverse of their products, 0 where there is no step yet; scale: of the inverse Hessian before them."""

    x: Any
    f: Any
    g: Any
    moved: Any
    turned: Any
    rho: Any
    scale: Any
    converged: Any
    status: Any
    evaluations: Any
    k: Any


def _dot(x: Any, y: Any) -> Any:
    return xnp.dot(x, y, precision=lax.Precision.HIGHEST)


def _inner(x: Any, y: Any) -> Any:
    """The inner product of vectors, complex ones taken as pairs of real numbers."""
    return _dot(xnp.conj(x), y).real if dtypes.is_complex(shaped(x).dtype) else _dot(x, y)


def _between(s: _Search) -> Any:
    """The minimum of the cubic through both ends, or the middle where that is near an end or none.

    Source: Nocedal and Wright, Numerical Optimization, 2006, equation 3.59.
    """
    width = s.hi - s.lo
    a = s.slope_lo + s.slope_hi - 3 * (s.f_hi - s.f_lo) / width
    b = xnp.sign(width) * xnp.sqrt(xnp.maximum(a * a - s.slope_lo * s.slope_hi, 0))
    part = 1 - (s.slope_hi + b - a) / (s.slope_hi - s.slope_lo + 2 * b)
    return s.lo + width * xnp.where((part > 0.1) & (part < 0.9), part, 0.5)


def _line_search(evaluate: _Evaluate, x: Any, f: Any, g: Any, p: Any, first: Any, maxiter: int) -> _Search:
    """A step along p that satisfies the strong Wolfe conditions; not done: the best step found.

    Source: Nocedal and Wright, Numerical Optimization, 2006, algorithms 3.5 and 3.6, as one loop.
    """
    slope = _inner(g, p)

    def going(s: _Search) -> Any:
        return ~s.done & xnp.where(s.refining, s.refined < _MAX_REFINEMENTS, s.grown < maxiter)

    def step(s: _Search) -> _Search:
        t = xnp.where(s.refining, _between(s), xnp.where(s.grown == 0, first, 2 * s.lo))
        f_t, g_t = evaluate(x + t * p)
        slope_t = _inner(g_t, p)
        later = s.refining | (s.grown > 0)
        # Written so that a value that is not a number is too high.
        high = ~(f_t <= f + _DECREASE * t * slope) | (later & (f_t >= s.f_lo))
        done = ~high & (xnp.abs(slope_t) <= -_SLOPE * slope)
        turned = ~high & ~done & (slope_t * xnp.where(s.refining, s.hi - s.lo, 1) >= 0)
        hi, f_hi, slope_hi = (
            xnp.where(high, new, xnp.where(turned, low, old))
            for new, low, old in ((t, s.lo, s.hi), (f_t, s.f_lo, s.f_hi), (slope_t, s.slope_lo, s.slope_hi))
        )
        lo, f_lo, g_lo, slope_lo = (
            xnp.where(high, old, new) for new, old in ((t, s.lo), (f_t, s.f_lo), (g_t, s.g_lo), (slope_t, s.slope_lo))
        )
        counts = (s.grown + xnp.where(s.refining, 0, 1), s.refined + xnp.where(s.refining, 1, 0))
        return _Search(lo, f_lo, g_lo, slope_lo, hi, f_hi, slope_hi, s.refining | high | turned, done, *counts)

    zero, no = xnp.zeros_like(f), xnp.asarray(False)
    none = xnp.asarray(0, np.int32)
    return lax.while_loop(going, step, _Search(zero, f, g, slope, zero, f, slope, no, no, none, none))


def _bfgs(evaluate: _Evaluate, x0: Any, maxiter: int, norm: Any, gtol: Any, line_search_maxiter: int) -> _State:
    """Source: Nocedal and Wright, Numerical Optimization, 2006, algorithm 6.1."""
    n, dtype = shaped(x0).shape[0], shaped(x0).dtype
    eye = xnp.eye(n, dtype=dtype)

    def small(g: Any) -> Any:
        return xnp.linalg.norm(g, ord=norm) < gtol

    def going(s: _State) -> Any:
        return ~s.converged & (s.failure == 0) & (s.k < maxiter)

    def step(s: _State) -> _State:
        p = -_dot(s.inverse, s.g)
        # As much decrease as in the step before is hoped for, by a full step at most.
        hoped = 2.02 * (s.f - s.previous_f) / _dot(s.g, p)
        first = xnp.where((hoped > 0) & (hoped < 1), hoped, 1)
        found = _line_search(evaluate, s.x, s.f, s.g, p, first, line_search_maxiter)
        moved, turned = found.lo * p, found.g_lo - s.g
        curvature = _dot(turned, moved)
        usable = (curvature > 0) & xnp.isfinite(1 / curvature)
        rho = 1 / xnp.where(usable, curvature, 1)
        across = eye - rho * moved[:, None] * turned[None, :]
        inverse = _dot(_dot(across, s.inverse), across.T) + rho * moved[:, None] * moved[None, :]
        failure = xnp.where(found.done, 0, xnp.where(found.refining, 3, 5)).astype(np.int32)
        return _State(
            s.x + moved,
            found.f_lo,
            found.g_lo,
            xnp.where(usable, inverse, s.inverse),
            s.f,
            small(found.g_lo),
            failure,
            s.evaluations + found.grown + found.refined,
            s.k + 1,
        )

    f, g = evaluate(x0)
    none = xnp.asarray(0, np.int32)
    start = _State(x0, f, g, eye, f + xnp.linalg.norm(g) / 2, small(g), none, none + 1, none)
    return lax.while_loop(going, step, start)


def _limited_direction(s: _LimitedState) -> Any:
    """Minus the gradient times the inverse Hessian that the remembered steps imply: the two-loop recursion."""

    def back(q: Any, step: Any) -> tuple[Any, Any]:
        moved, turned, rho = step
        part = rho * _inner(moved, q)
        return q - part * turned, part

    def forth(q: Any, step: Any) -> tuple[Any, None]:
        moved, turned, rho, part = step
        return q + (part - rho * _inner(turned, q)) * moved, None

    q, parts = lax.scan(back, -s.g, (s.moved, s.turned, s.rho), reverse=True)
    return lax.scan(forth, s.scale * q, (s.moved, s.turned, s.rho, parts))[0]


def _limited_bfgs(
    evaluate: _Evaluate,
    x0: Any,
    *,
    maxcor: int,
    norm: Any,
    gtol: Any,
    ftol: Any,
    maxls: int,
    maxiter: Any,
    maxfun: Any,
    maxgrad: Any,
) -> _LimitedState:
    """Source: Nocedal and Wright, Numerical Optimization, 2006, algorithms 7.4 and 7.5.

    Complex vectors: Sorber, van Barel, de Lathauwer, Unconstrained optimization of real functions in complex
    variables, SIAM J. Optim. 22(3), 2012.
    """

    def small(g: Any) -> Any:
        return xnp.linalg.norm(g, ord=norm) < gtol

    def latest(history: Any, new: Any) -> Any:
        return xnp.concatenate([history[1:], new[None]])

    def step(s: _LimitedState) -> _LimitedState:
        # The first step is no longer than 1, as the scale of the function is not known.
        first = xnp.where(s.k == 0, xnp.minimum(1, 1 / xnp.linalg.norm(s.g)), 1).astype(s.f.dtype)
        p = _limited_direction(s)
        found = _line_search(evaluate, s.x, s.f, s.g, p, first, maxls)
        moved, turned = found.lo * p, found.g_lo - s.g
        curvature = _inner(turned, moved)
        usable = (curvature > 0) & xnp.isfinite(1 / curvature)
        k, evaluations = s.k + 1, s.evaluations + found.grown + found.refined
        converged = small(found.g_lo)
        ended = [
            (~found.done, 5),
            (k >= maxiter, 1),
            (evaluations >= maxfun, 2),
            (evaluations >= maxgrad, 3),
            (s.f - found.f_lo < ftol, 4),
        ]
        status = xnp.select([converged, *[condition for condition, _ in ended]], [0, *[n for _, n in ended]], 0)
        return _LimitedState(
            s.x + moved,
            found.f_lo,
            found.g_lo,
            latest(s.moved, moved),
            latest(s.turned, turned),
            latest(s.rho, xnp.where(usable, 1 / xnp.where(usable, curvature, 1), 0)),
            xnp.where(usable, curvature / xnp.where(usable, _inner(turned, turned), 1), s.scale),
            converged,
            status.astype(np.int32),
            evaluations,
            k,
        )

    f, g = evaluate(x0)
    steps = xnp.zeros((maxcor, shaped(x0).shape[0]), shaped(x0).dtype)
    none = xnp.asarray(0, np.int32)
    start = _LimitedState(
        x0, f, g, steps, steps, xnp.zeros(maxcor, f.dtype), xnp.ones_like(f), small(g), none, none + 1, none
    )
    return lax.while_loop(lambda s: ~s.converged & (s.status == 0), step, start)


#: Method by its name in lower case -> the options it has, with their defaults for n unknowns.
_METHODS: dict[str, Callable[[int], dict[str, Any]]] = {
    "bfgs": lambda n: {"maxiter": 200 * n, "norm": np.inf, "gtol": 1e-5, "line_search_maxiter": 10},
    "l-bfgs-experimental-do-not-rely-on-this": lambda n: {
        "maxiter": None, "norm": np.inf, "maxcor": 10, "ftol": 2.220446049250313e-09, "gtol": 1e-5, "maxfun": None,
        "maxgrad": None, "maxls": 20,
    },
}  # fmt: skip


def _settings(method: str, n: int, tol: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    defaults = _METHODS[method](n)
    if unknown := options.keys() - defaults.keys():
        raise TypeError(f"minimize: unknown options {sorted(unknown)}; {method.upper()} has {sorted(defaults)}")
    if tol is not None:
        defaults["gtol"] = tol if getattr(tol, "aval", None) is not None else statics.number(tol, "tol")
    settings = defaults | {k: v for k, v in options.items() if v is not None}
    limits = [k for k in ("maxiter", "maxfun", "maxgrad") if k in settings]
    if all(settings[k] is None for k in limits):
        settings["maxiter"] = 200 * n
    return settings | {k: np.inf for k in limits if settings[k] is None}


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """A local minimum of a scalar function of a vector.

    Args:
      fun: fun(x, *args), a real scalar, differentiable in x.
      x0: [n], floating point, or complex for L-BFGS; where to begin.
      args: further arguments of fun.
      method: "BFGS", or "l-bfgs-experimental-do-not-rely-on-this", which keeps no matrix.
      tol: the gradient's norm that ends it, if options have no gtol.
      options: of both methods: maxiter (200 n steps), norm (inf; which norm the gradient's is), gtol (1e-5). Of BFGS:
        line_search_maxiter (10; how often a step is doubled). Of L-BFGS: maxcor (10; the steps it remembers), ftol
        (2.2e-9; the least gain of a step), maxls (20; how often a step is doubled), maxfun and maxgrad (None; the
        values and gradients computed, after which no further step is made).

    Returns:
      OptimizeResults.

    Raises:
      ValueError: another method, or x0 is no vector. TypeError: args is no tuple, an option is unknown, or x0 is
        complex for BFGS.

    >>> import numpy as np, xtrace as xt
    >>> found = xt.scipy.optimize.minimize(lambda x: ((x - 3) ** 2).sum(), np.zeros(2), method="BFGS")
    >>> bool(found.success), np.asarray(found.x).round(3).tolist()
    (True, [3.0, 3.0])
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args must be a tuple of further arguments of fun, got {args!r}")
    statics.check_callable("minimize: fun", fun)
    name = method.lower() if isinstance(method, str) else method
    if not isinstance(method, str) or name not in _METHODS:
        raise ValueError(f"Method {method} not recognized: minimize has {', '.join(map(repr, _METHODS))}")
    x = xnp.asarray(x0)
    if shaped(x).ndim != 1:
        raise ValueError(f"minimize: x0 must be a vector, got shape {shaped(x).shape}; ravel it, and reshape in fun")
    x = x.astype(shaped(x).dtype if dtypes.is_inexact(shaped(x).dtype) else float)
    dtype = shaped(x).dtype
    in_plane = dtypes.is_complex(dtype)
    if in_plane and name == "bfgs":
        raise TypeError(f"minimize: BFGS takes real x0, got {dtype}; minimize over the real and imaginary parts")
    statics.check_instance(options or {}, Mapping, "options", "a dictionary")
    settings = _settings(name, shaped(x).size, tol, options or {})
    gradient = value_and_grad(lambda x: fun(x, *args))

    def evaluate(x: Any) -> tuple[Any, Any]:
        f, g = gradient(x)
        # The conjugate of a complex gradient is the direction in which the function grows.
        return f.astype(dtypes.to_real(dtype)), xnp.conj(g) if in_plane else g

    if name != "bfgs":
        found = _limited_bfgs(evaluate, x, **settings)
        jac = xnp.conj(found.g) if in_plane else found.g
        counts = (found.evaluations, found.evaluations, found.k)
        return OptimizeResults(found.x, found.converged, found.status, found.f, jac, None, *counts)
    s = _bfgs(evaluate, x, **settings)
    ended = xnp.where(s.failure > 0, s.failure, xnp.where(s.k >= settings["maxiter"], 1, -1))
    finite = xnp.isfinite(s.f) & xnp.all(xnp.isfinite(s.g))
    status = xnp.where(s.converged, 0, xnp.where(finite, ended, -1))
    return OptimizeResults(s.x, s.converged, status, s.f, s.g, s.inverse, s.evaluations, s.evaluations, s.k)
