"""Minima of scalar functions, found with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from xtrace import lax
from xtrace import numpy as xnp
from xtrace.api.autodiff import value_and_grad
from xtrace.core import dtypes
from xtrace.core.primitive import shaped

__all__ = ["OptimizeResults", "minimize"]

#: Strong Wolfe conditions: the decrease is at least this part of what the slope promises, the slope's at most that.
_DECREASE, _SLOPE = 1e-4, 0.9
_MAX_REFINEMENTS = 30

_Evaluate = Callable[[Any], tuple[Any, Any]]


class OptimizeResults(NamedTuple):
    """What a minimization found.

    Fields: x [n], where it ended; success; status (0: the gradient is small, 1: maxiter steps made, 3 and 5: no step
    was found, by refining an interval or by growing one; -1: the function was not finite); fun and jac, the function
    and its gradient there; hess_inv [n, n], the estimate of the inverse Hessian; nfev, njev, nit: evaluations of the
    function and of the gradient, and steps.
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


def _dot(x: Any, y: Any) -> Any:
    return xnp.dot(x, y, precision=lax.Precision.HIGHEST)


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
    slope = _dot(g, p)

    def going(s: _Search) -> Any:
        return ~s.done & xnp.where(s.refining, s.refined < _MAX_REFINEMENTS, s.grown < maxiter)

    def step(s: _Search) -> _Search:
        t = xnp.where(s.refining, _between(s), xnp.where(s.grown == 0, first, 2 * s.lo))
        f_t, g_t = evaluate(x + t * p)
        slope_t = _dot(g_t, p)
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
      x0: [n], floating point; where to begin.
      args: further arguments of fun.
      method: "BFGS".
      tol: the gradient's norm that ends it, if options have no gtol.
      options: maxiter (200 n steps), norm (inf; which norm the gradient's is), gtol (1e-5), line_search_maxiter (10;
        how often a step is doubled).

    Returns:
      OptimizeResults.

    Raises:
      ValueError: another method, or x0 is no vector. TypeError: args is no tuple, or an option is unknown.

    >>> import numpy as np, xtrace as xt
    >>> found = xt.scipy.optimize.minimize(lambda x: ((x - 3) ** 2).sum(), np.zeros(2), method="BFGS")
    >>> bool(found.success), np.asarray(found.x).round(3).tolist()
    (True, [3.0, 3.0])
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args must be a tuple of further arguments of fun, got {args!r}")
    if method.lower() != "bfgs":
        raise ValueError(f"Method {method} not recognized: minimize has 'BFGS'")
    x = xnp.asarray(x0)
    if shaped(x).ndim != 1:
        raise ValueError(f"minimize: x0 must be a vector, got shape {shaped(x).shape}; ravel it, and reshape in fun")
    x = x.astype(shaped(x).dtype if dtypes.is_floating(shaped(x).dtype) else float)
    dtype = shaped(x).dtype
    defaults = {
        "maxiter": 200 * shaped(x).size,
        "norm": np.inf,
        "gtol": 1e-5 if tol is None else tol,
        "line_search_maxiter": 10,
    }
    given = {k: v for k, v in (options or {}).items() if v is not None}
    if unknown := given.keys() - defaults.keys():
        raise TypeError(f"minimize: unknown options {sorted(unknown)}; BFGS has {sorted(defaults)}")
    settings = {**defaults, **given}
    gradient = value_and_grad(lambda x: fun(x, *args))

    def evaluate(x: Any) -> tuple[Any, Any]:
        f, g = gradient(x)
        return f.astype(dtype), g

    s = _bfgs(evaluate, x, **settings)
    ended = xnp.where(s.failure > 0, s.failure, xnp.where(s.k >= settings["maxiter"], 1, -1))
    finite = xnp.isfinite(s.f) & xnp.all(xnp.isfinite(s.g))
    status = xnp.where(s.converged, 0, xnp.where(finite, ended, -1))
    return OptimizeResults(s.x, s.converged, status, s.f, s.g, s.inverse, s.evaluations, s.evaluations, s.k)
