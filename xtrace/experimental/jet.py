"""Taylor-mode differentiation: truncated power series pushed through a function.

A value is a polynomial x[0] + x[1] t + … + x[order] t**order. Operations that are products, quotients or solutions of
simple differential equations have recurrences, quadratic in the order (A. Griewank, A. Walther, "Evaluating
Derivatives", 2nd edition, chapter 13). All others, control flow and custom_jvp functions among them, go by their
derivative rule: the coefficients of y' = f'(x) x' are those of the rule's tangent at one order less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from xtrace.core import dtypes, pytree
from xtrace.core.primitive import Primitive, as_array, shaped
from xtrace.core.trace import Trace, Tracer, current, use_trace
from xtrace.lax import dots, shapes
from xtrace.lax import elementwise as el
from xtrace.transforms.jvp import jvp_of_bind
from xtrace.transforms.staging import check_alive
from xtrace.transforms.zeros import Zero, instantiate, zero_tangent

_flatten = pytree.default_registry.flatten


class JetTracer(Tracer):
    """A polynomial: `primal`, and the coefficients of t, t**2, …"""

    __slots__ = ("primal", "terms")

    def __init__(self, trace: JetTrace, primal: Any, terms: list[Any]) -> None:
        self._trace = trace
        self.aval = shaped(primal)
        self.primal = primal
        self.terms = terms

    def to_concrete_value(self) -> Any:
        primal = self.primal
        return primal.to_concrete_value() if isinstance(primal, Tracer) else primal

    def __repr__(self) -> str:
        return f"JetTracer(primal={self.primal!r}, order={len(self.terms)})"


class JetTrace(Trace):
    """Interprets an operation on polynomials of degree `order`."""

    __slots__ = ("order", "alive")

    def __init__(self, parent: Trace | None, order: int) -> None:
        self.parent = parent
        self.order = order
        self.alive = True

    def split(self, x: Any) -> tuple[Any, list[Any] | None]:
        """(primal, coefficients); None: a constant."""
        if type(x) is JetTracer:
            if x._trace is self:
                return x.primal, x.terms
            check_alive(x)
        return x, None

    def wrap(self, primal: Any, terms: list[Any] | None) -> Any:
        return primal if terms is None else JetTracer(self, primal, terms)

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        pairs = [self.split(x) for x in args]
        primals, series = [p for p, _ in pairs], [s for _, s in pairs]
        with use_trace(self.parent):
            if all([s is None for s in series]):
                return primitive.bind(*primals, **params)
            rule = _RULES.get(primitive)
            if rule is not None:
                polynomials = [[p] if s is None else [p, *s] for p, s in pairs]
                y = rule(primitive, self.order, *polynomials, **params)
                return self.wrap(y[0], y[1:])
            derivative = lambda ps, ts: _listed(primitive, jvp_of_bind(primitive, ps, ts, params))  # noqa: E731
            outs, terms = _by_derivative(derivative, primals, series, self.order)
        wrapped = [self.wrap(o, t) for o, t in zip(outs, terms)]
        return wrapped if primitive.multiple_results else wrapped[0]

    def process_custom_jvp(self, call: Any, args: tuple[Any, ...]) -> Any:
        pairs = [self.split(x) for x in args]
        primals, series = [p for p, _ in pairs], [s for _, s in pairs]
        with use_trace(self.parent):
            if all([s is None for s in series]):
                return call.bind(primals)
            outs, terms = _by_derivative(call.apply_jvp, primals, series, self.order)
        return [self.wrap(o, t) for o, t in zip(outs, terms)]

    process_custom_vjp = process_custom_jvp  # a reverse rule is no forward rule: it says so


def _listed(primitive: Primitive, pair: Any) -> tuple[list[Any], list[Any]]:
    return pair if primitive.multiple_results else ([pair[0]], [pair[1]])


def _by_derivative(
    derivative: Callable[..., Any], primals: list[Any], series: list[list[Any] | None], order: int
) -> tuple[list[Any], list[list[Any] | None]]:
    """Results and coefficients by `derivative(primals, tangents) -> (outs, out_tangents)`."""
    firsts = [zero_tangent(p) if s is None else s[0] for p, s in zip(primals, series)]
    if order == 1:
        outs, tangents = derivative(primals, firsts)
        return outs, [None if type(t) is Zero else [t] for t in tangents]
    trace = JetTrace(current.trace, order - 1)
    with use_trace(trace):
        xs = [trace.wrap(p, None if s is None else s[:-1]) for p, s in zip(primals, series)]
        speeds = [
            t if s is None else JetTracer(trace, t, [_times(k, c) for k, c in enumerate(s[1:], 2)])
            for t, s in zip(firsts, series)
        ]
        outs, tangents = derivative(xs, speeds)
        pairs = [trace.split(t) for t in tangents]
        results = [trace.split(o)[0] for o in outs]
    trace.alive = False
    terms: list[list[Any] | None] = []
    for first, rest in pairs:
        if type(first) is Zero:
            terms.append(None)
            continue
        rest = [instantiate(zero_tangent(first))] * (order - 1) if rest is None else rest
        terms.append([first, *[_times(1 / k, c) for k, c in enumerate(rest, 2)]])
    return results, terms


def _times(number: float, x: Any) -> Any:
    """`x` times a Python number, in the dtype of `x`."""
    return x if number == 1 else el.mul(x, el.filled_like(x, number))


# -- recurrences: (primitive, order, *polynomials, **params) -> polynomial ---------------------------------------------
# Polynomials are lists of coefficients. Those of constants have one.


def _sum(terms: Sequence[Any]) -> Any:
    total = terms[0]
    for t in terms[1:]:
        total = el.add(total, t)
    return total


def _bilinear(primitive: Primitive, order: int, x: list[Any], y: list[Any], **params: Any) -> list[Any]:
    return [
        _sum([primitive.bind(x[j], y[k - j], **params) for j in range(k + 1) if j < len(x) and k - j < len(y)])
        for k in range(order + 1)
    ]


def _full(x: list[Any], order: int, like: Any) -> list[Any]:
    """All coefficients of a polynomial, in the shape of `like`."""
    shape, dtype = shaped(like).shape, shaped(like).dtype
    zeros = [shapes.full(shape, 0, dtype)] * (order + 1 - len(x))
    return [*[c if shaped(c).shape == shape else shapes.broadcast(as_array(c), shape) for c in x], *zeros]


def _div(primitive: Primitive, order: int, x: list[Any], y: list[Any]) -> list[Any]:
    z = [primitive.bind(x[0], y[0])]
    if len(y) == 1:
        return [*z, *[el.div(c, y[0]) for c in x[1:]]]
    x = _full(x, order, z[0])
    for k in range(1, order + 1):
        known = _sum([el.mul(y[j], z[k - j]) for j in range(1, k + 1)])
        z.append(el.div(el.sub(x[k], known), y[0]))
    return z


def _derived(slope: Callable[[list[Any], list[Any]], Any]) -> Any:
    """The rule of y with y' = d x', where `slope(x, y)` is the newest coefficient of d given those of y so far."""

    def rule(primitive: Primitive, order: int, x: list[Any], **params: Any) -> list[Any]:
        y, d = [primitive.bind(x[0], **params)], []
        for k in range(1, order + 1):
            d.append(slope(x, y))
            y.append(_integrated(k, x, d))
        return y

    return rule


def _integrated(k: int, x: list[Any], d: list[Any]) -> Any:
    """Coefficient k of y, where y' = d x'."""
    return _sum([_times(j / k, el.mul(x[j], d[k - j])) for j in range(1, k + 1)])


def _square_term(y: list[Any]) -> Any:
    """The coefficient of y**2 of the degree of y's newest."""
    return _sum([el.mul(a, b) for a, b in zip(y, reversed(y))])


