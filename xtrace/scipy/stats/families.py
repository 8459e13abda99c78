"""How distributions are declared: formulas of the standard one, and what location, scale and support do to them.

A distribution's module says its name, its shape parameters, where they are valid, the support, and formulas. Outside
the support formulas see a point inside it, so that their derivatives are finite; values there are those of a table.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from xtrace import numpy as xnp
from xtrace.core import dtypes
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.lax import elementwise as el
from xtrace.lax import shapes
from xtrace.numpy import promotion
from xtrace.scipy.special.declare import arrays, where, with_derivatives

Formula = Callable[..., Any]


class _Function(NamedTuple):
    """A function of every distribution.

    what: it in words. below, above: its values on both sides of the support; nan for functions of probabilities, whose
    domain is [0, 1]. rescale: how the scale and location enter, (value, loc, scale) -> value.
    of_points: of single values, which of discrete distributions are integers.
    """

    what: str
    below: float
    above: float
    rescale: Callable[[Any, Any, Any], Any] | None = None
    of_probability: bool = False
    of_points: bool = False


def _divided(value: Any, loc: Any, scale: Any) -> Any:
    return value if _is(scale, 1) else value - el.log(scale)


def _moved(value: Any, loc: Any, scale: Any) -> Any:
    value = value if _is(scale, 1) else value * scale
    return value if _is(loc, 0) else value + loc


FUNCTIONS = {
    "logpdf": _Function("The logarithm of the density", -math.inf, -math.inf, _divided),
    "logpmf": _Function("The logarithm of the probability", -math.inf, -math.inf, of_points=True),
    "cdf": _Function("The probability of values up to `{variable}`", 0.0, 1.0),
    "logcdf": _Function("The logarithm of the probability of values up to `{variable}`", -math.inf, 0.0),
    "sf": _Function("The probability of values above `{variable}`", 1.0, 0.0),
    "logsf": _Function("The logarithm of the probability of values above `{variable}`", 0.0, -math.inf),
    "ppf": _Function("The value that is not exceeded with probability `{variable}`", math.nan, math.nan, _moved, True),
    "isf": _Function("The value that is exceeded with probability `{variable}`", math.nan, math.nan, _moved, True),
}
_EXPONENTIALS = {"pdf": ("logpdf", "The density"), "pmf": ("logpmf", "The probability")}


def _is(x: Any, number: int) -> bool:
    """Whether an argument is that very Python number, as defaults are."""
    return type(x) is int and x == number


@with_derivatives(lambda t, x: t / el.expm1(x))
def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) for x >= 0, without cancellation.

    Source: Maechler, "Accurately computing log(1 - exp(-|a|))", 2012.
    """
    return where(x > math.log(2), el.log1p(-el.exp(-x)), el.log(-el.expm1(-x)))


def inexact(name: str, *args: Any, strong: bool | None = False) -> tuple[list[Any], Any]:
    """Arguments of one floating dtype, at least float32, not broadcast; and the dtype of the result.

    strong: whether Python scalars make no weak result; None: they make one if the first argument is one of them.
    """
    values = promotion.promote_args_inexact(name, *args)
    dtype = shaped(values[0]).dtype
    if strong or strong is None and not dtypes.of_value(args[0])[1]:
        values = [shapes.convert(x, dtype, False) for x in values]
    if dtype.kind == "c":
        raise ValueError(f"{name} does not support complex-valued inputs, got {dtype}: give it the real part.")
    if dtype.itemsize < 4:
        values = [shapes.convert(x, dtypes.float32, False) for x in values]
    return arrays(*values), dtype


def in_dtype(x: Any, dtype: Any) -> Any:
    """A result in its dtype, where it was computed in a wider one."""
    return x if shaped(x).dtype == dtype else shapes.convert(x, dtype, False)


def is_integral(x: Any) -> Any:
    return el.floor(x) == x


