"""How special functions are declared: operands, pieces, and derivatives by rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xtrace.core import dtypes
from xtrace.core.composite import composite
from xtrace.core.primitive import shaped
from xtrace.core.trace import Tracer
from xtrace.lax import elementwise as el
from xtrace.lax import polynomials, selection, shapes
from xtrace.numpy import promotion
from xtrace.numpy import reductions as red
from xtrace.runtime.jaxlib_api import ArrayImpl
from xtrace.scipy.special.tables import monomials
from xtrace.transforms.accumulate import add_tangents
from xtrace.transforms.custom import CustomJVPCall
from xtrace.transforms.zeros import Zero, zero_tangent

Rule = Callable[..., Any]


def full_like(x: Any, value: float) -> Any:
    """An array of the shape and dtype of `x`."""
    return red.filled(shaped(x).shape, el.scalar_like(x, value))


def with_derivatives(*derivatives: Rule | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of a function of inexact arrays of one shape: one rule an operand, (tangent, *operands) -> term.

    For functions whose formula has no right derivative at an edge, or a dear one. None: the derivative is zero.
    """

    def decorate(fun: Callable[..., Any]) -> Callable[..., Any]:
        bodies: dict[Any, Any] = {}

        def flat(*xs: Any) -> list[Any]:
            out = fun(*xs)
            return list(out) if type(out) is tuple else [out]

        def rule(primals: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
            outs = call(*primals)
            results = list(outs) if type(outs) is tuple else [outs]
            totals: list[Any] = [zero_tangent(out) for out in results]
            for derivative, t in zip(derivatives, tangents):
                if type(t) is Zero or derivative is None:
                    continue
                terms = derivative(t, *primals)
                for i, term in enumerate(terms if type(terms) is tuple else (terms,)):
                    totals[i] = add_tangents(totals[i], term)
            return results, totals

        def call(*xs: Any) -> Any:
            made = CustomJVPCall(flat, fun.__name__.lstrip("_"), False, None, bodies)
            made.rule = rule
            outs = made.bind(xs)
            return outs[0] if len(outs) == 1 else tuple(outs)

        return call

    return decorate


def arrays(*values: Any) -> list[Any]:
    """Values with operators of arrays: tracers and arrays as they are, others converted."""
    return [
        x if isinstance(x, (Tracer, ArrayImpl)) else shapes.broadcast_in_dim_p.bind(
            x, shape=np.shape(x), broadcast_dimensions=tuple(range(np.ndim(x))), sharding=None
        )
        for x in values
    ]  # fmt: skip


def operands(name: str, *args: Any) -> list[Any]:
    """Arguments as inexact arrays of one shape."""
    values = promotion.promote_args_inexact(name, *args)
    shape = red.common_shape([shaped(x).shape for x in values])
    return arrays(*[red.broadcast(x, shape) for x in values])


def evaluate(
    name: str, formula: Callable[..., Any], *args: Any, accepts_complex: bool = False, keeps_weak: bool = False
) -> Any:
    """A formula on arguments of any numeric dtype: 16-bit floats are computed in float32.

    keeps_weak: whether the result for Python scalars is as weakly typed as they are.
    """
    values = operands(name, *args)
    dtype = shaped(values[0]).dtype
    if not keeps_weak and shaped(values[0]).weak_type:
        values = [shapes.convert(x, dtype, False) for x in values]
    if dtype.kind == "c" and not accepts_complex:
        raise ValueError(f"{name} does not support complex-valued inputs, got {dtype}: give it the real part.")
    if dtype.itemsize >= 4:
        return formula(*values)
    out = formula(*[shapes.convert(x, dtypes.float32, False) for x in values])
    return (
        tuple(shapes.convert(x, dtype, False) for x in out) if type(out) is tuple else shapes.convert(out, dtype, False)
    )


def unary(
    name: str,
    function: Rule,
    summary: str,
    example: str,
    shown: str,
    argument: str = "x",
    accepts_complex: bool = False,
    keeps_weak: bool = False,
) -> Rule:
    """A public function of one array."""
    options = {"accepts_complex": accepts_complex, "keeps_weak": keeps_weak}

    def special(x: Any) -> Any:
        return evaluate(name, function, x, **options)

    if argument == "y":

        def special(y: Any) -> Any:  # type: ignore[misc]
            return evaluate(name, function, y, **options)

    elif argument == "p":

        def special(p: Any) -> Any:  # type: ignore[misc]
            return evaluate(name, function, p, **options)

    special.__name__ = special.__qualname__ = name
    special.__doc__ = f"""{summary}

    Args:
      {argument}: array.

    Returns:
      An array of floating dtype.

    >>> import xtrace as xt
    >>> print(f"{{xt.scipy.special.{name}({example}):.4f}}")
    {shown}
    """
    return composite(special)


def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition holds, else `y`: arrays of one shape, or one of them a number."""
    like = y if isinstance(x, (int, float)) else x
    x = full_like(like, x) if isinstance(x, (int, float)) else x
    y = full_like(like, y) if isinstance(y, (int, float)) else y
    return selection.select(condition, x, y)


def distance_from(x: Any, root: tuple[float, float]) -> Any:
    """x minus a root, which is given as the nearest double and what is missing from it."""
    high = float(np.asarray(root[0], shaped(x).dtype))
    first = x - high
    # As sign times size, which older compilers don't merge: (x - high) - low would become x - (high + low).
    return el.sign(first) * el.abs(first) - (root[0] - high + root[1])


def piece(name: str, t: Any) -> Any:
    """The polynomial of a table at t."""
    return polynomials.polynomial(t, list(monomials(name, shaped(t).dtype)))


def polynomial(x: Any, *coefficients: float) -> Any:
    """The polynomial with these coefficients, lowest power first."""
    return polynomials.polynomial(x, list(coefficients))