def _one_plus(sign: int) -> Callable[[list[Any], list[Any]], Any]:
    def slope(x: list[Any], y: list[Any]) -> Any:
        square = _times(sign, _square_term(y))
        return el.add(square, shapes.full(shaped(square).shape, 1, shaped(square).dtype)) if len(y) == 1 else square

    return slope


def _log(primitive: Primitive, order: int, x: list[Any], **params: Any) -> list[Any]:
    z = [primitive.bind(x[0], **params)]
    for k in range(1, order + 1):
        rest = x[k]
        if k > 1:
            rest = el.sub(rest, _sum([_times(j / k, el.mul(z[j], x[k - j])) for j in range(1, k)]))
        z.append(el.div(rest, x[0]))
    return z


def _sqrt(primitive: Primitive, order: int, x: list[Any], **params: Any) -> list[Any]:
    z = [primitive.bind(x[0], **params)]
    for k in range(1, order + 1):
        rest = x[k] if k == 1 else el.sub(x[k], _square_term(z[1:]))
        z.append(el.div(rest, _times(2, z[0])))
    return z


def _paired(other: Primitive, own_sign: int, other_sign: int) -> Any:
    """The rule of y with partner w, where y' = own_sign w x' and w' = other_sign y x': sines and cosines."""

    def rule(primitive: Primitive, order: int, x: list[Any], **params: Any) -> list[Any]:
        y, w = [primitive.bind(x[0], **params)], [other.bind(x[0], **params)]
        for k in range(1, order + 1):
            new = _times(own_sign, _integrated(k, x, w))
            w.append(_times(other_sign, _integrated(k, x, y)))
            y.append(new)
        return y

    return rule


def _integer_pow(primitive: Primitive, order: int, x: list[Any], *, y: int) -> list[Any]:
    """By repeated squaring, so that zero is no special point."""
    one = [shapes.full(shaped(x[0]).shape, 1, shaped(x[0]).dtype)]
    result: list[Any] | None = None
    base, n = x, abs(y)
    while n:
        if n & 1:
            result = base if result is None else _bilinear(el.mul_p, order, result, base)
        n >>= 1
        if n:
            base = _bilinear(el.mul_p, order, base, base)
    if result is None:
        return _full(one, order, x[0])
    result = result if y > 0 else _div(el.div_p, order, one, result)
    return [primitive.bind(x[0], y=y), *result[1:]]