class Family:
    """A family of distributions, which makes its public functions.

    Args:
      name: of its module.
      title: it in words, for docstrings.
      parameters: names of the shape parameters.
      example: arguments of the docstrings' examples: the point, the shape parameters.
      valid: (*parameters) -> where they are; elsewhere all functions are nan.
      support: the ends, numbers or (*parameters) -> both; infinite ends don't belong to it. None: all of the line.
      inside: (*parameters) -> a point inside the support.
      discrete: a distribution on integers: no scale, and no probability between them.
      located: whether it has a location (and, unless discrete, a scale).
      strong: functions whose results are not weakly typed, whatever the arguments are.
      ends_outside: the integrals' formulas have no finite derivatives at the ends of the support, which count as
        outside then.
    """

    def __init__(
        self,
        name: str,
        title: str,
        parameters: tuple[str, ...] = (),
        example: tuple[float, ...] = (0.5,),
        valid: Formula | None = None,
        support: tuple[float, float] | Formula | None = None,
        inside: Formula | None = None,
        discrete: bool = False,
        located: bool = True,
        ends_outside: bool = False,
        strong: Collection[str] = (),
    ) -> None:
        self.name, self.title, self.parameters, self.example = name, title, parameters, example
        self.ends_outside, self.strong = ends_outside, strong
        self.valid, self.support, self.inside, self.discrete, self.located = valid, support, inside, discrete, located

    def declare(
        self, function: str, formula: Formula, shown: str, variable: str | None = None, located: bool | None = None
    ) -> Formula:
        """The public function: `formula` takes the standardized point, or the probability, and the parameters.

        shown: its value in the docstring's example. variable: the name of its first parameter.
        """
        kind = FUNCTIONS[function]
        variable = variable or ("q" if kind.of_probability else "k" if self.discrete else "x")
        located = self.located if located is None else located

        def body(x: Any, *rest: Any) -> Any:
            return self._evaluate(function, kind, formula, located, x, rest)

        return self._public(function, kind.what, variable, located, body, shown)

    def densities(self, formula: Formula, shown_log: str, shown: str) -> tuple[Formula, Formula]:
        """logpdf and pdf (of discrete distributions logpmf and pmf) by the formula of the former."""
        name = "pmf" if self.discrete else "pdf"
        log_name, what = _EXPONENTIALS[name]
        log, kind = self.declare(log_name, formula, shown_log), FUNCTIONS[log_name]

        def body(x: Any, *rest: Any) -> Any:
            return el.exp(self._evaluate(name, kind, formula, self.located, x, rest))

        variable = "k" if self.discrete else "x"
        return log, self._public(name, what, variable, self.located, body, shown)

    def _public(self, function: str, what: str, variable: str, located: bool, body: Formula, shown: str) -> Formula:
        names = [variable, *self.parameters]
        defaults = ((0,) if self.discrete else (0, 1)) if located else ()
        keywords = ("loc", "scale")[: len(defaults)]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature(
            [inspect.Parameter(n, kind) for n in names]
            + [inspect.Parameter(n, kind, default=d) for n, d in zip(keywords, defaults)]
        )
        count = len(names)

        def distribution(*args: Any, **kwargs: Any) -> Any:
            given = len(args)
            if kwargs or not count <= given <= count + len(defaults):
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                return body(*bound.args)
            return body(*args, *defaults[given - count :])

        distribution.__name__ = distribution.__qualname__ = function
        distribution.__module__ = f"xtrace.scipy.stats.{self.name}"
        distribution.__signature__ = signature  # type: ignore[attr-defined]
        probability = function in ("ppf", "isf")
        point = "probabilities; nan outside [0, 1]" if probability else "points"
        lines = [f"      {variable}: array, {point}."]
        if self.parameters:
            lines.append(f"      {', '.join(self.parameters)}: arrays, the shape; nan where they are not valid.")
        if keywords:
            lines.append(f"      {', '.join(keywords)}: arrays that move{'' if self.discrete else ' and stretch'} it.")
        example = ", ".join(map(repr, (0.5, *self.example[1:]) if probability else self.example))
        distribution.__doc__ = f"""{what.format(variable=variable)} in the {self.title}.

    Args:
{chr(10).join(lines)}

    Returns:
      An array of floating dtype, of the shape to which the arguments broadcast.

    >>> import xtrace as xt
    >>> print(f"{{xt.scipy.stats.{self.name}.{function}({example}):.4f}}")
    {shown}
    """
        return composite(distribution)

    def _evaluate(
        self, function: str, kind: _Function, formula: Formula, located: bool, x: Any, rest: tuple[Any, ...]
    ) -> Any:
        count = len(self.parameters)
        loc, scale = 0, 1
        if located:
            loc, scale = (rest[count], 1) if self.discrete else rest[count:]
        # Defaults take part in no operation.
        values, dtype = inexact(
            f"{self.name}.{function}", x, *rest[:count], *([] if _is(loc, 0) else [loc]),
            *([] if _is(scale, 1) else [scale]),
            strong=True if function in self.strong else None if self.discrete else False,
        )  # fmt: skip
        y, parameters = values[0], values[1 : count + 1]
        loc = 0 if _is(loc, 0) else values[count + 1]
        scale = 1 if _is(scale, 1) else values[-1]
        if not kind.of_probability:
            y = y if _is(loc, 0) else y - loc
            y = y if _is(scale, 1) else y / scale
        value = self._on_line(kind, formula, y, parameters)
        if kind.rescale is not None:
            value = kind.rescale(value, loc, scale)
        ok = None if self.valid is None else self.valid(*parameters)
        if not _is(scale, 1):
            ok = scale > 0 if ok is None else ok & (scale > 0)
        if ok is not None:
            value = xnp.where(ok, value, math.nan)
        return in_dtype(value, dtype)

    def _on_line(self, kind: _Function, formula: Formula, y: Any, parameters: list[Any]) -> Any:
        """The standard distribution's function, of points on all of the line."""
        if kind.of_probability:
            outside = (y < 0) | (y > 1)
            return xnp.where(outside, math.nan, formula(xnp.where(outside, 0.5, y), *parameters))
        if self.discrete and not kind.of_points:
            y = el.floor(y)
        if self.support is None:
            return formula(y, *parameters)
        low, high = self.support(*parameters) if callable(self.support) else self.support
        ends_outside = self.ends_outside and kind.below != kind.above
        below = y <= low if _is_infinite(low) or ends_outside else y < low
        above = y >= high if _is_infinite(high) or ends_outside else y > high
        outside = below | above
        if kind.of_points:
            outside = outside | ((el.floor(y) != y) & (y == y))
        safe = xnp.where(outside, self._inside(low, high, parameters), y)
        value = xnp.where(y == y, formula(safe, *parameters), math.nan)
        if kind.below == kind.above:
            return xnp.where(outside, kind.below, value)
        return xnp.where(below, kind.below, xnp.where(above, kind.above, value))

    def _inside(self, low: Any, high: Any, parameters: list[Any]) -> Any:
        if self.inside is not None:
            return self.inside(*parameters)
        if self.discrete:
            return low
        return 0.5 * (low + high) if not (_is_infinite(low) or _is_infinite(high)) else max(low, 0.0) + 1.0


def _is_infinite(x: Any) -> bool:
    return isinstance(x, float) and math.isinf(x)