_RULES: dict[Primitive, Callable[..., list[Any]]] = {
    el.mul_p: _bilinear,
    dots.dot_general_p: _bilinear,
    el.div_p: _div,
    el.exp_p: _derived(lambda x, y: y[-1]),
    el.tanh_p: _derived(_one_plus(-1)),
    el.tan_p: _derived(_one_plus(1)),
    el.logistic_p: _derived(lambda x, y: el.sub(y[-1], _square_term(y))),
    el.log_p: _log,
    el.sqrt_p: _sqrt,
    el.sin_p: _paired(el.cos_p, 1, -1),
    el.cos_p: _paired(el.sin_p, -1, 1),
    el.sinh_p: _paired(el.cosh_p, 1, 1),
    el.cosh_p: _paired(el.sinh_p, 1, 1),
    el.square_p: lambda primitive, order, x: _bilinear(el.mul_p, order, x, x),
    el.integer_pow_p: _integer_pow,
}


# -- the public function -----------------------------------------------------------------------------------------------


class ZeroSeries:
    """`zero_series` stands for the coefficients of an argument that is constant."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "zero_series"


zero_series = ZeroSeries()


def fact(n: int) -> int:
    """n factorial."""
    return math.factorial(n)


def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Any],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """The Taylor polynomial of `fun` along a polynomial path through `primals`.

    Args:
      fun: a function of arrays or pytrees.
      primals: tuple or list of arguments, where the path is at t = 0.
      series: for each argument a list of its coefficients of degree 1, 2, …, each like the argument; all lists are of
        one length, the order. `zero_series` stands for zeros.
      factorial_scaled: whether coefficients are derivatives (k! times those of t**k), in `series` and in the result.

    Returns:
      (out, series_out): `out` is fun(*primals); `series_out` has at each leaf of `out` the list of its coefficients.

    Raises:
      ValueError: lists of different lengths; coefficients that don't fit their argument.

    Source: A. Griewank, A. Walther, "Evaluating Derivatives", 2nd edition (2008), chapter 13.

    Example:
      >>> import xtrace as xt, xtrace.numpy as xnp
      >>> from xtrace.experimental.jet import jet
      >>> out, (first, second) = jet(xnp.exp, (0.0,), ((1.0, 0.0),))  # e**t: all derivatives are 1
      >>> float(out), float(first), float(second)
      (1.0, 1.0, 1.0)
    """
    for what, value in (("primals", primals), ("series", series)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(f"jet: {what} must be a tuple or list, one entry for each argument; got {type(value)}.")
    if len(primals) != len(series):
        raise ValueError(f"jet: {len(primals)} primals but {len(series)} series; there is one for each argument.")
    lengths = {len(s) for s in series if s is not zero_series}
    if len(lengths) > 1:
        raise ValueError(f"jet terms have inconsistent lengths for different arguments: {sorted(lengths)}.")
    order = lengths.pop() if lengths else 0
    leaves, tree = _flatten(tuple(primals))
    columns: list[list[Any] | None] = []
    for i, (primal, terms) in enumerate(zip(primals, series)):
        columns += _columns(i, primal, terms, factorial_scaled)
    trace = JetTrace(current.trace, order)
    with use_trace(trace):
        args = [trace.wrap(as_array(x), c if order else None) for x, c in zip(leaves, columns)]
        outs, out_tree = _flatten(fun(*tree.unflatten(args)))
        pairs = [trace.split(o) for o in outs]
    trace.alive = False
    lists = []
    for o, terms in pairs:
        if terms is None:
            aval = shaped(o)
            lists.append([shapes.full(aval.shape, 0, aval.dtype)] * order)
        else:
            lists.append([as_array(_times(fact(k), c) if factorial_scaled else c) for k, c in enumerate(terms, 1)])
    return out_tree.unflatten([as_array(o) for o, _ in pairs]), out_tree.unflatten(lists)


def _columns(i: int, primal: Any, terms: Any, factorial_scaled: bool) -> list[list[Any] | None]:
    """For each leaf of argument `i` its coefficients of t, t**2, …; None where it has no derivative or is constant."""
    leaves, tree = _flatten(primal)
    if terms is zero_series:
        return [None] * len(leaves)
    rows = []
    for k, term in enumerate(terms, 1):
        row, row_tree = _flatten(term)
        if row_tree != tree:
            raise ValueError(f"jet: term {k} of argument {i} has structure {row_tree}, the argument {tree}.")
        rows.append(row)
    columns: list[list[Any] | None] = []
    for n, x in enumerate(leaves):
        aval = shaped(x)
        if not dtypes.is_inexact(aval.dtype):
            columns.append(None)
            continue
        column = []
        for k, row in enumerate(rows, 1):
            if shaped(row[n]).shape != aval.shape:
                raise ValueError(
                    f"jet: term {k} of argument {i} has shape {shaped(row[n]).shape}, the argument {aval.shape}."
                )
            c = shapes.convert(row[n], aval.dtype, aval.weak_type)
            column.append(_times(1 / fact(k), c) if factorial_scaled else c)
        columns.append(column)
    return columns


__all__ = ["JetTrace", "JetTracer", "ZeroSeries", "fact", "jet", "zero_series"]
